//! Scalar tracks and markers of a clip. Each number at each sample is within its tolerance, measured with the
//! decoder's own function.

use crate::Error;
use crate::report::ScalarReport;
use meshreel_codec::clip::scalars;
use meshreel_codec::clip::scalars::{MAX_VALUES, Marker, ScalarComponent, ScalarTrack, ScalarsRecord};
use meshreel_options::Tolerance;
use meshreel_scene as scene;

/// Least tolerance, relative to a component's largest number, that f32 can hold.
const MIN_RELATIVE_TOLERANCE: f64 = 1.0 / (1u32 << 22) as f64;

/// Returns the chunk of clip number `number`, if it has scalar tracks or markers.
pub fn encode_chunk(
    clip: &scene::Clip,
    number: usize,
    tolerance: Tolerance,
) -> Result<Option<(Vec<u8>, ScalarReport)>, Error> {
    if clip.scalars.is_empty() && clip.markers.is_empty() {
        return Ok(None);
    }
    let mut scalars =
        ScalarReport { tracks: clip.scalars.len(), markers: clip.markers.len(), ..ScalarReport::default() };
    let animated = (clip.scalars.iter()).filter(|track| !track.values.is_constant());
    let values: usize = animated.map(|track| track.components).sum();
    if values.saturating_mul(clip.samples) > MAX_VALUES {
        return Err(Error::Unsupported {
            what: format!("clip {}: more than {MAX_VALUES} values of scalar tracks", clip.name),
        });
    }
    let mut tracks = Vec::with_capacity(clip.scalars.len());
    for track in &clip.scalars {
        let mut components = Vec::new();
        for c in 0..track.components.clamp(1, 4) {
            let values: Vec<f64> = (0..clip.samples).map(|i| track.values.sample(i)[c]).collect();
            let (component, worst) = encode_component(&values, tolerance).ok_or_else(|| {
                let name = &track.name;
                Error::Unsupported {
                    what: format!(
                        "clip {}: scalar track {name} has a number beyond those of f32, or none",
                        clip.name
                    ),
                }
            })?;
            scalars.worst = scalars.worst.max(worst);
            components.push(component);
        }
        tracks.push(ScalarTrack { name: track.name.clone(), components });
    }
    let mut markers: Vec<Marker> =
        (clip.markers.iter()).map(|m| Marker { name: m.name.clone(), time: m.time - clip.start }).collect();
    if let Some(marker) = markers.iter().find(|m| !m.time.is_finite()) {
        return Err(Error::Unsupported {
            what: format!("clip {}: marker {} has no time", clip.name, marker.name),
        });
    }
    markers.sort_by(|a, b| a.time.total_cmp(&b.time));
    let extras = ScalarsRecord { clip: number as u32, samples: clip.samples as u32, tracks, markers };
    let mut bytes = Vec::new();
    scalars::encode(&extras, &mut bytes);
    scalars.bytes = bytes.len() as u64;
    Ok(Some((bytes, scalars)))
}

/// Returns the tolerance of a component with these numbers; never finer than f32.
fn resolve_tolerance(values: &[f64], tolerance: Tolerance) -> f64 {
    let (low, high) = bounds(values);
    let asked = match tolerance {
        Tolerance::Absolute(t) => t,
        Tolerance::Relative(part) => part * (high - low),
    };
    asked.max(low.abs().max(high.abs()) * MIN_RELATIVE_TOLERANCE)
}

fn bounds(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)))
}

