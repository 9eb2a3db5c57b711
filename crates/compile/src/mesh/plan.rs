//! A mesh with everything decided: its streams and the lattices of their values, and its first frame in
//! quantized values, proven: everything is decoded again by the player's own functions and compared before it
//! may be written.

use crate::mesh::particles::evaluate_layout;
use crate::mesh::prepared::{NormalOrigin, Prepared};
use crate::mesh::skin_search::SkinSearch;
use crate::mesh::source::{MeshSource, uv_seam};
use crate::mesh::streams::{self, Quantized, QuantizedCode, RequestedValues, Scratch, VertexValues};
use crate::report::NormalPrecision;
use crate::{Error, with_quantized};
use meshreel_codec::classic::stream;
use meshreel_codec::classic::stream::References;
use meshreel_codec::quantize::{Axis, octahedral, qtangent};
use meshreel_codec::record::{Coding, Method, Semantic, StreamRecord};
use meshreel_codec::values::parallelogram::PredictorTable;
use meshreel_codec::values::{error_bound, parallelogram};
use meshreel_options::{MethodChoice, Options, PartsChoice, Preset};
use meshreel_process::extent::ulp;
use meshreel_process::frame_set::FrameSet;
use meshreel_scene::{Mesh, Remark};
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

    /// Allows points to be `radius` away from the source's: chooses the streams, and quantizes the first
    /// frame. The remarks are the same for any radius.
    pub fn quantize(
        &mut self,
        radius: f64,
        normals_stored: bool,
        options: &Options,
        remarks: &mut Vec<Remark>,
    ) -> Result<(), Error> {
        (self.error_bound, self.explicit_normals) = (radius, normals_stored);
        let (mesh, prepared) = (&*self.source.mesh, &*self.prepared);
        self.streams = choose_streams(mesh, prepared, radius.max(0.0), options, remarks)?;
        self.quantize_first_frame()
    }

    /// Quantizes the first frame (bases, static streams) and chooses the table.
    fn quantize_first_frame(&mut self) -> Result<(), Error> {
        let (frames, scratch) = (self.source.times.len(), &mut Scratch::default());
        let prepared = self.prepared.clone();
        let Some(fixed) = &prepared.fixed else {
            return Ok(());
        };
        let mut values = VertexValues::default();
        let of = (&*self.source, &*self.prepared);
        evaluate_layout(fixed, of, 0, RequestedValues::all(), scratch, &mut values)?;
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
                evaluate_layout(fixed, of, frame, RequestedValues::default(), scratch, &mut values)?;
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
            self.encode_base(s, &self.table, out);
            if record.semantic == Semantic::Position {
                position_bytes = out.len() - start;
            }
        }
        position_bytes
    }

    /// Appends the values or the base of a stream, predicted by `table`.
    pub fn encode_base(&self, stream: usize, table: &PredictorTable, out: &mut Vec<u8>) {
        let semantic = self.streams[stream].semantic;
        with_quantized!(&self.bases[stream], v => {
            let references = References { table, ..self.intra_references() };
            stream::encode_index(v, semantic.components(), streams::spatial(semantic), references, out)
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

/// Chooses the streams of a mesh whose points may be `radius` away from the source's.
pub fn choose_streams(
    mesh: &Mesh,
    prepared: &Prepared,
    radius: f64,
    options: &Options,
    remarks: &mut Vec<Remark>,
) -> Result<Vec<StreamRecord>, Error> {
    let mut out = Vec::new();
    let fluid = prepared.fixed.is_none();
    let path = &mesh.path;
    let extents = [0, 1, 2].map(|k| prepared.scan.extent.component(k));
    let axes = axes_within(extents, radius).ok_or_else(|| {
        let largest = extents.iter().fold(0.0f64, |m, (low, high)| m.max(f64::from(*high) - f64::from(*low)));
        Error::Limit {
            what: format!("{path}: levels along an axis"),
            asked: (largest / radius).min(1e18) as u64,
            allowed: 1 << 24,
        }
    })?;
    let known = prepared.has_runs() || prepared.particles.is_some();
    let runs = fluid && options.preset != Preset::Classic && known;
    let fine = match prepared.particles {
        Some(_) => quarter_step_axes(&axes, extents, radius),
        None => refined_axes(&axes, extents, radius, QUARTER_STEP),
    };
    let axes = fine.filter(|_| runs).unwrap_or(axes);
    out.push(stream_record(
        Semantic::Position,
        0,
        String::new(),
        axes,
        prepared.scan.moving || fluid,
        radius,
    ));
    if prepared.channels.normals != NormalOrigin::None {
        let (semantic, mut bits) = match prepared.channels.tangents {
            true => (Semantic::QTangent, qtangent::bits_for(options.normal_tolerance)),
            false => (Semantic::Normal, octahedral::bits_for(options.normal_tolerance)),
        };
        if bits > 16 {
            remarks.push(Remark::new(
                path,
                format!("--normal-tolerance {}: raised to what 16 bits hold", options.normal_tolerance),
            ));
            bits = 16;
        }
        out.push(StreamRecord {
            semantic,
            set: 0,
            name: String::new(),
            coding: Coding::Quantized,
            animated: fluid
                || prepared.channels.normals_animated
                || prepared.channels.tangents && (prepared.scan.moving || prepared.channels.uvs[0].animated),
            word: streams::bytes_for_bits(bits),
            bits: bits as u8,
            axes: Vec::new(),
            states: 0,
            bones: Default::default(),
            tolerance: options.normal_tolerance,
        });
    }
    uv_streams(mesh, prepared, options, remarks, &mut out)?;
    colour_streams(mesh, prepared, options, &mut out);
    changing_streams(prepared, radius, &mut out);
    Ok(out)
}

fn uv_streams(
    mesh: &Mesh,
    prepared: &Prepared,
    options: &Options,
    remarks: &mut Vec<Remark>,
    out: &mut Vec<StreamRecord>,
) -> Result<(), Error> {
    let (path, fluid) = (&mesh.path, prepared.fixed.is_none());
    for (i, set) in prepared.channels.uvs.iter().enumerate() {
        let extents = [set.extent.component(0), set.extent.component(1)];
        let tolerance = uv_tolerance(&extents, options.uv_tolerance);
        if tolerance > options.uv_tolerance {
            remarks.push(Remark::new(
                path,
                format!(
                    "uv tolerance raised from {} to {tolerance}: float32 holds no less",
                    options.uv_tolerance
                ),
            ));
        }
        let axes = axes_within(extents, tolerance * 0.9999 - uv_seam(options.uv_tolerance));
        let axes = axes.ok_or_else(|| Error::Limit {
            what: format!("{path}: uv levels"),
            asked: u64::MAX,
            allowed: 1 << 24,
        })?;
        out.push(stream_record(
            Semantic::Uv,
            i as u8,
            mesh.uvs[set.source].name.clone(),
            axes,
            fluid || set.animated,
            tolerance,
        ));
    }
    Ok(())
}

fn colour_streams(mesh: &Mesh, prepared: &Prepared, options: &Options, out: &mut Vec<StreamRecord>) {
    let fluid = prepared.fixed.is_none();
    for (i, set) in prepared.channels.colours.iter().enumerate() {
        let levels = f64::from((1u32 << options.colour_bits) - 1);
        let mut axes = Vec::new();
        let mut tolerance = 0.0f64;
        for k in 0..4 {
            // 0…1 if the values are within it, their own range if not.
            let (low, high) = set.extent.component(k);
            let (low, high) = (low.min(0.0), high.max(1.0));
            let step = (f64::from(high) - f64::from(low)) / levels;
            axes.push(Axis::new(low, high, step * (1.0 + 1e-6)).unwrap_or_default());
            tolerance = tolerance.max(step * 0.5 + rounding_margin(&[(low, high)], 2.0) + step * 1e-5);
        }
        out.push(stream_record(
            Semantic::Colour,
            i as u8,
            mesh.colours[set.source].name.clone(),
            axes,
            fluid || set.animated,
            tolerance,
        ));
    }
}

/// Adds the streams of meshes whose vertices come with each frame: velocities, so fine that their error
/// within a frame moves points no farther than the tolerance of points, widths as fine as points, and numbers
/// in 65,536 steps of their range, whole numbers exactly.
fn changing_streams(prepared: &Prepared, radius: f64, out: &mut Vec<StreamRecord>) {
    let fluid = prepared.fixed.is_none();
    if let Some(set) = &prepared.channels.velocities {
        let extents = [0, 1, 2].map(|k| set.extent.component(k));
        let (axes, tolerance) = representable_axes(extents, radius / prepared.scan.seconds);
        out.push(stream_record(Semantic::Velocity, 0, String::new(), axes, fluid || set.animated, tolerance));
    }
    let Some(particles) = &prepared.particles else {
        return;
    };
    if let Some(set) = &particles.widths {
        let (axes, tolerance) = representable_axes([set.extent.component(0)], radius);
        out.push(stream_record(Semantic::Width, 0, String::new(), axes, fluid || set.animated, tolerance));
    }
    for (i, (set, name, components)) in particles.custom.iter().enumerate() {
        let Some(semantic) = Semantic::custom(*components) else {
            continue;
        };
        let (mut axes, mut tolerance) = (Vec::new(), 0.0f64);
        for k in 0..*components {
            let (low, high) = set.extent.component(k);
            let range = f64::from(high) - f64::from(low);
            if let (true, Some(axis)) = (set.integral[k], Axis::new(low, high, 1.0)) {
                axes.push(axis);
                continue;
            }
            let step = range / CUSTOM_VALUE_STEPS;
            axes.push(Axis::new(low, high, step * (1.0 + 1e-6)).unwrap_or_default());
            tolerance = tolerance.max(step * 0.5 + rounding_margin(&[(low, high)], 2.0) + step * 1e-5);
        }
        out.push(stream_record(semantic, i as u8, name.clone(), axes, fluid || set.animated, tolerance));
    }
}

/// Number of steps in the range of attached numbers.
const CUSTOM_VALUE_STEPS: f64 = 65_535.0;

/// Returns axes within a tolerance, and the tolerance, raised to what f32 and 24 bits can hold.
fn representable_axes<const N: usize>(extents: [(f32, f32); N], tolerance: f64) -> (Vec<Axis>, f64) {
    let range = extents.iter().fold(0.0, |m: f64, (l, h)| m.max(f64::from(*h) - f64::from(*l)));
    let least = rounding_margin(&extents, 4.0).max(range * 0.5f64.powi(23));
    let mut tolerance = tolerance.max(least);
    loop {
        match axes_within(extents, tolerance * 0.9999) {
            Some(axes) => return (axes, tolerance),
            None => tolerance *= 2.0,
        }
    }
}

/// Returns axes of one common step on which every point of a box has a lattice point at most `radius` away,
/// rounding to f32 included.
fn axes_within<const N: usize>(extents: [(f32, f32); N], radius: f64) -> Option<Vec<Axis>> {
    // The corners of a cube of this edge are `radius` from its centre.
    let edge = 2.0 / (N as f64).sqrt();
    let all = |axis: fn(f32, f32, f64) -> Option<Axis>, step: f64| -> Option<Vec<Axis>> {
        extents.iter().map(|&(low, high)| axis(low, high, step)).collect()
    };
    let rounding = all(Axis::new, radius * edge).map_or(f64::INFINITY, |axes| {
        let squares = axes.iter().map(|axis| axis.rounding().powi(2));
        squares.sum::<f64>().sqrt()
    });
    let step = (radius - rounding) * edge;
    // Near float32's limit exact values are coarser than the step, but need no margin for rounding.
    let power = (radius * edge).log2().floor().exp2();
    let exact = || all(Axis::exact, radius * edge);
    let usual = || all(Axis::new, step);
    if step < power { exact().or_else(usual) } else { usual().or_else(exact) }
}

/// Returns a lattice with steps of `part` times the size, with margin at its ends, for frames that others are
/// predicted from. `None` if f32 cannot hold such a lattice well.
fn refined_axes(axes: &[Axis], extents: [(f32, f32); 3], radius: f64, part: f64) -> Option<Vec<Axis>> {
    let step = axes.iter().fold(0.0, |s, a| f64::max(s, a.step.into())) * part;
    if step == 0.0 || step < rounding_margin(&extents, 8.0) {
        return None;
    }
    let widened = |&(low, high): &(f32, f32)| match low < high {
        true => {
            let side = |x: f32, by: f64| (f64::from(x) + by) as f32;
            Axis::new(side(low, -2.0 * radius), side(high, 2.0 * radius), step)
        }
        false => Axis::new(low, high, step),
    };
    extents.iter().map(widened).collect()
}

/// The same for particles, with steps of which four just fit the tolerance, rounding to f32 included.
fn quarter_step_axes(axes: &[Axis], extents: [(f32, f32); 3], radius: f64) -> Option<Vec<Axis>> {
    let four = |fine: &Vec<Axis>| f64::from(error_bound::radius(radius, fine)) * 2.0 / 3f64.sqrt() >= 4.0;
    let tried = [QUARTER_STEP, 0.2499, 0.2495, 0.249, 0.247, 0.244];
    let found = tried.iter().find_map(|part| refined_axes(axes, extents, radius, *part).filter(four));
    found.or_else(|| refined_axes(axes, extents, radius, QUARTER_STEP))
}

/// Slightly less than a quarter, so that four steps keep the tolerance.
const QUARTER_STEP: f64 = 0.24999;

fn stream_record(
    semantic: Semantic,
    set: u8,
    name: String,
    axes: Vec<Axis>,
    animated: bool,
    tolerance: f64,
) -> StreamRecord {
    let bits = axes.iter().map(Axis::bits).max().unwrap_or(0);
    StreamRecord {
        semantic,
        set,
        name,
        animated,
        coding: Coding::Quantized,
        word: streams::bytes_for_bits(bits),
        bits: bits as u8,
        axes,
        states: 0,
        bones: Default::default(),
        tolerance,
    }
}

/// Returns `ulps` units in the last place of the largest of the values.
fn rounding_margin(extents: &[(f32, f32)], ulps: f64) -> f64 {
    let largest = extents.iter().fold(0.0f32, |m, (l, h)| m.max(l.abs()).max(h.abs()));
    ulps * ulp(f64::from(largest))
}

fn uv_tolerance(extents: &[(f32, f32)], asked: f64) -> f64 {
    asked.max(rounding_margin(extents, 4.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::prepared::{MeshChannels, VertexChannel};
    use crate::mesh::source::PositionScan;
    use crate::mesh::streams::{Quantized, VertexValues};
    use meshreel_process::extent::Extent;
    use meshreel_scene::{Attribute, Channel, Scope, Topology, Winding};
    use std::sync::Arc;

    fn mesh() -> Mesh {
        let attribute = |name: &str| Attribute {
            name: name.into(),
            scope: Scope::Vertex,
            values: Channel::constant(vec![[0.0; 2]]),
            indices: None,
        };
        Mesh {
            path: "/m".into(),
            positions: Channel::constant(vec![[0.0; 3]]),
            face_counts: Channel::constant(vec![]),
            face_indices: Channel::constant(vec![]),
            winding: Winding::CounterClockwise,
            topology: Topology::Constant,
            normals: None,
            uvs: vec![attribute("map1"), attribute("far")],
            colours: vec![Attribute {
                name: "Cd".into(),
                scope: Scope::Vertex,
                values: Channel::constant(vec![[0.0; 4]]),
                indices: None,
            }],
            velocities: None,
            face_sets: Vec::new(),
            other_attributes: Vec::new(),
            is_subd: false,
            integers: Vec::new(),
            custom_attributes: Vec::new(),
            names: Vec::new(),
            skin: None,
            particles: None,
        }
    }

    fn prepared() -> Prepared {
        Prepared {
            scan: PositionScan {
                extent: Extent { low: [-1.0, 0.0, 5.0], high: [1.0, 0.0, 5.5] },
                object_extent: Extent { low: [-1.0, 0.0, 5.0], high: [1.0, 0.0, 5.5] },
                points: 1,
                points_total: 1,
                moving: true,
                seconds: 0.04,
                ..PositionScan::default()
            },
            channels: MeshChannels {
                uvs: vec![
                    VertexChannel {
                        source: 0,
                        animated: false,
                        extent: Extent { low: [-7.5, 0.0], high: [64.25, 1.0] },
                    },
                    VertexChannel {
                        source: 1,
                        animated: true,
                        extent: Extent { low: [0.0, 0.0], high: [1e6, 1.0] },
                    },
                ],
                colours: vec![VertexChannel {
                    source: 0,
                    animated: false,
                    extent: Extent { low: [0.0, 0.2, -1.0, 1.0], high: [1.0, 0.4, 9.0, 1.0] },
                }],
                ..MeshChannels::default()
            },
            particles: None,
            fixed: None,
            materials: Vec::new(),
        }
    }

    #[test]
    fn lattices_hold_the_tolerance_for_tiling_negative_and_far_values() {
        let mut remarks = Vec::new();
        let options = Options::default();
        let streams = choose_streams(&mesh(), &prepared(), 1e-3, &options, &mut remarks).unwrap();
        let values = VertexValues {
            positions: vec![[-1.0, 0.0, 5.0], [0.123_456, 0.0, 5.499_9], [1.0, 0.0, 5.5]],
            uvs: vec![
                vec![[-7.5, 0.0], [-0.000_3, 0.5], [64.25, 1.0]],
                vec![[0.0, 0.0], [999_999.9, 0.3], [1e6, 1.0]],
            ],
            colours: vec![vec![[0.0, 0.2, -1.0, 1.0], [0.501, 0.3, 8.99, 1.0], [1.0, 0.4, 9.0, 1.0]]],
            ..VertexValues::default()
        };
        for record in &streams {
            let mut quantized = Quantized::new(record.word);
            streams::quantize(record, &values, &mut quantized);
            let error = streams::max_error(record, &quantized, &values);
            assert!(error <= record.tolerance, "{record:?} {error}");
        }
        assert_eq!(streams[1].tolerance, options.uv_tolerance);
        assert!(
            streams[2].tolerance > options.uv_tolerance && remarks.len() == 1,
            "far from zero f32 is coarser, and that is said"
        );
        assert_eq!((streams[3].word, streams[3].axes[0].codes), (1, 256), "colours of 0 to 1 are bytes");
        assert_eq!((streams[3].axes[2].min, streams[3].axes[2].codes), (-1.0, 256));
    }

    #[test]
    fn channels_are_static_or_animated_each_for_itself() {
        let mut still = prepared();
        still.fixed = Some(Arc::default());
        let streams = choose_streams(&mesh(), &still, 1e-3, &Options::default(), &mut Vec::new()).unwrap();
        assert_eq!(streams.iter().map(|s| s.animated).collect::<Vec<_>>(), [true, false, true, false]);
        // Without fixed topology all streams come per frame.
        let streams =
            choose_streams(&mesh(), &prepared(), 1e-3, &Options::default(), &mut Vec::new()).unwrap();
        assert!(streams.iter().all(|s| s.animated));
    }

    #[test]
    fn ulps() {
        assert_eq!(ulp(1.0), f64::from(f32::EPSILON));
        assert_eq!(ulp(-1.5), f64::from(f32::EPSILON));
        assert_eq!(ulp(4096.0), 4096.0 * f64::from(f32::EPSILON));
        assert!(ulp(0.0) > 0.0);
    }
}
