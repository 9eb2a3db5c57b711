//! Value clips: samples of attributes in layers of their own, of which one after the other is active.
//!
//! A value at a time is that of the clip that is active, at the time that `times` makes of it; what a clip does not
//! have is the default of the manifest, or nothing. Between the last sample of a clip and the start of the next one
//! values go over, as between samples. Layers are opened when they are needed, and only some are open at once.

use super::bytes::Bytes;
use super::layer::{Layer, LayerSamples, usable};
use super::specs::{SpecId, ValueRef};
use super::turn::turn_between;
use super::value::{Numbers, Scalar, Value};
use crate::read::positioned::PositionedFile;
use crate::{Error, Identity, Remark};
use glam::DQuat;
use meshreel_files::Folder;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Most layers of clips that are open at once, of a scene.
const MAX_OPEN: usize = 16;
/// Most samples of all attributes of a set of clips, and most that its times make of one attribute.
const MAX_SAMPLES: usize = 1 << 26;
const MAX_KNOTS: usize = 1 << 22;
/// The same of all attributes of a scene.
const MAX_ALL: usize = 1 << 25;
/// Most bytes of paths of attributes, and prims below each other.
const MAX_PATH_BYTES: usize = 1 << 28;
const MAX_DEPTH: usize = 512;
/// By what part times of a clip may be off a sample and still be meant so: what rounding leaves.
const ROUNDING: f64 = 1e-9;

/// Where a layer of a clip is.
pub struct ClipFile {
    /// As messages name it.
    pub name: PathBuf,
    pub place: ClipPlace,
}

/// A file is opened when it is needed; of a package, the bytes of the entry are known.
pub enum ClipPlace {
    File(Folder, Arc<str>),
    Entry(Bytes),
}

/// The layers of clips that are open, the last ones that were asked for.
#[derive(Default)]
pub struct Pool {
    open: Mutex<Vec<(PathBuf, Arc<Layer>)>>,
    /// Samples of all attributes so far.
    samples: AtomicUsize,
    /// On files that are no sound layers.
    pub remarks: Mutex<Vec<Remark>>,
}

impl Pool {
    fn layer(&self, file: &ClipFile) -> Result<Arc<Layer>, Error> {
        // Held while a layer is opened: so there are never more.
        let mut open = self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(at) = open.iter().position(|(name, _)| *name == file.name) {
            let own = open.remove(at);
            let layer = own.1.clone();
            open.push(own);
            return Ok(layer);
        }
        let bytes = match &file.place {
            ClipPlace::Entry(bytes) => bytes.clone(),
            ClipPlace::File(folder, name) => Bytes::of_file(Arc::new(PositionedFile::named(folder, name)?)),
        };
        let layer = Arc::new(Layer::open(bytes)?);
        if open.len() >= MAX_OPEN {
            open.remove(0);
        }
        open.push((file.name.clone(), layer.clone()));
        Ok(layer)
    }
}

/// The files of a set of clips; none where they are not there.
pub struct Files {
    pub list: Vec<Option<ClipFile>>,
    pub pool: Arc<Pool>,
}

impl Files {
    fn layer(&self, file: usize) -> Result<Option<Arc<Layer>>, Error> {
        let file = self.list.get(file).and_then(Option::as_ref);
        file.map(|file| self.pool.layer(file)).transpose()
    }

    /// Keeps a remark on a file that is there and no sound layer.
    fn damaged(&self, file: usize, at: &str, what: &str) {
        let name = self.list.get(file).and_then(Option::as_ref).map(|file| file.name.display().to_string());
        let name = name.unwrap_or_default();
        let remark = Remark::new(at, format!("its value clip '{name}' {what}; it has no values then"));
        self.pool.remarks.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(remark);
    }
}

/// A set of clips, which has values for a prim and all below.
pub struct ClipSet {
    /// Number of the set, which no other has.
    pub id: usize,
    /// Number of the layer in its stack, which is stronger.
    pub layer: usize,
    /// The prim of the scene that says it.
    pub at: Arc<str>,
    /// Path in the stack where it was said, and the one that stands for it in the clips.
    pub source: Arc<str>,
    pub prim: Arc<str>,
    pub files: Arc<Files>,
    /// When which file begins to be active, in time codes of the scene; ascending.
    pub active: Vec<(f64, usize)>,
    /// Times of the scene and of the clips; ascending. None: the same.
    pub times: Vec<(f64, f64)>,
    /// Time codes before a jump of these times at which what was before still holds.
    pub step: f64,
    /// What has attributes and defaults of them; without it, what any clip has samples of.
    pub manifest: Option<Arc<Layer>>,
    /// Whether values go over from clip to clip where some in between have none.
    pub interpolates: bool,
    pub index: Mutex<Option<Arc<Index>>>,
}

