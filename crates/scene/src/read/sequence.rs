//! Numbered OBJ or PLY files, one per frame, as one animation: 'frame.####.obj', 'frame.%04d.ply'.
//!
//! Opening reads every file once, several at a time, keeps hashes of what is in it and forgets the rest. From the
//! hashes follows which frames share faces, uvs or everything; samples are then read again when asked for.
//! Objects (`o`) are the same object where they have the same name; one that a file lacks is hidden in that frame.

use super::shape::{self, Plain, Shape, Tally, Values};
use super::{ReadOptions, obj, ply};
use crate::{
    Attribute, Channel, Error, FaceSet, Identity, Mesh, Remark, Scene, Scope, Source, TimeSampling,
    Topology, Winding,
};
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Most objects in all files together, by name.
const MAX_OBJECTS: usize = 100_000;
/// Most materials or groups of one object in all files together.
const MAX_SETS: usize = 4096;
/// Memory for parsed files that are kept for the next request; at least [`LEAST_FILES`] are.
const CACHE_BYTES: usize = 128 << 20;
const LEAST_FILES: usize = 4;
const MOST_FILES: usize = 16;

/// True where the file name has a place for a number: '#', '##' …, or '%d', '%04d' ….
pub fn is_pattern(path: &Path) -> bool {
    Pattern::parse(path).is_some()
}

/// Opens all files that fit the pattern, in the order of their numbers. Time of a file = (number − first number) /
/// [`ReadOptions::source_fps`].
pub fn open(path: &Path, options: &ReadOptions) -> Result<(Scene, Vec<Remark>), Error> {
    let fps = options.source_fps;
    if !(fps.is_finite() && fps > 0.0) {
        return Err(Error::misuse(format!(
            "{fps} frames per second: must be above 0"
        )));
    }
    let pattern = Pattern::parse(path)
        .ok_or_else(|| Error::misuse(format!("{}: no '#' in the file name", path.display())))?;
    let kind = pattern.kind(path)?;
    let (numbers, paths) = pattern.find(path)?;
    let node = path.display().to_string();
    let mut remarks = Vec::new();

    let scans = scan(kind, &paths)?;
    let mut tally = Tally::default();
    let name = pattern.name();
    let mut objects: Vec<Object> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    let mut largest = 0;
    let mut stamps = Vec::with_capacity(scans.len());
    for (file, scan) in scans.into_iter().enumerate() {
        tally.merge(
            &scan.tally,
            &paths[file]
                .file_name()
                .unwrap_or_default()
                .to_string_lossy(),
        );
        largest = largest.max(scan.bytes);
        stamps.push(scan.stamp);
        let names = shape::node_names(scan.names.iter().map(Option::as_deref), &name);
        for (shape, (name, print)) in names.into_iter().zip(scan.prints).enumerate() {
            let object = *by_name.entry(name.clone()).or_insert_with(|| {
                objects.push(Object {
                    name,
                    present: Vec::new(),
                });
                objects.len() - 1
            });
            objects[object].present.push(Present { file, shape, print });
        }
        if objects.len() > MAX_OBJECTS {
            return Err(Error::limit(
                path,
                "objects",
                objects.len() as u64,
                MAX_OBJECTS as u64,
            ));
        }
    }
    remarks.extend(tally.remarks(&node));

    let first = numbers[0];
    let missing = numbers[numbers.len() - 1] - first + 1 - numbers.len() as u64;
    let sampling = if missing == 0 {
        TimeSampling::Uniform {
            start: 0.0,
            step: 1.0 / fps,
        }
    } else {
        let gap = numbers
            .windows(2)
            .find(|n| n[1] != n[0] + 1)
            .map_or(first, |n| n[0] + 1);
        remarks.push(Remark::new(&node, format!("{missing} numbers of the sequence are missing, the first is {gap}; the others keep their times")));
        TimeSampling::Acyclic {
            times: numbers.iter().map(|n| (n - first) as f64 / fps).collect(),
        }
    };
    let files = Arc::new(Files {
        kind,
        paths,
        stamps,
        capacity: (CACHE_BYTES / largest.max(1)).clamp(LEAST_FILES, MOST_FILES),
        cache: Mutex::default(),
    });
    let sampling = Arc::new(sampling);
    let mut nodes = Vec::new();
    let mut meshes = Vec::new();
    for (i, object) in objects.into_iter().enumerate() {
        let mut node = shape::mesh_node(&object.name, i, files.paths.len());
        let object = Arc::new(object);
        if object.present.len() < files.paths.len() {
            let hidden = Hidden {
                object: object.clone(),
                frames: files.paths.len(),
            };
            node.visibility = Some(Channel::new(sampling.clone(), Arc::new(hidden)));
        }
        meshes.push(
            Builder {
                files: &files,
                sampling: &sampling,
                object: &object,
            }
            .mesh(&node.path, &mut remarks),
        );
        nodes.push(node);
    }
    let format = match kind {
        Kind::Obj => "obj-sequence",
        Kind::Ply => "ply-sequence",
    };
    Ok((shape::scene(format, nodes, meshes), remarks))
}

