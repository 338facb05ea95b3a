//! An interval as JSON in a slice's note.

use model::{
    Attribute, Child, Counter, Details, FileOffset, Interval, IntervalId, Phase, PhaseKind, Stage, ThreadId,
    Ticks, Tsc, TscRange,
};
use report::JsonNumber;
use serde::{Deserialize, Serialize};

/// Process and thread.
type ThreadTwin = (i32, i32);

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct IntervalTwin {
    id: u64,
    label: String,
    key: Option<String>,
    start: u64,
    stop: u64,
    start_thread: Option<ThreadTwin>,
    stop_thread: Option<ThreadTwin>,
    publish: Option<u64>,
    stages: Vec<(String, u64)>,
    /// Kind, thread, and begin of each; it lasts to the next.
    #[serde(default)]
    phases: Vec<(PhaseTwin, Option<ThreadTwin>, u64)>,
    counters: Vec<(String, JsonNumber)>,
    #[serde(default)]
    attributes: Vec<(String, String)>,
    #[serde(default)]
    children: Vec<(String, u64, u64)>,
    record: Option<u64>,
    #[serde(default)]
    connection: Option<u32>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PhaseTwin {
    Run,
    Ready,
    Await,
}

impl IntervalTwin {
    /// The interval as it is carried.
    pub(crate) fn of(interval: &Interval) -> IntervalTwin {
        let thread = |thread: Option<ThreadId>| thread.map(|thread| (thread.pid.0, thread.tid.0));
        IntervalTwin {
            id: interval.id.0,
            label: interval.label.to_string(),
            key: interval.key.clone(),
            start: interval.range.start.0,
            stop: interval.range.stop.0,
            start_thread: thread(interval.start_thread),
            stop_thread: thread(interval.stop_thread),
            publish: interval.publish.map(|at| at.0),
            stages: interval.stages.iter().map(|stage| (stage.name.clone(), stage.start.0)).collect(),
            phases: (interval.phases.iter())
                .map(|phase| (PhaseTwin::of(phase.kind), thread(phase.thread), phase.range.start.0))
                .collect(),
            counters: interval.counters.iter().map(|one| (one.name.clone(), one.value.into())).collect(),
            attributes: interval.attributes.iter().map(|one| (one.name.clone(), one.value.clone())).collect(),
            children: (interval.children.iter())
                .map(|child| (child.label.clone(), child.spans, child.time.0))
                .collect(),
            record: interval.record.map(|offset| offset.0),
            connection: interval.connection,
        }
    }

    pub(super) fn into_interval(self) -> Interval {
        let thread = |thread: Option<ThreadTwin>| thread.map(|(pid, tid)| ThreadId::new(pid, tid));
        let stop = self.stop.max(self.start);
        // They divide the interval, whatever a damaged slice says.
        let mut last = self.start;
        let begins = self.phases.iter().skip(1).map(|&(.., begin)| {
            last = begin.clamp(last, stop);
            last
        });
        let borders: Vec<u64> = [self.start].into_iter().chain(begins).chain([stop]).collect();
        let phases = self.phases.iter().zip(borders.windows(2)).map(|(&(kind, who, _), range)| Phase {
            kind: kind.into_kind(),
            thread: thread(who),
            range: TscRange::new(Tsc(range[0]), Tsc(range[1])),
        });
        let details = Details {
            phases: phases.collect(),
            key: self.key,
            publish: self.publish.map(Tsc),
            stages: self.stages.into_iter().map(|(name, start)| Stage { name, start: Tsc(start) }).collect(),
            counters: (self.counters.into_iter())
                .map(|(name, value)| Counter { name, value: value.into() })
                .collect(),
            attributes: (self.attributes.into_iter())
                .map(|(name, value)| Attribute { name, value })
                .collect(),
            children: (self.children.into_iter())
                .map(|(label, spans, ticks)| Child { label, spans, time: Ticks(ticks) })
                .collect(),
            record: self.record.map(FileOffset),
            connection: self.connection,
        };
        let range = TscRange::new(Tsc(self.start), Tsc(stop));
        let start_thread = thread(self.start_thread);
        let mut interval = Interval::new(IntervalId(self.id), self.label, range, start_thread).with(details);
        interval.stop_thread = thread(self.stop_thread);
        interval
    }
}

impl PhaseTwin {
    fn of(kind: PhaseKind) -> PhaseTwin {
        match kind {
            PhaseKind::Run => PhaseTwin::Run,
            PhaseKind::Ready => PhaseTwin::Ready,
            PhaseKind::Await => PhaseTwin::Await,
        }
    }

    fn into_kind(self) -> PhaseKind {
        match self {
            PhaseTwin::Run => PhaseKind::Run,
            PhaseTwin::Ready => PhaseKind::Ready,
            PhaseTwin::Await => PhaseKind::Await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_come_back_as_they_were() {
        let phase = |kind, tid: Option<i32>, start, stop| Phase {
            kind,
            thread: tid.map(|tid| ThreadId::new(1, tid)),
            range: TscRange::new(Tsc(start), Tsc(stop)),
        };
        let range = TscRange::new(Tsc(10), Tsc(90));
        let thread = Some(ThreadId::new(1, 2));
        let mut interval = Interval::new(IntervalId(7), "order", range, thread);
        interval.phases = vec![
            phase(PhaseKind::Run, Some(2), 10, 20),
            phase(PhaseKind::Await, Some(2), 20, 50),
            phase(PhaseKind::Ready, None, 50, 60),
            phase(PhaseKind::Run, Some(3), 60, 90),
        ];
        assert_eq!(IntervalTwin::of(&interval).into_interval(), interval);
    }

    #[test]
    fn phases_of_a_damaged_slice_divide_their_interval() {
        let interval = Interval::new(IntervalId(7), "order", TscRange::new(Tsc(10), Tsc(90)), None);
        let mut twin = IntervalTwin::of(&interval);
        twin.phases = [50, 40, 20, 200, 60].map(|begin| (PhaseTwin::Ready, None, begin)).into();
        let found: Vec<_> =
            twin.into_interval().phases.iter().map(|one| (one.range.start.0, one.range.stop.0)).collect();
        assert_eq!(found, [(10, 40), (40, 40), (40, 90), (90, 90), (90, 90)]);
    }
}
