//! Composition: collects the opinions of several layers on one prim, strongest first. Local opinions come
//! first, then inherits, variants, references, payloads and specializes, each with everything it refers to.
//!
//! A class that a layer inherits is also inherited from the class of the same path in a stack above, which
//! refers to that layer: the opinions there are stronger than all of the layer referred to. Specialized
//! opinions are weaker than all others.

use super::assets::Assets;
use super::compose::Stage;
use super::layer::Layer;
use super::place::{ArcKind, ArcStep, Place, is_within};
use super::specs::SpecId;
use super::stack::{Stack, layer_field, shown};
use super::value::{ListEdit, Reference, Retime, Value};
use crate::Error;
use std::sync::Arc;

/// Upper limit for the chain of arcs (references and the like) that lead to one opinion.
const MAX_ARCS: usize = 64;
/// Upper limit for the variant sets of a prim.
const MAX_SETS: usize = 256;
/// Upper limit for the places with opinions of all prims together.
const MAX_PLACES: usize = 1 << 21;
/// Upper limits for the classes of a place that are looked up in stacks above, and for these lookups by all
/// prims together.
const MAX_CLASSES: usize = 64;
const MAX_LOOKUPS: usize = 1 << 24;

impl Stage {
    /// Adds a place and everything its arcs lead to.
    pub(super) fn expand(&mut self, place: Place, at: &str, out: &mut Vec<Place>) -> Result<(), Error> {
        self.places += 1;
        if self.places > MAX_PLACES {
            let (asked, allowed) = (self.places as u64, MAX_PLACES as u64);
            let name = &self.root().root().name;
            return Err(Error::limit(
                name,
                "places with opinions on prims; flatten it with `usdcat --flatten`, or export it in parts",
                asked,
                allowed,
            ));
        }
        let arc = place.arc.as_ref().map_or(0, |_| size_of::<ArcStep>() + at.len());
        let own = size_of::<Place>() + place.specs.len() * size_of::<(usize, SpecId)>() + place.path.len();
        self.spend(own + arc)?;
        let implied = self.follow_implied(&place, ArcKind::Inherit, at, out)?;
        out.push(place.clone());
        for path in self.paths(&place, "inheritPaths")? {
            if !implied.contains(&path) || self.has(&place, &path) {
                self.follow_path(&place, (ArcKind::Inherit, &path), at, out)?;
            }
        }
        self.follow_variants(&place, at, out)?;
        for field in ["references", "payload"] {
            for (from, reference) in self.references(&place, field, at)? {
                self.follow_reference(&place, &from, reference, at, out)?;
            }
        }
        let implied = self.follow_implied(&place, ArcKind::Specialize, at, out)?;
        for path in self.paths(&place, "specializes")? {
            if !implied.contains(&path) || self.has(&place, &path) {
                self.follow_path(&place, (ArcKind::Specialize, &path), at, out)?;
            }
        }
        Ok(())
    }

    fn paths(&self, place: &Place, field: &str) -> Result<Vec<Arc<str>>, Error> {
        let mut list = Vec::new();
        for (_, value) in self.values(place, field)?.into_iter().rev() {
            if let Value::List(edit) = value {
                edit.apply(&mut list);
            }
        }
        Ok(list)
    }

