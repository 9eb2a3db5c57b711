//! Sizes of meshes and their streams over all frames: measured once, on a thread of their own.

use crate::errors::one_line;
use meshreel::{FrameDecoder, Reel};
use meshreel_check::static_bytes;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Number of frames between two updates.
const FRAMES_PER_UPDATE: usize = 32;

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
pub struct SizeMeasurement {
    receiver: Receiver<Result<FrameSizes, String>>,
    /// Results so far.
    pub measured: FrameSizes,
    /// Reason why it stopped early.
    pub failed: Option<String>,
}

impl SizeMeasurement {
    /// Starts the thread; `done` is called at each update.
    pub fn start(reel: &Reel, done: impl Fn() + Send + 'static) -> SizeMeasurement {
        // The thread waits while the window takes no update.
        let (tell, told) = sync_channel(1);
        let reel = reel.clone();
        std::thread::spawn(move || {
            if let Err(error) = measure_frames(&reel, &tell, &done) {
                let _ = tell.send(Err(one_line(&error)));
                done();
            }
        });
        SizeMeasurement { receiver: told, measured: FrameSizes::default(), failed: None }
    }

    /// Takes new results.
    pub fn poll(&mut self) {
        match self.receiver.try_iter().last() {
            Some(Ok(seen)) => self.measured = seen,
            Some(Err(error)) => self.failed = Some(error),
            None => {}
        }
    }
}

fn measure_frames(
    reel: &Reel,
    tell: &SyncSender<Result<FrameSizes, String>>,
    done: &impl Fn(),
) -> anyhow::Result<()> {
    let (mut decoder, count) = (FrameDecoder::new(reel)?, reel.frame_count());
    let once = static_bytes(reel);
    for frame in 0..count {
        decoder.decode(frame)?;
        if (frame + 1) % FRAMES_PER_UPDATE == 0 || frame + 1 == count {
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
        let mut sizes = SizeMeasurement::start(&reel, move || _ = tell.send(()));
        while sizes.measured.frames < reel.frame_count() {
            told.recv().unwrap();
            sizes.poll();
        }
        let mut decoder = FrameDecoder::new(&reel).unwrap();
        (0..reel.frame_count()).for_each(|frame| decoder.decode(frame).unwrap());
        let meshes = decoder.mesh_bytes().iter().zip(static_bytes(&reel)).map(|(a, b)| a + b);
        assert_eq!(sizes.measured.meshes, meshes.collect::<Vec<_>>());
        assert!(sizes.measured.streams.iter().zip(0..).all(|(own, mesh)| own == decoder.stream_bytes(mesh)));
        assert_eq!(sizes.failed, None);
    }
}
