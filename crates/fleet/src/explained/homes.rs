//! In which file a function lies, and where there: what a name is looked up with in another tool.
//!
//! Input: a function as the report calls it. Output: the file's base name, its build ID, the function's stated address. Where functions of
//! several files have that name, it is unknown which of them ran, and nothing is filled in.

use std::cell::RefCell;
use std::collections::BTreeMap;

use analysis::Capture;
use model::{Pid, Tsc};
use report::unnamed_function;

use crate::row::int;

/// A function's place in its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Home {
    /// Base name; of the kernel's `[kernel.kallsyms]`, or a module as `[nvme]`.
    pub(super) file: Option<String>,
    pub(super) build_id: Option<String>,
    /// `None` also where several functions of the file have that name.
    pub(super) offset: Option<i64>,
}

/// Finds the homes of a capture's functions.
pub(super) struct Homes<'a, 'c> {
    capture: &'a Capture<'c>,
    /// Build IDs of the files that served, by their names.
    build_ids: BTreeMap<String, String>,
    found: RefCell<BTreeMap<String, Home>>,
}

impl<'a, 'c> Homes<'a, 'c> {
    pub(super) fn of(capture: &'a Capture<'c>, build_ids: BTreeMap<String, String>) -> Homes<'a, 'c> {
        Homes { capture, build_ids, found: RefCell::default() }
    }

    /// The home of the function that the report calls `name`, in an interval that begins at `at`.
    pub(super) fn home(&self, name: &str, at: Tsc) -> Home {
        if let Some((file, offset)) = unnamed_function(name) {
            let build_id = self.build_id_of(file);
            return Home { file: Some(file.to_owned()), build_id, offset: Some(int(offset)) };
        }
        if name.is_empty() {
            return Home::default();
        }
        self.found.borrow_mut().entry(name.to_owned()).or_insert_with(|| self.look(name, at)).clone()
    }

    fn look(&self, name: &str, at: Tsc) -> Home {
        let images = self.capture.images();
        let (found, in_kernel) = (images.in_used_files(name), images.addresses_of(Pid::KERNEL, name, at));
        let files = || found.iter().map(|one| (base(&one.file), one.build_id.as_ref()));
        match (files().next(), in_kernel.first()) {
            (None, Some(&address)) => Home {
                file: Some(images.resolve(Pid::KERNEL, address, at).dso.to_string()),
                ..Home::default()
            },
            (Some(first), None) if files().all(|other| other == first) => Home {
                file: Some(first.0.to_owned()),
                build_id: first.1.map(ToString::to_string),
                offset: (found.iter().all(|one| one.svma == found[0].svma)).then(|| int(found[0].svma)),
            },
            _ => Home::default(),
        }
    }

    /// The build ID of the file with this base name, where only one that served has it.
    fn build_id_of(&self, file: &str) -> Option<String> {
        let mut named = self.build_ids.iter().filter(|(name, _)| base(name) == file).map(|(_, id)| id);
        named.next().filter(|_| named.next().is_none()).cloned()
    }
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
