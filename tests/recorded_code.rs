//! Code that a program makes at run time, in memory without a file: `tailtrace record` copies it while the program runs.
//!
//! The memory is real, read through this machine's `/proc`; of perf there is only what runs the program.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output};

use symbols::code_copies::{CodeCopies, CodeCopy};
use tempfile::TempDir;

use crate::captures::tailtrace;

/// Makes a function, runs it for a second, adds another one to the page and runs that for a second; the same in shared memory. Prints its
/// number, the addresses, and the TSC before and after the second function is written.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static const unsigned char first[] = {0xb8, 1, 0, 0, 0, 0xc3}, second[] = {0xb8, 2, 0, 0, 0, 0xc3};

static void run(unsigned char *code, int expected)
{
    for (time_t end = time(NULL) + 2; time(NULL) < end; usleep(1000))
        if (((int (*)(void))code)() != expected)
            _exit(3);
}

int main(void)
{
    int access = PROT_READ | PROT_WRITE | PROT_EXEC, shared = memfd_create("code", 0);
    unsigned char *own = mmap(NULL, 8 * 4096, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (shared < 0 || ftruncate(shared, 4096) != 0 || own == MAP_FAILED)
        return 2;
    unsigned char *other = mmap(NULL, 4096, access, MAP_SHARED, shared, 0);
    if (other == MAP_FAILED)
        return 2;
    memcpy(own + 4096, first, sizeof first);
    memcpy(other, first, sizeof first);
    run(own + 4096, 1);
    run(other, 1);
    unsigned long long before = __rdtsc();
    memcpy(own + 4096 + 64, second, sizeof second);
    unsigned long long after = __rdtsc();
    run(own + 4096 + 64, 2);
    FILE *said = fopen("said", "w");
    fprintf(said, "%d %lu %lu %llu %llu\n", getpid(), (long)own, (long)other, before, after);
    return fclose(said);
}
"#;

/// A machine with PT whose processes are this one's, a perf that runs the program, and the program.
fn made() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| {
        fs::create_dir_all(place(name).parent().expect("a folder")).expect("made");
        fs::write(place(name), text).expect("written");
    };
    write("root/sys/bus/event_source/devices/intel_pt/type", "9\n");
    symlink("/proc", place("root/proc")).expect("linked");
    let perf =
        "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\necho recorded > perf.data\n\"$@\"\n";
    write("bin/perf", perf);
    fs::set_permissions(place("bin/perf"), fs::Permissions::from_mode(0o755)).expect("executable");
    write("program.c", PROGRAM);
    let mut compiler = Command::new("cc");
    compiler.arg(place("program.c")).arg("-o").arg(place("program"));
    crate::no_pt::run(&mut compiler, "this test needs a C compiler");
    folder
}

fn record(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = tailtrace();
    command.current_dir(folder).env("PATH", format!("{}:/usr/bin:/bin", folder.join("bin").display()));
    let output = command.args(["record", "--root", "root"]).args(arguments).output().expect("tailtrace runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

#[test]
fn what_a_program_makes_and_runs_is_copied() {
    let folder = made();
    let output = record(folder.path(), &["--", "./program"]);
    let said = fs::read_to_string(folder.path().join("said")).expect("the program ran to its end");
    let numbers: Vec<u64> = said.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    let [pid, own, other, before, after] = numbers[..] else { panic!("{said}") };
    let bytes = fs::read(folder.path().join("perf.data.code")).expect("the copies");
    let read = CodeCopies::parse(&bytes).expect("copies");
    assert_eq!(read.left_out, 0);
    let of = |address: u64| -> Vec<(&CodeCopy, &[u8])> {
        let is_its = |copy: &&CodeCopy| u64::try_from(copy.pid.0) == Ok(pid) && copy.address == address;
        read.copies.iter().filter(is_its).map(|copy| (copy, &bytes[copy.bytes.clone()])).collect()
    };
    let page = |functions: &[(usize, u8)]| {
        let mut page = vec![0; 4096];
        for &(at, number) in functions {
            page[at..at + 6].copy_from_slice(&[0xb8, number, 0, 0, 0, 0xc3]);
        }
        page
    };
    let [(one, first), (both, second)] = of(own + 4096)[..] else {
        panic!("{said}: {}", of(own + 4096).len())
    };
    assert_eq!((first, second), (&page(&[(0, 1)])[..], &page(&[(0, 1), (64, 2)])[..]));
    assert!(one.from < one.to && one.to.0 < after && before < both.from.0 && both.from < both.to);
    // Pages that were never written are not there.
    assert!(of(own).is_empty() && of(own + 8192).is_empty());
    let [(_, shared)] = of(other)[..] else { panic!("{said}: {}", of(other).len()) };
    assert_eq!(shared, page(&[(0, 1)]));
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(notes.contains("perf.data.code: ") && notes.contains("of code that lies in no file"), "{notes}");
}

#[test]
fn no_code_is_copied_where_that_is_not_wanted() {
    let folder = made();
    fs::write(folder.path().join("perf.data.code"), "of another recording").expect("written");
    record(folder.path(), &["--no-code-copies", "--", "true"]);
    assert!(!folder.path().join("perf.data.code").exists());
    // Without a trace it would serve for nothing.
    record(folder.path(), &["--no-pt", "--", "./program"]);
    assert!(!folder.path().join("perf.data.code").exists());
}
