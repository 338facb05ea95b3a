//! What is asked of perf, and which rings are wanted, turn by turn; perf's files are made by hand.

use std::sync::mpsc::Receiver;

use super::*;

fn watch(plan: &Plan) -> (Watch<'_>, Receiver<Ring>) {
    let (rings, cut) = mpsc::channel();
    let doorbell = Doorbell::make(&plan.folder.join("doorbell")).expect("a pipe");
    (Watch::new(plan, doorbell, rings), cut)
}

fn plan(folder: &Path) -> Plan {
    Plan {
        folder: folder.to_owned(),
        limits: Limits::read(&["1ms".to_owned()]).expect("a limit"),
        a_minute: 12,
        ring_on: None,
        keep: false,
        root: PathBuf::from("/"),
        duration: None,
        most_bytes: None,
    }
}

/// What the watch has handed over: name, and whether it is wanted.
fn handed_over(cut: &Receiver<Ring>) -> Vec<(String, bool)> {
    let name = |ring: &Ring| ring.path.file_name().expect("a name").to_string_lossy().into_owned();
    cut.try_iter().map(|ring| (name(&ring), ring.is_wanted)).collect()
}

/// perf takes a minute for a ring, and something rings while it writes: both rings are wanted, and the second one is requested only then.
#[test]
fn a_ring_that_takes_long_is_wanted() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = plan(folder.path());
    let (mut watch, cut) = watch(&plan);
    let perf = Running::ended();
    let file = |name: &str| fs::write(folder.path().join(name), b"records").expect("written");
    file("ring");
    watch.rung = true;
    watch.turn(&[], &perf);
    let asked = watch.asked.as_mut().expect("asked");
    assert!(asked.is_wanted && !watch.rung);
    let begun = asked.tsc;
    asked.at = asked.at.checked_sub(WRITES * 6).expect("the machine is older");
    watch.turn(&[], &perf);
    watch.rung = true;
    watch.turn(&[], &perf);
    assert_eq!(watch.asked.as_ref().map(|asked| asked.tsc), Some(begun), "the same is awaited");
    assert_eq!(handed_over(&cut), []);
    file("ring.1");
    watch.turn(&[], &perf);
    assert_eq!(handed_over(&cut), [("ring.1".to_owned(), true)]);
    watch.turn(&[], &perf);
    assert!(watch.asked.as_ref().is_some_and(|asked| asked.is_wanted && asked.tsc > begun));
    file("ring.2");
    watch.turn(&[], &perf);
    assert_eq!(handed_over(&cut), [("ring.2".to_owned(), true)]);
    assert_eq!(watch.watched.snapshots, 2);
}

/// Its handler of SIGUSR2 is there from before its file.
#[test]
fn perf_is_asked_for_nothing_before_it_has_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = plan(folder.path());
    let (mut watch, _cut) = watch(&plan);
    watch.rung = true;
    watch.turn(&[String::new()], &Running::ended());
    assert!(watch.asked.is_none() && watch.rung);
    fs::write(folder.path().join("ring"), b"records").expect("written");
    watch.turn(&[], &Running::ended());
    assert!(watch.asked.is_some());
}

/// A file that only fills the disk goes, unless something rings before it is complete.
#[test]
fn a_file_that_was_to_go_stays_where_something_rings() {
    for rings in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let plan = plan(folder.path());
        let (mut watch, cut) = watch(&plan);
        watch.ask(&Running::ended(), false);
        watch.rung = rings;
        watch.turn(&[], &Running::ended());
        fs::write(folder.path().join("ring.1"), b"records").expect("written");
        watch.turn(&[], &Running::ended());
        assert_eq!(handed_over(&cut), [("ring.1".to_owned(), rings)]);
        assert_eq!(watch.rung, rings, "its interval may end in the next one");
    }
}
