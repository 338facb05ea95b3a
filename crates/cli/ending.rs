//! How the process ends when others decide: by a signal, or by a fault.
//!
//! Whatever it is, nothing unfinished is left: drafts of outputs, folders of unpacked bundles. `record` and `tui` take signals by
//! themselves, the one for perf, the other to give the terminal back; faults are taken here for all.

mod fault;

use std::thread;

use analysis::output::remove_unfinished;
use anyhow::{Context as _, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

pub(crate) use fault::take as on_faults;

/// From now on these signals end the process as they would have, once nothing unfinished is left.
///
/// # Errors
/// What the operating system says.
pub(crate) fn on_signals() -> Result<()> {
    let taken = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|&number| !is_ignored(number));
    let mut signals = Signals::new(taken).context("signals cannot be taken")?;
    let wait = move || {
        for number in signals.forever() {
            remove_unfinished();
            // Ends the process, but for a signal that does not.
            let _ = emulate_default_handler(number);
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).context("no thread for signals")?;
    Ok(())
}

/// Whether the process was started with this signal ignored, as `nohup` does with SIGHUP and a script's `&` with SIGINT.
pub(crate) fn is_ignored(number: i32) -> bool {
    // The lowest bit is signal 1's; without /proc it is unknown.
    let ignored = || {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    };
    ignored().is_some_and(|mask| mask >> (number - 1) & 1 == 1)
}
