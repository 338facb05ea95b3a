//! Whose garbage collector a function is: a name alone does not say, for storage engines collect garbage, too.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::captures::Capture;

/// Requests of a program, of which the last one calls `gc_start` for 20 us.
fn requests_to(program: &str) -> String {
    format!(
        "
code {program} 0x401000
  main: mov ecx, 100
  .serve: dec ecx
        jnz short .serve
  .served: test eax, eax
        jz short idle
        call gc_start
  idle: pause
        jmp main
  skip 16
  gc_start: mov ecx, 1000
  .mark: dec ecx
        jnz short .mark
        ret

thread worker 100/101

cpu 0
  at 10us
  runs worker
  trace on main
  repeat 10
    begin request
    run to idle branches T99NT for 2us
    end
    run to main for 500ns
  done
  begin request
  run to idle branches T99NNT999N for 22us
  end
  run to main for 500ns
"
    )
}

/// The cause with the largest excess of the last request.
fn first_cause(folder: &Path, program: &str) -> String {
    let scenario = folder.join("requests.scenario");
    fs::write(&scenario, requests_to(program)).expect("written");
    let capture = Capture::of_scenario(&scenario, folder.join("made"));
    let arguments = ["--intervals", &capture.intervals(), "--id", "10", "--format", "json"];
    let output = capture.tailtrace("explain", &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let cause = &report["outliers"][0]["causes"][0]["cause"];
    cause.as_str().expect("a cause").to_owned()
}

#[test]
fn gc_start_is_rubys_in_rubys_files_alone() {
    for (program, cause) in [
        ("/usr/bin/ruby3.1", "runtime.gc.ruby"),
        ("/usr/lib/libruby-3.1.so.3.1", "runtime.gc.ruby"),
        ("/usr/bin/storaged", "user.extra-work"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(first_cause(folder.path(), program), cause, "{program}");
    }
}
