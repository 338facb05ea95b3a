//! A log made by hand becomes a trace in which perf finds exactly the instructions that the log says were executed.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::Path;
use std::process::Command;

use super::*;
use crate::container::{Container, Event as Configured, Mapping, Origin, Record, carries, feature};
use crate::elf::{self, LoadSegment};

const USER: u64 = 0x40_1000;
const KERNEL: u64 = 0xffff_ffff_8100_0000;
const FAULT_ENTRY: u64 = KERNEL + 0x100;
const IDLE: u64 = KERNEL + 0x200;

/// nop; dec rax; jnz USER; ptwrite rax; syscall; jmp USER
const USER_CODE: [u8; 15] =
    [0x90, 0x48, 0xff, 0xc8, 0x75, 0xfa, 0xf3, 0x48, 0x0f, 0xae, 0xe0, 0x0f, 0x05, 0xeb, 0xf1];

/// nop; sysretq, at 0x100: nop; iretq, at 0x200: hlt
const SYSCALL_CODE: [u8; 4] = [0x90, 0x48, 0x0f, 0x07];
const FAULT_CODE: [u8; 3] = [0x90, 0x48, 0xcf];
const IDLE_CODE: [u8; 1] = [0xf4];

/// What the processor would take for a PTWRITE, and what the emulator runs in its place.
const NOP: [u8; 5] = [0xf3, 0x48, 0x0f, 0x1f, 0xc0];

/// The blocks by number: address, number of instructions, bytes.
fn blocks() -> Vec<(u64, u32, Vec<u8>)> {
    let marked = [&NOP[..], &[0x0f, 0x05]].concat();
    vec![
        (USER, 3, USER_CODE[..6].to_vec()),
        (USER + 6, 2, marked),
        (KERNEL, 2, SYSCALL_CODE.to_vec()),
        (USER + 13, 1, USER_CODE[13..].to_vec()),
        (FAULT_ENTRY, 2, FAULT_CODE.to_vec()),
        (USER + 1, 2, USER_CODE[1..6].to_vec()),
        (IDLE, 1, IDLE_CODE.to_vec()),
    ]
}

/// The addresses that the log below says were executed, by hand.
const EXECUTED: [u64; 15] = [
    // Twice round the loop, then out of it: PTWRITE and syscall.
    USER,
    USER + 1,
    USER + 4,
    USER,
    USER + 1,
    USER + 4,
    USER + 6,
    USER + 11,
    KERNEL,
    KERNEL + 1,
    USER + 13,
    // A fault at the second instruction of the loop: only the first one retires; then it goes on there, into another fault.
    USER,
    FAULT_ENTRY,
    FAULT_ENTRY + 1,
    USER + 1,
];

fn event(kind: u64, words: &[u64]) -> Vec<u64> {
    let mut out = vec![0xffff_0000 | kind | (words.len() as u64) << 32];
    out.extend(words);
    out
}

fn block(number: u64, later: u64) -> Vec<u64> {
    vec![number | later << 32]
}

