//! The encoder of [`crate::mesh::normals`]: what is kept once per mesh, and the cheapest states that keep the
//! tolerance. Nothing of this is part of the format.
//!
//! ```text
//! bases      of a few frames the residual of every item in its frame: 0, the median, or the middle, whichever leaves fewest frames outside
//! state      the reference's where normal and tangents are within the tolerance, tangents with a turn if need be; else the nearest
//! reference  the one that leaves fewest normals outside
//! chances    counts of what the frames that were looked at would have coded
//! ```

use crate::Corrupt;
use crate::entropy::range::Encoder as Writer;
use crate::entropy::range::{Bits, Counter};
use crate::mesh::normals::surface::{arc_cosine, turn};
use crate::mesh::normals::tangents::turned;
use crate::mesh::normals::{Contexts, Draft, Normals, STRIDE, Shape, Work, level_near, width};
use crate::simd::isa::Isa;
use crate::simd::lanes::{Place, cross, dot};

/// What is wanted of the normals of a mesh.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Per vertex a number that those share whose normals are equal in all frames.
    pub groups: &'a [u32],
    /// Per triangle the polygon of the source that it is a part of; empty: unknown.
    pub faces: &'a [u32],
    /// Per vertex the sign of its bitangent; empty: no tangents.
    pub signs: &'a [f32],
    /// Largest angle in degrees of normals and of tangents; not below 0.02.
    pub degrees: f64,
    /// Frames of the mesh.
    pub frames: usize,
}

/// A frame: decoded points (and uvs, where they move), and the source's unit normals and tangents per vertex.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Source<'a, P> {
    pub points: &'a [P],
    /// Empty: as in the first frame.
    pub uvs: &'a [[f32; 2]],
    pub normals: &'a [[f32; 3]],
    /// Empty without tangents.
    pub tangents: &'a [[f32; 4]],
}

/// Encodes units of a mesh. Shared by the threads that work on different units.
#[derive(Debug, Clone)]
pub struct Encoder {
    normals: Normals,
    bytes: Vec<u8>,
    /// First vertex and vertices of each group.
    members: Vec<Vec<u32>>,
    uvs: Vec<[f32; 2]>,
    /// Square of the longest allowed chord.
    limit: f64,
}

/// Largest angles in degrees that are left.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[allow(missing_docs)]
pub struct Errors {
    pub normal: f64,
    pub tangent: f64,
}

/// Step of the lattices, as a part of the tolerance. A correction is a multiple of three: what is left is at
/// most √½ of the tolerance for a state, and half of it for a turn, so that both together keep it.
const STEP: f64 = 1.0 / 3.0;
/// What is left of the tolerance for the f32 arithmetic of whoever measures again.
const SLACK: f64 = 1e-4;

