//! HDF5 itself: groups, attributes and arrays by object address, to the extent that Alembic uses them.
//!
//! `hdf5-reader` parses each structure; the traversal is done here, for four reasons: listing a group of
//! 100,000 sample arrays must not open each of them; links out of the file are refused; memory and work are
//! bounded by the file's size (a few bytes of a hostile file can refer to the same large header a million
//! times); and a panic in the parser becomes an error.

use hdf5_reader::error::Error as Hdf5Error;
use hdf5_reader::fractal_heap::{FractalHeap, FractalHeapDirectBlockCache};
use hdf5_reader::io::Cursor;
use hdf5_reader::local_heap::LocalHeap;
use hdf5_reader::messages::attribute::AttributeMessage;
use hdf5_reader::messages::attribute_info::AttributeInfoMessage;
use hdf5_reader::messages::filter_pipeline::{FILTER_DEFLATE, FILTER_FLETCHER32, FILTER_SHUFFLE};
use hdf5_reader::messages::link::{LinkMessage, LinkTarget};
use hdf5_reader::messages::link_info::LinkInfoMessage;
use hdf5_reader::messages::symbol_table_msg::SymbolTableMessage;
use hdf5_reader::messages::{HdfMessage, attribute, link};
use hdf5_reader::object_header::ObjectHeader;
use hdf5_reader::superblock::Superblock;
use hdf5_reader::symbol_table::SymbolTableNode;
use hdf5_reader::{
    BlockCacheStorage, ByteOrder, Datatype, FileStorage, Hdf5File, OpenOptions, RangeRequestStorage, Storage,
    StorageBuffer, StringSize, btree_v1, btree_v2,
};
use meshreel_files::{FileSource, ReadAt, store};
use meshreel_scene::Error;
use meshreel_scene::layout::alembic::murmur3;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

/// Limit on structure reads, as a multiple of the file size. Listing a well-formed file reads each header
/// once or twice.
const MAX_STRUCTURE_READS: u64 = 32;
const MIN_STRUCTURE_BUDGET: u64 = 64 << 20;
/// Upper limit for the expansion of deflated data; deflate itself reaches about 1,032 to one.
const MAX_DEFLATE_RATIO: u64 = 1100;
/// Arrays of numbers stay far below that: one array may take this many bytes plus [`MAX_ARRAY_TO_FILE_RATIO`]
/// times the file size.
const MAX_ARRAY_BASE_BYTES: u64 = 64 << 20;
const MAX_ARRAY_TO_FILE_RATIO: u64 = 64;
/// A chunk may be larger than its array, if the array was meant to grow, but at most this many bytes.
const MAX_CHUNK_BYTES: u64 = 1 << 20;
/// The largest object header: 2,000 attributes of 32 KiB.
const MAX_HEADER_BYTES: usize = 64 << 20;

type Parsed<T> = Result<T, Hdf5Error>;

/// An open HDF5 file.
pub(super) struct Container {
    path: PathBuf,
    /// Reads the file's structure, cached in blocks, with a limit on all bytes read.
    structure: Arc<LimitedStorage>,
    /// Reads samples.
    raw: Arc<dyn Storage>,
    /// The byte from which HDF5's addresses count (after a user block).
    base: u64,
    offset_size: u8,
    length_size: u8,
    root: u64,
    /// The crate's own view of the file, opened only for rare features: chunked arrays and messages kept in
    /// another header.
    whole: OnceLock<Hdf5File>,
}

/// The named children and attributes of an object.
#[derive(Default)]
pub(super) struct Group {
    /// Name and object address, in order of creation if the file records it, otherwise by name.
    pub links: Vec<(String, u64)>,
    /// The attributes, in the order of the object's messages.
    pub attributes: Vec<AttributeMessage>,
    /// `false` if the address holds an array.
    pub is_group: bool,
}

/// The payload of one sample.
#[derive(Clone)]
pub(super) struct SamplePayload {
    pub location: SampleLocation,
    /// The size of the whole payload in bytes.
    pub size: u64,
    /// The size of one number in bytes.
    pub number_size: u8,
    pub big_endian: bool,
    /// A key that is equal for equal data.
    pub key: u128,
}

