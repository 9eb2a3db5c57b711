//! Options as stored in a file: everything that changes content, one `key = value` per line. A checker reads
//! from a file only these options; everything else about what the file should contain comes from the source.

use crate::Error;
use crate::choices::{BetweenChoice, KnotSpacing};
use crate::sections::{ClipChoice, JointOverride, LayerChoice, LocalRule, MeshOverride, Strip};
use crate::stored::{read_glob, read_positive, read_tolerance, write_tolerance};
use crate::table::{Line, Options};

/// Places of the sections' lines among those of the table. Frozen: they decide the bytes of files.
const MESHES: u32 = 28;
const JOINTS: u32 = 31;
const LAYERS: u32 = 32;
const CURVE: u32 = 33;

impl Options {
    /// Returns everything that changes content, one `key = value` per line, with the keys of the command
    /// line. A checker needs nothing else, except the promise between frames: it also depends on the source,
    /// and is written separately ([`stored_text`](Options::stored_text)).
    pub fn to_text(&self) -> String {
        let said = Options { index_every: Some(self.index_every()), ..self.clone() };
        let mut lines: Vec<(u32, String)> = Vec::new();
        let mut line =
            |place: u32, key: &str, value: String| lines.push((place, format!("{key} = {value}\n")));
        said.write_lines(&mut line);
        write_meshes(&said.meshes, &mut line);
        said.clips.write_joints(&mut line);
        said.clips.write_layers(&mut line);
        said.clips.write_curve(&mut line);
        lines.sort_by_key(|(place, _)| *place);
        lines.into_iter().map(|(_, text)| text).collect()
    }

    /// Returns the text that a file stores: [`to_text`](Options::to_text), the multiple of the tolerance that
    /// holds between frames, and whether verification was left out. These two come last, so that files
    /// without them have the same bytes as before.
    pub fn stored_text(&self, between: Option<f64>) -> String {
        let mut text = self.to_text();
        if let Some(multiple) = between {
            text.push_str(&format!("between = {multiple}\n"));
        }
        if self.no_verify {
            text.push_str("no-verify = true\n");
        }
        text
    }

    /// Reads the output of [`to_text`](Options::to_text); options that it does not contain have their
    /// defaults. Accepts any text; the error says which line is invalid. Keys that are not stored are
    /// ignored.
    pub fn from_text(text: &str) -> Result<Options, Error> {
        // A file that does not mention the time between frames promises nothing there.
        let mut options = Options { between: BetweenChoice::Off, ..Options::default() };
        let mut has_tolerance = false;
        for line in text.lines() {
            let bad = || {
                let what = format!("the file's options have the line {line:?}, which says nothing");
                Error::Malformed { what }
            };
            let (key, value) = line.split_once(" = ").ok_or_else(bad)?;
            let read = options.read_line(key, value);
            read.unwrap_or_else(|| options.read_section(key, value)).ok_or_else(bad)?;
            has_tolerance |= key == "tolerance";
        }
        if !has_tolerance {
            let what = "the file does not say what tolerance was asked for".into();
            return Err(Error::Malformed { what });
        }
        Ok(options)
    }

    /// Takes a line of a section; `None` if its value is invalid.
    fn read_section(&mut self, key: &str, value: &str) -> Option<()> {
        let of = |glob| MeshOverride { glob, ..MeshOverride::default() };
        match key {
            "mesh-tolerance" => {
                let (value, pattern) = value.split_once(' ')?;
                let tolerance = Some(read_tolerance(value, "*diagonal")?);
                self.meshes.push(MeshOverride { tolerance, ..of(read_glob(pattern)?) });
            }
            // It does not affect the promise, so one of a later version is ignored.
            "mesh-method" => {
                if let Some((value, pattern)) = value.split_once(' ')
                    && let Ok(method) = value.parse()
                {
                    self.meshes.push(MeshOverride { method: Some(method), ..of(pattern.into()) });
                }
            }
            "mesh-remesh" => {
                let (value, pattern) = value.split_once(' ')?;
                let remesh = Some(value.parse().ok()?);
                self.meshes.push(MeshOverride { remesh, ..of(read_glob(pattern)?) });
            }
            _ => self.clips.read(key, value)?,
        }
        Some(())
    }
}

