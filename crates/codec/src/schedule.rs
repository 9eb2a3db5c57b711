//! Which frames refer to which, and in what units they are stored. Pure arithmetic: nothing is kept but three
//! numbers.
//!
//! Every 16th frame and the last one are **keys**. The frames between two keys are a **group**; they are
//! split in the middle again and again (dyadic), decoded breadth first:
//!
//! ```text
//! frame   0   1   2   3   4   5   6   7   8   9  10  11  12  13  14  15  16
//! depth   K   4   3   4   2   4   3   4   1   4   3   4   2   4   3   4   K
//! ```
//!
//! A frame between a and b refers to a, b, and to the nearest frames beyond them that are decoded before it:
//! frames of its group of smaller depth, or the keys on either side of the group's own two. So the frames of
//! one depth do not need each other, and a group needs four keys and nothing else.
//!
//! Key i refers to keys i−1, i−2 and 0; every `restart`-th key to key 0 alone, which is always in memory. A
//! seek therefore decodes at most `restart + 3` keys. The last frame is a key for its own sake, and never
//! such a restart.
//!
//! What is stored and decoded as a whole is a [`Unit`]: a key; a group without its deepest frames; the
//! deepest frames of a group. Leaving out the last kind halves the frame rate.
//!
//! Credit: hierarchical B pictures, Schwarz, Marpe, Wiegand, "Analysis of hierarchical B pictures and MCTF", 2006.

/// Frames from key to key. Part of the format.
pub const INTERVAL: u32 = 16;
/// Most frames of a unit.
pub const UNIT_FRAMES: usize = 8;
/// Most frames that a frame refers to.
pub const REFERENCES: usize = 4;
/// Depth of the deepest frames; keys have depth 0.
pub const DEPTHS: u32 = 4;

/// The frames of an animation, and how they hang together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    frames: u32,
    keys: u32,
    restart: u32,
}

/// An access unit: frames that are stored, read, checked and decoded as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    /// A key. Key 0 is stored with the static part and has no bytes here.
    Key(u32),
    /// The frames of a group but the deepest.
    LowerLayers(u32),
    /// The deepest frames of a group; no other frame refers to them.
    TopLayer(u32),
}

/// The frames of an animation in which a mesh is decoded; before and after it stands still. Such a mesh is
/// kept as an animation of these frames alone, and both ends by themselves. They begin and, but for the
/// animation's last frame, end at a key that needs none before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First frame.
    pub start: u32,
    /// Last frame.
    pub end: u32,
}

/// A few frame numbers, by value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Frames {
    list: [u32; 12],
    count: u8,
}

impl Frames {
    fn push(&mut self, frame: u32) {
        if !self.contains(&frame) {
            self.list[usize::from(self.count)] = frame;
            self.count += 1;
        }
    }
}

impl std::ops::Deref for Frames {
    type Target = [u32];
    fn deref(&self) -> &[u32] {
        &self.list[..usize::from(self.count)]
    }
}

impl Schedule {
    /// `restart`: every how many keys one refers to key 0 alone, at least 1.
    pub fn new(frames: u32, restart: u32) -> Schedule {
        let keys = match frames {
            0 => 0,
            _ => (frames - 1).div_ceil(INTERVAL) + 1,
        };
        Schedule { frames, keys, restart: restart.max(1) }
    }

    /// Number of frames.
    pub fn frames(&self) -> u32 {
        self.frames
    }

    /// Number of keys.
    pub fn keys(&self) -> u32 {
        self.keys
    }

    /// The window of a mesh that stands still up to frame `first` and from frame `last` on.
    pub fn window(&self, first: u32, last: u32) -> Window {
        let apart = INTERVAL * self.restart;
        Window {
            start: first - first % apart,
            end: (last.div_ceil(apart).saturating_mul(apart)).min(self.frames.saturating_sub(1)),
        }
    }

    /// The animation of a window's frames.
    pub fn within(&self, window: Window) -> Schedule {
        let frames = window.end.saturating_sub(window.start) + 1;
        Schedule::new(frames, self.restart)
    }

