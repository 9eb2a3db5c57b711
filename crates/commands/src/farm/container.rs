//! The files of a farm: sections behind a magic number, with a checksum over everything.
//!
//! ```text
//! offset  size  meaning
//! 0       8     magic number: MRPLAN or MRPART, then 0x1A 0x0A
//! 8       4     version, little-endian as everything
//! 12      …     sections: u32 kind, u64 size, that many bytes
//! end−16  16    XXH3 of all bytes before it, 128 bits
//! ```
//!
//! A file has its name when it is complete (`meshreel_files::Temporary`); a reader checks all of it before it
//! believes any.

use crate::failure::{Class, Failure};
use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use xxhash_rust::xxh3::Xxh3;

/// The version that is written, and the only one that is read: plans and parts are temporary files, not
/// archives.
const VERSION: u32 = 2;
const HEADER_BYTES: u64 = 12;
const HASH_BYTES: u64 = 16;
/// Size of a read, in bytes.
const READ_BYTES: usize = 1 << 17;

/// The kind of a farm file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarmFileKind {
    /// A plan: the decisions of the compiler.
    Plan,
    /// A part: some of the units.
    Part,
}

impl FarmFileKind {
    fn magic(self) -> [u8; 8] {
        match self {
            FarmFileKind::Plan => *b"MRPLAN\x1A\n",
            FarmFileKind::Part => *b"MRPART\x1A\n",
        }
    }

    fn name(self) -> &'static str {
        match self {
            FarmFileKind::Plan => "a plan ('meshreel plan' makes one)",
            FarmFileKind::Part => "a part ('meshreel part' makes one)",
        }
    }
}

/// The hash of a file's content, which is its identity.
pub type ContentHash = [u8; 16];

/// Writes a farm file, section by section.
pub struct Writer {
    file: BufWriter<File>,
    temporary: meshreel_files::Temporary,
    hash: Xxh3,
    written: u64,
}

impl Writer {
    /// Creates a file that will be at `target`.
    pub fn create(target: &Path, kind: FarmFileKind) -> Result<Writer, Failure> {
        let made = meshreel_files::Temporary::create(target)
            .and_then(|temporary| Ok((temporary.file().try_clone()?, temporary)));
        let (file, temporary) = made.map_err(|error| Failure::io(target, &error))?;
        let file = BufWriter::with_capacity(READ_BYTES, file);
        let mut writer = Writer { file, temporary, hash: Xxh3::new(), written: 0 };
        writer.write_hashed(&kind.magic())?;
        writer.write_hashed(&VERSION.to_le_bytes())?;
        Ok(writer)
    }

    /// Adds a section.
    pub fn section(&mut self, kind: u32, bytes: &[u8]) -> Result<(), Failure> {
        self.write_hashed(&kind.to_le_bytes())?;
        self.write_hashed(&(bytes.len() as u64).to_le_bytes())?;
        self.write_hashed(bytes)
    }

    fn write_hashed(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.hash.update(bytes);
        self.written += bytes.len() as u64;
        self.file.write_all(bytes).map_err(|error| Failure::io(self.temporary.target(), &error))
    }

    /// Completes the file and gives it its name. Returns its size and its content hash.
    pub fn publish(mut self) -> Result<(u64, ContentHash), Failure> {
        let hash = self.hash.digest128().to_le_bytes();
        let target = self.temporary.target().to_path_buf();
        let failed = |error: std::io::Error| Failure::io(&target, &error);
        self.file.write_all(&hash).and_then(|()| self.file.flush()).map_err(failed)?;
        drop(self.file);
        self.temporary.publish().map_err(failed)?;
        Ok((self.written + HASH_BYTES, hash))
    }
}

/// An open file whose content has been checked.
pub struct Reader {
    /// Shared by several threads, which read one after the other.
    file: Mutex<File>,
    path: PathBuf,
    /// The content hash.
    pub hash: ContentHash,
    /// Size in bytes.
    pub bytes: u64,
    /// Kind, offset and size of each section.
    sections: Vec<(u32, u64, u64)>,
}

impl Reader {
    /// Opens a file and checks all of it.
    pub fn open(path: &Path, kind: FarmFileKind) -> Result<Reader, Failure> {
        let failed = |error: std::io::Error| Failure::io(path, &error);
        let file = meshreel_files::open(path).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        let broken = |what: &str| Failure::new(Class::Malformed, what, Some(path.display().to_string()));
        let mut source = HashingReader {
            file: BufReader::with_capacity(READ_BYTES, &file),
            hash: Xxh3::new(),
            position: 0,
        };
        let mut magic = [0; 8];
        if bytes < HEADER_BYTES + HASH_BYTES || source.read(&mut magic).is_err() || magic != kind.magic() {
            return Err(broken(&format!("not {}", kind.name())));
        }
        let version = u32::from_le_bytes(source.read_array().map_err(failed)?);
        if version != VERSION {
            let what = format!(
                "version {version} of a farm's files; this is a program for {VERSION}: plan again with the one that makes parts"
            );
            return Err(Failure::new(Class::Unsupported, what, Some(path.display().to_string())));
        }
        let mut sections = Vec::new();
        let end = bytes - HASH_BYTES;
        while source.position < end {
            let (Ok(kind), Ok(size)) = (source.read_array(), source.read_array()) else {
                return Err(broken(DAMAGED));
            };
            let (kind, size) = (u32::from_le_bytes(kind), u64::from_le_bytes(size));
            if source.position.checked_add(size).is_none_or(|last| last > end) {
                return Err(broken(DAMAGED));
            }
            sections.push((kind, source.position, size));
            source.skip(size).map_err(failed)?;
        }
        let own = source.hash.digest128().to_le_bytes();
        let mut hash = [0; HASH_BYTES as usize];
        if source.position != end || source.file.read_exact(&mut hash).is_err() || hash != own {
            return Err(broken(DAMAGED));
        }
        drop(source);
        Ok(Reader { file: Mutex::new(file), path: path.to_path_buf(), hash, bytes, sections })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the indices of the sections of a kind, in file order.
    pub fn section_indices(&self, kind: u32) -> impl Iterator<Item = usize> + '_ {
        let sections = self.sections.iter().enumerate();
        sections.filter(move |(_, section)| section.0 == kind).map(|(number, _)| number)
    }

