//! Which file imports which, and the circles among them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// For each file, the files that it imports, each with the path as the first such line writes it. A file never imports
/// itself.
#[derive(Debug, Default)]
pub(super) struct Imports {
    of_file: BTreeMap<PathBuf, BTreeMap<PathBuf, String>>,
}

impl Imports {
    /// `from` names something that lies in `to`, by `path`.
    pub(super) fn add(&mut self, from: &Path, to: &Path, path: &str) {
        if from != to {
            let imports = self.of_file.entry(from.to_owned()).or_default();
            imports.entry(to.to_owned()).or_insert_with(|| path.to_owned());
        }
    }

    /// Every import: the file that imports, the file that is imported, and the path as written.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Path, &Path, &str)> {
        self.of_file.iter().flat_map(|(from, imports)| {
            imports.iter().map(move |(to, path)| (from.as_path(), to.as_path(), path.as_str()))
        })
    }

    /// Takes in the imports of another root of the same crate.
    pub(super) fn extend(&mut self, other: Self) {
        for (from, imports) in other.of_file {
            self.of_file.entry(from).or_default().extend(imports);
        }
    }

    /// The sets of more than `largest` files of which each reaches every other by imports. No file is in two of them.
    pub(super) fn circles(&self, largest: usize) -> Vec<BTreeSet<&Path>> {
        let reached: BTreeMap<&Path, BTreeSet<&Path>> =
            self.of_file.keys().map(|file| (file.as_path(), self.reached_from(file))).collect();
        let mut circles: Vec<BTreeSet<&Path>> = Vec::new();
        for (file, from_here) in &reached {
            if circles.iter().any(|circle| circle.contains(file)) {
                continue;
            }
            let leads_back = |other: &&Path| reached.get(other).is_some_and(|back| back.contains(file));
            let circle: BTreeSet<&Path> = from_here.iter().copied().filter(leads_back).collect();
            if circle.len() > largest {
                circles.push(circle);
            }
        }
        circles
    }

    /// All files that `file` imports, and those that they import.
    fn reached_from<'a>(&'a self, file: &'a Path) -> BTreeSet<&'a Path> {
        let mut reached = BTreeSet::new();
        let mut open = vec![file];
        while let Some(next) = open.pop() {
            let imports = self.of_file.get(next).into_iter().flat_map(BTreeMap::keys);
            open.extend(imports.map(PathBuf::as_path).filter(|&import| reached.insert(import)));
        }
        reached
    }

    /// The files of `circle`, each with what it imports within the circle.
    pub(super) fn describe(&self, circle: &BTreeSet<&Path>) -> String {
        let mut text = format!("a circle of {} files:\n", circle.len());
        for (file, imports) in self.of_file.iter().filter(|(file, _)| circle.contains(file.as_path())) {
            writeln!(text, "  {}", file.display()).expect("a string takes all");
            for (import, path) in imports.iter().filter(|(import, _)| circle.contains(import.as_path())) {
                writeln!(text, "    -> {} by `{path}`", import.display()).expect("a string takes all");
            }
        }
        text
    }
}
