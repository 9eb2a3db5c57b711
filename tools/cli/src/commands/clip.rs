//! Prints the clips of a `.reel` and of a source for `info`.

use crate::output::{one_line, table};
use crate::units;
use meshreel_commands::info::{ClipInfo, SourceClipInfo, SubTrackCounts};
use meshreel_compile::ClipReport;

/// Returns a table of the clips of a `.reel`.
pub fn info_table(clips: &[ClipInfo]) -> String {
    let rows: Vec<Vec<String>> = clips
        .iter()
        .map(|clip| {
            vec![
                one_line(&clip.name),
                clip.joints.to_string(),
                units::count(clip.samples as u64),
                units::short(clip.fps),
                match &clip.keys {
                    Some(keys) => format!("curve, {} keys", units::count(keys.keys as u64)),
                    None => clip.codec.into(),
                },
                match (clip.rule, clip.tolerance) {
                    ("local", Some(t)) => format!("{} per sub-track", units::short(t)),
                    (_, Some(t)) => units::short(t),
                    (_, None) => "of each mesh".into(),
                },
                units::bytes(clip.bytes as u64),
                format!("{}:1", units::short(clip.ratio)),
                format!("{:.0}", clip.bits_per_sample),
                kinds_text(&clip.rotations),
            ]
        })
        .collect();
    let head = [
        "clip",
        "joints",
        "samples",
        "fps",
        "<codec",
        "tolerance",
        "bytes",
        "ratio",
        "bits/sample",
        "<rotations",
    ];
    let mut out = table(&head, &rows);
    let layers: Vec<Vec<String>> = (clips.iter())
        .flat_map(|clip| clip.layers.iter().map(move |layer| (clip, layer)))
        .map(|(clip, layer)| {
            let tiers = layer.tiers.iter().map(|b| units::bytes(*b as u64));
            vec![
                one_line(&clip.name),
                one_line(&layer.name),
                layer.joints.to_string(),
                units::count(layer.samples as u64),
                units::short(layer.rate),
                units::count(layer.stripped as u64),
                units::bytes(layer.header_bytes as u64),
                tiers.collect::<Vec<_>>().join(" + "),
                format!("{:.2}", layer.bits_per_value),
            ]
        })
        .collect();
    if !layers.is_empty() {
        let head =
            ["clip", "<layer", "joints", "samples", "fps", "stripped", "header", "<tiers", "bits/value"];
        out.push_str(&table(&head, &layers));
    }
    out
}

/// Returns the number of sub-tracks of each kind as text.
fn kinds_text(kinds: &SubTrackCounts) -> String {
    let all = [
        (kinds.default, "default"),
        (kinds.constant, "constant"),
        (kinds.hinge, "hinge"),
        (kinds.two_axes, "two axes"),
        (kinds.animated, "free"),
    ];
    let there = all.iter().filter(|(n, _)| *n > 0);
    there.map(|(n, what)| format!("{n} {what}")).collect::<Vec<_>>().join(", ")
}

/// Returns a table of compiled clips, at most `most`.
pub fn compiled_table(clips: &[ClipReport], most: usize) -> String {
    let row = |clip: &ClipReport| {
        vec![
            one_line(&clip.name),
            clip.joints.to_string(),
            units::count(clip.samples as u64),
            clip.codec.name().into(),
            match clip.local {
                true => format!("{} per sub-track", units::short(clip.tolerance)),
                false => units::short(clip.tolerance),
            },
            units::short(clip.max_error),
            units::bytes(clip.bytes),
            format!("{}:1", units::short(clip.ratio)),
        ]
    };
    let rows: Vec<Vec<String>> = clips.iter().take(most).map(row).collect();
    let head = ["clip", "joints", "samples", "<codec", "tolerance", "max error", "bytes", "ratio"];
    match rows.is_empty() {
        true => String::new(),
        false => table(&head, &rows),
    }
}

/// Returns a table of the attempts for each clip, for `--explain`.
pub fn tried_table(clips: &[ClipReport]) -> String {
    let mut rows = Vec::new();
    for clip in clips {
        for tried in &clip.tried {
            let count = |n: Option<usize>| n.map_or("–".into(), |n| units::count(n as u64));
            rows.push(vec![
                one_line(&clip.name),
                tried.codec.name().into(),
                tried.bytes.map_or("–".into(), units::bytes),
                tried.max_error.map_or("–".into(), units::short),
                count(tried.samples),
                count(tried.keys),
                format!("{:.3} s", tried.seconds),
                match (tried.codec == clip.codec, tried.bytes, tried.keys) {
                    (true, ..) => "chosen",
                    (_, Some(_), _) => "larger",
                    (_, None, None) => "given up: larger",
                    (_, None, Some(_)) => "cannot hold the tolerance",
                }
                .into(),
            ]);
        }
    }
    let head = ["clip", "<codec", "bytes", "max error", "samples", "keys", "time", "<choice"];
    table(&head, &rows)
}

/// Returns a table of the clips of a source.
pub fn source_table(clips: &[SourceClipInfo]) -> String {
    let rows: Vec<Vec<String>> = clips
        .iter()
        .map(|clip| {
            vec![
                one_line(&clip.name),
                clip.joints.to_string(),
                units::count(clip.samples as u64),
                units::short(clip.fps),
                format!("{} s", units::short(clip.duration)),
                units::bytes(clip.raw_bytes),
            ]
        })
        .collect();
    table(&["clip", "joints", "samples", "fps", "duration", "raw"], &rows)
}
