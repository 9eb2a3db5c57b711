//! Shares of work that is split among several machines.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// The largest number of shares.
pub const MAX_SHARDS: u32 = 65536;

/// The K-th of N shares, written `K/N`, with K counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: u32,
    count: u32,
}

impl Shard {
    /// Creates share `number`, from 1, of `count`; `None` if there is no such share.
    pub fn new(number: u32, count: u32) -> Option<Shard> {
        let exists = (1..=count).contains(&number) && count <= MAX_SHARDS;
        exists.then_some(Shard { number, count })
    }

    /// Returns the number of the share, from 1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// Returns the number of shares.
    pub fn count(self) -> u32 {
        self.count
    }

    /// `true` if the share contains item `place`, counted from 0. Items are dealt in turn, so that shares of
    /// items that are sorted by name, and often thereby by size, take about the same time.
    pub fn contains(self, place: usize) -> bool {
        place as u64 % u64::from(self.count) == u64::from(self.number - 1)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        parts.and_then(|(number, count)| Shard::new(number, count)).ok_or_else(|| {
            format!("'{text}' is no share: give K/N, such as 2/8, K from 1 to N, N up to {MAX_SHARDS}")
        })
    }
}

impl Display for Shard {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_disjoint_and_make_the_whole() {
        for count in [1, 2, 3, 7] {
            let shares: Vec<Shard> = (1..=count).map(|k| Shard::new(k, count).unwrap()).collect();
            for place in 0..20 {
                assert_eq!(shares.iter().filter(|share| share.contains(place)).count(), 1);
            }
        }
    }

    #[test]
    fn what_is_no_share_is_refused() {
        assert_eq!("2/3".parse(), Ok(Shard { number: 2, count: 3 }));
        for wrong in ["0/3", "4/3", "1/0", "3", "a/b", "-1/2", "1/65537", ""] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
