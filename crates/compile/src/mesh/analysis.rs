//! Results of the first pass over a mesh, stored as numbers so that another process can continue from them
//! and read only the frames that it codes.
//!
//! Everything that follows from these numbers or from the first frame alone is computed again: times, faces,
//! groups that share a normal or a tangent, streams. Numbers that do not fit the mesh give an error: the
//! reader checks every number that is used as an index.

use crate::Error;
use crate::context::Content;
use crate::mesh::plan::{MeshPlan, choose_streams};
use crate::mesh::prepared::{
    CustomChannel, FixedLayout, MeshChannels, NormalOrigin, Prepared, PreparedParticles, VertexChannel,
};
use crate::mesh::skin_search::SkinSearch;
use crate::mesh::source::{MeshSource, PositionScan, velocities};
use crate::mesh::streams::Quantized;
use crate::mesh::{layout, particles};
use glam::DMat4;
use meshreel_codec::record::Method;
use meshreel_codec::schedule::Schedule;
use meshreel_codec::topology::grid::{Grid, GridShape};
use meshreel_process::extent::Extent;
use meshreel_process::faces::{Faces, corner_faces, vertex_faces};
use meshreel_process::frame_set::FrameSet;
use meshreel_process::materials::Material;
use meshreel_process::normals;
use meshreel_scene::{Mesh, sample};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Results for one mesh that are known before its frames are coded.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct MeshAnalysis {
    /// Its number in the scene.
    mesh: u32,
    /// Source path of the first placement.
    path: String,
    /// The frames in which it is shown, one bit each.
    shown: Vec<u64>,
    /// The frames between which it moves: it stands still up to the first, and from the second on.
    moves: Option<[u32; 2]>,
    /// World matrix of each of its frames, by columns, if it is baked to world space.
    matrices: Option<Vec<[f64; 16]>>,
    /// Bounds over all frames in the space of the file, and in object space.
    extents: [ExtentRecord; 2],
    /// The largest number of points of a frame, and the sum over frames.
    points: u32,
    points_total: u64,
    moving: bool,
    normals: NormalOrigin,
    normals_animated: bool,
    tangents: bool,
    uvs: Vec<ChannelRecord>,
    colours: Vec<ChannelRecord>,
    velocities: Option<ChannelRecord>,
    particles: Option<ParticlesRecord>,
    materials: Vec<(u32, String)>,
    layout: LayoutRecord,
    /// By stream, the quantized values that are static, or that frames refer to; empty for other streams.
    bases: Vec<Quantized>,
    /// Adjacent-triangle table, if frames are predicted with one.
    table: Option<Vec<[u16; 3]>>,
}

/// Lowest and highest value of each component.
#[derive(Clone, Default, Serialize, Deserialize)]
struct ExtentRecord(Vec<[f32; 2]>);

/// A set of uvs or colours: its index in the source's list, `true` if it differs between frames, its bounds.
#[derive(Clone, Serialize, Deserialize)]
struct ChannelRecord(u32, bool, ExtentRecord);

/// Points without faces: whether they have ids, the largest number of curves, widths, and custom values:
/// their index in the source's list, their bounds, which components are whole numbers, whether they change.
#[derive(Clone, Serialize, Deserialize)]
struct ParticlesRecord {
    ids: bool,
    curves: Option<u32>,
    widths: Option<ChannelRecord>,
    custom: Vec<(u32, ExtentRecord, [bool; 4], bool)>,
}

/// The origin of a mesh's vertices in the source.
#[derive(Clone, Serialize, Deserialize)]
enum LayoutRecord {
    /// Faces are constant.
    Fixed(FixedLayoutRecord),
    /// Faces change: by frame the first frame of its run, and by that frame the first of each set of
    /// coincident points.
    Runs(Vec<u32>, Vec<(u32, Vec<u32>)>),
}

