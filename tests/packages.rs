//! The eleven library crates are fit to publish: they package in one call, with readme and licences, and without captures.
//!
//! Input: what `cargo package` writes into a directory of this test. It builds nothing: a release does (RELEASE-CHECKLIST.md).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::Command;

/// The crates that a release publishes; the binary and `tracegen` are not among them.
const PUBLISHED: [&str; 11] = [
    "analysis",
    "attribution",
    "fleet",
    "intervals",
    "marks",
    "marks-tracing",
    "model",
    "perfdata",
    "pt",
    "report",
    "symbols",
];
/// The version of all of them.
const VERSION: &str = env!("CARGO_PKG_VERSION");
const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];
/// What a registry shows of a package.
const SHOWN: [&str; 6] = ["description", "readme", "keywords", "categories", "license", "rust-version"];
/// What a package may hold: sources, texts, and what `include_str!` and users of the formats read. Nothing of a capture ends so.
const KINDS: [&str; 9] = ["rs", "md", "toml", "lock", "orig", "json", "js", "css", "h"];

#[test]
fn packages_hold_their_texts_and_no_capture() {
    let target = tempfile::tempdir().expect("a directory");
    package(target.path());
    for name in PUBLISHED {
        let files = unpacked(&target.path().join(format!("package/tailtrace-{name}-{VERSION}.crate")));
        for licence in LICENCES {
            let ours = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(licence));
            assert_eq!(files.get(licence), Some(&ours.expect("of the repository")), "{licence} of {name}");
        }
        let text = |file: &str| {
            let bytes = files.get(file).unwrap_or_else(|| panic!("{name} lacks {file}"));
            String::from_utf8(bytes.clone()).expect("text")
        };
        assert!(text("README.md").starts_with(&format!("# tailtrace-{name}\n")), "{name}: another readme");
        let manifest = text("Cargo.toml");
        for key in SHOWN {
            let is_set = manifest.lines().any(|line| line.starts_with(&format!("{key} = ")));
            assert!(is_set, "{name} has no {key}");
        }
        for path in files.keys().filter(|path| !LICENCES.contains(&path.as_str())) {
            let kind = Path::new(path).extension().and_then(|kind| kind.to_str()).unwrap_or_default();
            assert!(KINDS.contains(&kind), "{name} packs {path}");
        }
    }
}

/// Packages all of them in one call, so that each finds the others although no registry has them.
fn package(target: &Path) {
    let output = Command::new(env!("CARGO"))
        .args(["package", "--no-verify", "--offline", "--allow-dirty", "--locked", "--target-dir"])
        .arg(target)
        .args(PUBLISHED.iter().flat_map(|name| ["-p".to_owned(), format!("tailtrace-{name}")]))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The files of a package, by their path below its one directory.
fn unpacked(package: &Path) -> BTreeMap<String, Vec<u8>> {
    let file = File::open(package).unwrap_or_else(|error| panic!("{}: {error}", package.display()));
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
    let entries = archive.entries().expect("an archive");
    entries
        .map(|entry| {
            let mut entry = entry.expect("an entry");
            let path = entry.path().expect("a path").to_string_lossy().into_owned();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).expect("its bytes");
            (path.split_once('/').map_or(path.clone(), |(_, rest)| rest.to_owned()), bytes)
        })
        .collect()
}
