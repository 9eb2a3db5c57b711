//! Builds the tree of specs from the tables of a binary layer.

use super::sections::{SpecRow, Tables};
use super::values::Binary;
use crate::specs::{PrimSpec, PropertySpec, SpecId, Specs, ValueRef};
use meshreel_scene::Error;
use meshreel_scene::layout::usd::{END_MARK, spec};
use std::collections::HashMap;
use std::sync::Arc;

/// Marks a path without a prim or variant.
const NO_SPEC: u32 = u32::MAX;

/// Builds the tree; the tables must still have their paths.
pub fn tree(tables: &Tables) -> Specs {
    let prims = prims(tables);
    let mut specs = Specs { prims: vec![PrimSpec::default()], ..Specs::default() };
    let own = |row: &SpecRow| prims.get(row.path as usize).copied().unwrap_or(NO_SPEC);
    let count = prims.iter().filter(|id| **id != NO_SPEC).count();
    specs.prims.resize(count.max(1), PrimSpec::default());
    // Only the first spec of a path counts; a second one would break the tree.
    let mut seen = vec![false; tables.paths.len()];
    for row in &tables.specs {
        let Some(path) = tables.paths.get(row.path as usize) else {
            continue;
        };
        if std::mem::replace(&mut seen[row.path as usize], true) {
            continue;
        }
        let above = prims.get(path.parent as usize).copied().unwrap_or(NO_SPEC);
        let token = tables.tokens.get(path.token as usize).cloned().unwrap_or_default();
        match row.kind {
            spec::ROOT if row.path == tables.root => specs.prims[0].fields = row.fields,
            spec::PRIM | spec::VARIANT if path.parent != END_MARK && own(row) != NO_SPEC => {
                let id = own(row);
                let variant = (row.kind == spec::VARIANT).then(|| selection(&token)).flatten();
                if row.kind == spec::PRIM {
                    specs.prims[id as usize].name = token;
                }
                specs.prims[id as usize].fields = row.fields;
                let Some(above) = specs.prims.get_mut(above as usize) else {
                    continue;
                };
                match variant {
                    Some((set, variant)) => above.variants.push((set, variant, id)),
                    None if row.kind == spec::PRIM => above.children.push(id),
                    None => {}
                }
            }
            spec::ATTRIBUTE | spec::RELATIONSHIP if path.is_property && above != NO_SPEC => {
                specs.prims[above as usize].properties.push(specs.properties.len() as u32);
                specs.properties.push(PropertySpec { name: token, fields: row.fields });
            }
            _ => {}
        }
    }
    specs
}

/// Returns the spec number of each path that is a prim or variant; the root has 0.
fn prims(tables: &Tables) -> Vec<SpecId> {
    let mut out = vec![NO_SPEC; tables.paths.len()];
    if let Some(root) = out.get_mut(tables.root as usize) {
        *root = 0;
    }
    let mut count = 1;
    for row in tables.specs.iter().filter(|row| matches!(row.kind, spec::PRIM | spec::VARIANT)) {
        if let Some(own) = out.get_mut(row.path as usize).filter(|own| **own == NO_SPEC) {
            *own = count;
            count += 1;
        }
    }
    out
}

/// Splits `{set=variant}` into set and variant.
fn selection(token: &str) -> Option<(Arc<str>, Arc<str>)> {
    let (set, variant) = token.strip_prefix('{')?.strip_suffix('}')?.split_once('=')?;
    Some((set.into(), variant.into()))
}

/// Moves names and fields over, and puts children into the order that the file asks for.
pub fn finish(specs: &mut Specs, tables: Tables, binary: &Binary) -> Result<(), Error> {
    specs.names = tables.tokens;
    specs.fields = tables.fields.into_iter().map(|f| (f.name, ValueRef(f.value))).collect();
    specs.lists = tables.lists;
    for id in 0..specs.prims.len() {
        let prim = &specs.prims[id];
        let order = specs.field(prim.fields, "primChildren").filter(|_| prim.children.len() > 1);
        let Some(ValueRef(order)) = order else {
            continue;
        };
        let list = binary.names(order, prim.children.len())?;
        let place: HashMap<Arc<str>, usize> = list.into_iter().zip(0..).collect();
        let mut children = std::mem::take(&mut specs.prims[id].children);
        children.sort_by_key(|child| place.get(&specs.prims[*child as usize].name).copied());
        specs.prims[id].children = children;
    }
    Ok(())
}