/// Vertices and triangles of a mesh with constant faces.
#[derive(Clone, Default, Serialize, Deserialize)]
struct FixedLayoutRecord {
    /// By vertex, its point, and a corner of the source (u32::MAX for points without faces).
    vertex_point: Vec<u32>,
    vertex_corner: Vec<u32>,
    /// By vertex, the sign of its bitangent, if tangents are kept.
    vertex_sign: Vec<i8>,
    /// Three vertices per triangle; empty for a grid, which determines them.
    indices: Vec<u32>,
    grid: Option<GridRecord>,
    /// The bytes of compact triangles.
    compact: Option<Vec<u8>>,
    /// By vertex, the first vertex whose position is the same in all frames.
    weld: Option<Vec<u32>>,
}

/// A regular grid: vertices per row, rows, whether rows are closed, whether triangles are wound the other
/// way, and which quads are cut along the other diagonal.
#[derive(Clone, Serialize, Deserialize)]
struct GridRecord(u32, u32, bool, bool, Vec<bool>);

impl Default for LayoutRecord {
    fn default() -> LayoutRecord {
        LayoutRecord::Runs(Vec::new(), Vec::new())
    }
}

impl ExtentRecord {
    fn new<const N: usize>(extent: &Extent<N>) -> ExtentRecord {
        ExtentRecord((0..N).map(|k| [extent.low[k], extent.high[k]]).collect())
    }

    fn to_extent<const N: usize>(&self) -> Option<Extent<N>> {
        let sides: &[[f32; 2]; N] = self.0.as_slice().try_into().ok()?;
        Some(Extent { low: sides.map(|s| s[0]), high: sides.map(|s| s[1]) })
    }
}

impl ChannelRecord {
    fn new<const N: usize>(set: &VertexChannel<N>) -> ChannelRecord {
        ChannelRecord(set.source as u32, set.animated, ExtentRecord::new(&set.extent))
    }

    /// Returns the set, if the source has one of that index.
    fn to_channel<const N: usize>(&self, there: usize) -> Option<VertexChannel<N>> {
        let source = self.0 as usize;
        let extent = self.2.to_extent()?;
        (source < there).then_some(VertexChannel { source, animated: self.1, extent })
    }
}

impl ParticlesRecord {
    fn new(own: &PreparedParticles) -> ParticlesRecord {
        let custom = |(attached, _, _): &(CustomChannel, String, usize)| {
            let extent = ExtentRecord::new(&attached.extent);
            (attached.source as u32, extent, attached.integral, attached.animated)
        };
        ParticlesRecord {
            ids: own.ids,
            curves: own.curves.map(|curves| curves as u32),
            widths: own.widths.as_ref().map(ChannelRecord::new),
            custom: own.custom.iter().map(custom).collect(),
        }
    }

    /// Returns the particles of a mesh; `None` if the mesh does not have what is stored here.
    fn to_particles(&self, mesh: &Mesh) -> Option<PreparedParticles> {
        let theirs = mesh.particles.as_ref()?;
        let all = particles::point_attributes(mesh);
        let custom = |(source, extent, whole, animated): &(u32, ExtentRecord, [bool; 4], bool)| {
            let found = all.get(*source as usize)?;
            let attached = CustomChannel {
                source: *source as usize,
                extent: extent.to_extent()?,
                integral: *whole,
                animated: *animated,
            };
            Some((attached, found.attribute.name.clone(), found.components))
        };
        let widths = self.widths.as_ref();
        let fits = (theirs.ids.is_some() || !self.ids)
            && theirs.curves.is_some() == self.curves.is_some()
            && (theirs.widths.is_some() || widths.is_none())
            && self.custom.len() <= 255;
        fits.then_some(())?;
        Some(PreparedParticles {
            ids: self.ids,
            curves: self.curves.map(|curves| curves as usize),
            widths: widths.map(|set| set.to_channel(1)).map_or(Some(None), |set| set.map(Some))?,
            custom: self.custom.iter().map(custom).collect::<Option<_>>()?,
        })
    }
}