/// Words of a log: host TSC = 2 x guest TSC + 2000.
fn log() -> Vec<u64> {
    [
        event(4, &[202_000]),
        block(0, 0),
        event(2, &[100_020, 202_040]),
        block(0, 200),
        block(1, 200),
        event(5, &[USER + 6, 0x1234, 202_500]),
        block(2, 200),
        block(3, 200),
        block(0, 200),
        event(1, &[USER + 1, FAULT_ENTRY, 203_100]),
        block(4, 200),
        block(5, 200),
        // Another fault, at the block's second instruction; the log ends before its handler has run.
        event(1, &[USER + 4, FAULT_ENTRY, 203_600]),
        event(2, &[100_900, 203_800]),
        event(8, &[204_000]),
    ]
    .concat()
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// A guest's perf.data: one CPU, one thread that came to it at `switched`, its program and the kernel.
fn guest(switched: u64) -> Vec<u8> {
    guest_with(switched, |origin| vec![program(origin)])
}

fn program(origin: Origin) -> Record {
    let mapping = Mapping { address: USER, size: 0x1000, file_offset: 0x1000, path: "/bin/loop".to_owned() };
    Record::mapping(&mapping, elf::build_id(&USER_CODE), origin)
}

/// The same with these records of the user's memory.
fn guest_with(switched: u64, mapped: impl Fn(Origin) -> Vec<Record>) -> Vec<u8> {
    let mut out = Container::default();
    // MMAP, COMM, TASK, sample_id_all, MMAP2, context_switch, build_id
    let flags = 1 << 8 | 1 << 9 | 1 << 13 | 1 << 18 | 1 << 23 | 1 << 26 | 1 << 34;
    out.events = vec![Configured {
        name: "dummy:u",
        kind: 1,
        config: 9,
        config1: 0,
        sample_period: 1,
        read_format: 4,
        flags,
        sample_type: carries::ORIGIN,
        aux_sample_size: 0,
        aux_action: 0,
        ids: vec![7],
    }];
    out.push(&Record::time_conversion(0, 1, 0));
    out.push(&Record::kernel_mapping(KERNEL, 0x1000, Origin::default()));
    let origin = |time| Origin { pid: 100, tid: 100, time, cpu: 0, id: 7 };
    out.push(&Record::comm("loop", origin(0)));
    for record in mapped(origin(0)) {
        out.push(&record);
    }
    out.push(&Record::switch_in((0, 0), origin(switched)));
    out.push(&Record::finished_round());
    out.features.push((feature::PMU_MAPPINGS, 0u32.to_le_bytes().to_vec()));
    out.features.push((feature::ARCH, crate::container::text("x86_64")));
    out.describe_events();
    out.finish()
}

/// Writes log, guest and program below `root`, and encodes in all scopes; the thread came before the log began.
fn encoded(root: &Path, words: &[u64]) -> Result<Recorded, Error> {
    encoded_with_switch(root, words, 90_000)
}

fn encoded_with_switch(root: &Path, words: &[u64], switched: u64) -> Result<Recorded, Error> {
    encoded_of(root, words, &guest(switched))
}

fn encoded_of(root: &Path, words: &[u64], guest: &[u8]) -> Result<Recorded, Error> {
    let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    write(&root.join("log/vcpu0.log"), &words);
    let mut listed = Vec::new();
    for (address, count, code) in blocks() {
        listed.extend(address.to_le_bytes());
        listed.extend([count.to_le_bytes(), (code.len() as u32).to_le_bytes()].concat());
        listed.extend(code);
    }
    write(&root.join("log/blocks.bin"), &listed);
    write(&root.join("entries"), format!("{FAULT_ENTRY:x} F asm_exc_page_fault\n").as_bytes());
    let mut kernel = SYSCALL_CODE.to_vec();
    kernel.resize(0x100, 0);
    kernel.extend(FAULT_CODE);
    kernel.resize(0x200, 0);
    kernel.extend(IDLE_CODE);
    let kcore = elf::kcore(&[LoadSegment { address: KERNEL, bytes: &kernel }]);
    let end = KERNEL + 0x1000;
    let symbols = format!(
        "{KERNEL:x} T _stext\n{KERNEL:x} T _text\n{FAULT_ENTRY:x} T asm_exc_page_fault\n{end:x} T _etext\n"
    );
    write(&root.join("guest/data"), guest);
    write(&root.join("guest/kcore_dir/kcore"), &kcore);
    write(&root.join("guest/kcore_dir/kallsyms"), symbols.as_bytes());
    write(&root.join("guest/kcore_dir/modules"), b"");
    let symbols = vec![("main".to_owned(), USER)];
    let program = elf::program(LoadSegment { address: USER, bytes: &USER_CODE }, &symbols, 64);
    write(&root.join("out/symfs/bin/loop"), &program);
    let (log, entries, guest, output) =
        (root.join("log"), root.join("entries"), root.join("guest"), root.join("out"));
    let (log, entries, guest, output) = (&*log, &*entries, &*guest, &*output);
    let request = Request { log, entries, guest, output, dilation: 2, power: true, gap_ns: 300 };
    encode(&request, &[Scope::Everything, Scope::User, Scope::Threads])
}

/// The lines that perf prints of a trace, or nothing where there is no perf.
fn perf(root: &Path, capture: &str, options: &[&str]) -> Option<Vec<String>> {
    let mut command = Command::new("perf");
    command.args(["script", "-i"]).arg(root.join("out").join(capture));
    command.arg("--symfs").arg(root.join("out/symfs")).args(options).env("HOME", root);
    let output = command.output().ok()?;
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(!complaints.contains("error"), "{complaints}");
    Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

fn addresses(lines: &[String]) -> Vec<u64> {
    let instructions = lines.iter().filter(|line| line.contains("instructions"));
    let address = |line: &String| u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap();
    instructions.map(address).collect()
}

#[test]
fn perf_decodes_what_the_log_says() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    encoded(root, &log()).unwrap();
    let user: Vec<u64> = EXECUTED.into_iter().filter(|&ip| ip < KERNEL).collect();
    let expected =
        [("perf.data", EXECUTED.to_vec()), ("user/perf.data", user), ("thread/perf.data", EXECUTED.to_vec())];
    for (capture, expected) in expected {
        let Some(lines) = perf(root, capture, &["--itrace=i0ns", "-F", "event,ip"]) else {
            return eprintln!("skipped: no perf (Debian: linux-perf)");
        };
        assert_eq!(addresses(&lines), expected, "{capture}");
        let marks = perf(root, capture, &["--itrace=w", "-F", "event,ip,synth"]).unwrap();
        let marks: Vec<&String> = marks.iter().filter(|line| line.contains("ptwrite")).collect();
        assert!(marks.len() == 1 && marks[0].contains("0x1234"), "{capture}: {marks:?}");
    }
}

#[test]
fn a_trace_of_user_code_alone_has_no_address_of_the_kernel() {
    let folder = tempfile::tempdir().unwrap();
    encoded(folder.path(), &log()).unwrap();
    let Some(lines) = perf(folder.path(), "user/perf.data", &["-D"]) else { return };
    let packets: Vec<&String> =
        lines.iter().filter(|line| line.contains("TIP") || line.contains("FUP")).collect();
    // On at the begin, after the system call, after the fault; off at both, and at the second fault.
    for (name, count) in [("TIP.PGE", 3), ("TIP.PGD", 3)] {
        assert_eq!(packets.iter().filter(|line| line.contains(name)).count(), count, "{name}: {packets:?}");
    }
    assert!(!packets.iter().any(|line| line.contains("0xffffffff81")), "{packets:?}");
}

#[test]
fn the_ledger_has_every_instruction_with_the_guests_time() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = encoded(folder.path(), &log()).unwrap();
    let words = |name: &str| {
        let bytes = std::fs::read(folder.path().join("out/log").join(name)).unwrap();
        let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
        words.collect::<Vec<_>>()
    };
    assert_eq!(recorded.executed, [15]);
    assert_eq!(words("instructions0.bin"), EXECUTED);
    // Host 202 000 is guest 100 000; the second block came 200 host ticks later.
    assert_eq!(words("times0.bin")[..4], [100_000, 100_000, 100_000, 100_100]);
    // From the last fault to the log's end: 200 guest ticks, at 1 GHz; the bound is 300.
    assert_eq!(recorded.gaps, []);
}

