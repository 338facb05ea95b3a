//! A stripped binary whose debug file only a server has.
//!
//! The server is a thread of this test; the question is asked in a process of its own, because elfutils takes the
//! server's address from the environment.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use model::{BuildId, MapEvent, Mapping, Pid, Tsc};
use tailtrace_symbols::{ProcessImages, SearchPath};

const CHILD: &str = "TAILTRACE_TEST_STRIPPED";
const ID: &str = "00112233445566778899aabbccddeeff00112233";
const BASE: u64 = 0x5555_0000_0000;

fn run(tool: &str, arguments: &[&str]) {
    assert!(
        Command::new(tool).args(arguments).status().expect("the tool runs").success(),
        "{tool} {arguments:?}"
    );
}

/// Answers every request for a debug file or an executable, of whatever build ID, with the one there is.
fn serve(mut stream: TcpStream, debug_file: &Path, executable: &Path) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let wanted = [("/debuginfo ", debug_file), ("/executable ", executable)];
    let Some((_, file)) = wanted.into_iter().find(|(kind, _)| request.contains(kind)) else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    let bytes = std::fs::read(file)?;
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len())?;
    stream.write_all(&bytes)
}

#[test]
fn a_server_gives_a_stripped_binary_its_names() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = |name: &str| dir.path().join(name).to_str().expect("UTF-8").to_owned();
    let (program, debug) = (path("program"), path("elsewhere.debug"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program.c");
    let id = format!("-Wl,--build-id=0x{ID}");
    run("cc", &[source, "-o", &program, "-O2", "-g", "-fPIE", "-pie", &id]);
    run("objcopy", &["--only-keep-debug", &program, &debug]);
    run("objcopy", &["--strip-all", &program]);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (served, executable) = (PathBuf::from(&debug), PathBuf::from(&program));
    // Ends with the process.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that hangs up is its own affair.
            let _ = serve(stream, &served, &executable);
        }
    });
    for (servers, expected) in [(format!("http://127.0.0.1:{port}"), "named"), (String::new(), "nameless")] {
        let child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "asked_in_a_process_of_its_own", "--nocapture"])
            .env(CHILD, &program)
            .env("DEBUGINFOD_URLS", servers)
            .env("DEBUGINFOD_CACHE_PATH", dir.path().join(format!("cache-{expected}")))
            .output()
            .expect("this test");
        let said = String::from_utf8_lossy(&child.stdout);
        assert_eq!(
            said.matches(&format!("is {expected}")).count(),
            2,
            "{said}\n{}",
            String::from_utf8_lossy(&child.stderr)
        );
    }
}

/// The child's half; does nothing when it runs as a test.
#[test]
fn asked_in_a_process_of_its_own() {
    let Some(program) = std::env::var_os(CHILD) else { return };
    let length = std::fs::metadata(&program).expect("the program").len();
    let build_id = BuildId::new(&hex(ID)).expect("an id");
    // Once the binary is here and lacks its symbols; once nothing is here.
    let cases = [(program.to_str().expect("UTF-8"), None), ("/nowhere/program", Some(build_id))];
    for (path, build_id) in cases {
        let range = BASE..BASE + length;
        let mapping =
            Mapping { pid: Pid(1), range, file_offset: 0, path: path.to_owned(), build_id, inode: None };
        let search = SearchPath { debuginfod: true, ..SearchPath::default() };
        let images = ProcessImages::new(search, vec![(Tsc(0), MapEvent::Map(mapping))], Vec::new());
        let found = images.addresses_of(Pid(1), "local_function", Tsc(1));
        let lines = found.first().map(|&address| images.lines(Pid(1), address, Tsc(1))).unwrap_or_default();
        let has_line = lines.first().is_some_and(|frame| frame.line.is_some());
        println!("{path} is {}", if found.len() == 1 && has_line { "named" } else { "nameless" });
    }
}

fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u32> = digits.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).filter_map(|pair| u8::try_from(pair[0] << 4 | pair[1]).ok()).collect()
}
