//! The events that most explaining records are of, with where their fields lie: a record is read without a look for the event's name and
//! for each field's.
//!
//! Input: a capture's events. Output: a [`Reader`] for wake-ups, system calls and vectors without callchains, which reads what
//! [`classify`](super::classify::classify) reads; none for other events.

use std::sync::Arc;

use model::{Tid, TimeConversion};
use perfdata::{Attr, FieldValue, PerfData, RawSample, TracepointField, TracepointFormat, sample_type};

use crate::records::event::{Arguments, EventKind, Side, SidebandEvent, Within, is_lazy};

/// The readers of a capture's events, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Readers(Vec<Option<Reader>>);

impl Readers {
    pub(super) fn of(perf: &PerfData) -> Readers {
        let reader = |attr: &Attr| Reader::of(attr, perf.tracepoint_format(attr)?);
        Readers(perf.attrs().iter().map(reader).collect())
    }

    /// That of the event with this number.
    pub(super) fn of_event(&self, event: usize) -> Option<&Reader> {
        self.0.get(event)?.as_ref()
    }
}

/// How samples of one event are read.
#[derive(Debug)]
pub(super) struct Reader {
    fields: Fields,
    flags: Option<TracepointField>,
}

/// What is read.
#[derive(Debug)]
enum Fields {
    Waking { pid: TracepointField, by_waker: bool },
    Enter { id: TracepointField, arguments: Option<TracepointField> },
    Exit { id: TracepointField, result: Option<TracepointField> },
    Vector { name: Arc<str>, side: Side },
}

impl Reader {
    fn of(attr: &Attr, format: &TracepointFormat) -> Option<Reader> {
        if attr.samples(sample_type::CALLCHAIN) {
            return None;
        }
        let field = |name: &str| format.field(name).cloned();
        let fields = match attr.name.as_deref()?.split_once(':')? {
            ("sched", event @ ("sched_waking" | "sched_wakeup" | "sched_wakeup_new")) => {
                Fields::Waking { pid: field("pid")?, by_waker: event == "sched_waking" }
            }
            ("raw_syscalls", "sys_enter") => Fields::Enter { id: field("id")?, arguments: field("args") },
            ("raw_syscalls", "sys_exit") => Fields::Exit { id: field("id")?, result: field("ret") },
            ("irq_vectors", event) => match (event.strip_suffix("_entry"), event.strip_suffix("_exit")) {
                (Some(name), _) => Fields::Vector { name: name.into(), side: Side::Begin },
                (None, Some(name)) => Fields::Vector { name: name.into(), side: Side::End },
                (None, None) => return None,
            },
            _ => return None,
        };
        Some(Reader { fields, flags: field("common_flags") })
    }

    /// What a sample of the event explains.
    pub(super) fn read(&self, sample: &RawSample<'_>, conversion: TimeConversion) -> Option<SidebandEvent> {
        let raw = sample.raw;
        let number = |field: &TracepointField| field.value(raw)?.as_u64();
        let (side, kind, within) = match &self.fields {
            Fields::Waking { pid, by_waker } => {
                let target = Tid(i32::try_from(number(pid)?).ok()?);
                let within = self.flags.as_ref().and_then(number).map(Within::of_flags);
                (Side::Begin, EventKind::Waking { target, by_waker: *by_waker }, within)
            }
            Fields::Enter { id, arguments } => {
                let arguments = match arguments.as_ref().and_then(|field| field.value(raw)) {
                    Some(FieldValue::Bytes(bytes)) => Arguments::of_bytes(bytes),
                    _ => Arguments::default(),
                };
                (Side::Begin, EventKind::Syscall { number: number(id)?, arguments }, None)
            }
            Fields::Exit { id, result } => {
                let result = result.as_ref().and_then(|field| field.value(raw)?.as_i64());
                let arguments = result.map(i64::cast_unsigned).into_iter().collect();
                (Side::End, EventKind::Syscall { number: number(id)?, arguments }, None)
            }
            Fields::Vector { name, side } => (*side, EventKind::Vector { name: name.clone() }, None),
        };
        Some(SidebandEvent {
            time: conversion.to_tsc(sample.time),
            cpu: sample.cpu,
            thread: sample.thread,
            within,
            offset: sample.offset,
            side,
            kind,
            chain: Vec::new(),
            cookie: None,
            lazy: is_lazy(raw),
        })
    }
}

