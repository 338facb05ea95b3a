//! The requests of a server that knows of no markers: by its system calls alone, against its client's markers and perf's own text.
//!
//! In `redis` one process has three clients' threads at two connections of a stock redis-server. Each thread sends a command and waits for the
//! reply, so every command is one request. In the scenario `pool_job` a thread pool has the request.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::captures::{Capture, emulated, repository, tailtrace};
use crate::scenarios::Made;

/// System calls of x86-64 (`arch/x86/entry/syscalls/syscall_64.tbl`).
const READ: u64 = 0;
const WRITE: u64 = 1;
const WRITEV: u64 = 20;
const SENDTO: u64 = 44;
const ACCEPT: u64 = 43;
const ACCEPT4: u64 = 288;

/// A system call that has returned, by perf's text.
struct Call {
    pid: i64,
    number: u64,
    /// Its first argument.
    descriptor: i64,
    result: i64,
    /// On perf's clock, in nanoseconds.
    entered: u64,
    returned: u64,
}

/// What the server did on one connection.
#[derive(Debug)]
struct Request {
    descriptor: i64,
    start: u64,
    /// When the last write of the answer began and returned.
    written: (u64, u64),
}

/// As many as the client sent commands; their times are those of perf's text.
#[test]
fn every_request_of_the_clients_is_found_where_it_was_served() {
    let capture = emulated("redis");
    let calls = calls(&capture);
    let server = server(&capture);
    let threads = capture.truth()["threads"].clone();
    let is_sent = |call: &&Call| {
        threads.get(call.pid.to_string()).is_some() && call.number == SENDTO && call.result > 0
    };
    let sent = calls.iter().filter(is_sent).count();
    assert!(sent > 1000, "{sent} commands");
    let all = json(&capture, "stat", &["--requests", "redis-server"]);
    assert_eq!(all["population"]["count"], sent);
    let expected = requests(&calls, server);
    assert_eq!(expected.len(), sent);

    let since = begin(&capture);
    let by_pid = ["--requests", &server.to_string(), "--top", "1000", "--baselines", "0"];
    let report = json(&capture, "explain", &[&by_pid[..], &["--time", &from(since)]].concat());
    let found = report["outliers"].as_array().expect("outliers");
    let traced = expected.iter().filter(|request| request.written.1 >= since).count();
    assert_eq!(found.len(), traced, "of the time of the client's intervals");
    let by_start: BTreeMap<u64, &Request> = expected.iter().map(|request| (request.start, request)).collect();
    let pairs: Vec<(&Value, &Request)> = found
        .iter()
        .map(|outlier| {
            let start: u64 = text(&outlier["start_ns"]).parse().expect("ns");
            let near = by_start.range(start.saturating_sub(2)..=start + 2).next();
            let (_, request) = near.expect("a read returned there");
            let stop = start + outlier["duration_ns"].as_u64().expect("duration_ns");
            assert!(stop.abs_diff(request.written.1) <= 2, "{request:?} ends at {stop}");
            assert_eq!(outlier["key"], format!("fd {}", request.descriptor));
            (outlier, *request)
        })
        .collect();
    let own = accepted(&calls, server).next().expect("a connection").result;
    assert_one_in_each_interval(&capture, pairs.into_iter().filter(|(_, request)| request.descriptor == own));
}

/// While the worker waited for its reply, the server took one of its commands and began to write the reply.
fn assert_one_in_each_interval<'a>(capture: &Capture, own: impl Iterator<Item = (&'a Value, &'a Request)>) {
    let moments = |(outlier, request): (&Value, &Request)| {
        let in_the_write = ticks(capture, request.written.1 - request.written.0);
        (tsc(outlier, "start_tsc"), tsc(outlier, "stop_tsc") - in_the_write)
    };
    let moments: Vec<(u64, u64)> = own.map(moments).collect();
    let intervals = intervals(capture);
    assert_eq!(intervals.len(), 120);
    for (id, (begin, end)) in intervals {
        let within = |&&(read, answered): &&(u64, u64)| begin <= read && read < answered && answered <= end;
        assert_eq!(moments.iter().filter(within).count(), 1, "interval {id}");
    }
}

