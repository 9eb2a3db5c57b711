//! Scenes built in memory, and the check of every case: compile, verify, decode backwards.

use glam::{DMat4, DQuat, DVec3};
use meshreel::{FrameDecoder, Limits, Reel};
use meshreel_check::verify;
use meshreel_compile::{Error, Silent, compile};
use meshreel_options::Options;
use meshreel_scene::{
    Attribute, Channel, Mesh, Node, NodeKind, Scene, Scope, TimeSampling, Topology, Transform, Winding,
};

pub type Point = [f32; 3];

/// Returns a sampling of 24 frames per second from 0.
pub fn rate() -> TimeSampling {
    TimeSampling::Uniform { start: 0.0, step: 1.0 / 24.0 }
}

pub fn channel<T: Clone + Send + Sync + 'static>(samples: Vec<Vec<T>>) -> Channel<T> {
    Channel::in_memory(rate(), samples)
}

/// A scene that is built in depth-first order.
#[derive(Default)]
pub struct Tree(pub Scene);

impl Tree {
    pub fn node(&mut self, parent: Option<usize>, name: &str, kind: NodeKind) -> usize {
        let above = parent.map_or("", |p| &self.0.nodes[p].path);
        self.0.nodes.push(Node { name: name.into(), parent, ..Node::new(format!("{above}/{name}"), kind) });
        self.0.nodes.len() - 1
    }
    pub fn xform(&mut self, parent: Option<usize>, name: &str, matrices: Vec<DMat4>) -> usize {
        let id = self.node(parent, name, NodeKind::Xform);
        self.0.nodes[id].transform = Some(Transform {
            local: channel(matrices.into_iter().map(|m| vec![m]).collect()).into(),
            inherits: None,
        });
        id
    }
    pub fn mesh(&mut self, parent: Option<usize>, name: &str, mut mesh: Mesh) -> usize {
        let id = self.node(parent, name, NodeKind::PolyMesh);
        mesh.path = self.0.nodes[id].path.clone();
        self.0.nodes[id].mesh = Some(self.0.meshes.len());
        self.0.meshes.push(mesh);
        id
    }
    pub fn instance(&mut self, parent: Option<usize>, name: &str, of: usize) -> usize {
        let kind = self.0.nodes[of].kind;
        let id = self.node(parent, name, kind);
        self.0.nodes[id].instance_of = Some(of);
        id
    }
    pub fn inherits(&mut self, id: usize, flags: Vec<bool>) {
        let transform = self.0.nodes[id].transform.as_mut().unwrap();
        transform.inherits = Some(channel(flags.into_iter().map(|f| vec![f]).collect()));
    }
    pub fn visible(&mut self, id: usize, values: Vec<i8>) {
        self.0.nodes[id].visibility = Some(channel(values.into_iter().map(|v| vec![v]).collect()));
    }
}

/// Returns a mesh of these samples; a single sample of faces is constant.
pub fn mesh(positions: Vec<Vec<Point>>, counts: Vec<Vec<i32>>, indices: Vec<Vec<i32>>) -> Mesh {
    let _topology = match (counts.len(), positions.len()) {
        (0 | 1, 0 | 1) => Topology::Constant,
        (0 | 1, _) => Topology::Homogeneous,
        _ => Topology::Heterogeneous,
    };
    Mesh {
        winding: Winding::Clockwise,
        ..Mesh::new(String::new(), channel(positions), channel(counts), channel(indices))
    }
}

pub fn faces(list: &[&[i32]]) -> (Vec<Vec<i32>>, Vec<Vec<i32>>) {
    let counts = list.iter().map(|f| f.len() as i32).collect();
    (vec![counts], vec![list.concat()])
}

pub const FRAMES: usize = 21;

/// Returns an `n`×`n` sheet of quads, with a wave over `frames` frames.
pub fn sheet(n: usize, frames: usize) -> Mesh {
    let wave = |f: usize| {
        let point = |i: usize| {
            let (x, y) = ((i % (n + 1)) as f32, (i / (n + 1)) as f32);
            [x, y, (x * 0.9 + f as f32 * 0.3).sin() + 0.2 * y]
        };
        (0..(n + 1) * (n + 1)).map(point).collect::<Vec<Point>>()
    };
    let mut list = Vec::new();
    for i in 0..n * n {
        let a = (i / n * (n + 1) + i % n) as i32;
        let below = a + n as i32 + 1;
        list.extend([a, below, below + 1, a + 1]);
    }
    mesh((0..frames).map(wave).collect(), vec![vec![4; n * n]], vec![list])
}

