//! Every scenario in `fixtures/scenarios` decodes, by a decoder that is not ours, to exactly what it says happened.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod perf;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use tailtrace_tracegen::scenario::{Executed, Owner, make};

/// Runs code that no file holds: only libipt's check, which reads it from the scenario, decodes it.
const NO_CODE: [&str; 2] = ["jit_copied-code_added.scenario", "jit_perf-map.scenario"];

/// perf knows no ERETU and ERETS before Linux 6.9 (`intel-pt-insn-decoder.c`): it goes on to the `int3` after them, to which it
/// gives the TIP. All else it finds.
const FRED: &str = "fred_";

fn scenarios() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/scenarios");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "scenario")).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

fn made(file: &Path, output: &Path) -> Executed {
    make(file, output).unwrap_or_else(|error| panic!("{error}"))
}

/// Addresses per CPU, or per thread, as perf decodes them.
fn decoded(capture: &Path, per_thread: bool) -> BTreeMap<u32, Vec<u64>> {
    let whose = if per_thread { "tid,event,ip" } else { "cpu,event,ip" };
    let options = ["--itrace=i0nse-o-l", "-F", whose];
    let script = perf::script(&with_jit_code(capture), &capture.join("symfs"), &options);
    assert_eq!(script.errors, Vec::<String>::new(), "{}", capture.display());
    let mut found: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for line in script.lines.iter().filter(|line| line.contains("instructions")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = words[0].trim_matches(['[', ']']).parse().unwrap();
        let address = u64::from_str_radix(words[words.len() - 1], 16).unwrap();
        found.entry(number).or_default().push(address);
    }
    found
}

/// Where scenarios say that their jitdumps lie.
const DUMPS: &str = "/tmp/tailtrace-scenario";

/// The perf.data of a capture; where it has a jitdump, the one that `perf inject --jit` makes of both.
fn with_jit_code(capture: &Path) -> PathBuf {
    let symfs = capture.join("symfs");
    let dumps = symfs.join(&DUMPS[1..]);
    if !dumps.is_dir() {
        return capture.join("perf.data");
    }
    // perf opens the dump where the recording says, and writes what it makes of it beside it: a folder of this test's own, of
    // a name as long.
    let own = format!("/tmp/tailtrace-{:08}", std::process::id());
    assert_eq!(own.len(), DUMPS.len());
    let mut bytes = std::fs::read(capture.join("perf.data/data")).unwrap();
    while let Some(at) = bytes.windows(DUMPS.len()).position(|window| window == DUMPS.as_bytes()) {
        bytes[at..at + own.len()].copy_from_slice(own.as_bytes());
    }
    let (moved, injected) = (capture.join("moved"), capture.join("injected"));
    std::fs::write(&moved, bytes).unwrap();
    copy_files(&dumps, Path::new(&own));
    let mut perf = Command::new("perf");
    perf.args(["inject", "--jit", "-i"]).arg(&moved).arg("-o").arg(&injected);
    let output = perf.env("HOME", capture).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    copy_files(Path::new(&own), &symfs.join(&own[1..]));
    std::fs::remove_dir_all(&own).unwrap();
    injected
}

fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn perf_finds_exactly_the_instructions_of_each_scenario() {
    let folder = tempfile::tempdir().unwrap();
    for file in scenarios() {
        let output = folder.path().join(file.file_stem().unwrap());
        let executed = made(&file, &output);
        let has_fred = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(FRED));
        if NO_CODE.iter().any(|name| file.ends_with(name)) {
            let options = ["--itrace=e"];
            let script = perf::script(&output.join("perf.data"), &output.join("symfs"), &options);
            assert!(!script.errors.is_empty(), "{} has code that no file holds", file.display());
            continue;
        }
        let per_thread = matches!(executed.owner(0), Some(Owner::Thread(_)));
        let mut decoded = decoded(&output, per_thread);
        for buffer in 0..executed.buffers() {
            let owner = executed.owner(buffer).unwrap();
            let (Owner::Cpu(number) | Owner::Thread(number)) = owner;
            let mut decoded = decoded.remove(&number).unwrap_or_default();
            let expected: Vec<u64> = executed.instructions(buffer).iter().map(|retired| retired.ip).collect();
            if has_fred {
                let ran: BTreeSet<u64> = expected.iter().copied().collect();
                decoded.retain(|address| ran.contains(address));
            }
            let same =
                expected.iter().zip(&decoded).take_while(|(expected, decoded)| expected == decoded).count();
            let place = format!("{} {owner:?}: {same} alike", file.display());
            assert_eq!(hex(&expected[same..]), hex(&decoded[same..]), "{place}");
        }
        assert!(decoded.is_empty(), "{}: {:?} is no buffer", file.display(), decoded.keys());
    }
}

