//! The processes that perf's options name: by number, by thread, or by user.
//!
//! Input: perf's options, and `/proc`, where they are when the recording begins. Output: those processes, or that it is not known which they are.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::command::{attached, is_of_whole_machine, values};
use crate::machine::tree::names;

/// What is recorded beside what perf starts.
pub(super) struct Targets {
    /// These, without their children.
    pub(super) processes: Vec<i32>,
    /// Whether it is the whole machine.
    pub(super) is_all: bool,
    /// That it is not known.
    pub(super) note: Option<String>,
}

impl Targets {
    /// Those of perf's options below `root`.
    pub(super) fn of(root: &Path, given: &[OsString]) -> Targets {
        let proc = root.join("proc");
        let mut processes = attached(given);
        let threads = values(given, "-t", "--tid");
        let threads = threads.iter().flat_map(|list| list.split(','));
        processes.extend(threads.filter_map(|tid| process_of(&proc, tid.trim().parse().ok()?)));
        let mut note = None;
        for user in values(given, "-u", "--uid") {
            match number_of(root, &user) {
                Some(user) => processes.extend(of_user(&proc, user)),
                None => {
                    note = Some(format!(
                        "perf's -u names the user {user}, of whom no number is known: code of these processes that lies in no file is not copied"
                    ));
                }
            }
        }
        Targets { processes, is_all: is_of_whole_machine(given), note }
    }
}

/// The process of a thread.
fn process_of(proc: &Path, tid: i32) -> Option<i32> {
    let status = fs::read(proc.join(format!("{tid}/status"))).ok()?;
    let status = String::from_utf8_lossy(&status);
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// The user with this name or number.
fn number_of(root: &Path, user: &str) -> Option<u32> {
    let users = fs::read(root.join("etc/passwd")).unwrap_or_default();
    let users = String::from_utf8_lossy(&users);
    let mut found = users.lines().map(|line| line.split(':')).filter_map(|mut fields| {
        let name = fields.next()?;
        Some((name, fields.nth(1)?))
    });
    let number = found.find(|(name, _)| *name == user).map_or(user, |(_, number)| number);
    number.parse().ok()
}

/// Those that are there now.
fn of_user(proc: &Path, user: u32) -> Vec<i32> {
    let is_its =
        |name: &str| fs::metadata(proc.join(OsStr::new(name))).is_ok_and(|found| found.uid() == user);
    let names = names(proc);
    names.iter().filter(|name| is_its(name)).filter_map(|name| name.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(root: &Path, given: &[&str]) -> (Vec<i32>, bool, bool) {
        let given: Vec<OsString> = given.iter().map(OsString::from).collect();
        let targets = Targets::of(root, &given);
        (targets.processes, targets.is_all, targets.note.is_some())
    }

    #[test]
    fn threads_and_users_stand_for_processes() {
        let root = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(root.path().join("proc/9")).expect("made");
        fs::write(root.path().join("proc/9/status"), "Name:\tx\nTgid:\t7\nPid:\t9\n").expect("written");
        let user = fs::metadata(root.path()).expect("there").uid();
        let user_option = format!("--uid={user}");
        let of = |given: &[&str]| of(root.path(), given);
        assert_eq!(of(&["-t", "9", "--", "app"]), (vec![7], false, false));
        assert_eq!(of(&["--tid=9,10"]), (vec![7], false, false));
        assert_eq!(of(&["--pid=3,4"]), (vec![3, 4], false, false));
        assert_eq!(of(&["-p5", "--pid", "6"]), (vec![5, 6], false, false));
        assert_eq!(of(&["-p5"]), (vec![5], false, false));
        assert_eq!(of(&[&user_option]), (vec![9], false, false));
        assert_eq!(of(&["-u", "someone"]), (vec![], false, true));
        fs::create_dir_all(root.path().join("etc")).expect("made");
        fs::write(root.path().join("etc/passwd"), format!("someone:x:{user}:1::/:/bin/sh\n"))
            .expect("written");
        assert_eq!(of(&["-u", "someone"]), (vec![9], false, false));
        // All that runs on these CPUs.
        assert_eq!(of(&["-C", "0"]), (vec![], true, false));
        assert_eq!(of(&["--cpu=0", "-p", "3"]), (vec![3], false, false));
        assert_eq!(of(&["app", "-p", "3"]), (vec![], true, false));
    }
}
