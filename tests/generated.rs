//! Help, completions, man pages, the header of marks, and the bar that is drawn on a terminal only.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use crate::captures::{emulated, repository, tailtrace};

/// All commands that the help lists; it adds its own, `help`.
pub(crate) fn commands() -> Vec<String> {
    let help = printed(&["--help"]);
    let (_, commands) = help.split_once("Commands:\n").expect("commands");
    let (commands, _) = commands.split_once("\n\n").expect("options after them");
    // A description that goes on is indented deeper.
    let names = commands.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(' '));
    let names = names.map(|(name, _)| name.to_owned()).filter(|name| !name.is_empty() && name != "help");
    names.collect()
}

fn printed(arguments: &[&str]) -> String {
    let output = tailtrace().args(arguments).output().expect("tailtrace runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Every line of the examples that is a command begins with the program and names the command it stands below.
#[test]
fn each_command_has_examples() {
    for command in &commands() {
        let help = printed(&[command, "--help"]);
        let (_, examples) =
            help.split_once("Examples:\n").unwrap_or_else(|| panic!("{command} has no examples"));
        let mut lines = examples.lines().filter(|line| !line.trim().is_empty()).peekable();
        assert!(lines.peek().is_some(), "{command}");
        for line in lines {
            assert!(line.trim().starts_with(&format!("tailtrace {command} ")), "{command}: {line}");
        }
    }
}

/// The long options of each example exist.
#[test]
fn examples_use_options_that_exist() {
    for command in &commands() {
        let help = printed(&[command, "--help"]);
        let (options, examples) = help.split_once("Examples:\n").expect("examples");
        let words = examples.split_whitespace().filter(|word| word.starts_with("--"));
        let missing: Vec<&str> = words.filter(|word| !options.contains(*word)).collect();
        assert_eq!(missing, Vec::<&str>::new(), "{command}");
    }
}

/// Bash itself takes the script, and offers the commands.
#[test]
fn bash_completes() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("tailtrace.bash");
    std::fs::write(&script, printed(&["generate", "completions", "bash"])).expect("written");
    let ask = "source \"$0\"; COMP_WORDS=(tailtrace e); COMP_CWORD=1; _tailtrace tailtrace e tailtrace; \
               echo \"${COMPREPLY[@]}\"";
    let Output { status, stdout, .. } =
        Command::new("bash").args(["-c", ask]).arg(&script).output().expect("bash");
    assert!(status.success());
    let offered = String::from_utf8(stdout).expect("UTF-8");
    assert_eq!(offered.split_whitespace().collect::<BTreeSet<_>>(), BTreeSet::from(["explain", "export"]));
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(printed(&["generate", "completions", shell]).contains("intervals-b"), "{shell}");
    }
}

#[test]
fn each_command_has_a_man_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("man1");
    printed(&["generate", "man", "-o", &output.to_string_lossy()]);
    for command in commands() {
        let page = std::fs::read_to_string(output.join(format!("tailtrace-{command}.1"))).expect("a page");
        for part in [".TH", "EXAMPLES", "EXIT STATUS", "ENVIRONMENT", "FILES"] {
            assert!(page.contains(part), "{command}: {part}");
        }
        let (_, examples) = page.split_once("EXAMPLES").expect("examples");
        let (_, lines) = examples.split_once(".nf").expect("lines as they are");
        let (lines, _) = lines.split_once(".fi").expect("their end");
        assert!(lines.lines().filter(|line| line.contains("tailtrace ")).count() > 1, "{command}: {lines}");
    }
    assert!(output.join("tailtrace.1").exists());
}

/// The header, byte by byte, on stdout and in a file.
#[test]
fn the_header_is_written_whole() {
    let header =
        std::fs::read_to_string(repository().join("crates/marks/include/tailtrace.h")).expect("there");
    assert_eq!(printed(&["generate", "header"]), header);
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("tailtrace.h");
    assert_eq!(printed(&["generate", "header", "-o", &output.to_string_lossy()]), "");
    assert_eq!(std::fs::read_to_string(output).expect("written"), header);
}

/// `script` gives the command a terminal.
#[test]
fn a_bar_is_drawn_on_a_terminal_only() {
    let fault = emulated("fault");
    let silent = fault.tailtrace("explain", &["--intervals", &fault.intervals()]);
    assert!(!String::from_utf8_lossy(&silent.stderr).contains("decoding"));
    let version = Command::new("script").arg("--version").output().expect("script(1), of bsdutils, runs");
    assert!(version.status.success());
    let command = format!(
        "'{}' explain -i '{}' --symfs '{}' --intervals '{}' --top 500 -j 1 >/dev/null",
        env!("CARGO_BIN_EXE_tailtrace"),
        fault.perf_data.display(),
        fault.symfs.display(),
        fault.intervals(),
    );
    let output = Command::new("script").args(["-qec", &command, "/dev/null"]).output().expect("script runs");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("decoding ") && shown.contains(" of 500 windows, "), "{output:?}");
}
