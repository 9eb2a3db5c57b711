//! Checks of options: nonsensical values and combinations are refused before anything is read.

use crate::Error;
use crate::choices::{
    BetweenChoice, CodecChoice, MethodChoice, PartsChoice, Preset, RigChoice, TransformForm,
};
use crate::sections::{ClipChoice, JointOverride, LayerChoice, Strip};
use crate::table::{Options, bounds};
use crate::units::Tolerance;

/// Refuses a number outside the bounds of its key; `least` replaces the lower bound if given.
fn check_number(key: &str, number: usize, least: Option<i64>) -> Result<(), Error> {
    let (low, high) = bounds(key).unwrap_or((0, i64::MAX));
    let low = least.unwrap_or(low);
    match i64::try_from(number).is_ok_and(|number| (low..=high).contains(&number)) {
        true => Ok(()),
        false => Err(Error::misuse(format!("--{key} must be {low} to {high}, not {number}"))),
    }
}

impl Options {
    /// Refuses nonsensical values and combinations.
    pub fn check(&self) -> Result<(), Error> {
        let positive = |what: &str, v: f64| match v.is_finite() && v > 0.0 {
            true => Ok(()),
            false => Err(Error::misuse(format!("{what} must be a positive number, not {v}"))),
        };
        let (Tolerance::Absolute(t) | Tolerance::Relative(t)) = self.tolerance;
        positive("--tolerance", t)?;
        for over in &self.meshes {
            if let Some(Tolerance::Absolute(t) | Tolerance::Relative(t)) = over.tolerance {
                positive("tolerance of a mesh section", t)?;
            }
        }
        if let Some(animation) = &self.animation
            && animation.contains(char::is_control)
        {
            return Err(Error::misuse(
                "--animation: a name with line breaks or other control characters; give the animation's number",
            ));
        }
        if self.rig != RigChoice::Bake && self.strip {
            return Err(Error::misuse(
                "--rig and --strip: rigs are checked by the source map; leave one of both out",
            ));
        }
        self.check_parts()?;
        self.check_remesh()?;
        self.check_globs()?;
        self.clips.check(self.codec, self.shell)?;
        positive("--normal-tolerance", self.normal_tolerance)?;
        positive("--uv-tolerance", self.uv_tolerance)?;
        let (Tolerance::Absolute(t) | Tolerance::Relative(t)) = self.scalar_tolerance;
        positive("--scalar-tolerance", t)?;
        check_number("colour-bits", self.colour_bits as usize, None)?;
        check_number("index-every", self.index_every(), None)?;
        if self.preset != Preset::Classic && !self.index_every().is_multiple_of(16) {
            return Err(Error::misuse(format!(
                "--index-every must be a multiple of 16 with --preset {}, not {}",
                self.preset.name(),
                self.index_every()
            )));
        }
        // 0 (no LOD) is the default, although it cannot be given.
        check_number("lod", self.lod as usize, Some(0))?;
        self.check_meshes_only()?;
        check_number("effort", self.effort as usize, None)?;
        if let Some(angle) = self.smooth_angle
            && !(0.0..=180.0).contains(&angle)
        {
            return Err(Error::misuse(format!("--smooth-angle must be 0 to 180 degrees, not {angle}")));
        }
        if let Some(fps) = self.fps {
            positive("--fps", fps)?;
        }
        let least = BetweenChoice::MIN_MULTIPLE;
        match self.between {
            BetweenChoice::Within(multiple) if !(multiple >= least && multiple.is_finite()) => {
                Err(Error::misuse(format!(
                    "--between must be off, or tolerances from {least} on, not {multiple}"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Checks parts, bones and the form of their transforms.
    fn check_parts(&self) -> Result<(), Error> {
        let methods = self.meshes.iter().filter_map(|over| over.method);
        let bones = |m: MethodChoice| matches!(m, MethodChoice::Rigid | MethodChoice::Skinned);
        if self.preset == Preset::Classic && self.transforms == TransformForm::Packed {
            return Err(Error::misuse(
                "--preset classic has no parts, so no packed transforms: leave --transforms away, or take --preset small",
            ));
        }
        if self.preset == Preset::Classic && methods.chain([self.method]).any(bones) {
            return Err(Error::misuse(
                "--preset classic has no methods rigid and skinned: leave --method away, or take --preset small",
            ));
        }
        let told = |parts: Option<&PartsChoice>| parts.is_some_and(|p| *p != PartsChoice::Auto);
        let sections = self.meshes.iter();
        let pairs = (sections.map(|over| (over.parts.as_ref(), over.method)))
            .chain([(Some(&self.parts), Some(self.method))]);
        for (parts, method) in pairs.filter(|(parts, _)| told(*parts)) {
            if self.preset == Preset::Classic {
                return Err(Error::misuse(
                    "--preset classic has no parts: leave --parts away, or take --preset small",
                ));
            }
            if let Some(method) = method.filter(|m| !matches!(m, MethodChoice::Auto) && !bones(*m)) {
                let name = method.name();
                return Err(Error::misuse(format!(
                    "--parts says what is rigid, --method {name} has no parts: leave one of them away"
                )));
            }
            if let Some(PartsChoice::Attribute(name)) = parts
                && (name.is_empty() || name.contains(char::is_control))
            {
                return Err(Error::misuse(format!("--parts attribute:{name:?} is no name")));
            }
        }
        Ok(())
    }

    /// Checks globs: they are stored one per line.
    fn check_globs(&self) -> Result<(), Error> {
        let joints = self.clips.joints.iter().map(|over| &over.glob);
        let sections = self.meshes.iter().map(|over| &over.glob).chain(joints);
        for glob in self.include.iter().chain(&self.exclude).chain(sections) {
            if glob.contains(char::is_control) {
                return Err(Error::misuse(format!("a glob with a control character in it: {glob:?}")));
            }
        }
        Ok(())
    }

    /// Checks options that only meshes have, and only with some presets.
    fn check_meshes_only(&self) -> Result<(), Error> {
        if self.cull_hidden && self.clips_only {
            return Err(Error::misuse(
                "--cull-hidden is for meshes, --clips-only leaves them out: leave one of them away",
            ));
        }
        if self.attributes_apart && self.preset == Preset::Classic {
            return Err(Error::misuse(
                "--preset classic keeps attributes with the rest of its frames: leave --attributes-apart away, or take --preset small or fast",
            ));
        }
        if self.attributes_apart && self.clips_only {
            return Err(Error::misuse(
                "--attributes-apart is for meshes, --clips-only leaves them out: leave one of them away",
            ));
        }
        if self.lod > 0 && self.clips_only {
            return Err(Error::misuse(
                "--lod is for meshes, --clips-only leaves them out: leave one of them away",
            ));
        }
        Ok(())
    }

    fn check_remesh(&self) -> Result<(), Error> {
        let general = (Some(self.remesh), Some(self.method));
        let sections = self.meshes.iter().map(|over| (over.remesh, over.method));
        let fluid = |(remesh, method)| (remesh, method) == (Some(true), Some(MethodChoice::Fluid));
        if sections.clone().chain([general]).any(fluid) {
            return Err(Error::misuse(
                "--remesh makes faces that stay, --method fluid is for faces that change: leave one of them away",
            ));
        }
        let any = self.remesh || sections.into_iter().any(|(remesh, _)| remesh == Some(true));
        match self.remesh_blend {
            Some(_) if !any => Err(Error::misuse(
                "--remesh-blend says how loops of --remesh are blended: add --remesh, or leave it away",
            )),
            Some(_) if !self.cycle => {
                Err(Error::misuse("--remesh-blend is for loops: add --cycle, or leave it away"))
            }
            _ => Ok(()),
        }
    }
}

impl ClipChoice {
    fn check(&self, codec: CodecChoice, shell: Option<f64>) -> Result<(), Error> {
        let length = |what: &str, v: Option<f64>| match v {
            Some(v) if !(v > 1e-15 && v < 1e15) => {
                Err(Error::misuse(format!("{what} must be a length above zero, not {v}")))
            }
            _ => Ok(()),
        };
        length("--shell", shell)?;
        for over in &self.joints {
            length("the tolerance of a joint section", over.tolerance)?;
            length("the shell of a joint section", over.shell)?;
        }
        self.check_layers(codec)?;
        let pinned = self.joints.iter().any(|over| over.pinned);
        match &self.curve.local {
            None if pinned => Err(Error::misuse(
                "pinned joints are for the local rule of curves; add rule = \"local\" to [curve], or give them a smaller tolerance",
            )),
            None => Ok(()),
            Some(_) if codec != CodecChoice::Curve => Err(Error::misuse(
                "the local rule is for --codec curve alone: it promises other things than codec sampled",
            )),
            Some(_) if self.joints.iter().any(|over| over.tolerance.is_some()) => Err(Error::misuse(
                "tolerances of single joints are for the guaranteed rule; the local one has a tolerance for each kind of sub-track",
            )),
            Some(local) => {
                let names = ["rotation", "translation", "scale"];
                (names.iter().zip(local.tolerances))
                    .try_for_each(|(name, t)| length(&format!("{name}-tolerance"), t))
            }
        }
    }

    fn check_layers(&self, codec: CodecChoice) -> Result<(), Error> {
        let wrong = |name: &str, what: String| Err(Error::misuse(format!("layer {name:?}: {what}")));
        let divided = !self.layers.is_empty() || self.joints.iter().any(|over| over.stepped);
        if divided && codec == CodecChoice::Curve {
            return Err(Error::misuse("layers are for codec sampled; leave --codec curve out"));
        }
        let thinned =
            |layer: &&LayerChoice| layer.tiers > 1 || layer.rate.is_some() || layer.strip != Strip::None;
        if codec == CodecChoice::RandomAccess
            && let Some(layer) = self.layers.iter().find(thinned)
        {
            return wrong(
                &layer.name,
                "tiers, rate and strip are for codec sampled: with --codec random-access every sample of a layer stands by itself; leave them out, or the codec".into(),
            );
        }
        for (l, layer) in self.layers.iter().enumerate() {
            let name = &layer.name;
            if name.is_empty() || name.contains(|c: char| c.is_control() || c == ' ') {
                return wrong(name, "a name without blanks is needed".into());
            }
            if self.layers[..l].iter().any(|other| other.name == *name) {
                return wrong(name, "there is one of that name already".into());
            }
            let part = |v: Option<f64>| v.is_none_or(|v| (0.0..=1.0).contains(&v));
            if !part(layer.below) || !part(layer.fraction) {
                return wrong(name, "below and share are 0 to 1".into());
            }
            if l == 0 && (layer.below.or(layer.fraction).is_some()) {
                return wrong(
                    name,
                    "the first layer is the base, which has all that no other layer takes".into(),
                );
            }
            if layer.rate.is_some_and(|r| !(r > 0.0 && r.is_finite())) {
                return wrong(name, "rate is samples per second, above zero".into());
            }
            if !(1..=8).contains(&layer.tiers) {
                return wrong(name, format!("tiers is 1 to 8, not {}", layer.tiers));
            }
            let sane = match layer.strip {
                Strip::None => true,
                Strip::Error(e) => (0.0..1e15).contains(&e),
                Strip::Fraction(s) => (0.0..=1.0).contains(&s),
            };
            if !sane {
                return wrong(name, "strip is a length, or a percentage up to 100%".into());
            }
            if layer.joints.iter().any(|glob| glob.contains(char::is_control)) {
                return wrong(name, "a glob with a control character in it".into());
            }
        }
        let bias = |over: &&JointOverride| over.bias.is_some_and(|b| !(b >= 0.0 && b.is_finite()));
        match self.joints.iter().find(bias) {
            Some(over) => Err(Error::misuse(format!("joint {}: bias is a number from 0 on", over.glob))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sections::MeshOverride;

    #[test]
    fn nonsense_is_refused() {
        type Change = fn(&mut Options);
        let good: [Change; 6] = [
            |_| {},
            |o| o.tolerance = Tolerance::Absolute(1e-30),
            |o| o.smooth_angle = Some(0.0),
            |o| (o.colour_bits, o.index_every, o.effort) = (16, Some(64), 9),
            |o| o.fps = Some(0.001),
            |o| (o.jobs, o.memory) = (0, 0),
        ];
        for change in good {
            let mut options = Options::default();
            change(&mut options);
            options.check().unwrap();
        }
        let bad: [Change; 20] = [
            |o| (o.attributes_apart, o.preset) = (true, Preset::Classic),
            |o| (o.parts, o.method) = (PartsChoice::Analyse, MethodChoice::Soft),
            |o| (o.parts, o.preset) = (PartsChoice::Connected, Preset::Classic),
            |o| o.parts = PartsChoice::Attribute(String::new()),
            |o| o.include = vec!["/a\neffort = 9".into()],
            |o| o.tolerance = Tolerance::Absolute(0.0),
            |o| o.tolerance = Tolerance::Relative(-1.0),
            |o| o.tolerance = Tolerance::Relative(f64::NAN),
            |o| o.tolerance = Tolerance::Absolute(f64::INFINITY),
            |o| o.normal_tolerance = 0.0,
            |o| o.uv_tolerance = f64::NAN,
            |o| o.colour_bits = 0,
            |o| o.colour_bits = 17,
            |o| o.index_every = Some(0),
            |o| o.index_every = Some(65),
            |o| o.effort = 0,
            |o| o.effort = 10,
            |o| o.smooth_angle = Some(f64::NAN),
            |o| o.fps = Some(f64::INFINITY),
            |o| {
                o.meshes = vec![MeshOverride {
                    glob: "*".into(),
                    tolerance: Some(Tolerance::Absolute(0.0)),
                    method: None,
                    parts: None,
                    remesh: None,
                }]
            },
        ];
        for (i, change) in bad.into_iter().enumerate() {
            let mut options = Options::default();
            change(&mut options);
            assert!(matches!(options.check(), Err(Error::Misuse { .. })), "{i}");
        }
    }
}
