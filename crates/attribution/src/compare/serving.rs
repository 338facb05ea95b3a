//! Names what a thread that ended a wait ran, beside what such threads run in typical intervals: the outermost function of the
//! program itself that no baseline ran there is what was different (`lrangeCommand()`, not `memcpy()` below it). Where none has half of
//! the time, the one that few baselines ran counts, if it had most of what the code took beyond typical.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use model::{Cause, OffCpu, Part, Segment};

use crate::examine::examined::Examined;

/// Names the user code below the waits among `segments`, those of `outlier`.
pub(super) fn name_unusual(segments: &mut [Segment], outlier: &Examined, baselines: &[&Examined]) {
    let ran = functions(baselines);
    if ran.is_empty() {
        return;
    }
    let usual: HashSet<Arc<str>> = ran.keys().cloned().collect();
    let is_frequent = |times: usize| times * SELDOM > baselines.len();
    let frequent =
        ran.into_iter().filter(|&(_, times)| is_frequent(times)).map(|(function, _)| function).collect();
    let typical = WORK.map(|part| typical_time(baselines, part));
    for claim in &outlier.claims {
        let Some(below) = &claim.below else { continue };
        for segment in segments.iter_mut().filter(|segment| claim.holds(segment)) {
            for (part, named) in segment.during.iter_mut().zip(below.unusual(&usual)) {
                if let Some(place) = named.filter(|_| has_place(&part.cause)) {
                    (part.story.place, part.story.unusual) = (place, true);
                }
            }
            for (part, typical) in WORK.into_iter().zip(typical) {
                name_smaller(&mut segment.during, part, typical, below.most_unusual(&frequent));
            }
        }
    }
}

/// What one of so many baselines at most ran is no part of the typical time.
const SELDOM: usize = 4;

/// The functions that ran below the waits of `baselines`, and in how many of these.
fn functions(baselines: &[&Examined]) -> HashMap<Arc<str>, usize> {
    let mut ran: HashMap<Arc<str>, usize> = HashMap::new();
    for baseline in baselines {
        let below = baseline.claims.iter().filter_map(|claim| claim.below.as_ref());
        let functions: HashSet<&Arc<str>> = below.flat_map(|below| &below.functions).collect();
        for function in functions {
            *ran.entry(Arc::clone(function)).or_default() += 1;
        }
    }
    ran
}

/// What a thread works for others, and for the request.
const WORK: [Part; 2] = [Part::OthersFirst, Part::OwnWork];

/// The mean time of the user code in the baselines' longest waits that belonged to `part`.
fn typical_time(baselines: &[&Examined], part: Part) -> u64 {
    let longest = |baseline: &&Examined| {
        let waits = baseline.claims.iter().filter(|claim| claim.below.is_some());
        let longest = waits.max_by_key(|claim| claim.range().ticks());
        longest.map_or(0, |claim| user_time(&claim.during, part))
    };
    baselines.iter().map(longest).sum::<u64>() / baselines.len().max(1) as u64
}

fn user_time(during: &[Segment], part: Part) -> u64 {
    during.iter().filter(|segment| is_user(segment, part)).map(|segment| segment.range.ticks().0).sum()
}

fn is_user(segment: &Segment, part: Part) -> bool {
    is_code(&segment.cause) && segment.story.part == Some(part)
}

/// Names the user code of `part` by that of `most_unusual` with most time, where this had most of what the code took beyond `typical` and
/// no half of it.
fn name_smaller(during: &mut [Segment], part: Part, typical: u64, most_unusual: Vec<Option<(String, u64)>>) {
    let excess = user_time(during, part).saturating_sub(typical);
    let is_named = |segment: &Segment| is_user(segment, part) && segment.story.unusual;
    if excess == 0 || during.iter().any(is_named) {
        return;
    }
    let mut times: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, found) in during.iter().zip(&most_unusual).filter(|(segment, _)| is_user(segment, part)) {
        if let Some((name, ticks)) = found {
            *times.entry(name).or_default() += ticks;
        }
    }
    let Some((name, _)) =
        times.into_iter().max_by_key(|&(_, ticks)| ticks).filter(|(_, ticks)| ticks * 2 > excess)
    else {
        return;
    };
    let name = name.to_owned();
    for (segment, found) in during.iter_mut().zip(most_unusual) {
        if is_user(segment, part) && found.is_some_and(|(found, _)| found == name) {
            segment.story.place.clone_from(&name);
        }
    }
}

/// Whether it is user code.
fn is_code(cause: &Cause) -> bool {
    matches!(cause, Cause::UserExpected | Cause::UserSpin | Cause::Gc(_))
}

/// Whether the code that ran, or was left for it, says what it was for.
fn has_place(cause: &Cause) -> bool {
    let is_ready = matches!(cause, Cause::OffCpu(OffCpu::Runnable | OffCpu::Preempted));
    is_code(cause) || !is_ready && matches!(cause, Cause::OffCpu(_) | Cause::Syscall(_) | Cause::PageFault(_))
}

#[cfg(test)]
mod tests {
    use model::{Certainty, Story, Ticks, Tsc, TscRange};

    use super::*;

    fn own_work(stop: u64) -> Segment {
        let mut story = Story::default();
        (story.part, story.place) = (Some(Part::OwnWork), "usual()".to_owned());
        Segment {
            range: TscRange::new(Tsc(0), Tsc(stop)),
            cpu: None,
            thread: None,
            cause: Cause::UserExpected,
            occurrence: 0,
            certainty: Certainty::Decoded,
            detail: String::new(),
            story,
            edge_uncertainty: Ticks(0),
            during: Vec::new(),
            evidence: Vec::new(),
        }
    }

    /// Of 80 ticks, 60 of which are typical, `match` had more than half of the rest.
    #[test]
    fn the_smaller_part_is_named_where_it_made_the_difference() {
        let named = |part, typical, ticks| {
            let mut during = [own_work(80)];
            name_smaller(&mut during, part, typical, vec![Some(("match()".to_owned(), ticks))]);
            assert!(!during[0].story.unusual);
            during[0].story.place.clone()
        };
        assert_eq!(named(Part::OwnWork, 60, 15), "match()");
        assert_eq!(named(Part::OwnWork, 60, 10), "usual()");
        assert_eq!(named(Part::OwnWork, 80, 30), "usual()");
        assert_eq!(named(Part::OthersFirst, 60, 15), "usual()");
        let mut done = [own_work(80)];
        done[0].story.unusual = true;
        name_smaller(&mut done, Part::OwnWork, 60, vec![Some(("match()".to_owned(), 15))]);
        assert_eq!(done[0].story.place, "usual()");
    }
}
