//! A bundle's list of its files, with checksums and versions: `manifest.json`.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::binaries::{Packed, PackedFile, shown};
use super::unpack::{Limits, is_inside};
use crate::error::{Error, Result};
use crate::sha256;

/// Its name in the bundle.
pub(crate) const NAME: &str = "manifest.json";
/// The format and its version.
const FORMAT: &str = "tailtrace-bundle/1";
/// A list of 10,000 files has a tenth of it.
const LARGEST: u64 = 16 << 20;

/// What `manifest.json` says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The format's name and version.
    format: String,
    /// Who made it.
    tool: String,
    /// The kernel and the perf of the recording.
    recorded_with: Vec<String>,
    /// The slice, as `perf script -i` and `tailtrace explain -i` take it.
    slice: String,
    /// The folder for `--symfs`; none where the bundle has no binaries.
    symfs: Option<String>,
    /// Whether names and paths were replaced.
    redacted: bool,
    /// What the user said of it, by name; bundles of earlier versions have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    tags: BTreeMap<String, String>,
    /// All files but this one, by path.
    files: Vec<Listed>,
}

/// A file of the bundle.
#[derive(Debug, Serialize, Deserialize)]
struct Listed {
    path: String,
    bytes: u64,
    sha256: String,
    /// Of a file that served for code and names: where it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// And what showed that it is the recorded one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identified_by: Option<String>,
}

/// What a manifest says besides the list.
pub(crate) struct Facts {
    /// The kernel and the perf of the recording.
    pub(crate) recorded_with: Vec<String>,
    /// The slice's place.
    pub(crate) slice: String,
    /// The place of the binaries.
    pub(crate) symfs: Option<String>,
    /// Whether names and paths were replaced.
    pub(crate) redacted: bool,
    /// What the user says of it, by name.
    pub(crate) tags: BTreeMap<String, String>,
}

impl Manifest {
    /// The manifest of these files: (path, contents).
    pub(crate) fn new<'a>(
        facts: Facts,
        files: impl Iterator<Item = (&'a str, &'a [u8])>,
        packed: &Packed,
    ) -> Manifest {
        let origins: HashMap<&str, &PackedFile> =
            packed.files.iter().map(|file| (file.path.as_str(), file)).collect();
        let listed = |(path, bytes): (&str, &[u8])| Listed {
            path: path.to_owned(),
            bytes: bytes.len() as u64,
            sha256: sha256::of_bytes(bytes),
            from: origins.get(path).map(|file| file.from.clone()),
            identified_by: origins.get(path).map(|file| shown(file.identity).to_owned()),
        };
        Manifest {
            format: FORMAT.to_owned(),
            tool: concat!("tailtrace ", env!("CARGO_PKG_VERSION")).to_owned(),
            recorded_with: facts.recorded_with,
            slice: facts.slice,
            symfs: facts.symfs,
            redacted: facts.redacted,
            tags: facts.tags,
            files: files.map(listed).collect(),
        }
    }

    /// The file's contents.
    pub(crate) fn text(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Reads the manifest of the bundle in `root` and checks every file that it lists.
    ///
    /// # Errors
    /// Where it is no bundle, of a later version, or not as it was made.
    pub(crate) fn check(root: &Path) -> Result<Manifest> {
        let mut text = Vec::new();
        let mut file = open_plain(&root.join(NAME))?.take(LARGEST);
        file.read_to_end(&mut text).map_err(Error::io(format!("{NAME} cannot be read")))?;
        let manifest: Manifest = serde_json::from_slice(&text)
            .map_err(Error::bundle(format!("{NAME} is damaged: no bundle of tailtrace")))?;
        let Manifest { format, files, slice, symfs, .. } = &manifest;
        if format != FORMAT {
            return refuse(format!("a bundle of the format {format:?}; this tailtrace knows {FORMAT}"));
        }
        if files.len() > Limits::default().entries {
            return refuse(format!("{NAME} lists {} files: refused", files.len()));
        }
        for path in [Some(slice), symfs.as_ref()].into_iter().flatten() {
            ensure_inside(path)?;
        }
        files.iter().try_for_each(|file| file.check(root))?;
        Ok(manifest)
    }

    /// The slice in the bundle at `root`.
    pub(crate) fn slice(&self, root: &Path) -> PathBuf {
        root.join(&self.slice)
    }

    /// What the user said of it, by name.
    pub(crate) fn tags(&self) -> &BTreeMap<String, String> {
        &self.tags
    }

    /// Whether names and paths were replaced.
    pub(crate) fn is_redacted(&self) -> bool {
        self.redacted
    }

    /// The binaries in the bundle at `root`, where it has any.
    pub(crate) fn symfs(&self, root: &Path) -> Option<PathBuf> {
        self.symfs.as_ref().map(|symfs| root.join(symfs))
    }
}

fn refuse<T>(why: String) -> Result<T> {
    Err(Error::Bundle(why))
}

fn ensure_inside(path: &str) -> Result<()> {
    if is_inside(path) {
        return Ok(());
    }
    refuse(format!("{NAME} names {path:?}, which lies outside of the bundle: refused"))
}

impl Listed {
    fn check(&self, root: &Path) -> Result<()> {
        let path = &self.path;
        ensure_inside(path)?;
        let mut file = open_plain(&root.join(path))?.take(self.bytes.saturating_add(1));
        let unreadable = Error::io(format!("{path} cannot be read"));
        if sha256::of_reader(&mut file).map_err(unreadable)? == (self.sha256.clone(), self.bytes) {
            return Ok(());
        }
        refuse(format!("{path} is not as it was when the bundle was made: was the copy complete?"))
    }
}

/// Opens a plain file; a link is none.
fn open_plain(path: &Path) -> Result<File> {
    let unreadable = || format!("{} cannot be read: no whole bundle of tailtrace", path.display());
    let meta = std::fs::symlink_metadata(path).map_err(Error::io(unreadable()))?;
    if !meta.is_file() {
        return refuse(format!("{} is no plain file: refused", path.display()));
    }
    File::open(path).map_err(Error::io(unreadable()))
}
