//! The motion of the points of a chain from frame to frame: the expected position of a point, and its
//! remembered state. Integers only; 256 stands for one step of the lattice.

use crate::Corrupt;
use crate::entropy::range::{BitCoder, Chance};

/// One step of the lattice.
pub(super) const LATTICE_STEP: i64 = 256;
const MAX_MOTION: i64 = 1 << 30;
/// The largest absolute value of a motion parameter.
pub(super) const MAX_MOTION_PARAM: i32 = 1 << 30;
/// A larger correction than this means that the motion of a point has changed.
pub(super) const MAX_SMOOTH_RESIDUAL: u32 = 8;
/// The longest memory of a motion, in frames.
pub(super) const MAX_MEMORY: u32 = 16;

/// The motion parameters of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MotionParams {
    /// Residuals are multiples of this, at least 1.
    pub grain: i32,
    /// The number of frames that a motion is averaged over, from 3 to [`MAX_MEMORY`].
    pub memory: u32,
    /// For each component, the change of a velocity v from frame to frame: a constant, a multiple of v in
    /// 2⁻¹⁶, and a multiple of v·|v| in 2⁻³² per step.
    pub pull: [[i32; 3]; 4],
    /// For each component, the velocity after a break: multiples, in 2⁻⁸, of the velocity before and of the
    /// last displacement.
    pub broken: [[i32; 2]; 4],
}

impl Default for MotionParams {
    fn default() -> MotionParams {
        MotionParams { grain: 1, memory: 4, pull: [[0; 3]; 4], broken: [[0, 256]; 4] }
    }
}

/// The history of a point's motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MotionHistory {
    /// The number of frames that its motion is known for, at least 1.
    pub frames: u32,
    /// The size class of the last corrections, 0 to 3.
    pub size: u32,
    /// The number of frames for which it has rested; 0 if it moves.
    pub rest: u32,
}

impl MotionHistory {
    const BORN: MotionHistory = MotionHistory { frames: 1, size: 3, rest: 0 };

    pub fn to_packed(self) -> i32 {
        (self.frames | self.size << 8 | self.rest << 16) as i32
    }

    pub fn from_packed(packed: i32) -> MotionHistory {
        let at = |shift: u32| packed as u32 >> shift & 255;
        MotionHistory { frames: at(0).clamp(1, MAX_MEMORY), size: at(8).min(3), rest: at(16).min(7) }
    }
}

/// A point: its code, the offset of its estimated position from it, its velocity.
#[derive(Clone, Copy, Debug)]
pub(super) struct PointMotion<const N: usize> {
    pub code: [i32; N],
    pub offset: [i32; N],
    pub velocity: [i32; N],
    pub age: MotionHistory,
}

/// Returns the number of words per point with this many components.
pub(super) const fn stride(components: usize) -> usize {
    3 * components + 1
}

impl<const N: usize> PointMotion<N> {
    pub fn read(from: &[i32]) -> PointMotion<N> {
        let at = |part: usize| std::array::from_fn(|k| from[part * N + k]);
        PointMotion {
            code: at(0),
            offset: at(1),
            velocity: at(2),
            age: MotionHistory::from_packed(from[3 * N]),
        }
    }

    pub fn write(&self, to: &mut [i32]) {
        let parts = self.code.iter().chain(&self.offset).chain(&self.velocity);
        to.iter_mut().zip(parts).for_each(|(to, from)| *to = *from);
        to[3 * N] = self.age.to_packed();
    }

    pub fn born(code: [i32; N]) -> PointMotion<N> {
        PointMotion { code, offset: [0; N], velocity: [0; N], age: MotionHistory::BORN }
    }

    /// Returns its estimated position.
    fn position(&self, k: usize) -> i64 {
        i64::from(self.code[k] as u32) * LATTICE_STEP + i64::from(self.offset[k])
    }

    /// Returns `true` if it moves, and so may stop.
    pub fn moves(&self) -> bool {
        self.age.rest == 0 && self.age.frames > 1
    }

    /// Returns its expected position and velocity in the next frame.
    #[inline]
    pub fn extrapolate(&self, law: &MotionParams) -> ExpectedMotion<N> {
        let mut velocity = [0; N];
        if self.moves() {
            let speed = match law.pull[..N].iter().any(|pull| pull[2] != 0) {
                true => root(self.velocity.iter().map(|v| i64::from(*v).pow(2) as u64).sum()),
                false => 0,
            };
            velocity = std::array::from_fn(|k| {
                let (v, [constant, linear, square]) = (i64::from(self.velocity[k]), law.pull[k]);
                // |v| ≤ 2³⁰ and speed ≤ 2³¹, so one multiplication of 64 by 64 bits is enough.
                let drag = (i128::from(square) * i128::from(v * speed)) >> 40;
                let pull = i64::from(constant)
                    + ((i64::from(linear) * v) >> 16)
                    + drag.clamp(-(1 << 40), 1 << 40) as i64;
                (v + pull).clamp(-MAX_MOTION, MAX_MOTION) as i32
            });
        }
        let at = std::array::from_fn(|k| self.position(k) + i64::from(velocity[k]));
        ExpectedMotion { position: at, velocity }
    }

