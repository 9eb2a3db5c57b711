//! Value clips: attribute samples in separate layers, of which one at a time is active.
//!
//! The value at a time is that of the active clip, at the clip time given by `times`. If the clip has no such
//! attribute, the value is the manifest's default, or none. Between the last sample of a clip and the start
//! of the next one values are interpolated, as between samples. Layers are opened on demand, and only some
//! are open at once.

use super::bytes::LayerBytes;
use super::layer::{Layer, LayerSamples, usable};
use super::rotation::slerp_unnormalized;
use super::specs::{SpecId, ValueRef};
use super::value::{Numbers, Scalar, Value};
use glam::DQuat;
use meshreel_files::Folder;
use meshreel_files::PositionedFile;
use meshreel_scene::{Error, Identity, Remark};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Upper limit for the clip layers of a scene that are open at once.
const MAX_OPEN_LAYERS: usize = 16;
/// Upper limits for the samples of all attributes of a clip set, and for the times made of one attribute.
const MAX_SAMPLES: usize = 1 << 26;
const MAX_KNOTS: usize = 1 << 22;
/// Upper limit for the times of all attributes of a scene.
const MAX_SCENE_KNOTS: usize = 1 << 25;
/// Upper limits for the bytes of attribute paths, and for the depth of prims.
const MAX_PATH_BYTES: usize = 1 << 28;
const MAX_DEPTH: usize = 512;
/// The relative distance within which a clip time counts as that of a sample, to allow for rounding.
const ROUNDING: f64 = 1e-9;

/// A clip layer and its location.
pub struct ClipFile {
    /// The name in messages.
    pub name: PathBuf,
    pub location: ClipLocation,
}

/// The location of a clip: a file that is opened on demand, or the bytes of a package entry.
pub enum ClipLocation {
    File(Folder, Arc<str>),
    Entry(LayerBytes),
}

/// The open clip layers; only the most recently used are kept.
#[derive(Default)]
pub struct OpenClips {
    open: Mutex<Vec<(PathBuf, Arc<Layer>)>>,
    /// The number of samples of all attributes so far.
    samples: AtomicUsize,
    /// Remarks on files that are not valid layers.
    pub remarks: Mutex<Vec<Remark>>,
}

impl OpenClips {
    fn layer(&self, file: &ClipFile) -> Result<Arc<Layer>, Error> {
        // Locked while a layer is opened, so that the limit on open layers holds.
        let mut open = self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(at) = open.iter().position(|(name, _)| *name == file.name) {
            let own = open.remove(at);
            let layer = own.1.clone();
            open.push(own);
            return Ok(layer);
        }
        let bytes = match &file.location {
            ClipLocation::Entry(bytes) => bytes.clone(),
            ClipLocation::File(folder, name) => {
                LayerBytes::from_file(Arc::new(PositionedFile::named(folder, name)?))
            }
        };
        let layer = Arc::new(Layer::open(bytes)?);
        if open.len() >= MAX_OPEN_LAYERS {
            open.remove(0);
        }
        open.push((file.name.clone(), layer.clone()));
        Ok(layer)
    }
}

/// The files of a clip set; `None` for those that do not exist.
pub struct ClipSetFiles {
    pub list: Vec<Option<ClipFile>>,
    pub open_clips: Arc<OpenClips>,
}

impl ClipSetFiles {
    fn layer(&self, file: usize) -> Result<Option<Arc<Layer>>, Error> {
        let file = self.list.get(file).and_then(Option::as_ref);
        file.map(|file| self.open_clips.layer(file)).transpose()
    }

    /// Adds a remark on a file that exists but is not a valid layer.
    fn damaged(&self, file: usize, at: &str, what: &str) {
        let name = self.list.get(file).and_then(Option::as_ref).map(|file| file.name.display().to_string());
        let name = name.unwrap_or_default();
        let remark = Remark::new(at, format!("its value clip '{name}' {what}; it has no values then"));
        self.open_clips.remarks.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(remark);
    }
}

