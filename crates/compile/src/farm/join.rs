//! Joins the units of all parts into a file.

use crate::Error;
use crate::codec_terms::block_format;
use crate::farm::record::{Assembly, MeshOutline, Tail, UnitsOutline, from_bytes, malformed};
use crate::method::fluid::RunMaps;
use crate::plan::publish;
use crate::report::{Inspect, Phase, Progress};
use crate::threads::pool;
use crate::write::file::{Body, ChunkOutput};
use crate::write::job::check_size;
use crate::write::units::{UnitOutput, is_alone};
use meshreel_codec::entropy::block::Compressor;
use meshreel_codec::put_length_prefixed;
use meshreel_codec::record::source_map::SourceMap;
use meshreel_codec::record::{self, Description};
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_format::Writer;
use meshreel_options::BlockChoice;
use meshreel_scene::Remark;
use std::path::Path;

/// A joined file.
pub struct Joined {
    /// Size of the file in bytes.
    pub file_bytes: u64,
    /// The number of frames.
    pub frames: usize,
    /// The number of units.
    pub units: u32,
    /// Remarks for the user.
    pub remarks: Vec<Remark>,
}

/// The input of a join.
pub struct JoinInput<'a> {
    /// Everything of the file but its units, from the plan.
    pub assembly: &'a [u8],
    /// The tails of all parts, in order.
    pub tails: &'a [Vec<u8>],
    /// Returns the bytes of the unit of a given number, from the part that has it.
    pub unit: &'a mut dyn FnMut(u32) -> Result<Vec<u8>, Error>,
}

/// Joins all parts of a plan into `target`, on `jobs` threads (0: all cores). The target is replaced only
/// when everything is written and `inspect` does not refuse it.
pub fn join(
    pieces: JoinInput<'_>,
    target: &Path,
    jobs: usize,
    inspect: Inspect<'_>,
    progress: &dyn Progress,
) -> Result<Joined, Error> {
    let cancellation = progress.cancellation();
    let JoinInput { assembly, tails, unit } = pieces;
    let assembly: Assembly = from_bytes(assembly, "everything of the file but its units")?;
    let pool = pool(jobs)?;
    let output = ChunkOutput::File(Writer::create(target)?);
    let (effort, meshes) = assembly.units.as_ref().map_or((1, 0), |u| (u.effort, u.meshes.len()));
    // Other block formats exist only in the preset classic, which has no units.
    let compressor = Compressor::new(block_format(BlockChoice::Zstd), effort);
    let mut body = Body::new(output, compressor, meshes, assembly.times.len(), assembly.raw_bytes);
    for (kind, raw, bytes) in &assembly.leading_chunks {
        body.output.write_chunk(*kind, *raw, bytes)?;
    }
    let mut count = 0;
    match &assembly.units {
        Some(units) => {
            let schedule = Schedule::new(frame_count(&assembly)?, units.restart);
            let total = u64::from(schedule.frames());
            let mut done = 0;
            for own in schedule.units_in_file_order().filter(|_| meshes > 0) {
                cancellation.check()?;
                let read = from_bytes(&unit(schedule.unit_number(own))?, "a unit")?;
                let checked = check_unit(read, schedule, own, meshes)?;
                done += checked.bounds.len() as u64;
                body.write_unit(checked)?;
                count += 1;
                progress.update(Phase::Encode, done, total);
            }
            finish(&mut body, units, tails, &assembly.times, target)?;
        }
        None => {
            if assembly.boxes.len() != assembly.times.len() {
                return Err(malformed("boxes of other frames"));
            }
            body.boxes.clone_from(&assembly.boxes);
            body.frame_table(&assembly.times)?;
        }
    }
    cancellation.check()?;
    progress.update(Phase::Inspect, 0, 1);
    let mut remarks = Vec::new();
    let file_bytes = match body.complete()? {
        (_, Some(file)) => pool.install(|| publish(file, target, inspect, &mut remarks))?,
        (bytes, None) => bytes,
    };
    Ok(Joined { file_bytes, frames: assembly.times.len(), units: count, remarks })
}

fn frame_count(assembly: &Assembly) -> Result<u32, Error> {
    u32::try_from(assembly.times.len()).map_err(|_| malformed("more frames than a file has"))
}

