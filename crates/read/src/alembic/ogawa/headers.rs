//! The packed records inside Ogawa's data nodes: object and property headers, time samplings, indexed
//! metadata.

use super::super::core::{MetaData, PropertyKind};
use meshreel_scene::TimeSampling;
use meshreel_scene::layout::alembic::Pod;

/// A message about a malformed record.
pub type RecordFault = &'static str;

/// Upper limit for the length of a name in bytes.
const MAX_NAME: usize = 1 << 16;
/// The time per cycle that marks a sampling without a cycle: the largest f64 divided by 32.
const ACYCLIC: f64 = f64::MAX / 32.0;
/// The size in bytes of the hashes after the headers of an object's children.
const HASH_BYTES: usize = 32;

/// Reads numbers from the front of a slice.
struct RecordReader<'a>(&'a [u8]);

impl<'a> RecordReader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], RecordFault> {
        let (head, rest) = self.0.split_at_checked(n).ok_or("a record ends early")?;
        self.0 = rest;
        Ok(head)
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N], RecordFault> {
        let (head, rest) = self.0.split_first_chunk().ok_or("a record ends early")?;
        self.0 = rest;
        Ok(*head)
    }
    fn u32(&mut self) -> Result<u32, RecordFault> {
        self.array().map(u32::from_le_bytes)
    }
    fn f64(&mut self) -> Result<f64, RecordFault> {
        self.array().map(f64::from_le_bytes)
    }
    /// Reads a counter of 1, 2 or 4 bytes.
    fn counter(&mut self, hint: u32) -> Result<u32, RecordFault> {
        match hint {
            0 => Ok(u32::from(self.array::<1>()?[0])),
            1 => self.array().map(u16::from_le_bytes).map(u32::from),
            2 => self.u32(),
            _ => Err("a property header has an unknown counter size"),
        }
    }
}

/// Decodes UTF-8; invalid bytes become U+FFFD.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn name(bytes: &[u8]) -> Result<String, RecordFault> {
    match bytes.len() {
        0 => Err("a name is empty"),
        n if n > MAX_NAME => Err("a name is too long"),
        _ => Ok(text(bytes)),
    }
}

/// Returns metadata by index: 0 = none, 255 = inline (read by `inline`), otherwise an entry of the archive's
/// table.
fn metadata(
    index: u32,
    table: &[MetaData],
    inline: impl FnOnce() -> Result<MetaData, RecordFault>,
) -> Result<MetaData, RecordFault> {
    match index {
        0 => Ok(MetaData::default()),
        255 => inline(),
        i => {
            let entry = table.get(i as usize - 1);
            entry.cloned().ok_or("metadata number out of the table")
        }
    }
}

/// Parses the archive's table of metadata: records of u8 length and bytes.
pub fn indexed_metadata(bytes: &[u8]) -> Result<Vec<MetaData>, RecordFault> {
    if bytes.len() > 254 * 256 {
        return Err("the metadata table is too large");
    }
    let mut bytes = RecordReader(bytes);
    let mut table = Vec::new();
    while !bytes.0.is_empty() {
        let n = usize::from(bytes.array::<1>()?[0]);
        table.push(MetaData(text(bytes.take(n)?)));
    }
    Ok(table)
}

/// Parses the archive's table of time samplings: u32 most samples · f64 time per cycle · u32 n · n × f64
/// seconds.
pub fn time_samplings(bytes: &[u8]) -> Result<Vec<TimeSampling>, RecordFault> {
    let mut bytes = RecordReader(bytes);
    let mut table = Vec::new();
    while !bytes.0.is_empty() {
        let _most_samples = bytes.u32()?;
        let cycle = bytes.f64()?;
        let n = bytes.u32()? as usize;
        let times = bytes.take(n.checked_mul(8).ok_or("a record ends early")?)?;
        let times = times.as_chunks::<8>().0.iter();
        table.push(time_sampling(cycle, times.map(|t| f64::from_le_bytes(*t)).collect())?);
    }
    Ok(table)
}

/// Returns the sampling for a time per cycle `cycle` and stored `times`, both in seconds, as both containers
/// store it.
pub fn time_sampling(cycle: f64, times: Vec<f64>) -> Result<TimeSampling, RecordFault> {
    if times.is_empty() || times.iter().any(|t| !t.is_finite()) {
        return Err("a time sampling has no proper times");
    }
    if times.windows(2).any(|pair| pair[1] < pair[0]) {
        return Err("times of a sampling do not ascend");
    }
    let cyclic = cycle > 0.0 && cycle < ACYCLIC * 0.99;
    match times[..] {
        // One stored time without a cycle applies to one sample only.
        [start] if cyclic => Ok(TimeSampling::Uniform { start, step: cycle }),
        _ if cyclic => Ok(TimeSampling::Cyclic { times, period: cycle }),
        _ => Ok(TimeSampling::Acyclic { times }),
    }
}

