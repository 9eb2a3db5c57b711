//! Alembic in HDF5, the container of Alembic 1.0 to 1.5 (Maya 2012 and others) and of converters since.
//!
//! ```text
//! /                 attributes abc_version, N.time N.ttpc (time sampling N ≥ 1)
//! /ABC              an object: a group. Attribute .prop.meta = its metadata
//! /ABC/name         … its children
//! /ABC/.prop        its properties: a compound, as is every group X in it that has an attribute X.info
//!   X.info          1–5 u32: kind, type, extent and flags; samples; first and last that differ; time sampling
//!   X.meta          metadata
//!   X.smp0          sample 0: an attribute where X is a scalar, else an array with a key; equal arrays are one
//!   X.smpi/0001 …   the samples that are not sample 0
//! ```
//!
//! Groups are listed on demand and remembered. For samples only the location is remembered, except for
//! scalars, which HDF5 stores beside their names.

mod container;
#[cfg(test)]
mod tests;

use super::core::{Archive, MetaData, ObjectHeader, PropertyHeader, PropertyKind};
use container::{Container, Group, SampleLocation, SamplePayload};
use hdf5_reader::BytesStorage;
use hdf5_reader::messages::attribute::AttributeMessage;
use meshreel_scene::layout::alembic::Pod;
use meshreel_scene::{Error, Identity, TimeSampling};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

/// The version of the layout since Alembic 1.0.
const LAYOUT: i64 = -8;
/// Alembic's marker for a sampling without a cycle, in place of the time per cycle.
const ACYCLIC: f64 = f64::MAX / 32.0;

/// Opens an Alembic archive in HDF5.
pub fn open(path: &Path) -> Result<Arc<dyn Archive>, Error> {
    archive(Container::open(path)?)
}

/// Opens an archive in memory; `path` is for messages.
pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Arc<dyn Archive>, Error> {
    archive(Container::new(path, Arc::new(BytesStorage::new(bytes)))?)
}

fn archive(container: Container) -> Result<Arc<dyn Archive>, Error> {
    let path = container.path();
    let root = container.group(container.root(), "/")?;
    let top = root.links.iter().find(|(name, _)| name == "ABC").map(|l| l.1);
    let version = match find(&root.attributes, "abc_version") {
        Some(version) => numbers(&container, version, "/")?.first().map(|&v| v as i64),
        None => None,
    };
    let (top, version) = match (top, version) {
        (Some(top), Some(version)) => (top, version),
        (Some(_), None) => {
            return Err(Error::unsupported(
                path,
                "Alembic before 1.0 (2010–2011): open it in the tool of its time and export it again",
            ));
        }
        (None, _) => {
            return Err(Error::malformed(path, "HDF5, but not an Alembic archive", "/"));
        }
    };
    if version != LAYOUT {
        return Err(Error::unsupported(path, format!("version {version} of Alembic's HDF5 layout")));
    }
    let samplings = samplings(&container, &root)?;
    let group = container.group(top, "/ABC")?;
    let archive = Hdf5 {
        meta: metadata(&container, &group, ".prop.meta", "/ABC")?,
        samplings,
        nodes: RwLock::default(),
        listing: Mutex::new(HashSet::from([container.root(), top])),
        held: AtomicU64::new(0),
        container,
    };
    archive.add_object("/ABC".into(), group)?;
    Ok(Arc::new(archive))
}

struct Hdf5 {
    container: Container,
    meta: MetaData,
    samplings: Vec<Arc<TimeSampling>>,
    /// Objects and properties listed so far; handles are indices into it. The top object is 0.
    nodes: RwLock<Vec<Arc<ListedNode>>>,
    /// The groups met so far, none of which may be met again; locked while listing.
    listing: Mutex<HashSet<u64>>,
    /// The number of bytes kept in memory.
    held: AtomicU64,
}

enum ListedNode {
    Object {
        /// The path in HDF5.
        path: String,
        links: Vec<(String, u64)>,
        properties: u64,
        children: OnceLock<Vec<ObjectHeader>>,
    },
    Compound {
        path: String,
        address: Option<u64>,
        properties: OnceLock<Vec<PropertyHeader>>,
    },
    Property(Box<Property>),
}

