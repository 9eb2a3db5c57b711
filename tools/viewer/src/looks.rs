//! Ways to look at a mesh.

use meshreel::record::Method;

/// What surfaces show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Look {
    /// Lit, in grey.
    #[default]
    Shaded,
    /// Normals as colours.
    Normals,
    /// A checker of the first uvs.
    Uv,
    /// The colours of the file.
    Colours,
    /// How fast each point moves.
    Velocity,
    /// A colour for each mesh.
    Meshes,
    /// A colour for each method.
    Methods,
    /// A colour for each part or bone: that which moves a point most.
    Parts,
    /// How far each vertex is from the source: black to red, which is the tolerance.
    Error,
}

impl Look {
    pub const ALL: [Look; 9] = [
        Look::Shaded,
        Look::Normals,
        Look::Uv,
        Look::Colours,
        Look::Velocity,
        Look::Meshes,
        Look::Methods,
        Look::Parts,
        Look::Error,
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Look::Shaded => "shaded",
            Look::Normals => "normals",
            Look::Uv => "uv",
            Look::Colours => "colours",
            Look::Velocity => "velocity",
            Look::Meshes => "meshes",
            Look::Methods => "methods",
            Look::Parts => "parts",
            Look::Error => "error",
        }
    }

    /// The shader's number.
    pub fn number(self) -> u32 {
        match self {
            Look::Shaded | Look::Meshes | Look::Methods => 0,
            Look::Normals => 1,
            Look::Uv => 2,
            Look::Colours => 3,
            Look::Velocity => 4,
            Look::Parts => 5,
            Look::Error => 6,
        }
    }

    /// Linear colour of a mesh.
    pub fn colour(self, mesh: usize, method: Method) -> [f32; 3] {
        match self {
            // Hues that follow each other are far apart.
            Look::Meshes => hue(mesh as f32 * 0.618_034),
            Look::Methods => match method {
                Method::Static => [0.25, 0.25, 0.28],
                Method::Rigid => [0.75, 0.30, 0.08],
                Method::Skinned => [0.10, 0.45, 0.12],
                Method::Soft => [0.08, 0.25, 0.70],
                Method::Fluid => [0.05, 0.55, 0.60],
            },
            _ => [0.55, 0.53, 0.50],
        }
    }
}

/// Colour of a part or bone as 8 bits a component; of what none moves a grey.
pub fn of_part(part: Option<usize>) -> [u8; 4] {
    let [r, g, b] = part.map_or([0.2; 3], |part| hue(part as f32 * 0.618_034));
    [r, g, b, 1.0].map(|v| (v * 255.0) as u8)
}

/// A part of the tolerance, 0 to 1, as the shader's heat; of what is not known grey.
pub fn of_error(part: Option<f32>) -> [u8; 4] {
    match part {
        Some(part) => [(part.clamp(0.0, 1.0) * 255.0) as u8, 0, 0, 255],
        None => [0, 255, 0, 255],
    }
}

fn hue(x: f32) -> [f32; 3] {
    let x = x.fract() * 6.0;
    let at = |shift: f32| ((x + shift).rem_euclid(6.0) - 3.0).abs() - 1.0;
    [at(0.0), at(4.0), at(2.0)].map(|v| 0.12 + 0.6 * v.clamp(0.0, 1.0).powf(2.2))
}
