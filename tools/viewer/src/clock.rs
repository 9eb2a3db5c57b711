//! The playback time and its settings.

/// The playback time with its settings.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Time in seconds.
    pub time: f64,
    pub playing: bool,
    pub rate: f64,
    pub repeats: bool,
    /// First and last frame that are played.
    pub range: [usize; 2],
    /// `false` to show frames without interpolation.
    pub interpolates: bool,
}

impl Default for Clock {
    fn default() -> Self {
        Clock { time: 0.0, playing: true, rate: 1.0, repeats: true, range: [0; 2], interpolates: true }
    }
}
