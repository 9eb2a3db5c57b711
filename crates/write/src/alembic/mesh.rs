//! Writes meshes: points, faces, attributes, face sets.

use super::plan::{ArchivePlan, empty_leaf};
use super::property::{Content, Leaf, Property};
use crate::corners::DistinctValues;
use meshreel_scene::layout::alembic::Pod;
use meshreel_scene::layout::alembic::murmur3;
use meshreel_scene::{
    Attribute, Channel, CurveBasis, CurveEnds, Curves, Error, Identity, Mesh, Particles, Scope, Winding,
};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;

/// Adds `mesh` as a child of `parent`, with its face sets below it.
pub(super) fn add_mesh<'a>(plan: &mut ArchivePlan<'a>, mesh: &'a Mesh, parent: usize, name: &str) -> usize {
    if let Some(particles) = &mesh.particles {
        return add_particles(plan, (mesh, particles), parent, name);
    }
    let schema = if mesh.is_subd { "AbcGeom_SubD_v1" } else { "AbcGeom_PolyMesh_v1" };
    let object = plan.add_object(parent, name, &schema_meta(schema, ".geom"));
    let faces = Rc::new(CornerReverser {
        counts: &mesh.face_counts,
        reverse: mesh.winding == Winding::CounterClockwise,
        current: RefCell::default(),
    });
    let mut geom = positions(plan, mesh);
    geom.push(required(plan, ".faceIndices", "", &mesh.face_indices, Some(faces.clone())));
    geom.push(required(plan, ".faceCounts", "", &mesh.face_counts, None));
    let mut names = HashSet::new();
    let (own, mut others) = uvs_and_normals(plan, mesh, &mut names, &faces);
    geom.extend(own);
    if let Some(velocities) = mesh.velocities.as_ref().filter(|v| !v.is_empty()) {
        geom.push(array(plan, ".velocities", "interpretation=vector", velocities, None));
    }
    others.extend(arbitrary_values(plan, mesh, &mut names, &faces));
    geom.extend(arb_geom_params(others));
    plan.objects[object].properties.push(Property {
        name: ".geom".into(),
        meta: format!("schema={schema};schemaBaseType=AbcGeom_GeomBase_v1"),
        content: Content::Compound(geom),
    });
    for set in mesh.face_sets.iter().filter(|set| !set.faces.is_empty()) {
        let schema = "AbcGeom_FaceSet_v1";
        let child = plan.add_object(object, &set.name, &schema_meta(schema, ".faceset"));
        let bounds = empty_box(plan);
        let faces = array(plan, ".faces", "", &set.faces, None);
        plan.objects[child].properties.push(Property {
            name: ".faceset".into(),
            meta: format!("schema={schema};schemaBaseType=AbcGeom_GeomBase_v1"),
            content: Content::Compound(vec![bounds, faces]),
        });
    }
    object
}

/// Adds points or curves, as `Points` or `Curve`.
fn add_particles<'a>(
    plan: &mut ArchivePlan<'a>,
    (mesh, particles): (&'a Mesh, &'a Particles),
    parent: usize,
    name: &str,
) -> usize {
    let schema = if particles.curves.is_some() { "AbcGeom_Curve_v2" } else { "AbcGeom_Points_v1" };
    let object = plan.add_object(parent, name, &schema_meta(schema, ".geom"));
    let faces =
        Rc::new(CornerReverser { counts: &mesh.face_counts, reverse: false, current: RefCell::default() });
    let mut geom = positions(plan, mesh);
    let width = match &particles.curves {
        Some(curves) => {
            geom.push(required(plan, "nVertices", "", &curves.counts, None));
            geom.push(plan.constant("curveBasisAndType", "", Pod::U8, 4, curve_basis_and_type(curves)));
            "width"
        }
        None => ".widths",
    };
    if let Some(ids) = &particles.ids {
        geom.push(required(plan, ".pointIds", "", ids, None));
    }
    if let Some(widths) = &particles.widths {
        geom.extend(attribute(plan, widths, width, ("", 1), &faces));
    }
    if let Some(velocities) = mesh.velocities.as_ref().filter(|v| !v.is_empty()) {
        geom.push(array(plan, ".velocities", "interpretation=vector", velocities, None));
    }
    let mut names = HashSet::new();
    let (own, mut others) = uvs_and_normals(plan, mesh, &mut names, &faces);
    // `Points` has no property for them of its own.
    match particles.curves {
        Some(_) => geom.extend(own),
        None => {
            names.extend(own.iter().map(|property| property.name.clone()));
            others.splice(0..0, own).for_each(drop);
        }
    }
    others.extend(arbitrary_values(plan, mesh, &mut names, &faces));
    geom.extend(arb_geom_params(others));
    plan.objects[object].properties.push(Property {
        name: ".geom".into(),
        meta: format!("schema={schema};schemaBaseType=AbcGeom_GeomBase_v1"),
        content: Content::Compound(geom),
    });
    object
}

