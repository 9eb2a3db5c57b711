//! An access unit: the heads of its frames, and the residuals behind them.

use crate::Corrupt;
use crate::bytes::Cursor;
use crate::entropy::rans::{self, LANES};
use crate::mesh::blocks::BLOCK;
use crate::mesh::pack::{self, Unpacker};
use crate::mesh::table_sets::{DecodingTables, TableForm};
use crate::mesh::tables::{self, NEIGHBOUR_CLASSES};
use crate::mesh::token::{self, BitReader};
use crate::quantize::fixed_point::FixedPoint;
use crate::schedule::MAX_REFERENCES;

/// A decoded vector: x, y, z and the magnitude of its residual.
pub type DecodedPoint<W> = [W; 4];

/// Returns `p + S·q`, with the magnitude of q.
#[inline(always)]
pub(in crate::mesh) fn add_residual<W: FixedPoint>(p: [W; 3], q: [i32; 3], step: i32) -> DecodedPoint<W> {
    let axis = |k: usize| p[k].wrapping_add(W::wrap(q[k].wrapping_mul(step)));
    [axis(0), axis(1), axis(2), W::wrap(token::magnitude(q))]
}

/// The coefficients of a frame's references, and ρ by level.
#[derive(Debug, Clone, Copy)]
pub struct PredictorHead {
    /// By reference, in 1/256.
    pub coefficients: [i16; MAX_REFERENCES],
    /// ρ by level, in quarters; the entry of level 0 is not used.
    pub rho: [u8; MAX_LEVELS],
}

/// The largest number of levels in a hierarchy.
pub(in crate::mesh) const MAX_LEVELS: usize = 128;

/// The value of ρ before the first level, in quarters.
pub(in crate::mesh) const FIRST_RHO: u8 = 4;

/// The order of the coefficients' Exp-Golomb code.
pub(in crate::mesh) const GOLOMB_ORDER: u32 = 4;

/// The largest absolute value of a coefficient.
pub(in crate::mesh) const MAX_COEFFICIENT: i32 = 8191;

impl PredictorHead {
    pub(in crate::mesh) const EMPTY: PredictorHead =
        PredictorHead { coefficients: [0; MAX_REFERENCES], rho: [0; MAX_LEVELS] };

    pub(in crate::mesh) fn read(
        r: &mut BitReader,
        references: usize,
        levels: usize,
    ) -> Result<PredictorHead, Corrupt> {
        let mut head = PredictorHead::EMPTY;
        let mut first = 256;
        for k in 1..references.min(MAX_REFERENCES) {
            let zeros = r.peek().trailing_zeros();
            if zeros > 12 {
                return Err(Corrupt("unit: coefficient too large"));
            }
            r.skip(zeros + 1);
            let value = (((1 << zeros) - 1) << GOLOMB_ORDER) + r.read(zeros + GOLOMB_ORDER);
            let value = (value >> 1) as i32 ^ -((value & 1) as i32);
            if value.abs() > MAX_COEFFICIENT {
                return Err(Corrupt("unit: coefficient too large"));
            }
            head.coefficients[k] = value as i16;
            first -= value;
        }
        head.coefficients[0] = first as i16;
        let mut rho = FIRST_RHO;
        for level in 1..levels {
            if r.read(1) == 0 {
                rho = r.read(3) as u8;
                if rho > 4 {
                    return Err(Corrupt("unit: ρ too large"));
                }
            }
            head.rho[level] = rho;
        }
        Ok(head)
    }
}

/// The residuals of an access unit.
pub struct UnitBody<'a> {
    pub(in crate::mesh) source: UnitResiduals<'a>,
    /// The current block, if residuals are packed.
    pub(in crate::mesh) block: Option<pack::ResidualBlock>,
}

