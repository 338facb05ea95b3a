//! A disk that is full leaves the old file, and nothing else. The disk is a tmpfs of some pages in a mount namespace of its own.

use std::fs;
use std::process::{Command, Output};

use super::output_files::{Copied, OF_FILES, name_for};
use crate::captures::left_out;

/// One page, which the old file has.
const SCRIPT: &str = "mount -t tmpfs -o size=4k tmpfs full || exit 77; printf old > full/$0; \"$@\"; \
                      echo \"exit $?\"; ls -A full; cat full/$0";

/// Runs `command` with a small disk at `full`, on which the file `out` is old; `None` where none may be mounted.
fn on_small_disk(copied: &Copied, command: &Command, out: &str) -> Option<Output> {
    let mut process = Command::new("unshare");
    // Root needs no other user namespace, and others need one.
    process.args(["--mount", "--map-root-user", "sh", "-c", SCRIPT, out]);
    process.arg(command.get_program()).args(command.get_args()).current_dir(copied.folder.path());
    let output = process.output().expect("unshare runs");
    let was_mounted = output.status.code() == Some(0);
    if !was_mounted {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "no small disk: {why}");
        left_out(&format!("no tmpfs can be mounted: {}", why.trim()));
    }
    was_mounted.then_some(output)
}

#[test]
fn a_full_disk_leaves_the_old_file() {
    let copied = Copied::new();
    fs::create_dir(copied.at("full")).expect("made");
    for words in OF_FILES {
        let name = name_for(words);
        let out = copied.at("full").join(name);
        let Some(output) = on_small_disk(&copied, &copied.command(words, &out), name) else { return };
        let (said, why) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(
            why.contains("cannot be written") && why.contains("No space left on device"),
            "{words}: {why}"
        );
        assert!(said.ends_with(&format!("exit 2\n{name}\nold")), "{words}: {said} {why}");
    }
    let out = copied.at("full/ticket");
    let Some(output) = on_small_disk(&copied, &copied.command("bundle -o", &out), "other") else { return };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.ends_with("exit 2\nother\nold"), "a folder: {said}");
}
