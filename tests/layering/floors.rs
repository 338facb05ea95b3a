//! Holds the floors inside crates: a folder imports only folders to its left.
//!
//! In: the imports among the production files of a crate, and its table. A path counts wherever it stands, in a `use` or
//! in code; what only tests compile is left out ([`modules`]).

mod tests;

use std::path::{Path, PathBuf};

use super::graph::Imports;
use super::modules;

/// A crate's folders from left to right, each with those that it may import.
struct Floors {
    /// The crate's root file, from the repository's root.
    root: &'static str,
    /// A folder is named as its modules are, from the crate's root; of two that hold a file, the longer name counts.
    table: &'static [(&'static str, &'static [&'static str])],
}

const CRATES: [Floors; 3] = [
    Floors {
        root: "crates/attribution/src/lib.rs",
        table: &[
            ("tables", &[]),
            ("records", &["tables"]),
            ("inputs", &["tables", "records"]),
            ("walk", &["tables", "inputs"]),
            ("threads", &["tables", "records", "inputs", "walk"]),
            ("samples", &["walk", "threads"]),
            ("claims", &["tables", "records", "inputs", "walk", "threads"]),
            ("claims/off_cpu", &["tables", "records", "inputs", "walk", "threads", "claims"]),
            (
                "examine",
                &["tables", "records", "inputs", "walk", "threads", "samples", "claims", "claims/off_cpu"],
            ),
            ("compare", &["tables", "inputs", "walk", "samples", "claims", "examine"]),
            ("population", &["tables", "records", "inputs", "threads", "claims/off_cpu"]),
        ],
    },
    Floors {
        root: "crates/analysis/src/lib.rs",
        table: &[
            ("request", &[]),
            ("error", &[]),
            ("nearest", &[]),
            ("sha256", &[]),
            ("expectation", &["error", "nearest"]),
            ("output", &["error"]),
            ("capture", &["request"]),
            ("intervals_of", &["request", "error", "nearest", "output", "capture"]),
            ("instructions", &["request", "error", "capture", "intervals_of"]),
            ("checks", &["capture"]),
            ("population", &["capture"]),
            ("hot_code", &["request", "capture"]),
            (
                "study",
                &[
                    "request",
                    "error",
                    "expectation",
                    "output",
                    "capture",
                    "intervals_of",
                    "checks",
                    "population",
                    "hot_code",
                ],
            ),
            ("slice", &["request", "error", "output", "capture", "study"]),
            ("bundle", &["request", "error", "sha256", "output", "capture", "study", "slice"]),
        ],
    },
    Floors {
        root: "crates/cli/main.rs",
        table: &[
            ("output", &[]),
            ("ending", &["output"]),
            ("advice", &[]),
            ("progress", &[]),
            ("meter", &["output", "progress"]),
            ("examples", &[]),
            ("args", &["examples", "output"]),
            ("stdin", &["args"]),
            ("input", &["advice", "stdin"]),
            ("man", &["args"]),
            ("machine", &[]),
            ("record", &["args", "output", "ending", "machine"]),
            ("doctor", &["args", "machine", "record"]),
            ("tui/pages", &["args"]),
            ("tui/draw", &["output", "progress", "tui/pages"]),
            ("tui/app", &["output", "advice", "args", "tui/pages", "tui/draw"]),
            ("tui", &["tui/pages", "tui/draw", "tui/app"]),
            (
                "commands",
                &[
                    "output", "advice", "progress", "meter", "examples", "args", "input", "man", "machine",
                    "record", "doctor", "tui",
                ],
            ),
        ],
    },
];

#[test]
fn folders_import_only_folders_to_their_left() {
    for floors in &CRATES {
        let read = |path: &Path| std::fs::read_to_string(path).ok();
        let found = floors.violations(&modules::imports_below(Path::new(floors.root), &read));
        assert!(found.is_empty(), "{}:\n{}", floors.root, found.join("\n"));
    }
}

impl Floors {
    /// What breaks the table, a line each; a row that names a folder which is not to its left breaks it, too.
    fn violations(&self, imports: &Imports) -> Vec<String> {
        let mut found = Vec::new();
        for (index, (folder, may)) in self.table.iter().enumerate() {
            let left: Vec<&str> = self.table[..index].iter().map(|(name, _)| *name).collect();
            let wrong = may.iter().filter(|name| !left.contains(name));
            found.extend(wrong.map(|name| format!("the table: {name} is not to the left of {folder}")));
        }
        let root = Path::new(self.root);
        for (from, to, path) in imports.all().filter(|(from, ..)| *from != root) {
            let Some((own, may)) = self.row_of(from) else {
                found.push(format!("{} lies in no folder of the table", from.display()));
                continue;
            };
            let of =
                if to == root { Some("the crate's root") } else { self.row_of(to).map(|(folder, _)| folder) };
            if of.is_none_or(|of| of != own && !may.contains(&of)) {
                let of = of.unwrap_or("no folder");
                found.push(format!(
                    "{} ({own}) imports {} of {of} by `{path}`",
                    from.display(),
                    to.display()
                ));
            }
        }
        found
    }

    /// The row of a file's folder; a folder's own file, `claims.rs` beside `claims/`, lies in it.
    fn row_of(&self, file: &Path) -> Option<(&'static str, &'static [&'static str])> {
        let sources = Path::new(self.root).parent().expect("a file lies in a folder");
        let module: PathBuf = file.strip_prefix(sources).ok()?.with_extension("");
        let holding = self.table.iter().copied().filter(|(folder, _)| module.starts_with(folder));
        holding.max_by_key(|(folder, _)| folder.len())
    }
}
