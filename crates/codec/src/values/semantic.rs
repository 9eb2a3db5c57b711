//! What the values of a stream mean: positions, normals, tangent frames, texture coordinates, colours.

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
}

impl Semantic {
    /// Whether the levels lie on `Axis` lattices; the others have `bits` only.
    pub fn has_axes(self) -> bool {
        matches!(self, Semantic::Position | Semantic::Uv | Semantic::Colour)
    }

    /// Components of a value.
    pub fn components(self) -> usize {
        match self {
            Semantic::Position => 3,
            Semantic::Normal | Semantic::Uv => 2,
            Semantic::QTangent | Semantic::Colour => 4,
        }
    }
}
