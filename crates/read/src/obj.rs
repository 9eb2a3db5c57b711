//! Wavefront OBJ: polygons with texture coordinates, normals and vertex colours; one mesh per `o`, face sets
//! from `usemtl` (or from `g`, where no material is used).
//!
//! The file is read in one pass through a small buffer. Only the polygonal part of the format is understood;
//! lines, points, curves and surfaces are left out with a remark. Faces are wound counter-clockwise.

use super::lines::{Lines, Words, trim};
use super::parsed_mesh::{self, BAD_FACE, NO_FACES, ParsedAttribute, ParsedMesh, SMALL_FACE, Tally};
use super::{ReadOptions, points};
use meshreel_scene::number;
use meshreel_scene::{Error, Remark, Scene, Scope, Topology};
use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

/// Upper limit for the `o` statements in one file.
const MAX_OBJECTS: usize = 100_000;
/// Error for a file without points.
const NO_POINTS: &str = "no points: not an OBJ file, or an empty one";
/// Remark about unknown statements.
const UNKNOWN_STATEMENTS: &str = "statements that are not known were left out";
/// Index that marks a corner without this attribute.
const NO_INDEX: u32 = u32::MAX;

/// Opens one OBJ file; with [`ReadOptions::points`] its points are animated by that point cache.
pub fn open(path: &Path, options: &ReadOptions) -> Result<(Scene, Vec<Remark>), Error> {
    let file = meshreel_files::open(path).map_err(|e| Error::io(path, e))?;
    let mut tally = Tally::default();
    let shapes = parse(file, path, options.points.is_some(), &mut tally)?;
    if shapes.is_empty() {
        return Err(Error::malformed(path, NO_POINTS, "end of file"));
    }
    let mut remarks = tally.remarks(&path.display().to_string());
    let mut scene = parsed_mesh::constant_scene("obj", shapes, &parsed_mesh::stem(path));
    if let Some(cache) = &options.points {
        let cache = points::open(cache, options.source_fps, &mut remarks)?;
        let [mesh] = scene.meshes.as_mut_slice() else {
            return Err(Error::malformed(path, "no points", "end of file"));
        };
        let mut own = Vec::new();
        mesh.positions.read(0, &mut own)?;
        if own.len() as u64 != cache.points {
            return Err(Error::malformed(
                &cache.path,
                format!("{} points per frame, but {} has {}", cache.points, path.display(), own.len()),
                "header",
            ));
        }
        if cache.positions.len() > 1 {
            mesh.topology = Topology::Homogeneous;
        }
        scene.nodes[0].samples = cache.positions.len();
        mesh.positions = cache.positions;
    }
    Ok((scene, remarks))
}

/// Reads the meshes of an OBJ file. With `one_mesh`, or without `o` statements, all points make one mesh, in
/// the file's order. Otherwise each object has the points declared in it or, if it also uses others, those it
/// uses. An empty file has no meshes.
pub(crate) fn parse(
    input: impl Read,
    path: &Path,
    one_mesh: bool,
    tally: &mut Tally,
) -> Result<Vec<ParsedMesh>, Error> {
    let mut lines = Lines::new(input, true);
    let mut pool = ObjElements { objects: vec![Object::default()], ..ObjElements::default() };
    loop {
        match lines.next() {
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(e) => return Err(Error::io(path, e)),
        }
        // Ends the borrow of the line before its number is needed.
        let (line, number) = lines.current();
        let line = if number == 1 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        if let Err(what) = pool.statement(line, number, one_mesh, tally) {
            return Err(Error::malformed(path, what, format!("line {number}")));
        }
    }
    if pool.points.is_empty() {
        // A file with no content at all is an empty OBJ file; one with other content is not an OBJ file.
        return match pool.face_counts.is_empty() && !tally.has(UNKNOWN_STATEMENTS) {
            true => Ok(Vec::new()),
            false => Err(Error::malformed(path, NO_POINTS, "end of file")),
        };
    }
    for (limit, what) in [
        (pool.points.len(), "points"),
        (pool.corners.len(), "face corners"),
        (pool.uvs.len(), "uvs"),
        (pool.normals.len(), "normals"),
    ] {
        if limit > i32::MAX as usize {
            return Err(Error::limit(path, what, limit as u64, i32::MAX as u64));
        }
    }
    Ok(pool.into_meshes(tally))
}