    /// Returns the context for whether it is where expected.
    pub fn context(&self, near: usize) -> usize {
        let age = self.age;
        let known = match age.rest {
            0 => (age.frames.min(8) - 1) * 4 + age.size,
            rest => 32 + rest - 1,
        };
        3 * known as usize + near
    }

    /// Returns the context for whether it stops.
    pub fn stop_context(&self, grain: i32) -> usize {
        let fastest = self.velocity.iter().map(|v| v.unsigned_abs()).max().unwrap_or(0);
        let speed = (fastest / (64 * grain.unsigned_abs().max(1)) + 1).ilog2().min(11);
        (3 * speed + (self.age.frames.min(4) - 2).min(2)) as usize
    }

    /// Returns the class of its residuals.
    pub fn class(&self) -> usize {
        match (self.age.rest, self.age.frames) {
            (0, 1) => 1,
            (0, frames) => (3 + (frames - 2).min(4) * 4 + self.age.size) as usize,
            _ => 2,
        }
    }

    /// Returns the motion of the point if it stays where it was.
    pub fn stopped(&self) -> PointMotion<N> {
        PointMotion {
            code: self.code,
            offset: [0; N],
            velocity: [0; N],
            age: MotionHistory { frames: 1, size: 0, rest: 1 },
        }
    }

    /// Returns the motion of the point if it is at `code`, which is `residual` grains from the expected code.
    #[inline]
    pub fn moved(
        &self,
        law: &MotionParams,
        next: &ExpectedMotion<N>,
        code: [i32; N],
        residual: &[i32; N],
    ) -> PointMotion<N> {
        let largest = residual.iter().map(|r| r.unsigned_abs()).max().unwrap_or(0);
        let age = self.age;
        if largest == 0 && age.rest > 0 {
            return PointMotion { code, age: MotionHistory { rest: (age.rest + 1).min(7), ..age }, ..*self };
        }
        if largest > MAX_SMOOTH_RESIDUAL || !self.moves() {
            return self.after_break(law, code, largest);
        }
        let frames = (age.frames + 1).min(law.memory);
        let [place, pace] = GAINS[frames as usize];
        let mut out = PointMotion { code, offset: [0; N], velocity: next.velocity, age };
        for k in 0..N {
            let missed = i64::from(residual[k]) * i64::from(law.grain) * LATTICE_STEP;
            let at = next.position[k] + ((missed * place) >> 8);
            out.offset[k] =
                (at - i64::from(code[k] as u32) * LATTICE_STEP).clamp(-MAX_MOTION, MAX_MOTION) as i32;
            let velocity = i64::from(next.velocity[k]) + ((missed * pace) >> 8);
            out.velocity[k] = velocity.clamp(-MAX_MOTION, MAX_MOTION) as i32;
        }
        let size = match largest {
            0 => age.size.saturating_sub(1),
            1 => 1,
            _ => 2,
        };
        out.age = MotionHistory { frames, size, rest: 0 };
        out
    }

    fn after_break(&self, law: &MotionParams, code: [i32; N], largest: u32) -> PointMotion<N> {
        if largest == 0 {
            return PointMotion {
                code,
                offset: [0; N],
                velocity: [0; N],
                age: MotionHistory { frames: 1, size: 0, rest: 1 },
            };
        }
        let moves = self.moves();
        let velocity = std::array::from_fn(|k| {
            let distance = i64::from(code[k] as u32) * LATTICE_STEP - self.position(k);
            let parts = if moves { law.broken[k].map(i64::from) } else { [0, 256] };
            let both = parts[0] * i64::from(self.velocity[k]) + parts[1] * distance;
            (both >> 8).clamp(-MAX_MOTION, MAX_MOTION) as i32
        });
        PointMotion {
            code,
            offset: [0; N],
            velocity,
            age: MotionHistory { frames: 2, size: largest.ilog2().min(3), rest: 0 },
        }
    }
}

/// The expected position and velocity of a point.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpectedMotion<const N: usize> {
    pub position: [i64; N],
    pub velocity: [i32; N],
}

impl<const N: usize> ExpectedMotion<N> {
    /// Returns the nearest code.
    pub fn code(&self) -> [i32; N] {
        self.position.map(|at| ((at + LATTICE_STEP / 2) >> 8) as i32)
    }
}

