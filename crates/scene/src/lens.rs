//! What cameras say.

/// What a camera says beside where it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lens {
    /// Millimetres.
    pub focal_length: f64,
    /// Width and height of the picture plane, millimetres.
    pub aperture: [f64; 2],
    /// Where its middle is beside the axis, millimetres.
    pub aperture_offset: [f64; 2],
    /// How much wider a lens that squeezes shows the picture; 1 for none.
    pub squeeze: f64,
    /// How much more is drawn on the left, right, top and bottom, as parts of the picture.
    pub overscan: [f64; 4],
    /// Focal length over the diameter of the opening; 0: all is sharp.
    pub f_stop: f64,
    /// Where all is sharp, in the file's unit.
    pub focus_distance: f64,
    /// When the shutter opens and closes, seconds from the frame's time.
    pub shutter: [f64; 2],
    /// The nearest and the farthest distance that is drawn, in the file's unit.
    pub clipping: [f64; 2],
    /// Without perspective; the aperture is then the size of what is seen, in tenths of the file's unit.
    pub orthographic: bool,
}

/// The farthest that a lens can see in a file; one that sees without end sees as far.
pub const FARTHEST: f64 = f32::MAX as f64 / 4.0;

impl Default for Lens {
    /// What Alembic's cameras are where nothing is said: 35 mm film in full.
    fn default() -> Lens {
        Lens {
            focal_length: 35.0,
            aperture: [36.0, 24.0],
            aperture_offset: [0.0; 2],
            squeeze: 1.0,
            overscan: [0.0; 4],
            f_stop: 5.6,
            focus_distance: 5.0,
            shutter: [0.0, 1.0 / 48.0],
            clipping: [0.1, 100_000.0],
            orthographic: false,
        }
    }
}

impl Lens {
    /// Names of all values and how many each has, as files keep them.
    pub const TRACKS: [(&'static str, usize); 10] = [
        ("focal_length", 1),
        ("aperture", 2),
        ("aperture_offset", 2),
        ("squeeze", 1),
        ("overscan", 4),
        ("f_stop", 1),
        ("focus_distance", 1),
        ("shutter", 2),
        ("clipping", 2),
        ("orthographic", 1),
    ];

    /// All values, in the order of [`Lens::TRACKS`]; what one does not have is 0.
    pub fn tracks(&self) -> [[f64; 4]; 10] {
        let pair = |[a, b]: [f64; 2]| [a, b, 0.0, 0.0];
        let one = |a: f64| [a, 0.0, 0.0, 0.0];
        [
            one(self.focal_length),
            pair(self.aperture),
            pair(self.aperture_offset),
            one(self.squeeze),
            self.overscan,
            one(self.f_stop),
            one(self.focus_distance),
            pair(self.shutter),
            pair(self.clipping),
            one(f64::from(u8::from(self.orthographic))),
        ]
    }

    /// Whether f32 has all of its numbers.
    pub fn is_usable(&self) -> bool {
        self.tracks().as_flattened().iter().all(|v| (*v as f32).is_finite())
    }

    /// From all values.
    pub fn from_tracks(tracks: &[[f64; 4]; 10]) -> Lens {
        let pair = |i: usize| [tracks[i][0], tracks[i][1]];
        Lens {
            focal_length: tracks[0][0],
            aperture: pair(1),
            aperture_offset: pair(2),
            squeeze: tracks[3][0],
            overscan: tracks[4],
            f_stop: tracks[5][0],
            focus_distance: tracks[6][0],
            shutter: pair(7),
            clipping: pair(8),
            orthographic: tracks[9][0] >= 0.5,
        }
    }
}
