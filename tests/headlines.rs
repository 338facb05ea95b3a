//! What is read first: the default text fits on a screen and a half, and headlines are short and name what was planted.
//!
//! What was planted comes from the programs' own notes in `truth.json`; the bounds are those of a terminal of 100 columns.

use serde_json::Value;

use crate::captures::{Capture, emulated};

/// Lines of the default text on ten outliers, and its columns.
const MOST_LINES: usize = 90;
const COLUMNS: usize = 100;

fn text(capture: &Capture, arguments: &[&str]) -> String {
    let output = capture.tailtrace("explain", &[&["--intervals", &capture.intervals()], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// All emulated captures whose programs say what they planted where.
const CAPTURES: [&str; 17] = [
    "arrival",
    "block",
    "exchange",
    "fault",
    "fibers",
    "ledger",
    "lock",
    "oversubscription",
    "page_faults",
    "preempt",
    "queue",
    "redis",
    "rehash",
    "sockets",
    "syscall",
    "tcp",
    "wakeup",
];
/// Characters of a headline: two lines of 100 columns.
const MOST_CHARACTERS: usize = 200;

/// What a thread did while another waited for it, as the truth calls it, and the words of which a headline must hold one.
const ROOTS: [(&str, &[&str]); 11] = [
    ("user", &[" ran ", "first served "]),
    ("kernel.page-fault.minor", &["page faults"]),
    ("offcpu.sleep", &["slept"]),
    ("offcpu.preempted", &["kept off its CPU", "was runnable"]),
    // The truth has no times in which the thread was runnable below a wait: they are part of it there.
    ("offcpu.socket", &["waited ", "was runnable behind "]),
    ("offcpu.other", &["waited "]),
    ("hardware.gap", &["stalled"]),
    ("kernel.syscall.futex", &["futex"]),
    ("kernel.syscall.recvfrom", &["recvfrom"]),
    ("kernel.timer", &["interrupted", "timer"]),
    ("offcpu.poll", &["waited "]),
];

/// The words for the root of the chain of the truth's foremost cause, and who is at its next link: where the truth has one (`during`)
/// with more than half of the wait. `None` where the report's foremost cause is another one.
fn root(truth: &Value, outlier: &Value) -> Option<(&'static [&'static str], Option<String>)> {
    let foremost = &outlier["causes"][0]["cause"];
    if truth["dominant"] != *foremost {
        return None;
    }
    let causes = truth["causes"].as_array().expect("causes");
    let cause = causes.iter().find(|cause| cause["cause"] == *foremost)?;
    let root = cause["during"].get(0)?;
    if root["ns"].as_u64()? * 2 <= cause["ns"].as_u64()? {
        return None;
    }
    let name = root["cause"].as_str()?;
    let (_, words) =
        ROOTS.iter().find(|(cause, _)| *cause == name).unwrap_or_else(|| panic!("no words for {name}"));
    let by = cause["by"][0].as_str().filter(|by| !by.starts_with("interval ")).map(str::to_owned);
    Some((words, by))
}

/// A number that has a larger unit elsewhere: thousands of ns, us or ms.
fn too_small_a_unit(text: &str) -> Option<&str> {
    let words: Vec<&str> = text.split([' ', ',', ';', ':']).collect();
    let found = words.windows(2).find(|pair| {
        ["ns", "us", "ms"].contains(&pair[1]) && pair[0].parse().is_ok_and(|number: f64| number >= 1000.0)
    });
    found.map(|pair| pair[0])
}

/// What they say of the planted cause is held by `scripts/score`; here, that it fits, that who held the lock or had the CPU is named, and
/// the root of the chain where the truth has one.
#[test]
fn headlines_of_planted_outliers_fit_on_two_lines_and_name_the_root() {
    let (mut roots, mut unnamed) = (0, Vec::new());
    for name in CAPTURES {
        let capture = emulated(name);
        let truth = capture.truth();
        let planted = truth["truth"].as_array().expect("truth").clone();
        let ids: Vec<String> = planted.iter().map(|plant| plant["index"].to_string()).collect();
        let json = text(&capture, &["--format", "json", "--id", &ids.join(",")]);
        let report: Value = serde_json::from_str(&json).expect("JSON");
        let outliers = report["outliers"].as_array().expect("outliers");
        assert!(!outliers.is_empty(), "{name}");
        let explained = truth["explained"].as_array().cloned().unwrap_or_default();
        for outlier in outliers {
            let headline = outlier["headline"].as_str().expect("a headline");
            let long = headline.chars().count();
            assert!(long <= MOST_CHARACTERS, "{name} {}: {long} characters: {headline}", outlier["id"]);
            assert_eq!(too_small_a_unit(headline), None, "{name} {}: {headline}", outlier["id"]);
            let own = planted.iter().filter(|plant| plant["index"] == outlier["id"]);
            for plant in own.filter(|plant| plant["cause"] == outlier["causes"][0]["cause"]) {
                let is_others = plant["cause"].as_str().expect("a cause").starts_with("offcpu.");
                let is_named = is_others && ["lock", "preempt"].contains(&name);
                let thread = plant["by"]["thread"].as_str().filter(|_| is_named);
                assert!(thread.is_none_or(|thread| headline.contains(thread)), "{name}: {headline}");
            }
            let chain = explained.iter().find(|known| known["id"] == outlier["id"]);
            let Some((words, by)) = chain.and_then(|truth| root(truth, outlier)) else { continue };
            roots += 1;
            // What is said of the thread that ended the wait stands after its name.
            let rest = by.as_deref().map_or(Some(headline), |by| Some(headline.split_once(by)?.1));
            if !rest.is_some_and(|rest| words.iter().any(|word| rest.contains(word))) {
                unnamed.push(format!("{name} {}: {words:?} of {by:?} in: {headline}", outlier["id"]));
            }
        }
    }
    assert!(unnamed.is_empty(), "{} of {roots}:\n{}", unnamed.len(), unnamed.join("\n"));
    assert!(roots > 300, "{roots}");
}

/// Ten outliers: why all 198 are slow, three in brief, seven in a line each. Everything else is there on request.
#[test]
fn the_default_text_is_a_screen_and_a_half() {
    let capture = emulated("lock");
    let brief = text(&capture, &[]);
    assert!(brief.lines().count() <= MOST_LINES, "{} lines:\n{brief}", brief.lines().count());
    let wide = brief.lines().find(|line| line.chars().count() > COLUMNS);
    assert_eq!(wide, None);
    let planted = capture.truth()["planted"].clone();
    assert!(brief.contains("Why they are slow (all 198 explained)"), "{planted}\n{brief}");
    for thread in ["auditor", "ledger"] {
        assert!(brief.contains(&format!("held by {thread}, which ")), "{thread}:\n{brief}");
    }
    let full = text(&capture, &["-v"]);
    for shown in ["✓ PT trace of CPU 1", "record at 0x", "baselines 16", "perf script -i"] {
        assert!(full.contains(shown) && !brief.contains(shown), "{shown}");
    }
}

/// Of all outliers the lock's share is what their reports say one by one: the sum of its positive excesses over the sum of all.
#[test]
fn shares_of_reasons_are_those_of_all_outliers() {
    let capture = emulated("lock");
    let json = |arguments: &[&str]| -> Value {
        serde_json::from_str(&text(&capture, &[&["--format", "json"], arguments].concat())).expect("JSON")
    };
    let reasons = json(&["--top", "1"])["view"]["reasons"].clone();
    let all = json(&["--mad", "3.5"]);
    let outliers = all["outliers"].as_array().expect("outliers");
    assert_eq!((&reasons["explained"], outliers.len()), (&198.into(), 198));
    let excess = |wanted: &str| -> i64 {
        let causes = outliers.iter().flat_map(|outlier| outlier["causes"].as_array().expect("causes"));
        let wanted =
            causes.filter(|cause| cause["cause"].as_str().is_some_and(|name| name.starts_with(wanted)));
        wanted.filter_map(|cause| cause["excess_ns"].as_i64()).filter(|&excess| excess > 0).sum()
    };
    let rows = reasons["all"].as_array().expect("reasons");
    let of_lock = rows.iter().filter(|row| row["cause"] == "offcpu.lock");
    let (lock, whole) = (excess("offcpu.lock"), excess(""));
    let told: i64 = of_lock.filter_map(|row| row["excess_ns"].as_i64()).sum();
    // Less than 2 % of an outlier's excess is not told apart.
    assert!(told <= lock && lock - told <= whole / 50, "{told} of {lock} in {whole}");
    let smaller = reasons["smaller_ns"].as_i64().expect("smaller_ns");
    let sum: i64 = rows.iter().filter_map(|row| row["excess_ns"].as_i64()).sum();
    assert_eq!(sum + smaller, whole);
    let first: i64 = rows.iter().filter_map(|row| row["first"].as_i64()).sum();
    assert_eq!(first, 198);
}
