//! What is played: one animation from beginning to end, or all of them one after the other on one timeline.
//!
//! All of them: each begins one frame after the last frame of the one before, the first at 0. Within its time
//! nothing of the others counts: what it does not move is at rest, as the format has it. In the frame between
//! two of them there is nothing, so nothing is interpolated there.

use super::animation::{self, Animation, Curve, Curves};
use super::document::Document;
use crate::grid::Grid;
use crate::sample::MAX_FRAMES;
use crate::{Error, NamedRange, SAME_TIME, TimeSampling};

/// An animation and its place on the timeline.
struct Take {
    animation: Animation,
    /// Its uniform times, and whether all keys are on them.
    grid: Option<(Grid, bool)>,
    /// Number and time (seconds) of its first frame on the common timeline, if there are several animations.
    placed: Option<(usize, f64)>,
}

impl Take {
    /// Time of a sample of its uniform times on the timeline, which has the same rate all over if `fps` says
    /// so.
    fn time(&self, grid: &Grid, i: usize, fps: Option<f64>) -> f64 {
        match (self.placed, fps) {
            (None, _) => grid.time(i),
            (Some((first, _)), Some(fps)) => (first + i) as f64 / fps,
            (Some((_, start)), None) => start + i as f64 / grid.fps,
        }
    }

    /// A time of its own, on the timeline.
    fn outside(&self, time: f64, fps: Option<f64>) -> f64 {
        let Some((grid, _)) = self.grid else {
            return time;
        };
        // Keys are of 32 bits; those that mean a time of the grid are that.
        let i = ((time - grid.start) * grid.fps).round().max(0.0) as usize;
        match (self.placed, (time - grid.time(i)).abs()) {
            (_, off) if off <= 2.0 * SAME_TIME => self.time(&grid, i, fps),
            (None, _) => time,
            (Some((_, start)), _) => start + (time - grid.start),
        }
    }
}

/// All that is played.
pub(super) struct Takes {
    /// At least one, in the order of time.
    list: Vec<Take>,
    /// Frames per second, where all have the same.
    fps: Option<f64>,
    samples: usize,
}

impl Takes {
    /// One, at its own times.
    pub fn one(animation: Animation, usual: f64, document: &Document) -> Result<Takes, Error> {
        let grid = animation::grid(&animation, usual, document)?;
        Ok(Takes {
            fps: grid.map(|(grid, _)| grid.fps),
            samples: grid.map_or(1, |(grid, _)| grid.samples),
            list: vec![Take { animation, grid, placed: None }],
        })
    }

    /// One, to be looked at when one likes.
    pub fn any_time(animation: &Animation) -> Takes {
        Takes {
            fps: None,
            samples: 1,
            list: vec![Take { animation: animation.clone(), grid: None, placed: None }],
        }
    }

