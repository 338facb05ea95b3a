//! Samples of `perf record --off-cpu`: a BPF program makes one when a thread that was off its CPU for long is switched in.
//!
//! Source: `tools/perf/util/off_cpu.h`, `bpf_skel/off_cpu.bpf.c`, `evsel.c` of perf 6.16: the event `offcpu-time` is a BPF output whose
//! raw bytes are TID, PERIOD, CALLCHAIN and CGROUP as a sample lays them out. What perf adds at the recording's end are sums of many absences, at a
//! time that no clock has: they belong to none of them.

use model::ThreadId;

use super::sample::{Sample, return_addresses};
use crate::bytes::Fields;

/// `PERF_TYPE_SOFTWARE`, `PERF_COUNT_SW_BPF_OUTPUT`, and perf's name for the event.
const SOFTWARE: u32 = 1;
const BPF_OUTPUT: u64 = 10;
const NAME: &str = "offcpu-time";

/// A thread's time off its CPU, up to the sample's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OffCpuSample<'a> {
    /// The thread.
    pub thread: ThreadId,
    /// For how many nanoseconds.
    pub ns: u64,
    /// Return addresses of its user code, eight bytes each, innermost first, with context marks.
    pub callchain: &'a [u8],
}

impl<'a> Sample<'a> {
    /// What a sample of `perf record --off-cpu` says; `None` for any other, and for one that is cut short.
    pub fn off_cpu(&self) -> Option<OffCpuSample<'a>> {
        let attr = self.attr()?;
        let is_one = (attr.kind, attr.config) == (SOFTWARE, BPF_OUTPUT);
        if !is_one || attr.name.as_deref().is_none_or(|name| name.trim_end_matches(':') != NAME) {
            return None;
        }
        let mut fields = Fields::new(self.raw()?);
        let (pid, tid) = (fields.u32()?, fields.u32()?);
        let (ns, count) = (fields.u64()?, fields.u64()?);
        let callchain = fields.counted_bytes(count.checked_mul(8)?)?;
        let thread = ThreadId::new(pid.cast_signed(), tid.cast_signed());
        Some(OffCpuSample { thread, ns, callchain })
    }
}

impl OffCpuSample<'_> {
    /// The return addresses, innermost first.
    pub fn addresses(&self) -> impl Iterator<Item = u64> {
        return_addresses(self.callchain)
    }
}
