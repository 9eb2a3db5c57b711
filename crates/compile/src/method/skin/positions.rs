//! Positions of all frames, for the search of parts and bones: all are held if they fit the allowed memory,
//! else those of a sample of frames, and others are read on demand.

use super::model::BoneModel;
use crate::Error;
use crate::method::points::PointFrames;
use glam::{DAffine3, DVec3};
use meshreel_codec::mesh::encode::PositionSource;
use meshreel_process::bones;
use meshreel_process::parts::{FitSums, Similarity, Trajectories, TransformModel as Freedom};
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::Arc;

/// The least number of frames in a sample, if there are more.
const MIN_SAMPLE_FRAMES: u64 = 16;
/// Bytes of a position.
const BYTES: u64 = size_of::<[f32; 3]>() as u64;

/// Positions of a mesh in all frames.
pub struct Positions {
    frames: Arc<PointFrames>,
    /// Number of frames.
    count: u32,
    /// Indices of the frames that are held, in order; frame 0 is the first of them.
    held_frames: Vec<u32>,
    held: Trajectories,
}

impl Positions {
    /// Returns the bytes of memory needed for `points` in `count` frames: half of it is for other things.
    pub fn memory(points: usize, count: u32) -> u64 {
        let raw = points as u64 * BYTES;
        (2 * raw * u64::from(count)).min(4 * raw * MIN_SAMPLE_FRAMES)
    }

    /// Returns the bytes of memory with which a sample has `frames` frames.
    pub fn sample_memory(points: usize, frames: u64) -> u64 {
        4 * points as u64 * BYTES * frames.max(MIN_SAMPLE_FRAMES)
    }

    /// Reads all frames, or as many as `memory`, in bytes, has room for; `None` if there is no room for a
    /// sample.
    pub fn read(
        frames: &Arc<PointFrames>,
        points: usize,
        count: u32,
        memory: u64,
    ) -> Result<Option<Positions>, Error> {
        if Positions::memory(points, count) > memory {
            return Ok(None);
        }
        let of_frame = points as u64 * BYTES;
        // A sample leaves room for as many frames again, which are coded together.
        let looked: Vec<u32> = match of_frame * u64::from(count) <= memory / 2 {
            true => (0..count).collect(),
            false => {
                let fit = (memory / 4 / of_frame).min(u64::from(count) / 2).max(2) as u32;
                let at = |i: u32| u64::from(i) * u64::from(count - 1) / u64::from(fit - 1);
                (0..fit).map(|i| at(i) as u32).collect()
            }
        };
        let held = trajectories(frames, points, &looked)?;
        Ok(Some(Positions { frames: frames.clone(), count, held_frames: looked, held }))
    }

    /// Returns the frames that are held, which may be a sample.
    pub fn held(&self) -> &Trajectories {
        &self.held
    }

    /// Picks, from a list with one entry per frame, the entries of the frames that are held.
    pub fn pick_held<T: Clone>(&self, all: &[T]) -> Vec<T> {
        let own = self.held_frames.iter().filter_map(|&f| all.get(f as usize));
        own.cloned().collect()
    }

    /// Returns the number of frames, held or not.
    pub fn frame_count(&self) -> usize {
        self.count as usize
    }

    fn is_whole(&self) -> bool {
        self.held_frames.len() == self.count as usize
    }

    /// Returns the positions of a frame; those not held are read into `room`. [`Positions::check`] returns
    /// the error if that failed.
    pub fn frame<'b>(&'b self, frame: u32, room: &'b mut Vec<[f32; 3]>) -> &'b [[f32; 3]] {
        match self.held_frames.binary_search(&frame) {
            Ok(i) => self.held.frame(i),
            Err(_) => {
                room.resize(self.held.points(), [0.0; 3]);
                self.frames.positions(frame, room);
                room
            }
        }
    }

    /// Returns the error of reading, if a frame could not be read.
    pub fn check(&self) -> Result<(), Error> {
        self.frames.check()
    }

    /// Returns the number of frames of a [`FrameBlock`] that memory has room for.
    pub fn block(&self) -> usize {
        self.held_frames.len()
    }

