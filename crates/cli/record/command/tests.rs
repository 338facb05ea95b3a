use super::*;

fn line(given: &[&str]) -> String {
    let given: Vec<OsString> = given.iter().map(OsString::from).collect();
    shown(&compose(Path::new("perf.data"), &given).expect("a command"))
}

/// What people paste from the README is what `tailtrace record` runs.
#[test]
fn the_command_is_the_readmes() {
    let readme = include_str!("../../../../README.md").replace("\\\n", " ");
    let recommended = readme.lines().find(|line| line.starts_with("perf record ")).expect("a command");
    let recommended = recommended.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(line(&["./program"]).replace(" -o perf.data", ""), recommended);
}

#[test]
fn perfs_own_options_go_last_and_the_program_behind_them() {
    let options = ["-e", "block:*", "-m", "16M", "--", "app", "a b", "--", "-x"];
    assert!(
        line(&options).ends_with("-o perf.data -e 'block:*' -m 16M -- app 'a b' -- -x"),
        "{}",
        line(&options)
    );
    assert!(line(&["-e", "block:*"]).ends_with("-o perf.data -e 'block:*'"), "until it is interrupted");
    assert!(line(&["-C", "2"]).starts_with("perf record --kcore"), "not of the whole machine");
    assert!(line(&["--pid=7"]).starts_with("perf record --kcore"));
    let own = line(&["-e", "intel_pt/cyc=0/u", "--", "app"]);
    assert_eq!(own.matches("intel_pt/").count(), 1, "{own}");
}

#[test]
fn the_programs_own_border_is_the_programs() {
    for program in ["cargo run -p foo -- x", "cc -o x -- y"] {
        let words: Vec<&str> = program.split(' ').collect();
        assert_eq!(line(&words), format!("{} {program}", line(&["app"]).trim_end_matches(" app")));
        let behind_options = line(&[&["-e", "a", "--"][..], &words].concat());
        assert!(behind_options.ends_with(&format!("-o perf.data -e a -- {program}")), "{behind_options}");
    }
}

#[test]
fn the_output_is_named_once() {
    let compose = |output: &str, given: &[&str]| {
        compose(Path::new(output), &given.iter().map(OsString::from).collect::<Vec<_>>())
    };
    for given in [
        &["-o", "x"][..],
        &["-ox", "--", "app"],
        &["--output=x"],
        &["-e", "a", "--output", "x"],
        &["--out", "x"],
        &["--ou=x"],
        &["-ao", "x"],
        &["-gvox"],
        &["--switch-output"],
        &["--switch-output=1G", "--", "app"],
        &["--switch-output-event", "a"],
        &["--timestamp-filename"],
        &["--timestamp-f"],
    ] {
        assert!(compose("perf.data", given).is_err(), "{given:?}");
    }
    for given in [
        &["-e", "a", "--", "cc", "-o", "x"][..],
        &["cc", "-o", "x", "--", "y"],
        &["-eprobe:foo", "-vpo", "--overwrite"],
        &["--timestamp", "--timestamp-boundary", "--switch-events"],
    ] {
        assert!(compose("perf.data", given).is_ok(), "{given:?}");
    }
    assert!(compose("-", &["--", "app"]).is_err());
}
