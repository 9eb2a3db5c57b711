//! PLY (Stanford polygon format): text, binary little-endian and binary big-endian.
//!
//! The elements `vertex`, `face` and `tristrips` are read, with positions, normals, texture coordinates (per
//! vertex or per corner) and colours (per vertex or per face); all other elements and properties are skipped.
//! Since the header alone declares the sizes, every count in it is checked against the file's size before
//! anything is allocated.

mod header;

use super::ReadOptions;
use super::lines::{Lines, Words};
use super::parsed_mesh::{self, BAD_FACE, NO_FACES, ParsedAttribute, ParsedMesh, SMALL_FACE, Tally};
use header::{Element, ElementKind, Encoding, Property, PropertyRole, header};
use meshreel_scene::number;
use meshreel_scene::{Error, Remark, Scene, Scope};
use std::io::Read;
use std::path::Path;

/// Opens one PLY file.
pub fn open(path: &Path, _options: &ReadOptions) -> Result<(Scene, Vec<Remark>), Error> {
    let file = meshreel_files::open(path).map_err(|e| Error::io(path, e))?;
    let size = file.metadata().map_err(|e| Error::io(path, e))?.len();
    let mut tally = Tally::default();
    let shape = parse(file, size, path, &mut tally)?;
    let remarks = tally.remarks(&path.display().to_string());
    Ok((parsed_mesh::constant_scene("ply", vec![shape], &parsed_mesh::stem(path)), remarks))
}

/// Reads a PLY file of `size` bytes.
pub(crate) fn parse(
    input: impl Read,
    size: u64,
    path: &Path,
    tally: &mut Tally,
) -> Result<ParsedMesh, Error> {
    let mut lines = Lines::new(input, false);
    let (encoding, elements) = header(&mut lines, path)?;
    let mut body = BodyReader { lines, size, path, encoding, tally, mesh: PlyMesh::default() };
    for element in &elements {
        body.element(element)?;
    }
    Ok(body.finish())
}

/// The elements read so far.
#[derive(Default)]
struct PlyMesh {
    shape: ParsedMesh,
    normals: Option<Vec<[f32; 3]>>,
    uvs: Option<Vec<[f32; 2]>>,
    colours: Option<Vec<[f32; 4]>>,
    face_colours: Option<Vec<[f32; 4]>>,
    corner_uvs: Option<Vec<[f32; 2]>>,
}

struct BodyReader<'a, R> {
    lines: Lines<R>,
    size: u64,
    path: &'a Path,
    encoding: Encoding,
    tally: &'a mut Tally,
    mesh: PlyMesh,
}

/// One decoded row of an element: its numbers by role, and its lists.
#[derive(Default)]
struct Row {
    position: [f32; 3],
    normal: [f32; 3],
    uv: [f32; 2],
    colour: [f32; 4],
    indices: Vec<i64>,
    corner_uvs: Vec<f32>,
}

impl Row {
    fn set(&mut self, property: &Property, value: f64) {
        match property.role {
            PropertyRole::Position(i) => self.position[i] = value as f32,
            PropertyRole::Normal(i) => self.normal[i] = value as f32,
            PropertyRole::Uv(i) => self.uv[i] = value as f32,
            PropertyRole::Colour(i) => self.colour[i] = (value / property.value_type.full()) as f32,
            PropertyRole::Indices => self.indices.push(value as i64),
            PropertyRole::CornerUvs => self.corner_uvs.push(value as f32),
            PropertyRole::Skip => {}
        }
    }
    fn clear(&mut self) {
        self.position = [0.0; 3];
        self.colour = [0.0, 0.0, 0.0, 1.0];
        self.indices.clear();
        self.corner_uvs.clear();
    }
}

