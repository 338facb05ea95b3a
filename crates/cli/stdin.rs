//! A capture from stdin (`perf record -o - … | tailtrace explain -`): kept in a file, because a capture is read at many places at
//! once. The file has no name, so that nothing is left of it, however the program ends.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;

use analysis::Request;
use analysis::request::Source;
use anyhow::{Context as _, Result, ensure};
use report::Report;

use crate::args::STDIN;

/// What came from stdin.
pub(crate) struct Stdin {
    /// Where it can be opened while this lives.
    pub(crate) path: PathBuf,
    _file: File,
}

impl Stdin {
    /// Reads stdin to its end, for a request that names it as its capture.
    ///
    /// # Errors
    /// Where stdin is empty or the interval file as well; where the folder for temporary files (`TMPDIR`) has no room.
    pub(crate) fn kept(request: &Request) -> Result<Stdin> {
        let is_source = matches!(&request.source, Some(Source::File(path)) if path.as_os_str() == STDIN);
        ensure!(!is_source, "stdin is the capture or the interval file: name a file for one of them");
        let folder = std::env::temp_dir();
        let place =
            || format!("{}: stdin cannot be kept there (TMPDIR names another folder)", folder.display());
        let mut file = tempfile::tempfile_in(&folder).with_context(place)?;
        let length = io::copy(&mut io::stdin().lock(), &mut file).with_context(place)?;
        ensure!(length > 0, "stdin is empty: did the program that should write to it fail?");
        Ok(Stdin { path: format!("/proc/self/fd/{}", file.as_raw_fd()).into(), _file: file })
    }

    /// Calls the capture `-`, in the report's commands, too.
    pub(crate) fn name(&self, report: &mut Report) {
        let path = self.path.to_string_lossy();
        report.capture.path = Some("-".to_owned());
        for outlier in &mut report.outliers {
            for command in [&mut outlier.perf_script, &mut outlier.server_requests] {
                *command = command.replace(&*path, "-");
            }
        }
    }
}
