//! Files that the documents name are there.

use std::fs;
use std::path::{Path, PathBuf};

use crate::captures::repository;

/// Where the repository's own files lie; what is built lies elsewhere.
const FOLDERS: [&str; 8] =
    ["benches", "crates", "docs", "fixtures", "fuzz/fuzz_targets", "scripts", "tests", ".github"];

#[test]
fn named_files_exist() {
    let mut all = Vec::new();
    for folder in FOLDERS {
        collect(&repository().join(folder), &mut all);
    }
    let documents = all.iter().filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let roots = ["README.md", "CHANGELOG.md", "SECURITY.md", "RELEASE-CHECKLIST.md"];
    let documents: Vec<PathBuf> =
        documents.cloned().chain(roots.iter().map(|name| repository().join(name))).collect();
    assert!(documents.len() > 20, "{documents:?}");
    let mut missing = Vec::new();
    for document in &documents {
        let text = fs::read_to_string(document).expect("readable");
        // Every other piece between backticks is code.
        for name in text.split('`').skip(1).step_by(2).filter(|name| is_file_of_ours(name)) {
            // `precedence.rs` of a page that has said where its files lie, or the whole path.
            if !all.iter().any(|path| path.ends_with(name)) {
                missing.push(format!("{}: {name}", document.display()));
            }
        }
    }
    assert!(missing.is_empty(), "no such files:\n{}", missing.join("\n"));
}

/// A source file or a script, and nothing more: no option, no placeholder.
fn is_file_of_ours(name: &str) -> bool {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    let source = Path::new(name).extension().is_some_and(|extension| extension == "rs");
    plain && (source || name.starts_with("scripts/"))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        // Links lead to files that are listed by themselves, or out of the repository.
        let kind = entry.file_type().expect("a type");
        if kind.is_dir() {
            collect(&entry.path(), files);
        } else {
            files.push(entry.path());
        }
    }
}
