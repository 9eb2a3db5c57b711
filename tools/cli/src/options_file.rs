//! The options file: the long option names as keys, and `[[mesh]]` sections for some meshes only.
//!
//! ```toml
//! tolerance = "0.01%"
//! block = "zstd"
//! exclude = ["/**/helper*"]
//!
//! [[mesh]]
//! glob = "/crowd/**"
//! tolerance = 0.5
//! ```

use crate::cli::{Content, Method};
use crate::output::Failure;
use crate::units::Tolerance;
use serde::Deserialize;
use std::path::Path;

/// Largest options file that is read.
const MAX_BYTES: u64 = 16 << 20;

/// What an options file says.
#[derive(Debug, Default, PartialEq)]
pub struct OptionsFile {
    /// Values of the top-level keys.
    pub content: Content,
    /// The sections, in order; for a mesh that several match, the last that gives a value wins.
    pub meshes: Vec<MeshSection>,
}

/// Overrides for the meshes whose path matches.
#[derive(Debug, Clone, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MeshSection {
    /// Which meshes, by node path.
    pub glob: String,
    /// Their tolerance.
    pub tolerance: Option<Tolerance>,
    /// Their method.
    pub method: Option<Method>,
}

/// Reads an options file.
pub fn read(path: &Path) -> Result<OptionsFile, Failure> {
    let size = std::fs::metadata(path)
        .map_err(|e| Failure::io(path, &e))?
        .len();
    if size > MAX_BYTES {
        return Err(Failure::usage(format!(
            "{}: {size} bytes is too much for an options file",
            path.display()
        )));
    }
    let text = std::fs::read_to_string(path).map_err(|e| Failure::io(path, &e))?;
    parse(&text).map_err(|what| Failure::usage(format!("{}: {what}", path.display())))
}

/// Reads the text of an options file. The error is one line and names the line of the file.
fn parse(text: &str) -> Result<OptionsFile, String> {
    let line_of = |error: &toml::de::Error| match error.span() {
        Some(span) => format!(
            "line {}: ",
            1 + text
                .bytes()
                .take(span.start)
                .filter(|&byte| byte == b'\n')
                .count()
        ),
        None => String::new(),
    };
    let one_line = |error: toml::de::Error| {
        format!("{}{}", line_of(&error), error.message().replace('\n', " "))
    };
    let mut table: toml::Table = text.parse().map_err(one_line)?;
    let mut meshes = Vec::new();
    if let Some(sections) = table.remove("mesh") {
        let toml::Value::Array(sections) = sections else {
            return Err("mesh sections are written [[mesh]]".into());
        };
        for (i, section) in sections.into_iter().enumerate() {
            let section: MeshSection = section.try_into().map_err(|e: toml::de::Error| {
                format!("[[mesh]] number {}: {}", i + 1, e.message())
            })?;
            globset::Glob::new(&section.glob)
                .map_err(|e| format!("[[mesh]] number {}: {e}", i + 1))?;
            meshes.push(section);
        }
    }
    let content = Content::deserialize(table).map_err(one_line)?;
    content.check()?;
    Ok(OptionsFile { content, meshes })
}

impl Content {
    /// These options, and `lower`'s where these say nothing.
    pub fn over(self, lower: Content) -> Content {
        fn list(mut upper: Vec<String>, lower: Vec<String>) -> Vec<String> {
            if upper.is_empty() {
                upper = lower;
            }
            upper
        }
        Content {
            tolerance: self.tolerance.or(lower.tolerance),
            normal_tolerance: self.normal_tolerance.or(lower.normal_tolerance),
            uv_tolerance: self.uv_tolerance.or(lower.uv_tolerance),
            colour_bits: self.colour_bits.or(lower.colour_bits),
            channels: self.channels.or(lower.channels),
            include: list(self.include, lower.include),
            exclude: list(self.exclude, lower.exclude),
            range: self.range.or(lower.range),
            fps: self.fps.or(lower.fps),
            source_fps: self.source_fps.or(lower.source_fps),
            unit: self.unit.or(lower.unit),
            smooth_angle: self.smooth_angle.or(lower.smooth_angle),
            cycle: self.cycle || lower.cycle,
            strip: self.strip || lower.strip,
            method: self.method.or(lower.method),
            preset: self.preset.or(lower.preset),
            block: self.block.or(lower.block),
            index_every: self.index_every.or(lower.index_every),
            effort: self.effort.or(lower.effort),
            jobs: self.jobs.or(lower.jobs),
            memory: self.memory.or(lower.memory),
        }
    }

    /// Ranges of plain numbers, which the command line's parser checks for itself.
    fn check(&self) -> Result<(), String> {
        let within = |name: &str, value: Option<u64>, low: u64, high: u64| match value {
            Some(value) if value < low || value > high => {
                Err(format!("{name} = {value}: give {low} to {high}"))
            }
            _ => Ok(()),
        };
        within("colour-bits", self.colour_bits.map(u64::from), 1, 16)?;
        within("index-every", self.index_every.map(u64::from), 1, 64)?;
        within("effort", self.effort.map(u64::from), 1, 9)?;
        within("jobs", self.jobs.map(u64::from), 1, 4096)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Block, Rate};

    #[test]
    fn keys_are_the_long_names() {
        let file = parse(
            "tolerance = \"0.02%\"\nblock = \"deflate\"\nfps = 25\nindex-every = 8\nmemory = \"64MB\"\ncycle = true\n\
             exclude = [\"/a/*\"]\n[[mesh]]\nglob = \"/hero/**\"\ntolerance = 0.5\nmethod = \"soft\"\n[[mesh]]\nglob = \"/b\"\n",
        )
        .unwrap();
        assert_eq!(file.content.tolerance, Some(Tolerance::Percent(0.02)));
        assert_eq!(file.content.block, Some(Block::Deflate));
        assert_eq!(file.content.fps, Some(Rate(25.0)));
        assert_eq!(file.content.exclude, ["/a/*"]);
        assert!(file.content.cycle);
        assert_eq!(file.meshes.len(), 2);
        assert_eq!(file.meshes[0].tolerance, Some(Tolerance::Absolute(0.5)));
        assert_eq!(file.meshes[0].method, Some(Method::Soft));
    }

    #[test]
    fn the_command_line_wins() {
        let upper = Content {
            block: Some(Block::Store),
            ..Content::default()
        };
        let lower = parse("block = \"zstd\"\neffort = 9").unwrap().content;
        let merged = upper.over(lower);
        assert_eq!((merged.block, merged.effort), (Some(Block::Store), Some(9)));
    }

    #[test]
    fn mistakes_are_named_in_one_line() {
        for (text, part) in [
            ("tolerence = 1", "tolerence"),
            ("a = 1\ntolerance = ", "line 2"),
            ("tolerance = \"much\"", "'much' is no tolerance"),
            ("method = \"rigid\"", "not built yet"),
            ("effort = 12", "1 to 9"),
            ("mesh = 3", "[[mesh]]"),
            ("[[mesh]]\ntolerance = 1", "glob"),
            ("[[mesh]]\nglob = \"[\"", "number 1"),
            ("[[mesh]]\nglob = \"/a\"\nblock = \"zstd\"", "block"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
