//! Encodes frames of one mesh and proves them: everything is decoded again by the player's own functions and
//! compared before it may be written.

use crate::mesh::evaluate::{RequestedValues, Scratch};
use crate::mesh::lattice::choose_streams;
use crate::mesh::prepared::Prepared;
use crate::mesh::skin_search::SkinSearch;
use crate::mesh::source::MeshSource;
use crate::mesh::streams::{self, Quantized, QuantizedCode, VertexValues};
use crate::report::NormalPrecision;
use crate::{Error, with_quantized};
use meshreel_codec::classic::stream;
use meshreel_codec::classic::stream::References;
use meshreel_codec::record::{Method, Semantic, StreamRecord};
use meshreel_codec::values::parallelogram;
use meshreel_codec::values::parallelogram::PredictorTable;
use meshreel_options::{MethodChoice, Options, PartsChoice};
use meshreel_process::frame_set::FrameSet;
use std::sync::Arc;

/// A mesh with everything decided. A copy shares its source.
#[derive(Clone)]
pub struct MeshPlan {
    /// Source path of the first placement.
    pub path: String,
    /// The source of its frames.
    pub source: Arc<MeshSource>,
    /// The result of `prepare`.
    pub prepared: Arc<Prepared>,
    /// The requested method.
    pub requested_method: MethodChoice,
    /// The requested way to separate its parts.
    pub parts: PartsChoice,
    /// Method before bones are tried: static, soft or fluid. The coder of a layered file may find a smaller
    /// one.
    pub method: Method,
    /// The records of its streams, positions first.
    pub streams: Vec<StreamRecord>,
    /// Adjacent-triangle table; the derived one if none is stored.
    pub table: PredictorTable,
    /// `true` if the table is stored.
    pub has_table: bool,
    /// By stream, its values (static) or base (animated). Empty for fluid.
    pub bases: Vec<Quantized>,
    /// Largest allowed distance of a decoded point, in the mesh's own space.
    pub error_bound: f64,
    /// `true` if normals are stored although they could be predicted from positions.
    pub explicit_normals: bool,
    /// Skins that were sought for it.
    pub skin_search: Arc<SkinSearch>,
    /// Factor by which positions are finer than their tolerance requires, for the sake of normals.
    pub normal_precision: Option<NormalPrecision>,
    /// Largest error of the static data, by stream.
    pub static_error: Vec<f64>,
    /// Frames in which it is shown at some placement.
    pub shown: FrameSet,
}

/// Meshes with everything decided, and the objects that show each.
pub type Plans = Vec<(Arc<MeshPlan>, Vec<usize>)>;

impl MeshPlan {
    /// Returns the number of points of the source, summed over frames.
    pub fn source_points(&self) -> u64 {
        let remeshed = self.source.remeshed.as_ref().map(|r| r.source_points);
        remeshed.unwrap_or(self.prepared.scan.points_total)
    }

    /// Returns the bounds over all frames, min xyz, max xyz, in the space of the file.
    pub fn bounds(&self) -> [f32; 6] {
        let side = |k: usize| self.prepared.scan.extent.component(k);
        [side(0).0, side(1).0, side(2).0, side(0).1, side(1).1, side(2).1]
    }

    /// Allows points to be `radius` away from the source's, and quantizes again.
    pub fn requantize(&mut self, radius: f64, normals_stored: bool, options: &Options) -> Result<(), Error> {
        (self.error_bound, self.explicit_normals) = (radius, normals_stored);
        let (mesh, prepared) = (&*self.source.mesh, &*self.prepared);
        // The remarks were already given when the streams were chosen first.
        self.streams = choose_streams(mesh, prepared, radius, options, &mut Vec::new())?;
        self.quantize_first_frame(self.source.times.len(), &mut Scratch::default())
    }

