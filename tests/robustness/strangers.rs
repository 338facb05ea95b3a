//! Bundles of strangers: explaining one looks at nothing else of this machine, and asks nobody.

use std::net::TcpListener;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use super::packing::record;
use crate::captures::tailtrace;

/// A bundle without binaries, of a program that lies at its recorded place with the recorded build ID.
struct Stranger {
    folder: tempfile::TempDir,
}

impl Stranger {
    fn new() -> Stranger {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("program");
        record(folder.path(), &program, "");
        let copy = folder.path().join("symfs").join(program.strip_prefix("/").expect("absolute"));
        std::fs::copy(copy, &program).expect("copied");
        let stranger = Stranger { folder };
        let chosen = ["-i", "perf.data", "--intervals", "intervals.csv", "--top", "1", "-o", "ticket"];
        let output = stranger.run(&[&["bundle", "--no-binaries"][..], &chosen].concat(), None);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        stranger
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn run(&self, arguments: &[&str], servers: Option<&str>) -> Output {
        let mut process = tailtrace();
        process.current_dir(self.path()).env("HOME", self.path()).args(arguments);
        process.env("DEBUGINFOD_CACHE_PATH", self.path().join("cache")).env("DEBUGINFOD_TIMEOUT", "1");
        match servers {
            Some(servers) => process.env("DEBUGINFOD_URLS", servers),
            None => process.env_remove("DEBUGINFOD_URLS"),
        };
        process.output().expect("tailtrace runs")
    }
}

#[test]
fn a_program_at_its_recorded_place_does_not_serve_for_a_bundle() {
    let stranger = Stranger::new();
    let chosen = ["-i", "perf.data", "--intervals", "intervals.csv", "--top", "1"];
    let local = stranger.run(&[&["explain"][..], &chosen].concat(), None);
    let text = String::from_utf8_lossy(&local.stdout);
    assert!(text.contains("500 ns in the code of work()"), "the capture finds it: {text}");
    let output = stranger.run(&["explain", "ticket"], None);
    let (text, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("is missing: its code is a gap"), "{said}");
    assert!(!text.contains(", in main"), "{text}");
}

#[test]
fn a_bundle_asks_no_server_unless_the_user_says_so() {
    let stranger = Stranger::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("it can");
    let servers = format!("http://{}", listener.local_addr().expect("an address"));
    std::fs::remove_file(stranger.path().join("program")).expect("removed");
    let asked = |arguments: &[&str]| {
        stranger.run(arguments, Some(&servers));
        std::thread::sleep(Duration::from_millis(1));
        let mut count = 0;
        while listener.accept().is_ok() {
            count += 1;
        }
        count > 0
    };
    assert!(!asked(&["explain", "ticket"]), "a bundle");
    assert!(asked(&["explain", "ticket", "--debuginfod"]), "a bundle, with --debuginfod");
    assert!(
        asked(&["explain", "-i", "perf.data", "--intervals", "intervals.csv", "--top", "1"]),
        "a capture"
    );
}
