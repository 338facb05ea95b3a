//! The modules of a crate, and the files in which they lie.
//!
//! In: a root file and a way to read files. Out: [`Imports`] among the root and all files that `mod` lines lead to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::{Attribute, Item, ItemMod};

use super::graph::Imports;
use super::paths::paths_of;

/// The names of the modules that lead from the root to a module; none for the root itself.
type ModulePath = Vec<String>;

/// Reads the text of a file, if there is such a file.
pub(super) type ReadFile<'a> = dyn Fn(&Path) -> Option<String> + 'a;

/// The imports among `root` and the files below it.
///
/// # Panics
/// If a file is missing or is no Rust.
pub(super) fn imports_below(root: &Path, read: &ReadFile<'_>) -> Imports {
    let mut modules = Modules { read, file_of: BTreeMap::new(), written: Vec::new() };
    let text = read(root).unwrap_or_else(|| panic!("{} is missing", root.display()));
    let folder = root.parent().expect("a file lies in a folder");
    modules.add_file(Vec::new(), root, folder, &text);
    modules.imports()
}

/// A path that the code of a module holds, as written.
struct Written {
    module: ModulePath,
    path: Vec<String>,
}

/// All modules of one root.
struct Modules<'a> {
    read: &'a ReadFile<'a>,
    file_of: BTreeMap<ModulePath, PathBuf>,
    written: Vec<Written>,
}

impl Modules<'_> {
    /// Adds the module at `place`, which is all of `file`; the files of its children lie in `folder`.
    fn add_file(&mut self, place: ModulePath, file: &Path, folder: &Path, text: &str) {
        let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.add_items(place, file, folder, &parsed.items);
    }

    /// Adds the module at `place`, of which `items` are in `file`, and the modules below it.
    fn add_items(&mut self, place: ModulePath, file: &Path, folder: &Path, items: &[Item]) {
        for item in items {
            match item {
                Item::Mod(child) if is_of_tests(&child.attrs) => {}
                Item::Mod(child) => self.add_child(&place, child, file, folder),
                _ => {
                    let paths = paths_of(item).into_iter();
                    self.written.extend(paths.map(|path| Written { module: place.clone(), path }));
                }
            }
        }
        self.file_of.insert(place, file.to_owned());
    }

    /// Adds a module that a `mod` item in `file` declares.
    fn add_child(&mut self, parent: &ModulePath, child: &ItemMod, file: &Path, folder: &Path) {
        let name = child.ident.to_string();
        let below = folder.join(&name);
        let mut place = parent.clone();
        place.push(name);
        if let Some((_, items)) = &child.content {
            self.add_items(place, file, &below, items);
        } else {
            let (file, text) = self.find(&below);
            self.add_file(place, &file, &below, &text);
        }
    }

    /// The file and text of the module whose own children lie in the folder `below`.
    fn find(&self, below: &Path) -> (PathBuf, String) {
        [below.with_extension("rs"), below.join("mod.rs")]
            .into_iter()
            .find_map(|file| (self.read)(&file).map(|text| (file, text)))
            .unwrap_or_else(|| panic!("{}.rs is missing", below.display()))
    }

    /// The imports that the written paths make.
    fn imports(&self) -> Imports {
        let mut imports = Imports::default();
        for Written { module, path } in &self.written {
            if let Some(target) = self.module_of(module, path) {
                imports.add(&self.file_of[module], &self.file_of[&target], &path.join("::"));
            }
        }
        imports
    }

    /// The last module that `path`, written in the module `from`, names; none where the path leads out of the crate or to an
    /// item in scope, whose own `use` line counts.
    fn module_of(&self, from: &ModulePath, path: &[String]) -> Option<ModulePath> {
        let mut place = from.clone();
        let mut names = path.iter().peekable();
        let anchored = matches!(path[0].as_str(), "crate" | "$crate" | "self" | "super");
        while let Some(name) = names.peek() {
            match name.as_str() {
                "crate" | "$crate" => place.clear(),
                "self" => {}
                "super" => _ = place.pop(),
                _ => break,
            }
            names.next();
        }
        let at_start = place.len();
        for name in names {
            place.push(name.clone());
            if !self.file_of.contains_key(&place) {
                place.pop();
                break;
            }
        }
        (anchored || place.len() > at_start).then_some(place)
    }
}

/// Whether only tests compile what has these attributes.
pub(super) fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
    })
}
