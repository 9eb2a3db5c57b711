//! What a scene decides about a cache, as data: stand-ins, streaming and level of detail by distance,
//! instancing lists, switches. Nothing here draws, reads or allocates; the same questions always get the same
//! answers.

use crate::time::clock::{Clock, Command, Repeat};

/// Distances that are passed one after the other, each with a number behind it: the level of detail.
/// Distances that were passed are passed back only [`Levels::margin`] nearer, so that nothing flickers at the
/// border.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// Where level `i` ends, ascending; levels without end are ∞.
    pub ends: [f32; Levels::MOST - 1],
    /// Share of a distance, 0.1 for a tenth.
    pub margin: f32,
}

impl Levels {
    /// Most levels.
    pub const MOST: usize = 8;

    /// Level 0 at every distance.
    pub const ONE: Levels = Levels { ends: [f32::INFINITY; Levels::MOST - 1], margin: 0.05 };

    /// Levels that end at these distances; the last one never does.
    pub fn ending_at(ends: &[f32]) -> Levels {
        let mut levels = Levels::ONE;
        for (end, &at) in levels.ends.iter_mut().zip(ends) {
            *end = at;
        }
        levels
    }

    /// Levels of detail by what the eye can see of their errors: each begins at the distance from which its
    /// error is no more than `pixels` of the picture. `errors` are those of levels 1, 2 … ([`crate::Lod`]) in
    /// the mesh's own space, `scale` the largest scale of its world transform. Of more than eight levels the
    /// last are not used.
    ///
    /// Levels that are no better than the next, because that is good enough as near, are passed over.
    pub fn within(errors: &[f32], scale: f32, lens: &Lens, pixels: f32) -> Levels {
        let mut levels = Levels::ONE;
        let per_error = scale * lens.pixels_at_one() / pixels;
        let mut farthest = 0.0f32;
        for (end, &error) in levels.ends.iter_mut().zip(errors) {
            let begins = error * per_error;
            // NaN and what is no distance: never.
            farthest = if begins >= 0.0 { farthest.max(begins) } else { f32::INFINITY };
            *end = farthest;
        }
        levels
    }

    /// The level at a distance, where it was `was`. A distance of NaN is the farthest.
    pub fn at(&self, distance: f32, was: usize) -> usize {
        let passed = |(level, end): (usize, f32)| {
            let end = if level < was { end * (1.0 - self.margin) } else { end };
            distance > end || distance.is_nan()
        };
        self.ends.into_iter().enumerate().take_while(|&e| passed(e)).count()
    }
}

/// What the eye sees: what a length becomes in the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lens {
    /// Vertical angle of view, radians, less than π.
    pub angle: f32,
    /// Height of the picture in pixels.
    pub height: f32,
}

impl Lens {
    /// Pixels of a length of 1 at the distance 1, across the direction of view.
    pub fn pixels_at_one(&self) -> f32 {
        self.height / (2.0 * (self.angle / 2.0).tan())
    }

    /// Pixels that a length takes at a distance; ∞ where the eye touches it.
    pub fn pixels(&self, length: f32, distance: f32) -> f32 {
        match distance > 0.0 {
            true => length * self.pixels_at_one() / distance,
            false => f32::INFINITY,
        }
    }
}

/// Meshes that are drawn instead of a cache, by numbers of the caller's. Where the first or the last is
/// missing the default stands for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StandIns {
    /// While the animation is at its beginning.
    pub first: Option<u32>,
    /// When it has been played to its end.
    pub last: Option<u32>,
    /// At all other times.
    pub default: Option<u32>,
}

impl StandIns {
    /// The one for where a clock is.
    pub fn at(&self, clock: &Clock) -> Option<u32> {
        let repeats = clock.repeat() != Repeat::Once;
        let special = if clock.position() == 0.0 {
            self.first
        } else if clock.position() >= clock.timeline().duration() && !repeats {
            self.last
        } else {
            None
        };
        special.or(self.default)
    }
}

/// Turns parts of the system off, to see what costs what. Off are: drawing nothing, no new reads, no new
/// jobs; what has begun is finished, clocks go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switches {
    /// Reads may start.
    pub reads: bool,
    /// Jobs that decompress and decode may start.
    pub jobs: bool,
    /// Caches and stand-ins are drawn.
    pub drawing: bool,
}