/// Parses the headers of an object's children: u32 length · name · u8 metadata number (· u32 length ·
/// metadata), up to the last 32 bytes, which are hashes.
pub fn objects(bytes: &[u8], table: &[MetaData]) -> Result<Vec<(String, MetaData)>, RecordFault> {
    let mut bytes = RecordReader(&bytes[..bytes.len().saturating_sub(HASH_BYTES)]);
    let mut objects = Vec::new();
    while !bytes.0.is_empty() {
        let n = bytes.u32()? as usize;
        let name = name(bytes.take(n)?)?;
        if name.contains('/') {
            return Err("an object's name contains a slash");
        }
        let index = u32::from(bytes.array::<1>()?[0]);
        let meta = metadata(index, table, || {
            let n = bytes.u32()? as usize;
            Ok(MetaData(text(bytes.take(n)?)))
        })?;
        objects.push((name, meta));
    }
    Ok(objects)
}

/// A property header as stored.
pub struct PropertyRecord {
    pub name: String,
    pub kind: PropertyKind,
    pub pod: Pod,
    pub extent: usize,
    pub meta: MetaData,
    /// The number of samples.
    pub samples: u32,
    /// The first sample that differs from sample 0, and the last that differs from the one before it; (0, 0)
    /// if all are equal.
    pub changed: (u32, u32),
    /// The index of the time sampling.
    pub sampling: usize,
}

/// Returns the index, within a property's group, of the block that holds sample `i`; `changed` is as in
/// [`PropertyRecord::changed`].
pub fn slot((first, last): (u32, u32), i: usize) -> usize {
    let (first, last) = (first as usize, last as usize);
    if (first == 0 && last == 0) || i < first { 0 } else { i.min(last) - first + 1 }
}

/// Parses the headers of a compound's properties.
pub fn properties(bytes: &[u8], table: &[MetaData]) -> Result<Vec<PropertyRecord>, RecordFault> {
    let mut bytes = RecordReader(bytes);
    let mut records = Vec::new();
    while !bytes.0.is_empty() {
        records.push(property(&mut bytes, table)?);
    }
    Ok(records)
}

/// Parses one header: u32 info · samples · first, last changed · time sampling · name · metadata. The info
/// word gives the width of the counters and which of them are present.
fn property(bytes: &mut RecordReader, table: &[MetaData]) -> Result<PropertyRecord, RecordFault> {
    let info = bytes.u32()?;
    let hint = info >> 2 & 3;
    let kind = match info & 3 {
        0 => PropertyKind::Compound,
        1 => PropertyKind::Scalar,
        _ => PropertyKind::Array,
    };
    let (mut pod, mut extent) = (Pod::Bool, 1);
    let (mut samples, mut changed, mut sampling) = (0, (0, 0), 0);
    if kind != PropertyKind::Compound {
        pod = pod_from_code(info >> 4 & 0xF)?;
        extent = (info >> 12 & 0xFF) as usize;
        if extent == 0 {
            return Err("a property has elements of no size");
        }
        samples = bytes.counter(hint)?;
        if info & 0x200 != 0 {
            changed = (bytes.counter(hint)?, bytes.counter(hint)?);
        } else if info & 0x800 == 0 && samples > 1 {
            changed = (1, samples - 1);
        }
        if info & 0x100 != 0 {
            sampling = bytes.counter(hint)? as usize;
        }
        let (first, last) = changed;
        let in_order = (first == 0 && last == 0) || (0 < first && first <= last && last < samples);
        if !in_order {
            return Err("a property's changed samples are out of order");
        }
    }
    let n = bytes.counter(hint)? as usize;
    let name = name(bytes.take(n)?)?;
    let meta = metadata(info >> 20 & 0xFF, table, || {
        let n = bytes.counter(hint)? as usize;
        Ok(MetaData(text(bytes.take(n)?)))
    })?;
    Ok(PropertyRecord { name, kind, pod, extent, meta, samples, changed, sampling })
}

/// Returns the number type for its code, the same in both containers.
pub fn pod_from_code(code: u32) -> Result<Pod, RecordFault> {
    const PODS: [Pod; 14] = [
        Pod::Bool,
        Pod::U8,
        Pod::I8,
        Pod::U16,
        Pod::I16,
        Pod::U32,
        Pod::I32,
        Pod::U64,
        Pod::I64,
        Pod::F16,
        Pod::F32,
        Pod::F64,
        Pod::String,
        Pod::WString,
    ];
    let pod = PODS.get(code as usize).copied();
    pod.ok_or("a property holds numbers of an unknown type")
}
