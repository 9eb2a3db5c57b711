//! The static data of a mesh on the card: fixed words, and the parameters and variants that follow from them.

use crate::packed::Double;
use crate::params::Params;
use crate::shaders::{BonePositions, NormalSource, PositionSource, ShaderVariant, TangentSource};
use crate::units::UnitPlan;
use crate::words::{WordBuffer, pair};
use meshreel::raw::lists::{JaggedArray, NormalLists, TangentLists, TangentSums, TurnedList};
use meshreel::raw::record::Semantic;
use meshreel::raw::{PointBones, Points};
use meshreel::{Error, MeshView};

/// The highest bit of a class: set if the sign of the bitangent is −1.
pub(crate) const MIRRORED: u32 = 1 << 31;
/// The factor for edges between points of 32 bits.
const WIDE_EDGE_SCALE: f32 = 1.0 / 65536.0;

/// The fixed words of a mesh, and its properties.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct FixedMeshData {
    /// The words of a storage buffer.
    pub words: Vec<u32>,
    /// The parameters that are the same in all moments; offsets in slots are those of [`crate::slot`].
    pub params: Params,
    /// The variant of its shaders.
    pub variant: ShaderVariant,
    /// The number of bone matrices in a slot; `residuals` is the number of points with residuals.
    pub matrices: usize,
    /// See `matrices`.
    pub residuals: usize,
    /// The number of bones that turn normals.
    pub bones: usize,
    /// The most vertices of a frame.
    pub vertices: usize,
    /// The number of points of a frame; for meshes without fixed-point positions that of its vertices.
    pub points: usize,
    /// The first word of the values of sparse sections in a slot, which are the last section.
    pub values: usize,
    /// The plan for decoding its units, in a file that was opened without points.
    pub coded: Option<UnitPlan>,
}

impl FixedMeshData {
    /// Collects the data of a mesh, which may be in any frame. Allocates.
    pub fn new(mesh: &MeshView<'_>) -> Result<FixedMeshData, Error> {
        let record = mesh.record();
        let mut out = FixedMeshData { vertices: record.vertices as usize, ..FixedMeshData::default() };
        let mut words = WordBuffer::default();
        let (low, high) = (&record.bounds[..3], &record.bounds[3..]);
        let scale = |(low, high): (&f32, &f32)| if high > low { 1.0 / (high - low) } else { 0.0 };
        out.params.bounds = words.append_floats(low.iter().copied().chain(low.iter().zip(high).map(scale)));
        out.add_positions(mesh, &mut words)?;
        if let Some(stream) = mesh.direction_stream() {
            let tangents = record.streams[stream].semantic == Semantic::QTangent;
            match mesh.normal_lists() {
                Some(lists) => out.add_normal_lists(&lists, &mut words),
                None => {
                    out.variant.normals =
                        if tangents { NormalSource::Frames } else { NormalSource::Octahedral };
                    let bits = u32::from(record.streams[stream].bits).clamp(2, 16);
                    out.params.half = (1 << (bits - 1)) - 1;
                }
            }
            out.variant.has_tangents = tangents;
        }
        out.add_static_values(mesh, &mut words)?;
        (out.params.vertices, out.params.points) = (out.vertices as u32, out.points as u32);
        // A storage buffer is never empty.
        words.append([0]);
        out.words = words.0;
        Ok(out)
    }

