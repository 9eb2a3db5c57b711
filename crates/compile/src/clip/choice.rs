//! Which codec a clip is kept in: the one that takes fewer bytes at the tolerance, or the one that was asked
//! for.

use super::layer::{self, CompressedLayer, Division, LayeredClip};
use super::wanted::WantedSkeleton;
use super::{ClipOptions, CurveOptions, Rule, compress_curves, compress_each};
use crate::Error;
use crate::codec_terms::{block_format, knots};
use crate::report::ClipTried;
use meshreel_codec::clip::record::Codec;
use meshreel_codec::entropy::block::{Compressor, Format};
use meshreel_options::{ClipChoice, CodecChoice, Options};
use meshreel_scene::Clip;
use std::time::Instant;

/// A clip as it is written.
pub struct Chosen {
    /// What its bytes are.
    pub codec: Codec,
    /// The local rule: nothing is promised in object space.
    pub local: bool,
    /// Stored form or curves.
    pub bytes: Vec<u8>,
    /// Promised.
    pub tolerance: f64,
    /// Largest error found, as decoded.
    pub max_error: f64,
    /// Rotation sub-tracks of codec `sampled`: default, constant, hinge, two axes, free.
    pub rotations: [usize; 5],
    /// All that was tried, the chosen one among it.
    pub tried: Vec<ClipTried>,
    /// Its layers; then `bytes` are the base's first tier.
    pub layers: Option<LayeredClip>,
}

/// Block compression makes curves at most this many times smaller.
const PACKED: usize = 2;
/// Moving keys off the samples leaves at most this many times fewer of them than inserting alone does; so a
/// clip whose inserted keys are more than this many times too many cannot win.
const SPARED: usize = 2;
/// Bytes of a key.
const KEY: usize = 10;

/// Compresses `clip` by the codec that is asked for, or by the smaller one.
pub fn choose(
    wanted: &WantedSkeleton,
    clip: &Clip,
    clip_options: &ClipOptions,
    options: &Options,
) -> Result<Chosen, Error> {
    if let Some(division) = &wanted.division {
        return in_layers(wanted, clip, clip_options, division);
    }
    let choice = &options.clips;
    let mut tried = Vec::new();
    let mut best = None;
    if options.codec != CodecChoice::Curve {
        let start = Instant::now();
        let done = compress_each(&wanted.skeleton, clip, clip_options, &wanted.tolerances)?;
        tried.push(ClipTried {
            codec: Codec::Sampled,
            bytes: Some(done.bytes.len() as u64),
            max_error: done.max_error,
            keys: None,
            seconds: start.elapsed().as_secs_f64(),
        });
        best = Some(Chosen {
            codec: Codec::Sampled,
            local: false,
            bytes: done.bytes,
            tolerance: done.tolerance,
            max_error: done.max_error,
            rotations: done.rotations,
            tried: Vec::new(),
            layers: None,
        });
    }
    let fits = clip.samples <= meshreel_codec::clip::curve::MAX_SAMPLES as usize;
    if options.codec == CodecChoice::Curve || (options.codec == CodecChoice::Auto && fits) {
        let start = Instant::now();
        let most = match &best {
            Some(best) => best.bytes.len() * PACKED / KEY,
            None => usize::MAX,
        };
        let curves = curves(wanted, clip_options, choice, most);
        // Whether it is worth while is seen without moving keys.
        let probe = CurveOptions { plain: true, most: most.saturating_mul(SPARED), ..curves.clone() };
        let compress = |options| compress_curves(&wanted.skeleton, clip, options);
        let done = match best.is_some().then(|| compress(&probe)).transpose()? {
            Some(probe) if probe.gave_up => probe,
            _ => compress(&curves)?,
        };
        let holds = done.holds && !done.gave_up;
        let bytes = packed(&done.bytes, block_format(options.block), options.effort).len();
        tried.push(ClipTried {
            codec: Codec::Curve,
            bytes: holds.then_some(bytes as u64),
            max_error: done.max_error,
            keys: (!done.gave_up).then_some([done.samples, done.keys]),
            seconds: start.elapsed().as_secs_f64(),
        });
        let local = choice.curve.local.is_some();
        if options.codec == CodecChoice::Curve && !holds {
            return Err(Error::Unsupported {
                what: format!(
                    "clip {}: curves of {}-bit rotations cannot hold a tolerance of {}{}; give a larger --tolerance{}",
                    clip.name,
                    if choice.curve.short { 32 } else { 48 },
                    done.tolerance,
                    if local {
                        " for each sub-track".into()
                    } else {
                        format!(" ({} is left)", done.max_error)
                    },
                    if local { "" } else { ", or --codec auto" },
                ),
            });
        }
        if holds && best.as_ref().is_none_or(|best| bytes < best.bytes.len()) {
            best = Some(Chosen {
                codec: Codec::Curve,
                local,
                bytes: done.bytes,
                tolerance: done.tolerance,
                max_error: done.max_error,
                rotations: [0; 5],
                tried: Vec::new(),
                layers: None,
            });
        }
    }
    let Some(mut chosen) = best else {
        return Err(Error::misuse("no codec for clips"));
    };
    chosen.tried = tried;
    Ok(chosen)
}

/// Layers are of codec `sampled`.
fn in_layers(
    wanted: &WantedSkeleton,
    clip: &Clip,
    clip_options: &ClipOptions,
    division: &Division,
) -> Result<Chosen, Error> {
    let start = Instant::now();
    let done = layer::compress(&wanted.skeleton, clip, clip_options, &wanted.tolerances, division)?;
    let tiers: Vec<Vec<Vec<u8>>> = done.layers.iter().map(CompressedLayer::tiers).collect();
    let all: usize = tiers.iter().flatten().map(Vec::len).sum();
    Ok(Chosen {
        codec: Codec::Sampled,
        local: false,
        bytes: tiers[0][0].clone(),
        tolerance: done.tolerance,
        max_error: done.max_error,
        rotations: done.rotations,
        tried: vec![ClipTried {
            codec: Codec::Sampled,
            bytes: Some(all as u64),
            max_error: done.max_error,
            keys: None,
            seconds: start.elapsed().as_secs_f64(),
        }],
        layers: Some(done),
    })
}

/// The bytes of a chunk.
pub fn packed(bytes: &[u8], format: Format, effort: u32) -> Vec<u8> {
    let mut out = Vec::new();
    Compressor::new(format, effort).compress_bounded(bytes, &mut out);
    out
}

fn curves(
    wanted: &WantedSkeleton,
    clip_options: &ClipOptions,
    choice: &ClipChoice,
    most: usize,
) -> CurveOptions {
    let curve = &choice.curve;
    CurveOptions {
        tolerance: clip_options.tolerance,
        rule: match &curve.local {
            None => Rule::Guaranteed,
            Some(local) => Rule::Local {
                parts: local.tolerances.map(|t| t.map_or(1.0, |t| t / clip_options.tolerance)),
                adaptive: local.adaptive,
                pinned: wanted.pinned.clone(),
            },
        },
        shell: clip_options.shell,
        knots: knots(curve.knots),
        short: curve.short,
        plain: curve.plain,
        tolerances: wanted.tolerances.clone(),
        most,
    }
}
