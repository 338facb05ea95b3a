//! What a command reads: a capture, or the slice of a bundle, whichever the arguments name.

use std::path::{Path, PathBuf};

use analysis::Request;
use analysis::bundle::{Opened, is_archive, is_bundle};
use anyhow::{Result, ensure};
use report::Report;

use crate::advice;

/// A request of which the capture can be read.
pub(crate) struct Reading {
    /// Of the capture, or of the bundle's slice.
    pub(crate) request: Request,
    /// As the arguments have it, and the bundle that they name. What is unpacked is removed when this is dropped.
    bundle: Option<(Request, Opened)>,
}

impl Reading {
    /// Opens the bundle, if it is one.
    ///
    /// # Errors
    /// Where the bundle is not whole, or refused.
    pub(crate) fn open(given: Request) -> Result<Reading> {
        ensure!(
            given.input.path != Path::new("-"),
            "a capture is read at many places at once, so that stdin cannot be one: write the stream to a file and name that"
        );
        // What is called an archive of ours is one, if perhaps a broken one.
        if !is_bundle(&given.input.path) && !is_archive(&given.input.path) {
            return Ok(Reading { request: given, bundle: None });
        }
        let opened = Opened::open(&given.input.path).map_err(advice::on)?;
        Ok(Reading { request: opened.request(&given), bundle: Some((given, opened)) })
    }

    /// The files and folders that are read.
    pub(crate) fn inputs(&self) -> Vec<PathBuf> {
        let given = self.bundle.iter().flat_map(|(given, _)| given.inputs());
        self.request.inputs().into_iter().chain(given).collect()
    }

    /// A bundle's files are called by their paths in it.
    pub(crate) fn name_files(&self, report: &mut Report) {
        if let Some((given, opened)) = &self.bundle {
            opened.name_files(report, given);
        }
    }
}