/// perf makes a line table of each function in a dump: it has the scenario's lines, from the addresses on at which they stand. Perf 6.1 takes the
/// mark of a repeated name for a name.
#[test]
fn perf_finds_the_lines_of_code_made_at_run_time() {
    let folder = tempfile::tempdir().unwrap();
    made(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/scenarios/jit_dump-lines.scenario")),
        folder.path(),
    );
    with_jit_code(folder.path());
    let is_elf = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "so");
    let files = tree(&folder.path().join("symfs"));
    let elf = folder.path().join("symfs").join(files.keys().find(is_elf).unwrap());
    let lines = Command::new("readelf").args(["-W", "--debug-dump=decodedline"]).arg(&elf).output().unwrap();
    let lines = String::from_utf8_lossy(&lines.stdout).into_owned();
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [file, number, address, ..] = words[..] else { return None };
        let address = u64::from_str_radix(address.strip_prefix("0x")?, 16).ok()?;
        Some((file.rsplit('/').next()?.to_owned(), number.parse::<u32>().ok()?, address))
    };
    let rows: Vec<_> = lines.lines().filter_map(row).collect();
    let start = rows[0].2;
    let found: Vec<(u32, u64)> = rows.iter().map(|(_, line, address)| (*line, address - start)).collect();
    assert_eq!(found, [(7, 0), (24, 5), (25, 9), (9, 10)], "{lines}");
    assert_eq!([&*rows[0].0, &*rows[1].0, &*rows[3].0], ["orders.js", "prices.js", "orders.js"], "{lines}");
}

fn hex(addresses: &[u64]) -> Vec<String> {
    addresses.iter().map(|address| format!("{address:x}")).collect()
}

#[test]
fn the_same_scenario_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    for file in scenarios() {
        let trees = ["first", "second"].map(|name| {
            let output = folder.path().join(name).join(file.file_stem().unwrap());
            made(&file, &output);
            tree(&output)
        });
        assert!(trees[0].contains_key(Path::new("perf.data/data")));
        assert!(trees[0] == trees[1], "{}", file.display());
    }
}

/// All files below `root`, by their path in it.
fn tree(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.strip_prefix(root).unwrap().to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    files
}

#[test]
fn a_poke_shows_in_perfs_decoding() {
    // The same trace without its TEXT_POKE records must go wrong, else the scenario proves nothing.
    let folder = tempfile::tempdir().unwrap();
    let file = scenarios().into_iter().find(|file| file.ends_with("text_poke.scenario")).unwrap();
    made(&file, folder.path());
    let right = decoded(folder.path(), false);
    let path = folder.path().join("perf.data/data");
    let mut bytes = std::fs::read(&path).unwrap();
    let header: Vec<u8> = [20u32.to_le_bytes().as_slice(), &1u16.to_le_bytes()].concat();
    let places: Vec<usize> =
        (0..bytes.len() - 6).step_by(8).filter(|&at| bytes[at..at + 6] == header).collect();
    assert_eq!(places.len(), 2);
    for at in places {
        // THROTTLE: known to perf, of no effect.
        bytes[at] = 5;
    }
    std::fs::write(&path, bytes).unwrap();
    let options = ["--itrace=i0nse-o-l", "-F", "cpu,event,ip"];
    let wrong = perf::script(&folder.path().join("perf.data"), &folder.path().join("symfs"), &options);
    let instructions = wrong.lines.iter().filter(|line| line.contains("instructions")).count();
    let expected: usize = right.values().map(Vec::len).sum();
    assert!(!wrong.errors.is_empty() || instructions != expected, "{instructions}");
}

