//! A small z-buffer rasterizer: triangles with a colour per vertex, two-sided smooth shading that keeps sharp
//! edges, antialiasing by supersampling. Any mesh at any time can be drawn: positions, triangles, colours.

use super::image::{Image, to_srgb};
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use std::collections::HashMap;

/// Samples per pixel and axis.
const SUPERSAMPLING: usize = 2;
/// Rows of samples per job.
const BAND: usize = 64;
/// Faces that meet at less than this angle are shaded smoothly (cosine of 40 degrees).
const SMOOTH_COSINE: f32 = 0.766;
/// Full vertical angle of view, radians.
const FIELD_OF_VIEW: f64 = 0.5;

/// A mesh to draw, in world space.
pub struct Surface {
    /// Positions in world space.
    pub positions: Vec<DVec3>,
    /// Indices of three positions each; triangles with one out of range are left out.
    pub triangles: Vec<[u32; 3]>,
    /// Linear colour per position, or one for all.
    pub colours: Vec<[f32; 3]>,
}

/// The axis that points upwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Up {
    Y,
    Z,
}

/// A camera. Depth is measured along `forward`.
#[derive(Clone, Copy, Debug)]
pub struct Camera {
    eye: DVec3,
    right: DVec3,
    up: DVec3,
    forward: DVec3,
    /// Half the picture's width and height at depth 1.
    half: [f64; 2],
}

impl Camera {
    /// Returns a three-quarter view from slightly above that contains all `points`, the broad side in front.
    /// Without points it looks at the origin. `aspect` is width by height.
    pub fn framing(points: &[DVec3], up_axis: Up, aspect: f64) -> Camera {
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for point in points.iter().filter(|p| p.is_finite()) {
            low = low.min(*point);
            high = high.max(*point);
        }
        if !(low.is_finite() && high.is_finite()) {
            (low, high) = (DVec3::NEG_ONE, DVec3::ONE);
        }
        let (vertical, a, b) = match up_axis {
            Up::Y => (DVec3::Y, DVec3::X, DVec3::Z),
            Up::Z => (DVec3::Z, DVec3::X, DVec3::NEG_Y),
        };
        let extent = high - low;
        // Seen from +b, or from +a if that side is clearly broader.
        let (front, side) = if extent.dot(b.abs()) > 1.5 * extent.dot(a.abs()) { (a, -b) } else { (b, a) };
        let (azimuth, elevation) = (0.55f64, 0.32f64);
        let back =
            (front * azimuth.cos() + side * azimuth.sin()) * elevation.cos() + vertical * elevation.sin();
        let forward = -back.normalize();
        let right = forward.cross(vertical).normalize();
        let up = right.cross(forward);
        let half_height = (FIELD_OF_VIEW / 2.0).tan();
        let half = [half_height * aspect, half_height];

        // The nearest eye from which each point is inside the picture with some margin; the target is moved
        // so that the margins become equal, which takes a few rounds because perspective couples the axes.
        let margin = 0.92;
        let size = extent.length().max(low.abs().max(high.abs()).max_element() * 1e-7);
        let size = if size > 0.0 { size } else { 1.0 };
        let mut target = (low + high) / 2.0;
        let mut distance = size;
        for _ in 0..6 {
            distance = size * 0.05;
            let (mut least, mut most) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
            for point in points.iter().filter(|p| p.is_finite()) {
                let relative = *point - target;
                let depth = relative.dot(forward);
                for (axis, direction) in [right, up].into_iter().enumerate() {
                    let reach = relative.dot(direction).abs() / (half[axis] * margin);
                    distance = distance.max(reach - depth);
                }
                distance = distance.max(size * 0.01 - depth);
            }
            for point in points.iter().filter(|p| p.is_finite()) {
                let relative = *point - target;
                let depth = relative.dot(forward) + distance;
                for (axis, direction) in [right, up].into_iter().enumerate() {
                    let at = relative.dot(direction) / depth;
                    least[axis] = least[axis].min(at);
                    most[axis] = most[axis].max(at);
                }
            }
            if least[0].is_finite() {
                target += right * ((least[0] + most[0]) / 2.0 * distance)
                    + up * ((least[1] + most[1]) / 2.0 * distance);
            }
        }
        Camera { eye: target - forward * distance, right, up, forward, half }
    }

