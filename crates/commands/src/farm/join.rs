//! Joins parts into a file.

use super::container::{FarmFileKind, Reader};
use super::part::PartHeader;
use super::sections::{ASSEMBLY, TAIL, UNIT, split_number};
use crate::compile::{Inputs, VerificationSummary, check_target};
use crate::failure::{Class, Failure};
use crate::inspection::{Inspection, InspectionOutcome, broken_promise};
use meshreel_compile::{Error, Progress, farm};
use meshreel_scene::Remark;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The result of joining.
pub struct Joined {
    /// Size of the file, in bytes.
    pub bytes: u64,
    /// Number of frames.
    pub frames: usize,
    /// Number of parts it was joined from.
    pub parts: u32,
    /// Remarks for the user.
    pub remarks: Vec<Remark>,
    /// The verification; `None` if no source was given.
    pub verified: Option<VerificationSummary>,
}

/// The advice for a promise that does not hold.
const RECOMPILE_ADVICE: &str =
    "is the source that of the plan? Then 'meshreel compile' aims at this more closely";

/// Joins all parts of one plan, in any order, into `target`, on `jobs` threads (0: all cores). If a source is
/// given, the file is verified against it before it gets its name.
pub fn join(
    paths: &[PathBuf],
    target: &Path,
    source: Option<Inputs<'_>>,
    jobs: usize,
    progress: &dyn Progress,
) -> Result<Joined, Failure> {
    check_target(target, paths)?;
    source.map_or(Ok(()), |source| check_target(target, source.paths))?;
    let parts = open_parts(paths)?;
    let mut units: HashMap<u32, (usize, usize)> = HashMap::new();
    for (p, part) in parts.iter().enumerate() {
        for section in part.section_indices(UNIT) {
            let bytes = part.section(section)?;
            let number = split_number(&bytes).ok_or_else(|| part.damaged())?.0;
            if units.insert(number, (p, section)).is_some() {
                return Err(part.damaged());
            }
        }
    }
    let assembly = parts[0].only_section(ASSEMBLY)?;
    let tails: Vec<Vec<u8>> = parts.iter().map(|part| part.only_section(TAIL)).collect::<Result<_, _>>()?;
    let mut failed = None;
    let mut unit = |number: u32| {
        let Some(&(p, section)) = units.get(&number) else {
            return Err(Error::Malformed { what: format!("no part has unit {number}") });
        };
        let bytes = parts[p].section(section).map_err(|failure| {
            let what = failure.line();
            failed = Some(failure);
            Error::Malformed { what }
        })?;
        Ok(bytes.get(4..).unwrap_or_default().to_vec())
    };
    let pieces = farm::JoinInput { assembly: &assembly, tails: &tails, unit: &mut unit };
    let inspection = Inspection::new(source, progress);
    let joined = farm::join(pieces, target, jobs, &|path| inspection.inspect(path), progress);
    let verified = match inspection.outcome()? {
        InspectionOutcome::Broken(report) => return Err(broken_promise(&report, target, RECOMPILE_ADVICE)),
        InspectionOutcome::Holds(verified) => Some(verified),
        InspectionOutcome::NotVerified => None,
    };
    match joined {
        Ok(joined) => Ok(Joined {
            bytes: joined.file_bytes,
            frames: joined.frames,
            parts: parts.len() as u32,
            remarks: joined.remarks,
            verified,
        }),
        Err(error) => Err(failed.take().unwrap_or_else(|| join_failure(error, target))),
    }
}

/// Converts an error. Parts with valid checksums that make no valid file were forged: that is no defect of
/// this machine.
fn join_failure(error: Error, target: &Path) -> Failure {
    match error {
        Error::Refused { source, .. } => match source.downcast::<meshreel::Error>() {
            Ok(error) if !matches!(*error, meshreel::Error::Malformed { .. }) => {
                Failure { at: Some(target.display().to_string()), ..Failure::from(*error) }
            }
            Ok(error) => not_a_file(&error.to_string(), target),
            Err(error) => not_a_file(&error.to_string(), target),
        },
        error => Failure::from(error).or_at(target),
    }
}

fn not_a_file(what: &str, target: &Path) -> Failure {
    let what = format!("the parts make no file that decodes ({what}): plan again");
    Failure::new(Class::Malformed, what, Some(target.display().to_string()))
}

/// Opens all parts of one plan and sorts them; each must be there. Anything else is refused by name.
fn open_parts(paths: &[PathBuf]) -> Result<Vec<Reader>, Failure> {
    let mut first: Option<(PathBuf, PartHeader)> = None;
    let mut known: Vec<Option<Reader>> = Vec::new();
    for path in paths {
        let reader = Reader::open(path, FarmFileKind::Part)?;
        let head = PartHeader::read(&reader)?;
        let at = || Some(path.display().to_string());
        match &first {
            None => known.resize_with(head.count as usize, || None),
            Some((other, own)) if own.plan != head.plan => {
                let what = format!("of another plan than {}: parts of one plan make a file", other.display());
                return Err(Failure::new(Class::Malformed, what, at()));
            }
            Some((other, own)) if own.count != head.count => {
                let what =
                    format!("one of {} parts, and {} is one of {}", head.count, other.display(), own.count);
                return Err(Failure::new(Class::Malformed, what, at()));
            }
            Some(_) => {}
        }
        let slot = &mut known[head.number as usize - 1];
        match slot {
            Some(other) if other.hash != reader.hash => {
                let (number, other) = (head.number, other.path().display());
                let what = format!("part {number}, as {other} is, but with other content: which is it?");
                return Err(Failure::new(Class::Malformed, what, at()));
            }
            // A duplicate of a part.
            Some(_) => {}
            None => *slot = Some(reader),
        }
        first.get_or_insert((path.clone(), head));
    }
    let count = known.len();
    let missing: Vec<String> = (1..=count)
        .zip(&known)
        .filter(|(_, part)| part.is_none())
        .map(|(number, _)| format!("{number}/{count}"))
        .collect();
    match missing.is_empty() {
        true => Ok(known.into_iter().flatten().collect()),
        false => {
            let shown = missing.iter().take(MAX_LISTED_PARTS).cloned().collect::<Vec<_>>().join(", ");
            let more = if missing.len() > MAX_LISTED_PARTS { " and more" } else { "" };
            let are = if missing.len() == 1 { "is" } else { "are" };
            Err(Failure::usage(format!("{shown}{more} {are} missing: name all parts of the plan")))
        }
    }
}

/// The largest number of missing parts that are listed.
const MAX_LISTED_PARTS: usize = 12;
