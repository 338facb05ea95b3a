//! What a thread waited for, by the best evidence: the path through the kernel, block and socket records, the system
//! call, the task's state.
//!
//! Output: the kind of the wait, its object in words, the kind's certainty, and the evidence.

use model::{Certainty, Evidence, OffCpu, TscRange};

use crate::claims::off_cpu::block_io::{self, OtherEvidence, Served};
use crate::claims::off_cpu::call::call_of;
use crate::claims::off_cpu::context::Context;
use crate::claims::off_cpu::timeout::timed_out;
use crate::claims::off_cpu::{futex, socket};
use crate::claims::system_call::Call;
use crate::inputs::files::tell_address;
use crate::records::event::EventKind;
use crate::records::words::describe;
use crate::tables::sleeping_locks::sleeps_for_lock;
use crate::tables::syscalls::{self, serves_fault};
use crate::tables::wait_functions::{reads_page_in, waited_for, waited_in_state};
use crate::threads::stays::Stay;
use crate::threads::wakeup::Wakeup;
use crate::walk::activity::Frame;
use crate::walk::call_path::{CallPath, is_kernel};

/// What a thread waited for.
pub(crate) struct Wait {
    /// The kind.
    pub(crate) kind: OffCpu,
    /// What for, in words; empty where nothing shows it.
    pub(crate) what: &'static str,
    /// The kind's certainty.
    pub(crate) certainty: Certainty,
    /// The particulars, each in words.
    pub(crate) particulars: Vec<String>,
    /// The system call.
    pub(crate) call: Option<Call>,
    /// The request, where it was block I/O.
    pub(crate) request: Option<Served>,
    /// The supporting records.
    pub(crate) evidence: Vec<Evidence>,
}

/// What the thread waited for. It left its CPU for `stay` in task state `state`, by `path` where known, and was woken
/// by `wakeup`.
pub(crate) fn wait_of(
    stay: &Stay,
    state: Option<char>,
    path: Option<&CallPath>,
    wakeup: Option<&Wakeup>,
    context: &Context<'_>,
) -> Wait {
    let call = call_of(stay, context);
    let by_path = path.and_then(|path| waited_for(path.kernel_functions()));
    let by_state = state.and_then(waited_in_state);
    let is_uninterruptible = state == Some('D');
    let pages_in = path.is_some_and(|path| path.kernel_functions().any(reads_page_in));
    let by_call = call.as_ref().and_then(Call::waits_for);
    let (kind, what, certainty) = match (by_path, by_call) {
        (Some(row), _) => (row.kind, row.what, Certainty::Decoded),
        _ if let Some(row) = &by_state => (row.kind, row.what, Certainty::Measured),
        // Memory, locks, freezers and network file systems are waited for in state D as well as disks.
        _ if is_uninterruptible && pages_in => (OffCpu::BlockIo, "", Certainty::Inferred),
        (None, Some((OffCpu::BlockIo, what))) if is_uninterruptible => {
            (OffCpu::BlockIo, what, Certainty::Inferred)
        }
        (None, _) if is_uninterruptible => (OffCpu::Other, "", Certainty::Inferred),
        (None, Some((kind, what))) => (kind, what, Certainty::Measured),
        (None, None) => (OffCpu::Other, "", Certainty::Measured),
    };
    let mut wait = Wait {
        kind,
        what,
        certainty,
        particulars: Vec::new(),
        evidence: call.iter().filter_map(|call| call.record.clone()).collect(),
        call,
        request: None,
    };
    wait.particulars.extend(wait.call.as_ref().map(Call::tell));
    let served = wait.served_by(stay, is_uninterruptible, wakeup, context);
    wait.tell_page_in(stay, path, is_uninterruptible, context);
    if let Some(served) = served {
        wait.tell_request(served, context);
    }
    if !is_uninterruptible {
        wait.tell_socket(stay, path, wakeup, context);
    }
    wait.tell_userfault(wakeup, context);
    wait.particulars.extend(Some(wait.what).filter(|what| !what.is_empty()).map(str::to_owned));
    wait.tell_timeout(stay, path, wakeup, context);
    if wait.kind == OffCpu::Sleep && path.is_some_and(takes_lock) {
        (wait.kind, wait.certainty) = (OffCpu::Lock, Certainty::Inferred);
        wait.particulars.push("between two attempts to take a lock".into());
    }
    if is_uninterruptible && what.is_empty() && wait.kind == OffCpu::Other {
        wait.particulars.push("uninterruptible (state D): no record shows for what".into());
    }
    wait.particulars.extend(path.and_then(CallPath::tell_user).map(|user| format!("called by {user}")));
    wait.evidence
        .extend(path.and_then(|path| path.kernel.last()).map(|site| Evidence::symbol(&*site.function)));
    wait
}

