//! Optional parts of a description.

/// The parts of a description that are long and only given on request.
#[derive(Clone, Copy, Default)]
pub struct InfoOptions {
    /// Streams of a source's meshes, or the sizes of a `.reel`'s streams in frames, however large it is.
    pub streams: bool,
    /// All frames, with their times.
    pub frames: bool,
}