/// Splits off the first uv set and the normals, for which a schema has properties, from all other uv sets.
fn uvs_and_normals<'a>(
    plan: &mut ArchivePlan<'a>,
    mesh: &'a Mesh,
    names: &mut HashSet<String>,
    faces: &Rc<CornerReverser<'a>>,
) -> (Vec<Property>, Vec<Property>) {
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for (number, uv) in mesh.uvs.iter().enumerate() {
        match number {
            0 => own.extend(attribute(plan, uv, "uv", ("vector", 2), faces)),
            _ => others.extend(attribute(plan, uv, &unused_name(names, &uv.name), ("vector", 2), faces)),
        }
    }
    if let Some(normals) = &mesh.normals {
        own.extend(attribute(plan, normals, "N", ("normal", 3), faces));
    }
    (own, others)
}

/// Returns type, wrap, basis and once more basis of curves, the bytes of `curveBasisAndType`.
fn curve_basis_and_type(curves: &Curves) -> Vec<u8> {
    let (kind, basis) = match curves.basis {
        CurveBasis::Linear => (1, 0),
        CurveBasis::Bezier => (0, 1),
        CurveBasis::BSpline => (0, 2),
        CurveBasis::CatmullRom => (0, 3),
    };
    vec![kind, u8::from(curves.curve_ends == CurveEnds::Closed), basis, basis]
}

/// Adds colours and custom attributes.
fn arbitrary_values<'a>(
    plan: &mut ArchivePlan<'a>,
    mesh: &'a Mesh,
    names: &mut HashSet<String>,
    faces: &Rc<CornerReverser<'a>>,
) -> Vec<Property> {
    let mut out = Vec::new();
    for colours in &mesh.colours {
        let name = unused_name(names, &colours.name);
        out.extend(attribute(plan, colours, &name, ("rgba", 4), faces));
    }
    for numbers in &mesh.custom_attributes {
        let name = unused_name(names, &numbers.attribute.name);
        let form = ("", numbers.components);
        out.extend(attribute(plan, &numbers.attribute, &name, form, faces));
    }
    out
}

/// Returns the compound of custom properties, if there are any.
fn arb_geom_params(others: Vec<Property>) -> Option<Property> {
    let there = !others.is_empty();
    there.then(|| Property {
        name: ".arbGeomParams".into(),
        meta: String::new(),
        content: Content::Compound(others),
    })
}

fn schema_meta(schema: &str, compound: &str) -> String {
    format!("schema={schema};schemaBaseType=AbcGeom_GeomBase_v1;schemaObjTitle={schema}:{compound}")
}

/// Returns a property name that is not taken yet.
fn unused_name(names: &mut HashSet<String>, name: &str) -> String {
    let base = if name.is_empty() { "unnamed" } else { name }.replace('/', "_");
    let mut free = base.clone();
    let mut number = 1;
    while !names.insert(free.clone()) {
        number += 1;
        free = format!("{base}_{number}");
    }
    free
}

