//! The contents of a layer as a tree: prims with fields, properties, and variants, which are prims of their
//! own. Values remain in the file and are read on demand.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// The number of a prim in its layer; 0 is the root.
pub type SpecId = u32;

/// Upper limit for the fields of a prim or a property that are searched.
const MAX_FIELDS: usize = 4096;

/// Marks the end of a list of fields.
pub const END_OF_FIELDS: u32 = u32::MAX;

/// A reference to a field's value, which its layer can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueRef(pub u64);

#[derive(Clone, Default)]
pub struct PrimSpec {
    pub name: Arc<str>,
    /// The start of its list of fields.
    pub fields: u32,
    pub children: Vec<SpecId>,
    /// The indices of its properties.
    pub properties: Vec<u32>,
    /// Set, variant, and the prim that holds the variant's opinions.
    pub variants: Vec<(Arc<str>, Arc<str>, SpecId)>,
}

#[derive(Clone)]
pub struct PropertySpec {
    pub name: Arc<str>,
    /// The start of its list of fields.
    pub fields: u32,
}

/// The contents of a layer.
#[derive(Default)]
pub struct Specs {
    pub prims: Vec<PrimSpec>,
    pub properties: Vec<PropertySpec>,
    /// The names of fields, each stored once.
    pub names: Vec<Arc<str>>,
    /// The index of the name, and the value.
    pub fields: Vec<(u32, ValueRef)>,
    /// Indices of fields; each list ends with [`END_OF_FIELDS`].
    pub lists: Vec<u32>,
    /// Prims by parent and name, made on first use.
    pub by_name: OnceLock<HashMap<(SpecId, Arc<str>), SpecId>>,
}

impl Specs {
    /// Returns the value of a field in the list that begins at `start`.
    pub fn field(&self, start: u32, name: &str) -> Option<ValueRef> {
        let list = self.lists.get(start as usize..)?;
        let mut own = list.iter().take(MAX_FIELDS).take_while(|field| **field != END_OF_FIELDS);
        own.find_map(|field| {
            let (own, value) = self.fields.get(*field as usize)?;
            (&**self.names.get(*own as usize)? == name).then_some(*value)
        })
    }

    /// Returns the child of that name.
    pub fn child(&self, parent: SpecId, name: &str) -> Option<SpecId> {
        let by_name = self.by_name.get_or_init(|| {
            let prims = (0..).zip(&self.prims);
            let all = prims.flat_map(|(id, prim): (SpecId, _)| prim.children.iter().map(move |c| (id, *c)));
            all.filter_map(|(id, child)| Some(((id, self.prims.get(child as usize)?.name.clone()), child)))
                .collect()
        });
        by_name.get(&(parent, Arc::from(name))).copied()
    }

    /// Returns the children of a prim, or only the one named `only`.
    pub fn children(&self, of: SpecId, only: Option<&str>) -> Cow<'_, [SpecId]> {
        match only {
            None => Cow::Borrowed(&*self.prim(of).children),
            Some(name) => Cow::Owned(self.child(of, name).into_iter().collect()),
        }
    }

    /// Returns the prim at an absolute path without variants.
    pub fn prim_at_path(&self, path: &str) -> Option<SpecId> {
        let names = path.split('/').filter(|name| !name.is_empty());
        names.into_iter().try_fold(0, |at, name| self.child(at, name))
    }

    pub fn prim(&self, id: SpecId) -> &PrimSpec {
        &self.prims[id as usize]
    }

    /// Returns a property of a prim.
    pub fn property(&self, prim: SpecId, name: &str) -> Option<&PropertySpec> {
        let own = self.prim(prim).properties.iter().map(|p| &self.properties[*p as usize]);
        own.into_iter().find(|p| &*p.name == name)
    }
}
