//! The encoder of [`crate::mesh::normals`]: chooses the static part of a mesh, and the cheapest states within
//! the tolerance. Nothing here is part of the format.
//!
//! ```text
//! bases      for every item 0, or the median, or the middle of its residuals in a few frames, whichever leaves the fewest frames outside
//! state      the reference's where normal and tangents are within the tolerance, tangents with a turn if necessary; else the nearest
//! reference  the one that leaves the fewest normals outside
//! tables     counts of the symbols with which the sampled frames would be coded, each after the one before
//! ```

mod members;
mod unit;

use crate::Corrupt;
use crate::entropy::nibble::Counter;
use crate::entropy::range::Encoder as Writer;
use crate::mesh::byte_budget::ByteBudget;
use crate::mesh::normals::coding::RareChanges;
use crate::mesh::normals::kernel::turned;
use crate::mesh::normals::roots::{angle as arc_cosine, cosine_and_sine};
use crate::mesh::normals::surface::NormalWeights;
use crate::mesh::normals::tangents::TangentWeights;
use crate::mesh::normals::{LayoutInput, MeshGeometry, NormalBuffers, Normals, Partitions, STRIDE, TURNED};
use crate::simd::lanes::{IntegerPoint, cross, dot};
use crate::tasks::TaskRunner;
use crate::transform::Transform;
use members::Members;
pub use unit::UnitEncoder;

/// The normals and tangents to encode, and the tolerance.
#[derive(Debug, Clone, Copy)]
pub struct NormalSettings<'a> {
    /// Per vertex, a number that is equal for vertices whose normals are equal in all frames.
    pub groups: &'a [u32],
    /// Per triangle, the polygon of the source that it belongs to; empty if unknown.
    pub faces: &'a [u32],
    /// Per vertex, the sign of its bitangent; empty without tangents.
    pub signs: &'a [f32],
    /// The largest error of normals and of tangents in degrees; at least 0.02.
    pub degrees: f64,
    /// The number of frames of the mesh.
    pub frames: usize,
    /// `true` if states are packed, for speed, not entropy coded.
    pub packed: bool,
    /// The bits that a nanosecond of decoding time per vertex is worth; 0 if only bytes count.
    pub bits_per_nanosecond: f64,
    /// The weights of polygons; `None` to choose those with the fewest bytes, which takes most of the time.
    pub weighting: Option<Weighting>,
    /// Runs what may be done in parallel.
    pub tasks: TaskRunner,
}

/// The weights of the polygons around a vertex in the prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weighting {
    /// `true` if normals are turned with bones and not computed from polygons.
    turned: bool,
    normals: NormalWeights,
    tangents: TangentWeights,
}

/// A frame: decoded points, and the source's unit normals and tangents per vertex.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct NormalSource<'a, P> {
    pub points: &'a [P],
    pub normals: &'a [[f32; 3]],
    /// Empty without tangents.
    pub tangents: &'a [[f32; 4]],
    /// The transforms of rigid bones, if these alone move the points.
    pub transforms: &'a [Transform],
}

/// Encodes the access units of a mesh. Threads that encode different units share it.
#[derive(Debug, Clone)]
pub struct Encoder {
    normals: Normals,
    bytes: Vec<u8>,
    members: Members,
    /// The square of the longest allowed chord.
    limit: f64,
    weighting: Weighting,
    tasks: TaskRunner,
}

/// The largest remaining errors in degrees.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[allow(missing_docs)]
pub struct Errors {
    pub normal: f64,
    pub tangent: f64,
}