/// All elements of the file, numbered as in the file: across objects.
#[derive(Default)]
struct ObjElements {
    points: Vec<[f32; 3]>,
    /// Empty until the first point with a colour is read.
    colours: Vec<Option<[f32; 4]>>,
    uvs: Vec<[f32; 2]>,
    normals: Vec<[f32; 3]>,
    face_counts: Vec<i32>,
    /// Point index of each corner, from 0; may be out of range until the whole file is read. The index lists
    /// of the two attributes stay empty until a corner has that attribute.
    corners: Vec<u32>,
    uv_corners: Vec<u32>,
    normal_corners: Vec<u32>,
    objects: Vec<Object>,
    materials: NamedRuns,
    groups: NamedRuns,
}

/// An object of the file, as the index of its first element in each list.
#[derive(Default, Clone)]
struct Object {
    name: Option<String>,
    point: usize,
    uv: usize,
    normal: usize,
    face: usize,
    corner: usize,
}

/// Material or group names, and the face from which each applies.
#[derive(Default)]
struct NamedRuns {
    names: Vec<String>,
    numbers: HashMap<Vec<u8>, u32>,
    runs: Vec<(usize, u32)>,
}

impl NamedRuns {
    fn start(&mut self, name: &[u8], face: usize) {
        let number = match self.numbers.get(name) {
            Some(&number) => number,
            None => {
                let number = self.names.len() as u32;
                self.names.push(String::from_utf8_lossy(name).into_owned());
                self.numbers.insert(name.to_vec(), number);
                number
            }
        };
        if let Some(last) = self.runs.last_mut().filter(|r| r.0 == face) {
            last.1 = number;
        } else if self.runs.last().is_none_or(|r| r.1 != number) {
            self.runs.push((face, number));
        }
    }
}

impl ObjElements {
    fn statement(
        &mut self,
        line: &[u8],
        number: u64,
        one_mesh: bool,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let mut words = Words(line);
        let Some(keyword) = words.next() else {
            return Ok(());
        };
        match keyword {
            b"v" => self.point(words),
            b"vt" => {
                let (values, n) = floats::<3>(words, "vt")?;
                if n == 0 {
                    return Err("a texture coordinate without numbers".into());
                }
                self.uvs.push([values[0], values[1]]);
                Ok(())
            }
            b"vn" => {
                let (values, n) = floats::<3>(words, "vn")?;
                if n < 3 {
                    return Err("a normal with fewer than 3 numbers".into());
                }
                self.normals.push(values);
                Ok(())
            }
            b"f" | b"fo" => self.face(words, number, tally),
            b"o" if !one_mesh => self.object(trim(words.0)),
            b"g" => {
                self.groups.start(trim(words.0), self.face_counts.len());
                Ok(())
            }
            b"usemtl" => {
                self.materials.start(trim(words.0), self.face_counts.len());
                Ok(())
            }
            b"o" | b"s" | b"mtllib" | b"usemap" | b"maplib" | b"mg" | b"vp" | b"bevel" | b"c_interp"
            | b"d_interp" | b"lod" | b"shadow_obj" | b"trace_obj" => Ok(()),
            b"l" | b"p" | b"curv" | b"curv2" | b"surf" => {
                tally.add("lines, points, curves and surfaces are not polygons and were left out", || {
                    line_label(number)
                });
                Ok(())
            }
            b"cstype" | b"deg" | b"bmat" | b"step" | b"parm" | b"trim" | b"hole" | b"scrv" | b"sp"
            | b"end" | b"con" | b"ctech" | b"stech" => Ok(()),
            _ if keyword.starts_with(b"#") => Ok(()),
            _ => {
                tally.add(UNKNOWN_STATEMENTS, || line_label(number));
                Ok(())
            }
        }
    }

