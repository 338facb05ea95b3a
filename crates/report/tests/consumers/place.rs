//! Where programs of others, with which tests check what we write, are installed: by `install` beside this file.

use std::path::PathBuf;

/// `target/consumers/PATH`, or below `TAILTRACE_CONSUMERS`.
pub(crate) fn of(path: &str) -> PathBuf {
    let below = std::env::var_os("TAILTRACE_CONSUMERS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/consumers"),
        PathBuf::from,
    );
    let found = below.join(path);
    assert!(found.exists(), "{} is missing: `scripts/setup test` installs it", found.display());
    found
}
