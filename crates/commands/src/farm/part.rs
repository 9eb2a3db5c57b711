//! Parts: shares of the units of a plan.

use super::container::{FarmFileKind, Reader, Writer};
use super::plan::{OpenedInputs, Plan, json};
use super::sections::{ASSEMBLY, HEAD, TAIL, UNIT, check_target_name, prefix_number};
use crate::failure::Failure;
use crate::shard::Shard;
use meshreel_compile::{Error, Progress, farm};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The head of a part.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PartHeader {
    /// The content hash of its plan, as hexadecimal digits.
    pub(super) plan: String,
    pub(super) number: u32,
    pub(super) count: u32,
}

impl PartHeader {
    fn new(plan: &Plan, share: Shard) -> PartHeader {
        let plan = plan.hash().iter().map(|byte| format!("{byte:02x}")).collect();
        PartHeader { plan, number: share.number(), count: share.count() }
    }

    /// Reads the head of an open part.
    pub(super) fn read(reader: &Reader) -> Result<PartHeader, Failure> {
        let head: PartHeader =
            serde_json::from_slice(&reader.only_section(HEAD)?).map_err(|_| reader.damaged())?;
        match Shard::new(head.number, head.count) {
            Some(_) => Ok(head),
            None => Err(reader.damaged()),
        }
    }
}

/// The result of making a part.
pub struct MadePart {
    /// Size in bytes.
    pub bytes: u64,
    /// Number of units.
    pub units: usize,
    /// The part already existed and was left alone.
    pub was_there: bool,
}

/// A failure of a file, which passes through the compiler as an [`Error`] and is reported itself.
#[derive(Clone, Default)]
struct FirstFailure(Arc<Mutex<Option<Failure>>>);

impl FirstFailure {
    fn keep(&self, failure: Failure) -> Error {
        let what = failure.line();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
        Error::Malformed { what }
    }

    fn take(&self) -> Option<Failure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Makes a part of a plan at `target`, on `jobs` threads (0: all cores). `inputs` replace those that were
/// planned with, if they are elsewhere on this machine. An existing file that is this very part is left
/// alone.
pub fn part(
    plan: &Path,
    share: Shard,
    target: &Path,
    inputs: Option<(Vec<PathBuf>, Option<PathBuf>)>,
    jobs: usize,
    progress: &dyn Progress,
) -> Result<MadePart, Failure> {
    let plan = Arc::new(Plan::open(plan)?);
    let head = PartHeader::new(&plan, share);
    if let Ok(there) = Reader::open(target, FarmFileKind::Part)
        && PartHeader::read(&there).is_ok_and(|own| own == head)
    {
        return Ok(MadePart {
            bytes: there.bytes,
            units: there.section_indices(UNIT).count(),
            was_there: true,
        });
    }
    let mut wanted = plan.request().clone();
    let known = if inputs.is_none() { Some(plan.planned_sources()) } else { None };
    if let Some((inputs, points)) = inputs {
        (wanted.inputs, wanted.points) = (inputs, points);
    }
    check_target_name(target, &wanted.inputs, "a part")?;
    let decisions = plan.decisions()?;
    let opened = match known {
        // The plan contains the whole file.
        Some(known) if decisions.is_empty() => known.fingerprints().map(|_| None)?,
        known => {
            let mut opened = wanted.open(known)?;
            plan.check_sources(&opened.sources)?;
            opened.options.jobs = jobs;
            Some(opened)
        }
    };
    let mut writer = Writer::create(target, FarmFileKind::Part)?;
    writer.section(HEAD, &json(&head)?)?;
    if share.number() == 1 {
        // Lets the parts be joined without the plan.
        writer.section(ASSEMBLY, &plan.assembly()?)?;
    }
    let failed = FirstFailure::default();
    let mut units = 0;
    let planned = farm::PlannedUnits {
        decisions: &decisions,
        nodes: &|number| plan.nodes(number).map_err(|failure| failed.keep(failure)),
        keys: Arc::new({
            let (plan, failed) = (plan.clone(), failed.clone());
            move |of| plan.keys(of).map_err(|failure| failed.keep(failure))
        }),
    };
    let made = match opened {
        None => farm::empty_tail(),
        Some(OpenedInputs { scene, options, .. }) => farm::part(
            scene,
            &options,
            planned,
            (share.number(), share.count()),
            progress,
            &mut |number, bytes| {
                units += 1;
                writer.section(UNIT, &prefix_number(number, &bytes)).map_err(|failure| failed.keep(failure))
            },
        ),
    };
    let tail = made.map_err(|error| failed.take().unwrap_or_else(|| Failure::from(error).or_at(target)))?;
    writer.section(TAIL, &tail)?;
    Ok(MadePart { bytes: writer.publish()?.0, units, was_there: false })
}
