//! Numbered OBJ or PLY files, one per frame, as one animation: 'frame.####.obj', 'frame.%04d.ply',
//! 'frame.$F4.obj'.
//!
//! Opening reads every file once, several at a time, and keeps only hashes of the contents. The hashes tell
//! which frames share faces, uvs or everything; samples are read again on demand. Objects (`o`) with the same
//! name in different files are the same object; an object that a file lacks is not there in that frame.

mod files;
mod kind;
mod pattern;

use super::ReadOptions;
use super::shape::{self, Plain, Shape, Tally, Values};
use crate::{
    Attribute, Channel, Error, FaceSet, Identity, Mesh, NOT_THERE, Remark, Scene, Scope, Source,
    TimeSampling, Topology, Winding,
};
use files::{AttributePrint, Files, Print, scan};
use kind::Kind;
use pattern::{NumberedFiles, Pattern};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Upper limit for the distinct object names in all files together.
const MAX_OBJECTS: usize = 100_000;
/// Upper limit for the materials or groups of one object in all files together.
const MAX_SETS: usize = 4096;
/// `true` if the file name has a place for a number: '#', '##' …, '%d', '%04d' …, or '$F', '$F4' ….
pub fn is_pattern(path: &Path) -> bool {
    Pattern::parse(path).is_some()
}

/// Returns the name of a pattern without the place for its number and without extension, or `None` if `path`
/// is no pattern.
pub fn stem(path: &Path) -> Option<String> {
    Some(Pattern::parse(path)?.stem())
}

/// Returns the numbers of the files that match the pattern, ascending; at least one.
pub fn numbers(path: &Path) -> Result<Vec<i64>, Error> {
    Ok(parse(path)?.find(path)?.numbers)
}

fn parse(path: &Path) -> Result<Pattern, Error> {
    let none = || Error::misuse(format!("{}: no '#' in the file name", path.display()));
    Pattern::parse(path).ok_or_else(none)
}

/// Opens all files that match the pattern, in the order of their numbers. A file is at (number − first
/// number) / [`ReadOptions::source_fps`] seconds, where the first number is that of the shot, if there is one
/// ([`ReadOptions::shot_numbers`]).
pub fn open(path: &Path, options: &ReadOptions) -> Result<(Scene, Vec<Remark>), Error> {
    let fps = options.source_fps;
    if !(fps.is_finite() && fps > 0.0) {
        return Err(Error::misuse(format!("{fps} frames per second: must be above 0")));
    }
    let pattern = parse(path)?;
    let kind = pattern.kind(path)?;
    let NumberedFiles { numbers, paths, remark } = pattern.find(path)?;
    let node = path.display().to_string();
    let mut remarks: Vec<Remark> = remark.into_iter().collect();

    let scans = scan(kind, &paths)?;
    let mut tally = Tally::default();
    let name = Some(pattern.name()).filter(|name| !name.is_empty()).unwrap_or_else(|| "mesh".into());
    let mut objects: Vec<Object> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    let mut largest = 0;
    let mut stamps = Vec::with_capacity(scans.len());
    for (file, scan) in scans.into_iter().enumerate() {
        tally.merge(&scan.tally, &paths[file].file_name().unwrap_or_default().to_string_lossy());
        largest = largest.max(scan.bytes);
        stamps.push(scan.stamp);
        let names = shape::node_names(scan.names.iter().map(Option::as_deref), &name);
        for (shape, (name, print)) in names.into_iter().zip(scan.prints).enumerate() {
            let object = *by_name.entry(name.clone()).or_insert_with(|| {
                objects.push(Object { name, present: Vec::new() });
                objects.len() - 1
            });
            objects[object].present.push(Present { file, shape, print });
        }
        if objects.len() > MAX_OBJECTS {
            return Err(Error::limit(path, "objects", objects.len() as u64, MAX_OBJECTS as u64));
        }
    }
    remarks.extend(tally.remarks(&node));
    if objects.is_empty() {
        return Err(Error::malformed(path, "no points in any file of the sequence", "its last file"));
    }

    let clock = Clock::new(&numbers, options);
    let sampling = Arc::new(clock.sampling(&node, &mut remarks));
    let files = Arc::new(Files::new(kind, paths, stamps, largest));
    let mut nodes = Vec::new();
    let mut meshes = Vec::new();
    for (i, object) in objects.into_iter().enumerate() {
        let mut node = shape::mesh_node(&object.name, i, files.paths.len());
        let object = Arc::new(object);
        if object.present.len() < files.paths.len() || clock.is_longer() {
            let presence = Presence {
                object: object.clone(),
                frames: files.paths.len(),
                around: clock.around.map(|n| n.is_some()),
            };
            let times = if clock.is_longer() { Arc::new(clock.with_around()) } else { sampling.clone() };
            node.visibility = Some(Channel::new(times, Arc::new(presence)));
        }
        meshes.push(
            Builder { files: &files, sampling: &sampling, object: &object }.mesh(&node.path, &mut remarks),
        );
        nodes.push(node);
    }
    let format = match kind {
        Kind::Obj => "obj-sequence",
        Kind::Ply => "ply-sequence",
    };
    let files = files.paths.clone();
    Ok((Scene { files, ..shape::scene(format, nodes, meshes) }, remarks))
}

