//! Value clip sets of prims, each a dictionary to which several layers may contribute.

use super::assets::Assets;
use super::clips::{ClipFile, ClipSet, ClipSetFiles, OpenClips};
use super::layer::Layer;
use super::specs::ValueRef;
use super::stack::{Stacks, abbreviated};
use super::value::{ListEdit, Retime, Value};
use meshreel_scene::Error;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Upper limit for the clip files of a scene.
const MAX_FILES: usize = 1 << 16;
/// Upper limit for the pairs of `active` and `times`.
const MAX_PAIRS: usize = 1 << 20;
/// Times of a template are counted in these fractions of a time code, so that rounding errors do not add up.
const STEPS_PER_TIME_CODE: f64 = 10_000.0;

/// One dictionary of clip sets, and its location.
pub struct ClipDictionary {
    /// The index of the site, and of the layer in its stack.
    pub site: usize,
    pub layer_index: usize,
    pub layer: Arc<Layer>,
    /// Maps the layer's time codes to those of the scene.
    pub retime: Retime,
    /// The fields `clips` and `clipSets`.
    pub clips: Option<Value>,
    pub order: Option<Value>,
}

/// A clip set while its parts are collected, strongest first.
#[derive(Default)]
struct ClipSetDraft {
    /// Site and layer of the strongest opinion that names files; the set belongs there.
    anchor: Option<(usize, usize)>,
    fields: HashMap<Arc<str>, (Arc<Layer>, ValueRef, Retime)>,
    rank: usize,
}

/// State shared by all clip sets of a scene.
#[derive(Default)]
pub struct ClipSets {
    pub open_clips: Arc<OpenClips>,
    /// The number of sets made so far, and of their files.
    count: usize,
    files: usize,
}

/// A set, and the index of the site it belongs to.
pub type SitedClipSet = (usize, Arc<ClipSet>);

impl ClipSets {
    /// Makes the clip sets of a prim, in order within each site. `sources`: the dictionaries, strongest
    /// first. `sites`: stack and path of each site. `step`: how long before a jump of times the old value
    /// still holds, in time codes.
    pub fn compose(
        &mut self,
        stacks: &mut Stacks,
        at: &str,
        sources: &[ClipDictionary],
        sites: &[(usize, Arc<str>)],
        step: f64,
    ) -> Result<Vec<SitedClipSet>, Error> {
        let mut drafts: BTreeMap<Arc<str>, ClipSetDraft> = BTreeMap::new();
        let mut next = 0;
        while let Some(first) = sources.get(next) {
            let count = sources[next..].iter().take_while(|own| own.site == first.site).count();
            add_site_dictionaries(&sources[next..next + count], &mut drafts)?;
            next += count;
        }
        let mut drafts: Vec<(Arc<str>, ClipSetDraft)> = drafts.into_iter().collect();
        drafts.sort_by_key(|(_, draft)| (draft.anchor, draft.rank));
        let mut out = Vec::new();
        for (name, draft) in drafts {
            let Some((site, layer)) = draft.anchor else {
                continue;
            };
            let (stack, source) = &sites[site];
            let from = stacks.stacks[*stack].layers[layer].name.clone();
            match self.set(stacks, (at, &from), &draft, (layer, source), step)? {
                Ok(set) => out.extend(set.map(|set| (site, Arc::new(set)))),
                Err(what) => {
                    stacks.remark(at, format!("its value clips '{}' {what}; left out", abbreviated(&name)));
                }
            }
        }
        Ok(out)
    }

