//! Shapes and motions for [`super::scene`]: what artists, rigs and simulations make, and what goes wrong with
//! it. Small enough that a thousand of them compile in a minute.

use super::Numbers;
use glam::{DMat3, DVec3};

/// Points and faces, counter-clockwise.
#[derive(Clone, Default)]
pub struct Shape {
    pub points: Vec<DVec3>,
    pub faces: Vec<Vec<i32>>,
}

/// Frames of a shape: points in f32 after everything that was done to them.
pub type Frames = Vec<Vec<[f32; 3]>>;

impl Shape {
    fn add(&mut self, other: &Shape, place: impl Fn(DVec3) -> DVec3) {
        let first = self.points.len() as i32;
        self.points.extend(other.points.iter().map(|&p| place(p)));
        let moved = |face: &Vec<i32>| face.iter().map(|p| p + first).collect();
        self.faces.extend(other.faces.iter().map(moved));
    }

    fn grid(width: usize, height: usize, triangles: bool) -> Shape {
        let (w, h) = (width as i32, height as i32);
        let mut shape = Shape::default();
        for i in 0..(w + 1) * (h + 1) {
            let (x, y) = (f64::from(i % (w + 1)), f64::from(i / (w + 1)));
            shape.points.push(DVec3::new(x / f64::from(w), y / f64::from(h), 0.0));
        }
        for q in 0..w * h {
            let a = q / w * (w + 1) + q % w;
            let quad = [a, a + 1, a + w + 2, a + w + 1];
            match (triangles, q % 2) {
                (false, _) => shape.faces.push(quad.to_vec()),
                (true, k) => {
                    let turn = |i: i32| quad[((i + k) % 4) as usize];
                    shape.faces.push([0, 1, 2].map(turn).to_vec());
                    shape.faces.push([0, 2, 3].map(turn).to_vec());
                }
            }
        }
        shape
    }

    fn cube() -> Shape {
        let corner = |i: i32| [0, 1, 2].map(|k| f64::from(i >> k & 1) - 0.5);
        let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        Shape {
            points: (0..8).map(|i| DVec3::from_array(corner(i))).collect(),
            faces: faces.iter().map(|f| f.to_vec()).collect(),
        }
    }

    fn sphere(rings: usize, segments: usize) -> Shape {
        let (r, s) = (rings as i32, segments as i32);
        let mut shape = Shape { points: vec![DVec3::NEG_Z, DVec3::Z], ..Shape::default() };
        let at = |ring: i32, segment: i32| 2 + ring * s + segment.rem_euclid(s);
        for ring in 0..r {
            let up = f64::from(ring + 1) / f64::from(r + 1) * std::f64::consts::PI;
            for segment in 0..s {
                let (y, x) = (f64::from(segment) / f64::from(s) * std::f64::consts::TAU).sin_cos();
                shape.points.push(DVec3::new(x * up.sin(), y * up.sin(), -up.cos()));
            }
        }
        for k in 0..s {
            shape.faces.push(vec![0, at(0, k + 1), at(0, k)]);
            shape.faces.push(vec![1, at(r - 1, k), at(r - 1, k + 1)]);
            for ring in 1..r {
                shape.faces.push(vec![at(ring - 1, k), at(ring - 1, k + 1), at(ring, k + 1), at(ring, k)]);
            }
        }
        shape
    }

    /// The same with a back, on the same points or on others in the same places.
    fn two_sided(mut self, own_points: bool, cut: bool) -> Shape {
        let mut back = self.clone();
        back.faces.iter_mut().for_each(|f| f.reverse());
        if cut {
            // Triangles whose other side is a quad.
            let corners = |f: &Vec<i32>| (2..f.len()).map(|k| vec![f[0], f[k - 1], f[k]]).collect::<Vec<_>>();
            back.faces = back.faces.iter().flat_map(corners).collect();
        }
        match own_points {
            true => self.add(&back, |p| p),
            false => self.faces.extend(back.faces),
        }
        self
    }
}

/// A shape of about one unit.
pub fn shape(numbers: &mut Numbers) -> Shape {
    let mut shape = match numbers.below(12) {
        0 | 1 => sheet(numbers),
        2 => Shape::cube(),
        3 => Shape::sphere(1 + numbers.below(8), 3 + numbers.below(12)),
        4 => cards(numbers),
        5 => {
            let grid = Shape::grid(1 + numbers.below(8), 1 + numbers.below(8), numbers.bit());
            grid.two_sided(numbers.bit(), numbers.bit())
        }
        6 => star(numbers),
        7 => points(numbers),
        8 => book(numbers),
        9 | 10 => debris(numbers),
        _ => soup(numbers),
    };
    if numbers.below(4) == 0 {
        damage(&mut shape, numbers);
    }
    shape
}

