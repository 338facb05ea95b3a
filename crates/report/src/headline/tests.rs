mod shorter;

use model::Role;

use super::*;
use crate::{CauseTotal, SegmentReport};

fn cause(name: &str, excess_ns: i64, detail: &str) -> CauseTotal {
    CauseTotal {
        cause: name.to_owned(),
        duration_ns: u64::try_from(excess_ns).unwrap_or(0),
        typical_ns: 0,
        excess_ns,
        count: 1,
        certainty: model::Certainty::Measured,
        detail: detail.to_owned(),
    }
}

fn segment(name: &str, cpu: Option<u32>) -> SegmentReport {
    detailed(name, cpu, 1, "")
}

fn detailed(name: &str, cpu: Option<u32>, duration_ns: u64, detail: &str) -> SegmentReport {
    SegmentReport {
        ticks: 0,
        offset_ns: 0,
        duration_ns,
        cpu,
        tid: None,
        cause: name.to_owned(),
        certainty: model::Certainty::Measured,
        detail: detail.to_owned(),
        story: model::Story::default(),
        edge_uncertainty_ns: 0,
        during: Vec::new(),
        serving: Vec::new(),
        evidence: Vec::new(),
    }
}

fn outlier(causes: Vec<CauseTotal>, segments: Vec<SegmentReport>) -> OutlierReport {
    OutlierReport {
        duration_ns: 412_300,
        baseline_mean_ns: Some(16_300),
        causes,
        segments,
        ..OutlierReport::default()
    }
}

/// Another thread's collection, and its own.
#[test]
fn names_the_thread_that_collected() {
    let said = |by: &str| {
        let mut waited = detailed("runtime.gc.d", None, 90_000, "");
        "stir()".clone_into(&mut waited.story.place);
        by.clone_into(&mut waited.story.by);
        headline(&outlier(vec![cause("runtime.gc.d", 90_000, "")], vec![waited]))
    };
    let begin = "412.3 us, typical 16.3 us: ";
    assert_eq!(
        said("keeper"),
        format!("{begin}waited 90.0 us for d's garbage collector at stir(), which keeper ran")
    );
    assert_eq!(said(""), format!("{begin}90.0 us in d's garbage collector at stir()"));
}

#[test]
fn names_the_interrupt_and_its_particulars() {
    let softirq = "kernel.softirq.net_rx";
    let report = outlier(
        vec![
            cause(softirq, 389_100, "interrupting `consume()` at queue.c:88"),
            cause("kernel.timer", 6_900, ""),
        ],
        vec![
            detailed(softirq, Some(3), 389_000, "interrupting `consume()` at queue.c:88"),
            segment("kernel.timer", Some(1)),
            detailed(softirq, Some(3), 100, "interrupting `other()`"),
        ],
    );
    assert_eq!(
        headline(&report),
        "412.3 us, typical 16.3 us: 389.1 us in softirq net_rx, interrupting `consume()` at queue.c:88"
    );
}

/// No particulars have most of the time: those with the largest part of it lead, where that is more than a quarter.
#[test]
fn the_largest_part_of_spread_work_leads() {
    let work = |parts: &[(u64, &str)]| {
        let part = |&(ns, detail): &(u64, &str)| {
            let mut segment = detailed("user.extra-work", Some(1), ns, detail);
            "serve()".clone_into(&mut segment.story.place);
            segment
        };
        let report = outlier(vec![cause("user.extra-work", 40_000, "")], parts.iter().map(part).collect());
        headline(&report).split_once(": ").map_or_else(String::new, |(_, words)| words.to_owned())
    };
    let (trace, other) =
        ("trace() called 84 times by serve(), 19.4 us; typical 0", "copy() called 3 times; typical 1");
    let said = "trace() called 84 times by serve(), 19.4 us";
    assert_eq!(
        work(&[(9_700, trace), (8_000, other), (9_700, trace), (9_000, "a"), (3_600, "b")]),
        format!("40.0 us of extra work in serve(), above all {said}")
    );
    assert_eq!(
        work(&[(10_000, trace), (10_000, other), (10_000, "a"), (10_000, "b")]),
        "40.0 us of extra work in serve()"
    );
    assert_eq!(work(&[(21_000, trace), (19_000, other)]), format!("40.0 us of extra work: {said}"));
}

