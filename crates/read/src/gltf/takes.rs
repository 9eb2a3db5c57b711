//! The played timeline: one animation from beginning to end, or all of them one after the other.
//!
//! With several, each begins one frame after the last frame of the previous one, the first at 0. During an
//! animation the others have no effect: what it does not move is at rest, as the format defines. Nothing is
//! interpolated in the gap of one frame between two of them.

use super::animation::{self, Animation, Curve, NodeCurves};
use super::camera::LensParameter;
use super::document::Document;
use meshreel_scene::sample::MAX_FRAMES;
use meshreel_scene::uniform_times::UniformTimes;
use meshreel_scene::{Error, NamedRange, TIME_TOLERANCE, TimeSampling};

/// An animation and its place on the timeline.
struct Take {
    animation: Animation,
    /// The uniform times, and whether all keys are on them.
    grid: Option<(UniformTimes, bool)>,
    /// The first and the last sample of each long span in which nothing changes. Short spans are not listed.
    constant_spans: Vec<[usize; 2]>,
    /// Number and time (seconds) of its first frame on the common timeline, if there are several animations.
    timeline_start: Option<(usize, f64)>,
}

/// The fewest samples of a constant span whose inner samples are left out; shorter ones are not worth uneven
/// times.
const MIN_CONSTANT_SPAN_SAMPLES: usize = 1000;

/// The largest number of samples in a span over which a scale grows from or shrinks to zero.
const MAX_ZERO_SPAN_SAMPLES: usize = 256;

impl Take {
    fn new(animation: Animation, grid: Option<(UniformTimes, bool)>, placed: Option<(usize, f64)>) -> Take {
        let mut still = Vec::new();
        if let Some((grid, _)) = grid.filter(|(grid, _)| grid.samples > MIN_CONSTANT_SPAN_SAMPLES) {
            for [from, to] in animation::idle(&animation) {
                let first = ((from - grid.start) * grid.fps).ceil().max(0.0) as usize;
                let last = (((to - grid.start) * grid.fps).floor().max(0.0) as usize).min(grid.samples - 1);
                if last >= first.saturating_add(MIN_CONSTANT_SPAN_SAMPLES) {
                    still.push([first, last]);
                }
            }
        }
        Take { animation, grid, constant_spans: still, timeline_start: placed }
    }

    /// Returns the samples that are kept: of a long constant span only the first and the last.
    fn samples(&self) -> impl Iterator<Item = usize> {
        let count = self.grid.map_or(0, |(grid, _)| grid.samples);
        let starts = std::iter::once(0).chain(self.constant_spans.iter().map(|[_, last]| *last));
        let ends = (self.constant_spans.iter().map(|[first, _]| first + 1)).chain([count]);
        starts.zip(ends).flat_map(|(from, to)| from..to)
    }

    /// Returns the timeline time of sample `i` of its uniform times; `fps` is the timeline's rate, if it is
    /// the same throughout.
    fn time(&self, grid: &UniformTimes, i: usize, fps: Option<f64>) -> f64 {
        match (self.timeline_start, fps) {
            (None, _) => grid.time(i),
            (Some((first, _)), Some(fps)) => (first + i) as f64 / fps,
            (Some((_, start)), None) => start + i as f64 / grid.fps,
        }
    }

    /// Converts a time of the animation to a time on the timeline.
    fn timeline_time(&self, time: f64, fps: Option<f64>) -> f64 {
        let Some((grid, _)) = self.grid else {
            return time;
        };
        let i = ((time - grid.start) * grid.fps).round().max(0.0) as usize;
        match (self.timeline_start, time == grid.time(i)) {
            (_, true) => self.time(&grid, i, fps),
            (None, _) => time,
            (Some((_, start)), _) => start + (time - grid.start),
        }
    }
}