struct Property {
    /// The path in HDF5, without `.smp0`.
    path: String,
    pod: Pod,
    extent: usize,
    scalar: bool,
    samples: usize,
    /// The first sample that differs from sample 0, and the last that differs from the one before it; 0 if
    /// none does.
    first: usize,
    last: usize,
    sample_zero: SampleZero,
    /// Address of the group that holds the samples after 0.
    group: Option<u64>,
    sample_zero_data: OnceLock<SamplePayload>,
    /// The samples `first` to `last`.
    later_samples: OnceLock<Vec<SamplePayload>>,
}

enum SampleZero {
    None,
    Value(Box<AttributeMessage>),
    Array(u64),
}

impl Archive for Hdf5 {
    fn path(&self) -> &Path {
        self.container.path()
    }

    fn format(&self) -> &'static str {
        "alembic-hdf5"
    }

    fn meta(&self) -> &MetaData {
        &self.meta
    }

    fn top(&self) -> u64 {
        0
    }

    fn children(&self, object: u64) -> Result<Vec<ObjectHeader>, Error> {
        let node = self.node(object)?;
        let ListedNode::Object { path, links, children, .. } = node.as_ref() else {
            return Err(Error::misuse("children of something that is not an object"));
        };
        let mut met = self.lock();
        if let Some(children) = children.get() {
            return Ok(children.clone());
        }
        let mut found = Vec::new();
        let mut new = HashSet::new();
        for (name, address) in links.iter().filter(|(name, _)| name != ".prop") {
            let path = format!("{path}/{name}");
            self.check_name(name, &path)?;
            let group = self.container.group(*address, &path)?;
            if !group.is_group {
                continue;
            }
            self.check_unmet(&met, *address, &path)?;
            if !new.insert(*address) {
                return Err(self.malformed("a group that is reached twice", &path));
            }
            let meta = metadata(&self.container, &group, ".prop.meta", &path)?;
            found.push((name, meta, path, group));
        }
        let mut list = Vec::with_capacity(found.len());
        for (name, meta, path, group) in found {
            let id = self.add_object(path, group)?;
            list.push(ObjectHeader { name: name.clone(), meta, id });
        }
        met.extend(new);
        Ok(children.get_or_init(|| list).clone())
    }

    fn properties_of(&self, object: u64) -> Result<u64, Error> {
        match self.node(object)?.as_ref() {
            ListedNode::Object { properties, .. } => Ok(*properties),
            _ => Err(Error::misuse("properties of something that is not an object")),
        }
    }

    fn properties(&self, compound: u64) -> Result<Vec<PropertyHeader>, Error> {
        let node = self.node(compound)?;
        let ListedNode::Compound { path, address, properties } = node.as_ref() else {
            return Err(Error::misuse("properties of something that is not a compound"));
        };
        let mut met = self.lock();
        if let Some(properties) = properties.get() {
            return Ok(properties.clone());
        }
        let list = match address {
            None => Vec::new(),
            Some(address) => {
                self.check_unmet(&met, *address, path)?;
                let group = self.container.group(*address, path)?;
                if !group.is_group {
                    return Err(self.malformed("a compound that is an array", path));
                }
                let list = self.list(path, &group)?;
                met.insert(*address);
                list
            }
        };
        Ok(properties.get_or_init(|| list).clone())
    }

    fn identity(&self, property: u64, sample: usize) -> Result<Identity, Error> {
        self.with_sample(property, sample, |_, data, _| Ok(data.key))
    }

    fn size(&self, property: u64, sample: usize) -> Result<usize, Error> {
        // Was bounded by the file's size when the sample was listed.
        self.with_sample(property, sample, |_, data, _| Ok(data.size as usize))
    }

    fn read(&self, property: u64, sample: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        self.with_sample(property, sample, |p, data, index| {
            // The path matters only for chunked arrays.
            let at = match (&data.location, index) {
                (SampleLocation::Chunked, 0) => format!("{}.smp0", p.path),
                (SampleLocation::Chunked, _) => format!("{}.smpi/{index:04}", p.path),
                _ => String::new(),
            };
            let at = if at.is_empty() { &p.path } else { &at };
            self.container.read(data, at, out)
        })
    }
}