/// A length, a single call and a typical 0 need no words; what differs has them.
#[test]
fn slowness_that_many_functions_share_names_where_they_meet() {
    let part = |(name, ns)| {
        let detail = format!("{name}: 86 instructions, 1 call; typical 86 and 1");
        placed(detailed("user.slower.front-end", Some(1), ns, &detail), "price_order()")
    };
    let parts = [("rule_1", 3_000), ("rule_2", 3_100), ("rule_3", 2_900)];
    let report = outlier(vec![cause("user.slower.front-end", 9_000, "")], parts.map(part).to_vec());
    let said = headline(&report);
    assert!(said.ends_with("9.00 us slower in the front end, in price_order()"), "{said}");
}

#[test]
fn extra_work_says_its_length_once() {
    let said = |detail, excess_ns| {
        let work = placed(detailed("user.extra-work", None, 300_000, detail), "rank()");
        let report = outlier(vec![cause("user.extra-work", excess_ns, detail)], vec![work]);
        headline(&report).split_once("work: ").map_or_else(String::new, |(_, words)| words.to_owned())
    };
    let once = "rehash() at table.c:88 called 1 time by rank(), 9.1 us; typical 0";
    assert_eq!(said(once, 9_120), "rehash() at table.c:88 called by rank()");
    let once = "rehash() called 1 time by rank(), 9.1 us; typical 0";
    assert_eq!(said(once, 9_120), "rehash() called by rank()");
    assert_eq!(said(once, 19_120), "rehash() called by rank(), 9.1 us");
    let once = "rehash() called 1 time by insert() table.c:9, 9.1 us; typical 0";
    assert_eq!(said(once, 9_120), "rehash() called by insert() table.c:9, for rank()");
    let kernel = "rehash() called 2 times by rank(), 9.1 us, and 12.0 us in the kernel; typical 0";
    assert_eq!(said(kernel, 21_100), "rehash() called 2 times by rank(), 9.1 us, and 12.0 us in the kernel");
    assert_eq!(
        said("sort() ran 9 times; typical up to 2", 9_120),
        "sort() ran 9 times, for rank(); typical up to 2"
    );
}

/// The third is above a tenth, too, but a sentence with three causes is none.
#[test]
fn names_the_next_cause_where_it_is_above_a_tenth() {
    let causes = |second| {
        vec![
            cause("offcpu.lock", 150_000, ""),
            cause("offcpu.runnable", second, ""),
            cause("kernel.nmi", 10_600, ""),
        ]
    };
    let segments = || vec![segment("offcpu.lock", None), segment("offcpu.runnable", Some(1))];
    assert_eq!(
        headline(&outlier(causes(140_000), segments())),
        "412.3 us, typical 16.3 us: waited 150.0 us for a lock; runnable for 140.0 us"
    );
    assert_eq!(
        headline(&outlier(causes(14_000), segments())),
        "412.3 us, typical 16.3 us: waited 150.0 us for a lock"
    );
}

/// Three faults of equal length: no address stands for most of the time.
#[test]
fn counts_instead_of_naming_one_of_many() {
    let fault = "kernel.page-fault.minor";
    let mut total = cause(fault, 300_000, "address 0x1000 (and 2 others)");
    total.count = 3;
    let pieces = ["address 0x1000", "address 0x2000", "address 0x3000"];
    let in_touch = |detail| placed(detailed(fault, Some(1), 100_000, detail), "touch()");
    let report = outlier(vec![total], pieces.map(in_touch).into());
    assert_eq!(headline(&report), "412.3 us, typical 16.3 us: 300.0 us in 3 page faults of touch()");
}

#[test]
fn tells_what_faults_did() {
    let fault = "kernel.page-fault.minor";
    let mut total = cause(fault, 300_000, "");
    total.count = 2;
    let mut segment = placed(detailed(fault, Some(1), 300_000, "copies on write"), "touch()");
    segment.story.object = "copies on write".to_owned();
    let found = headline(&outlier(vec![total], vec![segment]));
    assert_eq!(found, "412.3 us, typical 16.3 us: 300.0 us in 2 page faults of touch(): copies on write");
}

