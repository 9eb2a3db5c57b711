//! Writes a folder of OBJ files, one per frame: all visible meshes in world space, one `o` each, with uvs,
//! normals and materials by name.

use super::corners::{DistinctValues, PerCorner, face_set_indices};
use super::polygon::usable_faces;
use super::temporary::{Temporary, path_in_folder};
use super::vertices::normal_matrix;
use glam::{DMat4, DVec3};
use meshreel_scene::sample::{Faces, World, faces_at, positions_at};
use meshreel_scene::{Error, Mesh, PlacedObject, Remark, Scene, Winding};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// Writes one file with everything visible at `time`; it is complete or absent.
pub fn write_frame(target: &Path, scene: &Scene, time: f64) -> Result<Vec<Remark>, Error> {
    let placed = scene.expand()?;
    let names = object_names(&placed);
    let mut world = World::new(scene, &placed)?;
    let mut remarks = BTreeSet::new();
    let mut frame = ObjText::default();
    frame.fill_with_scene((scene, &placed, &names), &mut world, time, &mut remarks)?;
    frame.write_file(target)?;
    Ok(remarks.into_iter().collect())
}

/// Writes `folder/NAME.0001.obj` and so on; NAME is the folder's name. The folder is created if needed; each
/// file is complete or absent. `progress` is called with the frames done and their number.
pub fn write(
    folder: &Path,
    scene: &Scene,
    times: &[f64],
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Remark>, Error> {
    meshreel_files::create_folder(folder).map_err(|e| Error::io(folder, e))?;
    let real = folder.canonicalize();
    let name = real.as_deref().unwrap_or(folder).file_name();
    let name = name.map_or("frame".into(), |name| name.to_string_lossy().into_owned());
    let placed = scene.expand()?;
    let names = object_names(&placed);
    let mut world = World::new(scene, &placed)?;
    let digits = times.len().to_string().len().max(4);
    let mut remarks = BTreeSet::new();
    let mut frame = ObjText::default();
    for (i, &time) in times.iter().enumerate() {
        frame.fill_with_scene((scene, &placed, &names), &mut world, time, &mut remarks)?;
        frame.write_file(&path_in_folder(folder, &format!("{name}.{:0digits$}.obj", i + 1))?)?;
        progress(i + 1, times.len());
    }
    Ok(remarks.into_iter().collect())
}

/// Returns paths as object names: without the first '/', and with '_' for the others, as many programs accept
/// no path here. Equal names get another '_', and if still equal, a number.
fn object_names(placed: &[PlacedObject]) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut more: HashMap<String, usize> = HashMap::new();
    let name = |p: &PlacedObject| {
        let clean = |c: char| if c == '/' || c.is_control() { '_' } else { c };
        let mut name: String = p.path.trim_start_matches('/').chars().map(clean).collect();
        if !seen.insert(name.clone()) {
            name.push('_');
            while !seen.insert(name.clone()) {
                // Numbering continues, so that many equal names stay cheap.
                let number = more.entry(name.trim_end_matches(char::is_numeric).into()).or_insert(1);
                *number += 1;
                name.truncate(name.trim_end_matches(char::is_numeric).len());
                name.push_str(&number.to_string());
            }
        }
        name
    };
    placed.iter().map(name).collect()
}

/// The text of one file, and the number of values of each kind in it so far.
#[derive(Default)]
struct ObjText {
    text: String,
    points: u32,
    uvs: u32,
    normals: u32,
}

impl ObjText {
    fn clear(&mut self) {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        text.push_str("# meshreel\n");
        *self = ObjText { text, ..ObjText::default() };
    }

    /// Appends everything visible at a time.
    fn fill_with_scene(
        &mut self,
        (scene, placed, names): (&Scene, &[PlacedObject], &[String]),
        world: &mut World<'_>,
        time: f64,
        remarks: &mut BTreeSet<Remark>,
    ) -> Result<(), Error> {
        world.evaluate(time)?;
        self.clear();
        for (p, object) in placed.iter().enumerate() {
            if let Some(mesh) = scene.nodes[object.node].mesh
                && world.visible[p]
            {
                let (matrix, mesh) = (&world.matrix[p], &scene.meshes[mesh]);
                self.mesh(&names[p], mesh, matrix, time, &object.path, remarks)?;
            }
        }
        Ok(())
    }

    fn write_file(&self, target: &Path) -> Result<(), Error> {
        let file = Temporary::create(target)?;
        let mut out = file.file();
        out.write_all(self.text.as_bytes()).map_err(|e| Error::io(file.target(), e))?;
        file.publish()
    }