    /// Returns the only section of a kind.
    pub fn only_section(&self, kind: u32) -> Result<Vec<u8>, Failure> {
        let mut all = self.section_indices(kind);
        match (all.next(), all.next()) {
            (Some(number), None) => self.section(number),
            _ => Err(self.damaged()),
        }
    }

    /// Returns the bytes of a section.
    pub fn section(&self, number: usize) -> Result<Vec<u8>, Failure> {
        self.section_start(number, usize::MAX)
    }

    /// Returns the first bytes of a section, at most `most`.
    pub fn section_start(&self, number: usize, most: usize) -> Result<Vec<u8>, Failure> {
        let &(_, offset, size) = self.sections.get(number).ok_or_else(|| self.damaged())?;
        let size = size.min(most as u64);
        let size = usize::try_from(size).map_err(|_| self.damaged())?;
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = Vec::new();
        let read = file.seek(SeekFrom::Start(offset)).and_then(|_| {
            // Reads no more than exists, even if the file has changed since it was checked.
            (&mut *file).take(size as u64).read_to_end(&mut out)
        });
        match read {
            Ok(read) if read == size => Ok(out),
            Ok(_) => Err(Failure::io(&self.path, &ErrorKind::UnexpectedEof.into())),
            Err(error) => Err(Failure::io(&self.path, &error)),
        }
    }

    /// Returns the failure for a file whose checksum is right but whose content is invalid.
    pub fn damaged(&self) -> Failure {
        Failure::new(Class::Malformed, DAMAGED, Some(self.path.display().to_string()))
    }
}

const DAMAGED: &str = "damaged, or cut off: make it again";

/// A reader that hashes what it reads.
struct HashingReader<'a> {
    file: BufReader<&'a File>,
    hash: Xxh3,
    position: u64,
}

impl HashingReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<()> {
        self.file.read_exact(out)?;
        self.hash.update(out);
        self.position += out.len() as u64;
        Ok(())
    }

    fn read_array<const N: usize>(&mut self) -> std::io::Result<[u8; N]> {
        let mut out = [0; N];
        self.read(&mut out)?;
        Ok(out)
    }

    fn skip(&mut self, mut size: u64) -> std::io::Result<()> {
        let mut block = vec![0; READ_BYTES.min(size as usize)];
        while size > 0 {
            let some = (block.len() as u64).min(size) as usize;
            self.read(&mut block[..some])?;
            size -= some as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(path: &Path) -> ContentHash {
        let mut writer = Writer::create(path, FarmFileKind::Part).unwrap();
        writer.section(1, b"one").unwrap();
        writer.section(2, b"").unwrap();
        writer.section(1, &[7; 300]).unwrap();
        writer.publish().unwrap().1
    }

    #[test]
    fn sections_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.part");
        let hash = written(&path);
        let reader = Reader::open(&path, FarmFileKind::Part).unwrap();
        assert_eq!((reader.hash, reader.bytes), (hash, std::fs::metadata(&path).unwrap().len()));
        let all: Vec<Vec<u8>> = reader.section_indices(1).map(|n| reader.section(n).unwrap()).collect();
        assert_eq!(all, [b"one".to_vec(), vec![7; 300]]);
        assert_eq!(reader.only_section(2).unwrap(), b"");
        assert!(reader.only_section(1).is_err() && reader.only_section(3).is_err());
        let other = Reader::open(&path, FarmFileKind::Plan).err().unwrap();
        assert!(other.line().contains("not a plan"), "{}", other.line());
        assert_eq!(written(&folder.path().join("b.part")), hash);
    }

    #[test]
    fn every_cut_and_every_flipped_bit_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.part");
        written(&path);
        let whole = std::fs::read(&path).unwrap();
        let open = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            Reader::open(&path, FarmFileKind::Part)
        };
        for cut in 0..whole.len() {
            assert!(open(&whole[..cut]).is_err(), "{cut}");
        }
        assert!(open(&[&whole[..], &[0]].concat()).is_err());
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << bit;
                let failure = open(&flipped).err().unwrap_or_else(|| panic!("byte {at}, bit {bit}"));
                let version = (8..12).contains(&at);
                let class = if version { Class::Unsupported } else { Class::Malformed };
                assert_eq!(failure.class, class, "byte {at}, bit {bit}");
            }
        }
        assert!(open(&whole).is_ok());
    }
}
