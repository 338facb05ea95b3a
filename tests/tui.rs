//! The TUI in a real terminal: tmux runs it, sends keys and reads the screen.
//!
//! Each test has a tmux server of its own, on a socket in its own folder.

mod made_of;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::captures::{emulated, repository, tailtrace};

/// Longer than a decode takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const MARKER: &str = "<!-- screen of: tailtrace tui, keys ";

/// A terminal in which the program runs below a shell.
struct Terminal {
    folder: tempfile::TempDir,
}

impl Terminal {
    /// Starts `tailtrace tui` with `options` in the folder of the capture `preempt`.
    fn start((width, height): (u16, u16), environment: &str, options: &str) -> Terminal {
        let folder = tempfile::tempdir().expect("a folder");
        let terminal = Terminal { folder };
        let program = env!("CARGO_BIN_EXE_tailtrace");
        // The shell prints the terminal's settings before and after, and how the program ended.
        let line = format!(
            "echo a line before; stty -g > '{0}/before'; \
             sh -c 'echo $$ > {0}/pid; exec env -u NO_COLOR LC_ALL=C.UTF-8 {environment} {program} tui {options}'; \
             echo exit $?; stty -g > '{0}/after'; echo done; sleep 1000",
            terminal.folder.path().display()
        );
        terminal.open((width, height), &line);
        terminal
    }

    /// An interactive shell that finds the program, in the folder of the capture `preempt`; `$F` is its own folder.
    fn of_shell(size: (u16, u16)) -> Terminal {
        let terminal = Terminal { folder: tempfile::tempdir().expect("a folder") };
        let program = Path::new(env!("CARGO_BIN_EXE_tailtrace")).parent().expect("a folder").display();
        let own = terminal.folder.path().display();
        let shell =
            format!("F='{own}' LC_ALL=C.UTF-8 PS1='$ ' PATH='{program}':\"$PATH\" exec bash --norc -i");
        terminal.open(size, &shell);
        terminal
    }

    fn open(&self, (width, height): (u16, u16), line: &str) {
        let (width, height) = (width.to_string(), height.to_string());
        let capture = emulated("preempt").root;
        let size = ["-f", "/dev/null", "new-session", "-d", "-x", &width, "-y", &height, "-c"];
        let started = self.tmux(&[&size[..], &[&capture.to_string_lossy(), line]].concat());
        assert!(started.status.success(), "tmux: {}", String::from_utf8_lossy(&started.stderr));
        self.tmux(&["set", "-g", "set-clipboard", "on"]);
    }

    /// The bundled capture with all it needs.
    fn on_capture(size: (u16, u16), environment: &str, more: &str) -> Terminal {
        let files = "-i perf.data --symfs symfs --intervals intervals.csv";
        Terminal::start(size, environment, &format!("{files} {more}"))
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        let socket = self.folder.path().join("socket");
        let mut command = Command::new("tmux");
        command.env_remove("TMUX").arg("-S").arg(socket).args(arguments);
        command.output().expect("tmux runs: scripts/setup installs it")
    }

    fn keys(&self, keys: &[&str]) {
        for key in keys {
            self.tmux(&["send-keys", key]);
        }
    }

    fn screen(&self) -> String {
        String::from_utf8(self.tmux(&["capture-pane", "-p"]).stdout).expect("UTF-8")
    }

    /// Waits until the screen holds `text`, and gives it.
    fn wait_for(&self, text: &str) -> String {
        let begin = Instant::now();
        loop {
            let screen = self.screen();
            if screen.contains(text) {
                return screen;
            }
            assert!(begin.elapsed() < PATIENCE, "no {text:?} on the screen:\n{screen}");
            sleep(Duration::from_millis(50));
        }
    }

