//! Points moved by bones: rigid parts, and skins. The bones predict each point; points for which the
//! prediction is too inaccurate have a residual, coded by [`crate::mesh`].
//!
//! ```text
//! x      = Σ w_b · M_b · p                     p: the point at rest; w_b: its weight of bone b; M_b: 3 × 4 matrix of bone b, in units of fixed-point values
//! value  = ⌊x⌉ (+ inn, if the point has a residual)           wraps; halves to even
//! ```
//!
//! **Static part**
//!
//! | size | name | meaning |
//! |---|---|---|
//! | 1 | `depth` | weights of a point have the sum 2^depth |
//! | varint + … | `rest` | positions at rest of all points: the static part of fixed-point values of one frame |
//! | varint + … | `weights` | bones of each point |
//! | varint + … | `setup` | only with rigid bones: setup of moving nodes without parents, whose rest transform is the identity; if `codes_per_frame` is 0, of packed transforms |
//! | varint + … | `handles` | only with affine bones: static part of fixed-point values of four points per bone |
//! | 16 | `grid` | only if no point has a residual: unit, centre, 4 × f32 |
//! | rest | `residual` | otherwise: static part of fixed-point values of the points that have one; the bones' prediction is subtracted from frame 0 |
//!
//! **Unit**: for each kind of bones that exists, rigid before affine, and for the residual if there is one:
//! the size as a varint, and the bytes.
//!
//! A bone's *region* is the box of the points at rest whose weight is at least 1/32 of the sum: its middle m
//! and, per axis, half its size, but at least 1/16 of the largest of the three, 1/64 of the largest half size
//! of the box of all points, and 10⁻³⁰. The region of a rigid bone is the box of its node. The four *handles*
//! of an affine bone are four corners of that box no two of which share an edge, (+ + +), (+ − −), (− + −),
//! (− − +), as moved by the frame: the error of a handle bounds the error of every point in the box.
//! [`handles`] defines the order in which they are predicted from each other. Matrices are computed in f64,
//! divided by the unit, and rounded to f32; blends, in the order of the bones' numbers, and products are f32,
//! each operation rounded separately.

pub mod handles;
mod kernel;
pub mod packed;
pub mod weights;

#[cfg(test)]
mod tests;

use crate::Corrupt;
use crate::bytes::{Cursor, put_length_prefixed, put_varint};
use crate::clip::nodes::NodeTracks;
use crate::simd::isa::Isa;

use crate::entropy::range;
use crate::mesh::decode::{self, DecodedPoint, FirstFrame, StaticPart, Width};
use crate::mesh::hierarchy::{self, Hierarchy};
use crate::mesh::table_sets::TableSets;
use crate::mesh::tables::LAYERS;
use crate::quantize::fixed_point::FixedPoint;
use crate::quantize::lattice::FixedPointGrid;
use crate::transform::Transform;
use crate::width::Points;
use crate::{each_width, for_width};
use handles::{HANDLES, affine};
pub use kernel::{Matrix, Region, SkinRig};
use packed::PackedSetup;

/// The bones of a mesh, as far as decoders must know them before reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BoneCounts {
    /// The number of bones that rotate, move and scale.
    pub rigid: u32,
    /// The number of bones with arbitrary matrices.
    pub affine: u32,
    /// `true` if the handles of affine bones have 32 bits.
    pub wide: bool,
    /// The number of codes per frame for rigid bones; 0 if their transforms are packed.
    pub codes_per_frame: u32,
    /// The number of points with a residual.
    pub coded: u32,
}

impl BoneCounts {
    /// `true` if the transforms of rigid bones are [`crate::mesh::skin::packed`].
    pub fn packed(&self) -> bool {
        self.rigid > 0 && self.codes_per_frame == 0
    }
}

/// Converts a row-major 3 × 4 matrix in world space to units of a grid.
pub fn matrix(world: &[[f64; 4]; 3], grid: &FixedPointGrid) -> Matrix {
    let part = 1.0 / f64::from(grid.unit);
    let mut out = Matrix::default();
    for (r, row) in world.iter().enumerate() {
        for c in 0..3 {
            out[c][r] = (row[c] * part) as f32;
        }
        out[3][r] = ((row[3] - f64::from(grid.centre[r])) * part) as f32;
    }
    out
}