impl Hdf5 {
    fn node(&self, id: u64) -> Result<Arc<ListedNode>, Error> {
        let nodes = self.nodes.read().unwrap_or_else(PoisonError::into_inner);
        let node = usize::try_from(id).ok().and_then(|id| nodes.get(id));
        node.cloned().ok_or_else(|| Error::misuse("a handle of another archive"))
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.listing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn malformed(&self, what: &str, at: &str) -> Error {
        Error::malformed(self.container.path(), what, at)
    }

    /// Refuses a group that was met before. Groups of Alembic files form a tree; HDF5 also allows cycles,
    /// which would never end.
    fn check_unmet(&self, met: &HashSet<u64>, address: u64, at: &str) -> Result<(), Error> {
        match met.contains(&address) {
            true => Err(self.malformed("a group that is reached twice", at)),
            false => Ok(()),
        }
    }

    fn check_name(&self, name: &str, at: &str) -> Result<(), Error> {
        match name.is_empty() || name.contains('/') {
            true => Err(self.malformed("an object or property without a usable name", at)),
            false => Ok(()),
        }
    }

    /// Counts memory that is kept; valid files need about the size of their scalars and a hundred bytes per
    /// array.
    fn charge_memory(&self, bytes: usize) -> Result<(), Error> {
        let most = self.container.len().saturating_mul(8).saturating_add(1 << 20);
        let held = self.held.fetch_add(bytes as u64, Relaxed).saturating_add(bytes as u64);
        match held > most {
            true => Err(Error::limit(self.container.path(), "bytes of names and scalars", held, most)),
            false => Ok(()),
        }
    }

    fn add(&self, node: ListedNode) -> u64 {
        let mut nodes = self.nodes.write().unwrap_or_else(PoisonError::into_inner);
        nodes.push(Arc::new(node));
        nodes.len() as u64 - 1
    }

    /// Adds an object and, directly after it, its compound.
    fn add_object(&self, path: String, group: Group) -> Result<u64, Error> {
        let address = group.links.iter().find(|(name, _)| name == ".prop").map(|l| l.1);
        let names: usize = group.links.iter().map(|(name, _)| name.len() + 64).sum();
        self.charge_memory(2 * path.len() + names + 256)?;
        let mut nodes = self.nodes.write().unwrap_or_else(PoisonError::into_inner);
        let id = nodes.len() as u64;
        let compound =
            ListedNode::Compound { path: format!("{path}/.prop"), address, properties: OnceLock::new() };
        nodes.push(Arc::new(ListedNode::Object {
            path,
            links: group.links,
            properties: id + 1,
            children: OnceLock::new(),
        }));
        nodes.push(Arc::new(compound));
        Ok(id)
    }

    /// Lists the properties of the compound stored in `group`.
    fn list(&self, path: &str, group: &Group) -> Result<Vec<PropertyHeader>, Error> {
        let values: HashMap<&str, &AttributeMessage> =
            group.attributes.iter().map(|a| (a.name.as_str(), a)).collect();
        let links: HashMap<&str, u64> = group.links.iter().map(|(n, a)| (n.as_str(), *a)).collect();
        let mut list = Vec::new();
        for info in &group.attributes {
            let Some(name) = info.name.strip_suffix(".info") else {
                continue;
            };
            let path = format!("{path}/{name}");
            self.check_name(name, &path)?;
            let meta = match values.get(format!("{name}.meta").as_str()) {
                Some(meta) => MetaData(text(&self.container, meta, &path)?),
                None => MetaData::default(),
            };
            let zero = format!("{name}.smp0");
            let zero = match (values.get(zero.as_str()), links.get(zero.as_str())) {
                (Some(value), _) => SampleZero::Value(Box::new((*value).clone())),
                (None, Some(address)) => SampleZero::Array(*address),
                (None, None) => SampleZero::None,
            };
            let words = numbers(&self.container, info, &path)?;
            let info = PropertyInfo::parse(&words, !matches!(zero, SampleZero::None))
                .map_err(|what| self.malformed(what, &path))?;
            let sampling = self
                .samplings
                .get(info.sampling)
                .ok_or_else(|| self.malformed("a time sampling that is not there", &path))?;
            // A constant property stores nothing per sample, so its sample count needs its own limit.
            let most = self.container.len().clamp(1 << 20, 1 << 24);
            if info.samples as u64 > most {
                let path = self.container.path();
                return Err(Error::limit(path, "samples of a property", info.samples as u64, most));
            }
            self.charge_memory(3 * path.len() + meta.0.len() + 512)?;
            let node = match info.kind {
                PropertyKind::Compound => ListedNode::Compound {
                    address: links.get(name).copied(),
                    path,
                    properties: OnceLock::new(),
                },
                kind => ListedNode::Property(Box::new(Property {
                    pod: info.pod,
                    extent: info.extent,
                    scalar: kind == PropertyKind::Scalar,
                    samples: info.samples,
                    first: info.first,
                    last: info.last,
                    sample_zero: zero,
                    group: links.get(format!("{name}.smpi").as_str()).copied(),
                    sample_zero_data: OnceLock::new(),
                    later_samples: OnceLock::new(),
                    path,
                })),
            };
            list.push(PropertyHeader {
                name: name.to_owned(),
                kind: info.kind,
                pod: info.pod,
                extent: info.extent,
                meta,
                samples: info.samples,
                changed: (info.first, info.last),
                sampling: sampling.clone(),
                id: self.add(node),
            });
        }
        Ok(list)
    }

    /// Calls `work` with the property, the sample's data and the number under which the sample is stored.
    fn with_sample<T>(
        &self,
        property: u64,
        sample: usize,
        work: impl FnOnce(&Property, &SamplePayload, usize) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let node = self.node(property)?;
        let ListedNode::Property(p) = node.as_ref() else {
            return Err(Error::misuse("samples of something that is not a property"));
        };
        if sample >= p.samples {
            return Err(Error::misuse(format!(
                "sample {sample} of a property that has {} ({})",
                p.samples, p.path
            )));
        }
        if p.last == 0 || sample < p.first {
            return work(p, self.sample_zero(p)?, 0);
        }
        let index = sample.min(p.last);
        let data = self.later_samples(p)?.get(index - p.first);
        let data = data.ok_or_else(|| self.malformed("a sample that is not there", &p.path))?;
        work(p, data, index)
    }

    fn sample_zero<'a>(&self, p: &'a Property) -> Result<&'a SamplePayload, Error> {
        if let Some(data) = p.sample_zero_data.get() {
            return Ok(data);
        }
        let data = match &p.sample_zero {
            SampleZero::None => return Err(self.malformed("a sample that is not there", &p.path)),
            SampleZero::Value(value) => self.container.value(value, &p.path)?,
            SampleZero::Array(address) => self.container.array(*address, &p.path)?,
        };
        let data = self.checked(p, data)?;
        Ok(p.sample_zero_data.get_or_init(|| data))
    }

    fn later_samples<'a>(&self, p: &'a Property) -> Result<&'a [SamplePayload], Error> {
        if let Some(later) = p.later_samples.get() {
            return Ok(later);
        }
        let _one_at_a_time = self.lock();
        if let Some(later) = p.later_samples.get() {
            return Ok(later);
        }
        let missing = || self.malformed("a sample that is not there", &p.path);
        let address = p.group.ok_or_else(missing)?;
        let group = self.container.group(address, &p.path)?;
        let count = p.last - p.first + 1;
        if count > group.attributes.len() + group.links.len() {
            return Err(missing());
        }
        let mut later: Vec<Option<SamplePayload>> = vec![None; count];
        let place = |name: &str| {
            let slot = name.parse::<usize>().ok()?.checked_sub(p.first)?;
            (slot < count).then_some(slot)
        };
        for value in &group.attributes {
            if let Some(slot) = place(&value.name) {
                later[slot] = Some(self.checked(p, self.container.value(value, &p.path)?)?);
            }
        }
        // Equal samples link to the same array.
        let mut known: HashMap<u64, SamplePayload> = HashMap::new();
        for (name, address) in &group.links {
            if let Some(slot) = place(name) {
                later[slot] = Some(match known.get(address) {
                    Some(data) => data.clone(),
                    None => {
                        let data = self.checked(p, self.container.array(*address, &p.path)?)?;
                        known.insert(*address, data.clone());
                        data
                    }
                });
                self.charge_memory(64)?;
            }
        }
        let later = later.into_iter().collect::<Option<Vec<SamplePayload>>>().ok_or_else(missing)?;
        Ok(p.later_samples.get_or_init(|| later))
    }

    /// Checks that a sample has the type and size that the property's header declares.
    fn checked(&self, p: &Property, mut data: SamplePayload) -> Result<SamplePayload, Error> {
        let (word, string) = match p.pod {
            Pod::Bool | Pod::U8 | Pod::I8 => (1, false),
            Pod::U16 | Pod::I16 | Pod::F16 => (2, false),
            Pod::U32 | Pod::I32 | Pod::F32 => (4, false),
            Pod::U64 | Pod::I64 | Pod::F64 => (8, false),
            Pod::String => (1, true),
            Pod::WString => (4, true),
        };
        if usize::from(data.number_size) != word && data.size > 0 {
            return Err(self.malformed("numbers of another size than the property's", &p.path));
        }
        if let SampleLocation::Inline(bytes) = &data.location {
            self.charge_memory(bytes.len() + 128)?;
            if string && !bytes.ends_with(&[0; 4][..word]) {
                let ended: Arc<[u8]> = bytes.iter().copied().chain([0; 4].into_iter().take(word)).collect();
                data.size = ended.len() as u64;
                data.location = SampleLocation::Inline(ended);
            }
        }
        let element = (word * p.extent) as u64;
        let fits = match (string, p.scalar) {
            (true, _) => data.size.is_multiple_of(word as u64),
            (false, true) => data.size == element,
            (false, false) => data.size.is_multiple_of(element),
        };
        match fits && usize::try_from(data.size).is_ok() {
            true => Ok(data),
            false => Err(self.malformed("a sample of another size than its elements", &p.path)),
        }
    }
}