    /// Waits for the program's end; the terminal must be as it was before.
    fn ended_with(&self, status: &str) -> String {
        let screen = self.wait_for("done");
        assert!(screen.contains("a line before"), "the screen before is back:\n{screen}");
        assert!(screen.contains(&format!("exit {status}\n")), "exit {status}:\n{screen}");
        let settings = |name| fs::read_to_string(self.folder.path().join(name)).expect("stty ran");
        assert_eq!(settings("before"), settings("after"), "the terminal's settings");
        screen
    }

    fn pid(&self) -> String {
        fs::read_to_string(self.folder.path().join("pid")).expect("a pid").trim().to_owned()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// Presses a key once the screen shows what came of the one before.
fn walk(terminal: &Terminal, steps: &[(&str, &str)]) {
    for (key, shows) in steps {
        terminal.keys(&[key]);
        terminal.wait_for(shows);
    }
}

/// The fault is in the thread that decodes.
#[test]
fn a_capture_that_becomes_shorter_gives_the_terminal_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let copied = Command::new("cp").arg("-r").arg(emulated("preempt").perf_data).arg(folder.path()).status();
    assert!(copied.expect("cp runs").success());
    let data = folder.path().join("perf.data/data");
    let options = format!("-i {}/perf.data --symfs symfs --intervals intervals.csv", folder.path().display());
    let terminal = Terminal::start((200, 24), "", &options);
    terminal.wait_for("500 intervals");
    fs::OpenOptions::new().write(true).open(data).expect("opened").set_len(4096).expect("cut");
    walk(&terminal, &[("Enter", "10 of 500 listed")]);
    terminal.keys(&["Enter"]);
    let screen = terminal.ended_with("2");
    assert!(screen.contains("perf.data/data became shorter"), "{screen}");
}

#[test]
fn the_way_from_the_population_to_a_block() {
    let terminal = Terminal::on_capture((80, 24), "", "");
    let population = terminal.wait_for("500 intervals");
    assert!(population.contains("20 outliers") && population.contains("1168.701"), "{population}");
    walk(&terminal, &[("Enter", "10 of 500 listed"), ("Enter", "preempted for 1.10 ms")]);
    let verdict = terminal.wait_for("1 Verdict");
    assert!(verdict.contains("together, 1.17 ms"), "{verdict}");
    walk(
        &terminal,
        &[
            ("2", "record at 0x14bf8 CPU 1: switched out"),
            ("v", "all evidence"),
            ("x", "2 Timeline"),
            ("3", "process_item"),
            ("4", "PTWRITE"),
        ],
    );
    walk(&terminal, &[("/", "search:")]);
    // The flow opens at its longest run; the match after that is an interrupt.
    terminal.keys(&["process_item", "Enter", "N", "Space"]);
    terminal.wait_for("×");
    walk(
        &terminal,
        &[
            ("Enter", "process_item+"),
            ("3", "CYC 0x"),
            ("Escape", "PTWRITE"),
            ("5", "typical interval 1 of 16"),
        ],
    );
    walk(
        &terminal,
        &[("]", "typical interval 2 of 16"), ("?", "keys of the baseline"), ("x", "typical interval 2")],
    );
    terminal.keys(&["q"]);
    terminal.ended_with("0");
}

/// What is listed, and in which order, follows from the interval file: six of its lines lie above 1 ms at 2.6 GHz, the
/// next at 0.88 ms.
#[test]
fn the_list_is_narrowed_sorted_and_searched() {
    let text = fs::read_to_string(emulated("preempt").intervals()).expect("an interval file");
    let fields = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let tsc = |field: &str| field.parse::<u64>().expect("a TSC");
    let lengths = fields.enumerate().map(|(id, fields)| (tsc(fields[2]) - tsc(fields[1]), id.to_string()));
    let mut long: Vec<(u64, String)> = lengths.filter(|(ticks, _)| *ticks > 2_600_000).collect();
    long.sort_unstable();
    let terminal = Terminal::on_capture((120, 30), "", "");
    terminal.wait_for("20 outliers");
    walk(&terminal, &[("Enter", "10 of 500 listed"), ("a", "500 of 500 listed"), ("f", "filter:")]);
    terminal.keys(&[">1ms", "Enter"]);
    terminal.wait_for("6 of 500 listed, filter: >1ms");
    walk(&terminal, &[("r", "duration▲")]);
    let screen = terminal.screen();
    let listed = screen.lines().filter_map(|line| line.trim_start().strip_prefix("* "));
    let ids: Vec<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(ids, long.iter().map(|(_, id)| &**id).collect::<Vec<_>>(), "{screen}");
    walk(&terminal, &[("s", "at▲"), ("/", "search:")]);
    terminal.keys(&["104", "Enter", "Enter"]);
    terminal.wait_for("› preempt 104");
}

/// A length below a millisecond as it is shown: nanoseconds, or microseconds with three digits.
fn microseconds(ns: u64) -> String {
    let (hundredths, tenths) = ((ns + 5) / 10, (ns + 50) / 100);
    match (ns, hundredths) {
        (..1000, _) => format!("{ns} ns"),
        (_, ..1000) => format!("{}.{:02} us", hundredths / 100, hundredths % 100),
        _ => format!("{}.{} us", tenths / 10, tenths % 10),
    }
}

/// A BLPOP of redis waited for the server, which waited for another client, which slept. The lengths are those of
/// `explain --format json`, added up here.
#[test]
fn a_wait_is_followed_from_thread_to_thread() {
    let capture = emulated("redis");
    let arguments = ["--intervals", &capture.intervals(), "--id", "36", "--format", "json"];
    let report: Value =
        serde_json::from_slice(&capture.tailtrace("explain", &arguments).stdout).expect("JSON");
    let longest = |segments: &Value| {
        let segments = segments.as_array().expect("segments").iter();
        segments.max_by_key(|segment| segment["duration_ns"].as_u64()).expect("a segment").clone()
    };
    let wait = longest(&report["outliers"][0]["segments"]);
    let poll = longest(&wait["during"]);
    let sleep = longest(&poll["during"]);
    let took = |segment: &Value| microseconds(segment["duration_ns"].as_u64().expect("a length"));
    let root = capture.root.display();
    let files = format!("-i {root}/perf.data --symfs {root}/symfs --intervals {root}/intervals.csv --id 36");
    let terminal = Terminal::start((120, 40), "", &files);
    terminal.wait_for("120 intervals");
    walk(&terminal, &[("Enter", "1 of 120 listed"), ("Enter", "together"), ("2", "1 Verdict")]);
    let steps =
        [(&wait, "redis-server 140 in the"), (&poll, "rival 144 in the"), (&sleep, "interrupt in the")];
    for (segment, shows) in steps {
        terminal.keys(&["Enter"]);
        terminal.wait_for(&format!("{shows} {}", took(segment)));
    }
    walk(&terminal, &[("Escape", "rival 144 in the"), ("BSpace", "redis-server 140 in the")]);
    let screen = terminal.screen();
    for (part, words) in [
        ("waits", "waiting itself"),
        ("others-first", "working for others"),
        ("not-run", "ready but not running"),
        ("own-work", "working for this request"),
    ] {
        let rows = wait["serving"].as_array().expect("rows").iter().filter(|row| row["part"] == part);
        let sum = |key: &str| rows.clone().map(|row| row[key].as_u64().expect("a length")).sum::<u64>();
        let (own, typical) = (sum("duration_ns"), sum("typical_ns"));
        let sign = if own < typical { "-" } else { "+" };
        let typical_shown = if typical == 0 { "-".to_owned() } else { microseconds(typical) };
        let excess = format!("{sign}{}", microseconds(own.abs_diff(typical)));
        let expected = format!("{excess} {} {typical_shown} {words}", microseconds(own));
        let line = screen.lines().find(|line| line.ends_with(words)).unwrap_or_default();
        assert_eq!(line.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{screen}");
    }
    walk(&terminal, &[("Escape", "2 Timeline"), ("q", "done")]);
}

/// The packets of a block are those that perf finds at the same place of the same CPU's trace.
#[test]
fn packets_are_perfs() {
    let terminal = Terminal::on_capture((100, 40), "", "--id 23");
    terminal.wait_for("20 outliers");
    walk(&terminal, &[("Enter", "1 of 500 listed"), ("Enter", "together"), ("4", "PTWRITE")]);
    walk(&terminal, &[("Enter", "Disassembly"), ("3", "TNT ")]);
    let screen = terminal.screen();
    let shown: Vec<(u64, &str)> = screen.lines().filter_map(packet_on_screen).collect();
    assert!(shown.len() > 20, "a screen full of packets:\n{screen}");
    let perf_data = emulated("preempt").perf_data;
    let dump = Command::new("perf").args(["script", "-D", "-i"]).arg(perf_data).output().expect("perf runs");
    let dump = String::from_utf8_lossy(&dump.stdout);
    let packets = packets_of(&dump, "cpu: 1");
    for (offset, text) in shown {
        assert_eq!(packets.get(&offset), Some(&text), "at {offset:#x}");
    }
}

/// `▌      0x4489  CYC 0x360`.
fn packet_on_screen(line: &str) -> Option<(u64, &str)> {
    let (offset, text) = line.trim_start_matches(['▌', ' ']).strip_prefix("0x")?.split_once("  ")?;
    Some((u64::from_str_radix(offset, 16).ok()?, text.trim()))
}

/// From `perf script -D` the packets in the AUXTRACE records of a CPU, by their place in its trace. A record's line has
/// its place there after `offset:`; a packet's line has its own in the record, its bytes, and from column 62 on its text.
fn packets_of<'d>(dump: &'d str, cpu: &str) -> BTreeMap<u64, &'d str> {
    let mut packets = BTreeMap::new();
    let mut base = None;
    for line in dump.lines() {
        if let Some((_, record)) = line.split_once("PERF_RECORD_AUXTRACE size: ") {
            let offset = record.split("offset: ").nth(1).and_then(|rest| rest.split_whitespace().next());
            let offset =
                offset.and_then(|offset| u64::from_str_radix(offset.trim_start_matches("0x"), 16).ok());
            base = offset.filter(|_| record.ends_with(cpu));
        } else if let (Some(base), Some(packet)) = (base, line.strip_prefix(".  "))
            && let (Some(offset), Some(text)) = (packet.get(..8), line.get(62..))
            && let Ok(offset) = u64::from_str_radix(offset, 16)
        {
            packets.insert(base + offset, text.trim());
        }
    }
    packets
}

