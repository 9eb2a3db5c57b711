//! The selection of objects by globs over the paths of their nodes.

use crate::Error;
use crate::report::Log;
use globset::GlobSet;
use meshreel_options::globs::{glob, glob_matches, globs};
use meshreel_options::{Options, PartsChoice};
use meshreel_scene::{PlacedObject, Remark, Scene, node_clip};

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

    /// Returns remarks on globs that match none of the `paths` of meshes, mostly a mistake. `alone`: there
    /// are no clips, whose joints `--include` and `--exclude` may be for.
    pub fn unused_glob_remarks<'a>(
        options: &Options,
        alone: bool,
        paths: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<Vec<Remark>, Error> {
        let mut remarks = Vec::new();
        for (flag, list) in [("--include", &options.include), ("--exclude", &options.exclude)] {
            for text in list {
                let set = globs(flag, std::slice::from_ref(text))?;
                if alone && !paths.clone().any(|path| glob_matches(&set, path)) {
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

    /// Returns `true` if the object at `path` is compiled.
    pub fn selects(&self, path: &str) -> bool {
        (self.include.is_empty() || glob_matches(&self.include, path)) && !glob_matches(&self.exclude, path)
    }
}

/// Returns an error if no mesh has an attribute of a name given in the options; some meshes may lack it.
pub fn check_named_parts(
    scene: &Scene,
    options: &Options,
    placed: &[PlacedObject],
    selected: &[bool],
) -> Result<(), Error> {
    let meshes = || {
        let chosen = placed.iter().zip(selected).filter(|(_, s)| **s);
        let mesh = |place: &PlacedObject| scene.nodes[place.node].mesh;
        chosen.filter_map(move |(place, _)| Some(&scene.meshes[mesh(place)?]))
    };
    let sections = options.meshes.iter().filter_map(|o| o.parts.as_ref());
    for parts in sections.chain([&options.parts]) {
        let PartsChoice::Attribute(name) = parts else {
            continue;
        };
        if crate::method::skin::hint_names(meshes()).contains(name) {
            continue;
        }
        let there = match &crate::method::skin::hint_names(meshes())[..] {
            [] => "none has any".to_owned(),
            names => format!("there are {}", names.join(", ")),
        };
        return Err(Error::misuse(format!(
            "--parts attribute:{name}: no mesh has whole numbers or names of that name on faces or points; {there}"
        )));
    }
    Ok(())
}

/// The placed objects that are compiled.
pub struct SelectedObjects {
    /// By placed object, `true` if its mesh is compiled.
    pub meshes: Vec<bool>,
    /// By placed object, `true` if it is a compiled locator.
    pub locators: Vec<bool>,
    /// By placed object, `true` if it is either.
    pub any: Vec<bool>,
}

/// With `--clips-only`, returns the scene with only its clips.
pub fn clips_only(scene: &Scene, options: &Options, log: &mut Log) -> Result<Option<Scene>, Error> {
    if !options.clips_only {
        return Ok(None);
    }
    let selection = Selection::new(options)?;
    let selected = |path: &str| selection.selects(path);
    Ok(Some(node_clip::clips_only(scene, &selected, &mut log.remarks)?))
}

/// Selects the placed objects whose meshes are compiled, and the locators.
pub fn select(
    scene: &Scene,
    placed: &[PlacedObject],
    options: &Options,
    log: &mut Log,
) -> Result<SelectedObjects, Error> {
    let selection = Selection::new(options)?;
    let locators = meshreel_scene::locators::find(scene, placed, &|_| true);
    let nodes = (placed.iter().zip(&locators))
        .filter(|(place, locator)| **locator || scene.nodes[place.node].mesh.is_some());
    let paths = nodes.map(|(place, _)| &place.path[..]);
    log.remarks.extend(Selection::unused_glob_remarks(options, scene.clips.is_empty(), paths)?);
    let mut meshes = vec![false; placed.len()];
    let mut all = 0;
    for (i, place) in placed.iter().enumerate() {
        let Some(mesh) = scene.nodes[place.node].mesh else {
            continue;
        };
        all += 1;
        if selection.selects(&place.path) {
            meshes[i] = !scene.meshes[mesh].positions.is_empty();
            if !meshes[i] {
                log.remark(&place.path, "has no samples of points and is left out");
            }
        }
    }
    let count = meshes.iter().filter(|s| **s).count();
    let has = |(place, locator): (&PlacedObject, bool)| locator && selection.selects(&place.path);
    let locators: Vec<bool> = placed.iter().zip(locators).map(has).collect();
    let said = match locators.iter().filter(|l| **l).count() {
        0 if count == 0 => return Err(nothing_selected(all)),
        0 => String::new(),
        others => format!(", {others} locators (nodes without meshes)"),
    };
    log.pass("select", format!("{count} of {all} placed meshes{said}"));
    check_named_parts(scene, options, placed, &meshes)?;
    let any = meshes.iter().zip(&locators).map(|(s, l)| *s || *l).collect();
    Ok(SelectedObjects { meshes, locators, any })
}

/// Returns the error of a selection without any of the `all` meshes, and without a locator.
fn nothing_selected(all: usize) -> Error {
    let what = match all {
        0 => "there is no mesh with samples in the input, no points, curves, camera or locator: nothing to compile"
            .to_owned(),
        _ => format!("none of the {all} meshes is left to compile (check --include and --exclude)"),
    };
    Error::Unsupported { what }
}
