//! Parts: shares of the units of a plan.

use super::container::{Kind, Reader, Writer};
use super::plan::{Opened, Plan, json};
use super::sections::{ASSEMBLY, HEAD, TAIL, UNIT, check_name, numbered};
use crate::failure::Failure;
use crate::shard::Shard;
use meshreel_compile::{Error, Progress, farm};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The head of a part.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Head {
    /// The hash of its plan, as hexadecimal digits.
    pub(super) plan: String,
    pub(super) number: u32,
    pub(super) count: u32,
}

impl Head {
    fn new(plan: &Plan, share: Shard) -> Head {
        let plan = plan.hash().iter().map(|byte| format!("{byte:02x}")).collect();
        Head { plan, number: share.number(), count: share.count() }
    }

    /// The head of an open part.
    pub(super) fn read(reader: &Reader) -> Result<Head, Failure> {
        let head: Head = serde_json::from_slice(&reader.only(HEAD)?).map_err(|_| reader.damaged())?;
        match Shard::new(head.number, head.count) {
            Some(_) => Ok(head),
            None => Err(reader.damaged()),
        }
    }
}

/// A part that is there.
pub struct Made {
    /// Its size.
    pub bytes: u64,
    /// Its units.
    pub units: usize,
    /// It was there before, and is left alone.
    pub was_there: bool,
}

/// Makes a part of a plan at `target`, on `jobs` threads (0: all cores). `inputs` stand in for those that were
/// planned with, where they lie elsewhere on this machine. A part that is there and is just this one is left
/// alone.
pub fn part(
    plan: &Path,
    share: Shard,
    target: &Path,
    inputs: Option<(Vec<PathBuf>, Option<PathBuf>)>,
    jobs: usize,
    progress: &dyn Progress,
) -> Result<Made, Failure> {
    let plan = Plan::open(plan)?;
    let head = Head::new(&plan, share);
    if let Ok(there) = Reader::open(target, Kind::Part)
        && Head::read(&there).is_ok_and(|own| own == head)
    {
        return Ok(Made { bytes: there.bytes, units: there.all(UNIT).count(), was_there: true });
    }
    let mut wanted = plan.wanted().clone();
    let known = if inputs.is_none() { Some(plan.known()) } else { None };
    if let Some((inputs, points)) = inputs {
        (wanted.inputs, wanted.points) = (inputs, points);
    }
    check_name(target, &wanted.inputs, "a part")?;
    let decisions = plan.decisions()?;
    let opened = match known {
        // All of the file is in the plan.
        Some(known) if decisions.is_empty() => known.hashed().map(|_| None)?,
        known => {
            let mut opened = wanted.open(known)?;
            plan.check_sources(&opened.sources)?;
            opened.options.jobs = jobs;
            Some(opened)
        }
    };
    let mut writer = Writer::create(target, Kind::Part)?;
    writer.section(HEAD, &json(&head)?)?;
    if share.number() == 1 {
        // Whoever joins needs no plan.
        writer.section(ASSEMBLY, &plan.assembly()?)?;
    }
    // Failures of files go through the compiler as its own error and are told as they were.
    let failed = Mutex::new(None);
    let lost = |failure: Failure| {
        let what = failure.line();
        *failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(failure);
        Error::Malformed { what }
    };
    let mut units = 0;
    let planned = farm::PlannedUnits {
        decisions: &decisions,
        nodes: &|number| plan.nodes(number).map_err(lost),
        keys: &|of| plan.keys(of).map_err(lost),
    };
    let made = match &opened {
        None => farm::nothing(),
        Some(Opened { scene, options, .. }) => farm::part(
            scene,
            options,
            planned,
            (share.number(), share.count()),
            progress,
            &mut |number, bytes| {
                units += 1;
                writer.section(UNIT, &numbered(number, &bytes)).map_err(lost)
            },
        ),
    };
    let tail = made.map_err(|error| {
        let failure = failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        failure.unwrap_or_else(|| Failure::from(error).or_at(target))
    })?;
    writer.section(TAIL, &tail)?;
    Ok(Made { bytes: writer.publish()?.0, units, was_there: false })
}
