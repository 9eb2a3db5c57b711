//! Options as they are stored in a file: everything that changes content, one `key = value` per line.

use crate::options::{
    ClipChoice, CodecChoice, MethodChoice, Options, Preset, RigChoice, Strip, Tolerance, TransformForm,
};
use meshreel_codec::clip::curve::Knots;
use meshreel_scene::sample::Range;

impl Options {
    /// Everything that changes content, one `key = value` per line, keys as on the command line. StreamedClip in
    /// the file, so that a checker needs nothing else, but what holds between frames, which follows from the
    /// source, too. f64 prints shortest and reads back exactly.
    pub fn to_text(&self) -> String {
        use std::fmt::Write;
        let mut text = String::new();
        let mut line = |key: &str, value: String| {
            let _ = writeln!(text, "{key} = {value}");
        };
        line("tolerance", tolerance(self.tolerance));
        line("normal-tolerance", format!("{}", self.normal_tolerance));
        line("uv-tolerance", format!("{}", self.uv_tolerance));
        match self.scalar_tolerance {
            // What stands there when nobody said anything.
            Tolerance::Relative(1e-4) => {}
            Tolerance::Relative(t) => line("scalar-tolerance", format!("{t}*range")),
            Tolerance::Absolute(t) => line("scalar-tolerance", format!("{t}")),
        }
        line("colour-bits", format!("{}", self.colour_bits));
        let mut channels = vec!["positions"];
        channels.extend(self.channels.normals.then_some("normals"));
        channels.extend(self.channels.uvs.then_some("uvs"));
        channels.extend(self.channels.colours.then_some("colours"));
        channels.extend(self.channels.attributes.then_some("attributes"));
        line("channels", channels.join(","));
        line("method", method(self.method));
        if self.transforms == TransformForm::Packed {
            line("transforms", "packed".into());
        }
        line("preset", self.preset.name().into());
        if self.preset == Preset::Classic {
            line("block", format!("{:?}", self.block).to_lowercase());
        }
        line("index-every", format!("{}", self.index_every()));
        if let Some(angle) = self.smooth_angle {
            line("smooth-angle", format!("{angle}"));
        }
        self.frame_lines(&mut line);
        self.selection_lines(&mut line);
        self.clips.lines(&mut line);
        text
    }

    fn frame_lines(&self, line: &mut dyn FnMut(&str, String)) {
        if self.cycle {
            line("cycle", "true".into());
        }
        if self.remesh {
            line("remesh", "true".into());
        }
        if let Some(frames) = self.remesh_blend {
            line("remesh-blend", format!("{frames}"));
        }
        if let Some(fps) = self.fps {
            line("fps", format!("{fps}"));
        }
        match self.range {
            Some(Range::Frames(a, b)) => line("range", format!("{a}:{b}")),
            Some(Range::Seconds(a, b)) => line("range", format!("{a}s:{b}s")),
            None => {}
        }
        if let Some(fps) = self.source_fps {
            line("source-fps", format!("{fps}"));
        }
        if let Some(animation) = &self.animation {
            line("animation", animation.clone());
        }
        match self.rig {
            RigChoice::Bake => {}
            RigChoice::Keep => line("rig", "keep".into()),
            RigChoice::Only => line("rig", "only".into()),
        }
        if self.lod > 0 {
            line("lod", format!("{}", self.lod));
        }
        if self.cull_hidden {
            line("cull-hidden", "true".into());
        }
        if self.attributes_apart {
            line("attributes-apart", "true".into());
        }
        if self.clips_only {
            line("clips-only", "true".into());
        }
    }

    fn selection_lines(&self, line: &mut dyn FnMut(&str, String)) {
        for glob in &self.include {
            line("include", glob.clone());
        }
        for glob in &self.exclude {
            line("exclude", glob.clone());
        }
        line("effort", format!("{}", self.effort));
        for over in &self.meshes {
            if let Some(t) = over.tolerance {
                line("mesh-tolerance", format!("{} {}", tolerance(t), over.glob));
            }
            if let Some(m) = over.method {
                line("mesh-method", format!("{} {}", method(m), over.glob));
            }
            if let Some(remesh) = over.remesh {
                line("mesh-remesh", format!("{remesh} {}", over.glob));
            }
        }
    }
}

fn tolerance(t: Tolerance) -> String {
    match t {
        Tolerance::Absolute(t) => format!("{t}"),
        Tolerance::Relative(t) => format!("{t}*diagonal"),
    }
}

fn method(m: MethodChoice) -> String {
    format!("{m:?}").to_lowercase()
}

impl ClipChoice {
    fn layer_lines(&self, line: &mut dyn FnMut(&str, String)) {
        let number = |v: Option<f64>| v.map_or("-".to_string(), |v| format!("{v}"));
        for layer in &self.layers {
            let strip = match layer.strip {
                Strip::None => "-".into(),
                Strip::Error(e) => format!("{e}"),
                Strip::Share(s) => format!("{s}*samples"),
            };
            let (rate, tiers) = (number(layer.rate), layer.tiers);
            line("layer", format!("{rate} {strip} {tiers} {}", layer.name));
            if layer.below.or(layer.share).is_some() {
                let (below, share) = (number(layer.below), number(layer.share));
                line("layer-auto", format!("{below} {share} {}", layer.name));
            }
            for glob in &layer.joints {
                line("layer-joints", format!("{} {glob}", layer.name));
            }
        }
        for over in &self.joints {
            if let Some(layer) = &over.layer {
                line("joint-layer", format!("{layer} {}", over.glob));
            }
            if let Some(bias) = over.bias {
                line("joint-bias", format!("{bias} {}", over.glob));
            }
            if over.stepped {
                line("joint-stepped", over.glob.clone());
            }
        }
    }

    fn lines(&self, line: &mut dyn FnMut(&str, String)) {
        match self.codec {
            CodecChoice::Auto => {}
            CodecChoice::Sampled => line("codec", "sampled".into()),
            CodecChoice::Curve => line("codec", "curve".into()),
        }
        if let Some(shell) = self.shell {
            line("shell", format!("{shell}"));
        }
        for over in &self.joints {
            if let Some(t) = over.tolerance {
                line("joint-tolerance", format!("{t} {}", over.glob));
            }
            if let Some(shell) = over.shell {
                line("joint-shell", format!("{shell} {}", over.glob));
            }
            if over.pinned {
                line("joint-pinned", over.glob.clone());
            }
        }
        self.layer_lines(line);
        let curve = &self.curve;
        if curve.knots != Knots::default() {
            line("curve-knots", format!("{:?}", curve.knots).to_lowercase());
        }
        if curve.short {
            line("curve-rotation-bits", "32".into());
        }
        if curve.plain {
            line("curve-keys", "inserted".into());
        }
        if let Some(local) = &curve.local {
            let own = |t: Option<f64>| t.map_or("-".into(), |t| format!("{t}"));
            let [r, t, s] = local.tolerances.map(own);
            let up = if local.adaptive { "adaptive" } else { "alike" };
            line("curve-local", format!("{r} {t} {s} {up}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::MeshOverride;

    #[test]
    fn what_is_stored_says_everything_once() {
        let options = Options {
            tolerance: Tolerance::Absolute(0.1 + 0.2),
            range: Some(Range::Seconds(0.5, 2.0)),
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
        // What a run uses but the content does not depend on stays out.
        for key in ["jobs", "memory", "strict", "strip", "source-map"] {
            assert!(!text.contains(key), "{key}");
        }
        let count = lines.len();
        lines.sort();
        lines.dedup();
        assert_eq!(lines.len(), count);
    }
}