    /// The number of a unit in the animation of a window's frames; none where that has no such unit. Units
    /// lie in a window whole, or not at all.
    pub fn unit_within(&self, window: Window, unit: Unit) -> Option<Unit> {
        let frame = *self.frames_of(unit).first()?;
        let earlier = window.start / INTERVAL;
        let inside = (window.start..=window.end).contains(&frame);
        inside.then(|| match unit {
            Unit::Key(i) => Unit::Key(i - earlier),
            Unit::LowerLayers(g) => Unit::LowerLayers(g - earlier),
            Unit::TopLayer(g) => Unit::TopLayer(g - earlier),
        })
    }

    /// Number of groups, one less than keys. Two keys that follow each other have an empty group between
    /// them.
    pub fn groups(&self) -> u32 {
        self.keys.saturating_sub(1)
    }

    /// Every how many keys one refers to key 0 alone.
    pub fn restart(&self) -> u32 {
        self.restart
    }

    /// Number of segments of keys, which can be coded independently of each other.
    pub fn segments(&self) -> u32 {
        // A last key that is not due belongs to the segment before, however few keys that has.
        let due = match self.frames {
            0 => 0,
            _ => (self.frames - 1) / INTERVAL + 1,
        };
        due.div_ceil(self.restart)
    }

    /// First key of the segment of a key: the last one that refers to key 0 alone.
    fn first_of(&self, key: u32) -> u32 {
        let due = key.min((self.frames.saturating_sub(1)) / INTERVAL);
        due - due % self.restart
    }

    /// The keys of a segment.
    pub fn segment(&self, segment: u32) -> std::ops::Range<u32> {
        let start = |s: u32| match s < self.segments() {
            true => s * self.restart,
            false => self.keys,
        };
        start(segment)..start(segment.saturating_add(1))
    }

    /// Frame of a key.
    pub fn key_frame(&self, key: u32) -> u32 {
        (key.saturating_mul(INTERVAL)).min(self.frames.saturating_sub(1))
    }

    /// The key that is this frame.
    pub fn key_of(&self, frame: u32) -> Option<u32> {
        if frame >= self.frames {
            return None;
        }
        let last = frame + 1 == self.frames;
        match frame % INTERVAL {
            0 => Some(frame / INTERVAL),
            _ => last.then(|| self.keys - 1),
        }
    }

    /// The group that a frame lies in; keys count to the group that begins with them.
    pub fn group_of(&self, frame: u32) -> u32 {
        frame / INTERVAL
    }

    /// Number of unit numbers, see [`Schedule::number`]. Some of them have no frames.
    pub fn units(&self) -> u32 {
        3 * self.keys
    }

    /// Units are numbered in an order in which they can be decoded: a unit needs only smaller numbers, but
    /// for the look-ahead keys: group g needs keys up to g + 2.
    pub fn number(&self, unit: Unit) -> u32 {
        match unit {
            Unit::Key(i) => 3 * i,
            Unit::LowerLayers(g) => 3 * g + 1,
            Unit::TopLayer(g) => 3 * g + 2,
        }
    }

    /// Inverse of [`Schedule::number`].
    pub fn unit(&self, number: u32) -> Unit {
        match number % 3 {
            0 => Unit::Key(number / 3),
            1 => Unit::LowerLayers(number / 3),
            _ => Unit::TopLayer(number / 3),
        }
    }

    /// All units that have frames, as they lie in a file: each after what it needs.
    pub fn in_file(&self) -> impl Iterator<Item = Unit> + use<> {
        let schedule = *self;
        let groups = (0..schedule.groups()).flat_map(|g| {
            let ahead = (g == 0).then_some(Unit::Key(1));
            let units = [Unit::Key(g + 2), Unit::LowerLayers(g), Unit::TopLayer(g)];
            ahead.into_iter().chain(units)
        });
        let all = std::iter::once(Unit::Key(0)).chain(groups);
        all.filter(move |unit| !schedule.frames_of(*unit).is_empty())
    }

    /// The unit that holds a frame. Frame 0 is key 0.
    pub fn unit_of(&self, frame: u32) -> Unit {
        if let Some(key) = self.key_of(frame) {
            return Unit::Key(key);
        }
        let group = self.group_of(frame);
        if self.depth(frame) == self.deepest(group) {
            Unit::TopLayer(group)
        } else {
            Unit::LowerLayers(group)
        }
    }