    /// Reads `v x y z`, `v x y z w`, `v x y z r g b` or `v x y z r g b a`.
    fn point(&mut self, words: Words<'_>) -> Result<(), String> {
        let (v, n) = floats::<7>(words, "v")?;
        if n < 3 {
            return Err("a point with fewer than 3 coordinates".into());
        }
        if n >= 6 {
            self.colours.resize(self.points.len(), None);
            self.colours.push(Some([v[3], v[4], v[5], if n == 7 { v[6] } else { 1.0 }]));
        }
        self.points.push([v[0], v[1], v[2]]);
        Ok(())
    }

    /// Reads `f 1 2 3`, `f 1/1 …`, `f 1//1 …` or `f 1/1/1 …`; negative indices count back from the last value
    /// read.
    fn face(&mut self, words: Words<'_>, number: u64, tally: &mut Tally) -> Result<(), String> {
        let first = self.corners.len();
        for word in words {
            if word.starts_with(b"#") {
                break;
            }
            let bad = || format!("face corner '{}'", String::from_utf8_lossy(word));
            let (point, mut rest) = number::integer(word).ok_or_else(bad)?;
            let (mut uv, mut normal) = (NO_INDEX, NO_INDEX);
            if let Some(after) = rest.strip_prefix(b"/") {
                rest = after;
                if let Some((index, after)) = number::integer(rest) {
                    uv = resolve(index, self.uvs.len());
                    rest = after;
                }
                if let Some(after) = rest.strip_prefix(b"/") {
                    rest = after;
                    if let Some((index, after)) = number::integer(rest) {
                        normal = resolve(index, self.normals.len());
                        rest = after;
                    }
                }
            }
            if !rest.is_empty() {
                return Err(bad());
            }
            let corner = self.corners.len();
            self.corners.push(resolve(point, self.points.len()));
            push_late(&mut self.uv_corners, corner, uv);
            push_late(&mut self.normal_corners, corner, normal);
        }
        let count = self.corners.len() - first;
        if count < 3 {
            tally.add(SMALL_FACE, || line_label(number));
        }
        self.face_counts.push(i32::try_from(count).map_err(|_| "a face with more than 2^31 corners")?);
        Ok(())
    }

    fn object(&mut self, name: &[u8]) -> Result<(), String> {
        if self.objects.len() > MAX_OBJECTS {
            return Err(format!("more than {MAX_OBJECTS} objects"));
        }
        let start = Object {
            name: Some(String::from_utf8_lossy(name).into_owned()),
            point: self.points.len(),
            uv: self.uvs.len(),
            normal: self.normals.len(),
            face: self.face_counts.len(),
            corner: self.corners.len(),
        };
        match self.objects.last_mut() {
            // No points or faces between two `o` statements: the first one makes no object.
            Some(last) if (last.point, last.face) == (start.point, start.face) => *last = start,
            _ => self.objects.push(start),
        }
        Ok(())
    }

    /// Divides the elements into the meshes of the objects.
    fn into_meshes(mut self, tally: &mut Tally) -> Vec<ParsedMesh> {
        let length = self.corners.len();
        for corners in [&mut self.uv_corners, &mut self.normal_corners] {
            if !corners.is_empty() {
                corners.resize(length, NO_INDEX);
            }
        }
        if !self.colours.is_empty() {
            self.colours.resize(self.points.len(), None);
        }
        let alone = self.objects.len() == 1;
        let mut out = Vec::new();
        let mut objects = std::mem::take(&mut self.objects);
        objects.push(Object {
            name: None,
            point: self.points.len(),
            uv: self.uvs.len(),
            normal: self.normals.len(),
            face: self.face_counts.len(),
            corner: self.corners.len(),
        });
        for pair in objects.windows(2) {
            let (object, next) = (&pair[0], &pair[1]);
            // Points before the first `o` that only later objects use make no object of their own.
            if !alone && object.name.is_none() && object.face == next.face {
                continue;
            }
            let shape = self.object_mesh(object, next, alone, tally);
            if !shape.positions.is_empty() {
                out.push(shape);
            }
        }
        out
    }

