//! The bytes of a read: everything that the most urgent frame misses, and what is wanted around it.

use crate::stream::residency::{MissingUnits, NO_INDEX, NO_READ, Stream};

/// The largest gap in bytes between two units that are read together.
const MAX_GAP_BYTES: u64 = 64 << 10;

/// Returns the offset of the unit at a place in the file.
pub(crate) fn unit_start(stream: &Stream, place: u32) -> u64 {
    let unit = stream.file.unit_order[place as usize];
    stream.file.reel.unit_chunk(unit as usize).offset
}

/// Returns the end of the unit at a place in the file.
pub(crate) fn unit_end(stream: &Stream, place: u32) -> u64 {
    let unit = stream.file.unit_order[place as usize];
    stream.file.reel.unit_end(unit as usize)
}

/// Returns the missing units after a read that was cut because of bytes that nobody wants.
pub(crate) fn remaining_units(stream: &Stream, missing: MissingUnits, last: u32) -> Option<MissingUnits> {
    let wanted = |place: &u32| {
        let unit = &stream.units[stream.file.unit_order[*place as usize] as usize];
        unit.wanted == stream.epoch && unit.read == NO_READ && unit.node == NO_INDEX
    };
    let low = (last + 1..=missing.high).find(wanted);
    let low = low.filter(|_| stream.has_gaps())?;
    Some(MissingUnits { low, ..missing })
}

/// Returns the places to read: everything that the most urgent frame misses, and what is wanted around it up
/// to `size` bytes. A read that is cut ends before a frame that needs no others, if possible.
pub(crate) fn choose_range(stream: &Stream, missing: MissingUnits, size: u64, now: u64) -> (u32, u32) {
    let units = &stream.units;
    let of = |place: u32| stream.file.unit_order[place as usize] as usize;
    let wanted = |place: u32| {
        let unit = &units[of(place)];
        unit.wanted == stream.epoch && unit.read == NO_READ && unit.node == NO_INDEX && unit.retry_at <= now
    };
    let bytes = |first: u32, last: u32| unit_end(stream, last).saturating_sub(unit_start(stream, first));
    let gap = if stream.has_gaps() { 0 } else { MAX_GAP_BYTES };
    let near = |a: u32, b: u32| unit_start(stream, b).saturating_sub(unit_end(stream, a)) <= gap;
    let (first, mut last) = (missing.low, missing.low);
    // All of it in one read, if that is not too much, and nothing lies between that nobody wants.
    let most = if size == 0 { 0 } else { 2 * size };
    let joins = |place: u32| !stream.has_gaps() || wanted(place);
    while last < missing.high && bytes(first, last + 1) <= most && near(last, last + 1) && joins(last + 1) {
        last += 1;
    }
    // Units at its end may be there already.
    while last > first && !wanted(last) {
        last -= 1;
    }
    if last < missing.high && !(last + 1..=missing.high).all(|p| !wanted(p)) {
        return (first, last);
    }
    let least = last;
    let mut alone = last;
    let end = units.len() as u32;
    while last + 1 < end && wanted(last + 1) && near(last, last + 1) && bytes(first, last + 1) <= size {
        last += 1;
        if stream.file.reel.unit_dependencies(of(last)).is_empty() {
            alone = last;
        }
    }
    // A read that is cut because of its size ends where the next group begins.
    if last + 1 < end && wanted(last + 1) && alone > least {
        last = alone;
    }
    let mut first = first;
    while first > 0 && wanted(first - 1) && near(first - 1, first) && bytes(first - 1, last) <= size {
        first -= 1;
    }
    (first, last)
}
