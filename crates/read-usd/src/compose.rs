//! The composed scene: prims with their properties, as resolved from all opinions.

use super::attribute::{FoundAttribute, UsdAttribute};
use super::clip_sets::{ClipDictionary, ClipSets, SitedClipSet};
use super::schema;
use super::site::{ArcKind, LayerSpecs, Site, in_scene};
use super::specs::{PropertySpec, SpecId};
use super::spline_samples::{CodeRange, SplineSpan};
use super::stack::{Stack, Stacks, abbreviated, layer_field};
use super::text;
use super::value::{ListEdit, Retime, Value};
use meshreel_scene::model::BEFORE_STEP;
use meshreel_scene::{Error, Remark};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Upper limit for the properties of a prim.
const MAX_PROPERTIES: usize = 1 << 13;
/// Upper limit for the attributes of unknown types that remarks name.
const MAX_MISTYPED: usize = 1 << 12;
/// Upper limit for the samples of all splines.
const MAX_SPLINE_SAMPLES: usize = 1 << 23;
/// Memory limit for the composed scene: the amount in bytes allowed to any scene, or this many bytes per byte
/// of its layers if that is more.
const MIN_MEMORY_LIMIT_BYTES: usize = 256 << 20;
const MAX_MEMORY_PER_LAYER_BYTE: usize = 32;

/// The index of the parent's site, and the specs there.
type SiteSpecs = (usize, LayerSpecs);

/// A prim of the scene.
pub struct Prim {
    pub path: String,
    pub name: Arc<str>,
    /// Strongest first.
    sites: Vec<Site>,
    /// The memory counted for it, in bytes.
    bytes: usize,
}

/// The specifier of a prim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specifier {
    Def,
    Over,
    Class,
}

/// The composed scene.
pub struct Stage {
    pub(super) stacks: Stacks,
    /// The number of sites and references so far.
    pub(super) site_count: usize,
    /// The number of lookups of classes in stacks above.
    pub(super) lookups: usize,
    /// The memory counted so far, in bytes.
    bytes: usize,
    /// The times at which splines are sampled, and the number of samples made of them.
    span: SplineSpan,
    samples: AtomicUsize,
    /// The range in which everything that goes on beyond its samples is read.
    covered: Mutex<CodeRange>,
    /// Attributes that are of a type they cannot have: prim, name and type.
    mistyped: Mutex<BTreeSet<(String, String, Arc<str>)>>,
    clip_sets: ClipSets,
    /// Clip sets made so far, by everything that defines them.
    known_sets: HashMap<ClipKey, Vec<SitedClipSet>>,
    /// Whether a prim exists at each path that was asked for.
    known_prims: HashMap<Arc<str>, bool>,
    /// Prims, with those of their targets that do not exist.
    missing_targets: HashSet<(Arc<str>, Arc<str>)>,
}

/// Stack, layer and spec, and the bits of the retime; these determine the content.
pub type InstanceKey = Vec<([usize; 2], SpecId, [u64; 2])>;

/// The index of the site, stack, layer, and spec; and the bits of the retime.
type ClipKey = Vec<([usize; 3], SpecId, [u64; 2])>;

impl Stage {
    /// Opens a stage. What goes on beyond its samples is read for the range that the stage states to show,
    /// and for `range`.
    pub fn open(path: &Path, range: Option<CodeRange>) -> Result<Stage, Error> {
        let (clip_sets, known_sets, known_prims, lost) = Default::default();
        let stacks = Stacks::open(path)?;
        let root = &stacks.stacks[0];
        let code = |name: &str| -> Result<Option<f64>, Error> {
            Ok(layer_field(root.root_layer(), name)?
                .and_then(|value| value.number())
                .filter(|code| code.is_finite()))
        };
        let shown = code("startTimeCode")?.zip(code("endTimeCode")?).filter(|(from, to)| from <= to);
        let shown = shown.map(|(first, last)| CodeRange { first, last });
        let range = shown.into_iter().chain(range).reduce(CodeRange::union);
        let span = SplineSpan { retime: Retime::IDENTITY, step: BEFORE_STEP * root.rate()?, range };
        let (samples, covered) = (AtomicUsize::new(0), Mutex::new(CodeRange::ALL));
        let (places, lookups, bytes, odd) = Default::default();
        Ok(Stage {
            stacks,
            site_count: places,
            lookups,
            bytes,
            span,
            samples,
            covered,
            mistyped: odd,
            clip_sets,
            known_sets,
            known_prims,
            missing_targets: lost,
        })
    }

