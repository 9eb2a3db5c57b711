//! Chooses the codec of a clip: the one that takes fewer bytes at the tolerance, or the requested one.

use super::curve::count_moving;
use super::layer::{CompressedLayer, LayerDivision, LayeredClip};
use super::random_access::RandomAccessLayers;
use super::requested::{RequestedClips, RequestedSkeleton};
use super::{
    ClipOptions, CompressedCurves, CurveOptions, CurveRule, compress_curves, compress_each, layer,
    random_access,
};
use crate::Error;
use crate::codec_terms::{block_format, knots};
use crate::report::{Phase, Progress, TriedCodec};
use meshreel_codec::clip::layer::LayerTable;
use meshreel_codec::clip::record::ClipCodec;
use meshreel_codec::entropy::block::{BlockFormat, Compressor};
use meshreel_options::{ClipChoice, CodecChoice, Options};
use meshreel_scene::Clip;
use meshreel_scene::sample::TimeRange;
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A compressed clip in the codec that was chosen for it.
pub struct ChosenClip {
    /// The codec of `bytes`.
    pub codec: ClipCodec,
    /// `true` if the tolerance holds for each sub-track on its own (the local rule of curves) instead of in
    /// object space.
    pub local: bool,
    /// The clip in the streamed form, as curves or in the random-access form; for a clip in layers, the first
    /// tier of its base layer.
    pub bytes: Vec<u8>,
    /// The tolerance that the file stores, in units of length.
    pub tolerance: f64,
    /// The largest error of the decoded clip, in units of length.
    pub max_error: f64,
    /// Numbers of rotation sub-tracks in the codecs of uniform samples: default, constant, hinge, two axes,
    /// free.
    pub rotations: [usize; 5],
    /// Every codec that was tried, the chosen one among them, for `--explain`.
    pub tried: Vec<TriedCodec>,
    /// The layers of the clip, if it is divided.
    pub layers: Option<Layers>,
}

/// The layers of a clip in either form.
pub enum Layers {
    /// Codec `sampled`, each a clip of its own.
    Streamed(LayeredClip),
    /// Codec `sampled`, all in one stream: their table.
    Interleaved(LayerTable),
    /// Codec `random-access`.
    RandomAccess(RandomAccessLayers),
}

/// The largest factor by which block compression is assumed to shrink curves.
const LARGEST_PACKING: usize = 2;
/// The largest factor by which moving keys off the samples is assumed to reduce their number, compared with
/// inserting alone: a clip with more inserted keys than this multiple of the limit cannot win.
const LARGEST_SAVING: usize = 2;
/// The number of windows of a long clip that are tried before all of it, and the samples of each.
const WINDOWS: usize = 3;
const WINDOW: usize = 64;
/// Keys that a sub-track takes in a window only because it is a window.
const WINDOW_KEYS: usize = 4;
/// Bytes of a key before block compression.
const KEY_BYTES: usize = 10;

/// Compresses all clips.
pub fn compress_clips(
    wanted: &RequestedClips<'_>,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<ChosenClip>, Error> {
    let (count, total) = (AtomicU64::new(0), wanted.clips.len() as u64);
    let compress = |clip: &Cow<'_, Clip>| {
        let chosen = compress_clip(wanted, clip, options)?;
        progress.update(Phase::Encode, count.fetch_add(1, Ordering::Relaxed) + 1, total);
        Ok(chosen)
    };
    wanted.clips.par_iter().map(compress).collect()
}

/// Compresses a clip within what its skeleton allows.
pub fn compress_clip(
    wanted: &RequestedClips<'_>,
    clip: &Clip,
    options: &Options,
) -> Result<ChosenClip, Error> {
    let own = wanted.skeleton_options(clip.skeleton);
    own.cancellation.check()?;
    choose_codec(&wanted.skeletons[clip.skeleton], clip, &own, options)
}

/// Compresses `clip` by the codec that is asked for, or by the smaller one.
fn choose_codec(
    wanted: &RequestedSkeleton,
    clip: &Clip,
    clip_options: &ClipOptions,
    options: &Options,
) -> Result<ChosenClip, Error> {
    if options.codec == CodecChoice::RandomAccess {
        return compress_random_access(wanted, clip, clip_options);
    }
    if let Some(division) = wanted.division.as_ref().filter(|division| division.is_whole()) {
        let (mut sampled, attempt) = try_sampled(wanted, clip, clip_options)?;
        sampled.tried.push(attempt);
        sampled.layers = Some(Layers::Interleaved(division.interleaved(clip.samples)));
        return Ok(sampled);
    }
    if let Some(division) = &wanted.division {
        return compress_in_layers(wanted, clip, clip_options, division);
    }
    let asked = options.codec;
    let mut tried = Vec::new();
    let mut best = None;
    if asked != CodecChoice::Curve {
        let (sampled, attempt) = try_sampled(wanted, clip, clip_options)?;
        tried.push(attempt);
        best = Some(sampled);
    }
    let fits = clip.samples <= meshreel_codec::clip::curve::MAX_SAMPLES as usize;
    if asked == CodecChoice::Curve || (asked == CodecChoice::Auto && fits) {
        let (curve, attempt) = try_curve(wanted, clip, clip_options, options, best.as_ref())?;
        tried.push(attempt);
        best = curve.or(best);
    }
    let Some(mut chosen) = best else {
        return Err(Error::misuse("no codec for clips"));
    };
    chosen.tried = tried;
    Ok(chosen)
}

