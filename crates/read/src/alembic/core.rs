//! Alembic's core model, which both containers (Ogawa, HDF5) provide and from which the schemas are read:
//! archive → objects (tree) → properties (tree) → samples. The terms are Alembic's.

use meshreel_scene::layout::alembic::Pod;
use meshreel_scene::{Error, Identity, TimeSampling};
use std::sync::Arc;

/// The metadata of an object or property, in the archive's form `key=value;key=value`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetaData(pub String);

impl MetaData {
    /// Returns the value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.split(';').find_map(|pair| pair.split_once('=').filter(|(k, _)| *k == key).map(|(_, v)| v))
    }
}

/// The header of an object, as its parent lists it.
#[derive(Clone, Debug)]
pub struct ObjectHeader {
    /// The name, unique among siblings, without `/`.
    pub name: String,
    /// The metadata, which names the schema.
    pub meta: MetaData,
    /// The container's handle for the object.
    pub id: u64,
}

/// The kind of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyKind {
    /// Holds properties.
    Compound,
    /// One element (of `extent` numbers) per sample.
    Scalar,
    /// An array of elements per sample.
    Array,
}

/// The header of a property, as its compound lists it.
#[derive(Clone, Debug)]
pub struct PropertyHeader {
    /// The name, unique within its compound.
    pub name: String,
    /// Compound, scalar or array.
    pub kind: PropertyKind,
    /// The type of the numbers (meaningless for compounds).
    pub pod: Pod,
    /// The number of numbers per element, at least 1.
    pub extent: usize,
    /// Metadata such as scope, interpretation and schema.
    pub meta: MetaData,
    /// The number of samples.
    pub samples: usize,
    /// The first sample that differs from sample 0, and the last that differs from the one before it; (0, 0)
    /// if all are equal. Samples between them may also be equal.
    pub changed: (usize, usize),
    /// The time sampling.
    pub sampling: Arc<TimeSampling>,
    /// The container's handle: lists a compound's properties, or reads the samples of another property.
    pub id: u64,
}

/// A container. Everything is bounds-checked: no call panics or allocates more than the file's size
/// justifies.
pub trait Archive: Send + Sync {
    /// Returns the path of the file, for messages.
    fn path(&self) -> &std::path::Path;
    /// Returns "alembic-ogawa" or "alembic-hdf5".
    fn format(&self) -> &'static str;
    /// Returns the archive's metadata.
    fn meta(&self) -> &MetaData;
    /// Returns the handle of the top object ("ABC").
    fn top(&self) -> u64;
    /// Returns the children of an object, in file order.
    fn children(&self, object: u64) -> Result<Vec<ObjectHeader>, Error>;
    /// Returns the compound that holds an object's properties.
    fn properties_of(&self, object: u64) -> Result<u64, Error>;
    /// Returns the properties of a compound, in file order.
    fn properties(&self, compound: u64) -> Result<Vec<PropertyHeader>, Error>;
    /// Returns the identity of a sample; samples with equal data have equal identities within the archive.
    fn identity(&self, property: u64, sample: usize) -> Result<Identity, Error>;
    /// Returns the size of a sample's payload in bytes (all numbers, little-endian, flat; without the
    /// container's key).
    fn size(&self, property: u64, sample: usize) -> Result<usize, Error>;
    /// Replaces `out` by a sample's payload. Strings are each ended by a zero byte.
    fn read(&self, property: u64, sample: usize, out: &mut Vec<u8>) -> Result<(), Error>;
}
