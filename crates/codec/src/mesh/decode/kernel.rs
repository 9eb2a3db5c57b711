//! Decodes a bundle in registers, with the same results as [`super::bundle::decode_scalar`]. It is written
//! once for all instruction sets, and for both widths of components.
//!
//! * **Prediction over the surface**: the innovations of a vertex in the frames of the bundle lie side by
//!   side, so one load is a neighbour in several frames. The multiplication by weights also sums the
//!   magnitudes, fourth in each vector. The rows of vertices are then transposed to rows of frames. In a unit
//!   of one frame, innovations lie vertex by vertex, and neighbours are gathered.
//! * **Residuals**: see [`ResidualBlocks`]; each instruction set has its own ways.
//! * **Prediction over time**: vertex by vertex, in the same order.

use super::bundle::{Bundle, ReferenceFrame};
use super::neighbour_plan::NeighbourPlan;
use super::static_part::StaticPart;
use super::unit::{DecodedPoint, UnitBody, UnitResiduals};
use crate::mesh::blocks::{BLOCK, BUNDLE, PointBlock, blocks, scratch_len};
use crate::mesh::pack::narrow::PackedStream;
use crate::mesh::registers::Register;
use crate::mesh::table_sets::DecodingTables;
use crate::mesh::{tables, token};
use crate::quantize::fixed_point::FixedPoint;
use crate::schedule::MAX_REFERENCES;
use crate::simd::doubles::Doubles;
use fearless_simd::Simd;

/// A block of one frame whose residuals are wanted, with the values that their contexts depend on.
pub(in crate::mesh) struct BlockContext<'a, R: Register> {
    pub simd: R::Simd,
    /// The index of the first vertex within its level.
    pub first_vertex: usize,
    /// The number of vertices.
    pub count: usize,
    pub layer: usize,
    /// `true` in level 0, which has no prediction over the surface.
    pub root: bool,
    /// The prediction over the surface; the fourths are the sums of the neighbours' magnitudes.
    pub predicted: &'a R::Block,
    /// The first two references.
    pub references: [&'a PointBlock<R::Number>; 2],
}

/// The source of the residuals.
pub(in crate::mesh) trait ResidualBlocks<R: Register> {
    /// Returns the residuals of the next block, with their magnitudes; `None` if all are zero. Vectors beyond
    /// the block's count are unspecified.
    fn next_block(&mut self, block: &BlockContext<R>) -> Option<R::Block>;
}

/// Returns the sums of the neighbours' magnitudes, and the larger magnitude of two references, of a block of
/// 32-bit positions.
#[inline(always)]
pub(super) fn magnitudes<R: Register<Number = i32>>(block: &BlockContext<R>) -> [[i32; BLOCK]; 2] {
    let mut out = [[0; BLOCK]; 2];
    let mut near = [[0; 4]; BLOCK];
    for (i, row) in block.predicted.as_ref().iter().enumerate() {
        row.store(&mut near[R::VECTORS * i..]);
    }
    let [a, b] = block.references;
    for i in 0..block.count {
        let past = a[i][3].max(b[i][3]);
        out[0][i] = if block.root { past.wrapping_mul(4) } else { near[i][3] };
        out[1][i] = past;
    }
    out
}

/// Residuals of 32-bit positions, with the tokens of the scalar decoder.
struct WideResiduals<'a, 'b> {
    body: &'a mut UnitBody<'b>,
    /// The residuals, if they are packed.
    packed: Option<PackedStream<'b>>,
    tables: &'a DecodingTables,
}

impl WideResiduals<'_, '_> {
    /// Reads the tokens of a block one by one; returns residuals with their magnitudes.
    #[inline(always)]
    fn tokens<R: Register<Number = i32>>(&mut self, block: &BlockContext<R>) -> PointBlock<i32> {
        let [near, past] = magnitudes(block);
        let mut rows = [[0; 4]; BLOCK];
        for (i, row) in rows.iter_mut().enumerate().take(block.count) {
            let context = || {
                tables::context(
                    block.layer,
                    tables::neighbour_class(near[i]),
                    tables::reference_class(past[i]),
                )
            };
            let q = self.body.next_residual::<i32>(self.tables, block.first_vertex + i, context);
            *row = [q[0], q[1], q[2], token::magnitude(q)];
        }
        rows
    }
}

