//! Each damage damages, the same way for the same seed.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use clap::ValueEnum;

use super::*;
use crate::scenario;

fn sound(folder: &Path) -> std::path::PathBuf {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/scenarios/lock_wait-waker.scenario");
    scenario::make(&file, folder).unwrap();
    folder.join("perf.data")
}

#[test]
fn each_damage_changes_the_data_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let input = sound(&folder.path().join("sound"));
    let read = |path: &Path| std::fs::read(path.join("data")).unwrap();
    let before = read(&input);
    for &kind in Damage::value_variants() {
        for seed in 0..20 {
            let copies = ["first", "second"].map(|name| {
                let output = folder.path().join(name);
                damage(kind, &input, &output, seed).unwrap();
                assert!(output.join("kcore_dir/kcore").exists());
                read(&output)
            });
            assert!(copies[0] != before, "{kind:?} {seed}");
            assert!(copies[0] == copies[1], "{kind:?} {seed}");
        }
    }
    assert!(read(&input) == before);
}

#[test]
fn another_seed_damages_another_place() {
    let folder = tempfile::tempdir().unwrap();
    let input = sound(&folder.path().join("sound"));
    let said = [1, 2].map(|seed| damage(Damage::Cut, &input, &folder.path().join("cut"), seed).unwrap());
    assert_ne!(said[0], said[1]);
}

#[test]
fn a_program_keeps_its_length_and_headers() {
    let folder = tempfile::tempdir().unwrap();
    sound(folder.path());
    let (input, output) = (folder.path().join("symfs/usr/bin/app"), folder.path().join("wrong"));
    wrong_code(&input, &output, 3).unwrap();
    let (before, after) = (std::fs::read(&input).unwrap(), std::fs::read(&output).unwrap());
    assert_eq!(before.len(), after.len());
    assert!(before[..4096] == after[..4096] && before != after);
}