/// A file name with a place for a number.
struct Pattern {
    before: Vec<u8>,
    after: Vec<u8>,
    /// Digits of the number, at least; 0: as many as there are.
    width: usize,
}

impl Pattern {
    fn parse(path: &Path) -> Option<Pattern> {
        let name = path.file_name()?.as_encoded_bytes();
        let split = |start: usize, stop: usize, width| {
            Some(Pattern {
                before: name[..start].into(),
                after: name[stop..].into(),
                width,
            })
        };
        if let Some(last) = name.iter().rposition(|&b| b == b'#') {
            let start = name[..last]
                .iter()
                .rposition(|&b| b != b'#')
                .map_or(0, |i| i + 1);
            // A single one stands for any number of digits, as many programs have it.
            let width = last + 1 - start;
            return split(start, last + 1, if width == 1 { 0 } else { width });
        }
        let start = name.iter().rposition(|&b| b == b'%')?;
        let digits = name[start + 1..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count();
        if name.get(start + 1 + digits) != Some(&b'd') {
            return None;
        }
        let width = std::str::from_utf8(&name[start + 1..start + 1 + digits]).ok()?;
        let width = if width.is_empty() {
            0
        } else {
            width.parse().ok()?
        };
        split(start, start + digits + 2, width)
    }

    /// The number in `name`, if it fits: padded to the width, and longer only where it must be.
    fn number(&self, name: &[u8]) -> Option<u64> {
        let digits = name
            .strip_prefix(self.before.as_slice())?
            .strip_suffix(self.after.as_slice())?;
        let fits = match self.width {
            0 => !digits.is_empty(),
            width => digits.len() == width || (digits.len() > width && digits[0] != b'0'),
        };
        if !fits || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        std::str::from_utf8(digits)
            .ok()?
            .parse()
            .ok()
            .filter(|n| *n < 1 << 53)
    }

    fn kind(&self, path: &Path) -> Result<Kind, Error> {
        let ends = |e: &[u8]| {
            self.after.len() >= e.len()
                && self.after[self.after.len() - e.len()..].eq_ignore_ascii_case(e)
        };
        if ends(b".obj") {
            Ok(Kind::Obj)
        } else if ends(b".ply") {
            Ok(Kind::Ply)
        } else {
            Err(Error::unsupported(
                path,
                "sequences of files other than .obj and .ply",
            ))
        }
    }

    /// Files that fit, by number.
    fn find(&self, path: &Path) -> Result<(Vec<u64>, Vec<PathBuf>), Error> {
        let folder = match path.parent() {
            Some(p) if !p.as_os_str().is_empty() => p,
            _ => Path::new("."),
        };
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(|e| Error::io(folder, e))? {
            let entry = entry.map_err(|e| Error::io(folder, e))?;
            if let Some(number) = self.number(entry.file_name().as_encoded_bytes()) {
                found.push((number, entry.path()));
            }
        }
        found.sort();
        if found.is_empty() {
            return Err(Error::io(
                path,
                std::io::Error::new(std::io::ErrorKind::NotFound, "no file fits this pattern"),
            ));
        }
        if let Some(pair) = found.windows(2).find(|p| p[0].0 == p[1].0) {
            let [a, b] = [&pair[0].1, &pair[1].1].map(|p| p.display().to_string());
            return Err(Error::misuse(format!(
                "{}: number {} is there twice: {a} and {b}",
                path.display(),
                pair[0].0
            )));
        }
        Ok(found.into_iter().unzip())
    }

    /// The pattern without number and extension: 'frame.####.obj' is 'frame'.
    fn name(&self) -> String {
        let name = String::from_utf8_lossy(&self.before);
        let name = name.trim_end_matches(['.', '_', '-', ' ']);
        if name.is_empty() {
            "mesh".into()
        } else {
            name.into()
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Obj,
    Ply,
}

/// Length and time of last change: whether a file is still the one that was scanned.
type Stamp = (u64, Option<SystemTime>);

fn load(kind: Kind, path: &Path, tally: &mut Tally) -> Result<(Vec<Shape>, Stamp), Error> {
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    let data = file.metadata().map_err(|e| Error::io(path, e))?;
    let shapes = match kind {
        Kind::Obj => obj::parse(file, path, false, tally)?,
        Kind::Ply => vec![ply::parse(file, data.len(), path, tally)?],
    };
    Ok((shapes, (data.len(), data.modified().ok())))
}

/// What opening keeps of a file.
struct Scan {
    names: Vec<Option<String>>,
    prints: Vec<Print>,
    tally: Tally,
    stamp: Stamp,
    /// Memory that its shapes take.
    bytes: usize,
}

/// Identities of everything in a shape.
struct Print {
    points: usize,
    positions: Identity,
    face_counts: Identity,
    face_indices: Identity,
    normals: Option<AttributePrint>,
    uvs: Option<AttributePrint>,
    colours: Option<AttributePrint>,
    face_sets: Vec<(String, Identity)>,
}

#[derive(Clone, Copy)]
struct AttributePrint {
    scope: Scope,
    values: Identity,
    indices: Option<Identity>,
}

fn print_values<T: Plain>(values: &Option<Values<T>>) -> Option<AttributePrint> {
    values.as_ref().map(|v| AttributePrint {
        scope: v.scope,
        values: shape::identity(&v.values),
        indices: v.indices.as_deref().map(shape::identity),
    })
}

fn print(shape: &Shape) -> Print {
    Print {
        points: shape.positions.len(),
        positions: shape::identity(&shape.positions),
        face_counts: shape::identity(&shape.face_counts),
        face_indices: shape::identity(&shape.face_indices),
        normals: print_values(&shape.normals),
        uvs: print_values(&shape.uvs),
        colours: print_values(&shape.colours),
        face_sets: shape
            .face_sets
            .iter()
            .map(|(n, f)| (n.clone(), shape::identity(f)))
            .collect(),
    }
}

fn bytes_of(shape: &Shape) -> usize {
    fn values<T>(v: &Option<Values<T>>) -> usize {
        v.as_ref().map_or(0, |v| {
            v.values.len() * size_of::<T>() + v.indices.as_ref().map_or(0, |i| i.len() * 4)
        })
    }
    let sets: usize = shape.face_sets.iter().map(|s| s.1.len() * 4).sum();
    let faces = (shape.face_counts.len() + shape.face_indices.len()) * 4;
    shape.positions.len() * 12
        + faces
        + sets
        + values(&shape.normals)
        + values(&shape.uvs)
        + values(&shape.colours)
}

/// Reads all files once, as many at a time as there are processors. The error is that of the first bad file.
fn scan(kind: Kind, paths: &[PathBuf]) -> Result<Vec<Scan>, Error> {
    let threads = std::thread::available_parallelism()
        .map_or(1, |n| n.get())
        .min(8)
        .min(paths.len());
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    let done: Mutex<Vec<(usize, Result<Scan, Error>)>> = Mutex::default();
    let work = || loop {
        let i = next.fetch_add(1, Ordering::Relaxed);
        // Numbers are handed out in ascending order, so all before a failure are looked at.
        if i >= paths.len() || i > failed.load(Ordering::Relaxed) {
            break;
        }
        let mut tally = Tally::default();
        let result = load(kind, &paths[i], &mut tally).map(|(shapes, stamp)| Scan {
            prints: shapes.iter().map(print).collect(),
            bytes: shapes.iter().map(bytes_of).sum(),
            names: shapes.into_iter().map(|s| s.name).collect(),
            tally,
            stamp,
        });
        if result.is_err() {
            failed.fetch_min(i, Ordering::Relaxed);
        }
        lock(&done).push((i, result));
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|d| d.0);
    done.into_iter().map(|d| d.1).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The files, and the last few of them parsed.
struct Files {
    kind: Kind,
    paths: Vec<PathBuf>,
    stamps: Vec<Stamp>,
    capacity: usize,
    cache: Mutex<VecDeque<(usize, Arc<Slot>)>>,
}

/// A file that is parsed, or being parsed by whoever holds the lock.
type Slot = Mutex<Option<Arc<Vec<Shape>>>>;

impl Files {
    fn get(&self, file: usize) -> Result<Arc<Vec<Shape>>, Error> {
        let slot = {
            let mut cache = lock(&self.cache);
            let slot = match cache
                .iter()
                .position(|c| c.0 == file)
                .and_then(|i| cache.remove(i))
            {
                Some((_, slot)) => slot,
                None => Arc::default(),
            };
            cache.push_back((file, slot.clone()));
            while cache.len() > self.capacity {
                cache.pop_front();
            }
            slot
        };
        let mut slot = lock(&slot);
        if let Some(shapes) = &*slot {
            return Ok(shapes.clone());
        }
        let path = &self.paths[file];
        let (shapes, stamp) = load(self.kind, path, &mut Tally::default())?;
        if stamp != self.stamps[file] {
            return Err(Error::malformed(
                path,
                "the file has changed since it was opened",
                "file time or size",
            ));
        }
        let shapes = Arc::new(shapes);
        *slot = Some(shapes.clone());
        Ok(shapes)
    }
}

/// One object through all files.
struct Object {
    name: String,
    /// Where it is, in the order of the files; at least one.
    present: Vec<Present>,
}

struct Present {
    file: usize,
    /// Which of the file's shapes it is.
    shape: usize,
    print: Print,
}

impl Object {
    /// What it is in `file`: where it is missing, what it was before, or what it becomes first.
    fn at(&self, file: usize) -> (usize, &Present) {
        let i = self
            .present
            .partition_point(|p| p.file <= file)
            .saturating_sub(1);
        (i, &self.present[i])
    }
}

/// Visibility of an object that is not in every file.
struct Hidden {
    object: Arc<Object>,
    frames: usize,
}

impl Source<i8> for Hidden {
    fn len(&self) -> usize {
        self.frames
    }
    fn identity(&self, i: usize) -> Identity {
        (self.object.at(i).1.file == i).into()
    }
    fn read(&self, i: usize, out: &mut Vec<i8>) -> Result<(), Error> {
        out.clear();
        out.push(if self.object.at(i).1.file == i { -1 } else { 0 });
        Ok(())
    }
}

type Pick<T> = Box<dyn Fn(&Shape, &mut Vec<T>) + Send + Sync>;

/// One property of one object.
struct Track<T> {
    files: Arc<Files>,
    object: Arc<Object>,
    /// One per presence.
    identities: Vec<Identity>,
    pick: Pick<T>,
}

impl<T: Send + Sync> Source<T> for Track<T> {
    fn len(&self) -> usize {
        self.files.paths.len()
    }
    fn identity(&self, i: usize) -> Identity {
        self.identities[self.object.at(i).0]
    }
    fn read(&self, i: usize, out: &mut Vec<T>) -> Result<(), Error> {
        out.clear();
        if i >= self.len() {
            return Err(Error::misuse(format!("frame {i} of {}", self.len())));
        }
        let present = self.object.at(i).1;
        if let Some(shape) = self.files.get(present.file)?.get(present.shape) {
            (self.pick)(shape, out);
        }
        Ok(())
    }
}

/// Which values of a shape an attribute takes.
#[derive(Clone, Copy)]
struct Wanted<T> {
    values: fn(&Shape) -> Option<&Values<T>>,
    scope: Scope,
    indexed: bool,
}

impl<T> Wanted<T> {
    fn of<'a>(&self, shape: &'a Shape) -> Option<&'a Values<T>> {
        (self.values)(shape)
            .filter(|v| (v.scope, v.indices.is_some()) == (self.scope, self.indexed))
    }
}

struct Builder<'a> {
    files: &'a Arc<Files>,
    sampling: &'a Arc<TimeSampling>,
    object: &'a Arc<Object>,
}

impl Builder<'_> {
    fn track<T: Plain>(
        &self,
        identity: impl Fn(&Print) -> Identity,
        pick: impl Fn(&Shape, &mut Vec<T>) + Send + Sync + 'static,
    ) -> Channel<T> {
        self.track_of(
            self.object
                .present
                .iter()
                .map(|p| identity(&p.print))
                .collect(),
            pick,
        )
    }

