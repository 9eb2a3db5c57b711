//! The references between frames, and the access units in which frames are stored. Pure arithmetic: the state
//! is three numbers.
//!
//! Every 16th frame and the last one are **key frames**, or keys. The frames between two keys are a
//! **group**; it is halved recursively (dyadic), and decoded breadth first:
//!
//! ```text
//! frame   0   1   2   3   4   5   6   7   8   9  10  11  12  13  14  15  16
//! depth   K   4   3   4   2   4   3   4   1   4   3   4   2   4   3   4   K
//! ```
//!
//! A frame between a and b refers to a, b, and to the nearest frames beyond them that are decoded before it:
//! frames of its group of smaller depth, or the keys on either side of the group's own two. So the frames of
//! one depth are independent of each other, and a group needs only four keys.
//!
//! Key i refers to keys i−1, i−2 and 0; every `restart`-th key refers only to key 0, which is always in
//! memory. A seek therefore decodes at most `restart + 3` keys. The last frame is a key in any case, and
//! never such a restart.
//!
//! The smallest part that is stored and decoded as a whole is a [`Unit`]: a key; a group without its deepest
//! frames; the deepest frames of a group. Leaving out the last kind halves the frame rate.
//!
//! Credit: hierarchical B pictures, Schwarz, Marpe, Wiegand, "Analysis of hierarchical B pictures and MCTF",
//! 2006.

/// The number of frames from key to key. Part of the format.
pub const KEY_INTERVAL: u32 = 16;
/// The largest number of frames in an access unit.
pub const MAX_UNIT_FRAMES: usize = 8;
/// The largest number of frames that a frame refers to.
pub const MAX_REFERENCES: usize = 4;
/// The depth of the deepest frames; keys have depth 0.
pub const MAX_DEPTH: u32 = 4;

/// The frames of an animation, and their dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    frames: u32,
    keys: u32,
    restart: u32,
}

/// An access unit: frames that are stored, read, checked and decoded as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    /// A key frame. Key 0 is stored with the static part and has no bytes here.
    Key(u32),
    /// The frames of a group except the deepest.
    LowerLayers(u32),
    /// The deepest frames of a group; no other frame refers to them.
    TopLayer(u32),
}

/// The range of frames in which a mesh is decoded; before and after it the mesh stands still. Such a mesh is
/// stored as an animation of these frames alone, and its end states separately. A window begins at a key that
/// needs no key before it, and ends at such a key or at the animation's last frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameWindow {
    /// The first frame.
    pub start: u32,
    /// The last frame.
    pub end: u32,
}

/// A few frame numbers, by value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameList {
    list: [u32; 12],
    count: u8,
}

impl FrameList {
    fn push(&mut self, frame: u32) {
        if !self.contains(&frame) {
            self.list[usize::from(self.count)] = frame;
            self.count += 1;
        }
    }
}

impl std::ops::Deref for FrameList {
    type Target = [u32];
    fn deref(&self) -> &[u32] {
        &self.list[..usize::from(self.count)]
    }
}

impl Schedule {
    /// Returns a schedule in which every `restart`-th key refers only to key 0; `restart` is at least 1.
    pub fn new(frames: u32, restart: u32) -> Schedule {
        let keys = match frames {
            0 => 0,
            _ => (frames - 1).div_ceil(KEY_INTERVAL) + 1,
        };
        Schedule { frames, keys, restart: restart.max(1) }
    }

    /// Returns the number of frames.
    pub fn frames(&self) -> u32 {
        self.frames
    }

    /// Returns the number of keys.
    pub fn keys(&self) -> u32 {
        self.keys
    }

    /// Returns the window of a mesh that stands still up to frame `first` and from frame `last` on.
    pub fn window(&self, first: u32, last: u32) -> FrameWindow {
        let apart = KEY_INTERVAL * self.restart;
        FrameWindow {
            start: first - first % apart,
            end: (last.div_ceil(apart).saturating_mul(apart)).min(self.frames.saturating_sub(1)),
        }
    }