impl<R: Read> BodyReader<'_, R> {
    /// Remarks on the properties of an element that are not carried over.
    fn left_out(&mut self, element: &Element) {
        let of = match element.kind {
            ElementKind::Vertex => "vertices",
            ElementKind::Face => "faces",
            ElementKind::Strips => "strips",
            ElementKind::Other => {
                let name = element.skipped.as_deref().unwrap_or_default();
                let what = format!("element '{name}' is not kept; left out");
                self.tally.add(what, || "the header".into());
                return;
            }
        };
        for name in element.properties.iter().filter_map(|p| p.skipped.as_ref()) {
            let what = format!("property '{name}' of {of} is not kept; left out");
            self.tally.add(what, || "the header".into());
        }
    }

    fn element(&mut self, element: &Element) -> Result<(), Error> {
        let text = self.encoding == Encoding::Text;
        let left = self.size.saturating_sub(self.lines.offset());
        let least = element.min_row_bytes(text);
        // The last line of a text file may lack its line end.
        if element.count.checked_mul(least).is_none_or(|n| n > left + u64::from(text)) {
            return Err(self.malformed(format!(
                "the header says {} rows of at least {least} bytes, {left} bytes are left",
                element.count
            )));
        }
        if least == 0 {
            // Rows without any properties take no bytes.
            return Ok(());
        }
        let count = element.count as usize;
        if count > 0 {
            self.left_out(element);
        }
        match element.kind {
            ElementKind::Vertex => {
                if !(0..3).all(|i| element.has_role(PropertyRole::Position(i))) {
                    return Err(self.malformed("vertices without x, y, z".into()));
                }
                if element.count > i32::MAX as u64 {
                    return Err(Error::limit(self.path, "points", element.count, i32::MAX as u64));
                }
                let m = &mut self.mesh;
                m.shape.positions.reserve_exact(count);
                m.normals = (0..3)
                    .all(|i| element.has_role(PropertyRole::Normal(i)))
                    .then(|| Vec::with_capacity(count));
                m.uvs =
                    (0..2).all(|i| element.has_role(PropertyRole::Uv(i))).then(|| Vec::with_capacity(count));
                m.colours = (0..3)
                    .all(|i| element.has_role(PropertyRole::Colour(i)))
                    .then(|| Vec::with_capacity(count));
            }
            ElementKind::Face => {
                self.mesh.shape.face_counts.reserve(count);
                self.mesh.face_colours =
                    (0..3).all(|i| element.has_role(PropertyRole::Colour(i))).then(Vec::new);
                self.mesh.corner_uvs = element.has_role(PropertyRole::CornerUvs).then(Vec::new);
            }
            ElementKind::Strips | ElementKind::Other => {}
        }
        let mut row = Row::default();
        let stride = element.properties.iter().all(|p| p.length_type.is_none()).then_some(least as usize);
        for number in 0..element.count {
            row.clear();
            match (text, stride) {
                (true, _) => self.text_row(element, &mut row)?,
                (false, Some(stride)) => self.fixed_row(element, stride, &mut row)?,
                (false, None) => self.binary_row(element, &mut row)?,
            }
            match element.kind {
                ElementKind::Vertex => self.vertex(&row),
                ElementKind::Face => self.face(&row, number)?,
                ElementKind::Strips => self.strips(&row)?,
                ElementKind::Other => {}
            }
        }
        Ok(())
    }

    fn vertex(&mut self, row: &Row) {
        let m = &mut self.mesh;
        m.shape.positions.push(row.position);
        if let Some(normals) = &mut m.normals {
            normals.push(row.normal);
        }
        if let Some(uvs) = &mut m.uvs {
            uvs.push(row.uv);
        }
        if let Some(colours) = &mut m.colours {
            colours.push(row.colour);
        }
    }

    fn face(&mut self, row: &Row, number: u64) -> Result<(), Error> {
        let corners = row.indices.len();
        let shape = &mut self.mesh.shape;
        if corners < 3 {
            self.tally.add(SMALL_FACE, || format!("face {number}"));
        }
        if shape.face_indices.len() + corners > i32::MAX as usize {
            return Err(Error::limit(
                self.path,
                "face corners",
                (shape.face_indices.len() + corners) as u64,
                i32::MAX as u64,
            ));
        }
        shape.face_counts.push(corners as i32);
        // Faces may come before vertices, so indices are checked at the end.
        shape.face_indices.extend(row.indices.iter().map(|&i| i32::try_from(i).unwrap_or(-1)));
        if let Some(colours) = &mut self.mesh.face_colours {
            colours.push(row.colour);
        }
        if let Some(uvs) = &mut self.mesh.corner_uvs {
            if row.corner_uvs.len() != corners * 2 {
                self.tally.add(
                    "faces whose number of texture coordinates does not fit their corners; those are at 0, 0",
                    || format!("face {number}"),
                );
            }
            let uv = |i: usize| {
                row.corner_uvs.get(i).copied().filter(|_| row.corner_uvs.len() == corners * 2).unwrap_or(0.0)
            };
            uvs.extend((0..corners).map(|i| [uv(2 * i), uv(2 * i + 1)]));
        }
        Ok(())
    }

    /// Reads triangle strips, each ended by −1; the winding of every other triangle is reversed.
    fn strips(&mut self, row: &Row) -> Result<(), Error> {
        if (self.mesh.shape.face_indices.len() + row.indices.len()) as u64 * 3 > i32::MAX as u64 {
            return Err(Error::limit(
                self.path,
                "face corners",
                row.indices.len() as u64 * 3,
                i32::MAX as u64,
            ));
        }
        let shape = &mut self.mesh.shape;
        for strip in row.indices.split(|&i| i < 0) {
            for (i, t) in strip.windows(3).enumerate() {
                let t = if i % 2 == 0 { [t[0], t[1], t[2]] } else { [t[1], t[0], t[2]] };
                shape.face_counts.push(3);
                shape.face_indices.extend(t.map(|p| i32::try_from(p).unwrap_or(-1)));
            }
        }
        Ok(())
    }

    fn text_row(&mut self, element: &Element, row: &mut Row) -> Result<(), Error> {
        loop {
            if self.lines.next().map_err(|e| Error::io(self.path, e))?.is_none() {
                return Err(self.malformed("the file ends before its last row".into()));
            }
            let (line, number) = self.lines.current();
            let mut words = Words(line);
            if words.0.iter().all(|b| b.is_ascii_whitespace()) {
                continue;
            }
            let mut word = || {
                let word = words.next().ok_or_else(|| "a row with too few numbers".to_string())?;
                number::float(word)
                    .map(|v| (v, word))
                    .ok_or_else(|| format!("'{}' for a number", String::from_utf8_lossy(word)))
            };
            let mut fill = || -> Result<(), String> {
                for property in &element.properties {
                    let count = match property.length_type {
                        None => 1,
                        Some(_) => parse_count(word()?.1)?,
                    };
                    for _ in 0..count {
                        let (value, text) = word()?;
                        // Point numbers above 2^24 are not exact in f32.
                        let value = match property.role {
                            PropertyRole::Indices => {
                                number::integer(text).map_or(f64::from(value), |(i, _)| i as f64)
                            }
                            _ => f64::from(value),
                        };
                        row.set(property, value);
                    }
                }
                Ok(())
            };
            return fill().map_err(|what| Error::malformed(self.path, what, format!("line {number}")));
        }
    }

    fn fixed_row(&mut self, element: &Element, stride: usize, row: &mut Row) -> Result<(), Error> {
        let big = self.encoding == Encoding::BigEndian;
        let mut bytes = read_bytes(&mut self.lines, stride, self.path)?;
        for property in &element.properties {
            let (value, rest) = bytes.split_at(property.value_type.size());
            bytes = rest;
            if property.role != PropertyRole::Skip {
                row.set(property, property.value_type.value(value, big));
            }
        }
        Ok(())
    }

    fn binary_row(&mut self, element: &Element, row: &mut Row) -> Result<(), Error> {
        let big = self.encoding == Encoding::BigEndian;
        for property in &element.properties {
            let size = property.value_type.size();
            let Some(length) = property.length_type else {
                let value = property.value_type.value(read_bytes(&mut self.lines, size, self.path)?, big);
                row.set(property, value);
                continue;
            };
            let count = length.value(read_bytes(&mut self.lines, length.size(), self.path)?, big);
            // At most 2^32 · 8 bytes, so no overflow.
            let bytes = count.max(0.0) as u64 * size as u64;
            if count < 0.0 || bytes > self.size.saturating_sub(self.lines.offset()) {
                return Err(self.malformed(format!("a list of {count} values")));
            }
            let bytes = read_bytes(&mut self.lines, bytes as usize, self.path)?;
            if property.role != PropertyRole::Skip {
                bytes.chunks_exact(size).for_each(|b| row.set(property, property.value_type.value(b, big)));
            }
        }
        Ok(())
    }

    fn malformed(&self, what: String) -> Error {
        let at = match self.encoding {
            Encoding::Text => format!("line {}", self.lines.current().1),
            _ => format!("byte {}", self.lines.offset()),
        };
        Error::malformed(self.path, what, at)
    }

    fn finish(self) -> ParsedMesh {
        let PlyMesh { mut shape, normals, uvs, colours, mut face_colours, mut corner_uvs } = self.mesh;
        let points = shape.positions.len();
        if shape.face_indices.iter().any(|&i| i < 0 || i as usize >= points) {
            drop_bad_faces(&mut shape, &mut face_colours, &mut corner_uvs, self.tally);
        }
        if shape.face_counts.is_empty() {
            self.tally.add(NO_FACES, || "the whole file".into());
        }
        let (faces, corners) = (shape.face_counts.len(), shape.face_indices.len());
        shape.normals =
            normals.filter(|v| v.len() == points).map(|v| ParsedAttribute::unindexed(Scope::Vertex, v));
        // Several elements of the same kind can leave attributes that do not cover all of them.
        shape.uvs = corner_uvs
            .filter(|v| v.len() == corners && corners > 0)
            .map(|v| ParsedAttribute::unindexed(Scope::FaceVarying, v))
            .or_else(|| {
                uvs.filter(|v| v.len() == points).map(|v| ParsedAttribute::unindexed(Scope::Vertex, v))
            });
        shape.colours = colours
            .filter(|v| v.len() == points)
            .map(|v| ParsedAttribute::unindexed(Scope::Vertex, v))
            .or_else(|| {
                face_colours
                    .filter(|v| v.len() == faces && faces > 0)
                    .map(|v| ParsedAttribute::unindexed(Scope::Uniform, v))
            });
        shape
    }
}

