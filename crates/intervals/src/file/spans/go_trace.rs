//! Execution traces of Go 1.22 and newer: tasks and regions of `runtime/trace`.
//!
//! Input: generations of batches, each of one thread (M). Output: an interval for each task and region. The thread of an event is
//! its batch's; regions nest on their goroutine, which is the one that the thread runs at that moment.
//! Sources: Go's `internal/trace/tracev2/events.go`, `internal/trace/batch.go` and `runtime/tracetime.go`.

mod batches;
mod events;
mod generation;
mod goroutines;

#[cfg(test)]
mod tests;

use std::io::{self, BufRead};
use std::rc::Rc;

use model::Severity;

use self::batches::{Batches, Found};
use self::generation::Generation;
use self::goroutines::Goroutines;
use super::keeping::Keeping;
use crate::clock::Clock;
use crate::file::draft::Draft;
use crate::findings::Origin;

/// What a trace begins with: `go 1.26 trace`, and zero bytes up to 16.
const HEADER_BYTES: usize = 16;
/// The first version with generations.
const OLDEST: u32 = 22;
/// The newest that was tried. Newer ones may have events that end the reading of a batch.
const NEWEST: u32 = 26;

/// Whether a file that begins with these bytes is an execution trace of Go.
pub(super) fn begin_with(bytes: &[u8]) -> bool {
    version(bytes).is_some()
}

/// The minor version in the header.
fn version(bytes: &[u8]) -> Option<u32> {
    let rest = bytes.get(..HEADER_BYTES)?.strip_prefix(b"go 1.")?;
    let end = rest.iter().position(|byte| !byte.is_ascii_digit())?;
    let (number, rest) = rest.split_at(end);
    let is_trace = rest.strip_prefix(b" trace")?.iter().all(|byte| *byte == 0);
    std::str::from_utf8(number).ok().filter(|_| is_trace)?.parse().ok()
}

/// Reads all tasks and regions into `draft`.
///
/// # Errors
/// Where the file cannot be read.
pub(super) fn read<R: BufRead>(reader: R, draft: &mut Draft) -> io::Result<Result<(), String>> {
    let mut batches = Batches::new(reader);
    let version = batches.header()?.as_deref().and_then(version).unwrap_or_default();
    if version < OLDEST {
        return Ok(Err(format!(
            "the execution trace is of Go 1.{version}; those of Go 1.22 and newer are read"
        )));
    }
    // Linux has no clock of low resolution: ticks are CLOCK_MONOTONIC, divided.
    draft.name_clock(Clock::Monotonic);
    let mut keeping = Keeping::new(draft, Rc::default());
    if version > NEWEST {
        complain(&mut keeping, Severity::Note, Origin::Unknown, || {
            format!(
                "the execution trace is of Go 1.{version}, which is newer than what was tried: Go 1.{NEWEST}"
            )
        });
    }
    let mut goroutines = Goroutines::default();
    let mut generation = Generation::default();
    loop {
        match batches.next()? {
            Found::End => break,
            Found::Batch { at, generation: number, thread, time, bytes } => {
                if generation.number() != Some(number) {
                    generation.finish(&mut goroutines, &mut keeping);
                    generation = Generation::new(number);
                }
                if let Err(what) = generation.take(at, thread, time, bytes) {
                    let what = || format!("{what}: the rest of its batch is left out");
                    complain(&mut keeping, Severity::Error, Origin::Byte(at), what);
                }
            }
            Found::Wrong { at, what } => complain(&mut keeping, Severity::Error, Origin::Byte(at), || what),
        }
    }
    generation.finish(&mut goroutines, &mut keeping);
    goroutines.finish(&mut keeping);
    Ok(Ok(()))
}

fn complain(keeping: &mut Keeping<'_>, severity: Severity, origin: Origin, what: impl FnOnce() -> String) {
    keeping.draft.findings.add(severity, "broken batches", origin, what);
}