const BOX: &str = "interpretation=box";
/// The empty box: minimum above maximum.
const EMPTY_BOX: [f64; 6] = [f64::MAX, f64::MAX, f64::MAX, f64::MIN, f64::MIN, f64::MIN];

/// Adds an empty box: the library demands bounds of everything that has a geometry schema, even of face sets.
fn empty_box(plan: &mut ArchivePlan) -> Property {
    let payload = EMPTY_BOX.iter().flat_map(|v| v.to_le_bytes()).collect();
    plan.constant(".selfBnds", BOX, Pod::F64, 6, payload)
}

/// Adds `P`, and `.selfBnds`, which is computed from it while it is written.
fn positions<'a>(plan: &mut ArchivePlan<'a>, mesh: &'a Mesh) -> Vec<Property> {
    const META: &str = "geoScope=vtx;interpretation=point";
    let channel = &mesh.positions;
    if channel.is_empty() {
        let none = required(plan, "P", META, channel, None);
        return vec![empty_box(plan), none];
    }
    let bounds = Rc::new(Cell::new(EMPTY_BOX));
    let found = bounds.clone();
    let mut values = Vec::new();
    let p = plan.channel("P", META, channel, (false, Pod::F32, 3), move |i, out| {
        channel.read(i, &mut values)?;
        let mut b = EMPTY_BOX;
        for p in &values {
            for (axis, &v) in p.iter().enumerate() {
                b[axis] = b[axis].min(v.into());
                b[axis + 3] = b[axis + 3].max(v.into());
            }
            out.extend(p.iter().flat_map(|v| v.to_le_bytes()));
        }
        found.set(b);
        Ok(())
    });
    let bounds = plan.channel(".selfBnds", BOX, channel, (true, Pod::F64, 6), move |_, out| {
        out.extend(bounds.get().iter().flat_map(|v| v.to_le_bytes()));
        Ok(())
    });
    vec![bounds, p]
}

/// A value whose numbers are written to a payload.
pub(super) trait Element: Clone + Send + Sync + 'static {
    const POD: Pod;
    const EXTENT: usize;
    /// Appends the first `extent` numbers.
    fn push_numbers(&self, extent: usize, out: &mut Vec<u8>);
}

macro_rules! element {
    ($type:ty, $pod:ident) => {
        impl Element for $type {
            const POD: Pod = Pod::$pod;
            const EXTENT: usize = 1;
            fn push_numbers(&self, _: usize, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }
    };
}
element!(i32, I32);
element!(u32, U32);
element!(u64, U64);

impl<const N: usize> Element for [f32; N] {
    const POD: Pod = Pod::F32;
    const EXTENT: usize = N;
    fn push_numbers(&self, extent: usize, out: &mut Vec<u8>) {
        out.extend(self.iter().take(extent).flat_map(|v| v.to_le_bytes()));
    }
}

/// Like [`array`], but with one empty sample if the channel has none.
fn required<'a, T: Element>(
    plan: &mut ArchivePlan<'a>,
    name: &str,
    meta: &str,
    channel: &'a Channel<T>,
    faces: Option<Rc<CornerReverser<'a>>>,
) -> Property {
    if channel.is_empty() {
        return plan.leaf(name, meta, empty_leaf(false, T::POD, T::EXTENT, 0, 1));
    }
    array(plan, name, meta, channel, faces)
}

/// Adds a channel as it is, or, with `faces`, in the order of their reversed corners.
fn array<'a, T: Element>(
    plan: &mut ArchivePlan<'a>,
    name: &str,
    meta: &str,
    channel: &'a Channel<T>,
    faces: Option<Rc<CornerReverser<'a>>>,
) -> Property {
    narrow(plan, name, meta, channel, faces, T::EXTENT)
}