/// Builds the hierarchy of the points with a residual. `triangles` has three points per triangle.
pub fn residual_hierarchy(coded: &[u32], hierarchy: &Hierarchy, triangles: &[u32]) -> Hierarchy {
    let mut number = vec![u32::MAX; hierarchy.order.len()];
    for (at, &cell) in (0..).zip(coded) {
        number[hierarchy.order[cell as usize] as usize] = at;
    }
    let of = |&point: &u32| number.get(point as usize).copied().unwrap_or(u32::MAX);
    let own: Vec<u32> = match coded.len() == number.len() {
        true => triangles.iter().map(of).collect(),
        false => (triangles.chunks_exact(3))
            .filter(|t| t.iter().all(|p| of(p) != u32::MAX))
            .flat_map(|t| t.iter().map(of))
            .collect(),
    };
    hierarchy::build(coded.len() as u32, &own)
}

/// The parts of a static part, as an encoder writes them.
#[cfg(feature = "encode")]
#[derive(Clone, Copy, Debug)]
pub struct SkinContents<'a> {
    /// The sum of a point's weights is 2 to this power.
    pub depth: u32,
    /// The static part of the points at rest.
    pub rest: &'a [u8],
    /// The bones and weights of points, see [`weights`].
    pub weights: &'a [u8],
    /// The setup of rigid bones, if there are any.
    pub setup: Option<&'a [u8]>,
    /// The static part of the handles, if there are any.
    pub handles: Option<&'a [u8]>,
    /// The static part of the residual, if there is one.
    pub residual: Option<&'a [u8]>,
    /// The unit and centre that are written if there is no residual.
    pub grid: &'a FixedPointGrid,
}

/// Writes the static part.
#[cfg(feature = "encode")]
pub fn encode(parts: &SkinContents<'_>, out: &mut Vec<u8>) {
    out.push(parts.depth as u8);
    put_length_prefixed(parts.rest, out);
    put_length_prefixed(parts.weights, out);
    if let Some(setup) = parts.setup {
        put_length_prefixed(setup, out);
    }
    if let Some(handles) = parts.handles {
        put_length_prefixed(handles, out);
    }
    match parts.residual {
        Some(residual) => out.extend_from_slice(residual),
        None => {
            let [x, y, z] = parts.grid.centre;
            out.extend([parts.grid.unit, x, y, z].iter().flat_map(|v| v.to_le_bytes()));
        }
    }
}

/// Writes the bytes of one kind of bones, or of the residual, in an access unit.
#[cfg(feature = "encode")]
pub fn write_section(bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(bytes.len() as u32, out);
    out.extend_from_slice(bytes);
}

/// A decoded static part: the rig, and the decoders of its frames. Built once.
#[derive(Clone, Debug)]
pub struct Skin {
    /// The numbers of bones and residuals.
    pub bones: BoneCounts,
    /// The grid of the fixed-point positions.
    pub grid: FixedPointGrid,
    /// The points with their bones.
    pub rig: SkinRig,
    /// The rigid bones, unless they are packed.
    pub nodes: NodeTracks,
    /// The rigid bones, if they are packed.
    pub packed: Option<PackedSetup>,
    /// The four handles of each affine bone.
    pub handles: Option<StaticPart>,
    /// The points with a residual.
    pub residual: Option<StaticPart>,
    /// Frame 0, as far as the static part defines it.
    pub first: FirstFrame,
}

/// Reads the points at rest and their weights at the beginning of a static part.
fn read_rig(c: &mut Cursor<'_>, bones: BoneCounts, hierarchy: &Hierarchy) -> Result<SkinRig, Corrupt> {
    let count = bones.rigid + bones.affine;
    let depth = u32::from(c.u8()?);
    let rest = decode::decode_first_positions(c.length_prefixed()?, hierarchy)?;
    let decoder = range::Decoder::new(c.length_prefixed()?);
    let (weights, decoder) = weights::code(decoder, hierarchy, count, depth, None)?;
    decoder.finish()?;
    let rig = SkinRig::new(rest, &weights, count, &hierarchy.order);
    match rig.coded.len() == bones.coded as usize {
        true => Ok(rig),
        false => Err(Corrupt("skin: another number of residuals")),
    }
}

/// Reads the rigid bones, if there are any: as moving nodes, or packed.
fn read_rigid(
    c: &mut Cursor<'_>,
    bones: BoneCounts,
    rig: &SkinRig,
) -> Result<(NodeTracks, Option<PackedSetup>), Corrupt> {
    let rigid = bones.rigid as usize;
    let (mut nodes, mut packed) = (NodeTracks::default(), None);
    if bones.packed() {
        packed = Some(PackedSetup::decode(c.length_prefixed()?, &rig.regions[..rigid])?);
    } else if rigid > 0 {
        nodes = NodeTracks::new(&rig.nodes(rigid), c.length_prefixed()?)?;
    }
    match nodes.codes_per_frame == bones.codes_per_frame as usize {
        true => Ok((nodes, packed)),
        false => Err(Corrupt("skin: another number of words")),
    }
}

