//! Clips of a file as clips of a scene, for writing them.

use crate::convert;
use glam::{DVec3, DVec4};
use meshreel::clip::SkeletonRecord;
use meshreel::{Reel, Transform};
use meshreel_options::Options;
use meshreel_options::globs::glob;
use meshreel_scene::{Clip, Joint, Marker, Qvv, ScalarTrack, Skeleton, SubTrack, Track};

/// Decodes all skeletons and clips. Joints are in the clip layers of the first layered clip of their skeleton
/// (those of the base in none), and have the biases with which the file was compiled.
pub fn clips(reel: &Reel) -> Result<(Vec<Skeleton>, Vec<Clip>), meshreel::Error> {
    let clips = reel.clips()?;
    // Biases are ignored if the options cannot be read; the verification reports that.
    let options = Options::from_text(&reel.description().options).unwrap_or_default();
    let biases = options.clips.joints.iter().filter_map(|own| Some((glob("", &own.glob).ok()?, own.bias?)));
    let biases: Vec<_> = biases.collect();
    let mut skeletons: Vec<Skeleton> = reel.skeletons()?.iter().map(|s| skeleton(s)).collect();
    for (i, skeleton) in skeletons.iter_mut().enumerate() {
        let of = |clip: &&meshreel::clip::Clip| clip.record().skeleton as usize == i;
        let divided = clips.iter().filter(of).find(|clip| !clip.layers().is_empty());
        let names: Vec<String> =
            divided.map_or(Vec::new(), |clip| clip.layers().into_iter().map(|layer| layer.name).collect());
        for j in 0..skeleton.joints.len() {
            let layer = divided.and_then(|clip| clip.joint_layer(j));
            let named = layer.filter(|l| *l > 0).and_then(|l| names.get(usize::from(l)));
            let path = skeleton.path(j);
            let bias = (biases.iter().rev())
                .find(|(glob, _)| glob.is_match(&skeleton.joints[j].name) || glob.is_match(&path));
            skeleton.joints[j].layer = named.cloned();
            skeleton.joints[j].bias = bias.map(|(_, bias)| *bias);
        }
    }
    let mut out = Vec::with_capacity(clips.len());
    for clip in &clips {
        let joints = clip.joints();
        let mut cursor = clip.cursor();
        let mut pose = vec![Transform::IDENTITY; joints];
        let mut values: Vec<Vec<Qvv>> = vec![Vec::with_capacity(clip.samples()); joints];
        for i in 0..clip.samples() {
            cursor.sample(i, &mut pose)?;
            for (values, local) in values.iter_mut().zip(&pose) {
                values.push(convert::qvv(local));
            }
        }
        out.push(Clip {
            name: clip.name().into(),
            skeleton: clip.record().skeleton as usize,
            start: clip.start(),
            fps: clip.fps(),
            samples: clip.samples(),
            tracks: (0u32..)
                .zip(&values)
                .map(|(j, values)| hold(track(values), &clip.record().held_sub_tracks, j))
                .collect(),
            scalars: clip.scalar_tracks().iter().map(|t| scalars(t, clip.samples())).collect(),
            markers: (clip.markers().iter())
                .map(|m| Marker { name: m.name.clone(), time: clip.start() + m.time })
                .collect(),
        });
    }
    Ok((skeletons, out))
}

fn scalars(track: &meshreel::clip::ScalarTrack, samples: usize) -> ScalarTrack {
    let value = |i: usize| DVec4::from_array(track.values(i).map(f64::from));
    ScalarTrack {
        name: track.name.clone(),
        components: track.components.len(),
        values: SubTrack::new((0..samples).map(value).collect())
            .unwrap_or_else(|| SubTrack::constant(DVec4::ZERO)),
    }
}

fn skeleton(record: &SkeletonRecord) -> Skeleton {
    let joints = (0..record.parents.len()).map(|j| Joint {
        name: record.names[j].clone(),
        parent: (record.parents[j] != u32::MAX).then_some(record.parents[j] as usize),
        rest: convert::qvv(&record.rest[j]),
        shell: Some(f64::from(record.shell[j])),
        rotation_order: rotation_order(record.orders.get(j).copied().unwrap_or(0)),
        end_sites: (record.end_sites[j].iter()).map(|e| convert::vector(*e)).collect(),
        ..Joint::default()
    });
    Skeleton { name: record.name.clone(), joints: joints.collect() }
}

/// Returns the axes for a record's rotation order.
fn rotation_order(number: u8) -> Option<[u8; 3]> {
    Some(match number {
        1 => [0, 1, 2],
        2 => [0, 2, 1],
        3 => [1, 0, 2],
        4 => [1, 2, 0],
        5 => [2, 0, 1],
        6 => [2, 1, 0],
        _ => return None,
    })
}

fn track(values: &[Qvv]) -> Track {
    let rest = values.first().copied().unwrap_or(Qvv::IDENTITY);
    let of = |f: fn(&Qvv) -> DVec3| SubTrack::new(values.iter().map(f).collect());
    Track {
        rotation: SubTrack::new(values.iter().map(|q| q.rotation).collect())
            .unwrap_or(SubTrack::constant(rest.rotation)),
        translation: of(|q| q.translation).unwrap_or(SubTrack::constant(rest.translation)),
        scale: of(|q| q.scale).unwrap_or(SubTrack::constant(rest.scale)),
    }
}

/// Marks the sub-tracks of a track as stepped where the source's values stay until the next sample. `held`:
/// sorted numbers of stepped sub-tracks, three per joint.
fn hold(track: Track, held: &[u32], joint: u32) -> Track {
    let is = |part: u32| held.binary_search(&(3 * joint + part)).is_ok();
    Track {
        rotation: track.rotation.hold(is(0)),
        translation: track.translation.hold(is(1)),
        scale: track.scale.hold(is(2)),
    }
}
