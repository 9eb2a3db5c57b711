//! Plans: inputs, options, and what the compiler decided about them.

use super::container::{ContentHash, FarmFileKind, Reader, Writer};
use super::sections::{
    ASSEMBLY, DECISIONS, HEAD, KEYS, NODE, check_target_name, prefix_number, split_number,
};
use crate::failure::{Class, Failure};
use crate::fingerprint::Fingerprint;
use meshreel_compile::{Progress, farm};
use meshreel_inputs::InputOptions;
use meshreel_options::{OptionSet, Options, PartialOptions};
use meshreel_scene::{LengthUnit, Remark, Scene};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The request of a user, kept as text, so that it is checked like a command line when it is read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanRequest {
    /// The inputs.
    pub inputs: Vec<PathBuf>,
    /// Positions of an .obj over time.
    pub points: Option<PathBuf>,
    /// The text of the options file.
    pub options: Option<String>,
    /// Keys and values given on the command line, in their order.
    pub said: Vec<(String, String)>,
}

impl PlanRequest {
    /// Returns the options: those of the file, overridden by those of the command line.
    fn options(&self) -> Result<OptionSet, Failure> {
        let mut set = match &self.options {
            Some(text) => OptionSet::parse(text).map_err(Failure::usage)?,
            None => OptionSet::default(),
        };
        let mut said = PartialOptions::default();
        for (key, value) in &self.said {
            said.set(key, value).map_err(|what| Failure::usage(format!("--{key}: {what}")))?;
        }
        set.general = said.over(set.general);
        Ok(set)
    }

    /// Opens the inputs; returns the scene, the readers' remarks and the options in the scene's unit. The
    /// files are hashed first and opened afterwards, so that nothing older than the hash is used. `known`:
    /// the files that are expected to be read.
    pub(super) fn open(&self, known: Option<PlannedSources<'_>>) -> Result<OpenedInputs, Failure> {
        let set = self.options()?;
        // Reports errors that do not depend on the inputs before any is opened.
        set.resolve(Some(LengthUnit::Metre))?.check()?;
        let how = InputOptions::new(self.points.clone(), &set.general);
        let hashed =
            known.map(|known| known.fingerprints().map(|sources| (known.paths, sources))).transpose()?;
        let (mut scene, mut remarks) = meshreel_inputs::open(&self.inputs, &how)?;
        let sources = match hashed {
            Some((paths, sources)) if paths == scene.files => sources,
            _ => {
                let sources = Fingerprint::from_scene_files(&scene)?;
                (scene, remarks) = meshreel_inputs::open(&self.inputs, &how)?;
                sources
            }
        };
        let unit = set.general.unit.map(LengthUnit::from).or(scene.unit);
        let options = set.resolve(unit)?;
        Ok(OpenedInputs { scene, remarks, options, sources })
    }
}

/// The files that were planned with, and their content.
#[derive(Clone, Copy)]
pub(super) struct PlannedSources<'a> {
    paths: &'a [PathBuf],
    plan: &'a Plan,
}

impl PlannedSources<'_> {
    /// Hashes the files; an error if their content has changed.
    pub(super) fn fingerprints(&self) -> Result<Vec<Fingerprint>, Failure> {
        let sources: Vec<_> =
            self.paths.iter().map(|path| Fingerprint::from_file(path)).collect::<Result<_, _>>()?;
        self.plan.check_sources(&sources)?;
        Ok(sources)
    }
}

/// Opened inputs.
pub(super) struct OpenedInputs {
    pub(super) scene: Scene,
    pub(super) remarks: Vec<Remark>,
    pub(super) options: Options,
    /// Name and content hash of all files read.
    pub(super) sources: Vec<Fingerprint>,
}

/// The head of a plan.
#[derive(Serialize, Deserialize)]
struct PlanHeader {
    /// The version of the program.
    meshreel: String,
    wanted: PlanRequest,
    sources: Vec<Fingerprint>,
    /// Path of each source file.
    paths: Vec<PathBuf>,
}

/// The result of planning.
pub struct Planned {
    /// Size of the plan, in bytes.
    pub bytes: u64,
    /// Number of frames of the file.
    pub frames: usize,
    /// Number of units to distribute.
    pub units: usize,
    /// Remarks of the readers and of the compiler.
    pub remarks: Vec<Remark>,
    /// Nothing was written.
    pub dry_run: bool,
}