/// Returns the unit if its number and its frames are the expected ones.
fn check_unit(unit: UnitOutput, schedule: Schedule, own: Unit, meshes: usize) -> Result<UnitOutput, Error> {
    let frames = schedule.frames_of(own);
    let attributes = unit.attributes.as_ref();
    let fits = unit.alone == is_alone(schedule, own)
        && unit.bounds.iter().map(|b| b.0).eq(frames.iter().copied())
        && unit.parts.len() == meshes
        && attributes.is_none_or(|own| own.parts.len() == meshes);
    check_size("one unit of frames", unit.raw.max(attributes.map_or(0, |own| own.raw)))?;
    match fits {
        true => Ok(unit),
        false => Err(malformed("a unit that is none of this file")),
    }
}

/// Writes the chunks behind the units.
fn finish(
    body: &mut Body,
    units: &UnitsOutline,
    tails: &[Vec<u8>],
    times: &[f64],
    target: &Path,
) -> Result<(), Error> {
    let meshes = units.meshes.len();
    let tails: Vec<Tail> =
        tails.iter().map(|tail| from_bytes(tail, "the end of a part")).collect::<Result<_, _>>()?;
    if tails.iter().any(|tail| tail.meshes.len() != meshes) {
        return Err(malformed("parts of other meshes"));
    }
    let mut description = record::decode(&units.description)
        .map_err(|_| malformed("the description of nodes and meshes cannot be read"))?;
    if description.meshes.len() != meshes {
        return Err(malformed("a description of other meshes"));
    }
    for m in 0..meshes {
        let mut bytes = Vec::new();
        for end in 0..2 {
            let mut found = tails.iter().filter_map(|tail| tail.meshes[m].end_states[end].as_ref());
            let first = found.next();
            if found.any(|other| Some(other) != first) {
                return Err(malformed("end states that do not go together"));
            }
            if let Some(first) = first {
                check_size("the end states of a mesh", first.len())?;
                put_length_prefixed(first, &mut bytes);
            }
        }
        body.add_end_states(m, &bytes)?;
    }
    body.flush_end_states()?;
    for (m, outline) in units.meshes.iter().enumerate().filter(|(_, outline)| outline.faces_change) {
        add_changing_source_map(body, (m, outline, units.strip), &tails, times.len(), &mut description)?;
    }
    body.flush_source_maps()?;
    body.frame_table(times)?;
    for (kind, raw, bytes) in &units.trailing_chunks {
        body.output.write_chunk(*kind, *raw, bytes)?;
    }
    for (m, outline) in units.meshes.iter().enumerate() {
        let record = &mut description.meshes[m];
        record.end_states = body.end_states.locations[m];
        if outline.faces_change {
            record.source_map = body.maps.locations[m];
            record.vertices = body.totals[m].vertices as u32;
            record.indices = body.totals[m].indices as u32;
        }
    }
    body.write_description(&description, target)
}

/// Adds the source map of a mesh whose faces change, and counts its points.
fn add_changing_source_map(
    body: &mut Body,
    (m, outline, strip): (usize, &MeshOutline, bool),
    tails: &[Tail],
    frames: usize,
    description: &mut Description,
) -> Result<(), Error> {
    let (mut maps, mut too_many) = (RunMaps::default(), false);
    let (mut points, mut split) = (0, false);
    // Points without faces have no source map.
    let mut any = false;
    for tail in tails.iter().filter_map(|tail| tail.meshes[m].changing.as_ref()) {
        any = true;
        points = points.max(tail.points);
        split |= tail.split;
        too_many |= tail.source_maps_dropped;
        tail.add_to(&mut maps)?;
    }
    description.meshes[m].points = if split { points } else { 0 };
    if maps.frame_runs.keys().next_back().is_some_and(|&frame| frame as usize >= frames) {
        return Err(malformed("a map back to the source of a frame that there is not"));
    }
    let (runs, run_of) = match any && !too_many {
        true => maps.finish(frames as u32),
        false => Default::default(),
    };
    let map = SourceMap {
        computed_normals: outline.generated_normals,
        run_maps: runs,
        frame_runs: run_of,
        ..SourceMap::default()
    };
    match strip || map == SourceMap::default() {
        true => Ok(()),
        false => body.add_source_map(m, &map),
    }
}
