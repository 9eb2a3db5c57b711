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
mod narrow;

use crate::quantize::fixed_point::FixedPoint;
use crate::simd::isa::Isa;
use crate::simd::lanes::{self, Lanes, Task};

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
            if let Isa::Narrow(narrow) = Isa::get().chosen() {
                let done = narrow::write_positions(narrow, self.unit, self.centre, fixed_points, places, out);
                (out, places) = (&mut out[3 * done..], &places[done..]);
            }
            let Some((&last, others)) = places.split_last() else {
                return;
            };
            // Stores whole registers: the next vertex overwrites the fourth number.
            self.for_each_position(fixed_points, others, |v, at| {
                out[3 * v..3 * v + 4].copy_from_slice(&at);
            });
            let end = &mut out[3 * others.len()..];
            return self.for_each_position(fixed_points, &[last], |_, at| end.copy_from_slice(&at[..3]));
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
        let task = PositionTask { grid: self, fixed_points, vertex_points, to };
        lanes::run(Isa::get(), task);
    }
}

/// The task to compute positions of vertices in the registers of an instruction set.
struct PositionTask<'a, W, F> {
    grid: &'a FixedPointGrid,
    fixed_points: &'a [[W; 4]],
    vertex_points: &'a [u32],
    to: F,
}

impl<W: FixedPoint, F: FnMut(usize, [f32; 4])> Task for PositionTask<'_, W, F> {
    #[inline(always)]
    fn run<L: Lanes>(mut self) {
        let [x, y, z] = self.grid.centre;
        let (centre, unit) = ([x, y, z, 0.0], self.grid.unit);
        for (v, &place) in self.vertex_points.iter().enumerate() {
            let fixed_point = self.fixed_points[place as usize];
            let mut at = [0.0; 4];
            for k in 0..4 {
                at[k] = fixed_point[k].to_i32() as f32 * unit + centre[k];
            }
            (self.to)(v, at);
        }
    }
}