/// The decoded attribute `X.info`.
struct PropertyInfo {
    kind: PropertyKind,
    pod: Pod,
    extent: usize,
    samples: usize,
    first: usize,
    last: usize,
    sampling: usize,
}

impl PropertyInfo {
    /// ```text
    /// bits 0–1 kind · 2–5 type · 6 a time sampling is named, in the last word · 7 every sample differs · 8–15 extent
    /// ```
    /// The second word, if any, is the number of samples; the third and fourth are the first and last that
    /// differ.
    fn parse(words: &[f64], has_zero: bool) -> Result<PropertyInfo, &'static str> {
        let (&head, mut rest) = words.split_first().ok_or("a property's header without a word")?;
        let head = head as u32;
        let kind = match head & 3 {
            0 => PropertyKind::Compound,
            1 => PropertyKind::Scalar,
            _ => PropertyKind::Array,
        };
        let mut info = PropertyInfo {
            kind,
            pod: pod_from_code(head >> 2 & 15).ok_or("a property of no known type")?,
            extent: (head >> 8 & 255) as usize,
            samples: usize::from(has_zero),
            first: 0,
            last: 0,
            sampling: 0,
        };
        if kind == PropertyKind::Compound {
            return Ok(PropertyInfo { samples: 0, extent: 1, ..info });
        }
        if info.extent == 0 {
            return Err("a property of extent 0");
        }
        if head & 1 << 6 != 0 {
            let (&sampling, others) = rest.split_last().ok_or("a property's header cut short")?;
            (info.sampling, rest) = (sampling as usize, others);
        }
        if let Some(&samples) = rest.first() {
            info.samples = samples as usize;
            match rest.get(1..) {
                Some(&[first, last, ..]) => (info.first, info.last) = (first as usize, last as usize),
                _ if head & 1 << 7 != 0 => (info.first, info.last) = (1, info.samples.saturating_sub(1)),
                _ => {}
            }
        }
        if info.samples > 0 && !has_zero {
            return Err("a property with samples, but without the first");
        }
        // No sample differs: (0, 0), or (1, 0) with a single sample.
        if info.first > info.last {
            (info.first, info.last) = (0, 0);
        }
        if info.last > 0 && (info.first == 0 || info.last >= info.samples) {
            return Err("a property whose samples differ beyond its last");
        }
        Ok(info)
    }
}