#[test]
fn a_stand_still_of_the_host_is_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let mut words = log();
    // The second block comes 2000 host ticks later, 1000 guest ticks.
    let second = words.iter().position(|&word| word == 200 << 32).unwrap();
    words[second] = 2000 << 32;
    let recorded = encoded(folder.path(), &words).unwrap();
    assert_eq!(recorded.gaps, [Gap { cpu: 0, from: 100_000, to: 101_000, ip: USER }]);
}

#[test]
fn a_halted_cpu_writes_power_packets_and_is_no_gap() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    // The fault's handler returns to the idle loop; an interrupt ends the sleep 5 us later; its handler returns to the program.
    let words = [
        event(4, &[202_000]),
        block(4, 0),
        event(2, &[100_020, 202_040]),
        block(6, 200),
        event(6, &[202_300]),
        event(7, &[212_300]),
        event(1, &[IDLE + 1, FAULT_ENTRY, 212_400]),
        block(4, 10_210),
        block(5, 200),
        block(1, 200),
        event(5, &[USER + 6, 0x1234, 213_000]),
        block(2, 200),
        event(8, &[213_100]),
    ];
    let recorded = encoded(root, &words.concat()).unwrap();
    assert_eq!(recorded.gaps, []);
    let Some(lines) = perf(root, "perf.data", &["--itrace=i0ns", "-F", "event,ip"]) else { return };
    let handler = [FAULT_ENTRY, FAULT_ENTRY + 1];
    let program = [USER + 1, USER + 4, USER + 6, USER + 11];
    assert_eq!(addresses(&lines), [&handler[..], &[IDLE], &handler, &program].concat());
    let packets = perf(root, "perf.data", &["-D"]).unwrap();
    for name in ["PWRE", "EXSTOP", "PWRX"] {
        assert_eq!(packets.iter().filter(|line| line.contains(name)).count(), 1, "{name}");
    }
}

