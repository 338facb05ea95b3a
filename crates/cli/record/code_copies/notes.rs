//! What a user should know of the copies of a recording.

use std::collections::BTreeSet;
use std::path::Path;

use super::Kept;

impl Kept {
    /// All of them; `path` is where the copies are.
    pub(super) fn notes(&self, path: &Path) -> Vec<String> {
        let mut notes = Vec::new();
        let processes: BTreeSet<i32> = self.pages.keys().map(|(pid, _)| *pid).collect();
        if !processes.is_empty() {
            notes.push(format!(
                "{}: {} of code that lies in no file, of {}",
                path.display(),
                report::counted(self.pages.len() as u64, "page"),
                report::counted(processes.len() as u64, "program"),
            ));
        }
        if !self.left_out.is_empty() {
            notes.push(format!(
                "code that lies in no file: {} MiB of it are copied; for some of {} there was no room, and where that ran the flow ends",
                self.most >> 20,
                report::counted(self.left_out.len() as u64, "page"),
            ));
        }
        let of_processes = [
            (
                &self.refused,
                "the memory of process",
                "may not be read: its code that lies in no file is a gap (ptrace(2), \"Ptrace access mode checking\")",
            ),
            (
                &self.without_pagemap,
                "/proc/PID/pagemap of process",
                "cannot be read: what is in memory is not known, and its code that lies in no file is a gap",
            ),
            (
                &self.incomplete,
                "the looks at the memory of process",
                "ended before they had seen all of it: some of its code that lies in no file may be missing",
            ),
        ];
        for (processes, of, what) in of_processes {
            let Some(first) = processes.first() else { continue };
            let more = match processes.len() {
                1 => String::new(),
                count => format!(" and {} more", count - 1),
            };
            notes.push(format!("{of} {first}{more} {what}"));
        }
        notes.extend(self.targets.note.clone());
        notes
    }
}
