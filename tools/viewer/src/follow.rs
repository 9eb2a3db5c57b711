//! Moves the camera with the content: its target follows the middle of what travels, or of what is picked.

use crate::camera::Camera;
use crate::matrix::matrix;
use glam::DVec3;
use meshreel::raw::record::Method;
use meshreel::{Error, FrameView};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// A jump in time is longer than this, in seconds: the camera glides to where the content is then.
const JUMP: f64 = 0.25;
/// The time constant of the glide, in seconds.
const GLIDE: f64 = 0.1;
/// A glide ends at this fraction of the camera's distance, which is less than a pixel.
const ARRIVED: f64 = 5e-4;
/// The part of a box that is added on each side, so that it has room to move.
const ROOM: f64 = 0.15;

/// The position of content at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// The mean of all points.
    pub middle: DVec3,
    /// Corners of a box around it.
    pub bounds: [DVec3; 2],
}

impl Extent {
    /// Returns the extent of points; `None` if there are none or one is not finite.
    pub fn new(points: impl IntoIterator<Item = DVec3>) -> Option<Extent> {
        let mut sum = ExtentSum::default();
        points.into_iter().for_each(|point| sum.add(point, 1.0, [point; 2]));
        sum.extent()
    }

    /// Returns the box with room on all sides.
    pub fn roomy_bounds(&self) -> [DVec3; 2] {
        let [low, high] = self.bounds;
        let room = (high - low) * ROOM;
        [low - room, high + room]
    }
}

/// Adds up extents.
struct ExtentSum {
    points: DVec3,
    weight: f64,
    bounds: [DVec3; 2],
}

impl Default for ExtentSum {
    fn default() -> Self {
        let bounds = [DVec3::INFINITY, DVec3::NEG_INFINITY];
        ExtentSum { points: DVec3::ZERO, weight: 0.0, bounds }
    }
}

impl ExtentSum {
    fn add(&mut self, middle: DVec3, weight: f64, [low, high]: [DVec3; 2]) {
        self.points += middle * weight;
        self.weight += weight;
        self.bounds = [self.bounds[0].min(low), self.bounds[1].max(high)];
    }

    fn extent(self) -> Option<Extent> {
        let extent = Extent { middle: self.points / self.weight, bounds: self.bounds };
        let all = [extent.middle, extent.bounds[0], extent.bounds[1]];
        (self.weight > 0.0 && all.iter().all(|v| v.is_finite())).then_some(extent)
    }
}

/// Returns the extent of a picked node with all below it, or, with `None`, of all that moves; of everything
/// if nothing moves, and `None` if nothing is shown.
pub fn extent(view: &FrameView<'_>, hidden: &[bool], picked: Option<usize>) -> Result<Option<Extent>, Error> {
    let nodes = &view.reel().description().nodes;
    let parent = |node: usize| nodes[node].parent.map(|parent| parent as usize);
    let chain = |node: usize| std::iter::successors(Some(node), move |node| parent(*node)).take(nodes.len());
    let shown: Vec<(usize, usize)> = (0..nodes.len())
        .filter(|&node| view.visible(node) && !hidden[node])
        .filter(|&node| picked.is_none_or(|picked| chain(node).any(|above| above == picked)))
        .filter_map(|node| Some((node, nodes[node].mesh? as usize)))
        .collect();
    let method = |mesh: usize| view.reel().description().meshes[mesh].method;
    let moves = |&&(node, mesh): &&(usize, usize)| {
        method(mesh) != Method::Static || chain(node).any(|above| nodes[above].animated)
    };
    let moving: Vec<(usize, usize)> = shown.iter().filter(moves).copied().collect();
    let mut own: HashMap<usize, Option<(Extent, f64)>> = HashMap::new();
    let mut sum = ExtentSum::default();
    for &(node, mesh) in if moving.is_empty() { &shown } else { &moving } {
        // All nodes of a mesh show the same points.
        let points = match own.entry(mesh) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => *entry.insert(points_extent(view, node)?),
        };
        let Some((extent, points)) = points else { continue };
        let world = matrix(view.world(node));
        for corner in 0..8 {
            let signs = [0, 1, 2].map(|axis| extent.bounds[corner >> axis & 1][axis]);
            let corner = world.transform_point3(DVec3::from_array(signs));
            sum.add(world.transform_point3(extent.middle), points / 8.0, [corner; 2]);
        }
    }
    // A picked node without points has its origin.
    let origin = picked.map(|node| matrix(view.world(node)).transform_point3(DVec3::ZERO));
    Ok(sum.extent().or_else(|| Extent::new(origin)))
}

/// Returns the extent of a node's points in object space, and their number.
fn points_extent(view: &FrameView<'_>, node: usize) -> Result<Option<(Extent, f64)>, Error> {
    let Some(frame) = view.mesh(node) else { return Ok(None) };
    let mut points = vec![[0.0f32; 3]; frame.vertex_count()];
    frame.positions_into(points.as_flattened_mut())?;
    let count = points.len() as f64;
    let extent = Extent::new(points.into_iter().map(|point| DVec3::from_array(point.map(f64::from))));
    Ok(extent.map(|extent| (extent, count)))
}

/// A camera that follows something.
#[derive(Clone, Copy, Debug, Default)]
pub struct Following {
    /// The node and the joint that are followed, the middle at the last picture, and the time shown then.
    last: Option<([Option<usize>; 2], DVec3, f64)>,
    /// The rest of a glide.
    rest: DVec3,
}