/// What the client's intervals are known to have waited for stands in the headlines of the requests that the server was at then.
#[test]
fn the_slowest_requests_have_the_roots_of_the_clients_waits() {
    let capture = emulated("redis");
    let calls = calls(&capture);
    let connections = connections(&calls, server(&capture));
    let [own, rival] = &connections[..] else { panic!("not two connections: {connections:?}") };
    let truth = capture.truth();
    let stories: BTreeMap<u64, &str> = truth["truth"]
        .as_array()
        .expect("truth")
        .iter()
        .map(|plant| (plant["index"].as_u64().expect("index"), text(&plant["story"])))
        .collect();
    let time = from(begin(&capture));
    let report = json(&capture, "explain", &["--requests", "redis-server", "--time", &time, "--top", "22"]);
    let intervals = intervals(&capture);
    let (mut kinds, mut checked) = (BTreeSet::new(), Vec::new());
    for (place, outlier) in report["outliers"].as_array().expect("outliers").iter().enumerate() {
        let (start, stop) = (tsc(outlier, "start_tsc"), tsc(outlier, "stop_tsc"));
        let during = intervals.iter().find(|(_, (begin, end))| start < *end && stop > *begin);
        let Some(story) = during.and_then(|(id, _)| stories.get(id).copied()) else { continue };
        // Those that the worker asks for itself; before the others another client is served.
        let whose = if matches!(story, "popped" | "sorted") { own } else { rival };
        if outlier["key"] != **whose {
            continue;
        }
        let headline = text(&outlier["headline"]).to_lowercase();
        for word in words_of(story) {
            let holds = |part: &str| headline.contains(part);
            let is_met = word.strip_prefix('!').map_or_else(|| word.split('|').any(holds), |not| !holds(not));
            assert!(is_met, "{story}: {word}: {headline}");
        }
        kinds.insert(story);
        checked.push(place);
    }
    assert!(checked.starts_with(&[0, 1, 2]) && checked.len() >= 12, "{checked:?}");
    assert!(kinds.is_superset(&BTreeSet::from(["paused", "popped", "scripted"])), "{kinds:?}");
}