/// A grid that is bent.
fn sheet(numbers: &mut Numbers) -> Shape {
    let mut grid = Shape::grid(1 + numbers.below(12), 1 + numbers.below(12), numbers.bit());
    let bend = f64::from(numbers.i8()) / 100.0;
    grid.points.iter_mut().for_each(|p| p.z = bend * (3.0 * p.x).sin() * p.y);
    grid
}

/// Leaf cards here and there, flat or folded along the middle.
fn cards(numbers: &mut Numbers) -> Shape {
    let mut cards = Shape::default();
    for _ in 0..1 + numbers.below(12) {
        let mut card = Shape::grid(1 + numbers.below(3), 1, false);
        let fold = f64::from(numbers.i8()) / 64.0;
        card.points.iter_mut().for_each(|p| p.z = fold * (p.x - 0.5).abs());
        let card = card.two_sided(numbers.below(4) == 0, numbers.below(4) == 0);
        let (turn, to) = (turn(numbers), vector(numbers));
        let size = [0.1, 1e-3, 1.0][numbers.below(3)];
        cards.add(&card, |p| turn * p * size + to);
    }
    cards
}

/// A star, or with all radii alike a disc.
fn star(numbers: &mut Numbers) -> Shape {
    let n = 5 + numbers.below(60);
    let deep = f64::from(numbers.u8()) / 256.0;
    let corner = |i: usize| {
        let (y, x) = (i as f64 / n as f64 * std::f64::consts::TAU).sin_cos();
        DVec3::new(x, y, 0.0) * if i.is_multiple_of(2) { 1.0 } else { deep }
    };
    Shape { points: (0..n).map(corner).collect(), faces: vec![(0..n as i32).collect()] }
}

/// Points without faces, one point, all in one place, all on a line.
fn points(numbers: &mut Numbers) -> Shape {
    let points = numbers.below(6);
    let kind = numbers.below(3);
    let (a, b) = (vector(numbers), vector(numbers));
    let point = |i: usize| match kind {
        0 => a,
        1 => a + b * i as f64,
        _ => a * (i as f64).cos() + b * (i as f64).sin(),
    };
    let faces = match numbers.bit() && points > 2 {
        true => (2..points as i32).map(|i| vec![0, i - 1, i]).collect(),
        false => Vec::new(),
    };
    Shape { points: (0..points).map(point).collect(), faces }
}

/// Pages at one edge, on some of both sides, and a fan around its end.
fn book(numbers: &mut Numbers) -> Shape {
    let mut book = Shape { points: vec![DVec3::ZERO, DVec3::Y], ..Shape::default() };
    for page in 0..2 + numbers.below(8) as i32 {
        let (y, x) = f64::from(page).sin_cos();
        book.points.extend([DVec3::new(x, 1.0, y), DVec3::new(x, 0.0, y)]);
        let face = vec![0, 1, 2 + 2 * page, 3 + 2 * page];
        if numbers.bit() {
            book.faces.push(face.iter().rev().copied().collect());
        }
        book.faces.push(face);
        if page > 0 && numbers.bit() {
            book.faces.push(vec![0, 2 * page + 1, 2 * page + 3]);
        }
    }
    book
}

/// Pieces of one shape, here and there.
fn debris(numbers: &mut Numbers) -> Shape {
    let piece = match numbers.bit() {
        true => Shape::cube(),
        false => Shape::sphere(1, 3),
    };
    let mut debris = Shape::default();
    for _ in 0..2 + numbers.below(10) {
        let (turn, to) = (turn(numbers), 3.0 * vector(numbers));
        debris.add(&piece, |p| turn * p * 0.2 + to);
    }
    debris
}

/// A soup.
fn soup(numbers: &mut Numbers) -> Shape {
    let points = 3 + numbers.below(40);
    let mut soup = Shape::default();
    soup.points.extend((0..points).map(|_| vector(numbers)));
    for _ in 0..numbers.below(40) {
        let corners = 3 + numbers.below(3);
        let corner = |_| numbers.below(points) as i32;
        soup.faces.push((0..corners).map(corner).collect());
    }
    soup
}

/// Faces that repeat others, turned or not, that turn the other way, that have no area; points that fall
/// together.
fn damage(shape: &mut Shape, numbers: &mut Numbers) {
    for _ in 0..1 + numbers.below(6) {
        if shape.faces.is_empty() {
            return;
        }
        let mut face = shape.faces[numbers.below(shape.faces.len().min(256))].clone();
        match numbers.below(6) {
            0 => {}
            1 => face.rotate_left(1),
            2 => face.reverse(),
            3 => face[1] = face[0],
            4 => face.iter_mut().for_each(|p| *p = (*p).min(1)),
            _ => {
                let [a, b] = [face[0], face[1]].map(|p| p as usize);
                shape.points[a] = shape.points[b];
            }
        }
        let at = numbers.below(shape.faces.len().min(256));
        shape.faces.insert(at, face);
    }
}

