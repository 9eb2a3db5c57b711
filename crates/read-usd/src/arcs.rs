//! Composition: collects the opinions of several layers on one prim, strongest first. Local opinions come
//! first, then inherits, variants, references, payloads and specializes, each with everything it refers to.
//!
//! A class that a layer inherits is also inherited from the class of the same path in a stack above, which
//! refers to that layer: the opinions there are stronger than all of the layer referred to. Specialized
//! opinions are weaker than all others.

use super::assets::Assets;
use super::compose::Stage;
use super::layer::Layer;
use super::site::{ArcKind, ArcStep, Site, is_within};
use super::specs::SpecId;
use super::stack::{Stack, abbreviated, layer_field};
use super::value::{ListEdit, Reference, Retime, Value};
use meshreel_scene::Error;
use std::sync::Arc;

/// Upper limit for the chain of arcs (references and the like) that lead to one opinion.
const MAX_ARCS: usize = 64;
/// Upper limit for the variant sets of a prim.
const MAX_SETS: usize = 256;
/// Upper limit for the sites with opinions of all prims together.
const MAX_SITES: usize = 1 << 21;
/// Upper limits for the classes of a site that are looked up in stacks above, and for these lookups by all
/// prims together.
const MAX_CLASSES: usize = 64;
const MAX_LOOKUPS: usize = 1 << 24;

impl Stage {
    /// Adds a site and everything its arcs lead to.
    pub(super) fn expand(&mut self, site: Site, at: &str, out: &mut Vec<Site>) -> Result<(), Error> {
        self.site_count += 1;
        if self.site_count > MAX_SITES {
            let (asked, allowed) = (self.site_count as u64, MAX_SITES as u64);
            let name = &self.root_stack().root_layer().name;
            return Err(Error::limit(
                name,
                "places with opinions on prims; flatten it with `usdcat --flatten`, or export it in parts",
                asked,
                allowed,
            ));
        }
        let arc = site.arc.as_ref().map_or(0, |_| size_of::<ArcStep>() + at.len());
        let own = size_of::<Site>() + site.specs.len() * size_of::<(usize, SpecId)>() + site.path.len();
        self.charge_memory(own + arc)?;
        let implied = self.follow_implied(&site, ArcKind::Inherit, at, out)?;
        out.push(site.clone());
        for path in self.paths(&site, "inheritPaths")? {
            if !implied.contains(&path) || self.has(&site, &path) {
                self.follow_path(&site, (ArcKind::Inherit, &path), at, out)?;
            }
        }
        self.follow_variants(&site, at, out)?;
        for field in ["references", "payload"] {
            for (from, reference) in self.references(&site, field, at)? {
                self.follow_reference(&site, &from, reference, at, out)?;
            }
        }
        let implied = self.follow_implied(&site, ArcKind::Specialize, at, out)?;
        for path in self.paths(&site, "specializes")? {
            if !implied.contains(&path) || self.has(&site, &path) {
                self.follow_path(&site, (ArcKind::Specialize, &path), at, out)?;
            }
        }
        Ok(())
    }

    fn paths(&self, site: &Site, field: &str) -> Result<Vec<Arc<str>>, Error> {
        let mut list = Vec::new();
        for (_, value) in self.values(site, field)?.into_iter().rev() {
            if let Value::List(edit) = value {
                edit.apply(&mut list);
            }
        }
        Ok(list)
    }

