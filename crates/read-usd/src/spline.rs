//! Splines: knots with tangents, evaluated at any time. Tangents that would make time run backwards are
//! shortened until they do not, as in the OpenUSD library.

use meshreel_scene::number::half;

/// Upper limit for the knots that loops may make.
const MAX_KNOTS: usize = 1 << 16;
/// The number of bisection steps that find a time on a curve: enough for all digits of an f64.
const BISECTION_STEPS: usize = 60;

/// The interpolation from a knot to the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interpolation {
    Nothing,
    Held,
    Linear,
    Curve,
}

/// The extrapolation before the first and after the last knot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extrapolation {
    Nothing,
    Held,
    Linear,
    Sloped(f64),
    Repeat,
    Reset,
    Oscillate,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knot {
    pub time: f64,
    pub value: f64,
    /// The value just before the knot.
    pub before: f64,
    pub is_dual: bool,
    /// The width and the slope of each tangent.
    pub pre: [f64; 2],
    pub post: [f64; 2],
    pub next: Interpolation,
}

/// A range of knots that repeats.
#[derive(Clone, Copy, Debug)]
pub struct Loops {
    pub start: f64,
    pub end: f64,
    pub before: i32,
    pub after: i32,
    pub offset: f64,
}

/// A function of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Spline {
    pub is_hermite: bool,
    pub pre: Extrapolation,
    pub post: Extrapolation,
    pub knots: Vec<Knot>,
}

/// The side of a time at which a spline is evaluated; they differ at a jump.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JumpSide {
    Before,
    At,
}

impl Spline {
    /// `true` if the bytes are a binary spline of a supported version.
    pub fn is_known(bytes: &[u8]) -> bool {
        bytes.first().is_some_and(|head| matches!(head & 0x0F, 1 | 2))
    }

    /// Parses a binary spline; `None` if it is malformed.
    pub fn parse(bytes: &[u8]) -> Option<Spline> {
        let mut bytes = SplineBytes(bytes);
        let [head, modes] = bytes.take::<2>()?;
        let version = head & 0x0F;
        let scalar = head >> 4 & 3;
        let is_hermite = head >> 7 == 1;
        let mut extrapolation = |mode: u8| {
            Some(match mode & 7 {
                0 => Extrapolation::Nothing,
                2 => Extrapolation::Linear,
                3 => Extrapolation::Sloped(bytes.f64()?),
                4 => Extrapolation::Repeat,
                5 => Extrapolation::Reset,
                6 => Extrapolation::Oscillate,
                _ => Extrapolation::Held,
            })
        };
        let (pre, post) = (extrapolation(modes)?, extrapolation(modes >> 3)?);
        let mut loops = None;
        if modes >> 6 & 1 == 1 {
            let (start, end) = (bytes.f64()?, bytes.f64()?);
            let (before, after) = (i32::from_le_bytes(bytes.take()?), i32::from_le_bytes(bytes.take()?));
            loops = Some(Loops { start, end, before, after, offset: bytes.f64()? });
        }
        let mut knots = Vec::new();
        for _ in 0..u32::from_le_bytes(bytes.take()?) {
            let [flags] = bytes.take::<1>()?;
            let (time, value) = (bytes.f64()?, bytes.number(scalar)?);
            let is_dual = flags & 1 == 1;
            let before = if is_dual { bytes.number(scalar)? } else { value };
            let widths = if is_hermite { [0.0; 2] } else { [bytes.f64()?, bytes.f64()?] };
            let slopes = [bytes.number(scalar)?, bytes.number(scalar)?];
            if version == 2 {
                // The algorithm of automatic tangents, which are stored anyway.
                bytes.take::<1>()?;
            }
            let next =
                [Interpolation::Nothing, Interpolation::Held, Interpolation::Linear, Interpolation::Curve]
                    [usize::from(flags >> 1 & 3)];
            let (pre, post) = ([widths[0], slopes[0]], [widths[1], slopes[1]]);
            knots.push(Knot { time, value, before, is_dual, pre, post, next });
        }
        Spline { is_hermite, pre, post, knots }.finish(loops)
    }

