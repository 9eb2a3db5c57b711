//! The transforms of a point instancer's instances: all matrices at a time, and one instance's over time.

use super::attribute::UsdAttribute;
use super::compose::{Prim, Stage};
use super::motion::{AngularMotion, LinearMotion, sample_time_before, to_dvec3};
use super::samples::{ChangeTimes, Timeline, f64s, floats, i64s, rotations_at, values_at};
use glam::{DMat4, DQuat, DVec3};
use meshreel_scene::{Channel, Error, Identity, Source, TimeSampling};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use xxhash_rust::xxh3::Xxh3;

/// The number of times whose matrices are cached, for all instances.
const MAX_CACHED_TIMES: usize = 8;

/// Identifies an instance across samples.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum InstanceId {
    /// The id in the file, and the number of earlier instances with the same id.
    Given(i64, u32),
    /// The index of an instance without an id.
    Index(u32),
}

/// Returns the ids of `count` instances.
pub fn instance_ids(given: Option<&[i64]>, count: usize) -> Vec<InstanceId> {
    let mut same: HashMap<i64, u32> = HashMap::new();
    let id = |number: usize| match given.and_then(|given| given.get(number)) {
        Some(id) => {
            let before = same.entry(*id).or_default();
            *before += 1;
            InstanceId::Given(*id, *before - 1)
        }
        None => InstanceId::Index(number as u32),
    };
    (0..count).map(id).collect()
}

/// The properties of an instancer that place its instances.
pub struct InstancePlacement {
    pub positions: Channel<[f32; 3]>,
    /// Four numbers per instance.
    orientations: Option<Channel<f64>>,
    scales: Option<Channel<[f32; 3]>>,
    pub ids: Option<Channel<i64>>,
    linear_motion: Option<LinearMotion>,
    angular_motion: Option<AngularMotion>,
}

impl InstancePlacement {
    pub fn read(
        stage: &Stage,
        prim: &Prim,
        timeline: &mut Timeline,
        positions: &UsdAttribute,
    ) -> Result<InstancePlacement, Error> {
        let motion = LinearMotion::read(stage, prim, timeline, positions)?;
        let positions = timeline.channel(positions, floats::<3>(0.0));
        let turns = match stage.attribute(prim, "orientationsf")? {
            Some(turns) => Some(turns),
            None => stage.attribute(prim, "orientations")?,
        };
        let turning = AngularMotion::read(stage, prim, timeline, turns.as_ref())?;
        let orientations = turns.map(|turns| timeline.channel(&turns, f64s()));
        let scales = stage.attribute(prim, "scales")?.map(|own| timeline.channel(&own, floats::<3>(1.0)));
        let ids = stage.attribute(prim, "ids")?.map(|own| timeline.channel(&own, i64s()));
        Ok(InstancePlacement {
            positions,
            orientations,
            scales,
            ids,
            linear_motion: motion,
            angular_motion: turning,
        })
    }

    /// Adds the times at which something changes.
    pub fn add_changes(&self, changes: &mut ChangeTimes) {
        changes.add(&self.positions);
        self.orientations.iter().for_each(|own| changes.add(own));
        self.scales.iter().for_each(|own| changes.add(own));
        self.ids.iter().for_each(|own| changes.add(own));
        if self.linear_motion.is_some() {
            changes.add_samples(&self.positions);
        }
        if let Some((_, turns)) = self.angular_motion.as_ref().zip(self.orientations.as_ref()) {
            changes.add_samples(turns);
        }
    }

    /// `true` if velocities move instances from their samples on.
    pub fn is_moved(&self) -> bool {
        self.linear_motion.is_some() || self.angular_motion.is_some()
    }