    /// Returns the vertical angle of view in radians.
    pub fn angle() -> f64 {
        FIELD_OF_VIEW
    }

    /// Returns the position of the camera, and a point in the middle of the picture.
    pub fn line_of_sight(&self) -> [DVec3; 2] {
        [self.eye, self.eye + self.forward]
    }

    /// Returns width by height of the area that `points` cover in this view.
    pub fn content_aspect(&self, points: &[DVec3]) -> f64 {
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for point in points.iter().filter(|p| p.is_finite()) {
            let relative = *point - self.eye;
            let depth = relative.dot(self.forward);
            for (axis, direction) in [self.right, self.up].into_iter().enumerate() {
                let at = relative.dot(direction) / depth;
                low[axis] = low[axis].min(at);
                high[axis] = high[axis].max(at);
            }
        }
        let aspect = (high[0] - low[0]) / (high[1] - low[1]);
        if aspect.is_finite() { aspect } else { 1.0 }
    }

    /// Returns the place in the picture (0…1 from the top left) and depth; `None` behind the camera.
    fn project(&self, point: DVec3) -> Option<[f32; 3]> {
        let relative = point - self.eye;
        let depth = relative.dot(self.forward);
        if !(depth > 1e-12 && depth.is_finite()) {
            return None;
        }
        let x = relative.dot(self.right) / (depth * self.half[0]);
        let y = relative.dot(self.up) / (depth * self.half[1]);
        let place = [(x * 0.5 + 0.5) as f32, (0.5 - y * 0.5) as f32, depth as f32];
        place.iter().all(|v| v.is_finite()).then_some(place)
    }
}

/// Returns the axis that most likely points upwards: Y by convention for Alembic; else a flat object is taken
/// to lie on the ground.
pub fn guess_up(format: &str, points: &[DVec3]) -> Up {
    if format.starts_with("alembic") {
        return Up::Y;
    }
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for point in points.iter().filter(|p| p.is_finite()) {
        low = low.min(*point);
        high = high.max(*point);
    }
    let extent = high - low;
    match extent.is_finite() && extent.z < 0.2 * extent.x.min(extent.y) {
        true => Up::Z,
        false => Up::Y,
    }
}

/// Returns the `points` of the scene's main part: one piece that flew far away would make everything else too
/// small.
pub fn main_part(points: &[DVec3]) -> Vec<DVec3> {
    let finite: Vec<DVec3> = points.iter().copied().filter(|p| p.is_finite()).collect();
    if finite.is_empty() {
        return finite;
    }
    let middle = finite.len() / 2;
    let median: [f64; 3] = std::array::from_fn(|axis| {
        let mut values: Vec<f64> = finite.iter().map(|p| p[axis]).collect();
        *values.select_nth_unstable_by(middle, f64::total_cmp).1
    });
    let median = DVec3::from_array(median);
    let mut distances: Vec<f64> = finite.iter().map(|p| p.distance(median)).collect();
    let most = distances.len() * 4 / 5;
    let usual = *distances.select_nth_unstable_by(most, f64::total_cmp).1;
    let mut part = finite;
    if usual > 0.0 {
        part.retain(|p| p.distance(median) <= 8.0 * usual);
    }
    part
}

/// A triangle ready to be filled: corners in samples, with the values to interpolate.
struct ProjectedTriangle {
    corners: [[f32; 3]; 3],
    normals: [Vec3; 3],
    colours: [[f32; 3]; 3],
    /// First and last row that it can touch.
    rows: (usize, usize),
}

/// The lighting of surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Light {
    /// Like clay in a studio, to show the shape.
    Studio,
    /// Nearly even, to keep colours as they are.
    Even,
}

