//! Sets of frames.

/// One bit per frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameSet(Vec<u64>);

impl FrameSet {
    /// No frame of `frames`.
    pub fn new(frames: usize) -> FrameSet {
        FrameSet(vec![0; frames.div_ceil(64)])
    }
    /// The set that these are the [`FrameSet::words`] of; as large as `frames` ask for, whatever they are.
    pub fn of_words(words: &[u64], frames: usize) -> FrameSet {
        let mut set = FrameSet::new(frames);
        set.0.iter_mut().zip(words).for_each(|(own, word)| *own = *word);
        set
    }
    /// 64 frames each, the first one in the lowest bit.
    pub fn words(&self) -> &[u64] {
        &self.0
    }
    /// Adds a frame.
    pub fn insert(&mut self, frame: usize) {
        self.0[frame / 64] |= 1 << (frame % 64);
    }
    /// True where the frame is in the set.
    pub fn contains(&self, frame: usize) -> bool {
        self.0.get(frame / 64).is_some_and(|word| word >> (frame % 64) & 1 == 1)
    }
    /// Number of frames in the set.
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }
    /// The largest value of any of the first `frames` frames that is in the set; where none is, of any at
    /// all. At least 0.
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