/// Compresses the clip with codec `sampled`, and reports the attempt.
fn try_sampled(
    wanted: &RequestedSkeleton,
    clip: &Clip,
    clip_options: &ClipOptions,
) -> Result<(ChosenClip, TriedCodec), Error> {
    let start = Instant::now();
    let done = compress_each(&wanted.skeleton, clip, clip_options, &wanted.tolerances)?;
    let attempt = TriedCodec {
        codec: ClipCodec::Sampled,
        bytes: Some(done.bytes.len() as u64),
        max_error: Some(done.max_error),
        samples: None,
        keys: None,
        seconds: start.elapsed().as_secs_f64(),
    };
    let sampled = ChosenClip {
        codec: ClipCodec::Sampled,
        local: false,
        bytes: done.bytes,
        tolerance: done.tolerance,
        max_error: done.max_error,
        rotations: done.rotations,
        tried: Vec::new(),
        layers: None,
    };
    Ok((sampled, attempt))
}

/// Compresses the clip with codec `curve`, if it holds the tolerance and takes fewer bytes than `sampled`,
/// and reports the attempt. Fails if only curves are requested and cannot hold the tolerance.
fn try_curve(
    wanted: &RequestedSkeleton,
    clip: &Clip,
    clip_options: &ClipOptions,
    options: &Options,
    sampled: Option<&ChosenClip>,
) -> Result<(Option<ChosenClip>, TriedCodec), Error> {
    let choice = &options.clips;
    let start = Instant::now();
    let most_keys = match sampled {
        Some(sampled) => sampled.bytes.len() * LARGEST_PACKING / KEY_BYTES,
        None => usize::MAX,
    };
    let curves = curve_options(wanted, clip_options, choice, most_keys);
    // Inserting keys alone is fast, and shows whether moving them off the samples could still win.
    let probe = CurveOptions {
        insert_only: true,
        max_keys: most_keys.saturating_mul(LARGEST_SAVING),
        ..curves.clone()
    };
    let hopeless = match sampled {
        Some(_) => take_too_many_keys(wanted, clip, &probe)?,
        None => None,
    };
    let done = match hopeless {
        Some(probe) => probe,
        None => compress_curves(&wanted.skeleton, clip, &curves)?,
    };
    let holds = done.holds && !done.gave_up;
    let bytes = compress_block(&done.bytes, block_format(options.block), options.effort).len();
    let attempt = TriedCodec {
        codec: ClipCodec::Curve,
        bytes: holds.then_some(bytes as u64),
        max_error: holds.then_some(done.max_error),
        samples: (!done.gave_up).then_some(done.samples),
        keys: (!done.gave_up).then_some(done.keys),
        seconds: start.elapsed().as_secs_f64(),
    };
    if options.codec == CodecChoice::Curve && !holds {
        return Err(curves_cannot_hold(clip, choice, &done));
    }
    let smaller = holds && sampled.is_none_or(|sampled| bytes < sampled.bytes.len());
    let curve = smaller.then_some(ChosenClip {
        codec: ClipCodec::Curve,
        local: choice.curve.local.is_some(),
        bytes: done.bytes,
        tolerance: done.tolerance,
        max_error: done.max_error,
        rotations: [0; 5],
        tried: Vec::new(),
        layers: None,
    });
    Ok((curve, attempt))
}

/// Returns the outcome of curves that take more keys than `probe` allows, in each of some windows or in the
/// whole clip; `None` if they take fewer.
fn take_too_many_keys(
    wanted: &RequestedSkeleton,
    clip: &Clip,
    probe: &CurveOptions,
) -> Result<Option<CompressedCurves>, Error> {
    if clip.samples > WINDOWS * WINDOW {
        let moving: usize = clip.tracks.iter().map(count_moving).sum();
        let part = WINDOW as f64 / clip.samples as f64;
        let most = (probe.max_keys as f64 * part) as usize + moving * WINDOW_KEYS;
        let probe = CurveOptions { max_keys: most, ..probe.clone() };
        let mut given_up = None;
        for i in 0..WINDOWS {
            let first = i * (clip.samples - WINDOW) / (WINDOWS - 1);
            let window = clip.portion(None, Some(TimeRange::Frames(first, first + WINDOW - 1)))?;
            given_up = Some(compress_curves(&wanted.skeleton, &window, &probe)?).filter(|done| done.gave_up);
            if given_up.is_none() {
                break;
            }
        }
        if given_up.is_some() {
            return Ok(given_up);
        }
    }
    Ok(Some(compress_curves(&wanted.skeleton, clip, probe)?).filter(|done| done.gave_up))
}