impl Following {
    /// Follows from this moment on, of the node and the joint that are picked.
    pub fn start(picked: [Option<usize>; 2], extent: &Extent, time: f64) -> Following {
        Following { last: Some((picked, extent.middle, time)), rest: DVec3::ZERO }
    }

    /// Moves the camera to where the content is at a time, `seconds` after the last picture. After a jump in
    /// time, or if something else is picked, it glides there.
    pub fn advance(
        &mut self,
        camera: &mut Camera,
        picked: [Option<usize>; 2],
        extent: &Extent,
        time: f64,
        seconds: f64,
    ) {
        let middle = extent.middle;
        match self.last.replace((picked, middle, time)) {
            // The middle of the picture.
            None => self.rest = middle - camera.target,
            Some((before, from, since)) if before == picked && (time - since).abs() <= JUMP => {
                camera.target += middle - from;
            }
            Some((_, from, _)) => self.rest += middle - from,
        }
        let mut step = self.rest * (1.0 - (-seconds / GLIDE).exp());
        if (self.rest - step).length() <= ARRIVED * camera.distance {
            step = self.rest;
        }
        camera.target += step;
        self.rest -= step;
    }

    /// `true` until the camera is where it glides to.
    pub fn glides(&self) -> bool {
        self.rest != DVec3::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel::{FrameDecoder, Limits, Pace, Reel};

    fn extent_at(x: f64) -> Extent {
        Extent::new([DVec3::new(x - 1.0, 0.0, 0.0), DVec3::new(x + 1.0, 2.0, 0.0)]).unwrap()
    }

    #[test]
    fn it_keeps_pace_and_glides_over_jumps() {
        let mut camera = Camera { target: DVec3::new(5.0, 0.0, 0.0), ..Camera::default() };
        let mut following = Following::start([None; 2], &extent_at(0.0), 0.0);
        for step in 1..=10 {
            following.advance(
                &mut camera,
                [None; 2],
                &extent_at(f64::from(step)),
                0.04 * f64::from(step),
                0.04,
            );
            assert!((camera.target.x - 5.0 - f64::from(step)).abs() < 1e-12 && !following.glides());
        }
        // Back to the start: on the way after one picture, there within a second.
        following.advance(&mut camera, [None; 2], &extent_at(0.0), 0.0, 0.016);
        assert!(following.glides() && (5.5..15.0).contains(&camera.target.x), "{}", camera.target);
        let mut last = camera.target.x;
        for _ in 0..100 {
            following.advance(&mut camera, [None; 2], &extent_at(0.0), 0.0, 0.016);
            assert!(camera.target.x <= last);
            last = camera.target.x;
        }
        assert!(!following.glides() && (camera.target.x - 5.0).abs() < 1e-9);
        // Another node is picked, in a picture without a window.
        following.advance(&mut camera, [Some(3), None], &extent_at(2.0), 0.0, f64::INFINITY);
        assert!(!following.glides() && (camera.target.x - 7.0).abs() < 1e-9);
    }

    #[test]
    fn it_begins_with_a_glide_to_the_middle() {
        let mut camera = Camera { target: DVec3::splat(9.0), ..Camera::default() };
        let mut following = Following::default();
        following.advance(&mut camera, [None; 2], &extent_at(4.0), 1.0, f64::INFINITY);
        assert_eq!(camera.target, DVec3::new(4.0, 1.0, 0.0));
    }

    #[test]
    fn points_that_are_not_finite_have_no_extent() {
        assert_eq!(Extent::new([]), None);
        assert_eq!(Extent::new([DVec3::ZERO, DVec3::NAN]), None);
    }

    #[test]
    fn it_is_the_middle_of_what_is_shown() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/v0/wall_fast.reel");
        let reel = Reel::open(path, &Limits::default()).unwrap();
        let decoders = [(); 2].map(|()| {
            let mut decoder = FrameDecoder::new(&reel).unwrap();
            decoder.decode(20).unwrap();
            decoder
        });
        let view = FrameView::between(&decoders[0], &decoders[1], 0.0, Pace::default()).unwrap();
        let hidden = vec![false; reel.description().nodes.len()];
        let whole = extent(&view, &hidden, None).unwrap().unwrap();
        let [low, high] = whole.bounds;
        assert!(low.cmple(whole.middle).all() && whole.middle.cmple(high).all());
        // The boxes of meshes are a little larger than what is in them.
        let [a, b, c, d, e, f] = view.bounds().map(f64::from);
        let (low_shown, high_shown) = (DVec3::new(a, b, c), DVec3::new(d, e, f));
        let room = (high_shown - low_shown).length() * 0.3;
        assert!(low.distance(low_shown) < room && high.distance(high_shown) < room, "{whole:?}");
        assert_eq!(extent(&view, &vec![true; hidden.len()], None).unwrap(), None);
        // A picked node is its own middle.
        let node = (0..hidden.len()).find(|node| reel.description().nodes[*node].mesh.is_some()).unwrap();
        let picked = extent(&view, &hidden, Some(node)).unwrap().unwrap();
        assert!(low.cmple(picked.bounds[0] + 1e-6).all() && picked.bounds[1].cmple(high + 1e-6).all());
    }
}
