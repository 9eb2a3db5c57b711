//! Point instancers: prototypes shown many times, each at a point of its own, for as long as its id is
//! present.

use super::attribute::UsdAttribute;
use super::compose::{Prim, Stage};
use super::instances::{
    InstanceId, InstancePlacement, InstanceSpan, InstanceTransform, InstanceTransforms, instance_ids,
};
use super::samples::{ChangeTimes, Timeline, i32s, i64s};
use super::spline_samples::CodeRange;
use meshreel_scene::{ABSENT, Channel, Error, Identity, TIME_TOLERANCE, TimeSampling, Transform};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// Upper limit for the instances of one instancer, over all times.
const MAX_INSTANCES: usize = 1 << 20;
/// Upper limits for the entries of all distinct lists of instances, and for the time spans of all instances.
const MAX_LISTED: usize = 1 << 27;
const MAX_SPANS: usize = 1 << 22;

/// One point instancer.
pub struct Instancer {
    /// The path of each prototype.
    pub prototypes: Vec<Arc<str>>,
    pub instances: Vec<Instance>,
    transforms: Arc<InstanceTransforms>,
}

/// One instance of a prototype.
pub struct Instance {
    pub name: String,
    pub prototype: usize,
    id: InstanceId,
    spans: Vec<InstanceSpan>,
}

impl Instancer {
    /// Reads an instancer; returns `None`, with a remark, if it is incomplete.
    pub fn read(stage: &mut Stage, prim: &Prim, timeline: &mut Timeline) -> Result<Option<Instancer>, Error> {
        let prototypes = stage.targets(prim, "prototypes")?;
        let indices = stage.attribute(prim, "protoIndices")?;
        let positions = stage.attribute(prim, "positions")?;
        let (Some(indices), Some(positions)) = (indices, positions) else {
            stage.remark(&prim.path, "is an instancer without points; left out");
            return Ok(None);
        };
        let kinds = timeline.channel(&indices, i32s());
        let counts = counts(&positions)?;
        let places = InstancePlacement::read(stage, prim, timeline, &positions)?;
        let invisible = stage.attribute(prim, "invisibleIds")?.map(|own| timeline.channel(&own, i64s()));
        let inactive = stage.integers(prim, "inactiveIds")?.into_iter().collect();
        let lists = InstanceLists { prototype_indices: kinds, counts, placement: places, invisible };
        let mut lives = InstanceCollector::new(prototypes.len(), inactive);
        let name = stage.root_stack().root_layer().name.clone();
        let (sampling, steady) = lists.collect(&mut lives, (timeline, stage.range()), &name)?;
        if lists.placement.is_moved() {
            let ends = [0, steady.len() - 1].map(|sample| timeline.code(sampling.time(sample)));
            stage.limit_covered(CodeRange { first: ends[0], last: ends[1] });
        }
        lives.remarks(stage, prim);
        let instances = lives.instances;
        let all = Arc::new(InstanceTransforms::new(lists.placement, sampling, steady));
        Ok(Some(Instancer { prototypes, instances, transforms: all }))
    }

    /// Returns the transform of an instance.
    pub fn transform(&self, instance: usize) -> Transform {
        let Instance { id, spans, .. } = &self.instances[instance];
        let one = InstanceTransform { transforms: self.transforms.clone(), id: *id, spans: spans.clone() };
        Transform { local: one.channel().into(), inherits: None }
    }

    /// Returns when an instance exists and is visible; `None` if always.
    pub fn visibility(&self, instance: usize) -> Option<Channel<i8>> {
        let mut changes: Vec<(usize, i8)> = vec![(0, ABSENT)];
        for span in &self.instances[instance].spans {
            let there = if span.shown { -1 } else { 0 };
            changes.retain(|(sample, _)| *sample != span.first);
            changes.extend([(span.first, there), (span.end, ABSENT)]);
        }
        changes.retain(|(sample, _)| *sample < self.transforms.samples());
        changes.dedup_by_key(|(_, there)| *there);
        if let [(_, -1)] = changes[..] {
            return None;
        }
        let times = changes.iter().map(|(sample, _)| self.transforms.sampling.time(*sample)).collect();
        let values = changes.into_iter().map(|(_, there)| vec![there]).collect();
        Some(Channel::in_memory(TimeSampling::Acyclic { times }, values))
    }
}