/// The relation of a value to the curves it is computed from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CurveRelation {
    /// The value is that of the curves.
    AsKeyed,
    /// The curves are those of the transform of this node.
    Transform(usize),
    /// Each value holds until the next one.
    Held,
    /// The value is not linear in the curves.
    Nonlinear,
}

/// All animations that are played.
pub(super) struct Takes {
    /// At least one, in order of time.
    list: Vec<Take>,
    /// Frames per second, if the same for all.
    fps: Option<f64>,
    samples: usize,
}

impl Takes {
    /// Plays one animation, at its own times.
    pub fn single(animation: Animation, usual: f64, document: &Document) -> Result<Takes, Error> {
        let grid = animation::grid(&animation, usual, document)?;
        Ok(Takes {
            fps: grid.map(|(grid, _)| grid.fps),
            samples: grid.map_or(1, |(grid, _)| grid.samples),
            list: vec![Take::new(animation, grid, None)],
        })
    }

    /// Plays one animation, which can be evaluated at any time.
    pub fn any_time(animation: &Animation) -> Takes {
        Takes { fps: None, samples: 1, list: vec![Take::new(animation.clone(), None, None)] }
    }

    /// Plays all animations that have keys one after the other; `None` if none has keys.
    pub fn sequence(
        animations: &[Animation],
        usual: f64,
        document: &Document,
    ) -> Result<Option<Takes>, Error> {
        let mut list = Vec::new();
        let mut rates = Vec::new();
        let (mut frames, mut start) = (0usize, 0.0);
        for animation in animations {
            let Some((grid, exact)) = animation::grid(animation, usual, document)? else {
                continue;
            };
            list.push(Take::new(animation.clone(), Some((grid, exact)), Some((frames, start))));
            rates.push(grid.fps);
            frames += grid.samples;
            start += grid.samples as f64 / grid.fps;
            if frames > MAX_FRAMES {
                return Err(Error::limit(
                    &document.path,
                    "samples of all animations",
                    frames as u64,
                    MAX_FRAMES as u64,
                ));
            }
        }
        let Some(&rate) = rates.first() else {
            return Ok(None);
        };
        let fps = rates.iter().all(|fps| *fps == rate).then_some(rate);
        if let Some(fps) = fps {
            for take in &mut list {
                take.timeline_start = take.timeline_start.map(|(first, _)| (first, first as f64 / fps));
            }
        }
        Ok(Some(Takes { list, fps, samples: frames }))
    }

    /// Returns the animation played at a time of the common timeline, and the time within it, in seconds.
    pub fn animation_at(&self, time: f64) -> (&Animation, f64) {
        let begun = |take: &Take| {
            let begins = take.timeline_start.map_or(f64::NEG_INFINITY, |(_, start)| start);
            begins <= time + TIME_TOLERANCE
        };
        let take = &self.list[self.list.partition_point(begun).saturating_sub(1)];
        match (take.timeline_start, take.grid) {
            (Some((_, start)), Some((grid, _))) => {
                let last = grid.time(grid.samples - 1);
                let own = (time - start + grid.start).clamp(grid.start, last);
                (&take.animation, own)
            }
            _ => (&take.animation, time),
        }
    }

    /// Returns the curves of a node in all animations.
    pub fn node_curves(&self, node: usize) -> impl Iterator<Item = &NodeCurves> {
        let takes = self.list.iter();
        takes.filter_map(move |take| take.animation.nodes.get(&node))
    }