impl FixedLayoutRecord {
    fn new(fixed: &FixedLayout, tangents: bool) -> FixedLayoutRecord {
        let grid = fixed.grid.as_ref().map(|grid| {
            let GridShape { width, height, closed, reversed } = grid.shape;
            GridRecord(width, height, closed, reversed, grid.cuts.clone())
        });
        FixedLayoutRecord {
            vertex_point: fixed.vertex_point.clone(),
            vertex_corner: fixed.vertex_corner.clone(),
            vertex_sign: match tangents {
                true => fixed.vertex_sign.iter().map(|&sign| sign as i8).collect(),
                false => Vec::new(),
            },
            indices: if grid.is_some() { Vec::new() } else { fixed.indices.clone() },
            grid,
            compact: fixed.compact.clone(),
            weld: fixed.weld.clone(),
        }
    }

    /// Returns the layout of a mesh of `points` points; `None` if a number is out of range.
    fn to_fixed_layout(&self, points: usize, tangents: bool) -> Option<FixedLayout> {
        let vertices = self.vertex_point.len();
        let (indices, grid) = match &self.grid {
            None => (self.indices.clone(), None),
            Some(GridRecord(width, height, closed, reversed, cuts)) => {
                let shape =
                    GridShape { width: *width, height: *height, closed: *closed, reversed: *reversed };
                let grid = Grid::from_shape(shape, cuts.clone(), vertices)?;
                (grid.indices(), Some(grid))
            }
        };
        let below = |list: &[u32], end: usize| list.iter().all(|&i| (i as usize) < end);
        let weld = self.weld.as_deref().unwrap_or_default();
        let fits = vertices < u32::MAX as usize
            && self.vertex_corner.len() == vertices
            && self.vertex_sign.len() == if tangents { vertices } else { 0 }
            && self.vertex_sign.iter().all(|sign| matches!(sign, -1 | 1))
            && indices.len().is_multiple_of(3)
            && below(&self.vertex_point, points)
            && below(&indices, vertices)
            && (self.weld.is_none() || weld.len() == vertices)
            // The first vertex of each class precedes the others.
            && (0..).zip(weld).all(|(v, &first)| first <= v && weld[first as usize] == first);
        fits.then(|| FixedLayout {
            vertex_point: self.vertex_point.clone(),
            vertex_corner: self.vertex_corner.clone(),
            vertex_sign: match tangents {
                true => self.vertex_sign.iter().map(|&sign| sign.into()).collect(),
                false => vec![1.0; vertices],
            },
            indices,
            grid,
            compact: self.compact.clone(),
            weld: self.weld.clone(),
            ..FixedLayout::default()
        })
    }
}

impl MeshAnalysis {
    /// Collects the results for a mesh. `streams`: those whose values in the first frame are needed; `table`:
    /// `true` if frames are predicted with the table.
    pub fn new(plan: &MeshPlan, streams: &[bool], table: bool) -> MeshAnalysis {
        let (source, prepared) = (&plan.source, &plan.prepared);
        let material = |material: &Material| (material.id, material.name.clone());
        let bases = plan.streams.iter().zip(streams).enumerate();
        MeshAnalysis {
            mesh: source.number as u32,
            path: plan.path.clone(),
            shown: plan.shown.words().to_vec(),
            moves: source.moves,
            matrices: source.matrices.as_ref().map(|all| all.iter().map(DMat4::to_cols_array).collect()),
            extents: [&prepared.scan.extent, &prepared.scan.object_extent].map(ExtentRecord::new),
            points: prepared.scan.points as u32,
            points_total: prepared.scan.points_total,
            moving: prepared.scan.moving,
            normals: prepared.channels.normals,
            normals_animated: prepared.channels.normals_animated,
            tangents: prepared.channels.tangents,
            uvs: prepared.channels.uvs.iter().map(ChannelRecord::new).collect(),
            colours: prepared.channels.colours.iter().map(ChannelRecord::new).collect(),
            velocities: prepared.channels.velocities.as_ref().map(ChannelRecord::new),
            particles: prepared.particles.as_ref().map(ParticlesRecord::new),
            materials: prepared.materials.iter().map(material).collect(),
            layout: match &prepared.fixed {
                Some(fixed) => LayoutRecord::Fixed(FixedLayoutRecord::new(fixed, prepared.channels.tangents)),
                None => {
                    let welds = prepared.scan.run_welds.iter().map(|(&lead, weld)| (lead, weld.clone()));
                    LayoutRecord::Runs(prepared.scan.runs.clone(), welds.collect())
                }
            },
            bases: match prepared.fixed {
                Some(_) => bases
                    .map(|(s, (record, &needed))| match needed {
                        true => plan.bases[s].clone(),
                        false => Quantized::new(record.word),
                    })
                    .collect(),
                None => Vec::new(),
            },
            table: table.then(|| plan.table.to_vec()),
        }
    }

