//! Faces of either side at one time; their corners are points of that side.

use glam::{DMat3, DMat4};

/// Faces of one side: corners are points of that side, face by face.
#[derive(Default)]
pub(super) struct OrientedFaces {
    corners: Vec<u32>,
    /// First corner of each face, and the end of the last.
    first: Vec<u32>,
    /// Orientation of corners in the world: 1 counter-clockwise, −1 clockwise, 0 if a transform leaves no
    /// volume.
    pub orientation: Vec<i8>,
    pub owner: Vec<u32>,
    /// `true` for faces that may be hidden.
    pub may_be_hidden: Vec<bool>,
}

impl OrientedFaces {
    /// Adds a face.
    pub fn add(&mut self, owner: usize, turn: i8, corners: impl IntoIterator<Item = u32>) {
        if self.first.is_empty() {
            self.first.push(0);
        }
        self.corners.extend(corners);
        self.first.push(self.corners.len() as u32);
        self.orientation.push(turn);
        self.owner.push(owner as u32);
        self.may_be_hidden.push(false);
    }

    /// Says that the face that was added last may be hidden.
    pub fn set_last_hidden(&mut self) {
        self.may_be_hidden.last_mut().into_iter().for_each(|hidden| *hidden = true);
    }

    pub fn len(&self) -> usize {
        self.orientation.len()
    }

    pub fn corners(&self, face: usize) -> &[u32] {
        &self.corners[self.first[face] as usize..self.first[face + 1] as usize]
    }

    /// Returns, for each point, the faces that have it as a corner.
    pub fn by_point(&self, points: usize) -> IndexLists {
        let faces =
            (0..self.len()).flat_map(|face| self.corners(face).iter().map(move |&p| (p, face as u32)));
        IndexLists::new(points, faces)
    }
}

/// Returns the orientation, under a transform, of a face that is counter-clockwise in its own space.
pub(super) fn orientation_under(world: &DMat4) -> i8 {
    /// A determinant below this fraction of the product of the axes' lengths is rounding.
    const FLAT: f64 = 1e-6;
    let m = DMat3::from_mat4(*world);
    let [x, y, z] = [m.x_axis, m.y_axis, m.z_axis].map(|axis| axis.try_normalize().unwrap_or_default());
    match DMat3::from_cols(x, y, z).determinant() {
        volume if volume > FLAT => 1,
        volume if volume < -FLAT => -1,
        _ => 0,
    }
}

/// Lists of numbers, stored in one array.
pub(super) struct IndexLists {
    first: Vec<u32>,
    all: Vec<u32>,
}

impl IndexLists {
    /// Creates `count` lists from pairs of a list and a number in it.
    pub fn new(count: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> IndexLists {
        let mut first = vec![0u32; count + 1];
        pairs.clone().for_each(|(list, _)| first[list as usize + 1] += 1);
        for i in 0..count {
            first[i + 1] += first[i];
        }
        let mut next = first.clone();
        let mut all = vec![0; first[count] as usize];
        for (list, number) in pairs {
            all[next[list as usize] as usize] = number;
            next[list as usize] += 1;
        }
        IndexLists { first, all }
    }

    pub fn get(&self, list: u32) -> &[u32] {
        &self.all[self.first[list as usize] as usize..self.first[list as usize + 1] as usize]
    }
}
