use super::*;

/// This preset.
fn of(preset: Preset) -> Asked<'static> {
    Asked { preset: Some(preset), ..Asked::default() }
}

fn line(given: &[&str]) -> String {
    let given: Vec<OsString> = given.iter().map(OsString::from).collect();
    shown(
        &compose(Path::new("perf.data"), Asked::default(), &Offered::default(), &given)
            .expect("a command")
            .words,
    )
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
        compose(
            Path::new(output),
            Asked::default(),
            &Offered::default(),
            &given.iter().map(OsString::from).collect::<Vec<_>>(),
        )
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

/// What perf-intel-pt(1) calls valid: no CYC terms without the capability `psb_cyc`, `cyc_thresh` by its bits.
#[test]
fn the_trace_has_what_the_machine_has() {
    let full = Pt {
        features: [Feature::Cycles, Feature::Mtc, Feature::EachReturn].into(),
        cycle_thresholds: 0xffff,
        ..Pt::default()
    };
    assert_eq!(trace_event(Some(&full)), "intel_pt/cyc=1,cyc_thresh=1,mtc_period=0,noretcomp=1/");
    assert_eq!(trace_event(Some(&full)), trace_event(None));
    let odd = Pt { cycle_thresholds: 1, ..full.clone() };
    assert_eq!(trace_event(Some(&odd)), "intel_pt/cyc=1,cyc_thresh=0,mtc_period=0,noretcomp=1/");
    let first = Pt { features: [Feature::EachReturn].into(), ..full };
    assert_eq!(trace_event(Some(&first)), "intel_pt/noretcomp=1/");
    assert_eq!(trace_event(Some(&Pt::default())), "intel_pt//");
}

/// perf fails at an unknown tracepoint, and at `--kcore` without /proc/kcore.
#[test]
fn what_the_machine_lacks_is_left_out() {
    let root = tempfile::tempdir().expect("a folder");
    for folder in [
        "proc/self",
        "sys/bus/event_source/devices/intel_pt",
        "sys/kernel/tracing/events/sched/sched_switch",
        "sys/kernel/tracing/events/irq/softirq_entry",
    ] {
        std::fs::create_dir_all(root.path().join(folder)).expect("made");
    }
    std::fs::write(root.path().join("proc/self/status"), "CapEff:\t000001ffffffffff\n").expect("written");
    let composed = compose(Path::new("x"), Asked::default(), &Offered::below(root.path()), &["app".into()])
        .expect("a command");
    assert_eq!(
        shown(&composed.words),
        "perf record -a -m 8M,64M -e intel_pt/cyc=1,cyc_thresh=1,mtc_period=0,noretcomp=1/ -e sched:sched_switch -e 'irq:*' \
         --switch-events -o x -- app"
    );
    assert_eq!(composed.left_out, ["--kcore", "sched:sched_waking", "power:cpu_idle"]);
}

#[test]
fn presets_add_records() {
    let line = |preset: Preset| {
        let composed =
            compose(Path::new("x"), of(preset), &Offered::default(), &["app".into()]).expect("a command");
        assert_eq!(composed.left_out, [""; 0]);
        shown(&composed.words)
    };
    let [light, standard, full] = [Preset::Light, Preset::Standard, Preset::Full].map(line);
    let wanted = "-e sched:sched_migrate_task -e raw_syscalls:sys_enter --exclude-perf -e raw_syscalls:sys_exit --exclude-perf \
                  -e 'exceptions:*' -e irq_vectors:local_timer_entry";
    assert!(
        !light.contains("raw_syscalls")
            && !light.contains("block:")
            && standard.contains(wanted)
            && full.contains(wanted),
        "{standard}"
    );
    assert!(!standard.contains("block:") && !standard.contains("slots"), "{standard}");
    let counters = "-e '{slots,cycles,topdown-retiring,topdown-bad-spec,topdown-fe-bound,topdown-be-bound}:S' --switch-events";
    assert!(
        full.contains("-e block:block_rq_issue -e block:block_rq_complete -e tcp:tcp_retransmit_skb"),
        "{full}"
    );
    assert!(full.contains(counters), "{full}");
}

/// The machine has no slots, as a guest has none.
#[test]
fn counters_that_the_cpu_lacks_are_left_out() {
    let root = tempfile::tempdir().expect("a folder");
    let counters = root.path().join("sys/bus/event_source/devices/cpu/events");
    std::fs::create_dir_all(root.path().join("sys/bus/event_source/devices/intel_pt")).expect("made");
    std::fs::create_dir_all(&counters).expect("made");
    let left_out = || {
        let offered = Offered::below(root.path());
        compose(Path::new("x"), of(Preset::Full), &offered, &["app".into()]).expect("a command").left_out
    };
    assert_eq!(left_out(), ["top-down counters"]);
    for event in ["slots", "topdown-retiring", "topdown-be-bound"] {
        std::fs::write(counters.join(event), "event=0x00,umask=0x4").expect("written");
    }
    assert_eq!(left_out(), [""; 0]);
}

/// Samples stand for the trace, and the clock is one that programs can read where the kernel publishes no conversion.
#[test]
fn without_a_trace_records_and_samples_remain() {
    let without = Asked { no_pt: true, ..Asked::default() };
    let line = |asked: Asked<'_>, given: &[&str]| {
        let given: Vec<OsString> = given.iter().map(OsString::from).collect();
        compose(Path::new("x"), asked, &Offered::default(), &given).map(|composed| shown(&composed.words))
    };
    let standard = line(without, &["app"]).expect("a command");
    let begins = "perf record -a -m 8M -k CLOCK_MONOTONIC_RAW -e cpu-clock/freq=4000/ -e sched:sched_switch -e sched:sched_waking";
    assert!(standard.starts_with(begins), "{standard}");
    assert!(
        standard.contains("-e raw_syscalls:sys_enter") && standard.contains("-e 'exceptions:*'"),
        "{standard}"
    );
    assert!(
        standard.contains("-e block:block_rq_issue -e block:block_rq_complete --switch-events"),
        "{standard}"
    );
    assert!(!standard.contains("intel_pt") && !standard.contains("kcore"), "{standard}");
    let light = line(Asked { preset: Some(Preset::Light), ..without }, &["app"]).expect("a command");
    assert!(!light.contains("raw_syscalls") && light.contains("cpu-clock"), "{light}");
    for clock in ["-kmono", "--clockid=mono"] {
        let own = line(without, &[clock, "--", "app"]).expect("a command");
        assert!(own.contains(clock) && !own.contains("CLOCK_MONOTONIC_RAW"), "{own}");
    }
    assert!(line(without, &["-e", "intel_pt//", "--", "app"]).is_err());
    let attached = line(without, &["-p", "7"]).expect("a command");
    assert!(
        attached.starts_with("perf record -m 8M ") && attached.contains(" --sample-cpu -e "),
        "{attached}"
    );
    assert!(!standard.contains("--sample-cpu"), "{standard}");
    for glued in ["-p7", "-t7", "-u0", "-C1"] {
        let restricted = line(without, &[glued]).expect("a command");
        assert!(!restricted.contains(" -a "), "{restricted}");
    }
}

