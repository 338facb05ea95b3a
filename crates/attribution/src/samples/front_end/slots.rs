//! How the pipeline's slots were used: the top-down counters of a core, between two reads.
//!
//! perf reads them in a group that `slots` leads, with each sample of another event in it (`perf record -e
//! '{slots,cycles,topdown-retiring,…}:S'`). The counts only grow; the difference of two reads belongs to the time
//! between. Source: tools/perf/Documentation/topdown.txt. Counters of one group run at the same time, so their
//! proportions need no scaling where they were multiplexed with others; the report notes how long they ran.

use std::collections::HashMap;
use std::fmt::Write as _;

use model::{Cpu, FileOffset, Ticks, Tsc, TscRange};
use perfdata::{Attr, CounterRead, TimedRecord};

use super::event_name::plain_name;
use crate::threads::stays::Stay;

/// What a counter of the group counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    All,
    FrontEnd,
    FetchLatency,
    BackEnd,
    BadSpeculation,
    Retiring,
}

impl Role {
    fn of(name: &str) -> Option<Role> {
        Some(match plain_name(name).as_str() {
            "slots" | "topdown.slots" => Role::All,
            "topdown-fe-bound" => Role::FrontEnd,
            "topdown-fetch-lat" => Role::FetchLatency,
            "topdown-be-bound" => Role::BackEnd,
            "topdown-bad-spec" => Role::BadSpeculation,
            "topdown-retiring" => Role::Retiring,
            _ => return None,
        })
    }
}

/// The ids of the counters.
#[derive(Debug)]
pub(super) struct Counters {
    roles: HashMap<u64, Role>,
}

impl Counters {
    /// The counters of the capture, if the front end's slots and all slots are counted.
    pub(super) fn of(attrs: &[Attr]) -> Option<Counters> {
        let mut counters = Counters { roles: HashMap::new() };
        let mut seen = Vec::new();
        for attr in attrs {
            let Some(role) = attr.name.as_deref().and_then(Role::of) else { continue };
            seen.push(role);
            counters.roles.extend(attr.ids.iter().map(|&id| (id, role)));
        }
        Some(counters).filter(|_| seen.contains(&Role::All) && seen.contains(&Role::FrontEnd))
    }
}

/// The use of the slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    /// All slots.
    pub(crate) all: u64,
    /// Slots in which the front end delivered nothing.
    pub(crate) front_end: u64,
    /// Of these, those in which it waited for code.
    pub(crate) fetch_latency: Option<u64>,
    /// Slots in which the back end accepted nothing; `None` where it is not counted, also below.
    pub(crate) back_end: Option<u64>,
    /// Slots wasted on a path that was not taken.
    pub(crate) bad_speculation: Option<u64>,
    /// Slots whose work retired.
    pub(crate) retiring: Option<u64>,
}

impl Used {
    fn part(&mut self, role: Role) -> &mut u64 {
        match role {
            Role::All => &mut self.all,
            Role::FrontEnd => &mut self.front_end,
            Role::FetchLatency => self.fetch_latency.get_or_insert(0),
            Role::BackEnd => self.back_end.get_or_insert(0),
            Role::BadSpeculation => self.bad_speculation.get_or_insert(0),
            Role::Retiring => self.retiring.get_or_insert(0),
        }
    }

    /// The sum of both.
    pub(crate) fn and(&self, other: &Used) -> Used {
        self.with(other, |own, more| Some(own.saturating_add(more))).unwrap_or(*self)
    }

    /// The parts of two, each combined by `combined`; `None` where that is `None`.
    fn with(&self, other: &Used, combined: impl Fn(u64, u64) -> Option<u64>) -> Option<Used> {
        let optional = |own: Option<u64>, other: Option<u64>| match (own, other) {
            (None, None) => Some(None),
            (own, other) => combined(own.unwrap_or(0), other.unwrap_or(0)).map(Some),
        };
        Some(Used {
            all: combined(self.all, other.all)?,
            front_end: combined(self.front_end, other.front_end)?,
            fetch_latency: optional(self.fetch_latency, other.fetch_latency)?,
            back_end: optional(self.back_end, other.back_end)?,
            bad_speculation: optional(self.bad_speculation, other.bad_speculation)?,
            retiring: optional(self.retiring, other.retiring)?,
        })
    }
}

/// How the slots were used while it was the interval's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slots {
    /// The slots between the reads.
    pub(crate) used: Used,
    /// The time between the reads.
    pub(crate) covered: Ticks,
    /// The interval's time on CPUs.
    pub(crate) on_cpu: Ticks,
    /// How long the counters were enabled and how long they counted, in nanoseconds, where reads have it.
    pub(crate) counted: Option<(u64, u64)>,
    /// The first and the last of the reads.
    pub(crate) records: [(FileOffset, Option<Cpu>); 2],
}