    /// Quantizes the first frame (bases, static streams) and chooses the table.
    pub fn quantize_first_frame(&mut self, frames: usize, scratch: &mut Scratch) -> Result<(), Error> {
        let prepared = self.prepared.clone();
        let Some(fixed) = &prepared.fixed else {
            return Ok(());
        };
        let mut values = VertexValues::default();
        fixed.evaluate(&self.source, &self.prepared, 0, RequestedValues::all(), scratch, &mut values)?;
        self.bases = self
            .streams
            .iter()
            .map(|record| {
                let mut quantized = Quantized::new(record.word);
                streams::quantize(record, &values, &mut quantized);
                quantized
            })
            .collect();
        self.static_error = self
            .streams
            .iter()
            .zip(&self.bases)
            .map(|(record, quantized)| streams::max_error(record, quantized, &values))
            .collect();
        for (record, error) in self.streams.iter().zip(&self.static_error) {
            self.check_tolerance(record, *error, 0)?;
        }
        // The table is chosen over several frames, not from the first alone.
        let vertices = fixed.vertex_point.len();
        let mut looks = vec![self.bases[0].clone()];
        if self.streams[0].animated {
            for i in 1..TABLE_FRAMES.min(frames) {
                let frame = i * (frames - 1) / (TABLE_FRAMES.min(frames) - 1).max(1);
                fixed.evaluate(
                    &self.source,
                    &self.prepared,
                    frame,
                    RequestedValues::default(),
                    scratch,
                    &mut values,
                )?;
                let mut quantized = Quantized::new(self.streams[0].word);
                streams::quantize(&self.streams[0], &values, &mut quantized);
                looks.push(quantized);
            }
        }
        // Without a stored table the decoder predicts from the previous vertex alone.
        self.has_table = true;
        self.table =
            with_quantized!(&looks[0], first => build_table(first, &looks, &fixed.indices, vertices));
        Ok(())
    }

    /// Appends the table, if one is stored, and the static streams and bases; returns the bytes of positions
    /// among them.
    pub fn encode_values(&self, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        let indices = self.prepared.fixed.as_ref().map_or(&[][..], |f| &f.indices);
        if self.has_table {
            parallelogram::encode_table(&self.table, indices, out);
        }
        let mut position_bytes = 0;
        for (s, record) in self.streams.iter().enumerate() {
            self.encode_base(s, out);
            if record.semantic == Semantic::Position {
                position_bytes = out.len() - start;
            }
        }
        position_bytes
    }

    /// Appends the values or the base of a stream.
    pub fn encode_base(&self, stream: usize, out: &mut Vec<u8>) {
        let semantic = self.streams[stream].semantic;
        with_quantized!(&self.bases[stream], v => {
            stream::encode_index(v, semantic.components(), streams::spatial(semantic), self.intra_references(), out)
        });
    }

    /// Returns the references of a frame that is coded by itself.
    pub fn intra_references<W>(&self) -> References<'_, W> {
        References {
            base: None,
            previous: None,
            before_previous: None,
            index_before: None,
            index_after: None,
            table: &self.table,
        }
    }

    /// Returns an error if a stream exceeds its tolerance.
    pub fn check_tolerance(&self, record: &StreamRecord, error: f64, frame: usize) -> Result<(), Error> {
        // Angles are measured on f32 vectors: a few millionths of a degree are measuring error.
        let grain = match record.semantic {
            Semantic::Normal | Semantic::QTangent => 1e-4,
            _ => 0.0,
        };
        if error <= record.tolerance + grain {
            return Ok(());
        }
        Err(Error::Promise {
            what: format!(
                "{}: {:?} {} off by {error:e} in frame {frame}, {:e} allowed",
                self.path, record.semantic, record.set, record.tolerance
            ),
            target: Default::default(),
        })
    }

    /// Returns the bounds of the first frame.
    pub fn static_bounds(&self) -> [f32; 6] {
        streams::bounds(&self.streams[0], &self.bases[0])
    }

    /// Returns the error of a stream that does not decode to what was encoded.
    pub fn mismatch_error(&self, record: &StreamRecord, frame: usize) -> Error {
        Error::Promise {
            what: format!(
                "{}: {:?} of frame {frame} does not decode to what was encoded",
                self.path, record.semantic
            ),
            target: Default::default(),
        }
    }
}

/// The number of frames that the table is chosen over.
const TABLE_FRAMES: usize = 5;

fn build_table<W: QuantizedCode>(
    _first: &[W],
    looks: &[Quantized],
    indices: &[u32],
    vertices: usize,
) -> PredictorTable {
    let frames: Vec<&[W]> = looks.iter().filter_map(W::values).collect();
    parallelogram::build_table(indices, vertices, 3, &frames)
}