/// Every verdict in the list is the one that `explain` gives, and comes without a key.
#[test]
fn verdicts_are_those_of_explain() {
    let terminal = Terminal::on_capture((200, 40), "", "");
    terminal.wait_for("20 outliers");
    walk(&terminal, &[("Enter", "10 of 500 listed")]);
    let capture = emulated("preempt");
    let output = capture.tailtrace("explain", &["--intervals", &capture.intervals(), "--format", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let outliers = report["outliers"].as_array().expect("outliers");
    assert_eq!(outliers.len(), 10);
    for outlier in outliers {
        let headline = outlier["headline"].as_str().expect("a headline");
        let (_, cause) = headline.split_once(": ").expect("a cause");
        let shown: String = cause.chars().take(100).collect();
        let id = outlier["id"].to_string();
        // Several may read alike, and they come one after the other.
        let is_its = |line: &str| line.contains(&shown) && line.split_whitespace().nth(1) == Some(&*id);
        let begin = Instant::now();
        while !terminal.screen().lines().any(is_its) {
            assert!(begin.elapsed() < PATIENCE, "{id}: {shown}:\n{}", terminal.screen());
            sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn it_follows_the_size_of_the_terminal() {
    let terminal = Terminal::on_capture((80, 24), "", "");
    terminal.wait_for("20 outliers");
    walk(&terminal, &[("Enter", "10 of 500 listed"), ("Enter", "together"), ("2", "switched out")]);
    for (width, height) in [(200, 60), (60, 15), (120, 40)] {
        terminal.tmux(&["resize-window", "-x", &width.to_string(), "-y", &height.to_string()]);
        let fills = |screen: &str| {
            let title = screen.lines().next().unwrap_or("").chars().count();
            screen.lines().count() == height && title == width - 1
        };
        let begin = Instant::now();
        while !fills(&terminal.screen()) {
            assert!(begin.elapsed() < PATIENCE, "{width}x{height}:\n{}", terminal.screen());
            sleep(Duration::from_millis(50));
        }
        terminal.wait_for("offcpu.preempted");
    }
    terminal.tmux(&["resize-window", "-x", "20", "-y", "5"]);
    terminal.wait_for("20 by 5 is too sma");
}

/// The command that lands on the clipboard runs as it is.
#[test]
fn copied_commands_can_be_pasted() {
    let terminal = Terminal::on_capture((100, 30), "", "");
    terminal.wait_for("20 outliers");
    walk(&terminal, &[("Enter", "10 of 500 listed"), ("Enter", "together"), ("y", "for a ticket")]);
    walk(&terminal, &[("1", "copied: tailtrace explain")]);
    let begin = Instant::now();
    let copied = loop {
        let buffer = terminal.tmux(&["show-buffer"]);
        if buffer.status.success() {
            break String::from_utf8(buffer.stdout).expect("UTF-8");
        }
        assert!(begin.elapsed() < PATIENCE, "nothing on the clipboard");
        sleep(Duration::from_millis(50));
    };
    assert_eq!(copied, "tailtrace explain -i perf.data --symfs symfs --intervals intervals.csv --id 23");
    let program = Path::new(env!("CARGO_BIN_EXE_tailtrace"));
    let path = format!("{}:/usr/bin:/bin", program.parent().expect("a folder").display());
    let root = emulated("preempt").root;
    let output = Command::new("/bin/sh").args(["-c", &copied]).env("PATH", path).current_dir(root).output();
    let output = output.expect("sh runs");
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("offcpu.preempted"));
}

/// The bundle of an interval explains itself, and the page is a page.
#[test]
fn an_interval_is_written_to_files() {
    let terminal = Terminal::on_capture((100, 30), "", "");
    terminal.wait_for("20 outliers");
    walk(
        &terminal,
        &[("Enter", "10 of 500 listed"), ("Enter", "together"), ("w", "into the current folder")],
    );
    walk(&terminal, &[("2", "wrote interval-23.tar.zst"), ("w", "into the current folder")]);
    walk(&terminal, &[("Enter", "wrote interval-23.html"), ("w", "into the current folder")]);
    walk(&terminal, &[("3", "wrote interval-23.perf.data")]);
    let root = emulated("preempt").root;
    let explained = tailtrace().arg("explain").arg(root.join("interval-23.tar.zst")).output().expect("runs");
    assert_eq!(explained.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&explained.stdout).contains("offcpu.preempted"));
    let page = fs::read_to_string(root.join("interval-23.html")).expect("a page");
    assert!(page.starts_with("<!doctype html>") && page.contains("offcpu.preempted"));
    // Both open here, too, and say the same.
    let of_slice = "-i interval-23.perf.data --symfs symfs --intervals intervals.csv --id 23";
    for options in ["interval-23.tar.zst", of_slice] {
        let terminal = Terminal::start((100, 30), "", options);
        terminal.wait_for("Enter the list of outliers");
        walk(&terminal, &[("Enter", "listed"), ("Enter", "preempted for 1.10 ms")]);
    }
}

#[test]
fn signals_leave_the_terminal_as_it_was() {
    for (signal, status) in [("TERM", "143"), ("INT", "130"), ("HUP", "129")] {
        let terminal = Terminal::on_capture((80, 24), "", "");
        terminal.wait_for("20 outliers");
        let killed = Command::new("kill").args(["-s", signal, &terminal.pid()]).status().expect("kill runs");
        assert!(killed.success());
        terminal.ended_with(status);
    }
}

/// Ctrl-Z gives the shell its terminal, `fg` the program its screen.
#[test]
fn it_can_be_suspended() {
    let terminal = Terminal::of_shell((80, 24));
    terminal.keys(&[
        "stty -g > $F/before; tailtrace tui -i perf.data --symfs symfs --intervals intervals.csv",
        "Enter",
    ]);
    terminal.wait_for("20 outliers");
    for _ in 0..2 {
        walk(&terminal, &[("C-z", "Stopped")]);
        terminal.keys(&["clear; stty -g | cmp - $F/before && echo same$((40 + 2))", "Enter"]);
        let shell = terminal.wait_for("same42");
        assert!(!shell.contains("20 outliers"), "{shell}");
        terminal.keys(&["fg", "Enter"]);
        terminal.wait_for("20 outliers");
    }
    // Ctrl-L draws anew what somebody else wrote over.
    walk(&terminal, &[("C-l", "20 outliers"), ("Enter", "10 of 500 listed"), ("q", "$")]);
    terminal.keys(&["clear; stty -g | cmp - $F/before && echo same$((40 + 2))", "Enter"]);
    terminal.wait_for("same42");
}

#[test]
fn errors_are_told_on_the_terminal_as_it_was() {
    let terminal = Terminal::start((80, 24), "", "-i perf.data --intervals /nowhere.csv");
    let screen = terminal.ended_with("2");
    assert!(screen.contains("tailtrace: ") && screen.contains("/nowhere.csv"), "{screen}");
}

/// Twenty intervals of another clock among those of the capture, then those alone.
#[test]
fn intervals_of_another_clock_are_counted_or_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = fs::read_to_string(emulated("preempt").intervals()).expect("an interval file");
    let (header, rows) = text.split_once('\n').expect("a header");
    let far = "far,1,51,120,124\n".repeat(20);
    let file = |name: &str, rows: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("{header}\n{rows}")).expect("written");
        path.display().to_string()
    };
    let (some, none) = (file("some.csv", &format!("{rows}{far}")), file("none.csv", &far));
    let start = |intervals: &str| {
        Terminal::start((120, 24), "", &format!("-i perf.data --symfs symfs --intervals {intervals}"))
    };
    start(&some).wait_for("520 intervals (500 of 520 lie in the recording)");
    let screen = start(&none).ended_with("2");
    assert!(screen.contains("0 of 20 intervals lie in the recording"), "{screen}");
}

