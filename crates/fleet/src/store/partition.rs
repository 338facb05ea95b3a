//! Days and services as folders, as Hive names them.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use analysis::sha256;

use crate::error::{Error, Result};

/// Bytes of a service in a folder's name; the rest of a longer one is left out there. Escaped, each takes three, and names have up to 255.
const LONGEST: usize = 80;
/// What Hive writes for an empty value.
const EMPTY: &str = "__HIVE_DEFAULT_PARTITION__";

/// A day and a service, as their folders are called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Partition {
    day: String,
    service: String,
}

impl Partition {
    /// The partition of captures of this day and service.
    pub(crate) fn of(day: &str, service: &str) -> Partition {
        Partition { day: format!("day={}", escaped(day)), service: format!("service={}", escaped(service)) }
    }

    /// Its folder in that of a table.
    pub(crate) fn within(&self, table: &Path) -> PathBuf {
        table.join(&self.day).join(&self.service)
    }
}

/// The name of the part of which `content` says what is in it: half of the digits of that one's SHA-256.
pub(crate) fn part_name(content: &str) -> String {
    format!("part-{}.parquet", &sha256::of_bytes(content.as_bytes())[..32])
}

/// `value` as Hive writes it in a path: what could end or leave it stands as `%` and two hexadecimal digits.
fn escaped(value: &str) -> String {
    if value.is_empty() {
        return EMPTY.to_owned();
    }
    let mut end = value.len().min(LONGEST);
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    let mut name = String::new();
    for one in value[..end].chars() {
        // FileUtils.charToEscape of Hive.
        if one.is_ascii_control() || "\"#%'*/:=?\\{[]^".contains(one) {
            // Writing to a string cannot fail.
            let _ = write!(name, "%{:02X}", u32::from(one));
        } else {
            name.push(one);
        }
    }
    name
}

/// All partitions in the folder of a table; none where it is missing.
pub(super) fn all(table: &Path) -> Result<Vec<Partition>> {
    let mut found = Vec::new();
    for day in names(table)?.into_iter().filter(|name| name.starts_with("day=")) {
        for service in names(&table.join(&day))?.into_iter().filter(|name| name.starts_with("service=")) {
            found.push(Partition { day: day.clone(), service });
        }
    }
    Ok(found)
}

/// The parts in a partition's folder; drafts are none.
pub(super) fn parts(folder: &Path) -> Result<Vec<String>> {
    let is_part = |name: &String| name.starts_with("part-") && name.ends_with(".parquet");
    Ok(names(folder)?.into_iter().filter(is_part).collect())
}

/// The names in a folder, in their order; none where it is missing. What is no UTF-8 is not ours.
fn names(folder: &Path) -> Result<Vec<String>> {
    let cannot = || Error::io(format!("{} cannot be read", folder.display()));
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(cannot())?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.map_err(cannot())?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_services_stay_in_their_folder() {
        let folder = |service: &str| Partition::of("2026-11-26", service).within(Path::new("t"));
        let expected = |service: &str| Path::new("t/day=2026-11-26").join(service);
        assert_eq!(folder("checkout"), expected("service=checkout"));
        assert_eq!(folder("../../etc"), expected("service=..%2F..%2Fetc"));
        assert_eq!(folder("a=b\n%\u{7f}"), expected("service=a%3Db%0A%25%7F"));
        assert_eq!(folder(""), expected("service=__HIVE_DEFAULT_PARTITION__"));
        assert_eq!(folder("Zürich"), expected("service=Zürich"));
        let long = folder(&"ü/".repeat(200));
        assert!(long.file_name().is_some_and(|name| name.len() < 255));
    }
}
