//! The memory of tables that are derived from a file's static parts. A few bytes may ask for very much, so it
//! is counted while the tables are made.

use crate::Corrupt;

/// A sum of bytes that must not exceed a limit.
#[derive(Debug)]
pub struct ByteBudget {
    used: u64,
    allowed: u64,
    refused: Option<u64>,
}

impl ByteBudget {
    /// Creates a budget of this many bytes.
    pub fn new(allowed: u64) -> ByteBudget {
        ByteBudget { used: 0, allowed, refused: None }
    }

    /// Creates a budget without a limit.
    pub fn unlimited() -> ByteBudget {
        ByteBudget::new(u64::MAX)
    }

    /// Adds bytes. Fails if that exceeds the limit.
    pub(in crate::mesh) fn add(&mut self, bytes: u64) -> Result<(), Corrupt> {
        let all = self.used.saturating_add(bytes);
        if all > self.allowed {
            self.refused = Some(all);
            return Err(Corrupt("tables: more than memory is allowed for"));
        }
        self.used = all;
        Ok(())
    }

    /// Adds the bytes of lists that grow: twice, as they are copied meanwhile.
    pub(in crate::mesh) fn add_growing(&mut self, bytes: u64) -> Result<(), Corrupt> {
        self.add(bytes.saturating_mul(2))
    }

    /// Returns the bytes that were added.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Returns the bytes that there would be if adding some had not been refused.
    pub fn refused(&self) -> Option<u64> {
        self.refused
    }
}