/// Draws surfaces on a soft grey background.
pub fn draw(surfaces: &[Surface], camera: &Camera, light: Light, width: usize, height: usize) -> Image {
    let (columns, rows) = (width * SUPERSAMPLING, height * SUPERSAMPLING);
    let triangles: Vec<ProjectedTriangle> =
        surfaces.par_iter().flat_map_iter(|surface| prepare(surface, camera, columns, rows)).collect();
    let mut samples = vec![[0.0f32; 3]; columns * rows];
    samples.par_chunks_mut(columns * BAND).enumerate().for_each(|(band, samples)| {
        let first = band * BAND;
        let last = first + samples.len() / columns;
        for (i, sample) in samples.iter_mut().enumerate() {
            *sample = background((first + i / columns) as f32 / rows as f32);
        }
        let mut depths = vec![0.0f32; samples.len()];
        for triangle in &triangles {
            if triangle.rows.0 < last && triangle.rows.1 >= first {
                fill(triangle, camera, light, columns, first..last, samples, &mut depths);
            }
        }
    });
    let mut image = Image::new(width, height, [0; 3]);
    let share = 1.0 / (SUPERSAMPLING * SUPERSAMPLING) as f32;
    for (i, pixel) in image.pixels.iter_mut().enumerate() {
        let (x, y) = (i % width * SUPERSAMPLING, i / width * SUPERSAMPLING);
        let mut sum = [0.0f32; 3];
        for row in y..y + SUPERSAMPLING {
            for sample in &samples[row * columns + x..][..SUPERSAMPLING] {
                for (total, value) in sum.iter_mut().zip(sample) {
                    *total += value.min(1.0) * share;
                }
            }
        }
        *pixel = to_srgb(sum);
    }
    image
}

/// Returns the background, from a lighter top to a darker bottom.
fn background(height: f32) -> [f32; 3] {
    let top = [0.72, 0.75, 0.79];
    let bottom = [0.46, 0.48, 0.52];
    std::array::from_fn(|i| top[i] + (bottom[i] - top[i]) * height)
}

/// Projects a surface's triangles and computes the normals of their corners.
fn prepare(surface: &Surface, camera: &Camera, columns: usize, rows: usize) -> Vec<ProjectedTriangle> {
    let projected: Vec<Option<[f32; 3]>> = surface
        .positions
        .iter()
        .map(|&p| {
            let [x, y, depth] = camera.project(p)?;
            Some([x * columns as f32, y * rows as f32, depth])
        })
        .collect();
    let normals = corner_normals(surface);
    let colour = |v: u32| {
        let fallback = surface.colours.last().copied().unwrap_or([0.5; 3]);
        surface.colours.get(v as usize).copied().unwrap_or(fallback)
    };
    let mut filled = Vec::new();
    for (triangle, normals) in surface.triangles.iter().zip(normals) {
        let corner = |k: usize| projected.get(triangle[k] as usize).copied().flatten();
        let (Some(a), Some(b), Some(c)) = (corner(0), corner(1), corner(2)) else {
            continue;
        };
        let top = a[1].min(b[1]).min(c[1]).max(0.0);
        let bottom = a[1].max(b[1]).max(c[1]);
        if bottom < 0.0 || top >= rows as f32 {
            continue;
        }
        filled.push(ProjectedTriangle {
            corners: [a, b, c],
            normals,
            colours: triangle.map(colour),
            rows: (top as usize, bottom.min(rows as f32) as usize),
        });
    }
    filled
}

