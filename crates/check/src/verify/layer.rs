//! Compares layered clips: the promise of each layer holds at the layer's own samples; the error caused by
//! missing tiers and layers is measured.

use super::metric::Metric;
use super::report::{ClipReport, LayerReport, TierReport, beyond};
use crate::requested::{RequestedLayer, RequestedOptions, Stripping};
use meshreel::Transform;
use meshreel::clip::{Clip, LayerInfo};
use meshreel_scene::Skeleton;

/// The source of a layered clip, and the options for it.
pub(super) struct LayeredSource<'a> {
    pub skeleton: &'a Skeleton,
    pub clip: &'a meshreel_scene::Clip,
    pub asked: &'a RequestedOptions,
    /// The general tolerance, and those of single joints.
    pub tolerance: f64,
    pub tolerances: &'a [Option<f64>],
}

/// Fills in the errors of a report; returns broken promises as sentences.
pub(super) fn compare(
    source: &LayeredSource<'_>,
    clip: &Clip,
    metric: &mut Metric,
    report: &mut ClipReport,
) -> Result<Vec<String>, meshreel::Error> {
    let layers = clip.layers();
    let mut broken = differences_from_request(source, &metric.shells, clip, &layers);
    let n = clip.joints();
    let samples = clip.samples();
    let layer_of: Vec<usize> = (0..n).map(|j| clip.joint_layer(j).map_or(0, usize::from)).collect();
    let mut promised = vec![0.0; n];
    let mut found: Vec<LayerReport> = layers.iter().map(LayerReport::from_info).collect();
    let mut cursor = clip.cursor();
    let mut pose = vec![Transform::IDENTITY; n];
    let mut reference = Vec::new();
    let mut next = vec![0; layers.len()];
    for i in 0..samples {
        cursor.sample(i, &mut pose)?;
        source.clip.pose(i, &mut reference);
        metric.measure(&reference, &pose);
        let errors = metric.take_errors();
        let here: Vec<Option<bool>> = (layers.iter().zip(&mut next))
            .map(|(layer, next)| {
                let there = layer.samples.get(*next) == Some(&(i as u32));
                let stripped = layer.stripped.get(*next).copied();
                *next += usize::from(there);
                stripped.filter(|_| there)
            })
            .collect();
        for ((error, &l), promised) in errors.iter().zip(&layer_of).zip(&mut promised) {
            let layer = &mut found[l];
            let to: &mut f64 = match here[l] {
                Some(false) => promised,
                Some(true) => &mut layer.strip_error,
                None => &mut layer.between,
            };
            if beyond(*error, *to) {
                *to = *error;
            }
        }
    }
    let least = metric.f32_precision();
    report.tolerance = source.tolerance.max(least);
    let limit = |j: usize| source.tolerances[j].unwrap_or(source.tolerance).max(least);
    for (j, error) in promised.into_iter().enumerate() {
        let larger = |most: &mut f64, v: f64| {
            if beyond(v, *most) {
                *most = v;
            }
        };
        larger(&mut report.max_error, error);
        larger(&mut report.worst, error / limit(j));
        larger(&mut found[layer_of[j]].max_error, error);
    }
    for (l, layer) in layers.iter().enumerate() {
        if let Some(Stripping::Error(allowed)) = source.asked.clips.layer(l).map(|a| a.strip)
            && beyond(found[l].strip_error, allowed.max(report.tolerance) * (1.0 + 1e-6))
        {
            broken.push(format!(
                "layer {}: a stripped sample is {:e} away, {allowed:e} allowed",
                layer.name, found[l].strip_error
            ));
        }
        for there in usize::from(l == 0)..layer.tiers.len() {
            let mut tiers = vec![usize::MAX; layers.len()];
            tiers[l] = there;
            let (max_error, rms_error) = clip_error(source, &clip.with_tiers(&tiers), metric, &mut pose)?;
            let tier = &mut found[l].tiers[there];
            tier.max_error_without = Some(max_error);
            tier.rms_error_without = Some(rms_error);
        }
    }
    report.layers = found;
    Ok(broken)
}

