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
use crate::entropy::range::{Bits, Counter, Encoder as Writer};
use crate::mesh::normals::surface::{arc_cosine, turn};
use crate::mesh::normals::tangents::turned;
use crate::mesh::normals::{Contexts, Draft, Normals, STRIDE, Shape, Work, level_near, width};
use crate::simd::isa::Isa;
use crate::simd::lanes::{Place, cross, dot};

/// The normals and tangents that are to be kept, and how exactly.
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
/// The part of the tolerance that is left to the f32 arithmetic of whoever measures again.
const MARGIN: f64 = 1e-4;

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
        let chord = 2.0 * f64::sin((degrees * (1.0 - MARGIN)).to_radians() / 2.0);
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

    /// The static part: everything that is kept once per mesh.
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
mod tests;
