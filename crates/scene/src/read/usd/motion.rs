//! Instances between samples as velocities have it: from the sample before, by velocities, accelerations and angular
//! velocities that have samples at the same times.

use super::attribute::Attribute;
use super::compose::{Prim, Stage};
use super::samples::{Timeline, floats};
use crate::{Channel, Error, Identity, SAME_TIME};
use glam::{DQuat, DVec3};
use xxhash_rust::xxh3::Xxh3;

/// Velocities, in units a second, and how these change, in units a second a second.
pub struct Motion {
    velocities: Channel<[f32; 3]>,
    accelerations: Option<Channel<[f32; 3]>>,
}

/// Angular velocities: axes, as long as there are degrees a second.
pub struct Turning(Channel<[f32; 3]>);

pub fn wide(v: &[f32; 3]) -> DVec3 {
    DVec3::from_array(v.map(f64::from))
}

/// The sample before a time, its time and that of the next one: the first one before all, the last one behind all.
fn bracket<T: Clone + Send + Sync + 'static>(channel: &Channel<T>, time: f64) -> (usize, f64, f64) {
    if channel.is_empty() {
        return (0, time, time);
    }
    let (sample, _) = channel.locate(time);
    let start = channel.time(sample);
    let is_outside = time < start - SAME_TIME || sample + 1 >= channel.len();
    (sample, start, if is_outside { start } else { channel.time(sample + 1) })
}

/// The time of the sample before a time.
pub fn lower<T: Clone + Send + Sync + 'static>(channel: &Channel<T>, time: f64) -> f64 {
    bracket(channel, time).1
}

/// The sample of `own` before a time, where it and the next one are at the same times as those of `other`.
fn aligned<T, U>(own: &Channel<T>, other: &Channel<U>, time: f64) -> Option<usize>
where
    T: Clone + Send + Sync + 'static,
    U: Clone + Send + Sync + 'static,
{
    let ((sample, start, end), (_, from, to)) = (bracket(own, time), bracket(other, time));
    ((start - from).abs() <= SAME_TIME && (end - to).abs() <= SAME_TIME).then_some(sample)
}

/// Vectors that have samples; none where there is one value alone.
fn sampled(
    stage: &Stage,
    prim: &Prim,
    timeline: &mut Timeline,
    name: &str,
) -> Result<Option<Channel<[f32; 3]>>, Error> {
    let own = stage.attribute(prim, name)?.filter(|own| own.times.is_some() && own.values.len() > 0);
    Ok(own.map(|own| timeline.channel(&own, floats::<3>(0.0))))
}

/// As many vectors as there are instances; none where there are others.
fn read(channel: &Channel<[f32; 3]>, sample: usize, count: usize) -> Result<Option<Vec<DVec3>>, Error> {
    let mut values = Vec::new();
    channel.read(sample, &mut values)?;
    Ok((values.len() == count).then(|| values.iter().map(wide).collect()))
}

impl Motion {
    /// None where there are no velocities, or positions that have no samples.
    pub fn read(
        stage: &Stage,
        prim: &Prim,
        timeline: &mut Timeline,
        positions: &Attribute,
    ) -> Result<Option<Motion>, Error> {
        let velocities = match positions.times {
            Some(_) => sampled(stage, prim, timeline, "velocities")?,
            None => None,
        };
        let Some(velocities) = velocities else {
            return Ok(None);
        };
        Ok(Some(Motion { velocities, accelerations: sampled(stage, prim, timeline, "accelerations")? }))
    }

    /// How far each instance is from where the sample of positions before has it; none where velocities do not fit.
    pub fn at(
        &self,
        positions: &Channel<[f32; 3]>,
        time: f64,
        count: usize,
    ) -> Result<Option<Vec<DVec3>>, Error> {
        let Some(sample) = aligned(&self.velocities, positions, time) else {
            return Ok(None);
        };
        let Some(mut velocities) = read(&self.velocities, sample, count)? else {
            return Ok(None);
        };
        let since = time - self.velocities.time(sample);
        if let Some(own) = &self.accelerations
            && let Some(sample) = aligned(own, &self.velocities, time)
            && let Some(more) = read(own, sample, count)?
        {
            velocities.iter_mut().zip(more).for_each(|(own, more)| *own += more * (since / 2.0));
        }
        velocities.iter_mut().for_each(|own| *own *= since);
        Ok(Some(velocities))
    }

    /// What the offsets at a time follow from, no two times being the same: between them something goes on. None where velocities do not fit.
    pub fn identity(&self, positions: &Channel<[f32; 3]>, time: f64) -> Option<Identity> {
        let sample = aligned(&self.velocities, positions, time)?;
        let mut hash = Xxh3::new();
        hash.update(&self.velocities.identity(sample).to_le_bytes());
        hash.update(&time.to_le_bytes());
        if let Some(own) = &self.accelerations
            && let Some(sample) = aligned(own, &self.velocities, time)
        {
            hash.update(&own.identity(sample).to_le_bytes());
        }
        Some(hash.digest128())
    }
}

impl Turning {
    /// None where there are no angular velocities, or orientations that have no samples.
    pub fn read(
        stage: &Stage,
        prim: &Prim,
        timeline: &mut Timeline,
        orientations: Option<&Attribute>,
    ) -> Result<Option<Turning>, Error> {
        match orientations.and_then(|own| own.times.as_ref()) {
            Some(_) => Ok(sampled(stage, prim, timeline, "angularVelocities")?.map(Turning)),
            None => Ok(None),
        }
    }

    /// How each instance has turned since the sample of orientations before; none where angular velocities do not fit.
    pub fn at(
        &self,
        orientations: &Channel<f64>,
        time: f64,
        count: usize,
    ) -> Result<Option<Vec<DQuat>>, Error> {
        let Some(sample) = aligned(&self.0, orientations, time) else {
            return Ok(None);
        };
        let since = time - self.0.time(sample);
        let turn = |own: DVec3| {
            let axis = own.try_normalize();
            let angle = (own.length() * since).to_radians();
            axis.map_or(DQuat::IDENTITY, |axis| DQuat::from_axis_angle(axis, angle))
        };
        Ok(read(&self.0, sample, count)?.map(|own| own.into_iter().map(turn).collect()))
    }

    /// What the turns at a time follow from, as of [`Motion::identity`]; none where angular velocities do not fit.
    pub fn identity(&self, orientations: &Channel<f64>, time: f64) -> Option<Identity> {
        let sample = aligned(&self.0, orientations, time)?;
        let mut hash = Xxh3::new();
        hash.update(&self.0.identity(sample).to_le_bytes());
        hash.update(&time.to_le_bytes());
        Some(hash.digest128())
    }
}