#[test]
fn perf_prints_the_records_of_tracepoints() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenarios().into_iter().find(|file| file.ends_with("tracepoints.scenario")).unwrap();
    made(&file, folder.path());
    let options = ["--no-itrace", "-F", "comm,tid,cpu,event,trace"];
    let script = perf::script(&folder.path().join("perf.data"), &folder.path().join("symfs"), &options);
    let printed: Vec<String> =
        script.lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    // Written by hand: the scenario's values in the kernel's print formats.
    let expected: Vec<&str> = include_str!("tracepoints.expected").lines().collect();
    assert_eq!(printed, expected);
}

#[test]
fn perf_prints_the_samples_of_counters() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenarios().into_iter().find(|file| file.ends_with("counters.scenario")).unwrap();
    made(&file, folder.path());
    let (capture, symfs) = (folder.path().join("perf.data"), folder.path().join("symfs"));
    // Of a group perf prints for each counter how much further on it is than in the read before.
    let options = ["--no-itrace", "-F", "comm,tid,cpu,event,period,weight,ip"];
    let script = perf::script(&capture, &symfs, &options);
    let printed: Vec<String> =
        script.lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    // Written by hand: the scenario's values.
    let expected: Vec<&str> = include_str!("counters.expected").lines().collect();
    assert_eq!(printed, expected);
    // perf 6.1 names two parts of a weight; the third, the retire latency, stands in the record's last bytes.
    let dump = perf::script(&capture, &symfs, &["--no-itrace", "-D"]);
    for (weight, period_and_weight) in [
        ("... weight: 0,0x0,", ".  0030:  65 00 00 00 00 00 00 00 00 00 00 00 00 00 54 01"),
        ("... weight: 212,0xe6,", ".  0030:  01 00 00 00 00 00 00 00 d4 00 00 00 e6 00 ff ff"),
    ] {
        for said in [weight, period_and_weight] {
            assert!(dump.lines.iter().any(|line| line.starts_with(said)), "{said}");
        }
    }
}

/// perf makes samples of the records in the trace: instruction, address and weight of each.
#[test]
fn perf_finds_the_records_of_pebs_in_the_trace() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenarios().into_iter().find(|file| file.ends_with("pebs_in_trace.scenario")).unwrap();
    made(&file, folder.path());
    let options = ["--itrace=o", "-F", "event,addr,weight,ip"];
    let script = perf::script(&folder.path().join("perf.data"), &folder.path().join("symfs"), &options);
    let printed: Vec<String> =
        script.lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    // By hand: the scenario's values. 0x168 cycles of the access stand above the instruction's own 0x10e.
    let typical = "mem_load_retired.l3_miss:pp: 7f0000000040 90 401005";
    let slow = [
        "mem_load_retired.l3_miss:pp: 7f0000001000 212 401005",
        "mem_load_retired.l3_miss:pp: 7f0000002000 360 401005",
        "mem_load_retired.l3_miss:pp: 7f0000003000 100 401005",
        "mem_load_retired.l3_miss:pp: 0 0 401009",
        "mem_load_retired.l3_miss:pp: 7f0000004000 5000 401000",
    ];
    let expected: Vec<&str> = [typical; 4].into_iter().chain(slow).collect();
    assert_eq!(printed, expected);
}