/// The step of the lattices relative to the tolerance. Corrections are multiples of three steps: the
/// remaining error is at most √½ of the tolerance for a state and half of it for a turn, so both together
/// stay within it.
const STEP: f64 = 1.0 / 3.0;
/// The part of the squared limit of the chord that a state may use if that takes smaller numbers: a turn
/// leaves a quarter, so both together stay within it.
const SMALLER_STATE_LIMIT: f64 = 0.74;
/// The number of samples by which weights are chosen.
const WEIGHT_SAMPLES: usize = 6;
/// The number of vertices, in all samples together, by which weights are chosen, and the fewest samples.
const WEIGHT_SAMPLE_VERTICES: usize = 1 << 18;
const MIN_WEIGHT_SAMPLES: usize = 5;
/// The largest number of vertices of a mesh whose weights are tried in parallel.
const MAX_PARALLEL_VERTICES: usize = 1 << 17;
/// The number of groups whose states are chosen by one task.
const GROUPS_PER_TASK: usize = 1 << 12;
/// The number of normals that are compared to choose a reference.
const COMPARED_NORMALS: usize = 1 << 12;
/// The nanoseconds per vertex for polygons with the simplest weights.
const POLYGON_NANOSECONDS: f64 = 6.0;
/// The number of vertices per byte of a frame from which a choice is not worth its time.
const NEGLIGIBLE_VERTICES_PER_BYTE: usize = 64;
/// The part of the tolerance that is reserved for the f32 arithmetic of later measurements.
const MARGIN: f64 = 1e-4;

/// Returns the square of the longest chord between normals that may be `degrees` apart.
fn limit(degrees: f64) -> f64 {
    let degrees = degrees.clamp(0.02, 179.0);
    let chord = 2.0 * f64::sin((degrees * (1.0 - MARGIN)).to_radians() / 2.0);
    chord * chord
}

impl Encoder {
    /// Chooses the static part. `samples` are some frames, spread over all.
    pub fn new<P: IntegerPoint>(
        shape: MeshGeometry<'_>,
        wanted: NormalSettings<'_>,
        samples: &[NormalSource<'_, P>],
    ) -> Result<Encoder, Corrupt> {
        let degrees = wanted.degrees.clamp(0.02, 179.0);
        let step = ((degrees * STEP).to_radians() as f32).min(2.0);
        let tangents = !wanted.signs.is_empty();
        let mut faces = wanted.faces.to_vec();
        faces.sort_unstable();
        let draft = LayoutInput {
            faces: Some(wanted.faces),
            groups: Some(wanted.groups),
            signs: tangents.then_some(wanted.signs),
            polygons: faces.windows(2).any(|w| w[0] == w[1]),
            tangents,
            steps: [step, if tangents { step } else { 0.0 }],
            negated: false,
            packed: wanted.packed,
            turned: false,
            weights: NormalWeights::Interior,
            tangent_weights: if tangents { TangentWeights::Projected } else { TangentWeights::Constant },
        };
        let mut scrap = Vec::new();
        let partitions = draft.partitions(&mut Writer::new(&mut scrap), shape)?;
        let laid = (shape, &partitions);
        let draft = match wanted.weighting {
            Some(Weighting { turned, normals, tangents }) => {
                LayoutInput { turned, weights: normals, tangent_weights: tangents, ..draft }
            }
            None => Encoder::choose_weights(draft, laid, wanted, samples)?,
        };
        Encoder::with_layout(draft, laid, wanted, samples)
    }

    /// Chooses the weights that give the fewest bytes for some of the samples.
    fn choose_weights<'a, P: IntegerPoint>(
        mut draft: LayoutInput<'a>,
        laid: (MeshGeometry<'_>, &Partitions),
        wanted: NormalSettings<'_>,
        samples: &[NormalSource<'_, P>],
    ) -> Result<LayoutInput<'a>, Corrupt> {
        let (shape, _) = laid;
        // With very many vertices, a few frames are enough.
        let most = WEIGHT_SAMPLE_VERTICES
            .checked_div(shape.point.len())
            .unwrap_or(samples.len())
            .max(MIN_WEIGHT_SAMPLES);
        let spread: Vec<NormalSource<'_, P>> =
            samples.iter().copied().step_by(samples.len().div_ceil(most).max(1)).collect();
        let samples = &spread[..];
        let looked_at = WEIGHT_SAMPLES.min(samples.len().div_ceil(2)).max(1);
        let apart = samples.len().div_ceil(looked_at).max(1);
        let some: Vec<NormalSource<'_, P>> = samples.iter().copied().step_by(apart).collect();
        let cost = |draft: LayoutInput<'a>| -> Result<(usize, usize), Corrupt> {
            // Bases need all samples: fitted to a few, they would not predict the others.
            let encoder = Encoder::with_layout(draft, laid, wanted, samples)?;
            let (mut earlier, mut bytes): (Vec<i16>, usize) = (Vec::new(), 0);
            for source in &some {
                let refs: &[&[i16]] = if earlier.is_empty() { &[] } else { &[&earlier] };
                let (mut unit, mut coded) = (encoder.begin_unit(refs), Vec::new());
                encoder.push_frame(&mut unit, source);
                let states = unit.finish(&mut coded);
                bytes += coded.len();
                earlier = states.into_iter().next().unwrap_or_default();
            }
            let frames = bytes * wanted.frames / some.len().max(1);
            let time = nanoseconds(&draft) * wanted.bits_per_nanosecond / 8.0;
            let time = time * (shape.point.len() * wanted.frames) as f64;
            Ok((encoder.bytes.len() + frames + time as usize, bytes))
        };
        let nothing = |bytes: usize| bytes * NEGLIGIBLE_VERTICES_PER_BYTE < some.len() * shape.point.len();
        let mut turned = None;
        if shape.point_bones.is_some() {
            let own = LayoutInput { turned: true, ..draft };
            let (least, bytes) = cost(own)?;
            // Nothing is faster.
            if nothing(bytes) {
                return Ok(own);
            }
            turned = Some((least, own));
        }
        let (mut least, bytes) = cost(draft)?;
        // If hardly anything is corrected, there is nothing to gain.
        if nothing(bytes) && wanted.bits_per_nanosecond == 0.0 {
            return Ok(draft);
        }
        let others = [NormalWeights::Angle, NormalWeights::Equal, NormalWeights::Area];
        let others = others.map(|weights| LayoutInput { weights, ..draft });
        // Each takes memory for lists by vertex.
        let costs: Vec<Result<(usize, usize), Corrupt>> = match shape.point.len() > MAX_PARALLEL_VERTICES {
            true => others.iter().map(|other| cost(*other)).collect(),
            false => wanted.tasks.map(&others, |other| cost(*other)),
        };
        for (other, own) in others.into_iter().zip(costs) {
            let (own, _) = own?;
            if own < least {
                (least, draft) = (own, other);
            }
        }
        if draft.tangents {
            // The faster of equally good ones is chosen.
            let other = LayoutInput { tangent_weights: TangentWeights::Constant, ..draft };
            let own = cost(other)?.0;
            if own <= least {
                (least, draft) = (own, other);
            }
        }
        Ok(turned.filter(|turned| turned.0 <= least).map_or(draft, |turned| turned.1))
    }