    /// Makes one set; `None` if it has no clips. The inner error is a sentence on what is wrong with it.
    fn set(
        &mut self,
        stacks: &mut Stacks,
        (at, from): (&str, &str),
        draft: &ClipSetDraft,
        (layer, source): (usize, &Arc<str>),
        step: f64,
    ) -> Result<Result<Option<ClipSet>, String>, Error> {
        let prim = draft.text("primPath")?;
        let Some(prim) = prim.filter(|path| path.starts_with('/') && path.len() > 1 && !path.contains('.'))
        else {
            return Ok(Err("do not say by `primPath` which prim of the clips they mean".into()));
        };
        let made = match draft.fields.contains_key("assetPaths") {
            true => self.listed(stacks, (at, from), draft)?,
            false => self.template(stacks, from, draft)?,
        };
        let (list, mut active, mut times) = match made {
            Ok(made) => made,
            Err(what) => return Ok(Err(what)),
        };
        if list.is_empty() || active.is_empty() {
            return Ok(Ok(None));
        }
        active.sort_by(|a, b| a.0.total_cmp(&b.0));
        if active.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Ok(Err("have two clips that are active at one time".into()));
        }
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        if times.windows(3).any(|three| three[0].0 == three[2].0) {
            return Ok(Err("have more than two entries of `times` at one time".into()));
        }
        let manifest = match draft.text("manifestAssetPath")? {
            Some(asset) if !asset.is_empty() => match Assets::resolve(from, &asset) {
                Ok(name) => match stacks.layer_alone(&name)? {
                    Ok(layer) => Some(layer),
                    Err(what) => {
                        let what = format!(
                            "the manifest '{}' of its value clips {what}; read without it",
                            abbreviated(&asset)
                        );
                        stacks.remark(at, what);
                        None
                    }
                },
                Err(what) => {
                    return Ok(Err(format!("have a manifest '{}' that {what}", abbreviated(&asset))));
                }
            },
            _ => None,
        };
        let interpolates = draft.number("interpolateMissingClipValues")?.is_some_and(|number| number != 0.0);
        let files = Arc::new(ClipSetFiles { list, open_clips: self.open_clips.clone() });
        let (source, index) = (source.clone(), Mutex::default());
        self.count += 1;
        let id = self.count;
        Ok(Ok(Some(ClipSet {
            id,
            layer,
            scene_path: at.into(),
            stack_path: source,
            clip_path: prim,
            files,
            active,
            times,
            step,
            manifest,
            interpolates,
            index,
        })))
    }

    /// Reads a list of files, and the times at which each becomes active.
    fn listed(
        &mut self,
        stacks: &mut Stacks,
        (at, from): (&str, &str),
        draft: &ClipSetDraft,
    ) -> Result<Result<ClipSetParts, String>, Error> {
        let Some((layer, value, _)) = draft.fields.get("assetPaths") else {
            return Ok(Err("have no files".into()));
        };
        self.reserve(layer, layer.length(*value)?)?;
        let names = layer.value(*value)?.texts();
        let (Some(active), times) = (draft.pairs("active")?, draft.pairs("times")?.unwrap_or_default())
        else {
            return Ok(Err("do not say by `active` when they are".into()));
        };
        if active.iter().any(|(_, number)| !(*number >= 0.0 && *number < names.len() as f64)) {
            return Ok(Err("have a number in `active` that is none of their files'".into()));
        }
        let mut list = Vec::with_capacity(names.len());
        for name in &names {
            let found = match Assets::resolve(from, name) {
                Err(what) => Err(what.into()),
                Ok(name) => stacks.clip(&name)?,
            };
            if let Err(what) = &found {
                let what = format!("its value clip '{}' {what}; it has no values then", abbreviated(name));
                stacks.remark(at, what);
            }
            list.push(found.ok());
        }
        let active = active.into_iter().map(|(time, number)| (time, number as usize)).collect();
        Ok(Ok((list, active, times)))
    }

    /// Finds the files that match a name with `#` for the time; missing ones are skipped silently.
    fn template(
        &mut self,
        stacks: &mut Stacks,
        from: &str,
        draft: &ClipSetDraft,
    ) -> Result<Result<ClipSetParts, String>, Error> {
        let number = |name: &str| draft.number(name);
        let (Some(pattern), Some(start), Some(end), Some(stride)) = (
            draft.text("templateAssetPath")?,
            number("templateStartTime")?,
            number("templateEndTime")?,
            number("templateStride")?,
        ) else {
            return Ok(Err("have a template without start, end or stride".into()));
        };
        let offset = number("templateActiveOffset")?;
        let Some(pattern) = TemplatePattern::parse(&pattern) else {
            return Ok(Err(
                "have a template whose name is not of the form `name.###.usd` or `name.##.##.usd`".into(),
            ));
        };
        let usable = stride > 0.0 && start.is_finite() && end.is_finite() && start <= end;
        if !usable || offset.is_some_and(|offset| offset.is_nan() || offset.abs() > stride) {
            return Ok(Err("have a template whose start, end, stride or offset fit to nothing".into()));
        }
        let Some((layer, _, retime)) = draft.fields.get("templateAssetPath") else {
            return Ok(Err("have no files".into()));
        };
        let steps = ((end - start) / stride).floor();
        self.reserve(layer, if steps < MAX_FILES as f64 { steps as usize + 1 } else { usize::MAX })?;
        let (mut list, mut active, mut times) = (Vec::new(), Vec::new(), Vec::new());
        let same = |time: f64| (retime.time(time), time);
        times.extend(offset.map(|offset| same(start - offset.abs())));
        let mut part = start * STEPS_PER_TIME_CODE;
        while part <= end * STEPS_PER_TIME_CODE && list.len() < MAX_FILES {
            let time = part / STEPS_PER_TIME_CODE;
            let file = match Assets::resolve(from, &pattern.name(time)) {
                Ok(name) => stacks.clip(&name)?.ok(),
                Err(what) => return Ok(Err(format!("have a template that {what}"))),
            };
            if let Some(file) = file {
                active.push((retime.time(time + offset.unwrap_or(0.0)), list.len()));
                times.push(same(time));
                list.push(Some(file));
            }
            let before = part;
            part += stride * STEPS_PER_TIME_CODE;
            if part <= before {
                break;
            }
        }
        times.extend(offset.map(|offset| same(end + offset.abs())));
        if list.is_empty() {
            return Ok(Err("have a template that no file is there for".into()));
        }
        Ok(Ok((list, active, times)))
    }

    fn reserve(&mut self, layer: &Layer, files: usize) -> Result<(), Error> {
        self.files = self.files.saturating_add(files);
        match self.files > MAX_FILES {
            true => Err(Error::limit(
                &layer.name,
                "files of value clips; stitch some of them into one",
                self.files as u64,
                MAX_FILES as u64,
            )),
            false => Ok(()),
        }
    }
}

