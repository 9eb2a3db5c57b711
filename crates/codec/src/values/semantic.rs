//! What the values of a stream mean: positions, normals, tangent frames, texture coordinates, colours, and
//! what particles have besides.

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
    /// 1 component, axes: how wide a particle or a curve is at a point.
    Width = 6,
    /// 1 component, axes: numbers that somebody attached to points.
    Custom1 = 7,
    /// 2 components, axes.
    Custom2 = 8,
    /// 3 components, axes.
    Custom3 = 9,
    /// 4 components, axes.
    Custom4 = 10,
}

impl Semantic {
    /// Every one, by its number.
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

    /// Attached numbers, so many (1 to 4) of each point.
    pub fn custom(components: usize) -> Option<Semantic> {
        let all = [Semantic::Custom1, Semantic::Custom2, Semantic::Custom3, Semantic::Custom4];
        components.checked_sub(1).and_then(|k| all.get(k)).copied()
    }

    /// Whether a mesh can have several sets of it.
    pub fn has_sets(self) -> bool {
        matches!(self, Semantic::Uv | Semantic::Colour) || self.is_custom()
    }

    /// Numbers that somebody attached.
    pub fn is_custom(self) -> bool {
        self as u8 >= Semantic::Custom1 as u8
    }

    /// Whether only meshes whose vertices come with their frames have it.
    pub fn is_changing(self) -> bool {
        self as u8 >= Semantic::Velocity as u8
    }

    /// Whether the levels lie on `Axis` lattices; the others have `bits` only.
    pub fn has_axes(self) -> bool {
        !matches!(self, Semantic::Normal | Semantic::QTangent)
    }

    /// Components of a value.
    pub fn components(self) -> usize {
        match self {
            Semantic::Width | Semantic::Custom1 => 1,
            Semantic::Normal | Semantic::Uv | Semantic::Custom2 => 2,
            Semantic::Position | Semantic::Velocity | Semantic::Custom3 => 3,
            Semantic::QTangent | Semantic::Colour | Semantic::Custom4 => 4,
        }
    }
}