fn drop_bad_faces(
    shape: &mut ParsedMesh,
    colours: &mut Option<Vec<[f32; 4]>>,
    uvs: &mut Option<Vec<[f32; 2]>>,
    tally: &mut Tally,
) {
    let points = shape.positions.len() as i32;
    let (mut corner, mut kept) = (0, 0);
    let mut kept_corners = 0;
    for face in 0..shape.face_counts.len() {
        let count = shape.face_counts[face] as usize;
        let span = corner..corner + count;
        corner = span.end;
        if shape.face_indices[span.clone()].iter().any(|&i| i < 0 || i >= points) {
            tally.add(BAD_FACE, || format!("face {face}"));
            continue;
        }
        shape.face_counts[kept] = count as i32;
        shape.face_indices.copy_within(span.clone(), kept_corners);
        if let Some(uvs) = uvs.as_mut().filter(|v| span.end <= v.len()) {
            uvs.copy_within(span, kept_corners);
        }
        if let Some(colours) = colours.as_mut().filter(|v| face < v.len()) {
            colours[kept] = colours[face];
        }
        kept += 1;
        kept_corners += count;
    }
    shape.face_counts.truncate(kept);
    shape.face_indices.truncate(kept_corners);
    if let Some(uvs) = uvs {
        uvs.truncate(kept_corners);
    }
    if let Some(colours) = colours {
        colours.truncate(kept);
    }
}