/// Reads the static part of the handles of affine bones, if there are any.
fn read_handles(
    c: &mut Cursor<'_>,
    bones: BoneCounts,
    rig: &SkinRig,
    sets: &mut TableSets,
) -> Result<Option<StaticPart>, Corrupt> {
    if bones.affine == 0 {
        return Ok(None);
    }
    let levels = handles::build_hierarchy(&rig.regions[bones.rigid as usize..]);
    let coded = StaticPart::decode_sharing(c.length_prefixed()?, levels, None, sets)?;
    match coded.first.is_wide() == bones.wide {
        true => Ok(Some(coded)),
        false => Err(Corrupt("skin: handles of another width")),
    }
}

/// Reads unit and centre, which end a static part without residuals.
fn read_grid(bytes: &[u8]) -> Result<FixedPointGrid, Corrupt> {
    let mut c = Cursor::new(bytes);
    let (unit, centre) = (c.f32()?, [c.f32()?, c.f32()?, c.f32()?]);
    let finite = centre.iter().all(|v| v.is_finite());
    match c.left() == 0 && finite && unit.is_normal() {
        true => Ok(FixedPointGrid { unit, centre, steps: [1; LAYERS] }),
        false => Err(Corrupt("skin: unit or centre is not finite")),
    }
}

/// The handles of all affine bones; `None` without affine bones.
pub type Handles<'a> = Option<Points<'a>>;

impl Skin {
    /// Decodes the static part of a mesh whose points have this hierarchy and these triangles. Fixed-point
    /// positions have 32 bits if `wide`, else 16.
    pub fn decode(
        bytes: &[u8],
        bones: BoneCounts,
        wide: bool,
        hierarchy: &Hierarchy,
        triangles: &[u32],
        sets: &mut TableSets,
    ) -> Result<Skin, Corrupt> {
        let count = u64::from(bones.rigid) + u64::from(bones.affine);
        if count == 0 || count > u64::from(MAX_BONES) {
            return Err(Corrupt("skin: a number of bones that cannot be"));
        }
        let mut c = Cursor::new(bytes);
        let rig = read_rig(&mut c, bones, hierarchy)?;
        let (nodes, packed) = read_rigid(&mut c, bones, &rig)?;
        let handles = read_handles(&mut c, bones, &rig, sets)?;
        let mut skin = Skin {
            bones,
            grid: FixedPointGrid { unit: 1.0, centre: [0.0; 3], steps: [1; LAYERS] },
            rig,
            nodes,
            packed,
            handles,
            residual: None,
            first: FirstFrame::Narrow(Vec::new()),
        };
        let rest = c.bytes(c.left())?;
        let mut matrices = vec![Matrix::default(); count as usize + 1];
        match bones.coded {
            0 => skin.grid = read_grid(rest)?,
            _ => skin.grid = decode::grid(rest)?,
        }
        skin.first_matrices(&mut matrices);
        if bones.coded > 0 {
            let levels = residual_hierarchy(&skin.rig.coded, hierarchy, triangles);
            let residual = skin.read_residual(rest, levels, &matrices, sets)?;
            if residual.first.is_wide() != wide {
                return Err(Corrupt("skin: a residual of another width than positions"));
            }
            skin.residual = Some(residual);
        }
        skin.first = for_width!(wide, W => W::into_owned_points(skin.first_positions::<W>(&matrices)));
        Ok(skin)
    }

    /// Reads the static part of the residual, whose points have the hierarchy `levels` and are moved by
    /// `matrices` in frame 0. Reorders the points with a residual as in that hierarchy.
    fn read_residual(
        &mut self,
        bytes: &[u8],
        levels: Hierarchy,
        matrices: &[Matrix],
        sets: &mut TableSets,
    ) -> Result<StaticPart, Corrupt> {
        let coded = &mut self.rig.coded;
        *coded = levels.order.iter().map(|&p| coded[p as usize]).collect();
        let outside: Vec<[i32; 3]> = (self.rig.coded.iter())
            .map(|&v| {
                let at = self.rig.position(v as usize, matrices);
                at.map(|x| x.round_ties_even() as i32)
            })
            .collect();
        StaticPart::decode_sharing(bytes, levels, Some(&outside), sets)
    }

