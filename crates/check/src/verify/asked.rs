//! What the file says was asked of its compiler: the options that change content, one `key = value` per line.
//! This is all that a checker takes from the file about what it should be; everything else comes from the source.

use globset::{Glob, GlobMatcher};
use meshreel_scene::sample::{Channels, FrameOptions, Range};

/// A promised distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tolerance {
    /// In the file's length unit.
    Absolute(f64),
    /// As a part of the diagonal of the mesh's bounds.
    Relative(f64),
}

/// The options.
#[derive(Debug)]
pub(crate) struct Asked {
    pub tolerance: Tolerance,
    pub normal_tolerance: f64,
    pub uv_tolerance: f64,
    pub colour_bits: u32,
    pub smooth_angle: Option<f64>,
    pub frames: FrameOptions,
    include: Vec<GlobMatcher>,
    exclude: Vec<GlobMatcher>,
    meshes: Vec<(GlobMatcher, Tolerance)>,
}

impl Asked {
    /// Reads the text; the error says which line makes no sense. Keys that do not concern content are passed over.
    pub fn parse(text: &str) -> Result<Asked, String> {
        let mut tolerance = None;
        let mut asked = Asked {
            tolerance: Tolerance::Relative(1e-4),
            normal_tolerance: 1.0,
            uv_tolerance: 1.0 / 4096.0,
            colour_bits: 8,
            smooth_angle: None,
            frames: FrameOptions::default(),
            include: Vec::new(),
            exclude: Vec::new(),
            meshes: Vec::new(),
        };
        for line in text.lines() {
            let bad = || format!("the file's options have the line {line:?}, which says nothing");
            let (key, value) = line.split_once(" = ").ok_or_else(bad)?;
            match key {
                "tolerance" => tolerance = Some(distance(value).ok_or_else(bad)?),
                "normal-tolerance" => asked.normal_tolerance = positive(value).ok_or_else(bad)?,
                "uv-tolerance" => asked.uv_tolerance = positive(value).ok_or_else(bad)?,
                "colour-bits" => {
                    asked.colour_bits = value
                        .parse()
                        .ok()
                        .filter(|bits| (1..=16).contains(bits))
                        .ok_or_else(bad)?;
                }
                "channels" => {
                    let has = |name: &str| value.split(',').any(|v| v == name);
                    asked.frames.channels = Channels {
                        normals: has("normals"),
                        uvs: has("uvs"),
                        colours: has("colours"),
                    };
                }
                "smooth-angle" => asked.smooth_angle = Some(value.parse().map_err(|_| bad())?),
                "fps" => asked.frames.fps = Some(positive(value).ok_or_else(bad)?),
                "range" => asked.frames.range = Some(range(value).ok_or_else(bad)?),
                "include" => asked.include.push(glob(value).ok_or_else(bad)?),
                "exclude" => asked.exclude.push(glob(value).ok_or_else(bad)?),
                "mesh-tolerance" => {
                    let (value, pattern) = value.split_once(' ').ok_or_else(bad)?;
                    let value = distance(value).ok_or_else(bad)?;
                    asked.meshes.push((glob(pattern).ok_or_else(bad)?, value));
                }
                _ => {}
            }
        }
        asked.tolerance = tolerance.ok_or("the file does not say what tolerance was asked for")?;
        Ok(asked)
    }

    /// Whether the object at `path` is compiled. A pattern that names a group means everything below it.
    pub fn selects(&self, path: &str) -> bool {
        let hit = |patterns: &[GlobMatcher]| {
            ancestors(path).any(|p| patterns.iter().any(|glob| glob.is_match(p)))
        };
        (self.include.is_empty() || hit(&self.include)) && !hit(&self.exclude)
    }

    /// The tolerance for the object at `path`.
    pub fn tolerance(&self, path: &str) -> Tolerance {
        self.meshes
            .iter()
            .rev()
            .find(|(glob, _)| glob.is_match(path))
            .map_or(self.tolerance, |(_, tolerance)| *tolerance)
    }
}

/// `/a/b/c`, `/a/b`, `/a`.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |p| {
        p.rfind('/')
            .filter(|&slash| slash > 0)
            .map(|slash| &p[..slash])
    })
}

fn positive(text: &str) -> Option<f64> {
    text.parse()
        .ok()
        .filter(|v: &f64| v.is_finite() && *v > 0.0)
}

fn distance(text: &str) -> Option<Tolerance> {
    match text.strip_suffix("*diagonal") {
        Some(part) => positive(part).map(Tolerance::Relative),
        None => positive(text).map(Tolerance::Absolute),
    }
}

fn range(text: &str) -> Option<Range> {
    let (first, last) = text.split_once(':')?;
    match (first.strip_suffix('s'), last.strip_suffix('s')) {
        (Some(first), Some(last)) => Some(Range::Seconds(first.parse().ok()?, last.parse().ok()?)),
        _ => Some(Range::Frames(first.parse().ok()?, last.parse().ok()?)),
    }
}

fn glob(text: &str) -> Option<GlobMatcher> {
    Some(Glob::new(text).ok()?.compile_matcher())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_set_of_options() {
        let asked = Asked::parse(
            "tolerance = 0.0001*diagonal\nnormal-tolerance = 0.5\nuv-tolerance = 0.001\ncolour-bits = 10\n\
             channels = positions,uvs\nmethod = auto\nfps = 30\nrange = 0.5s:2s\ninclude = /a/*\nexclude = /a/b\n\
             mesh-tolerance = 0.5 /a/c*\nmesh-tolerance = 0.25*diagonal /a/cc d\nsmooth-angle = 30\n",
        )
        .unwrap();
        assert_eq!(asked.tolerance, Tolerance::Relative(1e-4));
        assert_eq!(asked.tolerance("/a/c1"), Tolerance::Absolute(0.5));
        assert_eq!(asked.tolerance("/a/cc d"), Tolerance::Relative(0.25));
        assert_eq!(asked.frames.range, Some(Range::Seconds(0.5, 2.0)));
        assert_eq!(asked.frames.fps, Some(30.0));
        assert!(asked.frames.channels.uvs && !asked.frames.channels.normals);
        assert!(asked.selects("/a/x") && asked.selects("/a/x/deep"));
        assert!(!asked.selects("/a/b") && !asked.selects("/a/b/c") && !asked.selects("/q"));
        assert_eq!(asked.smooth_angle, Some(30.0));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "tolerance = -1",
            "tolerance = nan",
            "tolerance = 1\nrange = 3",
            "tolerance = 1\ncolour-bits = 40",
            "tolerance",
        ] {
            assert!(Asked::parse(text).is_err(), "{text}");
        }
    }
}
