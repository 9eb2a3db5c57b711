//! Prints the named ranges of an animation.

use crate::output::one_line;
use crate::units;
use meshreel_commands::info::RangeInfo;

/// Returns one line per range.
pub fn range_lines(ranges: &[RangeInfo]) -> Vec<String> {
    let line = |range: &RangeInfo| {
        format!(
            "{}: frames {} to {}, {} s from {} s",
            one_line(&range.name),
            range.first,
            range.first + range.frames - 1,
            units::short(range.duration),
            units::short(range.start)
        )
    };
    ranges.iter().map(line).collect()
}