/// Returns the largest error and the root mean square error of all joints at all samples.
fn clip_error(
    source: &LayeredSource<'_>,
    clip: &Clip,
    metric: &mut Metric,
    pose: &mut [Transform],
) -> Result<(f64, f64), meshreel::Error> {
    let mut cursor = clip.cursor();
    let mut reference = Vec::new();
    let (mut most, mut sum): (f64, f64) = (0.0, 0.0);
    for i in 0..clip.samples() {
        cursor.sample(i, pose)?;
        source.clip.pose(i, &mut reference);
        metric.measure(&reference, pose);
        for error in metric.take_errors() {
            most = if beyond(error, most) { error } else { most };
            sum += error * error;
        }
    }
    let count = (clip.samples() * pose.len()).max(1);
    Ok((most, (sum / count as f64).sqrt()))
}

/// Returns sentences about layers, rates, stripping and joints that differ from those requested.
fn differences_from_request(
    source: &LayeredSource<'_>,
    shells: &[f64],
    clip: &Clip,
    layers: &[LayerInfo],
) -> Vec<String> {
    let mut broken = Vec::new();
    let clips = &source.asked.clips;
    if !clips.layers.is_empty() && clips.layers.len() != layers.len() {
        broken.push(format!("{} layers, {} were asked for", layers.len(), clips.layers.len()));
        return broken;
    }
    let plain = RequestedLayer::default();
    for (l, layer) in layers.iter().enumerate() {
        let asked = clips.layer(l).unwrap_or(&plain);
        let mut wrong = |what: String| broken.push(format!("layer {}: {what}", layer.name));
        if clips.layer(l).is_some() && (asked.name != layer.name || asked.tiers != layer.tiers.len()) {
            wrong("another name or number of tiers than was asked for".into());
        }
        let last = source.clip.samples as u32 - 1;
        let step = match asked.rate {
            Some(rate) if rate < source.clip.fps * (1.0 - 1e-9) => source.clip.fps / rate,
            _ => 1.0,
        };
        let missing = (0..=last)
            .map(|i| (f64::from(i) * step + 0.5).floor())
            .take_while(|at| *at <= f64::from(last))
            .chain([f64::from(last)])
            .find(|at| layer.samples.binary_search(&(*at as u32)).is_err());
        if let Some(at) = missing {
            wrong(format!("sample {at} is not there, at the rate that was asked for"));
        }
        let stripped = layer.stripped.iter().filter(|s| **s).count();
        let most = match asked.strip {
            Stripping::None => 0,
            Stripping::Error(_) => usize::MAX,
            Stripping::Fraction(share) => (share * layer.samples.len() as f64) as usize,
        };
        if stripped > most {
            wrong(format!("{stripped} stripped samples, {most} allowed"));
        }
    }
    let skeleton = source.skeleton;
    let names: Vec<&str> = layers.iter().map(|l| &l.name[..]).collect();
    let highest = clips.highest_layers(skeleton, shells, &names);
    for (j, (joint, most)) in skeleton.joints.iter().zip(highest).enumerate() {
        if clip.joint_layer(j).is_none_or(|of| usize::from(of) > most) {
            broken.push(format!("joint {} is in a higher layer than was asked for", joint.name));
            break;
        }
    }
    broken
}

impl LayerReport {
    fn from_info(layer: &LayerInfo) -> LayerReport {
        LayerReport {
            name: layer.name.clone(),
            joints: layer.joints.len(),
            samples: layer.samples.len(),
            stripped: layer.stripped.iter().filter(|s| **s).count(),
            tiers: (layer.tiers.iter()).map(|&bytes| TierReport { bytes, ..TierReport::default() }).collect(),
            ..LayerReport::default()
        }
    }
}