/// A loop that waits is often that of a lock: who wanted it is worth more than the numbers of the second cause.
#[test]
fn who_called_a_loop_outlasts_the_particulars_of_the_second_cause() {
    let (spin, slower) = ("user.spin", "user.slower.other");
    let numbers = format!("{}: 6045 instructions, 2 calls; typical 5934 and 2", "work".repeat(20));
    let found = |callers: &str| {
        let mut waits = placed(detailed(spin, None, 200_000, ""), "sluice_rest()");
        callers.clone_into(&mut waits.story.callers);
        "pilot".clone_into(&mut waits.story.by);
        waits.story.role = Role::Beside;
        let causes = vec![cause(spin, 200_000, ""), cause(slower, 60_000, &numbers)];
        headline(&outlier(causes, vec![waits, detailed(slower, None, 60_000, &numbers)]))
    };
    let (begin, rest) =
        ("412.3 us, typical 16.3 us: spun 200.0 us in sluice_rest()", "60.0 us slower in the same code");
    let (near, far) = ("sluice_take()", "sluice_take() < pass_sluice()");
    assert_eq!(found(far), format!("{begin} called by {far}, while pilot ran; {rest}"));
    let outer = format!("{near} < {}()", "pass".repeat(20));
    assert_eq!(found(&outer), format!("{begin} called by {near}, while pilot ran; {rest}"));
}

#[test]
fn extra_work_of_a_library_is_told_with_whose_it_is() {
    let extra = "user.extra-work";
    let found = |object: &str| {
        let mut segment = placed(detailed(extra, None, 300_000, "sort() called 1 time"), "rank()");
        segment.story.object = object.to_owned();
        headline(&outlier(vec![cause(extra, 300_000, "sort() called 1 time")], vec![segment]))
    };
    let head = "412.3 us, typical 16.3 us: 300.0 us of extra work: ";
    assert_eq!(found(""), format!("{head}sort() called 1 time, for rank()"));
    assert_eq!(found("a panic, caught in route()"), format!("{head}a panic in rank(), caught in route()"));
}

#[test]
fn says_when_there_is_nothing_to_say() {
    let mut report = outlier(vec![cause("user.expected", -5, "")], Vec::new());
    assert_eq!(headline(&report), "412.3 us, typical 16.3 us: no cause took longer than typical");
    report.baseline_mean_ns = None;
    report.causes = vec![cause("trace.loss", 412_300, "")];
    assert_eq!(headline(&report), "412.3 us, nothing to compare with: 412.3 us of trace lost");
    let uncovered = CauseTotal { certainty: model::Certainty::Unknown, ..cause("trace.loss", 412_300, "") };
    report.causes = vec![uncovered];
    assert_eq!(headline(&report), "412.3 us, nothing to compare with: 412.3 us without a trace");
}

fn placed(mut segment: SegmentReport, place: &str) -> SegmentReport {
    place.clone_into(&mut segment.story.place);
    segment
}

/// A wait of 136 us for `object`, ended by `by`, and what it did during the wait.
fn wait(object: &str, by: &str, role: Role, during: Vec<SegmentReport>) -> SegmentReport {
    let mut wait = placed(detailed("offcpu.lock", None, 136_000, ""), "worker() lock.c:107");
    object.clone_into(&mut wait.story.object);
    by.clone_into(&mut wait.story.by);
    wait.story.role = role;
    wait.during = during;
    wait
}

/// The headline's words after the typical time.
fn words(segment: SegmentReport) -> String {
    let report = outlier(vec![cause("offcpu.lock", 136_000, "")], vec![segment]);
    headline(&report).split_once(": ").map_or_else(String::new, |(_, words)| words.to_owned())
}

