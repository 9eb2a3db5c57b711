//! Scalar tracks and markers of a clip. A scalar track has one to four numbers per sample, within the
//! tolerance that the encoder measured with [`dequantize`]; markers are exact.
//!
//! *text*, *list* as in [`crate::record`]. A chunk:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 … 5 | `clip` | varint, number of the clip, in the order of the chunk table |
//! | … | 1 … 5 | `samples` | varint, number of samples of that clip |
//! | … | list | `tracks` | |
//! | … | list | `markers` | each a text, its name, and an f64, seconds after the first sample; in order of time |
//! | … | rest | `residuals` | of all animated components, one component after the other: one symbol stream |
//!
//! A track:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | text | `name` | |
//! | … | 1 | `kinds` | two bits per component, the first lowest: 0 absent, 1 zero, 2 constant, 3 animated |
//! | … | 4 | `constant` | for each constant component: f32 |
//! | … | 9 | `animated` | for each animated component: f32 low, f32 step, u8 order 1 or 2 |
//!
//! ```text
//! value = low + step · k      k = residual + (order 1: k of the sample before · order 2: 2·(k of the sample before) − (k of the one before that)); 0 before the first sample
//! bucket of a residual: σ = m, where m starts at 4 and moves an eighth of the way to |residual| after each residual
//! ```

use crate::Corrupt;
use crate::bytes::{Cursor, put_length_prefixed, put_varint};
#[cfg(feature = "encode")]
use crate::entropy::symbols::Encoder;
use crate::entropy::symbols::{Bucket, Decoder};

/// Upper limit for the values of all animated components, so that a few bytes cannot claim all memory.
pub const MAX_VALUES: usize = 1 << 24;

/// A name at a time of a clip.
#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    /// The name; need not be unique.
    pub name: String,
    /// Seconds after the first sample; finite, possibly outside of the clip.
    pub time: f64,
}

/// A component of a scalar track: one number per sample.
#[derive(Clone, Debug, PartialEq)]
pub enum ScalarComponent {
    /// 0 in all samples.
    Zero,
    /// The same value in all samples.
    Constant(f32),
    /// Quantized values: `low + step · k`.
    Animated {
        /// The value for k = 0.
        low: f32,
        /// The step size; finite, > 0.
        step: f32,
        /// One code per sample, |k| < 2²⁸.
        k: Vec<i32>,
    },
}

impl ScalarComponent {
    /// Returns the value at sample `i`; beyond the end, that of the last sample.
    pub fn value(&self, i: usize) -> f32 {
        match self {
            ScalarComponent::Zero => 0.0,
            ScalarComponent::Constant(value) => *value,
            ScalarComponent::Animated { low, step, k } => {
                let last = k.get(i).or(k.last());
                dequantize(*low, *step, last.copied().unwrap_or(0))
            }
        }
    }
}

/// The decoded value of code `k`. Part of the format.
#[inline]
pub fn dequantize(low: f32, step: f32, k: i32) -> f32 {
    (f64::from(low) + f64::from(step) * f64::from(k)) as f32
}

/// A scalar track: one to four numbers per sample.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarTrack {
    /// The name.
    pub name: String,
    /// The components, 1 … 4 of them.
    pub components: Vec<ScalarComponent>,
}

impl ScalarTrack {
    /// Returns the values at sample `i`; missing components are 0.
    pub fn values(&self, i: usize) -> [f32; 4] {
        let mut out = [0.0; 4];
        for (out, component) in out.iter_mut().zip(&self.components) {
            *out = component.value(i);
        }
        out
    }
}

/// The scalar tracks and markers of one clip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScalarsRecord {
    /// The number of the clip.
    pub clip: u32,
    /// The number of samples of the clip.
    pub samples: u32,
    /// Scalar tracks.
    pub tracks: Vec<ScalarTrack>,
    /// The markers, in order of time.
    pub markers: Vec<Marker>,
}

/// The state from which the next residual of a track is predicted.
struct ResidualPredictor {
    order: u8,
    mean: u32,
    before: [i32; 2],
    first: bool,
}

impl ResidualPredictor {
    fn new(order: u8) -> ResidualPredictor {
        ResidualPredictor { order, mean: 4 << 8, before: [0; 2], first: true }
    }

    fn prediction(&self) -> i32 {
        let [last, one] = self.before;
        match self.order == 2 && !self.first {
            true => last.wrapping_add(last.wrapping_sub(one)),
            false => last,
        }
    }

    fn bucket(&self) -> Bucket {
        Bucket::from_sigma(self.mean)
    }