    /// Depth of a frame, 0 for keys.
    pub fn depth(&self, frame: u32) -> u32 {
        self.place(frame).2
    }

    /// Depth of a group's deepest frames, 0 if it has none.
    fn deepest(&self, group: u32) -> u32 {
        let span = self.key_frame(group.saturating_add(1)) - self.key_frame(group);
        u32::BITS - span.saturating_sub(1).leading_zeros()
    }

    /// The two ends between which a frame is the middle, and its depth. A key is its own ends.
    fn place(&self, frame: u32) -> (u32, u32, u32) {
        let group = self.group_of(frame);
        let (mut a, mut b) = (self.key_frame(group), self.key_frame(group + 1));
        if frame <= a || frame >= b {
            return (frame, frame, 0);
        }
        for depth in 1.. {
            let middle = a + (b - a) / 2;
            match frame.cmp(&middle) {
                std::cmp::Ordering::Equal => return (a, b, depth),
                std::cmp::Ordering::Less => b = middle,
                std::cmp::Ordering::Greater => a = middle,
            }
        }
        unreachable!("a frame between two others becomes a middle")
    }

    /// The frames of a unit, in the order in which they are decoded. Key 0 has its frame although it has no
    /// bytes.
    pub fn frames_of(&self, unit: Unit) -> Frames {
        let mut out = Frames::default();
        let (group, last) = match unit {
            Unit::Key(i) => {
                if i < self.keys {
                    out.push(self.key_frame(i));
                }
                return out;
            }
            Unit::LowerLayers(g) => (g, false),
            Unit::TopLayer(g) => (g, true),
        };
        if group >= self.groups() {
            return out;
        }
        let deepest = self.deepest(group);
        let inside = self.key_frame(group) + 1..self.key_frame(group + 1);
        let depths = if last { deepest..deepest + 1 } else { 1..deepest };
        for depth in depths {
            for frame in inside.clone().filter(|&f| self.depth(f) == depth) {
                out.push(frame);
            }
        }
        out
    }

    /// The frames that a frame is predicted from, nearest two first; none for frame 0, up to [`REFERENCES`]
    /// else.
    pub fn references(&self, frame: u32) -> Frames {
        let mut out = Frames::default();
        if let Some(key) = self.key_of(frame) {
            if key > 0 {
                let first = self.first_of(key);
                if key > first {
                    out.push(self.key_frame(key - 1));
                    if key >= first + 2 {
                        out.push(self.key_frame(key - 2));
                    }
                }
                out.push(0);
            }
            return out;
        }
        let group = self.group_of(frame);
        let (start, end) = (self.key_frame(group), self.key_frame(group + 1));
        let (a, b, depth) = self.place(frame);
        out.push(a);
        out.push(b);
        let before = (start..a).rev().find(|&f| self.depth(f) < depth);
        let after = (b + 1..=end).find(|&f| self.depth(f) < depth);
        if let Some(f) = before.or((group > 0).then(|| self.key_frame(group.wrapping_sub(1)))) {
            out.push(f);
        }
        if let Some(f) = after.or((group + 2 < self.keys).then(|| self.key_frame(group + 2))) {
            out.push(f);
        }
        out
    }

    /// The frames outside a unit that what is predicted from positions (normals) may refer to: of those that
    /// it needs anyway, the one before of a key, and of a group's units the group's own.
    pub fn near(&self, unit: Unit) -> Frames {
        let mut out = Frames::default();
        let needs = self.needs(unit);
        match unit {
            Unit::Key(_) => needs.iter().take(1).filter(|&&f| f > 0).for_each(|&f| out.push(f)),
            Unit::LowerLayers(g) | Unit::TopLayer(g) => {
                let (start, end) = (self.key_frame(g), self.key_frame(g.saturating_add(1)));
                let own = needs.iter().filter(|&&f| (start..=end).contains(&f));
                own.for_each(|&f| out.push(f));
            }
        }
        out
    }

    /// Whether chains go on to a key from the one before it. Else they begin there.
    pub fn goes_on(&self, key: u32) -> bool {
        key > self.first_of(key)
    }

