//! What a layer says, as a tree: prims with fields, properties, and variants, which are prims of their own.
//! Values stay where they are, and are read when asked for.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// Number of a prim in its layer; 0 is the root.
pub type SpecId = u32;

/// Most fields of a prim or a property that are looked at.
const MAX_FIELDS: usize = 4096;

/// The end of a list of fields.
pub const END: u32 = u32::MAX;

/// A field's value, to be read by its layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueRef(pub u64);

#[derive(Clone, Default)]
pub struct PrimSpec {
    pub name: Arc<str>,
    /// Start of its list of fields.
    pub fields: u32,
    pub children: Vec<SpecId>,
    /// Numbers of properties.
    pub properties: Vec<u32>,
    /// Set, variant, and the prim that it is.
    pub variants: Vec<(Arc<str>, Arc<str>, SpecId)>,
}

#[derive(Clone)]
pub struct PropertySpec {
    pub name: Arc<str>,
    /// Start of its list of fields.
    pub fields: u32,
}

/// All of a layer.
#[derive(Default)]
pub struct Specs {
    pub prims: Vec<PrimSpec>,
    pub properties: Vec<PropertySpec>,
    /// Names of fields, which repeat.
    pub names: Vec<Arc<str>>,
    /// Number of the name, and the value.
    pub fields: Vec<(u32, ValueRef)>,
    /// Numbers of fields; each list ends with [`END`].
    pub lists: Vec<u32>,
    /// Prims by parent and name, made when first asked for.
    pub by_name: OnceLock<HashMap<(SpecId, Arc<str>), SpecId>>,
}

impl Specs {
    /// The value of a field in the list that begins at `start`.
    pub fn field(&self, start: u32, name: &str) -> Option<ValueRef> {
        let list = self.lists.get(start as usize..)?;
        let mut own = list.iter().take(MAX_FIELDS).take_while(|field| **field != END);
        own.find_map(|field| {
            let (own, value) = self.fields.get(*field as usize)?;
            (&**self.names.get(*own as usize)? == name).then_some(*value)
        })
    }

    /// The child of that name.
    pub fn child(&self, parent: SpecId, name: &str) -> Option<SpecId> {
        let by_name = self.by_name.get_or_init(|| {
            let prims = (0..).zip(&self.prims);
            let all = prims.flat_map(|(id, prim): (SpecId, _)| prim.children.iter().map(move |c| (id, *c)));
            all.filter_map(|(id, child)| Some(((id, self.prims.get(child as usize)?.name.clone()), child)))
                .collect()
        });
        by_name.get(&(parent, Arc::from(name))).copied()
    }

    /// The children of a prim, or the one of that name.
    pub fn children(&self, of: SpecId, only: Option<&str>) -> Cow<'_, [SpecId]> {
        match only {
            None => Cow::Borrowed(&*self.prim(of).children),
            Some(name) => Cow::Owned(self.child(of, name).into_iter().collect()),
        }
    }

    /// The prim at an absolute path without variants.
    pub fn at(&self, path: &str) -> Option<SpecId> {
        let names = path.split('/').filter(|name| !name.is_empty());
        names.into_iter().try_fold(0, |at, name| self.child(at, name))
    }

    pub fn prim(&self, id: SpecId) -> &PrimSpec {
        &self.prims[id as usize]
    }

    /// A property of a prim.
    pub fn property(&self, prim: SpecId, name: &str) -> Option<&PropertySpec> {
        let own = self.prim(prim).properties.iter().map(|p| &self.properties[*p as usize]);
        own.into_iter().find(|p| &*p.name == name)
    }
}