impl Encoder {
    /// Finds what is kept once. `samples` are some frames, spread over all.
    pub fn new<P: Place>(
        shape: Shape<'_>,
        wanted: Wanted<'_>,
        samples: &[Source<'_, P>],
    ) -> Result<Encoder, Corrupt> {
        let degrees = wanted.degrees.clamp(0.02, 179.0);
        let step = ((degrees * STEP).to_radians() as f32).min(2.0);
        let tangents = !wanted.signs.is_empty();
        let mut faces = wanted.faces.to_vec();
        faces.sort_unstable();
        let mut draft = Draft {
            faces: Some(wanted.faces),
            groups: Some(wanted.groups),
            signs: tangents.then_some(wanted.signs),
            polygons: faces.windows(2).any(|w| w[0] == w[1]),
            tangents,
            steps: [step, if tangents { step } else { 0.0 }],
            negated: false,
        };
        let mut scrap = Vec::new();
        let normals = draft.layout(&mut Writer::new(&mut scrap), shape)?;
        let mut members = vec![Vec::new(); normals.groups()];
        for (v, g) in normals.group.iter().enumerate() {
            members[*g as usize].push(v as u32);
        }
        let chord = 2.0 * f64::sin((degrees * (1.0 - SLACK)).to_radians() / 2.0);
        let mut out =
            Encoder { normals, bytes: Vec::new(), members, uvs: shape.uvs.to_vec(), limit: chord * chord };
        out.negate(samples);
        draft.negated = out.normals.negated;
        out.fit(samples, wanted.frames, f64::from(step));
        out.count(samples);
        out.write(&draft, shape)?;
        Ok(out)
    }

    /// Turns predictions round if most of them look the wrong way.
    fn negate<P: Place>(&mut self, samples: &[Source<'_, P>]) {
        let Some(first) = samples.first() else { return };
        let predicted = self.all(first.points, &[]);
        let wrong = |g: &usize| dot(xyz(predicted[*g]), self.source(first, *g)) < 0.0;
        let count = (0..self.members.len()).filter(wrong).count();
        self.normals.negated = 2 * count > self.members.len();
    }

    /// Normals of all groups; the predicted ones without states.
    fn all<P: Place>(&self, points: &[P], states: &[i16]) -> Vec<[f32; 4]> {
        let mut out = vec![[0.0; 4]; self.normals.surface.slots()];
        let states = states.as_chunks().0;
        self.normals.directions(Isa::get(), P::kind(points), states, &mut out);
        out
    }

    fn source<P>(&self, source: &Source<'_, P>, g: usize) -> [f32; 3] {
        source.normals[self.members[g][0] as usize]
    }

    /// Buffers for [`Normals::build`], with the uvs of a frame.
    pub fn work<P>(&self, source: &Source<'_, P>) -> Work {
        let mut work = self.normals.work();
        self.normals.set_uvs(if source.uvs.is_empty() { &self.uvs } else { source.uvs }, &mut work);
        work
    }

    /// Chooses bases and classes.
    fn fit<P: Place>(&mut self, samples: &[Source<'_, P>], frames: usize, step: f64) {
        let groups = self.members.len();
        // What is within the tolerance, in steps.
        let radius = (1.0 / STEP * 0.98) as f32;
        let mut states: Vec<Vec<[f32; 2]>> = Vec::new();
        for sample in samples {
            let predicted = self.all(sample.points, &[]);
            let off = |g: usize| {
                let [x, y] = self.off(sample, g, xyz(predicted[g]));
                [(x / step) as f32, (y / step) as f32]
            };
            states.push((0..groups).map(off).collect());
        }
        let mut list = Vec::new();
        for g in 0..groups {
            list.clear();
            list.extend(states.iter().map(|s| s[g]));
            let (base, class) = base_of(&mut list, radius, frames);
            let at = self.normals.at(g);
            self.normals.base[at].copy_from_slice(&base);
            self.normals.classes[g] = class;
        }
        let Some(tangents) = &self.normals.tangents else {
            return;
        };
        let mut turns: Vec<Vec<[f32; 2]>> = Vec::new();
        for (sample, states) in samples.iter().zip(&states) {
            let work = self.work(sample);
            let predicted = self.all(sample.points, &[]);
            let mut list = vec![[0.0; 2]; tangents.vertices()];
            for g in 0..groups {
                let base = [self.normals.base[2 * g], self.normals.base[2 * g + 1]];
                let far = (0..2).map(|k| (states[g][k] - f32::from(base[k])).powi(2));
                let state = if far.sum::<f32>() > radius * radius {
                    states[g].map(|x| x.round() as i16)
                } else {
                    base
                };
                let n = self.normals.bend(sample.points, g, xyz(predicted[g]), state);
                let mut known = Vec::new();
                for &v in &self.members[g] {
                    let v = v as usize;
                    let t = self.tangent(v, n, sample, &work, &mut known);
                    let turn = turn_between(t, n, sample.tangents[v]) / step;
                    list[v] = [turn as f32, 0.0];
                }
            }
            turns.push(list);
        }
        for v in 0..tangents.vertices() {
            list.clear();
            list.extend(turns.iter().map(|s| s[v]));
            let (base, class) = base_of(&mut list, radius * 0.9, frames);
            self.normals.base[2 * groups + v] = base[0];
            self.normals.classes[groups + v] = class;
        }
    }

    /// Predicted tangent of a vertex whose normal is `n`; `known` keeps those of the classes that were asked
    /// for.
    fn tangent<P: Place>(
        &self,
        v: usize,
        n: [f32; 3],
        source: &Source<'_, P>,
        work: &Work,
        known: &mut Vec<(u32, [f32; 3])>,
    ) -> [f32; 3] {
        let class = self.normals.tangents.as_ref().map_or(0, |t| t.classes()[v]);
        match known.iter().find(|k| k.0 == class) {
            Some(found) => found.1,
            None => {
                let t = (self.normals).tangent(class as usize, n, source.points, &work.slopes);
                known.push((class, t));
                t
            }
        }
    }

    /// Residual of the normal of group `g` against the prediction `n`, as an angle along each axis of its
    /// frame.
    fn off<P: Place>(&self, source: &Source<'_, P>, g: usize, n: [f32; 3]) -> [f64; 2] {
        let wanted = self.source(source, g);
        let [e1, e2] = self.normals.surface.frame(source.points, g, n);
        let [x, y, z] = [e1, e2, n].map(|e| f64::from(dot(e, wanted)));
        let side = (x * x + y * y).sqrt();
        if side < 1e-9 {
            // Nothing to tell, but for the opposite pole.
            return [if z < 0.0 { std::f64::consts::PI } else { 0.0 }, 0.0];
        }
        let angle = angle(z, side);
        [x / side * angle, y / side * angle]
    }

    /// Counts what the samples would have coded, and starts the chances from that.
    fn count<P: Place>(&mut self, samples: &[Source<'_, P>]) {
        let mut counts: Contexts<[u32; 2]> = Contexts::default();
        for sample in samples {
            let mut state = self.normals.base.clone();
            self.choose(sample, &[], &mut state);
            self.normals.frame(&mut Counter, &mut counts, None, &mut state);
        }
        let mut again = self.normals.chances;
        for (chance, [zeros, ones]) in again.list().zip(counts.list()) {
            if *zeros + *ones > 1 {
                *chance = level_near(*zeros, *ones);
            }
        }
        self.normals.chances = again;
    }

    fn write(&mut self, draft: &Draft<'_>, shape: Shape<'_>) -> Result<(), Corrupt> {
        let flags = u8::from(draft.tangents) | u8::from(draft.polygons) << 1 | u8::from(draft.negated) << 2;
        let mut bytes = vec![flags];
        for step in draft.steps {
            bytes.extend(step.to_le_bytes());
        }
        let mut writer = Writer::new(&mut bytes);
        draft.layout(&mut writer, shape)?;
        self.normals.bases(&mut writer);
        self.normals.starts(&mut writer);
        writer.finish();
        self.bytes = bytes;
        Ok(())
    }

    /// What is kept once per mesh.
    pub fn static_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The decoder.
    pub fn decoder(&self) -> &Normals {
        &self.normals
    }

    /// Appends the bytes of a unit, and sets `states` to what the decoder will have for its frames, in the
    /// given order. `refs` are the states of frames that the decoder will have by then.
    pub fn encode<P: Place>(
        &self,
        frames: &[Source<'_, P>],
        refs: &[&[i16]],
        states: &mut Vec<Vec<i16>>,
        out: &mut Vec<u8>,
    ) -> Errors {
        let mut chances = self.normals.chances;
        let mut writer = Writer::new(out);
        let mut errors = Errors::default();
        states.clear();
        for frame in frames {
            let mut state = self.normals.base.clone();
            let own = states.iter().map(Vec::as_slice);
            let earlier: Vec<&[i16]> = refs.iter().copied().chain(own).collect();
            let (number, worst) = self.choose(frame, &earlier, &mut state);
            errors.normal = errors.normal.max(worst.normal);
            errors.tangent = errors.tangent.max(worst.tangent);
            writer.plain(width(earlier.len()), number as u32);
            let from = number.checked_sub(1).map(|i| earlier[i]);
            self.normals.frame(&mut writer, &mut chances, from, &mut state);
            states.push(state);
        }
        writer.finish();
        errors
    }

    /// Chooses the reference (0: the base) and the states of a frame.
    fn choose<P: Place>(
        &self,
        source: &Source<'_, P>,
        earlier: &[&[i16]],
        state: &mut [i16],
    ) -> (usize, Errors) {
        let work = &mut self.work(source);
        let predicted = self.all(source.points, &[]);
        let outside = |states: &[i16]| {
            let normals = self.all(source.points, &states[..2 * self.members.len()]);
            let out = |g: &usize| chord(xyz(normals[*g]), self.source(source, *g)) > self.limit;
            (0..self.members.len()).filter(out).count()
        };
        let mut best = (0, outside(&self.normals.base));
        for (i, states) in earlier.iter().enumerate().rev() {
            let count = outside(states);
            if count < best.1 {
                best = (i + 1, count);
            }
        }
        let from = best.0.checked_sub(1).map_or(&self.normals.base[..], |i| earlier[i]);
        state.copy_from_slice(from);
        let mut errors = Errors::default();
        for g in 0..self.members.len() {
            let worst = self.settle(source, work, g, xyz(predicted[g]), from, state);
            errors.normal = errors.normal.max(degrees(worst[0]));
            errors.tangent = errors.tangent.max(degrees(worst[1]));
        }
        (best.0, errors)
    }

    /// Chooses the state of a group and the turns of its vertices, from those of the reference; squares of
    /// the largest chords left.
    fn settle<P: Place>(
        &self,
        source: &Source<'_, P>,
        work: &Work,
        g: usize,
        predicted: [f32; 3],
        from: &[i16],
        state: &mut [i16],
    ) -> [f64; 2] {
        let wanted = self.source(source, g);
        let n = self.normals.bend(source.points, g, predicted, [state[2 * g], state[2 * g + 1]]);
        let mut worst = [chord(n, wanted), f64::INFINITY];
        if worst[0] <= self.limit {
            worst[1] = self.turns(source, work, g, n, from, state);
            if worst[1] <= self.limit {
                return worst;
            }
        }
        let step = f64::from(self.normals.step);
        let off = self.off(source, g, predicted).map(|x| x / step);
        let nearest = [0, 1].map(|k| nearest(off[k], state[2 * g + k]));
        state[2 * g..2 * g + 2].copy_from_slice(&nearest);
        let n = self.normals.bend(source.points, g, predicted, nearest);
        [chord(n, wanted), self.turns(source, work, g, n, from, state)]
    }

    /// Chooses the turns of the vertices of a group whose normal is `n`; the square of the largest chord
    /// left.
    fn turns<P: Place>(
        &self,
        source: &Source<'_, P>,
        work: &Work,
        g: usize,
        n: [f32; 3],
        from: &[i16],
        state: &mut [i16],
    ) -> f64 {
        if !self.normals.has_tangents() {
            return 0.0;
        }
        let turns = &mut state[2 * self.members.len()..];
        let old = &from[2 * self.members.len()..];
        let step = self.normals.turn_step;
        let mut worst = 0.0f64;
        let mut known = Vec::new();
        for &v in &self.members[g] {
            let v = v as usize;
            let wanted = source.tangents[v];
            let t = self.tangent(v, n, source, work, &mut known);
            let left = |z: i16| {
                let t = match z {
                    0 => t,
                    _ => turned(t, n, turn(f32::from(z) * step)),
                };
                chord(t, [wanted[0], wanted[1], wanted[2]])
            };
            turns[v] = self.normals.expected(v, turns, old);
            let mut own = left(turns[v]);
            if own > self.limit {
                let z = turn_between(t, n, wanted) / f64::from(step);
                turns[v] = nearest(z, turns[v]);
                own = left(turns[v]);
            }
            worst = worst.max(own);
        }
        worst
    }
}

/// The base that leaves the fewest outside, and the class of what it leaves. The list is put in another
/// order.
fn base_of(list: &mut [[f32; 2]], radius: f32, frames: usize) -> ([i16; 2], u8) {
    let count = list.len();
    if count == 0 {
        return ([0; 2], 0);
    }
    let mut middle = [[0.0f32; 2]; 3];
    for k in 0..2 {
        list.sort_by(|a, b| a[k].total_cmp(&b[k]));
        middle[1][k] = list[count / 2][k];
        middle[2][k] = (list[0][k] + list[count - 1][k]) / 2.0;
    }
    let outside = |base: [f32; 2]| {
        let far = |s: &&[f32; 2]| (s[0] - base[0]).powi(2) + (s[1] - base[1]).powi(2);
        list.iter().filter(|s| far(s) > radius * radius).count()
    };
    let mut best = ([0.0; 2], outside([0.0; 2]));
    for base in &middle[1..] {
        let base = base.map(f32::round);
        let left = outside(base);
        // A base costs about as much as a correction.
        let gain = best.1.saturating_sub(left) * frames;
        if gain > count {
            best = (base, left);
        }
    }
    let class = match best.1 {
        0 => 0,
        n if 6 * n <= count => 1,
        n if 2 * n <= count => 2,
        _ => 3,
    };
    (best.0.map(|x| x as i16), class)
}

/// The value nearest to `wanted` that differs from `from` by a multiple of the stride.
fn nearest(wanted: f64, from: i16) -> i16 {
    let steps = ((wanted - f64::from(from)) / f64::from(STRIDE)).round();
    let value = f64::from(from) + steps * f64::from(STRIDE);
    // One stride less where that is beyond the numbers.
    let beyond = f64::from(STRIDE) * f64::from(i8::from(value > 32767.0) - i8::from(value < -32767.0));
    (value - beyond) as i16
}

fn xyz(n: [f32; 4]) -> [f32; 3] {
    [n[0], n[1], n[2]]
}

/// Square of the distance of two unit vectors.
fn chord(a: [f32; 3], b: [f32; 3]) -> f64 {
    (0..3).map(|k| (f64::from(a[k]) - f64::from(b[k])) * (f64::from(a[k]) - f64::from(b[k]))).sum()
}

/// Angle of a chord given by its square.
fn degrees(chord: f64) -> f64 {
    2.0 * (chord.sqrt() / 2.0).min(1.0).asin().to_degrees()
}

/// Angle from −π to π with this cosine and sine; the same on every machine.
fn angle(cosine: f64, sine: f64) -> f64 {
    let about = arc_cosine(cosine as f32);
    let [c, s] = turn(about).map(f64::from);
    let exact = f64::from(about) + (sine.abs() * c - cosine * s);
    if sine < 0.0 { -exact } else { exact }
}

/// Angle by which `t` must be turned about `n` to lie as near to `wanted` as it can.
fn turn_between(t: [f32; 3], n: [f32; 3], wanted: [f32; 4]) -> f64 {
    let wanted = [wanted[0], wanted[1], wanted[2]];
    let c = f64::from(dot(t, wanted));
    let s = f64::from(dot(cross(n, t), wanted));
    let length = (c * c + s * s).sqrt();
    if length < 1e-9 {
        return 0.0;
    }
    angle(c / length, s / length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A sheet with a uv seam along its middle column, in motion; made without the machine's own functions.
    struct Sheet {
        triangles: Vec<[u32; 3]>,
        faces: Vec<u32>,
        point: Vec<u32>,
        uvs: Vec<[f32; 2]>,
        frames: Vec<Frame>,
    }

    struct Frame {
        points: Vec<[i16; 4]>,
        normals: Vec<[f32; 3]>,
        tangents: Vec<[f32; 4]>,
    }

    /// Columns of vertices: one more than of points, as the middle one is there twice.
    const SIDE: u32 = 9;

    fn bump(x: f64, y: f64, time: f64) -> (f64, [f64; 2]) {
        let (a, b) = (x * x - 0.3, y * (1.0 - y) + 0.2 * time);
        let height = (a * b + 0.2 * x * time * y) * 9000.0;
        (height, [(2.0 * x * b + 0.2 * time * y) * 9000.0, (a * (1.0 - 2.0 * y) + 0.2 * x * time) * 9000.0])
    }

    /// `noise` units on each coordinate; normals and tangents turned by about `lean` radians each in another
    /// way.
    fn sheet(noise: i32, lean: f32, frames: u32) -> Sheet {
        let mut seed = 3u32;
        let mut random = move || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as i32
        };
        let columns = SIDE + 1;
        let mut out = Sheet {
            triangles: Vec::new(),
            faces: Vec::new(),
            point: Vec::new(),
            uvs: Vec::new(),
            frames: Vec::new(),
        };
        let column = |c: u32| if c > SIDE / 2 { c - 1 } else { c };
        let at = |p: u32| [f64::from(p % SIDE) / 8.0, f64::from(p / SIDE) / 8.0];
        let mut leans = Vec::new();
        for v in 0..columns * SIDE {
            let (c, r) = (v % columns, v / columns);
            let p = r * SIDE + column(c);
            out.point.push(p);
            let [x, y] = at(p);
            let mirrored = if c > SIDE / 2 { 1.0 - x } else { x };
            out.uvs.push([mirrored as f32, y as f32]);
            leans.push([random(), random()].map(|r| lean * ((r % 200) as f32 / 100.0 - 1.0)));
            if c + 1 < columns && r + 1 < SIDE && c != SIDE / 2 {
                out.triangles.push([v, v + 1, v + columns + 1]);
                out.triangles.push([v, v + columns + 1, v + columns]);
                out.faces.extend([v, v]);
            }
        }
        for time in 0..frames {
            let time = f64::from(time) / 8.0;
            let mut frame = Frame { points: Vec::new(), normals: Vec::new(), tangents: Vec::new() };
            for p in 0..SIDE * SIDE {
                let [x, y] = at(p);
                let exact = [x * 20_000.0, y * 20_000.0, bump(x, y, time).0];
                let near = exact.map(|e| (e as i32 + random() % (2 * noise + 1) - noise) as i16);
                frame.points.push([near[0], near[1], near[2], 0]);
            }
            for v in 0..(columns * SIDE) as usize {
                let [x, y] = at(out.point[v]);
                let slope = bump(x, y, time).1.map(|s| (s / 20_000.0) as f32);
                // The first of a point's vertices leads: they share the normal.
                let first = out.point.iter().position(|p| *p == out.point[v]).unwrap();
                let [a, b] = leans[first];
                let n = [a - slope[0], b - slope[1], 1.0];
                let scale = 1.0 / dot(n, n).sqrt();
                let n = n.map(|x| x * scale);
                let sign = if v as u32 % columns > SIDE / 2 { -1.0 } else { 1.0 };
                let along = [sign, leans[v][0], sign * slope[0]];
                let t = super::super::surface::flat(along, n).0;
                frame.normals.push(n);
                frame.tangents.push([t[0], t[1], t[2], sign]);
            }
            out.frames.push(frame);
        }
        out
    }

    impl Sheet {
        fn shape(&self, tangents: bool) -> Shape<'_> {
            Shape {
                triangles: &self.triangles,
                point: &self.point,
                uvs: if tangents { &self.uvs } else { &[] },
            }
        }

        fn sources(&self, tangents: bool) -> Vec<Source<'_, [i16; 4]>> {
            self.frames
                .iter()
                .map(|f| Source {
                    points: &f.points,
                    uvs: &[],
                    normals: &f.normals,
                    tangents: if tangents { &f.tangents } else { &[] },
                })
                .collect()
        }

        fn encoder(&self, tangents: bool, degrees: f64) -> Encoder {
            let mut sharing = super::super::partition::Sharing::new(&self.point);
            self.frames.iter().for_each(|f| sharing.normals(&f.normals));
            let signs: Vec<f32> = self.frames[0].tangents.iter().map(|t| t[3]).collect();
            let wanted = Wanted {
                groups: sharing.classes(),
                faces: &self.faces,
                signs: if tangents { &signs } else { &[] },
                degrees,
                frames: self.frames.len(),
            };
            Encoder::new(self.shape(tangents), wanted, &self.sources(tangents)).unwrap()
        }
    }

    fn apart(a: [f32; 3], b: [f32; 3]) -> f64 {
        degrees(chord(a, b))
    }

    fn decode(
        normals: &Normals,
        bytes: &[u8],
        refs: &[&[i16]],
        frames: usize,
    ) -> Result<Vec<Vec<i16>>, Corrupt> {
        let mut states = vec![vec![0; normals.state_len()]; frames];
        let mut slices: Vec<&mut [i16]> = states.iter_mut().map(Vec::as_mut_slice).collect();
        normals.decode(bytes, refs, &mut slices)?;
        Ok(states)
    }

    /// Encodes all frames as a first one and the others, decodes, measures; sizes of static part and units.
    fn round_trip(sheet: &Sheet, tangents: bool, limit: f64) -> [usize; 2] {
        let encoder = sheet.encoder(tangents, limit);
        let normals = Normals::read(encoder.static_bytes(), sheet.shape(tangents)).unwrap();
        assert_eq!(&normals, encoder.decoder());
        let sources = sheet.sources(tangents);
        let (mut key, mut rest, mut first, mut others) = (vec![], vec![], vec![], vec![]);
        let mut errors = vec![encoder.encode(&sources[..1], &[], &mut first, &mut key)];
        errors.push(encoder.encode(&sources[1..], &[&first[0]], &mut others, &mut rest));
        assert_eq!(decode(&normals, &key, &[], 1).unwrap(), first);
        let refs: [&[i16]; 1] = [&first[0]];
        assert_eq!(decode(&normals, &rest, &refs, sources.len() - 1).unwrap(), others);
        let mut work = normals.work();
        normals.set_uvs(&sheet.uvs, &mut work);
        let mut worst = Errors::default();
        for (state, frame) in first.iter().chain(&others).zip(&sheet.frames) {
            let built = normals.build(&frame.points, state, &mut work);
            for v in 0..sheet.point.len() {
                let n = built.normal(v);
                worst.normal = worst.normal.max(apart(n, frame.normals[v]));
                assert!((dot(n, n) - 1.0).abs() < 1e-5);
                if tangents {
                    let [x, y, z, sign] = built.tangent(v);
                    let [a, b, c, wanted] = frame.tangents[v];
                    worst.tangent = worst.tangent.max(apart([x, y, z], [a, b, c]));
                    assert_eq!(sign, wanted);
                }
            }
        }
        assert!(worst.normal <= limit && worst.tangent <= limit, "{worst:?}");
        assert_eq!(errors[0].normal.max(errors[1].normal), worst.normal);
        [encoder.static_bytes().len(), key.len() + rest.len()]
    }

    #[test]
    fn the_tolerance_holds_whatever_is_asked() {
        for (noise, lean) in [(0, 0.0), (20, 0.0), (300, 0.0), (20, 0.7), (300, 3.0)] {
            for tangents in [false, true] {
                for limit in [30.0, 1.0, 0.02] {
                    round_trip(&sheet(noise, lean, 9), tangents, limit);
                }
            }
        }
    }

    #[test]
    fn good_geometry_costs_nothing() {
        let [fixed, units] = round_trip(&sheet(3, 0.0, 17), false, 5.0);
        assert!(fixed < 80 && units == 0, "{fixed} {units}");
        // What leans at all times is kept once.
        let [fixed, units] = round_trip(&sheet(3, 0.4, 17), true, 1.0);
        assert!(fixed < 700 && units < 400, "{fixed} {units}");
    }

    #[test]
    fn golden() {
        let sheet = sheet(60, 0.05, 3);
        let encoder = sheet.encoder(true, 2.0);
        let (mut states, mut bytes) = (vec![], vec![]);
        encoder.encode(&sheet.sources(true), &[], &mut states, &mut bytes);
        let sum = |bytes: &[u8]| {
            let step = |h: u32, b: &u8| (h ^ u32::from(*b)).wrapping_mul(16_777_619);
            bytes.iter().fold(2_166_136_261u32, step)
        };
        let fixed = encoder.static_bytes();
        let golden = [fixed.len() as u32, sum(fixed), bytes.len() as u32, sum(&bytes)];
        assert_eq!(golden, [186, 2_569_865_035, 20, 3_739_382_992]);
    }

    #[test]
    fn normals_that_look_inside_and_meshes_of_nothing() {
        let mut inside = sheet(3, 0.0, 9);
        for frame in &mut inside.frames {
            frame.normals.iter_mut().for_each(|n| *n = n.map(|x| -x));
        }
        let [_, units] = round_trip(&inside, false, 5.0);
        assert_eq!(units, 0);
        let empty = Shape { triangles: &[], point: &[], uvs: &[] };
        let wanted = Wanted { groups: &[], faces: &[], signs: &[], degrees: 1.0, frames: 1 };
        let encoder = Encoder::new::<[i16; 4]>(empty, wanted, &[]).unwrap();
        let normals = Normals::read(encoder.static_bytes(), empty).unwrap();
        assert_eq!(decode(&normals, &[], &[], 2).unwrap(), vec![vec![]; 2]);
        normals.build::<[i16; 4]>(&[], &[], &mut normals.work());
    }

    #[test]
    fn points_without_faces_keep_their_normals() {
        let point: Vec<u32> = (0..5).collect();
        let shape = Shape { triangles: &[], point: &point, uvs: &[] };
        let wanted = Wanted { groups: &point, faces: &[], signs: &[], degrees: 1.0, frames: 1 };
        let all = [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.6, -0.8, 0.0], [0.0, 0.6, -0.8]];
        let source = Source { points: &[[0i32; 4]; 5], uvs: &[], normals: &all, tangents: &[] };
        let encoder = Encoder::new(shape, wanted, &[source]).unwrap();
        let (mut states, mut bytes) = (vec![], vec![]);
        let errors = encoder.encode(&[source], &[], &mut states, &mut bytes);
        assert!(errors.normal <= 1.0);
    }

    #[test]
    fn damage_is_refused_or_harmless() {
        let sheet = sheet(200, 0.3, 4);
        let encoder = sheet.encoder(true, 1.0);
        let normals = encoder.decoder();
        let (mut states, mut bytes) = (vec![], vec![]);
        encoder.encode(&sheet.sources(true), &[], &mut states, &mut bytes);
        let points = &sheet.frames[0].points;
        let look = |normals: &Normals, states: &[Vec<i16>]| {
            let mut work = normals.work();
            normals.set_uvs(&sheet.uvs, &mut work);
            for state in states {
                let built = normals.build(points, state, &mut work);
                for v in 0..normals.vertices() {
                    let n = built.normal(v);
                    assert!((dot(n, n) - 1.0).abs() < 1e-4);
                    if normals.has_tangents() {
                        assert!(built.tangent(v).iter().all(|x| x.abs() < 1.001));
                    }
                }
            }
        };
        let try_unit = |bytes: &[u8]| {
            if let Ok(states) = decode(normals, bytes, &[], 4) {
                look(normals, &states);
            }
        };
        let try_static = |bytes: &[u8]| {
            if let Ok(normals) = Normals::read(bytes, sheet.shape(true)) {
                look(&normals, &[normals.base().to_vec()]);
            }
        };
        for cut in 0..bytes.len() {
            try_unit(&bytes[..cut]);
        }
        for i in 0..bytes.len() {
            let mut bytes = bytes.clone();
            for bit in 0..8 {
                bytes[i] ^= 1 << bit;
                try_unit(&bytes);
                bytes[i] ^= 1 << bit;
            }
        }
        let fixed = encoder.static_bytes();
        for cut in 0..fixed.len() {
            try_static(&fixed[..cut]);
        }
        for i in 0..fixed.len() {
            let mut bytes = fixed.to_vec();
            for bit in 0..8 {
                bytes[i] ^= 1 << bit;
                try_static(&bytes);
                bytes[i] ^= 1 << bit;
            }
        }
        // States that are not those of this mesh, and bytes too many.
        let mut short = vec![0; normals.state_len() - 1];
        assert!(normals.decode(&bytes, &[], &mut [&mut short]).is_err());
        bytes.extend([1; 9]);
        assert!(decode(normals, &bytes, &[], 4).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_give_normals_or_are_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..60),
            head in prop::option::of(0u8..8),
            triangles in prop::collection::vec(prop::array::uniform3(0u32..9), 0..12),
            point in prop::collection::vec(0u32..6, 8),
            uvs in prop::collection::vec(prop::array::uniform2(-2f32..2.0), 8),
            points in prop::collection::vec(prop::array::uniform4(any::<i32>()), 8),
        ) {
            // Without a usable head hardly anything gets further.
            let mut fixed = bytes.clone();
            if let Some(flags) = head {
                fixed.splice(0..0, [&[flags][..], &0.01f32.to_le_bytes(), &0.02f32.to_le_bytes()].concat());
            }
            let shape = Shape { triangles: &triangles, point: &point, uvs: &uvs };
            if let Ok(normals) = Normals::read(&fixed, shape) {
                let mut work = normals.work();
                normals.set_uvs(&uvs, &mut work);
                if let Ok(states) = decode(&normals, &bytes, &[], 2) {
                    let built = normals.build(&points, &states[1], &mut work);
                    for v in 0..8 {
                        prop_assert!(built.normal(v).iter().all(|x| x.abs() < 1.001));
                    }
                }
            }
        }
    }
}