    /// Renumbers points and fixed-point positions by their bones, for the fastest playback. Returns the new
    /// number of each.
    pub fn number_by_bones(&mut self) -> Vec<u32> {
        fn moved<T: Copy + Default>(list: &[T], numbers: &[u32]) -> Vec<T> {
            let mut out = vec![T::default(); list.len()];
            for (&number, &item) in numbers.iter().zip(list) {
                out[number as usize] = item;
            }
            out
        }
        let numbers = self.rig.number_by_bones();
        self.first = each_width!(&self.first, first => FixedPoint::into_owned_points(moved(first, &numbers)));
        numbers
    }

    /// Returns, for each point, the bone with the largest weight, which turns its normal;
    /// [`BoneCounts::rigid`] if there is none. `None` unless all bones are rigid.
    pub fn turning_bones(&self) -> Option<Vec<u32>> {
        let BoneCounts { rigid, affine, .. } = self.bones;
        if rigid == 0 || affine > 0 {
            return None;
        }
        let most = |v: usize| {
            let (mut most, mut weight) = (rigid, 0.0);
            for (bone, own) in self.rig.influences(v) {
                if own > weight {
                    (most, weight) = (bone as u32, own);
                }
            }
            most
        };
        Some((0..self.rig.rest.len()).map(most).collect())
    }

    /// Computes the [`Skin::matrices`] of frame 0.
    pub fn first_matrices(&self, out: &mut [Matrix]) {
        let transforms = vec![Transform::IDENTITY; self.bones.rigid as usize];
        self.matrices(&self.grid, &transforms, self.first_handles(), out);
    }

    /// Returns the handles of frame 0.
    pub fn first_handles(&self) -> Handles<'_> {
        self.handles.as_ref().map(|handles| handles.first.as_points())
    }

    fn first_positions<W: Width>(&self, matrices: &[Matrix]) -> Vec<DecodedPoint<W>> {
        let mut out = vec![[W::default(); 4]; self.rig.rest.len()];
        let residual = self.residual.as_ref().and_then(W::first);
        self.compose(matrices, residual.unwrap_or_default(), &mut out);
        out
    }

    /// Computes the matrices of a frame in units of a grid: of rigid bones, of affine ones, and the one of
    /// points that do not move. `handles` are in the order of their hierarchy.
    pub fn matrices(
        &self,
        grid: &FixedPointGrid,
        transforms: &[Transform],
        handles: Handles<'_>,
        out: &mut [Matrix],
    ) {
        let rigid = self.bones.rigid as usize;
        for (out, t) in out.iter_mut().zip(transforms) {
            *out = matrix(&t.matrix(), grid);
        }
        if let Some(coded) = &self.handles {
            let mut at = |handle: usize, position: [f32; 3]| {
                // Converted to matrices below: the handles of a bone are at different levels.
                let point = coded.hierarchy.order[handle] as usize;
                let (bone, k) = (point / HANDLES, point % HANDLES);
                for (to, v) in out[rigid + bone][k].iter_mut().zip(position) {
                    *to = v;
                }
            };
            if let Some(handles) = handles {
                each_width!(handles, points => for (i, p) in points.iter().enumerate() {
                    at(i, coded.grid.position([p[0].to_i32(), p[1].to_i32(), p[2].to_i32()]));
                });
            }
            let regions = &self.rig.regions[rigid..];
            for (out, region) in out[rigid..].iter_mut().zip(regions) {
                let handles = out.map(|[x, y, z, _]| [x, y, z]);
                *out = matrix(&affine(region, handles), grid);
            }
        }
        if let Some(last) = out.last_mut() {
            *last = matrix(&Transform::IDENTITY.matrix(), grid);
        }
    }

    /// Computes the fixed-point positions of a frame from its matrices and residuals.
    pub fn compose<W: FixedPoint>(
        &self,
        matrices: &[Matrix],
        residual: &[DecodedPoint<W>],
        out: &mut [DecodedPoint<W>],
    ) {
        self.rig.pose(Isa::get(), matrices, out);
        for (&v, r) in self.rig.coded.iter().zip(residual) {
            let cell = &mut out[v as usize];
            for k in 0..3 {
                cell[k] = cell[k].wrapping_add(r[k]);
            }
        }
    }
}

/// The largest number of bones of a mesh; one number is reserved for points that do not move.
pub const MAX_BONES: u32 = u16::MAX as u32;
