//! The live table of `meshreel play`: the heap as a bar, and the reading and decoding of each file, four
//! times a second.

use crate::output::{Output, one_line, table};
use crate::units;
use meshreel::stream::{RegionState, Statistics};
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Time between two updates.
const INTERVAL: Duration = Duration::from_millis(250);
/// Width of a bar in characters.
const BAR_WIDTH: usize = 40;
/// Largest number of files shown.
const MAX_FILES: usize = 20;

/// A table that overwrites its last output. Draws nothing without a terminal, or with `--quiet`.
pub struct Live {
    on: bool,
    next: Duration,
    /// Number of lines of the last output.
    lines: usize,
}

/// A file's name and number of frames.
#[derive(Clone, Copy)]
pub struct StreamName<'a> {
    pub name: &'a str,
    pub frames: usize,
}

impl Live {
    /// Returns a table that has not been drawn yet.
    pub fn new(output: Output) -> Live {
        let wanted = !output.flags.quiet && !output.flags.json;
        Live { on: wanted && std::io::stderr().is_terminal(), next: Duration::ZERO, lines: 0 }
    }

    /// `true` if it is time to draw.
    pub fn is_due(&mut self, elapsed: Duration) -> bool {
        let due = self.on && elapsed >= self.next;
        if due {
            self.next = elapsed + INTERVAL;
        }
        due
    }

    /// Draws the table. `name` returns the name of a stream by its number.
    pub fn draw<'a>(&mut self, statistics: &Statistics, name: impl Fn(usize) -> StreamName<'a>) {
        let text = picture(statistics, name);
        self.clear();
        self.lines = text.lines().count();
        let _ = write!(std::io::stderr().lock(), "{text}");
    }

    /// Removes the table.
    pub fn clear(&mut self) {
        if self.lines > 0 {
            // Moves up and clears to the end of the screen.
            let _ = write!(std::io::stderr().lock(), "\x1b[{}A\x1b[J", self.lines);
            self.lines = 0;
        }
    }
}

fn picture<'a>(statistics: &Statistics, name: impl Fn(usize) -> StreamName<'a>) -> String {
    let mut text = format!(
        "heap [{}] {} held, {} used of {}\n",
        heap_bar(statistics),
        units::bytes(statistics.heap_held),
        units::bytes(statistics.heap_used),
        units::bytes(statistics.heap_bytes),
    );
    let rows: Vec<Vec<String>> = (statistics.streams.iter().enumerate())
        .take(MAX_FILES)
        .map(|(number, stream)| {
            let StreamName { name, frames } = name(number);
            vec![
                one_line(name),
                frames_bar(frames, &[(&stream.requested, '.'), (&stream.read, '-'), (&stream.decoded, '#')]),
                stream.counters.missed.to_string(),
                stream.counters.aborts.to_string(),
                units::bytes(stream.counters.bytes_read),
            ]
        })
        .collect();
    text += &table(&["file", "<requested . read - decoded #", "missed", "aborts", "read"], &rows);
    if statistics.streams.len() > MAX_FILES {
        text += &format!("and {} more\n", statistics.streams.len() - MAX_FILES);
    }
    text
}

fn heap_bar(statistics: &Statistics) -> String {
    let mut cells = [' '; BAR_WIDTH];
    for region in &statistics.regions {
        let mark = match region.state {
            RegionState::Held => '#',
            RegionState::Spare => '-',
            _ => continue,
        };
        let cell = |at: u64| at as usize * BAR_WIDTH / statistics.heap_bytes.max(1) as usize;
        let last = cell(region.start + region.size.saturating_sub(1)).min(BAR_WIDTH - 1);
        for cell in &mut cells[cell(region.start).min(last)..=last] {
            if *cell != '#' {
                *cell = mark;
            }
        }
    }
    cells.iter().collect()
}

fn frames_bar(frames: usize, ranges: &[(&Vec<[u32; 2]>, char)]) -> String {
    let mut cells = [' '; BAR_WIDTH];
    for (ranges, mark) in ranges {
        for [first, last] in *ranges {
            let cell = |frame: u32| (frame as usize * BAR_WIDTH / frames.max(1)).min(BAR_WIDTH - 1);
            cells[cell(*first)..=cell(*last)].fill(*mark);
        }
    }
    format!("[{}]", cells.iter().collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_of_nothing_and_of_something() {
        let name = |_| StreamName { name: "a\n.reel", frames: 80 };
        let mut statistics = Statistics::default();
        assert!(picture(&statistics, name).starts_with("heap ["));
        statistics.streams.resize_with(MAX_FILES + 2, Default::default);
        statistics.streams[0].decoded.push([0, 39]);
        statistics.streams[0].read.push([40, 900]);
        let text = picture(&statistics, name);
        assert!(text.contains("a .reel") && text.contains("and 2 more"));
        assert!(text.contains(&format!("[{}{}]", "#".repeat(20), "-".repeat(20))));
    }
}