    /// The frames of a chain that its links of a group have: those between the group's keys, and the last of
    /// these where the chain goes on to it. They come after the first key.
    pub fn link_frames(&self, group: u32) -> std::ops::Range<u32> {
        let last = group.saturating_add(1);
        self.key_frame(group).saturating_add(1)..self.key_frame(last) + u32::from(self.goes_on(last))
    }

    /// The unit that has the links of a group: the key behind it, where the chain goes on to that, else the
    /// group's first.
    pub fn link_unit(&self, group: u32) -> Unit {
        match self.goes_on(group.saturating_add(1)) {
            true => Unit::Key(group + 1),
            false if self.frames_of(Unit::LowerLayers(group)).is_empty() => Unit::TopLayer(group),
            false => Unit::LowerLayers(group),
        }
    }

    /// Whether a unit has the links of a group.
    pub fn has_links(&self, unit: Unit) -> bool {
        match unit {
            Unit::Key(key) => self.goes_on(key),
            Unit::LowerLayers(g) | Unit::TopLayer(g) => self.link_unit(g) == unit,
        }
    }

    /// The frames that must be decoded before what chains have in a unit: the one that its links go on from, and
    /// where they are in another unit, the first frame of that.
    pub fn chain_needs(&self, unit: Unit) -> Frames {
        let mut out = Frames::default();
        let group = match unit {
            Unit::Key(key) if self.goes_on(key) => key - 1,
            Unit::Key(_) => return out,
            Unit::LowerLayers(g) | Unit::TopLayer(g) => g,
        };
        if self.frames_of(unit).is_empty() {
            return out;
        }
        out.push(self.key_frame(group));
        let links = self.link_unit(group);
        if links != unit {
            self.frames_of(links).iter().take(1).for_each(|&frame| out.push(frame));
        }
        out
    }