    /// Returns the references or payloads of a place with their files resolved, and the layer each comes
    /// from.
    fn references(
        &mut self,
        place: &Place,
        field: &str,
        at: &str,
    ) -> Result<Vec<(Arc<str>, Reference)>, Error> {
        let mut list: Vec<(Arc<str>, Reference)> = Vec::new();
        let values = self.values(place, field)?;
        for (number, value) in values.into_iter().rev() {
            let Value::References(edit) = value else {
                continue;
            };
            let own = self.stacks.stacks[place.stack].layers[number].clone();
            let mut found = |references: Vec<Reference>| -> Vec<(Arc<str>, Reference)> {
                let mut out = Vec::new();
                self.places += references.len();
                for mut reference in references {
                    if !reference.asset.is_empty() {
                        match Assets::find(&own.name, &reference.asset) {
                            Ok(name) => reference.asset = name.into(),
                            Err(what) => {
                                let what = format!("'{}' {what}; left out", shown(&reference.asset));
                                self.remark(at, what);
                                continue;
                            }
                        }
                    }
                    let named = if reference.asset.is_empty() { &reference.prim } else { &reference.asset };
                    let retime = self.stacks.usable(reference.retime, at, named);
                    reference.retime = own.retime.after(retime);
                    // A reference without a file refers to its own stack.
                    out.push((own.name.clone(), reference));
                }
                out
            };
            let edit = ListEdit {
                explicit: edit.explicit.map(&mut found),
                added: found(edit.added),
                prepended: found(edit.prepended),
                appended: found(edit.appended),
                deleted: found(edit.deleted),
            };
            edit.apply(&mut list);
        }
        Ok(list)
    }

    /// `true` if the stack of a place has a spec at a path.
    fn has(&self, place: &Place, path: &str) -> bool {
        self.stacks.stacks[place.stack].layers.iter().any(|own| own.layer.specs.at(path).is_some())
    }

    /// Returns the classes that a place inherits or specializes (`field`), and the classes of these in turn,
    /// in its own stack.
    fn classes(&self, place: &Place, field: &str) -> Result<Vec<Arc<str>>, Error> {
        let mut out = self.paths(place, field)?;
        let mut next = 0;
        while next < out.len().min(MAX_CLASSES) {
            let path = out[next].clone();
            let specs = specs_at(&self.stacks.stacks[place.stack], &path);
            if !specs.is_empty() {
                let more = self.paths(&Place { specs, path, ..place.clone() }, field)?;
                more.into_iter().for_each(|path| {
                    if !out.contains(&path) {
                        out.push(path)
                    }
                });
            }
            next += 1;
        }
        out.truncate(MAX_CLASSES);
        Ok(out)
    }

    /// Adds the opinions of stacks above on the classes that a place inherits or specializes, outermost
    /// first. Returns the classes, by their paths in the place's stack, for which opinions exist.
    fn follow_implied(
        &mut self,
        place: &Place,
        kind: ArcKind,
        at: &str,
        out: &mut Vec<Place>,
    ) -> Result<Vec<Arc<str>>, Error> {
        let (mut found, mut implied) = (Vec::new(), Vec::new());
        if place.arc.is_none() {
            return Ok(found);
        }
        let field = if kind == ArcKind::Inherit { "inheritPaths" } else { "specializes" };
        for class in self.classes(place, field)? {
            let (mut stack, mut path) = (place.stack, class.clone());
            let mut next = place.arc.as_ref();
            while let Some(arc) = next {
                next = arc.above.as_ref();
                if arc.kind == ArcKind::Variant {
                    continue;
                }
                // A class outside the prim referred to has the same path in all stacks.
                let upper = match path.strip_prefix(&*arc.from).filter(|_| is_within(&path, &arc.from)) {
                    Some(rest) => format!("{}{rest}", arc.site).into(),
                    None => path.clone(),
                };
                let above = next.map_or(0, |arc| arc.stack);
                if (above, &upper) == (stack, &path) {
                    continue;
                }
                (stack, path) = (above, upper);
                self.lookups += 1;
                let specs = specs_at(&self.stacks.stacks[stack], &path);
                if specs.is_empty() {
                    continue;
                }
                if !found.contains(&class) {
                    found.push(class.clone());
                }
                let (site, retime, clips) = (arc.site.clone(), arc.retime, Arc::default());
                let upper = Place { stack, specs, path: site, retime, arc: next.cloned(), clips };
                implied.push((next.map_or(0, |arc| arc.depth), path.clone(), upper));
            }
        }
        if self.lookups > MAX_LOOKUPS {
            let (asked, allowed) = (self.lookups as u64, MAX_LOOKUPS as u64);
            let what = "classes that prims inherit through references; flatten it with `usdcat --flatten`";
            return Err(Error::limit(&self.root().root().name, what, asked, allowed));
        }
        implied.sort_by_key(|(depth, ..)| *depth);
        for (_, path, above) in implied {
            if out.iter().any(|known| known.stack == above.stack && known.path == path) {
                continue;
            }
            let Ok(mut arc) = arc_to(&above, (kind, above.stack), &path, at) else {
                continue;
            };
            // Stops chains of implied classes that are too long, wherever they begin.
            arc.depth = place.arc.as_ref().map_or(0, |own| own.depth).max(arc.depth) + 1;
            if arc.depth <= MAX_ARCS {
                let Place { stack, specs, retime, clips, .. } = above;
                self.expand(Place { stack, specs, path, retime, arc: Some(Arc::new(arc)), clips }, at, out)?;
            }
        }
        Ok(found)
    }