    /// Returns the references or payloads of a site with their files resolved, and the layer each comes
    /// from.
    fn references(
        &mut self,
        site: &Site,
        field: &str,
        at: &str,
    ) -> Result<Vec<(Arc<str>, Reference)>, Error> {
        let mut list: Vec<(Arc<str>, Reference)> = Vec::new();
        let values = self.values(site, field)?;
        for (number, value) in values.into_iter().rev() {
            let Value::References(edit) = value else {
                continue;
            };
            let own = self.stacks.stacks[site.stack].layers[number].clone();
            let mut found = |references: Vec<Reference>| -> Vec<(Arc<str>, Reference)> {
                let mut out = Vec::new();
                self.site_count += references.len();
                for mut reference in references {
                    if !reference.asset.is_empty() {
                        match Assets::resolve(&own.name, &reference.asset) {
                            Ok(name) => reference.asset = name.into(),
                            Err(what) => {
                                let what = format!("'{}' {what}; left out", abbreviated(&reference.asset));
                                self.remark(at, what);
                                continue;
                            }
                        }
                    }
                    let named = if reference.asset.is_empty() { &reference.prim } else { &reference.asset };
                    let retime = self.stacks.usable_retime(reference.retime, at, named);
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

    /// `true` if the stack of a site has a spec at a path.
    fn has(&self, site: &Site, path: &str) -> bool {
        self.stacks.stacks[site.stack].layers.iter().any(|own| own.layer.specs.prim_at_path(path).is_some())
    }

    /// Returns the classes that a site inherits or specializes (`field`), and the classes of these in turn,
    /// in its own stack.
    fn classes(&self, site: &Site, field: &str) -> Result<Vec<Arc<str>>, Error> {
        let mut out = self.paths(site, field)?;
        let mut next = 0;
        while next < out.len().min(MAX_CLASSES) {
            let path = out[next].clone();
            let specs = specs_at(&self.stacks.stacks[site.stack], &path);
            if !specs.is_empty() {
                let more = self.paths(&Site { specs, path, ..site.clone() }, field)?;
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

    /// Adds the opinions of stacks above on the classes that a site inherits or specializes, outermost
    /// first. Returns the classes, by their paths in the site's stack, for which opinions exist.
    fn follow_implied(
        &mut self,
        site: &Site,
        kind: ArcKind,
        at: &str,
        out: &mut Vec<Site>,
    ) -> Result<Vec<Arc<str>>, Error> {
        let (mut found, mut implied) = (Vec::new(), Vec::new());
        if site.arc.is_none() {
            return Ok(found);
        }
        let field = if kind == ArcKind::Inherit { "inheritPaths" } else { "specializes" };
        for class in self.classes(site, field)? {
            let (mut stack, mut path) = (site.stack, class.clone());
            let mut next = site.arc.as_ref();
            while let Some(arc) = next {
                next = arc.above.as_ref();
                if arc.kind == ArcKind::Variant {
                    continue;
                }
                // A class outside the prim referred to has the same path in all stacks.
                let upper =
                    match path.strip_prefix(&*arc.target_path).filter(|_| is_within(&path, &arc.target_path))
                    {
                        Some(rest) => format!("{}{rest}", arc.origin_path).into(),
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
                let (origin_path, retime, clips) = (arc.origin_path.clone(), arc.retime, Arc::default());
                let upper = Site { stack, specs, path: origin_path, retime, arc: next.cloned(), clips };
                implied.push((next.map_or(0, |arc| arc.depth), path.clone(), upper));
            }
        }
        if self.lookups > MAX_LOOKUPS {
            let (asked, allowed) = (self.lookups as u64, MAX_LOOKUPS as u64);
            let what = "classes that prims inherit through references; flatten it with `usdcat --flatten`";
            return Err(Error::limit(&self.root_stack().root_layer().name, what, asked, allowed));
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
            arc.depth = site.arc.as_ref().map_or(0, |own| own.depth).max(arc.depth) + 1;
            if arc.depth <= MAX_ARCS {
                let Site { stack, specs, retime, clips, .. } = above;
                self.expand(Site { stack, specs, path, retime, arc: Some(Arc::new(arc)), clips }, at, out)?;
            }
        }
        Ok(found)
    }

    /// Makes an arc from a site; returns `None`, with a remark, if it leads in a circle or the chain is too
    /// long.
    fn step(&mut self, site: &Site, to: (ArcKind, usize), path: &Arc<str>, at: &str) -> Option<Arc<ArcStep>> {
        match arc_to(site, to, path, at) {
            Ok(arc) => Some(Arc::new(arc)),
            Err(why) => {
                self.remark(at, format!("refers to '{}' {why}; left out", abbreviated(path)));
                None
            }
        }
    }

    /// Follows an arc to a prim of the same stack that is inherited or specialized.
    fn follow_path(
        &mut self,
        site: &Site,
        (kind, path): (ArcKind, &Arc<str>),
        at: &str,
        out: &mut Vec<Site>,
    ) -> Result<(), Error> {
        let specs = specs_at(&self.stacks.stacks[site.stack], path);
        if specs.is_empty() {
            let verb = if kind == ArcKind::Inherit { "inherits" } else { "specializes" };
            self.remark(at, format!("{verb} '{}', which is not there; left out", abbreviated(path)));
            return Ok(());
        }
        let Some(arc) = self.step(site, (kind, site.stack), path, at) else {
            return Ok(());
        };
        let (stack, path, retime, clips) = (site.stack, path.clone(), site.retime, Arc::default());
        self.expand(Site { stack, specs, path, retime, arc: Some(arc), clips }, at, out)
    }

    fn follow_variants(&mut self, site: &Site, at: &str, out: &mut Vec<Site>) -> Result<(), Error> {
        let mut sets: Vec<Arc<str>> = Vec::new();
        for (number, spec) in &site.specs {
            let specs = &self.stacks.stacks[site.stack].layers[*number].layer.specs;
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
            for (number, spec) in &site.specs {
                let own = &self.stacks.stacks[site.stack].layers[*number].layer.specs;
                let variants = own.prim(*spec).variants.iter();
                let variants = variants.filter(|(of, variant, _)| *of == set && *variant == selected);
                specs.extend(variants.map(|(_, _, variant)| (*number, *variant)));
            }
            let above = site.arc.clone();
            let depth = above.as_ref().map_or(0, |arc| arc.depth) + 1;
            if specs.is_empty() || depth > MAX_ARCS {
                let what = format!("has no variant '{}' of '{}'", abbreviated(&selected), abbreviated(&set));
                self.remark(at, what);
                continue;
            }
            let (target_path, origin_path, scene_path) = (site.path.clone(), site.path.clone(), at.into());
            let (stack, retime) = (site.stack, site.retime);
            let arc = ArcStep {
                stack,
                target_path,
                scene_path,
                origin_path,
                retime,
                above,
                depth,
                kind: ArcKind::Variant,
            };
            let clips = Arc::default();
            self.expand(Site { specs, arc: Some(Arc::new(arc)), clips, ..site.clone() }, at, out)?;
        }
        Ok(())
    }

    /// Returns the variant of `set` that the strongest of these sites selects.
    fn selected(&self, sites: &[Site], set: &str) -> Result<Option<Arc<str>>, Error> {
        for site in sites {
            for (_, value) in self.values(site, "variantSelection")? {
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
        site: &Site,
        from: &str,
        reference: Reference,
        at: &str,
        out: &mut Vec<Site>,
    ) -> Result<(), Error> {
        let stack = match reference.asset.is_empty() {
            true => Ok(site.stack),
            false => self.stacks.stack(&reference.asset)?,
        };
        let stack = match stack {
            Ok(stack) => stack,
            Err(why) => {
                let what = format!("refers to '{}', which {why}; left out", abbreviated(&reference.asset));
                self.remark(at, what);
                return Ok(());
            }
        };
        let path = match reference.prim.is_empty() {
            false => Some(reference.prim),
            true => default_prim(self.stacks.stacks[stack].root_layer())?,
        };
        let path = path.unwrap_or_default();
        let specs = specs_at(&self.stacks.stacks[stack], &path);
        if specs.is_empty() || path.is_empty() {
            let asset = if reference.asset.is_empty() { from } else { &reference.asset };
            let what = match path.is_empty() {
                true => format!("refers to '{}', which has no default prim; left out", abbreviated(asset)),
                false => format!(
                    "refers to '{}' of '{}', which is not there; left out",
                    abbreviated(&path),
                    abbreviated(asset)
                ),
            };
            self.remark(at, what);
            return Ok(());
        }
        let Some(arc) = self.step(site, (ArcKind::Reference, stack), &path, at) else {
            return Ok(());
        };
        let stacks = &self.stacks.stacks;
        let codes = Retime { offset: 0.0, scale: stacks[site.stack].rate()? / stacks[stack].rate()? };
        let retime = site.retime.after(reference.retime).after(codes);
        let clips = Arc::default();
        self.expand(Site { stack, specs, path, retime, arc: Some(arc), clips }, at, out)
    }
}

/// Makes an arc from a site; the error says that it leads in a circle or that the chain is too long.
fn arc_to(
    site: &Site,
    (kind, stack): (ArcKind, usize),
    path: &Arc<str>,
    at: &str,
) -> Result<ArcStep, &'static str> {
    let depth = site.arc.as_ref().map_or(0, |arc| arc.depth) + 1;
    let mut next = site.arc.as_ref();
    let mut circle = stack == site.stack && is_within(&site.path, path);
    while let Some(arc) = next {
        circle |= arc.kind != ArcKind::Variant && arc.stack == stack && arc.target_path == *path;
        next = arc.above.as_ref();
    }
    if circle || depth > MAX_ARCS {
        return Err(if circle { "that contains it" } else { "by too many others" });
    }
    let (target_path, origin_path, above) = (path.clone(), site.path.clone(), site.arc.clone());
    let (scene_path, retime) = (at.into(), site.retime);
    Ok(ArcStep { stack, target_path, scene_path, origin_path, retime, above, depth, kind })
}

/// Returns the specs at a path of a stack, by layer.
fn specs_at(stack: &Stack, path: &str) -> Vec<(usize, SpecId)> {
    let layers = stack.layers.iter().enumerate();
    layers.filter_map(|(number, own)| Some((number, own.layer.specs.prim_at_path(path)?))).collect()
}

fn default_prim(layer: &Layer) -> Result<Option<Arc<str>>, Error> {
    let name = layer_field(layer, "defaultPrim")?.and_then(|value| value.text().cloned());
    Ok(name.filter(|name| !name.is_empty()).map(|name| format!("/{}", name.trim_start_matches('/')).into()))
}