/// The shape in motion: what moves it, stillness at both ends, jumps, size and place, and frames of damage.
pub fn motion(shape: &Shape, frames: usize, numbers: &mut Numbers) -> Frames {
    let kind = numbers.below(9);
    let axis = vector(numbers).normalize_or(DVec3::Z);
    let speed = [0.02, 0.1, 0.5][numbers.below(3)];
    let drift = match numbers.bit() {
        true => vector(numbers) * speed,
        false => DVec3::ZERO,
    };
    let seed = numbers.u16();
    let [lead_in, lead_out] = match numbers.below(4) {
        0 => [0, numbers.below(frames)],
        1 => [numbers.below(frames); 2],
        _ => [0, 0],
    };
    let jumps: Vec<(usize, DVec3)> = match numbers.below(4) {
        0 => (0..1 + numbers.below(3)).map(|_| (numbers.below(frames), 30.0 * vector(numbers))).collect(),
        _ => Vec::new(),
    };
    let scale = 10f64.powi(match numbers.bit() {
        true => 0,
        false => numbers.below(13) as i32 - 6,
    });
    let far = [0.0, 0.0, 0.0, 1e3, 1e6, 1e9, 1e12, 1e14][numbers.below(8)];
    let offset = vector(numbers) * far * if numbers.bit() { scale } else { 1.0 };
    let mirror = match numbers.below(8) {
        0 => DVec3::new(-1.0, 1.0, 1.0),
        1 => DVec3::new(1.0, 1.0, 0.0),
        2 => DVec3::new(1.0, 1e-4, 1.0),
        _ => DVec3::ONE,
    };
    let mut out: Frames = (0..frames)
        .map(|frame| {
            let moved = frame.clamp(lead_in, (frames - 1 - lead_out).max(lead_in)) - lead_in;
            let t = moved as f64 * speed;
            let jump: DVec3 = jumps.iter().filter(|j| j.0 <= frame).map(|j| j.1).sum();
            let place = |(i, &p): (usize, &DVec3)| {
                let moved = move_point(kind, i, p, t, axis, u64::from(seed) << 32 | moved as u64);
                ((moved + drift * t + jump) * mirror * scale + offset).as_vec3().to_array()
            };
            shape.points.iter().enumerate().map(place).collect()
        })
        .collect();
    if numbers.below(4) == 0 {
        wreck(&mut out, numbers);
    }
    out
}

fn move_point(kind: usize, i: usize, p: DVec3, t: f64, axis: DVec3, seed: u64) -> DVec3 {
    let turned = |angle: f64, p: DVec3| DMat3::from_axis_angle(axis, angle) * p;
    match kind {
        0 => p,
        1 => turned(t, p),
        2 | 3 => p + axis * (0.2 * (t + 4.0 * p.x + p.y).sin()),
        4 => {
            // Two bones, blended along x.
            let weight = p.x.clamp(0.0, 1.0);
            p * (1.0 - weight) + turned(t, p) * weight
        }
        5 | 6 => {
            // Pieces of eight points.
            let piece = i / 8;
            turned(t * (piece % 5) as f64, p) + axis * (t * (piece % 3) as f64)
        }
        7 => {
            let mut x = seed ^ (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mut noise = || {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (x >> 40) as f64 / (1 << 24) as f64 - 0.5
            };
            p + 0.1 * DVec3::new(noise(), noise(), noise())
        }
        // Grows out of one place.
        _ => p * t.min(1.0),
    }
}

/// What exporters write in bad frames.
fn wreck(frames: &mut Frames, numbers: &mut Numbers) {
    for _ in 0..1 + numbers.below(3) {
        let first = numbers.below(frames.len());
        let end = (first + 1 + numbers.below(4)).min(frames.len());
        let value =
            [f32::NAN, f32::INFINITY, 1e30, -0.0, 0.0, 1e18, f32::MIN_POSITIVE, 1e-42][numbers.below(8)];
        let (which, every) = (numbers.below(3), 1 + numbers.below(5));
        for frame in &mut frames[first..end] {
            for point in frame.iter_mut().step_by(every) {
                match which {
                    0 => *point = [value; 3],
                    _ => point[which] = value,
                }
            }
        }
    }
}

/// Up to a unit along each axis.
pub fn vector(numbers: &mut Numbers) -> DVec3 {
    let mut v = || f64::from(numbers.u16() as i16) / 32768.0;
    DVec3::new(v(), v(), v())
}

fn turn(numbers: &mut Numbers) -> DMat3 {
    let axis = vector(numbers).normalize_or(DVec3::X);
    DMat3::from_axis_angle(axis, f64::from(numbers.u8()) / 40.0)
}