    /// The frames that must be decoded before a unit: keys, and for [`Unit::TopLayer`] frames of the same group.
    pub fn needs(&self, unit: Unit) -> Frames {
        let inside = self.frames_of(unit);
        let mut out = Frames::default();
        for &frame in inside.iter() {
            for &reference in self.references(frame).iter() {
                if !inside.contains(&reference) {
                    out.push(reference);
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e06_a_window_is_an_animation_of_its_own() {
        for (frames, restart) in [(300, 4), (300, 1), (257, 2), (65, 4), (40, 1)] {
            let whole = Schedule::new(frames, restart);
            for first in (0..frames - 1).step_by(7) {
                for last in (first + 1..frames).step_by(5) {
                    let window = whole.window(first, last);
                    assert!(window.start <= first && last <= window.end && window.end < frames);
                    let own = whole.within(window);
                    let mut seen = 0;
                    for unit in whole.in_file() {
                        let frames = whole.frames_of(unit);
                        let Some(unit) = whole.unit_within(window, unit) else {
                            let outside = |f: &u32| *f < window.start || *f > window.end;
                            assert!(frames.iter().all(outside));
                            continue;
                        };
                        let moved: Vec<u32> = own.frames_of(unit).iter().map(|f| f + window.start).collect();
                        assert_eq!(moved, frames.to_vec());
                        seen += moved.len();
                        // What a frame refers to is the same, but for the first frame.
                        for (&f, &g) in own.frames_of(unit).iter().zip(frames.iter()) {
                            let list = own.references(f);
                            assert!(list.iter().all(|&r| r < own.frames()));
                            assert_eq!(own.depth(f), whole.depth(g));
                        }
                    }
                    assert_eq!(seen as u32, own.frames());
                    if window.end + 1 < frames {
                        // The end stands alone.
                        assert_eq!(own.references(own.frames() - 1).to_vec(), [0]);
                    }
                }
            }
        }
    }

    #[test]
    fn sixteen_frames() {
        let s = Schedule::new(40, 4);
        assert_eq!((s.keys(), s.groups(), s.units()), (4, 3, 12));
        assert_eq!([0, 1, 2, 3].map(|k| s.key_frame(k)), [0, 16, 32, 39]);
        assert_eq!(*s.frames_of(Unit::LowerLayers(1)), [24, 20, 28, 18, 22, 26, 30]);
        assert_eq!(*s.frames_of(Unit::TopLayer(1)), [17, 19, 21, 23, 25, 27, 29, 31]);
        assert_eq!(*s.references(24), [16, 32, 0, 39]);
        assert_eq!(*s.references(20), [16, 24, 0, 32]);
        assert_eq!(*s.references(21), [20, 22, 18, 24]);
        assert_eq!(*s.references(16), [0]);
        assert_eq!(*s.references(39), [32, 16, 0]);
        assert_eq!(*s.needs(Unit::LowerLayers(1)), [16, 32, 0, 39]);
        assert!(s.references(0).is_empty());
    }

    #[test]
    fn chains_have_each_frame_once() {
        for restart in [1, 2, 4] {
            for frames in 0..=140u32 {
                let s = Schedule::new(frames, restart);
                let begin = (0..s.keys()).filter(|&k| !s.goes_on(k)).map(|k| s.key_frame(k));
                let mut seen: Vec<u32> =
                    begin.chain((0..s.groups()).flat_map(|g| s.link_frames(g))).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..frames).collect::<Vec<_>>());
                assert_eq!((0..s.keys()).filter(|&k| !s.goes_on(k)).count() as u32, s.segments());
                let mut decoded: Vec<u32> = Vec::new();
                for unit in s.in_file() {
                    let needs = s.chain_needs(unit);
                    assert!(needs.iter().all(|frame| decoded.contains(frame)), "{frames} {unit:?}");
                    let others = s.needs(unit);
                    let all = needs.iter().chain(others.iter());
                    assert!(all.collect::<std::collections::BTreeSet<_>>().len() <= 12);
                    decoded.extend(s.frames_of(unit).iter());
                }
                for group in (0..s.groups()).filter(|&g| !s.link_frames(g).is_empty()) {
                    assert!(s.has_links(s.link_unit(group)) && !s.frames_of(s.link_unit(group)).is_empty());
                }
            }
        }
    }

    #[test]
    fn any_length() {
        for restart in [1, 2, 4] {
            for frames in 0..=140u32 {
                let s = Schedule::new(frames, restart);
                let mut decoded: Vec<u32> = (0..s.keys()).map(|k| s.key_frame(k)).collect();
                let mut seen = Vec::new();
                for number in 0..s.units() {
                    let unit = s.unit(number);
                    assert_eq!(s.number(unit), number);
                    let list = s.frames_of(unit);
                    let most = if matches!(unit, Unit::LowerLayers(_)) { 7 } else { 8 };
                    assert!(list.len() <= most);
                    for &f in list.iter() {
                        assert_eq!(s.unit_of(f), unit, "{frames} {f}");
                        let refs = s.references(f);
                        assert!(refs.len() <= REFERENCES);
                        assert!(f == 0 || !refs.is_empty());
                        for r in refs.iter() {
                            assert!(decoded.contains(r), "{frames}: {f} needs {r}");
                        }
                        if let Unit::Key(k) = unit {
                            let segment = s.segment(s.first_of(k) / restart);
                            assert!(segment.contains(&k));
                            for &r in refs.iter().filter(|r| **r > 0) {
                                assert!(segment.contains(&s.key_of(r).unwrap()));
                            }
                        }
                        seen.push(f);
                        decoded.push(f);
                    }
                    let keys = s.needs(unit).iter().filter(|f| s.key_of(**f).is_some()).count();
                    assert!(keys <= 4);
                    for &f in list.iter() {
                        let same = |r: &&u32| s.key_of(f).is_none() && s.depth(**r) == s.depth(f);
                        assert!(!s.references(f).iter().any(|r| same(&r)));
                    }
                }
                seen.sort_unstable();
                assert_eq!(seen, (0..frames).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn huge_counts() {
        let s = Schedule::new(u32::MAX, 4);
        let f = u32::MAX - 1;
        assert_eq!(s.unit_of(f), Unit::Key(s.keys() - 1));
        assert!(s.references(f - 1).len() > 1);
        assert!(s.frames_of(Unit::LowerLayers(u32::MAX)).is_empty());
    }
}