#[test]
fn a_cpu_that_leaves_a_modelled_state_is_stalled_by_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    // The CPU halts in the model's state 3, C6; it has something to do 5 us later, and the exit takes 133 us.
    let words = [
        event(4, &[202_000]),
        block(4, 0),
        event(2, &[100_020, 202_040]),
        block(6, 200),
        event(6, &[202_300, 3]),
        event(9, &[1, 212_300, 478_300, 3]),
        event(7, &[478_300]),
        event(1, &[IDLE + 1, FAULT_ENTRY, 478_400]),
        block(4, 276_210),
        block(5, 200),
        block(1, 200),
        event(5, &[USER + 6, 0x1234, 479_000]),
        block(2, 200),
        event(8, &[479_100]),
    ];
    assert_eq!(encoded(root, &words.concat()).unwrap().gaps, []);
    let stalls = std::fs::read_to_string(root.join("out/log/stalls.csv")).unwrap();
    assert_eq!(stalls, "cpu,kind,from_tsc,to_tsc,detail\n0,idle-exit,105150,238150,3\n");
    let Some(lines) = perf(root, "perf.data", &["--itrace=p", "-F", "time,event,synth", "--ns"]) else {
        return;
    };
    let power: Vec<&String> = lines.iter().filter(|line| line.contains("pwr")).collect();
    assert!(power[0].contains("0.000100150"), "{power:?}");
    assert!(power[1].contains("0.000238150") && power[1].contains("last cstate: 6"), "{power:?}");
    // perf 6.1 prints another state than that of the packet.
    let packets = perf(root, "perf.data", &["-D"]).unwrap();
    assert!(packets.iter().any(|line| line.contains("PWRE") && line.contains("CState:6 Sub-CState:0")));
}

#[test]
fn a_core_whose_ratio_changes_is_halted_by_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let mut words = log();
    // 1.5 us before the second block, which comes later by that.
    let second = words.iter().position(|&word| word == 200 << 32).unwrap();
    words[second] = 3200 << 32;
    words.splice(second..second, event(9, &[2, 202_100, 205_100, 5]));
    // What comes with a time of its own is later, too.
    words.iter_mut().filter(|word| (202_500..=204_000).contains(*word)).for_each(|word| *word += 3000);
    let recorded = encoded(root, &words).unwrap();
    assert_eq!((recorded.executed, recorded.gaps), (vec![15], vec![]));
    let Some(lines) = perf(root, "perf.data", &["--itrace=i0ns", "-F", "event,ip"]) else { return };
    assert_eq!(addresses(&lines), EXECUTED);
    for capture in ["perf.data", "user/perf.data", "thread/perf.data"] {
        let packets = perf(root, capture, &["-D"]).unwrap();
        let ratios = packets.iter().filter(|line| line.contains(" CBR 0x5")).count();
        assert!(
            ratios >= 1,
            "{capture}: {:?}",
            packets.iter().filter(|line| line.contains("CBR")).collect::<Vec<_>>()
        );
    }
}

#[test]
fn what_a_block_waited_for_its_data_comes_before_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut words = log();
    // 1.5 us before the second block, which comes later by that.
    let second = words.iter().position(|&word| word == 200 << 32).unwrap();
    words[second] = 3200 << 32;
    words.splice(second..second, event(9, &[6, 202_100, 205_100, 44 << 16]));
    words.iter_mut().filter(|word| (202_500..=204_000).contains(*word)).for_each(|word| *word += 3000);
    let recorded = encoded(folder.path(), &words).unwrap();
    assert_eq!((recorded.executed, recorded.gaps), (vec![15], vec![]));
    let stalls = std::fs::read_to_string(folder.path().join("out/log/stalls.csv")).unwrap();
    let expected = format!("cpu,kind,from_tsc,to_tsc,detail\n0,data,100050,101550,{}\n", 44_u64 << 16);
    assert_eq!(stalls, expected);
}

#[test]
fn a_block_waits_for_its_code_after_what_was_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut words = log();
    // The second block waits 1.5 us after it has begun: what comes after it is later by that.
    let second = words.iter().position(|&word| word == 200 << 32).unwrap();
    let third = second + 1;
    words[third] = block(1, 3200)[0];
    words.splice(third..third, event(9, &[5, 202_200, 205_200, 44 << 32]));
    words.iter_mut().filter(|word| (202_500..=204_000).contains(*word)).for_each(|word| *word += 3000);
    let recorded = encoded(folder.path(), &words).unwrap();
    assert_eq!((recorded.executed, recorded.gaps), (vec![15], vec![]));
    let read = |name: &str| std::fs::read(folder.path().join("out/log").join(name)).unwrap();
    let stalls = format!("cpu,kind,from_tsc,to_tsc,detail\n0,fetch,100100,101600,{}\n", 44_u64 << 32);
    assert_eq!(String::from_utf8(read("stalls.csv")).unwrap(), stalls);
    let times: Vec<u64> =
        read("times0.bin").chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    assert_eq!(times[3..7], [100_100, 100_100, 100_100, 101_700]);
}

