//! Reads the faces of a source and selects the usable ones: the only place that reads unchecked counts and
//! indices.
//!
//! A face is kept if it has at least three corners and every corner refers to a point. Others are dropped and
//! counted by reason; their corners are still skipped, so that the corner numbers of all other faces stay
//! those of the source.

/// The numbers of dropped faces, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DroppedFaces {
    /// Fewer than three corners, or a negative count.
    pub too_few_corners: u64,
    /// A corner refers to a point that does not exist.
    pub missing_points: u64,
    /// The counts exceed the number of corners.
    pub overrun: u64,
}

impl DroppedFaces {
    /// Returns the number of all dropped faces.
    pub fn total(&self) -> u64 {
        self.too_few_corners + self.missing_points + self.overrun
    }

    /// Returns a sentence for a remark; `None` if nothing was dropped.
    pub fn sentence(&self) -> Option<String> {
        let parts: Vec<String> = [
            (self.too_few_corners, "with fewer than three corners"),
            (self.missing_points, "with a point that does not exist"),
            (self.overrun, "beyond the end of the corner list"),
        ]
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, why)| format!("{n} {why}"))
        .collect();
        (!parts.is_empty()).then(|| format!("faces left out: {}", parts.join(", ")))
    }
}

/// A usable face.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Face {
    /// Its number in the source.
    pub number: u32,
    /// Its first corner, an index into the source's corner list.
    pub first: u32,
    /// The number of its corners, at least 3; they are `first..first + count`.
    pub count: u32,
}

impl Face {
    /// Returns its corners as a range of the corner list.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.first as usize..self.first as usize + self.count as usize
    }
}

/// The usable faces of one mesh, in the source's order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faces {
    /// The faces.
    pub list: Vec<Face>,
    /// By corner of the source, its point; [`NO_POINT`] for corners of no usable face.
    pub corner_point: Vec<u32>,
    /// The number of points of the mesh.
    pub points: usize,
    /// The numbers of dropped faces.
    pub dropped: DroppedFaces,
}

/// The point of a corner of no usable face.
pub const NO_POINT: u32 = u32::MAX;

const _: () = assert!(NO_POINT == NO_GROUP);

/// The group of a corner of no usable face.
pub const NO_GROUP: u32 = u32::MAX;

impl Faces {
    /// Reads `counts` (corners per face) and `indices` (point per corner) of a mesh with `points` points.
    pub fn new(counts: &[i32], indices: &[i32], points: usize) -> Faces {
        // Corner and face numbers are u32 with one value reserved; any excess counts as overrun.
        let corners = indices.len().min(u32::MAX as usize - 1);
        let usable = counts.len().min(u32::MAX as usize - 1);
        let mut faces = Faces {
            list: Vec::with_capacity(usable),
            corner_point: vec![NO_POINT; indices.len()],
            points,
            dropped: DroppedFaces { overrun: (counts.len() - usable) as u64, ..DroppedFaces::default() },
        };
        let mut first = 0usize;
        for (number, &count) in counts[..usable].iter().enumerate() {
            let count = count.max(0) as usize;
            if count > corners - first {
                faces.dropped.overrun += (usable - number) as u64;
                break;
            }
            let own = &indices[first..first + count];
            if count < 3 {
                faces.dropped.too_few_corners += 1;
            } else if own.iter().any(|&p| p < 0 || p as usize >= points) {
                faces.dropped.missing_points += 1;
            } else {
                for (to, &p) in faces.corner_point[first..first + count].iter_mut().zip(own) {
                    *to = p as u32;
                }
                faces.list.push(Face { number: number as u32, first: first as u32, count: count as u32 });
            }
            first += count;
        }
        faces
    }

    /// Returns the number of triangles after triangulation: `n − 2` for every face.
    pub fn triangles(&self) -> usize {
        self.list.iter().map(|f| f.count as usize - 2).sum()
    }
}

/// Returns, by corner of the source, its face; u32::MAX for corners of unusable faces.
pub fn corner_faces(faces: &Faces) -> Vec<u32> {
    let mut out = vec![u32::MAX; faces.corner_point.len()];
    for face in &faces.list {
        out[face.range()].fill(face.number);
    }
    out
}

/// Returns, by vertex, the face of its corner.
pub fn vertex_faces(vertex_corner: &[u32], corner_face: &[u32]) -> Vec<u32> {
    vertex_corner.iter().map(|&c| corner_face.get(c as usize).copied().unwrap_or(u32::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_faces_are_dropped_and_the_corners_of_others_keep_their_numbers() {
        let counts = [3, -4, 0, 2, 3, 3, 5];
        let indices = [0, 1, 2, 0, 1, 0, 9, 1, 3, 2, 1, 0, 0];
        let faces = Faces::new(&counts, &indices, 4);
        let kept: Vec<_> = faces.list.iter().map(|f| (f.number, f.first, f.count)).collect();
        assert_eq!(kept, [(0, 0, 3), (5, 8, 3)]);
        assert_eq!(faces.dropped, DroppedFaces { too_few_corners: 3, missing_points: 1, overrun: 1 });
        assert_eq!(faces.dropped.total(), 5);
        assert!(faces.dropped.sentence().unwrap().contains("3 with fewer than three"));
        assert_eq!(faces.corner_point[0..3], [0, 1, 2]);
        assert!(faces.corner_point[3..8].iter().all(|&p| p == NO_POINT));
        assert_eq!(faces.corner_point[8..11], [3, 2, 1]);
        assert_eq!(faces.triangles(), 2);
    }

    #[test]
    fn a_count_that_runs_past_the_end_ends_the_list() {
        let faces = Faces::new(&[3, i32::MAX, 3], &[0, 1, 2, 0, 1, 2], 3);
        assert_eq!(faces.list.len(), 1);
        assert_eq!(faces.dropped.overrun, 2);
    }

    #[test]
    fn nothing_gives_nothing() {
        let faces = Faces::new(&[], &[], 0);
        assert_eq!(faces.list.len(), 0);
        assert_eq!(faces.dropped.sentence(), None);
    }
}