/// A clip set, which provides values for a prim and all below it.
pub struct ClipSet {
    /// The unique number of the set.
    pub id: usize,
    /// The index of the defining layer in its stack; that layer is stronger than the clips.
    pub layer: usize,
    /// The prim of the scene that defines it.
    pub scene_path: Arc<str>,
    /// The path in the stack where it is defined, and the corresponding path in the clips.
    pub stack_path: Arc<str>,
    pub clip_path: Arc<str>,
    pub files: Arc<ClipSetFiles>,
    /// The time at which each file becomes active, in time codes of the scene; ascending.
    pub active: Vec<(f64, usize)>,
    /// Pairs of scene time and clip time, ascending. Empty: clip time equals scene time.
    pub times: Vec<(f64, f64)>,
    /// The distance before a jump of these times at which the old value still holds, in time codes.
    pub step: f64,
    /// The layer that declares the attributes and their defaults; without it, every attribute that any clip
    /// has samples of is included.
    pub manifest: Option<Arc<Layer>>,
    /// `true` if values are interpolated from clip to clip across clips without values.
    pub interpolates: bool,
    pub index: Mutex<Option<Arc<SampleIndex>>>,
}

/// The location of a sample, its number of elements, and a hash of its content.
#[derive(Clone, Copy)]
struct SampleEntry {
    value: ValueRef,
    length: usize,
    hash: u64,
}

/// The samples of an attribute in one file.
struct FileSamples {
    file: usize,
    times: Arc<[f64]>,
    entries: Vec<SampleEntry>,
}

/// The samples of an attribute.
struct AttributeSamples {
    type_name: Option<Arc<str>>,
    files: Vec<FileSamples>,
}

/// All samples of all attributes, by path and name below the clips' prim.
#[derive(Default)]
pub struct SampleIndex {
    attributes: HashMap<Arc<str>, AttributeSamples>,
    samples: usize,
    path_bytes: usize,
}

/// The value at one time.
enum ClipKnot {
    /// Between two samples of a file.
    Clip {
        file: usize,
        from: SampleEntry,
        to: SampleEntry,
        fraction: f64,
    },
    /// The manifest's default.
    Default,
    Nothing,
}

/// The values of an attribute that comes from clips.
pub struct ClipSamples {
    files: Arc<ClipSetFiles>,
    fallback: Option<(Arc<Layer>, ValueRef)>,
    knots: Vec<ClipKnot>,
    /// `true` for quaternions, which are interpolated as rotations.
    is_rotation: bool,
}

impl ClipSet {
    /// Returns the values of an attribute of a prim of the stack, and the name of its type; `None` if the
    /// clips do not provide it.
    pub fn samples(&self, path: &str, name: &str) -> Result<Option<FoundSamples>, Error> {
        let key = format!("{}.{name}", path.get(self.stack_path.len()..).unwrap_or_default());
        let (type_name, fallback) = match &self.manifest {
            None => (None, None),
            Some(manifest) => match declared(manifest, &self.clip_path, &key)? {
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
        let mut knots: Vec<(f64, bool, ClipKnot)> = Vec::new();
        for (n, (start, file)) in self.active.iter().enumerate() {
            let from = if n == 0 { f64::NEG_INFINITY } else { *start };
            let to = self.active.get(n + 1).map_or(f64::INFINITY, |(next, _)| *next);
            let own = own.iter().find(|own| own.file == *file && !own.entries.is_empty());
            if own.is_some() || fallback.is_some() || !self.interpolates {
                self.knots(own, fallback.is_some(), (from, to), &mut knots);
            }
            self.limit(knots.len(), MAX_KNOTS)?;
        }
        let all = self.files.open_clips.samples.fetch_add(knots.len(), Ordering::Relaxed);
        self.limit(all, MAX_SCENE_KNOTS)?;
        if knots.is_empty() {
            knots.extend(self.active.first().map(|(start, _)| (*start, false, ClipKnot::Nothing)));
        }
        trim(&mut knots);
        let times = knots.iter().map(|(time, ..)| *time).collect();
        let knots = knots.into_iter().map(|(_, _, knot)| knot).collect();
        let turns = type_name.as_ref().is_some_and(|name: &Arc<str>| name.starts_with("quat"));
        let files = self.files.clone();
        Ok(Some((type_name, times, ClipSamples { files, fallback, knots, is_rotation: turns })))
    }

    fn limit(&self, asked: usize, allowed: usize) -> Result<(), Error> {
        let what = "samples of attributes by value clips; export it in parts";
        match asked > allowed {
            true => Err(Error::limit(Path::new(&*self.clip_path), what, asked as u64, allowed as u64)),
            false => Ok(()),
        }
    }

    /// Adds the values of one file while it is active; without a file, those of the manifest.
    fn knots(
        &self,
        own: Option<&FileSamples>,
        has_default: bool,
        (from, to): (f64, f64),
        knots: &mut Vec<(f64, bool, ClipKnot)>,
    ) {
        let samples = own.map_or(&[][..], |own| &own.times);
        let is_in = |time: f64| time >= from && time < to;
        // Scene time, clip time, and whether there is a sample at it.
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
            add(from, self.clip_time(from), false);
        } else if times.is_empty() {
            let start = self.active[0].0;
            times.push((start, self.clip_time(start), false));
        }
        times.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.2.cmp(&a.2)));
        times.dedup_by(|b, a| b.0 - a.0 <= ROUNDING * a.0.abs().max(1.0));
        let value = |inner: f64| match own {
            Some(own) => own.knot_at(inner),
            None if has_default => ClipKnot::Default,
            None => ClipKnot::Nothing,
        };
        knots.extend(times.into_iter().map(|(time, inner, sampled)| (time, sampled, value(inner))));
    }

    /// Converts a time of the scene to a time of the clips.
    fn clip_time(&self, time: f64) -> f64 {
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

    /// Returns the index of all samples; it opens each file once.
    fn index(&self) -> Result<Arc<SampleIndex>, Error> {
        let mut known = self.index.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(index) = &*known {
            return Ok(index.clone());
        }
        let mut index = SampleIndex::default();
        for file in 0..self.files.list.len() {
            let layer = self.files.layer(file);
            let added = layer.and_then(|layer| match layer {
                Some(layer) => index.add(file, &layer, &self.clip_path),
                None => Ok(()),
            });
            if let Err(what) = usable(added.map(Some))? {
                self.files.damaged(file, &self.scene_path, &what);
            }
        }
        let index = Arc::new(index);
        *known = Some(index.clone());
        Ok(index)
    }
}

