//! Decodes frames on a thread of their own, so that the window never waits for one.

use meshreel::{FrameDecoder, Reel};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

/// Decoders with decoded frames, on their way to the window.
struct DecodedFrames {
    decoders: Vec<FrameDecoder>,
    /// Duration of decoding in milliseconds.
    milliseconds: f64,
}

/// Frames that the window asks for, and decoders that it no longer needs.
struct DecodeRequest {
    frames: Vec<usize>,
    spare: Vec<FrameDecoder>,
}

/// Decodes the two frames of a moment while others are shown: one moment at a time, then the latest one
/// requested. Uses at most four decoders.
pub struct Decoding {
    request_sender: Sender<DecodeRequest>,
    result_receiver: Receiver<anyhow::Result<DecodedFrames>>,
    /// The frames that are being decoded.
    pending: Option<[usize; 2]>,
    /// Decoders of frames that are not shown.
    ready: Vec<FrameDecoder>,
    /// Last duration of decoding in milliseconds; taken by the reader.
    pub milliseconds: Option<f64>,
}

impl Decoding {
    /// Starts the thread; `done` is called whenever there is a new frame to show.
    pub fn start(reel: &Reel, done: impl Fn() + Send + 'static) -> Decoding {
        let ((asked, all), (tell, told)) = (channel::<DecodeRequest>(), channel());
        let reel = reel.clone();
        std::thread::spawn(move || {
            let mut spare = Vec::new();
            while let Ok(mut asked) = all.recv() {
                spare.append(&mut asked.spare);
                if tell.send(decode_frames(&reel, &asked.frames, &mut spare)).is_err() {
                    return;
                }
                done();
            }
        });
        Decoding {
            request_sender: asked,
            result_receiver: told,
            pending: None,
            ready: Vec::new(),
            milliseconds: None,
        }
    }

    /// Replaces the decoders in `shown` by those of the two wanted frames and returns `true`; if these are
    /// not decoded yet, requests them, shows the last decoded ones, and returns `false`.
    pub fn swap_or_request(
        &mut self,
        shown: &mut [FrameDecoder; 2],
        wanted: [usize; 2],
    ) -> anyhow::Result<bool> {
        for told in self.result_receiver.try_iter() {
            let DecodedFrames { decoders, milliseconds: took } = told?;
            self.ready.extend(decoders);
            self.milliseconds = Some(took);
            if let Some(asked) = self.pending.take() {
                swap_in(shown, &mut self.ready, asked);
            }
        }
        let known = shown.iter().chain(&self.ready).map(FrameDecoder::frame);
        let frames = missing(known.collect(), wanted);
        if frames.is_empty() {
            swap_in(shown, &mut self.ready, wanted);
            return Ok(true);
        }
        if self.pending.is_none() {
            self.pending = Some(wanted);
            // If the thread has ended, it has reported the reason.
            let _ =
                self.request_sender.send(DecodeRequest { frames, spare: std::mem::take(&mut self.ready) });
        }
        Ok(false)
    }
}

/// Returns the wanted frames, each with a decoder of its own, that are not among the known ones.
fn missing(mut known: Vec<Option<usize>>, wanted: [usize; 2]) -> Vec<usize> {
    let mut is_known = |frame: &usize| {
        let found = known.iter().position(|own| own == &Some(*frame));
        found.map(|i| known.swap_remove(i)).is_some()
    };
    wanted.into_iter().filter(|frame| !is_known(frame)).collect()
}

/// Swaps decoders of the wanted frames into `shown`, as far as there are any.
fn swap_in(shown: &mut [FrameDecoder; 2], here: &mut [FrameDecoder], wanted: [usize; 2]) {
    for (i, frame) in wanted.into_iter().enumerate() {
        let shows = |decoder: &FrameDecoder| decoder.frame() == Some(frame);
        if shows(&shown[i]) {
            continue;
        }
        if i == 0 && shows(&shown[1]) {
            shown.swap(0, 1);
        } else if let Some(found) = here.iter().position(shows) {
            std::mem::swap(&mut shown[i], &mut here[found]);
        }
    }
}

/// Decodes frames, each with the decoder that has the shortest way to it.
fn decode_frames(
    reel: &Reel,
    frames: &[usize],
    spare: &mut Vec<FrameDecoder>,
) -> anyhow::Result<DecodedFrames> {
    let since = Instant::now();
    let mut decoders = Vec::with_capacity(frames.len());
    for &frame in frames {
        let way = |decoder: &FrameDecoder| match decoder.frame() {
            Some(own) if own <= frame => frame - own,
            // Backwards, or a decoder without a frame.
            _ => usize::MAX,
        };
        let nearest = (0..spare.len()).min_by_key(|i| way(&spare[*i]));
        let mut decoder = match nearest {
            Some(i) => spare.swap_remove(i),
            None => FrameDecoder::new(reel)?,
        };
        decoder.decode(frame)?;
        decoders.push(decoder);
    }
    Ok(DecodedFrames { decoders, milliseconds: since.elapsed().as_secs_f64() * 1e3 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel::Limits;

    #[test]
    fn frames_come_when_they_are_decoded_and_what_is_shown_stays_until_then() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/v0/flag_fast.reel");
        let reel = Reel::open(path, &Limits::default()).unwrap();
        let mut shown = [FrameDecoder::new(&reel).unwrap(), FrameDecoder::new(&reel).unwrap()];
        shown.iter_mut().for_each(|decoder| decoder.decode(0).unwrap());
        let (tell, told) = channel();
        let mut decoding = Decoding::start(&reel, move || _ = tell.send(()));
        assert!(decoding.swap_or_request(&mut shown, [0, 0]).unwrap());
        let last = reel.frame_count() - 1;
        let mut show = |wanted: [usize; 2]| {
            let before = shown.each_ref().map(FrameDecoder::frame);
            let there = decoding.swap_or_request(&mut shown, wanted).unwrap();
            let now = shown.each_ref().map(FrameDecoder::frame);
            assert!(if there { now == wanted.map(Some) } else { now.iter().all(Option::is_some) });
            assert!(decoding.ready.len() <= 2);
            (there, before != now)
        };
        for wanted in [[0, 1], [1, 2], [2, 3], [last - 1, last], [last, last], [5, 6], [4, 5], [0, 1]] {
            while !show(wanted).0 {
                told.recv().unwrap();
            }
        }
        // The shown frames stay until new ones are ready; then the latest request is decoded.
        assert_eq!(show([6, 7]), (false, false));
        while !show([3, 4]).0 {
            told.recv().unwrap();
        }
    }

    #[test]
    fn two_decoders_are_needed_for_the_same_frame_twice() {
        assert_eq!(missing(vec![Some(3), None], [3, 3]), [3]);
        assert!(missing(vec![Some(3), Some(3)], [3, 3]).is_empty());
        assert!(missing(vec![Some(4), Some(3)], [3, 4]).is_empty());
        assert_eq!(missing(vec![None], [3, 4]), [3, 4]);
    }
}