/// As an engineer would say it: what for, where, held by whom, who did what; the end of the chain last.
#[test]
fn a_wait_ends_with_the_root_of_its_chain() {
    let asleep = || placed(detailed("offcpu.sleep", None, 125_000, ""), "keep() lock.c:38");
    let computing = |ns| placed(detailed("user.expected", Some(0), ns, ""), "recount()");
    let collecting = |unusual| {
        let mut collecting = placed(detailed("runtime.gc.v8", Some(0), 130_000, ""), "tidy()");
        collecting.story.unusual = unusual;
        vec![collecting]
    };
    let cases = [
        (collecting(true), "which collected v8's garbage in tidy()"),
        // The collector's own, or code that typically runs, too.
        (collecting(false), "which collected v8's garbage"),
        (vec![asleep(), computing(2_000)], "which slept in keep() lock.c:38"),
        (
            vec![computing(50_000), asleep(), computing(51_000)],
            "which slept in keep() lock.c:38 for 125.0 us",
        ),
        // The length is that of the wait, not of what ended it.
        (
            vec![
                computing(50_000),
                wait("a mutex", "ledger", Role::Holder, vec![asleep()]),
                computing(51_000),
            ],
            "which waited 136.0 us for a mutex, held by ledger, which slept in keep() lock.c:38",
        ),
        (vec![computing(130_000)], "which ran recount()"),
        (
            vec![wait("a mutex", "ledger", Role::Holder, vec![asleep()])],
            "which waited for a mutex, held by ledger, which slept in keep() lock.c:38",
        ),
    ];
    for (during, root) in cases {
        let expected = format!("waited 136.0 us for a mutex in worker() lock.c:107, held by auditor, {root}");
        assert_eq!(words(wait("a mutex", "auditor", Role::Holder, during)), expected);
    }
}

/// Whatever follows, the length stands beside what lasted so long.
#[test]
fn a_length_belongs_to_what_was_done() {
    for (what, lasting) in [
        (
            "waited for disk 259:1, woken by the interrupt of nvme0q2",
            "waited 9 us for disk 259:1, woken by the interrupt of nvme0q2",
        ),
        (
            "was stopped by a signal until rival continued it",
            "was stopped by a signal for 9 us until rival continued it",
        ),
        ("was runnable behind hog, which ran burn()", "was runnable behind hog for 9 us, which ran burn()"),
        (
            "was kept off its CPU by hog, which ran burn()",
            "was kept off its CPU for 9 us by hog, which ran burn()",
        ),
        ("was kept off its CPU in serve() by hog", "was kept off its CPU for 9 us in serve() by hog"),
        ("was idle, woken by feeder", "was idle for 9 us, woken by feeder"),
        ("ran std::pair<int, int>::swap()", "ran std::pair<int, int>::swap() for 9 us"),
    ] {
        assert_eq!(root::lasting(what, "9 us"), lasting);
    }
}

/// A thread of a runtime's scheduler has nothing to run until a timer expires, or until another thread has something for it.
#[test]
fn an_idle_thread_waits_for_no_lock() {
    let idle = |by: &str, during| {
        let mut idle = detailed("runtime.idle.go", None, 130_000, "");
        by.clone_into(&mut idle.story.by);
        (idle.story.role, idle.during) = (Role::Waker, during);
        words(wait("a select", "gopher", Role::Waker, vec![idle]))
    };
    let waited = "waited 136.0 us for a select in worker() lock.c:107, woken by gopher, which was idle";
    assert_eq!(idle("kernel.timer", Vec::new()), format!("{waited} until a timer expired"));
    assert_eq!(idle("kernel.softirq.net_rx", Vec::new()), format!("{waited}, woken by softirq net_rx"));
    let parses = placed(detailed("user.expected", Some(0), 125_000, ""), "main.parse()");
    assert_eq!(idle("feeder", vec![parses]), format!("{waited}, woken by feeder, which ran main.parse()"));
    assert_eq!(idle("", Vec::new()), waited);
    let report = outlier(vec![cause("runtime.idle.go", 136_000, "")], vec![segment("runtime.idle.go", None)]);
    assert_eq!(headline(&report), "412.3 us, typical 16.3 us: 136.0 us idle in go's scheduler");
}