/// The files, the times at which they become active, and pairs of scene time and clip time.
type ClipSetParts = (Vec<Option<ClipFile>>, Vec<(f64, usize)>, Vec<(f64, f64)>);

/// Adds the contributions of one site's layers, strongest first, to those of stronger sites.
fn add_site_dictionaries(
    sources: &[ClipDictionary],
    drafts: &mut BTreeMap<Arc<str>, ClipSetDraft>,
) -> Result<(), Error> {
    let mut order: Vec<Arc<str>> = Vec::new();
    for source in sources.iter().rev() {
        if let Some(Value::Dictionary(sets)) = &source.clips {
            let mut added: Vec<Arc<str>> = sets.iter().map(|(name, _)| name.clone()).collect();
            added.sort();
            ListEdit { added, ..ListEdit::default() }.apply(&mut order);
        }
        if let Some(Value::List(edit)) = &source.order {
            edit.apply(&mut order);
        }
    }
    for source in sources {
        let Some(Value::Dictionary(sets)) = &source.clips else {
            continue;
        };
        for (name, set) in sets {
            let Some(rank) = order.iter().position(|own| own == name).filter(|_| !name.is_empty()) else {
                continue;
            };
            let Value::Dictionary(fields) = source.layer.value(*set)? else {
                continue;
            };
            let draft = drafts.entry(name.clone()).or_default();
            let names_files =
                |(key, _): &(Arc<str>, ValueRef)| matches!(&**key, "assetPaths" | "templateAssetPath");
            if draft.anchor.is_none() && fields.iter().any(names_files) {
                (draft.anchor, draft.rank) = (Some((source.site, source.layer_index)), rank);
            }
            for (key, value) in fields {
                draft.fields.entry(key).or_insert((source.layer.clone(), value, source.retime));
            }
        }
    }
    Ok(())
}

