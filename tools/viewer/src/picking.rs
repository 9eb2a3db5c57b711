//! Finds the node under the mouse.

use crate::errors::one_line;
use crate::matrix::matrix;
use crate::worker::Worker;
use glam::DVec3;
use meshreel::{FrameDecoder, Reel};

/// A query: a ray in world space through a frame.
pub struct Ray {
    pub frame: usize,
    pub origin: DVec3,
    pub direction: DVec3,
    /// `true` for each node that the ray ignores.
    pub hidden: Vec<bool>,
}

/// Finds the node whose surface a ray meets first, on a thread of its own.
pub type Picking = Worker<Ray, Result<Option<usize>, String>>;

/// Starts the thread; `done` is called after each answer.
pub fn start(reel: &Reel, done: impl Fn() + Send + 'static) -> Picking {
    let (reel, mut decoder) = (reel.clone(), None);
    let mut answer = move |ray: Ray| -> anyhow::Result<Option<usize>> {
        let decoder = match &mut decoder {
            Some(decoder) => decoder,
            empty => empty.insert(FrameDecoder::new(&reel)?),
        };
        if decoder.frame() != Some(ray.frame) {
            decoder.decode(ray.frame)?;
        }
        Ok(first_hit(decoder, &ray)?)
    };
    Worker::start(move |ray| answer(ray).map_err(|error| one_line(&error)), done)
}

fn first_hit(decoder: &FrameDecoder, ray: &Ray) -> Result<Option<usize>, meshreel::Error> {
    let mut best: Option<(f64, usize)> = None;
    let mut points = Vec::new();
    for (node, record) in decoder.reel().description().nodes.iter().enumerate() {
        let shown = decoder.visible(node) && !ray.hidden[node];
        let Some(mesh) = record.mesh.filter(|_| shown) else { continue };
        let view = decoder.mesh(mesh as usize);
        points.resize(3 * view.vertex_count(), 0.0f32);
        view.positions_into(&mut points)?;
        let own = matrix(decoder.world(node)).inverse();
        let (from, along) = (own.transform_point3(ray.origin), own.transform_vector3(ray.direction));
        let points = points.as_chunks::<3>().0;
        let at = |i: u32| points.get(i as usize).map(|p| DVec3::from_array(p.map(f64::from)));
        for triangle in view.indices().as_chunks::<3>().0 {
            let [Some(a), Some(b), Some(c)] = triangle.map(at) else { continue };
            if let Some(t) = ray_triangle_distance(from, along, [a, b, c])
                && best.is_none_or(|(nearest, _)| t < nearest)
            {
                best = Some((t, node));
            }
        }
    }
    Ok(best.map(|(_, node)| node))
}

/// Returns the distance along a ray to a triangle (Möller, Trumbore, "Fast, minimum storage ray/triangle
/// intersection", 1997).
fn ray_triangle_distance(from: DVec3, along: DVec3, [a, b, c]: [DVec3; 3]) -> Option<f64> {
    let (e, f) = (b - a, c - a);
    let p = along.cross(f);
    let area = e.dot(p);
    let s = from - a;
    let u = s.dot(p) / area;
    let q = s.cross(e);
    let (v, t) = (along.dot(q) / area, f.dot(q) / area);
    (area != 0.0 && u >= 0.0 && v >= 0.0 && u + v <= 1.0 && t > 0.0).then_some(t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel::Limits;
    use std::sync::mpsc::channel;

    #[test]
    fn the_nearest_node_that_is_not_hidden_is_found() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/v0/wall_fast.reel");
        let reel = Reel::open(path, &Limits::default()).unwrap();
        let mut decoder = FrameDecoder::new(&reel).unwrap();
        let frame = reel.frame_count() / 2;
        decoder.decode(frame).unwrap();
        let nodes = &reel.description().nodes;
        let node =
            (0..nodes.len()).find(|node| nodes[*node].mesh.is_some() && decoder.visible(*node)).unwrap();
        // Onto the centre of one of its triangles, from its front side.
        let view = decoder.mesh(nodes[node].mesh.unwrap() as usize);
        let mut points = vec![0.0f32; 3 * view.vertex_count()];
        view.positions_into(&mut points).unwrap();
        let world = matrix(decoder.world(node));
        let corner = |i: u32| {
            world.transform_point3(DVec3::from_array(points.as_chunks::<3>().0[i as usize].map(f64::from)))
        };
        let [a, b, c] = view.indices().as_chunks::<3>().0[0].map(corner);
        let out = (b - a).cross(c - a).normalize();
        let reach = (b - a).length() * 1e-3;
        let origin = (a + b + c) / 3.0 + out * reach;
        let (tell, told) = channel();
        let picking = start(&reel, move || _ = tell.send(()));
        let ask = |direction, hidden: Vec<bool>| {
            picking.ask(Ray { frame, origin, direction, hidden });
            told.recv().unwrap();
            picking.poll().unwrap().unwrap()
        };
        let mut hidden = vec![false; nodes.len()];
        assert_eq!(ask(-out, hidden.clone()), Some(node));
        hidden[node] = true;
        assert_ne!(ask(-out, hidden.clone()), Some(node));
        assert_eq!(ask(-out, vec![true; nodes.len()]), None);
    }
}
