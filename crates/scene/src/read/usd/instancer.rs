//! Point instancers: prototypes that are shown many times, each at a point of its own.

use super::compose::{Prim, Stage};
use super::samples::{Timeline, f64s, floats, i32s, i64s, lengths};
use super::turn::turn_between;
use crate::{Channel, Error, Identity, Source, TimeSampling, Transform};
use glam::{DMat4, DQuat, DVec3};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

/// Most instances of one instancer.
const MAX_INSTANCES: usize = 1 << 20;
/// Samples whose matrices are kept, for all instances that are asked for them.
const KEPT: usize = 8;

/// Where all instances of an instancer are.
pub struct Instances {
    positions: Channel<[f32; 3]>,
    /// Four numbers each.
    orientations: Option<Channel<f64>>,
    scales: Option<Channel<[f32; 3]>>,
    sampling: Arc<TimeSampling>,
    count: usize,
    kept: Mutex<Vec<(usize, Arc<Vec<DMat4>>)>>,
}

/// One instancer.
pub struct Instancer {
    /// Path of each prototype.
    pub prototypes: Vec<Arc<str>>,
    /// Prototype of each instance; none where it is not shown.
    pub shown: Vec<Option<usize>>,
    places: Arc<Instances>,
}

impl Instancer {
    /// Reads an instancer; none, with a remark, where it is not complete.
    pub fn read(stage: &mut Stage, prim: &Prim, timeline: &mut Timeline) -> Result<Option<Instancer>, Error> {
        let prototypes = stage.targets(prim, "prototypes")?;
        let indices = stage.attribute(prim, "protoIndices")?;
        let positions = stage.attribute(prim, "positions")?;
        let (Some(indices), Some(positions)) = (indices, positions) else {
            stage.remark(&prim.path, "is an instancer without points; left out");
            return Ok(None);
        };
        let kinds = timeline.channel(&indices, i32s());
        if !kinds.is_constant() || lengths(Some(&positions))?.vary {
            let what = "its instances change in number or kind; those of the first sample are kept";
            stage.remark(&prim.path, what);
        }
        let mut list = Vec::new();
        kinds.read(0, &mut list)?;
        if list.len() > MAX_INSTANCES {
            let (asked, allowed) = (list.len() as u64, MAX_INSTANCES as u64);
            return Err(Error::limit(
                &stage.root().root().name,
                "instances of an instancer; export it in parts",
                asked,
                allowed,
            ));
        }
        let hidden = hidden(stage, prim, timeline, list.len())?;
        let known = |kind: &i32| usize::try_from(*kind).ok().filter(|kind| *kind < prototypes.len());
        if list.iter().any(|kind| known(kind).is_none()) {
            stage.remark(&prim.path, "has instances of prototypes that are not there; left out");
        }
        let shown = list.iter().zip(hidden).map(|(kind, hidden)| known(kind).filter(|_| !hidden)).collect();
        let places = Arc::new(Instances::read(stage, prim, timeline, &positions)?);
        Ok(Some(Instancer { prototypes, shown, places }))
    }

    /// The transform of an instance.
    pub fn transform(&self, instance: usize) -> Transform {
        let one = OneOf { places: self.places.clone(), instance };
        Transform { matrix: Channel::new(self.places.sampling.clone(), Arc::new(one)), inherits: None }
    }
}

/// Which instances are invisible, by their ids.
fn hidden(stage: &mut Stage, prim: &Prim, timeline: &mut Timeline, count: usize) -> Result<Vec<bool>, Error> {
    let mut ids = Vec::new();
    if let Some(own) = stage.attribute(prim, "ids")? {
        timeline.channel(&own, i64s()).read(0, &mut ids)?;
    }
    let mut invisible = Vec::new();
    if let Some(own) = stage.attribute(prim, "invisibleIds")? {
        let own = timeline.channel(&own, i64s());
        if !own.is_constant() {
            stage
                .remark(&prim.path, "which of its instances are invisible changes; the first sample is kept");
        }
        own.read(0, &mut invisible)?;
    }
    if stage.field(prim, "inactiveIds")?.is_some() {
        stage.remark(&prim.path, "has instances that are not active; they are shown");
    }
    let invisible: HashSet<i64> = invisible.into_iter().collect();
    let id = |instance: usize| ids.get(instance).copied().unwrap_or(instance as i64);
    Ok((0..count).map(|instance| invisible.contains(&id(instance))).collect())
}

impl Instances {
    fn read(
        stage: &Stage,
        prim: &Prim,
        timeline: &mut Timeline,
        positions: &super::attribute::Attribute,
    ) -> Result<Instances, Error> {
        let positions = timeline.channel(positions, floats::<3>(0.0));
        let turns = match stage.attribute(prim, "orientationsf")? {
            Some(turns) => Some(turns),
            None => stage.attribute(prim, "orientations")?,
        };
        let orientations = turns.map(|turns| timeline.channel(&turns, f64s()));
        let scales =
            stage.attribute(prim, "scales")?.map(|scales| timeline.channel(&scales, floats::<3>(1.0)));
        let mut longest = (positions.len(), positions.sampling().clone());
        for (count, sampling) in [
            orientations.as_ref().map(|c| (c.len(), c.sampling())),
            scales.as_ref().map(|c| (c.len(), c.sampling())),
        ]
        .into_iter()
        .flatten()
        {
            if count > longest.0 {
                longest = (count, sampling.clone());
            }
        }
        let (count, sampling) = longest;
        Ok(Instances { positions, orientations, scales, sampling, count, kept: Mutex::default() })
    }