impl ClipSetDraft {
    fn small(&self, key: &str) -> Result<Option<Value>, Error> {
        self.fields.get(key).map(|(layer, value, _)| layer.small_value(*value)).transpose()
    }

    fn text(&self, key: &str) -> Result<Option<Arc<str>>, Error> {
        Ok(self.small(key)?.and_then(|value| value.text().cloned()))
    }

    fn number(&self, key: &str) -> Result<Option<f64>, Error> {
        Ok(self.small(key)?.and_then(|value| value.number()))
    }

    /// Reads pairs of numbers, of which the first is a scene time.
    fn pairs(&self, key: &str) -> Result<Option<Vec<(f64, f64)>>, Error> {
        let Some((layer, value, retime)) = self.fields.get(key) else {
            return Ok(None);
        };
        let count = layer.length(*value)?;
        if count > MAX_PAIRS {
            let what = "pairs of times of value clips; stitch some of them into one";
            return Err(Error::limit(&layer.name, what, count as u64, MAX_PAIRS as u64));
        }
        let Value::Numbers(numbers) = layer.value(*value)? else {
            return Ok(None);
        };
        let flat = numbers.f64s();
        let pairs =
            flat.as_chunks::<2>().0.iter().filter(|pair| pair.iter().all(|number| number.is_finite()));
        Ok(Some(pairs.map(|[time, own]| (retime.time(*time), *own)).collect()))
    }
}

/// A file name in which `#` stands for digits of a time: those before the decimal point, and those after it.
struct TemplatePattern {
    folder: String,
    parts: Vec<String>,
    whole: usize,
    fraction: Option<usize>,
}

impl TemplatePattern {
    fn parse(name: &str) -> Option<TemplatePattern> {
        let path = Path::new(name);
        let parts: Vec<String> = path.file_name()?.to_str()?.split('.').map(str::to_owned).collect();
        let is_digits =
            |part: &String| !part.is_empty() && part.bytes().all(|b| b == b'#') && part.len() < 64;
        let digits: Vec<usize> = (0..parts.len()).filter(|i| is_digits(&parts[*i])).collect();
        let (whole, fraction) = match digits[..] {
            [whole] => (whole, None),
            [whole, fraction] if fraction == whole + 1 => (whole, Some(fraction)),
            _ => return None,
        };
        let folder = name.strip_suffix(path.file_name()?.to_str()?)?.to_owned();
        Some(TemplatePattern { folder, parts, whole, fraction })
    }

    fn name(&self, time: f64) -> String {
        let mut parts = self.parts.clone();
        let width = parts[self.whole].len();
        parts[self.whole] = format!("{:0width$}", time as i64);
        if let Some(fraction) = self.fraction {
            let digits = format!("{time:.*}", parts[fraction].len());
            parts[fraction] = digits.split_once('.').map_or("", |(_, digits)| digits).to_owned();
        }
        self.folder.clone() + &parts.join(".")
    }
}

#[cfg(test)]
mod tests {
    use super::TemplatePattern;

    #[test]
    fn names_of_templates() {
        let name =
            |pattern: &str, time: f64| TemplatePattern::parse(pattern).map(|pattern| pattern.name(time));
        assert_eq!(name("./a/b.###.usd", 7.0).as_deref(), Some("./a/b.007.usd"));
        assert_eq!(name("b.#.usd", 1234.0).as_deref(), Some("b.1234.usd"));
        assert_eq!(name("b.##.##.usd", 1.25).as_deref(), Some("b.01.25.usd"));
        assert_eq!(name("b.###.usd", -5.0).as_deref(), Some("b.-05.usd"));
        for none in ["b.usd", "b.#.x.#.usd", "b.#.#.#.usd", "b#.usd", ""] {
            assert_eq!(name(none, 1.0), None, "{none}");
        }
    }
}
