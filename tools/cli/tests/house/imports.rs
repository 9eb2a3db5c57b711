//! Finds the imports between modules of a crate. The modules of a crate form no cycle: neither its top-level
//! modules, nor the files of any folder. A `mod.rs` or `lib.rs` that only declares and re-exports is no node:
//! paths through it lead to the items that it names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemUse, UseTree, Visibility};

/// The path of a module in its crate: its names from the root down.
type ModulePath = Vec<String>;

/// A file's declarations and its references to others.
#[derive(Default)]
struct Module {
    /// `true` if it only declares and re-exports.
    is_index: bool,
    /// Paths that it names, as written.
    paths: Vec<Vec<String>>,
    /// Items that it defines.
    items: BTreeSet<String>,
    /// Its imports, by local name.
    imports: BTreeMap<String, Vec<String>>,
    /// Modules that exist only in tests.
    of_tests: BTreeSet<String>,
}

/// A crate's modules without test modules, and the imports between them.
pub struct Crate {
    modules: BTreeMap<ModulePath, Module>,
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = match &attribute.meta {
            syn::Meta::List(list) => list.tokens.to_string(),
            _ => String::new(),
        };
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg") && (text == "test" || text.starts_with("all (test"))
    })
}

fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(i) => &i.attrs,
        Item::Enum(i) => &i.attrs,
        Item::Fn(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Macro(i) => &i.attrs,
        Item::Mod(i) => &i.attrs,
        Item::Static(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        Item::Trait(i) => &i.attrs,
        Item::Type(i) => &i.attrs,
        Item::Use(i) => &i.attrs,
        _ => &[],
    }
}

/// Collects the paths of a `use`, each with its local name.
fn leaves(tree: &UseTree, before: &mut Vec<String>, out: &mut Vec<(Vec<String>, String)>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            leaves(&path.tree, before, out);
            before.pop();
        }
        UseTree::Name(name) if name.ident == "self" => {
            out.push((before.clone(), before.last().cloned().unwrap_or_default()));
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            out.push(([&before[..], std::slice::from_ref(&name)].concat(), name));
        }
        UseTree::Rename(rename) => {
            out.push(([&before[..], &[rename.ident.to_string()]].concat(), rename.rename.to_string()));
        }
        UseTree::Glob(_) => out.push((before.clone(), "*".into())),
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, before, out)),
    }
}

struct Reader<'a> {
    module: &'a mut Module,
    /// `true` for a file that stands for its folder: its re-exports are not uses.
    is_front: bool,
}

impl Visit<'_> for Reader<'_> {
    fn visit_item(&mut self, item: &Item) {
        if is_for_tests(attributes_of(item)) {
            if let Item::Mod(module) = item {
                self.module.of_tests.insert(module.ident.to_string());
            }
            return;
        }
        match item {
            Item::Use(_) | Item::Mod(_) | Item::ExternCrate(_) => {}
            _ => self.module.is_index = false,
        }
        visit::visit_item(self, item);
    }

    fn visit_item_use(&mut self, item: &ItemUse) {
        let mut all = Vec::new();
        leaves(&item.tree, &mut Vec::new(), &mut all);
        let passed_on = self.is_front && !matches!(item.vis, Visibility::Inherited);
        for (path, name) in all {
            if !passed_on {
                self.module.paths.push(path.clone());
            }
            if name != "*" {
                self.module.imports.insert(name, path);
            }
        }
    }

    // `pub(super)` imports nothing.
    fn visit_visibility(&mut self, _: &Visibility) {}

    fn visit_path(&mut self, path: &syn::Path) {
        let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.module.paths.push(names);
        visit::visit_path(self, path);
    }

