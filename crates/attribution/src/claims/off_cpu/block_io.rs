//! `offcpu.block-io`: the request a thread waited for, by `block:block_rq_insert`, `_issue` and `_complete` records.
//!
//! A request is identified by device and sector. The thread's own request is the last one to complete before the
//! wake-up among those inserted or issued in its context. Where the kernel's worker threads issue for it, it is the
//! last one to complete on the CPU that woke the thread.

use std::collections::BTreeSet;

use model::{Device, Evidence, Tsc, TscRange};

use crate::records::event::{BlockStep, EventKind, Request, SidebandEvent};
use crate::records::sideband::Sideband;
use crate::records::words::describe;
use crate::threads::stays::Stay;
use crate::threads::wakeup::Wakeup;

/// A request, and the times of its steps.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    /// The request.
    pub(crate) request: Request,
    /// When it entered the queue, where it went through one.
    pub(crate) inserted: Option<Tsc>,
    /// When it was issued to the device.
    pub(crate) issued: Option<Tsc>,
    /// When it completed.
    pub(crate) completed: Tsc,
    /// The records.
    pub(crate) evidence: Vec<Evidence>,
}

/// What shows, without a request of the thread's own, that it waited for a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherEvidence {
    /// Nothing.
    None,
    /// Its state is D, which has many reasons: only a request that completed in the interrupt of the wake-up counts.
    State,
    /// Its path or its system call.
    Wait,
}

/// The request whose completion ended the wait of `stay`.
pub(crate) fn request_of(
    stay: &Stay,
    wakeup: &Wakeup,
    other: OtherEvidence,
    sideband: &Sideband,
) -> Option<Served> {
    let interrupt = wakeup.cpu.filter(|_| !wakeup.maker.is_thread());
    let interrupt = interrupt.and_then(|cpu| sideband.interrupt_at(cpu, wakeup.recorded_at));
    let may_be_its_own = |event: &SidebandEvent| match other {
        OtherEvidence::None => false,
        OtherEvidence::State => interrupt.is_some_and(|begun| begun.time <= event.time),
        OtherEvidence::Wait => true,
    };
    let from = stay.left_at.unwrap_or(stay.range.start);
    let tid = stay.thread?.tid;
    let events = sideband.events();
    let until = &events[..events.partition_point(|event| event.time <= wakeup.at)];
    let own: BTreeSet<(Device, u64)> = until
        .iter()
        .filter(|event| event.thread.is_some_and(|thread| thread.tid == tid))
        .filter_map(|event| match &event.kind {
            EventKind::Block { step: BlockStep::Insert | BlockStep::Issue, request } => Some(request.key()),
            _ => None,
        })
        .collect();
    let completions = until.iter().rev().take_while(|event| event.time >= from).filter_map(|event| {
        let EventKind::Block { step: BlockStep::Complete, request } = &event.kind else { return None };
        Some((event, request))
    });
    let (event, request) = completions.into_iter().find(|(event, request)| {
        own.contains(&request.key())
            || (event.cpu.is_some() && event.cpu == wakeup.cpu && may_be_its_own(event))
    })?;
    Some(history(event, request, until))
}

/// The request that the thread inserted or issued last in the system call in which it left its CPU for `stay`, where there is no
/// record of its completion by the end of the stay: the kernel records nothing in the idle tasks of some guests, where a disk's
/// interrupt comes.
pub(crate) fn open_request<'s>(stay: &Stay, sideband: &'s Sideband) -> Option<(&'s Request, Evidence)> {
    let (tid, left_at) = (stay.thread?.tid, stay.left_at.unwrap_or(stay.range.start));
    let called = sideband.call_at(tid, left_at)?.time;
    let events = sideband.events();
    let within = |from: Tsc, to: Tsc| {
        &events[events.partition_point(|event| event.time < from)
            ..events.partition_point(|event| event.time <= to)]
    };
    let (begun, request) = within(called, left_at).iter().rev().find_map(|event| match &event.kind {
        EventKind::Block { step: BlockStep::Insert | BlockStep::Issue, request }
            if event.thread.is_some_and(|thread| thread.tid == tid) =>
        {
            Some((event, request))
        }
        _ => None,
    })?;
    let completed = within(begun.time, stay.range.stop).iter().any(|event| {
        matches!(&event.kind, EventKind::Block { step: BlockStep::Complete, request: ended } if ended.key() == request.key())
    });
    (!completed).then(|| (request, Evidence::record(begun.offset, begun.cpu, describe(&begun.kind))))
}

/// The steps of `request`, which `completed` ends, backwards through `until`.
fn history(completed: &SidebandEvent, request: &Request, until: &[SidebandEvent]) -> Served {
    let record = |event: &SidebandEvent| Evidence::record(event.offset, event.cpu, describe(&event.kind));
    let mut served = Served {
        request: request.clone(),
        inserted: None,
        issued: None,
        completed: completed.time,
        evidence: vec![record(completed)],
    };
    let earlier = until.iter().rev().skip_while(|event| event.offset != completed.offset).skip(1);
    for event in earlier {
        let EventKind::Block { step, request } = &event.kind else { continue };
        if request.key() != served.request.key() {
            continue;
        }
        match step {
            BlockStep::Issue if served.issued.is_none() && served.inserted.is_none() => {
                served.issued = Some(event.time);
            }
            BlockStep::Insert if served.inserted.is_none() => served.inserted = Some(event.time),
            _ => break,
        }
        served.evidence.push(record(event));
    }
    served
}

impl Served {
    /// "read of 8 sectors at 2048 on device 254:0 (queued 1.2 us, served 84.3 us)", with lengths by `microseconds`.
    pub(crate) fn tell(&self, microseconds: &dyn Fn(TscRange) -> String) -> String {
        let mut times = Vec::new();
        if let (Some(inserted), Some(issued)) = (self.inserted, self.issued) {
            times.push(format!("queued {}", microseconds(TscRange::new(inserted, issued))));
        }
        if let Some(issued) = self.issued {
            times.push(format!("served {}", microseconds(TscRange::new(issued, self.completed))));
        }
        if times.is_empty() {
            return self.request.to_string();
        }
        format!("{} ({})", self.request, times.join(", "))
    }
}