    /// Returns the mesh with everything decided, its points at most `radius` off. Reads its first frame.
    pub fn plan(&self, content: &Content, (radius, normals_stored): (f64, bool)) -> Result<MeshPlan, Error> {
        let bad = |what: &str| Error::Malformed { what: format!("{}: {what}", self.path) };
        let options = &*content.options;
        if !(radius.is_finite() && radius >= 0.0) {
            return Err(bad(&format!("an error bound of {radius}")));
        }
        let source = self.source(content)?.ok_or_else(|| bad("its frames"))?;
        let prepared = self.prepared(&source, options.smooth_angle)?.ok_or_else(|| bad("its vertices"))?;
        // The remarks were already given when the streams were chosen first.
        let streams = choose_streams(&source.mesh, &prepared, radius, options, &mut Vec::new())?;
        let (bases, table) = (self.bases.clone(), self.table.clone());
        if let Some(fixed) = &prepared.fixed {
            let vertices = fixed.vertex_point.len();
            let fits = bases.len() == streams.len()
                && streams.iter().zip(&bases).all(|(record, base)| {
                    let whole = base.len() == vertices * record.semantic.components();
                    base.value_bytes() == record.word && (whole || base.is_empty() && record.animated)
                })
                && table.as_ref().is_none_or(|table| table.len() == vertices);
            if !fits {
                return Err(bad("the values of its first frame"));
            }
        }
        let animated = streams.iter().any(|s| s.animated);
        let method = match (&prepared.fixed, animated) {
            (None, _) if prepared.particles.is_some() => Method::Particles,
            (None, _) => Method::Fluid,
            (Some(_), true) => Method::Soft,
            (Some(_), false) => Method::Static,
        };
        Ok(MeshPlan {
            path: self.path.clone(),
            source: Arc::new(source),
            prepared: Arc::new(prepared),
            requested_method: content.by_path.method(&self.path),
            parts: content.by_path.parts(&self.path).clone(),
            method,
            streams,
            has_table: table.is_some(),
            table: table.unwrap_or_default().into_iter().collect(),
            bases,
            error_bound: radius,
            explicit_normals: normals_stored,
            skin_search: Arc::new(SkinSearch::new(options.effort, Arc::default())),
            normal_precision: None,
            static_error: Vec::new(),
            shown: self.visible_frames(content),
        })
    }

    fn visible_frames(&self, content: &Content) -> FrameSet {
        FrameSet::from_words(&self.shown, content.times.len())
    }

    /// Returns the source of its frames; `None` if the stored numbers do not fit.
    fn source(&self, content: &Content) -> Result<Option<MeshSource>, Error> {
        let (mesh, frames) = (self.mesh as usize, content.times.len());
        let inside = self.moves.is_none_or(|[first, last]| first < last && (last as usize) < frames);
        if frames == 0 || mesh >= content.scene.meshes.len() || !inside {
            return Ok(None);
        }
        let mut source = MeshSource::new(content, mesh, &self.visible_frames(content), None, None)?;
        if let Some(moves) = self.moves {
            // Damaged points are replaced by those of this frame, which is what is compiled.
            source.fallback = source.first_points()?;
            source.keep_window(Schedule::new(frames as u32, content.options.restart()), moves);
        }
        source.matrices = self.matrices.as_ref().map(|all| all.iter().map(DMat4::from_cols_array).collect());
        let matrices = source.matrices.as_ref().is_none_or(|all| all.len() == source.times.len());
        Ok(matrices.then_some(source))
    }

