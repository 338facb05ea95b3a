//! What is asked of perf, and which rings are wanted, turn by turn; perf's files are made by hand.

use std::sync::mpsc::Receiver;

use super::*;

fn watch(plan: &Plan) -> (Watch<'_>, Receiver<Ring>) {
    let (rings, cut) = mpsc::channel();
    let doorbell = Doorbell::make(&plan.folder.join("doorbell")).expect("a pipe");
    (Watch::new(plan, doorbell, None, rings), cut)
}

fn plan(folder: &Path) -> Plan {
    Plan {
        folder: folder.to_owned(),
        limits: Limits::read(&["1ms".to_owned()]).expect("a limit"),
        pair: None,
        tids: Vec::new(),
        a_minute: 12,
        ring_on: None,
        keep: false,
        bundles: None,
        copies_code: false,
        root: PathBuf::from("/"),
        duration: None,
        most_bytes: None,
    }
}

/// What the watch has handed over: name, and whether it is wanted, by which it counts as a snapshot.
fn handed_over(cut: &Receiver<Ring>) -> Vec<(String, bool)> {
    let name = |ring: &Ring| ring.path.file_name().expect("a name").to_string_lossy().into_owned();
    let taken = |ring: Ring| {
        assert_eq!(ring.watched.snapshots, u64::from(ring.is_wanted));
        (name(&ring), ring.is_wanted)
    };
    cut.try_iter().map(taken).collect()
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
    watch.rung = Some((5, 9));
    watch.turn(&perf);
    let asked = watch.asked.as_mut().expect("asked");
    assert!(asked.is_wanted && watch.rung.is_none());
    let begun = asked.tsc;
    asked.at = asked.at.checked_sub(WRITES * 6).expect("the machine is older");
    watch.turn(&perf);
    watch.rung = Some((5, 9));
    watch.turn(&perf);
    assert_eq!(watch.asked.as_ref().map(|asked| asked.tsc), Some(begun), "the same is awaited");
    assert_eq!(handed_over(&cut), []);
    file("ring.1");
    watch.turn(&perf);
    assert_eq!(handed_over(&cut), [("ring.1".to_owned(), true)]);
    watch.turn(&perf);
    assert!(watch.asked.as_ref().is_some_and(|asked| asked.is_wanted && asked.tsc > begun));
    file("ring.2");
    watch.turn(&perf);
    assert_eq!(handed_over(&cut), [("ring.2".to_owned(), true)]);
}

/// Its handler of SIGUSR2 is there from before its file.
#[test]
fn perf_is_asked_for_nothing_before_it_has_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = plan(folder.path());
    let (mut watch, _cut) = watch(&plan);
    watch.rung = Some((5, 9));
    watch.turn(&Running::ended());
    assert!(watch.asked.is_none() && watch.rung.is_some());
    fs::write(folder.path().join("ring"), b"records").expect("written");
    watch.turn(&Running::ended());
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
        watch.rung = rings.then_some((5, 9));
        watch.turn(&Running::ended());
        fs::write(folder.path().join("ring.1"), b"records").expect("written");
        watch.turn(&Running::ended());
        assert_eq!(handed_over(&cut), [("ring.1".to_owned(), rings)]);
        assert_eq!(watch.rung.is_some(), rings, "its interval may end in the next one");
    }
}

/// What rang while perf wrote the last ring of the minute is limited as what rings later is.
#[test]
fn what_rang_while_perf_wrote_is_limited() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = Plan { a_minute: 1, ..plan(folder.path()) };
    let (mut watch, cut) = watch(&plan);
    let perf = Running::ended();
    fs::write(folder.path().join("ring"), b"records").expect("written");
    watch.rung = Some((1, 2));
    watch.turn(&perf);
    watch.rung = Some((5, 9));
    fs::write(folder.path().join("ring.1"), b"records").expect("written");
    watch.turn(&perf);
    assert_eq!(handed_over(&cut), [("ring.1".to_owned(), true)]);
    watch.turn(&perf);
    assert!(watch.asked.is_none() && watch.rung.is_none());
    let limited = |at| watch.watched.limited.meet((at, at));
    assert_eq!([2, 5, 9, 10].map(limited), [false, true, true, false]);
}