#[cfg(test)]
mod tests {
    use model::{Cpu, FileOffset, PerfTime, ThreadId, Tsc};

    use super::*;
    use crate::testing::script::conversion;

    const FORMAT: &str = "name:NAME\nID:1\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
        \tfield:pid_t pid;\toffset:4;\tsize:4;\tsigned:1;\n\
        \tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n\
        \tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n";

    /// `common_flags`: SOFTIRQ and `NEED_RESCHED_LAZY`; pid 77, id 202, the arguments 1 to 6.
    fn payload() -> Vec<u8> {
        let mut payload = vec![0, 0, 0x12, 0, 77, 0, 0, 0];
        for word in [202u64, 1, 2, 3, 4, 5, 6] {
            payload.extend(word.to_le_bytes());
        }
        payload
    }

    fn read(event: &str, payload: &[u8]) -> Option<SidebandEvent> {
        let (system, name) = event.split_once(':')?;
        let format = TracepointFormat::parse(system, FORMAT.replace("NAME", name).as_bytes())?;
        let mut attr = Attr::default();
        attr.name = Some(event.to_owned());
        let (offset, time, event) = (FileOffset(8), PerfTime(500), 0);
        let (cpu, thread) = (Some(Cpu(3)), Some(ThreadId::new(10, 11)));
        let sample = RawSample { offset, time, cpu, thread, event, raw: payload };
        Reader::of(&attr, &format)?.read(&sample, conversion())
    }

    #[test]
    fn each_event_has_its_fields() {
        let kind = |event: &str| read(event, &payload()).map(|event| (event.side, event.kind));
        let call = |arguments: &[u64]| {
            let arguments = arguments.iter().copied().collect();
            EventKind::Syscall { number: 202, arguments }
        };
        let vector = || EventKind::Vector { name: "local_timer".into() };
        let waking = |by_waker| Some((Side::Begin, EventKind::Waking { target: Tid(77), by_waker }));
        assert_eq!(kind("sched:sched_waking"), waking(true));
        assert_eq!(kind("sched:sched_wakeup"), waking(false));
        assert_eq!(kind("raw_syscalls:sys_enter"), Some((Side::Begin, call(&[1, 2, 3, 4, 5, 6]))));
        assert_eq!(kind("raw_syscalls:sys_exit"), Some((Side::End, call(&[1]))));
        assert_eq!(kind("irq_vectors:local_timer_entry"), Some((Side::Begin, vector())));
        assert_eq!(kind("irq_vectors:local_timer_exit"), Some((Side::End, vector())));
        assert_eq!(kind("irq:irq_handler_entry"), None);
    }

    #[test]
    fn a_wake_up_has_its_context() {
        let woken = read("sched:sched_waking", &payload()).expect("a wake-up");
        assert_eq!((woken.within, woken.lazy), (Some(Within::Softirq), true));
        assert_eq!((woken.cpu, woken.thread), (Some(Cpu(3)), Some(ThreadId::new(10, 11))));
        assert_eq!((woken.time, woken.offset), (Tsc(conversion().to_tsc(PerfTime(500)).0), FileOffset(8)));
    }

    #[test]
    fn a_payload_that_is_cut_short_says_what_it_has() {
        assert_eq!(read("raw_syscalls:sys_enter", &payload()[..12]), None);
        let entered = read("raw_syscalls:sys_enter", &payload()[..40]).expect("its number is there");
        assert_eq!(entered.kind, EventKind::Syscall { number: 202, arguments: Arguments::default() });
    }
}
