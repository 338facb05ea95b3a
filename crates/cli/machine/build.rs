//! perf: its version, and what it was built with.
//!
//! Source: `perf version --build-options` (`tools/perf/builtin-version.c`), a line for each: `zstd: [ on ]  # HAVE_ZSTD_SUPPORT`.

use std::collections::BTreeMap;
use std::process::Command;

/// perf, as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Build {
    /// `6.1.187`.
    pub(crate) version: String,
    options: BTreeMap<String, bool>,
}

impl Build {
    /// That of the `perf` on the path; `None` where there is none that runs.
    pub(crate) fn on_path() -> Option<Build> {
        let output = Command::new("perf").args(["version", "--build-options"]).output().ok()?;
        output.status.success().then(|| Build::parse(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Reads what `perf version --build-options` prints.
    pub(crate) fn parse(text: &str) -> Build {
        let mut build = Build::default();
        for line in text.lines() {
            if let Some(version) = line.trim().strip_prefix("perf version ") {
                version.clone_into(&mut build.version);
            } else if let Some((_, rest)) = line.split_once(": [")
                && let Some((state, name)) = rest.split_once(']')
            {
                let name = name.trim().trim_start_matches('#').split_whitespace().next().unwrap_or_default();
                build.options.insert(name.to_owned(), state.trim().eq_ignore_ascii_case("on"));
            }
        }
        build
    }

    /// Whether perf says that it was built without what it calls `option` (`HAVE_ZSTD_SUPPORT`). Of what it does not list nothing
    /// is known.
    pub(crate) fn lacks(&self, option: &str) -> bool {
        self.options.get(option) == Some(&false)
    }

    /// The version's first two numbers; `None` of a version that does not begin so.
    pub(crate) fn numbers(&self) -> Option<(u32, u32)> {
        numbers(&self.version)
    }
}

/// The first two numbers of a version of perf or of the kernel.
pub(super) fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