    /// Returns the schedule of a window's frames.
    pub fn within(&self, window: FrameWindow) -> Schedule {
        let frames = window.end.saturating_sub(window.start) + 1;
        Schedule::new(frames, self.restart)
    }

    /// Returns the unit's number in the schedule of a window's frames; `None` if that has no such unit. A
    /// unit lies entirely inside a window or outside.
    pub fn unit_within(&self, window: FrameWindow, unit: Unit) -> Option<Unit> {
        let frame = *self.frames_of(unit).first()?;
        let earlier = window.start / KEY_INTERVAL;
        let inside = (window.start..=window.end).contains(&frame);
        inside.then(|| match unit {
            Unit::Key(i) => Unit::Key(i - earlier),
            Unit::LowerLayers(g) => Unit::LowerLayers(g - earlier),
            Unit::TopLayer(g) => Unit::TopLayer(g - earlier),
        })
    }

    /// Returns the number of groups, one less than keys. Two adjacent keys have an empty group between them.
    pub fn groups(&self) -> u32 {
        self.keys.saturating_sub(1)
    }

    /// Returns the number of keys from one that refers only to key 0 to the next.
    pub fn restart(&self) -> u32 {
        self.restart
    }

    /// Returns the number of segments of keys, which can be coded independently of each other.
    pub fn segments(&self) -> u32 {
        // A last key that is not at a multiple of the interval belongs to the segment before, whatever that
        // segment's length.
        let due = match self.frames {
            0 => 0,
            _ => (self.frames - 1) / KEY_INTERVAL + 1,
        };
        due.div_ceil(self.restart)
    }

    /// Returns the first key of a key's segment: the last one that refers only to key 0.
    fn segment_start(&self, key: u32) -> u32 {
        let due = key.min((self.frames.saturating_sub(1)) / KEY_INTERVAL);
        due - due % self.restart
    }

    /// Returns the keys of a segment.
    pub fn segment(&self, segment: u32) -> std::ops::Range<u32> {
        let start = |s: u32| match s < self.segments() {
            true => s * self.restart,
            false => self.keys,
        };
        start(segment)..start(segment.saturating_add(1))
    }

    /// Returns the frame of a key.
    pub fn key_frame(&self, key: u32) -> u32 {
        (key.saturating_mul(KEY_INTERVAL)).min(self.frames.saturating_sub(1))
    }

    /// Returns the number of the key at this frame, if it is a key.
    pub fn key_of(&self, frame: u32) -> Option<u32> {
        if frame >= self.frames {
            return None;
        }
        let last = frame + 1 == self.frames;
        match frame % KEY_INTERVAL {
            0 => Some(frame / KEY_INTERVAL),
            _ => last.then(|| self.keys - 1),
        }
    }

    /// Returns the group of a frame; a key belongs to the group that begins with it.
    pub fn group_of(&self, frame: u32) -> u32 {
        frame / KEY_INTERVAL
    }

    /// Returns the number of unit numbers, see [`Schedule::unit_number`]. Some units have no frames.
    pub fn units(&self) -> u32 {
        3 * self.keys
    }

    /// Returns the number of a unit, in an order of decoding: a unit needs only units with smaller numbers,
    /// except for the look-ahead keys: group g needs keys up to g + 2.
    pub fn unit_number(&self, unit: Unit) -> u32 {
        match unit {
            Unit::Key(i) => 3 * i,
            Unit::LowerLayers(g) => 3 * g + 1,
            Unit::TopLayer(g) => 3 * g + 2,
        }
    }

    /// Inverts [`Schedule::unit_number`].
    pub fn unit(&self, number: u32) -> Unit {
        match number % 3 {
            0 => Unit::Key(number / 3),
            1 => Unit::LowerLayers(number / 3),
            _ => Unit::TopLayer(number / 3),
        }
    }

