//! Compares the twin of the shader, with the words that go to a card, with the output of the runtime on the
//! CPU.

use meshreel::raw::record::Semantic;
use meshreel::{FrameDecoder, FrameView, Limits, Pace, Reel};
use meshreel_gpu::twin::BoundMesh;
use meshreel_gpu::{Batches, MeshBlend, ReelPlan, SlotScratch, VertexLayout, heuristics};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest difference of each kind.
#[derive(Debug, Default)]
struct Worst {
    /// The error of positions, relative to the mesh's largest coordinate; that of velocities likewise.
    position: f32,
    normal: f64,
    tangent: f64,
    uv: f32,
    velocity: f32,
    vertices: usize,
}

fn degrees(a: &[f32], b: &[f32]) -> f64 {
    let (a, b): (Vec<f64>, Vec<f64>) =
        (a.iter().map(|v| f64::from(*v)).collect(), b.iter().map(|v| f64::from(*v)).collect());
    let dot: f64 = (0..3).map(|k| a[k] * b[k]).sum();
    let cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    cross.iter().map(|v| v * v).sum::<f64>().sqrt().atan2(dot).to_degrees()
}

/// Compares all meshes of a file at some moments.
fn compare(path: &Path) -> Worst {
    let bytes = std::fs::read(path).unwrap();
    let reel = Reel::from_source(Arc::new(bytes), &Limits::default()).unwrap();
    let [mut first, mut second] = [0, 1].map(|_| FrameDecoder::new(&reel).unwrap());
    let frames = reel.frame_count();
    let mut worst = Worst::default();
    let layout = VertexLayout::plain();
    if frames == 0 {
        return worst;
    }
    first.decode(0).unwrap();
    let plan = ReelPlan::new(&reel, |m| first.mesh(m)).unwrap();
    // As on a card: many meshes in the same buffers.
    let batches = Batches::new(&plan, &layout, 1, u64::MAX);
    let fixed: Vec<_> = (0..batches.batches.len()).map(|batch| batches.fixed_words(&plan, batch)).collect();
    for (frame, blend) in [(0, 0.0), (0, 0.5), (frames / 2, 0.3), (frames / 3, 0.9), (frames - 1, 0.0)] {
        first.decode(frame).unwrap();
        second.decode((frame + 1).min(frames - 1)).unwrap();
        let pace = Pace::new(0.5, 1.5);
        let mut room = SlotScratch::default();
        let view = FrameView::between(&first, &second, blend, pace).unwrap();
        let mut ring = vec![0; 2 * plan.slot_words + plan.static_words];
        let (a, b) = ring.split_at_mut(plan.slot_words);
        let (b, still) = b.split_at_mut(plan.slot_words);
        plan.write_frame(|m| first.mesh(m), &mut room, a).unwrap();
        plan.write_frame(|m| second.mesh(m), &mut room, b).unwrap();
        plan.write_static(|m| first.mesh(m), &mut room, still).unwrap();
        for (node, record) in reel.description().nodes.iter().enumerate() {
            let (Some(number), Some(mesh)) = (record.mesh, view.mesh(node)) else { continue };
            let number = number as usize;
            let own = &plan.meshes[number];
            let count = mesh.vertex_count();
            let slot = |f: u32| if f as usize == frame { 0 } else { plan.slot_words };
            let moment = MeshBlend::new(own, &mesh, slot, 2 * plan.slot_words, 0);
            let params = batches.params(&plan, number, &moment);
            let batch = batches.placements[number].batch;
            let (variant, fixed) = (own.variant(), &fixed[batch]);
            let bound = BoundMesh { params: &params, variant, ring: &ring, fixed, decoded: &[] };
            let (mut scratch, mut out) =
                (vec![0.0; batches.batches[batch].scratch], vec![0; batches.batches[batch].vertices]);
            bound.normals(&mut scratch);
            bound.tangents(&mut scratch);
            bound.vertices(&layout, &scratch, &mut out);
            let own_words = &out[params.out as usize..][..count * layout.words()];
            let out: Vec<f32> = own_words.iter().map(|w| f32::from_bits(*w)).collect();
            let each = |at: usize, len: usize| out.chunks_exact(16).map(move |v| v[at..at + len].to_vec());
            let mut wanted = vec![0.0; 3 * count];
            mesh.positions_into(&mut wanted).unwrap();
            let extent = wanted.iter().fold(0.0f32, |m, v| m.max(v.abs())).max(1e-20);
            for (got, want) in each(0, 3).zip(wanted.chunks_exact(3)) {
                let off = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                worst.position = worst.position.max(off / extent);
            }
            mesh.velocities_into(&mut wanted).unwrap();
            // Velocities of the source are not uploaded to a card.
            let made = first.mesh(number).find_stream(Semantic::Velocity, 0).is_none();
            for (got, want) in each(12, 3).zip(wanted.chunks_exact(3)).filter(|_| made) {
                let off = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                worst.velocity = worst.velocity.max(off / extent);
            }
            worst.vertices += count;
            if first.mesh(number).has_normals() {
                mesh.normals_into(&mut wanted).unwrap();
                for (got, want) in each(3, 3).zip(wanted.chunks_exact(3)) {
                    worst.normal = worst.normal.max(degrees(&got, want));
                }
            }
            if first.mesh(number).has_tangents() {
                let mut wanted = vec![0.0; 4 * count];
                mesh.tangents_into(&mut wanted).unwrap();
                for (got, want) in each(6, 4).zip(wanted.chunks_exact(4)) {
                    assert_eq!(got[3], want[3], "{}: the sign of a bitangent", path.display());
                    worst.tangent = worst.tangent.max(degrees(&got, want));
                }
            }
            let mut wanted = vec![0.0; 2 * count];
            if mesh.uvs_into(0, &mut wanted).is_ok() {
                for (got, want) in each(10, 2).zip(wanted.chunks_exact(2)) {
                    let off = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                    worst.uv = worst.uv.max(off);
                }
            }
        }
    }
    worst
}

