//! Every scenario of `fixtures/scenarios` decodes to the instructions it was made of. `tracegen` makes the captures and
//! shares nothing with the readers; among them: code that is patched while the trace runs (`text_poke`).

use std::fs;
use std::path::Path;

use crate::captures::{repository, tailtrace};

#[test]
fn instructions_are_those_that_ran() {
    let mut seen = 0;
    for entry in fs::read_dir(repository().join("fixtures/scenarios")).expect("scenarios are there") {
        let path = entry.expect("an entry").path();
        check_scenario(&path);
        seen += 1;
    }
    assert!(seen >= 14, "only {seen} scenarios were found");
}

#[track_caller]
fn check_scenario(path: &Path) {
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    let folder = tempfile::tempdir().expect("a folder");
    let executed =
        tracegen::scenario::make(path, folder.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
    for cpu in 0..executed.cpus() {
        let truth =
            fs::read_to_string(folder.path().join(format!("instructions.cpu{cpu}"))).expect("the truth");
        let found = dump(folder.path(), cpu);
        assert_eq!(found.lines().count(), truth.lines().count(), "{name}, CPU {cpu}: number of instructions");
        let differ = found.lines().zip(truth.lines()).position(|(ours, theirs)| ours != theirs);
        assert_eq!(differ, None, "{name}, CPU {cpu}: the first instruction that differs");
    }
}

fn dump(folder: &Path, cpu: usize) -> String {
    let output = tailtrace()
        .args(["dump", "--insns", "--cpu", &cpu.to_string(), "-i"])
        .arg(folder.join("perf.data"))
        .arg("--symfs")
        .arg(folder.join("symfs"))
        .output()
        .expect("tailtrace runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("addresses are ASCII")
}
