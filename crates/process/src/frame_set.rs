//! Sets of frames.

/// A set of frames, one bit per frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameSet(Vec<u64>);

impl FrameSet {
    /// Creates an empty set for `frames` frames.
    pub fn new(frames: usize) -> FrameSet {
        FrameSet(vec![0; frames.div_ceil(64)])
    }
    /// Creates a set from its [`FrameSet::words`], cut or extended to `frames` frames.
    pub fn from_words(words: &[u64], frames: usize) -> FrameSet {
        let mut set = FrameSet::new(frames);
        set.0.iter_mut().zip(words).for_each(|(own, word)| *own = *word);
        set
    }
    /// Returns the bits in words of 64 frames, the first frame in the lowest bit.
    pub fn words(&self) -> &[u64] {
        &self.0
    }
    /// Adds a frame.
    pub fn insert(&mut self, frame: usize) {
        self.0[frame / 64] |= 1 << (frame % 64);
    }
    /// Returns `true` if the frame is in the set.
    pub fn contains(&self, frame: usize) -> bool {
        self.0.get(frame / 64).is_some_and(|word| word >> (frame % 64) & 1 == 1)
    }
    /// Returns the number of frames in the set.
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }
    /// Returns the largest value over those of the first `frames` frames that are in the set; over all of
    /// them, if the set is empty. At least 0.
    pub fn largest(&self, frames: usize, value: impl Fn(usize) -> f64) -> f64 {
        let none = self.count() == 0;
        (0..frames).filter(|&frame| none || self.contains(frame)).map(value).fold(0.0, f64::max)
    }
    /// Makes room for `frames`.
    pub fn grow(&mut self, frames: usize) {
        self.0.resize(self.0.len().max(frames.div_ceil(64)), 0);
    }
    /// Adds all frames of `other`.
    pub fn extend(&mut self, other: &FrameSet) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
    }
}