    /// Returns all units that have frames, in the order of the file: each after the units that it needs.
    pub fn units_in_file_order(&self) -> impl Iterator<Item = Unit> + use<> {
        let schedule = *self;
        let groups = (0..schedule.groups()).flat_map(|g| {
            let ahead = (g == 0).then_some(Unit::Key(1));
            let units = [Unit::Key(g + 2), Unit::LowerLayers(g), Unit::TopLayer(g)];
            ahead.into_iter().chain(units)
        });
        let all = std::iter::once(Unit::Key(0)).chain(groups);
        all.filter(move |unit| !schedule.frames_of(*unit).is_empty())
    }

    /// Returns the unit that holds a frame. Frame 0 is key 0.
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

    /// Returns the depth of a frame, 0 for keys.
    pub fn depth(&self, frame: u32) -> u32 {
        self.enclosing_frames(frame).2
    }

    /// Returns the depth of a group's deepest frames, 0 if it has none.
    fn deepest(&self, group: u32) -> u32 {
        let span = self.key_frame(group.saturating_add(1)) - self.key_frame(group);
        u32::BITS - span.saturating_sub(1).leading_zeros()
    }

    /// Returns the two ends between which a frame is the middle, and its depth. A key is its own ends.
    fn enclosing_frames(&self, frame: u32) -> (u32, u32, u32) {
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

    /// Returns the frames of a unit, in decoding order. Key 0 has its frame although it has no bytes.
    pub fn frames_of(&self, unit: Unit) -> FrameList {
        let mut out = FrameList::default();
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

    /// Returns the frames that a frame is predicted from, nearest two first: none for frame 0, else up to
    /// [`MAX_REFERENCES`].
    pub fn references(&self, frame: u32) -> FrameList {
        let mut out = FrameList::default();
        if let Some(key) = self.key_of(frame) {
            if key > 0 {
                let first = self.segment_start(key);
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
        let (a, b, depth) = self.enclosing_frames(frame);
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

    /// Returns the frames outside a unit that streams predicted from positions (normals) may refer to, among
    /// those that the unit needs anyway: for a key the one before it, for a group's units the group's own
    /// frames.
    pub fn normal_references(&self, unit: Unit) -> FrameList {
        let mut out = FrameList::default();
        let needs = self.dependencies(unit);
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

    /// Returns `true` if chains continue from the key before to this one; else they begin here.
    pub fn chain_continues(&self, key: u32) -> bool {
        key > self.segment_start(key)
    }

    /// Returns the frames of a group that chains store together: those between the group's keys, and the last
    /// key if the chain continues to it. They follow the first key.
    pub fn chain_frames(&self, group: u32) -> std::ops::Range<u32> {
        let last = group.saturating_add(1);
        self.key_frame(group).saturating_add(1)..self.key_frame(last) + u32::from(self.chain_continues(last))
    }

    /// Returns the unit that stores the chain frames of a group: the key after the group, if the chain
    /// continues to it, else the group's first unit.
    pub fn chain_unit(&self, group: u32) -> Unit {
        match self.chain_continues(group.saturating_add(1)) {
            true => Unit::Key(group + 1),
            false if self.frames_of(Unit::LowerLayers(group)).is_empty() => Unit::TopLayer(group),
            false => Unit::LowerLayers(group),
        }
    }

    /// Returns `true` if a unit stores the chain frames of a group.
    pub fn has_chain_frames(&self, unit: Unit) -> bool {
        match unit {
            Unit::Key(key) => self.chain_continues(key),
            Unit::LowerLayers(g) | Unit::TopLayer(g) => self.chain_unit(g) == unit,
        }
    }

    /// Returns the frames that must be decoded before a unit's chain frames: the one that the chain continues
    /// from, and if the chain frames are in another unit, the first frame of that.
    pub fn chain_dependencies(&self, unit: Unit) -> FrameList {
        let mut out = FrameList::default();
        let group = match unit {
            Unit::Key(key) if self.chain_continues(key) => key - 1,
            Unit::Key(_) => return out,
            Unit::LowerLayers(g) | Unit::TopLayer(g) => g,
        };
        if self.frames_of(unit).is_empty() {
            return out;
        }
        out.push(self.key_frame(group));
        let links = self.chain_unit(group);
        if links != unit {
            self.frames_of(links).iter().take(1).for_each(|&frame| out.push(frame));
        }
        out
    }

    /// Returns the frames that must be decoded before a unit: keys, and for [`Unit::TopLayer`] frames of the
    /// same group.
    pub fn dependencies(&self, unit: Unit) -> FrameList {
        let inside = self.frames_of(unit);
        let mut out = FrameList::default();
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
                    for unit in whole.units_in_file_order() {
                        let frames = whole.frames_of(unit);
                        let Some(unit) = whole.unit_within(window, unit) else {
                            let outside = |f: &u32| *f < window.start || *f > window.end;
                            assert!(frames.iter().all(outside));
                            continue;
                        };
                        let moved: Vec<u32> = own.frames_of(unit).iter().map(|f| f + window.start).collect();
                        assert_eq!(moved, frames.to_vec());
                        seen += moved.len();
                        // A frame refers to the same frames, except for the first frame.
                        for (&f, &g) in own.frames_of(unit).iter().zip(frames.iter()) {
                            let list = own.references(f);
                            assert!(list.iter().all(|&r| r < own.frames()));
                            assert_eq!(own.depth(f), whole.depth(g));
                        }
                    }
                    assert_eq!(seen as u32, own.frames());
                    if window.end + 1 < frames {
                        // The last frame of the window refers only to the first.
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
        assert_eq!(*s.dependencies(Unit::LowerLayers(1)), [16, 32, 0, 39]);
        assert!(s.references(0).is_empty());
    }

    #[test]
    fn chains_have_each_frame_once() {
        for restart in [1, 2, 4] {
            for frames in 0..=140u32 {
                let s = Schedule::new(frames, restart);
                let begin = (0..s.keys()).filter(|&k| !s.chain_continues(k)).map(|k| s.key_frame(k));
                let mut seen: Vec<u32> =
                    begin.chain((0..s.groups()).flat_map(|g| s.chain_frames(g))).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..frames).collect::<Vec<_>>());
                assert_eq!((0..s.keys()).filter(|&k| !s.chain_continues(k)).count() as u32, s.segments());
                let mut decoded: Vec<u32> = Vec::new();
                for unit in s.units_in_file_order() {
                    let needs = s.chain_dependencies(unit);
                    assert!(needs.iter().all(|frame| decoded.contains(frame)), "{frames} {unit:?}");
                    let others = s.dependencies(unit);
                    let all = needs.iter().chain(others.iter());
                    assert!(all.collect::<std::collections::BTreeSet<_>>().len() <= 12);
                    decoded.extend(s.frames_of(unit).iter());
                }
                for group in (0..s.groups()).filter(|&g| !s.chain_frames(g).is_empty()) {
                    assert!(
                        s.has_chain_frames(s.chain_unit(group))
                            && !s.frames_of(s.chain_unit(group)).is_empty()
                    );
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
                    assert_eq!(s.unit_number(unit), number);
                    let list = s.frames_of(unit);
                    let most = if matches!(unit, Unit::LowerLayers(_)) { 7 } else { 8 };
                    assert!(list.len() <= most);
                    for &f in list.iter() {
                        assert_eq!(s.unit_of(f), unit, "{frames} {f}");
                        let refs = s.references(f);
                        assert!(refs.len() <= MAX_REFERENCES);
                        assert!(f == 0 || !refs.is_empty());
                        for r in refs.iter() {
                            assert!(decoded.contains(r), "{frames}: {f} needs {r}");
                        }
                        if let Unit::Key(k) = unit {
                            let segment = s.segment(s.segment_start(k) / restart);
                            assert!(segment.contains(&k));
                            for &r in refs.iter().filter(|r| **r > 0) {
                                assert!(segment.contains(&s.key_of(r).unwrap()));
                            }
                        }
                        seen.push(f);
                        decoded.push(f);
                    }
                    let keys = s.dependencies(unit).iter().filter(|f| s.key_of(**f).is_some()).count();
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
