//! A share of work that several machines do: the K-th of N.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// The most shares that there can be.
pub const MOST_SHARES: u32 = 65536;

/// The K-th of N shares, written `K/N`, K counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    number: u32,
    count: u32,
}

impl Share {
    /// Share `number`, from 1, of `count`; none where there is no such share.
    pub fn new(number: u32, count: u32) -> Option<Share> {
        let exists = (1..=count).contains(&number) && count <= MOST_SHARES;
        exists.then_some(Share { number, count })
    }

    /// Which it is, from 1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// How many there are.
    pub fn count(self) -> u32 {
        self.count
    }

    /// Whether the thing of this place, from 0, is in the share: they are dealt like cards, so that shares of
    /// things that are sorted by name, and often by size, take about as long.
    pub fn has(self, place: usize) -> bool {
        place as u64 % u64::from(self.count) == u64::from(self.number - 1)
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Share, String> {
        let parts = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        parts.and_then(|(number, count)| Share::new(number, count)).ok_or_else(|| {
            format!("'{text}' is no share: give K/N, such as 2/8, K from 1 to N, N up to {MOST_SHARES}")
        })
    }
}

impl Display for Share {
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
            let shares: Vec<Share> = (1..=count).map(|k| Share::new(k, count).unwrap()).collect();
            for place in 0..20 {
                assert_eq!(shares.iter().filter(|share| share.has(place)).count(), 1);
            }
        }
    }

    #[test]
    fn what_is_no_share_is_refused() {
        assert_eq!("2/3".parse(), Ok(Share { number: 2, count: 3 }));
        for wrong in ["0/3", "4/3", "1/0", "3", "a/b", "-1/2", "1/65537", ""] {
            assert!(wrong.parse::<Share>().is_err(), "{wrong}");
        }
    }
}
