//! The capture as attribution sees it: records, functions, names of threads.

use std::sync::Arc;

use attribution::{
    Comms, Function, Functions, Queues, Variable, collector_of, group_words, is_system_library,
};
use model::{CodeBytes, Pid, ThreadId, Ticks, Tsc};
use symbols::own_line;

use super::Capture;

/// From this time on, no instruction retired between two packets means a stall and not a slow instruction: above what
/// the slowest single instructions and page walks take, below what an SMI or a hypervisor's pause does.
const STALL_NS: u64 = 10_000;

impl Capture<'_> {
    /// What attribution needs.
    pub fn for_attribution<'q>(&'q self, queues: &'q Queues) -> attribution::Capture<'q> {
        let stall_threshold = match self.conversion() {
            Some(conversion) => conversion.ns_to_ticks(STALL_NS),
            None => Ticks(u64::MAX),
        };
        attribution::Capture {
            perf: self.perf(),
            recent: &self.recent,
            schedule: self.perf().schedule(),
            conversion: self.conversion(),
            functions: self,
            comms: self,
            queues,
            kernel_traced: self.kernel_traced(),
            threads_traced: self.threads_traced(),
            sees_all_cpus: self.sees_all_cpus(),
            stall_threshold,
        }
    }
}

impl Functions for Capture<'_> {
    fn function_at(&self, pid: Pid, address: u64, at: Tsc) -> Option<Function> {
        let found = self.images().function_at(pid, address, at)?;
        let images = self.images();
        let file = images.file_of(&found);
        let library =
            file.is_some_and(|file| is_system_library(file)) || images.is_of_library(pid, &found, at);
        let collector = collector_of(found.name, file.map(|file| &**file));
        let (range, name) = (found.range.clone(), found.name.clone());
        Some(Function { start: found.start, range, name, library, collector })
    }

    fn line_at(&self, pid: Pid, address: u64, at: Tsc) -> Option<Arc<str>> {
        let frames = self.images().lines(pid, address, at);
        let (file, line) = own_line(&frames)?;
        let name = file.rsplit('/').next().unwrap_or(file);
        Some(format!("{name}:{line}").into())
    }

    fn inlined_at(&self, pid: Pid, address: u64, at: Tsc) -> Vec<Arc<str>> {
        if pid == Pid::KERNEL && !self.images().has_kernel_lines() {
            return Vec::new();
        }
        let frames = self.images().lines(pid, address, at);
        frames.iter().rev().skip(1).map(|frame| Arc::from(frame.function.as_str())).collect()
    }

    fn variable_at(&self, pid: Pid, address: u64, at: Tsc) -> Option<Variable> {
        let found = self.images().variable_at(pid, address, at)?;
        Some(Variable { name: found.name, size: found.size, offset: found.offset })
    }

    fn code_at(&self, pid: Pid, address: u64, at: Tsc, into: &mut [u8]) -> usize {
        self.images().read(pid, address, at, into)
    }
}

impl Comms for Capture<'_> {
    fn comm(&self, thread: ThreadId, at: Tsc) -> String {
        Capture::comm(self, thread, at).unwrap_or_else(|| format!("tid {}", thread.tid))
    }

    fn group(&self, thread: ThreadId, at: Tsc) -> Option<String> {
        let time = self.conversion()?.to_perf_time(at);
        self.perf().cgroups().at(thread.tid, time).map(group_words)
    }
}
