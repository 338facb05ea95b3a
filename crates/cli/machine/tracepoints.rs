//! The kernel's tracepoints, as tracefs lists them.

use std::path::PathBuf;

use super::tree::{Tree, names};

/// The folder of the tracepoints.
#[derive(Clone, Debug)]
pub(crate) struct Tracepoints {
    folder: PathBuf,
}

impl Tracepoints {
    /// Those of the machine; `None` where tracefs is not mounted, or may not be read.
    pub(crate) fn of(tree: &Tree) -> Option<Tracepoints> {
        let places = ["sys/kernel/tracing/events", "sys/kernel/debug/tracing/events"];
        let folder = places.iter().map(|place| tree.at(place)).find(|folder| !names(folder).is_empty())?;
        Some(Tracepoints { folder })
    }

    /// Whether the kernel has `event`: `sched:sched_switch`, or `irq:*` for any of a group.
    pub(crate) fn have(&self, event: &str) -> bool {
        let Some((group, name)) = event.split_once(':') else { return false };
        let group = self.folder.join(group);
        if name == "*" { !names(&group).is_empty() } else { group.join(name).exists() }
    }
}