/// Returns the number of elements of each value, in the order of its channel.
fn counts(attribute: &UsdAttribute) -> Result<Vec<usize>, Error> {
    let values = &attribute.values;
    let mut out: Vec<usize> = Vec::with_capacity(values.len());
    for i in 0..values.len() {
        let same = out.last().copied().filter(|_| values.repeats(i));
        out.push(same.map_or_else(|| values.length(i), Ok)?);
    }
    if attribute.retime.scale < 0.0 {
        out.reverse();
    }
    Ok(out)
}

/// The attributes that determine which instances exist.
struct InstanceLists {
    prototype_indices: Channel<i32>,
    /// The number of positions at each of their samples.
    counts: Vec<usize>,
    placement: InstancePlacement,
    invisible: Option<Channel<i64>>,
}

/// The lists of an instancer at a time; equal lists have equal states.
#[derive(Clone, Copy, PartialEq)]
struct ListState {
    prototype_indices: Identity,
    ids: Identity,
    invisible: Identity,
    positions: usize,
}

impl InstanceLists {
    fn state(&self, time: f64) -> ListState {
        let of = |own: &Channel<i64>| own.identity(own.locate(time).0);
        let positions = self.counts.get(self.placement.positions.locate(time).0).copied().unwrap_or(0);
        ListState {
            prototype_indices: self.prototype_indices.identity(self.prototype_indices.locate(time).0),
            ids: self.placement.ids_identity(time),
            invisible: self.invisible.as_ref().map_or(0, of),
            positions,
        }
    }

    /// Determines which instances exist at which times. Returns the sample times, and for each sample whether
    /// the next one has the same instances at its points.
    fn collect(
        &self,
        lives: &mut InstanceCollector,
        (timeline, range): (&Timeline, Option<CodeRange>),
        name: &Path,
    ) -> Result<(Arc<TimeSampling>, Vec<bool>), Error> {
        let mut changes = ChangeTimes::default();
        changes.add(&self.prototype_indices);
        self.placement.add_changes(&mut changes);
        self.invisible.iter().for_each(|own| changes.add(own));
        if let Some(range) = range {
            let ends = [range.first, range.last].map(|code| timeline.seconds(code));
            changes.add_times(self.placement.drift_times(ends));
        }
        let (sampling, count) = changes.sampling();
        let (mut times, mut steady, mut starts) = (Vec::new(), Vec::new(), Vec::new());
        let mut last: Option<(ListState, f64)> = None;
        for time in (0..count).map(|i| sampling.time(i)) {
            let state = self.state(time);
            if let Some((before, previous)) = last {
                let same = before.ids == state.ids && before.positions == state.positions;
                // Until its list changes, an instance is identified by its place in the list.
                let held = timeline.whole_code_before(time);
                if !same && held > previous + TIME_TOLERANCE {
                    times.push(held);
                    steady.push(true);
                }
                steady.push(same);
            }
            if last.is_none_or(|(before, _)| before != state) {
                self.collect_at(lives, starts.len(), time, name)?;
                starts.push(times.len());
            }
            times.push(time);
            last = Some((state, time));
        }
        steady.push(true);
        starts.push(times.len());
        lives.finish(&starts);
        let sampling =
            if times.len() == count { sampling } else { Arc::new(TimeSampling::Acyclic { times }) };
        Ok((sampling, steady))
    }

    /// Adds the instances at a time.
    fn collect_at(
        &self,
        lives: &mut InstanceCollector,
        state: usize,
        time: f64,
        name: &Path,
    ) -> Result<(), Error> {
        let mut kinds = Vec::new();
        self.prototype_indices.read(self.prototype_indices.locate(time).0, &mut kinds)?;
        let read = |own: &Option<Channel<i64>>| -> Result<Option<Vec<i64>>, Error> {
            let mut list = Vec::new();
            own.as_ref().map(|own| own.read(own.locate(time).0, &mut list)).transpose()?;
            Ok(own.is_some().then_some(list))
        };
        let positions = self.counts.get(self.placement.positions.locate(time).0).copied().unwrap_or(0);
        if positions != kinds.len() {
            lives.unequal |= !kinds.is_empty();
            return Ok(());
        }
        let invisible: HashSet<i64> = read(&self.invisible)?.into_iter().flatten().collect();
        let ids = read(&self.placement.ids)?;
        lives.add(state, &kinds, ids.as_deref(), &invisible);
        for (asked, allowed, what) in [
            (lives.instances.len(), MAX_INSTANCES, "instances of an instancer; export it in parts"),
            (lives.listed, MAX_LISTED, "instances of an instancer times samples; export it in parts"),
            (lives.spans, MAX_SPANS, "instances that come and go; export it in parts"),
        ] {
            if asked > allowed {
                return Err(Error::limit(name, what, asked as u64, allowed as u64));
            }
        }
        Ok(())
    }
}

