//! Tiers of the layers of all clips of a file, in chunks that can be read separately.
//!
//! A chunk has data of one layer and tier, of as many clips as fit; a tier of a long clip takes several.

use super::layer::LayeredClip;
use super::random_access::RandomAccessLayers;
use crate::Error;
use meshreel_codec::clip::layer::{LayerTable, TierPart, split_tier};
use meshreel_codec::clip::random_access::SEGMENT_SAMPLES;

/// Bytes that a chunk is filled to.
const CHUNK: usize = 32 << 10;

/// Packs the tiers into chunks; returns them and the table of each clip, with its number and locations.
/// `clips`: number and layers.
pub fn pack_tiers(clips: &[(u32, &LayeredClip)]) -> Result<(Vec<Vec<u8>>, Vec<LayerTable>), Error> {
    let mut tables: Vec<LayerTable> =
        (clips.iter()).map(|(number, clip)| LayerTable { clip: *number, ..clip.table.clone() }).collect();
    let tiers: Vec<Vec<Vec<Vec<u8>>>> =
        (clips.iter()).map(|(_, clip)| clip.layers.iter().map(|layer| layer.tiers()).collect()).collect();
    let layers = tiers.iter().map(Vec::len).max().unwrap_or(0);
    let mut chunks: Vec<Vec<u8>> = Vec::new();
    for l in 0..layers {
        let count = |clip: &Vec<Vec<Vec<u8>>>| clip.get(l).map_or(0, Vec::len);
        let most = tiers.iter().map(count).max().unwrap_or(0);
        for t in usize::from(l == 0)..most {
            let mut open = false;
            for (c, (_, clip)) in clips.iter().enumerate() {
                let Some(bytes) = tiers[c].get(l).and_then(|tiers| tiers.get(t)) else {
                    continue;
                };
                let plan = &clip.layers[l].plan;
                let inner = |e: meshreel_codec::Corrupt| Error::misuse(e.0);
                // The header is in the table, the keys precede the first segment.
                let (header, keys) = match t {
                    0 => {
                        let (_, header) =
                            meshreel_codec::clip::layer::take_length_prefixed(bytes).map_err(inner)?;
                        let (_, keys) = meshreel_codec::clip::layer::take_length_prefixed(&bytes[header..])
                            .map_err(inner)?;
                        (header, keys)
                    }
                    _ => (0, 0),
                };
                let parts = split_tier(&bytes[header..], keys, plan.segments(), CHUNK).map_err(inner)?;
                for (segments, part) in parts {
                    let full = |chunk: &Vec<u8>| chunk.len() + part.len() > CHUNK;
                    if !open || chunks.last().is_none_or(full) {
                        chunks.push(Vec::new());
                        open = true;
                    }
                    let chunk = chunks.len() as u32 - 1;
                    let Some(to) = chunks.last_mut() else {
                        continue;
                    };
                    tables[c].tier_parts.push(TierPart {
                        layer: l as u8,
                        tier: t as u8,
                        chunk,
                        offset: to.len() as u32,
                        size: part.len() as u32,
                        segments,
                    });
                    to.extend_from_slice(&part);
                }
            }
        }
    }
    Ok((chunks, tables))
}

/// Appends the layers of clips in the random-access form to `chunks`, each as a whole, and returns the table
/// of each clip. `clips`: number and layers.
pub fn pack_layers(clips: &[(u32, &RandomAccessLayers)], chunks: &mut Vec<Vec<u8>>) -> Vec<LayerTable> {
    let mut tables: Vec<LayerTable> =
        (clips.iter()).map(|(number, clip)| LayerTable { clip: *number, ..clip.table.clone() }).collect();
    let most = clips.iter().map(|(_, clip)| clip.layers.len()).max().unwrap_or(0);
    for l in 1..most {
        let mut open = false;
        for (table, (_, clip)) in tables.iter_mut().zip(clips) {
            let Some(layer) = clip.layers.get(l) else {
                continue;
            };
            let full = |chunk: &Vec<u8>| chunk.len() + layer.body.len() > CHUNK;
            if !open || chunks.last().is_none_or(full) {
                chunks.push(Vec::new());
                open = true;
            }
            let chunk = chunks.len() as u32 - 1;
            let Some(to) = chunks.last_mut() else {
                continue;
            };
            table.tier_parts.push(TierPart {
                layer: l as u8,
                tier: 0,
                chunk,
                offset: to.len() as u32,
                size: layer.body.len() as u32,
                segments: table.samples.div_ceil(SEGMENT_SAMPLES as u32),
            });
            to.extend_from_slice(&layer.body);
        }
    }
    tables
}
