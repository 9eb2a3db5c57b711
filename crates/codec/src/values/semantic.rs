//! The meaning of a stream's values: positions, normals, tangent frames, texture coordinates, colours, and
//! the additional values of particles.

/// The meaning of a stream's values. The numbers are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Semantic {
    /// 3 components, axes.
    Position = 0,
    /// 2 components, octahedral, `bits`.
    Normal = 1,
    /// 4 components, QTangent, `bits`.
    QTangent = 2,
    /// 2 components, axes.
    Uv = 3,
    /// 4 components, axes.
    Colour = 4,
    /// 3 components, axes: units per second.
    Velocity = 5,
    /// 1 component, axes: the width of a particle, or of a curve at a point.
    Width = 6,
    /// 1 component, axes: custom values of points.
    Custom1 = 7,
    /// 2 components, axes.
    Custom2 = 8,
    /// 3 components, axes.
    Custom3 = 9,
    /// 4 components, axes.
    Custom4 = 10,
}

impl Semantic {
    /// All semantics, by number.
    pub const ALL: [Semantic; 11] = [
        Semantic::Position,
        Semantic::Normal,
        Semantic::QTangent,
        Semantic::Uv,
        Semantic::Colour,
        Semantic::Velocity,
        Semantic::Width,
        Semantic::Custom1,
        Semantic::Custom2,
        Semantic::Custom3,
        Semantic::Custom4,
    ];

    /// Returns the semantic of custom values with this many components (1 to 4).
    pub fn custom(components: usize) -> Option<Semantic> {
        let all = [Semantic::Custom1, Semantic::Custom2, Semantic::Custom3, Semantic::Custom4];
        components.checked_sub(1).and_then(|k| all.get(k)).copied()
    }

    /// Returns `true` if a mesh can have several sets of it.
    pub fn has_sets(self) -> bool {
        matches!(self, Semantic::Uv | Semantic::Colour) || self.is_custom()
    }

    /// Returns `true` for custom values.
    pub fn is_custom(self) -> bool {
        self as u8 >= Semantic::Custom1 as u8
    }

    /// Returns `true` if only meshes with changing vertices can have it.
    pub fn is_changing(self) -> bool {
        self as u8 >= Semantic::Velocity as u8
    }

    /// Returns `true` if the codes are on `Axis` lattices; the others have only `bits`.
    pub fn has_axes(self) -> bool {
        !matches!(self, Semantic::Normal | Semantic::QTangent)
    }

    /// Returns the number of components of a value.
    pub fn components(self) -> usize {
        match self {
            Semantic::Width | Semantic::Custom1 => 1,
            Semantic::Normal | Semantic::Uv | Semantic::Custom2 => 2,
            Semantic::Position | Semantic::Velocity | Semantic::Custom3 => 3,
            Semantic::QTangent | Semantic::Colour | Semantic::Custom4 => 4,
        }
    }
}