#[test]
fn a_log_in_which_a_block_cannot_follow_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let mut words = log();
    // The fault's entry right after the loop, without an interrupt.
    let second = words.iter().position(|&word| word == 200 << 32).unwrap();
    words[second] |= 4;
    let error = encoded(folder.path(), &words).unwrap_err();
    let offset = second * 8;
    assert!(matches!(error, Error::Capture { offset: at, .. } if at == offset as u64), "{error}");
}

#[test]
fn a_guest_whose_clock_is_not_its_tsc_is_refused() {
    // Records get their time from an RDTSC: the log knows those at 100 020 and 100 900 ticks, which are nanoseconds here.
    let folder = tempfile::tempdir().unwrap();
    assert!(encoded_with_switch(folder.path(), &log(), 100_021).is_ok());
    let error = encoded_with_switch(folder.path(), &log(), 100_040).unwrap_err();
    assert!(error.to_string().contains("refined its TSC"), "{error}");
}

#[test]
fn with_one_event_of_the_log_altered_perf_does_not_find_what_was_executed() {
    let altered = |words: &mut Vec<u64>, from: u64, to: u64| {
        let at = words.iter().rposition(|&word| word == from).unwrap();
        words[at] = to;
    };
    let mutations = [
        ("the loop once more instead of the fault's handler", 4 | 200 << 32, 200 << 32),
        ("a fault one instruction later", USER + 1, USER + 4),
        ("the way out of the loop missed", 1 | 200 << 32, 200 << 32),
    ];
    for (what, from, to) in mutations {
        let folder = tempfile::tempdir().unwrap();
        let mut words = log();
        altered(&mut words, from, to);
        if encoded(folder.path(), &words).is_err() {
            continue;
        }
        let Some(lines) = perf(folder.path(), "perf.data", &["--itrace=i0ns", "-F", "event,ip"]) else {
            return;
        };
        assert_ne!(addresses(&lines), EXECUTED, "{what} was not noticed");
    }
}

/// Code in memory without a file is in no capture but as copies, unless a jitdump has it.
#[test]
fn code_without_a_file_is_copied_as_it_ran() {
    let anonymous = |origin| Record::anonymous_mapping(USER & !0xfff, 0x1000, origin);
    let dump = |origin| {
        let path = "/results/jit-100.dump".to_owned();
        Record::mapping_by_inode(&Mapping { address: 0x7000, size: 0x1000, file_offset: 0, path }, origin)
    };
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str, guest: &[u8]| {
        let root = folder.path().join(name);
        encoded_of(&root, &log(), guest).unwrap();
        let out = root.join("out");
        assert_eq!(out.join("anonymous.bin").exists(), name != "file");
        let read = |path: &str| std::fs::read(out.join(path)).ok();
        let all = ["perf.data/code", "user/perf.data.code", "thread/perf.data/code"].map(read);
        assert!(all[0] == all[1] && all[1] == all[2]);
        all[0].clone()
    };
    let copies =
        of("memory", &guest_with(90_000, |origin| vec![anonymous(origin), anonymous(origin)])).unwrap();
    let number = |at: usize| u64::from_le_bytes(copies[at..at + 8].try_into().unwrap());
    let code = [&USER_CODE[..6], &NOP[..], &USER_CODE[11..]].concat();
    assert_eq!((&copies[..16], number(16), copies.len()), (&b"tailtrace-code/1"[..], 1, 64 + code.len()));
    assert_eq!([number(24), number(32), number(56)], [(code.len() as u64) << 32 | 0x64, USER, 64]);
    assert_eq!(copies[64..], code);
    // Process 100. The guest's TSC at the log's begin and end.
    assert!((100_000..100_100).contains(&number(40)) && (100_700..=101_000).contains(&number(48)));
    assert_eq!(of("dump", &guest_with(90_000, |origin| vec![anonymous(origin), dump(origin)])), None);
    assert_eq!(of("file", &guest(90_000)), None);
}
