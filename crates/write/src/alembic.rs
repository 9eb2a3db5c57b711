//! Scene → Alembic (Ogawa), as Blender, Maya and Houdini open it.
//!
//! The scene is walked twice: first the tree of objects and properties is planned, then sample 0 of every
//! property is read and written, then sample 1, and so on, so that a source which decodes frame by frame
//! decodes each frame once. Headers and groups follow when all samples are in the file; memory holds one
//! sample and a few bytes per sample.
//!
//! Alembic's faces are clockwise: in a scene with counter-clockwise faces they are reversed, with all values
//! of their corners.

mod camera;
mod clips;
mod mesh;
mod objects;
mod ogawa;
mod plan;
mod property;
#[cfg(test)]
mod tests;

use meshreel_scene::layout::alembic::murmur3;
use meshreel_scene::{Error, Remark, Scene};
use ogawa::{NO_CHILDREN, Ogawa, Reference};
use plan::ArchivePlan;
use property::{MetaTable, write_compound};
use std::path::Path;

/// Version of Alembic's Ogawa layout.
const OGAWA_LAYOUT_VERSION: i32 = 0;
/// The library version that the files state: 1.8.0.
const WRITTEN_LIBRARY_VERSION: i32 = 10_800;

/// Called with the number of samples written and the number in all, of the property that has the most.
pub type Progress<'a> = dyn FnMut(usize, usize) + 'a;

/// Writes `scene` to `path`, which is replaced only when the new file is complete.
///
/// Nodes that the model has no data for (lights …) are left out, unless something that is written lies below
/// them; then they become plain transforms. A mesh with a transform of its own becomes a transform with the
/// mesh below it, named after it with the suffix `Shape`. The joints of a clip become transforms, below a
/// group of the clip's name unless the clip is all there is. Remarks tell what an archive cannot hold.
pub fn write(path: &Path, scene: &Scene, progress: &mut Progress) -> Result<Vec<Remark>, Error> {
    let mut plan = ArchivePlan::new(scene);
    let mut out = Ogawa::create(path)?;
    let version = out.data(&OGAWA_LAYOUT_VERSION.to_le_bytes())?;
    let library = out.data(&WRITTEN_LIBRARY_VERSION.to_le_bytes())?;

    let total = plan.leaves.iter().map(|leaf| leaf.samples).max().unwrap_or(0);
    let mut buffer = Vec::new();
    for i in 0..total {
        for leaf in plan.leaves.iter_mut().filter(|l| i < l.samples && !l.written_last) {
            leaf.write(i, &mut out, &mut buffer)?;
        }
        progress(i + 1, total);
    }
    for leaf in plan.leaves.iter_mut().filter(|l| l.written_last) {
        leaf.write(0, &mut out, &mut buffer)?;
    }

    let mut table = MetaTable::default();
    let top = write_objects(&plan, &mut table, &mut out)?;
    let meta = out.data(plan.meta.as_bytes())?;
    let samplings = out.data(&plan.samplings.bytes(&plan.leaves))?;
    let table = out.data(&table.bytes)?;
    let root = out.group(&[version, library, top, meta, samplings, table])?;
    out.finish(root)?;
    Ok(clips::remarks_on_left_out(&scene.clips))
}

/// Writes all objects, children before parents, and returns the root object.
fn write_objects(plan: &ArchivePlan, table: &mut MetaTable, out: &mut Ogawa) -> Result<Reference, Error> {
    struct WrittenObject {
        reference: Reference,
        /// Hashes of the object's properties and of its subtree: equal for equal subtrees.
        hashes: [u128; 2],
    }
    let mut done: Vec<Option<WrittenObject>> = plan.objects.iter().map(|_| None).collect();
    let mut top = NO_CHILDREN;
    // Parents stand before their children, so in reverse every object finds its children done.
    for (index, object) in plan.objects.iter().enumerate().rev() {
        let mut known_by = Vec::new();
        let compound = write_compound(&object.properties, &plan.leaves, table, out, &mut known_by)?;
        let mut group = vec![compound];
        let mut headers = Vec::new();
        let mut under = Vec::new();
        for &child in &object.children {
            let header = &plan.objects[child];
            let number = table.number(&header.meta);
            headers.extend_from_slice(&(header.name.len() as u32).to_le_bytes());
            headers.extend_from_slice(header.name.as_bytes());
            headers.push(number);
            if number == 255 {
                headers.extend_from_slice(&(header.meta.len() as u32).to_le_bytes());
                headers.extend_from_slice(header.meta.as_bytes());
            }
            if let Some(child) = done[child].take() {
                group.push(child.reference);
                under.extend(child.hashes.iter().flat_map(|h| h.to_le_bytes()));
            }
        }
        under.extend_from_slice(&headers);
        let hashes = [murmur3(&known_by), murmur3(&under)];
        headers.extend(hashes.iter().flat_map(|h| h.to_le_bytes()));
        group.push(out.data(&headers)?);
        top = out.group(&group)?;
        done[index] = Some(WrittenObject { reference: top, hashes });
    }
    Ok(top)
}