    /// Sorts the knots, and repeats those in loops.
    pub fn finish(mut self, loops: Option<Loops>) -> Option<Spline> {
        let finite = |knot: &Knot| {
            let [a, b, c, d] = [knot.pre[0], knot.pre[1], knot.post[0], knot.post[1]];
            [knot.time, knot.value, knot.before, a, b, c, d].iter().all(|v| v.is_finite())
        };
        if !self.knots.iter().all(finite) {
            return None;
        }
        self.knots.sort_by(|a, b| a.time.total_cmp(&b.time));
        self.knots.dedup_by(|b, a| a.time == b.time);
        if let Some(loops) = loops {
            self.repeat(loops);
        }
        Some(self)
    }

    fn repeat(&mut self, loops: Loops) {
        let Loops { start, end, before, after, offset } = loops;
        let length = end - start;
        let proto: Vec<Knot> =
            self.knots.iter().copied().filter(|knot| knot.time >= start && knot.time < end).collect();
        let first = proto.first().copied().filter(|first| first.time == start);
        let (before, after) = (before.max(0) as usize, after.max(0) as usize);
        let count = before.saturating_add(after).saturating_add(1).saturating_mul(proto.len());
        let (Some(first), true) = (first, length > 0.0 && offset.is_finite() && count < MAX_KNOTS) else {
            return;
        };
        let moved = |knot: &Knot, times: f64| {
            let (time, value) = (knot.time + times * length, knot.value + times * offset);
            Knot { time, value, before: knot.before + times * offset, ..*knot }
        };
        let (from, to) = (start - before as f64 * length, end + after as f64 * length);
        self.knots.retain(|knot| knot.time < from || knot.time > to);
        for i in 0..before + after + 1 {
            let times = i as f64 - before as f64;
            self.knots.extend(proto.iter().map(|knot| moved(knot, times)));
        }
        self.knots.push(moved(&first, after as f64 + 1.0));
        self.knots.sort_by(|a, b| a.time.total_cmp(&b.time));
    }

    /// `true` if it has no knots.
    pub fn is_empty(&self) -> bool {
        self.knots.is_empty()
    }

    /// Returns the times of all knots.
    pub fn times(&self) -> impl Iterator<Item = f64> {
        self.knots.iter().map(|knot| knot.time)
    }

    /// Returns the times of jumps, at which the value just before differs.
    pub fn jumps(&self) -> impl Iterator<Item = f64> {
        self.knots.windows(2).filter_map(|pair| {
            let steps = matches!(pair[0].next, Interpolation::Held | Interpolation::Nothing);
            (steps || pair[1].is_dual).then_some(pair[1].time)
        })
    }

    /// Returns the value at a time; `None` if there is none.
    pub fn value(&self, time: f64, side: JumpSide) -> Option<f64> {
        let (first, last) = (self.knots.first()?, self.knots.last()?);
        let is_before = |knot: f64| if side == JumpSide::Before { knot < time } else { knot <= time };
        let after = self.knots.partition_point(|knot| is_before(knot.time));
        let span = last.time - first.time;
        if after == 0 || after == self.knots.len() {
            let (end, mode) = if after == 0 { (first, self.pre) } else { (last, self.post) };
            return match mode {
                // At the last knot a loop begins anew.
                Extrapolation::Nothing if after > 0 && time == end.time => Some(end.value),
                Extrapolation::Nothing => None,
                Extrapolation::Held => Some(if after == 0 { end.before } else { end.value }),
                Extrapolation::Linear => Some(self.line(after == 0, self.slope(after == 0), time)),
                Extrapolation::Sloped(slope) => Some(self.line(after == 0, slope, time)),
                _ if span <= 0.0 => Some(end.value),
                repeating => {
                    let turns = ((time - first.time) / span).floor();
                    let mut inner = time - turns * span;
                    let odd = turns.rem_euclid(2.0) == 1.0;
                    if repeating == Extrapolation::Oscillate && odd {
                        inner = first.time + last.time - inner;
                    }
                    let offset = match repeating {
                        Extrapolation::Repeat => turns * (last.value - first.value),
                        _ => 0.0,
                    };
                    let own = inner.clamp(first.time, last.time);
                    let side = if own == first.time { JumpSide::At } else { side };
                    Some(self.inside(own, side)? + offset)
                }
            };
        }
        self.inside(time, side)
    }