/// Adds an attribute of four numbers per element as one of its first `extent` numbers.
fn narrow<'a, T: Element>(
    plan: &mut ArchivePlan<'a>,
    name: &str,
    meta: &str,
    channel: &'a Channel<T>,
    faces: Option<Rc<CornerReverser<'a>>>,
    extent: usize,
) -> Property {
    let faces = faces.filter(|f| f.reverse);
    // Equal values on other faces differ once the faces are reversed.
    let by_faces = faces.clone();
    let mut values = Vec::new();
    let mut property = plan.channel(name, meta, channel, (false, T::POD, extent), move |i, out| {
        channel.read(i, &mut values)?;
        if let Some(faces) = &faces {
            faces.reverse(&mut values, channel.time(i))?;
        }
        out.reserve(values.len() * 4 * extent);
        values.iter().for_each(|v| v.push_numbers(extent, out));
        Ok(())
    });
    if let (Some(faces), Content::Leaf(index)) = (by_faces, &mut property.content) {
        let leaf: &mut Leaf<'a> = &mut plan.leaves[*index];
        leaf.identity = Box::new(move |i| {
            let both = [channel.identity(i), faces.identity(channel.time(i))];
            Some(murmur3(&both.map(u128::to_le_bytes).concat()))
        });
    }
    property
}

/// Adds a geometry parameter of the first `components` numbers: plain, or a compound of palette and indices.
/// `None` if it has no samples.
fn attribute<'a, const N: usize>(
    plan: &mut ArchivePlan<'a>,
    attribute: &'a Attribute<[f32; N]>,
    name: &str,
    (interpretation, components): (&str, usize),
    faces: &Rc<CornerReverser<'a>>,
) -> Option<Property> {
    let scope = match attribute.scope {
        Scope::Constant => "con",
        Scope::Uniform => "uni",
        Scope::Varying => "var",
        Scope::Vertex => "vtx",
        Scope::FaceVarying => "fvr",
    };
    let mut meta = format!(
        "arrayExtent=1;geoScope={scope};interpretation={interpretation};isGeomParam=true;podExtent={components};podName=float32_t"
    );
    let own = attribute.name.replace([';', '='], "_");
    if name == "uv" && !own.is_empty() && own != name {
        meta += &format!(";sourceName={own}");
    }
    let corners = (attribute.scope == Scope::FaceVarying).then(|| faces.clone());
    if attribute.values.is_empty() {
        return None;
    }
    let Some(indices) = attribute.indices.as_ref().filter(|i| !i.is_empty()) else {
        return Some(narrow(plan, name, &meta, &attribute.values, corners, components));
    };
    let both = match attribute.values.len() == indices.len() {
        true => distinct(plan, &attribute.values, indices, &meta, components, corners),
        false => vec![
            narrow(plan, ".vals", &meta, &attribute.values, None, components),
            array(plan, ".indices", "", indices, corners),
        ],
    };
    Some(Property { name: name.into(), meta, content: Content::Compound(both) })
}

/// The palette of one sample without duplicates, and indices into it.
struct Palette<'a, const N: usize> {
    values: &'a Channel<[f32; N]>,
    indices: &'a Channel<u32>,
    /// Index of the sample that is held.
    held: Option<usize>,
    values_without_duplicates: Vec<[f32; N]>,
    value_indices: Vec<u32>,
}

impl<const N: usize> Palette<'_, N> {
    fn load(&mut self, i: usize) -> Result<(), Error> {
        if self.held == Some(i) {
            return Ok(());
        }
        self.held = None;
        let mut values = Vec::new();
        self.values.read(i, &mut values)?;
        self.indices.read(i, &mut self.value_indices)?;
        let mut list = DistinctValues::new();
        let mut now = vec![u32::MAX; values.len()];
        for index in &mut self.value_indices {
            // An index out of range stays so.
            let Some(slot) = now.get_mut(*index as usize) else {
                *index = u32::MAX;
                continue;
            };
            if *slot == u32::MAX {
                let value = values[*index as usize];
                *slot = list.insert(value.map(f32::to_bits), value);
            }
            *index = *slot;
        }
        self.values_without_duplicates = list.list;
        self.held = Some(i);
        Ok(())
    }

    fn identity(&self, i: usize) -> Identity {
        let both = [self.values.identity(i), self.indices.identity(i)];
        murmur3(&both.map(u128::to_le_bytes).concat())
    }
}

