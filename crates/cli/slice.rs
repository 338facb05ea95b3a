//! `tailtrace slice`: a perf.data that holds just what some outliers need.
//!
//! Explaining them notes which trace and which records it looks at; that, and what decoding it needs, is cut out. So a
//! slice answers as its recording does, whatever explaining comes to look at. `docs/slice-and-bundle.md` is the contract.

mod cut;
mod note;
mod notes;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use perfdata::Machine;
use report::Report;
use symbols::{KernelCopy, UsedFile};

use crate::args::{AnalysisArgs, SliceArgs};
use crate::bundle::Redaction;
use crate::explain;
use crate::output::{self, Outcome};
use crate::study::{self, Listing};

pub(crate) use note::{Carried, Note};
pub(crate) use notes::WindowNotes;

/// A slice in memory, and the report on what it holds.
pub(crate) struct Slice {
    /// The perf.data file.
    pub(crate) perf_data: Vec<u8>,
    /// The kernel's code, where any was traced: then the slice is a directory.
    pub(crate) kernel: Option<KernelCopy>,
    /// The text of its machine file, where the recording has one.
    pub(crate) machine: Option<String>,
    /// The report on the recording.
    pub(crate) report: Report,
    /// The files that served for code and names.
    pub(crate) files: Vec<UsedFile>,
    /// The names that were replaced, where that was wanted.
    pub(crate) redaction: Option<Redaction>,
}

/// Runs the command.
pub(crate) fn run(args: &SliceArgs) -> Result<Outcome> {
    let (slice, outcome) = make(&args.analysis, Listing::None, false)?;
    output::print_diagnostics(&slice.report.diagnostics);
    if outcome != Outcome::NothingSelected {
        slice.write(&args.output)?;
    }
    Ok(outcome)
}

/// Explains what the arguments choose, and cuts out what that took; `redact` replaces names in both.
pub(crate) fn make(args: &AnalysisArgs, listing: Listing, redact: bool) -> Result<(Slice, Outcome)> {
    study::with(args, |study| {
        let (capture, perf) = (study.capture(), study.capture().perf());
        perf.note_reads();
        capture.windows().start();
        let baselines = study.baselines(&study.selected().indices);
        let mut report = study.explained(&baselines, listing);
        let looked = cut::Looked { windows: capture.windows().take(), times: perf.take_reads() };
        report.view = study.view(&report.outliers);
        let cut::Cut { mut plan, kernel } = cut::cut(study, &baselines, &looked);
        let redaction = redact.then(|| Redaction::new(perf, args));
        let mut note = Note::new(study, &baselines, &report);
        if let Some(redaction) = &redaction {
            note.redact(redaction);
            redaction.apply(&mut report);
            plan.renames = Some(redaction.renames().clone());
        }
        plan.note = note.bytes()?;
        let machine = perf.machine().map(|machine| machine_text(machine, redaction.as_ref())).transpose()?;
        let outcome = explain::outcome(study, &report);
        let files = capture.images().used_files();
        Ok((Slice { perf_data: perf.slice(&plan), kernel, machine, report, files, redaction }, outcome))
    })
}

/// The machine file that goes along.
fn machine_text(machine: &Machine, redaction: Option<&Redaction>) -> Result<String> {
    let mut machine = machine.clone();
    if let Some(redaction) = redaction {
        machine.replace_names(&|name| redaction.text(name));
        machine.host = machine.host.map(|_| redaction.renames().hostname.clone());
    }
    Ok(machine.to_json()?)
}

impl Slice {
    /// What the slice calls the file that was recorded as `name`.
    pub(crate) fn name_in_slice(&self, name: &str) -> String {
        let replaced = self.redaction.as_ref().and_then(|redaction| redaction.path(name));
        replaced.unwrap_or_else(|| name.to_owned())
    }

    /// Writes it to `path`: a file, or a perf.data directory where kernel code belongs to it.
    ///
    /// # Errors
    /// Where something is there already, or what the operating system says, with the path.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        // A machine file without a capture would be taken for the slice's.
        for there in [path, &Machine::place(path)] {
            ensure!(!there.exists(), "{} is there already: name another place", there.display());
        }
        match &self.kernel {
            Some(kernel) => self.write_directory(path, kernel)?,
            None => output::write_file(path, &self.perf_data)?,
        }
        match &self.machine {
            Some(text) => output::write_file(&Machine::place(path), text.as_bytes()),
            None => Ok(()),
        }
    }

    fn write_directory(&self, path: &Path, kernel: &KernelCopy) -> Result<()> {
        let kcore_dir = path.join("kcore_dir");
        fs::create_dir_all(&kcore_dir).with_context(|| format!("{} cannot be made", kcore_dir.display()))?;
        output::write_file(&path.join("data"), &self.perf_data)?;
        for (name, bytes) in kernel.files() {
            output::write_file(&kcore_dir.join(name), bytes)?;
        }
        Ok(())
    }
}
