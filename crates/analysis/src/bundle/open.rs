//! Opens a bundle: a folder, or an archive, which is unpacked into a folder of its own until the process ends,
//! by a signal as well. What a process leaves that is killed is removed when the next archive is opened.
//!
//! Both may come from a stranger. An archive goes through [`super::unpack()`]; a folder is walked first, and refused where
//! it holds a link, a device or a pipe anywhere: what reads the slice and the binaries later follows links.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use report::Report;

use super::layout::in_bundle;
use super::manifest::{self, Manifest};
use super::unpack::{self, Limits};
use crate::capture::Meter;
use crate::error::{Error, Result};
use crate::output::{Scratch, user_prefix};
use crate::request::Request;
use crate::study::{self, Listing, Outcome};

/// An opened bundle.
pub struct Opened {
    root: PathBuf,
    manifest: Manifest,
    /// What was unpacked; removed when this is dropped.
    _unpacked: Option<Scratch>,
}

impl Opened {
    /// Opens the bundle at `path` and checks its files against its manifest.
    ///
    /// # Errors
    /// Where it is no bundle, not whole, or refused; the message says why.
    pub fn open(path: &Path) -> Result<Opened> {
        let name = || path.display().to_string();
        let cannot = || format!("{} cannot be opened", path.display());
        let meta = fs::metadata(path).map_err(Error::io(cannot()))?;
        if meta.is_dir() {
            walk(path)?;
            let manifest = Manifest::check(path).map_err(Error::bundle(name()))?;
            return Ok(Opened { root: path.to_owned(), manifest, _unpacked: None });
        }
        // A file of /proc that waits for more, as `kmsg` does, says that it is empty.
        if !meta.is_file() || meta.len() == 0 {
            return Err(Error::Bundle(format!(
                "{} is neither a folder nor an archive, or it is empty",
                path.display()
            )));
        }
        let file = File::open(path).map_err(Error::io(cannot()))?;
        // What it holds is for this user alone, whatever the umask.
        let folder = Scratch::folder(&env::temp_dir(), &user_prefix("tailtrace-bundle"), 0o700)
            .map_err(Error::io("no folder can be made to unpack the bundle in"))?;
        unpack::unpack(file, folder.path(), &Limits::default()).map_err(Error::bundle(name()))?;
        let root = root_of(folder.path()).map_err(Error::bundle(name()))?;
        let manifest = Manifest::check(&root).map_err(Error::bundle(name()))?;
        Ok(Opened { root, manifest, _unpacked: Some(folder) })
    }

    /// What `given` asks, of its slice, with its binaries where `given` names no others. Of this machine only what `given` names is
    /// read.
    pub fn request(&self, given: &Request) -> Request {
        let mut request = given.clone();
        request.input.path = self.manifest.slice(&self.root);
        // Its folder has another name the next time.
        request.input.cache = None;
        let code = &mut request.input.code;
        code.symfs = code.symfs.take().or_else(|| self.manifest.symfs(&self.root));
        code.contained = true;
        request
    }

    /// What the user said of it when it was made, by name: service, host, release.
    pub fn tags(&self) -> &BTreeMap<String, String> {
        self.manifest.tags()
    }

    /// Whether names and paths were replaced.
    pub fn is_redacted(&self) -> bool {
        self.manifest.is_redacted()
    }

    /// Explains its slice: [`Opened::request`].
    ///
    /// # Errors
    /// As explaining a capture.
    pub fn explain(&self, given: &Request, meter: &dyn Meter, listing: Listing) -> Result<(Report, Outcome)> {
        let (mut report, outcome) = study::explain(&self.request(given), meter, listing)?;
        self.name_files(&mut report, given);
        Ok((report, outcome))
    }

    /// Makes the paths of `report`, for which `given` asked, those of the bundle's folder, where its commands work.
    pub fn name_files(&self, report: &mut Report, given: &Request) {
        let own = self.manifest.symfs(Path::new(""));
        let named = given.input.code.symfs.clone().or(own).map(|symfs| symfs.to_string_lossy().into_owned());
        in_bundle(report, named.as_deref());
    }
}

/// How a file that zstd packed begins (RFC 8878, section 3.1.1).
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Whether `path` is a bundle, whole or not: a folder with a manifest, or an archive. What cannot be read is none: who opens it as a
/// capture says why.
pub fn is_bundle(path: &Path) -> bool {
    let Ok(meta) = fs::metadata(path) else { return false };
    if meta.is_dir() {
        return path.join(manifest::NAME).exists();
    }
    let mut begin = [0; ZSTD.len()];
    // A pipe would wait for its writer.
    meta.is_file()
        && File::open(path).is_ok_and(|mut file| file.read_exact(&mut begin).is_ok())
        && begin == ZSTD
}

/// The folder of an unpacked archive that holds the manifest: the archive's only one, or itself.
fn root_of(folder: &Path) -> io::Result<PathBuf> {
    if folder.join(manifest::NAME).exists() {
        return Ok(folder.to_owned());
    }
    let mut entries = fs::read_dir(folder)?;
    match (entries.next().transpose()?, entries.next()) {
        (Some(only), None) if only.path().is_dir() => Ok(only.path()),
        _ => Err(io::Error::other(format!("it holds no {}: no bundle of tailtrace", manifest::NAME))),
    }
}

/// Refuses a folder that holds anything but plain files and folders, or more of them than a bundle.
fn walk(root: &Path) -> Result<()> {
    let mut folders = vec![root.to_owned()];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        let unreadable = || format!("{} cannot be read", folder.display());
        for entry in fs::read_dir(&folder).map_err(Error::io(unreadable()))? {
            let entry = entry.map_err(Error::io(unreadable()))?;
            count += 1;
            if count > Limits::default().entries {
                return Err(Error::Bundle(format!("{} holds too many files for a bundle", root.display())));
            }
            // Of the entry itself, not of what a link leads to.
            let kind = entry.file_type().map_err(Error::io(unreadable()))?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if !kind.is_file() {
                return Err(Error::Bundle(format!(
                    "{} is neither a file nor a folder: refused, a bundle holds no links and devices",
                    entry.path().display()
                )));
            }
        }
    }
    Ok(())
}
