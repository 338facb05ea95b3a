//! Events of `LTTng` in a CTF trace beside a recording by the real perf, against marks of `tailtrace.h` around them: pair for pair the same
//! intervals, to the bound of the clocks.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::captures::repository;
use crate::event_pairs::as_root;
use crate::marked_spans::{Both, assert_enclosed};
use crate::no_pt::{NEEDS, run};

/// A session of `LTTng` in a folder, and its daemon where none was there; both end with it.
struct Session {
    name: String,
    daemon: Option<Child>,
}

const NEEDS_LTTNG: &str =
    "this test needs LTTng (Debian: lttng-tools, liblttng-ust-dev), and root or sudo without a password";

impl Session {
    /// Starts to trace the events `shop:*` into `trace`.
    fn start(trace: &Path) -> Session {
        let name = format!("tailtrace-{}", std::process::id());
        let is_up =
            || as_root(&["lttng", "--no-sessiond", "list"]).output().is_ok_and(|said| said.status.success());
        let mut daemon = None;
        if !is_up() {
            let mut command = as_root(&["lttng-sessiond", "--no-kernel"]);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            daemon = Some(command.spawn().expect(NEEDS_LTTNG));
        }
        let begun = Instant::now();
        while !is_up() {
            assert!(begun.elapsed() < Duration::from_secs(30), "{NEEDS_LTTNG}: its daemon does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        let session = Session { name, daemon };
        let output = format!("--output={}", trace.display());
        for words in [
            &["create", &session.name, &output][..],
            &["enable-channel", "-u", "-s", &session.name, "--subbuf-size=65536", "shop"],
            &["enable-event", "-u", "-s", &session.name, "-c", "shop", "shop:*"],
            &["add-context", "-u", "-s", &session.name, "-t", "vpid", "-t", "vtid"],
            &["start", &session.name],
        ] {
            run(as_root(&["lttng"]).args(words), NEEDS_LTTNG);
        }
        session
    }

    /// What was traced is in the folder then.
    fn end(self, folder: &Path) {
        run(as_root(&["lttng"]).args(["destroy", &self.name]), NEEDS_LTTNG);
        run(as_root(&["chmod", "-R", "a+rX"]).arg(folder), NEEDS);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = as_root(&["lttng"]).args(["destroy", &self.name]).output();
        if let Some(daemon) = &mut self.daemon {
            let _ = as_root(&["kill", &daemon.id().to_string()]).output();
            let _ = daemon.wait();
        }
    }
}

/// Two threads of 20 orders with a step each, and 5 transfers from one thread to another, traced by `LTTng-UST` while perf records.
#[test]
fn lttngs_pairs_of_events_are_the_marked_intervals() {
    let folder = TempDir::new().expect("a folder");
    let (program, trace) = (folder.path().join("shop"), folder.path().join("trace"));
    let sources = repository().join("fixtures/programs");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-O2", "-Wall", "-DMARKS", "-I"]).arg(&sources).arg("-I");
    compiler.arg(repository().join("crates/marks/include")).arg(sources.join("shop_events.c")).arg("-o");
    run(compiler.arg(&program).args(["-llttng-ust", "-ldl", "-lpthread"]), NEEDS_LTTNG);
    let session = Session::start(&trace);
    let both = Both::record(folder.path(), &[], &["./shop"]);
    session.end(folder.path());
    for (label, count) in [("order", 40), ("step", 40), ("transfer", 5)] {
        let spans = both.intervals("trace", &format!("shop:{label}"), count);
        assert_eq!(assert_enclosed(&spans, &both.intervals("shop.marks", label, count)), count);
    }
    let slowest = &both.report("trace", "shop:step", 40)["outliers"][0];
    let headline = slowest["headline"].as_str().expect("a text");
    assert!(headline.contains("slept"), "{headline}");
}
