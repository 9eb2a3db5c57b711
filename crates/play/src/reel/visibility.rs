//! Triangle visibility: while pieces of a mesh touch, or when they have come to rest, the triangles between
//! them can be left out. The intervals are in memory when the file is open; a query walks over a few hundred
//! numbers and allocates nothing.

use crate::reel::layout::IndexRange;
use meshreel_codec::Corrupt;
use meshreel_codec::record::MeshRecord;
use meshreel_codec::sort;
use meshreel_codec::topology::visibility;
use meshreel_codec::topology::visibility::Interval;

/// Triangles that are visible in the same interval and have the same material.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TriangleBlock {
    range: IndexRange,
    material: u32,
    interval: Interval,
}

/// The triangles of a mesh, sorted by visibility.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TriangleVisibility {
    pub indices: Vec<u32>,
    blocks: Vec<TriangleBlock>,
}

impl TriangleVisibility {
    /// Returns the numbers of triangles that are left out in the first frame, in the last, and in all.
    pub fn hidden_counts(&self, frames: u32) -> [usize; 3] {
        let count = |gone: &dyn Fn(Interval) -> bool| {
            let blocks = self.blocks.iter().filter(|b| gone(b.interval));
            blocks.map(|b| b.range.count as usize / 3).sum()
        };
        let last = frames.saturating_sub(1);
        [
            count(&|i| !visibility::is_visible(i, 0, 0)),
            count(&|i| !visibility::is_visible(i, last, last)),
            count(&|[from, to]| from >= to),
        ]
    }
}

/// An iterator over the ranges of indices that are visible at a moment; adjacent ranges are joined.
#[derive(Clone, Debug)]
#[must_use = "iterators are lazy"]
pub struct VisibleRanges<'a> {
    blocks: &'a [TriangleBlock],
    first: u32,
    second: u32,
    material: Option<u32>,
    /// All indices, for a mesh whose triangles are always visible.
    whole: Option<IndexRange>,
}

impl<'a> VisibleRanges<'a> {
    pub(crate) fn whole(range: IndexRange) -> VisibleRanges<'a> {
        VisibleRanges {
            blocks: &[],
            first: 0,
            second: 0,
            material: None,
            whole: Some(range).filter(|range| range.count > 0),
        }
    }

    pub(crate) fn new(
        visibility: &'a TriangleVisibility,
        [first, second]: [u32; 2],
        material: Option<usize>,
    ) -> VisibleRanges<'a> {
        VisibleRanges {
            blocks: &visibility.blocks,
            first,
            second,
            material: material.map(|m| m as u32),
            whole: None,
        }
    }
}

impl Iterator for VisibleRanges<'_> {
    type Item = IndexRange;

    fn next(&mut self) -> Option<IndexRange> {
        if let Some(whole) = self.whole.take() {
            return Some(whole);
        }
        let mut out: Option<IndexRange> = None;
        while let [block, rest @ ..] = self.blocks {
            let wanted = self.material.is_none_or(|m| m == block.material);
            if wanted && visibility::is_visible(block.interval, self.first, self.second) {
                match &mut out {
                    Some(range) if range.first + range.count == block.range.first => {
                        range.count += block.range.count;
                    }
                    Some(_) => return out,
                    None => out = Some(block.range),
                }
            } else if out.is_some() {
                return out;
            }
            self.blocks = rest;
        }
        out
    }
}

/// Returns the most bytes that it takes: another order of the indices, the interval and the key of each
/// triangle, and blocks.
pub(crate) fn max_bytes(mesh: &MeshRecord) -> u64 {
    let triangles = u64::from(mesh.indices / 3);
    triangles * (12 + 4 + 8 + 16 + size_of::<TriangleBlock>() as u64)
}

pub(crate) fn read(
    record: &MeshRecord,
    indices: &[u32],
    bytes: &[u8],
    frames: u32,
) -> Result<TriangleVisibility, Corrupt> {
    let (triangles, _) = indices.as_chunks::<3>();
    let mut intervals = vec![[0; 2]; visibility::interval_count(bytes, triangles.len() as u32)? as usize];
    let mut which = vec![0; triangles.len()];
    visibility::decode(bytes, frames, &mut intervals, &mut which)?;
    // Triangles without a material come last.
    let none = record.materials.len() as u32;
    let mut material = vec![none; triangles.len()];
    for (m, range) in (0..).zip(&record.materials) {
        let (first, count) = (range.first as usize / 3, range.count as usize / 3);
        if let Some(own) = material.get_mut(first..first + count) {
            own.fill(m);
        }
    }
    let mut order: Vec<u32> = (0..triangles.len() as u32).collect();
    sort::unstable_by_key(&mut order, |&t| (material[t as usize], which[t as usize], t));
    let mut out = TriangleVisibility::default();
    for &t in &order {
        let at = out.indices.len() as u32;
        out.indices.extend(triangles[t as usize]);
        let (material, interval) = (material[t as usize], intervals[which[t as usize] as usize]);
        match out.blocks.last_mut() {
            Some(last) if (last.material, last.interval) == (material, interval) => {
                last.range.count += 3;
            }
            _ => out.blocks.push(TriangleBlock {
                range: IndexRange { first: at, count: 3 },
                material,
                interval,
            }),
        }
    }
    Ok(out)
}
