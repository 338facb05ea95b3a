//! What the HTML report draws, held against perf and against the interval's own length: the hottest code, who was on each CPU.

use serde_json::Value;

use crate::captures::{Capture, emulated};

/// What the page's script draws of an interval.
fn drawn(capture: &Capture, id: &str) -> (Value, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("report.html");
    let path = page.to_string_lossy().into_owned();
    let output =
        capture.tailtrace("explain", &["--intervals", &capture.intervals(), "--id", id, "--html", &path]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(page).expect("the page");
    let (_, payload) = page.split_once("id=\"payload\">").expect("a payload");
    let (payload, _) = payload.split_once("</script>").expect("its end");
    let payload: Value = serde_json::from_str(payload).expect("JSON");
    let texts = payload["texts"].as_array().expect("texts");
    let texts = texts.iter().map(|text| text.as_str().expect("text").to_owned()).collect();
    (payload["outliers"][0].clone(), texts)
}

/// `perf script -i rehash/perf.data --time 1.573379477,1.573478985 -C 1 --itrace=i0ns -F ip --symfs rehash/symfs`
/// (interval 171) prints 401900, the first instruction of the probing loop, 8033 times and 401923, its condition, 8041 times.
#[test]
fn executions_are_those_that_perf_counts() {
    let capture = emulated("rehash");
    let (outlier, texts) = drawn(&capture, "171");
    let blocks: Vec<&Value> = outlier["code"]
        .as_array()
        .expect("code")
        .iter()
        .flat_map(|range| range["blocks"].as_array().expect("blocks"))
        .collect();
    let text = |index: &Value| &*texts[usize::try_from(index.as_u64().expect("an index")).expect("small")];
    let block_at = |address: &str| {
        let found = blocks.iter().find(|block| text(&block[6][0][0]) == address);
        found.unwrap_or_else(|| panic!("no block at {address}"))
    };
    assert_eq!(block_at("401900")[4], 8033);
    assert_eq!(block_at("401923")[4], 8041);
    assert_eq!(text(&block_at("401900")[6][0][1]), "fld1");
    assert_eq!(block_at("401923")[6][0][2][1], 32, "while (table->slots[at] != 0 … of rehash.c");
    let spent: u64 = blocks.iter().map(|block| block[0].as_u64().expect("a time")).sum();
    let duration = outlier["duration"].as_u64().expect("a length");
    assert!(spent <= duration && spent * 10 > duration * 8, "{spent} of {duration}");
    // The emulated core runs at one ratio: cycles are the TSC's ticks.
    let tsc_hz = capture.truth()["tsc_hz"].as_u64().expect("the TSC's rate");
    let (time, cycles) =
        (block_at("401900")[0].as_u64().unwrap_or(0), block_at("401900")[2].as_u64().unwrap_or(0));
    assert!((time * tsc_hz / 1_000_000_000).abs_diff(cycles) <= 3, "{time} ns, {cycles} cycles");
}

/// `perf script -i preempt/perf.data --ns -F comm,tid,cpu,time,event,trace --time 0.5582,0.5594`: interval 23 begins at 0.558227805; at
/// 0.558237080 thread 120 wakes `comp-cfs` 122 on CPU 0, which CPU 1 switches to at 0.558281325 and back to `worker` 124 at 0.559377215.
#[test]
fn who_was_on_each_cpu_is_as_perf_prints_it() {
    let (outlier, texts) = drawn(&emulated("preempt"), "23");
    let runs = |cpu: usize| -> Vec<(u64, u64, i64, &str)> {
        let runs = outlier["machine"]["cpus"][cpu][1].as_array().expect("runs");
        let number = |value: &Value| value.as_u64().expect("a number");
        let name = |run: &Value| &*texts[usize::try_from(number(&run[3])).expect("small")];
        runs.iter()
            .map(|run| (number(&run[0]), number(&run[1]), run[2].as_i64().expect("a tid"), name(run)))
            .collect()
    };
    let whole = 1_168_701;
    assert_eq!(runs(0), [(0, whole, 120, "preempt-main 120")]);
    assert_eq!(
        runs(1),
        [
            (0, 53_520, 124, "worker 124"),
            (53_520, 1_095_890, 122, "comp-cfs 122"),
            (1_149_410, whole - 1_149_410, 124, "worker 124"),
        ]
    );
    assert_eq!(outlier["machine"]["wakes"], serde_json::json!([[9275, 0, 120, 122]]));
}
