//! Finds components that predict others, and estimates the size of residuals, from residuals of the true
//! samples.
//!
//! A thumb follows its hand, a spine bends as one. Weights are those of least squares over samples of the two
//! finest levels, each sample divided by its activity, with the noise that rounding will add.

use super::closed_loop::{ClosedLoop, Target};
use meshreel_codec::clip::contexts::start_code;
use meshreel_codec::clip::streamed::{KAPPA_PER_STEP, SubTrackKind};
use meshreel_codec::clip::{ComponentSource, MAX_SOURCES, schedule};

/// The largest distance in components from a component to an earlier one that it is predicted from.
const WINDOW: usize = 192;
/// Bits that a source must save; it costs about 14.
const GAIN: f64 = 22.0;
/// Variance that rounding adds to a residual, in steps².
const NOISE: f64 = 0.2;

/// Returns the quantized values of the true samples, by sample.
pub fn quantize_samples(l: &ClosedLoop<'_>) -> Vec<i32> {
    let plan = l.plan;
    let mut out = Vec::with_capacity(plan.codes_per_sample * l.reference.samples);
    let mut last = plan.rest_values().to_vec();
    for i in 0..l.reference.samples {
        for group in &plan.sub_tracks {
            let mut prediction = [0; 4];
            prediction[..group.code_count]
                .copy_from_slice(&last[group.first_code..group.first_code + group.code_count]);
            let (wanted, _) = l.exact_residuals(group, prediction, &target(l, group.kind, i, group.joint));
            let kappa = wanted.map(|w| (w.clamp(-4e6, 4e6) * KAPPA_PER_STEP as f64).round() as i64);
            let words = group.apply(prediction, kappa);
            last[group.first_code..group.first_code + group.code_count]
                .copy_from_slice(&words[..group.code_count]);
        }
        out.extend_from_slice(&last);
    }
    out
}

fn target(l: &ClosedLoop<'_>, kind: SubTrackKind, sample: usize, joint: usize) -> Target {
    let local = l.reference.local(sample, joint);
    match kind {
        SubTrackKind::Translation => Target::Vector(local.translation),
        SubTrackKind::Scale => Target::Vector(local.scale),
        _ => Target::Rotation(local.rotation),
    }
}

/// Returns the residuals of the finest levels in steps, sample by sample, and the level of each.
pub fn residuals(l: &ClosedLoop<'_>) -> (Vec<f32>, Vec<usize>) {
    let plan = l.plan;
    let ideal = quantize_samples(l);
    let (mut out, mut levels) = (Vec::new(), Vec::new());
    let log = u32::from(plan.header.segment_log2);
    for s in 0..plan.segments() {
        let start = plan.key(s);
        let words = &ideal[start * plan.codes_per_sample..];
        for step in schedule::coding_order(plan.key(s + 1) - start, log).filter(|step| step.level < 2) {
            for group in &plan.sub_tracks {
                let prediction = group.predict(words, plan.codes_per_sample, &step.taps);
                let target = target(l, group.kind, start + step.sample, group.joint);
                let (wanted, _) = l.exact_residuals(group, prediction, &target);
                out.extend(wanted[..group.components].iter().map(|w| w.clamp(-1e6, 1e6) as f32));
            }
            levels.push(step.level as usize);
        }
    }
    (out, levels)
}

/// The sources of a component, of which unused ones have no weight.
type Sources = [ComponentSource; MAX_SOURCES];

/// Returns starts and sources of all components.
pub fn find_sources(l: &ClosedLoop<'_>, with_sources: bool) -> (Vec<u8>, Vec<Sources>) {
    let n = l.plan.components;
    let (mut rows, levels) = residuals(l);
    let count = levels.len();
    let mean = |c: usize, rows: &[f32]| {
        let finest = (0..count).filter(|i| levels[*i] == 0);
        let (sum, seen) =
            finest.fold((0.0, 0), |(sum, seen), i| (sum + f64::from(rows[i * n + c].abs()), seen + 1));
        sum / f64::from(seen.max(1))
    };
    let means: Vec<f64> = (0..n).map(|c| mean(c, &rows)).collect();
    let starts = means.iter().map(|m| start_code(m.max(0.05))).collect();
    let mut sources = vec![[ComponentSource::default(); MAX_SOURCES]; n];
    if !with_sources || count < 16 {
        return (starts, sources);
    }
    // The weight of a sample is the inverse of its activity.
    for row in rows.chunks_exact_mut(n.max(1)) {
        let lively = row.iter().zip(&means).map(|(r, m)| (f64::from(r.abs()) / (m + 0.1)).min(6.0));
        let lively = (lively.sum::<f64>() / n as f64).max(0.15) as f32;
        row.iter_mut().for_each(|r| *r /= lively);
    }
    // Component-major, so that sums run over memory in order.
    let mut columns = vec![0f32; n * count];
    for c in 0..n {
        for i in 0..count {
            columns[c * count + i] = rows[i * n + c];
        }
    }
    let column = |c: usize| &columns[c * count..(c + 1) * count];
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        (a.chunks(64).zip(b.chunks(64)))
            .map(|(a, b)| f64::from(a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>()))
            .sum()
    };
    let squares: Vec<f64> = (0..n).map(|c| dot(column(c), column(c)) / count as f64).collect();
    // A layer can be separated only if it depends on no other.
    let layer_of: Vec<u8> = (l.plan.header.split.layers.iter().enumerate())
        .flat_map(|(j, &layer)| std::iter::repeat_n(layer, l.plan.header.joint_components(j)))
        .collect();
    // The coded samples are worth two thirds of all: the finest levels hold three quarters of them.
    let bits = |before: f64, after: f64| 0.5 * l.reference.samples as f64 * (before / after).log2();
    for c in 1..n {
        let mut left = column(c).to_vec();
        let mut variance = squares[c];
        for slot in 0..MAX_SOURCES {
            let first = c.saturating_sub(WINDOW);
            let mut best = (GAIN, ComponentSource::default(), 0.0);
            for s in first..c {
                let other = layer_of.get(s) != layer_of.get(c);
                if other || (slot > 0 && sources[c][0].component as usize == s) {
                    continue;
                }
                let product = dot(&left, column(s)) / count as f64;
                let own = squares[s] + NOISE;
                let weight = (product / own * 32.0).round().clamp(-63.0, 63.0);
                let w = weight / 32.0;
                let after = variance - 2.0 * w * product + w * w * own;
                let gain = bits(variance + NOISE, after.max(0.0) + NOISE);
                if weight != 0.0 && gain > best.0 {
                    let source = ComponentSource { component: s as u32, weight: weight as i8 };
                    best = (gain, source, after);
                }
            }
            let (_, source, after) = best;
            if source.weight == 0 {
                break;
            }
            sources[c][slot] = source;
            variance = after;
            let w = f32::from(source.weight) / 32.0;
            for (l, s) in left.iter_mut().zip(column(source.component as usize)) {
                *l -= w * s;
            }
        }
    }
    (starts, sources)
}