/// Adds `.vals` and `.indices` of a palette with as many samples as its indices: each value once.
fn distinct<'a, const N: usize>(
    plan: &mut ArchivePlan<'a>,
    values: &'a Channel<[f32; N]>,
    indices: &'a Channel<u32>,
    meta: &str,
    components: usize,
    faces: Option<Rc<CornerReverser<'a>>>,
) -> Vec<Property> {
    let palette = Rc::new(RefCell::new(Palette {
        values,
        indices,
        held: None,
        values_without_duplicates: Vec::new(),
        value_indices: Vec::new(),
    }));
    let faces = faces.filter(|f| f.reverse);
    let form = (false, Pod::F32, components);
    let (of_values, same_values) = (palette.clone(), palette.clone());
    let vals = plan.channel(".vals", meta, values, form, move |i, out| {
        let mut palette = of_values.borrow_mut();
        palette.load(i)?;
        palette.values_without_duplicates.iter().for_each(|v| v.push_numbers(components, out));
        Ok(())
    });
    let (of_indices, by_faces) = (palette.clone(), faces.clone());
    let form = (false, Pod::U32, 1);
    let numbers = plan.channel(".indices", "", indices, form, move |i, out| {
        let mut palette = of_indices.borrow_mut();
        palette.load(i)?;
        let mut of = palette.value_indices.clone();
        if let Some(faces) = &by_faces {
            faces.reverse(&mut of, indices.time(i))?;
        }
        of.iter().for_each(|v| v.push_numbers(1, out));
        Ok(())
    });
    if let Content::Leaf(leaf) = vals.content {
        plan.leaves[leaf].identity = Box::new(move |i| Some(same_values.borrow().identity(i)));
    }
    if let Content::Leaf(leaf) = numbers.content {
        plan.leaves[leaf].identity = Box::new(move |i| {
            let turned = faces.as_ref().map_or(0, |f| f.identity(indices.time(i)));
            let both = [palette.borrow().identity(i), turned];
            Some(murmur3(&both.map(u128::to_le_bytes).concat()))
        });
    }
    vec![vals, numbers]
}

/// The faces at a time, for reversing the values of their corners.
struct CornerReverser<'a> {
    counts: &'a Channel<i32>,
    reverse: bool,
    /// Index of the sample that is held, and its values.
    current: RefCell<(Option<usize>, Vec<i32>)>,
}

impl CornerReverser<'_> {
    fn identity(&self, time: f64) -> Identity {
        match self.counts.is_empty() {
            true => 0,
            false => self.counts.identity(self.counts.locate(time).0),
        }
    }

    /// Reverses each face's values, if there is one for every corner; the first stays the first.
    fn reverse<T>(&self, values: &mut [T], time: f64) -> Result<(), Error> {
        if self.counts.is_empty() {
            return Ok(());
        }
        let mut current = self.current.borrow_mut();
        let (held, counts) = &mut *current;
        let (sample, _) = self.counts.locate(time);
        if *held != Some(sample) {
            *held = None;
            self.counts.read(sample, counts)?;
            *held = Some(sample);
        }
        let size = |n: &i32| usize::try_from(*n).unwrap_or(0);
        if counts.iter().map(size).sum::<usize>() != values.len() {
            return Ok(());
        }
        let mut rest = values;
        for n in counts.iter().map(size) {
            let (face, others) = rest.split_at_mut(n);
            if let Some((_, after)) = face.split_first_mut() {
                after.reverse();
            }
            rest = others;
        }
        Ok(())
    }
}
