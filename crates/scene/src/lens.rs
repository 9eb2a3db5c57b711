//! The lens of a camera.

/// The settings of a camera beside its transform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lens {
    /// Focal length in millimetres.
    pub focal_length: f64,
    /// Width and height of the film back, in millimetres.
    pub aperture: [f64; 2],
    /// Offset of the film back from the optical axis, in millimetres.
    pub aperture_offset: [f64; 2],
    /// Anamorphic squeeze: the factor by which the picture is wider than the film back; 1 for none.
    pub squeeze: f64,
    /// Overscan on the left, right, top and bottom, as fractions of the picture.
    pub overscan: [f64; 4],
    /// F-number: focal length over the diameter of the aperture; 0 if everything is sharp.
    pub f_stop: f64,
    /// Focus distance, in the file's unit.
    pub focus_distance: f64,
    /// Times at which the shutter opens and closes, in seconds from the frame's time.
    pub shutter: [f64; 2],
    /// Near and far clipping distance, in the file's unit.
    pub clipping: [f64; 2],
    /// `true` for an orthographic camera; the aperture is then the size of the view, in tenths of the file's
    /// unit.
    pub orthographic: bool,
}

/// The largest clipping distance of a file; an infinite one is stored as this.
pub const MAX_CLIPPING_DISTANCE: f64 = f32::MAX as f64 / 4.0;

impl Default for Lens {
    /// Alembic's default camera: 35 mm full frame.
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
    /// Names of all values as files keep them, and the number of components of each.
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

    /// Returns all values, in the order of [`Lens::TRACKS`]; unused components are 0.
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

    /// `true` if all values are finite as f32.
    pub fn is_usable(&self) -> bool {
        self.tracks().as_flattened().iter().all(|v| (*v as f32).is_finite())
    }

    /// Makes a lens from all values, the inverse of [`Lens::tracks`].
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