#[test]
fn perf_reads_sampled_loads_and_the_memory_of_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenarios().into_iter().find(|file| file.ends_with("memory-other_node.scenario")).unwrap();
    made(&file, folder.path());
    let capture = folder.path().join("perf.data");
    let header = perf::script(&capture, &folder.path().join("symfs"), &["--header-only", "-I"]).lines;
    // 16 blocks of 128 MiB are 2 GiB.
    for expected in
        ["# memory nodes (nr 2, block size 0x8000000):", "#    0 [2G]: 0-15", "#    1 [2G]: 16-31"]
    {
        assert!(header.iter().any(|line| line == expected), "{expected}: {header:#?}");
    }
    let options = ["--no-itrace", "-F", "tid,event,addr,phys_addr,data_src"];
    let script = perf::script(&capture, &folder.path().join("symfs"), &options);
    let printed: Vec<String> =
        script.lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let given = "101 kmem:mm_page_alloc:";
    assert!(printed.iter().any(|line| line.starts_with(given)), "{printed:#?}");
    let printed: Vec<&String> = printed.iter().filter(|line| line.contains("mem-loads")).collect();
    // By hand: the scenario's loads in perf's words; eight of typical requests, four of the slow one.
    let local = "101 cpu/mem-loads,ldlat=30/P: 7f0000000040 1a00201042 |OP LOAD|LVL Local RAM or RAM hit|SNP \
                 Hit|TLB N/A|LCK No|BLK N/A 10040";
    assert!(printed[..8].iter().all(|line| *line == local), "{printed:#?}");
    let levels: Vec<(&str, &str)> = printed[8..]
        .iter()
        .map(|line| (line.split('|').nth(2).unwrap(), line.split_whitespace().last().unwrap()))
        .collect();
    let expected = [
        ("LVL Remote Remote RAM (1 hop) or RAM hit", "80000080"),
        ("LVL L3 or L3 hit", "7fffffc0"),
        ("LVL Remote Remote Cache (1 hop) or L3 hit", "fffff000"),
        ("LVL Remote Remote RAM (1 hop) or RAM hit", "80000100"),
    ];
    assert_eq!(levels, expected);
    let mut report = Command::new("perf");
    report.args(["mem", "report", "--stdio", "--no-itrace", "-s", "mem", "-i"]).arg(&capture);
    let output = report.env("HOME", folder.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("Samples: 12  of event 'cpu/mem-loads,ldlat=30/P'"), "{text}");
    assert!(text.lines().any(|line| line.contains("66.67%") && line.contains("Local RAM")), "{text}");
}

/// Packets that the scenarios must hold, each at least once, as perf calls them.
const PACKETS: [&str; 30] = [
    "PAD",
    "PSB",
    "PSBEND",
    "TSC",
    "TMA",
    "MTC",
    "CYC",
    "CBR",
    "MODE.Exec",
    "MODE.TSX",
    "PIP",
    "TNT",
    "TIP",
    "TIP.PGE",
    "TIP.PGD",
    "FUP",
    "OVF",
    "PTWRITE",
    "EXSTOP",
    "MWAIT",
    "PWRE",
    "PWRX",
    "CFE",
    "EVD",
    "VMCS",
    "BBP",
    "BIP",
    "BEP",
    "TraceSTOP",
    "MNT",
];

/// The packets of a capture as perf names them, each with its first two bytes.
fn packets(capture: &Path) -> Vec<(String, Vec<u8>)> {
    let dump = perf::script(&capture.join("perf.data"), &capture.join("symfs"), &["-D"]);
    let packet = |line: &String| {
        // `.  0000003c:  fe      TNT TTTTTT (6)`
        let (_, rest) = line.strip_prefix(".  ")?.split_once(':')?;
        let mut words = rest.split_whitespace().peekable();
        let mut bytes = Vec::new();
        while let Some(byte) = words.peek().filter(|word| word.len() == 2) {
            bytes.push(u8::from_str_radix(byte, 16).ok()?);
            words.next();
        }
        Some((words.next()?.to_owned(), bytes))
    };
    dump.lines.iter().filter_map(packet).collect()
}

#[test]
fn the_scenarios_hold_every_packet_and_every_width_of_an_address() {
    let folder = tempfile::tempdir().unwrap();
    let (mut names, mut widths, mut long_tnt) = (BTreeSet::new(), BTreeSet::new(), false);
    for file in scenarios() {
        let output = folder.path().join(file.file_stem().unwrap());
        made(&file, &output);
        for (name, bytes) in packets(&output) {
            if name == "FUP" || name == "TIP" {
                widths.insert((name.clone(), bytes[0] >> 5));
            }
            long_tnt |= name == "TNT" && bytes[0] == 0x02;
            names.insert(name);
        }
    }
    let missing: Vec<_> = PACKETS.iter().filter(|&&name| !names.contains(name)).collect();
    assert!(missing.is_empty() && long_tnt, "{missing:?}, long TNT: {long_tnt}");
    // IPBytes of the manual: 16, 32, 48 sign-extended, 48, 64 bits.
    for name in ["FUP", "TIP"] {
        for width in [1, 2, 3, 4, 6] {
            assert!(widths.contains(&(name.to_owned(), width)), "{name} with IPBytes {width}: {widths:?}");
        }
    }
}