    /// Makes an arc from a place; returns `None`, with a remark, if it leads in a circle or the chain is too
    /// long.
    fn step(
        &mut self,
        place: &Place,
        to: (ArcKind, usize),
        path: &Arc<str>,
        at: &str,
    ) -> Option<Arc<ArcStep>> {
        match arc_to(place, to, path, at) {
            Ok(arc) => Some(Arc::new(arc)),
            Err(why) => {
                self.remark(at, format!("refers to '{}' {why}; left out", shown(path)));
                None
            }
        }
    }

    /// Follows an arc to a prim of the same stack that is inherited or specialized.
    fn follow_path(
        &mut self,
        place: &Place,
        (kind, path): (ArcKind, &Arc<str>),
        at: &str,
        out: &mut Vec<Place>,
    ) -> Result<(), Error> {
        let specs = specs_at(&self.stacks.stacks[place.stack], path);
        if specs.is_empty() {
            let verb = if kind == ArcKind::Inherit { "inherits" } else { "specializes" };
            self.remark(at, format!("{verb} '{}', which is not there; left out", shown(path)));
            return Ok(());
        }
        let Some(arc) = self.step(place, (kind, place.stack), path, at) else {
            return Ok(());
        };
        let (stack, path, retime, clips) = (place.stack, path.clone(), place.retime, Arc::default());
        self.expand(Place { stack, specs, path, retime, arc: Some(arc), clips }, at, out)
    }

    fn follow_variants(&mut self, place: &Place, at: &str, out: &mut Vec<Place>) -> Result<(), Error> {
        let mut sets: Vec<Arc<str>> = Vec::new();
        for (number, spec) in &place.specs {
            let specs = &self.stacks.stacks[place.stack].layers[*number].layer.specs;
            for (set, _, _) in &specs.prim(*spec).variants {
                if sets.len() < MAX_SETS && !sets.contains(set) {
                    sets.push(set.clone());
                }
            }
        }
        for set in sets {
            let Some(selected) = self.selected(out, &set)? else {
                continue;
            };
            let mut specs = Vec::new();
            for (number, spec) in &place.specs {
                let own = &self.stacks.stacks[place.stack].layers[*number].layer.specs;
                let variants = own.prim(*spec).variants.iter();
                let variants = variants.filter(|(of, variant, _)| *of == set && *variant == selected);
                specs.extend(variants.map(|(_, _, variant)| (*number, *variant)));
            }
            let above = place.arc.clone();
            let depth = above.as_ref().map_or(0, |arc| arc.depth) + 1;
            if specs.is_empty() || depth > MAX_ARCS {
                let what = format!("has no variant '{}' of '{}'", shown(&selected), shown(&set));
                self.remark(at, what);
                continue;
            }
            let (from, site, to) = (place.path.clone(), place.path.clone(), at.into());
            let (stack, retime) = (place.stack, place.retime);
            let arc = ArcStep { stack, from, to, site, retime, above, depth, kind: ArcKind::Variant };
            let clips = Arc::default();
            self.expand(Place { specs, arc: Some(Arc::new(arc)), clips, ..place.clone() }, at, out)?;
        }
        Ok(())
    }