    /// Returns those ends of a range of time that velocities reach beyond all samples.
    pub fn drift_times(&self, ends: [f64; 2]) -> Vec<f64> {
        fn outside<T: Clone + Send + Sync + 'static>(channel: &Channel<T>, time: f64) -> bool {
            channel.is_empty() || time < channel.time(0) || time > channel.time(channel.len() - 1)
        }
        let turns = self.angular_motion.as_ref().and(self.orientations.as_ref());
        let drifts = |time: &f64| {
            self.linear_motion.is_some() && outside(&self.positions, *time)
                || turns.is_some_and(|turns| outside(turns, *time))
        };
        let mut times: Vec<f64> = ends.into_iter().filter(drifts).collect();
        times.dedup();
        times
    }

    /// Returns the identity of the list of ids at a time; equal lists have equal identities.
    pub fn ids_identity(&self, time: f64) -> Identity {
        self.ids.as_ref().map_or(0, |own| own.identity(own.locate(time).0))
    }

    fn identity(&self, time: f64) -> Identity {
        fn add<T: Clone + Send + Sync + 'static>(channel: &Channel<T>, time: f64, hash: &mut Xxh3) {
            let (sample, fraction) = channel.locate(time);
            hash.update(&channel.identity(sample).to_le_bytes());
            if fraction > 0.0 && channel.identity(sample) != channel.identity(sample + 1) {
                hash.update(&channel.identity(sample + 1).to_le_bytes());
                hash.update(&fraction.to_le_bytes());
            }
        }
        let mut hash = Xxh3::new();
        add(&self.positions, time, &mut hash);
        self.orientations.iter().for_each(|turns| add(turns, time, &mut hash));
        self.scales.iter().for_each(|scales| add(scales, time, &mut hash));
        hash.update(&self.ids_identity(time).to_le_bytes());
        let moved = self.linear_motion.as_ref().and_then(|own| own.identity(&self.positions, time));
        let turning = self.angular_motion.as_ref().zip(self.orientations.as_ref());
        let turned = turning.and_then(|(own, turns)| own.identity(turns, time));
        for own in [moved, turned].into_iter().flatten() {
            hash.update(&own.to_le_bytes());
        }
        hash.digest128()
    }

    fn matrices(&self, time: f64) -> Result<Vec<DMat4>, Error> {
        let mix = |a: DVec3, b: DVec3, f: f64| a + (b - a) * f;
        let mut positions =
            values_at(&self.positions, sample_time_before(&self.positions, time), to_dvec3, mix)?;
        let count = positions.len();
        let moved = self
            .linear_motion
            .as_ref()
            .map(|own| own.offsets(&self.positions, time, count))
            .transpose()?
            .flatten();
        let turning = self.angular_motion.as_ref().zip(self.orientations.as_ref());
        let turned = turning.map(|(own, turns)| own.rotations(turns, time, count)).transpose()?.flatten();
        // If velocities apply, everything else is taken from the sample before.
        let is_held = moved.is_some() || turned.is_some();
        if !is_held {
            positions = values_at(&self.positions, time, to_dvec3, mix)?;
        }
        let scales = self.scales.as_ref();
        let scales = scales.map(|own| {
            values_at(own, if is_held { sample_time_before(own, time) } else { time }, to_dvec3, mix)
        });
        let scales = scales.transpose()?;
        let turns = self.orientations.as_ref();
        let turns =
            turns.map(|own| rotations_at(own, if is_held { sample_time_before(own, time) } else { time }));
        let mut turns = turns.transpose()?;
        for (position, offset) in positions.iter_mut().zip(moved.iter().flatten()) {
            *position += *offset;
        }
        for (turn, more) in turns.iter_mut().flatten().zip(turned.iter().flatten()) {
            *turn = *more * *turn;
        }
        let matrix = |(i, position): (usize, &DVec3)| {
            let scale = scales.as_ref().and_then(|scales| scales.get(i).copied()).unwrap_or(DVec3::ONE);
            let turn = turns.as_ref().and_then(|turns| turns.get(i).copied()).unwrap_or(DQuat::IDENTITY);
            DMat4::from_scale_rotation_translation(scale, turn, *position)
        };
        Ok(positions.iter().enumerate().map(matrix).collect())
    }

    fn index_by_id(&self, time: f64, count: usize) -> Result<Option<HashMap<InstanceId, usize>>, Error> {
        let Some(ids) = &self.ids else {
            return Ok(None);
        };
        let mut given = Vec::new();
        ids.read(ids.locate(time).0, &mut given)?;
        Ok(Some(instance_ids(Some(&given), count).into_iter().zip(0..).collect()))
    }
}

/// All instances at a time.
struct InstanceMatrices {
    matrices: Vec<DMat4>,
    /// The index of each id; `None` if instances are identified by index.
    index_by_id: Option<Arc<HashMap<InstanceId, usize>>>,
    ids: Identity,
}

impl InstanceMatrices {
    fn matrix(&self, id: InstanceId) -> Option<DMat4> {
        let number = match (&self.index_by_id, id) {
            (Some(numbers), id) => *numbers.get(&id)?,
            (None, InstanceId::Index(number)) => number as usize,
            (None, InstanceId::Given(..)) => return None,
        };
        self.matrices.get(number).copied()
    }
}

/// The transforms of all instances of an instancer.
pub struct InstanceTransforms {
    placement: InstancePlacement,
    pub sampling: Arc<TimeSampling>,
    /// For each sample, an identity of everything its matrices depend on.
    identities: Vec<Identity>,
    /// For each sample, whether the next one has the same instances.
    is_steady: Vec<bool>,
    cache: Mutex<Vec<(u64, Arc<InstanceMatrices>)>>,
}

