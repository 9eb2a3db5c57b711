//! Skin bindings of prims, which apply to the prim and all below it: skeleton, joints, weights.

use super::attribute::UsdAttribute;
use super::compose::{Prim, Stage};
use super::site::is_within;
use meshreel_scene::Error;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

/// A property of a skin binding that prims below inherit.
#[derive(Clone, Copy)]
pub enum BindingProperty {
    Joints,
    JointIndices,
    JointWeights,
    GeomBindTransform,
    SkinningMethod,
}

const PROPERTIES: [(BindingProperty, &str); 5] = [
    (BindingProperty::Joints, "skel:joints"),
    (BindingProperty::JointIndices, "primvars:skel:jointIndices"),
    (BindingProperty::JointWeights, "primvars:skel:jointWeights"),
    (BindingProperty::GeomBindTransform, "primvars:skel:geomBindTransform"),
    (BindingProperty::SkinningMethod, "primvars:skel:skinningMethod"),
];

/// The skin binding of a prim.
#[derive(Clone, Default)]
pub struct SkinBinding {
    /// `true` for a SkelRoot and prims below one; elsewhere nothing is skinned.
    pub in_skel_root: bool,
    /// The path of the skeleton.
    pub skeleton: Option<Arc<str>>,
    properties: [Option<UsdAttribute>; PROPERTIES.len()],
    /// Bindings with the same number are equal, except for the paths of the prims that define them.
    pub number: usize,
}

impl SkinBinding {
    pub fn property(&self, property: BindingProperty) -> Option<&UsdAttribute> {
        self.properties[property as usize].as_ref()
    }
}

/// Assigns numbers to bindings, by everything that defines them.
#[derive(Default)]
pub struct SkinBindings(HashMap<String, usize>);

impl SkinBindings {
    /// Returns the binding of a prim, given the binding `above` of its parent.
    pub fn inherit(
        &mut self,
        stage: &mut Stage,
        (prim, type_name): (&Prim, &str),
        above: &Arc<SkinBinding>,
    ) -> Result<Arc<SkinBinding>, Error> {
        let mut own = SkinBinding::clone(above);
        own.in_skel_root |= type_name == "SkelRoot";
        let mut said = format!("{} {}", above.number, own.in_skel_root);
        let mut says = own.in_skel_root != above.in_skel_root;
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
        for (property, name) in PROPERTIES.into_iter().filter(|_| own.in_skel_root) {
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