    fn track_of<T: Plain>(
        &self,
        identities: Vec<Identity>,
        pick: impl Fn(&Shape, &mut Vec<T>) + Send + Sync + 'static,
    ) -> Channel<T> {
        let track = Track {
            files: self.files.clone(),
            object: self.object.clone(),
            identities,
            pick: Box::new(pick),
        };
        Channel::new(self.sampling.clone(), Arc::new(track))
    }

    fn mesh(&self, path: &str, remarks: &mut Vec<Remark>) -> Mesh {
        let same = |f: fn(&Print) -> Identity| {
            let mut all = self.object.present.iter().map(|p| f(&p.print));
            let first = all.next();
            all.all(|i| Some(i) == first)
        };
        let faces =
            same(|p| p.face_counts) && same(|p| p.face_indices) && same(|p| p.points as Identity);
        let topology = match (faces, same(|p| p.positions)) {
            (true, true) => Topology::Constant,
            (true, false) => Topology::Homogeneous,
            (false, _) => Topology::Heterogeneous,
        };
        let normals = self.attribute(
            shape::NORMALS,
            None,
            |p| p.normals,
            |s| s.normals.as_ref(),
            path,
            remarks,
        );
        let uvs = self.attribute(
            shape::UVS,
            Some([0.0; 2]),
            |p| p.uvs,
            |s| s.uvs.as_ref(),
            path,
            remarks,
        );
        let colours = self.attribute(
            shape::COLOURS,
            Some([1.0; 4]),
            |p| p.colours,
            |s| s.colours.as_ref(),
            path,
            remarks,
        );
        Mesh {
            path: path.into(),
            positions: self.track(
                |p| p.positions,
                |s, out| out.extend_from_slice(&s.positions),
            ),
            face_counts: self.track(
                |p| p.face_counts,
                |s, out| out.extend_from_slice(&s.face_counts),
            ),
            face_indices: self.track(
                |p| p.face_indices,
                |s, out| out.extend_from_slice(&s.face_indices),
            ),
            winding: Winding::CounterClockwise,
            topology,
            normals,
            uvs: uvs.into_iter().collect(),
            colours: colours.into_iter().collect(),
            velocities: None,
            face_sets: self.face_sets(path, remarks),
            other_attributes: Vec::new(),
            is_subd: false,
        }
    }

