//! The timeline's lanes: one per thread of the interval, one per CPU that those were on, one per thread that ended a wait.
//!
//! Input: the explained interval, and the threads that ran on its CPUs. Output: [`Lane`]s; within each nothing overlaps and all is in
//! order of time. A CPU's lane has the segments that lie on it, and between them the names of the other threads that ran there.

use report::{OutlierReport, SegmentReport};

/// Whose lane it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A thread of the interval.
    Thread(Option<i32>),
    /// A CPU.
    Cpu(u32),
    /// The thread that ended a wait; the wait of a wait's thread is one deeper.
    Waker(usize, Option<i32>),
}

/// A row of the timeline.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) owner: Owner,
    /// In words; not escaped.
    pub(crate) title: String,
    /// What is coloured by its cause; without what lies below a wait.
    pub(crate) segments: Vec<SegmentReport>,
    /// What is not the interval's.
    pub(crate) others: Vec<Presence>,
}

/// A thread on a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Presence {
    /// From the interval's start, in the report's unit.
    pub(crate) offset: u64,
    /// How long.
    pub(crate) duration: u64,
    /// Who; not escaped.
    pub(crate) name: String,
}

/// The lanes of `outlier`: its threads, the CPUs with the threads on them, the threads that woke it. `name` names threads.
pub(crate) fn lanes(
    outlier: &OutlierReport,
    cpus: Vec<(u32, Vec<Presence>)>,
    name: &dyn Fn(i32) -> String,
) -> Vec<Lane> {
    let mut all = Vec::new();
    gather(&outlier.segments, 0, &mut all);
    let mut threads: Vec<Lane> = Vec::new();
    for &(depth, segment) in &all {
        let owner = owner(depth, segment);
        let known = threads.iter().position(|lane| lane.owner == owner);
        let place = known.unwrap_or_else(|| {
            threads.push(Lane::new(owner, name));
            threads.len() - 1
        });
        threads[place].add(segment);
    }
    let of_cpu = |(cpu, others): (u32, Vec<Presence>)| {
        let mut lane = Lane { others, ..Lane::new(Owner::Cpu(cpu), name) };
        let mut there: Vec<&SegmentReport> =
            all.iter().map(|(_, segment)| *segment).filter(|segment| segment.cpu == Some(cpu)).collect();
        there.sort_by_key(|segment| segment.offset_ns);
        for segment in there {
            lane.add(segment);
        }
        lane
    };
    let first_waker = threads.iter().position(|lane| matches!(lane.owner, Owner::Waker(..)));
    let wakers = threads.split_off(first_waker.unwrap_or(threads.len()));
    threads.into_iter().chain(cpus.into_iter().map(of_cpu)).chain(wakers).collect()
}

/// Whose time a segment is that lies so many waits deep.
pub(crate) fn owner(depth: usize, segment: &SegmentReport) -> Owner {
    match depth {
        0 => Owner::Thread(segment.tid),
        depth => Owner::Waker(depth, segment.tid),
    }
}

/// All segments with their depth, level by level: the interval's own first.
fn gather<'a>(segments: &'a [SegmentReport], depth: usize, all: &mut Vec<(usize, &'a SegmentReport)>) {
    all.extend(segments.iter().map(|segment| (depth, segment)));
    for segment in segments {
        gather(&segment.during, depth + 1, all);
    }
}

impl Lane {
    fn new(owner: Owner, name: &dyn Fn(i32) -> String) -> Lane {
        let named = |tid: Option<i32>| tid.map_or_else(|| "thread unknown".to_owned(), name);
        let title = match owner {
            Owner::Thread(tid) => named(tid),
            Owner::Cpu(cpu) => format!("CPU {cpu}"),
            // Time below a wait that is no thread's is that of the interrupt that ended it.
            Owner::Waker(depth, None) => format!("{} interrupt", "↳".repeat(depth)),
            Owner::Waker(depth, tid) => format!("{} {}", "↳".repeat(depth), named(tid)),
        };
        Lane { owner, title, segments: Vec::new(), others: Vec::new() }
    }

    /// Adds a segment after the others; what begins before their end is left to them.
    fn add(&mut self, segment: &SegmentReport) {
        let end = self.segments.last().map_or(0, |last| last.offset_ns.saturating_add(last.duration_ns));
        if segment.offset_ns >= end {
            self.segments.push(SegmentReport { during: Vec::new(), evidence: Vec::new(), ..segment.clone() });
        }
    }

    /// For each of `columns` equal parts of the `view` who else was there for most of it, by index.
    pub(crate) fn others_in(&self, (from, to): (u64, u64), columns: usize) -> Vec<Option<usize>> {
        let length = u128::from(to.saturating_sub(from));
        let edge = |column: usize| {
            let part = length * column as u128 / columns.max(1) as u128;
            from.saturating_add(u64::try_from(part).unwrap_or(u64::MAX))
        };
        let end = |other: &Presence| other.offset.saturating_add(other.duration);
        (0..columns)
            .map(|column| {
                let (begin, stop) = (edge(column), edge(column + 1).max(edge(column) + 1));
                let first = self.others.partition_point(|other| end(other) <= begin);
                let there = self.others[first..].iter().take_while(|other| other.offset < stop).enumerate();
                let share = |other: &Presence| end(other).min(stop) - other.offset.max(begin);
                there.max_by_key(|(_, other)| share(other)).map(|(place, _)| first + place)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