    /// Creates the encoder with the weights of a draft.
    fn with_layout<P: IntegerPoint>(
        mut draft: LayoutInput<'_>,
        (shape, partitions): (MeshGeometry<'_>, &Partitions),
        wanted: NormalSettings<'_>,
        samples: &[NormalSource<'_, P>],
    ) -> Result<Encoder, Corrupt> {
        let normals = draft.arrange(partitions, shape, &mut ByteBudget::unlimited())?;
        let members = Members::new(&normals.group, normals.groups());
        let weighting =
            Weighting { turned: draft.turned, normals: draft.weights, tangents: draft.tangent_weights };
        let mut out = Encoder {
            normals,
            bytes: Vec::new(),
            members,
            limit: limit(wanted.degrees),
            weighting,
            tasks: wanted.tasks,
        };
        out.negate(samples);
        draft.negated = out.normals.negated;
        let polygons = draft.turned.then(|| out.normals.clone());
        if draft.turned {
            out.normals.turn_rest(shape)?;
        }
        let seldom = out.fit(samples, wanted.frames, f64::from(draft.steps[0]));
        let base = out.normals.base.clone();
        if let Some(polygons) = polygons {
            // Again, with the base included in the vectors at rest.
            let classes = std::mem::take(&mut out.normals.classes);
            out.normals = Normals { base: base.clone(), classes, ..polygons };
            out.normals.turn_rest(shape)?;
        }
        out.normals.find_trees();
        out.fit_tables(samples, seldom);
        out.write(&draft, shape, base)?;
        Ok(out)
    }

    /// Negates predictions if most of them point the wrong way.
    fn negate<P: IntegerPoint>(&mut self, samples: &[NormalSource<'_, P>]) {
        let Some(first) = samples.first() else { return };
        let mut work = self.normals.buffers();
        self.normals.predict(first.points, first.transforms, &mut work);
        let wrong = |g: &usize| dot(xyz(work.normals[*g]), self.source(first, *g)) < 0.0;
        let count = (0..self.members.len()).filter(wrong).count();
        self.normals.negated = 2 * count > self.members.len();
    }

    fn source<P>(&self, source: &NormalSource<'_, P>, g: usize) -> [f32; 3] {
        source.normals[self.members.first(g)]
    }

    /// Chooses bases and classes; returns statistics of groups and vertices that change seldom.
    fn fit<P: IntegerPoint>(
        &mut self,
        samples: &[NormalSource<'_, P>],
        frames: usize,
        step: f64,
    ) -> [RareChanges; 2] {
        let mut seldom = [RareChanges::default(); 2];
        let groups = self.members.len();
        // The radius within the tolerance, in steps.
        let radius = (1.0 / STEP * 0.98) as f32;
        let within = 2.0 * f64::sin(f64::from(radius) * step / 2.0);
        let (states, good) = self.normal_residuals(samples, within * within, step);
        let mut list = Vec::new();
        for g in (0..groups).filter(|&g| !good[g]) {
            list.clear();
            list.extend(states.iter().map(|s| s[g]));
            let (base, class, outside) = base_of(&mut list, radius, frames);
            seldom[0].add(class, outside, samples.len());
            let at = self.normals.state_range(g);
            self.normals.base[at].copy_from_slice(&base);
            self.normals.classes[g] = class;
        }
        let Some(vertices) = self.normals.tangents.as_ref().map(|t| t.classes().len()) else {
            return seldom;
        };
        let turns = self.tangent_turns(samples, &states, radius, step);
        for v in 0..vertices {
            list.clear();
            list.extend(turns.iter().map(|s| s[v]));
            let (base, class, outside) = base_of(&mut list, radius * 0.9, frames);
            seldom[1].add(class, outside, samples.len());
            self.normals.base[2 * groups + v] = base[0];
            self.normals.classes[groups + v] = class;
        }
        seldom
    }

    /// Returns, by sample and group, what the normal is off, in steps, and whether the group needs no
    /// correction in any sample, as all chords are within `limit`: what it is off does not matter then.
    fn normal_residuals<P: IntegerPoint>(
        &self,
        samples: &[NormalSource<'_, P>],
        limit: f64,
        step: f64,
    ) -> (Vec<Vec<[f32; 2]>>, Vec<bool>) {
        let predicted = self.tasks.map(samples, |sample| {
            let mut work = self.normals.buffers();
            self.normals.predict(sample.points, sample.transforms, &mut work);
            work.normals
        });
        let all: Vec<(&NormalSource<'_, P>, &Vec<[f32; 4]>)> = samples.iter().zip(&predicted).collect();
        let within = |g: usize| {
            let mut samples = all.iter();
            samples.all(|(sample, normals)| chord(xyz(normals[g]), self.source(sample, g)) <= limit)
        };
        let good: Vec<bool> = (0..self.members.len()).map(within).collect();
        let states = self.tasks.map(&all, |(sample, predicted)| {
            let mut work = self.normals.buffers();
            self.normals.arrange_frame(P::kind(sample.points), &mut work);
            let off = |(g, good): (usize, &bool)| match good {
                true => [0.0; 2],
                false => {
                    let [x, y] = self.normal_residual((sample, &work), g, xyz(predicted[g]));
                    [(x / step) as f32, (y / step) as f32]
                }
            };
            good.iter().enumerate().map(off).collect()
        });
        (states, good)
    }

    /// Returns, by sample and vertex, what the tangent is off, in steps, with the normals of the states.
    fn tangent_turns<P: IntegerPoint>(
        &self,
        samples: &[NormalSource<'_, P>],
        states: &[Vec<[f32; 2]>],
        radius: f32,
        step: f64,
    ) -> Vec<Vec<[f32; 2]>> {
        let all: Vec<(&NormalSource<'_, P>, &Vec<[f32; 2]>)> = samples.iter().zip(states).collect();
        self.tasks.map(&all, |(sample, states)| {
            let mut work = self.normals.buffers();
            self.normals.predict(sample.points, sample.transforms, &mut work);
            let mut list = vec![[0.0; 2]; self.normals.tangents.as_ref().map_or(0, |t| t.classes().len())];
            for (g, state) in states.iter().enumerate() {
                let base = [self.normals.base[2 * g], self.normals.base[2 * g + 1]];
                let far = (0..2).map(|k| (state[k] - f32::from(base[k])).powi(2));
                let moved = state.map(|x| x.round() as i16);
                let state = if far.sum::<f32>() > radius * radius { moved } else { base };
                let [x, y, z] = self.normals.corrected_normal::<P>(&work, g, xyz(work.normals[g]), state);
                work.normals[g] = [x, y, z, 0.0];
            }
            self.normals.all_tangents::<P>(&mut work);
            for g in 0..states.len() {
                let n = xyz(work.normals[g]);
                for v in self.members.vertices(g).iter().map(|&v| v as usize) {
                    let turn = turn_angle(self.predicted_tangent(v, &work), n, sample.tangents[v]) / step;
                    list[v] = [turn as f32, 0.0];
                }
            }
            list
        })
    }

    /// Returns the predicted tangent of a vertex, from the normal in `work`.
    fn predicted_tangent(&self, v: usize, work: &NormalBuffers) -> [f32; 3] {
        let tangents = self.normals.tangents.as_ref();
        xyz(tangents.map_or([0.0; 4], |t| work.tangents[t.classes()[v] as usize]))
    }

    /// Returns the residual of the normal of group `g` against the prediction `n`, as an angle along each
    /// axis of its frame.
    fn normal_residual<P: IntegerPoint>(
        &self,
        (source, work): (&NormalSource<'_, P>, &NormalBuffers),
        g: usize,
        n: [f32; 3],
    ) -> [f64; 2] {
        let wanted = self.source(source, g);
        let [e1, e2] = self.normals.surface.frame::<P>(&work.arranged, g, n);
        let [x, y, z] = [e1, e2, n].map(|e| f64::from(dot(e, wanted)));
        let side = (x * x + y * y).sqrt();
        if side < 1e-9 {
            // There is no direction, except at the opposite pole.
            return [if z < 0.0 { angle(-1.0, 0.0) } else { 0.0 }, 0.0];
        }
        let angle = angle(z, side);
        [x / side * angle, y / side * angle]
    }

    /// Counts the symbols of the samples, each with the one before as its reference, and fits the tables to
    /// them.
    fn fit_tables<P: IntegerPoint>(&mut self, samples: &[NormalSource<'_, P>], seldom: [RareChanges; 2]) {
        if self.normals.packed {
            return;
        }
        let mut counts = self.normals.coding.counts();
        let mut earlier: Vec<Vec<i16>> = Vec::new();
        for sample in samples {
            let mut state = self.normals.base.clone();
            let refs: Vec<&[i16]> = earlier.iter().map(Vec::as_slice).collect();
            let (number, _) = self.choose(sample, &refs, &mut state);
            let from = if number == 0 { &self.normals.base[..] } else { refs[0] };
            self.normals.frame(&mut Counter, &mut counts, from, &mut state);
            earlier = vec![state];
        }
        self.normals.coding.fit(&counts, seldom);
    }

    fn write(
        &mut self,
        draft: &LayoutInput<'_>,
        shape: MeshGeometry<'_>,
        base: Vec<i16>,
    ) -> Result<(), Corrupt> {
        let weights = match draft.weights {
            _ if draft.turned => TURNED << 3,
            NormalWeights::Interior => 64,
            weights => (weights as u8) << 3,
        };
        let flags = u8::from(draft.tangents) | u8::from(draft.polygons) << 1 | u8::from(draft.negated) << 2;
        let flags = flags | weights | (draft.tangent_weights as u8) << 5 | u8::from(draft.packed) << 7;
        let mut bytes = vec![flags];
        for step in draft.steps {
            bytes.extend(step.to_le_bytes());
        }
        let mut writer = Writer::new(&mut bytes);
        draft.partitions(&mut writer, shape)?;
        let decoded = std::mem::replace(&mut self.normals.base, base);
        self.normals.bases(&mut writer);
        self.normals.base = decoded;
        self.normals.starts(&mut writer);
        writer.finish();
        self.bytes = bytes;
        Ok(())
    }

    /// Returns the encoder with this static part, for normals within `degrees`; nothing is chosen anew.
    pub fn read(bytes: &[u8], shape: MeshGeometry<'_>, degrees: f64) -> Result<Encoder, Corrupt> {
        let normals = Normals::read(bytes, shape, &mut ByteBudget::unlimited())?;
        let members = Members::new(&normals.group, normals.groups());
        let flags = bytes.first().copied().unwrap_or_default();
        let turned = flags >> 3 & 3 == TURNED;
        let weighting = Weighting {
            turned,
            normals: match turned || flags & 64 != 0 {
                true => NormalWeights::Interior,
                false => NormalWeights::ALL[usize::from(flags >> 3 & 3)],
            },
            tangents: TangentWeights::ALL[usize::from(flags >> 5 & 1)],
        };
        let (bytes, limit, tasks) = (bytes.to_vec(), limit(degrees), TaskRunner::default());
        Ok(Encoder { normals, bytes, members, limit, weighting, tasks })
    }

    /// Returns the static part: everything stored once per mesh.
    pub fn static_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the weights of polygons.
    pub fn weighting(&self) -> Weighting {
        self.weighting
    }

    /// Returns the decoder.
    pub fn decoder(&self) -> &Normals {
        &self.normals
    }

    /// Begins an access unit. `refs` are the states of frames that the decoder will already have.
    pub fn begin_unit<'e>(&'e self, refs: &'e [&'e [i16]]) -> UnitEncoder<'e> {
        UnitEncoder::new(&self.normals, refs)
    }

    /// Adds the next frame of an access unit. Returns the states that the decoder will have for it, and the
    /// largest errors.
    pub fn push_frame<'u, P: IntegerPoint>(
        &self,
        unit: &'u mut UnitEncoder<'_>,
        frame: &NormalSource<'_, P>,
    ) -> (&'u [i16], Errors) {
        let mut state = self.normals.base.clone();
        let (reference, errors) = self.choose(frame, &unit.earlier(), &mut state);
        (unit.push(reference, state), errors)
    }

    /// Chooses the reference (0 is the base) and the states of a frame.
    fn choose<P: IntegerPoint>(
        &self,
        source: &NormalSource<'_, P>,
        earlier: &[&[i16]],
        state: &mut [i16],
    ) -> (usize, Errors) {
        let work = &mut self.normals.buffers();
        self.normals.predict(source.points, source.transforms, work);
        let predicted = work.normals.clone();
        let apart = self.members.len().div_ceil(COMPARED_NORMALS).max(1);
        let outside = |states: &[i16]| {
            let states: &[[i16; 2]] = states[..2 * self.members.len()].as_chunks().0;
            let out = |g: &usize| {
                let bent = self.normals.corrected_normal::<P>(work, *g, xyz(predicted[*g]), states[*g]);
                chord(bent, self.source(source, *g)) > self.limit
            };
            (0..self.members.len()).step_by(apart).filter(out).count()
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
        work.normals.copy_from_slice(&predicted);
        self.normals.correct_normals::<P>(from[..2 * self.members.len()].as_chunks().0, work);
        self.normals.all_tangents::<P>(work);
        let work = &*work;
        let groups = self.members.len();
        let task = |start: usize| {
            let (mut states, mut turns, mut most) = (Vec::new(), Vec::new(), [0.0f64; 2]);
            for g in start..groups.min(start + GROUPS_PER_TASK) {
                let (chosen, worst) =
                    self.choose_group_state(source, work, g, xyz(predicted[g]), from, &mut turns);
                states.push(chosen);
                most = [most[0].max(worst[0]), most[1].max(worst[1])];
            }
            (states, turns, most)
        };
        let starts: Vec<usize> = (0..groups).step_by(GROUPS_PER_TASK).collect();
        let chosen = self.tasks.map(&starts, |&start| task(start));
        let mut most = [0.0f64; 2];
        let (of_groups, of_vertices) = state.split_at_mut(2 * groups);
        for (start, (states, turns, worst)) in starts.into_iter().zip(chosen) {
            of_groups[2 * start..][..2 * states.len()].copy_from_slice(states.as_flattened());
            let vertices = (start..start + states.len()).flat_map(|g| self.members.vertices(g));
            vertices.zip(turns).for_each(|(&v, turn)| of_vertices[v as usize] = turn);
            most = [most[0].max(worst[0]), most[1].max(worst[1])];
        }
        (best.0, Errors { normal: degrees(most[0]), tangent: degrees(most[1]) })
    }

    /// Chooses the state of a group and the turns of its vertices, starting from those of the reference,
    /// whose normals and tangents are in `work`. Returns the state, and the squares of the largest remaining
    /// chords; appends the turns.
    fn choose_group_state<P: IntegerPoint>(
        &self,
        source: &NormalSource<'_, P>,
        work: &NormalBuffers,
        g: usize,
        predicted: [f32; 3],
        from: &[i16],
        turns: &mut Vec<i16>,
    ) -> ([i16; 2], [f64; 2]) {
        let wanted = self.source(source, g);
        let n = xyz(work.normals[g]);
        let old = [from[2 * g], from[2 * g + 1]];
        let first_turn = turns.len();
        let mut worst = [chord(n, wanted), f64::INFINITY];
        if worst[0] <= self.limit {
            worst[1] = self.turns((source, work), g, None, from, turns);
            if worst[1] <= self.limit {
                return (old, worst);
            }
            turns.truncate(first_turn);
        }
        let step = f64::from(self.normals.step);
        let off = self.normal_residual((source, work), g, predicted).map(|x| x / step);
        let mut best = [0, 1].map(|k| nearest(off[k], old[k]));
        let mut n = self.normals.corrected_normal::<P>(work, g, predicted, best);
        for other in smaller(best, old) {
            let bent = self.normals.corrected_normal::<P>(work, g, predicted, other);
            if chord(bent, wanted) <= self.limit * SMALLER_STATE_LIMIT {
                (best, n) = (other, bent);
                break;
            }
        }
        (best, [chord(n, wanted), self.turns((source, work), g, Some(n), from, turns)])
    }

    /// Chooses the turns of the vertices of a group whose normal is `other`, or else the one in `work`, and
    /// appends them. Returns the square of the largest remaining chord.
    fn turns<P: IntegerPoint>(
        &self,
        (source, work): (&NormalSource<'_, P>, &NormalBuffers),
        g: usize,
        other: Option<[f32; 3]>,
        from: &[i16],
        turns: &mut Vec<i16>,
    ) -> f64 {
        if !self.normals.has_tangents() {
            return 0.0;
        }
        let old = &from[2 * self.members.len()..];
        let step = self.normals.turn_step;
        let mut worst = 0.0f64;
        for &v in self.members.vertices(g) {
            let v = v as usize;
            let wanted = source.tangents[v];
            let (n, t) = match other {
                Some(n) => (n, self.normals.tangent::<P>(v, n, work)),
                None => (xyz(work.normals[g]), self.predicted_tangent(v, work)),
            };
            let left = |z: i16| {
                let t = match z {
                    0 => t,
                    _ => turned(t, n, cosine_and_sine(f32::from(z) * step)),
                };
                chord(t, [wanted[0], wanted[1], wanted[2]])
            };
            let mut z = old[v];
            let mut own = left(z);
            if own > self.limit {
                z = nearest(turn_angle(t, n, wanted) / f64::from(step), old[v]);
                own = left(z);
                let less = z - STRIDE * (i32::from(z) - i32::from(old[v])).signum() as i16;
                if less != old[v] && left(less) <= self.limit * SMALLER_STATE_LIMIT {
                    (z, own) = (less, left(less));
                }
            }
            turns.push(z);
            worst = worst.max(own);
        }
        worst
    }
}

/// Returns the decoding time that depends on the weights, in nanoseconds per vertex: measured on grids and
/// organic meshes of thousands of vertices.
fn nanoseconds(draft: &LayoutInput<'_>) -> f64 {
    if draft.turned {
        return 0.0;
    }
    let normals = match draft.weights {
        NormalWeights::Interior => 5.0,
        NormalWeights::Angle => 2.5,
        NormalWeights::Equal => 0.7,
        NormalWeights::Area => 0.0,
    };
    let tangents = match draft.tangent_weights {
        TangentWeights::Projected => 8.0,
        TangentWeights::Constant => 0.0,
    };
    POLYGON_NANOSECONDS + normals + tangents
}

/// Returns the base that leaves the fewest samples outside `radius`, the class of what it leaves, and their
/// number. Reorders the list.
fn base_of(list: &mut [[f32; 2]], radius: f32, frames: usize) -> ([i16; 2], u8, usize) {
    let count = list.len();
    if count == 0 {
        return ([0; 2], 0, 0);
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
    (best.0.map(|x| x as i16), class, best.1)
}

/// Returns the value nearest to `wanted` that differs from `from` by a multiple of the stride.
fn nearest(wanted: f64, from: i16) -> i16 {
    let steps = ((wanted - f64::from(from)) / f64::from(STRIDE)).round();
    let value = f64::from(from) + steps * f64::from(STRIDE);
    // One stride less if that is out of range.
    let beyond = f64::from(STRIDE) * f64::from(i8::from(value > 32767.0) - i8::from(value < -32767.0));
    (value - beyond) as i16
}

/// Returns states next to `nearest` that differ less from `from`, those with the smallest differences first.
fn smaller(nearest: [i16; 2], from: [i16; 2]) -> impl Iterator<Item = [i16; 2]> {
    let less = [0, 1].map(|k| {
        let off = i32::from(nearest[k]) - i32::from(from[k]);
        nearest[k] - STRIDE * off.signum() as i16
    });
    let far = move |s: [i16; 2]| (0..2).map(|k| i32::from(s[k]).abs_diff(i32::from(from[k]))).sum::<u32>();
    let mut others = [less, [less[0], nearest[1]], [nearest[0], less[1]]];
    others.sort_by_key(|s| far(*s));
    others.into_iter().filter(move |s| far(*s) < far(nearest) && *s != from)
}

fn xyz(n: [f32; 4]) -> [f32; 3] {
    [n[0], n[1], n[2]]
}

/// Returns the square of the distance between two unit vectors.
fn chord(a: [f32; 3], b: [f32; 3]) -> f64 {
    (0..3).map(|k| (f64::from(a[k]) - f64::from(b[k])) * (f64::from(a[k]) - f64::from(b[k]))).sum()
}

/// Returns the angle of a chord, given its square.
fn degrees(chord: f64) -> f64 {
    2.0 * (chord.sqrt() / 2.0).min(1.0).asin().to_degrees()
}

/// Returns the angle for which [`cosine_and_sine`] gives this cosine and sine, from −π to about π; the same
/// on every machine.
fn angle(cosine: f64, sine: f64) -> f64 {
    let mut about = f64::from(arc_cosine(cosine as f32));
    for _ in 0..3 {
        let [c, s] = cosine_and_sine(about as f32).map(f64::from);
        let off = sine.abs() * c - cosine * s;
        about += off;
        // The remaining error is its square, and below the precision of f32.
        if off.abs() < 1e-6 {
            break;
        }
    }
    if sine < 0.0 { -about } else { about }
}

/// Returns the angle by which `t` must be rotated about `n` to be as near to `wanted` as possible.
fn turn_angle(t: [f32; 3], n: [f32; 3], wanted: [f32; 4]) -> f64 {
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