    fn learn(&mut self, residual: i32, k: i32) {
        let size = residual.unsigned_abs().min(1 << 20) << 8;
        self.mean = self.mean - self.mean / 8 + size / 8;
        let [last, _] = self.before;
        // The second sample has only one sample before it, so its slope is unknown.
        self.before = [k, if self.first { k } else { last }];
        self.first = false;
    }
}

/// Returns the order of prediction that makes `k` cheaper.
#[cfg(feature = "encode")]
fn order(k: &[i32]) -> u8 {
    let cost = |order: u8| {
        let mut walk = ResidualPredictor::new(order);
        let costs = k.iter().map(|&k| {
            let residual = k.wrapping_sub(walk.prediction());
            let cost = u64::from(walk.bucket().cost(residual));
            walk.learn(residual, k);
            cost
        });
        costs.sum::<u64>()
    };
    if cost(2) < cost(1) { 2 } else { 1 }
}

/// Appends a chunk. Tracks have one to four components, animated ones `samples` codes each.
#[cfg(feature = "encode")]
pub fn encode(extras: &ScalarsRecord, out: &mut Vec<u8>) {
    put_varint(extras.clip, out);
    put_varint(extras.samples, out);
    put_varint(extras.tracks.len() as u32, out);
    let mut encoder = Encoder::default();
    for track in &extras.tracks {
        put_length_prefixed(track.name.as_bytes(), out);
        let kind = |c: &ScalarComponent| match c {
            ScalarComponent::Zero => 1u8,
            ScalarComponent::Constant(_) => 2,
            ScalarComponent::Animated { .. } => 3,
        };
        let kinds = track.components.iter().zip(0..4).map(|(c, i)| kind(c) << (2 * i));
        out.push(kinds.sum());
        for component in track.components.iter().take(4) {
            match component {
                ScalarComponent::Zero => {}
                ScalarComponent::Constant(value) => out.extend_from_slice(&value.to_le_bytes()),
                ScalarComponent::Animated { low, step, k } => {
                    out.extend_from_slice(&low.to_le_bytes());
                    out.extend_from_slice(&step.to_le_bytes());
                    let order = order(k);
                    out.push(order);
                    let mut walk = ResidualPredictor::new(order);
                    for &k in k {
                        let residual = k.wrapping_sub(walk.prediction());
                        encoder.push(walk.bucket(), residual);
                        walk.learn(residual, k);
                    }
                }
            }
        }
    }
    put_varint(extras.markers.len() as u32, out);
    for marker in &extras.markers {
        put_length_prefixed(marker.name.as_bytes(), out);
        out.extend_from_slice(&marker.time.to_le_bytes());
    }
    encoder.finish(out);
}

fn text(cursor: &mut Cursor<'_>) -> Result<String, Corrupt> {
    let size = cursor.varint()? as usize;
    let bytes = cursor.bytes(size)?;
    String::from_utf8(bytes.to_vec()).map_err(|_| Corrupt("scalar tracks: a name is not UTF-8"))
}

fn finite(cursor: &mut Cursor<'_>) -> Result<f32, Corrupt> {
    match cursor.f32()? {
        v if v.is_finite() => Ok(v),
        _ => Err(Corrupt("scalar tracks: a number that is not finite")),
    }
}