/// Returns a cube of edge 2 around the origin.
pub fn cube() -> Mesh {
    let points = (0..8).map(|i| [0, 1, 2].map(|k| if i >> k & 1 == 1 { 1.0 } else { -1.0 })).collect();
    let (counts, indices) =
        faces(&[&[0, 1, 3, 2], &[4, 6, 7, 5], &[0, 4, 5, 1], &[2, 3, 7, 6], &[0, 2, 6, 4], &[1, 5, 7, 3]]);
    mesh(vec![points], counts, indices)
}

/// Adds uvs per corner from the first sample's points, repeating and negative.
pub fn with_uvs(mut mesh: Mesh) -> Mesh {
    let (mut points, mut corners) = (Vec::new(), Vec::new());
    mesh.positions.read(0, &mut points).unwrap();
    mesh.face_indices.read(0, &mut corners).unwrap();
    let values = corners
        .iter()
        .enumerate()
        .map(|(i, &c)| {
            let p = points.get(c as usize).copied().unwrap_or_default();
            [p[0] * 0.3 - 2.0 + if i % 4 == 0 { 5.0 } else { 0.0 }, p[1] * 0.7]
        })
        .collect();
    mesh.uvs.push(attribute("st", Scope::FaceVarying, vec![values]));
    mesh
}

pub fn attribute<T: Clone + Send + Sync + 'static>(
    name: &str,
    scope: Scope,
    samples: Vec<Vec<T>>,
) -> Attribute<T> {
    Attribute { name: name.into(), scope, values: channel(samples), indices: None }
}

pub fn alone(mesh: Mesh) -> Scene {
    let mut tree = Tree::default();
    tree.mesh(None, "mesh", mesh);
    tree.0
}

/// Returns a rotating, growing matrix at frame `f`.
pub fn motion(f: usize) -> DMat4 {
    let t = f as f64;
    DMat4::from_scale_rotation_translation(
        DVec3::splat(1.0 + 0.05 * t),
        DQuat::from_axis_angle(DVec3::new(1.0, 2.0, -0.5).normalize(), 0.21 * t),
        DVec3::new(0.3 * t, -2.0, (0.4 * t).sin()),
    )
}

pub fn frames<T>(value: impl Fn(usize) -> T) -> Vec<T> {
    (0..FRAMES).map(value).collect()
}

pub struct Outcome {
    pub report: meshreel_compile::Report,
    pub check: meshreel_check::Report,
    pub reel: Reel,
    pub bytes: Vec<u8>,
}

impl Outcome {
    pub fn remark(&self, words: &str) -> bool {
        let all = &self.report.remarks;
        all.iter().any(|r| r.to_string().contains(words))
    }
    pub fn shown_in(&self, path: &str) -> Vec<usize> {
        let nodes = &self.reel.description().nodes;
        let node = nodes.iter().position(|n| n.path == path).unwrap();
        let mut decoder = FrameDecoder::new(&self.reel).unwrap();
        (0..self.reel.frame_count())
            .filter(|&f| {
                decoder.decode(f).unwrap();
                decoder.visible(node)
            })
            .collect()
    }
}

pub fn build(scene: &Scene, options: &Options) -> Result<(meshreel_compile::Report, Vec<u8>), Error> {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.reel");
    let report = compile(scene.clone(), Vec::new(), &target, options, &meshreel_check::reopen, &Silent);
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, usize::from(report.is_ok()), "leftovers");
    let report = report?;
    let bytes = std::fs::read(&target).unwrap();
    assert_eq!(report.file_bytes, bytes.len() as u64);
    Ok((report, bytes))
}

/// Compiles, verifies, decodes backwards.
pub fn holds(scene: &Scene, options: &Options) -> Outcome {
    let (report, bytes) = build(scene, options).unwrap();
    let reel = Reel::from_source(std::sync::Arc::new(bytes.clone()), &Limits::default()).unwrap();
    let check = verify(scene, &reel, &|_, _| {}).unwrap();
    let sentences: Vec<String> =
        check.failures.iter().map(|f| format!("{} {:?} {}", f.path, f.frame, f.what)).collect();
    assert!(check.ok, "{sentences:#?} {:#?}", report.remarks);
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    for frame in (0..reel.frame_count()).rev() {
        decoder.decode(frame).unwrap();
        for m in 0..reel.description().meshes.len() {
            let view = decoder.mesh(m);
            let mut out = vec![0.0; 3 * view.vertex_count()];
            view.positions_into(&mut out).unwrap();
            assert!(out.iter().all(|v| v.is_finite()));
            assert!(
                (view.indices().iter()).all(|&i| (i as usize) < view.vertex_count()),
                "index out of range"
            );
        }
    }
    Outcome { report, check, reel, bytes }
}

pub fn default(scene: &Scene) -> Outcome {
    holds(scene, &Options::default())
}
