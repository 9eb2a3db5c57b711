//! Alembic in the Ogawa container. Structure is read on demand, samples one by one; identical samples are
//! recognized by the 16-byte keys in front of them.
//!
//! ```text
//! archive   0 version · 1 library version · 2 top object · 3 metadata · 4 time samplings · 5 indexed metadata
//! object    0 compound · 1…n child objects · last: headers of the children and 32 bytes of hashes
//! compound  0…n−1 properties · last: their headers
//! scalar    one block per stored slot              block: 16-byte key · values
//! array     two blocks per stored slot: values, dimensions
//! ```

mod container;
pub(super) mod headers;

use super::core::{Archive, MetaData, ObjectHeader, PropertyHeader, PropertyKind};
use container::{Container, Reference};
use meshreel_files::PositionedFile;
use meshreel_scene::{Error, Identity, TimeSampling};
use std::path::Path;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// The newest supported file version.
const FILE_VERSION: i32 = 0;
/// The oldest library version whose files are read; no older one used this container.
const LIBRARY_VERSION: i32 = 9999;
/// Size in bytes of the key before each sample.
const KEY_BYTES: usize = 16;

/// An open archive.
pub struct Ogawa {
    container: Container,
    meta: MetaData,
    indexed: Vec<MetaData>,
    samplings: Vec<Arc<TimeSampling>>,
    top: u64,
    /// The properties listed so far; their handles are indices into this.
    properties: RwLock<Vec<Arc<Property>>>,
}

/// The layout of a property, as needed to read its samples.
struct Property {
    group: Reference,
    is_array: bool,
    samples: usize,
    changed: (u32, u32),
    /// The reference of each stored slot, loaded on first use.
    slots: OnceLock<Box<[Reference]>>,
    /// The identity of slot 0, cached since constant properties are often asked for it.
    first_identity: OnceLock<Identity>,
}

impl Ogawa {
    /// Opens a file that begins with `Ogawa`.
    pub fn open(file: PositionedFile) -> Result<Ogawa, Error> {
        let container = Container::open(file)?;
        let root = container.group(container.root())?;
        let child = |i: usize| -> Result<Reference, Error> {
            let child = root.get(i).copied();
            child.ok_or_else(|| container.malformed("archive with too few parts", 8))
        };
        let number = |i: usize| -> Result<i32, Error> {
            let head = container.data_head::<4>(child(i)?)?;
            if head.size != 4 {
                return Err(container.malformed("archive without versions", child(i)?.offset()));
            }
            Ok(i32::from_le_bytes(head.first))
        };
        let bytes = |i: usize| container.structure(child(i)?);
        let fault = |what: &str, i: usize| container.malformed(what, root[i].offset());

        let version = number(0)?;
        if !(0..=FILE_VERSION).contains(&version) {
            let what = format!("Alembic-Ogawa version {version}; {FILE_VERSION} is the newest known");
            return Err(Error::unsupported(container.path(), what));
        }
        let library = number(1)?;
        if library < LIBRARY_VERSION {
            let what = format!("written by Alembic library version {library}, which never existed");
            return Err(Error::unsupported(container.path(), what));
        }
        let top = child(2)?;
        if top.is_data() {
            return Err(container.malformed("the top object is not a group", top.offset()));
        }
        let meta = MetaData(String::from_utf8_lossy(&bytes(3)?).into_owned());
        let samplings = headers::time_samplings(&bytes(4)?).map_err(|what| fault(what, 4))?;
        let indexed = headers::indexed_metadata(&bytes(5)?).map_err(|what| fault(what, 5))?;
        Ok(Ogawa {
            meta,
            indexed,
            samplings: samplings.into_iter().map(Arc::new).collect(),
            top: top.offset(),
            properties: RwLock::default(),
            container,
        })
    }

    fn property(&self, id: u64) -> Result<Arc<Property>, Error> {
        let properties = self.properties.read().unwrap_or_else(PoisonError::into_inner);
        let property = usize::try_from(id).ok().and_then(|i| properties.get(i));
        property.cloned().ok_or_else(|| Error::misuse("no such property of this archive"))
    }

    /// Returns the block that holds a sample.
    fn block(&self, property: &Property, sample: usize) -> Result<Reference, Error> {
        if sample >= property.samples {
            return Err(Error::misuse(format!(
                "sample {sample} asked of a property with {}",
                property.samples
            )));
        }
        let slots = match property.slots.get() {
            Some(slots) => slots,
            None => {
                let slots = self.slots(property)?;
                property.slots.get_or_init(|| slots)
            }
        };
        let slot = headers::slot(property.changed, sample);
        slots.get(slot).copied().ok_or_else(|| {
            let what = "a property has fewer stored samples than its header says";
            self.container.malformed(what, property.group.offset())
        })
    }

    /// Returns the references of a property's value blocks.
    fn slots(&self, property: &Property) -> Result<Box<[Reference]>, Error> {
        let children = self.container.group(property.group)?;
        let step = if property.is_array { 2 } else { 1 };
        let slots: Box<[Reference]> = children.into_iter().step_by(step).collect();
        // A reference out of the file is found when the file is opened, not in the middle of a long job.
        for slot in &slots {
            self.container.check_data(*slot)?;
        }
        Ok(slots)
    }
}

impl Archive for Ogawa {
    fn path(&self) -> &Path {
        self.container.path()
    }