impl Switches {
    /// Everything works.
    pub const ON: Switches = Switches { reads: true, jobs: true, drawing: true };
    /// Nothing does.
    pub const OFF: Switches = Switches { reads: false, jobs: false, drawing: false };
}

impl Default for Switches {
    fn default() -> Switches {
        Switches::ON
    }
}

/// What holds for one instance. Distances are those of [`Situation::distance`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// What is drawn instead.
    pub stand_ins: StandIns,
    /// Beyond it a stand-in is drawn, where there is one.
    pub stand_in_beyond: f32,
    /// Within it, it is streamed, even before it plays; beyond it only what is drawn is.
    pub stream_within: f32,
    /// Levels of detail.
    pub levels: Levels,
    /// As [`Levels::margin`], for the two distances above.
    pub margin: f32,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            stand_ins: StandIns::default(),
            stand_in_beyond: f32::INFINITY,
            stream_within: 0.0,
            levels: Levels::ONE,
            margin: 0.05,
        }
    }
}

/// What the scene knows of an instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Situation {
    /// From the eye to it, in the scene's unit. Below 0 counts as 0, NaN as infinitely far.
    pub distance: f32,
    /// Not hidden, and in sight.
    pub visible: bool,
    /// A frame of it can be drawn.
    pub ready: bool,
}

/// What is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Draw {
    /// Nothing.
    #[default]
    Nothing,
    /// The cache, at a level of detail.
    Cache(usize),
    /// This mesh.
    StandIn(u32),
}

/// What follows for one instance. Kept by the caller from one tick to the next: it remembers on which side of
/// each distance the instance was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What to draw.
    pub draw: Draw,
    /// It is to be streamed. Where this is false it demands nothing.
    pub stream: bool,
    far: bool,
    near: bool,
    level: usize,
}

impl Rules {
    /// Judges an instance; `was` is the verdict before.
    pub fn judge(&self, situation: &Situation, clock: &Clock, was: &Verdict, on: Switches) -> Verdict {
        let distance = match situation.distance {
            d if d.is_nan() => f32::INFINITY,
            d => d.max(0.0),
        };
        let inside = |border: f32, was_inside: bool| match was_inside {
            true => distance <= border * (1.0 + self.margin),
            false => distance <= border,
        };
        let far = !inside(self.stand_in_beyond, !was.far);
        let near = inside(self.stream_within, was.near);
        let level = self.levels.at(distance, was.level);
        let stand_in = self.stand_ins.at(clock);
        let plays = !clock.stopped();
        let replaced = far && stand_in.is_some();
        let draw = match (situation.visible && on.drawing, stand_in) {
            (false, _) => Draw::Nothing,
            (true, Some(mesh)) if far || !situation.ready || !plays => Draw::StandIn(mesh),
            (true, _) if situation.ready && plays => Draw::Cache(level),
            (true, _) => Draw::Nothing,
        };
        Verdict { draw, stream: near || (plays && situation.visible && !replaced), far, near, level }
    }
}

impl Verdict {
    /// What to tell the clock of an instance that does not play, so that its beginning is there when it does.
    pub fn command(&self, was: &Verdict, clock: &Clock) -> Option<Command> {
        match (was.stream, self.stream) {
            (false, true) if clock.stopped() => Some(Command::StreamAt(clock.position())),
            (true, false) if clock.stopped() => Some(Command::StreamHere),
            _ => None,
        }
    }
}

/// A visible draw of a mesh that is the same for all its instances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Which mesh, and which frame of it where it moves: equal numbers are drawn alike.
    pub mesh: u64,
    /// Object to world, row-major.
    pub world: [[f32; 4]; 3],
}

/// Draws of one mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group<'a> {
    /// Which mesh.
    pub mesh: u64,
    /// Where it is drawn, in the order in which it was given.
    pub placed: &'a [Placed],
    /// Enough for one instanced draw; otherwise each is drawn alone.
    pub instanced: bool,
}

/// Fewest equal draws that become one instanced draw.
pub const INSTANCES: usize = 10;