#[derive(Clone)]
pub(super) enum SampleLocation {
    /// Contiguous in the file, at this address.
    Contiguous(u64),
    /// Small enough to be kept in memory.
    Inline(Arc<[u8]>),
    /// In chunks, possibly compressed.
    Chunked,
}

impl Container {
    pub fn open(path: &Path) -> Result<Container, Error> {
        if store::url(path).is_some() {
            let bytes = FileSource::open(path).map_err(|source| Error::io(path, source))?;
            let length = bytes.len();
            let read = move |offset, length| {
                let mut out = vec![0; length];
                bytes.read_at(offset, &mut out)?;
                Ok(out)
            };
            return Container::new(path, Arc::new(RangeRequestStorage::new(length, read)));
        }
        match FileStorage::open(path) {
            Ok(raw) => Container::new(path, Arc::new(raw)),
            Err(Hdf5Error::Io(source)) => Err(Error::io(path, source)),
            Err(other) => Err(Error::malformed(path, other.to_string(), "open")),
        }
    }

    /// Opens a file through `raw`; `path` is for messages.
    pub fn new(path: &Path, raw: Arc<dyn Storage>) -> Result<Container, Error> {
        let budget = raw.len().saturating_mul(MAX_STRUCTURE_READS).saturating_add(MIN_STRUCTURE_BUDGET);
        let mut structure = LimitedStorage {
            inner: BlockCacheStorage::new(raw.clone(), 64 << 10, 256),
            base: 0,
            left: AtomicU64::new(budget),
        };
        let superblock = catch_panic(|| Superblock::parse_from_storage(&structure))
            .and_then(|s| s.root_object_header_address().map(|root| (s, root)));
        let (superblock, root) = superblock.map_err(|e| convert(path, e, "superblock"))?;
        if superblock.eof_address > raw.len() {
            let (has, needs) = (raw.len(), superblock.eof_address);
            let what = format!("cut short: {has} of {needs} bytes");
            return Err(Error::malformed(path, what, "superblock"));
        }
        structure.base = superblock.base_address;
        Ok(Container {
            path: path.into(),
            structure: Arc::new(structure),
            raw,
            base: superblock.base_address,
            offset_size: superblock.offset_size,
            length_size: superblock.length_size,
            root,
            whole: OnceLock::new(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the size of the file in bytes.
    pub fn len(&self) -> u64 {
        self.raw.len()
    }

    /// Returns the address of the root group.
    pub fn root(&self) -> u64 {
        self.root
    }

    /// Reads attributes and children of the object at `address`; `at` is its path.
    pub fn group(&self, address: u64, at: &str) -> Result<Group, Error> {
        catch_panic(|| self.parse_group(address)).map_err(|e| convert(&self.path, e, at))
    }

    /// Returns location and layout of the payload of the array at `address`.
    pub fn array(&self, address: u64, at: &str) -> Result<SamplePayload, Error> {
        catch_panic(|| self.parse_array(address)).map_err(|e| convert(&self.path, e, at))
    }

    /// Returns an attribute's value as a sample payload: numbers little-endian, strings ended by a zero byte.
    pub fn value(&self, attribute: &AttributeMessage, at: &str) -> Result<SamplePayload, Error> {
        let shape = element_layout(&attribute.datatype)
            .ok_or_else(|| Error::malformed(&self.path, "an attribute of no known type", at))?;
        let mut bytes = attribute.raw_data.clone();
        if shape.string {
            let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
            bytes.truncate(end);
            bytes.push(0);
        } else if shape.big_endian {
            swap(&mut bytes, shape.number_size);
        }
        Ok(SamplePayload {
            size: bytes.len() as u64,
            number_size: shape.number_size,
            big_endian: false,
            key: murmur3(&bytes),
            location: SampleLocation::Inline(bytes.into()),
        })
    }

    /// Replaces `out` by the payload. `at` must be the array's path within the HDF5 file.
    pub fn read(&self, data: &SamplePayload, at: &str, out: &mut Vec<u8>) -> Result<(), Error> {
        out.clear();
        let size = usize::try_from(data.size)
            .map_err(|_| Error::limit(&self.path, "bytes of a sample", data.size, usize::MAX as u64))?;
        match &data.location {
            SampleLocation::Inline(bytes) => out.extend_from_slice(bytes),
            SampleLocation::Contiguous(_) if size == 0 => {}
            SampleLocation::Contiguous(address) => {
                let offset = address
                    .checked_add(self.base)
                    .ok_or_else(|| Error::malformed(&self.path, "an address beyond 64 bits", at))?;
                let bytes = self.raw.read_range(offset, size).map_err(|e| convert(&self.path, e, at))?;
                out.extend_from_slice(&bytes);
            }
            SampleLocation::Chunked => {
                out.resize(size, 0);
                catch_panic(|| self.whole()?.dataset(at)?.read_raw_bytes_into(out))
                    .map_err(|e| convert(&self.path, e, at))?;
            }
        }
        if data.big_endian {
            swap(out, data.number_size);
        }
        Ok(())
    }

    fn whole(&self) -> Parsed<&Hdf5File> {
        if let Some(file) = self.whole.get() {
            return Ok(file);
        }
        let options = OpenOptions::default()
            .with_chunk_cache_bytes(4 << 20)
            .with_max_read_bytes(in_memory(self.max_array_bytes()).unwrap_or(usize::MAX))
            .with_max_chunk_bytes(in_memory(self.max_array_bytes().max(MAX_CHUNK_BYTES))?)
            .with_max_object_header_bytes(MAX_HEADER_BYTES);
        let file = Hdf5File::from_storage_with_options(self.raw.clone(), options)?;
        Ok(self.whole.get_or_init(|| file))
    }

    /// Returns the upper limit for the bytes of any unpacked array, which depends on the file's size.
    fn max_array_bytes(&self) -> u64 {
        let most = self.len().saturating_mul(MAX_ARRAY_TO_FILE_RATIO);
        let deflated = self.len().saturating_mul(MAX_DEFLATE_RATIO);
        deflated.min(most.saturating_add(MAX_ARRAY_BASE_BYTES))
    }

    /// Checks that an array in chunks of `chunk` bytes with these filters takes no more memory than its size
    /// and the file justify. Data compressed twice is refused, since it expands without bound.
    fn check_chunks(&self, size: u64, chunk: Option<u64>, filters: &[u16]) -> Parsed<()> {
        let wrong = |what: String| Err(Hdf5Error::InvalidData(what));
        if size > self.max_array_bytes() {
            return wrong(format!("an array of {size} bytes, more than the file can hold"));
        }
        if chunk.is_none_or(|chunk| chunk > size.max(MAX_CHUNK_BYTES)) {
            return wrong(format!("chunks larger than their array of {size} bytes"));
        }
        let known = [FILTER_DEFLATE, FILTER_SHUFFLE, FILTER_FLETCHER32];
        if let Some(other) = filters.iter().find(|id| !known.contains(id)) {
            return Err(Hdf5Error::UnsupportedFilter(format!("filter {other}")));
        }
        let twice = |id: &u16| filters.iter().filter(|other| *other == id).count() > 1;
        match filters.iter().find(|id| twice(id)) {
            Some(id) => wrong(format!("an array that is packed twice by filter {id}")),
            None => Ok(()),
        }
    }

    fn header(&self, address: u64) -> Parsed<ObjectHeader> {
        let header = ObjectHeader::parse_at_storage_with_limit(
            self.structure.as_ref(),
            address,
            self.offset_size,
            self.length_size,
            MAX_HEADER_BYTES,
        )?;
        if header.messages.iter().any(|m| matches!(m, HdfMessage::Shared(_))) {
            return Ok(self.whole()?.get_or_parse_header(address)?.as_ref().clone());
        }
        Ok(header)
    }

    fn parse_group(&self, address: u64) -> Parsed<Group> {
        let mut group = Group { is_group: true, ..Group::default() };
        let mut links = Vec::new();
        for message in self.header(address)?.messages {
            match message {
                HdfMessage::Attribute(attribute) => group.attributes.push(attribute),
                HdfMessage::AttributeInfo(info) => self.dense_attributes(&info, &mut group.attributes)?,
                HdfMessage::Link(link) => links.push(link),
                HdfMessage::LinkInfo(info) => self.dense_links(&info, &mut links)?,
                HdfMessage::SymbolTable(table) => self.symbol_table(&table, &mut links)?,
                HdfMessage::DataLayout(_) => group.is_group = false,
                _ => {}
            }
        }
        if links.iter().all(|l| l.creation_order.is_some()) {
            links.sort_by_key(|l| l.creation_order);
        } else {
            links.sort_by(|a, b| a.name.cmp(&b.name));
        }
        for link in links {
            match link.target {
                LinkTarget::Hard { address } => group.links.push((link.name, address)),
                _ => {
                    return Err(Hdf5Error::UnsupportedEncoding(format!(
                        "{:?} is a soft or external link, which Alembic does not write",
                        link.name
                    )));
                }
            }
        }
        Ok(group)
    }

    fn parse_array(&self, address: u64) -> Parsed<SamplePayload> {
        let (mut shape, mut count, mut layout, mut key) = (None, None, None, None);
        let mut filters = Vec::new();
        for message in self.header(address)?.messages {
            match message {
                HdfMessage::Datatype(t) => shape = element_layout(&t.datatype),
                HdfMessage::Dataspace(space) => count = Some(space.num_elements()?),
                HdfMessage::DataLayout(l) => layout = Some(l.layout),
                HdfMessage::FilterPipeline(p) => filters = p.filters.iter().map(|f| f.id).collect(),
                HdfMessage::Attribute(a) if a.name == "key" => {
                    key = <[u8; 16]>::try_from(a.raw_data.as_slice()).ok().map(u128::from_le_bytes);
                }
                _ => {}
            }
        }
        let (Some(shape), Some(count), Some(layout)) = (shape, count, layout) else {
            return Err(Hdf5Error::InvalidData("not an array of numbers".into()));
        };
        let size = count
            .checked_mul(shape.bytes)
            .ok_or_else(|| Hdf5Error::InvalidData("an array beyond 64 bits".into()))?;
        use hdf5_reader::messages::layout::DataLayout;
        let place = match layout {
            DataLayout::Compact { mut data } => {
                if (data.len() as u64) < size {
                    return Err(Hdf5Error::InvalidData("an array longer than its data".into()));
                }
                data.truncate(size as usize);
                SampleLocation::Inline(data.into())
            }
            DataLayout::Contiguous { .. } if size == 0 => SampleLocation::Contiguous(0),
            DataLayout::Contiguous { address, size: stored } => {
                let end = address.checked_add(size).and_then(|end| end.checked_add(self.base));
                if stored < size || end.is_none_or(|end| end > self.len()) {
                    return Err(Hdf5Error::InvalidData(format!(
                        "an array of {size} bytes at {address:#x} that are not there"
                    )));
                }
                SampleLocation::Contiguous(address)
            }
            DataLayout::Chunked { dims, .. } => {
                let mut dims = dims.iter().map(|&n| u64::from(n));
                let chunk = dims.try_fold(shape.bytes, |bytes, n| bytes.checked_mul(n));
                self.check_chunks(size, chunk, &filters)?;
                SampleLocation::Chunked
            }
        };
        // An array without a key is equal only to itself, that is to other links to it.
        let key = key.unwrap_or_else(|| u128::from(address) << 64 | u128::from(size));
        Ok(SamplePayload {
            location: place,
            size,
            number_size: shape.number_size,
            big_endian: shape.big_endian,
            key,
        })
    }

    fn dense_attributes(&self, info: &AttributeInfoMessage, out: &mut Vec<AttributeMessage>) -> Parsed<()> {
        use btree_v2::BTreeV2Record::{AttributeCreationOrder, AttributeNameHash};
        let index = match info.btree_creation_order_address {
            Some(a) if !Cursor::is_undefined_offset(a, self.offset_size) => a,
            _ => info.btree_name_index_address,
        };
        let ordered = info.creation_order_tracked;
        let mut found = Vec::new();
        self.heap_objects(info.fractal_heap_address, index, |record, bytes| {
            let order = match record {
                AttributeNameHash { creation_order, .. } if ordered => u64::from(creation_order),
                AttributeCreationOrder { order, .. } => u64::from(order),
                _ => 0,
            };
            let cursor = &mut Cursor::new(bytes);
            found.push((order, attribute::parse(cursor, self.offset_size, self.length_size, bytes.len())?));
            Ok(())
        })?;
        found.sort_by(|a, b| (a.0, &a.1.name).cmp(&(b.0, &b.1.name)));
        out.extend(found.into_iter().map(|(_, attribute)| attribute));
        Ok(())
    }

    fn dense_links(&self, info: &LinkInfoMessage, out: &mut Vec<LinkMessage>) -> Parsed<()> {
        self.heap_objects(info.fractal_heap_address, info.btree_name_index_address, |_, bytes| {
            let cursor = &mut Cursor::new(bytes);
            out.push(link::parse(cursor, self.offset_size, self.length_size, bytes.len())?);
            Ok(())
        })
    }

    /// Passes all objects of a fractal heap that a version 2 B-tree lists to `take`.
    fn heap_objects(
        &self,
        heap: u64,
        index: u64,
        mut take: impl FnMut(btree_v2::BTreeV2Record, &[u8]) -> Parsed<()>,
    ) -> Parsed<()> {
        use btree_v2::BTreeV2Record::*;
        if Cursor::is_undefined_offset(heap, self.offset_size) {
            return Ok(());
        }
        let (storage, o, l) = (self.structure.as_ref(), self.offset_size, self.length_size);
        let heap = FractalHeap::parse_at_storage(storage, heap, o, l)?;
        if heap.io_filters_len != 0 {
            return Err(Hdf5Error::UnsupportedEncoding("a filtered heap of names".into()));
        }
        let tree = btree_v2::BTreeV2Header::parse_at_storage(storage, index, o, l)?;
        let records = btree_v2::collect_btree_v2_records_storage(storage, &tree, o, l, None, &[], None)?;
        let mut blocks = FractalHeapDirectBlockCache::default();
        for record in records {
            let id = match &record {
                LinkNameHash { heap_id, .. }
                | CreationOrder { heap_id, .. }
                | AttributeNameHash { heap_id, .. }
                | AttributeCreationOrder { heap_id, .. } => heap_id,
                _ => return Err(Hdf5Error::InvalidData("an index of something else".into())),
            };
            let bytes = heap.get_object_storage_cached(id, storage, o, l, &mut blocks)?;
            // Many records may refer to one object, whose block is read only once.
            self.structure.charge(bytes.len())?;
            take(record, &bytes)?;
        }
        Ok(())
    }

    /// Reads the children of a group in the oldest layout: a B-tree of nodes, with the names in a heap.
    fn symbol_table(&self, table: &SymbolTableMessage, out: &mut Vec<LinkMessage>) -> Parsed<()> {
        let (storage, o, l) = (self.structure.as_ref(), self.offset_size, self.length_size);
        let nodes =
            btree_v1::collect_btree_v1_leaves_storage(storage, table.btree_address, o, l, None, &[], None)?;
        if nodes.is_empty() {
            return Ok(());
        }
        let heap = LocalHeap::parse_at_storage(storage, table.heap_address, o, l)?;
        let names = storage.read_range(heap.data_segment_address, in_memory(heap.data_segment_size)?)?;
        for (_, address) in nodes {
            let count = storage.read_range(address, 8)?;
            let count = usize::from(u16::from_le_bytes([count[6], count[7]]));
            let node = storage.read_range(address, 8 + count * (2 * usize::from(o) + 24))?;
            for entry in SymbolTableNode::parse(&mut Cursor::new(&node), o, l)?.entries {
                let name = names
                    .get(in_memory(entry.link_name_offset)?..)
                    .and_then(|rest| rest.split(|&b| b == 0).next())
                    .ok_or_else(|| Hdf5Error::InvalidData("a name outside of its heap".into()))?;
                let soft = entry.cache_type == 2;
                self.structure.charge(name.len())?;
                out.push(LinkMessage {
                    name: String::from_utf8_lossy(name).into_owned(),
                    target: match soft {
                        true => LinkTarget::Soft { path: String::new() },
                        false => LinkTarget::Hard { address: entry.object_header_address },
                    },
                    creation_order: None,
                });
            }
        }
        Ok(())
    }
}

/// Storage for structure: addresses count from `base`, and the total of bytes read is limited.
struct LimitedStorage {
    inner: BlockCacheStorage,
    base: u64,
    left: AtomicU64,
}

impl LimitedStorage {
    fn charge(&self, bytes: usize) -> Parsed<()> {
        // Each read has a cost, however short.
        let cost = bytes as u64 + 16;
        match self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(cost)) {
            Ok(_) => Ok(()),
            Err(_) => Err(Hdf5Error::ResourceLimit("the same bytes are referred to over and over".into())),
        }
    }
}

impl Storage for LimitedStorage {
    fn len(&self) -> u64 {
        self.inner.len().saturating_sub(self.base)
    }

    fn read_range(&self, offset: u64, len: usize) -> Parsed<StorageBuffer> {
        self.charge(len)?;
        let offset = offset.checked_add(self.base).ok_or(Hdf5Error::OffsetOutOfBounds(offset))?;
        self.inner.read_range(offset, len)
    }
}

/// The layout of a type in numbers.
struct ElementLayout {
    /// The size of one number in bytes.
    number_size: u8,
    /// The size of the whole type in bytes.
    bytes: u64,
    big_endian: bool,
    string: bool,
}

/// Returns the layout of a type; `None` for types that Alembic does not use.
fn element_layout(datatype: &Datatype) -> Option<ElementLayout> {
    let number = |word: u8, order: &ByteOrder| {
        let big_endian = *order == ByteOrder::BigEndian && word > 1;
        matches!(word, 1 | 2 | 4 | 8).then_some(ElementLayout {
            number_size: word,
            bytes: word.into(),
            big_endian,
            string: false,
        })
    };
    match datatype {
        Datatype::FixedPoint { size, byte_order, .. }
        | Datatype::FloatingPoint { size, byte_order }
        | Datatype::Bitfield { size, byte_order } => number(*size, byte_order),
        Datatype::String { size: StringSize::Fixed(n), .. } => {
            Some(ElementLayout { number_size: 1, bytes: (*n).into(), big_endian: false, string: true })
        }
        Datatype::Array { base, dims } => {
            let mut e = element_layout(base)?;
            for &n in dims {
                e.bytes = e.bytes.checked_mul(n)?;
            }
            Some(e)
        }
        Datatype::Enum { base, .. } => element_layout(base),
        _ => None,
    }
}

fn swap(bytes: &mut [u8], word: u8) {
    for number in bytes.chunks_exact_mut(usize::from(word).max(1)) {
        number.reverse();
    }
}

fn in_memory(size: u64) -> Parsed<usize> {
    usize::try_from(size).map_err(|_| Hdf5Error::OffsetOutOfBounds(size))
}

/// Turns a panic of the crate, should one occur on a hostile file, into an error of the file. No state of the
/// crate is shared between calls, so none can be left half changed.
fn catch_panic<T>(work: impl FnOnce() -> Parsed<T>) -> Parsed<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(Hdf5Error::InvalidData("the HDF5 parser gave up".into())))
}

fn convert(path: &Path, error: Hdf5Error, at: &str) -> Error {
    use Hdf5Error::*;
    let what = error.to_string();
    match error {
        Io(source) => Error::io(path, source),
        UnsupportedFilter(_) | UnsupportedEncoding(_) | UnsupportedSuperblockVersion(_) => {
            Error::unsupported(path, format!("{what} (in {at})"))
        }
        _ => Error::malformed(path, what, at),
    }
}