    fn format(&self) -> &'static str {
        "alembic-ogawa"
    }

    fn meta(&self) -> &MetaData {
        &self.meta
    }

    fn top(&self) -> u64 {
        self.top
    }

    fn children(&self, object: u64) -> Result<Vec<ObjectHeader>, Error> {
        let parts = self.container.group(Reference::group(object))?;
        let Some((headers, parts)) = parts.split_last().filter(|(last, _)| last.is_data()) else {
            return Ok(Vec::new());
        };
        let records = headers::objects(&self.container.structure(*headers)?, &self.indexed)
            .map_err(|what| self.container.malformed(what, headers.offset()))?;
        let mut groups = parts.iter().skip(1);
        let mut children = Vec::with_capacity(records.len());
        for (name, meta) in records {
            match groups.next() {
                Some(group) if !group.is_data() => {
                    children.push(ObjectHeader { name, meta, id: group.offset() })
                }
                _ => {
                    let what = "an object lists children that it does not have";
                    return Err(self.container.malformed(what, headers.offset()));
                }
            }
        }
        Ok(children)
    }

    fn properties_of(&self, object: u64) -> Result<u64, Error> {
        let parts = self.container.group(Reference::group(object))?;
        match parts.first() {
            Some(first) if !first.is_data() => Ok(first.offset()),
            Some(first) if !first.is_empty() && parts.len() > 1 => {
                let what = "an object's properties are not a group";
                Err(self.container.malformed(what, first.offset()))
            }
            _ => Ok(0),
        }
    }

    fn properties(&self, compound: u64) -> Result<Vec<PropertyHeader>, Error> {
        let parts = self.container.group(Reference::group(compound))?;
        let Some((headers, groups)) = parts.split_last() else {
            return Ok(Vec::new());
        };
        let malformed = |what: &str| self.container.malformed(what, headers.offset());
        let bytes = self.container.structure(*headers)?;
        let records = headers::properties(&bytes, &self.indexed).map_err(malformed)?;
        if records.len() > groups.len() {
            return Err(malformed("a compound lists properties that it does not have"));
        }
        // Only a constant property can claim this many samples in so small a file; the count is refused,
        // since a walk over all samples would take hours.
        let most_samples = (self.container.length() / 8).max(1 << 16);
        let mut own = Vec::new();
        let mut list = Vec::with_capacity(records.len());
        for (record, group) in records.into_iter().zip(groups) {
            if group.is_data() {
                return Err(malformed("a property is not a group"));
            }
            if u64::from(record.samples) > most_samples {
                return Err(malformed("a property has more samples than the file has room for"));
            }
            let sampling = self.samplings.get(record.sampling).cloned();
            // Compounds have no sampling; an archive without any sampling may still have compounds.
            let sampling = match (sampling, record.kind) {
                (Some(sampling), _) => sampling,
                (None, PropertyKind::Compound) => Arc::new(TimeSampling::Acyclic { times: vec![0.0] }),
                (None, _) => return Err(malformed("time sampling out of range")),
            };
            // For compounds the group's offset; for others set below, once the index is known.
            let id = match record.kind {
                PropertyKind::Compound => group.offset(),
                kind => {
                    own.push((
                        list.len(),
                        Arc::new(Property {
                            group: *group,
                            is_array: kind == PropertyKind::Array,
                            samples: record.samples as usize,
                            changed: record.changed,
                            slots: OnceLock::new(),
                            first_identity: OnceLock::new(),
                        }),
                    ));
                    0
                }
            };
            list.push(PropertyHeader {
                name: record.name,
                kind: record.kind,
                pod: record.pod,
                extent: record.extent,
                meta: record.meta,
                samples: record.samples as usize,
                changed: (record.changed.0 as usize, record.changed.1 as usize),
                sampling,
                id,
            });
        }
        let mut properties = self.properties.write().unwrap_or_else(PoisonError::into_inner);
        for (position, property) in own {
            list[position].id = properties.len() as u64;
            properties.push(property);
        }
        Ok(list)
    }

    fn identity(&self, property: u64, sample: usize) -> Result<Identity, Error> {
        let property = self.property(property)?;
        let is_first = headers::slot(property.changed, sample) == 0;
        if let Some(first) = property.first_identity.get().filter(|_| is_first) {
            return Ok(*first);
        }
        let block = self.block(&property, sample)?;
        let head = self.container.data_head::<KEY_BYTES>(block)?;
        let key = Identity::from_le_bytes(head.first);
        let identity = match (head.size as usize).saturating_sub(KEY_BYTES) {
            // A block with only the key and a missing block are both empty.
            0 => 0,
            // Blank keys identify nothing; then the offset does.
            _ if key == 0 => !Identity::from(block.offset()),
            size => key.wrapping_add((size as Identity).rotate_left(64)),
        };
        if is_first {
            let _ = property.first_identity.set(identity);
        }
        Ok(identity)
    }

    fn size(&self, property: u64, sample: usize) -> Result<usize, Error> {
        let property = self.property(property)?;
        let block = self.block(&property, sample)?;
        let size = self.container.data_head::<0>(block)?.size;
        Ok((size as usize).saturating_sub(KEY_BYTES))
    }

    fn read(&self, property: u64, sample: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        let property = self.property(property)?;
        let block = self.block(&property, sample)?;
        self.container.read(block, KEY_BYTES, out)
    }
}

#[cfg(test)]
mod tests;
