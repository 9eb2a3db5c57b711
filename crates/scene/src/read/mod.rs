//! Readers: one file or folder per format. [`open`] tells the format from content and name.
pub mod alembic;
mod lines;
mod mdd;
mod number;
pub mod obj;
mod pc2;
pub mod ply;
pub mod points;
pub mod sequence;
mod shape;

/// How files are read that do not say everything themselves.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// A point cache (PC2 or MDD) that moves the points of an OBJ file.
    pub points: Option<std::path::PathBuf>,
    /// Frames per second of inputs that carry no rate.
    pub source_fps: f64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            points: None,
            source_fps: 30.0,
        }
    }
}
