//! A layer while it is written: prims with attributes and relationships, whose samples are read when they are
//! written.

use super::value::{Element, Value};
use meshreel_scene::{Channel, Error, Identity, Scene};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Frames per second of a file without a rate of its own.
const USUAL_FPS: f64 = 24.0;
/// Time codes this close to a whole number are that number.
const WHOLE_CODE_TOLERANCE: f64 = 1e-6;

/// Called with the number of samples written and the number in all.
pub type Progress<'a> = dyn FnMut(usize, usize) + 'a;

/// Index into [`Layer::prims`].
pub(super) type PrimId = usize;

pub(super) struct Layer<'a> {
    /// Prims, parents before children.
    pub prims: Vec<Prim<'a>>,
    /// Prims without a parent.
    pub roots: Vec<PrimId>,
    /// Metadata of the layer.
    pub fields: Vec<(&'static str, Value)>,
    /// Time codes per second.
    pub fps: f64,
    names: HashMap<Option<PrimId>, UniqueNames>,
    /// Names of the primvars of each prim.
    pub primvar_names: HashMap<PrimId, UniqueNames>,
}

pub(super) struct Prim<'a> {
    pub name: String,
    pub parent: Option<PrimId>,
    /// Empty for a prim that has the type of the one it refers to.
    pub type_name: &'static str,
    pub fields: Vec<(&'static str, Value)>,
    pub schemas: Vec<&'static str>,
    /// The prim whose opinions this one has as well.
    pub reference: Option<PrimId>,
    pub attributes: Vec<Attribute<'a>>,
    pub relationships: Vec<(&'static str, PrimId)>,
    pub children: Vec<PrimId>,
}

pub(super) struct Attribute<'a> {
    pub name: String,
    /// The type with its role, such as `point3f[]`.
    pub type_name: &'static str,
    /// The value is the same at all times by definition.
    pub uniform: bool,
    pub fields: Vec<(&'static str, Value)>,
    pub samples: Samples<'a>,
}

/// Reads sample `i`.
type ReadSample<'a> = Box<dyn FnMut(usize) -> Result<Value, Error> + 'a>;

/// The values of an attribute.
pub(super) struct Samples<'a> {
    /// Time codes, ascending; none for a value that does not change.
    pub codes: Rc<[f64]>,
    pub read: ReadSample<'a>,
    /// Equal for equal samples.
    pub identity: Box<dyn Fn(usize) -> Identity + 'a>,
}

impl Samples<'_> {
    /// Returns the number of samples.
    pub fn count(&self) -> usize {
        self.codes.len().max(1)
    }
}

