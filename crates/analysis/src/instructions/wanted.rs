//! Which instructions are requested, and why there may be none.

use intervals::TimeSpan;
use model::{Cpu, Diagnostic, Tid, TimeConversion, Tsc, TscRange};
use pt::PtStream;

use crate::capture::Capture;
use crate::error::Result;
use crate::intervals_of::spans;
use crate::request::TimeRange;

/// How many CPUs a message names.
const CPUS_NAMED: usize = 32;

/// Which instructions are requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Of these CPUs; of all where it is empty.
    pub cpus: Vec<Cpu>,
    /// Of these threads; of all where it is empty.
    pub tids: Vec<Tid>,
    /// Of this time.
    pub range: TscRange,
}

impl Wanted {
    /// Whether `stream` may hold such instructions.
    pub fn includes(&self, stream: &PtStream<'_>) -> bool {
        let cpu = self.cpus.is_empty() || stream.cpu().is_some_and(|cpu| self.cpus.contains(&cpu));
        let thread = stream.thread().is_none_or(|tid| self.tids.is_empty() || self.tids.contains(&tid));
        cpu && thread
    }
}

/// Times of perf's clock as ranges of the TSC; all time where there are none.
///
/// # Errors
/// Where there are times, and the capture cannot convert them.
pub fn ranges(times: &[TimeRange], conversion: Option<TimeConversion>) -> Result<Vec<TscRange>> {
    let range = |span: TimeSpan| TscRange::new(span.from.unwrap_or(Tsc(0)), span.to.unwrap_or(Tsc(u64::MAX)));
    let spans = spans(times, conversion)?;
    Ok(if spans.is_empty() {
        vec![range(TimeSpan::default())]
    } else {
        spans.into_iter().map(range).collect()
    })
}

/// Why there is nothing to decode.
pub fn nothing_to_decode(capture: &Capture<'_>) -> Diagnostic {
    let cpus: Vec<String> =
        capture.streams().filter_map(PtStream::cpu).map(|cpu| cpu.to_string()).take(CPUS_NAMED).collect();
    Diagnostic::warning(if capture.streams().next().is_none() {
        "the capture holds no Intel PT: there is nothing to decode".to_owned()
    } else if cpus.is_empty() {
        "no trace of these threads, and the trace of threads has no CPUs: leave out --cpu".to_owned()
    } else {
        format!("no trace of these CPUs: the capture has CPU {}", cpus.join(", "))
    })
}