fn pod_from_code(code: u32) -> Option<Pod> {
    use Pod::*;
    const TYPES: [Pod; 14] = [Bool, U8, I8, U16, I16, U32, I32, U64, I64, F16, F32, F64, String, WString];
    TYPES.get(code as usize).copied()
}

/// Reads the root's `N.time` and `N.ttpc`. Sampling 0 is implied: one second per sample, from 0.
fn samplings(container: &Container, root: &Group) -> Result<Vec<Arc<TimeSampling>>, Error> {
    let mut list = vec![Arc::new(TimeSampling::Uniform { start: 0.0, step: 1.0 })];
    while let Some(times) = find(&root.attributes, &format!("{}.time", list.len())) {
        let at = format!("time sampling {}", list.len());
        let bad = |what: &str| Error::malformed(container.path(), what, &at);
        let times = numbers(container, times, &at)?;
        let period = match find(&root.attributes, &format!("{}.ttpc", list.len())) {
            Some(period) => numbers(container, period, &at)?.first().copied(),
            None => Some(ACYCLIC),
        };
        let Some(period) = period.filter(|p| p.is_finite() && *p > 0.0) else {
            return Err(bad("a time per cycle that is none"));
        };
        if times.is_empty() || !times.iter().all(|t| t.is_finite()) {
            return Err(bad("no times"));
        }
        if !times.is_sorted() {
            return Err(bad("times that run backwards"));
        }
        list.push(Arc::new(if period >= ACYCLIC {
            TimeSampling::Acyclic { times }
        } else if let &[start] = times.as_slice() {
            TimeSampling::Uniform { start, step: period }
        } else {
            TimeSampling::Cyclic { times, period }
        }));
    }
    Ok(list)
}

