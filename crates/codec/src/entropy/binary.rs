//! Adaptive binary range coder for the few numbers of the static part that deserve it. Lossless.
//!
//! Each bit has a model, the probability of 0 in 1/4096, which moves a sixteenth of the way (a quarter and an
//! eighth for
//! the first two bits) towards what it saw.
//! Credit: G. N. N. Martin, "Range encoding", 1979; the carry handling is I. Pavlov's (LZMA).

/// Probability of a 0 in 1/65536, and how often it was used.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    zero: u16,
    used: u8,
}

impl Default for Model {
    fn default() -> Self {
        Model { zero: 1 << 15, used: 0 }
    }
}

impl Model {
    fn bound(self, range: u32) -> u32 {
        (range >> 16) * u32::from(self.zero)
    }

    fn learn(&mut self, one: bool) {
        let rate = u32::from(self.used) + 1;
        let target = if one { 1 << 5 } else { (1 << 16) - (1 << 5) };
        let step = (target - i32::from(self.zero)) / [2, 3, 4, 6, 8, 11, 16][rate as usize - 1];
        self.zero = (i32::from(self.zero) + step) as u16;
        self.used = (self.used + 1).min(6);
    }
}

const RENORM: u32 = 1 << 24;

/// Writes bits.
#[derive(Debug)]
pub struct Writer {
    low: u64,
    range: u32,
    cache: u8,
    pending: u64,
    bytes: Vec<u8>,
}

impl Default for Writer {
    fn default() -> Writer {
        Writer { low: 0, range: u32::MAX, cache: 0, pending: 1, bytes: Vec::new() }
    }
}

impl Writer {
    /// One bit.
    pub fn bit(&mut self, model: &mut Model, one: bool) {
        let bound = model.bound(self.range);
        if one {
            self.low += u64::from(bound);
            self.range -= bound;
        } else {
            self.range = bound;
        }
        model.learn(one);
        while self.range < RENORM {
            self.range <<= 8;
            self.shift();
        }
    }

    /// `count` bits through a tree of 2^count models, highest first.
    pub fn tree(&mut self, models: &mut [Model], value: u32, count: u32) {
        let mut node = 1;
        for bit in (0..count).rev() {
            let one = value >> bit & 1;
            self.bit(&mut models[node], one != 0);
            node = 2 * node + one as usize;
        }
    }

    /// `count` bits that are as likely 0 as 1.
    pub fn plain(&mut self, value: u32, count: u32) {
        for bit in (0..count).rev() {
            self.bit(&mut Model::default(), value >> bit & 1 != 0);
        }
    }

    fn shift(&mut self) {
        if self.low < 0xFF00_0000 || self.low > 0xFFFF_FFFF {
            let carry = (self.low >> 32) as u8;
            let mut byte = self.cache;
            while self.pending > 0 {
                self.bytes.push(byte.wrapping_add(carry));
                byte = 0xFF;
                self.pending -= 1;
            }
            self.cache = (self.low >> 24) as u8;
        }
        self.pending += 1;
        self.low = (self.low << 8) & 0xFFFF_FFFF;
    }

    /// The bytes; zeros at the end are left out, as the reader supplies them.
    pub fn finish(mut self) -> Vec<u8> {
        for _ in 0..5 {
            self.shift();
        }
        // The first byte is always 0.
        self.bytes.remove(0);
        while self.bytes.last() == Some(&0) {
            self.bytes.pop();
        }
        self.bytes
    }
}

/// Reads bits; beyond the end there are zero bytes.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    code: u32,
    range: u32,
}

impl<'a> Reader<'a> {
    /// At the first bit.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        let mut r = Reader { bytes, code: 0, range: u32::MAX };
        for _ in 0..4 {
            r.pull();
        }
        r
    }

    fn pull(&mut self) {
        let next = match self.bytes.split_first() {
            Some((&b, rest)) => {
                self.bytes = rest;
                b
            }
            None => 0,
        };
        self.code = self.code << 8 | u32::from(next);
    }

    /// One bit.
    pub fn bit(&mut self, model: &mut Model) -> bool {
        let bound = model.bound(self.range);
        let one = self.code >= bound;
        if one {
            self.code -= bound;
            self.range -= bound;
        } else {
            self.range = bound;
        }
        model.learn(one);
        while self.range < RENORM {
            self.range <<= 8;
            self.pull();
        }
        one
    }

    /// `count` bits through a tree, highest first.
    pub fn tree(&mut self, models: &mut [Model], count: u32) -> u32 {
        let mut node = 1;
        for _ in 0..count {
            node = 2 * node + usize::from(self.bit(&mut models[node]));
        }
        node as u32 - (1 << count)
    }

    /// `count` bits without models.
    pub fn plain(&mut self, count: u32) -> u32 {
        (0..count).fold(0, |v, _| v << 1 | u32::from(self.bit(&mut Model::default())))
    }

    /// True if no byte is left that was not needed.
    pub fn finished(&self) -> bool {
        self.bytes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trip(values in proptest::collection::vec((any::<u32>(), 0u32..9, any::<bool>()), 0..300), rare in any::<bool>()) {
            let mask = |v: u32, n: u32| v & ((1 << n) - 1) & if rare { 1 } else { u32::MAX };
            let mut w = Writer::default();
            let mut models = vec![Model::default(); 512];
            for &(v, n, plain) in &values {
                if plain { w.plain(mask(v, n), n) } else { w.tree(&mut models, mask(v, n), n) }
            }
            let bytes = w.finish();
            let mut r = Reader::new(&bytes);
            let mut models = vec![Model::default(); 512];
            for &(v, n, plain) in &values {
                let got = if plain { r.plain(n) } else { r.tree(&mut models, n) };
                prop_assert_eq!(got, mask(v, n));
            }
            prop_assert!(r.finished());
        }

        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut r = Reader::new(&bytes);
            let mut models = vec![Model::default(); 16];
            for _ in 0..2000 {
                r.tree(&mut models, 4);
            }
        }
    }
}
