//! Opens a file as a player would and decodes everything in it. A compiler does this with a finished file
//! before that gets its name.

use crate::machine::machine_limits;
use meshreel::clip::Clip;
use meshreel::{Error, FrameDecoder, Limits, Reel, Transform};
use rayon::prelude::*;
use std::path::Path;

/// The fewest frames for one decoder: starting in the middle of a file costs a few frames.
const MIN_FRAMES_PER_DECODER: usize = 64;

/// The memory in bytes that decoders at work at the same time may take, unless a single one takes more.
const MAX_DECODER_BYTES: u64 = 512 << 20;

/// The reason for which a finished file is refused: the [`Error`] that a player would have, or a
/// cancellation.
pub type Refusal = Box<dyn std::error::Error + Send + Sync>;

/// Opens the file at `path` with the runtime's default limits, or what this machine has if that is more, and
/// decodes every frame, clip, source map, LOD, part attribute and rig. Fails with the [`Error`] that a player
/// would have.
pub fn reopen(path: &Path) -> Result<(), Refusal> {
    reopen_while(path, &|| true)
}

/// As [`reopen`], but asks `wanted` before each frame and ends with another error once it returns `false`.
pub fn reopen_while(path: &Path, wanted: &(dyn Fn() -> bool + Sync)) -> Result<(), Refusal> {
    let go_on = || if wanted() { Ok(()) } else { Err(Refusal::from("cancelled")) };
    let (default, machine) = (Limits::default(), machine_limits());
    let memory = default.max_memory.max(machine.max_memory);
    let reel = Reel::open(path, &default.with_max_memory(memory))?;
    decode_static(&reel, wanted)?;
    reel.clips()?.par_iter().try_for_each(|clip| go_on().and_then(|()| Ok(decode_samples(clip)?)))?;
    let frames = reel.frame_count();
    let decoders = max_decoders(&reel).min((frames / MIN_FRAMES_PER_DECODER).max(1));
    (0..decoders).into_par_iter().try_for_each(|part| -> Result<(), Refusal> {
        let mut decoder = FrameDecoder::new(&reel)?;
        for frame in part * frames / decoders..(part + 1) * frames / decoders {
            go_on()?;
            decoder.decode(frame)?;
        }
        Ok(())
    })
}

/// Returns the number of decoders that work at the same time: one per thread, if memory suffices.
pub(crate) fn max_decoders(reel: &Reel) -> usize {
    let further = MAX_DECODER_BYTES.saturating_sub(reel.memory()) / reel.decoder_memory().max(1);
    (1 + further).min(rayon::current_num_threads() as u64) as usize
}

/// Decodes everything that is not needed to show frames and samples of clips, and that a verification may
/// skip: source maps, LOD levels, attributes and rigs of all meshes. Ends with an error once `wanted` returns
/// `false`.
pub fn decode_static(reel: &Reel, wanted: &(dyn Fn() -> bool + Sync)) -> Result<(), Refusal> {
    for mesh in 0..reel.description().meshes.len() {
        match wanted() {
            true => reel.source_map(mesh)?,
            false => return Err("cancelled".into()),
        };
    }
    reel.all_part_attributes()?;
    reel.rigs()?;
    Ok(())
}

fn decode_samples(clip: &Clip) -> Result<(), Error> {
    let mut cursor = clip.cursor();
    let mut pose = vec![Transform::IDENTITY; clip.joints()];
    (0..clip.samples()).try_for_each(|sample| cursor.sample(sample, &mut pose))
}