impl<R: Register<Number = i32, Simd: Doubles>> ResidualBlocks<R> for WideResiduals<'_, '_> {
    #[inline(always)]
    fn next_block(&mut self, block: &BlockContext<R>) -> Option<R::Block> {
        let rows = match (&mut self.packed, &self.body.source) {
            (Some(packed), _) => packed.block::<_, i32>(block.simd, block.count)?,
            (None, UnitResiduals::Tokens(_)) => self.tokens(block),
            _ => return None,
        };
        let mut out = *block.predicted;
        for (i, out) in out.as_mut().iter_mut().enumerate() {
            *out = R::load(block.simd, &rows[R::VECTORS * i..]);
        }
        Some(out)
    }
}

/// The arguments of a kernel. See [`super::decode_unit`].
pub(super) struct Arguments<'a, 'o, N> {
    pub plan: &'a NeighbourPlan,
    pub s: &'a StaticPart,
    pub bundle: &'a Bundle<'a, N>,
    pub out: &'a mut [&'o mut [DecodedPoint<N>]],
    pub scratch: &'a mut [DecodedPoint<N>],
}

impl<N: FixedPoint> Arguments<'_, '_, N> {
    /// `true` if all slices have the lengths that the kernel relies on.
    pub fn fit(&self) -> bool {
        let n = self.s.points();
        n == self.plan.points
            && n > 0
            && self.scratch.len() >= scratch_len(n)
            && (1..=BUNDLE).contains(&self.out.len())
            && self.bundle.heads.len() == self.out.len()
            && self.out.iter().all(|o| o.len() == n)
            && self.bundle.fits(n)
    }
}

/// Decodes a bundle of 32-bit positions.
pub(super) fn run<R: Register<Number = i32, Simd: Doubles>>(
    simd: R::Simd,
    arguments: Arguments<i32>,
    body: &mut UnitBody,
) {
    let tables = &*arguments.s.tables;
    let packed = match &body.source {
        UnitResiduals::Packed(p) => Some(PackedStream::new(p)),
        _ => None,
    };
    let mut residuals = WideResiduals { body, packed, tables };
    simd.vectorize(
        #[inline(always)]
        || decode::<R, _>(simd, arguments, &mut residuals),
    );
    if let (Some(fields), UnitResiduals::Packed(p)) = (residuals.packed, &mut residuals.body.source) {
        fields.put_back(p);
    }
}

/// Decodes a bundle. Must be inlined into a function of the instruction set.
#[inline(always)]
pub(super) fn decode<R: Register, B: ResidualBlocks<R>>(
    simd: R::Simd,
    arguments: Arguments<'_, '_, R::Number>,
    residuals: &mut B,
) {
    let Arguments { plan, s, bundle, out, scratch } = arguments;
    // Whole cache lines.
    let scratch = scratch.as_flattened_mut();
    let size = size_of::<R::Number>();
    let skipped = scratch.as_ptr().addr().wrapping_neg() % LINE / size;
    let scratch = scratch[skipped..].as_chunks_mut::<4>().0;
    let mut kernel = Kernel::<R> {
        simd,
        plan,
        s,
        bundle,
        frames: out.len().min(BUNDLE),
        steps: [R::zero(simd); BUNDLE],
        coefficients: [R::weights(simd, [0; 4]); BUNDLE],
        tails: [[Default::default(); BLOCK]; MAX_REFERENCES + 1],
    };
    for (weights, head) in kernel.coefficients.iter_mut().zip(bundle.heads) {
        *weights = R::weights(simd, head.coefficients);
    }
    for (own, layer) in kernel.steps.iter_mut().zip(bundle.layers) {
        let step = R::Number::wrap(i32::from(s.grid.steps[layer]));
        *own = R::load(simd, &[[step, step, step, R::Number::wrap(1)]; BUNDLE]);
    }
    kernel.decode_levels(residuals, out, scratch);
}