    // Paths in a macro's arguments: any names joined by `::`, except in visibilities.
    fn visit_macro(&mut self, item: &syn::Macro) {
        let text = item.tokens.to_string().replace(" :: ", "::");
        let seen_by = |after: &str| after.starts_with("in ").then(|| after.find(')')).flatten().unwrap_or(0);
        let text = text.split("pub (").map(|after| &after[seen_by(after)..]);
        let part = |c: char| !(c.is_alphanumeric() || c == '_' || c == ':');
        for word in text.flat_map(|text| text.split(part)).filter(|word| word.contains("::")) {
            self.module.paths.push(word.split("::").map(String::from).collect());
        }
        visit::visit_macro(self, item);
    }
}

fn defined(item: &Item) -> Option<String> {
    Some(match item {
        Item::Const(i) => i.ident.to_string(),
        Item::Enum(i) => i.ident.to_string(),
        Item::Fn(i) => i.sig.ident.to_string(),
        Item::Macro(i) => i.ident.as_ref()?.to_string(),
        Item::Static(i) => i.ident.to_string(),
        Item::Struct(i) => i.ident.to_string(),
        Item::Trait(i) => i.ident.to_string(),
        Item::Type(i) => i.ident.to_string(),
        Item::Union(i) => i.ident.to_string(),
        _ => return None,
    })
}

impl Crate {
    /// Parses all files of a crate; `sources`: path below the crate's `src`, and text.
    pub fn new<'a>(sources: impl Iterator<Item = (&'a str, &'a str)>) -> Crate {
        let mut modules: BTreeMap<ModulePath, Module> = BTreeMap::new();
        for (path, text) in sources {
            let mut place: ModulePath =
                Path::new(path).with_extension("").iter().map(|p| p.to_string_lossy().into()).collect();
            let is_front = matches!(place.last().map(|s| &s[..]), Some("mod" | "lib" | "main"));
            if is_front {
                place.pop();
            }
            let file = syn::parse_file(text).unwrap_or_else(|e| panic!("{path}: {e}"));
            let mut module = Module { is_index: is_front, ..Module::default() };
            Reader { module: &mut module, is_front }.visit_file(&file);
            module.items = file.items.iter().filter_map(defined).collect();
            modules.insert(place, module);
        }
        let of_tests: Vec<ModulePath> = (modules.iter())
            .flat_map(|(place, module)| {
                module.of_tests.iter().map(|name| [&place[..], std::slice::from_ref(name)].concat())
            })
            .collect();
        modules.retain(|place, _| !of_tests.iter().any(|other| place.starts_with(other)));
        Crate { modules }
    }

    /// Returns a path from the crate's root; `None` if it leads to another crate, or stays within the file.
    fn absolute(&self, from: &ModulePath, path: &[String]) -> Option<ModulePath> {
        let first = path.first()?;
        if first == "crate" {
            return Some(path[1..].to_vec());
        }
        let up = path.iter().take_while(|name| *name == "super" || *name == "self").count();
        if up > 0 {
            let levels = path[..up].iter().filter(|name| *name == "super").count();
            let above = from.get(..from.len().checked_sub(levels)?)?;
            return Some([above, &path[up..]].concat());
        }
        let below = [&from[..], path].concat();
        if self.modules.contains_key(&below[..=from.len()]) {
            return Some(below);
        }
        // Its import, unless that is the item to be found.
        let import = self.modules[from].imports.get(first).filter(|_| path.len() > 1)?;
        (import.first() != Some(first)).then(|| self.absolute(from, &[&import[..], &path[1..]].concat()))?
    }

    /// Returns the module that defines an item, through re-exports.
    fn resolve(&self, path: &ModulePath, depth: usize) -> Option<&ModulePath> {
        let length = (0..=path.len()).rev().find(|&n| self.modules.contains_key(&path[..n]))?;
        let (place, module) = self.modules.get_key_value(&path[..length])?;
        if let Some(name) = path.get(length).filter(|name| !module.items.contains(*name))
            && let Some(import) = module.imports.get(name).filter(|_| depth < 12)
            && let Some(next) = self.absolute(place, import).filter(|next| next != path)
        {
            return self.resolve(&[&next[..], &path[length + 1..]].concat(), depth + 1);
        }
        Some(place)
    }

    /// Returns the cycles, each as folder and members.
    pub fn cycles(&self) -> Vec<String> {
        let mut imports: Vec<(&ModulePath, &ModulePath)> = Vec::new();
        for (from, module) in self.modules.iter().filter(|(_, module)| !module.is_index) {
            let found = module.paths.iter().filter_map(|path| self.resolve(&self.absolute(from, path)?, 0));
            imports
                .extend(found.filter(|to| *to != from && !self.modules[*to].is_index).map(|to| (from, to)));
        }
        let folders: BTreeSet<&[String]> = self
            .modules
            .keys()
            .flat_map(|place| (0..place.len().max(1)).map(|n| &place[..n.min(place.len())]))
            .collect();
        let mut out = Vec::new();
        for folder in folders {
            let member = |place: &ModulePath| {
                place.starts_with(folder).then(|| place.get(folder.len()).cloned().unwrap_or("mod".into()))
            };
            let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            for (from, to) in &imports {
                if let (Some(from), Some(to)) = (member(from), member(to))
                    && from != to
                {
                    graph.entry(from).or_default().insert(to);
                }
            }
            let circles = find_cycles(graph);
            out.extend(circles.into_iter().map(|c| format!("{}: {}", folder.join("::"), c.join(" → "))));
        }
        out
    }
}

