//! The unit of fixed-point positions, the steps of the layers, and the lattice of residuals.
//!
//! Coordinates are whole multiples of a unit u; residuals are whole multiples q of a layer's step S, itself a
//! whole number of units. All three components of q have the same parity: a body-centred cubic lattice, in
//! which no point is farther than S·√5/2 from a lattice point. An encoder that uses only even components has
//! a cubic lattice, S·√3, with the same stream and decoder.
//!
//! S is chosen so that no point is farther from the lattice than the tolerance, divided by the layer's
//! precision factor: a finer step for frames that others refer to pays off in all of these.
//!
//! The output is `rec as f32 * u + centre`, a multiplication and an addition in f32, never fused.

#[cfg(feature = "encode")]
mod choice;

use crate::quantize::fixed_point::FixedPoint;
use crate::simd::doubles::Doubles;
use crate::simd::isa::Isa;
use crate::simd::{Kernel, run_kernel};
use fearless_simd::f32x4;
use fearless_simd::prelude::*;

#[cfg(feature = "encode")]
pub use choice::{Extent, Lattice, LatticeChoice, nearest, nearest_exact, nearest_odd};

/// The number of layers of frames, each with its own step: frame 0, key frames, and the depths 1 … 4. Part of
/// the format.
pub const LAYERS: usize = 6;

/// Unit, centre and steps: the parameters of the quantizer that the decoder needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FixedPointGrid {
    /// The length of a unit.
    pub unit: f32,
    /// The position of the origin.
    pub centre: [f32; 3],
    /// The number of units in a half step, by layer, see [`LAYERS`].
    pub steps: [u16; LAYERS],
}

impl FixedPointGrid {
    /// Returns the position of a decoded vector.
    #[inline(always)]
    pub fn position(&self, rec: [i32; 3]) -> [f32; 3] {
        [0, 1, 2].map(|k| rec[k] as f32 * self.unit + self.centre[k])
    }

    /// Writes the positions of vertices, one after the other: the first `components` ≤ 3 of every `stride`
    /// numbers. `vertex_points` gives the point of each vertex.
    pub fn write_positions<W: FixedPoint>(
        &self,
        fixed_points: &[[W; 4]],
        vertex_points: &[u32],
        [stride, components]: [usize; 2],
        out: &mut [f32],
    ) {
        if (stride, components) == (3, 3) {
            let count = vertex_points.len().min(out.len() / 3);
            let (mut out, mut places) = (&mut out[..3 * count], &vertex_points[..count]);
            let fours = FourPositions { grid: self, fixed_points, vertex_points: places, out };
            let done = run_kernel(Isa::get(), fours);
            (out, places) = (&mut out[3 * done..], &places[done..]);
            return self.for_each_position(fixed_points, places, |v, at| {
                out[3 * v..3 * v + 3].copy_from_slice(&at[..3]);
            });
        }
        let places = &vertex_points[..vertex_points.len().min(out.len().div_ceil(stride.max(1)))];
        self.for_each_position(fixed_points, places, |v, at| {
            let own = out[v * stride..].iter_mut().zip(at);
            own.take(components).for_each(|(to, x)| *to = x);
        });
    }

    /// Writes the positions of at most `N` vertices, as planes.
    pub fn write_position_planes<W: FixedPoint, const N: usize>(
        &self,
        fixed_points: &[[W; 4]],
        vertex_points: &[u32],
        out: &mut [[f32; N]],
    ) {
        let places = &vertex_points[..vertex_points.len().min(N)];
        match out {
            [x, y, z, ..] => self.for_each_position(fixed_points, places, |v, at| [x[v], y[v], z[v], _] = at),
            _ => self.for_each_position(fixed_points, places, |v, at| {
                out.iter_mut().zip(at).for_each(|(to, x)| to[v] = x);
            }),
        }
    }

