//! The tables of `docs/COMPARISON.md` and the list of all figures as CSV.

use crate::baselines;
use crate::machine;
use crate::peers::case::Channels;
use crate::peers::foreign::Measured;
use anyhow::Context;
use std::fmt::Write as _;
use std::path::Path;

/// A figure, or why there is none.
#[derive(Debug, Clone, Copy)]
pub enum Outcome {
    Measured(Measured),
    /// The peer cannot code this.
    Impossible,
    /// The script of the peer did not run.
    Missing,
}

/// One line of the CSV.
#[derive(Debug, Clone)]
pub struct Row {
    pub case: String,
    pub channels: Channels,
    pub tolerance: String,
    pub peer: &'static str,
    pub outcome: Outcome,
    /// Vertices of all frames together.
    pub vertices: usize,
    /// Largest distance allowed.
    pub allowed: f64,
}

/// The data of a case.
#[derive(Debug, Clone)]
pub struct Summary {
    pub name: String,
    pub frames: usize,
    /// Vertices of the largest frame: with all channels, and of positions alone.
    pub vertices: [usize; 2],
    pub triangles: usize,
    pub has_tangents: bool,
    pub has_fixed_faces: bool,
}

impl Row {
    fn measured(&self) -> Option<Measured> {
        match self.outcome {
            Outcome::Measured(measured) => Some(measured),
            _ => None,
        }
    }
    fn nanoseconds(&self) -> Option<f64> {
        Some(1e9 * self.measured()?.seconds? / self.vertices as f64)
    }
    /// Largest error as a part of what is allowed.
    fn error(&self) -> Option<f64> {
        Some(self.measured()?.errors.position / self.allowed)
    }
    fn absence(&self) -> &'static str {
        match self.outcome {
            Outcome::Missing => "not measured",
            _ => "–",
        }
    }
}

/// Writes all rows.
pub fn csv(rows: &[Row]) -> String {
    let mut out = String::from("case,channels,tolerance,peer,bytes,bits,error_in_tolerances,normal_deg,ns\n");
    for row in rows {
        let number = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| row.absence().replace('–', ""), |v| format!("{v:.digits$}"))
        };
        let bytes = row.measured().map(|m| m.bytes as f64);
        let _ = writeln!(
            out,
            "{},{},{},\"{}\",{},{},{},{},{}",
            row.case,
            row.channels.name(),
            row.tolerance,
            row.peer,
            number(bytes, 0),
            number(bytes.map(|b| 8.0 * b / row.vertices as f64), 3),
            number(row.error(), 4),
            row.measured().and_then(|m| m.errors.normal).map_or(String::new(), |n| format!("{n:.3}")),
            row.nanoseconds().map_or(String::new(), |n| format!("{n:.3}")),
        );
    }
    out
}

/// Returns the part of the page that is measured.
pub fn tables(rows: &[Row], cases: &[Summary]) -> anyhow::Result<String> {
    let mut out = format!("Measured on `{}`, {}.\n\n", machine::name(), machine::today());
    out += "| animation | frames | vertices, all channels | positions alone | triangles | |\n";
    out += "|---|---|---|---|---|---|\n";
    for case in cases {
        let tangents = if case.has_tangents { "uvs and tangents" } else { "" };
        let changing = if case.has_fixed_faces { "" } else { "faces change in every frame; the largest one" };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {tangents}{changing} |",
            case.name,
            case.frames,
            thousands(case.vertices[0]),
            thousands(case.vertices[1]),
            thousands(case.triangles),
        );
    }
    let mut tolerances: Vec<&str> = rows.iter().map(|row| &row.tolerance[..]).collect();
    tolerances.dedup();
    let mut seen = Vec::new();
    for tolerance in tolerances {
        if seen.contains(&tolerance) {
            continue;
        }
        seen.push(tolerance);
        for channels in Channels::BOTH {
            let own: Vec<&Row> =
                rows.iter().filter(|row| row.channels == channels && row.tolerance == tolerance).collect();
            if !own.is_empty() {
                section(&mut out, &own, cases, tolerance, channels);
            }
        }
    }
    out += "\n## Skeletal clips\n\nPublished figures and figures measured earlier, not by this script: 40 clips of \
            motion capture, ratio to 40 bytes per joint and sample. The same figures of meshreel are in \
            [BENCHMARKS](BENCHMARKS.md#size-of-clips).\n\n";
    out += "| system | setting | error asked for, cm | largest error, cm | ratio |\n|---|---|---|---|---|\n";
    for clip in baselines::clip_baselines()? {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            clip.system, clip.setting, clip.tolerance, clip.worst, clip.ratio
        );
    }
    Ok(out)
}