/// Whether the thread sleeps because it did not get a lock.
pub(crate) fn takes_lock(path: &CallPath) -> bool {
    sleeps_for_lock(path.user.iter().map(|site| &*site.function))
}

/// The same by records alone: by the kernel's part of the callchain with which it left, where the record has one. Lines
/// of user code would have to be looked up for each of thousands of waits.
pub(crate) fn wait_by_records(
    stay: &Stay,
    state: Option<char>,
    wakeup: Option<&Wakeup>,
    context: &Context<'_>,
) -> Wait {
    let path = stay.start_record.zip(stay.thread).and_then(|(record, thread)| {
        let left_at = stay.left_at.unwrap_or(stay.range.start);
        let chain = context.sideband.callchain(record, left_at)?;
        let kernel = chain.iter().take_while(|&&ip| is_kernel(ip)).count();
        Some(CallPath::of_callchain(&chain[..kernel], thread.pid, left_at, context.scene.functions))
    });
    wait_of(stay, state, path.as_ref(), wakeup, context)
}

impl Wait {
    /// Whether only its absence from the CPU shows that the thread waited.
    pub(crate) fn is_guessed(&self) -> bool {
        self.kind == OffCpu::Other && self.certainty == Certainty::Measured
    }

    /// A page fault that reads a page in: by the path, or by the record of the fault where no call was open. Where
    /// nothing shows that it waited for the page, only the fault.
    fn tell_page_in(
        &mut self,
        stay: &Stay,
        path: Option<&CallPath>,
        is_uninterruptible: bool,
        context: &Context<'_>,
    ) {
        let by_path = path.is_some_and(|path| path.kernel_functions().any(reads_page_in));
        let told = path.is_some_and(|path| !path.kernel.is_empty()) || self.call.is_some();
        let is_block_io = self.kind == OffCpu::BlockIo;
        if !(by_path && is_block_io || !told && (is_block_io || is_uninterruptible)) {
            return;
        }
        let fault = fault_before(stay, context);
        match &fault {
            Some((place, _)) if is_block_io => self.particulars.push(format!("page-in at {place}")),
            Some((place, _)) => self.particulars.push(format!("after a page fault at {place}")),
            None if by_path => self.particulars.push("page-in".into()),
            None => {}
        }
        self.evidence.extend(fault.map(|(_, record)| record));
    }

    /// The block device's request that ended the wait: then it was block I/O. A wait for a device that a timer ended,
    /// and no request, was none.
    fn served_by(
        &mut self,
        stay: &Stay,
        is_uninterruptible: bool,
        wakeup: Option<&Wakeup>,
        context: &Context<'_>,
    ) -> Option<Served> {
        let other = match self.kind {
            OffCpu::BlockIo => OtherEvidence::Wait,
            OffCpu::Other if self.certainty == Certainty::Decoded => return None,
            OffCpu::Other if is_uninterruptible => OtherEvidence::State,
            OffCpu::Other => OtherEvidence::None,
            _ => return None,
        };
        if wakeup.is_none() && is_uninterruptible {
            self.left_open(stay, context);
        }
        let served = block_io::request_of(stay, wakeup?, other, context.sideband);
        if served.is_some() {
            (self.kind, self.certainty) = (OffCpu::BlockIo, Certainty::Measured);
        } else if self.kind == OffCpu::BlockIo && wakeup.is_some_and(Wakeup::came_by_timer) {
            (self.kind, self.certainty) = (OffCpu::Other, Certainty::Inferred);
            self.particulars.push("until a timer expired, so for no device".into());
        }
        served
    }

    /// A request of its own whose completion has no record, as the wake-up has none.
    fn left_open(&mut self, stay: &Stay, context: &Context<'_>) {
        if let Some((request, record)) = block_io::open_request(stay, context.sideband) {
            (self.kind, self.certainty) = (OffCpu::BlockIo, Certainty::Inferred);
            self.particulars.push(format!("for the {request}, whose completion has no record"));
            self.evidence.push(record);
        }
    }