    fn mesh(
        &mut self,
        name: &str,
        mesh: &Mesh,
        matrix: &DMat4,
        time: f64,
        path: &str,
        remarks: &mut BTreeSet<Remark>,
    ) -> Result<(), Error> {
        let mut positions = Vec::new();
        let mut faces = Faces::default();
        positions_at(mesh, time, &mut positions)?;
        faces_at(mesh, time, &mut faces)?;
        let usable = usable_faces(&faces, positions.len());
        if usable.broken > 0 {
            remarks.insert(Remark::new(path, "faces that refer to points that are not there were left out"));
        }
        remark_left_out(mesh, path, remarks);
        let colours = mesh.colours.first().map(|a| PerCorner::read(a, mesh, time)).transpose()?;
        let colours = colours.filter(|c| {
            let whole = !c.splits() && mesh.colours.len() == 1;
            if !whole {
                remarks
                    .insert(Remark::new(path, "OBJ holds one colour per point; other colours were left out"));
            }
            !c.splits()
        });
        let out = &mut self.text;
        let _ = writeln!(out, "o {name}");
        for (i, p) in positions.iter().enumerate() {
            let p = matrix.transform_point3(DVec3::from_array(p.map(f64::from)));
            let (x, y, z) = (p.x as f32, p.y as f32, p.z as f32);
            match colours.as_ref().map(|c| c.value(i, 0, 0).unwrap_or([1.0; 4])) {
                None => line(out, "v", &[x, y, z]),
                Some([r, g, b, _]) => line(out, "v", &[x, y, z, r, g, b]),
            }
        }
        let corners = Corners::read(mesh, time, &faces, &usable.list)?;
        corners.uvs.iter().for_each(|v| line(out, "vt", v));
        let turn = normal_matrix(matrix);
        for n in &corners.normals {
            let n = (turn * DVec3::from_array(n.map(f64::from))).normalize_or_zero();
            line(out, "vn", &[n.x as f32, n.y as f32, n.z as f32]);
        }
        let sets = face_set_indices(mesh, &faces, time)?;
        // A mirroring transform reverses faces; so does clockwise winding.
        let reverse = (matrix.determinant() < 0.0) != (mesh.winding == Winding::Clockwise);
        self.faces(mesh, &faces, &usable.list, &sets, &corners, reverse);
        self.points += positions.len() as u32;
        self.uvs += corners.uvs.len() as u32;
        self.normals += corners.normals.len() as u32;
        Ok(())
    }

    /// Writes the usable faces, those of each set together under its name.
    fn faces(
        &mut self,
        mesh: &Mesh,
        faces: &Faces,
        usable: &[(u32, u32, u32)],
        sets: &[Option<u32>],
        corners: &Corners,
        reverse: bool,
    ) {
        let out = &mut self.text;
        let mut current = None;
        let mut corner = 0;
        for &(face, first, count) in usable {
            let set = sets[face as usize];
            if !mesh.face_sets.is_empty() && current != Some(set) {
                let name = set.map_or("none", |s| &mesh.face_sets[s as usize].name);
                let _ = writeln!(out, "usemtl {}", name.replace(char::is_control, "_"));
                current = Some(set);
            }
            out.push('f');
            for k in 0..count {
                // The first corner stays the first.
                let k = if reverse { (count - k) % count } else { k };
                let point = self.points + 1 + faces.indices[(first + k) as usize] as u32;
                let at = corner + k as usize;
                let uv = corners.uv_of.get(at).map(|u| self.uvs + 1 + u);
                let normal = corners.normal_of.get(at).map(|n| self.normals + 1 + n);
                let _ = match (uv, normal) {
                    (None, None) => write!(out, " {point}"),
                    (Some(uv), None) => write!(out, " {point}/{uv}"),
                    (None, Some(normal)) => write!(out, " {point}//{normal}"),
                    (Some(uv), Some(normal)) => write!(out, " {point}/{uv}/{normal}"),
                };
            }
            out.push('\n');
            corner += count as usize;
        }
    }
}

fn remark_left_out(mesh: &Mesh, path: &str, remarks: &mut BTreeSet<Remark>) {
    if mesh.uvs.len() > 1 {
        remarks.insert(Remark::new(path, "OBJ holds one uv set; the others were left out"));
    }
    if !mesh.custom_attributes.is_empty() || mesh.velocities.is_some() {
        remarks.insert(Remark::new(path, "OBJ holds no attributes; they were left out"));
    }
}

/// Uvs and normals of the corners of usable faces, each distinct value once.
struct Corners {
    uvs: Vec<[f32; 2]>,
    normals: Vec<[f32; 3]>,
    /// Index of the uv of each corner; empty without uvs.
    uv_of: Vec<u32>,
    /// Index of the normal of each corner; empty without normals.
    normal_of: Vec<u32>,
}

impl Corners {
    fn read(mesh: &Mesh, time: f64, faces: &Faces, usable: &[(u32, u32, u32)]) -> Result<Corners, Error> {
        let uvs = mesh.uvs.first().map(|a| PerCorner::read(a, mesh, time)).transpose()?;
        let normals = mesh.normals.as_ref().map(|a| PerCorner::read(a, mesh, time)).transpose()?;
        let mut uv_list: DistinctValues<[f32; 2], [u32; 2]> = DistinctValues::new();
        let mut normal_list: DistinctValues<[f32; 3], [u32; 3]> = DistinctValues::new();
        let (mut uv_of, mut normal_of) = (Vec::new(), Vec::new());
        for &(face, first, count) in usable {
            for corner in first..first + count {
                let point = faces.indices[corner as usize] as usize;
                if let Some(uvs) = &uvs {
                    let value = uvs.value(point, face as usize, corner as usize).unwrap_or_default();
                    uv_of.push(uv_list.insert(value.map(f32::to_bits), value));
                }
                if let Some(normals) = &normals {
                    let value = normals.value(point, face as usize, corner as usize).unwrap_or_default();
                    normal_of.push(normal_list.insert(value.map(f32::to_bits), value));
                }
            }
        }
        Ok(Corners { uvs: uv_list.list, normals: normal_list.list, uv_of, normal_of })
    }
}

/// Appends numbers in the shortest form that gives the same f32 back.
fn line(out: &mut String, keyword: &str, values: &[f32]) {
    out.push_str(keyword);
    for &v in values {
        let plain = v == 0.0 || (1e-5..1e9).contains(&v.abs()) || !v.is_finite();
        let _ = if plain { write!(out, " {v}") } else { write!(out, " {v:e}") };
    }
    out.push('\n');
}