    /// The matrices of all instances at a sample.
    fn matrices(&self, sample: usize) -> Result<Arc<Vec<DMat4>>, Error> {
        let known = |kept: &Vec<(usize, Arc<Vec<DMat4>>)>| {
            kept.iter().find(|(own, _)| *own == sample).map(|(_, matrices)| matrices.clone())
        };
        if let Some(matrices) = self.kept.lock().ok().and_then(|kept| known(&kept)) {
            return Ok(matrices);
        }
        let time = self.sampling.time(sample);
        let mix = |a: DVec3, b: DVec3, f: f64| a + (b - a) * f;
        let wide = |v: [f32; 3]| DVec3::from_array(v.map(f64::from));
        let positions = at(&self.positions, time, |v| wide(*v), mix)?;
        let scales = self.scales.as_ref().map(|scales| at(scales, time, |v| wide(*v), mix)).transpose()?;
        let turns = self.orientations.as_ref().map(|turns| turns_at(turns, time)).transpose()?;
        let matrix = |(i, position): (usize, &DVec3)| {
            let scale = scales.as_ref().and_then(|scales| scales.get(i).copied()).unwrap_or(DVec3::ONE);
            let turn = turns.as_ref().and_then(|turns| turns.get(i).copied()).unwrap_or(DQuat::IDENTITY);
            DMat4::from_scale_rotation_translation(scale, turn, *position)
        };
        let matrices = Arc::new(positions.iter().enumerate().map(matrix).collect::<Vec<_>>());
        if let Ok(mut kept) = self.kept.lock() {
            if kept.len() >= KEPT {
                kept.remove(0);
            }
            kept.push((sample, matrices.clone()));
        }
        Ok(matrices)
    }
}

/// Values at a time, linear between samples of equal length.
pub fn at<T: Clone + Send + Sync + 'static, V: Copy>(
    channel: &Channel<T>,
    time: f64,
    value: impl Fn(&T) -> V,
    mix: impl Fn(V, V, f64) -> V,
) -> Result<Vec<V>, Error> {
    let (sample, fraction) = channel.locate(time);
    let mut values = Vec::new();
    channel.read(sample, &mut values)?;
    let mut out: Vec<V> = values.iter().map(&value).collect();
    if fraction > 0.0 {
        channel.read(sample + 1, &mut values)?;
        if values.len() == out.len() {
            out.iter_mut().zip(&values).for_each(|(own, next)| *own = mix(*own, value(next), fraction));
        }
    }
    Ok(out)
}

/// Rotations at a time, the short way round between samples.
pub fn turns_at(channel: &Channel<f64>, time: f64) -> Result<Vec<DQuat>, Error> {
    let (sample, fraction) = channel.locate(time);
    let read = |sample: usize| -> Result<Vec<DQuat>, Error> {
        let mut numbers = Vec::new();
        channel.read(sample, &mut numbers)?;
        Ok(numbers.as_chunks::<4>().0.iter().map(|q| DQuat::from_array(*q)).collect())
    };
    let mut out = read(sample)?;
    if fraction > 0.0 {
        let next = read(sample + 1)?;
        if next.len() == out.len() {
            out.iter_mut().zip(next).for_each(|(own, next)| *own = turn_between(*own, next, fraction));
        }
    }
    Ok(out)
}

/// The transform of one instance.
struct OneOf {
    places: Arc<Instances>,
    instance: usize,
}

impl Source<DMat4> for OneOf {
    fn len(&self) -> usize {
        self.places.count
    }

    fn identity(&self, i: usize) -> Identity {
        let time = self.places.sampling.time(i);
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        fn add<T: Clone + Send + Sync + 'static>(
            channel: &Channel<T>,
            time: f64,
            hash: &mut xxhash_rust::xxh3::Xxh3,
        ) {
            let (sample, fraction) = channel.locate(time);
            hash.update(&channel.identity(sample).to_le_bytes());
            if fraction > 0.0 && channel.identity(sample) != channel.identity(sample + 1) {
                hash.update(&channel.identity(sample + 1).to_le_bytes());
                hash.update(&fraction.to_le_bytes());
            }
        }
        add(&self.places.positions, time, &mut hash);
        self.places.orientations.iter().for_each(|turns| add(turns, time, &mut hash));
        self.places.scales.iter().for_each(|scales| add(scales, time, &mut hash));
        hash.digest128()
    }

    fn read(&self, i: usize, out: &mut Vec<DMat4>) -> Result<(), Error> {
        out.clear();
        // An instance that is gone stays where it cannot be seen.
        let matrices = self.places.matrices(i)?;
        out.push(matrices.get(self.instance).copied().unwrap_or(DMat4::from_scale(DVec3::ZERO)));
        Ok(())
    }
}
