//! Vertices with fewer bits, for compressed files: positions on a lattice whose steps keep the tolerance, as
//! 16-bit integers if these suffice, else rounded; octahedral normals.

use super::buffer::Document;
use super::meshopt::Extension;
use super::meshopt::filters::{
    decode_exponential, decode_octahedral, encode_exponential, encode_octahedral, power_for,
};
use crate::vertices::{Corner, MeshFrame};
use glam::DVec3;
use gltf_json::Index;
use gltf_json::accessor::Accessor;
use meshreel_scene::Error;

/// The settings of a compressed file.
#[derive(Debug, Clone)]
pub struct Compression {
    /// The extension.
    pub extension: Extension,
    /// Tolerance of the positions of each mesh, in the mesh's own space.
    pub position_tolerances: Vec<f64>,
    /// Tolerance of normals, in degrees.
    pub normal_tolerance_degrees: f64,
}

/// Bits per octahedral component that are tried.
const OCTAHEDRAL_BITS: [u32; 4] = [8, 10, 12, 16];
/// Largest integer of a position.
const MAX_FIXED_POINT: f64 = 65535.0;
const MAX_FIXED_POINT_DIFFERENCE: f64 = 32767.0;
/// Tolerance of uvs, which are quantized to 1/4096 when they are compiled.
const UV_TOLERANCE: f64 = 1.0 / 16384.0;

/// The mapping of integers to positions: `origin + step * number`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lattice {
    pub origin: [f32; 3],
    pub step: f32,
}

/// Bounds of a mesh over its frames, needed before the first one is written.
pub(super) struct PositionBounds {
    low: DVec3,
    high: DVec3,
    /// The largest distance of a vertex from its first position, along any axis.
    max_offset: f64,
    /// The largest absolute coordinate of any position.
    max_coordinate: f64,
}

impl PositionBounds {
    pub fn from_first_frame(first: &[[f32; 3]]) -> PositionBounds {
        let mut reach = PositionBounds {
            low: DVec3::INFINITY,
            high: DVec3::NEG_INFINITY,
            max_offset: 0.0,
            max_coordinate: 0.0,
        };
        for p in first {
            let p = DVec3::from_array(p.map(f64::from));
            (reach.low, reach.high) = (reach.low.min(p), reach.high.max(p));
            reach.max_coordinate = reach.max_coordinate.max(p.abs().max_element());
        }
        reach
    }

    pub fn add(&mut self, frame: &[[f32; 3]], first: &[[f32; 3]]) {
        for (p, base) in frame.iter().zip(first) {
            let [p, base] = [p, base].map(|p| DVec3::from_array(p.map(f64::from)));
            self.max_offset = self.max_offset.max((p - base).abs().max_element());
            self.max_coordinate = self.max_coordinate.max(p.abs().max_element());
        }
    }

    /// Returns the lattice that keeps `tolerance`, if 16 bits suffice.
    pub fn lattice(&self, tolerance: f64) -> Option<Lattice> {
        // Readers compute in 32 bits: their rounding is subtracted from the tolerance.
        let left = tolerance - 2.0 * self.max_coordinate * f64::from(f32::EPSILON);
        let step = (2.0 * left / 3f64.sqrt()) as f32;
        let origin = self.low.to_array().map(|v| v as f32);
        let grid = Lattice { origin, step: step.next_down() };
        let reaches = (self.high - self.low).max_element() / f64::from(grid.step) <= MAX_FIXED_POINT - 1.0
            && self.max_offset / f64::from(grid.step) <= MAX_FIXED_POINT_DIFFERENCE - 1.0;
        (left > 0.0 && grid.step.is_normal() && reaches).then_some(grid)
    }
}

impl Lattice {
    /// Returns the integers of a position.
    pub fn quantize(&self, p: [f32; 3]) -> [i32; 3] {
        std::array::from_fn(|i| {
            ((f64::from(p[i]) - f64::from(self.origin[i])) / f64::from(self.step)).round() as i32
        })
    }

    /// Returns the distance between a position and its integers.
    pub fn quantization_error(&self, p: [f32; 3], numbers: [i32; 3]) -> f64 {
        let back = |i: usize| f64::from(self.origin[i]) + f64::from(self.step) * f64::from(numbers[i]);
        let off: [f64; 3] = std::array::from_fn(|i| back(i) - f64::from(p[i]));
        DVec3::from_array(off).length()
    }
}

