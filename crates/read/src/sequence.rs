//! Numbered OBJ or PLY files, one per frame, as one animation: 'frame.####.obj', 'frame.%04d.ply',
//! 'frame.$F4.obj'.
//!
//! Opening reads every file once, several at a time, and keeps only hashes of the contents. The hashes tell
//! which frames share faces, uvs or everything; samples are read again on demand. Objects (`o`) with the same
//! name in different files are the same object; an object that a file lacks is not there in that frame.

mod files;
mod format;
mod pattern;

use super::ReadOptions;
use super::parsed_mesh::{self, ParsedAttribute, ParsedMesh, Tally};
use files::{AttributeFingerprint, MeshFingerprint, SequenceFiles, scan};
use format::SequenceFormat;
use meshreel_scene::identity::{ToBytes, content_identity};
use meshreel_scene::{
    ABSENT, Attribute, Channel, Error, FaceSet, Identity, Mesh, Remark, Scene, Scope, Source, TimeSampling,
    Topology, Winding,
};
use pattern::{NumberPattern, NumberedFiles};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Upper limit for the distinct object names in all files together.
const MAX_OBJECTS: usize = 100_000;
/// Upper limit for the materials or groups of one object in all files together.
const MAX_SETS: usize = 4096;
/// `true` if the file name has a place for a number: '#', '##' …, '%d', '%04d' …, or '$F', '$F4' ….
pub fn is_pattern(path: &Path) -> bool {
    NumberPattern::parse(path).is_some()
}

/// Returns the name of a pattern without the place for its number and without extension, or `None` if `path`
/// is no pattern.
pub fn stem(path: &Path) -> Option<String> {
    Some(NumberPattern::parse(path)?.stem())
}

/// Returns the numbers of the files that match the pattern, ascending; at least one.
pub fn numbers(path: &Path) -> Result<Vec<i64>, Error> {
    Ok(parse(path)?.find(path)?.numbers)
}