fn write_meshes(meshes: &[MeshOverride], line: Line<'_>) {
    for over in meshes {
        if let Some(t) = over.tolerance {
            line(MESHES, "mesh-tolerance", format!("{} {}", write_tolerance(t, "*diagonal"), over.glob));
        }
        if let Some(method) = over.method {
            line(MESHES, "mesh-method", format!("{method} {}", over.glob));
        }
        if let Some(remesh) = over.remesh {
            line(MESHES, "mesh-remesh", format!("{remesh} {}", over.glob));
        }
    }
}

impl ClipChoice {
    fn write_joints(&self, line: Line<'_>) {
        for over in &self.joints {
            if let Some(t) = over.tolerance {
                line(JOINTS, "joint-tolerance", format!("{t} {}", over.glob));
            }
            if let Some(shell) = over.shell {
                line(JOINTS, "joint-shell", format!("{shell} {}", over.glob));
            }
            if over.pinned {
                line(JOINTS, "joint-pinned", over.glob.clone());
            }
        }
    }

    fn write_layers(&self, line: Line<'_>) {
        for layer in &self.layers {
            let strip = match layer.strip {
                Strip::None => "-".into(),
                Strip::Error(e) => format!("{e}"),
                Strip::Fraction(s) => format!("{s}*samples"),
            };
            let (rate, tiers) = (or_none(layer.rate), layer.tiers);
            line(LAYERS, "layer", format!("{rate} {strip} {tiers} {}", layer.name));
            if layer.below.or(layer.fraction).is_some() {
                let (below, share) = (or_none(layer.below), or_none(layer.fraction));
                line(LAYERS, "layer-auto", format!("{below} {share} {}", layer.name));
            }
            for glob in &layer.joints {
                line(LAYERS, "layer-joints", format!("{} {glob}", layer.name));
            }
        }
        for over in &self.joints {
            if let Some(layer) = &over.layer {
                line(LAYERS, "joint-layer", format!("{layer} {}", over.glob));
            }
            if let Some(bias) = over.bias {
                line(LAYERS, "joint-bias", format!("{bias} {}", over.glob));
            }
            if over.stepped {
                line(LAYERS, "joint-stepped", over.glob.clone());
            }
        }
    }

    fn write_curve(&self, line: Line<'_>) {
        let curve = &self.curve;
        if curve.knots != KnotSpacing::default() {
            line(CURVE, "curve-knots", curve.knots.to_string());
        }
        if curve.short_rotations {
            line(CURVE, "curve-rotation-bits", "32".into());
        }
        if curve.insert_only {
            line(CURVE, "curve-keys", "inserted".into());
        }
        if let Some(local) = &curve.local {
            let [r, t, s] = local.tolerances.map(or_none);
            let up = if local.adaptive { "adaptive" } else { "alike" };
            line(CURVE, "curve-local", format!("{r} {t} {s} {up}"));
        }
    }