    pub fn root_stack(&self) -> &Stack {
        &self.stacks.stacks[0]
    }

    /// Returns the range in which what goes on beyond its samples is read, if it is known.
    pub fn range(&self) -> Option<CodeRange> {
        self.span.range
    }

    /// Notes that something that goes on beyond its samples is read in a range alone.
    pub fn limit_covered(&self, range: CodeRange) {
        let mut covered = self.covered.lock().unwrap_or_else(PoisonError::into_inner);
        *covered = covered.intersection(range);
    }

    /// `true` if everything that goes on beyond its samples is read for all of a range, up to the step before
    /// a jump at its ends.
    pub fn covers(&self, range: CodeRange) -> bool {
        let covered = *self.covered.lock().unwrap_or_else(PoisonError::into_inner);
        let step = 2.0 * self.span.step;
        covered.first <= range.first + step && range.last <= covered.last + step
    }

    /// Returns all remarks so far, and the files that were opened.
    pub fn finish(mut self) -> (Vec<Remark>, Vec<std::path::PathBuf>) {
        let clips = &self.clip_sets.open_clips.remarks;
        let clips = std::mem::take(&mut *clips.lock().unwrap_or_else(PoisonError::into_inner));
        clips.into_iter().for_each(|Remark { node, what }| self.stacks.remark(&node, what));
        let odd = self.mistyped.lock().map(|mut odd| std::mem::take(&mut *odd)).unwrap_or_default();
        for (node, name, own) in odd {
            let (name, own) = (abbreviated(&name), abbreviated(&own));
            let what =
                format!("its attribute '{name}' is of the type '{own}', which it cannot have; left out");
            self.stacks.remark(&node, what);
        }
        (self.stacks.remarks(), self.stacks.assets.files)
    }

