//! The passes over a unit on the CPU, from the same words: the reference for a card. Line for line as
//! `shaders/units.wgsl`.

use super::{FRAME_SLOT_WORDS, LEVEL_WORDS, MAX_UNIT_FRAMES, NEIGHBOUR_WORDS, UnitParams, UnitPlan};
use meshreel::raw::CodedUnits;

/// The bindings of the passes over a unit.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct BoundUnit<'a> {
    pub plan: &'a UnitPlan,
    pub params: &'a UnitParams,
    pub unit: &'a [u32],
    pub fixed: &'a [u32],
    pub scratch: &'a mut [u32],
    pub decoded: &'a mut [u32],
}

fn signed(bits: u32, count: u32) -> i32 {
    (bits << (32 - count)) as i32 >> (32 - count)
}

impl BoundUnit<'_> {
    /// Decodes the unit.
    pub fn decode(&mut self) {
        let frames = self.params.frames;
        if self.params.residuals != 0 {
            self.offsets();
        }
        for level in 0..self.plan.level_points.len() as u32 {
            for i in 0..self.plan.level_points[level as usize] {
                (0..frames).for_each(|frame| self.innovate(level, i, frame));
            }
        }
        (0..self.params.points).for_each(|v| self.frames(v));
    }

    fn fixed(&self, at: u32) -> u32 {
        self.fixed[at as usize]
    }

    fn take(&self, bit: u32, count: u32) -> u32 {
        let (word, shift) = ((bit >> 5) as usize, bit & 31);
        let two = u64::from(self.unit[word]) | u64::from(*self.unit.get(word + 1).unwrap_or(&0)) << 32;
        (two >> shift) as u32 & (u32::MAX >> (32 - count))
    }

    fn offsets(&mut self) {
        let p = self.params;
        for part in 0..p.blocks.div_ceil(CodedUnits::BLOCKS_PER_START as u32) {
            let start = (p.starts + 3 * part) as usize;
            let [mut fields, mut filled, mut masked] = [0, 1, 2].map(|k| self.unit[start + k]);
            let first = part * CodedUnits::BLOCKS_PER_START as u32 * p.frames;
            let end = (first + CodedUnits::BLOCKS_PER_START as u32 * p.frames).min(p.blocks * p.frames);
            for i in first..end {
                let mut own = (0, 0xFFFF, 0);
                if self.take(p.flags + i, 1) == 1 {
                    let block = i / p.frames;
                    let points = self.fixed(p.counts + block / 4) >> (8 * (block % 4)) & 0xFF;
                    let code = self.take(p.codes + 4 * filled, 4) + 1;
                    filled += 1;
                    own = match code {
                        1..=7 => {
                            let mask = self.take(p.masks + 16 * masked, 16);
                            masked += 1;
                            (code, mask, mask.count_ones() * (1 + 3 * code))
                        }
                        16 => (code, 0xFFFF, points * if self.plan.wide { 96 } else { 48 }),
                        _ => (code, 0xFFFF, points * (1 + 3 * (code - 7))),
                    };
                }
                let (code, mask, bits) = own;
                let at = (p.table + 2 * i) as usize;
                self.scratch[at] = p.fields.wrapping_add(fields);
                self.scratch[at + 1] = code | mask << 16;
                fields += bits;
            }
        }
    }

    fn residual(&self, block: u32, frame: u32, v: u32) -> [i32; 3] {
        let p = self.params;
        if p.residuals == 0 {
            return [0; 3];
        }
        let own = (p.table + 2 * (block * p.frames + frame)) as usize;
        let (at, code, mask) =
            (self.scratch[own], self.scratch[own + 1] & 0xFFFF, self.scratch[own + 1] >> 16);
        if code == 0 || mask >> v & 1 == 0 {
            return [0; 3];
        }
        if code == 16 {
            let width = if self.plan.wide { 32 } else { 16 };
            return [0, 1, 2].map(|k| signed(self.take(at + width * (3 * v + k), width), width));
        }
        let width = if code <= 7 { code } else { code - 7 };
        let before = (mask & ((1 << v) - 1)).count_ones();
        let all = self.take(at + before * (1 + 3 * width), 1 + 3 * width);
        [0, 1, 2].map(|k| 2 * signed(all >> (1 + k * width), width) + (all & 1) as i32)
    }

    /// Returns the vector at a word, of 16 or 32 bits.
    fn vector(&self, words: &[u32], at: usize) -> [i32; 3] {
        match self.plan.wide {
            true => [0, 1, 2].map(|k| words[at + k] as i32),
            false => [words[at] as i16, (words[at] >> 16) as i16, words[at + 1] as i16].map(i32::from),
        }
    }

    fn write_vector(wide: bool, words: &mut [u32], at: usize, v: [i32; 3]) {
        if wide {
            words[at..at + 3].copy_from_slice(&v.map(|v| v as u32));
        } else {
            let [x, y, z] = v.map(|v| v as u32 & 0xFFFF);
            words[at..at + 2].copy_from_slice(&[x | y << 16, z]);
        }
    }

    fn innovation_at(&self, v: u32, frame: u32) -> usize {
        let each = if self.plan.wide { 3 } else { 2 };
        self.params.innovations as usize + each * (v * self.params.frames + frame) as usize
    }

    fn innovate(&mut self, level: u32, i: u32, frame: u32) {
        let p = self.params;
        let own = p.hierarchy_levels + LEVEL_WORDS as u32 * level;
        let v = self.fixed(own) + i;
        let head = (p.heads + frame * p.head_words) as usize;
        let step = self.unit[head + 2] as i32;
        let block = self.fixed(own + 2) + i / CodedUnits::BLOCK_POINTS as u32;
        let residual = self.residual(block, frame, i % CodedUnits::BLOCK_POINTS as u32);
        let mut value = residual.map(|q| q.wrapping_mul(step));
        if level > 0 {
            let rho = self.unit[head + 3 + level as usize / 8] >> (4 * (level % 8)) & 0xF;
            let near = p.near + NEIGHBOUR_WORDS as u32 * v;
            for (k, value) in value.iter_mut().enumerate() {
                let term = |n: u32| {
                    let other = self.innovation_at(self.fixed(near + n), frame);
                    let weight = (self.fixed(near + 4 + n / 2) >> (16 * (n % 2))) as i16;
                    i64::from(weight) * i64::from(self.vector(self.scratch, other)[k])
                };
                let sum: i64 = (0..4).map(term).sum();
                // For points of 16 bits, sums wrap at 32 bits.
                let sum = if self.plan.wide { sum } else { i64::from(sum as i32) };
                let scaled = (sum >> 6) * i64::from(4 * rho);
                let scaled = if self.plan.wide { scaled + 512 } else { i64::from((scaled + 512) as i32) };
                *value = value.wrapping_add((scaled >> 10) as i32);
            }
        }
        let at = self.innovation_at(v, frame);
        Self::write_vector(self.plan.wide, self.scratch, at, value);
    }

    fn frames(&mut self, v: u32) {
        let (p, each) = (self.params, self.plan.point_words());
        debug_assert!(p.frames as usize <= MAX_UNIT_FRAMES);
        for frame in 0..p.frames {
            let slots = (p.slots + FRAME_SLOT_WORDS as u32 * frame) as usize;
            let head = (p.heads + frame * p.head_words) as usize;
            let mut sum = [0i64; 3];
            for k in 0..4 {
                let coefficient = (self.unit[head + k / 2] >> (16 * (k % 2))) as i16;
                let other = self.unit[slots + 1 + k] as usize + each * v as usize;
                let other = self.vector(self.decoded, other);
                (0..3).for_each(|axis| sum[axis] += i64::from(coefficient) * i64::from(other[axis]));
            }
            let new = self.vector(self.scratch, self.innovation_at(v, frame));
            let at = [0, 1, 2].map(|k| (((sum[k] + 128) >> 8) as i32).wrapping_add(new[k]));
            let own = self.unit[slots] as usize + each * v as usize;
            Self::write_vector(self.plan.wide, self.decoded, own, at);
        }
    }
}
