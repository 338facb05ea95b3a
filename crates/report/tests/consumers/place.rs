//! Where programs of others, with which tests check what we write, are installed: by `install` beside this file.

use std::path::{Path, PathBuf};

/// `target/consumers/PATH` of the repository, or below `TAILTRACE_CONSUMERS`.
pub(crate) fn of(path: &str) -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let repository = package.ancestors().find(|folder| folder.join("Cargo.lock").exists()).unwrap_or(package);
    let below = std::env::var_os("TAILTRACE_CONSUMERS")
        .map_or_else(|| repository.join("target/consumers"), PathBuf::from);
    let found = below.join(path);
    assert!(found.exists(), "{} is missing: `scripts/setup test` installs it", found.display());
    found
}
