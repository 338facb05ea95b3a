//! What a command reads: a capture, or the slice of a bundle, whichever the arguments name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use analysis::Request;
use analysis::bundle::{Opened, is_archive, is_bundle};
use analysis::study;
use anyhow::{Result, bail};
use fleet::Delivery;
use report::Report;

use crate::advice;
use crate::stdin::Stdin;

/// A request of which the capture can be read.
pub(crate) struct Reading {
    /// Of the capture, or of the bundle's slice.
    pub(crate) request: Request,
    /// As the arguments have it, and the bundle that they name. What is unpacked is removed when this is dropped.
    bundle: Option<(Request, Opened)>,
    /// Where the capture or the bundle is stdin.
    stdin: Option<Stdin>,
}

impl Reading {
    /// Opens the bundle, if it is one. `-` is stdin.
    ///
    /// # Errors
    /// Where the bundle is not whole, or refused; where stdin cannot be read or kept.
    pub(crate) fn open(mut given: Request) -> Result<Reading> {
        let stdin = if given.input.path == Path::new("-") { Some(Stdin::kept(&given)?) } else { None };
        if let Some(stdin) = &stdin {
            given.input.path.clone_from(&stdin.path);
        }
        if let Some(slices) = study::slices(&given.input.path) {
            let first =
                slices.first().map_or_else(String::new, |slice| format!(", such as {}", slice.display()));
            bail!(
                "{} is the folder of a recording that keeps only what was slow: tailtrace explain takes it, all others one of \
                 its slices{first}",
                given.input.path.display()
            );
        }
        // What is called an archive of ours is one, if perhaps a broken one.
        if !is_bundle(&given.input.path) && !is_archive(&given.input.path) {
            return Ok(Reading { request: given, bundle: None, stdin });
        }
        let opened = Opened::open(&given.input.path).map_err(advice::on)?;
        Ok(Reading { request: opened.request(&given), bundle: Some((given, opened)), stdin })
    }

    /// The files and folders that are read.
    pub(crate) fn inputs(&self) -> Vec<PathBuf> {
        let given = self.bundle.iter().flat_map(|(given, _)| given.inputs());
        self.request.inputs().into_iter().chain(given).collect()
    }

    /// The capture as it comes to tables, under the name that the arguments have for it.
    pub(crate) fn delivery(&self) -> Delivery {
        let given = self.bundle.as_ref().map_or(&self.request, |(given, _)| given);
        let uri = self.stdin.as_ref().map(|_| "-".to_owned());
        Delivery::of(given.clone(), uri, BTreeMap::new())
    }

    /// The bundle that holds the capture.
    pub(crate) fn opened(&self) -> Option<&Opened> {
        self.bundle.as_ref().map(|(_, opened)| opened)
    }

    /// A bundle's files are called by their paths in it, and stdin as on the command line.
    pub(crate) fn name_files(&self, report: &mut Report) {
        match (&self.bundle, &self.stdin) {
            (Some((given, opened)), _) => opened.name_files(report, given),
            (None, Some(stdin)) => stdin.name(report),
            (None, None) => {}
        }
    }
}