pub(in crate::mesh) enum UnitResiduals<'a> {
    Zero,
    Tokens(CodedTokens<'a>),
    Packed(Unpacker<'a>),
}

pub(in crate::mesh) struct CodedTokens<'a> {
    pub(in crate::mesh) lanes: usize,
    pub(in crate::mesh) rans: rans::Decoder<'a>,
    pub(in crate::mesh) raw: BitReader<'a>,
}

impl<'a> UnitBody<'a> {
    /// Splits the bytes of a unit. `heads` reads the part before the residuals.
    pub(in crate::mesh) fn new(
        bytes: &'a [u8],
        blocks: usize,
        heads: impl FnOnce(&mut BitReader<'a>) -> Result<(), Corrupt>,
    ) -> Result<UnitBody<'a>, Corrupt> {
        let mut c = Cursor::new(bytes);
        let kind = c.u8()?;
        let rest = c.bytes(c.left())?;
        let mut bits = BitReader::new(rest);
        heads(&mut bits)?;
        let used = bits.used().ok_or(Corrupt("unit: ends in its heads"))?;
        let mut c = Cursor::new(&rest[used..]);
        let source = match (kind & 3, kind >> 2) {
            (0, 0) => match c.left() {
                0 => UnitResiduals::Zero,
                _ => return Err(Corrupt("unit: bytes left over")),
            },
            (2, 0) => UnitResiduals::Packed(Unpacker::new(c.bytes(c.left())?, blocks)?),
            (1, log) if log <= 4 => {
                let lanes = 1 << log;
                let words = c.varint()? as usize;
                let mut states = [0; LANES];
                for state in &mut states[..lanes] {
                    *state = u32::from_le_bytes(c.array()?);
                }
                let size = words.checked_mul(2).ok_or(Corrupt("unit: too many words"))?;
                let words = c.bytes(size)?;
                UnitResiduals::Tokens(CodedTokens {
                    lanes,
                    rans: rans::Decoder { states, words, next: 0 },
                    raw: BitReader::new(c.bytes(c.left())?),
                })
            }
            _ => return Err(Corrupt("unit: unknown kind")),
        };
        Ok(UnitBody { source, block: None })
    }

    /// Begins a block of `count` vertices.
    pub(in crate::mesh) fn start_block<W: FixedPoint>(&mut self, count: usize) {
        if let UnitResiduals::Packed(packed) = &mut self.source {
            self.block = packed.block(count.min(BLOCK), W::BITS);
        }
    }

    /// Returns the residual of the vertex with index `at` in its level.
    #[inline(always)]
    pub(in crate::mesh) fn next_residual<W: FixedPoint>(
        &mut self,
        shared: &DecodingTables,
        at: usize,
        context: impl FnOnce() -> usize,
    ) -> [i32; 3] {
        let t = match &mut self.source {
            UnitResiduals::Tokens(t) => t,
            UnitResiduals::Zero => return [0; 3],
            UnitResiduals::Packed(_) => return self.block.map_or([0; 3], |b| b[at % BLOCK]),
        };
        let context = context();
        let table = usize::from(shared.map[context]);
        let k = tables::shift(context / tables::REFERENCE_CLASSES % NEIGHBOUR_CLASSES);
        let lane = at & (t.lanes - 1);
        let token = match &shared.form {
            TableForm::Slots(ready) => t.rans.token(lane, |slot| ready.slots[table][slot as usize]),
            TableForm::Compact(ranges) => t.rans.token(lane, |slot| ranges[table].entry(slot)),
        };
        token::residual::<W>(token, k, &mut t.raw)
    }

    pub(in crate::mesh) fn finish(&self) -> Result<(), Corrupt> {
        let finished = match &self.source {
            UnitResiduals::Zero => true,
            UnitResiduals::Tokens(t) => t.rans.finished(t.lanes) && t.raw.finished(),
            UnitResiduals::Packed(p) => p.finished(),
        };
        match finished {
            true => Ok(()),
            false => Err(Corrupt("unit: its residuals do not end where it does")),
        }
    }
}