/// The name of the type, times, and values.
pub type FoundSamples = (Option<Arc<str>>, Arc<[f64]>, ClipSamples);

/// Removes redundant values at both ends that are no samples.
fn trim(knots: &mut Vec<(f64, bool, ClipKnot)>) {
    let same =
        |a: &(f64, bool, ClipKnot), b: &(f64, bool, ClipKnot)| !a.1 && a.2.identity() == b.2.identity();
    while knots.len() > 1 && same(&knots[knots.len() - 1], &knots[knots.len() - 2]) {
        knots.pop();
    }
    let first = knots.windows(2).position(|pair| !same(&pair[0], &pair[1]));
    knots.drain(..first.unwrap_or(0));
}

/// Type and default of an attribute in a manifest, if its value may vary.
type DeclaredAttribute = (Option<Arc<str>>, Option<(Arc<Layer>, ValueRef)>);

fn declared(manifest: &Arc<Layer>, prim: &str, key: &str) -> Result<Option<DeclaredAttribute>, Error> {
    let (path, name) = key.split_once('.').unwrap_or(("", key));
    let specs = &manifest.specs;
    let Some(own) = specs.prim_at_path(&format!("{prim}{path}")).and_then(|prim| specs.property(prim, name))
    else {
        return Ok(None);
    };
    if is_uniform(manifest, own.fields)? {
        return Ok(None);
    }
    let type_name =
        specs.field(own.fields, "typeName").map(|value| manifest.small_value(value)).transpose()?;
    let fallback = specs.field(own.fields, "default").filter(|value| !manifest.is_block(*value));
    let type_name = type_name.and_then(|value| value.text().cloned()).map(super::value::type_name);
    Ok(Some((type_name, fallback.map(|value| (manifest.clone(), value)))))
}

/// `true` if an attribute is uniform, that is does not change over time.
fn is_uniform(layer: &Layer, fields: u32) -> Result<bool, Error> {
    let value = layer.specs.field(fields, "variability").map(|value| layer.small_value(value)).transpose()?;
    Ok(value.and_then(|value| value.number()).is_some_and(|number| number != 0.0))
}

impl SampleIndex {
    /// Adds the samples of all attributes of a prim and all below it.
    fn add(&mut self, file: usize, layer: &Layer, prim: &str) -> Result<(), Error> {
        let mut open: Vec<(SpecId, String, usize)> = Vec::new();
        open.extend(layer.specs.prim_at_path(prim).map(|id| (id, String::new(), 0)));
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
                    let type_name = type_name.map(|value| layer.small_value(value)).transpose()?;
                    let type_name =
                        type_name.and_then(|value| value.text().cloned()).map(super::value::type_name);
                    self.insert((file, layer), (key.into(), type_name), samples)?;
                }
            }
            for child in prim.children.iter().filter(|_| depth < MAX_DEPTH) {
                open.push((*child, format!("{path}/{}", layer.specs.prim(*child).name), depth + 1));
            }
        }
        Ok(())
    }

    fn insert(
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
        let mut entries: Vec<SampleEntry> = Vec::with_capacity(samples.values.len());
        for value in samples.values {
            let entry = match entries.last() {
                Some(last) if last.value == value => *last,
                _ => SampleEntry {
                    value,
                    length: layer.length(value)?,
                    hash: content_hash(file, layer, value)?,
                },
            };
            entries.push(entry);
        }
        let own = FileSamples { file, times: samples.times, entries };
        match self.attributes.get_mut(&key) {
            Some(known) => known.files.push(own),
            None => {
                self.path_bytes += key.len();
                self.attributes.insert(key, AttributeSamples { type_name, files: vec![own] });
            }
        }
        Ok(())
    }
}