    /// The sets of all files, by name; a set is empty in a file that lacks it.
    fn face_sets(&self, path: &str, remarks: &mut Vec<Remark>) -> Vec<FaceSet> {
        let present = &self.object.present;
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut sets: Vec<(&str, Vec<Identity>)> = Vec::new();
        let empty = shape::identity::<i32>(&[]);
        let mut lost = 0;
        for (i, (name, identity)) in present
            .iter()
            .enumerate()
            .flat_map(|(i, p)| p.print.face_sets.iter().map(move |s| (i, s)))
        {
            if !numbers.contains_key(name.as_str()) && sets.len() == MAX_SETS {
                lost += 1;
                continue;
            }
            let set = *numbers.entry(name).or_insert_with(|| {
                sets.push((name, vec![empty; present.len()]));
                sets.len() - 1
            });
            sets[set].1[i] = *identity;
        }
        if lost > 0 {
            remarks.push(Remark::new(path, format!("more than {MAX_SETS} materials or groups in all frames; the others were left out")));
        }
        let set = |(name, identities): (&str, Vec<Identity>)| {
            let owned = name.to_string();
            let faces = self.track_of(identities, move |shape, out| {
                if let Some(set) = shape.face_sets.iter().find(|s| s.0 == owned) {
                    out.extend_from_slice(&set.1);
                }
            });
            FaceSet {
                name: name.into(),
                faces,
            }
        };
        sets.into_iter().map(set).collect()
    }

