//! The plan of an archive: objects, their properties, time samplings, metadata.

use super::property::{Content, FillFn, IdentityFn, Leaf, Property, WrittenSamples};
use glam::DMat4;
use meshreel_scene::layout::alembic::Pod;
use meshreel_scene::{Channel, Identity, Scene, TimeSampling};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Alembic's time per cycle of an acyclic sampling, whose times are all there are.
const ACYCLIC_PERIOD: f64 = f64::MAX / 32.0;
/// Times within this distance, in seconds, of evenly spaced ones are taken to be even.
const EVEN_TIMES_TOLERANCE: f64 = 1e-9;

pub(super) struct ArchivePlan<'a> {
    /// Objects, parents before children; the first is the root object.
    pub objects: Vec<Object>,
    pub leaves: Vec<Leaf<'a>>,
    pub samplings: Samplings,
    /// Metadata of the archive.
    pub meta: String,
    pub scene: &'a Scene,
}

#[derive(Default)]
pub(super) struct Object {
    pub name: String,
    pub parent: usize,
    pub meta: String,
    pub children: Vec<usize>,
    pub properties: Vec<Property>,
    pub names: HashSet<String>,
}

impl<'a> ArchivePlan<'a> {
    /// Adds a child of `parent`, under `name` or a free name like it.
    pub fn add_object(&mut self, parent: usize, name: &str, meta: &str) -> usize {
        let base = match name.replace('/', "_") {
            empty if empty.is_empty() => "unnamed".into(),
            base => base,
        };
        let mut name = base.clone();
        let mut number = 1;
        while !self.objects[parent].names.insert(name.clone()) {
            number += 1;
            name = format!("{base}_{number}");
        }
        let index = self.objects.len();
        self.objects.push(Object { name, parent, meta: meta.into(), ..Object::default() });
        self.objects[parent].children.push(index);
        index
    }

    /// Adds a transform with the properties of its schema.
    pub fn add_xform(&mut self, parent: usize, name: &str, properties: Vec<Property>) -> usize {
        let meta = "schema=AbcGeom_Xform_v3;schemaObjTitle=AbcGeom_Xform_v3:.xform";
        let object = self.add_object(parent, name, meta);
        self.objects[object].properties.push(Property {
            name: ".xform".into(),
            meta: "schema=AbcGeom_Xform_v3".into(),
            content: Content::Compound(properties),
        });
        object
    }

    /// Plans the properties for the matrices of `.xform`, from the index of their time sampling, the number
    /// of samples, a function that reads a matrix, and one that returns its identity.
    pub fn matrices(
        &mut self,
        (sampling, samples): (usize, usize),
        mut read: impl FnMut(usize) -> Result<DMat4, meshreel_scene::Error> + 'a,
        same: impl Fn(usize) -> Identity + 'a,
    ) -> Vec<Property> {
        let ops = self.constant(".ops", "", Pod::U8, 1, vec![0x30]);

        // The changing elements, one bit each, and whether any matrix is not the identity.
        let changing = Rc::new(Cell::new(0u16));
        let moved = changing.clone();
        let mut first = None;
        let leaf = Leaf {
            fill: Box::new(move |i, out| {
                let matrix = read(i)?.to_cols_array();
                let first = first.get_or_insert(matrix);
                for (bit, (a, b)) in matrix.iter().zip(first).enumerate() {
                    moved.set(moved.get() | u16::from(a.to_bits() != b.to_bits()) << bit);
                }
                out.extend(matrix.iter().flat_map(|v| v.to_le_bytes()));
                Ok(())
            }),
            identity: Box::new(move |i| Some(same(i))),
            ..empty_leaf(true, Pod::F64, 16, sampling, samples)
        };
        let vals = self.leaf(".vals", "", leaf);
        let flag = self.constant("isNotConstantIdentity", "", Pod::Bool, 1, vec![1]);
        let mut properties = vec![ops, vals, flag];
        if samples > 1 {
            let leaf = Leaf {
                fill: Box::new(move |_, out| {
                    let bits = changing.get();
                    let channels = (0..16u32).filter(|bit| bits >> bit & 1 != 0);
                    out.extend(channels.flat_map(|bit| bit.to_le_bytes()));
                    Ok(())
                }),
                written_last: true,
                ..empty_leaf(false, Pod::U32, 1, 0, 1)
            };
            properties.push(self.leaf(".animChans", "", leaf));
        }
        properties
    }

    /// Adds a scalar that never changes.
    pub fn constant(
        &mut self,
        name: &str,
        meta: &str,
        pod: Pod,
        extent: usize,
        payload: Vec<u8>,
    ) -> Property {
        let leaf = Leaf {
            fill: Box::new(move |_, out| {
                out.extend_from_slice(&payload);
                Ok(())
            }),
            ..empty_leaf(true, pod, extent, 0, 1)
        };
        self.leaf(name, meta, leaf)
    }