    /// Returns the result of the first pass, completed from the first frame; `None` if numbers do not fit.
    fn prepared(&self, source: &MeshSource, smooth_angle: Option<f64>) -> Result<Option<Prepared>, Error> {
        let Some(mut prepared) = self.without_layout(source) else {
            return Ok(None);
        };
        let frames = source.times.len();
        match &self.layout {
            LayoutRecord::Runs(runs, welds) => {
                let leads = runs.len() == frames
                    && (0..).zip(runs).all(|(f, &lead)| lead <= f && runs[lead as usize] == lead)
                    && runs.is_sorted();
                let first = |weld: &Vec<u32>| (0..).zip(weld).all(|(p, &first)| first <= p);
                if !leads || !welds.iter().all(|(_, weld)| first(weld)) {
                    return Ok(None);
                }
                prepared.scan.runs.clone_from(runs);
                prepared.scan.run_welds = welds.iter().cloned().collect();
            }
            LayoutRecord::Fixed(layout) => {
                let first_points = source.first_points()?;
                let Some(mut fixed) = layout.to_fixed_layout(first_points.len(), self.tangents) else {
                    return Ok(None);
                };
                fixed.first_points = first_points;
                let mut raw = sample::Faces::default();
                sample::faces_at(&source.mesh, source.times[0], &mut raw)?;
                fixed.faces = Faces::new(&raw.counts, &raw.indices, fixed.first_points.len());
                fixed.face_count = raw.counts.len();
                fixed.vertex_face = vertex_faces(&fixed.vertex_corner, &corner_faces(&fixed.faces));
                if prepared.channels.normals == NormalOrigin::Generated {
                    fixed.groups = normals::smooth_groups(&fixed.first_points, &fixed.faces, smooth_angle);
                }
                layout::tangent_groups(source, &prepared, &mut fixed)?;
                prepared.fixed = Some(Arc::new(fixed));
            }
        }
        Ok(Some(prepared))
    }

    fn without_layout(&self, source: &MeshSource) -> Option<Prepared> {
        let mesh = &*source.mesh;
        let [extent, object_extent] = &self.extents;
        let uvs: Vec<VertexChannel<2>> =
            self.uvs.iter().map(|set| set.to_channel(mesh.uvs.len())).collect::<Option<_>>()?;
        let colours = self.colours.iter().map(|set| set.to_channel(mesh.colours.len()));
        let material = |(id, name): &(u32, String)| Material { id: *id, name: name.clone() };
        let possible = (self.normals != NormalOrigin::Source || mesh.normals.is_some())
            && self.particles.is_some() == mesh.particles.is_some()
            && (self.velocities.is_none() || velocities(mesh).is_some())
            && (!self.tangents || self.normals != NormalOrigin::None && !uvs.is_empty())
            && (self.particles.is_some() || !self.materials.is_empty())
            && uvs.len() <= 255
            && self.colours.len() <= 255;
        possible.then_some(())?;
        Some(Prepared {
            scan: PositionScan {
                extent: extent.to_extent()?,
                object_extent: object_extent.to_extent()?,
                points: self.points as usize,
                points_total: self.points_total,
                moving: self.moving,
                seconds: source.seconds,
                // Everything that depends on the rest is already decided.
                ..PositionScan::default()
            },
            channels: MeshChannels {
                normals: self.normals,
                normals_animated: self.normals_animated,
                tangents: self.tangents,
                uvs,
                colours: colours.collect::<Option<_>>()?,
                velocities: (self.velocities.as_ref())
                    .map(|set| set.to_channel(1))
                    .map_or(Some(None), |set| set.map(Some))?,
            },
            particles: match &self.particles {
                Some(own) => Some(own.to_particles(mesh)?),
                None => None,
            },
            fixed: None,
            materials: self.materials.iter().map(material).collect(),
        })
    }
}