/// The bytes of a cache line.
const LINE: usize = 64;

struct Kernel<'a, R: Register> {
    simd: R::Simd,
    plan: &'a NeighbourPlan,
    s: &'a StaticPart,
    bundle: &'a Bundle<'a, R::Number>,
    frames: usize,
    /// By frame: its step for the axes, and 1 for magnitudes.
    steps: [R; BUNDLE],
    coefficients: [R::Weights; BUNDLE],
    /// Copies of the references and of the frame for the last block, if it is not whole.
    tails: [PointBlock<R::Number>; MAX_REFERENCES + 1],
}

/// A block of a level.
struct BlockSpan {
    start: usize,
    count: usize,
    /// The index of its first vertex within the level.
    first_vertex: usize,
    root: bool,
}

impl<R: Register> Kernel<'_, R> {
    /// Decodes all levels.
    #[inline(always)]
    fn decode_levels<B: ResidualBlocks<R>>(
        &mut self,
        residuals: &mut B,
        out: &mut [&mut [DecodedPoint<R::Number>]],
        innovations: &mut [DecodedPoint<R::Number>],
    ) {
        // The room for frames side by side. Key frames are alone; most other units have seven or eight
        // frames.
        let stride = match self.frames {
            1 => 1,
            2 if R::VECTORS == 2 => 2,
            2..=4 if R::VECTORS == 4 => 4,
            _ => BUNDLE,
        };
        let levels = self.s.hierarchy.level_count();
        let mut predicted = [R::zeros(self.simd); BUNDLE];
        for level in 0..levels {
            let range = self.s.hierarchy.level(level);
            let mut rho = [16; BUNDLE];
            for (rho, head) in rho.iter_mut().zip(self.bundle.heads) {
                *rho = 4 * i32::from(head.rho[level]);
            }
            if stride == 1 {
                rho = [rho[0]; BUNDLE];
            }
            let rho = (rho != [16; BUNDLE]).then_some(rho);
            for vertices in blocks(range.clone()) {
                let start = vertices.start;
                match (level, stride) {
                    (0, _) => predicted = [R::zeros(self.simd); BUNDLE],
                    (_, 1) => self.predict_one(start, &rho, innovations, &mut predicted[0]),
                    (_, 2) if R::VECTORS == 2 => {
                        self.predict::<2, 1>(start, &rho, innovations, &mut predicted)
                    }
                    (_, 4) if R::VECTORS == 4 => {
                        self.predict::<4, 1>(start, &rho, innovations, &mut predicted)
                    }
                    _ => match R::VECTORS {
                        1 => self.predict::<BUNDLE, BUNDLE>(start, &rho, innovations, &mut predicted),
                        2 => self.predict::<BUNDLE, 4>(start, &rho, innovations, &mut predicted),
                        4 => self.predict::<BUNDLE, 2>(start, &rho, innovations, &mut predicted),
                        _ => self.predict::<BUNDLE, 1>(start, &rho, innovations, &mut predicted),
                    },
                }
                let span = BlockSpan {
                    start,
                    count: vertices.len(),
                    first_vertex: start - range.start,
                    root: level == 0,
                };
                for f in 0..self.frames {
                    self.finish(f, &span, residuals, &mut predicted[f], out);
                }
                if level + 1 == levels {
                    continue;
                }
                match stride {
                    1 => self.store_one(start, &predicted[0], innovations),
                    2 if R::VECTORS == 2 => self.store::<2>(start, &predicted, innovations),
                    4 if R::VECTORS == 4 => self.store::<4>(start, &predicted, innovations),
                    _ => self.store::<BUNDLE>(start, &predicted, innovations),
                }
            }
        }
    }

    /// Predicts a block over the surface, in `PARTS` registers side by side.
    #[inline(always)]
    fn predict<const STRIDE: usize, const PARTS: usize>(
        &self,
        start: usize,
        rho: &Option<[i32; BUNDLE]>,
        innovations: &[DecodedPoint<R::Number>],
        out: &mut [R::Block; BUNDLE],
    ) {
        match rho {
            None => self.predict_by::<STRIDE, PARTS>(start, None, innovations, out),
            Some(rho) => {
                let mut all = [R::rho(self.simd, rho, 0); PARTS];
                for part in 1..PARTS {
                    all[part] = R::rho(self.simd, rho, part * R::VECTORS);
                }
                self.predict_by::<STRIDE, PARTS>(start, Some(all), innovations, out);
            }
        }
    }

    /// Predicts a block over the surface with ρ.
    #[inline(always)]
    fn predict_by<const STRIDE: usize, const PARTS: usize>(
        &self,
        start: usize,
        rho: Option<[R::Rho; PARTS]>,
        innovations: &[DecodedPoint<R::Number>],
        out: &mut [R::Block; BUNDLE],
    ) {
        let innovations = innovations.as_chunks::<STRIDE>().0;
        let near = [0, 1, 2, 3].map(|k| block_entries(&self.plan.neighbours[k], start));
        let weights = block_entries(&self.plan.weights, start);
        for i in 0..BLOCK / R::VECTORS {
            let rows = R::each(
                #[inline(always)]
                |v| {
                    let vertex = R::VECTORS * i + v;
                    let weights = R::axis_weights(self.simd, weights[vertex]);
                    let [a, b, c, d] = [near[0][vertex], near[1][vertex], near[2][vertex], near[3][vertex]];
                    let (a, b) = (&innovations[a as usize], &innovations[b as usize]);
                    let (c, d) = (&innovations[c as usize], &innovations[d as usize]);
                    let mut parts = [R::zero(self.simd); PARTS];
                    for part in 0..PARTS {
                        let at = part * R::VECTORS;
                        let rows = [
                            R::load(self.simd, &a[at..]),
                            R::load(self.simd, &b[at..]),
                            R::load(self.simd, &c[at..]),
                            R::load(self.simd, &d[at..]),
                        ];
                        let rho = rho.as_ref().map(|rho| rho[part]);
                        parts[part] = R::weigh(rows, weights, rho);
                    }
                    parts
                },
            );
            for part in 0..PARTS {
                let frames = R::transposed(R::each(
                    #[inline(always)]
                    |v| rows.as_ref()[v][part],
                ));
                for v in 0..R::VECTORS {
                    out[part * R::VECTORS + v].as_mut()[i] = frames.as_ref()[v];
                }
            }
        }
    }

    /// Predicts a block over the surface in a unit of one frame.
    #[inline(always)]
    fn predict_one(
        &self,
        start: usize,
        rho: &Option<[i32; BUNDLE]>,
        innovations: &[DecodedPoint<R::Number>],
        out: &mut R::Block,
    ) {
        let near = [0, 1, 2, 3].map(|k| block_entries(&self.plan.neighbours[k], start));
        let weights = block_entries(&self.plan.weights, start);
        let rho = rho.as_ref().map(
            #[inline(always)]
            |rho| R::rho(self.simd, rho, 0),
        );
        for (i, out) in out.as_mut().iter_mut().enumerate() {
            let at = R::VECTORS * i;
            let rows = [
                R::gather(self.simd, innovations, &near[0][at..]),
                R::gather(self.simd, innovations, &near[1][at..]),
                R::gather(self.simd, innovations, &near[2][at..]),
                R::gather(self.simd, innovations, &near[3][at..]),
            ];
            *out = R::weigh(rows, R::weights_of_each(self.simd, &weights[at..]), rho);
        }
    }

    /// Adds residuals and the temporal prediction; turns the prediction `p` into the innovation.
    #[inline(always)]
    fn finish<B: ResidualBlocks<R>>(
        &mut self,
        f: usize,
        span: &BlockSpan,
        residuals: &mut B,
        p: &mut R::Block,
        out: &mut [&mut [DecodedPoint<R::Number>]],
    ) {
        let (done, rest) = out.split_at_mut(f);
        let [t0, t1, t2, t3, own] = &mut self.tails;
        let given = |k: usize| match self.bundle.references[f][k] {
            ReferenceFrame::Known(frame) => &frame[span.start..],
            ReferenceFrame::Inside(frame) => &done[frame][span.start..],
        };
        let references = [block(given(0), t0), block(given(1), t1), block(given(2), t2), block(given(3), t3)];
        let layer = self.bundle.layers[f];
        let residuals = residuals.next_block(&BlockContext {
            simd: self.simd,
            first_vertex: span.first_vertex,
            count: span.count,
            layer,
            root: span.root,
            predicted: p,
            references: [references[0], references[1]],
        });
        let (step, weights) = (self.steps[f], self.coefficients[f]);
        let out = &mut rest[0][span.start..];
        let left = out.len();
        let to = match out.first_chunk_mut() {
            Some(all) => all,
            None => &mut *own,
        };
        for (i, p) in p.as_mut().iter_mut().enumerate() {
            let at = R::VECTORS * i;
            *p = match &residuals {
                None => p.axes(),
                Some(q) => q.as_ref()[i].times(step).plus_axes(*p),
            };
            let rows = [
                R::load(self.simd, &references[0][at..]),
                R::load(self.simd, &references[1][at..]),
                R::load(self.simd, &references[2][at..]),
                R::load(self.simd, &references[3][at..]),
            ];
            p.plus_axes(R::blend(rows, weights)).store(&mut to[at..]);
        }
        if left < BLOCK {
            rest[0][span.start..].copy_from_slice(&own[..left]);
        }
    }

    /// Stores the innovations of all frames side by side. There is room for a whole block behind the last
    /// point.
    #[inline(always)]
    fn store<const STRIDE: usize>(
        &self,
        start: usize,
        innovation: &[R::Block; BUNDLE],
        innovations: &mut [DecodedPoint<R::Number>],
    ) {
        let to = &mut innovations.as_chunks_mut::<STRIDE>().0[start..start + BLOCK];
        for i in 0..BLOCK / R::VECTORS {
            for part in 0..STRIDE / R::VECTORS {
                let rows = R::transposed(R::each(
                    #[inline(always)]
                    |v| innovation[part * R::VECTORS + v].as_ref()[i],
                ));
                let rows = rows.as_ref();
                for v in 0..R::VECTORS {
                    rows[v].store(&mut to[R::VECTORS * i + v][part * R::VECTORS..]);
                }
            }
        }
    }

    /// Stores the innovations of one frame.
    #[inline(always)]
    fn store_one(&self, start: usize, innovation: &R::Block, innovations: &mut [DecodedPoint<R::Number>]) {
        let to = &mut innovations[start..start + BLOCK];
        for (i, own) in innovation.as_ref().iter().enumerate() {
            own.store(&mut to[R::VECTORS * i..]);
        }
    }
}

/// Returns sixteen entries of a list, which is padded for a block beyond the last point.
#[inline(always)]
fn block_entries<T>(list: &[T], start: usize) -> &[T; BLOCK] {
    list[start..].first_chunk().expect("a block more than there are points")
}

/// Returns the first block of a list; a shorter rest is copied into `tail`.
#[inline(always)]
fn block<'a, N: Copy>(list: &'a [DecodedPoint<N>], tail: &'a mut PointBlock<N>) -> &'a PointBlock<N> {
    match list.first_chunk() {
        Some(all) => all,
        None => {
            tail[..list.len()].copy_from_slice(list);
            &*tail
        }
    }
}
