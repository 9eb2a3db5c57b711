//! Primvars that prims pass on to all prims below them: those with one value for the whole prim.

use super::attribute::UsdAttribute;
use super::compose::{Prim, Stage};
use meshreel_scene::Error;
use std::path::Path;
use std::sync::Arc;

/// Upper limits for the primvars that a prim inherits, and for all lists of a scene.
const MAX_INHERITED: usize = 256;
const MAX_LISTED_PRIMVARS: usize = 1 << 22;

/// A constant primvar of a prim above.
#[derive(Clone)]
pub struct InheritedPrimvar {
    /// The name, with `primvars:`.
    pub name: Arc<str>,
    pub values: UsdAttribute,
    pub indices: Option<UsdAttribute>,
}

/// All lists of inherited primvars, by number; the first one is empty.
pub struct InheritedPrimvars {
    lists: Vec<Vec<InheritedPrimvar>>,
    count: usize,
}

impl Default for InheritedPrimvars {
    fn default() -> Self {
        InheritedPrimvars { lists: vec![Vec::new()], count: 0 }
    }
}

impl InheritedPrimvars {
    pub fn list(&self, number: usize) -> &[InheritedPrimvar] {
        self.lists.get(number).map_or(&[], Vec::as_slice)
    }

    /// Returns the number of the list that children of a prim inherit, where the prim inherits list `above`:
    /// its own primvars hide those of the same names, even if they are not constant and so not inherited.
    pub fn child_list(&mut self, stage: &mut Stage, prim: &Prim, above: usize) -> Result<usize, Error> {
        let mut own: Option<Vec<InheritedPrimvar>> = None;
        for name in stage.property_names(prim)? {
            if !is_primvar(&name) {
                continue;
            }
            let Some(values) = stage.attribute(prim, &name)? else {
                continue;
            };
            let list = own.get_or_insert_with(|| self.list(above).to_vec());
            list.retain(|known| known.name != name);
            if values.interpolation.as_deref().is_some_and(|interpolation| interpolation != "constant") {
                continue;
            }
            if list.len() >= MAX_INHERITED {
                stage.remark(&prim.path, "has too many primvars for the meshes below; some are left out");
                break;
            }
            let indices = stage.attribute(prim, &format!("{name}:indices"))?;
            list.push(InheritedPrimvar { name, values, indices });
        }
        let Some(list) = own else {
            return Ok(above);
        };
        self.count += list.len();
        // Includes the path and the indices of values, which each has for itself.
        stage.charge_memory(list.len() * (size_of::<InheritedPrimvar>() + prim.path.len() + 96))?;
        if self.count > MAX_LISTED_PRIMVARS {
            let what = "primvars that prims inherit; say them on the meshes";
            return Err(Error::limit(
                Path::new(&prim.path),
                what,
                self.count as u64,
                MAX_LISTED_PRIMVARS as u64,
            ));
        }
        self.lists.push(list);
        Ok(self.lists.len() - 1)
    }
}

/// `true` if a property is a primvar, but neither a list of indices nor part of a skin binding.
fn is_primvar(name: &str) -> bool {
    let short = name.strip_prefix("primvars:");
    short.is_some_and(|short| !short.starts_with("skel:") && !short.ends_with(":indices"))
}
