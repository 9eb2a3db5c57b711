//! Compares units that the twin of the shader decodes, from the words that go to a card, with the frames that
//! the runtime decodes.

use meshreel::raw::Points;
use meshreel::{Command, FrameDecoder, Limits, Options, Player, Reel, Repeat};
use meshreel_gpu::ReelPlan;
use meshreel_gpu::units::twin::BoundUnit;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

fn vectors(points: Points<'_>) -> Vec<[i32; 3]> {
    match points {
        Points::Narrow(points) => points.iter().map(|p| [p[0], p[1], p[2]].map(i32::from)).collect(),
        Points::Wide(points) => points.iter().map(|p| [p[0], p[1], p[2]]).collect(),
    }
}

/// Plays a file on a player that decodes no points, and decodes the units of the frames that are shown;
/// returns the number of frames that were compared.
fn compare(path: &Path) -> usize {
    let bytes = std::fs::read(path).unwrap();
    let reel = Reel::from_source(Arc::new(bytes.clone()), &Limits::default()).unwrap();
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    let limits = Limits::default().with_points(false);
    let mut player =
        Player::new(Options::default().with_threads(0).with_read_threads(0).with_limits(limits)).unwrap();
    let file = player.open_bytes(Arc::new(bytes));
    let instance = player.add_instance(file).unwrap();
    player.command(instance, Command::Repeat(Repeat::Loop));
    player.command(instance, Command::Play);
    let mut plan = None;
    // By mesh the ring, and the slot of each frame; slots are not reused here.
    let mut decoded: HashMap<usize, (Vec<u32>, HashMap<u32, u32>)> = HashMap::new();
    let mut compared = 0;
    for tick in 0..400 {
        player.tick(0.05);
        // A jump now and then.
        if tick % 60 == 59 {
            player.command(instance, Command::GoToFrame((tick * 7) % reel.frame_count()));
        }
        let Some(shown) = player.frame(instance) else { continue };
        let Some(units) = player.coded_units(file) else { return 0 };
        let plan =
            plan.get_or_insert_with(|| ReelPlan::new(shown.reel(), |m| shown.first().mesh(m)).unwrap());
        for (m, mesh) in plan.meshes.iter().enumerate() {
            let Some(own) = &mesh.fixed.coded else { continue };
            let view = shown.first().mesh(m);
            let name = &view.record().path;
            assert!(view.positions_into(&mut vec![0.0; 3 * view.vertex_count()]).is_err(), "{name}");
            // Found by fuzzing: key frame 0 has no words.
            let first = own.write(&units, (units.unit_of(0), m), |_| Some(0), &mut Vec::new());
            assert!(first.is_none());
            let words = own.points * own.point_words();
            let positions = view.fixed_point_positions().unwrap();
            let (ring, slots) = decoded.entry(m).or_insert_with(|| {
                let mut ring = vec![0; words];
                for (v, point) in vectors(positions.coded.unwrap().first_frame()).iter().enumerate() {
                    let bits = point.map(|v| v as u32 & 0xFFFF);
                    match own.wide {
                        true => ring[4 * v..4 * v + 3].copy_from_slice(&point.map(|v| v as u32)),
                        false => ring[2 * v..2 * v + 2].copy_from_slice(&[bits[0] | bits[1] << 16, bits[2]]),
                    }
                }
                (ring, HashMap::from([(0, 0)]))
            });
            let mut wanted = vec![shown.pair().second, shown.pair().first];
            while let Some(&frame) = wanted.last() {
                if slots.contains_key(&frame) {
                    wanted.pop();
                    continue;
                }
                let unit = units.unit_of(frame);
                let missing = units
                    .dependencies(unit)
                    .iter()
                    .copied()
                    .filter(|f| !slots.contains_key(f))
                    .collect::<Vec<_>>();
                if !missing.is_empty() {
                    wanted.extend(missing);
                    continue;
                }
                for &frame in units.frames(unit).iter() {
                    slots.insert(frame, ring.len() as u32);
                    ring.resize(ring.len() + words, 0);
                }
                let mut unit_words = Vec::new();
                let params = own.write(&units, (unit, m), |f| slots.get(&f).copied(), &mut unit_words);
                let params =
                    params.unwrap_or_else(|| panic!("{name}: unit {unit} of frame {frame} is in memory"));
                let mut bound = BoundUnit {
                    plan: own,
                    params: &params,
                    unit: &unit_words,
                    fixed: &mesh.fixed.words,
                    scratch: &mut vec![0xABAB_ABAB; own.scratch_words()],
                    decoded: ring,
                };
                bound.decode();
                for &frame in units.frames(unit).iter() {
                    decoder.decode(frame as usize).unwrap();
                    let want = vectors(decoder.mesh(m).fixed_point_positions().unwrap().points.unwrap());
                    let slot = slots[&frame] as usize;
                    for (v, want) in want.iter().enumerate() {
                        let at = slot + v * own.point_words();
                        let got = match own.wide {
                            true => [0, 1, 2].map(|k| ring[at + k] as i32),
                            false => {
                                [ring[at] as i16, (ring[at] >> 16) as i16, ring[at + 1] as i16].map(i32::from)
                            }
                        };
                        match positions.height_axis {
                            Some(axis) => {
                                assert_eq!(got[axis], want[axis], "{name}: frame {frame}, point {v}")
                            }
                            None => assert_eq!(got, *want, "{name}: frame {frame}, point {v}"),
                        }
                    }
                    compared += 1;
                }
            }
        }
    }
    compared
}

#[test]
fn e20_units_of_preset_fast_are_decoded_from_their_bytes() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/v0");
    let folder = std::env::var_os("MESHREEL_GPU_FILES").map_or(golden, Into::into);
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "reel") || path.ends_with("container.reel") {
            continue;
        }
        let frames = compare(&path);
        println!("{}: {frames} frames", path.file_name().unwrap().display());
        files += usize::from(frames > 0);
    }
    assert!(files > 0, "no files of the preset fast");
}