    /// Counts bytes of memory for the scene, and fails above the limit: a few references can define a tree
    /// that exceeds any memory.
    pub fn charge_memory(&mut self, bytes: usize) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(bytes);
        let allowed = MIN_MEMORY_LIMIT_BYTES
            .max(self.stacks.assets.layer_bytes.saturating_mul(MAX_MEMORY_PER_LAYER_BYTE));
        if self.bytes <= allowed {
            return Ok(());
        }
        let (asked, allowed) = (self.bytes as u64, allowed as u64);
        let what =
            "bytes of memory for what its references, inherits and instances make of it; export it in parts";
        Err(Error::limit(&self.root_stack().root_layer().name, what, asked, allowed))
    }

    /// Subtracts the memory counted for a prim that is dropped.
    pub fn release_memory(&mut self, prim: &Prim) {
        self.bytes = self.bytes.saturating_sub(prim.bytes);
    }

    pub fn remark(&mut self, node: &str, what: impl Into<String>) {
        self.stacks.remark(node, what);
    }

    /// Returns the pseudo-root, the parent of all root prims.
    pub fn pseudo_root(&self) -> Prim {
        let specs = (0..self.root_stack().layers.len()).map(|layer| (layer, 0)).collect();
        let clips = Arc::default();
        let site = Site { stack: 0, specs, path: "".into(), retime: Retime::IDENTITY, arc: None, clips };
        Prim { path: String::new(), name: "".into(), sites: vec![site], bytes: 0 }
    }

    /// Returns the children of a prim, composed.
    pub fn children(&mut self, prim: &Prim) -> Result<Vec<Prim>, Error> {
        self.children_of(prim, None)
    }

    /// Returns the children of a prim, or only the one named `only`.
    fn children_of(&mut self, prim: &Prim, only: Option<&str>) -> Result<Vec<Prim>, Error> {
        let mut names: Vec<Arc<str>> = Vec::new();
        let mut found: HashMap<Arc<str>, Vec<SiteSpecs>> = HashMap::new();
        // Weaker layers define the order, to which stronger ones add.
        for site in prim.sites.iter().rev() {
            for (layer, spec) in site.specs.iter().rev() {
                let specs = &self.stacks.stacks[site.stack].layers[*layer].layer.specs;
                for child in specs.children(*spec, only).iter() {
                    let name = &specs.prim(*child).name;
                    if !found.contains_key(name) {
                        names.push(name.clone());
                        found.insert(name.clone(), Vec::new());
                    }
                }
            }
        }
        for (number, site) in prim.sites.iter().enumerate() {
            for (layer, spec) in &site.specs {
                let specs = &self.stacks.stacks[site.stack].layers[*layer].layer.specs;
                for child in specs.children(*spec, only).iter() {
                    let Some(list) = found.get_mut(&specs.prim(*child).name) else {
                        continue;
                    };
                    match list.last_mut() {
                        Some((last, own)) if *last == number => own.push((*layer, *child)),
                        _ => list.push((number, vec![(*layer, *child)])),
                    }
                }
            }
        }
        // Clips also provide values where their own layers have no opinion.
        let with_clips = (0..).zip(&prim.sites).filter(|(_, site)| !site.clips.is_empty());
        let with_clips: Vec<usize> = with_clips.map(|(number, _)| number).collect();
        let mut out = Vec::with_capacity(names.len());
        for name in names {
            let path = [&*prim.path, &*name].join("/");
            let mut sites = Vec::new();
            let before = self.bytes;
            let mut list = found.remove(&name).unwrap_or_default();
            for number in &with_clips {
                if let Err(at) = list.binary_search_by_key(number, |(place, _)| *place) {
                    list.insert(at, (*number, Vec::new()));
                }
            }
            for (above, specs) in list {
                let above = &prim.sites[above];
                let own = format!("{}/{name}", above.path).into();
                let (stack, retime, arc) = (above.stack, above.retime, above.arc.clone());
                let clips = above.clips.clone();
                self.expand(Site { stack, specs, path: own, retime, arc, clips }, &path, &mut sites)?;
            }
            // Specialized opinions are weaker than all others.
            sites.sort_by_key(|site: &Site| site.comes_by(ArcKind::Specialize, &path));
            self.add_clips(&path, &mut sites)?;
            self.charge_memory(size_of::<Prim>() + path.len())?;
            out.push(Prim { path, name, sites, bytes: self.bytes - before });
        }
        Ok(out)
    }

    /// Adds the value clips that the prim itself defines to its sites.
    fn add_clips(&mut self, at: &str, sites: &mut [Site]) -> Result<(), Error> {
        let (mut sources, mut key) = (Vec::new(), ClipKey::new());
        for (number, site) in sites.iter().enumerate() {
            for (layer, spec) in &site.specs {
                let own = &self.stacks.stacks[site.stack].layers[*layer];
                let fields = own.layer.specs.prim(*spec).fields;
                let value = |name: &str| own.layer.specs.field(fields, name);
                let (clips, order) = (value("clips"), value("clipSets"));
                if clips.is_none() && order.is_none() {
                    continue;
                }
                let read = |value: Option<_>| value.map(|value| own.layer.small_value(value)).transpose();
                let retime = site.retime.after(own.retime);
                key.push(([number, site.stack, *layer], *spec, retime.bits()));
                let (clips, order, layer_of) = (read(clips)?, read(order)?, own.layer.clone());
                let (place, number) = (number, *layer);
                sources.push(ClipDictionary {
                    site: place,
                    layer_index: number,
                    layer: layer_of,
                    retime,
                    clips,
                    order,
                });
            }
        }
        if sources.is_empty() {
            return Ok(());
        }
        if !self.known_sets.contains_key(&key) {
            let paths: Vec<_> = sites.iter().map(|site| (site.stack, site.path.clone())).collect();
            let made = self.clip_sets.compose(&mut self.stacks, at, &sources, &paths, self.span.step)?;
            self.known_sets.insert(key.clone(), made);
        }
        for (number, site) in sites.iter_mut().enumerate() {
            let made = self.known_sets[&key].iter().filter(|(own, _)| *own == number);
            let mut own: Vec<_> = made.map(|(_, set)| set.clone()).collect();
            if !own.is_empty() {
                own.extend_from_slice(&site.clips);
                site.clips = own.into();
            }
        }
        Ok(())
    }

    /// Returns the prim at a path of the scene.
    pub fn prim_at(&mut self, path: &str) -> Result<Option<Prim>, Error> {
        let mut prim = self.pseudo_root();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            match self.children_of(&prim, Some(name))?.pop() {
                Some(child) => {
                    self.release_memory(&prim);
                    prim = child;
                }
                None => return Ok(None),
            }
        }
        Ok(Some(prim))
    }

    /// Returns the values of a field in all specs of a site, strongest first, with the indices of their
    /// layers.
    pub(super) fn values(&self, site: &Site, field: &str) -> Result<Vec<(usize, Value)>, Error> {
        let mut out = Vec::new();
        for (number, spec) in &site.specs {
            let layer = &self.stacks.stacks[site.stack].layers[*number].layer;
            if let Some(value) = layer.specs.field(layer.specs.prim(*spec).fields, field) {
                out.push((*number, layer.small_value(value)?));
            }
        }
        Ok(out)
    }

    /// Returns the strongest value of a prim's field.
    pub fn field(&self, prim: &Prim, name: &str) -> Result<Option<Value>, Error> {
        for site in &prim.sites {
            if let Some((_, value)) = self.values(site, name)?.into_iter().next() {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// Returns the strongest text of a prim's field that is not empty.
    pub fn text(&self, prim: &Prim, name: &str) -> Result<Option<Arc<str>>, Error> {
        for site in &prim.sites {
            let values = self.values(site, name)?;
            let text = values.iter().filter_map(|(_, value)| value.text()).find(|text| !text.is_empty());
            if let Some(text) = text {
                return Ok(Some(text.clone()));
            }
        }
        Ok(None)
    }

    pub fn flag(&self, prim: &Prim, name: &str) -> Result<Option<bool>, Error> {
        Ok(self.field(prim, name)?.and_then(|value| value.number()).map(|number| number != 0.0))
    }

    /// Returns a prim's list of integers that all opinions edit.
    pub fn integers(&self, prim: &Prim, name: &str) -> Result<Vec<i64>, Error> {
        let mut list = Vec::new();
        for site in prim.sites.iter().rev() {
            for (_, value) in self.values(site, name)?.into_iter().rev() {
                if let Value::Integers(edit) = value {
                    edit.apply(&mut list);
                }
            }
        }
        Ok(list)
    }

    /// Returns whether a prim is defined, only overrides one that is not, or is a class. Inheriting from a
    /// class does not make it one.
    pub fn specifier(&self, prim: &Prim) -> Result<Specifier, Error> {
        let mut found = Specifier::Over;
        for site in &prim.sites {
            for (_, value) in self.values(site, "specifier")? {
                match value.number() {
                    Some(0.0) => return Ok(Specifier::Def),
                    Some(2.0) if site.comes_by(ArcKind::Inherit, &prim.path) => found = Specifier::Class,
                    Some(2.0) => return Ok(Specifier::Class),
                    _ => {}
                }
            }
        }
        Ok(found)
    }

    /// Returns the names of all properties with opinions, each once.
    pub fn property_names(&self, prim: &Prim) -> Result<Vec<Arc<str>>, Error> {
        let mut seen = std::collections::HashSet::new();
        let mut out = Vec::new();
        for site in &prim.sites {
            for (number, spec) in &site.specs {
                let specs = &self.stacks.stacks[site.stack].layers[*number].layer.specs;
                for property in &specs.prim(*spec).properties {
                    let name = &specs.properties[*property as usize].name;
                    if seen.insert(name.clone()) {
                        out.push(name.clone());
                    }
                    if out.len() > MAX_PROPERTIES {
                        let (asked, allowed) = (specs.properties.len() as u64, MAX_PROPERTIES as u64);
                        return Err(Error::limit(
                            Path::new(&prim.path),
                            "properties of a prim; export it without those that nobody needs",
                            asked,
                            allowed,
                        ));
                    }
                }
            }
        }
        Ok(out)
    }

    /// Returns the opinions on a property, strongest first: the site, the layer's index, and the spec.
    fn opinions<'s>(&'s self, prim: &'s Prim, name: &str) -> Vec<(&'s Site, usize, &'s PropertySpec)> {
        let mut out = Vec::new();
        for site in &prim.sites {
            for (number, spec) in &site.specs {
                let layer = &self.stacks.stacks[site.stack].layers[*number].layer;
                if let Some(property) = layer.specs.property(*spec, name) {
                    out.push((site, *number, property));
                }
            }
        }
        out
    }

    /// Returns an attribute, if it has a value.
    pub fn attribute(&self, prim: &Prim, name: &str) -> Result<Option<UsdAttribute>, Error> {
        let mut found = FoundAttribute::new();
        for site in &prim.sites {
            let stack = &self.stacks.stacks[site.stack];
            // Clips are weaker than the layer that defines them.
            let mut clips = site.clips.iter().peekable();
            for (number, spec) in &site.specs {
                found.add_clips(&mut clips, *number, &site.path, name)?;
                let own = &stack.layers[*number];
                if let Some(property) = own.layer.specs.property(*spec, name) {
                    let retime = site.retime.after(own.retime);
                    found.add_opinion(&own.layer, property, SplineSpan { retime, ..self.span })?;
                }
            }
            found.add_clips(&mut clips, usize::MAX, &site.path, name)?;
        }
        let FoundAttribute { type_name, interpolation, weight, samples, range, value } = found;
        self.limit_covered(range);
        let all = self.samples.fetch_add(samples, Ordering::Relaxed) + samples;
        if all > MAX_SPLINE_SAMPLES {
            let (what, name) = ("time codes of all splines; bake them", &self.root_stack().root_layer().name);
            return Err(Error::limit(name, what, all as u64, MAX_SPLINE_SAMPLES as u64));
        }
        let type_name = type_name.unwrap_or_default();
        let value = value.flatten();
        let is_unknown = value.as_ref().is_some_and(|(_, (_, values))| values.is_text())
            && text::kind_of_type(&type_name).is_none();
        if is_unknown || value.is_some() && !schema::allows(name, &type_name) {
            if let Ok(mut odd) = self.mistyped.lock()
                && odd.len() < MAX_MISTYPED
            {
                odd.insert((prim.path.clone(), name.into(), type_name));
            }
            return Ok(None);
        }
        let path = prim.path.as_str().into();
        Ok(value.map(|(retime, (times, values))| UsdAttribute {
            path,
            name: name.into(),
            type_name,
            interpolation,
            weight,
            retime,
            times,
            values,
        }))
    }

    /// Returns the text of an attribute: its default, or the first sample.
    pub fn attribute_text(&self, prim: &Prim, name: &str) -> Result<Option<Arc<str>>, Error> {
        let Some(attribute) = self.attribute(prim, name)? else {
            return Ok(None);
        };
        Ok(attribute.first_small()?.and_then(|value| value.text().cloned()))
    }

    /// Returns the targets of a relationship, as paths of the scene. A target that does not exist is
    /// included, with a remark.
    pub fn targets(&mut self, prim: &Prim, name: &str) -> Result<Vec<Arc<str>>, Error> {
        let list = self.target_paths(prim, name)?;
        for path in &list {
            if !self.is_prim(path)? && self.missing_targets.insert((prim.path.as_str().into(), path.clone()))
            {
                let what =
                    format!("its relationship '{name}' leads to '{}', which is not there", abbreviated(path));
                self.remark(&prim.path, what);
            }
        }
        Ok(list)
    }

    /// `true` if a prim, or the prim of a property, exists at a path of the scene.
    fn is_prim(&mut self, path: &Arc<str>) -> Result<bool, Error> {
        if let Some(known) = self.known_prims.get(path) {
            return Ok(*known);
        }
        let prim = path.split('.').next().unwrap_or_default();
        let found = if prim.starts_with('/') { self.prim_at(prim)? } else { None };
        found.iter().for_each(|prim| self.release_memory(prim));
        let is = found.is_some();
        self.known_prims.insert(path.clone(), is);
        Ok(is)
    }

    fn target_paths(&self, prim: &Prim, name: &str) -> Result<Vec<Arc<str>>, Error> {
        let mut list = Vec::new();
        for (place, number, property) in self.opinions(prim, name).into_iter().rev() {
            let layer = &self.stacks.stacks[place.stack].layers[number].layer;
            let Some(value) = layer.specs.field(property.fields, "targetPaths") else {
                continue;
            };
            if let Value::List(edit) = layer.value(value)? {
                let there = |list: Vec<Arc<str>>| list.iter().map(|path| in_scene(place, path)).collect();
                let edit = ListEdit {
                    explicit: edit.explicit.map(there),
                    added: there(edit.added),
                    prepended: there(edit.prepended),
                    appended: there(edit.appended),
                    deleted: there(edit.deleted),
                };
                edit.apply(&mut list);
            }
        }
        Ok(list)
    }

    /// Returns the key of an instance that all instances with the same references and times share: their
    /// specs. `None` if it has none.
    pub fn shared_key(&self, prim: &Prim) -> Option<InstanceKey> {
        let arcs = prim.sites.iter().filter(|site| site.arc.is_some());
        let own = arcs.flat_map(|site| {
            let bits = site.retime.bits();
            site.specs.iter().map(move |(layer, spec)| ([site.stack, *layer], *spec, bits))
        });
        let mut own: Vec<_> = own.collect();
        if own.is_empty() {
            return None;
        }
        let clips = prim.sites.iter().flat_map(|site| &*site.clips);
        own.extend(clips.map(|set| ([usize::MAX, set.id], 0, Retime::IDENTITY.bits())));
        Some(own)
    }
}
