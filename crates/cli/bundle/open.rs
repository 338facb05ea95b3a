//! Opens a bundle: a folder, or an archive, which is unpacked into a folder of its own until the process ends.
//!
//! Both may come from a stranger. An archive goes through [`super::unpack`]; a folder is walked first, and refused where
//! it holds a link, a device or a pipe anywhere: what reads the slice and the binaries later follows links.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use report::Report;

use super::manifest::{self, Manifest};
use super::unpack::{self, Limits};
use crate::args::AnalysisArgs;
use crate::explain;
use crate::output::Outcome;
use crate::study::Listing;

/// An opened bundle.
pub(crate) struct Opened {
    root: PathBuf,
    manifest: Manifest,
    /// What was unpacked; removed when this is dropped.
    _unpacked: Option<tempfile::TempDir>,
}

impl Opened {
    /// Opens the bundle at `path` and checks its files against its manifest.
    ///
    /// # Errors
    /// Where it is no bundle, not whole, or refused; the message says why.
    pub(crate) fn open(path: &Path) -> Result<Opened> {
        let meta = fs::metadata(path).with_context(|| format!("{} cannot be opened", path.display()))?;
        if meta.is_dir() {
            walk(path)?;
            let manifest = Manifest::check(path).with_context(|| path.display().to_string())?;
            return Ok(Opened { root: path.to_owned(), manifest, _unpacked: None });
        }
        ensure!(meta.is_file(), "{} is neither a folder nor an archive", path.display());
        let folder = tempfile::tempdir().context("no folder can be made to unpack the bundle in")?;
        let file = File::open(path).with_context(|| format!("{} cannot be opened", path.display()))?;
        unpack::unpack(file, folder.path(), &Limits::default())
            .with_context(|| path.display().to_string())?;
        let root = root_of(folder.path()).with_context(|| path.display().to_string())?;
        let manifest = Manifest::check(&root).with_context(|| path.display().to_string())?;
        Ok(Opened { root, manifest, _unpacked: Some(folder) })
    }

    /// Explains its slice, with its binaries where `given` names no others. The report's paths are those of the
    /// bundle's folder, where its commands work.
    ///
    /// # Errors
    /// As explaining a capture.
    pub(crate) fn explain(&self, given: &AnalysisArgs, listing: Listing) -> Result<(Report, Outcome)> {
        let mut args = given.clone();
        args.input.input = self.manifest.slice(&self.root);
        if args.input.code.symfs.is_none() {
            args.input.code.symfs = self.manifest.symfs(&self.root);
        }
        let (mut report, outcome) = explain::analyse(&args, listing)?;
        let own = self.manifest.symfs(Path::new(""));
        let named = given.input.code.symfs.clone().or(own).map(|symfs| symfs.to_string_lossy().into_owned());
        super::in_bundle(&mut report, named.as_deref());
        Ok((report, outcome))
    }
}

/// The folder of an unpacked archive that holds the manifest: the archive's only one, or itself.
fn root_of(folder: &Path) -> Result<PathBuf> {
    if folder.join(manifest::NAME).exists() {
        return Ok(folder.to_owned());
    }
    let mut entries = fs::read_dir(folder)?;
    match (entries.next().transpose()?, entries.next()) {
        (Some(only), None) if only.path().is_dir() => Ok(only.path()),
        _ => bail!("it holds no {}: no bundle of tailtrace", manifest::NAME),
    }
}

/// Refuses a folder that holds anything but plain files and folders, or more of them than a bundle.
fn walk(root: &Path) -> Result<()> {
    let mut folders = vec![root.to_owned()];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        let unreadable = || format!("{} cannot be read", folder.display());
        for entry in fs::read_dir(&folder).with_context(unreadable)? {
            let entry = entry.with_context(unreadable)?;
            count += 1;
            ensure!(
                count <= Limits::default().entries,
                "{} holds too many files for a bundle",
                root.display()
            );
            // Of the entry itself, not of what a link leads to.
            let kind = entry.file_type().with_context(unreadable)?;
            match () {
                () if kind.is_dir() => folders.push(entry.path()),
                () if kind.is_file() => {}
                () => bail!(
                    "{} is neither a file nor a folder: refused, a bundle holds no links and devices",
                    entry.path().display()
                ),
            }
        }
    }
    Ok(())
}
