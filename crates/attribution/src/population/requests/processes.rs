//! Follows the system calls of all processes: which connections there are, and what threads work for.

use std::collections::HashMap;

use model::{FileOffset, OffCpu, Pid, ThreadId, Tid, Tsc, TscRange};

use super::conversation::{Conversation, Pending};
use super::{AnsweredRequest, Requests};
use crate::records::endpoints::{Call, Descriptors, Endpoint, EndpointKind, Peers};
use crate::tables::syscalls::{self, Transferring};

/// See the module.
pub(super) struct Processes<'m> {
    processes: HashMap<Pid, Process>,
    ledger: Ledger<'m>,
}

/// What a process' calls show.
#[derive(Default)]
struct Process {
    descriptors: Descriptors,
    peers: Peers,
    conversations: HashMap<Endpoint, Conversation>,
    threads: HashMap<Tid, Thread>,
}

#[derive(Default)]
struct Thread {
    /// The call that it is in, and since when.
    call: Option<(Tsc, Call)>,
    /// The request that it works for: what it read last since it waited for events.
    current: Option<Endpoint>,
}

/// Counts requests and keeps those that are meant.
struct Ledger<'m> {
    meant: &'m dyn Fn(ThreadId, Tsc) -> bool,
    found: Requests,
}

/// How a connection ends.
#[derive(Clone, Copy)]
enum End {
    Closed,
    Recording,
    Loss,
}

/// The end of a call.
struct Return {
    thread: ThreadId,
    /// From its begin to its end.
    range: TscRange,
    result: i64,
    record: FileOffset,
}

impl<'m> Processes<'m> {
    pub(super) fn new(meant: &'m dyn Fn(ThreadId, Tsc) -> bool) -> Processes<'m> {
        Processes { processes: HashMap::new(), ledger: Ledger { meant, found: Requests::default() } }
    }

    /// `thread` enters call `number` with this first argument.
    pub(super) fn entered(&mut self, thread: ThreadId, at: Tsc, number: u64, argument: Option<u64>) {
        let process = self.processes.entry(thread.pid).or_default();
        process.abandon(thread.tid, &mut self.ledger);
        let name = syscalls::known_name(number).unwrap_or_default();
        if syscalls::moves_unseen(name) && (self.ledger.meant)(thread, at) {
            *self.ledger.found.unseen.entry(name).or_default() += 1;
        }
        let state = process.threads.entry(thread.tid).or_default();
        if matches!(syscalls::waits_for(name), Some((OffCpu::Poll, _))) {
            state.current = None;
        }
        state.call = argument.map(|argument| (at, Call { number, argument }));
        if let Some((descriptor, Transferring::Out)) = state.call.and_then(|(_, call)| call.transfer()) {
            let endpoint = process.descriptors.endpoint(descriptor);
            if let Some(conversation) = process.conversations.get_mut(&endpoint) {
                conversation.begins_to_write();
            }
        }
    }

    /// Call `number` of `thread` returns.
    pub(super) fn returned(
        &mut self,
        thread: ThreadId,
        at: Tsc,
        number: u64,
        result: i64,
        record: FileOffset,
    ) {
        let Some(process) = self.processes.get_mut(&thread.pid) else { return };
        let Some(state) = process.threads.get_mut(&thread.tid) else { return };
        let Some((since, call)) = state.call.take_if(|(_, call)| call.number == number) else {
            return process.abandon(thread.tid, &mut self.ledger);
        };
        let range = TscRange::new(since, at);
        process.returned(call, &Return { thread, range, result, record }, &mut self.ledger);
    }

    /// From here on other calls may have made and ended anything.
    pub(super) fn records_lost(&mut self) {
        for (_, process) in self.processes.drain() {
            process.end(End::Loss, &mut self.ledger);
        }
    }

    pub(super) fn thread_ended(&mut self, thread: ThreadId) {
        if thread.pid.0 == thread.tid.0 {
            return self.process_ended(thread.pid);
        }
        if let Some(process) = self.processes.get_mut(&thread.pid) {
            process.abandon(thread.tid, &mut self.ledger);
            process.threads.remove(&thread.tid);
        }
    }

    /// It ended, or runs another program: what descriptors this has is not known.
    pub(super) fn process_ended(&mut self, pid: Pid) {
        if let Some(process) = self.processes.remove(&pid) {
            process.end(End::Closed, &mut self.ledger);
        }
    }

    pub(super) fn finish(mut self) -> Requests {
        for (_, process) in self.processes.drain() {
            process.end(End::Recording, &mut self.ledger);
        }
        let mut found = self.ledger.found;
        found.answered.sort_by_key(|request| (request.range.start, request.record));
        found
    }
}

impl Process {
    /// A thread's call is not known to have returned.
    fn abandon(&mut self, tid: Tid, ledger: &mut Ledger<'_>) {
        let call = self.threads.get_mut(&tid).and_then(|thread| thread.call.take());
        if let Some((descriptor, Transferring::Out)) = call.and_then(|(_, call)| call.transfer()) {
            self.gave_up_writing(self.descriptors.endpoint(descriptor), ledger);
        }
    }