/// Decodes a chunk from all of `bytes`.
pub fn decode(bytes: &[u8]) -> Result<ScalarsRecord, Corrupt> {
    let mut cursor = Cursor::new(bytes);
    let mut extras =
        ScalarsRecord { clip: cursor.varint()?, samples: cursor.varint()?, ..ScalarsRecord::default() };
    // The order of each animated component, in the order of the residuals.
    let mut orders = Vec::new();
    for _ in 0..cursor.varint()? {
        let name = text(&mut cursor)?;
        let kinds = cursor.u8()?;
        let mut components = Vec::new();
        for i in 0..4 {
            components.push(match kinds >> (2 * i) & 3 {
                0 if i > 0 && kinds >> (2 * i) == 0 => break,
                0 => return Err(Corrupt("scalar tracks: a track without a component")),
                1 => ScalarComponent::Zero,
                2 => ScalarComponent::Constant(finite(&mut cursor)?),
                _ => {
                    let (low, step) = (finite(&mut cursor)?, finite(&mut cursor)?);
                    let order = cursor.u8()?;
                    if step <= 0.0 || !(1..=2).contains(&order) {
                        return Err(Corrupt("scalar tracks: a track without steps"));
                    }
                    orders.push(order);
                    let k = Vec::new();
                    ScalarComponent::Animated { low, step, k }
                }
            });
        }
        extras.tracks.push(ScalarTrack { name, components });
    }
    for _ in 0..cursor.varint()? {
        let name = text(&mut cursor)?;
        let time = cursor.f64()?;
        let ordered = extras.markers.last().is_none_or(|before| before.time <= time);
        if !time.is_finite() || !ordered {
            return Err(Corrupt("scalar tracks: a marker's time is not finite, or not in order"));
        }
        extras.markers.push(Marker { name, time });
    }
    let samples = extras.samples as usize;
    if samples.saturating_mul(orders.len()) > MAX_VALUES {
        return Err(Corrupt("scalar tracks: more values than a reader takes"));
    }
    let left = cursor.left();
    let mut decoder = Decoder::new(cursor.bytes(left)?);
    let mut orders = orders.into_iter();
    for component in extras.tracks.iter_mut().flat_map(|t| &mut t.components) {
        if let ScalarComponent::Animated { k, .. } = component {
            let mut walk = ResidualPredictor::new(orders.next().unwrap_or(1));
            k.reserve_exact(samples);
            for _ in 0..samples {
                let residual = decoder.decode(walk.bucket());
                let value = walk.prediction().wrapping_add(residual);
                walk.learn(residual, value);
                k.push(value);
            }
        }
    }
    decoder.finish()?;
    Ok(extras)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn component() -> impl Strategy<Value = ScalarComponent> {
        prop_oneof![
            Just(ScalarComponent::Zero),
            (-9f32..9.0).prop_map(ScalarComponent::Constant),
            (-9f32..9.0, 1e-4f32..1.0, prop::collection::vec(-100_000i32..100_000, 20))
                .prop_map(|(low, step, k)| ScalarComponent::Animated { low, step, k }),
            (0i32..9).prop_map(|by| ScalarComponent::Animated {
                low: 1.0,
                step: 0.5,
                k: (0..20).map(|i| i * by + i % 3).collect(),
            }),
        ]
    }

    fn any_extras() -> impl Strategy<Value = ScalarsRecord> {
        let track = prop::collection::vec(component(), 1..5)
            .prop_map(|components| ScalarTrack { name: "blink".into(), components });
        let times = prop::collection::vec(-5f64..5.0, 0..5);
        (prop::collection::vec(track, 0..4), times).prop_map(|(tracks, mut times)| {
            times.sort_by(f64::total_cmp);
            let marker = |time: f64| Marker { name: format!("at {time}"), time };
            ScalarsRecord { clip: 3, samples: 20, tracks, markers: times.into_iter().map(marker).collect() }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn what_is_written_is_read(extras in any_extras()) {
            let mut bytes = Vec::new();
            encode(&extras, &mut bytes);
            let back = decode(&bytes);
            prop_assert_eq!(back.as_ref(), Ok(&extras));
            for end in 0..bytes.len() {
                prop_assert!(decode(&bytes[..end]).is_err());
            }
            for bit in 0..8 * bytes.len() {
                let mut bytes = bytes.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                if let Ok(extras) = decode(&bytes) {
                    extras.tracks.iter().for_each(|t| { t.values(usize::MAX); });
                }
            }
        }

        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn golden() {
        let extras = ScalarsRecord {
            clip: 0,
            samples: 3,
            tracks: vec![ScalarTrack {
                name: "x".into(),
                components: vec![
                    ScalarComponent::Zero,
                    ScalarComponent::Animated { low: 1.0, step: 0.5, k: vec![0, 0, 0] },
                ],
            }],
            markers: vec![Marker { name: "go".into(), time: 0.5 }],
        };
        let mut bytes = Vec::new();
        encode(&extras, &mut bytes);
        let head = [
            0, 3, 1, 1, b'x', 0b1101, 0, 0, 0x80, 0x3F, 0, 0, 0, 0x3F, 1, 1, 2, b'g', b'o', 0, 0, 0, 0, 0, 0,
            0xE0, 0x3F,
        ];
        assert_eq!(bytes[..head.len()], head);
        // Smooth components cost little; empty ones only their names.
        let smooth: Vec<i32> =
            (0..1000).map(|i| (f64::from(i) * 0.01).sin().mul_add(5000.0, 0.0) as i32).collect();
        let track = |component: ScalarComponent| {
            let mut bytes = Vec::new();
            let components = vec![component];
            encode(
                &ScalarsRecord {
                    samples: 1000,
                    tracks: vec![ScalarTrack { name: String::new(), components }],
                    ..ScalarsRecord::default()
                },
                &mut bytes,
            );
            bytes.len()
        };
        let animated = track(ScalarComponent::Animated { low: 0.0, step: 1.0, k: smooth });
        assert!(animated < 400, "{animated}");
        assert!(track(ScalarComponent::Zero) < 10);
    }
}