/// Returns one cycle for each node that lies on one, unless it is on a cycle already found.
fn find_cycles(mut graph: BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    // Nodes without successors or predecessors lie on no cycle.
    loop {
        let starts: BTreeSet<String> = graph.keys().cloned().collect();
        let ends: BTreeSet<String> = graph.values().flatten().cloned().collect();
        let before = graph.len();
        graph.retain(|from, _| ends.contains(from));
        graph.values_mut().for_each(|all| all.retain(|to| starts.contains(to)));
        graph.retain(|_, all| !all.is_empty());
        if graph.len() == before {
            break;
        }
    }
    let mut out: Vec<Vec<String>> = Vec::new();
    for start in graph.keys() {
        if out.iter().flatten().any(|known| known == start) {
            continue;
        }
        let mut way = vec![start.clone()];
        // Follows the first remaining edge of each node: sooner or later a node repeats.
        while let Some(next) = graph.get(&way[way.len() - 1]).and_then(|all| all.iter().next()) {
            if let Some(at) = way.iter().position(|known| known == next) {
                way.push(next.clone());
                let circle = way.split_off(at);
                if !out.iter().flatten().any(|known| circle.contains(known)) {
                    out.push(circle);
                }
                break;
            }
            way.push(next.clone());
        }
    }
    out
}

#[test]
fn circles_are_seen() {
    let sources = [
        ("lib.rs", "pub mod a; mod b; pub use b::Late; #[cfg(test)] mod tests;"),
        ("a.rs", "use crate::Late; pub struct Early;"),
        ("b.rs", "pub struct Late(crate::c::Deep);"),
        ("c/mod.rs", "mod d; mod e; pub use d::Deep;"),
        ("c/d.rs", "use super::e; pub struct Deep; fn f() { e::g() }"),
        ("c/e.rs", "pub fn g() { println!(\"{}\", crate::a::Early) }"),
        ("tests.rs", "use crate::a; use crate::b;"),
    ];
    assert_eq!(Crate::new(sources.into_iter()).cycles(), [": a → b → c → a"]);
    let straight = sources.map(|(path, text)| (path, if path == "c/e.rs" { "" } else { text }));
    assert!(Crate::new(straight.into_iter()).cycles().is_empty());
    let beside =
        [("lib.rs", "mod a;"), ("a/mod.rs", "mod b; fn f() { b::g() }"), ("a/b.rs", "use super::f;")];
    assert_eq!(Crate::new(beside.into_iter()).cycles(), ["a: b → mod → b"]);
    let seen =
        beside.map(|(path, text)| (path, text.replace("use super::f;", "k! { pub(in crate::a) fn g() {} }")));
    assert!(Crate::new(seen.iter().map(|(path, text)| (*path, &text[..]))).cycles().is_empty());
}