    /// Returns the value between two knots, or at one.
    fn inside(&self, time: f64, side: JumpSide) -> Option<f64> {
        let is_before = |knot: f64| if side == JumpSide::Before { knot < time } else { knot <= time };
        let after = self.knots.partition_point(|knot| is_before(knot.time)).max(1);
        let from = &self.knots[after - 1];
        let Some(to) = self.knots.get(after) else {
            return Some(from.value);
        };
        if from.time == time {
            return match from.next {
                Interpolation::Nothing => None,
                _ => Some(from.value),
            };
        }
        let length = to.time - from.time;
        let fraction = (time - from.time) / length;
        match from.next {
            Interpolation::Nothing => None,
            Interpolation::Held => Some(from.value),
            Interpolation::Linear => Some(from.value + (to.before - from.value) * fraction),
            Interpolation::Curve if self.is_hermite => {
                let heights = [from.post[1] * length / 3.0, to.pre[1] * length / 3.0];
                Some(cubic(
                    [from.value, from.value + heights[0], to.before - heights[1], to.before],
                    fraction,
                ))
            }
            Interpolation::Curve => {
                let widths = widths(from.post[0] / length, to.pre[0] / length);
                let x = [0.0, widths[0], 1.0 - widths[1], 1.0];
                let heights = [from.post[1] * widths[0] * length, to.pre[1] * widths[1] * length];
                let y = [from.value, from.value + heights[0], to.before - heights[1], to.before];
                // Time increases along the curve, so the position is found by bisection.
                let (mut low, mut high) = (0.0, 1.0);
                for _ in 0..BISECTION_STEPS {
                    let middle = 0.5 * (low + high);
                    if cubic(x, middle) < fraction { low = middle } else { high = middle }
                }
                Some(cubic(y, 0.5 * (low + high)))
            }
        }
    }

    fn line(&self, is_first: bool, slope: f64, time: f64) -> f64 {
        match is_first {
            true => self.knots[0].before + slope * (time - self.knots[0].time),
            false => {
                let last = &self.knots[self.knots.len() - 1];
                last.value + slope * (time - last.time)
            }
        }
    }

    /// Returns the slope of linear extrapolation at an end.
    fn slope(&self, is_first: bool) -> f64 {
        let count = self.knots.len();
        if count < 2 {
            return 0.0;
        }
        let (from, to) = match is_first {
            true => (&self.knots[0], &self.knots[1]),
            false => (&self.knots[count - 2], &self.knots[count - 1]),
        };
        let end = if is_first { from } else { to };
        match from.next {
            _ if end.is_dual => 0.0,
            Interpolation::Linear => (to.before - from.value) / (to.time - from.time),
            Interpolation::Curve => {
                if is_first {
                    from.post[1]
                } else {
                    to.pre[1]
                }
            }
            _ => 0.0,
        }
    }
}

/// Evaluates a Bézier curve of four points at a position from 0 to 1.
fn cubic([a, b, c, d]: [f64; 4], t: f64) -> f64 {
    let s = 1.0 - t;
    s * s * s * a + 3.0 * s * s * t * b + 3.0 * s * t * t * c + t * t * t * d
}

/// Returns the widths of two tangents as fractions of the time between their knots, both shortened until time
/// is monotonic.
fn widths(from: f64, to: f64) -> [f64; 2] {
    let (from, to) = (from.max(0.0), to.max(0.0));
    let most = from + to - (from * to).sqrt();
    if most > 1.0 { [from / most, to / most] } else { [from, to] }
}

/// A reader for the bytes of a spline.
struct SplineBytes<'a>(&'a [u8]);

impl SplineBytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (own, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*own)
    }

    fn f64(&mut self) -> Option<f64> {
        self.take().map(f64::from_le_bytes)
    }

    /// Reads a number of the spline's type: 2 is f32, 3 half, all others f64.
    fn number(&mut self, scalar: u8) -> Option<f64> {
        match scalar {
            2 => self.take().map(|b| f64::from(f32::from_le_bytes(b))),
            3 => self.take().map(|b| f64::from(half(u16::from_le_bytes(b)))),
            _ => self.f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_never_go_back() {
        for (from, to) in [(0.3, 0.3), (1.0, 1.0), (3.0, 0.1), (0.0, 2.5), (5.0, 5.0)] {
            let [a, b] = widths(from, to);
            let x = |t: f64| cubic([0.0, a, 1.0 - b, 1.0], t);
            assert!((0..1000).all(|i| x(f64::from(i + 1) / 1000.0) >= x(f64::from(i) / 1000.0) - 1e-12));
        }
    }
}
