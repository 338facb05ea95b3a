//! The calls of a function by the native engine, which passes by what is of none, against those by libipt's, which gives all blocks.

use serde_json::Value;

use crate::captures::{Capture, emulated, tailtrace};

/// What `stat` says of the calls of `function`: their figures, and warnings.
fn calls(capture: &Capture, function: &str, engine: &str) -> [Value; 2] {
    let (data, symfs) = (capture.perf_data.to_string_lossy(), capture.symfs.to_string_lossy());
    let caches = tempfile::tempdir().expect("a folder");
    let arguments = ["stat", "-i", &data, "--symfs", &symfs, "--function", function, "--format", "json"];
    let mut command = tailtrace();
    command.args(arguments).args(["--engine", engine]).env("XDG_CACHE_HOME", caches.path());
    let output = command.output().expect("tailtrace runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    ["population", "diagnostics"].map(|key| said[key].clone())
}

/// Both say the same of each function, which has so many calls at least.
fn check(capture: &'static str, functions: &[(&str, u64)]) {
    let capture = emulated(capture);
    for &(function, least) in functions {
        let [libipt, native] = ["libipt", "native"].map(|engine| calls(&capture, function, engine));
        assert_eq!(native, libipt, "{function}");
        let found = native[0]["count"].as_u64().unwrap_or(0);
        assert!(found >= least, "{function}: {found} calls");
    }
}

/// Called by itself, on one CPU and back on another; by a retpoline (perf has 1,157 softirqs of the network, of which 1,026 lie in the trace);
/// by a jump of another function.
#[test]
fn calls_of_the_kernel() {
    check("tcp", &[("schedule", 1000), ("net_rx_action", 1000), ("tcp_sendmsg", 800)]);
}

/// Called directly, and by a pointer.
#[test]
fn calls_of_a_server() {
    check("redis", &[("call", 100), ("readQueryFromClient", 100)]);
}
