//! Ends that no thread has compared with a limit ([`crate::end`]): the writing thread pairs them, and rings.
//!
//! Input: the records of all buffers, as they are copied. Output: lines in the doorbell's pipe that begin with `late`. Records wait until
//! all earlier ones have come, and are paired in order of time: with a key on whatever thread, without on their own.

use std::boxed::Box;
use std::collections::HashMap;
use std::vec;
use std::vec::Vec;

use crate::doorbell;
use crate::program::NO_KEY;
use crate::record::{Kind, Record};
use crate::system;

/// So many groups of so many open intervals; where a group is full, the oldest is forgotten.
const GROUPS: usize = 8192;
const IN_GROUP: usize = 8;
/// Records that wait at most.
const PENDING: usize = 1 << 16;
/// The longest label.
const TEXT: usize = 200;

/// What has begun and what waits.
pub(crate) struct LateBell {
    process: u32,
    groups: Box<[[Begun; IN_GROUP]]>,
    pending: Vec<Waiting>,
    /// What stands for the label at an address; `None` where it has no limit.
    labels: HashMap<u64, Option<u64>>,
}

/// An interval that has begun; 0 at both: none.
#[derive(Clone, Copy, Default)]
struct Begun {
    at: u64,
    lane: u64,
}

/// A begin or an end.
struct Waiting {
    at: u64,
    /// Stands for its label and key, or its label and thread; the highest bit is set of the latter, which nest.
    lane: u64,
    kind: u64,
    label: u64,
}

impl LateBell {
    /// `None` where there is no doorbell.
    pub(crate) fn new(process: u32) -> Option<LateBell> {
        doorbell::is_there().then(|| LateBell {
            process,
            groups: vec![[Begun::default(); IN_GROUP]; GROUPS].into_boxed_slice(),
            pending: Vec::new(),
            labels: HashMap::new(),
        })
    }

    /// Labels are read again.
    pub(crate) fn forget_labels(&mut self) {
        self.labels.clear();
    }

    /// A record of a buffer, of this thread; its label can be read.
    pub(crate) fn take(&mut self, record: Record, thread: u64) {
        let [at, key, _] = record.0;
        let kind = record.kind();
        if ![Kind::Begin, Kind::End, Kind::EndSince].iter().any(|&known| known as u64 == kind) {
            return;
        }
        let (label, process) = (record.low(), self.process);
        let known = self.labels.entry(label).or_insert_with(|| {
            let mut bytes = [0; TEXT];
            let text = system::text(process, label, &mut bytes)?;
            doorbell::has_limit(text).then(|| hash(text))
        });
        let Some(label_hash) = *known else { return };
        if self.pending.len() == PENDING {
            // Out of order where threads are, but not without end.
            self.judge(u64::MAX);
        }
        let nests = key == NO_KEY;
        let within = mix(if nests { thread } else { key });
        let lane = mix(label_hash.wrapping_add(u64::from(nests)).wrapping_add(within)) >> 1;
        self.pending.push(Waiting { at, lane: lane | u64::from(nests) << 63, kind, label });
    }

    /// Pairs what was marked up to `until`, and rings for what was slow. Others may have marked earlier still, and come later.
    pub(crate) fn judge(&mut self, until: u64) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.sort_by_key(|waiting| waiting.at);
        let ready = pending.partition_point(|waiting| waiting.at <= until);
        for waiting in pending.drain(..ready) {
            if let Some(since) = self.paired(&waiting)
                && waiting.kind == Kind::End as u64
                && doorbell::may_be_slow(waiting.at.wrapping_sub(since))
            {
                let mut bytes = [0; TEXT];
                if let Some(label) = system::text(self.process, waiting.label, &mut bytes) {
                    doorbell::ring_late(label, since, waiting.at);
                }
            }
        }
        self.pending = pending;
    }

    /// Begins an interval, or ends the innermost one of its lane and returns its begin.
    fn paired(&mut self, waiting: &Waiting) -> Option<u64> {
        let group =
            usize::try_from(waiting.lane % GROUPS as u64).ok().and_then(|at| self.groups.get_mut(at))?;
        let same = |begun: &Begun| begun.at != 0 && begun.lane == waiting.lane;
        if waiting.kind != Kind::Begin as u64 {
            let found = group.iter_mut().filter(|begun| same(begun)).max_by_key(|begun| begun.at)?;
            return Some(std::mem::take(&mut found.at));
        }
        let nests = waiting.lane >> 63 != 0;
        let place = (0..IN_GROUP).min_by_key(|&at| (nests || !same(&group[at]), group[at].at))?;
        group[place] = Begun { at: waiting.at, lane: waiting.lane };
        None
    }
}

/// FNV-1a.
fn hash(text: &[u8]) -> u64 {
    text.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

fn mix(value: u64) -> u64 {
    let value = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    value ^ value >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bell() -> LateBell {
        LateBell {
            process: std::process::id(),
            groups: vec![[Begun::default(); IN_GROUP]; GROUPS].into_boxed_slice(),
            pending: Vec::new(),
            labels: HashMap::new(),
        }
    }

    const NESTS: u64 = 1 << 63;

    /// The begin of what ends, of a begin or an end in a lane.
    fn step(bell: &mut LateBell, kind: Kind, at: u64, lane: u64) -> Option<u64> {
        bell.paired(&Waiting { at, lane, kind: kind as u64, label: 0 })
    }

    #[test]
    fn keys_begin_again_and_others_nest() {
        let mut bell = bell();
        let mut all = |steps: &[(Kind, u64)], lane| -> Vec<u64> {
            steps.iter().filter_map(|&(kind, at)| step(&mut bell, kind, at, lane)).collect()
        };
        let twice = [(Kind::Begin, 1), (Kind::Begin, 5), (Kind::End, 7), (Kind::End, 9)];
        assert_eq!(all(&twice, 3), [5], "the second one counts, and the last end has none");
        assert_eq!(all(&twice, 3 | NESTS), [5, 1]);
        assert_eq!(all(&[(Kind::Begin, 10), (Kind::EndSince, 11), (Kind::End, 12)], 3), [10]);
    }

    #[test]
    fn a_full_group_forgets_the_oldest() {
        let mut bell = bell();
        let lane = |number: u64| number * GROUPS as u64;
        for number in 1..=9 {
            step(&mut bell, Kind::Begin, number, lane(number));
        }
        let found = [1, 2, 9].map(|number| step(&mut bell, Kind::End, 20, lane(number)));
        assert_eq!(found, [None, Some(2), Some(9)]);
    }

    #[test]
    fn what_is_later_waits() {
        let mut bell = bell();
        bell.pending = [(9, Kind::End), (4, Kind::Begin), (12, Kind::Begin)]
            .map(|(at, kind)| Waiting { at, lane: 1, kind: kind as u64, label: 0 })
            .into();
        bell.judge(10);
        assert_eq!(bell.pending.iter().map(|waiting| waiting.at).collect::<Vec<_>>(), [12]);
        assert!(bell.groups[1].iter().all(|begun| begun.at == 0), "it was paired in order of time");
    }
}
