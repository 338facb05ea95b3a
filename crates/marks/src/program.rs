//! The program's marks: the rings of its threads, the file, and the thread that copies the ones to the other.

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::counts::Counts;
use crate::cpus;
use crate::doorbell;
use crate::output::Output;
use crate::record::{Count, Kind, Record};
use crate::ring::Ring;
use crate::system::{self, Cpus, tsc};

/// For marks that pair by nesting on their own thread.
pub const NO_KEY: u64 = u64::MAX;

/// Threads that may have a buffer at one time.
const MOST_RINGS: usize = 4096;
/// Files with counts of their own: a child of `fork()` may still count in those of an older one.
const MOST_COUNTS: usize = 64;
/// How long the writing thread sleeps.
const PAUSE: Duration = Duration::from_millis(2);
/// The distance of clock pairs.
const PAIRS: Duration = Duration::from_millis(100);
/// With more buffers it is looked each time whether their threads are there still.
const MANY_RINGS: usize = 32;
/// The kernel's EALREADY and ENOMEM.
const EALREADY: i32 = 114;
const ENOMEM: i32 = 12;

static RINGS: [OnceLock<Ring>; MOST_RINGS] = [const { OnceLock::new() }; MOST_RINGS];
static RINGS_MADE: AtomicUsize = AtomicUsize::new(0);
static COUNTS: [OnceLock<Counts>; MOST_COUNTS] = [const { OnceLock::new() }; MOST_COUNTS];
/// How many were begun.
static COUNTS_MADE: AtomicUsize = AtomicUsize::new(0);
/// Marks are taken.
static ON: AtomicBool = AtomicBool::new(false);
/// This process is a child of the one that opened the file.
static FORKED: AtomicBool = AtomicBool::new(false);
/// Registers what is called at the process's end.
static ENDS: Once = Once::new();
static FILE: Mutex<State> = Mutex::new(State::New);

std::thread_local! {
    /// Without destructors, which the C library would allocate memory for: the writing thread sees that a thread has ended.
    static RING: Cell<Option<Ring>> = const { Cell::new(None) };
    /// This thread is making its buffer.
    static MAKING: Cell<bool> = const { Cell::new(false) };
}

/// What becomes of marks.
enum State {
    New,
    Open {
        writer: JoinHandle<Output>,
        process: u32,
    },
    /// Marks that come later are still to be counted, in the file that is there.
    Closed(Output),
}

impl State {
    /// Gives up a file that this process has no part in: a child of `fork()` has its parent's state, and neither its threads nor the
    /// right to say what the file's counts are.
    fn without_parents(self) -> State {
        match self {
            State::Open { writer, process } if process != std::process::id() => {
                // The thread is no thread of this process: its handle is good for nothing, not even to be dropped.
                std::mem::forget(writer);
                State::New
            }
            State::Closed(output) if !output.is_own() => State::New,
            own => own,
        }
    }
}

/// An interval begins. Returns the time-stamp counter, which is read last; 0 where the mark is dropped.
#[inline]
pub fn begin(label: &'static CStr, key: u64) -> u64 {
    ring().map_or(0, |ring| ring.mark(|| Record::mark(Kind::Begin, label, key, tsc())))
}

/// An interval ends: the time is read first. Where it took longer than `tailtrace record --snapshot-over` says, the writing thread rings the
/// doorbell at its next turn, within 2 ms.
#[inline]
pub fn end(label: &'static CStr, key: u64) {
    mark(Kind::End, label, key);
}

/// The same for an interval that began at `since`, as [`begin`] returned it, on whatever thread. Where it took longer than `tailtrace record
/// --snapshot-over` says, the doorbell rings; a fast one costs no system call.
#[inline]
pub fn end_since(label: &'static CStr, key: u64, since: u64) {
    let at = mark(Kind::EndSince, label, key);
    if doorbell::may_be_slow(at.wrapping_sub(since)) {
        slow(label, since, at);
    }
}

#[cold]
fn slow(label: &'static CStr, since: u64, at: u64) {
    // A begin that was dropped has no time; marks after the file's end are not to be found in it.
    if since != 0 && at != 0 && ON.load(Ordering::Acquire) {
        doorbell::ring(label, since, at);
    }
}

/// The interval's work goes over to another thread.
#[inline]
pub fn publish(label: &'static CStr, key: u64) {
    mark(Kind::Publish, label, key);
}

/// A stage of the interval begins; the one before ends.
#[inline]
pub fn stage(label: &'static CStr, key: u64, name: &'static CStr) {
    mark_named(Kind::Stage, label, key, name, 0);
}

/// A number that belongs to the interval.
#[inline]
pub fn counter(label: &'static CStr, key: u64, name: &'static CStr, value: i64) {
    mark_named(Kind::Counter, label, key, name, value);
}

