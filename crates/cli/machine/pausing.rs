//! Whether kernel and perf can have other events pause and resume a trace (`aux-action=`).
//!
//! No file of sysfs says it: Linux has it since 6.13 (`aux_pause` of `perf_event_attr`), perf since 6.14, by whose version number
//! both go. perf refuses the term where it does not know it, and where the kernel does not.

use super::build::{Build, numbers};
use super::tree::Tree;

/// The first versions.
const KERNEL: (u32, u32) = (6, 13);
const PERF: (u32, u32) = (6, 14);

/// What cannot, and which version can; `None` where both can, or nothing is known.
pub(crate) fn missing(tree: &Tree, build: Option<&Build>) -> Option<String> {
    let release = tree.text("proc/sys/kernel/osrelease").unwrap_or_default();
    let version = build.map_or("", |build| build.version.as_str());
    [("Linux", release.as_str(), KERNEL), ("perf", version, PERF)].into_iter().find_map(
        |(name, version, first)| {
            let is_older = numbers(version).is_some_and(|numbers| numbers < first);
            is_older.then(|| format!("{name} {} is older than {}.{}", version.trim(), first.0, first.1))
        },
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_older_one_is_named() {
        let root = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(root.path().join("proc/sys/kernel")).expect("made");
        let missing = |release: &str, perf: &str| {
            fs::write(root.path().join("proc/sys/kernel/osrelease"), release).expect("written");
            let build = Build::parse(&format!("perf version {perf}\n"));
            missing(&Tree::new(root.path()).expect("a tree"), Some(&build))
        };
        assert_eq!(missing("6.13.0-arch1\n", "6.14.rc3.g1"), None);
        assert_eq!(missing("7.0.1\n", "7.0.1"), None);
        let old = "Linux 6.8.0-51-generic is older than 6.13";
        assert_eq!(missing("6.8.0-51-generic\n", "6.14.2"), Some(old.to_owned()));
        assert_eq!(missing("6.18.44\n", "6.1.187"), Some("perf 6.1.187 is older than 6.14".to_owned()));
        assert_eq!(missing("unknown\n", "unknown"), None);
    }
}