    /// Adds a property with a channel's samples, which `fill` turns into payloads.
    pub fn channel<T: Clone + Send + Sync + 'static>(
        &mut self,
        name: &str,
        meta: &str,
        channel: &'a Channel<T>,
        (scalar, pod, extent): (bool, Pod, usize),
        fill: impl FnMut(usize, &mut Vec<u8>) -> Result<(), meshreel_scene::Error> + 'a,
    ) -> Property {
        let sampling = self.samplings.index(channel.sampling(), channel.len());
        let leaf = Leaf {
            fill: Box::new(fill),
            identity: Box::new(|i| Some(channel.identity(i))),
            ..empty_leaf(scalar, pod, extent, sampling, channel.len())
        };
        self.leaf(name, meta, leaf)
    }

    pub fn leaf(&mut self, name: &str, meta: &str, leaf: Leaf<'a>) -> Property {
        self.leaves.push(leaf);
        Property { name: name.into(), meta: meta.into(), content: Content::Leaf(self.leaves.len() - 1) }
    }
}

/// Returns a leaf without content.
pub(super) fn empty_leaf<'a>(
    scalar: bool,
    pod: Pod,
    extent: usize,
    sampling: usize,
    samples: usize,
) -> Leaf<'a> {
    let (fill, same): (FillFn, IdentityFn) = (Box::new(|_, _| Ok(())), Box::new(|_| None));
    Leaf {
        scalar,
        pod,
        extent,
        sampling,
        samples,
        written_last: false,
        fill,
        identity: same,
        written: WrittenSamples::default(),
    }
}

/// The archive's time samplings; sampling 0 is one second per sample from 0.
pub(super) struct Samplings {
    list: Vec<TimeSampling>,
    numbers: HashMap<Vec<u64>, usize>,
}

impl Samplings {
    pub fn new() -> Samplings {
        let mut samplings = Samplings { list: Vec::new(), numbers: HashMap::new() };
        samplings.insert(TimeSampling::Uniform { start: 0.0, step: 1.0 });
        samplings
    }

    /// Returns the index of `sampling` for a property with this number of samples.
    pub fn index(&mut self, sampling: &TimeSampling, samples: usize) -> usize {
        let simple = match sampling {
            TimeSampling::Acyclic { times } if samples > times.len() => {
                // Alembic defines no time beyond the list.
                let last = times.last().copied().unwrap_or(0.0);
                let beyond = std::iter::repeat_n(last, samples - times.len());
                TimeSampling::Acyclic { times: times.iter().copied().chain(beyond).collect() }
            }
            TimeSampling::Acyclic { times } => match as_uniform(&times[..samples]) {
                Some(uniform) => uniform,
                None => sampling.clone(),
            },
            TimeSampling::Cyclic { times, period } if times.len() <= 1 => {
                TimeSampling::Uniform { start: times.first().copied().unwrap_or(0.0), step: *period }
            }
            _ => sampling.clone(),
        };
        self.insert(simple)
    }

    fn insert(&mut self, sampling: TimeSampling) -> usize {
        let (cycle, times) = period_and_times(&sampling);
        let key = std::iter::once(&cycle).chain(times.iter()).map(|t| t.to_bits()).collect();
        *self.numbers.entry(key).or_insert_with(|| {
            self.list.push(sampling);
            self.list.len() - 1
        })
    }

    /// Returns the table as bytes of the file: largest number of samples, time per cycle, times.
    pub fn bytes(&self, leaves: &[Leaf]) -> Vec<u8> {
        let mut most = vec![1; self.list.len()];
        for leaf in leaves {
            most[leaf.sampling] = most[leaf.sampling].max(leaf.samples as u32);
        }
        let mut out = Vec::new();
        for (sampling, most) in self.list.iter().zip(most) {
            let (cycle, times) = period_and_times(sampling);
            out.extend_from_slice(&most.to_le_bytes());
            out.extend_from_slice(&cycle.to_le_bytes());
            out.extend_from_slice(&(times.len() as u32).to_le_bytes());
            out.extend(times.iter().flat_map(|t| t.to_le_bytes()));
        }
        out
    }
}

/// Returns the time per cycle and the times of the cycle.
fn period_and_times(sampling: &TimeSampling) -> (f64, &[f64]) {
    match sampling {
        TimeSampling::Uniform { start, step } => (*step, std::slice::from_ref(start)),
        TimeSampling::Cyclic { times, period } => (*period, times),
        TimeSampling::Acyclic { times } => (ACYCLIC_PERIOD, times),
    }
}

/// Returns evenly spaced times as a uniform sampling.
fn as_uniform(times: &[f64]) -> Option<TimeSampling> {
    let (&start, &last) = (times.first()?, times.last()?);
    if times.len() == 1 {
        return Some(TimeSampling::Uniform { start, step: 1.0 });
    }
    let step = (last - start) / (times.len() - 1) as f64;
    let fits = |(i, t): (usize, &f64)| (start + i as f64 * step - t).abs() <= EVEN_TIMES_TOLERANCE;
    (step > 0.0 && step.is_finite() && times.iter().enumerate().all(fits))
        .then_some(TimeSampling::Uniform { start, step })
}