/// An interval without an end: its verdict and its timeline come, and it can be left.
#[test]
fn an_interval_without_an_end_is_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = fs::read_to_string(emulated("preempt").intervals()).expect("an interval file");
    let (header, rows) = text.split_once('\n').expect("a header");
    let first = rows.split(',').nth(1).expect("a start");
    let path = folder.path().join("endless.csv");
    fs::write(&path, format!("{header}\nx,{first},{},120,124\n", u64::MAX)).expect("written");
    let intervals = path.display();
    let options = format!("-i perf.data --symfs symfs --intervals {intervals} --top 1");
    let terminal = Terminal::start((100, 30), "", &options);
    terminal.wait_for("1 interval");
    walk(
        &terminal,
        &[("Enter", "1 of 1 listed"), ("Enter", "together"), ("2", "segment"), ("3", "function")],
    );
    terminal.keys(&["q"]);
    terminal.ended_with("0");
}

#[test]
fn no_color_is_obeyed() {
    let coloured = |environment: &str| {
        let terminal = Terminal::on_capture((100, 30), environment, "");
        terminal.wait_for("20 outliers");
        walk(&terminal, &[("Enter", "10 of 500 listed"), ("Enter", "together"), ("2", "PPPPPPP")]);
        let screen = String::from_utf8(terminal.tmux(&["capture-pane", "-p", "-e"]).stdout).expect("UTF-8");
        let codes = screen.split("\u{1b}[").skip(1).filter_map(|part| part.split_once('m'));
        let colour = |code: &str| matches!(code.parse(), Ok(30..=38 | 40..=48 | 90..=107));
        codes.filter(|(codes, _)| codes.split(';').any(colour)).count()
    };
    assert!(coloured("TERM=tmux-256color") > 4);
    assert_eq!(coloured("TERM=tmux-256color NO_COLOR=1"), 0);
}