    /// Takes a line of clip options; `None` if its value is invalid.
    fn read(&mut self, key: &str, value: &str) -> Option<()> {
        let of = |glob| JointOverride { glob, ..JointOverride::default() };
        match key {
            "joint-tolerance" => {
                let (value, pattern) = value.split_once(' ')?;
                let tolerance = Some(read_positive(value)?);
                self.joints.push(JointOverride { tolerance, ..of(read_glob(pattern)?) });
            }
            "joint-shell" => {
                let (value, pattern) = value.split_once(' ')?;
                let shell = Some(read_positive(value)?);
                self.joints.push(JointOverride { shell, ..of(read_glob(pattern)?) });
            }
            "joint-pinned" => self.joints.push(JointOverride { pinned: true, ..of(read_glob(value)?) }),
            "layer" => self.layers.push(read_layer(value)?),
            // Numbers, and the layer's name.
            "layer-auto" => {
                let (value, name) = value.rsplit_once(' ')?;
                let (below, share) = value.split_once(' ')?;
                let layer = self.layer(name)?;
                (layer.below, layer.fraction) = (read_part(below)?, read_part(share)?);
            }
            // The layer's name and a glob.
            "layer-joints" => {
                let (name, pattern) = value.split_once(' ')?;
                self.layer(name)?.joints.push(read_glob(pattern)?);
            }
            "joint-layer" => {
                let (name, pattern) = value.split_once(' ')?;
                self.joints.push(JointOverride { layer: Some(name.into()), ..of(read_glob(pattern)?) });
            }
            "joint-bias" => {
                let (value, pattern) = value.split_once(' ')?;
                let bias = Some(not_negative(value)?);
                self.joints.push(JointOverride { bias, ..of(read_glob(pattern)?) });
            }
            "joint-stepped" => self.joints.push(JointOverride { stepped: true, ..of(value.into()) }),
            // These do not affect the promise, so unknown values are ignored.
            "curve-knots" => self.curve.knots = value.parse().unwrap_or_default(),
            "curve-rotation-bits" => self.curve.short_rotations = value == "32",
            "curve-keys" => self.curve.insert_only = value == "inserted",
            "curve-local" => self.curve.local = Some(read_local(value)?),
            _ => {}
        }
        Some(())
    }

    fn layer(&mut self, name: &str) -> Option<&mut LayerChoice> {
        self.layers.iter_mut().find(|layer| layer.name == name)
    }
}

fn or_none(number: Option<f64>) -> String {
    number.map_or("-".into(), |number| number.to_string())
}

/// Reads an optional number written by [`or_none`]; `read` parses it if present.
fn perhaps(text: &str, read: impl Fn(&str) -> Option<f64>) -> Option<Option<f64>> {
    if text == "-" { Some(None) } else { read(text).map(Some) }
}

fn not_negative(text: &str) -> Option<f64> {
    text.parse().ok().filter(|v: &f64| *v >= 0.0 && v.is_finite())
}

/// Reads an optional fraction of all joints or of the largest importance. It may exceed 1, which means all of
/// it.
fn read_part(text: &str) -> Option<Option<f64>> {
    perhaps(text, |text| text.parse().ok().filter(|v: &f64| *v >= 0.0))
}

/// Reads a clip layer: rate, stripping, tiers, name.
fn read_layer(text: &str) -> Option<LayerChoice> {
    let mut words = text.split(' ');
    let rate = perhaps(words.next()?, read_positive)?;
    let strip = match words.next()? {
        "-" => Strip::None,
        value => match value.strip_suffix("*samples") {
            Some(value) => Strip::Fraction(not_negative(value)?),
            None => Strip::Error(not_negative(value)?),
        },
    };
    let tiers = words.next()?.parse().ok()?;
    let name = words.next()?.to_string();
    words.next().is_none().then_some(LayerChoice { name, rate, strip, tiers, ..LayerChoice::default() })
}

