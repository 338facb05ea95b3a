//! A bundle of each slice, for another place: with tags, with the account of what was skipped since the bundle before, and without
//! names unless they are wanted.
//!
//! Input: a slice. Output: `slow-TIME-HASH.tar.zst` in a folder that many recorders may write to, whole or not at all. TIME is in
//! milliseconds since 1970, so that names sort by age; HASH is the beginning of the slice's SHA-256, by which the tables of a fleet
//! know it. No name says which host it is from.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use analysis::bundle::{self, Packing};
use analysis::capture::NoMeter;
use analysis::request::{Code, Input};
use analysis::study::Listing;
use analysis::{Request, sha256, slice};
use anyhow::{Context as _, Result};
use report::Snapshots;

use super::delivery::OnBundle;
use super::room;

/// How names of bundles begin and end.
const BEGIN: &str = "slow-";
const END: &str = ".tar.zst";
/// How the name of one begins that was delivered and is kept.
const DELIVERED: &str = "delivered-";
/// What stands in the name of a draft (docs/slice-and-bundle.md, "Outputs").
const DRAFT: &str = ".tailtrace-";
/// The tag that says where the whole capture lies.
const WHOLE: &str = "whole";
/// So many digits of the SHA-256.
const DIGITS: usize = 16;

/// Where bundles go, and how they are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bundles {
    /// The folder.
    pub(crate) to: PathBuf,
    /// What they say of themselves, by name.
    pub(crate) tags: BTreeMap<String, String>,
    /// Whether names of the host, its users and paths are replaced.
    pub(crate) redacted: bool,
    /// Takes them.
    pub(crate) on_bundle: Option<OnBundle>,
    /// The bytes of the folder beyond which the oldest go.
    pub(crate) most_bytes: Option<u64>,
}

impl Bundles {
    /// The same with an absolute folder, which is made where it is missing.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub(super) fn absolute(&self) -> Result<Bundles> {
        let made = fs::create_dir_all(&self.to).and_then(|()| fs::canonicalize(&self.to));
        let to = made.with_context(|| format!("--bundle-to {}", self.to.display()))?;
        Ok(Bundles { to, ..self.clone() })
    }

    /// Removes the oldest ones where the folder holds too much; returns which.
    pub(super) fn make_room(&self) -> Vec<PathBuf> {
        self.most_bytes.map(|most| room::make(&self.to, most)).unwrap_or_default()
    }

    /// Makes a bundle of the slice at `path`, whose binaries are where `code` says; returns where it is. `ring` is the name of the ring that the
    /// slice was cut from, where it stays.
    ///
    /// # Errors
    /// Where the slice cannot be explained, or the bundle cannot be written.
    pub(super) fn make(
        &self,
        path: &Path,
        code: Code,
        account: Snapshots,
        ring: Option<&str>,
    ) -> Result<PathBuf> {
        let input = Input { path: path.to_owned(), code, account: Some(account), ..Input::default() };
        // The code listing shows source lines and the paths of their files.
        let listing = if self.redacted { Listing::None } else { Listing::Wanted };
        let request = Request { input, ..Request::default() };
        let (mut slice, _) = slice::make(&request, &NoMeter, listing, self.redacted)?;
        let path = self.to.join(name(SystemTime::now(), &slice.perf_data));
        let (files, _) = bundle::contents(&mut slice, Packing::Verified, &self.tags_of(ring))?;
        bundle::write(&path, &files)?;
        Ok(path)
    }

    /// The tags of a bundle whose ring stays under this name: the tag `whole` that names a folder names the ring in it.
    fn tags_of(&self, ring: Option<&str>) -> BTreeMap<String, String> {
        let mut tags = self.tags.clone();
        if let (Some(ring), Some(whole)) = (ring, tags.get_mut(WHOLE).filter(|whole| whole.ends_with('/'))) {
            whole.push_str(ring);
        }
        tags
    }
}

/// The bundles in `folder` that were not delivered, whoever made them; the oldest first.
pub(super) fn in_folder(folder: &Path) -> Vec<PathBuf> {
    named(folder, |name| name.starts_with(BEGIN) && name.ends_with(END))
}

/// The drafts of such bundles.
pub(super) fn drafts(folder: &Path) -> Vec<PathBuf> {
    named(folder, |name| {
        name.strip_prefix('.').is_some_and(|name| name.starts_with(BEGIN)) && name.contains(DRAFT)
    })
}

fn named(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_file = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    let wanted = entries.filter(|entry| is_file(entry) && is_wanted(&entry.file_name().to_string_lossy()));
    let mut found: Vec<PathBuf> = wanted.map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// The name of the bundle at `path` once it was delivered, where it stays.
pub(super) fn delivered(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{DELIVERED}{}", name.strip_prefix(BEGIN).unwrap_or(&name)))
}

/// What the bundle of these bytes is called that is made at `time`.
fn name(time: SystemTime, slice: &[u8]) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    format!("{BEGIN}{since:013}-{}{END}", &sha256::of_bytes(slice)[..DIGITS])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_folder_of_rings_becomes_the_ring() {
        let bundles = |whole: &str| Bundles {
            to: PathBuf::new(),
            tags: BTreeMap::from([(WHOLE.to_owned(), whole.to_owned())]),
            redacted: true,
            on_bundle: None,
            most_bytes: None,
        };
        let whole = |of: &str, ring| bundles(of).tags_of(ring).remove(WHOLE);
        assert_eq!(whole("ssh://web-7/rings/", Some("ring.7")).as_deref(), Some("ssh://web-7/rings/ring.7"));
        assert_eq!(whole("ssh://web-7/perf.data", Some("ring.7")).as_deref(), Some("ssh://web-7/perf.data"));
        assert_eq!(whole("ssh://web-7/rings/", None).as_deref(), Some("ssh://web-7/rings/"));
    }

    /// By `printf a | sha256sum`.
    #[test]
    fn names_sort_by_age() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(name(at(1_700_000_000), b"a"), "slow-1700000000000-ca978112ca1bbdca.tar.zst");
        assert!(name(at(900_000_000), b"a") < name(at(1_700_000_000), b""));
    }
}
