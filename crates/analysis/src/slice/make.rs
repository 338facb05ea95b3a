//! Explains what a request chooses, and cuts out what that took.

use std::io::{self, Write as _};
use std::path::Path;

use perfdata::{Machine, companion};
use report::Report;
use symbols::{KernelCopy, KernelNames, UsedFile, code_copies};

use super::cut::{self, Cut, Looked};
use super::note;
use super::redaction::Redaction;
use crate::capture::Meter;
use crate::error::{Error, Result};
use crate::output::{self, Draft, FolderDraft};
use crate::request::Request;
use crate::study::{self, Listing, Outcome};

/// A slice in memory, and the report on what it holds.
pub struct Slice {
    /// The perf.data file.
    pub perf_data: Vec<u8>,
    /// The kernel's code, where any was traced: then the slice is a directory.
    pub kernel: Option<KernelCopy>,
    /// Copies of code that lay in no file, where the slice ran any; none where names were replaced, for such code holds what the program
    /// made of its input.
    pub code_copies: Option<Vec<u8>>,
    /// Else the kernel's functions that samples name, for a bundle.
    pub kernel_names: Option<KernelNames>,
    /// The text of its machine file, where the recording has one.
    pub machine: Option<String>,
    /// The report on the recording.
    pub report: Report,
    /// The files that served for code and names.
    pub files: Vec<UsedFile>,
    /// The names that were replaced, where that was wanted.
    pub redaction: Option<Redaction>,
}

/// Explains what the request chooses, and cuts out what that took; `redact` replaces names in both.
///
/// # Errors
/// As explaining.
pub fn make(
    request: &Request,
    meter: &dyn Meter,
    listing: Listing,
    redact: bool,
) -> Result<(Slice, Outcome)> {
    study::with(request, meter, |study| {
        let (capture, perf) = (study.capture(), study.capture().perf());
        perf.note_reads();
        capture.windows().start();
        let baselines = study.baselines(&study.selected().indices);
        let mut report = study.explained(&baselines, listing);
        let looked = Looked { windows: capture.windows().take(), times: perf.take_reads() };
        report.view = study.view(&report.outliers);
        let files = capture.images().used_files();
        study.add_reasons(&mut report);
        let Cut { mut plan, kernel, code_copies, kernel_names } = cut::cut(study, &baselines, &looked);
        let redaction = redact.then(|| Redaction::new(perf, request, &study.input_diagnostics()));
        let mut note = note::of(study, &baselines, &report);
        if let Some(redaction) = &redaction {
            note.replace_texts(&|text| redaction.text(text));
            redaction.apply(&mut report);
            plan.renames = Some(redaction.renames().clone());
        }
        plan.note = note.bytes()?;
        let machine =
            perf.machine_as_used().map(|machine| machine_text(machine, redaction.as_ref())).transpose()?;
        let outcome = Outcome::of(study, &report);
        let perf_data = perf.slice(&plan);
        let code_copies = code_copies.filter(|_| redaction.is_none());
        let slice = Slice { perf_data, kernel, code_copies, kernel_names, machine, report, files, redaction };
        Ok((slice, outcome))
    })
}

/// The machine file that goes along.
fn machine_text(mut machine: Machine, redaction: Option<&Redaction>) -> Result<String> {
    if let Some(redaction) = redaction {
        machine.replace_names(&|name| redaction.text(name));
        for descriptor in &mut machine.descriptors {
            descriptor.name = redaction.path(&descriptor.name).unwrap_or_default();
        }
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

    /// What the slice says of where the file came from that was recorded as `name`: `path` of this machine, unless names are
    /// replaced.
    pub(crate) fn origin(&self, name: &str, path: &Path) -> String {
        match self.redaction {
            Some(_) => self.name_in_slice(name),
            None => path.to_string_lossy().into_owned(),
        }
    }

    /// What lies beside its perf.data, or with it in a directory, by name, with the contents where there are any.
    fn companions(&self) -> [(&'static str, Option<&[u8]>); 2] {
        [
            (Machine::NAME, self.machine.as_ref().map(String::as_bytes)),
            (code_copies::NAME, self.code_copies.as_deref()),
        ]
    }

    /// The companions that it has.
    pub(crate) fn own_companions(&self) -> impl Iterator<Item = (&'static str, &[u8])> {
        self.companions().into_iter().filter_map(|(name, bytes)| Some((name, bytes?)))
    }

    /// Writes it to `path`: a file, over one that is there, or a perf.data directory where kernel code belongs to it. What lies beside it
    /// goes first and the file with the records last: where they are, all is.
    ///
    /// # Errors
    /// Where something is there that is not replaced, or what the operating system says, with the path.
    pub fn write(&self, path: &Path) -> Result<()> {
        if let Some(kernel) = &self.kernel {
            return self.write_directory(path, kernel).map_err(output::unwritable(path));
        }
        // Another capture's would be taken for the slice's.
        let missing = self.companions().into_iter().filter(|(_, bytes)| bytes.is_none());
        let mut others = missing.map(|(name, _)| companion(path, name));
        if let Some(other) = others.find(|other| other.exists()) {
            return Err(Error::Exists(other));
        }
        self.write_files(path).map_err(output::unwritable(path))
    }

    fn write_files(&self, path: &Path) -> io::Result<()> {
        let mut data = Draft::of(path)?;
        data.write_all(&self.perf_data)?;
        for (name, bytes) in self.own_companions() {
            let mut draft = Draft::of(&companion(path, name))?;
            draft.write_all(bytes)?;
            draft.publish_synced()?;
        }
        data.publish_synced()
    }

    fn write_directory(&self, path: &Path, kernel: &KernelCopy) -> io::Result<()> {
        let mut draft = FolderDraft::of(path)?;
        for (name, bytes) in self.own_companions() {
            draft.write(name, bytes)?;
        }
        for (name, bytes) in kernel.files() {
            draft.write(Path::new("kcore_dir").join(name), bytes)?;
        }
        draft.write("data", &self.perf_data)?;
        draft.publish()
    }
}