/// Begins an interval, which ends where what is returned is dropped.
#[inline]
pub fn interval(label: &'static CStr, key: u64) -> Interval {
    Interval { label, key, since: begin(label, key) }
}

/// An interval that ends where this is dropped, on whatever thread, as by [`end_since`].
#[derive(Debug)]
#[must_use = "the interval ends where this is dropped"]
pub struct Interval {
    label: &'static CStr,
    key: u64,
    since: u64,
}

impl Drop for Interval {
    fn drop(&mut self) {
        end_since(self.label, self.key, self.since);
    }
}

/// Returns the time of the mark; 0 where it is dropped.
#[inline]
pub(crate) fn mark(kind: Kind, label: &'static CStr, key: u64) -> u64 {
    let at = tsc();
    ring().map_or(0, |ring| ring.mark(|| Record::mark(kind, label, key, at)))
}

#[inline]
fn mark_named(kind: Kind, label: &'static CStr, key: u64, name: &'static CStr, value: i64) {
    let at = tsc();
    if let Some(ring) = ring() {
        ring.mark_named(Record::mark(kind, label, key, at), Record::name(name, value));
    }
}

/// The ring of the thread that calls.
#[inline]
pub(crate) fn ring() -> Option<Ring> {
    RING.get().or_else(first_mark)
}

#[cold]
fn first_mark() -> Option<Ring> {
    let made = make_ring();
    if made.is_none() {
        let why = match (ON.load(Ordering::Acquire), FORKED.load(Ordering::Relaxed)) {
            (true, _) => Count::NoBuffer,
            (false, true) => Count::Forked,
            (false, false) => Count::Late,
        };
        // Nothing is counted before the first file.
        if let Some(counts) = counts() {
            counts.add(why, 1);
        }
    }
    made
}

/// Makes this thread's buffer, so that its first mark need not; false where no file is open, or there is no memory.
pub fn thread() -> bool {
    RING.get().or_else(make_ring).is_some()
}

fn make_ring() -> Option<Ring> {
    if !ON.load(Ordering::Acquire) || MAKING.replace(true) {
        return None;
    }
    let ring = take_ring();
    RING.set(ring);
    MAKING.set(false);
    ring
}

/// A ring that no thread has any more, or a new one.
fn take_ring() -> Option<Ring> {
    if let Some(free) = rings().find(|ring| ring.take()) {
        return Some(free);
    }
    let cell = RINGS.get(RINGS_MADE.fetch_add(1, Ordering::Relaxed));
    let Some(cell) = cell else {
        RINGS_MADE.store(MOST_RINGS, Ordering::Relaxed);
        return None;
    };
    let ring = Ring::new()?;
    ring.take();
    cell.set(ring).ok()?;
    Some(ring)
}

fn rings() -> impl Iterator<Item = Ring> {
    let made = RINGS_MADE.load(Ordering::Relaxed).min(MOST_RINGS);
    RINGS[..made].iter().filter_map(OnceLock::get).copied()
}

fn counts() -> Option<Counts> {
    let made = COUNTS_MADE.load(Ordering::Acquire).min(MOST_COUNTS);
    COUNTS[made.checked_sub(1)?].get().copied()
}

/// The interval file that `TAILTRACE_FILE` names, else `tailtrace.marks`.
pub fn default_path() -> PathBuf {
    std::env::var_os("TAILTRACE_FILE").unwrap_or_else(|| "tailtrace.marks".into()).into()
}

/// Begins the interval file of [`default_path`].
///
/// # Errors
/// As [`open`].
pub fn open_default() -> io::Result<()> {
    open(default_path())
}

/// Begins the interval file at `path`, over what is there. It ends by [`close`], or with the process.
///
/// # Errors
/// EALREADY if one is open, EBUSY if another process writes this one, ESPIPE if it is no file on a disk, ENOMEM in a child of `fork()`
/// whose parent had opened 64 files; what else the operating system says.
pub fn open(path: impl AsRef<Path>) -> io::Result<()> {
    let mut state = state();
    let before = std::mem::replace(&mut *state, State::New);
    let is_open = matches!(before, State::Open { .. });
    match before.without_parents() {
        open @ State::Open { .. } => {
            *state = open;
            return Err(io::Error::from_raw_os_error(EALREADY));
        }
        State::Closed(output) => settle(&output),
        // A child of fork() has none of the threads whose rings these are.
        State::New if is_open || FORKED.load(Ordering::Relaxed) => rings().for_each(Ring::forget),
        State::New => {}
    }
    ENDS.call_once(|| system::call_at_ends(at_exit, in_child));
    let counts = new_counts().ok_or_else(|| io::Error::from_raw_os_error(ENOMEM))?;
    let mut output = Output::create(path.as_ref(), counts)?;
    output.put_pairs();
    doorbell::open();
    output.open_bell();
    doorbell::convert_limits();
    FORKED.store(false, Ordering::Relaxed);
    ON.store(true, Ordering::Release);
    let started = start(output);
    ON.store(started.is_ok(), Ordering::Release);
    let process = std::process::id();
    *state = State::Open { writer: started?, process };
    Ok(())
}

