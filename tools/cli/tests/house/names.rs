//! The vocabulary of `docs/GLOSSARY.md`: words that are not used in names because the field has another term.

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
/// Folders whose words are not those of memory.
const QUANTIZED: &[&str] = &[
    "crates/codec/src/clip/curve",
    "crates/codec/src/clip/random_access",
    "crates/codec/src/clip/streamed",
    "crates/codec/src/quantize",
    "crates/codec/src/record",
    "crates/codec/src/values",
    "crates/play/src/policy",
];
/// Folders where a word denotes a kind of frame.
const CODEC: &[&str] = &["crates/codec"];

/// Forbidden in names of modules, files, types, functions, constants, variants and fields. In other folders a
/// word has its plain meaning: a text has words, a heap has words of memory, a file's frames are resident.
pub const WORDS: &[Word] = &[
    word("words", QUANTIZED, "code, or quantized values; policy"),
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

/// Names that say nothing: whole names of types, functions, constants and modules that may not be used.
const EMPTY: &[&str] = &[
    "Place", "Kind", "Work", "Wanted", "Found", "Moment", "Of", "of", "at", "put", "MOST", "LEAST", "NONE",
    "NOTHING", "FEW",
];

/// Returns `true` for names that say nothing, and for constants that begin with `MOST_` or `LEAST_` in place
/// of `MAX_` and `MIN_`.
pub fn is_empty(name: &str) -> bool {
    EMPTY.contains(&name) || name.starts_with("MOST_") || name.starts_with("LEAST_")
}

/// The names that a file defines: of its modules, types, traits, functions and constants, and of fields and
/// variants. Names that users see elsewhere, as flags, keys of JSON or in C, are left out.
#[derive(Default)]
pub struct Definitions {
    pub items: Vec<String>,
    pub members: Vec<String>,
}

impl Definitions {
    fn add(&mut self, name: &syn::Ident) {
        self.items.push(name.to_string());
    }
}

/// Returns `true` if names of fields or variants are those of flags, of JSON or of C.
fn is_seen(attributes: &[syn::Attribute]) -> bool {
    const BY: [&str; 9] = [
        "Serialize",
        "Deserialize",
        "Args",
        "Parser",
        "Subcommand",
        "ValueEnum",
        "C",
        "pyclass",
        "pymethods",
    ];
    let of = |attribute: &syn::Attribute| {
        let list = attribute.meta.require_list().map(|list| list.tokens.to_string()).unwrap_or_default();
        let named = list.split(|c: char| !c.is_alphanumeric()).any(|word| BY.contains(&word));
        named || attribute.path().get_ident().is_some_and(|name| BY.contains(&&*name.to_string()))
    };
    attributes.iter().any(of)
}

impl Visit<'_> for Definitions {
    fn visit_item_mod(&mut self, item: &syn::ItemMod) {
        self.add(&item.ident);
        visit::visit_item_mod(self, item);
    }
    fn visit_item_struct(&mut self, item: &syn::ItemStruct) {
        self.add(&item.ident);
        if !is_seen(&item.attrs) {
            visit::visit_item_struct(self, item);
        }
    }
    fn visit_item_enum(&mut self, item: &syn::ItemEnum) {
        self.add(&item.ident);
        if !is_seen(&item.attrs) {
            visit::visit_item_enum(self, item);
        }
    }
    fn visit_item_union(&mut self, item: &syn::ItemUnion) {
        self.add(&item.ident);
        visit::visit_item_union(self, item);
    }
    fn visit_item_trait(&mut self, item: &syn::ItemTrait) {
        self.add(&item.ident);
        visit::visit_item_trait(self, item);
    }
    fn visit_item_type(&mut self, item: &syn::ItemType) {
        self.add(&item.ident);
    }
    fn visit_item_const(&mut self, item: &syn::ItemConst) {
        self.add(&item.ident);
    }
    fn visit_item_static(&mut self, item: &syn::ItemStatic) {
        self.add(&item.ident);
    }
    fn visit_impl_item_const(&mut self, item: &syn::ImplItemConst) {
        self.add(&item.ident);
    }
    fn visit_trait_item_const(&mut self, item: &syn::TraitItemConst) {
        self.add(&item.ident);
    }
    fn visit_item_fn(&mut self, item: &syn::ItemFn) {
        // The name of a test is a sentence, in which words have their plain meaning.
        if !item.attrs.iter().any(|attribute| attribute.path().is_ident("test")) {
            visit::visit_item_fn(self, item);
        }
    }
    fn visit_item_impl(&mut self, item: &syn::ItemImpl) {
        // A foreign trait gives its names.
        if item.trait_.is_none() && !is_seen(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }
    fn visit_signature(&mut self, item: &syn::Signature) {
        self.add(&item.ident);
    }
    fn visit_variant(&mut self, item: &syn::Variant) {
        self.members.push(item.ident.to_string());
        visit::visit_variant(self, item);
    }
    fn visit_field(&mut self, item: &syn::Field) {
        self.members.extend(item.ident.iter().map(ToString::to_string));
    }
}

/// Returns the names of a file and its folders below `src` or `tests`, and all names that it defines.
pub fn definitions(path: &str, text: &str) -> Definitions {
    let below = ["/src/", "/tests/"].into_iter().find_map(|folder| path.rsplit_once(folder));
    let below = below.map_or("", |(_, below)| below);
    let items = below.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    let mut names = Definitions { items, members: Vec::new() };
    let file = syn::parse_file(text).unwrap_or_else(|e| panic!("{path}: {e}"));
    names.visit_file(&file);
    for list in [&mut names.items, &mut names.members] {
        list.retain(|name| !name.starts_with("mr_"));
        list.sort();
        list.dedup();
    }
    names
}
