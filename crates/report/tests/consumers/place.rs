//! Where programs of others, with which tests check what we write, are installed: by `install` beside this file.

use std::path::PathBuf;

/// `target/consumers/PATH`, or below `TAILTRACE_CONSUMERS`; `None`, and a word, where it is not there.
pub(crate) fn of(path: &str) -> Option<PathBuf> {
    let below = std::env::var_os("TAILTRACE_CONSUMERS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/consumers"),
        PathBuf::from,
    );
    let found = below.join(path);
    if found.exists() {
        return Some(found);
    }
    println!("skipped: {path} is not here (crates/report/tests/consumers/install)");
    None
}