/// The content of one read.
#[derive(Clone, Copy, Debug)]
struct Reading {
    at: Tsc,
    /// When the stay in which it was made began.
    stay: Tsc,
    used: Used,
    times: Option<(u64, u64)>,
    record: FileOffset,
    cpu: Option<Cpu>,
}

/// The reads of an interval, in time order.
#[derive(Debug)]
pub(super) struct Reads {
    counters: Counters,
    /// The last read of each group, by the id of its counter of slots.
    last: HashMap<u64, Reading>,
    told: Option<Slots>,
    /// The time up to which they count: where two groups are multiplexed, each moment counts once.
    until: Tsc,
}

impl Reads {
    pub(super) fn new(counters: Counters) -> Reads {
        Reads { counters, last: HashMap::new(), told: None, until: Tsc(0) }
    }

    /// Counts a read in `stay` against the read before it in the same stay: all that ran between them was the
    /// interval's.
    pub(super) fn add(&mut self, stay: &Stay, at: Tsc, sample: &TimedRecord<'_>, read: &CounterRead<'_>) {
        let mut used = Used::default();
        let (mut group, mut tells) = (None, false);
        for counter in read.counters() {
            let Some((id, role)) = counter.id.and_then(|id| Some((id, *self.counters.roles.get(&id)?)))
            else {
                continue;
            };
            *used.part(role) = counter.value;
            group = if role == Role::All { Some(id) } else { group };
            tells |= role == Role::FrontEnd;
        }
        // Another group may count slots without those of the front end.
        let Some(group) = group.filter(|_| tells) else { return };
        let (record, cpu) = (sample.offset, sample.cpu);
        let times = read.time_enabled.zip(read.time_running);
        let reading = Reading { at, stay: stay.range.start, used, times, record, cpu };
        let before = self.last.insert(group, reading);
        if let Some(before) = before.filter(|before| before.stay == reading.stay) {
            self.add_between(&before, &reading);
        }
    }

    fn add_between(&mut self, before: &Reading, after: &Reading) {
        // A counter that decreases was opened again.
        let Some(used) = after.used.with(&before.used, u64::checked_sub) else { return };
        if used.all == 0 || used.front_end > used.all || before.at < self.until {
            return;
        }
        self.until = after.at;
        let since = |(enabled, running): (u64, u64), (from, running_from): (u64, u64)| {
            Some((enabled.checked_sub(from)?, running.checked_sub(running_from)?))
        };
        let counted = after.times.zip(before.times).and_then(|(after, before)| since(after, before));
        let told = self.told.get_or_insert_with(|| Slots {
            used: Used::default(),
            covered: Ticks(0),
            on_cpu: Ticks(0),
            counted: None,
            records: [(before.record, before.cpu); 2],
        });
        told.used = told.used.and(&used);
        told.covered = Ticks(told.covered.0.saturating_add(TscRange::new(before.at, after.at).ticks().0));
        if let Some((enabled, running)) = counted {
            let (known, ran) = told.counted.unwrap_or_default();
            told.counted = Some((known.saturating_add(enabled), ran.saturating_add(running)));
        }
        told.records[1] = (after.record, after.cpu);
    }

    /// The slots, if the reads cover half the time on CPUs in `stays` or more.
    pub(super) fn told(self, stays: &[Stay]) -> Option<Slots> {
        let on_cpu = stays.iter().filter(|stay| stay.traced_by().is_some());
        let on_cpu = Ticks(on_cpu.map(|stay| stay.range.ticks().0).sum());
        let told = self.told.map(|told| Slots { on_cpu, ..told })?;
        (told.covered.0 >= on_cpu.0.div_ceil(2)).then_some(told)
    }
}

impl Slots {
    /// `front end 62 % (fetch latency 40 %), back end 10 %, bad speculation 3 %, retiring 25 %`
    pub(crate) fn shares(&self) -> String {
        let Used { all, front_end, fetch_latency, back_end, bad_speculation, retiring } = self.used;
        let percent = |part: u64| (u128::from(part) * 100 + u128::from(all / 2)) / u128::from(all.max(1));
        let fetch =
            fetch_latency.map_or_else(String::new, |part| format!(" (fetch latency {} %)", percent(part)));
        let mut shares = format!("front end {} %{fetch}", percent(front_end));
        for (name, part) in
            [("back end", back_end), ("bad speculation", bad_speculation), ("retiring", retiring)]
        {
            if let Some(part) = part {
                let _ = write!(shares, ", {name} {} %", percent(part));
            }
        }
        shares
    }

    /// `over 84 % of its time on CPUs`, and how much of that the counters counted, where they were multiplexed with
    /// others.
    pub(crate) fn coverage(&self) -> String {
        let percent = |part: u64, of: u64| u128::from(part) * 100 / u128::from(of.max(1));
        let turns = match self.counted {
            Some((enabled, running)) if running < enabled => {
                format!(", counting {} % of that", percent(running, enabled))
            }
            _ => String::new(),
        };
        format!("over {} % of its time on CPUs{turns}", percent(self.covered.0, self.on_cpu.0))
    }
}
