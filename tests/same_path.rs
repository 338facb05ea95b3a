//! `explain --same-path`: where one label stands for two kinds of work, each is compared with its own.

use std::fs;

use serde_json::Value;

use crate::captures::Capture;

/// Forty requests, of which every other one only reads, in 2 us, and every other one also stores, in 20 us. Then one that stores for 30 us,
/// because the loop runs once more for each two times.
const REQUESTS: &str = "
code /usr/bin/app 0x401000
  main: call read
  stored: call store
  idle: pause
        jmp main
  read: mov ecx, 100
  reading: dec ecx
        jnz short reading
        ret
  store: mov ecx, 1000
  storing: dec ecx
        jnz short storing
        ret

thread worker 100/101

cpu 0
  at 10us
  runs worker
  trace on main
  repeat 20
    begin request
    run to stored branches T99N for 2us
    end
    run to idle branches T9N for 100ns
    run to main for 500ns
    begin request
    run to idle branches T99NT999N for 20us
    end
    run to main for 500ns
  done
  begin request
  run to idle branches T99NT1499N for 30us
  end
  run to main for 500ns
";

/// One that stores.
const STORING: &str = "    begin request
    run to idle branches T99NT999N for 20us
    end
    run to main for 500ns
";

fn made(folder: &std::path::Path) -> Capture {
    capture_of(folder, REQUESTS)
}

fn capture_of(folder: &std::path::Path, scenario: &str) -> Capture {
    let file = folder.join("requests.scenario");
    fs::write(&file, scenario).expect("written");
    Capture::of_scenario(&file, folder.join("made"))
}

fn explained(capture: &Capture, id: &str, more: &[&str]) -> Value {
    let arguments = ["--intervals", &capture.intervals(), "--format", "json", "--id", id, "--baselines", "4"];
    let output = capture.tailtrace("explain", &[&arguments, more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    report["outliers"][0].clone()
}

fn extra_work(outlier: &Value) -> f64 {
    let mut causes = outlier["causes"].as_array().expect("causes").iter();
    let found = causes.find(|cause| cause["cause"] == "user.extra-work");
    found.and_then(|cause| cause["excess_ns"].as_f64()).unwrap_or(0.0)
}

/// Which of the typical ones only read: every other request, from the first.
fn reads(outlier: &Value) -> Vec<bool> {
    let ids = outlier["baselines"].as_array().expect("ids").iter();
    ids.map(|id| id.as_u64().expect("an id") % 2 == 0).collect()
}

/// By the scenario a third of the 30 us is more than a request takes that stores, which takes 20; the mean over both kinds is 11.
#[test]
fn a_request_is_compared_with_requests_of_its_kind() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = made(folder.path());
    let (mixed, alike) = (explained(&capture, "40", &[]), explained(&capture, "40", &["--same-path"]));
    assert_eq!(mixed["baseline_mean_ns"], 11_000);
    assert!((18_000.0..19_000.0).contains(&extra_work(&mixed)), "{mixed}");
    assert_eq!((&alike["baseline_mean_ns"], reads(&alike)), (&20_000.into(), vec![false; 4]));
    assert!((9_000.0..10_000.0).contains(&extra_work(&alike)), "{alike}");
    let rule = alike["baseline_rule"].as_str().expect("a rule");
    assert!(
        rule.ends_with(
            "of these 16 the 4 nearest to its path: 4 differ in no function that one in eight enters"
        ),
        "{rule}"
    );
    let read = explained(&capture, "0", &["--same-path"]);
    assert_eq!((&read["baseline_mean_ns"], reads(&read)), (&2_000.into(), vec![true; 4]));
}

/// A slice holds all that its outliers may be compared with, and says that the nearest are wanted.
#[test]
fn a_slice_goes_on_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = made(folder.path());
    let slice = folder.path().join("slice.data").to_string_lossy().into_owned();
    let arguments =
        ["--intervals", &capture.intervals(), "--id", "40", "--baselines", "4", "--same-path", "-o", &slice];
    let output = capture.tailtrace("slice", &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let sliced =
        Capture { perf_data: slice.into(), symfs: capture.symfs.clone(), root: capture.root.clone() };
    let output = sliced.tailtrace("explain", &["--format", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let whole = explained(&capture, "40", &["--same-path"]);
    for key in ["baselines", "baseline_rule", "causes"] {
        assert_eq!(report["outliers"][0][key], whole[key], "{key}");
    }
}

/// `stat --causes` decodes all, and compares each outlier with those of its path: by the scenario 10 us of the 30 are extra work. One in ten
/// only reads here, so that those that store are typical by the usual rule; two of sixteen taken from both kinds would do so.
#[test]
fn among_all_each_outlier_is_compared_with_its_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let more_that_store = format!("{}  done\n", STORING.repeat(8));
    let capture = capture_of(folder.path(), &REQUESTS.replace("  done\n", &more_that_store));
    let arguments = ["--intervals", &capture.intervals(), "--causes", "--format", "json"];
    let output = capture.tailtrace("stat", &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let points = report["composition"]["points"].as_array().expect("points");
    let longest = points.last().expect("the longest interval");
    let causes = longest["causes"].as_array().expect("causes").iter();
    let of_extra_work = causes.filter(|cause| cause["cause"] == "user.extra-work");
    let extra_work: Vec<f64> = of_extra_work.filter_map(|cause| cause["mean_ns"].as_f64()).collect();
    assert!(matches!(extra_work[..], [ns] if (9_500.0..10_100.0).contains(&ns)), "{longest}");
}