/// A page for each file, as long as there are some; then the last one again, unless it is the parent's.
fn new_counts() -> Option<Counts> {
    let made = COUNTS_MADE.load(Ordering::Acquire);
    if let Some(cell) = COUNTS.get(made) {
        cell.set(Counts::new()?).ok()?;
        COUNTS_MADE.store(made + 1, Ordering::Release);
    } else if FORKED.load(Ordering::Relaxed) {
        return None;
    } else {
        counts()?.reset();
    }
    counts()
}

fn start(output: Output) -> io::Result<JoinHandle<Output>> {
    let named = std::env::var("TAILTRACE_WRITER_CPUS").ok();
    let named = named.and_then(|text| cpus::list(&text));
    let (runs, wait) = mpsc::channel();
    let builder = thread::Builder::new().name("tailtrace".into());
    let writer = system::without_signals(|| builder.spawn(move || write(output, named.as_ref(), &runs)))?;
    // It begins on this thread's CPUs and in its class: wait, so that it can leave them even if these are a real-time thread's.
    let _ = wait.recv_timeout(Duration::from_secs(1));
    Ok(writer)
}

/// The writing thread.
fn write(mut output: Output, cpus: Option<&Cpus>, runs: &Sender<()>) -> Output {
    cpus::step_aside(cpus);
    // By now the opening thread may no longer wait.
    let _ = runs.send(());
    let mut due = Instant::now() + PAIRS;
    loop {
        let is_on = ON.load(Ordering::Acquire);
        let is_filling = drain_all(&mut output, !is_on);
        let is_due = Instant::now() >= due;
        if is_due || rings().filter(|ring| ring.has_thread()).count() > MANY_RINGS {
            retire();
        }
        if is_due {
            output.put_pairs();
            // At the end it is tried once more, and an error is reported.
            let _ = output.put_totals(false);
            output.repeat_texts();
            doorbell::convert_limits();
            // After a stop there is one, not all that were missed.
            due = Instant::now() + PAIRS;
        }
        if !is_on {
            break;
        }
        if !is_filling {
            thread::sleep(PAUSE);
        }
    }
    output.put_pairs();
    output
}

/// Writes what the rings hold; whether one of them was filling up.
fn drain_all(output: &mut Output, is_last: bool) -> bool {
    let begun = tsc();
    let mut is_filling = false;
    for ring in rings().filter(|ring| ring.has_thread()) {
        is_filling |= ring.is_filling();
        output.drain(ring, is_last);
    }
    output.flush();
    output.ring_for(if is_last { u64::MAX } else { begun });
    is_filling
}

/// Retires the rings of threads that have ended.
fn retire() {
    let process = std::process::id();
    rings()
        .filter(|ring| ring.has_thread() && !system::is_alive(process, ring.thread()))
        .for_each(Ring::retire);
}

/// Writes all marks and ends the file; later ones are dropped and counted. Nothing where none is open.
///
/// # Errors
/// The first write that failed.
pub fn close() -> io::Result<()> {
    let mut state = state();
    match std::mem::replace(&mut *state, State::New) {
        State::Open { writer, process } if process == std::process::id() => {
            ON.store(false, Ordering::Release);
            let mut output = writer.join().map_err(|_| io::Error::other("the writing thread panicked"))?;
            let written = output.take_error().and(output.put_totals(true));
            *state = State::Closed(output);
            written
        }
        other => {
            *state = other;
            Ok(())
        }
    }
}

/// Counts the marks that came after the file was closed.
fn settle(output: &Output) {
    rings().for_each(|ring| output.count_late(ring));
    // The file says that they are missing, or nothing can be done.
    let _ = output.put_totals(true);
}

extern "C" fn at_exit() {
    // Whoever wants to hear of it calls `close`.
    let _ = close();
    let last = std::mem::replace(&mut *state(), State::New);
    if let State::Closed(output) = last.without_parents() {
        settle(&output);
    }
}

extern "C" fn in_child() {
    ON.store(false, Ordering::Release);
    FORKED.store(true, Ordering::Relaxed);
    RING.set(None);
}

fn state() -> MutexGuard<'static, State> {
    FILE.lock().unwrap_or_else(PoisonError::into_inner)
}