fn parse(path: &Path) -> Result<NumberPattern, Error> {
    let none = || Error::misuse(format!("{}: no '#' in the file name", path.display()));
    NumberPattern::parse(path).ok_or_else(none)
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
    let kind = pattern.format(path)?;
    let NumberedFiles { numbers, paths, remark } = pattern.find(path)?;
    let node = path.display().to_string();
    let mut remarks: Vec<Remark> = remark.into_iter().collect();

    let scans = scan(kind, &paths)?;
    let mut tally = Tally::default();
    let name = Some(pattern.name()).filter(|name| !name.is_empty()).unwrap_or_else(|| "mesh".into());
    let mut objects: Vec<SequenceObject> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    let mut largest = 0;
    let mut stamps = Vec::with_capacity(scans.len());
    for (file, scan) in scans.into_iter().enumerate() {
        tally.merge(&scan.tally, &paths[file].file_name().unwrap_or_default().to_string_lossy());
        largest = largest.max(scan.bytes);
        stamps.push(scan.stamp);
        let names = parsed_mesh::node_names(scan.names.iter().map(Option::as_deref), &name);
        for (shape, (name, print)) in names.into_iter().zip(scan.fingerprints).enumerate() {
            let object = *by_name.entry(name.clone()).or_insert_with(|| {
                objects.push(SequenceObject { name, occurrences: Vec::new() });
                objects.len() - 1
            });
            objects[object].occurrences.push(Occurrence { file, mesh: shape, fingerprint: print });
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
    let files = Arc::new(SequenceFiles::new(kind, paths, stamps, largest));
    let mut nodes = Vec::new();
    let mut meshes = Vec::new();
    for (i, object) in objects.into_iter().enumerate() {
        let mut node = parsed_mesh::mesh_node(&object.name, i, files.paths.len());
        let object = Arc::new(object);
        if object.occurrences.len() < files.paths.len() || clock.is_longer() {
            let presence = Presence {
                object: object.clone(),
                frames: files.paths.len(),
                shot_ends: clock.shot_ends.map(|n| n.is_some()),
            };
            let times =
                if clock.is_longer() { Arc::new(clock.extended_sampling()) } else { sampling.clone() };
            node.visibility = Some(Channel::new(times, Arc::new(presence)));
        }
        meshes.push(
            ObjectBuilder { files: &files, sampling: &sampling, object: &object }
                .mesh(&node.path, &mut remarks),
        );
        nodes.push(node);
    }
    let format = match kind {
        SequenceFormat::Obj => "obj-sequence",
        SequenceFormat::Ply => "ply-sequence",
    };
    let files = files.paths.clone();
    Ok((Scene { files, ..parsed_mesh::scene(format, nodes, meshes) }, remarks))
}

/// One object across all files.
struct SequenceObject {
    name: String,
    /// The files that contain the object, in order; at least one.
    occurrences: Vec<Occurrence>,
}

struct Occurrence {
    file: usize,
    /// Index of the object among the file's meshes.
    mesh: usize,
    fingerprint: MeshFingerprint,
}

impl SequenceObject {
    /// Returns the mesh that applies in `file`, and its index in `occurrences`: the one in this file,
    /// otherwise that of the last file before it, otherwise the first of all.
    fn occurrence_at(&self, file: usize) -> (usize, &Occurrence) {
        let i = self.occurrences.partition_point(|p| p.file <= file).saturating_sub(1);
        (i, &self.occurrences[i])
    }
}

/// Maps the file numbers of a sequence to times.
struct Clock<'a> {
    numbers: &'a [i64],
    fps: f64,
    /// The number of the file at time 0.
    first_number: i64,
    /// The first number of the shot, if it is before the first file; and the shot's next number after the
    /// last file.
    shot_ends: [Option<i64>; 2],
}

impl<'a> Clock<'a> {
    fn new(numbers: &'a [i64], options: &ReadOptions) -> Clock<'a> {
        let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
        let shot = &options.shot_numbers;
        Clock {
            numbers,
            fps: options.source_fps,
            first_number: shot.iter().copied().fold(first, i64::min),
            shot_ends: [
                shot.iter().copied().filter(|n| *n < first).min(),
                shot.iter().copied().filter(|n| *n > last).min(),
            ],
        }
    }

    fn time(&self, number: i64) -> f64 {
        (number - self.first_number) as f64 / self.fps
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
        self.shot_ends.iter().any(Option::is_some)
    }

    /// Returns the times of the files and of the numbers in `shot_ends`.
    fn extended_sampling(&self) -> TimeSampling {
        let [before, after] = self.shot_ends;
        let all = before.iter().chain(self.numbers).chain(&after);
        TimeSampling::Acyclic { times: all.map(|n| self.time(*n)).collect() }
    }
}

/// The visibility of an object that is not in every frame.
struct Presence {
    object: Arc<SequenceObject>,
    frames: usize,
    /// Whether there is a sample before the files, and one after them; the object is not there at these.
    shot_ends: [bool; 2],
}

impl Presence {
    fn is_there(&self, i: usize) -> bool {
        let file = i.checked_sub(usize::from(self.shot_ends[0])).filter(|file| *file < self.frames);
        file.is_some_and(|file| self.object.occurrence_at(file).1.file == file)
    }
}

impl Source<i8> for Presence {
    fn len(&self) -> usize {
        self.frames + self.shot_ends.iter().filter(|there| **there).count()
    }
    fn identity(&self, i: usize) -> Identity {
        self.is_there(i).into()
    }
    fn read(&self, i: usize, out: &mut Vec<i8>) -> Result<(), Error> {
        out.clear();
        out.push(if self.is_there(i) { -1 } else { ABSENT });
        Ok(())
    }
}

type SelectValues<T> = Box<dyn Fn(&ParsedMesh, &mut Vec<T>) + Send + Sync>;

/// A channel that reads one property of one object.
struct SequenceSource<T> {
    files: Arc<SequenceFiles>,
    object: Arc<SequenceObject>,
    /// One per entry of `occurrences`.
    identities: Vec<Identity>,
    select: SelectValues<T>,
}

impl<T: Send + Sync> Source<T> for SequenceSource<T> {
    fn len(&self) -> usize {
        self.files.paths.len()
    }
    fn identity(&self, i: usize) -> Identity {
        self.identities[self.object.occurrence_at(i).0]
    }
    fn read(&self, i: usize, out: &mut Vec<T>) -> Result<(), Error> {
        out.clear();
        if i >= self.len() {
            return Err(Error::misuse(format!("frame {i} of {}", self.len())));
        }
        let present = self.object.occurrence_at(i).1;
        if let Some(shape) = self.files.meshes(present.file)?.get(present.mesh) {
            (self.select)(shape, out);
        }
        Ok(())
    }
}

/// Selects the values of a parsed mesh that an attribute takes.
#[derive(Clone, Copy)]
struct AttributeSelector<T> {
    values: fn(&ParsedMesh) -> Option<&ParsedAttribute<T>>,
    scope: Scope,
    indexed: bool,
}

impl<T> AttributeSelector<T> {
    fn select<'a>(&self, shape: &'a ParsedMesh) -> Option<&'a ParsedAttribute<T>> {
        (self.values)(shape).filter(|v| (v.scope, v.indices.is_some()) == (self.scope, self.indexed))
    }
}

struct ObjectBuilder<'a> {
    files: &'a Arc<SequenceFiles>,
    sampling: &'a Arc<TimeSampling>,
    object: &'a Arc<SequenceObject>,
}

