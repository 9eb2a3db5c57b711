//! The scalar decoder: it defines the meaning of every byte and is the reference for the vectorized decoders.
//!
//! **Static part**
//!
//! | size | name | meaning |
//! |---|---|---|
//! | 1 | `flags` | bit 0: fixed-point positions are i32, else i16 · bits 1–3: number of the fit of spatial weights ([`crate::mesh::weights::FITS`]) · bits 4–7: 0, or number of the default set of tables ([`crate::mesh::defaults`]) |
//! | 4 | `unit` | f32, length of a unit |
//! | 12 | `centre` | 3 × f32 |
//! | varint × 6 | `steps` | units of a half step by layer, 1 … 65535 |
//! | varint | `size` | bytes of the tables, not with a default set |
//! | `size` | `tables` | see [`crate::mesh::tables`], not with a default set |
//! | rest | `frame 0` | a unit of one frame without references |
//!
//! **Unit**
//!
//! | size | name | meaning |
//! |---|---|---|
//! | 1 | `kind` | bits 0–1: 0 = all residuals are zero, 1 = tokens, 2 = packed: [`crate::mesh::pack`] follows the heads · bits 2–4: log₂ of the number of lanes, 0 … 4 · others 0 |
//! | … | `heads` | bits, lowest first, padded with zeros to a byte: per frame the coefficients of its references except the first, then ρ of each level except 0 |
//! | varint | `words` | number of 16-bit words (this and all below only for tokens) |
//! | 4 × lanes | `states` | initial states of the lanes |
//! | 2 × words | | u16, the words, in the order in which the lanes take them |
//! | rest | `raw` | raw bits of the vertices |
//!
//! Coefficients are signed Exp-Golomb codes of order 4, in 1/256; the first reference gets 256 − the sum of
//! the others. ρ: one bit "as the level before" (4 before the first), else 3 bits, 0 … 4, in quarters. Frame
//! 0 has neither.
//!
//! The **frames** of an access unit are decoded side by side: for each level, for each 16 vertices of the
//! level, for each frame of the unit, these vertices. The lane of a vertex is its index within the level,
//! modulo the number of lanes:
//!
//! ```text
//! T      = (Σ c_r · rec_r[v] + 128) >> 8
//! p      = ((Σ W_i · inn[n_i] >> 6) · 4ρ + 512) >> 10                     level 0: 0
//! k      = context of (magnitudes of inn[n_i], of rec_0[v], rec_1[v])
//! q      = token and raw bits of v
//! inn[v] = p + S·q            rec[v] = T + inn[v]           magnitude of both: |q|
//! ```
//!
//! In frame 0, T = 0 and p is the mean of the ring; in level 0, p is the root before it.

mod bundle;
pub mod index;
mod kernel;
mod neighbour_plan;
mod static_part;
mod tokens;
mod unit;

use crate::Corrupt;
use crate::mesh::blocks::{self, BUNDLE};
use crate::mesh::tables::LAYERS;
use crate::quantize::fixed_point::FixedPoint;
use crate::schedule::{MAX_REFERENCES, MAX_UNIT_FRAMES, Schedule, Unit};
use crate::simd::isa::Isa;

use bundle::{Bundle, ReferenceFrame};
use fearless_simd::i32x4;
#[cfg(target_arch = "x86_64")]
use fearless_simd::i32x8;
use kernel::Arguments;
#[cfg(target_arch = "x86_64")]
use tokens::avx512::TokenTables;
use unit::{UnitBody, UnitResiduals};

pub use crate::mesh::blocks::scratch_len;
pub(crate) use static_part::grid;
pub(in crate::mesh) use static_part::{
    FIT_SHIFT, SET_SHIFT, WIDE, positions, ring_context, ring_mean, solve_spatial_weights,
};
pub use static_part::{FirstFrame, StaticPart, decode_first_positions, is_wide};
pub use unit::{DecodedPoint, PredictorHead};
pub(in crate::mesh) use unit::{FIRST_RHO, GOLOMB_ORDER, MAX_COEFFICIENT, MAX_LEVELS, add_residual};

/// A width of fixed-point positions, i16 or i32, that decoders choose at run time.
pub trait Width: FixedPoint {
    /// Returns frame 0, if it has this width.
    fn first(s: &StaticPart) -> Option<&[DecodedPoint<Self>]> {
        Self::downcast(s.first.as_points())
    }