#[test]
fn who_kept_the_holder_off_its_cpu_is_named() {
    let mut preempted = detailed("offcpu.preempted", None, 130_000, "");
    "hog".clone_into(&mut preempted.story.by);
    let held = wait("a mutex", "config", Role::Holder, vec![preempted]);
    assert_eq!(
        words(held),
        "waited 136.0 us for a mutex in worker() lock.c:107, held by config, which was kept off its CPU by hog"
    );
}

#[test]
fn what_ran_in_a_thread_s_place_is_named() {
    let ready = |name: &str| {
        let mut ready = placed(detailed(name, None, 130_000, ""), "serve()");
        (ready.story.by, ready.story.by_place) = ("hog".to_owned(), "burn()".to_owned());
        ready
    };
    let headline_of = |name: &str| {
        let report = outlier(vec![cause(name, 130_000, "")], vec![ready(name)]);
        headline(&report).split_once(": ").map_or_else(String::new, |(_, words)| words.to_owned())
    };
    let waited = |during| words(wait("a mutex", "config", Role::Holder, vec![during]));
    let held = "waited 136.0 us for a mutex in worker() lock.c:107, held by config, which";
    assert_eq!(headline_of("offcpu.preempted"), "preempted for 130.0 us in serve() by hog, which ran burn()");
    assert_eq!(headline_of("offcpu.runnable"), "runnable behind hog for 130.0 us, which ran burn()");
    let mut moved = ready("offcpu.runnable");
    "moved to CPU 1 by sched_setaffinity() of config".clone_into(&mut moved.story.object);
    let report = outlier(vec![cause("offcpu.runnable", 130_000, "")], vec![moved]);
    assert!(
        headline(&report).ends_with(
            ": moved to CPU 1 by sched_setaffinity() of config, runnable behind hog for 130.0 us, which ran burn()"
        ),
        "{}",
        headline(&report)
    );
    assert_eq!(
        waited(ready("offcpu.preempted")),
        format!("{held} was kept off its CPU in serve() by hog, which ran burn()")
    );
    let mut called = ready("offcpu.preempted");
    "audit() < main()".clone_into(&mut called.story.callers);
    assert_eq!(
        waited(called),
        format!(
            "{held} was kept off its CPU in serve() called by audit() < main(), by hog, which ran burn()"
        )
    );
    assert_eq!(waited(ready("offcpu.runnable")), format!("{held} was runnable behind hog, which ran burn()"));
}

/// The delayed acknowledgement: a timer, then the softirq that wakes the thread.
#[test]
fn an_interrupt_s_chain_begins_with_its_timer() {
    let timer = vec![detailed("kernel.timer", Some(0), 900, "")];
    let woken = |timer| words(wait("data from a TCP socket", "kernel.softirq.net_rx", Role::Waker, timer));
    let expected = "waited 136.0 us for data from a TCP socket in worker() lock.c:107, woken by softirq net_rx after a timer had expired";
    assert_eq!(woken(timer.clone()), expected);
    let mut named = timer;
    "TCP's delayed-ACK timer".clone_into(&mut named[0].story.object);
    assert_eq!(woken(named), expected.replace("a timer", "TCP's delayed-ACK timer"));
}

/// In which library's function most of it was says more than a line.
#[test]
fn what_a_library_did_goes_after_lines() {
    let detail =
        format!("count() at tree.go:342 called 305 times below {}(), 60.1 us; typical 0", "c".repeat(40));
    let mut work = placed(detailed("user.extra-work", Some(1), 60_000, &detail), "count()");
    "newstack()".clone_into(&mut work.story.through);
    let slower = placed(detailed("user.expected", Some(1), 40_000, ""), "relax()");
    let causes = vec![cause("user.extra-work", 60_000, &detail), cause("user.expected", 40_000, "")];
    assert_eq!(
        headline(&outlier(causes, vec![work, slower])),
        format!(
            "412.3 us, typical 16.3 us: 60.0 us of extra work: count() called 305 times below {}(), mostly in newstack(); 40.0 us longer in the usual code of relax()",
            "c".repeat(40)
        )
    );
}

