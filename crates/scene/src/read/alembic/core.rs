//! Alembic's core model, which both containers (Ogawa, HDF5) offer and the schemas are read from: archive →
//! objects (tree) → properties (tree) → samples. ALEMBIC terms throughout.

use crate::{Error, Identity, TimeSampling};
use std::sync::Arc;

/// Type of one number ("plain old data").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Pod {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    F32,
    F64,
    String,
    WString,
}

/// Metadata of an object or property, in the archive's form `key=value;key=value`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetaData(pub String);

impl MetaData {
    /// Value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.split(';').find_map(|pair| pair.split_once('=').filter(|(k, _)| *k == key).map(|(_, v)| v))
    }
}

/// An object as its parent lists it.
#[derive(Clone, Debug)]
pub struct ObjectHeader {
    /// Name, unique among siblings, without `/`.
    pub name: String,
    /// Holds the schema.
    pub meta: MetaData,
    /// The container's handle for it.
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

/// A property as its compound lists it.
#[derive(Clone, Debug)]
pub struct PropertyHeader {
    /// Name, unique in its compound.
    pub name: String,
    /// Compound, scalar or array.
    pub kind: PropertyKind,
    /// Type of the numbers (meaningless for compounds).
    pub pod: Pod,
    /// Numbers per element, at least 1.
    pub extent: usize,
    /// Scope, interpretation, schema …
    pub meta: MetaData,
    /// Number of samples.
    pub samples: usize,
    /// The first sample that differs from sample 0, and the last that differs from the one before it; (0, 0)
    /// where all are equal. Between them samples may be equal too.
    pub changed: (usize, usize),
    /// Time sampling.
    pub sampling: Arc<TimeSampling>,
    /// The container's handle: for a compound to list it, else to read samples.
    pub id: u64,
}

/// A container. Everything is bounds-checked: no call panics or allocates more than the file's size
/// justifies.
pub trait Archive: Send + Sync {
    /// Path of the file, for messages.
    fn path(&self) -> &std::path::Path;
    /// "alembic-ogawa" or "alembic-hdf5".
    fn format(&self) -> &'static str;
    /// The archive's metadata.
    fn meta(&self) -> &MetaData;
    /// The top object ("ABC").
    fn top(&self) -> u64;
    /// Children of an object, in file order.
    fn children(&self, object: u64) -> Result<Vec<ObjectHeader>, Error>;
    /// The compound that holds an object's properties.
    fn properties_of(&self, object: u64) -> Result<u64, Error>;
    /// Properties of a compound, in file order.
    fn properties(&self, compound: u64) -> Result<Vec<PropertyHeader>, Error>;
    /// Identity of a sample: equal within the archive for equal data.
    fn identity(&self, property: u64, sample: usize) -> Result<Identity, Error>;
    /// Number of bytes of a sample's payload (all numbers, little-endian, flat; without the container's key).
    fn size(&self, property: u64, sample: usize) -> Result<usize, Error>;
    /// Replaces `out` by a sample's payload. Strings: each ended by a zero byte.
    fn read(&self, property: u64, sample: usize, out: &mut Vec<u8>) -> Result<(), Error>;
}
