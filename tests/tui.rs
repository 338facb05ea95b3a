//! The TUI in a real terminal: tmux runs it, sends keys and reads the screen.
//!
//! Each test has a tmux server of its own, on a socket in its own folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

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
        // The shell tells the terminal's settings before and after, and how the program ended.
        let line = format!(
            "echo a line before; stty -g > '{0}/before'; \
             sh -c 'echo $$ > {0}/pid; exec env -u NO_COLOR LC_ALL=C.UTF-8 {environment} {program} tui {options}'; \
             echo exit $?; stty -g > '{0}/after'; echo done; sleep 1000",
            terminal.folder.path().display()
        );
        let (width, height) = (width.to_string(), height.to_string());
        let capture = emulated("preempt").root;
        let size = ["-f", "/dev/null", "new-session", "-d", "-x", &width, "-y", &height, "-c"];
        let started = terminal.tmux(&[&size[..], &[&capture.to_string_lossy(), &line]].concat());
        assert!(started.status.success(), "tmux: {}", String::from_utf8_lossy(&started.stderr));
        terminal.tmux(&["set", "-g", "set-clipboard", "on"]);
        terminal
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

#[test]
fn the_way_from_the_population_to_a_block() {
    let terminal = Terminal::on_capture((80, 24), "", "");
    let population = terminal.wait_for("500 intervals");
    assert!(population.contains("20 outliers") && population.contains("1168.701"), "{population}");
    walk(&terminal, &[("Enter", "10 of 500 listed"), ("Enter", "+1.10 ms offcpu.preempted")]);
    let verdict = terminal.wait_for("1 Verdict");
    assert!(verdict.contains("together, 1.17 ms"), "{verdict}");
    walk(
        &terminal,
        &[("2", "record at 0x14bf8 CPU 1: switched out"), ("3", "process_item"), ("4", "PTWRITE")],
    );
    walk(&terminal, &[("/", "search:")]);
    terminal.keys(&["process_item", "Enter", "Space"]);
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

/// Every verdict in the list is the one that `explain` gives.
#[test]
fn verdicts_are_those_of_explain() {
    let terminal = Terminal::on_capture((200, 40), "", "");
    terminal.wait_for("20 outliers");
    walk(&terminal, &[("Enter", "10 of 500 listed")]);
    terminal.keys(&["e"]);
    let capture = emulated("preempt");
    let output = capture.tailtrace("explain", &["--intervals", &capture.intervals(), "--format", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let outliers = report["outliers"].as_array().expect("outliers");
    assert_eq!(outliers.len(), 10);
    for outlier in outliers {
        let headline = outlier["headline"].as_str().expect("a headline");
        let (_, cause) = headline.split_once("; ").expect("a cause");
        let shown: String = cause.chars().take(100).collect();
        let screen = terminal.wait_for(&shown);
        let line = screen.lines().find(|line| line.contains(&shown)).expect("its line");
        let id = outlier["id"].to_string();
        assert_eq!(line.split_whitespace().nth(1), Some(&*id), "{line}");
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

#[test]
fn errors_are_told_on_the_terminal_as_it_was() {
    let terminal = Terminal::start((80, 24), "", "-i perf.data --intervals /nowhere.csv");
    let screen = terminal.ended_with("2");
    assert!(screen.contains("tailtrace: ") && screen.contains("/nowhere.csv"), "{screen}");
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

/// The README's screen is what a terminal shows. `TAILTRACE_BLESS=1` writes it anew; read it before you commit.
#[test]
fn the_screen_in_the_readme_is_real() {
    let path: PathBuf = repository().join("README.md");
    let readme = fs::read_to_string(&path).expect("the README is there");
    let (before, rest) = readme.split_once(MARKER).expect("the README has the marker");
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
