//! The shader and its variants: one text, four passes, and the constants of a pipeline.

use crate::layout::VertexLayout;
use crate::packed::{Double, FRACTION, ROTATION_STEP};
use crate::params;
pub use meshreel::raw::lists::NormalWeights;
use meshreel::raw::lists::{ARC, HALF_EXPONENT, LARGEST, ROUGH_ARC, ROUGH_ROOT, SMALLEST};

/// An entry point of the shader. They are run in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pass {
    /// Points that bones move, one thread each; used if later passes read each point more than once.
    Points,
    /// Normals of groups, one thread each.
    Normals,
    /// Tangents of classes, one thread each, after normals.
    Tangents,
    /// Vertices in the caller's layout, one thread each, after both.
    Vertices,
}

impl Pass {
    /// All entry points, in order.
    pub const ALL: &[Pass] = &[Pass::Points, Pass::Normals, Pass::Tangents, Pass::Vertices];

    /// Returns the name of the entry point.
    #[must_use]
    pub fn entry(self) -> &'static str {
        match self {
            Pass::Points => "points",
            Pass::Normals => "normals",
            Pass::Tangents => "tangents",
            Pass::Vertices => "vertices",
        }
    }
}

/// The form of positions in a slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PositionSource {
    /// Points of 16 bits.
    #[default]
    Narrow,
    /// Points of 32 bits.
    Wide,
    /// Quantized values of vertices.
    Codes,
    /// Bones and residuals.
    Bones(BonePositions),
    /// Points of 16 bits of which only this coordinate moves.
    Heights(usize),
}

/// The way in which bones move points.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct BonePositions {
    /// Points and residuals have 32 bits.
    pub wide: bool,
    /// Each point has one bone.
    pub single: bool,
    /// Some points have a residual.
    pub residuals: bool,
    /// A pass of its own poses them, for the passes that follow.
    pub own_pass: bool,
    /// Transforms are packed, as in the file.
    pub packed: bool,
}

/// The source of normals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NormalSource {
    /// There are none.
    #[default]
    None,
    /// Octahedral codes of vertices.
    Octahedral,
    /// Codes of tangent frames.
    Frames,
    /// Computed as a sum around each group.
    Summed(NormalWeights),
    /// Normals at rest, turned by bones.
    Turned,
}

/// The source of tangents, for normals that are summed or turned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TangentSource {
    /// There are none.
    #[default]
    None,
    /// A sum of the surrounding points with static factors.
    StaticFactors,
    /// A sum over corners, projected along the normal.
    Projected,
    /// Tangents at rest, turned by bones.
    Turned,
}

/// The properties of a mesh that its shaders are specialized for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
#[non_exhaustive]
pub struct ShaderVariant {
    pub positions: PositionSource,
    pub normals: NormalSource,
    pub tangents: TangentSource,
    /// There are polygons of five or more corners.
    pub large: bool,
    pub has_tangents: bool,
    pub uvs: bool,
    pub moving_uvs: bool,
    pub colours: bool,
    pub moving_colours: bool,
    /// Points lie in the ring of points: the card decodes them ([`crate::units`]).
    pub coded: bool,
    /// Particles with ids, which have another index in another frame. Particles without ids are the same by
    /// index in frames that are blended.
    pub ids: bool,
}

impl ShaderVariant {
    /// `true` if a pass has work.
    #[must_use]
    pub fn has(&self, pass: Pass) -> bool {
        match pass {
            Pass::Points => matches!(self.positions, PositionSource::Bones(bones) if bones.own_pass),
            Pass::Normals => matches!(self.normals, NormalSource::Summed(_) | NormalSource::Turned),
            Pass::Tangents => self.tangents != TangentSource::None,
            Pass::Vertices => true,
        }
    }