impl InstanceTransforms {
    /// Takes the placement; `steady` has one entry per sample.
    pub fn new(
        places: InstancePlacement,
        sampling: Arc<TimeSampling>,
        steady: Vec<bool>,
    ) -> InstanceTransforms {
        let identities = (0..steady.len()).map(|i| places.identity(sampling.time(i))).collect();
        InstanceTransforms {
            placement: places,
            sampling,
            identities,
            is_steady: steady,
            cache: Mutex::default(),
        }
    }

    pub fn samples(&self) -> usize {
        self.is_steady.len()
    }

    fn matrices_at(&self, time: f64) -> Result<Arc<InstanceMatrices>, Error> {
        let (bits, ids) = (time.to_bits(), self.placement.ids_identity(time));
        let mut known = None;
        if let Ok(kept) = self.cache.lock() {
            if let Some((_, moment)) = kept.iter().find(|(own, _)| *own == bits) {
                return Ok(moment.clone());
            }
            known = kept.iter().map(|(_, moment)| moment).find(|own| own.ids == ids).cloned();
        }
        let matrices = self.placement.matrices(time)?;
        let same = known.filter(|known| known.matrices.len() == matrices.len());
        let numbers = match same {
            Some(same) => same.index_by_id.clone(),
            None => self.placement.index_by_id(time, matrices.len())?.map(Arc::new),
        };
        let moment = Arc::new(InstanceMatrices { matrices, index_by_id: numbers, ids });
        if let Ok(mut kept) = self.cache.lock() {
            if kept.len() >= MAX_CACHED_TIMES {
                kept.remove(0);
            }
            kept.push((bits, moment.clone()));
        }
        Ok(moment)
    }
}

/// Consecutive samples in which an instance exists.
#[derive(Clone, Copy)]
pub struct InstanceSpan {
    pub first: usize,
    pub end: usize,
    pub shown: bool,
}

/// The transform of one instance, from its first sample to the one after its last.
pub struct InstanceTransform {
    pub transforms: Arc<InstanceTransforms>,
    pub id: InstanceId,
    /// Ascending, at least one.
    pub spans: Vec<InstanceSpan>,
}

impl InstanceTransform {
    pub fn channel(self) -> Channel<DMat4> {
        let (first, len) = (self.spans[0].first, self.len());
        let sampling = match &*self.transforms.sampling {
            _ if first == 0 && len == self.transforms.samples() => self.transforms.sampling.clone(),
            TimeSampling::Uniform { start, step } => {
                let start = start + first as f64 * step;
                Arc::new(TimeSampling::Uniform { start, step: *step })
            }
            whole => {
                let times = (first..first + len).map(|i| whole.time(i)).collect();
                Arc::new(TimeSampling::Acyclic { times })
            }
        };
        Channel::new(sampling, Arc::new(self))
    }

    /// Returns the last sample, up to `sample`, in which the instance exists.
    fn last_existing(&self, sample: usize) -> usize {
        let next = self.spans.partition_point(|span| span.first <= sample);
        let span = self.spans[next.saturating_sub(1)];
        sample.clamp(span.first, span.end - 1)
    }
}

impl Source<DMat4> for InstanceTransform {
    fn len(&self) -> usize {
        let last = self.spans[self.spans.len() - 1].end.min(self.transforms.samples() - 1);
        last + 1 - self.spans[0].first
    }

    fn identity(&self, i: usize) -> Identity {
        let sample = self.spans[0].first + i;
        let there = self.last_existing(sample);
        let own = self.transforms.identities[sample];
        if there == sample {
            return own;
        }
        let mut hash = Xxh3::new();
        hash.update(&own.to_le_bytes());
        hash.update(&self.transforms.identities[there].to_le_bytes());
        hash.digest128()
    }

    fn read(&self, i: usize, out: &mut Vec<DMat4>) -> Result<(), Error> {
        out.clear();
        let sample = self.spans[0].first + i;
        let at = |sample: usize| self.transforms.matrices_at(self.transforms.sampling.time(sample));
        // An instance that no longer exists stays at its last transform.
        let own = match at(sample)?.matrix(self.id) {
            Some(own) => own,
            None => at(self.last_existing(sample))?.matrix(self.id).unwrap_or(DMat4::IDENTITY),
        };
        out.push(own);
        Ok(())
    }

    fn read_between(&self, time: f64, out: &mut Vec<DMat4>) -> Result<bool, Error> {
        let times = &self.transforms.sampling;
        let (mut low, mut high) = (0, self.transforms.samples());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if times.time(middle) <= time { low = middle } else { high = middle }
        }
        let own = if self.transforms.is_steady[low] {
            self.transforms.matrices_at(time)?.matrix(self.id)
        } else {
            None
        };
        out.clear();
        out.extend(own);
        Ok(own.is_some())
    }
}
