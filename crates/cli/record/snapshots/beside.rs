//! What lies beside each ring: what the machine is, what descriptors stand for, what PTWRITEs mean.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use analysis::output::write_file;
use analysis::request::ptwrite_beside;
use anyhow::Result;
use intervals::PtwriteSpec;
use perfdata::Machine;

use crate::record::code_copies::CodeCopies;
use crate::record::descriptors::Descriptors;
use crate::record::perf::Running;
use crate::record::{gather, ptwrite};

/// All of it.
pub(super) struct Beside {
    machine: Machine,
    descriptors: Mutex<Descriptors>,
    /// Of code that lies in no file.
    pub(super) copies: CodeCopies,
    /// Of a program that marks by PTWRITE.
    ptwrite: Option<String>,
}

impl Beside {
    /// Of the machine below `root`, with these copies; `given` are perf's options, `--`, and the program.
    ///
    /// # Errors
    /// What the operating system says.
    pub(super) fn begin(root: &Path, given: &[OsString], copies: CodeCopies) -> Result<Beside> {
        Ok(Beside {
            machine: gather::machine(root)?,
            descriptors: Mutex::new(Descriptors::begin(root, given)),
            copies,
            ptwrite: ptwrite::spec(given),
        })
    }

    /// What the program's PTWRITEs mean, if it marks by them.
    pub(super) fn ptwrite(&self) -> Option<PtwriteSpec> {
        self.ptwrite.as_ref()?.trim().parse().ok()
    }

    /// While perf runs.
    pub(super) fn look_while(&self, running: &Running) {
        Descriptors::look_at_rings(&self.descriptors, running);
    }

    /// Writes it beside `ring`, which was just written.
    ///
    /// # Errors
    /// What the operating system says.
    pub(super) fn write(&self, ring: &Path) -> Result<()> {
        let descriptors = self.descriptors.lock().unwrap_or_else(PoisonError::into_inner).entries_now();
        let machine = Machine { descriptors, ..self.machine.clone() };
        write_file(&Machine::place(ring), machine.to_json()?.as_bytes())?;
        self.copies.write_now(ring)?;
        if let Some(spec) = &self.ptwrite {
            write_file(&ptwrite_beside(ring), spec.as_bytes())?;
        }
        Ok(())
    }
}
