//! Which objects are compiled, told by globs over the paths of their nodes.

use crate::options::globs::{glob, globs, hit};
use crate::{Error, Options, PartsChoice};
use globset::GlobSet;
use meshreel_scene::{Placed, Remark, Scene};

/// `--include` and `--exclude`.
pub struct Selection {
    include: GlobSet,
    exclude: GlobSet,
}

impl Selection {
    pub fn new(options: &Options) -> Result<Selection, Error> {
        Ok(Selection {
            include: globs("--include", &options.include)?,
            exclude: globs("--exclude", &options.exclude)?,
        })
    }

    /// Remarks on globs that match none of the `paths` of meshes: a slip, most of the time. `alone`: there
    /// are no clips, whose joints `--include` and `--exclude` may be for.
    pub fn unused<'a>(
        options: &Options,
        alone: bool,
        paths: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<Vec<Remark>, Error> {
        let mut remarks = Vec::new();
        for (flag, list) in [("--include", &options.include), ("--exclude", &options.exclude)] {
            for text in list {
                let set = globs(flag, std::slice::from_ref(text))?;
                if alone && !paths.clone().any(|path| hit(&set, path)) {
                    remarks.push(Remark::new(text, format!("{flag} matches no node")));
                }
            }
        }
        for over in &options.meshes {
            let glob = glob("the glob of a mesh section", &over.glob)?;
            if !paths.clone().any(|path| glob.is_match(path)) {
                remarks
                    .push(Remark::new(&over.glob, "matches no mesh: what is wanted of it is wanted of none"));
            }
        }
        Ok(remarks)
    }

    /// Whether the object at `path` is compiled.
    pub fn has(&self, path: &str) -> bool {
        (self.include.is_empty() || hit(&self.include, path)) && !hit(&self.exclude, path)
    }
}

/// A name of an attribute that no mesh has is a mistake; some may lack it.
pub fn named_parts(
    scene: &Scene,
    options: &Options,
    placed: &[Placed],
    selected: &[bool],
) -> Result<(), Error> {
    let meshes = || {
        let chosen = placed.iter().zip(selected).filter(|(_, s)| **s);
        let mesh = |place: &Placed| scene.nodes[place.node].mesh;
        chosen.filter_map(move |(place, _)| Some(&scene.meshes[mesh(place)?]))
    };
    let sections = options.meshes.iter().filter_map(|o| o.parts.as_ref());
    for parts in sections.chain([&options.parts]) {
        let PartsChoice::Attribute(name) = parts else {
            continue;
        };
        if crate::method::skin::names(meshes()).contains(name) {
            continue;
        }
        let there = match &crate::method::skin::names(meshes())[..] {
            [] => "none has any".to_owned(),
            names => format!("there are {}", names.join(", ")),
        };
        return Err(Error::misuse(format!(
            "--parts attribute:{name}: no mesh has whole numbers or names of that name on faces or points; {there}"
        )));
    }
    Ok(())
}