    /// Reads the positions of some frames.
    pub fn read_block(&self, mut frames: Vec<u32>) -> Result<FrameBlock<'_>, Error> {
        if self.is_whole() {
            return Ok(FrameBlock {
                frames: Cow::Borrowed(&self.held_frames),
                positions: Cow::Borrowed(&self.held),
            });
        }
        frames.sort_unstable();
        let positions = trajectories(&self.frames, self.held.points(), &frames)?;
        Ok(FrameBlock { frames: Cow::Owned(frames), positions: Cow::Owned(positions) })
    }

    /// Completes a model whose motions are known in the held frames with the motions in all frames that fit
    /// the points best. Points without motion may be `near` their rest position.
    pub fn complete(&self, mut model: BoneModel, near: f64) -> Result<BoneModel, Error> {
        let known = self.held_frames.len();
        if self.is_whole() {
            return Ok(model);
        }
        let left: Vec<u32> = (0..self.count).filter(|f| self.held_frames.binary_search(f).is_err()).collect();
        // Motions that are known in all frames already are kept.
        if model.rigid.first().is_some_and(|own| own.len() == known) {
            self.complete_rigid(&mut model, &left, near)?;
        }
        if model.affine.first().is_some_and(|own| own.len() == known) {
            self.complete_affine(&mut model, &left)?;
        }
        Ok(model)
    }

    fn complete_rigid(&self, model: &mut BoneModel, left: &[u32], near: f64) -> Result<(), Error> {
        let members = model.bone_points();
        let place = |p: &u32| DVec3::from_array(model.rest[*p as usize].map(f64::from));
        let each = |b: usize| {
            let scaled = model.rigid[b].iter().any(|s| s.scale != 1.0);
            let at_rest = model.rigid[b].iter().all(|s| *s == Similarity::IDENTITY);
            let freedom = if scaled { Freedom::Scaled } else { Freedom::Rigid };
            (freedom, at_rest)
        };
        let each: Vec<(Freedom, bool)> = (0..model.rigid.len()).map(each).collect();
        let fitted: Vec<Vec<Similarity>> = (left.par_iter())
            .map_init(Vec::new, |room, &frame| {
                let points = self.frame(frame, room);
                let goal = |p: &u32| DVec3::from_array(points[*p as usize].map(f64::from));
                // The held frame before this one.
                let before = self.held_frames.partition_point(|&f| f < frame).max(1) - 1;
                let fit = |b: usize| {
                    let (freedom, at_rest) = each[b];
                    let stays = |p: &u32| (place(p) - goal(p)).length() <= near;
                    if at_rest && members[b].iter().all(stays) {
                        return Similarity::IDENTITY;
                    }
                    let mut sums = FitSums::default();
                    members[b].iter().for_each(|p| sums.add(place(p), goal(p)));
                    sums.fit(freedom, model.rigid[b][before].rotation)
                };
                (0..model.rigid.len()).map(fit).collect()
            })
            .collect();
        self.check()?;
        for (b, own) in model.rigid.iter_mut().enumerate() {
            let more: Vec<Similarity> = fitted.iter().map(|frame| frame[b]).collect();
            *own = self.merge_frames(own, &more);
        }
        Ok(())
    }

    fn complete_affine(&self, model: &mut BoneModel, left: &[u32]) -> Result<(), Error> {
        let (first, bones) = (model.rigid.len() as u32, model.affine.len());
        let weights: Vec<Vec<(u32, f64)>> = (model.influences.iter())
            .map(|own| {
                let affine = own.iter().filter(|(bone, _)| *bone >= first);
                affine.map(|&(bone, w)| (bone - first, w)).collect()
            })
            .collect();
        let place = |p: &[f32; 3]| DVec3::from_array(p.map(f64::from));
        let rest: Vec<DVec3> = model.rest.iter().map(place).collect();
        let cancellation = &self.frames.source().cancellation;
        let mut fitted = vec![Vec::with_capacity(left.len()); bones];
        for frames in left.chunks(self.block()) {
            let block = self.read_block(frames.to_vec())?;
            let found = bones::motions(&block.positions, &rest, &weights, bones, cancellation);
            cancellation.check()?;
            // If nothing fits, points are far off, and the method is not chosen.
            let still = || vec![vec![DAffine3::IDENTITY; frames.len()]; bones];
            for (own, more) in fitted.iter_mut().zip(found.unwrap_or_else(still)) {
                own.extend(more);
            }
        }
        for (own, more) in model.affine.iter_mut().zip(&fitted) {
            *own = self.merge_frames(own, more);
        }
        Ok(())
    }

    /// Merges values of held frames with values of the others, in the order of frames.
    fn merge_frames<T: Clone>(&self, looked: &[T], left: &[T]) -> Vec<T> {
        let (mut looked, mut left) = (looked.iter(), left.iter());
        let of = |frame: u32| match self.held_frames.binary_search(&frame) {
            Ok(_) => looked.next().cloned(),
            Err(_) => left.next().cloned(),
        };
        (0..self.count).filter_map(of).collect()
    }
}

/// Positions of some frames.
pub struct FrameBlock<'a> {
    frames: Cow<'a, [u32]>,
    positions: Cow<'a, Trajectories>,
}

impl FrameBlock<'_> {
    /// Returns the positions of one of the frames.
    ///
    /// # Panics
    /// If it is none of the block's frames.
    pub fn frame(&self, frame: u32) -> &[[f32; 3]] {
        let at = self.frames.binary_search(&frame);
        self.positions.frame(at.expect("a frame of the block"))
    }
}

fn trajectories(frames: &PointFrames, points: usize, chosen: &[u32]) -> Result<Trajectories, Error> {
    let mut positions = vec![[0.0f32; 3]; points * chosen.len()];
    (positions.par_chunks_mut(points).zip(chosen)).for_each(|(out, &frame)| frames.positions(frame, out));
    frames.check()?;
    Ok(Trajectories::new(points, positions))
}
