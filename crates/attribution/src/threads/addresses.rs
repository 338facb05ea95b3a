//! Descriptions of addresses that an interval's threads used.

use model::Tsc;

use crate::inputs::files::{Files, tell_address};
use crate::threads::stays::{Stay, stay_at};

/// Describes addresses of the threads of an interval.
pub(crate) struct Addresses<'a> {
    /// Which time is whose.
    pub(crate) stays: &'a [Stay],
    pub(crate) files: &'a dyn Files,
}

impl Addresses<'_> {
    /// `address 0x7f0000002000 in /srv/db+0x2000`, for the thread whose time `at` is.
    pub(crate) fn tell(&self, address: u64, at: Tsc) -> String {
        let thread = stay_at(self.stays, at).and_then(|stay| stay.thread);
        tell_address(self.files, thread, address, at)
    }
}