    fn object_mesh(&self, object: &Object, next: &Object, alone: bool, tally: &mut Tally) -> ParsedMesh {
        let mut shape = ParsedMesh { name: object.name.clone(), ..ParsedMesh::default() };
        let (faces, corners) = (object.face..next.face, object.corner..next.corner);
        shape.face_counts.reserve(faces.len());
        let mut points = Vec::with_capacity(corners.len());
        let room = |given: &[u32]| Vec::with_capacity(if given.is_empty() { 0 } else { corners.len() });
        let (mut uvs, mut normals) = (room(&self.uv_corners), room(&self.normal_corners));
        // Materials win over groups: both divide the mesh, and only one division can become face sets.
        let sets = if self.materials.runs.is_empty() { &self.groups } else { &self.materials };
        let mut run = sets.runs.partition_point(|r| r.0 <= faces.start).checked_sub(1);
        let mut next_run = run.map_or(0, |r| r + 1);
        let mut set_numbers: HashMap<u32, usize> = HashMap::new();
        let mut corner = corners.start;
        for face in faces {
            let count = self.face_counts[face] as usize;
            let span = corner..corner + count;
            corner = span.end;
            while sets.runs.get(next_run).is_some_and(|r| r.0 <= face) {
                run = Some(next_run);
                next_run += 1;
            }
            if self.corners[span.clone()].iter().any(|&p| p as usize >= self.points.len()) {
                tally.add(BAD_FACE, || format!("face {face}"));
                continue;
            }
            if let Some(run) = run {
                let number = sets.runs[run].1;
                let set = *set_numbers.entry(number).or_insert_with(|| {
                    shape.face_sets.push((sets.names[number as usize].clone(), Vec::new()));
                    shape.face_sets.len() - 1
                });
                shape.face_sets[set].1.push(shape.face_counts.len() as i32);
            }
            shape.face_counts.push(count as i32);
            points.extend_from_slice(&self.corners[span.clone()]);
            uvs.extend_from_slice(self.uv_corners.get(span.clone()).unwrap_or(&[]));
            normals.extend_from_slice(self.normal_corners.get(span).unwrap_or(&[]));
        }
        if shape.face_counts.is_empty() {
            tally.add(NO_FACES, || object.name.clone().unwrap_or_else(|| "the whole file".into()));
        }
        let declared = if alone { 0..self.points.len() } else { object.point..next.point };
        let used = select_elements(&mut points, declared);
        shape.positions = used.select(&self.points);
        if !self.colours.is_empty() {
            // An object without any coloured point has no colours, whatever other objects have.
            let own = used.select(&self.colours);
            if own.iter().any(Option::is_some) {
                if own.iter().any(Option::is_none) {
                    let name = || object.name.clone().unwrap_or_else(|| "the whole file".into());
                    tally.add("some points have colours and some have none; those are white", name);
                }
                let own = own.into_iter().map(|colour| colour.unwrap_or([1.0; 4])).collect();
                shape.colours = Some(ParsedAttribute::unindexed(Scope::Vertex, own));
            }
        }
        shape.face_indices = points.into_iter().map(|p| p as i32).collect();
        shape.uvs = self.corner_uvs(uvs, object.uv..next.uv, tally);
        shape.normals = self.corner_normals(normals, object.normal..next.normal, tally);
        shape
    }

    fn corner_uvs(
        &self,
        mut corners: Vec<u32>,
        declared: Range<usize>,
        tally: &mut Tally,
    ) -> Option<ParsedAttribute<[f32; 2]>> {
        if corners.iter().all(|&c| c as usize >= self.uvs.len()) {
            return None;
        }
        let mut missing: Vec<usize> = Vec::new();
        for (i, c) in corners.iter_mut().enumerate().filter(|(_, c)| **c as usize >= self.uvs.len()) {
            // Any index in use keeps the renumbering below simple.
            *c = declared.start.min(self.uvs.len() - 1) as u32;
            missing.push(i);
        }
        let mut values = select_elements(&mut corners, declared).select(&self.uvs);
        if !missing.is_empty() {
            tally.add(
                "some face corners have texture coordinates and some have none; those are at 0, 0",
                || format!("corner {}", missing[0]),
            );
            missing.iter().for_each(|&i| corners[i] = values.len() as u32);
            values.push([0.0; 2]);
        }
        Some(ParsedAttribute { scope: Scope::FaceVarying, values, indices: Some(corners) })
    }

