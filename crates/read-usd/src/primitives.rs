//! Spheres, cubes, cylinders, cones, capsules and planes: shapes with sizes but no points. They become
//! meshes, with facets for round parts.

use super::compose::{Prim, Stage};
use super::inherited::InheritedPrimvar;
use super::mesh::{ElementLengths, PrimvarReader};
use super::parameters::Parameters;
use super::samples::{AttributeLengths, Timeline};
use meshreel_scene::{Attribute, Channel, Error, Identity, Mesh, Scope, Source, Topology};
use std::f64::consts::{FRAC_PI_2, PI, TAU};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The number of facets around an axis, and from one pole of a sphere to the other.
const FACETS_AROUND: usize = 32;
const FACETS_ALONG: usize = 16;

/// The kind of a shape.
#[derive(Clone, Copy, PartialEq)]
enum PrimitiveKind {
    Cube,
    Plane,
    Sphere,
    /// With separate radii at both ends.
    Cylinder,
    Cone,
    Capsule,
}

/// The names of a shape's sizes, with their default values.
type SizeNames = &'static [(&'static str, f64)];

fn primitive_kind(type_name: &str) -> Option<(PrimitiveKind, SizeNames)> {
    Some(match type_name {
        "Cube" => (PrimitiveKind::Cube, &[("size", 2.0)]),
        "Plane" => (PrimitiveKind::Plane, &[("width", 2.0), ("length", 2.0)]),
        "Sphere" => (PrimitiveKind::Sphere, &[("radius", 1.0)]),
        "Cylinder" => (PrimitiveKind::Cylinder, &[("height", 2.0), ("radius", 1.0)]),
        "Cylinder_1" => {
            (PrimitiveKind::Cylinder, &[("height", 2.0), ("radiusBottom", 1.0), ("radiusTop", 1.0)])
        }
        "Cone" => (PrimitiveKind::Cone, &[("height", 2.0), ("radius", 1.0)]),
        "Capsule" => (PrimitiveKind::Capsule, &[("height", 1.0), ("radius", 0.5)]),
        "Capsule_1" => {
            (PrimitiveKind::Capsule, &[("height", 1.0), ("radiusBottom", 0.5), ("radiusTop", 0.5)])
        }
        _ => return None,
    })
}

/// `true` if prims of this type are such shapes.
pub fn is_type(type_name: &str) -> bool {
    primitive_kind(type_name).is_some()
}

/// Reads a shape; returns `None` for other types.
pub fn read(
    stage: &mut Stage,
    prim: &Prim,
    type_name: &str,
    timeline: &mut Timeline,
    inherited: &[InheritedPrimvar],
) -> Result<Option<Mesh>, Error> {
    let Some((kind, sizes)) = primitive_kind(type_name) else {
        return Ok(None);
    };
    let parameters = Parameters::read(stage, prim, timeline, sizes.iter().map(|(name, _)| *name))?;
    let axis = match stage.attribute_text(prim, "axis")?.as_deref() {
        Some("X") => 0,
        Some("Y") => 1,
        _ => 2,
    };
    let shape = Arc::new(PrimitiveShape { kind, sizes, axis, parameters });
    let faces = shape.faces();
    if !matches!(kind, PrimitiveKind::Cube | PrimitiveKind::Plane) {
        let what = format!("a {type_name}, which has no points: taken as a mesh of {} faces", faces.len());
        stage.remark(&prim.path, what);
    }
    let counts: Vec<i32> = faces.iter().map(|face| face.len() as i32).collect();
    let corners: Vec<i32> = faces.iter().flatten().map(|point| *point as i32).collect();
    let all = |count: usize| AttributeLengths { first: count, last: count, vary: false };
    let sizes =
        ElementLengths { points: all(shape.points()), faces: all(counts.len()), corners: all(corners.len()) };
    let sampling = shape.parameters.sampling();
    let positions = Channel::new(sampling.clone(), Arc::new(PrimitivePositions(shape.clone())));
    let mut mesh =
        Mesh::new(prim.path.as_str(), positions, Channel::constant(counts), Channel::constant(corners));
    mesh.normals = Some(Attribute {
        name: "normals".into(),
        scope: Scope::FaceVarying,
        values: Channel::new(sampling, Arc::new(PrimitiveNormals(shape))),
        indices: None,
    });
    if !mesh.positions.is_constant() {
        mesh.topology = Topology::Homogeneous;
    }
    PrimvarReader { stage, prim, timeline, sizes, mesh: &mut mesh }.primvars(inherited)?;
    Ok(Some(mesh))
}

