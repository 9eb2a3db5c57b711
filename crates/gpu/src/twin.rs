//! The passes of the shader on the CPU, from the same words: the output without a card, and the reference for
//! a card. Line for line as `shaders/mesh.wgsl`, in f32.

use crate::fixed::MIRRORED;
use crate::layout::VertexLayout;
use crate::packed::{self, Double, PartAtRest};
use crate::params::Params;
use crate::shaders::{BonePositions, NormalSource, PositionSource, ShaderVariant, TangentSource};
use meshreel::VertexChannel;
use meshreel::raw::lists::{ARC, HALF_EXPONENT, LARGEST, NormalWeights, ROUGH_ARC, ROUGH_ROOT, SMALLEST};
use std::f32::consts::{FRAC_PI_2, PI, TAU};

type Vec3 = [f32; 3];

/// The bindings of a dispatch.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct BoundMesh<'a> {
    pub params: &'a Params,
    pub variant: &'a ShaderVariant,
    pub ring: &'a [u32],
    pub fixed: &'a [u32],
    pub decoded: &'a [u32],
}

fn map(f: impl Fn(usize) -> f32) -> Vec3 {
    [f(0), f(1), f(2)]
}
fn add(a: Vec3, b: Vec3) -> Vec3 {
    map(|k| a[k] + b[k])
}
fn sub(a: Vec3, b: Vec3) -> Vec3 {
    map(|k| a[k] - b[k])
}
fn mul(a: Vec3, s: f32) -> Vec3 {
    a.map(|v| v * s)
}
fn dot(a: Vec3, b: Vec3) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn rough_inverse_root(x: f32) -> f32 {
    let y = f32::from_bits(HALF_EXPONENT.wrapping_sub(x.to_bits() >> 1));
    y * ((ROUGH_ROOT[0] - (x * y) * y) * ROUGH_ROOT[1])
}
fn inverse_root(x: f32) -> f32 {
    let y = rough_inverse_root(x);
    y * (1.5 - (x * 0.5 * y) * y)
}
fn inverse_length(square: f32) -> f32 {
    if SMALLEST < square && square < LARGEST { inverse_root(square) } else { 0.0 }
}
fn angle(cosine: f32) -> f32 {
    let a = cosine.abs().min(1.0);
    let rest = 1.0 - a;
    let arc = (rest * rough_inverse_root(rest)) * (ARC[0] + a * (ARC[1] + a * (ARC[2] + a * ARC[3])));
    if cosine < 0.0 { PI - arc } else { arc }
}
fn rough_angle(cosine: f32) -> f32 {
    let s = cosine * cosine;
    FRAC_PI_2 - cosine * (ROUGH_ARC[0] + s * (ROUGH_ARC[1] + s * ROUGH_ARC[2]))
}
fn interior(angle: f32, cosine: f32, side: f32) -> f32 {
    if side < 0.0 && cosine < 0.999 { TAU - angle } else { angle }
}
fn rotation(v: f32) -> [f32; 2] {
    let (above, below) = (1.0 - v * (1.0 / 15.0), 1.0 - v * 0.4);
    let scale = 1.0 / (below * below + above * above * v);
    [(below * below - above * above * v) * scale, 2.0 * above * below * scale]
}
fn unit_or(v: Vec3, other: Vec3) -> Vec3 {
    let scale = inverse_length(dot(v, v));
    if scale > 0.0 { mul(v, scale) } else { other }
}
fn flat(v: Vec3, n: Vec3) -> Option<Vec3> {
    let rest = sub(v, mul(n, dot(v, n)));
    let square = dot(rest, rest);
    let scale = inverse_length(square);
    (dot(v, v) * 1e-8 < square && scale > 0.0).then(|| mul(rest, scale))
}
fn first_axis(ahead: Vec3, n: Vec3) -> Vec3 {
    let other = if n[0].abs() < 0.9 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    flat(ahead, n).or_else(|| flat(other, n)).unwrap_or([1.0, 0.0, 0.0])
}
fn nlerp<const N: usize>(a: [f32; N], b: [f32; N], t: f32) -> [f32; N] {
    let v: [f32; N] = std::array::from_fn(|k| a[k] + (b[k] - a[k]) * t);
    let square: f32 = v.iter().map(|v| v * v).sum();
    if square > 1e-12 { v.map(|x| x / square.sqrt()) } else { a }
}
fn turned([x, y, z, w]: [f32; 4], v: Vec3) -> Vec3 {
    let columns = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)],
        [2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)],
        [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)],
    ];
    add(add(mul(columns[0], v[0]), mul(columns[1], v[1])), mul(columns[2], v[2]))
}