#[test]
fn without_a_terminal_it_says_what_to_do() {
    let output = tailtrace().args(["tui", "-i", "perf.data"]).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("tailtrace explain") && stderr.lines().count() == 1, "{stderr}");
    assert!(output.stdout.is_empty());
}

/// The document's screen is what a terminal shows. `TAILTRACE_BLESS=1` writes it anew; read it before you commit.
#[test]
fn the_screen_in_the_document_is_real() {
    let path: PathBuf = repository().join("docs/tui.md");
    let document = fs::read_to_string(&path).expect("the document is there");
    let (before, rest) = document.split_once(MARKER).expect("it has the marker");
    let (keys, rest) = rest.split_once(" -->\n```text\n").expect("a block follows the marker");
    let (shown, after) = rest.split_once("```").expect("the block ends");
    let terminal = Terminal::on_capture((100, 26), "", "--top 3");
    terminal.wait_for("20 outliers");
    walk(&terminal, &[("Enter", "3 of 500 listed"), ("Enter", "together")]);
    terminal.keys(&keys.split(' ').skip(2).collect::<Vec<_>>());
    let screen = terminal.wait_for("switched in");
    let screen = screen.lines().fold(String::new(), |all, line| all + line.trim_end() + "\n");
    if std::env::var_os("TAILTRACE_BLESS").is_some() {
        let text = format!("{before}{MARKER}{keys} -->\n```text\n{screen}```{after}");
        fs::write(&path, text).expect("written");
        return;
    }
    assert_eq!(shown, screen, "set TAILTRACE_BLESS=1 to write it anew");
}

