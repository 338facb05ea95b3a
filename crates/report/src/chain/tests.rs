//! Made-up reports: what differs between hosts, boots and builds gives one chain, another trouble another one.

use model::{Certainty, Role, Story};

use super::*;
use crate::{CauseTotal, SegmentReport};

fn segment(cause: &str, [object, place, by]: [&str; 3], during: Vec<SegmentReport>) -> SegmentReport {
    let mut story = Story::default();
    object.clone_into(&mut story.object);
    place.clone_into(&mut story.place);
    by.clone_into(&mut story.by);
    story.role = Role::Holder;
    SegmentReport {
        ticks: 300,
        offset_ns: 0,
        duration_ns: 100,
        cpu: None,
        tid: None,
        cause: cause.to_owned(),
        certainty: Certainty::Measured,
        detail: String::new(),
        story,
        edge_uncertainty_ns: 0,
        during,
        serving: Vec::new(),
        evidence: Vec::new(),
    }
}

/// The chain of the one cause of an outlier with this segment.
fn chain(segment: SegmentReport) -> CauseChain {
    let total = CauseTotal {
        cause: segment.cause.clone(),
        duration_ns: 100,
        typical_ns: 0,
        excess_ns: 100,
        count: 1,
        certainty: Certainty::Measured,
        detail: String::new(),
    };
    let outlier = OutlierReport {
        duration_ns: 100,
        causes: vec![total],
        segments: vec![segment],
        baseline_mean_ns: Some(0),
        ..OutlierReport::default()
    };
    cause_chains(&outlier, &|name| (name == "libz.so.1+0x2f0").then(|| "libz.so.1[96 bytes, 5f]".to_owned()))
        .remove(0)
}

/// A wait for a lock whose holder slept.
fn lock(object: &str, place: &str, by: &str, slept: &str) -> CauseChain {
    let sleep = segment("offcpu.sleep", ["", slept, ""], Vec::new());
    chain(segment("offcpu.lock", [object, place, by], vec![sleep]))
}

#[test]
fn what_differs_between_hosts_is_one_story() {
    let one =
        lock("lock (futex 0x7f12ab30 of pid 142)", "worker() lock.c:107", "auditor-3", "keep() lock.c:38");
    let expected = "offcpu.lock: waited for lock in worker(), held by auditor, which slept in keep()";
    assert_eq!(one.chain, expected);
    assert_eq!(one.what, "waited for lock (futex 0x7f12ab30 of pid 142) in worker() lock.c:107");
    assert_eq!(one.who, "held by auditor-3, which slept in keep() lock.c:38");
    assert_eq!((&*one.function, &*one.object), ("worker", "lock (futex 0x7f12ab30 of pid 142)"));
    let rebuilt = lock(
        "lock (futex 0x55d0 of pid 9)",
        "worker.constprop.0() lock.c:112",
        "auditor-17",
        "keep::h0123456789abcdef() lock.c:40",
    );
    assert_eq!(rebuilt.chain, expected);
    let socket = |fd, by| chain(segment("offcpu.socket", [fd, "serve() < run()", by], Vec::new())).chain;
    let expected = "offcpu.socket: waited for data from a TCP socket in serve() < run(), held by backend";
    assert_eq!(socket("data from a TCP socket (fd 5)", "backend"), expected);
    assert_eq!(socket("data from a TCP socket (fd 71)", "backend"), expected);
    let named = |object| socket(object, "backend");
    assert_eq!(
        named("data from (TCP 10.0.0.3:41022 to [fe80::7]:5432)"),
        named("data from (TCP 127.0.0.1:9 to 10.0.0.7:5432)")
    );
    let disk = |object| chain(segment("offcpu.block-io", [object, "", ""], Vec::new())).chain;
    assert_eq!(
        (disk("disk 259:1"), disk("disk 254:0")),
        ("offcpu.block-io: waited for disk".to_owned(), disk("disk 8:1"))
    );
    let futex = |object| chain(segment("offcpu.lock", [object, "worker()", "writer"], Vec::new())).chain;
    assert_eq!(futex("futex 0x7f12ab30"), "offcpu.lock: waited for futex in worker(), held by writer");
    let irq = |cause| chain(segment(cause, ["", "", ""], Vec::new())).chain;
    assert_eq!(irq("kernel.irq.eth0"), irq("kernel.irq.eth12"));
}

/// Where there is no symbol, the file stands for the function, with what is known of its code.
#[test]
fn functions_without_a_name_are_called_by_their_file() {
    let of = |place| chain(segment("user.extra-work", ["", place, ""], Vec::new())).chain;
    assert_eq!(of("nginx+0x1a2b40 < main()"), "user.extra-work: more work in nginx < main()");
    assert_eq!(of("nginx+0x1a2b40 < main()"), of("nginx+0x1f0 < main()"));
    assert_eq!(of("libz.so.1+0x2f0"), "user.extra-work: more work in libz.so.1[96 bytes, 5f]");
    assert_eq!(unnamed_function("nginx+0x1a2b40"), Some(("nginx", 0x001a_2b40)));
    assert_eq!(unnamed_function("operator+0xyz"), None);
    assert_eq!(function_of("nginx+0x1f0 < main()"), Some("nginx+0x1f0"));
}

#[test]
fn another_trouble_is_another_story() {
    let story = || lock("mutex lock", "worker() lock.c:107", "auditor", "keep() lock.c:38").chain;
    let others = [
        lock("mutex table", "worker() lock.c:107", "auditor", "keep() lock.c:38").chain,
        lock("mutex lock", "md5_block() lock.c:107", "auditor", "keep() lock.c:38").chain,
        lock("mutex lock", "sha1_block() lock.c:107", "auditor", "keep() lock.c:38").chain,
        lock("mutex lock", "worker() lock.c:107", "ledger", "keep() lock.c:38").chain,
        lock("mutex lock", "worker() lock.c:107", "auditor", "hold() lock.c:38").chain,
        chain(segment("power.c-state-exit.C1", ["", "", ""], Vec::new())).chain,
        chain(segment("power.c-state-exit.C6", ["", "", ""], Vec::new())).chain,
    ];
    let all: std::collections::BTreeSet<String> = others.into_iter().chain([story(), story()]).collect();
    assert_eq!(all.len(), 8, "{all:#?}");
}