    fn corner_normals(
        &self,
        mut corners: Vec<u32>,
        declared: Range<usize>,
        tally: &mut Tally,
    ) -> Option<ParsedAttribute<[f32; 3]>> {
        let missing = corners.iter().filter(|c| **c as usize >= self.normals.len()).count();
        if missing > 0 {
            if missing < corners.len() {
                tally.add(
                    "some face corners have normals and some have none; the normals were left out",
                    || "one of the objects".into(),
                );
            }
            return None;
        }
        if corners.is_empty() {
            return None;
        }
        let values = select_elements(&mut corners, declared).select(&self.normals);
        Some(ParsedAttribute { scope: Scope::FaceVarying, values, indices: Some(corners) })
    }
}

/// The elements that an object takes from a list that all objects share.
enum ElementSelection {
    Range(Range<usize>),
    List(Vec<u32>),
}

impl ElementSelection {
    fn select<T: Copy>(&self, pool: &[T]) -> Vec<T> {
        match self {
            ElementSelection::Range(range) => pool[range.clone()].to_vec(),
            ElementSelection::List(list) => list.iter().map(|&i| pool[i as usize]).collect(),
        }
    }
}

/// Renumbers `indices`, all within the pool, to the elements that the object takes: all those it declares if
/// it uses no others (this keeps loose points in place), otherwise those it uses.
fn select_elements(indices: &mut [u32], declared: Range<usize>) -> ElementSelection {
    if indices.iter().all(|&i| declared.contains(&(i as usize))) {
        indices.iter_mut().for_each(|i| *i -= declared.start as u32);
        return ElementSelection::Range(declared);
    }
    let mut list = indices.to_vec();
    list.sort_unstable();
    list.dedup();
    for i in indices {
        *i = list.partition_point(|l| l < i) as u32;
    }
    ElementSelection::List(list)
}

/// Resolves a 1-based index: 1 is the first value, −1 the last one so far; all others, 0 included, become an
/// index that stays out of range.
fn resolve(index: i64, len: usize) -> u32 {
    let zero_based = if index > 0 { index - 1 } else { index + len as i64 };
    if index == 0 { NO_INDEX } else { u32::try_from(zero_based).unwrap_or(NO_INDEX) }
}

/// Sets the index of corner `corner`, filling earlier corners without one with `NO_INDEX`; does nothing if
/// `index` is `NO_INDEX`.
fn push_late(corners: &mut Vec<u32>, corner: usize, index: u32) {
    if index != NO_INDEX {
        corners.resize(corner, NO_INDEX);
        corners.push(index);
    }
}

/// Parses up to `N` numbers; returns them and their count.
#[inline]
fn floats<const N: usize>(words: Words<'_>, of: &str) -> Result<([f32; N], usize), String> {
    let mut out = [0.0; N];
    let mut n = 0;
    for (slot, word) in out.iter_mut().zip(words) {
        if word.starts_with(b"#") {
            break;
        }
        *slot = number::float(word)
            .ok_or_else(|| format!("'{of}' with '{}' for a number", String::from_utf8_lossy(word)))?;
        n += 1;
    }
    Ok((out, n))
}