fn read_bytes<'a, R: Read>(lines: &'a mut Lines<R>, n: usize, path: &Path) -> Result<&'a [u8], Error> {
    let at = lines.offset();
    match lines.next_bytes(n) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(Error::malformed(path, "the file ends before its last row", format!("byte {at}"))),
        Err(e) => Err(Error::io(path, e)),
    }
}

fn parse_count(word: &[u8]) -> Result<u64, String> {
    match number::integer(word) {
        Some((n, _)) if n >= 0 => Ok(n as u64),
        _ => Err(format!("a list of '{}' values", String::from_utf8_lossy(word))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<(ParsedMesh, Vec<String>), Error> {
        let mut tally = Tally::default();
        let shape = parse(bytes, bytes.len() as u64, Path::new("x.ply"), &mut tally)?;
        Ok((shape, tally.remarks("x").into_iter().map(|r| r.what).collect()))
    }

    const HEADER: &str = "comment all kinds of properties\nobj_info x\nelement vertex 3\nproperty double x\nproperty float y\n\
        property short z\nproperty float nx\nproperty float ny\nproperty float nz\nproperty float texture_u\nproperty float texture_v\n\
        property uchar red\nproperty ushort green\nproperty float blue\nproperty int quality\nelement odd 2\nproperty list uchar ushort stuff\n\
        property int n\nelement face 2\nproperty uchar flags\nproperty list uchar int vertex_indices\nproperty list uchar float texcoord\nend_header\n";

    /// The values of each element of [`HEADER`], each with a letter for its type.
    const ROWS: [&[(char, f64)]; 7] = [
        &[
            ('d', 0.5),
            ('f', 1.0),
            ('s', -2.0),
            ('f', 0.0),
            ('f', 0.0),
            ('f', 1.0),
            ('f', 0.0),
            ('f', 0.25),
            ('b', 255.0),
            ('S', 65535.0),
            ('f', 0.5),
            ('i', -7.0),
        ],
        &[
            ('d', 1.5),
            ('f', 0.0),
            ('s', 3.0),
            ('f', 0.0),
            ('f', 1.0),
            ('f', 0.0),
            ('f', 1.0),
            ('f', 0.0),
            ('b', 0.0),
            ('S', 0.0),
            ('f', 1.5),
            ('i', 9.0),
        ],
        &[
            ('d', 0.1),
            ('f', 2.0),
            ('s', 0.0),
            ('f', 1.0),
            ('f', 0.0),
            ('f', 0.0),
            ('f', 0.5),
            ('f', 0.75),
            ('b', 51.0),
            ('S', 0.0),
            ('f', 0.0),
            ('i', 0.0),
        ],
        &[('b', 2.0), ('S', 1.0), ('S', 2.0), ('i', 3.0)],
        &[('b', 0.0), ('i', 4.0)],
        &[
            ('b', 1.0),
            ('b', 3.0),
            ('i', 0.0),
            ('i', 1.0),
            ('i', 2.0),
            ('b', 6.0),
            ('f', 0.0),
            ('f', 0.1),
            ('f', 0.2),
            ('f', 0.3),
            ('f', 0.4),
            ('f', 0.5),
        ],
        &[
            ('b', 0.0),
            ('b', 3.0),
            ('i', 2.0),
            ('i', 1.0),
            ('i', 0.0),
            ('b', 6.0),
            ('f', 1.0),
            ('f', 1.1),
            ('f', 1.2),
            ('f', 1.3),
            ('f', 1.4),
            ('f', 1.5),
        ],
    ];

    /// The mesh of [`ROWS`] in one of three encodings.
    fn sample(encoding: &str) -> Vec<u8> {
        let mut out = format!("ply\nformat {encoding} 1.0\n{HEADER}").into_bytes();
        for row in ROWS {
            for &(kind, value) in row {
                if encoding == "ascii" {
                    out.extend(format!("{value} ").into_bytes());
                    continue;
                }
                let mut bytes = match kind {
                    'b' => vec![value as u8],
                    's' => (value as i16).to_le_bytes().to_vec(),
                    'S' => (value as u16).to_le_bytes().to_vec(),
                    'i' => (value as i32).to_le_bytes().to_vec(),
                    'f' => (value as f32).to_le_bytes().to_vec(),
                    _ => value.to_le_bytes().to_vec(),
                };
                if encoding.ends_with("big_endian") {
                    bytes.reverse();
                }
                out.extend(bytes);
            }
            if encoding == "ascii" {
                out.push(b'\n');
            }
        }
        out
    }

    const ENCODINGS: [&str; 3] = ["ascii", "binary_little_endian", "binary_big_endian"];

    #[test]
    fn every_encoding_says_the_same() {
        for encoding in ENCODINGS {
            let (shape, remarks) = read(&sample(encoding)).unwrap();
            // Each skipped property or element is named, and nothing else.
            let said = remarks.iter().map(ToString::to_string);
            assert_eq!(said.filter(|r| r.contains("is not kept")).count(), 3);
            assert_eq!(remarks.len(), 3, "{remarks:?}");
            assert_eq!(shape.positions, [[0.5, 1.0, -2.0], [1.5, 0.0, 3.0], [0.1, 2.0, 0.0]]);
            assert_eq!(shape.face_counts, [3, 3]);
            assert_eq!(shape.face_indices, [0, 1, 2, 2, 1, 0]);
            assert_eq!(shape.normals.unwrap().values[1], [0.0, 1.0, 0.0]);
            let colours = shape.colours.unwrap();
            assert_eq!(colours.values, [[1.0, 1.0, 0.5, 1.0], [0.0, 0.0, 1.5, 1.0], [0.2, 0.0, 0.0, 1.0]]);
            let uvs = shape.uvs.unwrap();
            assert_eq!((uvs.scope, uvs.values[4]), (Scope::FaceVarying, [1.2, 1.3]));
        }
    }

    #[test]
    fn a_text_file_with_vertex_uvs_and_crlf() {
        let text = "ply\r\nformat ascii 1.0\r\nelement vertex 3\r\nproperty float x\r\nproperty float y\r\nproperty float z\r\n\
            property float s\r\nproperty float t\r\nelement face 1\r\nproperty list uchar int vertex_index\r\nend_header\r\n\
            0 0 0 0 1\r\n1 0 0 nan 1\r\n\r\n0 1 0 0 0.5\r\n3 0 1 2";
        let (shape, _) = read(text.as_bytes()).unwrap();
        assert_eq!(shape.uvs.as_ref().unwrap().values[2], [0.0, 0.5]);
        assert_eq!(shape.face_indices, [0, 1, 2]);
    }

    #[test]
    fn points_strips_and_bad_faces() {
        let points = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\n1 2 3\n";
        let (shape, remarks) = read(points.as_bytes()).unwrap();
        assert_eq!((shape.positions.len(), shape.face_counts.len()), (1, 0));
        assert!(remarks[0].contains(NO_FACES));

        let five = "element vertex 5\nproperty float x\nproperty float y\nproperty float z\n";
        let rows = "0 0 0\n1 0 0\n0 1 0\n1 1 0\n0 2 0\n";
        let strips = format!(
            "ply\nformat ascii 1.0\n{five}element tristrips 1\nproperty list int int vertex_indices\nend_header\n{rows}8 0 1 2 3 -1 2 3 4\n"
        );
        let (shape, _) = read(strips.as_bytes()).unwrap();
        assert_eq!(shape.face_indices, [0, 1, 2, 2, 1, 3, 2, 3, 4]);

        let bad = format!(
            "ply\nformat ascii 1.0\n{five}element face 4\nproperty list int int vertex_indices\nproperty uchar red\nproperty uchar green\n\
             property uchar blue\nend_header\n{rows}3 0 1 5 9 9 9\n3 0 1 2 255 0 0\n2 0 1 0 255 0\n3 -1 0 1 7 7 7\n"
        );
        let (shape, remarks) = read(bad.as_bytes()).unwrap();
        assert_eq!(shape.face_counts, [3, 2]);
        assert_eq!(shape.face_indices, [0, 1, 2, 0, 1]);
        let colours = shape.colours.unwrap();
        assert_eq!(
            (colours.scope, colours.values),
            (Scope::Uniform, vec![[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0]])
        );
        assert!(remarks.iter().any(|r| r.starts_with(BAD_FACE) && r.contains("2 times")));
        assert!(remarks.iter().any(|r| r.starts_with(SMALL_FACE)));
    }

    #[test]
    fn headers_that_lie() {
        let vertex = "property float x\nproperty float y\nproperty float z\n";
        for (encoding, element) in [
            ("ascii", "element vertex 4294967296\n"),
            ("ascii", "element vertex 9223372036854775807\n"),
            ("binary_little_endian", "element vertex 2147483648\n"),
            ("binary_little_endian", "element vertex -1\n"),
            ("binary_big_endian", "element vertex 99999999999999999999\n"),
        ] {
            let text = format!("ply\nformat {encoding} 1.0\n{element}{vertex}end_header\n0 0 0\n");
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
        // Rows without properties, in the largest number that fits: no work.
        let text = "ply\nformat ascii 1.0\nelement nothing 9223372036854775807\nend_header\n";
        assert!(read(text.as_bytes()).unwrap().0.positions.is_empty());
        // A list of 2^32 − 1 values.
        let mut bytes = b"ply\nformat binary_little_endian 1.0\nelement face 1\nproperty list uint double vertex_indices\nend_header\n".to_vec();
        bytes.extend([255; 4]);
        assert!(read(&bytes).unwrap_err().to_string().contains("4294967295"));
        for text in [
            "",
            "plx\n",
            "ply\n",
            "ply\nformat binary 1.0\n",
            "ply\nformat ascii 1.0\nproperty int x\n",
            "ply\nend_header\n",
        ] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn hostile_bytes_do_not_panic() {
        for encoding in ENCODINGS {
            let good = sample(encoding);
            for stop in 0..good.len() {
                assert!(
                    read(&good[..stop]).is_err() || (encoding == "ascii" && stop + 8 > good.len()),
                    "{encoding} {stop}"
                );
            }
            for i in 0..good.len() {
                for flip in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
                    let mut bytes = good.clone();
                    bytes[i] ^= flip;
                    let _ = read(&bytes);
                }
            }
        }
    }
}