    /// Calls `to` with the number and the position of each vertex, followed by a zero.
    fn for_each_position<W: FixedPoint>(
        &self,
        fixed_points: &[[W; 4]],
        vertex_points: &[u32],
        to: impl FnMut(usize, [f32; 4]),
    ) {
        run_kernel(Isa::get(), EachPosition { grid: self, fixed_points, vertex_points, to });
    }
}

/// The kernel of [`FixedPointGrid::for_each_position`].
struct EachPosition<'a, W, F> {
    grid: &'a FixedPointGrid,
    fixed_points: &'a [[W; 4]],
    vertex_points: &'a [u32],
    to: F,
}

impl<W: FixedPoint, F: FnMut(usize, [f32; 4])> Kernel for EachPosition<'_, W, F> {
    type Out = ();

    #[inline(always)]
    fn run<S: Doubles>(mut self, simd: S) {
        let (unit, centre) = parameters(simd, self.grid);
        for (v, &place) in self.vertex_points.iter().enumerate() {
            (self.to)(v, (W::to_f32x4(simd, self.fixed_points[place as usize]) * unit + centre).to_array());
        }
    }
}

/// Writes the positions of the first vertices, as vectors of three; returns their number. Four at a time, to
/// save checks; each store overwrites the excess of the one before.
struct FourPositions<'a, W> {
    grid: &'a FixedPointGrid,
    fixed_points: &'a [[W; 4]],
    vertex_points: &'a [u32],
    out: &'a mut [f32],
}

impl<W: FixedPoint> Kernel for FourPositions<'_, W> {
    type Out = usize;

    #[inline(always)]
    fn run<S: Doubles>(self, simd: S) -> usize {
        let (unit, centre) = parameters(simd, self.grid);
        let mut done = 0;
        for four in self.vertex_points.as_chunks::<4>().0 {
            let Some(to) = self.out.get_mut(3 * done..).and_then(|out| out.first_chunk_mut::<13>()) else {
                break;
            };
            for v in 0..4 {
                let at = W::to_f32x4(simd, self.fixed_points[four[v] as usize]) * unit + centre;
                at.store_slice(&mut to[3 * v..3 * v + 4]);
            }
            done += 4;
        }
        done
    }
}

/// Returns the unit and the centre in vectors.
#[inline(always)]
fn parameters<S: Doubles>(simd: S, grid: &FixedPointGrid) -> (f32x4<S>, f32x4<S>) {
    let [x, y, z] = grid.centre;
    (f32x4::splat(simd, grid.unit), f32x4::simd_from(simd, [x, y, z, 0.0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<W: FixedPoint>(fixed_points: &[[W; 4]]) {
        let grid = FixedPointGrid { unit: 0.37, centre: [1.5, -700.25, 1e-3], steps: [1; 6] };
        for isa in Isa::all() {
            for count in 0..40u32 {
                let places: Vec<u32> = (0..count).map(|v| v * 29 % fixed_points.len() as u32).collect();
                let mut out = vec![f32::NAN; 3 * count as usize];
                let (grid, vertex_points) = (&grid, &places[..]);
                let done =
                    run_kernel(isa, FourPositions { grid, fixed_points, vertex_points, out: &mut out });
                assert!(done as u32 + 8 > count);
                for (v, place) in places[..done].iter().enumerate() {
                    let [x, y, z, _] = fixed_points[*place as usize];
                    let expected = grid.position([x.to_i32(), y.to_i32(), z.to_i32()]);
                    assert_eq!(out[3 * v..3 * v + 3], expected, "vertex {v} of {count}");
                }
            }
        }
    }

    #[test]
    fn four_vertices_lie_where_each_does() {
        let fixed_points: Vec<[i32; 4]> = (0..53).map(|i| [i * 77_771, -i * 991, i << 18, 4095]).collect();
        check::<i32>(&fixed_points);
        let narrow: Vec<[i16; 4]> = fixed_points.iter().map(|c| c.map(|x| x as i16)).collect();
        check::<i16>(&narrow);
    }
}