fn files() -> Vec<PathBuf> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/v0");
    let folder = std::env::var_os("MESHREEL_GPU_FILES").map_or(golden, PathBuf::from);
    let mut out: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    out.retain(|path| path.extension().is_some_and(|e| e == "reel"));
    // This file tests only the container; it is not a reel.
    out.retain(|path| !path.ends_with("container.reel"));
    out.sort();
    assert!(!out.is_empty());
    out
}

#[test]
fn e10_the_twin_gives_what_the_runtime_gives() {
    for path in files() {
        let worst = compare(&path);
        println!("{}: {worst:?}", path.file_name().unwrap().display());
        assert!(worst.position <= f32::EPSILON, "{}: {worst:?}", path.display());
        assert!(worst.normal <= 0.02 && worst.tangent <= 0.02, "{}: {worst:?}", path.display());
        assert!(worst.velocity <= 1e-5, "{}: {worst:?}", path.display());
        assert!(worst.vertices > 0, "{}", path.display());
        assert!(worst.uv <= 1e-6, "{}: {worst:?}", path.display());
    }
}

#[test]
fn e10_a_file_without_poses_gives_the_same_words() {
    let mut with_bones = 0;
    for path in files() {
        let bytes: Arc<Vec<u8>> = Arc::new(std::fs::read(&path).unwrap());
        let [mut posed, mut bare] = [true, false].map(|poses| {
            let reel = Reel::from_source(bytes.clone(), &Limits::default().with_poses(poses)).unwrap();
            FrameDecoder::new(&reel).unwrap()
        });
        let reel = posed.reel().clone();
        if reel.frame_count() == 0 {
            continue;
        }
        let [plan, other] =
            [&posed, &bare].map(|decoder| ReelPlan::new(decoder.reel(), |m| decoder.mesh(m)).unwrap());
        for (mesh, other) in plan.meshes.iter().zip(&other.meshes) {
            assert_eq!(mesh.fixed.words, other.fixed.words);
        }
        let mut room = SlotScratch::default();
        let [mut words, mut others] = [0, 1].map(|_| vec![0; plan.slot_words]);
        for frame in [0, reel.frame_count() - 1, reel.frame_count() / 2] {
            posed.decode(frame).unwrap();
            bare.decode(frame).unwrap();
            plan.write_frame(|m| posed.mesh(m), &mut room, &mut words).unwrap();
            other.write_frame(|m| bare.mesh(m), &mut room, &mut others).unwrap();
            assert!(words == others, "{}: frame {frame}", path.display());
            let mut still = vec![0; plan.static_words];
            plan.write_static(|m| posed.mesh(m), &mut room, &mut still).unwrap();
        }
        for number in 0..reel.description().meshes.len() {
            let (mesh, bare) = (posed.mesh(number), bare.mesh(number));
            let mut out = vec![0.0; 3 * mesh.vertex_count()];
            if mesh.bones().is_some() {
                with_bones += 1;
                let refused = bare.positions_into(&mut out).unwrap_err();
                assert!(refused.to_string().contains("without poses"), "{refused}");
                assert!(!bare.has_normals() || bare.normals_into(&mut out).is_err());
            } else {
                bare.positions_into(&mut out).unwrap();
            }
        }
        assert!(bare.reel().memory() <= posed.reel().memory());
    }
    assert!(with_bones > 1);
}

