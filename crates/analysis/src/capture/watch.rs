//! How far long work is, and the wish that it end: shared between who works and who looks on.
//!
//! A [`Watch`] counts windows, bytes and blocks; [`Watch::stop`] makes decoders end early, within some thousand blocks.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use attribution::Decode;
use model::{Cpu, ThreadId, TscRange};
use pt::{FlowItem, FlowSink, Grain, WatchedCalls};

/// Items between two looks at the watch: some ten microseconds of decoding.
const STRIDE: u64 = 1024;

/// How far work was at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Windows (each the trace of one interval) that are decoded.
    pub done: usize,
    /// Windows to decode; zero where that is not known yet, or the whole trace is scanned.
    pub expected: usize,
    /// Bytes of trace decoded, to within some thousand blocks per decoder.
    pub bytes: u64,
    /// Bytes to decode; zero where that is not known.
    pub expected_bytes: u64,
    /// Blocks and PT events decoded, to within a thousand per decoder.
    pub items: u64,
}

impl Progress {
    /// The part that is done, in percent; `None` where it is not known.
    pub fn percent(&self) -> Option<u8> {
        let (done, expected) = match self.expected {
            0 => (self.bytes, self.expected_bytes),
            expected => (self.done as u64, expected as u64),
        };
        let part = (u128::from(done) * 100).checked_div(u128::from(expected))?;
        Some(u8::try_from(part.min(100)).unwrap_or(100))
    }
}

/// Progress, and whether to go on.
#[derive(Debug, Default)]
pub struct Watch {
    stopped: AtomicBool,
    expected: AtomicUsize,
    done: AtomicUsize,
    bytes: AtomicU64,
    expected_bytes: AtomicU64,
    items: AtomicU64,
}

impl Watch {
    /// Asks for the work's end.
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// Whether the end was requested.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// How far the work is.
    pub fn progress(&self) -> Progress {
        Progress {
            done: self.done.load(Relaxed),
            expected: self.expected.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            expected_bytes: self.expected_bytes.load(Relaxed),
            items: self.items.load(Relaxed),
        }
    }

    /// Says how many more windows there are to decode.
    pub fn expect(&self, windows: usize) {
        self.expected.fetch_add(windows, Relaxed);
    }

    /// Says how many more bytes there are to decode.
    pub fn expect_bytes(&self, bytes: u64) {
        self.expected_bytes.fetch_add(bytes, Relaxed);
    }

    /// So many bytes more are decoded.
    pub fn read(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Relaxed);
    }

    /// One more window is decoded.
    pub fn done(&self) {
        self.done.fetch_add(1, Relaxed);
    }

    /// `decoder`, counted and stoppable.
    pub fn over<'w>(&'w self, decoder: &'w mut dyn Decode) -> Watched<'w> {
        Watched { watch: self, decoder }
    }

    /// `sink`, counted and stoppable.
    pub fn counting<S: FlowSink>(&self, sink: S) -> Counted<'_, S> {
        Counted { watch: self, sink, items: 0, position: None }
    }
}

/// A decoder under a watch.
pub struct Watched<'w> {
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
    fn item(&mut self, item: &FlowItem) -> ControlFlow<()> {
        self.0.item(item)
    }

    fn grain(&self) -> Grain {
        self.0.grain()
    }

    fn sum(&mut self, thread: Option<ThreadId>, instructions: u64) {
        self.0.sum(thread, instructions);
    }

    fn watched(&self) -> WatchedCalls {
        self.0.watched()
    }

    fn learnt(&mut self, watched: &WatchedCalls) {
        self.0.learnt(watched);
    }
}

/// A sink that counts what passes, and ends where the watch is stopped.
pub struct Counted<'w, S> {
    watch: &'w Watch,
    sink: S,
    items: u64,
    /// The position in the trace up to which bytes are counted, and that of the last item.
    position: Option<(u64, u64)>,
}

impl<S> Counted<'_, S> {
    /// The sink, when no more comes.
    pub fn into_sink(mut self) -> S {
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
    fn item(&mut self, item: &FlowItem) -> ControlFlow<()> {
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

    fn grain(&self) -> Grain {
        self.sink.grain()
    }

    fn sum(&mut self, thread: Option<ThreadId>, instructions: u64) {
        self.sink.sum(thread, instructions);
    }

    fn watched(&self) -> WatchedCalls {
        self.sink.watched()
    }

    fn learnt(&mut self, watched: &WatchedCalls) {
        self.sink.learnt(watched);
    }
}

#[cfg(test)]
mod tests;