/// Reads the local rule: tolerances of rotations, translations and scales, and whether they shrink up the
/// hierarchy.
fn read_local(text: &str) -> Option<LocalRule> {
    let mut words = text.split(' ');
    let mut tolerances = [None; 3];
    for tolerance in &mut tolerances {
        *tolerance = perhaps(words.next()?, read_positive)?;
    }
    match (words.next()?, words.next()) {
        ("adaptive", None) => Some(LocalRule { tolerances, adaptive: true }),
        ("alike", None) => Some(LocalRule { tolerances, adaptive: false }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::MethodChoice;
    use crate::units::Tolerance;
    use meshreel_scene::sample::TimeRange;

    #[test]
    fn what_is_stored_says_everything_once() {
        let options = Options {
            tolerance: Tolerance::Absolute(0.1 + 0.2),
            range: Some(TimeRange::Seconds(0.5, 2.0)),
            fps: Some(30000.0 / 1001.0),
            include: vec!["/a/*".into()],
            smooth_angle: Some(30.0),
            cycle: true,
            meshes: vec![MeshOverride {
                glob: "/a b".into(),
                tolerance: Some(Tolerance::Relative(0.5)),
                method: Some(MethodChoice::Fluid),
                parts: None,
                remesh: None,
            }],
            ..Options::default()
        };
        let text = options.to_text();
        let mut lines: Vec<&str> = text.lines().collect();
        for line in [
            "tolerance = 0.30000000000000004",
            "range = 0.5s:2s",
            "fps = 29.97002997002997",
            "include = /a/*",
            "smooth-angle = 30",
            "cycle = true",
            "mesh-tolerance = 0.5*diagonal /a b",
            "mesh-method = fluid /a b",
            "index-every = 64",
        ] {
            assert!(lines.contains(&line), "{line} in {text}");
        }
        // Options that do not change the content are not stored.
        for key in ["jobs", "memory", "strict", "strip", "source-map"] {
            assert!(!text.contains(key), "{key}");
        }
        let count = lines.len();
        lines.sort();
        lines.dedup();
        assert_eq!(lines.len(), count);
    }

    #[test]
    fn the_usual_is_read_as_the_usual() {
        let usual = Options::default();
        let stored = Options { index_every: Some(64), between: BetweenChoice::Off, ..usual.clone() };
        assert_eq!(Options::from_text(&usual.to_text()), Ok(stored));
        let text = usual.to_text() + "between = 4\n";
        assert_eq!(Options::from_text(&text).unwrap().between, BetweenChoice::Within(4.0));
    }

    /// The order of lines decides the bytes of files.
    #[test]
    fn lines_stand_in_their_places() {
        let keys = |options: &Options| {
            let text = options.to_text();
            let keys: Vec<String> = text.lines().map(|line| line.split(' ').next().unwrap().into()).collect();
            keys.join(" ")
        };
        assert_eq!(
            keys(&Options::default()),
            "tolerance normal-tolerance uv-tolerance colour-bits channels method preset index-every effort"
        );
        let file = "preset = \"classic\"\nblock = \"lz4hc\"\nscalar-tolerance = 0.5\ntransforms = \"packed\"\n\
            smooth-angle = 3\ncycle = true\nremesh = true\nremesh-blend = 3\nfps = 24\nrange = \"1:2\"\n\
            source-fps = 25\nanimation = \"walk\"\nrig = \"keep\"\nlod = 3\ncull-hidden = true\n\
            show-hidden = true\nmerge-at = \"zero\"\n\
            attributes-apart = true\nclips-only = true\ninclude = [\"a\", \"b\"]\nexclude = [\"c\"]\n\
            codec = \"curve\"\nshell = 2\nunit = \"m\"\nmemory = \"1GB\"\nbetween = 4\nparts = \"connected\"\n\
            [[mesh]]\nglob = \"/a\"\ntolerance = 3\nmethod = \"soft\"\nremesh = false\n\
            [[joint]]\nglob = \"j\"\ntolerance = 1\nshell = 2\npinned = true\nlayer = \"l\"\nbias = 3\nstepped = true\n\
            [[layer]]\nname = \"l\"\njoints = [\"x\", \"y\"]\nbelow = 0.5\n\
            [curve]\nknots = \"uniform\"\nrotation-bits = 32\nkeys = \"inserted\"\nrule = \"local\"\n";
        let options = crate::OptionSet::parse(file).unwrap().resolve(None).unwrap();
        assert_eq!(
            keys(&options),
            "tolerance normal-tolerance uv-tolerance scalar-tolerance colour-bits channels method transforms \
             preset block index-every smooth-angle cycle remesh remesh-blend fps range source-fps animation rig \
             lod cull-hidden attributes-apart clips-only include include exclude effort mesh-tolerance \
             mesh-method mesh-remesh codec shell joint-tolerance joint-shell joint-pinned layer layer-auto \
             layer-joints layer-joints joint-layer joint-bias joint-stepped curve-knots curve-rotation-bits \
             curve-keys curve-local show-hidden merge-at"
        );
        assert!(options.to_text().contains("\nblock = lz4\n"));
        assert_eq!(Options::from_text(&options.to_text()).unwrap().to_text(), options.to_text());
    }

    #[test]
    fn nonsense_is_refused() {
        let line = |line: &str| Options::from_text(&format!("tolerance = 1\n{line}"));
        for text in [
            "normal-tolerance = 0",
            "uv-tolerance = nan",
            "scalar-tolerance = -1*range",
            "colour-bits = 17",
            "smooth-angle = sharp",
            "fps = inf",
            "range = 3",
            "clips-only = yes",
            "rig = bake",
            "rig = other",
            "between = 0",
            "lod = -1",
            "include = [",
            "mesh-tolerance = 1",
            "mesh-remesh = 1 /a",
            "shell = 0",
            "joint-tolerance = x j",
            "layer = - - 1",
            "layer = - - 1 a b",
            "layer-auto = 1 1 nobody",
            "joint-bias = -1 c",
            "curve-local = 1 2 alike",
            "line",
            "",
        ] {
            let refused = line(text).is_err();
            assert_eq!(refused, !text.is_empty(), "{text}");
        }
        // Options without effect on the promise may be of a later version; keys not stored are ignored.
        for text in [
            "method = later",
            "preset = later",
            "block = later",
            "effort = 12",
            "index-every = often",
            "codec = later",
            "source-fps = x",
            "mesh-method = later /a",
            "curve-knots = later",
            "jobs = many",
            "later = 3",
            "joint-stepped = [",
        ] {
            assert!(line(text).is_ok(), "{text}");
        }
        assert!(Options::from_text("fps = 3").unwrap_err().to_string().contains("tolerance"));
    }

    mod any {
        use super::*;
        use crate::choices::{
            BlockChoice, CodecChoice, KnotSpacing, MethodChoice, Preset, RigChoice, TransformForm,
        };
        use crate::sections::CurveChoice;
        use meshreel_scene::sample::ChannelSelection;
        use proptest::option::of;
        use proptest::prelude::*;
        use proptest::sample::select;

        fn length() -> impl Strategy<Value = f64> {
            any::<f64>().prop_filter("a length", |v| v.is_finite() && *v > 0.0)
        }

        fn tolerance() -> impl Strategy<Value = Tolerance> {
            prop_oneof![length().prop_map(Tolerance::Absolute), length().prop_map(Tolerance::Relative)]
        }

        fn glob() -> impl Strategy<Value = String> {
            "/?[a-z*?/ é]{1,9}"
        }

        fn range() -> impl Strategy<Value = TimeRange> {
            prop_oneof![
                any::<(usize, usize)>().prop_map(|(a, b)| TimeRange::Frames(a, b)),
                (length(), length()).prop_map(|(a, b)| TimeRange::Seconds(-a, b)),
            ]
        }

        fn general() -> impl Strategy<Value = Options> {
            let promise = (tolerance(), length(), length(), tolerance(), 1..=16u32, of(length()));
            let words = (
                select(vec![MethodChoice::Auto, MethodChoice::Fluid]),
                select(vec![TransformForm::Clip, TransformForm::Packed]),
                select(vec![Preset::Small, Preset::Fast, Preset::Classic]),
                select(vec![BlockChoice::Store, BlockChoice::Deflate, BlockChoice::Lz4hc, BlockChoice::Zstd]),
                select(vec![RigChoice::Bake, RigChoice::Keep, RigChoice::Only]),
                select(vec![
                    CodecChoice::Auto,
                    CodecChoice::Sampled,
                    CodecChoice::Curve,
                    CodecChoice::RandomAccess,
                ]),
            );
            let flags = any::<[bool; 10]>();
            let numbers =
                (of(1..=64usize), of(length()), of(any::<usize>()), of(length()), of(length()), 1..=9u32);
            let texts = (of(range()), of("[^\\p{Cc}]{0,9}"), 0..8u32, prop::collection::vec(glob(), 0..3));
            (promise, words, flags, numbers, texts).prop_map(|(p, w, f, n, t)| Options {
                tolerance: p.0,
                normal_tolerance: p.1,
                uv_tolerance: p.2,
                scalar_tolerance: p.3,
                colour_bits: p.4,
                shell: p.5,
                method: w.0,
                transforms: w.1,
                preset: w.2,
                block: w.3,
                rig: w.4,
                codec: w.5,
                channels: ChannelSelection { normals: f[0], uvs: f[1], colours: f[2], attributes: f[3] },
                cycle: f[4],
                remesh: f[5],
                cull_hidden: f[6],
                attributes_apart: f[7],
                clips_only: f[8],
                show_hidden: f[9],
                index_every: n.0,
                smooth_angle: n.1,
                remesh_blend: n.2,
                fps: n.3,
                source_fps: n.4,
                effort: n.5,
                range: t.0,
                animation: t.1,
                lod: t.2,
                include: t.3.clone(),
                exclude: t.3,
                ..Options::default()
            })
        }

        fn sections() -> impl Strategy<Value = (Vec<MeshOverride>, ClipChoice)> {
            let mesh = (glob(), of(tolerance()), of(any::<bool>()));
            let mesh = mesh.prop_map(|(glob, tolerance, remesh)| MeshOverride {
                glob,
                tolerance,
                remesh,
                ..MeshOverride::default()
            });
            let joint =
                (glob(), of(length()), of(length()), any::<[bool; 2]>(), of("[a-z]{1,3}"), of(length()));
            let joint = joint.prop_map(|(glob, tolerance, shell, flags, layer, bias)| JointOverride {
                glob,
                tolerance,
                shell,
                pinned: flags[0],
                layer,
                bias,
                stepped: flags[1],
            });
            let strip = prop_oneof![
                Just(Strip::None),
                length().prop_map(Strip::Error),
                (0.0..=1.0).prop_map(Strip::Fraction)
            ];
            let part = || of(0.0..=1.0);
            let layer = (prop::collection::vec(glob(), 0..3), part(), part(), of(length()), strip, 1..=8u8);
            let layer = layer.prop_map(|(joints, below, share, rate, strip, tiers)| LayerChoice {
                name: String::new(),
                joints,
                below,
                fraction: share,
                rate,
                strip,
                tiers,
            });
            let local = (any::<bool>(), [of(length()), of(length()), of(length())]);
            let curve =
                (select(vec![KnotSpacing::Uniform, KnotSpacing::Centripetal]), any::<[bool; 2]>(), of(local));
            let curve = curve.prop_map(|(knots, flags, local)| CurveChoice {
                knots,
                short_rotations: flags[0],
                insert_only: flags[1],
                local: local.map(|(adaptive, tolerances)| LocalRule { tolerances, adaptive }),
            });
            let many = (
                prop::collection::vec(mesh, 0..3),
                prop::collection::vec(joint, 0..3),
                prop::collection::vec(layer, 0..3),
                curve,
            );
            many.prop_map(|(meshes, joints, mut layers, curve)| {
                for (i, layer) in layers.iter_mut().enumerate() {
                    layer.name = format!("layer{i}");
                }
                (meshes, ClipChoice { joints, layers, curve })
            })
        }

        proptest! {
            #[test]
            fn what_is_stored_is_read_again(general in general(), (meshes, clips) in sections()) {
                let options = Options { meshes, clips, ..general };
                let read = Options::from_text(&options.to_text()).unwrap();
                prop_assert_eq!(read.to_text(), options.to_text());
                // Sections come back one value at a time, the rest as it was.
                prop_assert_eq!(&read.clips.layers, &options.clips.layers);
                prop_assert_eq!(&read.clips.curve, &options.clips.curve);
                let classic = options.preset == Preset::Classic;
                let stored = Options {
                    index_every: Some(options.index_every()),
                    block: if classic { options.block } else { BlockChoice::Zstd },
                    between: BetweenChoice::Off,
                    meshes: read.meshes.clone(),
                    clips: read.clips.clone(),
                    ..options
                };
                prop_assert_eq!(read, stored);
            }

            #[test]
            fn no_text_is_too_much(text in "([a-z-]{1,12} = [^\\p{Cc}]{0,12}\n){0,6}") {
                let _ = Options::from_text(&text);
            }
        }
    }
}