fn section(out: &mut String, rows: &[&Row], cases: &[Summary], tolerance: &str, channels: Channels) {
    let title = match channels {
        Channels::All => "Everything a shader needs",
        Channels::Positions => "Positions alone",
    };
    let _ = write!(out, "\n## {title}, largest error {} of the diagonal\n", power(tolerance));
    let mut peers: Vec<&str> = Vec::new();
    for row in rows {
        if !peers.contains(&row.peer) {
            peers.push(row.peer);
        }
    }
    let find = |peer: &str, case: &Summary| {
        rows.iter().find(|row| row.peer == peer && row.case == case.name).copied()
    };
    let names: Vec<&str> = cases.iter().map(|case| &case.name[..]).collect();
    let last = match channels {
        Channels::All => " largest error in tolerances | normals |",
        Channels::Positions => " largest error in tolerances |",
    };
    let rule = "---|".repeat(cases.len() + 1 + last.matches('|').count());
    let _ = write!(out, "\nBytes:\n\n| | {} |{last}\n|{rule}\n", names.join(" | "));
    let most = |peer: &str, value: &dyn Fn(&Row) -> Option<f64>| {
        let values = rows.iter().filter(|row| row.peer == peer).filter_map(|row| value(row));
        values.fold(None, |most: Option<f64>, v| Some(most.map_or(v, |most| most.max(v))))
    };
    for peer in &peers {
        let _ = write!(out, "| {peer} |");
        for case in cases {
            let bytes = |row: &Row| row.measured().map(|m| m.bytes as f64);
            let least =
                peers.iter().filter_map(|peer| bytes(find(peer, case)?)).fold(f64::INFINITY, f64::min);
            entry(out, find(peer, case), &bytes, least, &|bytes| thousands(bytes as usize));
        }
        let error = most(peer, &|row| row.error());
        let _ = write!(out, " {} |", error.map_or("–".into(), |e| format!("{e:.3}")));
        if channels == Channels::All {
            let normal = most(peer, &|row| row.measured()?.errors.normal);
            let _ = write!(out, " {} |", normal.map_or("–".into(), |n| format!("{n:.2}°")));
        }
        out.push('\n');
    }
    let rule = "---|".repeat(cases.len() + 1);
    let _ = write!(out, "\nNanoseconds per vertex and frame:\n\n| | {} |\n|{rule}\n", names.join(" | "));
    let is_timed = |peer: &&&str| {
        let mut own = rows.iter().filter(|row| row.peer == **peer);
        own.any(|row| row.nanoseconds().is_some() || matches!(row.outcome, Outcome::Missing))
    };
    for peer in peers.iter().filter(is_timed) {
        let _ = write!(out, "| {peer} |");
        for case in cases {
            let own = |row: &Row| row.nanoseconds();
            let least = peers.iter().filter_map(|peer| own(find(peer, case)?)).fold(f64::INFINITY, f64::min);
            entry(out, find(peer, case), &own, least, &|ns| format!("{ns:.2}"));
        }
        out.push('\n');
    }
}

/// Writes a number into a table, bold if it is the smallest.
fn entry(
    out: &mut String,
    row: Option<&Row>,
    value: &dyn Fn(&Row) -> Option<f64>,
    least: f64,
    format: &dyn Fn(f64) -> String,
) {
    let text = match row.and_then(value) {
        Some(value) if value <= least => format!("**{}**", format(value)),
        Some(value) => format(value),
        None => row.map_or("–", Row::absence).into(),
    };
    let _ = write!(out, " {text} |");
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns `1e-4` as `10⁻⁴`, and other texts as they are.
fn power(tolerance: &str) -> String {
    let Some(exponent) = tolerance.strip_prefix("1e-").and_then(|e| e.parse::<usize>().ok()) else {
        return tolerance.into();
    };
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    DIGITS.get(exponent).map_or(tolerance.into(), |digit| format!("10⁻{digit}"))
}

const BEGIN: &str = "<!-- measured: bench/peers/run.sh writes what follows -->\n";
const END: &str = "<!-- measured: end -->";

/// Replaces what stands between the markers of a page.
pub fn write(page: &Path, text: &str) -> anyhow::Result<()> {
    let old = std::fs::read_to_string(page).with_context(|| page.display().to_string())?;
    let (before, rest) = old.split_once(BEGIN).context("the page has no marker to begin at")?;
    let (_, after) = rest.split_once(END).context("the page has no marker to end at")?;
    std::fs::write(page, format!("{before}{BEGIN}\n{text}\n{END}{after}"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([power("1e-4"), power("0.002")], ["10⁻⁴", "0.002"]);
    }

    #[test]
    fn only_the_text_between_markers_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("page.md");
        std::fs::write(&page, format!("a\n{BEGIN}old\n{END}\nb\n")).unwrap();
        for _ in 0..2 {
            write(&page, "new").unwrap();
            assert_eq!(std::fs::read_to_string(&page).unwrap(), format!("a\n{BEGIN}\nnew\n{END}\nb\n"));
        }
    }
}