/// Where a sample is, how many elements it has, and what stands for its content.
#[derive(Clone, Copy)]
struct Entry {
    value: ValueRef,
    length: usize,
    hash: u64,
}

/// Samples of an attribute in one file.
struct InFile {
    file: usize,
    times: Arc<[f64]>,
    entries: Vec<Entry>,
}

/// Samples of an attribute.
struct Indexed {
    type_name: Option<Arc<str>>,
    files: Vec<InFile>,
}

/// All samples of all attributes, by path and name below the clips' prim.
#[derive(Default)]
pub struct Index {
    attributes: HashMap<Arc<str>, Indexed>,
    samples: usize,
    path_bytes: usize,
}

/// One value over time.
enum Knot {
    /// Between two samples of a file.
    Clip {
        file: usize,
        from: Entry,
        to: Entry,
        fraction: f64,
    },
    /// Of the manifest.
    Default,
    Nothing,
}

/// The values of an attribute of which clips have samples.
pub struct ClipSamples {
    files: Arc<Files>,
    fallback: Option<(Arc<Layer>, ValueRef)>,
    knots: Vec<Knot>,
    /// Quaternions, which turn.
    turns: bool,
}

impl ClipSet {
    /// The values of an attribute of a prim of the stack; none where the clips have nothing to do with it.
    /// The name of its type comes with them.
    pub fn samples(&self, path: &str, name: &str) -> Result<Option<Found>, Error> {
        let key = format!("{}.{name}", path.get(self.source.len()..).unwrap_or_default());
        let (type_name, fallback) = match &self.manifest {
            None => (None, None),
            Some(manifest) => match declared(manifest, &self.prim, &key)? {
                Some(declared) => declared,
                None => return Ok(None),
            },
        };
        let index = self.index()?;
        let own = index.attributes.get(&*key);
        if own.is_none() && self.manifest.is_none() {
            return Ok(None);
        }
        let type_name = type_name.or_else(|| own.and_then(|own| own.type_name.clone()));
        let own = own.map_or(&[][..], |own| &own.files);
        let mut knots: Vec<(f64, bool, Knot)> = Vec::new();
        for (n, (start, file)) in self.active.iter().enumerate() {
            let from = if n == 0 { f64::NEG_INFINITY } else { *start };
            let to = self.active.get(n + 1).map_or(f64::INFINITY, |(next, _)| *next);
            let own = own.iter().find(|own| own.file == *file && !own.entries.is_empty());
            if own.is_some() || fallback.is_some() || !self.interpolates {
                self.knots(own, fallback.is_some(), (from, to), &mut knots);
            }
            self.limit(knots.len(), MAX_KNOTS)?;
        }
        let all = self.files.pool.samples.fetch_add(knots.len(), Ordering::Relaxed);
        self.limit(all, MAX_ALL)?;
        if knots.is_empty() {
            knots.extend(self.active.first().map(|(start, _)| (*start, false, Knot::Nothing)));
        }
        trim(&mut knots);
        let times = knots.iter().map(|(time, ..)| *time).collect();
        let knots = knots.into_iter().map(|(_, _, knot)| knot).collect();
        let turns = type_name.as_ref().is_some_and(|name: &Arc<str>| name.starts_with("quat"));
        let files = self.files.clone();
        Ok(Some((type_name, times, ClipSamples { files, fallback, knots, turns })))
    }

    fn limit(&self, asked: usize, allowed: usize) -> Result<(), Error> {
        let what = "samples of attributes by value clips; export it in parts";
        match asked > allowed {
            true => Err(Error::limit(Path::new(&*self.prim), what, asked as u64, allowed as u64)),
            false => Ok(()),
        }
    }