#[test]
fn f18_what_stands_still_is_no_part_of_a_frame() {
    let (mut still, mut moving) = (0, 0);
    for path in files() {
        let bytes: Arc<Vec<u8>> = Arc::new(std::fs::read(&path).unwrap());
        let reel = Reel::from_source(bytes, &Limits::default()).unwrap();
        let decoder = FrameDecoder::new(&reel).unwrap();
        let plan = ReelPlan::new(&reel, |m| decoder.mesh(m)).unwrap();
        let needs = plan.card_memory(&VertexLayout::default());
        let parts =
            |wanted| plan.meshes.iter().filter(|m| m.is_static == wanted).map(|m| m.slot.1).sum::<usize>();
        assert_eq!(needs.slot, 4 * parts(false) as u64);
        assert!(needs.fixed >= 4 * parts(true) as u64);
        for (mesh, plan) in reel.description().meshes.iter().zip(&plan.meshes) {
            let animated = mesh.streams.iter().any(|s| s.animated);
            assert_eq!(plan.is_static, !animated && mesh.method != meshreel::raw::record::Method::Fluid);
            if plan.is_static { still += 1 } else { moving += 1 }
        }
    }
    assert!(still > 0 && moving > 0);
}

#[test]
fn f18_units_are_decoded_where_that_saves_the_cpu_time() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/v0");
    let open = |name| {
        let bytes = Arc::new(std::fs::read(folder.join(name)).unwrap());
        Reel::from_source(bytes, &Limits::default()).unwrap()
    };
    // Its meshes could stay coded, but are small.
    let flag = open("flag_fast.reel");
    let mut description = flag.description().clone();
    let asked = |description: &_| heuristics::limits(description, Limits::default());
    assert_eq!((asked(&description).points, asked(&description).poses), (true, false));
    description.meshes[0].source_points = 100_000;
    assert!(!asked(&description).points);
    // A file of the preset `small` has nothing for the card to decode.
    let small = open("flag_small.reel");
    let mut description = small.description().clone();
    description.meshes[0].source_points = 100_000;
    assert!(asked(&description).points);
    // Limits that were set are kept.
    let none = Limits::default().with_points(false).with_attributes(false);
    let limits = heuristics::limits(flag.description(), none);
    assert!(!limits.points && !limits.attributes);
}
