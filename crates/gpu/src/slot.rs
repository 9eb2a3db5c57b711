//! The words of one frame of a mesh, as a slot of the ring holds them: decoded numbers, nothing computed.
//!
//! | section | words |
//! |---|---|
//! | positions | 16 bits: 2 a point, x y z and one that means nothing · 32 bits: 4 a point · codes: 3 planes, a word a vertex · bones: residuals, as points · none that the card decodes |
//! | heights | 16 bits: two points in a word |
//! | matrices | 12 floats a bone, four columns, in units of positions · packed: 7 words and 3 a part that moves, as in the file |
//! | normal codes | components × vertices, two in a word, planes |
//! | states | a word a group, x low, y high |
//! | turns | two vertices in a word |
//! | rotations | 4 floats a bone, x y z w · none of packed transforms |
//! | uvs | 2 floats a vertex · colours: a word a vertex, 8 bits a component |

use crate::fixed::{Fixed, colours};
use crate::shaders::{Normals, Positions};
use crate::words::{pair, pairs};
use meshreel::raw::{Matrix, PointBones, Points};
use meshreel::record::Semantic;
use meshreel::{Error, MeshView};

/// Words of a frame of packed transforms before them.
const PACKED_HEAD: usize = 7;

/// Room for writing frames, to be kept from one to the next.
#[derive(Debug, Clone, Default)]
pub struct Room {
    matrices: Vec<Matrix>,
    floats: Vec<f32>,
}

impl Fixed {
    /// Lays the sections of a slot out: offsets into the parameters; words of a slot.
    pub(crate) fn lay_slot(&mut self) -> usize {
        let mut next = 0;
        let mut take = |words: usize| {
            let at = next;
            next += words as u32;
            at
        };
        let (vertices, groups) = (self.vertices, self.params.groups as usize);
        let variant = &self.variant;
        let p = &mut self.params;
        p.positions = take(match variant.positions {
            _ if variant.coded => 0,
            Positions::Narrow => 2 * self.points,
            Positions::Wide => 4 * self.points,
            Positions::Codes => 3 * vertices,
            Positions::Heights(_) => self.points.div_ceil(2),
            Positions::Bones(bones) if bones.wide => 4 * self.residuals,
            Positions::Bones(_) => 2 * self.residuals,
        });
        let packed = matches!(variant.positions, Positions::Bones(bones) if bones.packed);
        p.matrices =
            take(if packed { PACKED_HEAD + 3 * p.packed_parts as usize } else { 12 * self.matrices });
        match variant.normals {
            Normals::None => {}
            Normals::Octahedral => p.normal_codes = take(vertices),
            Normals::Frames => p.normal_codes = take(2 * vertices),
            Normals::Summed(_) | Normals::Turned => {
                p.states = take(groups);
                p.turns = take(if p.classes > 0 { vertices.div_ceil(2) } else { 0 });
                p.rotations = take(if packed { 0 } else { 4 * self.bones });
            }
        }
        p.slot_uvs = take(if variant.moving_uvs { 2 * vertices } else { 0 });
        p.slot_colours = take(if variant.moving_colours { vertices } else { 0 });
        next as usize
    }

    /// Writes transforms of bones, packed or as matrices.
    fn write_bones(&self, bones: &PointBones<'_>, room: &mut Room, out: &mut [u32]) {
        let packed = match self.variant.positions {
            Positions::Bones(own) if own.packed => bones.packed(),
            _ => None,
        };
        if let Some(packed) = packed {
            // Behind the part at the right edge lies what means nothing.
            let live = packed.words.first().map_or(0, |edges| (edges >> 16).saturating_sub(edges & 0xFFFF));
            let used = (PACKED_HEAD + 3 * live as usize).min(packed.words.len());
            let words = &mut out[..PACKED_HEAD + 3 * self.params.packed_parts as usize];
            words[0] = 0;
            words[..used].copy_from_slice(&packed.words[..used]);
            return;
        }
        room.matrices.resize(self.matrices, Matrix::default());
        bones.matrices_into(&mut room.matrices);
        let columns = room.matrices.iter().flatten().flat_map(|column| &column[..3]);
        out[..12 * self.matrices].iter_mut().zip(columns).for_each(|(word, v)| *word = v.to_bits());
    }

    /// Writes the words of a frame, as many as a slot has.
    pub(crate) fn write_slot(
        &self,
        mesh: &MeshView<'_>,
        room: &mut Room,
        out: &mut [u32],
    ) -> Result<(), Error> {
        let p = &self.params;
        let positions = mesh.fixed_point_positions();
        let bones = positions.as_ref().and_then(|positions| positions.bones);
        let packed = matches!(self.variant.positions, Positions::Bones(bones) if bones.packed);
        if let Some(bones) = &bones {
            self.write_bones(bones, room, &mut out[p.matrices as usize..]);
        }
        let mut put = |at: u32, words: &mut dyn Iterator<Item = u32>| {
            for (out, word) in out[at as usize..].iter_mut().zip(words) {
                *out = word;
            }
        };
        let points = match &bones {
            Some(bones) => bones.residuals(),
            None => positions.as_ref().and_then(|positions| positions.points),
        };
        match points {
            Some(Points::Narrow(points)) if let Positions::Heights(axis) = self.variant.positions => {
                let two = |two: &[[i16; 4]]| pair(two[0][axis], two.get(1).map_or(0, |point| point[axis]));
                put(p.positions, &mut points.chunks(2).map(two));
            }
            Some(Points::Narrow(points)) => {
                put(p.positions, &mut points.iter().flat_map(|p| [pair(p[0], p[1]), pair(p[2], 0)]));
            }
            Some(Points::Wide(points)) => {
                put(p.positions, &mut points.as_flattened().iter().map(|v| *v as u32));
            }
            None if bones.is_some() || self.variant.coded => {}
            None => {
                let stream = mesh.find(Semantic::Position, 0).unwrap_or_default();
                let codes = mesh.quantized(stream);
                put(p.positions, &mut (0..codes.len()).map(|i| codes.get(i).unwrap_or(0)));
            }
        }
        if let Normals::Octahedral | Normals::Frames = self.variant.normals
            && let Some(stream) = mesh.direction_stream()
        {
            let codes = mesh.quantized(stream);
            let code = |i: usize| codes.get(i).unwrap_or(0) & 0xFFFF;
            let words = (0..codes.len()).step_by(2).map(|i| code(i) | code(i + 1) << 16);
            put(p.normal_codes, &mut { words });
        }
        if let Some(normals) = mesh.normal_states() {
            let (states, turns) = normals.states.split_at(2 * p.groups as usize);
            put(p.states, &mut pairs(states));
            put(p.turns, &mut pairs(turns));
            let rotation =
                |bone: usize| normals.transforms.get(bone).map_or([0.0, 0.0, 0.0, 1.0], |t| t.rotation);
            if !packed {
                put(p.rotations, &mut (0..self.bones).flat_map(rotation).map(f32::to_bits));
            }
        }
        if self.variant.moving_uvs {
            room.floats.resize(2 * mesh.vertex_count(), 0.0);
            mesh.uvs_into(0, &mut room.floats)?;
            put(p.slot_uvs, &mut room.floats.iter().map(|v| v.to_bits()));
        }
        if self.variant.moving_colours {
            put(p.slot_colours, &mut colours(mesh, &mut room.floats)?);
        }
        Ok(())
    }
}