fn low(word: u32) -> i32 {
    i32::from(word as u16 as i16)
}
fn high(word: u32) -> i32 {
    word as i32 >> 16
}
fn fold(n: Vec3) -> [f32; 2] {
    let sum = n[0].abs() + n[1].abs() + n[2].abs();
    let [x, y] = [n[0] / sum, n[1] / sum];
    let sign = |v: f32| if v < 0.0 { -1.0 } else { 1.0 };
    if n[2] < 0.0 { [(1.0 - y.abs()) * sign(x), (1.0 - x.abs()) * sign(y)] } else { [x, y] }
}
fn snorm(v: [f32; 2]) -> u32 {
    let [x, y] = v.map(|v| (v.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i16);
    crate::words::pair(x, y)
}

/// The normal, the tangent, and the sign of the bitangent.
type Directions = (Vec3, Vec3, f32);

/// A point in the two frames.
type Two = [[i32; 3]; 2];

impl BoundMesh<'_> {
    fn fixed_f(&self, at: u32) -> f32 {
        f32::from_bits(self.fixed[at as usize])
    }
    fn fixed_3(&self, at: u32) -> Vec3 {
        [self.fixed_f(at), self.fixed_f(at + 1), self.fixed_f(at + 2)]
    }
    fn fixed(&self, at: u32) -> u32 {
        self.fixed[at as usize]
    }
    fn ring(&self, at: u32) -> u32 {
        self.ring[at as usize]
    }
    /// Returns a word of a sparse section.
    fn sparse(&self, slot: u32, heads: u32, i: u32) -> u32 {
        let head = slot + heads + 2 * (i / 32);
        let (mask, bit) = (self.ring(head), 1 << (i % 32));
        if mask & bit == 0 {
            return 0;
        }
        self.ring(slot + self.ring(head + 1) + (mask & (bit - 1)).count_ones())
    }
    fn slots(&self) -> [u32; 2] {
        [self.params.first, self.params.second]
    }
    fn start(&self, end_offsets: u32, i: u32) -> u32 {
        if i == 0 { 0 } else { self.fixed(end_offsets + i - 1) }
    }

    fn short_point(&self, at: u32) -> [i32; 3] {
        [low(self.ring(at)), high(self.ring(at)), low(self.ring(at + 1))]
    }

    fn long_point(&self, at: u32) -> [i32; 3] {
        [0, 1, 2].map(|k| self.ring(at + k) as i32)
    }

    /// Returns the words of a part's packed transform, and low and size of the box of its position; `None` if
    /// it is at rest.
    fn packed_part(&self, slot: u32, part: u32) -> Option<([u32; 3], [Vec3; 2])> {
        let p = self.params;
        let head = slot + p.matrices;
        let (left, right) = (self.ring(head) & 0xFFFF, self.ring(head) >> 16);
        if part >= p.packed_parts || part >= right {
            return None;
        }
        if part < left {
            let words = [6, 7, 8].map(|k| self.fixed(p.packed + 9 * part + k));
            return Some((words, [self.fixed_3(p.packed_ends), self.fixed_3(p.packed_ends + 3)]));
        }
        let words = [0, 1, 2].map(|k| self.ring(head + 7 + 3 * (part - left) + k));
        Some((words, [1, 4].map(|at| map(|k| f32::from_bits(self.ring(head + at + k as u32))))))
    }

    /// Returns the matrix of a part, in units of the grid.
    fn packed_matrix(&self, slot: u32, part: u32) -> [Vec3; 4] {
        let p = self.params;
        let double = |at: u32, low: u32| Double(self.fixed_f(at), self.fixed_f(low));
        let at = p.packed + 9 * part.min(p.packed_parts.saturating_sub(1));
        let at_rest = PartAtRest {
            per_unit: double(p.packed_ends + 7, p.packed_ends + 8),
            centre: [p.centre_x, p.centre_y, p.centre_z],
            scale: self.fixed_f(p.packed_ends + 6),
            middle: [0, 1, 2].map(|k| double(at + k, at + 3 + k)),
        };
        packed::matrix(&at_rest, self.packed_part(slot, part))
    }

    fn rotation_in(&self, slot: u32, bone: u32) -> [f32; 4] {
        let p = self.params;
        if matches!(self.variant.positions, PositionSource::Bones(bones) if bones.packed) {
            let own = self.packed_part(slot, bone);
            return own.map_or([0.0, 0.0, 0.0, 1.0], |(words, _)| packed::rotation(words[0]));
        }
        [0, 1, 2, 3].map(|k| f32::from_bits(self.ring(slot + p.rotations + 4 * bone + k)))
    }

    /// Returns a point as moved by its bones and corrected by its residual; the pass
    /// [`crate::shaders::Pass::Points`] stores it.
    fn moved_point(&self, slot: u32, i: u32, bones: BonePositions) -> [i32; 3] {
        let p = self.params;
        let mut at = self.placed_point(slot, i, bones).map(|v| v.round_ties_even() as i32);
        let residual = if bones.residuals { self.fixed(p.residuals + i) } else { 0 };
        if let Some(number) = residual.checked_sub(1) {
            let residual = match bones.wide {
                true => self.long_point(slot + p.positions + 4 * number),
                false => self.short_point(slot + p.positions + 2 * number),
            };
            at = [0, 1, 2].map(|k| at[k].wrapping_add(residual[k]));
        }
        if bones.wide { at } else { at.map(|v| i32::from(v as i16)) }
    }

    fn placed_point(&self, slot: u32, i: u32, bones: BonePositions) -> Vec3 {
        let p = self.params;
        let matrix = |bone: u32| -> [Vec3; 4] {
            let column =
                |c: u32| map(|k| f32::from_bits(self.ring(slot + p.matrices + 12 * bone + 3 * c + k as u32)));
            [0, 1, 2, 3].map(column)
        };
        let m = if bones.packed {
            self.packed_matrix(slot, self.fixed(p.influences + i))
        } else if bones.single {
            matrix(self.fixed(p.influences + i))
        } else {
            let (start, end) = (self.start(p.influence_ends, i), self.fixed(p.influence_ends + i));
            let one =
                |k: u32| (matrix(self.fixed(p.influences + 2 * k)), self.fixed_f(p.influences + 2 * k + 1));
            let (mut m, weight) = one(start);
            if end - start > 1 {
                m = m.map(|column| mul(column, weight));
                for (other, weight) in (start + 1..end).map(one) {
                    m = [0, 1, 2, 3].map(|c| add(m[c], mul(other[c], weight)));
                }
            }
            m
        };
        let rest = self.fixed_3(p.rest + 3 * i);
        add(add(add(mul(m[0], rest[0]), mul(m[1], rest[1])), mul(m[2], rest[2])), m[3])
    }

    fn decoded_point(&self, slot: u32, i: u32) -> [i32; 3] {
        let p = self.params;
        let start = if slot == p.first { p.first_points } else { p.second_points };
        let word = |at: u32| self.decoded[at as usize];
        match self.variant.positions {
            PositionSource::Wide => [0, 1, 2].map(|k| word(start + 4 * i + k) as i32),
            _ => {
                let [xy, z] = [0, 1].map(|k| word(start + 2 * i + k));
                [low(xy), high(xy), low(z)]
            }
        }
    }

    fn id_in(&self, slot: u32, v: u32) -> u64 {
        let [low, high] = [1, 2].map(|k| u64::from(self.ring(slot + k + 2 * v)));
        low | high << 32
    }

    /// Returns the slot and the index of vertex `v` in the second frame; its own if the second frame does not
    /// have it.
    fn same_in_second(&self, v: u32) -> (u32, u32) {
        let p = self.params;
        if !self.variant.ids {
            return (p.second, v);
        }
        let own = self.id_in(p.first, v);
        let count = self.ring(p.second);
        let (mut start, mut end) = (0, count);
        while start < end {
            let middle = (start + end) / 2;
            if self.id_in(p.second, middle) < own { start = middle + 1 } else { end = middle }
        }
        let there = start < count && self.id_in(p.second, start) == own;
        if there { (p.second, start) } else { (p.first, v) }
    }

    fn point(&self, i: u32) -> Two {
        self.slots().map(|slot| self.point_in(slot, i))
    }

    fn point_in(&self, slot: u32, i: u32) -> [i32; 3] {
        let p = self.params;
        match self.variant.positions {
            PositionSource::Narrow | PositionSource::Wide if self.variant.coded => {
                self.decoded_point(slot, i)
            }
            PositionSource::Narrow => self.short_point(slot + p.positions + 2 * i),
            PositionSource::Wide => self.long_point(slot + p.positions + 4 * i),
            PositionSource::Bones(bones) => self.moved_point(slot, i, bones),
            PositionSource::Heights(axis) => {
                let word = if self.variant.coded { 0 } else { self.ring(slot + p.positions + i / 2) };
                let height = match self.variant.coded {
                    true => self.decoded_point(slot, i)[axis],
                    false if i.is_multiple_of(2) => low(word),
                    false => high(word),
                };
                let flat = self.fixed(p.rest + i);
                let mut at = [low(flat), low(flat), high(flat)];
                match axis {
                    0 => at[0] = height,
                    1 => at[1] = height,
                    _ => at = [low(flat), high(flat), height],
                }
                at
            }
            PositionSource::Codes => {
                let count = if self.variant.ids { self.ring(slot) } else { p.vertices };
                [0, 1, 2].map(|k| self.ring(slot + p.positions + i + k * count) as i32)
            }
        }
    }

    /// Returns a point of 32 bits at the moment, in 1/64 units, as the runtime rounds it.
    fn wide_moment(&self, [a, b]: Two) -> [i32; 3] {
        let steps = (self.params.blend * 16384.0).round_ties_even() as u32;
        [0, 1, 2].map(|k| {
            let off = b[k].wrapping_sub(a[k]);
            let size = off.unsigned_abs();
            let more = (size >> 8).wrapping_mul(steps).wrapping_add(((size & 255) * steps) >> 8) as i32;
            a[k].wrapping_mul(64).wrapping_add(if off < 0 { more.wrapping_neg() } else { more })
        })
    }

    fn edge(&self, to: Two, from: Two) -> Vec3 {
        if let PositionSource::Wide | PositionSource::Bones(BonePositions { wide: true, .. }) =
            self.variant.positions
        {
            let [to, from] = [to, from].map(|two| self.wide_moment(two));
            return map(|k| to[k].wrapping_sub(from[k]) as f32 * (self.params.edge_scale / 64.0));
        }
        map(|k| {
            let [a, b] = [0, 1].map(|f| to[f][k].wrapping_sub(from[f][k]) as f32);
            (a + (b - a) * self.params.blend) * self.params.edge_scale
        })
    }

    fn turned_by(&self, bone: u32, v: Vec3) -> Vec3 {
        let p = self.params;
        if bone >= p.bones {
            return v;
        }
        let [a, mut b] = self.slots().map(|slot| self.rotation_in(slot, bone));
        if a.iter().zip(&b).map(|(a, b)| a * b).sum::<f32>() < 0.0 {
            b = b.map(|v| -v);
        }
        let q = [0, 1, 2, 3].map(|k| a[k] + (b[k] - a[k]) * p.blend);
        let scale = inverse_length(q.iter().map(|v| v * v).sum());
        turned(q.map(|v| v * scale), v)
    }

    fn corner(&self, weights: NormalWeights, at: u32) -> Vec3 {
        let [own, after, across, before] = [0, 1, 2, 3].map(|k| self.point(self.fixed(at + k)));
        let [e, d, f] = [after, across, before].map(|p| self.edge(p, own));
        let m = cross(d, sub(f, e));
        match weights {
            NormalWeights::Area => m,
            NormalWeights::Equal => mul(m, rough_inverse_root(dot(m, m))),
            NormalWeights::Angle => {
                let cosine = dot(e, f) * rough_inverse_root(dot(e, e) * dot(f, f));
                mul(m, rough_angle(cosine) * rough_inverse_root(dot(m, m)))
            }
            NormalWeights::Interior => {
                let cosine = (dot(e, f) * inverse_root(dot(e, e))) * inverse_root(dot(f, f));
                let weight = interior(angle(cosine), cosine, dot(cross(e, f), m));
                mul(m, weight * rough_inverse_root(dot(m, m)))
            }
        }
    }

    fn large(&self, weights: NormalWeights, polygon: u32, corner: u32) -> Vec3 {
        let p = self.params;
        let (start, end) = (self.start(p.polygon_ends, polygon), self.fixed(p.polygon_ends + polygon));
        let points: Vec<Two> = (start..end).map(|i| self.point(self.fixed(p.polygons + i))).collect();
        let from_first: Vec<Vec3> = points.iter().map(|q| self.edge(*q, points[0])).collect();
        let mut m = [0.0; 3];
        for two in from_first[1..].windows(2) {
            m = add(m, cross(two[0], sub(two[1], two[0])));
        }
        if weights == NormalWeights::Area {
            return m;
        }
        m = mul(m, rough_inverse_root(dot(m, m)));
        if weights == NormalWeights::Equal {
            return m;
        }
        let (own, count) = (corner as usize, points.len());
        let e = self.edge(points[(own + 1) % count], points[own]);
        let f = self.edge(points[own], points[(own + count - 1) % count]);
        let cosine = -dot(f, e) * inverse_root(dot(f, f)) * inverse_root(dot(e, e));
        mul(m, interior(angle(cosine), cosine, dot(cross(f, e), m)))
    }

    /// Returns the direction to the point that orients a group's frame.
    fn ahead(&self, group: u32) -> Vec3 {
        let [own, other] = [0, 1].map(|k| self.point(self.fixed(self.params.anchors + 2 * group + k)));
        self.edge(other, own)
    }

    /// The pass over groups.
    pub fn normals(&self, scratch: &mut [f32]) {
        let p = self.params;
        for g in 0..p.groups {
            let mut n = match self.variant.normals {
                NormalSource::Turned => {
                    let at_rest = self.fixed_3(p.group_rest + 3 * g);
                    unit_or(self.turned_by(self.fixed(p.group_bones + g), at_rest), [0.0, 0.0, 1.0])
                }
                NormalSource::Summed(weights) => {
                    let mut sum = [0.0; 3];
                    for k in self.start(p.corner_ends, g)..self.fixed(p.corner_ends + g) {
                        sum = add(sum, self.corner(weights, p.corners + 4 * k));
                    }
                    for k in self.start(p.large_ends, g)..self.fixed(p.large_ends + g) {
                        let [polygon, corner] = [0, 1].map(|i| self.fixed(p.large_corners + 2 * k + i));
                        sum = add(sum, self.large(weights, polygon, corner));
                    }
                    mul(unit_or(sum, [0.0, 0.0, 1.0]), p.side)
                }
                _ => return,
            };
            let [a, b] = self.slots().map(|slot| self.sparse(slot, p.states, g));
            let between = |a: i32, b: i32| (a as f32 + (b as f32 - a as f32) * p.blend) * (p.step * 0.5);
            let (x, y) = (between(low(a), low(b)), between(high(a), high(b)));
            if x * x + y * y > 0.0 {
                let axis = first_axis(self.ahead(g), n);
                let [c, s] = rotation(x * x + y * y);
                n = add(mul(n, c), add(mul(axis, x * s), mul(cross(n, axis), y * s)));
            }
            scratch[(p.scratch_normals + 3 * g) as usize..][..3].copy_from_slice(&n);
        }
    }

    /// The pass over classes.
    pub fn tangents(&self, scratch: &mut [f32]) {
        let p = self.params;
        for c in 0..p.classes {
            let g = self.fixed(p.class_groups + c);
            let at = (p.scratch_normals + 3 * g) as usize;
            let n = map(|k| scratch[at + k]);
            let own = self.point(self.fixed(p.class_points + c));
            let away = |i: u32| self.edge(self.point(self.fixed(i)), own);
            let mut sum = [0.0; 3];
            let still = |sum: Vec3, at: u32| add(sum, mul(away(at), self.fixed_f(at + 1)));
            match self.variant.tangents {
                TangentSource::Turned => {
                    sum = self.turned_by(self.fixed(p.class_bones + c), self.fixed_3(p.class_rest + 3 * c));
                }
                TangentSource::StaticFactors => {
                    for k in self.start(p.sum_ends, c)..self.fixed(p.sum_ends + c) {
                        sum = still(sum, p.sums + 2 * k);
                    }
                }
                TangentSource::Projected => {
                    for k in self.start(p.sum_ends, c)..self.fixed(p.sum_ends + c) {
                        let at = p.sums + 4 * k;
                        let [e, f] = [away(at), away(at + 1)].map(|e| sub(e, mul(n, dot(e, n))));
                        let g = add(mul(e, self.fixed_f(at + 2)), mul(f, self.fixed_f(at + 3)));
                        let cosine = (dot(e, f) * inverse_root(dot(e, e))) * inverse_root(dot(f, f));
                        sum = add(sum, mul(g, angle(cosine) * rough_inverse_root(dot(g, g))));
                    }
                }
                TangentSource::None => return,
            }
            if self.variant.tangents != TangentSource::Turned {
                for k in self.start(p.long_ends, c)..self.fixed(p.long_ends + c) {
                    sum = still(sum, p.long_sums + 2 * k);
                }
            }
            let t = flat(sum, n).unwrap_or_else(|| first_axis(self.ahead(g), n));
            scratch[(p.scratch_tangents + 3 * c) as usize..][..3].copy_from_slice(&t);
        }
    }

    /// Returns a code of a vertex's normal.
    fn code(&self, slot: u32, plane: u32, v: u32) -> f32 {
        let p = self.params;
        let i = plane * p.vertices + v;
        let word = self.ring(slot + p.normal_codes + i / 2);
        let code = if i.is_multiple_of(2) { word & 0xFFFF } else { word >> 16 };
        (code as i32).min(2 * p.half as i32) as f32 - p.half as f32
    }

    fn directions(&self, v: u32, tangents: bool, scratch: &[f32]) -> Directions {
        let p = self.params;
        let mut out = ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0], 1.0);
        match self.variant.normals {
            NormalSource::None => {}
            NormalSource::Octahedral => {
                let [a, b] = self.slots().map(|slot| {
                    let [mut x, mut y] = [0, 1].map(|k| self.code(slot, k, v) / p.half as f32);
                    let z = 1.0 - x.abs() - y.abs();
                    if z < 0.0 {
                        let sign = |v: f32| if v < 0.0 { -1.0 } else { 1.0 };
                        (x, y) = ((1.0 - y.abs()) * sign(x), (1.0 - x.abs()) * sign(y));
                    }
                    nlerp([x, y, z], [x, y, z], 0.0)
                });
                out.0 = nlerp(a, b, p.blend);
            }
            NormalSource::Frames => {
                let [a, b] = self.slots().map(|slot| {
                    let q = [0, 1, 2, 3].map(|k| self.code(slot, k, v));
                    let q = if q == [0.0; 4] { [0.0, 0.0, 0.0, 1.0] } else { q };
                    (nlerp(q, q, 0.0), if q[3] < 0.0 { -1.0 } else { 1.0 })
                });
                let opposite = a.0.iter().zip(&b.0).map(|(a, b)| a * b).sum::<f32>() < 0.0;
                let to = if opposite { b.0.map(|v| -v) } else { b.0 };
                let [x, y, z, w] = nlerp(a.0, to, p.blend);
                out.0 = [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)];
                out.1 = [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)];
                out.2 = a.1;
            }
            NormalSource::Summed(_) | NormalSource::Turned => {
                let three = |at: u32| map(|k| scratch[at as usize + k]);
                out.0 = three(p.scratch_normals + 3 * self.fixed(p.vertex_groups + v));
                if tangents && self.variant.tangents != TangentSource::None {
                    let class = self.fixed(p.vertex_classes + v);
                    out.2 = if class & MIRRORED != 0 { -1.0 } else { 1.0 };
                    out.1 = three(p.scratch_tangents + 3 * (class & !MIRRORED));
                    let [a, b] = self.slots().map(|slot| {
                        let word = self.sparse(slot, p.turns, v / 2);
                        (if v.is_multiple_of(2) { low(word) } else { high(word) }) as f32
                    });
                    let far = PI < (b - a).abs() * p.turn_step;
                    let nearer = if p.blend < 0.5 { a } else { b };
                    let half = (if far { nearer } else { a + (b - a) * p.blend }) * p.turn_step * 0.5;
                    let [c, s] = rotation(half * half);
                    out.1 = add(mul(out.1, c), mul(cross(out.0, out.1), half * s));
                }
            }
        }
        out
    }

    /// The pass over vertices.
    pub fn vertices(&self, layout: &VertexLayout, scratch: &[f32], out: &mut [u32]) {
        let p = self.params;
        let find = |what| layout.offset_and_format(what);
        let tangent = find(VertexChannel::Tangent);
        let mut put = |at: usize, values: &[f32]| {
            out[at..at + values.len()].copy_from_slice(bytemuck::cast_slice(values));
        };
        for v in 0..p.vertices {
            let at = p.out as usize + layout.words() * v as usize;
            let i = if self.variant.positions == PositionSource::Codes {
                v
            } else {
                self.fixed(p.vertex_points + v)
            };
            let (unit, centre) = ([p.unit_x, p.unit_y, p.unit_z], [p.centre_x, p.centre_y, p.centre_z]);
            let (second, w) = self.same_in_second(v);
            let other = if self.variant.ids { w } else { i };
            let two = [self.point_in(p.first, i), self.point_in(second, other)];
            let [a, b] = two.map(|cell| map(|k| cell[k] as f32 * unit[k] + centre[k]));
            if let Some((offset, format)) = find(VertexChannel::Position) {
                let [x, y, z] = add(a, mul(sub(b, a), p.blend));
                // If the format has 16 bits, the values before they are packed.
                put(at + offset, &[x, y, z, 1.0][..if format == 1 { 4 } else { 3 }]);
            }
            if let Some((offset, _)) = find(VertexChannel::Velocity) {
                put(at + offset, &mul(sub(b, a), p.per_second));
            }
            let (n, t, sign) = self.directions(v, tangent.is_some(), scratch);
            match find(VertexChannel::Normal) {
                Some((offset, 0)) => put(at + offset, &n),
                Some((offset, _)) => put(at + offset, &[f32::from_bits(snorm(fold(n)))]),
                None => {}
            }
            match tangent {
                Some((offset, 0)) => put(at + offset, &[t[0], t[1], t[2], sign]),
                Some((offset, _)) => {
                    put(at + offset, &[snorm(fold(t)), snorm([sign, 0.0])].map(f32::from_bits));
                }
                None => {}
            }
            if let Some((offset, 0)) = find(VertexChannel::Uv(0)) {
                put(at + offset, &self.uv(v, (second, w)));
            }
            if let Some((offset, _)) = find(VertexChannel::Colour(0)) {
                put(at + offset, &[f32::from_bits(self.colour(v, (second, w)))]);
            }
        }
    }

    fn uv(&self, v: u32, (second, w): (u32, u32)) -> [f32; 2] {
        let p = self.params;
        if !self.variant.moving_uvs {
            let there = self.variant.uvs;
            return if there { [0, 1].map(|k| self.fixed_f(p.uvs + 2 * v + k)) } else { [0.0; 2] };
        }
        [0, 1].map(|k| {
            let two = [(p.first, v), (second, w)];
            let [a, b] = two.map(|(slot, v)| f32::from_bits(self.ring(slot + p.slot_uvs + 2 * v + k)));
            a + (b - a) * p.blend
        })
    }

    fn colour(&self, v: u32, (second, w): (u32, u32)) -> u32 {
        let p = self.params;
        if !self.variant.moving_colours {
            return if self.variant.colours { self.fixed(p.colours + v) } else { u32::MAX };
        }
        let two = [(p.first, v), (second, w)];
        let [a, b] = two.map(|(slot, v)| self.ring(slot + p.slot_colours + v).to_le_bytes());
        u32::from_le_bytes(std::array::from_fn(|k| {
            let [a, b] = [a[k], b[k]].map(|byte| f32::from(byte) / 255.0);
            ((a + (b - a) * p.blend) * 255.0 + 0.5) as u8
        }))
    }
}