    /// An attribute that has the same scope in all files; where it is missing, `filler`, and without one it is left out.
    fn attribute<T: Plain>(
        &self,
        name: &str,
        filler: Option<T>,
        print: fn(&Print) -> Option<AttributePrint>,
        values: fn(&Shape) -> Option<&Values<T>>,
        path: &str,
        remarks: &mut Vec<Remark>,
    ) -> Option<Attribute<T>> {
        let present = || self.object.present.iter().map(|p| print(&p.print));
        let first = present().flatten().next()?;
        let (scope, indexed) = (first.scope, first.indices.is_some());
        let fits = move |p: &AttributePrint| (p.scope, p.indices.is_some()) == (scope, indexed);
        let missing = present().filter(|p| !p.as_ref().is_some_and(fits)).count();
        if missing > 0 {
            let done = if filler.is_some() {
                "are filled there"
            } else {
                "were left out everywhere"
            };
            remarks.push(Remark::new(
                path,
                format!("{missing} frames have no '{name}' values like the others; they {done}"),
            ));
            filler?;
        }
        let wanted = Wanted {
            values,
            scope,
            indexed,
        };
        let elements = move |shape: &Shape| match scope {
            Scope::Constant => 1,
            Scope::Uniform => shape.face_counts.len(),
            Scope::Varying | Scope::Vertex => shape.positions.len(),
            Scope::FaceVarying => shape.face_indices.len(),
        };
        // Filled values depend on the number of elements, and that on these.
        let filled =
            |p: &Print| p.face_counts ^ p.face_indices.rotate_left(1) ^ p.points as Identity;
        let of = move |p: &Print| print(p).filter(|p| fits(p));
        let channel = self.track(
            |p| of(p).map_or_else(|| filled(p), |a| a.values),
            move |shape, out| match (wanted.of(shape), filler) {
                (Some(v), _) => out.extend_from_slice(&v.values),
                (None, Some(filler)) => {
                    out.resize(if indexed { 1 } else { elements(shape) }, filler)
                }
                (None, None) => {}
            },
        );
        let indices = indexed.then(|| {
            self.track(
                |p| of(p).and_then(|a| a.indices).unwrap_or_else(|| filled(p)),
                move |shape, out| match wanted.of(shape).and_then(|v| v.indices.as_ref()) {
                    Some(indices) => out.extend_from_slice(indices),
                    None => out.resize(elements(shape), 0),
                },
            )
        });
        Some(Attribute {
            name: name.into(),
            scope,
            values: channel,
            indices,
        })
    }
}