/// Returns ⌊√square⌋, of at most 2⁶². The root of f64 is off by one at most, on every machine.
fn root(square: u64) -> i64 {
    let near = (square as f64).sqrt() as u64;
    let over = near * near > square;
    let under = (near + 1) * (near + 1) <= square;
    (near + u64::from(under) - u64::from(over)) as i64
}

/// The correction per unit of residual, by the number of known frames: for the position, for the velocity; in
/// 2⁻⁸. They are those of least-squares linear regression: 2(2n − 1)/n(n + 1), 6/n(n + 1).
pub(super) static GAINS: [[i64; 2]; MAX_MEMORY as usize + 1] = {
    let mut out = [[256, 256]; MAX_MEMORY as usize + 1];
    let mut n = 2;
    while n <= MAX_MEMORY as usize {
        let whole = (n * (n + 1)) as i64;
        out[n] = [256 * 2 * (2 * n as i64 - 1) / whole, 256 * 6 / whole];
        n += 1;
    }
    out
};

/// The number of classes of residuals: a new point, the second value of a point, a point at rest, and moving
/// points by age and last correction.
pub(super) const CLASSES: usize = 3 + 5 * 4;

/// The statistics of the sizes of residuals of a class in a component.
#[derive(Clone, Copy, Debug)]
pub(super) struct SizeStatistics {
    /// The chance of a nonzero residual, by the length of the longest component before.
    some: [Chance; 4],
    /// The chance that a residual has more bits than the index says.
    longer: [Chance; MAX_LENGTH],
}

/// The longest residual has one bit more than this.
const MAX_LENGTH: usize = 29;

impl SizeStatistics {
    /// Codes the length of a number, 0 to [`MAX_LENGTH`] + 1 bits. `before` is the greatest length among the
    /// components before.
    #[inline]
    pub fn code<B: BitCoder<Context = Chance>>(&mut self, bits: &mut B, before: u32, length: u32) -> u32 {
        if !bits.bit(&mut self.some[before.min(3) as usize], length > 0) {
            return 0;
        }
        let mut own = 1;
        while own <= MAX_LENGTH as u32 && bits.bit(&mut self.longer[own as usize - 1], own < length) {
            own += 1;
        }
        own
    }

    /// Returns the bits that a number of this length takes.
    #[cfg(feature = "encode")]
    pub fn cost(&self, before: u32, length: u32) -> f64 {
        let some = self.some[before.min(3) as usize].cost(length > 0);
        let longer = self.longer.iter().zip(1..=length).map(|(chance, own)| chance.cost(own < length));
        some + longer.sum::<f64>() + f64::from(length)
    }
}

/// Returns the number of bits of a residual without its sign.
pub(super) fn length(residual: i32) -> u32 {
    (32 - residual.unsigned_abs().leading_zeros()).min(MAX_LENGTH as u32 + 1)
}

/// The statistics of a stream.
#[derive(Clone, Debug)]
pub(super) struct MotionStatistics {
    pub missed: [Chance; 3 * 39],
    pub stops: [Chance; 36],
    pub sizes: [[SizeStatistics; 4]; CLASSES],
}

impl Default for MotionStatistics {
    fn default() -> MotionStatistics {
        MotionStatistics {
            missed: [Chance::default(); 3 * 39],
            stops: [Chance::default(); 36],
            sizes: [[SizeStatistics { some: [Chance::default(); 4], longer: [Chance::default(); MAX_LENGTH] };
                4]; CLASSES],
        }
    }
}

/// Refuses a number of components outside 1 to 4.
pub(super) fn check_components(components: usize) -> Result<(), Corrupt> {
    match components {
        1..=4 => Ok(()),
        _ => Err(Corrupt("particles: a stream of no or too many components")),
    }
}

#[cfg(test)]
mod tests {
    use super::root;
    use proptest::prelude::*;

    #[test]
    fn roots_beside_squares() {
        for root_of in [0u64, 1, 2, 46_340, 94_906_265, 94_906_267, (1 << 31) - 1, 1 << 31] {
            for square in root_of.pow(2).saturating_sub(1)..=(root_of.pow(2) + 1).min(1 << 62) {
                assert_eq!(root(square), square.isqrt() as i64, "{square}");
            }
        }
    }

    proptest! {
        #[test]
        fn roots_are_those_of_whole_numbers(near in 0u64..1 << 31, more in 0u64..1 << 31) {
            let square = near * near + more % (2 * near + 1);
            prop_assert_eq!(root(square), square.isqrt() as i64);
            prop_assert_eq!(root(square.saturating_sub(1)), square.saturating_sub(1).isqrt() as i64);
        }
    }
}
