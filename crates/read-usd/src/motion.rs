//! Moves instances between samples by velocities, as USD defines it: from the sample before, by velocities,
//! accelerations and angular velocities with samples at the same times.

use super::attribute::UsdAttribute;
use super::compose::{Prim, Stage};
use super::samples::{Timeline, floats};
use glam::{DQuat, DVec3};
use meshreel_scene::{Channel, Error, Identity, TIME_TOLERANCE};
use xxhash_rust::xxh3::Xxh3;

/// Velocities, in units per second, and accelerations, in units per second squared.
pub struct LinearMotion {
    velocities: Channel<[f32; 3]>,
    accelerations: Option<Channel<[f32; 3]>>,
}

/// Angular velocities: rotation axes whose lengths are degrees per second.
pub struct AngularMotion(Channel<[f32; 3]>);

pub fn to_dvec3(v: &[f32; 3]) -> DVec3 {
    DVec3::from_array(v.map(f64::from))
}

/// Returns the sample before a time, its time, and the time of the next one; the first sample for times
/// before all, the last one for times after all.
fn bracket<T: Clone + Send + Sync + 'static>(channel: &Channel<T>, time: f64) -> (usize, f64, f64) {
    if channel.is_empty() {
        return (0, time, time);
    }
    let (sample, _) = channel.locate(time);
    let start = channel.time(sample);
    let is_outside = time < start - TIME_TOLERANCE || sample + 1 >= channel.len();
    (sample, start, if is_outside { start } else { channel.time(sample + 1) })
}

/// Returns the time of the sample before a time.
pub fn sample_time_before<T: Clone + Send + Sync + 'static>(channel: &Channel<T>, time: f64) -> f64 {
    bracket(channel, time).1
}

/// Returns the sample of `own` before a time, if it and the next one are at the same times as those of
/// `other`.
fn aligned<T, U>(own: &Channel<T>, other: &Channel<U>, time: f64) -> Option<usize>
where
    T: Clone + Send + Sync + 'static,
    U: Clone + Send + Sync + 'static,
{
    let ((sample, start, end), (_, from, to)) = (bracket(own, time), bracket(other, time));
    ((start - from).abs() <= TIME_TOLERANCE && (end - to).abs() <= TIME_TOLERANCE).then_some(sample)
}

/// Returns a channel of time-sampled vectors; `None` for a single value.
fn sampled(
    stage: &Stage,
    prim: &Prim,
    timeline: &mut Timeline,
    name: &str,
) -> Result<Option<Channel<[f32; 3]>>, Error> {
    let own = stage.attribute(prim, name)?.filter(|own| own.times.is_some() && own.values.len() > 0);
    Ok(own.map(|own| timeline.channel(&own, floats::<3>(0.0))))
}

/// Reads vectors; returns `None` if there is not one per instance.
fn read(channel: &Channel<[f32; 3]>, sample: usize, count: usize) -> Result<Option<Vec<DVec3>>, Error> {
    let mut values = Vec::new();
    channel.read(sample, &mut values)?;
    Ok((values.len() == count).then(|| values.iter().map(to_dvec3).collect()))
}

impl LinearMotion {
    /// Reads the velocities; `None` if there are none, or if positions are not time-sampled.
    pub fn read(
        stage: &Stage,
        prim: &Prim,
        timeline: &mut Timeline,
        positions: &UsdAttribute,
    ) -> Result<Option<LinearMotion>, Error> {
        let velocities = match positions.times {
            Some(_) => sampled(stage, prim, timeline, "velocities")?,
            None => None,
        };
        let Some(velocities) = velocities else {
            return Ok(None);
        };
        Ok(Some(LinearMotion { velocities, accelerations: sampled(stage, prim, timeline, "accelerations")? }))
    }

    /// Returns the offset of each instance from its position in the sample before; `None` if the velocities
    /// do not match.
    pub fn offsets(
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

    /// Returns an identity of the offsets at a time. It differs between any two times, since instances move
    /// in between. `None` if the velocities do not match.
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

impl AngularMotion {
    /// Reads the angular velocities; `None` if there are none, or if orientations are not time-sampled.
    pub fn read(
        stage: &Stage,
        prim: &Prim,
        timeline: &mut Timeline,
        orientations: Option<&UsdAttribute>,
    ) -> Result<Option<AngularMotion>, Error> {
        match orientations.and_then(|own| own.times.as_ref()) {
            Some(_) => Ok(sampled(stage, prim, timeline, "angularVelocities")?.map(AngularMotion)),
            None => Ok(None),
        }
    }

    /// Returns the rotation of each instance since the sample of orientations before; `None` if the angular
    /// velocities do not match.
    pub fn rotations(
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

    /// Returns an identity of the rotations at a time, like [`LinearMotion::identity`]; `None` if the angular
    /// velocities do not match.
    pub fn identity(&self, orientations: &Channel<f64>, time: f64) -> Option<Identity> {
        let sample = aligned(&self.0, orientations, time)?;
        let mut hash = Xxh3::new();
        hash.update(&self.0.identity(sample).to_le_bytes());
        hash.update(&time.to_le_bytes());
        Some(hash.digest128())
    }
}