/// All instances that ever exist, collected list by list.
struct InstanceCollector {
    prototypes: usize,
    /// Ids that are left out.
    inactive: HashSet<i64>,
    instances: Vec<Instance>,
    /// The index of each instance, by its id and prototype.
    known: HashMap<(InstanceId, usize), usize>,
    /// The number of instances so far with the same name.
    names: HashMap<String, usize>,
    listed: usize,
    spans: usize,
    /// Whether there are instances of missing prototypes, and lists of unequal lengths.
    missing_prototypes: bool,
    unequal: bool,
}

impl InstanceCollector {
    fn new(prototypes: usize, inactive: HashSet<i64>) -> InstanceCollector {
        InstanceCollector {
            prototypes,
            inactive,
            instances: Vec::new(),
            known: HashMap::new(),
            names: HashMap::new(),
            listed: 0,
            spans: 0,
            missing_prototypes: false,
            unequal: false,
        }
    }

    /// Adds a list; until [`InstanceCollector::finish`], spans count lists.
    fn add(&mut self, list: usize, kinds: &[i32], ids: Option<&[i64]>, invisible: &HashSet<i64>) {
        self.listed += kinds.len();
        for (id, kind) in instance_ids(ids, kinds.len()).into_iter().zip(kinds) {
            // An instance without an id, among others with one, cannot be masked.
            let masked = match id {
                InstanceId::Given(id, _) => Some(id),
                InstanceId::Index(number) => ids.is_none().then_some(i64::from(number)),
            };
            if masked.is_some_and(|id| self.inactive.contains(&id)) {
                continue;
            }
            let Some(prototype) = usize::try_from(*kind).ok().filter(|kind| *kind < self.prototypes) else {
                self.missing_prototypes = true;
                continue;
            };
            let shown = !masked.is_some_and(|id| invisible.contains(&id));
            let own = self.instance(id, prototype);
            let spans = &mut self.instances[own].spans;
            match spans.last_mut() {
                Some(span) if span.end == list && span.shown == shown => span.end = list + 1,
                _ => {
                    spans.push(InstanceSpan { first: list, end: list + 1, shown });
                    self.spans += 1;
                }
            }
        }
    }

    /// Returns the index of an instance, which is added if it is new.
    fn instance(&mut self, id: InstanceId, prototype: usize) -> usize {
        let (instances, names) = (&mut self.instances, &mut self.names);
        *self.known.entry((id, prototype)).or_insert_with(|| {
            let mut name = match id {
                InstanceId::Given(id, _) => id.to_string(),
                InstanceId::Index(number) => number.to_string(),
            };
            let same = names.entry(name.clone()).or_default();
            *same += 1;
            if *same > 1 {
                name = format!("{name}_{same}");
            }
            instances.push(Instance { name, prototype, id, spans: Vec::new() });
            instances.len() - 1
        })
    }

    /// Converts spans of lists to spans of samples, where `starts` has the first sample of each list, and
    /// drops instances that are never visible.
    fn finish(&mut self, starts: &[usize]) {
        self.instances.retain(|own| own.spans.iter().any(|span| span.shown));
        for span in self.instances.iter_mut().flat_map(|own| &mut own.spans) {
            (span.first, span.end) = (starts[span.first], starts[span.end]);
        }
    }

    fn remarks(&self, stage: &mut Stage, prim: &Prim) {
        if self.missing_prototypes {
            stage.remark(&prim.path, "has instances of prototypes that are not there; left out");
        }
        if self.unequal {
            let what = "has not as many positions as protoIndices at some times; then it shows nothing";
            stage.remark(&prim.path, what);
        }
        if self.instances.is_empty() && !self.known.is_empty() {
            stage.remark(&prim.path, "has instances that are invisible at all times; left out");
        }
    }
}
