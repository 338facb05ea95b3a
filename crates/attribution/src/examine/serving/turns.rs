//! For which request a thread worked when: its turns.
//!
//! Input: what it read and wrote, the calls by which it waits for events, and the flow. A turn begins where a call is entered, or left.
//! The records of both lie inside the call: the kernel writes them after the entry and before it goes back to user code. So the flow has
//! the turn's edges.

use std::collections::{HashMap, HashSet};

use model::{Cause, OffCpu, Segment, Tid, Tsc, TscRange};

use super::Moved;
use crate::records::endpoints::{Endpoint, EndpointKind, Peers};
use crate::records::event::{EventKind, Side};
use crate::records::sideband::Sideband;
use crate::records::transfers::Transfer;
use crate::tables::syscalls::{self, Transferring};

/// From when on a thread worked for which request.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    pub(super) from: Tsc,
    /// Whether the record of that time is of a call's begin, or of its end.
    side: Side,
    /// `None`: for none.
    pub(super) request: Option<Endpoint>,
}

impl Turn {
    /// It begins where a call is entered.
    fn entering(from: Tsc, request: Option<Endpoint>) -> Turn {
        Turn { from, side: Side::Begin, request }
    }

    /// It begins where a call is left.
    fn leaving(from: Tsc, request: Endpoint) -> Turn {
        Turn { from, side: Side::End, request: Some(request) }
    }

    /// Where the flow enters or leaves the call whose record begins the turn, before `next`.
    fn edge(&self, segments: &[Segment], next: Tsc) -> Option<Tsc> {
        let place = segments.partition_point(|segment| segment.range.stop <= self.from);
        let segment = segments.get(place).filter(|segment| segment.range.start <= self.from)?;
        // No record is written in user code: its time and that of the flow may differ a little.
        let in_user = is_user(&segment.cause);
        let is_late = self.from.0 - segment.range.start.0 > segment.range.ticks().0 / 2;
        match self.side {
            Side::Begin if in_user => is_late.then_some(segment.range.stop),
            Side::End if in_user => (!is_late).then_some(segment.range.start),
            Side::Begin => matches!(segment.cause, Cause::Syscall(_)).then_some(segment.range.start),
            Side::End => {
                let mut before_next = segments[place..].iter().take_while(|later| later.range.start <= next);
                before_next.find(|later| is_user(&later.cause)).map(|user| user.range.start)
            }
        }
    }
}

/// The turns of the time of `segments`, which are in order, with their edges by the flow.
pub(super) fn settled(turns: &[Turn], segments: &[Segment]) -> Vec<Turn> {
    let (Some(first), Some(last)) = (segments.first(), segments.last()) else { return Vec::new() };
    let begun = turns.partition_point(|turn| turn.from <= first.range.start).saturating_sub(1);
    let over = turns.partition_point(|turn| turn.from < last.range.stop).max(begun);
    let mut settled: Vec<Turn> = Vec::with_capacity(over - begun);
    for (place, turn) in turns[..over].iter().enumerate().skip(begun) {
        let before = settled.last().map_or(Tsc(0), |before: &Turn| before.from);
        let next = turns.get(place + 1).map_or(Tsc(u64::MAX), |next| next.from);
        let edge = turn.edge(segments, next).filter(|edge| (before..=next).contains(edge));
        settled.push(Turn { from: edge.unwrap_or(turn.from).max(before), ..*turn });
    }
    settled
}

/// For which of `turns`, in order, it worked at `at`.
pub(super) fn turn_at(turns: &[Turn], at: Tsc) -> Option<Endpoint> {
    let later = turns.partition_point(|turn| turn.from <= at);
    turns[later.checked_sub(1)?].request
}

fn is_user(cause: &Cause) -> bool {
    matches!(
        cause,
        Cause::UserExpected | Cause::UserExtraWork | Cause::UserSlower(_) | Cause::UserSpin | Cause::Gc(_)
    )
}

/// Follows a thread's transfers and the calls by which it waits for events.
pub(super) struct Turns {
    peers: Peers,
    /// No servers, though written to first: clients (`true`), and where nothing is ever read.
    unasked: HashMap<Endpoint, bool>,
    pub(super) worked_for: Vec<Turn>,
    pub(super) moved: Vec<Moved>,
}

impl Turns {
    /// `polls`: from when to when it waited for events; `client`: from where the one that waits for an answer asked, if that is known.
    pub(super) fn of(transfers: &[Transfer], polls: &[TscRange], client: Option<Endpoint>) -> Turns {
        let client: HashMap<Endpoint, bool> = client.into_iter().map(|client| (client, true)).collect();
        let first = Turns::follow(transfers, polls, client.clone());
        let unasked = first.find_unasked();
        if unasked.is_empty() {
            return first;
        }
        Turns::follow(transfers, polls, client.into_iter().chain(unasked).collect())
    }