/// A press of the left button at this column and row, from 1, as xterm reports it (SGR, mode 1006); 2 is the right one, 64 and 65 are
/// the wheel.
fn mouse(terminal: &Terminal, button: u8, (column, row): (u16, u16)) {
    terminal.tmux(&["send-keys", "-l", &format!("\u{1b}[<{button};{column};{row}M")]);
}

#[test]
fn the_mouse_moves_opens_and_goes_back() {
    let terminal = Terminal::on_capture((100, 30), "", "");
    terminal.wait_for("500 intervals");
    mouse(&terminal, 0, (10, 12));
    let screen = terminal.wait_for("10 of 500 listed");
    // The second of the list, by its place on the screen; a click goes there, another one opens it.
    let first = screen.lines().position(|line| line.contains(" * "));
    let row = u16::try_from(first.expect("a chosen interval") + 2).expect("a row");
    let second = screen.lines().nth(usize::from(row) - 1).expect("a line").to_owned();
    let words: Vec<&str> = second.split_whitespace().collect();
    let (id, label) = (words[1], words[2]);
    mouse(&terminal, 0, (20, row));
    mouse(&terminal, 0, (20, row));
    terminal.wait_for(&format!("› {label} {id} "));
    // The headline has its lines once the interval is explained.
    let screen = terminal.wait_for("excess");
    let tabs = screen.lines().position(|line| line.contains("1 Verdict   2 Timeline")).expect("the parts");
    mouse(&terminal, 0, (17, u16::try_from(tabs + 1).expect("a row")));
    terminal.wait_for("share segment");
    mouse(&terminal, 2, (1, 1));
    terminal.wait_for("10 of 500 listed");
    mouse(&terminal, 65, (1, 10));
    terminal.keys(&["q"]);
    terminal.ended_with("0");
}
