use model::{Pid, Tid, Tsc};
use pt::{Gap, GapReason, TimeBounds};

use super::*;

/// A decoder that yields gaps until it is asked to end, but no more than `most`.
struct Endless {
    most: u64,
}

impl Decode for Endless {
    fn decode(&mut self, _: Option<Cpu>, _: ThreadId, _: TscRange, sink: &mut dyn FlowSink) -> bool {
        for _ in 0..self.most {
            let time = TimeBounds::default();
            let gap = Gap { reason: GapReason::NoSync, thread: None, time, aux_offset: 0, resumed_at: 0 };
            if sink.item(&FlowItem::Gap(gap)).is_break() {
                break;
            }
        }
        true
    }
}

/// Stops the watch at the `at`th item.
struct StopAt<'w> {
    watch: &'w Watch,
    at: u64,
    seen: u64,
}

impl FlowSink for StopAt<'_> {
    fn item(&mut self, _: &FlowItem) -> ControlFlow<()> {
        self.seen += 1;
        if self.seen == self.at {
            self.watch.stop();
        }
        ControlFlow::Continue(())
    }
}

fn run(watch: &Watch, most: u64, at: u64) -> (bool, u64) {
    let thread = ThreadId { pid: Pid(1), tid: Tid(1) };
    let mut sink = StopAt { watch, at, seen: 0 };
    let range = TscRange::new(Tsc(0), Tsc(1));
    let found = watch.over(&mut Endless { most }).decode(None, thread, range, &mut sink);
    (found, sink.seen)
}

#[test]
fn all_items_are_counted() {
    let watch = Watch::default();
    assert_eq!(run(&watch, 2500, u64::MAX), (true, 2500));
    assert_eq!(watch.progress().items, 2500);
}

#[test]
fn a_stopped_watch_ends_decoding_and_begins_none() {
    let watch = Watch::default();
    assert_eq!(run(&watch, 1_000_000, 1500), (true, 2 * STRIDE - 1), "ends at the next look");
    assert_eq!(run(&watch, 10, u64::MAX), (false, 0));
}
