//! How far long work is, and the wish that it end: shared between who works and who looks on.
//!
//! A [`Watch`] counts windows, bytes and blocks; [`Watch::stop`] makes decoders end early, within some thousand blocks.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use attribution::Decode;
use model::{Cpu, ThreadId, TscRange};
use pt::{FlowItem, FlowSink};

use crate::progress::Progress;

/// Items between two looks at the watch: some ten microseconds of decoding.
const STRIDE: u64 = 1024;

/// Progress, and whether to go on.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    stopped: AtomicBool,
    expected: AtomicUsize,
    done: AtomicUsize,
    bytes: AtomicU64,
    expected_bytes: AtomicU64,
    items: AtomicU64,
}

impl Watch {
    /// Asks for the work's end.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// Whether the end was asked for.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// How far the work is.
    pub(crate) fn progress(&self) -> Progress {
        Progress {
            done: self.done.load(Relaxed),
            expected: self.expected.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            expected_bytes: self.expected_bytes.load(Relaxed),
            items: self.items.load(Relaxed),
        }
    }

    /// Says how many more windows there are to decode.
    pub(crate) fn expect(&self, windows: usize) {
        self.expected.fetch_add(windows, Relaxed);
    }

    /// Says how many more bytes there are to decode.
    pub(crate) fn expect_bytes(&self, bytes: u64) {
        self.expected_bytes.fetch_add(bytes, Relaxed);
    }

    /// So many bytes more are decoded.
    pub(crate) fn read(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Relaxed);
    }

    /// One more window is decoded.
    pub(crate) fn done(&self) {
        self.done.fetch_add(1, Relaxed);
    }

    /// `decoder`, counted and stoppable.
    pub(crate) fn over<'w>(&'w self, decoder: &'w mut dyn Decode) -> Watched<'w> {
        Watched { watch: self, decoder }
    }

    /// `sink`, counted and stoppable.
    pub(crate) fn counting<S: FlowSink>(&self, sink: S) -> Counted<'_, S> {
        Counted { watch: self, sink, items: 0, position: None }
    }
}

/// A decoder under a watch.
pub(crate) struct Watched<'w> {
    watch: &'w Watch,
    decoder: &'w mut dyn Decode,
}

impl Decode for Watched<'_> {
    fn decode(
        &mut self,
        cpu: Option<Cpu>,
        thread: ThreadId,
        range: TscRange,
        sink: &mut dyn FlowSink,
    ) -> bool {
        if self.watch.is_stopped() {
            return false;
        }
        let mut counted = self.watch.counting(Borrowed(sink));
        let found = self.decoder.decode(cpu, thread, range, &mut counted);
        counted.into_sink();
        found
    }
}

/// A sink that belongs to somebody else.
struct Borrowed<'s>(&'s mut dyn FlowSink);

impl FlowSink for Borrowed<'_> {
    fn item(&mut self, item: FlowItem) -> ControlFlow<()> {
        self.0.item(item)
    }
}

/// A sink that counts what passes, and ends where the watch is stopped.
pub(crate) struct Counted<'w, S> {
    watch: &'w Watch,
    sink: S,
    items: u64,
    /// The position in the trace up to which bytes are counted, and that of the last item.
    position: Option<(u64, u64)>,
}

impl<S> Counted<'_, S> {
    /// The sink, when no more comes.
    pub(crate) fn into_sink(mut self) -> S {
        self.watch.items.fetch_add(self.items % STRIDE, Relaxed);
        self.count_bytes();
        self.sink
    }

    fn count_bytes(&mut self) {
        if let Some((counted, last)) = &mut self.position {
            self.watch.read(last.saturating_sub(*counted));
            *counted = (*counted).max(*last);
        }
    }
}

impl<S: FlowSink> FlowSink for Counted<'_, S> {
    fn item(&mut self, item: FlowItem) -> ControlFlow<()> {
        self.items += 1;
        let position = item.aux_offset();
        self.position = Some((self.position.map_or(position, |(counted, _)| counted), position));
        if self.items.is_multiple_of(STRIDE) {
            self.watch.items.fetch_add(STRIDE, Relaxed);
            self.count_bytes();
            if self.watch.is_stopped() {
                return ControlFlow::Break(());
            }
        }
        self.sink.item(item)
    }
}

#[cfg(test)]
mod tests {
    use model::{Pid, Tid, Tsc};
    use pt::{Gap, GapReason, TimeBounds};

    use super::*;

    /// A decoder that yields gaps until it is told to end, but no more than `most`.
    struct Endless {
        most: u64,
    }

    impl Decode for Endless {
        fn decode(&mut self, _: Option<Cpu>, _: ThreadId, _: TscRange, sink: &mut dyn FlowSink) -> bool {
            for _ in 0..self.most {
                let time = TimeBounds::default();
                let gap = Gap { reason: GapReason::NoSync, thread: None, time, aux_offset: 0, resumed_at: 0 };
                if sink.item(FlowItem::Gap(gap)).is_break() {
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
        fn item(&mut self, _: FlowItem) -> ControlFlow<()> {
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
}