    /// Returns the variant of `set` that the strongest of these places selects.
    fn selected(&self, places: &[Place], set: &str) -> Result<Option<Arc<str>>, Error> {
        for place in places {
            for (_, value) in self.values(place, "variantSelection")? {
                if let Value::Selections(list) = value
                    && let Some((_, variant)) = list.into_iter().find(|(of, _)| **of == *set)
                {
                    return Ok(Some(variant).filter(|variant| !variant.is_empty()));
                }
            }
        }
        Ok(None)
    }

    fn follow_reference(
        &mut self,
        place: &Place,
        from: &str,
        reference: Reference,
        at: &str,
        out: &mut Vec<Place>,
    ) -> Result<(), Error> {
        let stack = match reference.asset.is_empty() {
            true => Ok(place.stack),
            false => self.stacks.stack(&reference.asset)?,
        };
        let stack = match stack {
            Ok(stack) => stack,
            Err(why) => {
                let what = format!("refers to '{}', which {why}; left out", shown(&reference.asset));
                self.remark(at, what);
                return Ok(());
            }
        };
        let path = match reference.prim.is_empty() {
            false => Some(reference.prim),
            true => default_prim(self.stacks.stacks[stack].root())?,
        };
        let path = path.unwrap_or_default();
        let specs = specs_at(&self.stacks.stacks[stack], &path);
        if specs.is_empty() || path.is_empty() {
            let asset = if reference.asset.is_empty() { from } else { &reference.asset };
            let what = match path.is_empty() {
                true => format!("refers to '{}', which has no default prim; left out", shown(asset)),
                false => format!(
                    "refers to '{}' of '{}', which is not there; left out",
                    shown(&path),
                    shown(asset)
                ),
            };
            self.remark(at, what);
            return Ok(());
        }
        let Some(arc) = self.step(place, (ArcKind::Reference, stack), &path, at) else {
            return Ok(());
        };
        let stacks = &self.stacks.stacks;
        let codes = Retime { offset: 0.0, scale: stacks[place.stack].rate()? / stacks[stack].rate()? };
        let retime = place.retime.after(reference.retime).after(codes);
        let clips = Arc::default();
        self.expand(Place { stack, specs, path, retime, arc: Some(arc), clips }, at, out)
    }
}

/// Makes an arc from a place; the error says that it leads in a circle or that the chain is too long.
fn arc_to(
    place: &Place,
    (kind, stack): (ArcKind, usize),
    path: &Arc<str>,
    at: &str,
) -> Result<ArcStep, &'static str> {
    let depth = place.arc.as_ref().map_or(0, |arc| arc.depth) + 1;
    let mut next = place.arc.as_ref();
    let mut circle = stack == place.stack && is_within(&place.path, path);
    while let Some(arc) = next {
        circle |= arc.kind != ArcKind::Variant && arc.stack == stack && arc.from == *path;
        next = arc.above.as_ref();
    }
    if circle || depth > MAX_ARCS {
        return Err(if circle { "that contains it" } else { "by too many others" });
    }
    let (from, site, above) = (path.clone(), place.path.clone(), place.arc.clone());
    let (to, retime) = (at.into(), place.retime);
    Ok(ArcStep { stack, from, to, site, retime, above, depth, kind })
}

/// Returns the specs at a path of a stack, by layer.
fn specs_at(stack: &Stack, path: &str) -> Vec<(usize, SpecId)> {
    let layers = stack.layers.iter().enumerate();
    layers.filter_map(|(number, own)| Some((number, own.layer.specs.at(path)?))).collect()
}

fn default_prim(layer: &Layer) -> Result<Option<Arc<str>>, Error> {
    let name = layer_field(layer, "defaultPrim")?.and_then(|value| value.text().cloned());
    Ok(name.filter(|name| !name.is_empty()).map(|name| format!("/{}", name.trim_start_matches('/')).into()))
}