impl<'a> Layer<'a> {
    /// Returns a layer without prims. `times`: seconds of the frames.
    pub fn new(scene: &Scene, times: &[f64]) -> Layer<'a> {
        let step = times.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
        let usable = |fps: &f64| fps.is_finite() && *fps > 0.0;
        let clips = scene.clips.first().map(|clip| clip.fps);
        let fps = scene.fps.or(clips).filter(usable).or(Some(1.0 / step).filter(usable)).unwrap_or(USUAL_FPS);
        let ends = scene.clips.iter().flat_map(|clip| [clip.start, clip.start + clip.duration()]);
        let ends = ends.chain(times.first().copied()).chain(times.last().copied());
        let (first, last) =
            ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), time| (a.min(time), b.max(time)));
        let mut fields = vec![
            ("metersPerUnit", Value::f64(scene.unit.map_or(1.0, |unit| unit.metres()))),
            ("upAxis", Value::token("Y")),
            ("timeCodesPerSecond", Value::f64(fps)),
            ("framesPerSecond", Value::f64(fps)),
        ];
        if first <= last {
            fields.push(("startTimeCode", Value::f64(code(first, fps))));
            fields.push(("endTimeCode", Value::f64(code(last, fps))));
        }
        Layer {
            prims: Vec::new(),
            roots: Vec::new(),
            fields,
            fps,
            names: HashMap::new(),
            primvar_names: HashMap::new(),
        }
    }

    /// Adds a prim below `parent`, named like `name` as far as a layer's names and its siblings allow.
    pub fn prim(&mut self, parent: Option<PrimId>, name: &str, type_name: &'static str) -> PrimId {
        let free = self.names.entry(parent).or_default().insert(name);
        let fields = match free == name {
            true => Vec::new(),
            false => vec![("displayName", Value::String(name.into()))],
        };
        let id = self.prims.len();
        self.prims.push(Prim {
            name: free,
            parent,
            type_name,
            fields,
            schemas: Vec::new(),
            reference: None,
            attributes: Vec::new(),
            relationships: Vec::new(),
            children: Vec::new(),
        });
        match parent {
            Some(parent) => self.prims[parent].children.push(id),
            None => self.roots.push(id),
        }
        id
    }

    /// Returns the path of a prim.
    pub fn path(&self, prim: PrimId) -> String {
        let above = std::iter::successors(Some(prim), |&prim| self.prims[prim].parent);
        let mut names: Vec<&str> = above.map(|prim| &*self.prims[prim].name).collect();
        names.reverse();
        format!("/{}", names.join("/"))
    }

    /// Returns the time codes of seconds, as far as they ascend: samples beyond a list of times have none.
    pub fn codes(&self, times: impl Iterator<Item = f64>) -> Rc<[f64]> {
        let mut last = f64::NEG_INFINITY;
        let codes = times.map(|time| code(time, self.fps));
        codes.take_while(|code| std::mem::replace(&mut last, *code) < *code).collect()
    }

    /// Adds an attribute with the samples of a channel; nothing for a channel without samples.
    pub fn channel<T: Clone + Send + Sync + 'static>(
        &mut self,
        prim: PrimId,
        (name, type_name): (&str, &'static str),
        channel: &'a Channel<T>,
        mut value: impl FnMut(&[T]) -> Value + 'a,
    ) -> Option<&mut Attribute<'a>> {
        if channel.is_empty() {
            return None;
        }
        let codes = match channel.is_constant() {
            true => Rc::default(),
            false => self.codes((0..channel.len()).map(|i| channel.time(i))),
        };
        let mut values = Vec::new();
        let samples = Samples {
            codes,
            read: Box::new(move |i| {
                channel.read(i, &mut values)?;
                Ok(value(&values))
            }),
            identity: Box::new(|i| channel.identity(i)),
        };
        Some(self.attribute(prim, name, type_name, samples))
    }

    /// Adds an attribute with one value for all times.
    pub fn constant(
        &mut self,
        prim: PrimId,
        name: &str,
        type_name: &'static str,
        value: Value,
    ) -> &mut Attribute<'a> {
        let samples = Samples {
            codes: Rc::default(),
            read: Box::new(move |_| Ok(value.clone())),
            identity: Box::new(|_| 0),
        };
        self.attribute(prim, name, type_name, samples)
    }

    /// Adds an attribute that has one value by definition.
    pub fn uniform(&mut self, prim: PrimId, name: &str, type_name: &'static str, value: Value) {
        self.constant(prim, name, type_name, value).uniform = true;
    }

    pub fn attribute(
        &mut self,
        prim: PrimId,
        name: &str,
        type_name: &'static str,
        samples: Samples<'a>,
    ) -> &mut Attribute<'a> {
        let own = &mut self.prims[prim].attributes;
        own.push(Attribute { name: name.into(), type_name, uniform: false, fields: Vec::new(), samples });
        let last = own.len() - 1;
        &mut own[last]
    }
}

/// Returns the time code of a time in seconds.
fn code(time: f64, fps: f64) -> f64 {
    let code = time * fps;
    if (code - code.round()).abs() <= WHOLE_CODE_TOLERANCE { code.round() } else { code }
}

/// Returns a name that a layer allows: letters, digits and underscores of ASCII, no digit first. All programs
/// read these; letters beyond ASCII only newer ones.
fn identifier(name: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut out: String = name.chars().map(allowed).collect();
    if out.starts_with(|c: char| c.is_ascii_digit()) || out.is_empty() {
        out.insert(0, '_');
    }
    out
}

/// Names of siblings.
#[derive(Default)]
pub(super) struct UniqueNames(HashSet<String>);

impl UniqueNames {
    /// Returns a name like `name` that a layer allows and that no sibling has.
    pub fn insert(&mut self, name: &str) -> String {
        let base = identifier(name);
        let mut free = base.clone();
        let mut number = 1;
        while !self.0.insert(free.clone()) {
            number += 1;
            free = format!("{base}_{number}");
        }
        free
    }
}

/// Returns an array of the first `components` numbers of vectors.
pub(super) fn vectors<const N: usize>(components: usize, values: &[[f32; N]]) -> Value {
    let numbers = values.iter().flat_map(|v| v.iter().take(components)).map(|v| v.to_le_bytes());
    Value::array(Element::floats(components), numbers)
}