    fn add_positions(&mut self, mesh: &MeshView<'_>, words: &mut WordBuffer) -> Result<(), Error> {
        let p = &mut self.params;
        let Some(positions) = mesh.fixed_point_positions() else {
            let stream = mesh.find_stream(Semantic::Position, 0);
            let stream = stream
                .ok_or_else(|| Error::misuse(format!("mesh {} has no positions", mesh.record().path)))?;
            let axes = &mesh.record().streams[stream].axes;
            let [x, y, z] = &axes[..] else {
                return Err(Error::misuse(format!("mesh {} has positions without axes", mesh.record().path)));
            };
            self.variant.positions = PositionSource::Codes;
            let record = mesh.record();
            self.variant.ids = record.method.changes() && record.particles.is_some_and(|own| own.ids);
            [p.unit_x, p.unit_y, p.unit_z] = [x.step, y.step, z.step];
            [p.centre_x, p.centre_y, p.centre_z] = [x.min, y.min, z.min];
            self.points = self.vertices;
            return Ok(());
        };
        let wide = positions.wide;
        // The first frame has the plane as well.
        let coded = positions.coded.as_ref();
        let heights = positions.height_axis.zip(positions.points.or(coded.map(|coded| coded.first_frame())));
        self.variant.positions = match &positions.bones {
            None if let Some((axis, Points::Narrow(points))) = heights => {
                let others = |at: &[i16; 4]| {
                    let mut others = (0..3).filter(|k| *k != axis).map(|k| at[k]);
                    pair(others.next().unwrap_or_default(), others.next().unwrap_or_default())
                };
                p.rest = words.append(points.iter().map(others));
                PositionSource::Heights(axis)
            }
            Some(bones) => {
                PositionSource::Bones(BonePositions { wide, ..self.add_bones(bones, positions.unit, words) })
            }
            None if wide => PositionSource::Wide,
            None => PositionSource::Narrow,
        };
        if let Some(coded) = coded {
            self.variant.coded = true;
            self.coded = Some(UnitPlan::new(coded, wide, words));
        }
        let p = &mut self.params;
        p.edge_scale = if wide { WIDE_EDGE_SCALE } else { 1.0 };
        [p.unit_x, p.unit_y, p.unit_z] = [positions.unit; 3];
        [p.centre_x, p.centre_y, p.centre_z] = positions.centre;
        self.points = positions.count;
        p.vertex_points = words.append(positions.vertex_points.iter().copied());
        Ok(())
    }

    /// Adds the data by which bones move points.
    fn add_bones(&mut self, bones: &PointBones<'_>, unit: f32, words: &mut WordBuffer) -> BonePositions {
        let rest = bones.rest_positions();
        let influences: Vec<Vec<(u32, f32)>> =
            (0..rest.len()).map(|point| bones.influences(point).collect()).collect();
        let with_residual = bones.points_with_residual();
        self.matrices = bones.matrix_count();
        self.residuals = with_residual.len();
        let single = influences.iter().all(|own| own.len() == 1);
        let packed = bones.packed().filter(|_| single);
        if let Some(packed) = &packed {
            let p = &mut self.params;
            p.packed_parts = packed.end_transforms.len() as u32;
            let part = |(part, end): (usize, &[u32; 3])| {
                let middle = packed.middle(part).map(Double::new);
                let words = middle.map(|v| v.0).into_iter().chain(middle.map(|v| v.1)).map(f32::to_bits);
                words.chain(*end).collect::<Vec<_>>()
            };
            p.packed = words.append(packed.end_transforms.iter().enumerate().flat_map(part));
            let bounds = &packed.end_bounds;
            let per_unit = Double::new(1.0 / f64::from(unit));
            let ends = bounds.low.iter().chain(&bounds.size).copied();
            p.packed_ends = words.append_floats(ends.chain([packed.scale, per_unit.0, per_unit.1]));
        }
        let p = &mut self.params;
        p.rest = words.append_floats(rest.as_flattened().iter().copied());
        if single {
            p.influences = words.append(influences.iter().map(|own| own[0].0));
        } else {
            let ends = influences.iter().scan(0, |end, own| {
                *end += own.len() as u32;
                Some(*end)
            });
            p.influence_ends = words.append(ends);
            let each = influences.iter().flatten();
            p.influences = words.append(each.flat_map(|(bone, weight)| [*bone, weight.to_bits()]));
        }
        if !with_residual.is_empty() {
            let mut numbers = vec![0; rest.len()];
            for (number, &point) in (1..).zip(with_residual) {
                numbers[point as usize] = number;
            }
            p.residuals = words.append(numbers);
        }
        BonePositions {
            single,
            residuals: !with_residual.is_empty(),
            packed: packed.is_some(),
            // A pass of its own unpacks the matrices.
            own_pass: packed.is_some(),
            ..BonePositions::default()
        }
    }

    /// Adds the lists from which normals are computed.
    fn add_normal_lists(&mut self, lists: &NormalLists, words: &mut WordBuffer) {
        let p = &mut self.params;
        p.groups = lists.anchors.len() as u32;
        [p.step, p.turn_step] = lists.steps;
        p.side = if lists.negated { -1.0 } else { 1.0 };
        p.vertex_groups = words.append(lists.group.iter().copied());
        p.anchors = words.append(lists.anchors.as_flattened().iter().copied());
        match &lists.turned {
            Some(turned) => {
                self.variant.normals = NormalSource::Turned;
                [p.group_bones, p.group_rest] = append_turned(turned, words);
            }
            None => {
                self.variant.normals = NormalSource::Summed(lists.weights);
                if let PositionSource::Bones(bones) = &mut self.variant.positions {
                    bones.own_pass = true;
                }
                [p.corner_ends, p.corners] = append_lists(&lists.corners, words, |corner| corner.to_vec());
                [p.large_ends, p.large_corners] = append_lists(&lists.large_corners, words, |c| c.to_vec());
                [p.polygon_ends, p.polygons] = append_lists(&lists.polygons, words, |point| vec![*point]);
                self.variant.large = !lists.polygons.end_offsets.is_empty();
            }
        }
        self.bones = lists.turned.as_ref().map_or(0, bone_count);
        if let Some(tangents) = &lists.tangents {
            self.add_tangents(tangents, words);
        }
        self.params.bones = self.bones as u32;
    }

