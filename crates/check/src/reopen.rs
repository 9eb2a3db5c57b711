//! Opens a file as any player would and decodes all that is in it: what a compiler does with a finished file
//! before it gets its name.

use meshreel::clip::{Clip, ClipCursor, PoseSource};
use meshreel::{Error, FrameDecoder, Limits, Reel, Transform};
use rayon::prelude::*;
use std::path::Path;

/// Fewest frames of one decoder: to begin in the middle of a file costs a few.
const FRAMES_AT_LEAST: usize = 64;

/// Bytes that decoders side by side take at most, unless one alone takes more.
const MEMORY: u64 = 256 << 20;

/// Why a finished file is refused: the [`Error`] that a player would have, or that nobody wants to know any more.
pub type Refusal = Box<dyn std::error::Error + Send + Sync>;

/// Opens the file at `path` with the runtime's default limits and decodes every frame, clip, source map, LOD,
/// attribute and rig. An error is the [`Error`] that a player would have.
pub fn reopen(path: &Path) -> Result<(), Refusal> {
    reopen_while(path, &|| true)
}

/// [`reopen`], which ends with another error as soon as it is not `wanted` any more; before each frame it asks.
pub fn reopen_while(path: &Path, wanted: &(dyn Fn() -> bool + Sync)) -> Result<(), Refusal> {
    let go_on = || if wanted() { Ok(()) } else { Err(Refusal::from("cancelled")) };
    let reel = Reel::open(path, &Limits::default())?;
    decode_static(&reel, wanted)?;
    reel.clips()?.par_iter().try_for_each(|clip| go_on().and_then(|()| Ok(samples(clip)?)))?;
    let frames = reel.frame_count();
    let decoders = (rayon::current_num_threads() as u64)
        .min(MEMORY / reel.memory().max(1))
        .clamp(1, (frames / FRAMES_AT_LEAST).max(1) as u64) as usize;
    (0..decoders).into_par_iter().try_for_each(|part| -> Result<(), Refusal> {
        let mut decoder = FrameDecoder::new(&reel)?;
        for frame in part * frames / decoders..(part + 1) * frames / decoders {
            go_on()?;
            decoder.decode(frame)?;
        }
        Ok(())
    })
}

/// Decodes all that frames and samples of clips do not need to be shown, and which a verification may pass over: the
/// source maps, LOD levels, attributes and rigs of all meshes. Ends with an error as soon as it is not `wanted`.
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

fn samples(clip: &Clip) -> Result<(), Error> {
    let mut cursor = ClipCursor::new(clip);
    let mut pose = vec![Transform::IDENTITY; clip.joints()];
    (0..clip.samples()).try_for_each(|sample| clip.sample_at(&mut cursor, sample, &mut pose))
}