impl ObjectBuilder<'_> {
    fn channel<T: ToBytes>(
        &self,
        identity: impl Fn(&MeshFingerprint) -> Identity,
        pick: impl Fn(&ParsedMesh, &mut Vec<T>) + Send + Sync + 'static,
    ) -> Channel<T> {
        self.channel_with_identities(
            self.object.occurrences.iter().map(|p| identity(&p.fingerprint)).collect(),
            pick,
        )
    }

    fn channel_with_identities<T: ToBytes>(
        &self,
        identities: Vec<Identity>,
        pick: impl Fn(&ParsedMesh, &mut Vec<T>) + Send + Sync + 'static,
    ) -> Channel<T> {
        let track = SequenceSource {
            files: self.files.clone(),
            object: self.object.clone(),
            identities,
            select: Box::new(pick),
        };
        Channel::new(self.sampling.clone(), Arc::new(track))
    }

    fn mesh(&self, path: &str, remarks: &mut Vec<Remark>) -> Mesh {
        let same = |f: fn(&MeshFingerprint) -> Identity| {
            let mut all = self.object.occurrences.iter().map(|p| f(&p.fingerprint));
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
            self.attribute(parsed_mesh::NORMALS, None, |p| p.normals, |s| s.normals.as_ref(), path, remarks);
        let uvs =
            self.attribute(parsed_mesh::UVS, Some([0.0; 2]), |p| p.uvs, |s| s.uvs.as_ref(), path, remarks);
        let colours = self.attribute(
            parsed_mesh::COLOURS,
            Some([1.0; 4]),
            |p| p.colours,
            |s| s.colours.as_ref(),
            path,
            remarks,
        );
        Mesh {
            path: path.into(),
            positions: self.channel(|p| p.positions, |s, out| out.extend_from_slice(&s.positions)),
            face_counts: self.channel(|p| p.face_counts, |s, out| out.extend_from_slice(&s.face_counts)),
            face_indices: self.channel(|p| p.face_indices, |s, out| out.extend_from_slice(&s.face_indices)),
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
        let present = &self.object.occurrences;
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut sets: Vec<(&str, Vec<Identity>)> = Vec::new();
        let empty = content_identity::<i32>(&[]);
        let mut lost = 0;
        for (i, (name, identity)) in
            present.iter().enumerate().flat_map(|(i, p)| p.fingerprint.face_sets.iter().map(move |s| (i, s)))
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
            let faces = self.channel_with_identities(identities, move |shape, out| {
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
    fn attribute<T: ToBytes>(
        &self,
        name: &str,
        filler: Option<T>,
        print: fn(&MeshFingerprint) -> Option<AttributeFingerprint>,
        values: fn(&ParsedMesh) -> Option<&ParsedAttribute<T>>,
        path: &str,
        remarks: &mut Vec<Remark>,
    ) -> Option<Attribute<T>> {
        let present = || self.object.occurrences.iter().map(|p| print(&p.fingerprint));
        let first = present().flatten().next()?;
        let (scope, indexed) = (first.scope, first.indices.is_some());
        let fits = move |p: &AttributeFingerprint| (p.scope, p.indices.is_some()) == (scope, indexed);
        let missing = present().filter(|p| !p.as_ref().is_some_and(fits)).count();
        if missing > 0 {
            let done = if filler.is_some() { "are filled there" } else { "were left out everywhere" };
            remarks.push(Remark::new(
                path,
                format!("{missing} frames have no '{name}' values like the others; they {done}"),
            ));
            filler?;
        }
        let wanted = AttributeSelector { values, scope, indexed };
        let elements = move |shape: &ParsedMesh| match scope {
            Scope::Constant => 1,
            Scope::Uniform => shape.face_counts.len(),
            Scope::Varying | Scope::Vertex => shape.positions.len(),
            Scope::FaceVarying => shape.face_indices.len(),
        };
        // The number of filled values depends on the number of elements, which these determine.
        let filled =
            |p: &MeshFingerprint| p.face_counts ^ p.face_indices.rotate_left(1) ^ p.points as Identity;
        let of = move |p: &MeshFingerprint| print(p).filter(|p| fits(p));
        let channel = self.channel(
            |p| of(p).map_or_else(|| filled(p), |a| a.values),
            move |shape, out| match (wanted.select(shape), filler) {
                (Some(v), _) => out.extend_from_slice(&v.values),
                (None, Some(filler)) => out.resize(if indexed { 1 } else { elements(shape) }, filler),
                (None, None) => {}
            },
        );
        let indices = indexed.then(|| {
            self.channel(
                |p| of(p).and_then(|a| a.indices).unwrap_or_else(|| filled(p)),
                move |shape, out| match wanted.select(shape).and_then(|v| v.indices.as_ref()) {
                    Some(indices) => out.extend_from_slice(indices),
                    None => out.resize(elements(shape), 0),
                },
            )
        });
        Some(Attribute { name: name.into(), scope, values: channel, indices })
    }
}
