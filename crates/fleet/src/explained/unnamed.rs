//! Functions without a name, by what a rebuilt or moved copy of them has in common.
//!
//! Their size, and a hash of their instructions' mnemonics: operands are addresses and offsets, which differ from one build and layout to
//! the next. Where the code is not at hand there is nothing.

use std::cell::RefCell;
use std::collections::BTreeMap;

use analysis::Capture;
use model::{Pid, Tsc};
use report::{OutlierReport, unnamed_function};

use crate::hash;

/// Larger functions are hashed up to here.
const MOST_INSTRUCTIONS: usize = 10_000;

/// See the module.
pub(super) struct Unnamed<'a, 'c> {
    capture: &'a Capture<'c>,
    /// What was found, by the report's name.
    found: RefCell<BTreeMap<String, Option<String>>>,
}

impl<'a, 'c> Unnamed<'a, 'c> {
    pub(super) fn of(capture: &'a Capture<'c>) -> Unnamed<'a, 'c> {
        Unnamed { capture, found: RefCell::default() }
    }

    /// `nginx[312 bytes, 9f3a0c1e]`, of the function that `outlier` calls `nginx+0x1a2b40`.
    pub(super) fn words(&self, outlier: &OutlierReport, name: &str) -> Option<String> {
        if let Some(found) = self.found.borrow().get(name) {
            return found.clone();
        }
        let found = self.look(outlier, name);
        self.found.borrow_mut().insert(name.to_owned(), found.clone());
        found
    }

    fn look(&self, outlier: &OutlierReport, name: &str) -> Option<String> {
        let (file, _) = unnamed_function(name)?;
        let (images, at) = (self.capture.images(), Tsc(outlier.start_tsc));
        let own =
            outlier.start_thread.as_ref().or(outlier.stop_thread.as_ref()).map(|thread| Pid(thread.pid));
        let in_own = own.and_then(|pid| Some((pid, *images.addresses_of(pid, name, at).first()?)));
        let (pid, address) = in_own.or_else(|| images.addresses_of_any(name).into_iter().next())?;
        let function = images.function_at(pid, address, at)?;
        let end = function.start.saturating_add(function.size);
        let most = usize::try_from(function.size).unwrap_or(usize::MAX).min(MOST_INSTRUCTIONS);
        let instructions = images.disassemble(pid, function.start, at, most);
        let within = instructions.iter().take_while(|instruction| instruction.address < end);
        let mnemonics: Vec<&str> = within.filter_map(|one| one.text.split_whitespace().next()).collect();
        (!mnemonics.is_empty())
            .then(|| format!("{file}[{} bytes, {}]", function.size, &hash::story(&mnemonics.join(" "))[..8]))
    }
}