/// Plans a compile and writes the plan to `target`. Inputs are stored by their absolute paths.
pub fn plan(mut wanted: PlanRequest, target: &Path, progress: &dyn Progress) -> Result<Planned, Failure> {
    for path in wanted.inputs.iter_mut().chain(&mut wanted.points) {
        *path = std::path::absolute(&*path).map_err(|error| Failure::io(path, &error))?;
    }
    check_target_name(&std::path::absolute(target).unwrap_or_default(), &wanted.inputs, "a plan")?;
    let OpenedInputs { scene, remarks, options, sources } = wanted.open(None)?;
    let files = scene.files.clone();
    let made = farm::plan(scene, remarks.clone(), &options, progress)
        .map_err(|error| Failure::from(error).with_reader_remarks(remarks).or_at(&wanted.inputs[0]))?;
    let farm::FarmPlan { decisions, nodes, keys, assembly, frames, remarks } = made;
    if options.strict && !remarks.is_empty() {
        let error = meshreel_compile::Error::Strict { remarks };
        return Err(Failure::from(error).or_at(&wanted.inputs[0]));
    }
    let mut planned = Planned { bytes: 0, frames, units: nodes.len(), remarks, dry_run: options.dry_run };
    if options.dry_run {
        return Ok(planned);
    }
    let head = PlanHeader { meshreel: env!("CARGO_PKG_VERSION").into(), wanted, sources, paths: files };
    let mut writer = Writer::create(target, FarmFileKind::Plan)?;
    writer.section(HEAD, &json(&head)?)?;
    writer.section(DECISIONS, &decisions)?;
    for (number, bytes) in &nodes {
        writer.section(NODE, &prefix_number(*number, bytes))?;
    }
    for ([mesh, segment], bytes) in &keys {
        writer.section(KEYS, &prefix_number(*mesh, &prefix_number(*segment, bytes)))?;
    }
    writer.section(ASSEMBLY, &assembly)?;
    planned.bytes = writer.publish()?.0;
    Ok(planned)
}

pub(super) fn json(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(value).map_err(|error| Failure::new(Class::Defect, error.to_string(), None))
}

/// An opened plan.
pub struct Plan {
    reader: Reader,
    head: PlanHeader,
    /// Section with the nodes of a unit, by the unit's number.
    nodes: HashMap<u32, usize>,
    /// Section with the keys of a mesh in a segment of its frames, by both numbers.
    keys: HashMap<[u32; 2], usize>,
}

impl Plan {
    /// Opens a plan, which must be of this version of the program.
    pub fn open(path: &Path) -> Result<Plan, Failure> {
        let reader = Reader::open(path, FarmFileKind::Plan)?;
        let head: PlanHeader =
            serde_json::from_slice(&reader.only_section(HEAD)?).map_err(|_| reader.damaged())?;
        let own = env!("CARGO_PKG_VERSION");
        if head.meshreel != own {
            let what = format!(
                "planned by meshreel {}, and this is {own}: plan again, or make parts with that one",
                head.meshreel
            );
            return Err(Failure::new(Class::Unsupported, what, Some(path.display().to_string())));
        }
        let numbers =
            |bytes: Vec<u8>| bytes.as_chunks::<4>().0.iter().map(|n| u32::from_le_bytes(*n)).collect();
        let numbered = |kind: u32, count: usize| {
            let mut all: HashMap<Vec<u32>, usize> = HashMap::new();
            for section in reader.section_indices(kind) {
                let own: Vec<u32> = numbers(reader.section_start(section, 4 * count)?);
                if own.len() < count || all.insert(own, section).is_some() {
                    return Err(reader.damaged());
                }
            }
            Ok(all)
        };
        let nodes = numbered(NODE, 1)?.into_iter().map(|(number, section)| (number[0], section)).collect();
        let keys = numbered(KEYS, 2)?.into_iter().map(|(n, section)| ([n[0], n[1]], section)).collect();
        Ok(Plan { reader, head, nodes, keys })
    }

    /// Returns the content hash.
    pub fn hash(&self) -> ContentHash {
        self.reader.hash
    }

    /// Returns the request of the user.
    pub fn request(&self) -> &PlanRequest {
        &self.head.wanted
    }

    /// Returns the files that were read, at their original paths.
    pub(super) fn planned_sources(&self) -> PlannedSources<'_> {
        PlannedSources { paths: &self.head.paths, plan: self }
    }

    /// Refuses inputs that differ from those planned with.
    pub(super) fn check_sources(&self, sources: &[Fingerprint]) -> Result<(), Failure> {
        let planned = &self.head.sources;
        let changed = planned.iter().zip(sources).find(|(planned, now)| planned != now);
        let what = match changed {
            Some((planned, now)) if planned.name == now.name => {
                format!("{} has changed since it was planned with", now.name)
            }
            Some((planned, now)) => format!("{} stands where {} was planned with", now.name, planned.name),
            None if planned.len() != sources.len() => {
                format!("{} files are read, and {} were planned with", sources.len(), planned.len())
            }
            None => return Ok(()),
        };
        let at = Some(self.reader.path().display().to_string());
        Err(Failure::new(Class::Malformed, format!("{what}: plan again"), at))
    }

    pub(super) fn decisions(&self) -> Result<Vec<u8>, Failure> {
        self.reader.only_section(DECISIONS)
    }

    pub(super) fn assembly(&self) -> Result<Vec<u8>, Failure> {
        self.reader.only_section(ASSEMBLY)
    }

    /// Returns the data of nodes in a unit.
    pub(super) fn nodes(&self, number: u32) -> Result<Vec<u8>, Failure> {
        let section = self.nodes.get(&number).ok_or_else(|| self.reader.damaged())?;
        let bytes = self.reader.section(*section)?;
        split_number(&bytes).map(|(_, rest)| rest.to_vec()).ok_or_else(|| self.reader.damaged())
    }

    /// Returns the keys of a mesh in a segment of its frames, if it has any there.
    pub(super) fn keys(&self, of: [u32; 2]) -> Result<Option<Vec<u8>>, Failure> {
        let Some(section) = self.keys.get(&of) else { return Ok(None) };
        let bytes = self.reader.section(*section)?;
        bytes.get(8..).map(|rest| Some(rest.to_vec())).ok_or_else(|| self.reader.damaged())
    }
}