    /// The values of one file while it is active; without any, those of the manifest.
    fn knots(
        &self,
        own: Option<&InFile>,
        has_default: bool,
        (from, to): (f64, f64),
        knots: &mut Vec<(f64, bool, Knot)>,
    ) {
        let samples = own.map_or(&[][..], |own| &own.times);
        let is_in = |time: f64| time >= from && time < to;
        // Times of the scene and of the clip, and whether there is a sample.
        let mut times: Vec<(f64, f64, bool)> = Vec::new();
        let mut add = |time: f64, own: f64, sampled: bool| {
            if is_in(time) {
                times.push((time, own, sampled));
            }
            times.len() <= MAX_KNOTS
        };
        if self.times.is_empty() {
            samples.iter().all(|time| add(*time, *time, true));
        }
        let first = self.times.partition_point(|(time, _)| *time < from).saturating_sub(1);
        for (i, (start, low)) in self.times.iter().copied().enumerate().skip(first) {
            if start >= to || !add(start, low, false) {
                break;
            }
            let Some((end, high)) = self.times.get(i + 1).copied().filter(|(end, _)| *end > start) else {
                continue;
            };
            if low != high {
                let begin = samples.partition_point(|time| *time < low.min(high));
                let inner = samples[begin..].iter().take_while(|time| **time <= low.max(high));
                let outer = inner.map(|time| (start + (time - low) * ((end - start) / (high - low)), *time));
                outer.filter(|(time, _)| *time < end).all(|(time, own)| add(time, own, true));
            }
            if self.times.get(i + 2).is_some_and(|(next, _)| *next == end) {
                let before = (end - self.step).max(start);
                add(before, low + (before - start) * ((high - low) / (end - start)), false);
            }
        }
        if from.is_finite() {
            add(from, self.in_clip(from), false);
        } else if times.is_empty() {
            let start = self.active[0].0;
            times.push((start, self.in_clip(start), false));
        }
        times.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.2.cmp(&a.2)));
        times.dedup_by(|b, a| b.0 - a.0 <= ROUNDING * a.0.abs().max(1.0));
        let value = |inner: f64| match own {
            Some(own) => own.at(inner),
            None if has_default => Knot::Default,
            None => Knot::Nothing,
        };
        knots.extend(times.into_iter().map(|(time, inner, sampled)| (time, sampled, value(inner))));
    }

    /// A time of the scene as one of the clips.
    fn in_clip(&self, time: f64) -> f64 {
        let (Some(first), Some(last)) = (self.times.first(), self.times.last()) else {
            return time;
        };
        let after = self.times.partition_point(|(own, _)| *own <= time);
        if after == 0 {
            return first.1;
        }
        let (start, low) = self.times[after - 1];
        match self.times.get(after) {
            Some((end, high)) if start != time => low + (time - start) * ((high - low) / (end - start)),
            Some(_) => low,
            None => last.1,
        }
    }

    /// Where everything is; each file is opened once for that.
    fn index(&self) -> Result<Arc<Index>, Error> {
        let mut known = self.index.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(index) = &*known {
            return Ok(index.clone());
        }
        let mut index = Index::default();
        for file in 0..self.files.list.len() {
            let layer = self.files.layer(file);
            let added = layer.and_then(|layer| match layer {
                Some(layer) => index.add(file, &layer, &self.prim),
                None => Ok(()),
            });
            if let Err(what) = usable(added.map(Some))? {
                self.files.damaged(file, &self.at, &what);
            }
        }
        let index = Arc::new(index);
        *known = Some(index.clone());
        Ok(index)
    }
}

/// Name of the type, times, values.
pub type Found = (Option<Arc<str>>, Arc<[f64]>, ClipSamples);

/// Leaves out what stands at both ends, where there are no samples, and says nothing new.
fn trim(knots: &mut Vec<(f64, bool, Knot)>) {
    let same = |a: &(f64, bool, Knot), b: &(f64, bool, Knot)| !a.1 && a.2.identity() == b.2.identity();
    while knots.len() > 1 && same(&knots[knots.len() - 1], &knots[knots.len() - 2]) {
        knots.pop();
    }
    let first = knots.windows(2).position(|pair| !same(&pair[0], &pair[1]));
    knots.drain(..first.unwrap_or(0));
}

/// Type and default of an attribute that a manifest has, if that may change.
type Declared = (Option<Arc<str>>, Option<(Arc<Layer>, ValueRef)>);