/// Sorts draws so that equal ones follow each other, and gives them group by group; at least `threshold` (see
/// [`INSTANCES`]) make an instanced one. `order` keeps the order within a group and must be as long as
/// `draws`; nothing is allocated. With an `order` too short, no group.
pub fn group<'a>(
    draws: &'a mut [Placed],
    order: &mut [u32],
    threshold: usize,
) -> impl Iterator<Item = Group<'a>> {
    let draws: &'a [Placed] = match order.get_mut(..draws.len()) {
        Some(order) => {
            arrange(draws, order);
            draws
        }
        None => &[],
    };
    draws.chunk_by(|a, b| a.mesh == b.mesh).map(move |placed| Group {
        mesh: placed[0].mesh,
        placed,
        instanced: placed.len() >= threshold.max(1),
    })
}

/// A stable sort by mesh without a second buffer of draws.
fn arrange(draws: &mut [Placed], order: &mut [u32]) {
    for (i, place) in order.iter_mut().enumerate() {
        *place = i as u32;
    }
    order.sort_unstable_by_key(|&i| (draws[i as usize].mesh, i));
    // Each place is filled along its cycle; a place that is done names itself.
    for start in 0..order.len() {
        let mut to = start;
        loop {
            let from = order[to] as usize;
            order[to] = to as u32;
            if from == start {
                break;
            }
            draws.swap(to, from);
            to = from;
        }
    }
}

/// What a debug view draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// All meshes.
    #[default]
    All,
    /// Only those that a frame changes.
    Animated,
    /// Only those that no frame changes.
    Static,
}

impl Filter {
    /// Whether a mesh is drawn.
    pub fn shows(self, animated: bool) -> bool {
        match self {
            Filter::All => true,
            Filter::Animated => animated,
            Filter::Static => !animated,
        }
    }
}

/// Whether a stream is listed: its name has the filter in it, letters of either case being equal. All are,
/// without one.
pub fn name_matches(name: &str, filter: &str) -> bool {
    let (name, filter) = (name.as_bytes(), filter.as_bytes());
    filter.is_empty() || (name.windows(filter.len())).any(|part| part.eq_ignore_ascii_case(filter))
}