    /// One after the other, as far as they have keys; `None` where none has.
    pub fn all(animations: &[Animation], usual: f64, document: &Document) -> Result<Option<Takes>, Error> {
        let mut list = Vec::new();
        let mut rates = Vec::new();
        let (mut frames, mut start) = (0usize, 0.0);
        for animation in animations {
            let Some((grid, exact)) = animation::grid(animation, usual, document)? else {
                continue;
            };
            list.push(Take {
                animation: animation.clone(),
                grid: Some((grid, exact)),
                placed: Some((frames, start)),
            });
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
                take.placed = take.placed.map(|(first, _)| (first, first as f64 / fps));
            }
        }
        Ok(Some(Takes { list, fps, samples: frames }))
    }

    /// The animation that is played at a time of the common timeline, and the time within it, in seconds.
    pub fn at(&self, time: f64) -> (&Animation, f64) {
        let begun = |take: &Take| {
            let begins = take.placed.map_or(f64::NEG_INFINITY, |(_, start)| start);
            begins <= time + SAME_TIME
        };
        let take = &self.list[self.list.partition_point(begun).saturating_sub(1)];
        match (take.placed, take.grid) {
            (Some((_, start)), Some((grid, _))) => {
                let last = grid.time(grid.samples - 1);
                let own = (time - start + grid.start).clamp(grid.start, last);
                (&take.animation, own)
            }
            _ => (&take.animation, time),
        }
    }

    /// The curves of a node in all animations.
    pub fn of_node(&self, node: usize) -> impl Iterator<Item = &Curves> {
        let takes = self.list.iter();
        takes.filter_map(move |take| take.animation.nodes.get(&node))
    }

    /// Whether some of a node's curves may give more than one value: of several animations each may be still,
    /// but not as the others.
    pub fn change<'a>(&'a self, mut curves: impl Iterator<Item = &'a Curve>) -> bool {
        match self.list.len() {
            1 => curves.any(|curve| !curve.is_constant()),
            _ => curves.next().is_some(),
        }
    }

    /// Whether a node's transform may change.
    pub fn moves(&self, node: usize) -> bool {
        self.change(self.of_node(node).flat_map(Curves::of_transform))
    }

    /// Curve of a node's weights that counts at a time, and when that is in its own time.
    pub fn weights(&self, node: usize, time: f64) -> Option<(&Curve, f64)> {
        let (animation, time) = self.at(time);
        let curves = animation.nodes.get(&node)?;
        Some((curves.weights.as_ref()?, time))
    }

    /// Frames per second of the timeline; none where it has no rate of its own.
    pub fn fps(&self) -> Option<f64> {
        self.fps
    }

    /// The rate that was chosen where keys have none.
    pub fn guessed(&self) -> Option<f64> {
        let guessed = |take: &Take| take.grid.filter(|(_, exact)| !exact);
        self.list.iter().find_map(guessed).map(|(grid, _)| grid.fps)
    }

    /// All uniform times; none without keys.
    pub fn sampling(&self) -> Option<(TimeSampling, usize)> {
        if let ([Take { placed: None, .. }], Some((grid, _))) = (&self.list[..], self.list[0].grid) {
            return Some((grid.sampling(), grid.samples));
        }
        let uniform = |fps: f64| TimeSampling::Uniform { start: 0.0, step: 1.0 / fps };
        let listed =
            || TimeSampling::Acyclic { times: self.list.iter().flat_map(|take| self.grid(take)).collect() };
        self.list[0].grid?;
        Some((self.fps.map_or_else(listed, uniform), self.samples))
    }

    fn grid(&self, take: &Take) -> Vec<f64> {
        take.grid.map_or(Vec::new(), |(grid, _)| {
            let time = |i| take.time(&grid, i, self.fps);
            (0..grid.samples).map(time).collect()
        })
    }

    /// Where curves of a node are sampled: at their keys where lines between them say everything, with what
    /// was before a step right before it; else at the uniform times, and the keys beside them; of several
    /// animations at the first and the last frame of each, too. The flag says whether uniform times were
    /// needed.
    pub fn times<'a>(&'a self, node: usize, part: fn(&'a Curves) -> Vec<&'a Curve>) -> (Vec<f64>, bool) {
        let (mut times, mut sampled) = (Vec::new(), false);
        for take in &self.list {
            let curves = take.animation.nodes.get(&node).map_or(Vec::new(), part);
            let mut own: Vec<f64> = curves.iter().flat_map(|c| c.times()).copied().collect();
            let linear = curves.iter().all(|c| c.is_linear() || c.is_step());
            if let (Some((grid, _)), false) = (take.grid, linear) {
                sampled = true;
                own.extend((0..grid.samples).map(|i| grid.time(i)));
            }
            for curve in &curves {
                curve.far_turns(&mut own);
            }
            if let Some((grid, _)) = take.grid {
                // Keys are of 32 bits; those that mean a time of the grid are that.
                for time in &mut own {
                    let near = grid.time(((*time - grid.start) * grid.fps).round().max(0.0) as usize);
                    if (*time - near).abs() <= 2.0 * SAME_TIME {
                        *time = near;
                    }
                }
            }
            for curve in &curves {
                curve.before_steps(&mut own);
            }
            if let (Some((grid, _)), Some(_)) = (take.grid, take.placed) {
                own.extend([grid.start, grid.time(grid.samples - 1)]);
            }
            times.extend(own.into_iter().map(|time| take.outside(time, self.fps)));
        }
        times.sort_by(f64::total_cmp);
        times.dedup_by(|b, a| *b - *a < SAME_TIME);
        (times, sampled)
    }

    /// Names of the parts of the timeline, if there are several.
    pub fn ranges(&self) -> Vec<NamedRange> {
        let range = |take: &Take| {
            let (grid, _) = take.grid?;
            take.placed?;
            Some(NamedRange {
                name: take.animation.name.clone(),
                start: take.time(&grid, 0, self.fps),
                end: take.time(&grid, grid.samples - 1, self.fps),
            })
        };
        self.list.iter().filter_map(range).collect()
    }
}