fn declared(manifest: &Arc<Layer>, prim: &str, key: &str) -> Result<Option<Declared>, Error> {
    let (path, name) = key.split_once('.').unwrap_or(("", key));
    let specs = &manifest.specs;
    let Some(own) = specs.at(&format!("{prim}{path}")).and_then(|prim| specs.property(prim, name)) else {
        return Ok(None);
    };
    if is_uniform(manifest, own.fields)? {
        return Ok(None);
    }
    let type_name = specs.field(own.fields, "typeName").map(|value| manifest.small(value)).transpose()?;
    let fallback = specs.field(own.fields, "default").filter(|value| !manifest.is_block(*value));
    let type_name = type_name.and_then(|value| value.text().cloned()).map(super::value::type_name);
    Ok(Some((type_name, fallback.map(|value| (manifest.clone(), value)))))
}

/// Whether an attribute does not change over time.
fn is_uniform(layer: &Layer, fields: u32) -> Result<bool, Error> {
    let value = layer.specs.field(fields, "variability").map(|value| layer.small(value)).transpose()?;
    Ok(value.and_then(|value| value.number()).is_some_and(|number| number != 0.0))
}

impl Index {
    /// Takes the samples of all attributes of a prim and all below.
    fn add(&mut self, file: usize, layer: &Layer, prim: &str) -> Result<(), Error> {
        let mut open: Vec<(SpecId, String, usize)> = Vec::new();
        open.extend(layer.specs.at(prim).map(|id| (id, String::new(), 0)));
        while let Some((id, path, depth)) = open.pop() {
            let prim = layer.specs.prim(id);
            for property in &prim.properties {
                let property = &layer.specs.properties[*property as usize];
                let samples = layer.specs.field(property.fields, "timeSamples");
                let samples = samples.map(|value| layer.samples(value)).transpose()?.flatten();
                let Some(samples) = samples.filter(|samples| !samples.values.is_empty()) else {
                    continue;
                };
                if !is_uniform(layer, property.fields)? {
                    let key = format!("{path}.{}", property.name);
                    let type_name = layer.specs.field(property.fields, "typeName");
                    let type_name = type_name.map(|value| layer.small(value)).transpose()?;
                    let type_name =
                        type_name.and_then(|value| value.text().cloned()).map(super::value::type_name);
                    self.put((file, layer), (key.into(), type_name), samples)?;
                }
            }
            for child in prim.children.iter().filter(|_| depth < MAX_DEPTH) {
                open.push((*child, format!("{path}/{}", layer.specs.prim(*child).name), depth + 1));
            }
        }
        Ok(())
    }

    fn put(
        &mut self,
        (file, layer): (usize, &Layer),
        (key, type_name): (Arc<str>, Option<Arc<str>>),
        samples: LayerSamples,
    ) -> Result<(), Error> {
        self.samples += samples.values.len();
        for (what, asked, allowed) in [
            ("samples of value clips; export it in parts", self.samples, MAX_SAMPLES),
            (
                "bytes of paths of attributes in value clips; export it in parts",
                self.path_bytes,
                MAX_PATH_BYTES,
            ),
        ] {
            if asked > allowed {
                return Err(Error::limit(&layer.name, what, asked as u64, allowed as u64));
            }
        }
        let mut entries: Vec<Entry> = Vec::with_capacity(samples.values.len());
        for value in samples.values {
            let entry = match entries.last() {
                Some(last) if last.value == value => *last,
                _ => Entry { value, length: layer.length(value)?, hash: content(file, layer, value)? },
            };
            entries.push(entry);
        }
        let own = InFile { file, times: samples.times, entries };
        match self.attributes.get_mut(&key) {
            Some(known) => known.files.push(own),
            None => {
                self.path_bytes += key.len();
                self.attributes.insert(key, Indexed { type_name, files: vec![own] });
            }
        }
        Ok(())
    }
}

/// What stands for the content of a value: of whole numbers (faces, most of all, which clips repeat) the numbers
/// themselves, of others the place.
fn content(file: usize, layer: &Layer, value: ValueRef) -> Result<u64, Error> {
    if layer.is_whole_array(value)
        && let Value::Numbers(numbers) = layer.value(value)?
    {
        return Ok(xxh3_64(&numbers.bytes));
    }
    let mut hash = Xxh3::new();
    // Text has the content's own, wherever it stands.
    if !layer.is_text() {
        hash.update(&file.to_le_bytes());
    }
    hash.update(&layer.identity(value).to_le_bytes());
    Ok(hash.digest())
}

