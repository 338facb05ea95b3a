//! Runs perf: its exit code is ours, and what signals reach us reach it.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use crate::ending;

/// These end a recording, or (SIGUSR2) request a snapshot.
const FORWARDED: [(i32, Signal); 5] = [
    (SIGHUP, Signal::HUP),
    (SIGINT, Signal::INT),
    (SIGTERM, Signal::TERM),
    (SIGUSR1, Signal::USR1),
    (SIGUSR2, Signal::USR2),
];

/// perf, while it runs.
pub(crate) struct Running {
    pid: Mutex<Option<Pid>>,
    ended: Condvar,
}

impl Running {
    /// One that has ended: it takes no signals.
    #[cfg(test)]
    pub(crate) fn ended() -> Running {
        Running { pid: Mutex::new(None), ended: Condvar::new() }
    }

    /// Sends it a signal, unless it has ended.
    pub(crate) fn send(&self, signal: Signal) {
        if let Some(pid) = *self.pid() {
            // It may have ended since then: then the signal is not needed.
            let _ = kill_process(pid, signal);
        }
    }

    /// Its process, while it runs.
    pub(crate) fn number(&self) -> Option<i32> {
        self.pid().map(|pid| pid.as_raw_nonzero().get())
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.pid().is_none()
    }

    /// Waits for its end, at most so long; whether it has ended.
    pub(crate) fn ends_within(&self, wait: Duration) -> bool {
        let pid = self.ended.wait_timeout_while(self.pid(), wait, |pid| pid.is_some());
        pid.unwrap_or_else(PoisonError::into_inner).0.is_none()
    }

    fn forget(&self) {
        *self.pid() = None;
        self.ended.notify_all();
    }

    fn pid(&self) -> MutexGuard<'_, Option<Pid>> {
        self.pid.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs the command to its end and returns its exit code, as a shell would; with more in its environment, and `beside` on a thread of
/// its own, which has to return when perf has ended. Signals that are `kept` are not forwarded: the caller has taken them.
///
/// # Errors
/// Where it cannot be run.
pub(crate) fn run(
    words: &[OsString],
    environment: &[(&str, OsString)],
    kept: &[i32],
    beside: impl FnOnce(&Running) + Send,
) -> Result<u8> {
    let (program, arguments) = words.split_first().context("no command")?;
    let taken = FORWARDED.map(|(number, _)| number).into_iter();
    let taken = taken.filter(|number| !is_shielded(*number) && !kept.contains(number));
    let mut signals = Signals::new(taken).context("signals cannot be taken")?;
    let handle = signals.handle();
    let mut command = Command::new(program);
    command.args(arguments).envs(environment.iter().map(|(name, value)| (name, value)));
    let mut child = command.spawn().with_context(|| {
        format!("{} cannot be run: is it installed (Debian: linux-perf)?", program.to_string_lossy())
    })?;
    let running = Running { pid: Mutex::new(pid_of(&child)), ended: Condvar::new() };
    let status = thread::scope(|scope| {
        scope.spawn(|| {
            for number in signals.forever() {
                forward(number, &running);
            }
        });
        scope.spawn(|| beside(&running));
        let status = wait(&mut child, &running);
        handle.close();
        status
    });
    let status = status.context("perf cannot be waited for")?;
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}

/// Whether the signal is to stay ignored, here and by perf: `nohup` has SIGHUP ignored. The others perf takes even where it
/// starts with them ignored, as a script's `&` does with SIGINT.
fn is_shielded(number: i32) -> bool {
    number == SIGHUP && ending::is_ignored(number)
}

fn pid_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

fn forward(number: i32, running: &Running) {
    if let Some((_, signal)) = FORWARDED.iter().find(|(known, _)| *known == number) {
        running.send(*signal);
    }
}

/// Waits for the end, and forgets the process before its number may become another one's.
fn wait(child: &mut Child, running: &Running) -> std::io::Result<std::process::ExitStatus> {
    if let Some(pid) = pid_of(child) {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(pid), ended).err() == Some(rustix::io::Errno::INTR) {}
    }
    running.forget();
    child.wait()
}
