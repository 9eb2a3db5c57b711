//! Tables ready to decode with. They take hundreds of kilobytes, so parts that have the same tables share them: each
//! default set is there once in the process, and each set of a file's own once in the file.

use super::defaults;
#[cfg(target_arch = "x86_64")]
use super::avx2;
use super::rans::{self, Slots, TOTAL};
use super::tables::{CONTEXTS, Tables};
use crate::Corrupt;
use std::collections::HashMap;
use std::sync::Arc;

/// Tables as decoders read them.
#[derive(Debug)]
pub struct Shared {
    /// Table by context.
    pub map: [u8; CONTEXTS],
    /// The tables.
    pub slots: Box<[Slots]>,
    /// What the kernels look contexts up in.
    #[cfg(target_arch = "x86_64")]
    pub(super) contexts: avx2::Contexts,
}

impl Shared {
    /// Makes tables ready.
    pub fn new(tables: &Tables) -> Shared {
        let mut slots = vec![[0; TOTAL as usize]; tables.tables.len()].into_boxed_slice();
        for (slots, table) in slots.iter_mut().zip(&tables.tables) {
            rans::fill(table, slots);
        }
        Shared {
            map: tables.map,
            #[cfg(target_arch = "x86_64")]
            contexts: avx2::Contexts::new(&tables.map, &slots),
            slots,
        }
    }

    /// Bytes of memory that so many tables take.
    pub const fn bytes_of(tables: usize) -> u64 {
        #[cfg(target_arch = "x86_64")]
        let contexts = avx2::Contexts::BYTES;
        #[cfg(not(target_arch = "x86_64"))]
        let contexts = 0;
        (size_of::<Shared>() + 16 + tables * size_of::<Slots>() + contexts) as u64
    }

    /// Bytes of memory that these take.
    pub fn bytes(&self) -> u64 {
        Shared::bytes_of(self.slots.len())
    }
}

/// The tables that parts of a file have, each once, while its static data is read.
#[derive(Debug)]
pub struct Sets {
    /// By the bytes that they are coded in.
    own: HashMap<Box<[u8]>, Arc<Shared>>,
    /// Which default sets were asked for.
    defaults: u32,
    bytes: u64,
    allowed: u64,
    refused: Option<u64>,
}

impl Default for Sets {
    /// Without a limit: a part brings half a megabyte of tables at most.
    fn default() -> Sets {
        Sets::new(u64::MAX)
    }
}

impl Sets {
    /// None yet; together they may take so many bytes.
    pub fn new(allowed: u64) -> Sets {
        Sets {
            own: HashMap::new(),
            defaults: 0,
            bytes: 0,
            allowed,
            refused: None,
        }
    }

    /// Bytes of memory that those take that were asked for.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What they would have taken, if that was more than allowed and refused.
    pub fn refused(&self) -> Option<u64> {
        self.refused
    }

    /// The default set of a number.
    pub(super) fn default_set(&mut self, number: u8) -> Result<Arc<Shared>, Corrupt> {
        let bit = 1u32.checked_shl(number.into()).unwrap_or(0);
        if self.defaults & bit == 0 {
            let shared = defaults::shared(number)?;
            self.take(shared.bytes())?;
            self.defaults |= bit;
            return Ok(shared);
        }
        defaults::shared(number)
    }

    /// Tables that a part brings.
    pub(super) fn own_set(&mut self, coded: &[u8]) -> Result<Arc<Shared>, Corrupt> {
        if let Some(known) = self.own.get(coded) {
            return Ok(known.clone());
        }
        let tables = Tables::decode(coded)?;
        self.take(Shared::bytes_of(tables.tables.len()) + 2 * coded.len() as u64)?;
        let shared = Arc::new(Shared::new(&tables));
        self.own.insert(coded.into(), shared.clone());
        Ok(shared)
    }

    fn take(&mut self, bytes: u64) -> Result<(), Corrupt> {
        let all = self.bytes.saturating_add(bytes);
        if all > self.allowed {
            self.refused = Some(all);
            return Err(Corrupt("tables: more than memory is allowed for"));
        }
        self.bytes = all;
        Ok(())
    }
}
