//! Ids of parts in the source: integers on faces or points, names of objects. Hints that are always verified.

use super::analyse::{Parts, PartsRequest, agreement, find_parts};
use super::{NO_PART, Trajectories};
use crate::Cancelled;
use std::collections::BTreeMap;

/// The fraction of the points with an id that must move with their id before an attribute is used as ids.
const MIN_AGREEMENT: f64 = 0.5;

/// An attribute that may separate parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartHint {
    /// Its origin, for remarks.
    pub name: String,
    /// By point, its group, or [`NO_PART`].
    pub groups: Vec<u32>,
}

impl PartHint {
    /// Creates a hint from a value of each point.
    pub fn from_points(name: &str, values: &[i64]) -> PartHint {
        let mut numbers = BTreeMap::new();
        let groups = values.iter().map(|&value| number(&mut numbers, value));
        PartHint { name: name.to_owned(), groups: groups.collect() }
    }

    /// Creates a hint from a value of each face; `counts` and `corners` as in meshes. Points between faces of
    /// different values belong to no group, nor do points of no face. Faces without a value and corners of
    /// missing points are ignored.
    pub fn from_faces(
        name: &str,
        points: usize,
        counts: &[u32],
        corners: &[u32],
        values: &[i64],
    ) -> PartHint {
        let mut numbers = BTreeMap::new();
        let mut groups: Vec<Option<u32>> = vec![None; points];
        let mut left = corners;
        for (&count, &value) in counts.iter().zip(values) {
            let (face, rest) = left.split_at(left.len().min(count as usize));
            left = rest;
            let group = number(&mut numbers, value);
            for &p in face {
                if let Some(known) = groups.get_mut(p as usize) {
                    *known = match *known {
                        Some(other) if other != group => Some(NO_PART),
                        _ => Some(group),
                    };
                }
            }
        }
        PartHint { name: name.to_owned(), groups: groups.into_iter().map(|g| g.unwrap_or(NO_PART)).collect() }
    }
}

impl PartHint {
    /// Returns the number of groups.
    pub fn group_count(&self) -> usize {
        let known = self.groups.iter().filter(|&&g| g != NO_PART);
        known.max().map_or(0, |most| *most as usize + 1)
    }
}

/// Numbers values in the order in which they appear.
fn number(numbers: &mut BTreeMap<i64, u32>, value: i64) -> u32 {
    let next = numbers.len() as u32;
    *numbers.entry(value).or_insert(next)
}

/// Parts that were found with the help of hints.
#[derive(Clone, Debug)]
pub struct HintedParts {
    /// The parts; their `broken_groups` are groups of the hint that was used.
    pub parts: Parts,
    /// Index of the hint that was used; the others do not agree with the motion.
    pub used: Option<usize>,
}

/// Finds the parts with the hint that agrees best with the motion, the first of several equal ones. Groups
/// that do not move as one are analysed, as is everything if no hint agrees for more than half of its points.
/// The work is that of [`find_parts`] and one fit per group.
pub fn find_with_hints(
    all: &Trajectories,
    request: &PartsRequest<'_>,
    hints: &[PartHint],
) -> Result<HintedParts, Cancelled> {
    let mut best: Option<(f64, usize)> = None;
    for (i, hint) in hints.iter().enumerate() {
        if hint.groups.len() != all.points() {
            continue;
        }
        let share = agreement(all, &hint.groups, request.tolerance, &request.cancellation);
        if share > MIN_AGREEMENT && best.is_none_or(|(other, _)| share > other) {
            best = Some((share, i));
        }
    }
    let used = best.map(|(_, i)| i);
    let groups = used.map_or(request.groups, |i| &hints[i].groups);
    let parts = find_parts(all, &PartsRequest { groups, ..request.clone() });
    request.cancellation.check()?;
    Ok(HintedParts { parts, used })
}
