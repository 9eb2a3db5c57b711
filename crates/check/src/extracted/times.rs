//! Times of a `.reel`'s frames in an extracted file.

use crate::verify::report::Failures;
use meshreel::Reel;
use meshreel_extract::convert::error;
use meshreel_scene::{Channel, Error, Scene, TIME_TOLERANCE};

/// Returns the time of each frame in the extracted file; `None` for one that the format cannot tell from
/// another.
pub(super) fn times(scene: &Scene, reel: &Reel, failures: &mut Failures) -> Result<Vec<Option<f64>>, Error> {
    let own: Vec<f64> = reel.frames().iter().map(|frame| frame.time).collect();
    Ok(match scene.format {
        format if format.starts_with("obj") || format == "openvat" => numbered(scene, own.len(), failures),
        // Named ranges are separate animations, which are read one after the other.
        "gltf" if reel.ranges().is_empty() => {
            let clips = reel.clips().map_err(error)?;
            let starts = clips.iter().map(|clip| clip.start()).chain(own.first().copied());
            keyed(scene, &own, starts.fold(0.0, f64::min))
        }
        _ => unambiguous_times(&own, &own, |_| 1.001 * TIME_TOLERANCE),
    })
}

/// Returns the times in a sequence of files, which have numbers but no times.
fn numbered(scene: &Scene, frames: usize, failures: &mut Failures) -> Vec<Option<f64>> {
    let longest = scene.meshes.iter().max_by_key(|mesh| mesh.positions.len());
    let Some(mesh) = longest else {
        failures.add("", None, || "there is no mesh in the extracted files".into());
        return Vec::new();
    };
    let there = mesh.positions.len();
    if there != frames && there > 1 {
        failures.add("", None, || format!("{there} extracted frames, the file has {frames}"));
    }
    (0..frames.min(there)).map(|i| Some(mesh.positions.time(i))).collect()
}

/// Returns the times in a glTF, whose keys are f32 and start at `start`. Readers space keys evenly if they
/// nearly are.
fn keyed(scene: &Scene, own: &[f64], start: f64) -> Vec<Option<f64>> {
    let keys: Vec<f64> = own.iter().map(|time| f64::from((time - start) as f32)).collect();
    let mut there: Vec<f64> = Vec::new();
    for mesh in &scene.meshes {
        there.extend(sample_times(&mesh.positions));
    }
    for node in &scene.nodes {
        there.extend(node.transform.iter().flat_map(|t| sample_times(&t.local)));
        there.extend(node.visibility.iter().flat_map(sample_times));
    }
    there.sort_by(f64::total_cmp);
    let nearest = |key: &f64| {
        let after = there.partition_point(|time| time < key);
        let around = there[after.saturating_sub(1)..there.len().min(after + 1)].iter();
        let near = around.copied().min_by(|a, b| (a - key).abs().total_cmp(&(b - key).abs()));
        near.filter(|time| (time - key).abs() <= time_tolerance(*key)).unwrap_or(*key)
    };
    unambiguous_times(&keys, &keys.iter().map(nearest).collect::<Vec<f64>>(), time_tolerance)
}

fn sample_times<T: Clone + Send + Sync + 'static>(channel: &Channel<T>) -> impl Iterator<Item = f64> + '_ {
    (0..channel.len()).map(|i| channel.time(i))
}

/// Returns the times `there` that readers cannot confuse with the one before or after, because that is more
/// than `slack` away.
fn unambiguous_times(times: &[f64], there: &[f64], slack: impl Fn(f64) -> f64) -> Vec<Option<f64>> {
    let apart = |a: f64, b: f64| b - a > slack(b);
    let is_alone = |i: usize| {
        let before = i.checked_sub(1).is_none_or(|before| apart(times[before], times[i]));
        before && times.get(i + 1).is_none_or(|after| apart(times[i], *after))
    };
    there.iter().enumerate().map(|(i, time)| Some(*time).filter(|_| is_alone(i))).collect()
}

/// Returns the distance below which f32 times count as equal.
fn time_tolerance(time: f64) -> f64 {
    2.0 * TIME_TOLERANCE.max(time.abs() * f64::from(f32::EPSILON))
}
