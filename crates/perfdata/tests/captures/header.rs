//! Facts about the machine and the events against `perf report --header-only -I`.

use tailtrace_perfdata::{Attr, Features, PerfData};

use crate::captures;

#[test]
fn header_equals_perf_report() {
    for capture in captures::all() {
        let text = captures::perf(&["report", "--header-only", "-I"], &capture);
        let perf_data = PerfData::open(&capture).expect("opens");
        let place = capture.display();
        // perf wraps nothing and prints one fact a line; what is missing in the file it does not print.
        let printed: Vec<&str> = text.lines().map(str::trim_end).filter(|line| is_covered(line)).collect();
        let ours = lines_of(perf_data.features());
        for line in &printed {
            assert!(ours.iter().any(|our| line == our), "{place}: perf prints {line:?}, we know {ours:#?}");
        }
        let events: Vec<&str> = text.lines().filter(|line| line.starts_with("# event : ")).collect();
        assert_eq!(events.len(), perf_data.attrs().len(), "{place}: {text}");
        for (line, attr) in events.iter().zip(perf_data.attrs()) {
            check_event(line, attr, &place.to_string());
        }
    }
}

/// The lines that are checked; the rest are dates, offsets and sections that nothing needs.
fn is_covered(line: &str) -> bool {
    const COVERED: [&str; 16] = [
        "# hostname :",
        "# os release :",
        "# perf version :",
        "# arch :",
        "# nrcpus ",
        "# cpudesc :",
        "# cpuid :",
        "# total memory :",
        "# cmdline :",
        "# sibling ",
        "# CPU ",
        "# node",
        "# pmu mappings:",
        "#  L",
        "# time of ",
        "# clockid",
    ];
    COVERED.iter().any(|start| line.starts_with(start)) && !line.contains("cache info")
}

fn lines_of(features: &Features) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = |name: &str, value: Option<&str>| {
        lines.extend(value.map(|value| format!("# {name} : {value}").trim_end().to_owned()));
    };
    line("hostname", features.hostname.as_deref());
    line("os release", features.os_release.as_deref());
    line("perf version", features.perf_version.as_deref());
    line("arch", features.arch.as_deref());
    line("cpudesc", features.cpu_description.as_deref());
    line("cpuid", features.cpu_id.as_deref());
    line("nrcpus online", features.cpus_online.map(|count| count.to_string()).as_deref());
    line("nrcpus avail", features.cpus_available.map(|count| count.to_string()).as_deref());
    line("total memory", features.total_memory_kib.map(|kib| format!("{kib} kB")).as_deref());
    line("cmdline", features.command_line.as_ref().map(|arguments| arguments.join(" ")).as_deref());
    lines.extend(machine_lines(features));
    let pmus: Vec<String> =
        features.pmu_mappings.iter().map(|(name, kind)| format!("{name} = {kind}")).collect();
    lines.push(format!("# pmu mappings: {}", pmus.join(", ")));
    if let Some(times) = &features.sample_time {
        // perf prints microseconds here.
        let seconds = |time: model::PerfTime| time.to_string()[..time.to_string().len() - 3].to_owned();
        lines.push(format!("# time of first sample : {}", seconds(times.start)));
        lines.push(format!("# time of last sample : {}", seconds(times.end)));
    }
    lines
}

fn machine_lines(features: &Features) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(topology) = &features.topology {
        for (what, lists) in
            [("sockets", &topology.sockets), ("threads", &topology.cores), ("dies   ", &topology.dies)]
        {
            lines.extend(lists.iter().map(|list| format!("# sibling {what} : {list}")));
        }
        for (cpu, location) in topology.cpus.iter().enumerate() {
            let die = location.die.map_or_else(String::new, |die| format!(" Die ID {die},"));
            let (core, socket) = (location.core, location.socket);
            lines.push(format!("# CPU {cpu}: Core ID {core},{die} Socket ID {socket}"));
        }
    }
    if let Some(nanoseconds) = features.clock_resolution_ns {
        lines.push(format!("# clockid frequency: {} MHz", 1000 / nanoseconds));
    }
    if features.clock_data.is_some_and(|clock| clock.clock_id == 1) {
        lines.push("# clockid: monotonic (1)".to_owned());
    }
    for node in &features.numa_nodes {
        let (number, total, free) = (node.node, node.total_kib, node.free_kib);
        lines.push(format!("# node{number} meminfo  : total = {total} kB, free = {free} kB"));
        lines.push(format!("# node{number} cpu list : {}", node.cpus));
    }
    for cache in &features.caches {
        let (level, kind, size, cpus) = (cache.level, &cache.kind, &cache.size, &cache.cpus);
        lines.push(format!("#  L{level} {kind:<15} {size:>8} [{cpus}]"));
    }
    lines
}

/// Checks `# event : name = cycles, , id = { 128, 129 }, type = 1, size = 112, config = 0x9, { sample_period,
/// sample_freq } = 4000, sample_type = IP|TID|TIME|IDENTIFIER, read_format = ID, disabled = 1, …`; zeros are left out.
fn check_event(line: &str, attr: &Attr, place: &str) {
    let number = |name: &str| {
        let value = line.split_once(&format!(", {name} = ")).map_or("0", |(_, rest)| rest);
        let value = value.split(',').next().unwrap_or_default().trim();
        value
            .strip_prefix("0x")
            .map_or_else(|| value.parse(), |hex| u64::from_str_radix(hex, 16))
            .expect("number")
    };
    let name = line.split_once("name = ").and_then(|(_, rest)| rest.split_once(", ,")).map(|(name, _)| name);
    assert_eq!(attr.name.as_deref(), name, "{place}: {line}");
    let ids =
        line.split_once("id = { ").and_then(|(_, rest)| rest.split_once(" }")).map_or("", |(ids, _)| ids);
    assert_eq!(attr.ids.iter().map(u64::to_string).collect::<Vec<_>>().join(", "), ids, "{place}: {line}");
    assert_eq!(u64::from(attr.kind), number("type"), "{place}: {line}");
    assert_eq!(attr.config, number("config"), "{place}: {line}");
    assert_eq!(attr.sample_period, number("{ sample_period, sample_freq }"), "{place}: {line}");
    for (name, flag) in [
        ("disabled", attr.disabled()),
        ("inherit", attr.inherit()),
        ("exclude_user", attr.exclude_user()),
        ("exclude_kernel", attr.exclude_kernel()),
        ("exclude_hv", attr.exclude_hv()),
        ("exclude_guest", attr.exclude_guest()),
        ("freq", attr.freq()),
        ("sample_id_all", attr.sample_id_all()),
        ("use_clockid", attr.use_clockid()),
        ("context_switch", attr.context_switch()),
        ("text_poke", attr.text_poke()),
    ] {
        assert_eq!(u64::from(flag), number(name), "{place}: {name} in {line}");
    }
}
