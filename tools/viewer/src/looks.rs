//! Display modes of a mesh.

use meshreel::raw::record::Method;

/// The display mode of surfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum DisplayMode {
    /// Grey with shading.
    #[default]
    Shaded,
    /// Normals as colours.
    Normals,
    /// A checkerboard by the first uvs.
    Uv,
    /// The file's colours.
    Colours,
    /// The speed of each point.
    Velocity,
    /// A colour for each mesh.
    Meshes,
    /// A colour for each method.
    Methods,
    /// A colour for each part or bone: the one with the most influence on a point.
    Parts,
    /// The error of each vertex or joint against the source: from black to red at the tolerance.
    Error,
    /// A colour for the drawn LOD level of each mesh.
    Levels,
    /// Red for triangles that cannot be seen from outside at the moment; the others as edges only.
    Hidden,
}

impl DisplayMode {
    pub const ALL: [DisplayMode; 11] = [
        DisplayMode::Shaded,
        DisplayMode::Normals,
        DisplayMode::Uv,
        DisplayMode::Colours,
        DisplayMode::Velocity,
        DisplayMode::Meshes,
        DisplayMode::Methods,
        DisplayMode::Parts,
        DisplayMode::Error,
        DisplayMode::Levels,
        DisplayMode::Hidden,
    ];

    /// Returns the mode's name.
    pub fn name(self) -> &'static str {
        match self {
            DisplayMode::Shaded => "shaded",
            DisplayMode::Normals => "normals",
            DisplayMode::Uv => "uv",
            DisplayMode::Colours => "colours",
            DisplayMode::Velocity => "velocity",
            DisplayMode::Meshes => "meshes",
            DisplayMode::Methods => "methods",
            DisplayMode::Parts => "parts",
            DisplayMode::Error => "error",
            DisplayMode::Levels => "levels",
            DisplayMode::Hidden => "hidden",
        }
    }

    /// Returns a sentence on what it shows.
    pub fn tip(self) -> &'static str {
        match self {
            DisplayMode::Shaded => "Lit, in grey",
            DisplayMode::Normals => "Normals as colours, as they are seen from the eye",
            DisplayMode::Uv => "A checker of the first texture coordinates",
            DisplayMode::Colours => "The vertex colours of the file",
            DisplayMode::Velocity => {
                "How fast each point moves: black stands still, red is the size of everything in a second"
            }
            DisplayMode::Meshes => "A colour for each mesh",
            DisplayMode::Methods => {
                "How each mesh is kept: grey static, orange rigid, green skinned, blue soft, cyan fluid, purple particles"
            }
            DisplayMode::Parts => {
                "The part or bone that moves each point most; grey: none, each point by itself"
            }
            DisplayMode::Error => {
                "Distance from the source: black none, red the tolerance. Opens the source beside it"
            }
            DisplayMode::Levels => {
                "The level of detail that is drawn: grey is the mesh itself, then green, yellow, red …"
            }
            DisplayMode::Hidden => {
                "Red: triangles that nobody can see now from outside, the others as edges (compile with --cull-hidden)"
            }
        }
    }

    /// `true` if shapes are lit from above and shaded; `false` for colours that mean something, which are lit
    /// from the eye so that nothing darkens them.
    pub fn is_lit(self) -> bool {
        matches!(self, DisplayMode::Shaded | DisplayMode::Colours)
    }

    /// Returns the mode's number in the shader.
    pub fn number(self) -> u32 {
        match self {
            DisplayMode::Shaded
            | DisplayMode::Meshes
            | DisplayMode::Methods
            | DisplayMode::Levels
            | DisplayMode::Hidden => 0,
            DisplayMode::Normals => 1,
            DisplayMode::Uv => 2,
            DisplayMode::Colours => 3,
            DisplayMode::Velocity => 4,
            DisplayMode::Parts => 5,
            DisplayMode::Error => 6,
        }
    }

    /// Returns the linear colour of a mesh.
    pub fn colour(self, mesh: usize, method: Method, level: usize) -> [f32; 3] {
        match self {
            DisplayMode::Levels if level > 0 => hue(0.33 - 0.13 * (level - 1) as f32),
            // Successive hues are far apart.
            DisplayMode::Meshes => hue(mesh as f32 * 0.618_034),
            DisplayMode::Methods => match method {
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

/// Returns the colour of a part or bone, 8 bits per component; grey if there is none.
pub fn part_colour(part: Option<usize>) -> [u8; 4] {
    let [r, g, b] = part.map_or([0.2; 3], |part| hue(part as f32 * 0.618_034));
    [r, g, b, 1.0].map(|v| (v * 255.0) as u8)
}

/// Colour of triangles that cannot be seen.
pub const HIDDEN_COLOUR: [f32; 3] = [0.75, 0.04, 0.03];

/// Returns the shader's heat for a fraction of the tolerance, 0 to 1; grey if it is unknown.
pub fn error_heat(part: Option<f32>) -> [u8; 4] {
    match part {
        Some(part) => [(part.clamp(0.0, 1.0) * 255.0) as u8, 0, 0, 255],
        None => [0, 255, 0, 255],
    }
}

/// Returns the colour for a fraction of the tolerance, as in the shader: black, blue, green, yellow, red.
pub fn heat_colour(part: Option<f32>) -> [u8; 4] {
    let Some(part) = part else { return [77, 77, 77, 255] };
    let t = part.clamp(0.0, 1.0) * 4.0;
    [t - 2.0, t.min(4.0 - t), (2.0 * t).min(2.0 - t), 1.0].map(|v| (v.clamp(0.02, 1.0) * 255.0) as u8)
}

/// Returns a linear colour of the colour wheel; 0 to 1 is one turn.
pub fn hue(x: f32) -> [f32; 3] {
    let x = x.fract() * 6.0;
    let at = |shift: f32| ((x + shift).rem_euclid(6.0) - 3.0).abs() - 1.0;
    [at(0.0), at(4.0), at(2.0)].map(|v| 0.12 + 0.6 * v.clamp(0.0, 1.0).powf(2.2))
}