fn find<'a>(attributes: &'a [AttributeMessage], name: &str) -> Option<&'a AttributeMessage> {
    attributes.iter().find(|a| a.name == name)
}

fn metadata(container: &Container, group: &Group, name: &str, at: &str) -> Result<MetaData, Error> {
    match find(&group.attributes, name) {
        Some(value) => Ok(MetaData(text(container, value, at)?)),
        None => Ok(MetaData::default()),
    }
}

fn text(container: &Container, attribute: &AttributeMessage, at: &str) -> Result<String, Error> {
    let data = container.value(attribute, at)?;
    match &data.location {
        SampleLocation::Inline(bytes) => Ok(String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned()),
        _ => Ok(String::new()),
    }
}

/// Returns an attribute's integers (up to 53 bits) or floats.
fn numbers(container: &Container, attribute: &AttributeMessage, at: &str) -> Result<Vec<f64>, Error> {
    use hdf5_reader::Datatype::{FixedPoint, FloatingPoint};
    let data = container.value(attribute, at)?;
    let SampleLocation::Inline(bytes) = &data.location else {
        return Ok(Vec::new());
    };
    let number: fn(&[u8]) -> f64 = match (&attribute.datatype, data.number_size) {
        (FixedPoint { signed: true, .. }, 4) => |b| i32::from_le_bytes(array(b)).into(),
        (FixedPoint { signed: false, .. }, 4) => |b| u32::from_le_bytes(array(b)).into(),
        (FixedPoint { signed: true, .. }, 8) => |b| i64::from_le_bytes(array(b)) as f64,
        (FixedPoint { signed: false, .. }, 8) => |b| u64::from_le_bytes(array(b)) as f64,
        (FloatingPoint { .. }, 4) => |b| f32::from_le_bytes(array(b)).into(),
        (FloatingPoint { .. }, 8) => |b| f64::from_le_bytes(array(b)),
        _ => {
            return Err(Error::malformed(container.path(), "an attribute that is no number", at));
        }
    };
    Ok(bytes.chunks_exact(usize::from(data.number_size)).map(number).collect())
}

/// Returns the bytes of one number, or zeros if the length is wrong.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().unwrap_or([0; N])
}
