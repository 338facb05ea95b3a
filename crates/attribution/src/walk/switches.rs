//! The kernel's switches in the flow of a thread's stays, and whether user code runs before and after them.

use model::Tsc;
use pt::Block;

use super::activity::Switch;
use crate::walk::call_path::CallPath;

/// The length of `syscall`, after which user code resumes.
pub(super) const SYSCALL_LENGTH: u64 = 2;

/// See the module.
#[derive(Default)]
pub(super) struct Switches {
    /// Where user code from which the kernel was entered resumes, if any ran since the thread came onto its CPU.
    resumes_at: Option<u64>,
    /// The number of switches before it came.
    before: usize,
    /// The switches, in time order.
    pub(super) done: Vec<Switch>,
}

impl Switches {
    /// The thread comes onto a CPU.
    pub(super) fn come(&mut self) {
        self.resumes_at = None;
        self.before = self.done.len();
    }

    /// Packets were lost: what runs next may be another thread.
    pub(super) fn lose(&mut self) {
        self.resumes_at = None;
    }

    /// Whether user code ran since the thread came onto its CPU.
    pub(super) fn ran_user_code(&self) -> bool {
        self.resumes_at.is_some()
    }

    /// User code runs, and may end in a system call.
    pub(super) fn user_code(&mut self, block: &Block) {
        if let Some(switch) = self.done[self.before..].last_mut() {
            switch.then.get_or_insert(block.ip);
        }
        self.resumes_at = Some(block.end_ip.wrapping_add(SYSCALL_LENGTH));
    }

    /// User code is interrupted at `ip`.
    pub(super) fn interrupt(&mut self, ip: u64) {
        self.resumes_at = Some(ip);
    }

    /// The kernel switches at `at`; the thread is at `path` if its user code ran.
    pub(super) fn switch(&mut self, at: Tsc, aux_offset: u64, path: CallPath) {
        self.done.push(Switch { at, aux_offset, resumes_at: self.resumes_at, then: None, path });
    }
}
