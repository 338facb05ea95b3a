//! A user's command, run by the shell in a process group of its own: what the shell runs ends with it.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

/// The shell that runs `command`, which reads nothing.
pub(super) fn running(command: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).stdin(Stdio::null()).process_group(0);
    shell
}

/// Sends the group of `shell`, which was not waited for yet, a signal. It may have ended by itself; until it is waited for, its number is
/// no other one's.
pub(super) fn send(shell: &Child, signal: Signal) {
    if let Some(group) = i32::try_from(shell.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, signal);
    }
}
