//! The encoder of a mesh, in steps that can be spread over threads:
//!
//! ```text
//! Encoder::new        codes frame 0, tries settings on a sample of groups, makes the tables: the static part
//! encode_segment(s)   the keys of a segment, one after the other; segments are independent
//! encode_group(g)     the units LowerLayers(g) and TopLayer(g), from the decoded keys g − 1 … g + 2; groups are independent
//! ```
//!
//! Frames are requested when they are needed and never kept, so memory does not grow with their number.

pub(crate) mod coding;
mod frame;
mod group;
mod output;
mod search;
mod search_result;
mod settings;
mod temporal;

use crate::bytes::put_varint;
use crate::mesh::decode::{self, DecodedPoint};
use crate::mesh::encode::coding::CodingTables;
use crate::mesh::encode::frame::levels_fit;
use crate::mesh::encode::output::UnitBuilder;
use crate::mesh::hierarchy::Hierarchy;
use crate::mesh::tables::TokenCounts;
use crate::put_length_prefixed;
use crate::quantize::fixed_point::FixedPoint;
use crate::quantize::lattice::{Extent, FixedPointGrid, LatticeChoice};
use crate::schedule::{Schedule, Unit};
pub use group::{EncodeBuffers, EncodeError, FrameCallback, KeyCallback, Options, PositionSource};
use group::{GroupFrames, MeshModel, Setup, SourceMesh};
use search::{Trial, USUAL_EFFORT, table_bits};
use search_result::SearchResult;
use std::sync::Arc;

/// The encoder of a mesh whose static part is complete.
pub struct Encoder<'a, W> {
    mesh: SourceMesh<'a>,
    model: MeshModel<W>,
    coding: Arc<CodingTables>,
    search_result: SearchResult,
    /// The tokens of the search; only with [`Options::own_tables`].
    counts: Option<TokenCounts>,
    static_bytes: Vec<u8>,
}

impl<'a, W: FixedPoint> Encoder<'a, W> {
    /// Encodes the static part of a mesh with `frames` frames within `extent`.
    pub fn new(
        hierarchy: Hierarchy,
        frames: u32,
        extent: Extent,
        options: Options,
        source: &'a dyn PositionSource,
        work: &mut EncodeBuffers<W>,
    ) -> Result<Self, EncodeError> {
        Self::with_owned_source(hierarchy, frames, extent, options, Arc::new(source), work)
    }

    /// [`Encoder::new`], with ownership of the source.
    pub fn with_owned_source(
        hierarchy: Hierarchy,
        frames: u32,
        extent: Extent,
        options: Options,
        source: Arc<dyn PositionSource + Send + 'a>,
        work: &mut EncodeBuffers<W>,
    ) -> Result<Self, EncodeError> {
        if !levels_fit(&hierarchy) {
            return Err(EncodeError::TooManyLevels);
        }
        let mut common = SourceMesh {
            hierarchy,
            schedule: Schedule::new(frames, options.restart),
            extent,
            options,
            source,
        };
        let mut best = common.choose(work)?;
        let mut effort = options.effort;
        if options.effort > USUAL_EFFORT && options.choice.is_none() {
            // A longer search can end with worse settings than a shorter one.
            common.options.effort = USUAL_EFFORT;
            let (model, trial) = common.choose(work)?;
            common.options.effort = options.effort;
            let [own, usual] = [(&best.0, &best.1), (&model, &trial)].map(|(model, trial)| {
                let trial = common.trial(model, Some(&trial.coding), 1.0, false, work);
                trial.map(|trial| trial.bits)
            });
            if usual? < own? {
                (best, effort) = ((model, trial), USUAL_EFFORT);
            }
        }
        let (model, Trial { coding, counts, cost_tables: weighed_by, .. }) = best;
        let settled = SearchResult { effort, choice: model.choice, cost_tables: weighed_by };
        // There may be an encoder for each of very many meshes, so data of the search is dropped.
        let counts = common.options.own_tables.then_some(counts);
        Ok(Encoder { counts, ..Self::finish(common, model, coding, settled) })
    }

    /// Recreates an encoder from its [`Encoder::search_result`] bytes, with otherwise identical arguments: it
    /// skips the search and produces the same output. `Err(None)` if the bytes are invalid.
    pub fn from_search_result(
        hierarchy: Hierarchy,
        frames: u32,
        extent: Extent,
        options: Options,
        source: Arc<dyn PositionSource + Send + 'a>,
        (settled, work): (&[u8], &mut EncodeBuffers<W>),
    ) -> Result<Self, Option<EncodeError>> {
        let (settled, coding) = SearchResult::read(settled).map_err(|_| None)?;
        if !levels_fit(&hierarchy) {
            return Err(Some(EncodeError::TooManyLevels));
        }
        let mut common = SourceMesh {
            hierarchy,
            schedule: Schedule::new(frames, options.restart),
            extent,
            options,
            source,
        };
        common.options.effort = settled.effort;
        let model = common.build_model(settled.choice, settled.cost_tables.as_deref(), work)?;
        common.options.effort = options.effort;
        Ok(Self::finish(common, model, coding, settled))
    }

