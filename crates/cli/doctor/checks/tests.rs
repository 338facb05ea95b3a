//! The checks whose facts no file of the machine holds: the disk and the trial.

use std::collections::BTreeMap;
use std::fs;

use super::*;
use crate::doctor::finding::Level;
use crate::doctor::storage::Storage;
use crate::doctor::trial::Trial;
use crate::machine::tree::Tree;
use crate::record::buffers::Buffers;

/// A machine with Intel PT whose `cyc_thresh` may be 0, 1, 4, 8 (bits 0x113).
fn machine(storage: Storage) -> Examination {
    let root = tempfile::tempdir().expect("a folder");
    let caps = root.path().join("sys/bus/event_source/devices/intel_pt/caps");
    fs::create_dir_all(&caps).expect("made");
    for (name, text) in [("psb_cyc", "1\n"), ("cycle_thresholds", "113\n"), ("num_address_ranges", "2\n")] {
        fs::write(caps.join(name), text).expect("written");
    }
    Examination::new(Tree::new(root.path()).expect("a tree"), None, storage, Buffers::default())
}

fn storage(free_bytes: u64, bytes_per_second: Option<u64>) -> Storage {
    Storage { free_bytes: Some(free_bytes), bytes_per_second }
}

#[test]
fn a_disk_needs_room_and_speed() {
    let finding = |storage: Storage| room::disk(&machine(storage));
    assert_eq!(finding(Storage::default()), None, "not checked");
    // 60 s of 100 MB.
    let cases = [
        (storage(6_000_000_000, None), Level::Fine, "has 5722 MiB free"),
        (storage(5_999_999_999, None), Level::Warning, "has 5722 MiB free"),
        (storage(1 << 40, Some(100_000_000)), Level::Fine, "takes 100 MB a second"),
        (storage(1 << 40, Some(99_999_999)), Level::Warning, "takes 99 MB a second"),
    ];
    for (storage, level, words) in cases {
        let finding = finding(storage).expect("a finding");
        assert!(finding.level == level && finding.found.contains(words), "{finding:?}");
    }
}

/// 200 ms: 30 MB on CPU 3 and 2 MB on CPU 0 are 160 MB a second, 150 of them CPU 3.
fn trial() -> Trial {
    Trial { bytes: BTreeMap::from([(0, 2_000_000), (3, 30_000_000)]), nanos: 200_000_000, ..Trial::default() }
}

#[test]
fn a_trial_without_loss_is_fine_if_the_disk_is_fast_enough() {
    let of =
        |disk| trial::trial(&machine(storage(1 << 40, disk)).with_trial(Ok(trial()))).expect("a finding");
    let words = "the trace has 160 MB a second, 150 MB of them CPU 3; nothing was lost";
    assert_eq!((of(None).level, of(None).found.as_str()), (Level::Fine, words));
    assert_eq!(of(Some(160_000_000)).level, Level::Fine);
    assert_eq!(of(Some(159_000_000)).level, Level::Warning);
}

#[test]
fn losses_choose_buffers_packets_and_filters() {
    let lossy = Trial { full_buffers: 3, lost_records: 17, ..trial() };
    let finding = trial::trial(&machine(Storage::default()).with_trial(Ok(lossy))).expect("a finding");
    assert_eq!(finding.level, Level::Warning);
    assert!(finding.found.ends_with("a buffer was full 3 times, and 17 records were lost"), "{finding:?}");
    // Half a second of 150 MB is 72 MiB: the next power of two, which is twice the usual 64.
    assert_eq!(finding.mend[0], "tailtrace record -m 16M,128M -- ./program");
    assert!(finding.mend[1].contains("cyc_thresh=4,"), "{finding:?}");
    assert!(finding.mend[2].contains("--filter"), "{finding:?}");
    let faster = Trial { bytes: BTreeMap::from([(3, 80_000_000)]), full_buffers: 1, ..trial() };
    let finding = trial::trial(&machine(Storage::default()).with_trial(Ok(faster))).expect("a finding");
    // 200 MB are 191 MiB.
    assert_eq!(finding.mend[0], "tailtrace record -m 16M,256M -- ./program");
}

#[test]
fn a_trial_that_fails_or_is_empty_says_so() {
    let of = |trial| trial::trial(&machine(Storage::default()).with_trial(trial)).expect("a finding");
    let failed = of(Err("no permission".to_owned()));
    assert_eq!((failed.level, failed.found.as_str()), (Level::Stops, "perf failed: no permission"));
    assert_eq!(of(Ok(Trial { nanos: 1, ..Trial::default() })).level, Level::Warning);
    assert_eq!(trial::trial(&machine(Storage::default())), None);
}
