//! Sizes of meshes and their streams over all frames: measured once, on a thread of their own.

use crate::errors::said;
use meshreel::{FrameDecoder, Reel};
use meshreel_check::static_bytes;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Number of frames between two updates.
const NEW: usize = 32;

/// Sizes over the frames that were measured so far.
#[derive(Clone, Default)]
pub struct FrameSizes {
    /// Number of these frames.
    pub frames: usize,
    /// Bytes by mesh, including its static data; the next field has bytes of frames by mesh and stream.
    pub meshes: Vec<f64>,
    pub streams: Vec<Vec<f64>>,
}

/// Measures the frames of a file. Dropping it stops the thread.
pub struct Sizes {
    told: Receiver<Result<FrameSizes, String>>,
    /// Results so far.
    pub seen: FrameSizes,
    /// Reason why it stopped early.
    pub failed: Option<String>,
}

impl Sizes {
    /// Starts the thread; `done` is called at each update.
    pub fn start(reel: &Reel, done: impl Fn() + Send + 'static) -> Sizes {
        // The thread waits while the window takes no update.
        let (tell, told) = sync_channel(1);
        let reel = reel.clone();
        std::thread::spawn(move || {
            if let Err(error) = look(&reel, &tell, &done) {
                let _ = tell.send(Err(said(&error)));
                done();
            }
        });
        Sizes { told, seen: FrameSizes::default(), failed: None }
    }

    /// Takes new results.
    pub fn poll(&mut self) {
        match self.told.try_iter().last() {
            Some(Ok(seen)) => self.seen = seen,
            Some(Err(error)) => self.failed = Some(error),
            None => {}
        }
    }
}

fn look(reel: &Reel, tell: &SyncSender<Result<FrameSizes, String>>, done: &impl Fn()) -> anyhow::Result<()> {
    let (mut decoder, count) = (FrameDecoder::new(reel)?, reel.frame_count());
    let once = static_bytes(reel);
    for frame in 0..count {
        decoder.decode(frame)?;
        if (frame + 1) % NEW == 0 || frame + 1 == count {
            let streams = (0..decoder.mesh_bytes().len()).map(|mesh| decoder.stream_bytes(mesh).to_vec());
            let meshes = decoder.mesh_bytes().iter().zip(&once);
            let seen = FrameSizes {
                frames: frame + 1,
                meshes: meshes.map(|(frames, once)| frames + once).collect(),
                streams: streams.collect(),
            };
            if tell.send(Ok(seen)).is_err() {
                return Ok(());
            }
            done();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel::Limits;
    use std::sync::mpsc::channel;

    #[test]
    fn all_frames_are_seen_once() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/v0/wall_fast.reel");
        let reel = Reel::open(path, &Limits::default()).unwrap();
        let (tell, told) = channel();
        let mut sizes = Sizes::start(&reel, move || _ = tell.send(()));
        while sizes.seen.frames < reel.frame_count() {
            told.recv().unwrap();
            sizes.poll();
        }
        let mut decoder = FrameDecoder::new(&reel).unwrap();
        (0..reel.frame_count()).for_each(|frame| decoder.decode(frame).unwrap());
        let meshes = decoder.mesh_bytes().iter().zip(static_bytes(&reel)).map(|(a, b)| a + b);
        assert_eq!(sizes.seen.meshes, meshes.collect::<Vec<_>>());
        assert!(sizes.seen.streams.iter().zip(0..).all(|(own, mesh)| own == decoder.stream_bytes(mesh)));
        assert_eq!(sizes.failed, None);
    }
}