/// Returns a hash of a value's content: for integer arrays (mostly faces, which clips repeat) of the numbers,
/// otherwise of the location.
fn content_hash(file: usize, layer: &Layer, value: ValueRef) -> Result<u64, Error> {
    if layer.is_whole_array(value)
        && let Value::Numbers(numbers) = layer.value(value)?
    {
        return Ok(xxh3_64(&numbers.bytes));
    }
    let mut hash = Xxh3::new();
    // In text layers the identity is that of the content, wherever it is stored.
    if !layer.is_text() {
        hash.update(&file.to_le_bytes());
    }
    hash.update(&layer.identity(value).to_le_bytes());
    Ok(hash.digest())
}

impl FileSamples {
    /// Returns the value at a clip time.
    fn knot_at(&self, time: f64) -> ClipKnot {
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
        ClipKnot::Clip { file: self.file, from: self.entries[low], to: self.entries[high], fraction }
    }
}

impl ClipKnot {
    fn identity(&self) -> Identity {
        match self {
            ClipKnot::Nothing => 0,
            ClipKnot::Default => 1,
            ClipKnot::Clip { from, to, fraction, .. } if *fraction > 0.0 && from.hash != to.hash => {
                let mut hash = Xxh3::new();
                for bits in [from.hash, to.hash, fraction.to_bits()] {
                    hash.update(&bits.to_le_bytes());
                }
                hash.digest128()
            }
            ClipKnot::Clip { from, .. } => {
                Identity::from(from.hash) << 64 | from.length as Identity | 1 << 62
            }
        }
    }
}

impl ClipSamples {
    pub fn len(&self) -> usize {
        self.knots.len()
    }

    pub fn identity(&self, i: usize) -> Identity {
        self.knots.get(i).map_or(0, ClipKnot::identity)
    }

    pub fn length(&self, i: usize) -> Result<usize, Error> {
        match (self.knots.get(i), &self.fallback) {
            (Some(ClipKnot::Clip { from, .. }), _) => Ok(from.length),
            (Some(ClipKnot::Default), Some((layer, value))) => layer.length(*value),
            _ => Ok(0),
        }
    }

    /// Returns the file that messages name.
    pub fn name(&self, i: usize) -> &Path {
        match (self.knots.get(i), &self.fallback) {
            (Some(ClipKnot::Clip { file, .. }), _) => {
                let file = self.files.list.get(*file).and_then(Option::as_ref);
                file.map_or(Path::new("clip"), |file| &file.name)
            }
            (_, Some((layer, _))) => &layer.name,
            _ => Path::new("clip"),
        }
    }

    pub fn value(&self, i: usize) -> Result<Value, Error> {
        match (self.knots.get(i), &self.fallback) {
            (Some(ClipKnot::Clip { file, from, to, fraction }), _) => {
                let Some(layer) = self.files.layer(*file)? else {
                    return Ok(Value::Block);
                };
                let value = layer.value(from.value)?;
                match *fraction > 0.0 && from.hash != to.hash {
                    true => Ok(interpolate(value, layer.value(to.value)?, *fraction, self.is_rotation)),
                    false => Ok(value),
                }
            }
            (Some(ClipKnot::Default), Some((layer, value))) => layer.value(*value),
            _ => Ok(Value::Block),
        }
    }
}

/// Interpolates between two values if they are floats of the same number; otherwise returns the first.
fn interpolate(from: Value, to: Value, fraction: f64, turns: bool) -> Value {
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
                let turn = slerp_unnormalized(DQuat::from_array(*own), DQuat::from_array(*next), fraction);
                *own = turn.to_array();
            }
        }
        false => own.iter_mut().zip(&next).for_each(|(own, next)| *own += (next - *own) * fraction),
    }
    let bytes = own.into_iter().flat_map(f64::to_le_bytes).collect();
    Value::Numbers(Numbers { scalar: Scalar::F64, width: a.width, array: a.array, bytes })
}