/// A shape and its sizes over time.
struct PrimitiveShape {
    kind: PrimitiveKind,
    sizes: SizeNames,
    /// The index of its axis.
    axis: usize,
    parameters: Parameters,
}

/// A ring of points around the axis: its radius, its position along the axis, and the normal's components
/// outward and along the axis. At a pole, all of its points are one.
struct Ring {
    radius: f64,
    along: f64,
    normal: [f64; 2],
    is_pole: bool,
}

impl PrimitiveShape {
    /// Returns the sizes at a sample; a single radius is returned twice.
    fn sizes(&self, sample: usize) -> Result<[f64; 3], Error> {
        let mut out = [0.0; 3];
        for (number, (_, otherwise)) in self.sizes.iter().enumerate() {
            out[number] = self.parameters.value(number, sample)?.map_or(*otherwise, |[size]| size);
        }
        if self.sizes.len() == 2 {
            out[2] = out[1];
        }
        Ok(out)
    }

    /// Returns the rings of a round shape, from below; for a sphere, the radius is the first size.
    fn rings(&self, [height, bottom, top]: [f64; 3]) -> Vec<Ring> {
        let half = height / 2.0;
        let arc = |steps: RangeInclusive<usize>, radius: f64, middle: f64| {
            steps.map(move |step| {
                let is_pole = step == 0 || step == FACETS_ALONG;
                let (along, out) = (PI * step as f64 / FACETS_ALONG as f64 - FRAC_PI_2).sin_cos();
                let out = if is_pole { 0.0 } else { out };
                Ring { radius: radius * out, along: middle + radius * along, normal: [out, along], is_pole }
            })
        };
        match self.kind {
            PrimitiveKind::Cube | PrimitiveKind::Plane => Vec::new(),
            PrimitiveKind::Sphere => arc(0..=FACETS_ALONG, height, 0.0).collect(),
            PrimitiveKind::Capsule => {
                let below = arc(0..=FACETS_ALONG / 2, bottom, -half);
                below.chain(arc(FACETS_ALONG / 2..=FACETS_ALONG, top, half)).collect()
            }
            PrimitiveKind::Cylinder | PrimitiveKind::Cone => {
                let is_cone = self.kind == PrimitiveKind::Cone;
                let top = if is_cone { 0.0 } else { top };
                let (out, along) = (height, bottom - top);
                let length = out.hypot(along);
                let normal = if length > 0.0 { [out / length, along / length] } else { [1.0, 0.0] };
                let ring = |radius, along, is_pole| Ring { radius, along, normal, is_pole };
                vec![ring(bottom, -half, false), ring(top, half, is_cone)]
            }
        }
    }

    /// Converts coordinates, two across and one along the axis, to x, y and z.
    fn to_xyz(&self, [a, b, along]: [f64; 3]) -> [f32; 3] {
        let at = match self.axis {
            0 => [along, a, b],
            1 => [b, along, a],
            _ => [a, b, along],
        };
        at.map(|v| v as f32)
    }

    /// Returns the number of points.
    fn points(&self) -> usize {
        match self.kind {
            PrimitiveKind::Cube => 8,
            PrimitiveKind::Plane => 4,
            _ => self.rings([1.0; 3]).iter().map(|ring| if ring.is_pole { 1 } else { FACETS_AROUND }).sum(),
        }
    }

    fn positions(&self, sample: usize, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        let sizes = self.sizes(sample)?;
        match self.kind {
            PrimitiveKind::Cube => {
                let half = (sizes[0] / 2.0) as f32;
                let side = |i: usize, bit: usize| if i >> bit & 1 == 0 { -half } else { half };
                out.extend((0..8).map(|i| [0, 1, 2].map(|bit| side(i, bit))));
            }
            PrimitiveKind::Plane => {
                // The width is along x (z if the axis is x), the length along y (z if the axis is y).
                let [a, b] = [sizes[0] / 2.0, sizes[1] / 2.0];
                let corners = [[-a, -b], [a, -b], [a, b], [-a, b]];
                out.extend(corners.map(|[wide, long]| match self.axis {
                    2 => self.to_xyz([wide, long, 0.0]),
                    _ => self.to_xyz([long, wide, 0.0]),
                }));
            }
            _ => {
                for ring in self.rings(sizes) {
                    let count = if ring.is_pole { 1 } else { FACETS_AROUND };
                    let place = |i: usize| {
                        let (sin, cos) = (TAU * i as f64 / FACETS_AROUND as f64).sin_cos();
                        self.to_xyz([ring.radius * cos, ring.radius * sin, ring.along])
                    };
                    out.extend((0..count).map(place));
                }
            }
        }
        Ok(())
    }