fn line_label(line: u64) -> String {
    format!("line {line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Result<(Vec<ParsedMesh>, Tally), Error> {
        let mut tally = Tally::default();
        parse(text, Path::new("x.obj"), false, &mut tally).map(|s| (s, tally))
    }

    fn one(text: &str) -> ParsedMesh {
        let (mut shapes, _) = read(text.as_bytes()).unwrap();
        assert_eq!(shapes.len(), 1);
        shapes.remove(0)
    }

    fn remarks(text: &str) -> Vec<String> {
        read(text.as_bytes()).unwrap().1.remarks("x").into_iter().map(|r| r.what).collect()
    }

    const FULL: &str = "# made by hand\r\nmtllib a.mtl\r\nv 0 0 0 1 0 0\r\nv 1 0 0 0 1 0\r\nv 1 1 0 0 0 1\r\nv 0 1 0 1 1 1\r\n\
        vt 0 0\nvt 1 0\nvt 1 1\nvn 0 0 1\nusemtl red paint\nf 1/1/1 2/2/1 \\\n 3/3/1\nusemtl blue\nf -4/-3/-1 -2/-1/-1 -1/-3/-1";

    #[test]
    fn an_object_without_colours_has_none_beside_one_that_has() {
        let plain = "o plain\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
        let half = "o half\nv 0 0 0 1 0 0\nv 1 0 0\nv 0 1 0\nf 4 5 6\n";
        let (shapes, _) = read(format!("{plain}{half}").as_bytes()).unwrap();
        assert!(shapes[0].colours.is_none());
        let white = [1.0; 4];
        assert_eq!(shapes[1].colours.as_ref().unwrap().values, [[1.0, 0.0, 0.0, 1.0], white, white]);
        let said = "some points have colours and some have none; those are white";
        assert!(remarks(&format!("{plain}{half}")).iter().any(|what| what.contains(said)));
        assert!(remarks(plain).is_empty());
    }

    #[test]
    fn everything_of_a_mesh() {
        let shape = one(FULL);
        assert_eq!(shape.name, None);
        assert_eq!(shape.positions[2], [1.0, 1.0, 0.0]);
        assert_eq!(shape.face_counts, [3, 3]);
        assert_eq!(shape.face_indices, [0, 1, 2, 0, 2, 3]);
        let colours = shape.colours.unwrap();
        assert_eq!((colours.scope, colours.values[1]), (Scope::Vertex, [0.0, 1.0, 0.0, 1.0]));
        let uvs = shape.uvs.unwrap();
        assert_eq!(uvs.values.len(), 3);
        assert_eq!(uvs.indices.unwrap(), [0, 1, 2, 0, 2, 0]);
        assert_eq!(shape.normals.unwrap().indices.unwrap(), [0; 6]);
        assert_eq!(shape.face_sets, [("red paint".into(), vec![0]), ("blue".into(), vec![1])]);
        assert!(remarks(FULL).is_empty());
    }

    #[test]
    fn index_forms() {
        let shape = one("v 0 0 0\nv 1 0 0\nv 0 1 0\nvn 0 0 1\nf 1//1 2//1 3//1\nf 1/ 2/ 3/\nf 1 2 3 1 2\n");
        assert_eq!(shape.face_counts, [3, 3, 5]);
        assert!(shape.uvs.is_none());
        // Some corners lack normals, so the shape has none.
        assert!(shape.normals.is_none());
        // Points after the faces that use them.
        assert_eq!(one("f 1 2 3\nv 0 0 0\nv 1 0 0\nv 0 1 0").face_indices, [0, 1, 2]);
        // A byte order mark does not hide the first point.
        assert_eq!(one("\u{feff}v 1 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3").positions.len(), 3);
    }

    #[test]
    fn objects_have_their_own_points() {
        let text = "mtllib x\no a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 9 9 9\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl m\nf 1/1 2/2 3/3\n\
            o b\nv 5 0 0\nv 6 0 0\nv 5 1 0\nvt 0.5 0.5\nf 5/4 6/4 7/4\no c\nf 1/1 5/4 6/4\n";
        let (shapes, tally) = read(text.as_bytes()).unwrap();
        assert!(tally.remarks("").is_empty());
        let names: Vec<_> = shapes.iter().map(|s| s.name.as_deref().unwrap()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        // Loose points stay.
        assert_eq!(shapes[0].positions.len(), 4);
        assert_eq!(shapes[1].positions, [[5.0, 0.0, 0.0], [6.0, 0.0, 0.0], [5.0, 1.0, 0.0]]);
        assert_eq!(shapes[1].face_indices, [0, 1, 2]);
        assert_eq!(shapes[1].uvs.as_ref().unwrap().values, [[0.5, 0.5]]);
        // If points of other objects are used, only the used points are taken.
        assert_eq!(shapes[2].positions, [[0.0; 3], [5.0, 0.0, 0.0], [6.0, 0.0, 0.0]]);
        assert_eq!(shapes[2].face_indices, [0, 1, 2]);
        // The material continues across objects.
        assert!(shapes.iter().all(|s| s.face_sets == [("m".to_string(), vec![0])]));
        let mut tally = Tally::default();
        let all = parse(text.as_bytes(), Path::new("x"), true, &mut tally).unwrap();
        assert_eq!((all.len(), all[0].positions.len(), all[0].face_counts.len()), (1, 7, 3));
    }

    #[test]
    fn groups_are_sets_where_no_material_is() {
        let text = "v 0 0 0\nv 1 0 0\nv 0 1 0\ng left arm\nf 1 2 3\ng right\nf 1 2 3\ng left arm\nf 3 2 1\n";
        assert_eq!(one(text).face_sets, [("left arm".into(), vec![0, 2]), ("right".into(), vec![1])]);
        assert_eq!(one(&format!("usemtl m\n{text}")).face_sets, [("m".into(), vec![0, 1, 2])]);
    }

    #[test]
    fn messy_but_usable() {
        let text = "v 0 0 0\nv nan 0 -inf\nv 0 1 0\nvt 0.5\nf 1 2 9\nf 0 1 2\nf 1 2\nf\nf 1/1 2/7 3\nf -9 1 2\nl 1 2\nwhat 3\n";
        let shape = one(text);
        assert_eq!(shape.face_counts, [2, 0, 3]);
        assert!(shape.positions[1][0].is_nan() && shape.positions[1][2] == f32::NEG_INFINITY);
        let uvs = shape.uvs.unwrap();
        assert_eq!(uvs.values[uvs.indices.unwrap()[2] as usize], [0.5, 0.0]);
        let remarks = remarks(text);
        let has = |part: &str| assert!(remarks.iter().any(|r| r.contains(part)), "{part}: {remarks:?}");
        has(BAD_FACE);
        has("(3 times; first: face 0)");
        has("(2 times; first: line 7)");
        has("lines, points, curves");
        has("(once; first: line 12)");
        has("some face corners have texture coordinates");
        assert!(remarks_of_no_faces("v 0 0 0\n"));
    }

    fn remarks_of_no_faces(text: &str) -> bool {
        remarks(text).iter().any(|r| r.contains(NO_FACES))
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line) in [
            ("v 0 0 0\nv 0 x 0", "line 2"),
            ("v 0 0 0\n\n v 1 2\n", "line 3"),
            ("v 0 0 \\\n 0\nf 1 1 q", "line 3"),
            ("v 0 0 0\nf 1/2/3/4 1 1", "line 2"),
            ("vn 1 2", "line 1"),
            ("vt", "line 1"),
            ("f 1 2 3", "no points"),
            ("\0\0\0\0", "no points"),
        ] {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(line) && error.contains("x.obj"), "{text}: {error}");
        }
    }

    #[test]
    fn nothing_is_no_shape() {
        for text in ["", "# a\n", "mtllib a.mtl\no a\nusemtl b\ns 1\n"] {
            let mut tally = Tally::default();
            let shapes = parse(text.as_bytes(), Path::new("x.obj"), false, &mut tally);
            assert!(shapes.unwrap().is_empty(), "{text}");
        }
    }

    #[test]
    fn hostile_bytes_do_not_panic() {
        for stop in 0..FULL.len() {
            let _ = read(&FULL.as_bytes()[..stop]);
        }
        for i in 0..FULL.len() {
            for flip in 1..=255u8 {
                let mut bytes = FULL.as_bytes().to_vec();
                bytes[i] ^= flip;
                let _ = read(&bytes);
            }
        }
        // A file with indices of 2^63 and more.
        let _ = read(b"v 0 0 0\nf 9223372036854775807 -9223372036854775807 99999999999999999999");
        let _ = read(b"o a\no b\no c\nv 0 0 0\no d\nusemtl\no\ng\nv 0 0 0\nf 1 2 -1\n");
    }
}