    fn gave_up_writing(&mut self, to: Endpoint, ledger: &mut Ledger<'_>) {
        if let Some(conversation) = self.conversations.get_mut(&to) {
            let over = conversation.gave_up_writing();
            ledger.turn(to, conversation, over);
        }
    }

    fn returned(&mut self, call: Call, end: &Return, ledger: &mut Ledger<'_>) {
        let Some((descriptor, direction)) = call.transfer() else {
            if let Some(old) = self.descriptors.returned(call, end.result) {
                self.ended(&old, End::Closed, ledger);
            }
            return;
        };
        let endpoint = self.descriptors.endpoint(descriptor);
        if matches!(endpoint.kind, EndpointKind::File | EndpointKind::Event) {
            return;
        }
        let bytes = u64::try_from(end.result).unwrap_or(0);
        match direction {
            Transferring::In if bytes > 0 => self.read(endpoint, bytes, end, ledger),
            Transferring::In if end.result == 0 => {
                if let Some(conversation) = self.conversations.get_mut(&endpoint) {
                    let over = conversation.ended();
                    ledger.turn(endpoint, conversation, over);
                }
            }
            Transferring::Out if bytes > 0 => self.wrote(endpoint, bytes, end, ledger),
            Transferring::In => {}
            Transferring::Out => self.gave_up_writing(endpoint, ledger),
        }
    }

    fn read(&mut self, from: Endpoint, bytes: u64, end: &Return, ledger: &mut Ledger<'_>) {
        let request = self.peers.read(from, bytes);
        let mut may_be_event = false;
        if !self.peers.ask(&from) {
            let conversation = self.conversations.entry(from).or_default();
            let over = conversation.read(end.thread, end.range.stop, bytes);
            ledger.turn(from, conversation, over);
            if conversation.take_began_before()
                && !from.is_new()
                && (ledger.meant)(end.thread, end.range.stop)
            {
                ledger.found.left_out.begun_before += 1;
            }
            may_be_event = from.may_be_event(bytes) && !conversation.answers();
        }
        if let Some(thread) = self.threads.get_mut(&end.thread.tid).filter(|_| !may_be_event) {
            thread.current = Some(request);
        }
    }

    fn wrote(&mut self, to: Endpoint, bytes: u64, end: &Return, ledger: &mut Ledger<'_>) {
        let current = self.threads.get(&end.thread.tid).and_then(|thread| thread.current);
        self.peers.written(to, current);
        if self.peers.ask(&to) {
            self.conversations.remove(&to);
            return;
        }
        let conversation = self.conversations.entry(to).or_default();
        let over = conversation.wrote(end.thread, end.range, bytes, end.record);
        ledger.turn(to, conversation, over);
    }

    fn ended(&mut self, endpoint: &Endpoint, how: End, ledger: &mut Ledger<'_>) {
        self.peers.forget(endpoint);
        if let Some(conversation) = self.conversations.remove(endpoint) {
            ledger.close(*endpoint, conversation, how);
        }
    }

    fn end(self, how: End, ledger: &mut Ledger<'_>) {
        for (endpoint, conversation) in self.conversations {
            ledger.close(endpoint, conversation, how);
        }
    }
}

impl Ledger<'_> {
    /// A connection ends.
    fn close(&mut self, endpoint: Endpoint, conversation: Conversation, how: End) {
        if is_connection(endpoint, &conversation) {
            conversation.close().for_each(|open| self.enter(endpoint, open, how));
        }
    }

    /// A turn of a connection is over, if it is.
    fn turn(&mut self, endpoint: Endpoint, conversation: &Conversation, over: Option<Pending>) {
        if let Some(request) = over.filter(|_| is_connection(endpoint, conversation)) {
            self.enter(endpoint, request, End::Closed);
        }
    }

    /// A request is over.
    fn enter(&mut self, endpoint: Endpoint, request: Pending, how: End) {
        let is_meant = (self.meant)(request.reader, request.since);
        let left_out = &mut self.found.left_out;
        let Some(answer) = request.answer.filter(|_| !matches!(how, End::Loss)) else {
            let count = match how {
                End::Closed => &mut left_out.closed,
                End::Recording => &mut left_out.at_end,
                End::Loss => &mut left_out.across_loss,
            };
            *count += u64::from(is_meant);
            return;
        };
        let (count, last) = self.found.readers.entry(request.reader).or_insert((0, request.since));
        *count += 1;
        *last = request.since.max(*last);
        if !is_meant {
            return;
        }
        self.found.answered.push(AnsweredRequest {
            range: TscRange::new(request.since, answer.until),
            reader: request.reader,
            writer: answer.writer,
            descriptor: endpoint.descriptor,
            listening: match endpoint.kind {
                EndpointKind::Accepted { listening } => Some(listening),
                _ => None,
            },
            bytes: (request.bytes, answer.bytes),
            record: answer.record,
        });
    }
}

/// Whether somebody is answered there: what is only read, or moves a counter, may be a pipe, a file or an event.
fn is_connection(endpoint: Endpoint, conversation: &Conversation) -> bool {
    let is_accepted = matches!(endpoint.kind, EndpointKind::Accepted { .. });
    is_accepted || conversation.answers() && !conversation.may_be_counter()
}