/// Returns a normal for each corner: the mean of the faces around its place that meet it at less than the
/// smooth angle. Places are compared by position, so that split vertices still look smooth.
fn corner_normals(surface: &Surface) -> Vec<[Vec3; 3]> {
    let positions = &surface.positions;
    let mut places: HashMap<[u64; 3], u32> = HashMap::with_capacity(positions.len());
    let place: Vec<u32> = positions
        .iter()
        .map(|p| {
            let next = places.len() as u32;
            *places.entry(p.to_array().map(|v| (v + 0.0).to_bits())).or_insert(next)
        })
        .collect();
    let get = |v: u32| positions.get(v as usize).copied().unwrap_or(DVec3::NAN);
    // The length is twice the area, so larger faces weigh more.
    let faces: Vec<DVec3> =
        surface.triangles.iter().map(|t| (get(t[1]) - get(t[0])).cross(get(t[2]) - get(t[0]))).collect();
    let mut around: Vec<Vec<u32>> = vec![Vec::new(); places.len()];
    for (face, triangle) in surface.triangles.iter().enumerate() {
        for &v in triangle {
            if let Some(&place) = place.get(v as usize) {
                around[place as usize].push(face as u32);
            }
        }
    }
    surface
        .triangles
        .iter()
        .enumerate()
        .map(|(face, triangle)| {
            let own = faces[face].normalize_or_zero();
            triangle.map(|v| {
                let Some(&place) = place.get(v as usize) else {
                    return own.as_vec3();
                };
                let mut sum = DVec3::ZERO;
                // A limited number of faces is enough around a vertex of very many.
                for &other in around[place as usize].iter().take(256) {
                    let normal = faces[other as usize];
                    let unit = normal.normalize_or_zero();
                    if own.dot(unit) as f32 > SMOOTH_COSINE {
                        sum += normal;
                    }
                }
                let normal = sum.normalize_or_zero();
                if normal == DVec3::ZERO { own.as_vec3() } else { normal.as_vec3() }
            })
        })
        .collect()
}

/// Fills the part of a triangle that lies in `rows`. Depth is stored as 1/distance: larger is nearer, 0 is
/// empty.
fn fill(
    triangle: &ProjectedTriangle,
    camera: &Camera,
    light: Light,
    columns: usize,
    rows: std::ops::Range<usize>,
    samples: &mut [[f32; 3]],
    depths: &mut [f32],
) {
    let [a, b, c] = triangle.corners;
    let area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    if area == 0.0 || !area.is_finite() {
        return;
    }
    let left = a[0].min(b[0]).min(c[0]).floor().max(0.0) as usize;
    let right = (a[0].max(b[0]).max(c[0]).ceil().max(0.0) as usize).min(columns);
    let inverse = [1.0 / a[2], 1.0 / b[2], 1.0 / c[2]];
    for row in triangle.rows.0.max(rows.start)..(triangle.rows.1 + 1).min(rows.end) {
        let y = row as f32 + 0.5;
        for column in left..right {
            let x = column as f32 + 0.5;
            let wa = ((b[0] - x) * (c[1] - y) - (b[1] - y) * (c[0] - x)) / area;
            let wb = ((c[0] - x) * (a[1] - y) - (c[1] - y) * (a[0] - x)) / area;
            let wc = 1.0 - wa - wb;
            if wa < 0.0 || wb < 0.0 || wc < 0.0 {
                continue;
            }
            let depth = wa * inverse[0] + wb * inverse[1] + wc * inverse[2];
            let at = (row - rows.start) * columns + column;
            if depth <= depths[at] {
                continue;
            }
            depths[at] = depth;
            // Perspective-correct weights, so that normals and colours do not swim.
            let weights = [wa * inverse[0] / depth, wb * inverse[1] / depth, wc * inverse[2] / depth];
            let normal = triangle.normals[0] * weights[0]
                + triangle.normals[1] * weights[1]
                + triangle.normals[2] * weights[2];
            let colour: [f32; 3] =
                std::array::from_fn(|i| (0..3).map(|k| triangle.colours[k][i] * weights[k]).sum());
            samples[at] = shade(normal.normalize_or_zero(), colour, camera, light);
        }
    }
}