    fn add_tangents(&mut self, lists: &TangentLists, words: &mut WordBuffer) {
        let p = &mut self.params;
        p.classes = lists.group.len() as u32;
        let signed = |(class, sign): (&u32, &f32)| class | if *sign < 0.0 { MIRRORED } else { 0 };
        p.vertex_classes = words.append(lists.class.iter().zip(&lists.signs).map(signed));
        p.class_groups = words.append(lists.group.iter().copied());
        p.class_points = words.append(lists.point.iter().copied());
        let around = |item: &(u32, f32)| vec![item.0, item.1.to_bits()];
        match &lists.sums {
            TangentSums::Constant(sums) => {
                self.variant.tangents = TangentSource::StaticFactors;
                [p.sum_ends, p.sums] = append_lists(sums, words, around);
            }
            TangentSums::Projected(sums) => {
                self.variant.tangents = TangentSource::Projected;
                [p.sum_ends, p.sums] = append_lists(sums, words, |([after, before], factors)| {
                    vec![*after, *before, factors[0].to_bits(), factors[1].to_bits()]
                });
            }
            TangentSums::Turned(turned) => {
                self.variant.tangents = TangentSource::Turned;
                [p.class_bones, p.class_rest] = append_turned(turned, words);
                self.bones = self.bones.max(bone_count(turned));
                return;
            }
        }
        [p.long_ends, p.long_sums] = append_lists(&lists.long, words, around);
    }

    /// Adds static uvs and colours.
    fn add_static_values(&mut self, mesh: &MeshView<'_>, words: &mut WordBuffer) -> Result<(), Error> {
        let record = mesh.record();
        let fluid = record.method.changes();
        if let Some(stream) = mesh.find_stream(Semantic::Uv, 0) {
            self.variant.uvs = true;
            self.variant.moving_uvs = fluid || record.streams[stream].animated;
            if !self.variant.moving_uvs {
                let mut uvs = vec![0.0; 2 * mesh.vertex_count()];
                mesh.uvs_into(0, &mut uvs)?;
                self.params.uvs = words.append_floats(uvs);
            }
        }
        if let Some(stream) = mesh.find_stream(Semantic::Colour, 0) {
            self.variant.colours = true;
            self.variant.moving_colours = fluid || record.streams[stream].animated;
            if !self.variant.moving_colours {
                self.params.colours = words.append(colours(mesh, &mut Vec::new())?);
            }
        }
        Ok(())
    }
}

/// Returns the colours of all vertices, 8 bits per component; `room` is kept from one call to the next.
pub(crate) fn colours<'a>(
    mesh: &MeshView<'_>,
    room: &'a mut Vec<f32>,
) -> Result<impl Iterator<Item = u32> + use<'a>, Error> {
    room.resize(4 * mesh.vertex_count(), 0.0);
    mesh.colours_into(0, room)?;
    let byte = |v: f32| (v.clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
    Ok(room.as_chunks::<4>().0.iter().map(move |c| u32::from_le_bytes(c.map(byte))))
}

fn append_lists<T>(
    lists: &JaggedArray<T>,
    words: &mut WordBuffer,
    item: impl Fn(&T) -> Vec<u32>,
) -> [u32; 2] {
    let ends = words.append(lists.end_offsets.iter().copied());
    [ends, words.append(lists.items.iter().flat_map(item))]
}

/// Returns the number of bones that are named; a bone that a frame does not have turns nothing.
fn bone_count(turned: &TurnedList) -> usize {
    turned.bones.iter().max().map_or(0, |most| *most as usize + 1)
}

fn append_turned(turned: &TurnedList, words: &mut WordBuffer) -> [u32; 2] {
    let bones = words.append(turned.bones.iter().copied());
    [bones, words.append_floats(turned.at_rest.as_flattened().iter().copied())]
}
