//! Measures the length of functions, and the number of their arguments.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Signature};

/// A function of a file.
pub struct Function {
    pub name: String,
    /// Number of lines from its name to its last brace.
    pub lines: usize,
    pub arguments: usize,
}

#[derive(Default)]
struct Functions(Vec<Function>);

impl Functions {
    fn add(&mut self, signature: &Signature, block: &Block) {
        let lines = block.span().end().line - signature.span().start().line + 1;
        let name = signature.ident.to_string();
        self.0.push(Function { name, lines, arguments: signature.inputs.len() });
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("test"))
}

impl Visit<'_> for Functions {
    fn visit_item_fn(&mut self, item: &syn::ItemFn) {
        if !is_test(&item.attrs) {
            self.add(&item.sig, &item.block);
        }
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.add(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

/// Returns all functions of a file except tests.
pub fn functions(path: &str, text: &str) -> Vec<Function> {
    let file = syn::parse_file(text).unwrap_or_else(|e| panic!("{path}: {e}"));
    let mut found = Functions::default();
    found.visit_file(&file);
    found.0
}
