//! The vocabulary of `docs/GLOSSARY.md`: words that are not used in names because the field has another term.

use syn::Visibility;
use syn::visit::{self, Visit};

/// A word that must not be used in names.
pub struct Word {
    pub word: &'static str,
    /// Folders in which it is forbidden; the whole repository if empty.
    pub folders: &'static [&'static str],
    pub instead: &'static str,
}

const fn word(word: &'static str, folders: &'static [&'static str], instead: &'static str) -> Word {
    Word { word, folders, instead }
}

/// Folders with encoders and decoders.
const CODING: &[&str] = &["crates/codec", "crates/compile", "crates/play"];
/// Folders where a word denotes a kind of frame.
const CODEC: &[&str] = &["crates/codec"];

/// Forbidden in names of modules, files and public types. In other folders a word has its plain meaning: a
/// text has words, a heap has words of memory, a file's frames are resident.
pub const WORDS: &[Word] = &[
    word("words", &["crates/codec", "crates/play/src/policy"], "code, or quantized values; policy"),
    word("cell", CODING, "fixed-point position"),
    word("cells", CODING, "fixed-point positions"),
    word("inner", CODEC, "temporal layer"),
    word("between", CODEC, "temporal layer, B-frame"),
    word("piece", &[], "access unit, or part, or chunk"),
    word("pieces", &[], "access units, or parts, or tiers"),
    word("ball", &[], "error bound"),
    word("share", &[], "error bound"),
    word("shares", &[], "error bounds"),
    word("worth", &[], "error bound"),
    word("slack", &[], "error bound"),
    word("detail", &[], "hierarchy level, or LOD"),
    word("details", &[], "hierarchy levels, or LOD levels"),
    word("detailed", &[], "hierarchy levels, or LOD levels"),
    word("drawn", &[], "triangle visibility"),
    word("cull", &[], "triangle visibility"),
    word("culled", &[], "triangle visibility"),
    word("still", &[], "lead-in, lead-out, end state"),
    word("numbers", CODING, "part attributes, quantized values"),
    word("riding", &[], "part attributes"),
    word("kept", &[], "part attributes"),
    word("stored", CODING, "streamed (form)"),
    word("resident", &["crates/codec", "crates/compile", "crates/play/src/clip"], "random-access (form)"),
    word("flow", &[], "scheduler"),
    word("rules", &[], "policy"),
    word("truth", &[], "reference"),
];

/// Names that are reserved for other things: a whole name, not a part of one.
pub const NAMES: &[Word] = &[
    word("levels", &[], "quantized values, hierarchy levels, or LOD levels"),
    word("ends", &[], "end states"),
    word("last", CODEC, "key frame"),
];

/// Returns the words of a name in lower case: the same for `FrameKind` and `frame_kind`.
pub fn words(name: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut fresh = true;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            fresh = true;
            continue;
        }
        if fresh || c.is_uppercase() {
            out.push(String::new());
        }
        fresh = false;
        if let Some(word) = out.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    out
}

/// Returns the correct term for a name in a file, if it contains a forbidden word.
pub fn instead(path: &str, name: &str) -> Option<&'static str> {
    let here = |word: &&Word| word.folders.is_empty() || word.folders.iter().any(|f| path.starts_with(f));
    let words = words(name);
    let part = WORDS.iter().filter(here).find(|w| words.iter().any(|own| own == w.word));
    let whole = || NAMES.iter().filter(here).find(|w| words.len() == 1 && words[0] == w.word);
    part.or_else(whole).map(|word| word.instead)
}

#[derive(Default)]
struct Names(Vec<String>);

impl Names {
    fn add(&mut self, visibility: &Visibility, name: &syn::Ident) {
        if !matches!(visibility, Visibility::Inherited) {
            self.0.push(name.to_string());
        }
    }
}

impl Visit<'_> for Names {
    fn visit_item_mod(&mut self, item: &syn::ItemMod) {
        self.0.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
    }
    fn visit_item_struct(&mut self, item: &syn::ItemStruct) {
        self.add(&item.vis, &item.ident);
    }
    fn visit_item_enum(&mut self, item: &syn::ItemEnum) {
        self.add(&item.vis, &item.ident);
    }
    fn visit_item_trait(&mut self, item: &syn::ItemTrait) {
        self.add(&item.vis, &item.ident);
    }
    fn visit_item_type(&mut self, item: &syn::ItemType) {
        self.add(&item.vis, &item.ident);
    }
}

/// Returns the names of a file and its folders below `src`, of its modules, and of its public types.
pub fn names(path: &str, text: &str) -> Vec<String> {
    let below = path.rsplit_once("/src/").map_or("", |(_, below)| below);
    let mut names = Names(below.trim_end_matches(".rs").split('/').map(str::to_owned).collect());
    let file = syn::parse_file(text).unwrap_or_else(|e| panic!("{path}: {e}"));
    names.visit_file(&file);
    names.0.sort();
    names.0.dedup();
    names.0
}