/// Writes positions, each rounded within `tolerance`, and returns the largest error.
pub(super) fn rounded(
    document: &mut Document,
    positions: &[[f32; 3]],
    tolerance: f64,
) -> Result<(Index<Accessor>, f64), Error> {
    let power = power_for(tolerance / 3f64.sqrt());
    let off = |p: &[f32; 3]| {
        let off =
            p.map(|v| f64::from(encode_exponential(v, power).map_or(v, decode_exponential)) - f64::from(v));
        DVec3::from_array(off).length()
    };
    // Too fine for 24 bits: all are written unchanged.
    let whole = positions.iter().flatten().any(|v| encode_exponential(*v, power).is_none());
    let error = if whole { 0.0 } else { positions.iter().map(off).fold(0.0, f64::max) };
    Ok((document.rounded(positions, power, true)?, error))
}

/// Writes normals with as few bits as keep the tolerance in degrees, and returns the values read back.
pub(super) fn normals(
    document: &mut Document,
    normals: &[[f32; 3]],
    degrees: f64,
) -> Result<(Index<Accessor>, Vec<[f32; 3]>), Error> {
    let mut best = (Vec::new(), Vec::new(), false);
    for bits in OCTAHEDRAL_BITS {
        let wide = bits > 8;
        let largest = if wide { 32767.0 } else { 127.0 };
        let stored: Vec<[i16; 4]> = normals.iter().map(|n| encode_octahedral(*n, bits)).collect();
        let back: Vec<[f32; 3]> =
            stored.iter().map(|s| decode_octahedral(*s, largest).map(|v| f32::from(v) / largest)).collect();
        let turned = normals.iter().zip(&back).map(|(n, b)| {
            let [n, b] = [n, b].map(|v| DVec3::from_array(v.map(f64::from)));
            n.angle_between(b).to_degrees()
        });
        let most = turned.fold(0.0, f64::max);
        best = (stored, back, wide);
        if most <= degrees {
            break;
        }
    }
    let (stored, back, wide) = best;
    Ok((document.octahedral_normals(&stored, wide)?, back))
}

/// Writes differences of normals, rounded so that sums keep the tolerance in degrees.
pub(super) fn normal_differences(
    document: &mut Document,
    differences: &[[f32; 3]],
    degrees: f64,
) -> Result<Index<Accessor>, Error> {
    document.rounded(differences, power_for(degrees.to_radians() / 3f64.sqrt()), true)
}

/// Writes uvs: as integers if all are from 0 to 1, else rounded.
pub(super) fn uvs(document: &mut Document, uvs: &[[f32; 2]]) -> Result<Index<Accessor>, Error> {
    match uvs.iter().flatten().all(|v| (0.0..=1.0).contains(v)) {
        true => document.normalized_integers(uvs),
        false => document.rounded(uvs, power_for(UV_TOLERANCE), false),
    }
}

/// Returns the integer positions of all vertices at a frame.
pub(super) fn quantized_positions(
    grid: &Lattice,
    frame: &MeshFrame,
    list: &[Corner],
    cleaned: &mut bool,
) -> (Vec<[i32; 3]>, f64) {
    let positions = frame.vertices(list, cleaned);
    let numbers: Vec<[i32; 3]> = positions.iter().map(|p| grid.quantize(*p)).collect();
    let off = positions.iter().zip(&numbers).map(|(p, n)| grid.quantization_error(*p, *n));
    let error = off.fold(0.0, f64::max);
    (numbers, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_keeps_the_tolerance_or_is_none() {
        let first: Vec<[f32; 3]> = (0..500).map(|i| [i as f32 * 0.01, (i as f32).sin(), -3.0]).collect();
        let later: Vec<[f32; 3]> = first.iter().map(|[x, y, z]| [x + 1.0, y * 0.5, z + 0.3]).collect();
        let mut reach = PositionBounds::from_first_frame(&first);
        reach.add(&later, &first);
        for tolerance in [0.1, 1e-3, 1e-4] {
            let grid = reach.lattice(tolerance).unwrap();
            for p in first.iter().chain(&later) {
                assert!(grid.quantization_error(*p, grid.quantize(*p)) <= tolerance);
            }
            let most = later.iter().zip(&first).flat_map(|(p, base)| {
                let (p, base) = (grid.quantize(*p), grid.quantize(*base));
                (0..3).map(move |i| (p[i] - base[i]).abs())
            });
            assert!(most.max().unwrap() <= 32767);
        }
        // A range of 5 in steps of 1e-5 exceeds 65535; a difference of 1 exceeds 32767.
        assert_eq!(reach.lattice(1e-5), None);
        assert_eq!(reach.lattice(1e-8), None);
    }
}