/// What perf overwrites until it gets SIGUSR2: with a trace the AUX areas alone.
#[test]
fn what_is_kept_until_something_is_slow() {
    let line = |no_pt: bool, given: &[&str]| {
        let asked = Asked { keeps: true, no_pt, ..Asked::default() };
        let given: Vec<OsString> = given.iter().map(OsString::from).collect();
        shown(&compose(Path::new("x"), asked, &Offered::default(), &given).expect("a command").words)
    };
    let traced = line(false, &["app"]);
    assert!(
        traced.starts_with("perf record -Se --switch-output=signal -a --kcore -m 8M,16M -e intel_pt/"),
        "{traced}"
    );
    assert!(!traced.contains("--overwrite"), "{traced}");
    let larger = line(false, &["-m", "8M,64M", "--", "app"]);
    assert!(larger.ends_with("-o x -m 8M,64M -- app"), "the last one counts: {larger}");
    let begins = "perf record --overwrite --switch-output=signal -a -m 8M -k ";
    assert!(line(true, &["app"]).starts_with(begins));
}

/// The events that ring are in the recording, each once, whoever names them.
#[test]
fn events_of_a_pair_are_recorded_once() {
    let line = |events: &[&str], given: &[&str]| {
        let asked = Asked { keeps: true, no_pt: true, events, ..Asked::default() };
        let given: Vec<OsString> = given.iter().map(OsString::from).collect();
        shown(&compose(Path::new("x"), asked, &Offered::default(), &given).expect("a command").words)
    };
    let probes = ["probe_app:handle", "probe_app:handle__return"];
    let own = line(&probes, &["app"]);
    assert!(own.contains(" -e probe_app:handle -e probe_app:handle__return --switch-events "), "{own}");
    for given in ["probe_app:handle,probe_app:handle__return", "probe_app:*"] {
        let line = line(&probes, &["-e", given, "--", "app"]);
        assert!(line.matches("probe_app").count() <= 2, "{line}");
    }
    let calls = line(&["raw_syscalls:sys_enter", "irq:irq_handler_entry"], &["app"]);
    assert_eq!((calls.matches("sys_enter").count(), calls.matches("irq_handler").count()), (1, 0), "{calls}");
}

/// What is of a cgroup stands before `-G`; what makes it wait, and the trace, after it.
#[test]
fn a_cgroups_records_are_restricted_and_the_machines_are_not() {
    let line = |whose: Whose<'_>, no_pt: bool, preset: Option<Preset>, given: &[&str]| {
        let asked = Asked { preset, no_pt, whose, ..Asked::default() };
        let given: Vec<OsString> = given.iter().map(OsString::from).collect();
        compose(Path::new("x"), asked, &Offered::default(), &given).map(|composed| shown(&composed.words))
    };
    let of_group = Whose::Cgroup("pods/api");
    let without = line(of_group, true, None, &["app"]).expect("a command");
    let (own, others) = without.split_once(" -G pods/api ").expect("restricted");
    assert!(
        own.contains("-e cpu-clock/") && own.contains("-e raw_syscalls:sys_exit --exclude-perf"),
        "{own}"
    );
    assert!(own.contains("-e 'exceptions:*'") && !own.contains("sched:"), "{own}");
    assert!(others.starts_with("-e sched:sched_switch -e sched:sched_waking"), "{others}");
    let traced = line(of_group, false, None, &["app"]).expect("a command");
    let (own, others) = traced.split_once(" -G pods/api ").expect("restricted");
    assert!(
        own.contains("raw_syscalls") && others.contains("-e intel_pt/") && others.contains("sched_switch"),
        "{traced}"
    );
    assert!(line(of_group, false, Some(Preset::Light), &["app"]).is_err(), "nothing to restrict");
    for target in ["-p", "-t", "-C"] {
        assert!(line(of_group, true, None, &[target, "7"]).is_err(), "{target}");
    }
    let threads = line(Whose::Threads(&[7, 9]), true, None, &[]).expect("a command");
    let filtered = "-e raw_syscalls:sys_enter --filter 'common_pid == 7 || common_pid == 9' --exclude-perf";
    assert!(threads.contains(filtered) && threads.contains(" -a "), "{threads}");
    assert_eq!(threads.matches("--filter").count(), 3, "both calls, and exceptions: {threads}");
}
