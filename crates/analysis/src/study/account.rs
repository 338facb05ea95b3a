//! What a recording that keeps only what was slow skipped: its account lies beside its slices.
//!
//! Input: a slice's path. Output: the account, which the report's population shows. It may come from anybody: its size is bounded before
//! it is read, and one that makes no sense is a diagnostic.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use model::Diagnostic;
use report::Snapshots;
use serde::{Deserialize, Serialize};

use crate::request::ACCOUNT;

/// How the names of slices begin there.
pub const SLICES: &str = "slow-";
/// The format and its version.
const SCHEMA: &str = "tailtrace-snapshots/1";
/// More is no account.
const LONGEST: u64 = 64 << 10;

/// `snapshots.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Account {
    schema: String,
    /// What the report shows.
    #[serde(flatten)]
    pub snapshots: Snapshots,
    /// Lines that came through the doorbell.
    #[serde(default)]
    pub doorbell: u64,
    /// Of these, those of the program's writing thread, up to 2 ms late: it ended intervals without comparing them.
    #[serde(default)]
    pub late: u64,
    /// Rings that perf wrote for them.
    #[serde(default)]
    pub taken: u64,
    /// Slices that were cut.
    #[serde(default)]
    pub slices: u64,
    /// Where a pair of events rang: those that were lost before they were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<LostEvents>,
    /// What became of them where bundles were made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundles: Option<BundleCounts>,
}

/// Events of a pair that were overwritten in the kernel's buffer before they were read: intervals around them are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostEvents {
    /// How often that was so.
    pub times: u64,
    /// How many events, by the kernel's count.
    pub events: u64,
}

/// The bundles of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BundleCounts {
    /// Those that were written.
    pub written: u64,
    /// Slices of which none could be made, mostly because the disk was full.
    pub unwritten: u64,
    /// Those that were removed to make room; of earlier recordings, too.
    pub removed: u64,
    /// Those that the command took; of earlier recordings, too.
    pub delivered: u64,
    /// How often the command failed.
    pub failures: u64,
    /// Those that wait in the folder; of others, too.
    pub waiting: u64,
}

impl Account {
    /// One that counts nothing beside these.
    pub fn new(snapshots: Snapshots) -> Account {
        Account {
            schema: SCHEMA.to_owned(),
            snapshots,
            doorbell: 0,
            late: 0,
            taken: 0,
            slices: 0,
            lost: None,
            bundles: None,
        }
    }

    /// The file's text.
    ///
    /// # Errors
    /// None that these types can have.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec_pretty(self)
    }
}

/// The slices in the folder of a recording that keeps only what was slow, in order; `None` of another path.
pub fn slices(folder: &Path) -> Option<Vec<PathBuf>> {
    if !folder.join(ACCOUNT).is_file() || folder.join("data").exists() {
        return None;
    }
    let paths = std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let is_slice = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Beside a slice that is a file lies its machine file.
        name.starts_with(SLICES) && name.ends_with(".data")
    };
    let mut slices: Vec<PathBuf> = paths.filter(is_slice).collect();
    slices.sort();
    Some(slices)
}

/// What was skipped of the recording that `slice` is from; `None` of another one.
///
/// # Errors
/// What is wrong with the account.
pub(super) fn of_slice(slice: &Path) -> Result<Option<Snapshots>, Diagnostic> {
    let name = slice.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let path = slice.with_file_name(ACCOUNT);
    if !name.starts_with(SLICES) || !path.is_file() {
        return Ok(None);
    }
    let refused = |why: &dyn std::fmt::Display| {
        let what = format!("how many slow intervals were skipped is not known: {why}");
        Diagnostic::warning(what).in_file(path.to_string_lossy())
    };
    let mut text = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(LONGEST).read_to_end(&mut text));
    read.map_err(|error| refused(&error))?;
    let account: Account = serde_json::from_slice(&text).map_err(|error| refused(&error))?;
    if account.schema != SCHEMA {
        return Err(refused(&"another version of the format"));
    }
    Ok(Some(account.snapshots))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_lies_beside_the_slice() {
        let folder = tempfile::tempdir().expect("a folder");
        let slice = folder.path().join("slow-0001.data");
        assert_eq!(of_slice(&slice), Ok(None));
        let snapshots = Snapshots { is_complete: true, slow: 3, kept: 2, ..Snapshots::default() };
        let text = Account::new(snapshots.clone()).to_json().expect("JSON");
        let account = folder.path().join(ACCOUNT);
        std::fs::write(&account, &text).expect("written");
        assert_eq!(of_slice(&slice), Ok(Some(snapshots)));
        assert_eq!(of_slice(&folder.path().join("perf.data")), Ok(None), "another capture");
        for wrong in [&b"{"[..], b"{}", br#"{"schema":"tailtrace-snapshots/9"}"#, &vec![b'['; 1 << 20]] {
            std::fs::write(&account, wrong).expect("written");
            assert!(of_slice(&slice).is_err());
        }
        assert_eq!(slices(folder.path()), Some(Vec::new()));
        for name in ["slow-0002.data", "slow-0001.data", "slow-0001.data.machine.json", "ring.1"] {
            std::fs::write(folder.path().join(name), b"").expect("written");
        }
        let found = ["slow-0001.data", "slow-0002.data"].map(|name| folder.path().join(name));
        assert_eq!(slices(folder.path()), Some(found.to_vec()));
        assert_eq!((slices(&found[0]), slices(Path::new("/"))), (None, None));
        let later = String::from_utf8(text).expect("text").replace("snapshots/1", "snapshots/2");
        std::fs::write(&account, later).expect("written");
        assert!(of_slice(&slice).is_err_and(|found| found.what.contains("another version")));
    }
}