    /// `true` if the given curves of a node may give more than one value. With several animations each may be
    /// constant at a different value.
    pub fn may_change<'a>(&'a self, mut curves: impl Iterator<Item = &'a Curve>) -> bool {
        match self.list.len() {
            1 => curves.any(|curve| !curve.is_constant()),
            _ => curves.next().is_some(),
        }
    }

    /// `true` if a node's transform may change.
    pub fn moves(&self, node: usize) -> bool {
        self.may_change(self.node_curves(node).flat_map(NodeCurves::transform_curves))
    }

    /// Computes the weights of a node at a time. `rest`: the weights without animation.
    pub fn weights(&self, node: usize, time: f64, rest: &[f64], out: &mut Vec<f64>) {
        let (animation, time) = self.animation_at(time);
        out.clear();
        out.extend_from_slice(rest);
        let Some(curves) = animation.nodes.get(&node) else { return };
        if let Some(all) = &curves.weights {
            all.fill(time, out);
        }
        for (i, one) in &curves.weight {
            out.resize(out.len().max(i + 1), 0.0);
            [out[*i]] = one.value(time);
        }
    }

    /// Returns the numbers of a camera that any animation moves.
    pub fn camera_curves(&self, camera: usize) -> impl Iterator<Item = (LensParameter, &Curve)> {
        let takes = self.list.iter().filter_map(move |take| take.animation.cameras.get(&camera));
        takes.flatten().map(|(part, curve)| (*part, curve))
    }

    /// `true` if a node is shown at a time. `rest`: the visibility without animation.
    pub fn is_shown(&self, node: usize, time: f64, rest: bool) -> bool {
        let (animation, time) = self.animation_at(time);
        let visible = animation.nodes.get(&node).and_then(|curves| curves.visible.as_ref());
        visible.map_or(rest, |curve| curve.is_on(time))
    }

    /// Returns a remark on constant spans far longer than the animated ones.
    pub fn idle_remark(&self) -> Option<String> {
        /// The ratio of lengths from which the remark is given.
        const MIN_IDLE_RATIO: f64 = 100.0;
        let mut long = self.list.iter().filter(|take| !take.constant_spans.is_empty());
        long.find_map(|take| {
            let (grid, _) = take.grid?;
            let idle = animation::idle(&take.animation);
            let whole = (grid.samples - 1) as f64 / grid.fps;
            let still: f64 = idle.iter().map(|[from, to]| to - from).sum();
            let end = |span: Option<&[f64; 2]>, side: usize| span.map(|span| span[side]);
            let first = end(idle.first().filter(|span| span[0] <= grid.start + TIME_TOLERANCE), 1);
            let last = end(idle.last().filter(|span| span[1] >= grid.start + whole - TIME_TOLERANCE), 0);
            let (from, to) = (first.unwrap_or(grid.start), last.unwrap_or(grid.start + whole));
            (whole > MIN_IDLE_RATIO * (whole - still)).then(|| {
                format!(
                    "animation '{}' goes over {whole} s, in {} s of which something moves; --range {from}s:{to}s takes a part",
                    take.animation.name,
                    whole - still
                )
            })
        })
    }

    /// Returns the frames per second of the timeline; `None` if it has no uniform rate.
    pub fn fps(&self) -> Option<f64> {
        self.fps
    }

    /// Returns the rate that was chosen for keys without one.
    pub fn guessed(&self) -> Option<f64> {
        let guessed = |take: &Take| take.grid.filter(|(_, exact)| !exact);
        self.list.iter().find_map(guessed).map(|(grid, _)| grid.fps)
    }

    /// Returns all uniform times and their number; `None` without keys.
    pub fn sampling(&self) -> Option<(TimeSampling, usize)> {
        self.list[0].grid?;
        if self.list.iter().any(|take| !take.constant_spans.is_empty()) {
            let times = self.listed();
            let count = times.len();
            return Some((TimeSampling::Acyclic { times }, count));
        }
        if let ([Take { timeline_start: None, .. }], Some((grid, _))) = (&self.list[..], self.list[0].grid) {
            return Some((grid.sampling(), grid.samples));
        }
        let uniform = |fps: f64| TimeSampling::Uniform { start: 0.0, step: 1.0 / fps };
        let listed = || TimeSampling::Acyclic { times: self.listed() };
        Some((self.fps.map_or_else(listed, uniform), self.samples))
    }

    fn listed(&self) -> Vec<f64> {
        self.list.iter().flat_map(|take| self.grid(take)).collect()
    }

    fn grid(&self, take: &Take) -> Vec<f64> {
        take.grid.map_or(Vec::new(), |(grid, _)| {
            let time = |i| take.time(&grid, i, self.fps);
            take.samples().map(time).collect()
        })
    }

    /// Returns the times at which curves are sampled: their keys, if linear interpolation is exact, plus the
    /// time just before each step; otherwise the uniform times and the keys beside them; with several
    /// animations also the first and the last frame of each. The flag is `true` if uniform times were needed.
    pub fn times<'a>(
        &'a self,
        way: CurveRelation,
        curves: impl Fn(&'a Animation) -> Vec<&'a Curve>,
    ) -> (Vec<f64>, bool) {
        let (mut times, mut sampled) = (Vec::new(), false);
        for take in &self.list {
            let curves = curves(&take.animation);
            let mut own: Vec<f64> = curves.iter().flat_map(|c| c.times()).copied().collect();
            let straight = match way {
                CurveRelation::AsKeyed | CurveRelation::Transform(_) => {
                    curves.iter().all(|c| c.is_linear() || c.is_step())
                }
                CurveRelation::Held => true,
                CurveRelation::Nonlinear => curves.iter().all(|c| c.is_step()),
            };
            if let (Some((grid, _)), false) = (take.grid, straight) {
                sampled = true;
                own.extend(take.samples().map(|i| grid.time(i)));
            }
            for curve in &curves {
                curve.push_turn_times(&mut own);
            }
            if let (Some((grid, _)), CurveRelation::Transform(node)) = (take.grid, way) {
                let scale = take.animation.nodes.get(&node).and_then(|curves| curves.scale.as_ref());
                for [from, to] in scale.iter().flat_map(|scale| scale.zero_scale_spans()) {
                    let times = take.samples().map(|i| grid.time(i));
                    let inside: Vec<f64> = times.filter(|time| (from..to).contains(time)).collect();
                    own.extend(inside.iter().step_by(inside.len().div_ceil(MAX_ZERO_SPAN_SAMPLES).max(1)));
                }
            }
            if let Some((grid, _)) = take.grid {
                // Keys are 32-bit floats. A key near a time of the grid moves onto it, unless another key
                // does so too: of two keys, the later determines how the curve continues.
                own.sort_by(f64::total_cmp);
                own.dedup();
                let nearest = |time: &f64| {
                    let near = grid.time(((time - grid.start) * grid.fps).round().max(0.0) as usize);
                    if (time - near).abs() <= TIME_TOLERANCE { near } else { *time }
                };
                let near: Vec<f64> = own.iter().map(nearest).collect();
                let alone = |i: usize| {
                    let before = i.checked_sub(1).and_then(|before| near.get(before));
                    before != Some(&near[i]) && near.get(i + 1) != Some(&near[i])
                };
                for i in (0..own.len()).filter(|&i| alone(i)) {
                    own[i] = near[i];
                }
            }
            for curve in curves.iter().filter(|_| way != CurveRelation::Held) {
                curve.push_step_times(&mut own);
            }
            if let (Some((grid, _)), Some(_)) = (take.grid, take.timeline_start) {
                own.extend([grid.start, grid.time(grid.samples - 1)]);
            }
            times.extend(own.into_iter().map(|time| take.timeline_time(time, self.fps)));
        }
        times.sort_by(f64::total_cmp);
        times.dedup_by(|b, a| *b - *a < TIME_TOLERANCE);
        (times, sampled)
    }

    /// Returns the named parts of the timeline, if there are several.
    pub fn ranges(&self) -> Vec<NamedRange> {
        let range = |take: &Take| {
            let (grid, _) = take.grid?;
            take.timeline_start?;
            Some(NamedRange {
                name: take.animation.name.clone(),
                start: take.time(&grid, 0, self.fps),
                end: take.time(&grid, grid.samples - 1, self.fps),
            })
        };
        self.list.iter().filter_map(range).collect()
    }
}
