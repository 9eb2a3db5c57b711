//! Plans: what is to be compiled of what, and what was decided about it.

use super::container::{ContentHash, Kind, Reader, Writer};
use super::sections::{ASSEMBLY, DECISIONS, HEAD, NODE, check_name, numbered, take_number};
use crate::failure::{Class, Failure};
use crate::fingerprint::Fingerprint;
use meshreel_compile::{Progress, farm};
use meshreel_inputs::InputOptions;
use meshreel_options::{OptionSet, Options, PartialOptions};
use meshreel_scene::{Remark, Scene, Unit};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What a user asks for, as text, so that whoever reads it believes no more than a command line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wanted {
    /// The inputs.
    pub inputs: Vec<PathBuf>,
    /// Positions of an .obj over time.
    pub points: Option<PathBuf>,
    /// The text of the options file.
    pub options: Option<String>,
    /// Keys and values that were said beside it, in their order.
    pub said: Vec<(String, String)>,
}

impl Wanted {
    /// Everything that was said, put together.
    fn options(&self) -> Result<OptionSet, Failure> {
        let mut set = match &self.options {
            Some(text) => OptionSet::parse(text).map_err(Failure::usage)?,
            None => OptionSet::default(),
        };
        let mut said = PartialOptions::default();
        for (key, value) in &self.said {
            said.say(key, value).map_err(|what| Failure::usage(format!("--{key}: {what}")))?;
        }
        set.general = said.over(set.general);
        Ok(set)
    }

    /// Opens the inputs; what readers had to remark, and the options in their unit. What they hold is hashed
    /// first, and opened again, so that nothing is taken from before.
    pub(super) fn open(&self) -> Result<Opened, Failure> {
        let set = self.options()?;
        // What is wrong whatever the inputs are, before any is opened.
        set.resolve(Some(Unit::Metre))?.check()?;
        let how = InputOptions {
            points: self.points.clone(),
            source_fps: set.general.source_fps,
            animation: set.general.animation.clone(),
        };
        let sources = Fingerprint::of_scene(&meshreel_inputs::open(&self.inputs, &how)?.0)?;
        let (scene, remarks) = meshreel_inputs::open(&self.inputs, &how)?;
        let unit = set.general.unit.map(Unit::from).or(scene.unit);
        let options = set.resolve(unit)?;
        Ok(Opened { scene, remarks, options, sources })
    }
}

/// Inputs that are open.
pub(super) struct Opened {
    pub(super) scene: Scene,
    pub(super) remarks: Vec<Remark>,
    pub(super) options: Options,
    /// What all files hold that are read.
    pub(super) sources: Vec<Fingerprint>,
}

/// The head of a plan.
#[derive(Serialize, Deserialize)]
struct Head {
    /// The version of the program.
    meshreel: String,
    wanted: Wanted,
    sources: Vec<Fingerprint>,
}

/// A plan that was made.
pub struct Planned {
    /// Its size.
    pub bytes: u64,
    /// Frames of the file.
    pub frames: usize,
    /// Units that are shared out.
    pub units: usize,
    /// Of readers and of the compiler.
    pub remarks: Vec<Remark>,
    /// Nothing was written.
    pub dry_run: bool,
}

/// Plans what is compiled of what, into `target`. Inputs are kept by their absolute paths.
pub fn plan(mut wanted: Wanted, target: &Path, progress: &dyn Progress) -> Result<Planned, Failure> {
    for path in wanted.inputs.iter_mut().chain(&mut wanted.points) {
        *path = std::path::absolute(&*path).map_err(|error| Failure::io(path, &error))?;
    }
    check_name(&std::path::absolute(target).unwrap_or_default(), &wanted.inputs, "a plan")?;
    let Opened { scene, remarks, options, sources } = wanted.open()?;
    let made = farm::plan(&scene, remarks, &options, progress)
        .map_err(|error| Failure::from(error).or_at(&wanted.inputs[0]))?;
    let farm::Planned { decisions, nodes, assembly, frames, remarks } = made;
    if options.strict && !remarks.is_empty() {
        let error = meshreel_compile::Error::Strict { remarks };
        return Err(Failure::from(error).or_at(&wanted.inputs[0]));
    }
    let mut planned = Planned { bytes: 0, frames, units: nodes.len(), remarks, dry_run: options.dry_run };
    if options.dry_run {
        return Ok(planned);
    }
    let head = Head { meshreel: env!("CARGO_PKG_VERSION").into(), wanted, sources };
    let mut writer = Writer::create(target, Kind::Plan)?;
    writer.section(HEAD, &json(&head)?)?;
    writer.section(DECISIONS, &decisions)?;
    for (number, bytes) in &nodes {
        writer.section(NODE, &numbered(*number, bytes))?;
    }
    writer.section(ASSEMBLY, &assembly)?;
    planned.bytes = writer.publish()?.0;
    Ok(planned)
}

pub(super) fn json(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(value).map_err(|error| Failure::new(Class::Defect, error.to_string(), None))
}

/// A plan that was read.
pub struct Plan {
    reader: Reader,
    head: Head,
    /// By number of the unit the section of its nodes.
    nodes: HashMap<u32, usize>,
}

impl Plan {
    /// Opens a plan of this version of the program.
    pub fn open(path: &Path) -> Result<Plan, Failure> {
        let reader = Reader::open(path, Kind::Plan)?;
        let head: Head = serde_json::from_slice(&reader.only(HEAD)?).map_err(|_| reader.damaged())?;
        let own = env!("CARGO_PKG_VERSION");
        if head.meshreel != own {
            let what = format!(
                "planned by meshreel {}, and this is {own}: plan again, or make parts with that one",
                head.meshreel
            );
            return Err(Failure::new(Class::Unsupported, what, Some(path.display().to_string())));
        }
        let mut nodes = HashMap::new();
        for section in reader.all(NODE) {
            let number = take_number(&reader.section(section)?).map(|(number, _)| number);
            let number = number.ok_or_else(|| reader.damaged())?;
            if nodes.insert(number, section).is_some() {
                return Err(reader.damaged());
            }
        }
        Ok(Plan { reader, head, nodes })
    }

    /// What it is known by.
    pub fn hash(&self) -> ContentHash {
        self.reader.hash
    }

    /// What was asked for.
    pub fn wanted(&self) -> &Wanted {
        &self.head.wanted
    }

    /// Refuses inputs that are not those that were planned with.
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
        self.reader.only(DECISIONS)
    }

    pub(super) fn assembly(&self) -> Result<Vec<u8>, Failure> {
        self.reader.only(ASSEMBLY)
    }

    /// What nodes have in a unit.
    pub(super) fn nodes(&self, number: u32) -> Result<Vec<u8>, Failure> {
        let section = self.nodes.get(&number).ok_or_else(|| self.reader.damaged())?;
        let bytes = self.reader.section(*section)?;
        take_number(&bytes).map(|(_, rest)| rest.to_vec()).ok_or_else(|| self.reader.damaged())
    }
}
