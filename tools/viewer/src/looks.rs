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
    /// How far each vertex or joint is from the source: black to red, which is the tolerance.
    Error,
    /// A colour for the level of detail that is drawn of each mesh.
    Levels,
    /// Red: triangles that nobody can see now from outside; the others as edges only.
    Hidden,
}

impl Look {
    pub const ALL: [Look; 11] = [
        Look::Shaded,
        Look::Normals,
        Look::Uv,
        Look::Colours,
        Look::Velocity,
        Look::Meshes,
        Look::Methods,
        Look::Parts,
        Look::Error,
        Look::Levels,
        Look::Hidden,
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
            Look::Levels => "levels",
            Look::Hidden => "hidden",
        }
    }

    /// What it shows, in a sentence.
    pub fn tip(self) -> &'static str {
        match self {
            Look::Shaded => "Lit, in grey",
            Look::Normals => "Normals as colours, as they are seen from the eye",
            Look::Uv => "A checker of the first texture coordinates",
            Look::Colours => "The vertex colours of the file",
            Look::Velocity => {
                "How fast each point moves: black stands still, red is the size of everything in a second"
            }
            Look::Meshes => "A colour for each mesh",
            Look::Methods => {
                "How each mesh is kept: grey static, orange rigid, green skinned, blue soft, cyan fluid, purple particles"
            }
            Look::Parts => "The part or bone that moves each point most; grey: none, each point by itself",
            Look::Error => {
                "Distance from the source: black none, red the tolerance. Opens the source beside it"
            }
            Look::Levels => {
                "The level of detail that is drawn: grey is the mesh itself, then green, yellow, red …"
            }
            Look::Hidden => {
                "Red: triangles that nobody can see now from outside, the others as edges (compile with --cull-hidden)"
            }
        }
    }

    /// The shader's number.
    pub fn number(self) -> u32 {
        match self {
            Look::Shaded | Look::Meshes | Look::Methods | Look::Levels | Look::Hidden => 0,
            Look::Normals => 1,
            Look::Uv => 2,
            Look::Colours => 3,
            Look::Velocity => 4,
            Look::Parts => 5,
            Look::Error => 6,
        }
    }

    /// Linear colour of a mesh.
    pub fn colour(self, mesh: usize, method: Method, level: usize) -> [f32; 3] {
        match self {
            Look::Levels if level > 0 => hue(0.33 - 0.13 * (level - 1) as f32),
            // Hues that follow each other are far apart.
            Look::Meshes => hue(mesh as f32 * 0.618_034),
            Look::Methods => match method {
                Method::Static => [0.25, 0.25, 0.28],
                Method::Rigid => [0.75, 0.30, 0.08],
                Method::Skinned => [0.10, 0.45, 0.12],
                Method::Soft => [0.08, 0.25, 0.70],
                Method::Fluid => [0.05, 0.55, 0.60],
                Method::Particles => [0.60, 0.10, 0.45],
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

/// What nobody can see.
pub const UNSEEN: [f32; 3] = [0.75, 0.04, 0.03];

/// A part of the tolerance, 0 to 1, as the shader's heat; of what is not known grey.
pub fn of_error(part: Option<f32>) -> [u8; 4] {
    match part {
        Some(part) => [(part.clamp(0.0, 1.0) * 255.0) as u8, 0, 0, 255],
        None => [0, 255, 0, 255],
    }
}

/// A part of the tolerance as a colour, as the shader has it: black, blue, green, yellow, red.
pub fn of_heat(part: Option<f32>) -> [u8; 4] {
    let Some(part) = part else { return [77, 77, 77, 255] };
    let t = part.clamp(0.0, 1.0) * 4.0;
    [t - 2.0, t.min(4.0 - t), (2.0 * t).min(2.0 - t), 1.0].map(|v| (v.clamp(0.02, 1.0) * 255.0) as u8)
}

/// A colour of the wheel, 0 to 1 once around, linear.
pub fn hue(x: f32) -> [f32; 3] {
    let x = x.fract() * 6.0;
    let at = |shift: f32| ((x + shift).rem_euclid(6.0) - 3.0).abs() - 1.0;
    [at(0.0), at(4.0), at(2.0)].map(|v| 0.12 + 0.6 * v.clamp(0.0, 1.0).powf(2.2))
}
