//! End states: meshes that stand still before or after they move, decoded once when static data is read.

use crate::decode::unit;
use crate::reel::chunk_content::take_bytes;
use crate::reel::open_file::Reel;
use crate::reel::statics::Statics;
use crate::{Error, error};
use meshreel_codec::{Corrupt, take_length_prefixed};

/// Decodes the end states of all meshes into the buffers of two frames; these are empty if no mesh needs
/// them.
pub(crate) fn load(reel: &Reel, statics: &Statics) -> Result<[Vec<u64>; 2], Error> {
    let own = |mesh: usize| reel.motion_window(mesh);
    let meshes = &reel.description().meshes;
    let wanted: Vec<(Option<u32>, usize)> = (0..meshes.len())
        .filter(|&m| own(m).is_some())
        .map(|m| (Some(meshes[m].end_states.chunk), m))
        .collect();
    let mut ends = [Vec::new(), Vec::new()];
    for (_, mesh) in &wanted {
        for (end, _) in own(*mesh).iter().flat_map(|own| own.end_units()) {
            ends[end as usize].resize(reel.frame_words(), 0);
        }
    }
    let mut scratch = vec![0; reel.layout().scratch_words];
    reel.each_chunk(wanted, |content, mesh| {
        let record = &meshes[mesh];
        let at = || format!("ends of mesh {}", record.path);
        let corrupt = |c: Corrupt| error::corrupt(reel.path(), c, at());
        let mut bytes = crate::reel::chunk_content::slice(reel.path(), content, record.end_states, at)?;
        let Some(own) = own(mesh) else { return Ok(()) };
        for (end, number) in own.end_units() {
            let (unit, used) = take_length_prefixed(bytes).map_err(corrupt)?;
            take_bytes(&mut bytes, used).map_err(corrupt)?;
            let out = &mut [&mut ends[end as usize][..]];
            unit::decode_end_state(reel, statics, (mesh, &own.order, number), unit, &mut scratch, out)?;
        }
        match bytes {
            [] => Ok(()),
            _ => Err(corrupt(Corrupt("bytes left over"))),
        }
    })?;
    Ok(ends)
}