    /// Decodes the frames of a bundle with the fastest decoder for this width on this machine.
    fn decode_bundle(
        _: Isa,
        s: &StaticPart,
        bundle: &Bundle<Self>,
        body: &mut UnitBody,
        out: &mut [&mut [DecodedPoint<Self>]],
        scratch: &mut [DecodedPoint<Self>],
    ) {
        bundle::decode_scalar(s, bundle, body, out, scratch);
    }
}

impl Width for i16 {
    fn decode_bundle(
        isa: Isa,
        s: &StaticPart,
        bundle: &Bundle<i16>,
        body: &mut UnitBody,
        out: &mut [&mut [DecodedPoint<i16>]],
        scratch: &mut [DecodedPoint<i16>],
    ) {
        let source = &mut body.source;
        let tokens = matches!(source, UnitResiduals::Tokens(_));
        if let Some(plan) = &s.plan
            && !(tokens && s.tables.slot_tables().is_none())
        {
            let arguments = Arguments { plan, s, bundle, out, scratch };
            match isa.chosen() {
                _ if !arguments.fit() => {}
                Isa::Narrow(isa) => return tokens::narrow::decode(isa, arguments, source),
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2(avx2) => {
                    return match avx2.avx512() {
                        Some(isa) if !tokens || TokenTables::new(&s.tables).is_some() => {
                            tokens::avx512::decode(isa, arguments, source)
                        }
                        _ => tokens::avx2::decode(avx2, arguments, source),
                    };
                }
                _ => {}
            }
        }
        bundle::decode_scalar(s, bundle, body, out, scratch);
    }
}

impl Width for i32 {
    fn decode_bundle(
        isa: Isa,
        s: &StaticPart,
        bundle: &Bundle<i32>,
        body: &mut UnitBody,
        out: &mut [&mut [DecodedPoint<i32>]],
        scratch: &mut [DecodedPoint<i32>],
    ) {
        #[cfg(target_arch = "x86_64")]
        let tokens = matches!(body.source, UnitResiduals::Tokens(_));
        if let Some(plan) = &s.plan {
            let arguments = Arguments { plan, s, bundle, out, scratch };
            match isa.chosen() {
                _ if !arguments.fit() => {}
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2(avx2) => {
                    return match avx2.avx512() {
                        Some(isa) if !tokens || TokenTables::new(&s.tables).is_some() => {
                            tokens::avx512::decode_wide(isa, arguments, &mut body.source)
                        }
                        _ => kernel::run::<i32x8<_>>(avx2.token(), arguments, body),
                    };
                }
                Isa::Narrow(isa) => return kernel::run::<i32x4<_>>(isa.token(), arguments, body),
                _ => {}
            }
        }
        bundle::decode_scalar(s, bundle, body, out, scratch);
    }
}

/// The bytes of an access unit, and the frames that they hold.
#[derive(Clone, Copy, Debug)]
pub struct CodedUnit<'a> {
    /// The schedule of the file.
    pub schedule: &'a Schedule,
    /// The unit of that schedule.
    pub unit: Unit,
    /// All bytes of the unit.
    pub bytes: &'a [u8],
}

/// Decodes an access unit into `out`, one slice per frame of [`Schedule::frames_of`], each as long as the
/// number of points.
///
/// `reference` returns the decoded frames of [`Schedule::dependencies`]; `scratch` has at least
/// [`scratch_len`] vectors. No memory is allocated. Key frame 0 has no bytes: it is copied. After an error
/// the contents of `out` are unspecified.
pub fn decode_unit<'r, W: Width>(
    s: &StaticPart,
    coded: CodedUnit<'_>,
    reference: &dyn Fn(u32) -> Option<&'r [DecodedPoint<W>]>,
    out: &mut [&mut [DecodedPoint<W>]],
    scratch: &mut [DecodedPoint<W>],
) -> Result<(), Corrupt> {
    decode_unit_with(Isa::get(), s, coded, reference, out, scratch)
}

