//! Packages, `.usdz`: ZIP archives whose layers are neither compressed nor encrypted, so that each is a part
//! of the file. The first entry is the layer that is opened.

use super::bytes::LayerBytes;
use meshreel_scene::Error;
use std::collections::HashMap;

/// The size in bytes of the end record, and of the longest comment after it.
const END_RECORD_BYTES: u64 = 22;
const MAX_COMMENT_BYTES: u64 = 65_535;

/// An open package.
pub struct Package {
    bytes: LayerBytes,
    /// For each name the start of the local header and the size in bytes; `None` for a compressed or
    /// encrypted entry.
    entries: HashMap<String, Option<(u64, u64)>>,
    /// The name of the first entry.
    pub first: String,
    /// The size of its list of entries in bytes.
    pub listing_bytes: u64,
}

/// `true` if the first bytes are those of a package.
pub fn is_package(start: &[u8]) -> bool {
    start.starts_with(b"PK\x03\x04")
}

fn u16_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 2).map_or(0, |b| u64::from(u16::from_le_bytes([b[0], b[1]])))
}

fn u32_at(bytes: &[u8], at: usize) -> u64 {
    u16_at(bytes, at) | u16_at(bytes, at + 2) << 16
}

impl Package {
    pub fn open(bytes: LayerBytes) -> Result<Package, Error> {
        let length = bytes.length();
        let tail = length.min(END_RECORD_BYTES + MAX_COMMENT_BYTES);
        let end = bytes.read(length - tail, tail)?;
        let record = end.windows(4).rposition(|four| four == b"PK\x05\x06");
        let Some(record) = record.filter(|at| end.len() - at >= END_RECORD_BYTES as usize) else {
            return Err(bytes.malformed("is a package without a list of entries", length));
        };
        let record = &end[record..];
        let (count, size, start) = (u16_at(record, 10), u32_at(record, 12), u32_at(record, 16));
        if count == 0xFFFF || start == 0xFFFF_FFFF {
            let what = "a package of more than 4 GiB or 65,534 entries; unpack it and name the file in it";
            return Err(Error::unsupported(bytes.name(), what));
        }
        let list = bytes.read(start, size)?;
        let mut package =
            Package { bytes, entries: HashMap::new(), first: String::new(), listing_bytes: size };
        let (mut at, mut least) = (0usize, u64::MAX);
        for _ in 0..count {
            let head = list.get(at..at.saturating_add(46)).filter(|head| head.starts_with(b"PK\x01\x02"));
            let Some(head) = head else {
                return Err(package.bytes.malformed("the list of a package's entries is cut short", start));
            };
            let (flags, method) = (u16_at(head, 8), u16_at(head, 10));
            let (stored, offset) = (u32_at(head, 20), u32_at(head, 42));
            let name = at + 46..at + 46 + u16_at(head, 28) as usize;
            let next = name.end + (u16_at(head, 30) + u16_at(head, 32)) as usize;
            let Some(name) = list.get(name) else {
                return Err(package.bytes.malformed("the list of a package's entries is cut short", start));
            };
            let name = String::from_utf8_lossy(name).into_owned();
            if offset < least {
                least = offset;
                package.first.clone_from(&name);
            }
            let is_stored = method == 0 && flags & 1 == 0;
            package.entries.insert(name, is_stored.then_some((offset, stored)));
            at = next;
        }
        match package.entries.is_empty() {
            true => Err(package.bytes.malformed("is a package without entries", start)),
            false => Ok(package),
        }
    }

    pub fn length(&self) -> u64 {
        self.bytes.length()
    }

    /// Makes an error for a package whose entries together exceed its size.
    pub fn overlap(&self) -> Error {
        self.bytes.malformed("entries of the package lie over each other", self.length())
    }

    /// Returns the bytes of an entry; `None` if there is none of that name.
    pub fn entry(&self, name: &str) -> Result<Option<LayerBytes>, Error> {
        let Some(entry) = self.entries.get(name) else {
            return Ok(None);
        };
        let Some((at, length)) = *entry else {
            let what = format!("its entry '{name}' is compressed or encrypted; store it as it is");
            return Err(Error::unsupported(self.bytes.name(), what));
        };
        let head = self.bytes.read(at, 30)?;
        let start = at + 30 + u16_at(&head, 26) + u16_at(&head, 28);
        let mut own = self.bytes.name().as_os_str().to_owned();
        own.push(format!("[{name}]"));
        match self.bytes.slice(start, length, own.into()).filter(|_| is_package(&head)) {
            Some(bytes) => Ok(Some(bytes)),
            None => Err(self.bytes.malformed(format!("the entry '{name}' is not there"), at)),
        }
    }
}