impl InFile {
    /// The value at a time of the clip.
    fn at(&self, time: f64) -> Knot {
        let after = self.times.partition_point(|own| *own <= time);
        let last = self.entries.len() - 1;
        let low = after.saturating_sub(1).min(last);
        let high = after.min(last);
        let (a, b) = (self.times[low], self.times[high]);
        let near = ROUNDING * time.abs().max(1.0);
        let (low, high, fraction) = match (time - a <= near || b <= a, b - time <= near) {
            (true, _) => (low, low, 0.0),
            (_, true) => (high, high, 0.0),
            _ => (low, high, (time - a) / (b - a)),
        };
        Knot::Clip { file: self.file, from: self.entries[low], to: self.entries[high], fraction }
    }
}

impl Knot {
    fn identity(&self) -> Identity {
        match self {
            Knot::Nothing => 0,
            Knot::Default => 1,
            Knot::Clip { from, to, fraction, .. } if *fraction > 0.0 && from.hash != to.hash => {
                let mut hash = Xxh3::new();
                for bits in [from.hash, to.hash, fraction.to_bits()] {
                    hash.update(&bits.to_le_bytes());
                }
                hash.digest128()
            }
            Knot::Clip { from, .. } => Identity::from(from.hash) << 64 | from.length as Identity | 1 << 62,
        }
    }
}

impl ClipSamples {
    pub fn len(&self) -> usize {
        self.knots.len()
    }

    pub fn identity(&self, i: usize) -> Identity {
        self.knots.get(i).map_or(0, Knot::identity)
    }

    pub fn length(&self, i: usize) -> Result<usize, Error> {
        match (self.knots.get(i), &self.fallback) {
            (Some(Knot::Clip { from, .. }), _) => Ok(from.length),
            (Some(Knot::Default), Some((layer, value))) => layer.length(*value),
            _ => Ok(0),
        }
    }

    /// The file that messages name.
    pub fn name(&self, i: usize) -> &Path {
        match (self.knots.get(i), &self.fallback) {
            (Some(Knot::Clip { file, .. }), _) => {
                let file = self.files.list.get(*file).and_then(Option::as_ref);
                file.map_or(Path::new("clip"), |file| &file.name)
            }
            (_, Some((layer, _))) => &layer.name,
            _ => Path::new("clip"),
        }
    }

    pub fn value(&self, i: usize) -> Result<Value, Error> {
        match (self.knots.get(i), &self.fallback) {
            (Some(Knot::Clip { file, from, to, fraction }), _) => {
                let Some(layer) = self.files.layer(*file)? else {
                    return Ok(Value::Block);
                };
                let value = layer.value(from.value)?;
                match *fraction > 0.0 && from.hash != to.hash {
                    true => Ok(between(value, layer.value(to.value)?, *fraction, self.turns)),
                    false => Ok(value),
                }
            }
            (Some(Knot::Default), Some((layer, value))) => layer.value(*value),
            _ => Ok(Value::Block),
        }
    }
}

/// The value between two: of floats, if they are as many; else the first.
fn between(from: Value, to: Value, fraction: f64, turns: bool) -> Value {
    let (Value::Numbers(a), Value::Numbers(b)) = (&from, &to) else {
        return from;
    };
    let is_float = matches!(a.scalar, Scalar::F16 | Scalar::F32 | Scalar::F64);
    if !is_float || (a.scalar, a.width, a.bytes.len()) != (b.scalar, b.width, b.bytes.len()) {
        return from;
    }
    let (mut own, next) = (a.f64s(), b.f64s());
    match turns && a.width == 4 {
        true => {
            for (own, next) in own.as_chunks_mut::<4>().0.iter_mut().zip(next.as_chunks::<4>().0) {
                let turn = turn_between(DQuat::from_array(*own), DQuat::from_array(*next), fraction);
                *own = turn.to_array();
            }
        }
        false => own.iter_mut().zip(&next).for_each(|(own, next)| *own += (next - *own) * fraction),
    }
    let bytes = own.into_iter().flat_map(f64::to_le_bytes).collect();
    Value::Numbers(Numbers { scalar: Scalar::F64, width: a.width, array: a.array, bytes })
}