/// A bright colour, red, green and blue, the same for equal meshes: shows what is instanced.
pub fn colour_of(mesh: u64) -> [u8; 3] {
    // Numbers that follow each other get far hues: a golden turn apart.
    let hue = mesh.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let (sector, within) = ((hue * 6) >> 32, ((hue * 6) & 0xFFFF_FFFF) >> 25);
    let (low, high) = (64, 255);
    let (up, down) = (low + within as u8, high - within as u8);
    match sector {
        0 => [high, up, low],
        1 => [down, high, low],
        2 => [low, high, up],
        3 => [low, down, high],
        4 => [up, low, high],
        _ => [high, low, down],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::timeline::Timeline;
    use proptest::prelude::*;

    const RULES: Rules = Rules {
        stand_ins: StandIns { first: Some(1), last: Some(2), default: Some(3) },
        stand_in_beyond: 100.0,
        stream_within: 120.0,
        levels: Levels::ONE,
        margin: 0.1,
    };

    fn clock(commands: &[Command], dt: f64) -> Clock {
        let timeline = Timeline::new((0..11).map(|f| f as f64 / 10.0), 0.0);
        let mut clock = Clock::new(&timeline);
        for &command in commands {
            clock.command(command);
        }
        clock.advance(dt);
        clock
    }

    fn seen(distance: f32, ready: bool) -> Situation {
        Situation { distance, visible: true, ready }
    }

    fn judge(rules: &Rules, situation: Situation, clock: &Clock) -> Verdict {
        rules.judge(&situation, clock, &Verdict::default(), Switches::ON)
    }

    #[test]
    fn stand_ins_by_time() {
        let play = |dt| clock(&[Command::Play], dt);
        let looped = |dt| clock(&[Command::Play, Command::Repeat(Repeat::Loop)], dt);
        let all = RULES.stand_ins;
        assert_eq!(all.at(&play(0.0)), Some(1));
        assert_eq!(all.at(&play(0.5)), Some(3));
        assert_eq!(all.at(&play(2.0)), Some(2));
        assert_eq!(all.at(&looped(1.0)), Some(3), "a loop has no last frame");
        let default = StandIns { default: Some(3), ..StandIns::default() };
        assert_eq!([0.0, 0.5, 2.0].map(|dt| default.at(&play(dt))), [Some(3); 3]);
        let ends = StandIns { default: None, ..all };
        assert_eq!([0.0, 0.5, 2.0].map(|dt| ends.at(&play(dt))), [Some(1), None, Some(2)]);
    }

    #[test]
    fn stand_ins_by_distance_and_while_loading() {
        let clock = clock(&[Command::Play], 0.5);
        let near = judge(&RULES, seen(50.0, true), &clock);
        assert_eq!((near.draw, near.stream), (Draw::Cache(0), true));
        let far = judge(&RULES, seen(130.0, true), &clock);
        assert_eq!((far.draw, far.stream), (Draw::StandIn(3), false));
        let loading = judge(&RULES, seen(50.0, false), &clock);
        assert_eq!((loading.draw, loading.stream), (Draw::StandIn(3), true));
        let approaching = judge(&RULES, seen(110.0, false), &clock);
        assert_eq!((approaching.draw, approaching.stream), (Draw::StandIn(3), true));
        let none = Rules::default();
        assert_eq!(judge(&none, seen(1e9, true), &clock).draw, Draw::Cache(0));
        assert_eq!(judge(&none, seen(1.0, false), &clock).draw, Draw::Nothing);
        let mut hidden = seen(50.0, true);
        hidden.visible = false;
        assert_eq!(judge(&RULES, hidden, &clock).draw, Draw::Nothing);
        let no_distance = judge(&RULES, seen(f32::NAN, true), &clock);
        assert_eq!((no_distance.draw, no_distance.stream), (Draw::StandIn(3), false));
    }

    #[test]
    fn streaming_starts_within_a_distance() {
        let mut clock = clock(&[], 0.0);
        let mut was = Verdict::default();
        let mut told = Vec::new();
        for distance in [200.0, 121.0, 119.0, 125.0, 131.0, 133.0, 119.0] {
            let now = RULES.judge(&seen(distance, false), &clock, &was, Switches::ON);
            let command = now.command(&was, &clock);
            told.push(command.is_some());
            if let Some(command) = command {
                clock.command(command);
            }
            clock.advance(0.0);
            assert_eq!(clock.demand().spans().is_empty(), !now.stream, "{distance}");
            assert_eq!(now.draw, Draw::StandIn(1));
            was = now;
        }
        assert_eq!(told, [false, false, true, false, false, true, true], "with a margin");
    }

    #[test]
    fn nothing_flickers_at_a_border() {
        let clock = clock(&[Command::Play], 0.5);
        let mut was = judge(&RULES, seen(99.0, true), &clock);
        let mut changes = 0;
        for step in 0..100 {
            let distance = if step % 2 == 0 { 101.0 } else { 99.0 };
            let now = RULES.judge(&seen(distance, true), &clock, &was, Switches::ON);
            changes += usize::from(now.draw != was.draw);
            was = now;
        }
        assert_eq!(changes, 0);
    }

    #[test]
    fn levels_by_distance() {
        let levels = Levels::ending_at(&[10.0, 20.0, 40.0]);
        let at = |distance, was| levels.at(distance, was);
        assert_eq!([5.0, 10.0, 15.0, 30.0, 99.0].map(|d| at(d, 0)), [0, 0, 1, 2, 3]);
        assert_eq!((at(9.8, 1), at(9.4, 1)), (1, 0), "back with a margin");
        assert_eq!((at(19.5, 3), at(38.5, 3)), (2, 3));
        assert_eq!(at(f32::NAN, 0), Levels::MOST - 1);
        assert_eq!(Levels::ONE.at(1e30, 0), 0);
        let many = Levels::ending_at(&[1.0; 20]);
        assert_eq!(many.at(2.0, 0), Levels::MOST - 1);
    }

    #[test]
    fn f08_levels_by_what_the_eye_sees() {
        let lens = Lens { angle: std::f32::consts::FRAC_PI_2, height: 1000.0 };
        assert!((lens.pixels(1.0, 500.0) - 1.0).abs() < 1e-4);
        assert_eq!(lens.pixels(1.0, 0.0), f32::INFINITY);
        // Half a pixel: level 1 from 10 on, level 2 from 40 on.
        let levels = Levels::within(&[0.01, 0.04], 1.0, &lens, 0.5);
        assert!((levels.ends[0] - 10.0).abs() < 1e-3 && (levels.ends[1] - 40.0).abs() < 1e-3);
        assert_eq!([9.0, 11.0, 39.0, 41.0, 1e9].map(|d| levels.at(d, 0)), [0, 1, 1, 2, 2]);
        // Twice as large, twice as far; a narrow lens sees more.
        let large = Levels::within(&[0.01], 2.0, &lens, 0.5);
        assert!((large.ends[0] - 20.0).abs() < 1e-3);
        let near = Lens { angle: 0.1, ..lens };
        assert!(Levels::within(&[0.01], 1.0, &near, 0.5).ends[0] > 90.0);
        // What makes no sense is never drawn; a level that is as good as the one before takes its place.
        for bad in [f32::NAN, -1.0] {
            assert_eq!(Levels::within(&[bad, 0.1], 1.0, &lens, 1.0), Levels::ONE);
        }
        assert_eq!(Levels::within(&[0.0, 0.0], 1.0, &lens, 1.0).at(1.0, 0), 2);
        assert_eq!(Levels::within(&[1.0; 20], 1.0, &lens, 1.0).at(f32::MAX, 0), 7);
    }

    #[test]
    fn kill_switches() {
        let clock = clock(&[Command::Play], 0.5);
        for distance in [1.0, 1000.0] {
            let off = RULES.judge(&seen(distance, true), &clock, &Verdict::default(), Switches::OFF);
            assert_eq!(off.draw, Draw::Nothing);
        }
        assert_eq!(Switches::default(), Switches::ON);
    }

    fn placed(meshes: &[u64]) -> Vec<Placed> {
        let world = |i: usize| [[i as f32; 4]; 3];
        let at = |(i, &mesh): (usize, &u64)| Placed { mesh, world: world(i) };
        meshes.iter().enumerate().map(at).collect()
    }

    #[test]
    fn ten_equal_draws_become_one() {
        let meshes: Vec<u64> = (0..31).map(|i| [5, 7, 5][i % 3]).chain([9; 9]).collect();
        let mut draws = placed(&meshes);
        let mut order = [0; 40];
        let groups: Vec<(u64, usize, bool)> =
            group(&mut draws, &mut order, INSTANCES).map(|g| (g.mesh, g.placed.len(), g.instanced)).collect();
        assert_eq!(groups, [(5, 21, true), (7, 10, true), (9, 9, false)]);
        assert_eq!(group(&mut draws, &mut [0; 3], INSTANCES).count(), 0);
        assert_eq!(group(&mut [], &mut [], INSTANCES).count(), 0);
    }

    #[test]
    fn debug_views() {
        assert!(Filter::All.shows(true) && Filter::All.shows(false));
        assert!(Filter::Animated.shows(true) && !Filter::Animated.shows(false));
        assert!(!Filter::Static.shows(true) && Filter::Static.shows(false));
        assert!(name_matches("Cloth.reel", "") && name_matches("Cloth.reel", "cLOTH"));
        assert!(!name_matches("Cloth.reel", "cloths") && !name_matches("", "a"));
        let colours: std::collections::BTreeSet<_> = (0..64).map(colour_of).collect();
        assert!(colours.len() > 56, "{}", colours.len());
        assert_eq!(colour_of(3), colour_of(3));
    }

    proptest! {
        #[test]
        fn groups_are_a_stable_sort(meshes in prop::collection::vec(0u64..6, 0..60)) {
            let mut draws = placed(&meshes);
            let mut sorted = draws.clone();
            sorted.sort_by_key(|d| d.mesh);
            let mut order = vec![0; meshes.len()];
            let grouped: Vec<Placed> = group(&mut draws, &mut order, 3)
                .flat_map(|g| g.placed.to_vec())
                .collect();
            prop_assert_eq!(grouped, sorted);
        }

        #[test]
        fn levels_never_jump_back_and_forth(
            mut ends in prop::collection::vec(1.0f32..100.0, 0..7),
            distance in 0.0f32..120.0,
        ) {
            ends.sort_by(f32::total_cmp);
            let levels = Levels::ending_at(&ends);
            for was in 0..Levels::MOST {
                let level = levels.at(distance, was);
                prop_assert_eq!(levels.at(distance, level), level);
            }
        }
    }
}
