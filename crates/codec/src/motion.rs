//! Motion and interpolation predictor of frames between index frames (B06–B08).

/// Factors of one stream in one frame: motion a/128, interpolation b/256, blend c/128.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Blend {
    pub a: u8,
    pub b: u8,
    pub c: u8,
}
