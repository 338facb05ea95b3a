//! A generation: about a second of a trace, with its own table of texts, which may come last.

use std::collections::HashMap;
use std::rc::Rc;

use model::Severity;

use super::events::{
    CLOCK_SNAPSHOT, CPU_SAMPLES, Event, FREQUENCY, STACKS, STRING, STRINGS, SYNC, arguments, timed,
};
use super::goroutines::Goroutines;
use crate::file::marks::MOST_MARKS;
use crate::file::spans::keeping::Keeping;
use crate::file::spans::stream::varint;
use crate::findings::Origin;

/// Arguments of a clock snapshot.
const OF_A_SNAPSHOT: usize = 4;

/// An event of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnThread {
    /// Ticks.
    pub(super) time: u64,
    pub(super) thread: u64,
    pub(super) event: Event,
    /// Where its batch begins in the file.
    pub(super) batch: u64,
}

#[derive(Default)]
pub(super) struct Generation {
    number: Option<u64>,
    texts: HashMap<u64, Rc<str>>,
    events: Vec<OnThread>,
    /// Ticks in a second.
    frequency: Option<u64>,
}

impl Generation {
    pub(super) fn new(number: u64) -> Generation {
        Generation { number: Some(number), ..Generation::default() }
    }

    pub(super) fn number(&self) -> Option<u64> {
        self.number
    }

    /// Takes a batch.
    ///
    /// # Errors
    /// What is broken. What stands before it is taken.
    pub(super) fn take(&mut self, batch: u64, thread: u64, time: u64, bytes: &[u8]) -> Result<(), String> {
        match bytes.split_first() {
            None | Some((&(STACKS | CPU_SAMPLES), _)) => Ok(()),
            Some((&STRINGS, rest)) => self.take_texts(rest),
            Some((&SYNC, rest)) => self.take_clocks(rest),
            Some((&FREQUENCY, _)) => self.take_clocks(bytes),
            Some(_) => self.take_events(batch, thread, time, bytes),
        }
    }

    fn take_texts(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while let Some((&kind, rest)) = bytes.split_first() {
            let read = || {
                let (number, rest) = varint(rest).filter(|_| kind == STRING)?;
                let (length, rest) = varint(rest)?;
                let (text, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
                Some((number, text, rest))
            };
            let (number, text, rest) = read().ok_or("a text that its batch does not hold")?;
            self.texts.insert(number, String::from_utf8_lossy(text).into());
            bytes = rest;
        }
        Ok(())
    }

    fn take_clocks(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while let Some((&kind, rest)) = bytes.split_first() {
            let count = match kind {
                FREQUENCY => 1,
                CLOCK_SNAPSHOT => OF_A_SNAPSHOT,
                _ => return Err(format!("an event of kind {kind} among those of the clock")),
            };
            let read;
            (read, bytes) = arguments(rest, count)?;
            if kind == FREQUENCY {
                self.frequency = Some(read.first()).filter(|frequency| *frequency > 0);
            }
        }
        Ok(())
    }

    fn take_events(
        &mut self,
        batch: u64,
        thread: u64,
        mut time: u64,
        mut bytes: &[u8],
    ) -> Result<(), String> {
        while !bytes.is_empty() {
            let (kind, arguments, rest) = timed(bytes)?;
            bytes = rest;
            time = time.saturating_add(arguments.first());
            if let Some(event) = arguments.event(kind) {
                if self.events.len() >= MOST_MARKS {
                    return Err("more than 100 million events in a generation".to_owned());
                }
                self.events.push(OnThread { time, thread, event, batch });
            }
        }
        Ok(())
    }

    /// Applies all events in the order of their times.
    pub(super) fn finish(mut self, goroutines: &mut Goroutines, keeping: &mut Keeping<'_>) {
        if self.events.is_empty() {
            return;
        }
        let Some(frequency) = self.frequency else {
            let origin = self.events.first().map_or(Origin::Unknown, |first| Origin::Byte(first.batch));
            return keeping.draft.findings.add(
                Severity::Error,
                "generations without a clock",
                origin,
                || "a generation does not say how many ticks a second has: it is left out".to_owned(),
            );
        };
        // Stable: a thread's own events stay in order.
        self.events.sort_by_key(|event| event.time);
        for event in &self.events {
            let nanoseconds = u128::from(event.time) * 1_000_000_000 / u128::from(frequency);
            let at = u64::try_from(nanoseconds).unwrap_or(u64::MAX);
            goroutines.apply(event, at, &self.texts, keeping);
        }
    }
}
