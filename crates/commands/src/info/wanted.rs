//! What is asked for.

/// The parts of a description that take room: not everybody wants them.
#[derive(Clone, Copy, Default)]
pub struct Wanted {
    /// Streams of a source's meshes, and what streams of a `.reel` take in frames, however large it is.
    pub streams: bool,
    /// All frames, with their times.
    pub frames: bool,
}
