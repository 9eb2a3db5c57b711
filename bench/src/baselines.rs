//! The tables of published figures: `definitions/baselines.toml` and `definitions/clip_baselines.csv`.

use serde::Deserialize;
use std::collections::BTreeMap;

/// The whole table.
#[derive(Debug, Deserialize)]
pub struct Baselines {
    /// The baseline of each block format, by name.
    pub rows: BTreeMap<String, String>,
    /// The sequences.
    pub sequence: Vec<SequenceBaseline>,
    /// All other systems that were measured.
    pub peer: Vec<Peer>,
}

/// Another system: bits per vertex and frame by sequence, and speeds in MB/s of raw positions, where known.
#[derive(Debug, Deserialize)]
pub struct Peer {
    pub name: String,
    #[serde(rename = "1e-3")]
    pub coarse: [f64; 6],
    #[serde(rename = "1e-4")]
    pub fine: [f64; 6],
    #[serde(default)]
    pub encode: String,
    #[serde(default)]
    pub decode: String,
}

/// One sequence: its size, and bits per vertex and frame by tolerance ("1e-3", "1e-4").
#[derive(Debug, Deserialize)]
pub struct SequenceBaseline {
    pub name: String,
    /// Name of the files, if it differs.
    file: Option<String>,
    pub frames: usize,
    pub vertices: usize,
    deflate: BTreeMap<String, f64>,
    zstd: BTreeMap<String, f64>,
    /// The smallest result of all other systems.
    peer: BTreeMap<String, f64>,
}

impl Baselines {
    /// Reads the table, which is compiled into the program.
    pub fn read() -> anyhow::Result<Baselines> {
        Ok(toml::from_str(include_str!("../definitions/baselines.toml"))?)
    }
}

impl SequenceBaseline {
    /// Returns the name of its files, without extension.
    pub fn file(&self) -> &str {
        self.file.as_deref().unwrap_or(&self.name)
    }
    /// Returns the published figure to be beaten.
    pub fn baseline(&self, block: &str, tolerance: &str) -> Option<f64> {
        let row = match block {
            "deflate" => &self.deflate,
            "zstd" => &self.zstd,
            _ => &self.peer,
        };
        row.get(tolerance).copied()
    }
}

/// The result of another system on the clips.
#[derive(Debug)]
pub struct ClipBaseline {
    pub system: String,
    pub setting: String,
    /// Requested error in centimetres.
    pub tolerance: f64,
    /// Compression ratio, to 40 bytes per joint and sample.
    pub ratio: f64,
    /// Largest error in centimetres.
    pub worst: f64,
}

/// Reads the table of `definitions/clip_baselines.csv`.
pub fn clip_baselines() -> anyhow::Result<Vec<ClipBaseline>> {
    let lines = include_str!("../definitions/clip_baselines.csv").lines();
    (lines.filter(|line| !line.starts_with('#')))
        .map(|line| {
            let [system, setting, asked, ratio, worst] = line.split(',').collect::<Vec<_>>()[..] else {
                anyhow::bail!("a line of clip_baselines.csv: {line}");
            };
            Ok(ClipBaseline {
                system: system.into(),
                setting: setting.into(),
                tolerance: asked.parse()?,
                ratio: ratio.parse()?,
                worst: worst.parse()?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        let clips = clip_baselines().unwrap();
        assert!(clips.len() >= 7 && clips.iter().all(|c| c.ratio > 1.0 && c.worst > 0.0));
        let table = Baselines::read().unwrap();
        assert_eq!(table.sequence.len(), 6);
        for sequence in &table.sequence {
            for block in ["deflate", "zstd", "small", "fast"] {
                assert!(table.rows.contains_key(block));
                let at = |t| sequence.baseline(block, t).unwrap();
                assert!(at("1e-3") < at("1e-4"), "{}", sequence.name);
            }
        }
        for (n, sequence) in table.sequence.iter().enumerate() {
            let least = |of: fn(&Peer) -> [f64; 6]| {
                let all = table.peer.iter().map(|p| of(p)[n]);
                all.fold(f64::INFINITY, f64::min)
            };
            let smallest = [least(|p| p.coarse), least(|p| p.fine)];
            let told = ["1e-3", "1e-4"].map(|t| sequence.baseline("small", t).unwrap());
            assert_eq!(smallest, told, "{}", sequence.name);
        }
    }
}
