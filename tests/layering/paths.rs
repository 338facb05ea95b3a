//! The paths that an item of code holds: those of `use` lines, of types and expressions, and within macros.
//!
//! A path is the list of its names. Whether it leads into the crate is not asked here. A path of one name in an
//! expression is a variable or an item in scope, so it is left out.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, ItemUse, LitStr, Macro, Meta, Path, UseTree, Visibility};

use super::modules::is_of_tests;

/// All paths in `item`, without what only tests compile.
pub(super) fn paths_of(item: &Item) -> Vec<Vec<String>> {
    let mut paths = Paths::default();
    paths.visit_item(item);
    paths.found
}

#[derive(Default)]
struct Paths {
    found: Vec<Vec<String>>,
}

impl Visit<'_> for Paths {
    fn visit_item(&mut self, item: &Item) {
        if !attributes_of(item).is_some_and(is_of_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &ImplItem) {
        let of_tests = matches!(item, ImplItem::Fn(function) if is_of_tests(&function.attrs));
        if !of_tests {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &ItemUse) {
        if item.leading_colon.is_none() {
            self.add_use(&[], &item.tree);
        }
    }

    fn visit_visibility(&mut self, _: &Visibility) {
        // `pub(in crate::a)` says who may import, and imports nothing.
    }

    fn visit_path(&mut self, path: &Path) {
        if path.leading_colon.is_none() && path.segments.len() > 1 {
            self.found.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_attribute(&mut self, attribute: &Attribute) {
        // `#[serde(with = "path")]` and the like; documentation is no list.
        if let Meta::List(list) = &attribute.meta {
            self.add_tokens(list.tokens.clone());
        }
    }

    fn visit_macro(&mut self, call: &Macro) {
        self.add_tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}

impl Paths {
    /// Adds one path for each name that a `use` line brings in.
    fn add_use(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.add_use(&with(&path.ident), &path.tree),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.add_use(before, tree)),
            UseTree::Name(name) => self.found.push(with(&name.ident)),
            UseTree::Rename(rename) => self.found.push(with(&rename.ident)),
            UseTree::Glob(_) => self.found.push(before.to_vec()),
        }
    }

    /// Adds the paths among the tokens of a macro or attribute, which need not be Rust: names with `::` between them, or
    /// a string that is a path and nothing else.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.end_path(&mut path);
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.end_path(&mut path);
                    self.add_tokens(group.stream());
                }
                TokenTree::Literal(literal) => {
                    self.end_path(&mut path);
                    let text = syn::parse_str::<LitStr>(&literal.to_string());
                    if let Ok(quoted) = text.and_then(|text| text.parse::<Path>()) {
                        self.visit_path(&quoted);
                    }
                }
                TokenTree::Punct(_) => self.end_path(&mut path),
            }
        }
        self.end_path(&mut path);
    }

    fn end_path(&mut self, path: &mut Vec<String>) {
        let ended = std::mem::take(path);
        if ended.len() > 1 {
            self.found.push(ended);
        }
    }
}

/// The attributes of an item, of the kinds that `#[cfg(test)]` stands at.
fn attributes_of(item: &Item) -> Option<&[Attribute]> {
    match item {
        Item::Const(item) => Some(&item.attrs),
        Item::Enum(item) => Some(&item.attrs),
        Item::Fn(item) => Some(&item.attrs),
        Item::Impl(item) => Some(&item.attrs),
        Item::Macro(item) => Some(&item.attrs),
        Item::Mod(item) => Some(&item.attrs),
        Item::Static(item) => Some(&item.attrs),
        Item::Struct(item) => Some(&item.attrs),
        Item::Trait(item) => Some(&item.attrs),
        Item::Type(item) => Some(&item.attrs),
        Item::Use(item) => Some(&item.attrs),
        _ => None,
    }
}