fn curves_cannot_hold(clip: &Clip, choice: &ClipChoice, done: &CompressedCurves) -> Error {
    let local = choice.curve.local.is_some();
    Error::Unsupported {
        what: format!(
            "clip {}: curves of {}-bit rotations cannot hold a tolerance of {}{}; give a larger --tolerance{}",
            clip.name,
            if choice.curve.short_rotations { 32 } else { 48 },
            done.tolerance,
            if local { " for each sub-track".into() } else { format!(" ({} is left)", done.max_error) },
            if local { "" } else { ", or --codec auto" },
        ),
    }
}

/// Compresses a clip with codec `random-access`, divided into layers if that is requested.
fn compress_random_access(
    wanted: &RequestedSkeleton,
    clip: &Clip,
    clip_options: &ClipOptions,
) -> Result<ChosenClip, Error> {
    let start = Instant::now();
    let (skeleton, tolerances) = (&wanted.skeleton, &wanted.tolerances);
    let (done, layers) = match &wanted.division {
        None => (random_access::compress_each(skeleton, clip, clip_options, tolerances, &[])?.0, None),
        Some(division) => {
            let (done, layers) =
                random_access::compress_division(skeleton, clip, clip_options, tolerances, division)?;
            (done, Some(layers))
        }
    };
    let base = layers.as_ref().and_then(|form| form.layers.first());
    let bytes = base.map_or(done.bytes, random_access::LayerBytes::to_clip_bytes);
    let upper = layers.iter().flat_map(|form| form.layers.iter().skip(1));
    let all = bytes.len() + upper.map(|layer| layer.header.len() + layer.body.len()).sum::<usize>();
    Ok(ChosenClip {
        codec: ClipCodec::RandomAccess,
        local: false,
        bytes,
        tolerance: done.tolerance,
        max_error: done.max_error,
        rotations: done.rotations,
        tried: vec![TriedCodec {
            codec: ClipCodec::RandomAccess,
            bytes: Some(all as u64),
            max_error: Some(done.max_error),
            samples: None,
            keys: None,
            seconds: start.elapsed().as_secs_f64(),
        }],
        layers: layers.map(Layers::RandomAccess),
    })
}

/// Compresses a clip divided into layers, with codec `sampled`.
fn compress_in_layers(
    wanted: &RequestedSkeleton,
    clip: &Clip,
    clip_options: &ClipOptions,
    division: &LayerDivision,
) -> Result<ChosenClip, Error> {
    let start = Instant::now();
    let done = layer::compress(&wanted.skeleton, clip, clip_options, &wanted.tolerances, division)?;
    let tiers: Vec<Vec<Vec<u8>>> = done.layers.iter().map(CompressedLayer::tiers).collect();
    let all: usize = tiers.iter().flatten().map(Vec::len).sum();
    Ok(ChosenClip {
        codec: ClipCodec::Sampled,
        local: false,
        bytes: tiers[0][0].clone(),
        tolerance: done.tolerance,
        max_error: done.max_error,
        rotations: done.rotations,
        tried: vec![TriedCodec {
            codec: ClipCodec::Sampled,
            bytes: Some(all as u64),
            max_error: Some(done.max_error),
            samples: None,
            keys: None,
            seconds: start.elapsed().as_secs_f64(),
        }],
        layers: Some(Layers::Streamed(done)),
    })
}

/// Returns `bytes` after block compression, as stored in a chunk.
pub fn compress_block(bytes: &[u8], format: BlockFormat, effort: u32) -> Vec<u8> {
    let mut out = Vec::new();
    Compressor::new(format, effort).compress_bounded(bytes, &mut out);
    out
}

/// Returns the settings of curves that follow from the options of a compile; a clip with more than `most`
/// keys is given up.
fn curve_options(
    wanted: &RequestedSkeleton,
    clip_options: &ClipOptions,
    choice: &ClipChoice,
    most: usize,
) -> CurveOptions {
    let curve = &choice.curve;
    CurveOptions {
        tolerance: clip_options.tolerance,
        rule: match &curve.local {
            None => CurveRule::Guaranteed,
            Some(local) => CurveRule::Local {
                parts: local.tolerances.map(|t| t.map_or(1.0, |t| t / clip_options.tolerance)),
                adaptive: local.adaptive,
                pinned: wanted.pinned.clone(),
            },
        },
        shell: clip_options.shell,
        knots: knots(curve.knots),
        short_rotations: curve.short_rotations,
        insert_only: curve.insert_only,
        tolerances: wanted.tolerances.clone(),
        max_keys: most,
        cancellation: clip_options.cancellation.clone(),
    }
}