    /// Returns the override constants of its pipelines.
    #[must_use]
    pub fn constants(&self) -> Vec<(&'static str, f64)> {
        let (positions, bones) = match self.positions {
            PositionSource::Narrow => (0, BonePositions::default()),
            PositionSource::Wide => (1, BonePositions::default()),
            PositionSource::Codes => (2, BonePositions::default()),
            PositionSource::Bones(bones) => (3, bones),
            PositionSource::Heights(_) => (4, BonePositions::default()),
        };
        let axis = if let PositionSource::Heights(axis) = self.positions { axis } else { 0 };
        let (normals, weights) = match self.normals {
            NormalSource::None => (0, 0),
            NormalSource::Octahedral => (1, 0),
            NormalSource::Frames => (2, 0),
            NormalSource::Summed(weights) => {
                (3, NormalWeights::ALL.iter().position(|w| *w == weights).unwrap_or(0))
            }
            NormalSource::Turned => (4, 0),
        };
        let tangents = match self.tangents {
            TangentSource::None => 0,
            TangentSource::StaticFactors => 1,
            TangentSource::Projected => 2,
            TangentSource::Turned => 3,
        };
        let values = |still: bool, moving: bool| if moving { 2.0 } else { f64::from(u8::from(still)) };
        vec![
            ("POSITIONS", f64::from(positions)),
            ("HEIGHT_AXIS", axis as f64),
            ("CODED", f64::from(u8::from(self.coded))),
            ("IDS", f64::from(u8::from(self.ids))),
            ("WIDE_POINTS", f64::from(u8::from(bones.wide))),
            ("ONE_BONE", f64::from(u8::from(bones.single))),
            ("RESIDUALS", f64::from(u8::from(bones.residuals))),
            ("PACKED", f64::from(u8::from(bones.packed))),
            ("POINTS_APART", f64::from(u8::from(bones.own_pass))),
            ("NORMALS", f64::from(normals)),
            ("WEIGHTS", weights as f64),
            ("TANGENTS", f64::from(tangents)),
            ("LARGE", f64::from(u8::from(self.large))),
            ("UVS", values(self.uvs, self.moving_uvs)),
            ("COLOURS", values(self.colours, self.moving_colours)),
        ]
    }
}

/// Returns all constants of a pipeline.
#[must_use]
pub fn constants(variant: &ShaderVariant, layout: &VertexLayout, group: u32) -> Vec<(&'static str, f64)> {
    let mut out = vec![("GROUP", f64::from(group))];
    out.extend(variant.constants());
    out.extend(layout.constants());
    out
}

/// Returns the bindings of a group, in order: address space, and declaration.
fn bindings(group: u32, all: &[(&str, &str)]) -> String {
    let line = |(at, (space, what)): (u32, &(&str, &str))| {
        format!("@group({group}) @binding({at}) var<{space}> {what};\n")
    };
    (0..).zip(all).map(line).collect()
}

/// Returns the constants of the format, parameters, bindings, and the functions for a vertex.
fn core(bindings: &str) -> String {
    let list = |values: &[f32]| values.iter().map(|v| format!("{v:?}")).collect::<Vec<_>>().join(", ");
    let mut text = format!("const HALF_EXPONENT = {HALF_EXPONENT}u;\n");
    for (name, values) in [("ROUGH_ROOT", &ROUGH_ROOT[..]), ("ARC", &ARC[..]), ("ROUGH_ARC", &ROUGH_ARC[..])]
    {
        text += &format!("const {name} = array<f32, {}>({});\n", values.len(), list(values));
    }
    text += &format!("const SMALLEST = {SMALLEST:?};\nconst LARGEST = {LARGEST:?};\n");
    text + params::Params::WGSL + bindings + include_str!("shaders/mesh.wgsl")
}

/// Returns the text of the passes.
///
/// | binding of group 0 | type | content |
/// |---|---|---|
/// | 0 | storage, read | [`crate::params::Params`] of all meshes of the file |
/// | 1 | storage, read | ring |
/// | 2 | storage, read | fixed words of the batch |
/// | 3 | storage | points, normals and tangents between the passes |
/// | 4 | storage, read | ring of points; any buffer for a batch that has none |
/// | 5 | storage | vertices of the batch |
/// | 6 | storage, read, offset | [`crate::batches::WorkList::work`], from the dispatch's `first` on |
#[must_use]
pub fn wgsl() -> String {
    let all = [
        ("storage, read", "meshes: array<Params>"),
        ("storage, read", "ring: array<u32>"),
        ("storage, read", "fixed: array<u32>"),
        ("storage, read_write", "scratch: array<u32>"),
        ("storage, read", "decoded: array<u32>"),
        ("storage, read_write", "vertex_words: array<u32>"),
        ("storage, read", "work: array<vec2u>"),
    ];
    let mut text = core(&(bindings(0, &all) + "var<private> p: Params;\n"));
    for (name, Double(high, low)) in [("ROTATION_STEP", ROTATION_STEP), ("FRACTION", FRACTION)] {
        text += &format!("const {name} = vec2f({high:?}, {low:?});\n");
    }
    text + include_str!("shaders/packed.wgsl") + include_str!("shaders/passes.wgsl")
}

/// Returns the text of a function `vertex_of(number) -> Vertex` for the caller's own vertex shader, which
/// fetches the results of the passes before the last. Bindings 1 to 4 are as in [`wgsl`], read only, and 0 is
/// the parameters of the mesh as a uniform, with an offset; the group is the caller's choice. Its constants
/// are [`ShaderVariant::constants`].
#[must_use]
pub fn pull_wgsl(group: u32) -> String {
    let all = [
        ("uniform", "p: Params"),
        ("storage, read", "ring: array<u32>"),
        ("storage, read", "fixed: array<u32>"),
        ("storage, read", "scratch: array<u32>"),
        ("storage, read", "decoded: array<u32>"),
    ];
    core(&bindings(group, &all))
}