/// Returns a component, and its largest error divided by its tolerance.
pub fn encode_component(values: &[f64], tolerance: Tolerance) -> Option<(ScalarComponent, f64)> {
    if !values.iter().all(|v| v.abs() <= f64::from(f32::MAX) / 4.0) {
        return None;
    }
    let tolerance = resolve_tolerance(values, tolerance);
    let (low, high) = bounds(values);
    let worst = |component: &ScalarComponent| {
        let errors = values.iter().enumerate();
        let errors = errors.map(|(i, v)| (f64::from(component.value(i)) - v).abs());
        let worst = errors.fold(0.0, f64::max);
        if worst == 0.0 { 0.0 } else { worst / tolerance }
    };
    for still in [ScalarComponent::Zero, ScalarComponent::Constant(((low + high) / 2.0) as f32)] {
        let error = worst(&still);
        if error <= 1.0 {
            return Some((still, error));
        }
    }
    // f32 rounds decoded values; the steps shrink to allow for it.
    let mut step = 2.0 * tolerance * 0.999;
    for _ in 0..64 {
        let (low, own) = (low as f32, step as f32);
        if own > 0.0 {
            let k = (values.iter()).map(|v| ((v - f64::from(low)) / f64::from(own)).round() as i32);
            let component = ScalarComponent::Animated { low, step: own, k: k.collect() };
            let error = worst(&component);
            if error <= 1.0 {
                return Some((component, error));
            }
        }
        step *= 0.9;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec4;
    use meshreel_scene::SubTrack;
    use proptest::prelude::*;

    fn clip(values: &[[f64; 2]], times: &[f64]) -> scene::Clip {
        let values = values.iter().map(|v| DVec4::new(v[0], v[1], 0.0, 0.0));
        scene::Clip {
            name: "test".into(),
            skeleton: 0,
            start: 1.0,
            fps: 30.0,
            samples: values.len(),
            tracks: Vec::new(),
            scalars: vec![scene::ScalarTrack {
                name: "blink".into(),
                components: 2,
                values: SubTrack::new(values.collect()).unwrap(),
            }],
            markers: (times.iter())
                .map(|time| scene::Marker { name: format!("{time}"), time: *time })
                .collect(),
        }
    }

    proptest! {
        #[test]
        fn every_number_is_within_its_tolerance(
            values in prop::collection::vec(prop::array::uniform2(-1e3f64..1e3), 1..50),
            far in prop_oneof![Just(0.0), Just(1e7), Just(-3e15)],
            size in prop_oneof![Just(1.0), Just(1e-9), Just(1e20)],
            tolerance in prop_oneof![Just(Tolerance::Relative(1e-4)), Just(Tolerance::Absolute(0.01)), Just(Tolerance::Absolute(1e-12))],
        ) {
            let values: Vec<[f64; 2]> = values.iter().map(|v| [v[0] * size + far, v[1]]).collect();
            let (bytes, scalars) = encode_chunk(&clip(&values, &[1.5, 1.25]), 0, tolerance).unwrap().unwrap();
            prop_assert!(scalars.worst <= 1.0);
            let back = scalars::decode(&bytes).unwrap();
            for c in 0..2 {
                let column: Vec<f64> = values.iter().map(|v| v[c]).collect();
                let allowed = resolve_tolerance(&column, tolerance);
                for (i, v) in column.iter().enumerate() {
                    prop_assert!((f64::from(back.tracks[0].values(i)[c]) - v).abs() <= allowed);
                }
            }
            prop_assert_eq!(back.markers.iter().map(|m| m.time).collect::<Vec<_>>(), vec![0.25, 0.5]);
        }
    }

    #[test]
    fn what_does_nothing_costs_nothing() {
        let still = clip(&vec![[0.0, 0.25]; 1000], &[]);
        let (bytes, _) = encode_chunk(&still, 0, Tolerance::Relative(1e-4)).unwrap().unwrap();
        assert!(bytes.len() < 20, "{}", bytes.len());
        let none = scene::Clip { scalars: Vec::new(), ..still.clone() };
        assert!(encode_chunk(&none, 0, Tolerance::Relative(1e-4)).unwrap().is_none());
        // Numbers that are not finite are an error.
        for nonsense in [f64::NAN, f64::INFINITY, 1e39] {
            let bad = clip(&[[0.0, nonsense], [0.0, 1.0]], &[]);
            assert!(encode_chunk(&bad, 0, Tolerance::Relative(1e-4)).is_err());
        }
        assert!(encode_chunk(&clip(&[[0.0; 2]], &[f64::NAN]), 0, Tolerance::Relative(1e-4)).is_err());
        // A quarter of 16 bits each for a smooth track.
        let smooth: Vec<[f64; 2]> = (0..1000).map(|i| [(f64::from(i) * 0.02).sin(), 0.0]).collect();
        let (bytes, _) = encode_chunk(&clip(&smooth, &[]), 0, Tolerance::Relative(1e-4)).unwrap().unwrap();
        assert!(bytes.len() < 500, "{}", bytes.len());
    }
}