/// [`decode_unit`] with one of the instruction sets of [`Isa::all`]. The result is the same.
pub fn decode_unit_with<'r, W: Width>(
    isa: Isa,
    s: &StaticPart,
    coded: CodedUnit<'_>,
    reference: &dyn Fn(u32) -> Option<&'r [DecodedPoint<W>]>,
    out: &mut [&mut [DecodedPoint<W>]],
    scratch: &mut [DecodedPoint<W>],
) -> Result<(), Corrupt> {
    let CodedUnit { schedule, unit, bytes } = coded;
    let frames = schedule.frames_of(unit);
    let points = s.points();
    let first = W::first(s).ok_or(Corrupt("unit: fixed-point positions of another width"))?;
    if frames.len() != out.len()
        || out.iter().any(|o| o.len() != points)
        || scratch.len() < scratch_len(points)
    {
        return Err(Corrupt("unit: buffers of another size"));
    }
    if s.hierarchy.level_count() > MAX_LEVELS {
        return Err(Corrupt("unit: too many levels of the hierarchy"));
    }
    if frames.is_empty() || unit == Unit::Key(0) {
        out.iter_mut().for_each(|o| o.copy_from_slice(first));
        return match bytes {
            [] => Ok(()),
            _ => Err(Corrupt("unit: bytes left over")),
        };
    }
    let mut heads = [PredictorHead::EMPTY; MAX_UNIT_FRAMES];
    let blocks = frames.len() * blocks::count(&s.hierarchy);
    let mut body = UnitBody::new(bytes, blocks, |bits| {
        for (head, &frame) in heads.iter_mut().zip(frames.iter()) {
            let count = schedule.references(frame).len();
            *head = PredictorHead::read(bits, count, s.hierarchy.level_count())?;
        }
        Ok(())
    })?;
    let mut bundle = Bundle {
        layers: [0; BUNDLE],
        heads: &heads[..frames.len()],
        references: [[ReferenceFrame::Known(first); MAX_REFERENCES]; BUNDLE],
    };
    for (at, &frame) in frames.iter().enumerate() {
        bundle.layers[at] = layer(schedule, frame);
        let list = schedule.references(frame);
        for (k, found) in bundle.references[at].iter_mut().enumerate() {
            // Missing references have coefficient 0.
            let number = list[if k < list.len() { k } else { 0 }];
            *found = find(number, &frames[..at], first, reference)?;
        }
    }
    W::decode_bundle(isa, s, &bundle, &mut body, out, scratch);
    body.finish()
}

/// Finds frame `number`: among the frames `before` it in the same unit, or decoded earlier; frame 0 is
/// `first`.
fn find<'a, 'r: 'a, W>(
    number: u32,
    before: &[u32],
    first: &'a [DecodedPoint<W>],
    reference: &dyn Fn(u32) -> Option<&'r [DecodedPoint<W>]>,
) -> Result<ReferenceFrame<'a, W>, Corrupt> {
    if let Some(i) = before.iter().position(|&f| f == number) {
        return Ok(ReferenceFrame::Inside(i));
    }
    if number == 0 {
        return Ok(ReferenceFrame::Known(first));
    }
    match reference(number) {
        Some(frame) if frame.len() == first.len() => Ok(ReferenceFrame::Known(frame)),
        Some(_) => Err(Corrupt("unit: buffers of another size")),
        None => Err(Corrupt("unit: a frame it needs is missing")),
    }
}

/// Returns the layer of a frame: 0 for frame 0, 1 for key frames, 1 + depth for others.
pub(super) fn layer(schedule: &Schedule, frame: u32) -> usize {
    match frame {
        0 => 0,
        _ => (1 + schedule.depth(frame) as usize).min(LAYERS - 1),
    }
}

/// Predicts a whole frame from its references; the fourth component is not used.
#[cfg(feature = "encode")]
#[inline(always)]
pub(super) fn blend<W: FixedPoint>(
    references: [&[DecodedPoint<W>]; MAX_REFERENCES],
    coefficients: [i16; MAX_REFERENCES],
    out: &mut [DecodedPoint<W>],
) {
    let [a, b, c, d] = references.map(|r| r.as_flattened());
    let out = out.as_flattened_mut();
    let n = out.len();
    let (a, b, c, d) = (&a[..n], &b[..n], &c[..n], &d[..n]);
    for i in 0..n {
        out[i] = W::blend([a[i], b[i], c[i], d[i]], coefficients);
    }
}