#[test]
fn exceptions_are_named_with_where_they_were_caught() {
    let mut thrown =
        placed(detailed("user.extra-work", Some(1), 9_000, "__cxa_throw() called 1 time"), "check()");
    "an exception, caught in route()".clone_into(&mut thrown.story.object);
    let report = outlier(vec![cause("user.extra-work", 9_000, "")], vec![thrown]);
    assert_eq!(
        headline(&report),
        "412.3 us, typical 16.3 us: 9.00 us of extra work: an exception thrown in check(), caught in route()"
    );
}

#[test]
fn is_one_harmless_line() {
    let evil = detailed("trace.loss", None, 9, "\u{1b}[2J\nrm");
    let report = outlier(vec![cause("trace.loss", 9, "")], vec![evil]);
    assert!(headline(&report).ends_with(r"lost, \u{1b}[2J\nrm"));
}

/// The end of the chain is the last to go: the callers of callers go first, then the place of the wait.
#[test]
fn the_end_of_a_chain_outlasts_what_stands_before_it() {
    let ran = |callers: &str| {
        let place = format!("planted_work() called by {callers}");
        words(wait(
            "data from a TCP socket",
            "server",
            Role::Waker,
            vec![placed(segment("user.expected", None), &place)],
        ))
    };
    let waited = "waited 136.0 us for data from a TCP socket";
    let woken = "woken by server, which ran planted_work() called by";
    // 173 characters are left: the first goes without its line, the second without its last caller, the third without its place, too.
    let callers = |length| format!("{}() < disturber()", "c".repeat(length));
    assert_eq!(ran(&callers(45)), format!("{waited} in worker(), {woken} {}", callers(45)));
    assert_eq!(ran(&callers(60)), format!("{waited} in worker(), {woken} {}()", "c".repeat(60)));
    assert_eq!(ran(&callers(75)), format!("{waited}, {woken} {}()", "c".repeat(75)));
    // How long it did that, which is not all that it did, goes before the place.
    let with_others = |length| {
        let part = |name: &str, ns, place: &str| placed(detailed(name, Some(0), ns, ""), place);
        let place = format!("planted_work() called by {} < serve()", callers(length));
        let during = vec![part("user.expected", 80_000, &place), part("offcpu.sleep", 50_000, "rest()")];
        words(wait("data from a TCP socket", "server", Role::Waker, during))
    };
    assert_eq!(with_others(49), format!("{waited} in worker(), {woken} {}() for 80.0 us", "c".repeat(49)));
    assert_eq!(with_others(60), format!("{waited} in worker(), {woken} {}()", "c".repeat(60)));
    assert_eq!(
        without_outer_callers("a() called by b() < c() < d(), held by e; f()"),
        "a() called by b(), held by e; f()"
    );
}

/// The function of a task that awaits is less than who called what its holder ran.
#[test]
fn the_place_of_an_await_goes_before_the_end_of_its_chain() {
    let of = |is_not_run| {
        let mut computed = placed(detailed("user.expected", Some(0), 130_000, ""), "");
        computed.story.place = format!("step() called by {}() < rank()", "c".repeat(50));
        let mut waited = placed(detailed("offcpu.lock", None, 130_000, ""), &format!("{}()", "p".repeat(22)));
        (waited.story.object, waited.story.by) =
            ("an async mutex".to_owned(), "audit 7 on till-1".to_owned());
        (waited.story.role, waited.story.is_not_run) = (Role::Holder, is_not_run);
        waited.during = vec![computed];
        headline(&outlier(vec![cause("offcpu.lock", 130_000, "")], vec![waited]))
    };
    assert!(
        of(true).contains("mutex, held by audit 7 on till-1, which ran step() called by ccc"),
        "{}",
        of(true)
    );
    assert!(of(true).ends_with("() < rank()"), "{}", of(true));
    assert!(of(false).contains("mutex in ppp") && of(false).ends_with("ccc()"), "{}", of(false));
}