/// Shades with sky light from above, a key light from the left of the viewer, a weak fill light from the
/// right, and a faint highlight.
fn shade(normal: Vec3, colour: [f32; 3], camera: &Camera, light: Light) -> [f32; 3] {
    let [right, up, back] = [camera.right, camera.up, -camera.forward].map(|v| v.as_vec3());
    // A back face is lit as if it were turned over.
    let normal = if normal.dot(back) < 0.0 { -normal } else { normal };
    let key_direction = (up * 0.75 + back * 0.6 - right * 0.55).normalize();
    let fill_direction = (right * 0.9 + back * 0.4 + up * 0.1).normalize();
    let sky = 0.5 + 0.5 * normal.dot(up);
    let key = normal.dot(key_direction).max(0.0);
    let fill = normal.dot(fill_direction).max(0.0);
    if light == Light::Even {
        return colour.map(|value| value * (0.62 + 0.3 * key + 0.08 * sky));
    }
    let half = (key_direction + back).normalize();
    let highlight = normal.dot(half).max(0.0).powi(40) * 0.10;
    let light = 0.10 + 0.24 * sky + 0.80 * key + 0.14 * fill;
    colour.map(|value| value * light + highlight)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(colour: [f32; 3], z: f64) -> Surface {
        Surface {
            positions: [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]
                .map(|[x, y]| DVec3::new(x, y, z))
                .to_vec(),
            triangles: vec![[0, 1, 2], [0, 2, 3]],
            colours: vec![colour],
        }
    }

    #[test]
    fn everything_is_in_the_picture() {
        for up in [Up::Y, Up::Z] {
            let points: Vec<DVec3> = (0..200)
                .map(|i| {
                    let t = i as f64;
                    DVec3::new((t * 0.7).sin() * 9.0 + 100.0, (t * 1.3).cos(), t * 0.01) * 3.0
                })
                .collect();
            let camera = Camera::framing(&points, up, 4.0 / 3.0);
            let mut widest = 0.0f32;
            for point in &points {
                let [x, y, _] = camera.project(*point).unwrap();
                assert!((0.0..=1.0).contains(&x) && (0.0..=1.0).contains(&y), "{x} {y}");
                widest = widest.max((x - 0.5).abs()).max((y - 0.5).abs());
            }
            assert!(widest > 0.4, "the picture is well used: {widest}");
        }
    }

    #[test]
    fn the_nearer_one_hides_the_other() {
        let (red, blue) = (square([0.8, 0.0, 0.0], 0.5), square([0.0, 0.0, 0.8], 0.0));
        let points: Vec<DVec3> = red.positions.iter().chain(&blue.positions).copied().collect();
        let camera = Camera::framing(&points, Up::Y, 1.0);
        for surfaces in [[red, blue], [square([0.0, 0.0, 0.8], 0.0), square([0.8, 0.0, 0.0], 0.5)]] {
            let image = draw(&surfaces, &camera, Light::Studio, 64, 64);
            let reddish = image.pixels.iter().filter(|p| p[0] / 2 > p[2]).count();
            let bluish = image.pixels.iter().filter(|p| p[2] / 2 > p[0]).count();
            assert!(reddish > 2 * bluish && reddish > 500, "{reddish} {bluish}");
        }
    }

    #[test]
    fn one_that_is_far_away_does_not_count() {
        let mut points: Vec<DVec3> = (0..90).map(|i| DVec3::splat(f64::from(i) * 0.1)).collect();
        points.push(DVec3::splat(1e5));
        points.push(DVec3::NAN);
        assert_eq!(main_part(&points).len(), 90);
        assert_eq!(main_part(&[DVec3::ONE; 7]).len(), 7);
        assert!(main_part(&[]).is_empty());
    }

    #[test]
    fn odd_input_draws_what_it_can() {
        let mut surface = square([0.5; 3], f64::NAN);
        surface.triangles.push([7, 8, 9]);
        let camera = Camera::framing(&surface.positions, Up::Y, 1.0);
        draw(&[surface], &camera, Light::Even, 8, 8);
        let camera = Camera::framing(&[DVec3::splat(1e9)], Up::Z, 1.0);
        draw(&[], &camera, Light::Even, 8, 8);
    }
}
