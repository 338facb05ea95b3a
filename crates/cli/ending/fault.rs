//! Signals of faults. A file that became shorter while it was mapped (SIGBUS) ends the process with a message and exit code 2; any
//! other fault ends it as it would have. Before that nothing unfinished is left, and the terminal is given back.
//!
//! In the thread that met the fault only what signal-safety(7) allows is done: it wakes another thread and waits for it. `unsafe`
//! is the handler itself: the standard library has none, and `signal-hook` refuses these signals.
#![allow(unsafe_code, reason = "handlers of faults")]

use std::ffi::{OsStr, c_int, c_void};
use std::fs;
use std::io::{self, Read as _};
use std::mem::zeroed;
use std::os::fd::IntoRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::process::exit;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use analysis::output::remove_unfinished;
use anyhow::{Context as _, Result, anyhow};
use libc::{POLLIN, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, pollfd, sigaction, siginfo_t};

use crate::output::print_error;

/// What ends a process that made a mistake, its own or a C library's.
const FAULTS: [c_int; 5] = [SIGBUS, SIGSEGV, SIGABRT, SIGILL, SIGFPE];
/// `BUS_ADRERR`: there is no byte of the file at the address.
const NO_BYTE: c_int = 2;
/// The exit code where an input cannot be used.
const UNUSABLE: i32 = 2;
/// Should the other thread be stuck, too.
const LONGEST_WAIT_MS: c_int = 10_000;
/// Signal, code and address.
const REPORT_SIZE: usize = 16;

/// What a handler needs; set before the first is in place.
struct Plan {
    /// A report written here wakes the other thread.
    wake: c_int,
    /// Readable once the other thread is done.
    done: c_int,
    /// The actions before ours, as in [`FAULTS`].
    before: [sigaction; FAULTS.len()],
}

static PLAN: OnceLock<Plan> = OnceLock::new();
/// The first fault is reported; other threads may meet the same hole in a file.
static IS_REPORTED: AtomicBool = AtomicBool::new(false);

/// From now on faults end the process as this file's header says; `give_back` gives the terminal back.
///
/// # Errors
/// What the operating system says.
pub(crate) fn take(give_back: fn()) -> Result<()> {
    let (mut reports, wake) = io::pipe().context("no pipe for faults")?;
    let (done, end) = io::pipe().context("no pipe for faults")?;
    let wait = move || {
        let mut report = [0; REPORT_SIZE];
        // The writing end is open as long as the process lives.
        if reports.read_exact(&mut report).is_ok() {
            answer(report, give_back);
            drop(end);
        }
    };
    thread::Builder::new().name("faults".to_owned()).spawn(wait).context("no thread for faults")?;
    // SAFETY: `sigaction` is plain numbers, for which zero is a value.
    let mut before = [unsafe { zeroed::<sigaction>() }; FAULTS.len()];
    for (signal, before) in FAULTS.into_iter().zip(&mut before) {
        // SAFETY: no new action is given, `before` is valid for the answer.
        unsafe { sigaction(signal, null(), before) };
    }
    let plan = Plan { wake: wake.into_raw_fd(), done: done.into_raw_fd(), before };
    if PLAN.set(plan).is_err() {
        return Ok(());
    }
    for signal in FAULTS {
        // SAFETY: as above; an empty mask is zeros. The handler has the three arguments that SA_SIGINFO says, and its stack is the
        // one that the standard library gives each of its threads for an overflow of the usual one.
        let taken = unsafe {
            let mut action = zeroed::<sigaction>();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            sigaction(signal, &raw const action, null_mut())
        };
        if taken != 0 {
            return Err(io::Error::last_os_error()).context("faults cannot be taken");
        }
    }
    Ok(())
}

/// Runs in the thread that met the fault, wherever that was.
extern "C" fn handle(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    let Some(plan) = PLAN.get() else { return };
    if !IS_REPORTED.swap(true, Ordering::Relaxed) {
        let mut report = [0; REPORT_SIZE];
        // SAFETY: the kernel gives a valid `siginfo_t`; `si_addr` is one of its fields for these signals.
        let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as u64) };
        report[..4].copy_from_slice(&signal.to_ne_bytes());
        report[4..8].copy_from_slice(&code.to_ne_bytes());
        report[8..].copy_from_slice(&address.to_ne_bytes());
        // SAFETY: the buffer is valid for its length, the descriptor is open for ever.
        unsafe { libc::write(plan.wake, report.as_ptr().cast(), report.len()) };
    }
    let mut done = pollfd { fd: plan.done, events: POLLIN, revents: 0 };
    // SAFETY: one valid `pollfd`. Where the fault was a hole in a file, the process ends while this waits.
    unsafe { libc::poll(&raw mut done, 1, LONGEST_WAIT_MS) };
    // SAFETY: as above.
    let was_sent = unsafe { (*info).si_code } <= 0;
    for (number, before) in FAULTS.into_iter().zip(&plan.before) {
        if number == signal && was_sent {
            // SAFETY: zeros are the default action, which ends the process as soon as this returns: it is blocked until then.
            unsafe {
                let usual = zeroed::<sigaction>();
                sigaction(signal, &raw const usual, null_mut());
                libc::raise(signal);
            }
        } else if number == signal {
            // SAFETY: an action that `sigaction` itself gave. The fault happens again when this returns, and meets it.
            unsafe { sigaction(signal, before, null_mut()) };
        }
    }
}

/// What the other thread does.
fn answer(report: [u8; REPORT_SIZE], give_back: fn()) {
    let half = |at: usize| [report[at], report[at + 1], report[at + 2], report[at + 3]];
    let (signal, code) = (c_int::from_ne_bytes(half(0)), c_int::from_ne_bytes(half(4)));
    let mut address = [0; 8];
    address.copy_from_slice(&report[8..]);
    give_back();
    remove_unfinished();
    if (signal, code) == (SIGBUS, NO_BYTE) {
        let file = file_at(u64::from_ne_bytes(address)).unwrap_or_else(|| "a file that is read".to_owned());
        print_error(&anyhow!(
            "{file} became shorter while it was read, or its disk failed: is it still being written or copied? Start again when it is \
             complete"
        ));
        exit(UNUSABLE);
    }
}

/// The file that is mapped at `address`, as `/proc/self/maps` lists it.
fn file_at(address: u64) -> Option<String> {
    let maps = fs::read("/proc/self/maps").ok()?;
    let holds = |line: &[u8]| {
        let (start, end) =
            std::str::from_utf8(line.split(|&byte| byte == b' ').next()?).ok()?.split_once('-')?;
        let number = |digits| u64::from_str_radix(digits, 16).ok();
        Some((number(start)?..number(end)?).contains(&address))
    };
    let line = maps.split(|&byte| byte == b'\n').find(|line| holds(line) == Some(true))?;
    let path = line.iter().position(|&byte| byte == b'/')?;
    Some(OsStr::from_bytes(&line[path..]).to_string_lossy().into_owned())
}
