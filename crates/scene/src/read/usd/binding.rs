//! Skin bindings of prims, which apply to the prim and all below it: skeleton, joints, weights.

use super::attribute::Attribute;
use super::compose::{Prim, Stage};
use super::place::is_within;
use crate::Error;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

/// A property of a skin binding that prims below inherit.
#[derive(Clone, Copy)]
pub enum Property {
    Joints,
    JointIndices,
    JointWeights,
    GeomBindTransform,
    SkinningMethod,
}

const PROPERTIES: [(Property, &str); 5] = [
    (Property::Joints, "skel:joints"),
    (Property::JointIndices, "primvars:skel:jointIndices"),
    (Property::JointWeights, "primvars:skel:jointWeights"),
    (Property::GeomBindTransform, "primvars:skel:geomBindTransform"),
    (Property::SkinningMethod, "primvars:skel:skinningMethod"),
];

/// The skin binding of a prim.
#[derive(Clone, Default)]
pub struct Binding {
    /// `true` for a SkelRoot and prims below one; elsewhere nothing is skinned.
    pub in_root: bool,
    /// The path of the skeleton.
    pub skeleton: Option<Arc<str>>,
    properties: [Option<Attribute>; PROPERTIES.len()],
    /// Bindings with the same number are equal, except for the paths of the prims that define them.
    pub number: usize,
}

impl Binding {
    pub fn property(&self, property: Property) -> Option<&Attribute> {
        self.properties[property as usize].as_ref()
    }
}

/// Assigns numbers to bindings, by everything that defines them.
#[derive(Default)]
pub struct Bindings(HashMap<String, usize>);

impl Bindings {
    /// Returns the binding of a prim, given the binding `above` of its parent.
    pub fn below(
        &mut self,
        stage: &mut Stage,
        (prim, type_name): (&Prim, &str),
        above: &Arc<Binding>,
    ) -> Result<Arc<Binding>, Error> {
        let mut own = Binding::clone(above);
        own.in_root |= type_name == "SkelRoot";
        let mut said = format!("{} {}", above.number, own.in_root);
        let mut says = own.in_root != above.in_root;
        let note = |said: &mut String, path: &str| {
            // Paths below the prim itself are kept relative, so that all its instances agree.
            let place = if is_within(path, &prim.path) { &path[prim.path.len()..] } else { path };
            let _ = write!(said, " {}{place}", if place.len() < path.len() { "." } else { "" });
        };
        if let Some(skeleton) = stage.targets(prim, "skel:skeleton")?.into_iter().next() {
            (says, said) = (true, said + " skeleton");
            note(&mut said, &skeleton);
            own.skeleton = Some(skeleton);
        }
        if let Some(animation) = stage.targets(prim, "skel:animationSource")?.into_iter().next() {
            (says, said) = (true, said + " animation");
            note(&mut said, &animation);
        }
        for (property, name) in PROPERTIES.into_iter().filter(|_| own.in_root) {
            if let Some(attribute) = stage.attribute(prim, name)? {
                says = true;
                let first = (attribute.values.len() > 0).then(|| attribute.values.identity(0));
                let layer = first.map(|_| attribute.values.name(0).display().to_string());
                let _ = write!(said, " {name} {first:?} {layer:?}");
                own.properties[property as usize] = Some(attribute);
            }
        }
        if !says {
            return Ok(above.clone());
        }
        let next = self.0.len() + 1;
        own.number = *self.0.entry(said).or_insert(next);
        Ok(Arc::new(own))
    }
}