/// One object across all files.
struct Object {
    name: String,
    /// The files that contain the object, in order; at least one.
    present: Vec<Present>,
}

struct Present {
    file: usize,
    /// Index of the object among the file's shapes.
    shape: usize,
    print: Print,
}

impl Object {
    /// Returns the shape that applies in `file`, and its index in `present`: the one in this file, otherwise
    /// that of the last file before it, otherwise the first of all.
    fn at(&self, file: usize) -> (usize, &Present) {
        let i = self.present.partition_point(|p| p.file <= file).saturating_sub(1);
        (i, &self.present[i])
    }
}

/// Maps the file numbers of a sequence to times.
struct Clock<'a> {
    numbers: &'a [i64],
    fps: f64,
    /// The number of the file at time 0.
    zero: i64,
    /// The first number of the shot, if it is before the first file; and the shot's next number after the
    /// last file.
    around: [Option<i64>; 2],
}

impl<'a> Clock<'a> {
    fn new(numbers: &'a [i64], options: &ReadOptions) -> Clock<'a> {
        let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
        let shot = &options.shot_numbers;
        Clock {
            numbers,
            fps: options.source_fps,
            zero: shot.iter().copied().fold(first, i64::min),
            around: [
                shot.iter().copied().filter(|n| *n < first).min(),
                shot.iter().copied().filter(|n| *n > last).min(),
            ],
        }
    }

    fn time(&self, number: i64) -> f64 {
        (number - self.zero) as f64 / self.fps
    }

    /// Returns the times of the files, in seconds.
    fn sampling(&self, node: &str, remarks: &mut Vec<Remark>) -> TimeSampling {
        let Some(gap) = self.numbers.windows(2).find(|n| n[1] != n[0] + 1).map(|n| n[0] + 1) else {
            return TimeSampling::Uniform { start: self.time(self.numbers[0]), step: 1.0 / self.fps };
        };
        let (first, last) = (self.numbers[0], self.numbers[self.numbers.len() - 1]);
        let missing = last - first + 1 - self.numbers.len() as i64;
        remarks.push(Remark::new(node, format!("{missing} numbers of the sequence are missing, the first is {gap}; the others keep their times")));
        TimeSampling::Acyclic { times: self.numbers.iter().map(|n| self.time(*n)).collect() }
    }

    /// `true` if the shot begins before the files or ends after them.
    fn is_longer(&self) -> bool {
        self.around.iter().any(Option::is_some)
    }

    /// Returns the times of the files and of the numbers in `around`.
    fn with_around(&self) -> TimeSampling {
        let [before, after] = self.around;
        let all = before.iter().chain(self.numbers).chain(&after);
        TimeSampling::Acyclic { times: all.map(|n| self.time(*n)).collect() }
    }
}

/// The visibility of an object that is not in every frame.
struct Presence {
    object: Arc<Object>,
    frames: usize,
    /// Whether there is a sample before the files, and one after them; the object is not there at these.
    around: [bool; 2],
}

impl Presence {
    fn is_there(&self, i: usize) -> bool {
        let file = i.checked_sub(usize::from(self.around[0])).filter(|file| *file < self.frames);
        file.is_some_and(|file| self.object.at(file).1.file == file)
    }
}

impl Source<i8> for Presence {
    fn len(&self) -> usize {
        self.frames + self.around.iter().filter(|there| **there).count()
    }
    fn identity(&self, i: usize) -> Identity {
        self.is_there(i).into()
    }
    fn read(&self, i: usize, out: &mut Vec<i8>) -> Result<(), Error> {
        out.clear();
        out.push(if self.is_there(i) { -1 } else { NOT_THERE });
        Ok(())
    }
}

type Pick<T> = Box<dyn Fn(&Shape, &mut Vec<T>) + Send + Sync>;

/// A channel that reads one property of one object.
struct Track<T> {
    files: Arc<Files>,
    object: Arc<Object>,
    /// One per entry of `present`.
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

/// Selects the values of a shape that an attribute takes.
#[derive(Clone, Copy)]
struct Wanted<T> {
    values: fn(&Shape) -> Option<&Values<T>>,
    scope: Scope,
    indexed: bool,
}

impl<T> Wanted<T> {
    fn of<'a>(&self, shape: &'a Shape) -> Option<&'a Values<T>> {
        (self.values)(shape).filter(|v| (v.scope, v.indices.is_some()) == (self.scope, self.indexed))
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
        self.track_of(self.object.present.iter().map(|p| identity(&p.print)).collect(), pick)
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
        let faces = same(|p| p.face_counts) && same(|p| p.face_indices) && same(|p| p.points as Identity);
        let topology = match (faces, same(|p| p.positions)) {
            (true, true) => Topology::Constant,
            (true, false) => Topology::Homogeneous,
            (false, _) => Topology::Heterogeneous,
        };
        let normals =
            self.attribute(shape::NORMALS, None, |p| p.normals, |s| s.normals.as_ref(), path, remarks);
        let uvs = self.attribute(shape::UVS, Some([0.0; 2]), |p| p.uvs, |s| s.uvs.as_ref(), path, remarks);
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
            positions: self.track(|p| p.positions, |s, out| out.extend_from_slice(&s.positions)),
            face_counts: self.track(|p| p.face_counts, |s, out| out.extend_from_slice(&s.face_counts)),
            face_indices: self.track(|p| p.face_indices, |s, out| out.extend_from_slice(&s.face_indices)),
            winding: Winding::CounterClockwise,
            topology,
            normals,
            uvs: uvs.into_iter().collect(),
            colours: colours.into_iter().collect(),
            velocities: None,
            face_sets: self.face_sets(path, remarks),
            other_attributes: Vec::new(),
            is_subd: false,
            integers: Vec::new(),
            custom_attributes: Vec::new(),
            names: Vec::new(),
            skin: None,
            particles: None,
        }
    }

    /// Collects the face sets of all files by name; a set is empty in files that lack it.
    fn face_sets(&self, path: &str, remarks: &mut Vec<Remark>) -> Vec<FaceSet> {
        let present = &self.object.present;
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut sets: Vec<(&str, Vec<Identity>)> = Vec::new();
        let empty = shape::identity::<i32>(&[]);
        let mut lost = 0;
        for (i, (name, identity)) in
            present.iter().enumerate().flat_map(|(i, p)| p.print.face_sets.iter().map(move |s| (i, s)))
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
            remarks.push(Remark::new(
                path,
                format!("more than {MAX_SETS} materials or groups in all frames; the others were left out"),
            ));
        }
        let set = |(name, identities): (&str, Vec<Identity>)| {
            let owned = name.to_string();
            let faces = self.track_of(identities, move |shape, out| {
                if let Some(set) = shape.face_sets.iter().find(|s| s.0 == owned) {
                    out.extend_from_slice(&set.1);
                }
            });
            FaceSet { name: name.into(), faces }
        };
        sets.into_iter().map(set).collect()
    }

    /// Returns an attribute if it has the same scope in all files. If some files lack it, they get `filler`;
    /// without a filler, the attribute is left out.
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
            let done = if filler.is_some() { "are filled there" } else { "were left out everywhere" };
            remarks.push(Remark::new(
                path,
                format!("{missing} frames have no '{name}' values like the others; they {done}"),
            ));
            filler?;
        }
        let wanted = Wanted { values, scope, indexed };
        let elements = move |shape: &Shape| match scope {
            Scope::Constant => 1,
            Scope::Uniform => shape.face_counts.len(),
            Scope::Varying | Scope::Vertex => shape.positions.len(),
            Scope::FaceVarying => shape.face_indices.len(),
        };
        // The number of filled values depends on the number of elements, which these determine.
        let filled = |p: &Print| p.face_counts ^ p.face_indices.rotate_left(1) ^ p.points as Identity;
        let of = move |p: &Print| print(p).filter(|p| fits(p));
        let channel = self.track(
            |p| of(p).map_or_else(|| filled(p), |a| a.values),
            move |shape, out| match (wanted.of(shape), filler) {
                (Some(v), _) => out.extend_from_slice(&v.values),
                (None, Some(filler)) => out.resize(if indexed { 1 } else { elements(shape) }, filler),
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
        Some(Attribute { name: name.into(), scope, values: channel, indices })
    }
}