    /// Events and files are no requests.
    fn follow(transfers: &[Transfer], polls: &[TscRange], unasked: HashMap<Endpoint, bool>) -> Turns {
        let written = written(transfers);
        let is_kept = |one: &&Transfer| one.endpoint.kind != EndpointKind::File && !is_event(one, &written);
        let mut turns = Turns { peers: Peers::default(), unasked, worked_for: Vec::new(), moved: Vec::new() };
        let mut polls = polls.iter().peekable();
        let mut current = None;
        // Since when it has been at something that it has not read: a timer expired, or a job of a pool was done.
        let mut since = None;
        for &transfer in transfers.iter().filter(is_kept) {
            while let Some(poll) = polls.next_if(|poll| poll.start < transfer.range.start) {
                current = None;
                turns.worked_for.push(Turn::entering(poll.start, None));
                since = Some(poll.stop);
            }
            let request = if transfer.direction == Transferring::In {
                let request = turns.peers.read(transfer.endpoint, transfer.bytes);
                current = Some(request);
                turns.worked_for.push(Turn::entering(transfer.range.start, current));
                request
            } else {
                let request = turns.request_of(transfer.endpoint, current);
                if turns.peers.have_read(&request) {
                    turns.write(transfer.range, request, current, since);
                    since = Some(transfer.range.stop);
                }
                request
            };
            turns.moved.push(Moved { transfer, request });
        }
        turns.worked_for.extend(polls.map(|poll| Turn::entering(poll.start, None)));
        turns
    }

    /// It writes for `request` in `range`, and has worked for `current` so far; for none `since` then.
    fn write(&mut self, range: TscRange, request: Endpoint, current: Option<Endpoint>, since: Option<Tsc>) {
        let since_then = since.filter(|&since| current.is_none() && since <= range.start);
        let entered = Turn::entering(range.start, Some(request));
        self.worked_for.push(since_then.map_or(entered, |since| Turn::leaving(since, request)));
        // What follows is for the same, unless it writes to another one next.
        self.worked_for.extend(current.map(|read| Turn::leaving(range.stop, read)));
    }

    /// Where was written to before anything was read from there, for a request that was then answered without a word from there: that was
    /// no question to a server. Something is read there later (`true`): it was the answer to a client, whose request is older than
    /// what was searched. Or never: a log.
    fn find_unasked(&self) -> HashMap<Endpoint, bool> {
        let mut read: HashSet<Endpoint> = HashSet::new();
        let mut pending: HashMap<Endpoint, HashSet<Endpoint>> = HashMap::new();
        let mut unasked: HashMap<Endpoint, bool> = HashMap::new();
        for one in &self.moved {
            let endpoint = one.transfer.endpoint;
            if one.transfer.direction == Transferring::In {
                read.insert(endpoint);
            } else if one.is_answer() {
                let asked = pending.remove(&endpoint).into_iter().flatten();
                unasked.extend(asked.filter(|other| !read.contains(other)).map(|other| (other, false)));
            } else if endpoint.kind == EndpointKind::Unknown && !read.contains(&endpoint) {
                pending.entry(one.request).or_default().insert(endpoint);
            }
        }
        for (endpoint, is_read) in &mut unasked {
            *is_read = read.contains(endpoint);
        }
        unasked
    }

    /// The request to which belongs what is written to `to` by a thread that works for `current`.
    fn request_of(&mut self, to: Endpoint, current: Option<Endpoint>) -> Endpoint {
        match self.unasked.get(&to) {
            Some(true) => to,
            Some(false) => current.unwrap_or(to),
            None => self.peers.written(to, current),
        }
    }
}

/// Where anything was written to.
pub(super) fn written(transfers: &[Transfer]) -> HashSet<Endpoint> {
    let out = transfers.iter().filter(|one| one.direction == Transferring::Out);
    out.map(|one| one.endpoint).collect()
}

/// Whether `one` reads an event and no request: eight bytes of an eventfd or a timerfd, `struct signalfd_siginfo`; nothing is ever
/// written to these.
pub(super) fn is_event(one: &Transfer, written: &HashSet<Endpoint>) -> bool {
    let may_be = match one.endpoint.kind {
        EndpointKind::Unknown => one.direction == Transferring::In && !written.contains(&one.endpoint),
        _ => true,
    };
    may_be && one.endpoint.may_be_event(one.bytes)
}

/// When thread `tid` waited for events, until `until`.
pub(super) fn polls(sideband: &Sideband, tid: Tid, until: Tsc) -> Vec<TscRange> {
    let awaited = |number| syscalls::known_name(number).and_then(syscalls::waits_for);
    let waits = |number| matches!(awaited(number), Some((OffCpu::Poll, _)));
    let is_poll = |kind: &EventKind| matches!(kind, EventKind::Syscall { number, .. } if waits(*number));
    let mut polls: Vec<TscRange> = Vec::new();
    for event in sideband.calls_of(tid, until).filter(|event| is_poll(&event.kind)) {
        match (event.side, polls.last_mut()) {
            (Side::Begin, _) => polls.push(TscRange::new(event.time, until.max(event.time))),
            (Side::End, Some(last)) => last.stop = event.time,
            (Side::End, None) => {}
        }
    }
    polls
}

#[cfg(test)]
mod tests;
