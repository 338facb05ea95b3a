//! Plain English: words of an earlier style are found in what people read.
//!
//! Three kinds of text: the documents (README.md and docs), the string literals of each crate, which users may see, and
//! its comments.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::captures::repository;

use list::{RIGHT, WORDS};
use text::{Text, read_document, read_source};

mod list;
mod text;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Documents,
    Strings(String),
    Comments(String),
}

#[test]
fn no_word_of_the_list_is_left() {
    let hits = all_hits().hits;
    let left = hits.iter().filter(|(_, hits)| !hits.is_empty());
    let listed: Vec<String> = left
        .map(|(kind, hits)| format!("{kind:?}: {} words:\n  {}", hits.len(), hits.join("\n  ")))
        .collect();
    assert!(listed.is_empty(), "{}", listed.join("\n"));
}

#[test]
fn each_exempt_sentence_is_there() {
    let found = all_hits();
    let stale: Vec<_> = RIGHT.iter().filter(|sentence| !found.right.contains(sentence)).collect();
    assert!(stale.is_empty(), "no text holds {stale:?}: take them off the list");
}

#[derive(Default)]
struct Found {
    hits: BTreeMap<Kind, Vec<String>>,
    right: Vec<&'static str>,
}

fn all_hits() -> Found {
    let mut found = Found::default();
    for (kind, path, text) in all_texts() {
        let (hits, right) = words_in(&text.text);
        found.right.extend(right);
        let place = path.strip_prefix(repository()).unwrap_or(&path).display();
        let hits = hits.into_iter().map(|hit| {
            let line = text.line + hit.line;
            format!("{place}:{line}: \"{}\": say {}", hit.word, hit.instead)
        });
        found.hits.entry(kind).or_default().extend(hits);
    }
    found
}

#[derive(Debug, PartialEq, Eq)]
struct Hit {
    /// Lines before it in its text.
    line: usize,
    word: &'static str,
    instead: &'static str,
}

/// The words of the list in `text`, and the exempt sentences that it holds.
fn words_in(text: &str) -> (Vec<Hit>, Vec<&'static str>) {
    let (plain, lines) = plain(text);
    let mut exempt = Vec::new();
    let mut right = Vec::new();
    for sentence in RIGHT {
        let before = exempt.len();
        exempt.extend(plain.match_indices(sentence).map(|(at, _)| at..at + sentence.len()));
        right.extend((exempt.len() > before).then_some(*sentence));
    }
    let mut hits = Vec::new();
    for &(words, instead) in WORDS {
        for &word in words {
            for (at, _) in plain.match_indices(word) {
                let whole = is_whole(&plain, at, at + word.len());
                if whole && !exempt.iter().any(|range| range.contains(&at)) {
                    hits.push(Hit { line: lines[at], word, instead });
                }
            }
        }
    }
    hits.sort_by_key(|hit| hit.line);
    (hits, right)
}

fn is_whole(text: &str, start: usize, end: usize) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    !text[..start].ends_with(part) && !text[end..].starts_with(part)
}

/// `text` in lower case with single blanks, and for each of its bytes how many lines lie before it.
fn plain(text: &str) -> (String, Vec<usize>) {
    let (mut plain, mut lines) = (String::new(), Vec::new());
    for (line, content) in text.split('\n').enumerate() {
        for word in content.split_whitespace() {
            plain.push_str(&word.to_lowercase());
            plain.push(' ');
            lines.resize(plain.len(), line);
        }
    }
    (plain, lines)
}

/// Everything that people read, with the file it stands in.
fn all_texts() -> Vec<(Kind, PathBuf, Text)> {
    let mut texts = Vec::new();
    for path in files(&repository().join("docs")).into_iter().chain([repository().join("README.md")]) {
        if path.extension().is_some_and(|extension| extension == "md") {
            let document = read_document(&fs::read_to_string(&path).expect("readable"));
            texts.push((Kind::Documents, path, document));
        }
    }
    for folder in fs::read_dir(repository().join("crates")).expect("crates are there") {
        let folder = folder.expect("readable").path();
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        for path in files(&folder) {
            let script = path.extension().is_some_and(|extension| extension == "js");
            if script || path.extension().is_some_and(|extension| extension == "rs" || extension == "h") {
                texts.extend(texts_of_source(&name, &path, script));
            }
        }
    }
    texts
}

fn texts_of_source(name: &str, path: &Path, script: bool) -> Vec<(Kind, PathBuf, Text)> {
    let content = fs::read_to_string(path).expect("readable");
    let help = ["Parser", "Args", "Subcommand", "ValueEnum"]
        .iter()
        .any(|derived| content.lines().any(|line| line.contains("derive(") && line.contains(derived)));
    let source = read_source(&content, help, script);
    let strings = if is_test(path) { Vec::new() } else { source.strings };
    let strings = strings.into_iter().map(|text| (Kind::Strings(name.to_owned()), path.to_owned(), text));
    let comments =
        source.comments.into_iter().map(|text| (Kind::Comments(name.to_owned()), path.to_owned(), text));
    strings.chain(comments).collect()
}

/// Whether users never see the file's literals.
fn is_test(path: &Path) -> bool {
    path.strip_prefix(repository()).unwrap_or(path).components().any(|part| {
        let name = part.as_os_str().to_string_lossy();
        matches!(name.trim_end_matches(".rs"), "tests" | "testing" | "test_file" | "benches" | "examples")
    })
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn a_phrase_is_found_across_lines_and_in_whole_words() {
    let found = |text| words_in(text).0.into_iter().map(|hit| (hit.line, hit.word)).collect::<Vec<_>>();
    assert_eq!(found("Then\nit Stood\n  still; a retelling."), [(1, "stood still")]);
    assert_eq!(found("runnable behind a thread, but behind a packet"), [(0, "behind")]);
    assert_eq!(words_in("runnable behind a thread").1, ["runnable behind"]);
}