/// What a task did while a worker ran it has that worker.
#[test]
fn the_worker_that_ran_a_task_is_named() {
    let on = |name: &str, detail: &str| {
        let mut ran = placed(detailed(name, Some(0), 130_000, detail), "pay()");
        ran.story.worker = "till-1".to_owned();
        let said = headline(&outlier(vec![cause(name, 130_000, detail)], vec![ran]));
        said.split_once(": ").map_or_else(String::new, |(_, words)| words.to_owned())
    };
    assert_eq!(on("offcpu.sleep", ""), "slept 130.0 us in pay() on till-1");
    assert_eq!(on("offcpu.lock", ""), "waited 130.0 us for a lock in pay() on till-1");
    assert_eq!(on("kernel.syscall.read", ""), "130.0 us in read() called by pay() on till-1");
    let work = "pay() called 1 time by serve(), 130.0 us; typical 0";
    assert_eq!(on("user.extra-work", work), "130.0 us of extra work: pay() called by serve() on till-1");
}

/// Too long in all forms: who is at the end of the chain stays, with what it did; one more of the same name says less.
#[test]
fn the_middle_of_a_long_chain_is_cut() {
    let chain = format!("waited 9 us for a lock of take() in {}() below server+0x475d50", "f".repeat(60));
    let plain = without_addresses(&chain);
    assert!(plain.ends_with("fff()"), "{plain}");
    assert_eq!(without_addresses("a() called by b() below c"), "a() called by b() below c");
    let text =
        format!("{plain}, woken by another server, which waited, woken by rival, which slept in pause()");
    let expected = "waited 9 us for a lock of take()…, woken by rival, which slept in pause()";
    assert_eq!(without_middle(&text, 120), expected);
    let text = format!("{plain}, woken by another server, which ran step()");
    assert_eq!(without_middle(&text, 80), format!("{}…", &text[..79]));
    assert_eq!(without_middle(&"f".repeat(90), 80), format!("{}…", "f".repeat(79)));
}

/// Who sent it stays where particulars have no room.
#[test]
fn a_brief_headline_says_who_sent_the_ipi() {
    let detail =
        format!("interrupting `{}()`, sent by writer (tid 102) on CPU 1 in munmap()", "f".repeat(150));
    let brief = |role| {
        let mut served = detailed("kernel.ipi.call-function", Some(1), 9_000, &detail);
        (served.story.by, served.story.by_place) = ("writer".to_owned(), "munmap()".to_owned());
        served.story.role = role;
        let report = outlier(vec![cause("kernel.ipi.call-function", 9_000, &detail)], vec![served]);
        headline(&report).split_once(": ").map_or_else(String::new, |(_, words)| words.to_owned())
    };
    let served = "9.00 us in 1 interrupt from other CPUs (call-function),";
    assert_eq!(brief(Role::Sender), format!("{served} sent by writer in munmap()"));
    assert_eq!(brief(Role::LikelySender), format!("{served} most likely sent by writer in munmap()"));
}

/// The interrupts of one sender came in several functions.
#[test]
fn who_sent_the_ipis_stays_wherever_they_came() {
    let detail = format!("{}(), sent by writer (tid 102) on CPU 1 in munmap()", "f".repeat(150));
    let sent = |place| {
        let mut served = placed(detailed("kernel.ipi.call-function", Some(1), 3_000, &detail), place);
        (served.story.by, served.story.by_place) = ("writer".to_owned(), "munmap()".to_owned());
        served.story.role = Role::Sender;
        served
    };
    let served = vec![sent("weigh()"), sent("pour()"), sent("stamp()")];
    let report = outlier(vec![cause("kernel.ipi.call-function", 9_000, &detail)], served);
    let expected = "9.00 us in 1 interrupt from other CPUs (call-function), sent by writer in munmap()";
    assert!(headline(&report).ends_with(expected), "{}", headline(&report));
}

/// The loop is that of a lock, or of its delay: whose wait it was, its caller says.
#[test]
fn what_spins_is_named_with_its_caller() {
    let mut spin = placed(detailed("user.spin", Some(0), 136_000, ""), "breathe()");
    "scale_take()".clone_into(&mut spin.story.callers);
    let report = outlier(vec![cause("user.spin", 136_000, "")], vec![spin]);
    assert!(
        headline(&report).ends_with(": spun 136.0 us in breathe() called by scale_take()"),
        "{}",
        headline(&report)
    );
}