    fn finish(
        common: SourceMesh<'a>,
        mut model: MeshModel<W>,
        coding: Arc<CodingTables>,
        settled: SearchResult,
    ) -> Self {
        let sink = std::mem::take(&mut model.first_sink);
        let first = sink.finish(&common.hierarchy, &coding);
        let mut static_bytes = Vec::new();
        put_static::<W>(&model, &coding, &mut static_bytes);
        static_bytes.extend_from_slice(&first);
        Encoder { counts: None, mesh: common, model, coding, search_result: settled, static_bytes }
    }

    /// Returns the results of the search, for [`Encoder::from_search_result`].
    pub fn search_result(&self) -> Vec<u8> {
        self.search_result.write(&self.coding)
    }

    /// Returns the static part.
    pub fn static_bytes(&self) -> &[u8] {
        &self.static_bytes
    }

    /// Returns frame 0 as decoded from the static part.
    pub fn first(&self) -> &[DecodedPoint<W>] {
        &self.model.first
    }

    /// Returns the unit, steps and centre.
    pub fn grid(&self) -> &FixedPointGrid {
        &self.model.grid
    }

    /// Returns the chosen lattice and steps.
    pub fn choice(&self) -> &LatticeChoice {
        &self.model.choice
    }

    /// Returns the number of tables, their number as a default set or 0, and their bytes in the static part.
    pub fn tables(&self) -> (usize, u8, usize) {
        let (coding, count) = (&self.coding, self.coding.tables.tables.len());
        (count, coding.set, (table_bits(coding) / 8.0) as usize)
    }

    /// Returns the tokens from which the tables were chosen; only with [`Options::own_tables`].
    pub fn counts(&self) -> Option<&TokenCounts> {
        self.counts.as_ref()
    }

    /// Returns the frames and their access units.
    pub fn schedule(&self) -> &Schedule {
        &self.mesh.schedule
    }

    fn setup(&self) -> Setup<'_, W> {
        Setup { model: &self.model, coding: Some(&self.coding) }
    }

    /// Codes the key frames of a segment. `each` is called with the number of the key, the bytes of its unit
    /// (none for key 0) and the decoded frame.
    pub fn encode_segment(
        &self,
        segment: u32,
        work: &mut EncodeBuffers<W>,
        each: KeyCallback<W, Vec<u8>>,
    ) -> Result<(), EncodeError> {
        let keys = self.mesh.schedule.segment(segment);
        let mut sink = |key: u32, sink: UnitBuilder, frame: &[DecodedPoint<W>]| {
            let bytes = match key {
                0 => Vec::new(),
                _ => sink.finish(&self.mesh.hierarchy, &self.coding),
            };
            each(key, bytes, frame);
        };
        self.mesh.code_segment(self.setup(), keys, work, &mut sink)
    }

    /// Codes a group and returns the bytes of its units LowerLayers and TopLayer, empty for a unit without
    /// frames. `key` returns the decoded frame of a key by its frame number; it is asked for the existing
    /// keys from `group − 1` to `group + 2`. `watch` is called with each decoded frame.
    pub fn encode_group<'r>(
        &self,
        group: u32,
        key: &dyn Fn(u32) -> &'r [DecodedPoint<W>],
        work: &mut EncodeBuffers<W>,
        watch: &mut FrameCallback<'_, W>,
    ) -> Result<[Vec<u8>; 2], EncodeError> {
        let sinks = self.mesh.code_group(self.setup(), group, GroupFrames::All, key, work, watch)?;
        let units = [Unit::LowerLayers(group), Unit::TopLayer(group)];
        let empty = units.map(|u| self.mesh.schedule.frames_of(u).is_empty());
        let mut at = 0;
        Ok(sinks.map(|sink| {
            at += 1;
            match empty[at - 1] {
                true => Vec::new(),
                false => sink.finish(&self.mesh.hierarchy, &self.coding),
            }
        }))
    }
}

fn put_static<W: FixedPoint>(model: &MeshModel<W>, coding: &CodingTables, out: &mut Vec<u8>) {
    let grid = &model.grid;
    let wide = if W::BITS == 32 { decode::WIDE } else { 0 };
    out.push(wide | model.choice.fit << decode::FIT_SHIFT | coding.set << decode::SET_SHIFT);
    out.extend_from_slice(&grid.unit.to_le_bytes());
    grid.centre.iter().for_each(|c| out.extend_from_slice(&c.to_le_bytes()));
    grid.steps.iter().for_each(|&s| put_varint(u32::from(s), out));
    if coding.set == 0 {
        put_length_prefixed(&coding.tables.encode(), out);
    }
}