/// The report on the client's wait gives a command; it runs as it stands and says what the client's report says.
#[test]
fn the_clients_report_points_to_the_servers_requests() {
    let capture = emulated("redis");
    let client = json(&capture, "explain", &["--intervals", &capture.intervals(), "--id", "35"]);
    let command = text(&client["outliers"][0]["server_requests"]);
    assert!(command.contains(" --requests redis-server"), "{command}");
    let mut words = command.split(' ');
    assert_eq!(words.next(), Some("tailtrace"));
    let time = from(begin(&capture));
    let output =
        tailtrace().args(words).args(["--time", &time, "--top", "2"]).output().expect("tailtrace runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("\n2  request:fd"), "{text}");
    let with_text = capture.tailtrace("explain", &["--intervals", &capture.intervals(), "--id", "35"]);
    assert!(String::from_utf8_lossy(&with_text.stdout).contains(command), "the text has it, too");
}

/// In the scenario `pool_job` the server reads a request by fd 4 at 31.40 us, hands it to its pool, waits for events from 37.65 us on, and
/// serves another client by fd 6 from 39.05 to 69.30 us. The pool's thread runs from then on and writes to the eventfd at 97.95 us, which wakes
/// the server at 98.00 us; its answer is written at 111.05 us.
#[test]
fn what_the_loop_does_while_its_pool_has_the_request_is_a_wait_for_the_pool() {
    let made = Made::named("pool_job");
    let report: Value = serde_json::from_str(
        &made.tailtrace("explain", &["--requests", "server", "--top", "2", "--format", "json"]),
    )
    .expect("the report is JSON");
    let outliers = report["outliers"].as_array().expect("outliers");
    let of = |key: &str| outliers.iter().find(|outlier| outlier["key"] == key).expect("a request by it");
    assert_eq!(outliers.len(), 2);
    let waited = |outlier: &Value| {
        let causes = outlier["causes"].as_array().expect("causes");
        let polled = causes.iter().find(|cause| cause["cause"] == "offcpu.poll");
        polled.map_or(0, |cause| cause["duration_ns"].as_u64().expect("a number"))
    };
    let pooled = of("fd 4");
    assert_eq!(pooled["duration_ns"], 79_650);
    assert_eq!(waited(pooled), 98_000 - 37_650);
    let headline = text(&pooled["headline"]);
    let expected = "waited 60.4 us for a job of its thread pool, woken by pool, which ran compress()";
    assert!(headline.contains(expected), "{headline}");
    assert_eq!((&of("fd 6")["duration_ns"], waited(of("fd 6"))), (&Value::from(30_250), 0));

    let intervals = made.folder.path().join("intervals.csv");
    let intervals = intervals.to_str().expect("UTF-8");
    let client = made.tailtrace("explain", &["--intervals", intervals, "--id", "8", "--format", "json"]);
    let client: Value = serde_json::from_str(&client).expect("the report is JSON");
    let headline = text(&client["outliers"][0]["headline"]);
    let expected =
        "woken by server, which waited for a job of its thread pool, woken by pool, which ran compress()";
    assert!(headline.contains(expected), "{headline}");
}

#[test]
fn where_nobody_answers_the_error_names_who_did() {
    let capture = emulated("redis");
    for nobody in ["nginx", "1", "redis", "nginx,worker"] {
        let output = capture.tailtrace("stat", &["--requests", nobody]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("these did: redis-server (pid "), "{said}");
    }
    let either = json(&capture, "stat", &["--requests", "nginx,redis-server"]);
    let server = json(&capture, "stat", &["--requests", "redis-server"]);
    assert_eq!(either["population"]["count"], server["population"]["count"]);
}

fn json(capture: &Capture, command: &str, arguments: &[&str]) -> Value {
    let output = capture.tailtrace(command, &[arguments, &["--format", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

fn tsc(outlier: &Value, field: &str) -> u64 {
    text(&outlier[field]).parse().expect("a number")
}

/// The words that `redis.stories` wants in a headline of this kind; the server does not name itself.
fn words_of(story: &str) -> Vec<String> {
    let path = repository().join("fixtures/emulator/workloads/redis.stories");
    let text = std::fs::read_to_string(path).expect("stories");
    let line = text.lines().find_map(|line| line.strip_prefix(story)?.strip_prefix(':'));
    let words = line.unwrap_or_else(|| panic!("no words for {story}")).split_whitespace();
    words.filter(|word| *word != "redis-server").map(str::to_owned).collect()
}

/// The process that the program started.
fn server(capture: &Capture) -> i64 {
    text(&capture.truth()["parameters"]["server"]).parse().expect("a process")
}

/// The client's intervals by their numbers: the markers' lines of the interval file.
fn intervals(capture: &Capture) -> BTreeMap<u64, (u64, u64)> {
    let file = std::fs::read_to_string(capture.intervals()).expect("an interval file");
    let mut intervals: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for line in file.lines() {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |cell: &str| cell.parse::<u64>().expect("a number");
        match cells[..] {
            ["begin", _, at, key, ..] => intervals.entry(number(key)).or_default().0 = number(at),
            ["end", _, at, key, ..] => intervals.entry(number(key)).or_default().1 = number(at),
            _ => {}
        }
    }
    intervals
}

/// When the first of them began, on perf's clock: `time_zero + (tsc * time_mult >> time_shift)` (`linux/perf_event.h`).
fn begin(capture: &Capture) -> u64 {
    let conversion = &capture.truth()["time_conv"];
    let part = |name: &str| conversion[name].as_u64().expect("a number");
    let first = intervals(capture).into_values().map(|(begin, _)| begin).min().expect("an interval");
    let scaled = (u128::from(first) * u128::from(part("mult"))) >> part("shift");
    part("zero").wrapping_add(u64::try_from(scaled).expect("nanoseconds"))
}

/// For `--time`: from there on.
fn from(ns: u64) -> String {
    format!("{}.{:09},", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// So many nanoseconds in ticks, rounded up.
fn ticks(capture: &Capture, ns: u64) -> u64 {
    let hz = capture.truth()["tsc_hz"].as_u64().expect("tsc_hz");
    (ns * hz).div_ceil(1_000_000_000)
}

/// The connections that the server accepted, in order: the worker connects first, then the rival.
fn accepted(calls: &[Call], server: i64) -> impl Iterator<Item = &Call> {
    calls
        .iter()
        .filter(move |call| call.pid == server && matches!(call.number, ACCEPT | ACCEPT4) && call.result > 0)
}

/// Their descriptors, as the reports name them.
fn connections(calls: &[Call], server: i64) -> Vec<String> {
    accepted(calls, server).map(|call| format!("fd {}", call.result)).collect()
}

/// The requests of the server's one thread: bytes read from a connection, until bytes are written to it and others are read.
fn requests(calls: &[Call], server: i64) -> Vec<Request> {
    let mut done: Vec<Request> = Vec::new();
    for accept in accepted(calls, server) {
        let descriptor = accept.result;
        let later = calls.iter().filter(|call| call.pid == server && call.entered > accept.returned);
        let (mut start, mut written) = (None, None);
        for call in later.filter(|call| call.descriptor == descriptor && call.result > 0) {
            match call.number {
                READ => {
                    done.extend(start.zip(written.take()).map(|(start, written)| Request {
                        descriptor,
                        start,
                        written,
                    }));
                    start = Some(call.returned);
                }
                WRITE | WRITEV => written = Some((call.entered, call.returned)),
                _ => {}
            }
        }
        done.extend(start.zip(written).map(|(start, written)| Request { descriptor, start, written }));
    }
    done
}

/// All system calls that returned, in the order of their returns.
fn calls(capture: &Capture) -> Vec<Call> {
    let mut perf = Command::new("perf");
    perf.args(["script", "--no-itrace", "--ns", "-F", "pid,tid,time,event,trace", "-i"])
        .arg(&capture.perf_data);
    let output = perf.stderr(Stdio::null()).output().expect("perf runs");
    let mut entered: BTreeMap<i64, (u64, i64)> = BTreeMap::new();
    let mut calls = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some((head, tail)) = line.split_once("raw_syscalls:") else { continue };
        let mut head = head.split_whitespace();
        let (Some((pid, tid)), Some(time)) = (head.next().and_then(|word| word.split_once('/')), head.next())
        else {
            panic!("no head: {line}");
        };
        let (pid, tid): (i64, i64) = (pid.parse().expect("pid"), tid.parse().expect("tid"));
        let time: u64 = time.trim_end_matches(':').replace('.', "").parse().expect("time");
        if let Some(call) = tail.strip_prefix("sys_enter: NR ") {
            let first = call.split_once('(').and_then(|(_, arguments)| arguments.split(',').next());
            entered.insert(tid, (time, i64::from_str_radix(first.expect("an argument"), 16).unwrap_or(-1)));
        } else if let Some((number, result)) =
            tail.strip_prefix("sys_exit: NR ").and_then(|call| call.split_once(" = "))
            && let Some((since, descriptor)) = entered.remove(&tid)
        {
            let (number, result) = (number.parse().unwrap_or(u64::MAX), result.trim().parse().unwrap_or(-1));
            calls.push(Call { pid, number, descriptor, result, entered: since, returned: time });
        }
    }
    assert!(calls.len() > 1000, "perf shows {} calls", calls.len());
    calls
}