    /// Returns the points of each face, counter-clockwise as seen from outside.
    fn faces(&self) -> Vec<Vec<usize>> {
        match self.kind {
            PrimitiveKind::Cube => {
                let sides =
                    [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
                sides.map(|side| side.to_vec()).to_vec()
            }
            // For the axes x and y, width and length have the opposite orientation.
            PrimitiveKind::Plane if self.axis == 2 => vec![vec![0, 1, 2, 3]],
            PrimitiveKind::Plane => vec![vec![0, 3, 2, 1]],
            _ => self.round().into_iter().map(|(points, _)| points).collect(),
        }
    }

    /// Returns the faces of a round shape, and for each corner its ring and its facet number around the axis;
    /// for a cap the direction along the axis instead.
    fn round(&self) -> Vec<(Vec<usize>, FaceCorners)> {
        let rings = self.rings([1.0; 3]);
        let mut out = Vec::new();
        let mut first = 0;
        let at = |first: usize, i: usize| first + i % FACETS_AROUND;
        if rings.first().is_some_and(|ring| !ring.is_pole) {
            out.push(((0..FACETS_AROUND).rev().collect(), FaceCorners::Cap(-1.0)));
        }
        for (lower, two) in rings.windows(2).enumerate() {
            let count = if two[0].is_pole { 1 } else { FACETS_AROUND };
            let next = first + count;
            for i in 0..FACETS_AROUND {
                let (a, b, middle) = (i as f64, i as f64 + 1.0, i as f64 + 0.5);
                let upper = lower + 1;
                out.push(match (two[0].is_pole, two[1].is_pole) {
                    (true, _) => {
                        let points = vec![first, at(next, i + 1), at(next, i)];
                        (points, FaceCorners::Side(vec![(lower, middle), (upper, b), (upper, a)]))
                    }
                    (_, true) => {
                        let points = vec![at(first, i), at(first, i + 1), next];
                        (points, FaceCorners::Side(vec![(lower, a), (lower, b), (upper, middle)]))
                    }
                    _ => {
                        let points = vec![at(first, i), at(first, i + 1), at(next, i + 1), at(next, i)];
                        (points, FaceCorners::Side(vec![(lower, a), (lower, b), (upper, b), (upper, a)]))
                    }
                });
            }
            first = next;
        }
        if rings.last().is_some_and(|ring| !ring.is_pole) {
            out.push(((first..first + FACETS_AROUND).collect(), FaceCorners::Cap(1.0)));
        }
        out
    }

    /// Computes the normals of all corners.
    fn normals(&self, sample: usize, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        match self.kind {
            PrimitiveKind::Cube => {
                for side in 0..6 {
                    let mut normal = [0.0; 3];
                    normal[side / 2] = if side % 2 == 0 { -1.0 } else { 1.0 };
                    out.extend([normal; 4]);
                }
            }
            PrimitiveKind::Plane => out.extend([self.to_xyz([0.0, 0.0, 1.0]); 4]),
            _ => {
                let rings = self.rings(self.sizes(sample)?);
                for (points, corners) in self.round() {
                    match corners {
                        FaceCorners::Cap(along) => {
                            out.extend(points.iter().map(|_| self.to_xyz([0.0, 0.0, along])));
                        }
                        FaceCorners::Side(corners) => out.extend(corners.iter().map(|(ring, around)| {
                            let [far, along] = rings[*ring].normal;
                            let (sin, cos) = (TAU * around / FACETS_AROUND as f64).sin_cos();
                            self.to_xyz([far * cos, far * sin, along])
                        })),
                    }
                }
            }
        }
        Ok(())
    }
}

/// The corners of a face, from which normals follow.
enum FaceCorners {
    /// A cap that faces along the axis (1) or against it (−1).
    Cap(f64),
    /// The ring of each corner, and its facet number around the axis.
    Side(Vec<(usize, f64)>),
}

/// The points over time.
struct PrimitivePositions(Arc<PrimitiveShape>);

impl Source<[f32; 3]> for PrimitivePositions {
    fn len(&self) -> usize {
        self.0.parameters.samples()
    }
    fn identity(&self, i: usize) -> Identity {
        self.0.parameters.identity(i)
    }
    fn read(&self, i: usize, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        out.clear();
        self.0.positions(i, out)
    }
}

/// The normals over time.
struct PrimitiveNormals(Arc<PrimitiveShape>);

impl Source<[f32; 3]> for PrimitiveNormals {
    fn len(&self) -> usize {
        self.0.parameters.samples()
    }
    fn identity(&self, i: usize) -> Identity {
        self.0.parameters.identity(i)
    }
    fn read(&self, i: usize, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        out.clear();
        self.0.normals(i, out)
    }
}
