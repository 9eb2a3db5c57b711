//! The blocks of a file that have arrived. A read of other blocks fails with "would block", and they are
//! noted as wanted.

use meshreel::raw::format::ReadAt;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The size of a block in bytes.
pub(crate) const BLOCK_BYTES: u64 = 64 << 10;

/// After a file is open, it keeps the blocks that opening needed if they take at most this many bytes: they
/// may contain frames.
const MAX_KEPT_BYTES: usize = 1 << 20;

/// The part of a file that has arrived.
pub(crate) struct Blocks {
    size: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Complete blocks, by number.
    present: BTreeMap<u64, Vec<u8>>,
    wanted: BTreeSet<u64>,
}

impl Blocks {
    pub fn new(size: u64) -> Blocks {
        Blocks { size, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn block_size(&self, block: u64) -> usize {
        (self.size - block * BLOCK_BYTES).min(BLOCK_BYTES) as usize
    }

    /// Adds bytes from an offset on. Only complete blocks are kept.
    pub fn provide(&self, offset: u64, bytes: &[u8]) {
        let mut state = self.state();
        let first = offset.div_ceil(BLOCK_BYTES);
        let mut at = (first * BLOCK_BYTES).saturating_sub(offset) as usize;
        for block in first..self.size.div_ceil(BLOCK_BYTES) {
            let Some(content) = bytes.get(at..).and_then(|rest| rest.get(..self.block_size(block))) else {
                return;
            };
            state.present.insert(block, content.to_vec());
            state.wanted.remove(&block);
            at += content.len();
        }
    }

    /// Returns the ranges of bytes that were wanted but missing, as offset and size, and forgets them.
    pub fn take_wanted(&self) -> Vec<(u64, u64)> {
        let mut out: Vec<(u64, u64)> = Vec::new();
        for block in std::mem::take(&mut self.state().wanted) {
            let size = self.block_size(block) as u64;
            match out.last_mut() {
                Some((offset, length)) if *offset + *length == block * BLOCK_BYTES => *length += size,
                _ => out.push((block * BLOCK_BYTES, size)),
            }
        }
        out
    }

    /// Fills `out` if all its bytes are present. If not, returns `false`, and with `want` notes the missing
    /// blocks as wanted.
    pub fn copy(&self, offset: u64, out: &mut [u8], want: bool) -> bool {
        let mut state = self.state();
        let end = offset + out.len() as u64;
        let blocks = offset / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES);
        let missing: Vec<u64> = blocks.clone().filter(|block| !state.present.contains_key(block)).collect();
        if !missing.is_empty() {
            if want {
                state.wanted.extend(missing);
            }
            return false;
        }
        for block in blocks {
            let start = block * BLOCK_BYTES;
            let content = &state.present[&block];
            let from = offset.max(start);
            let to = end.min(start + content.len() as u64);
            let part = &content[(from - start) as usize..(to - start) as usize];
            out[(from - offset) as usize..(to - offset) as usize].copy_from_slice(part);
        }
        true
    }

    /// Drops the blocks if they take more than `MAX_KEPT_BYTES`.
    pub fn shrink(&self) {
        let mut state = self.state();
        if state.present.values().map(Vec::len).sum::<usize>() > MAX_KEPT_BYTES {
            state.present.clear();
        }
    }
}

impl ReadAt for Blocks {
    fn len(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(out.len() as u64);
        if end.is_none_or(|end| end > self.size) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match self.copy(offset, out, true) {
            true => Ok(()),
            false => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_wanted_once_and_then_read() {
        let bytes: Vec<u8> = (0..3 * BLOCK_BYTES + 10).map(|i| (i % 251) as u8).collect();
        let blocks = Blocks::new(bytes.len() as u64);
        let mut out = vec![0; 2 * BLOCK_BYTES as usize];
        let from = BLOCK_BYTES / 2;
        assert_eq!(blocks.read_at(from, &mut out).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(blocks.take_wanted(), [(0, 3 * BLOCK_BYTES)]);
        assert!(blocks.take_wanted().is_empty());
        // Bytes that begin within a block provide the blocks after it.
        blocks.provide(10, &bytes[10..]);
        assert!(blocks.read_at(from, &mut out).is_err());
        assert_eq!(blocks.take_wanted(), [(0, BLOCK_BYTES)]);
        blocks.provide(0, &bytes[..BLOCK_BYTES as usize]);
        blocks.read_at(from, &mut out).unwrap();
        assert!(out == bytes[from as usize..][..out.len()]);
        let mut end = [0; 10];
        blocks.read_at(3 * BLOCK_BYTES, &mut end).unwrap();
        assert_eq!(end, bytes[3 * BLOCK_BYTES as usize..]);
        let beyond = blocks.read_at(3 * BLOCK_BYTES + 1, &mut end).unwrap_err();
        assert_eq!(beyond.kind(), io::ErrorKind::UnexpectedEof);
    }
}