    fn tell_request(&mut self, served: Served, context: &Context<'_>) {
        let microseconds = |range: TscRange| context.microseconds(range);
        self.particulars.push(format!("for the {}", served.tell(&microseconds)));
        self.evidence.extend(served.evidence.iter().cloned());
        self.request = Some(served);
    }

    /// What no call shows, and a thread ended that was in an `ioctl()` on a userfaultfd: a fault that it served.
    fn tell_userfault(&mut self, wakeup: Option<&Wakeup>, context: &Context<'_>) {
        let is_open = self.is_guessed() && self.what.is_empty() && self.call.is_none();
        let Some(wakeup) = wakeup.filter(|_| is_open) else { return };
        let call =
            wakeup.thread().and_then(|thread| context.sideband.call_at(thread.tid, wakeup.recorded_at));
        if let Some(event) = call
            && let EventKind::Syscall { number, arguments } = &event.kind
            && serves_fault(&syscalls::name(*number), arguments)
        {
            (self.what, self.certainty) = ("for the handler of its userfaultfd", Certainty::Inferred);
            self.evidence.push(Evidence::record(event.offset, event.cpu, describe(&event.kind)));
        }
    }

    /// The call's own time was up. What waited for no lock and for no file slept.
    fn tell_timeout(
        &mut self,
        stay: &Stay,
        path: Option<&CallPath>,
        wakeup: Option<&Wakeup>,
        context: &Context<'_>,
    ) {
        let Some(call) = &self.call else { return };
        let (slept, needs_result) = match self.kind {
            OffCpu::Lock if self.what.is_empty() => (!futex::is_lock(call, path), false),
            OffCpu::Lock if call.name == "semtimedop" => (false, true),
            // One of the files may be a timer.
            OffCpu::Poll => (call.is_for_time, true),
            _ => return,
        };
        let timed_out = timed_out(stay, call, wakeup, context);
        let Some(timed_out) = timed_out.filter(|found| found.evidence.is_some() || !needs_result) else {
            return;
        };
        if slept {
            (self.kind, self.certainty) = (OffCpu::Sleep, self.certainty.min(timed_out.certainty));
        }
        self.particulars.push("until its timeout expired".into());
        self.evidence.extend(timed_out.evidence);
    }

    fn tell_socket(
        &mut self,
        stay: &Stay,
        path: Option<&CallPath>,
        wakeup: Option<&Wakeup>,
        context: &Context<'_>,
    ) {
        // A path that shows something else is no socket's.
        let is_other = self.kind == OffCpu::Other && self.what.is_empty();
        let may_be = is_other && self.certainty != Certainty::Decoded;
        if self.kind != OffCpu::Socket && !may_be {
            return;
        }
        if let Some((connection, record)) = socket::connection_of(stay, wakeup, context.sideband) {
            if self.kind == OffCpu::Other {
                (self.kind, self.certainty) = (OffCpu::Socket, Certainty::Inferred);
            }
            self.particulars.push(connection);
            self.evidence.push(record);
        } else if self.kind == OffCpu::Socket {
            let protocol = path.and_then(socket::protocol_of);
            self.particulars.extend(protocol.map(|protocol| format!("{protocol} socket")));
        } else if wakeup.is_some_and(Wakeup::came_by_network) && self.call.is_some() {
            (self.kind, self.certainty) = (OffCpu::Socket, Certainty::Inferred);
        }
    }
}

/// The address of the fault that was in progress when the thread left, in words: by the thread's last record before,
/// else by its flow.
fn fault_before(stay: &Stay, context: &Context<'_>) -> Option<(String, Evidence)> {
    let (thread, left_at) = (stay.thread?, stay.left_at.unwrap_or(stay.range.start));
    let tell = |address| tell_address(context.scene.files, Some(thread), address, left_at);
    let events = context.sideband.events();
    let before = events[..events.partition_point(|event| event.time <= left_at)].iter().rev().take(64);
    let mut own = before.filter(|event| event.thread.is_some_and(|own| own.tid == thread.tid));
    let by_record = own.find_map(|event| match event.kind {
        EventKind::PageFault { address, .. } => {
            let text = describe(&event.kind);
            Some((tell(address), Evidence::record(event.offset, event.cpu, text)))
        }
        _ => None,
    });
    by_record.or_else(|| {
        let fault = Frame::open_at(&context.faults, stay.range.start)?;
        let what = "EVD packet of the fault";
        Some((tell(fault.address?), Evidence::packet(fault.aux_offset, fault.cpu, what)))
    })
}
