//! Names, lines, disassembly, PLT stubs and debug files against binutils and LLVM, on a program compiled here.
//!
//! A tool that is not installed fails its test.

use std::collections::HashMap;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::{BuildId, MapEvent, Mapping, Pid, Tsc};
use tailtrace_symbols::{LowBits, ProcessImages, SearchPath};

const PID: Pid = Pid(7);
const AT: Tsc = Tsc(10);
/// Where the program is mapped: its stated addresses plus this.
const BIAS: u64 = 0x5555_0000_0000;

/// The standard output of a tool.
fn run(tool: &str, arguments: &[&str]) -> String {
    let output = Command::new(tool).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{tool}: {error}"));
    assert!(output.status.success(), "{tool} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Says on the terminal, which no passing test does else, what the test that runs does without. `scripts/test` repeats it last.
fn left_out(what: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "left out: {test}: {what}");
}

/// The test program in a folder of its own.
struct Program {
    dir: tempfile::TempDir,
}

impl Program {
    fn compiled(options: &[&str]) -> Program {
        let program = Program { dir: tempfile::tempdir().expect("a folder") };
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program.c");
        let output = program.text();
        let mut arguments = vec![source, "-o", &output, "-O2", "-g", "-fPIE", "-pie"];
        arguments.extend(options);
        run("cc", &arguments);
        program
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("program")
    }

    fn text(&self) -> String {
        self.path().to_str().expect("UTF-8").to_owned()
    }

    /// The program mapped as the loader would, at [`BIAS`].
    fn images(&self, build_id: Option<BuildId>) -> ProcessImages {
        images_of(&self.path(), build_id, SearchPath::default())
    }
}

fn images_of(path: &Path, build_id: Option<BuildId>, search: SearchPath) -> ProcessImages {
    let (svma, file_offset, size) = code_segment(path);
    let page = svma & 0xfff;
    let start = BIAS + svma - page;
    let mapping = Mapping {
        pid: PID,
        range: start..start + ((size + page + 0xfff) & !0xfff),
        file_offset: file_offset - page,
        path: path.to_str().expect("UTF-8").to_owned(),
        build_id,
        inode: None,
    };
    ProcessImages::new(search, vec![(Tsc(0), MapEvent::Map(mapping))], Vec::new())
}

/// Address, file offset and size of the executable segment, by readelf.
fn code_segment(path: &Path) -> (u64, u64, u64) {
    let text = run("readelf", &["-lW", path.to_str().expect("UTF-8")]);
    let line =
        text.lines().find(|line| line.contains("LOAD") && line.contains("R E")).expect("a code segment");
    let numbers: Vec<u64> = line.split_whitespace().filter_map(hex).collect();
    (numbers[1], numbers[0], numbers[3])
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// Symbols with a size, of these kinds, with their stated addresses, by nm.
fn symbols(path: &str, options: &[&str], kinds: &str) -> Vec<(Range<u64>, String)> {
    let text = run("nm", &[&["-S", "--defined-only"], options, &[path]].concat());
    let symbol = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [start, size, kind, name] = fields[..] else { return None };
        let start = u64::from_str_radix(start, 16).ok()?;
        let range = start..start + u64::from_str_radix(size, 16).ok()?;
        kinds.contains(kind).then(|| (range, name.to_owned()))
    };
    text.lines().filter_map(symbol).collect()
}

/// Functions with their stated addresses, by nm.
fn functions(path: &str) -> Vec<(Range<u64>, String)> {
    symbols(path, &[], "Tt")
}

/// Where code lies shows where variables lie; each thread has its own of `own`.
#[test]
fn every_address_of_a_variable_has_its_name() {
    const VARIABLES: &str = "BbDdRr";
    let program = Program::compiled(&["-rdynamic"]);
    let stripped = program.dir.path().join("stripped");
    run("strip", &["-o", stripped.to_str().expect("UTF-8"), &program.text()]);
    for (path, options) in [(program.path(), &[][..]), (stripped, &["-D"][..])] {
        let text = path.to_str().expect("UTF-8");
        let images = images_of(&path, None, SearchPath::default());
        let threads_own = |name: &str| name == "own";
        let variables = symbols(text, options, VARIABLES);
        assert!(variables.iter().any(|(range, name)| name == "queue" && range.end - range.start == 200));
        for (range, name) in variables.into_iter().filter(|(_, name)| !threads_own(name)) {
            for offset in [0, (range.end - range.start) / 2, range.end - range.start - 1] {
                let found = images.variable_at(PID, BIAS + range.start + offset, AT);
                let found = found.unwrap_or_else(|| panic!("{name} in {text}"));
                assert_eq!((&*found.name, found.offset), (&*name, offset), "{text}");
                assert_eq!(found.size, range.end - range.start, "{name}");
            }
            assert_eq!(images.function_at(PID, BIAS + range.start, AT).map(|found| found.name.clone()), None);
        }
        for (range, name) in symbols(text, options, "Tt") {
            assert_eq!(images.variable_at(PID, BIAS + range.start, AT), None, "{name}");
        }
    }
}

/// What `readelf -n` prints as the build ID.
fn build_id(path: &str) -> String {
    let notes = run("readelf", &["-n", path]);
    notes.lines().find_map(|line| line.trim().strip_prefix("Build ID: ")).expect("a build ID").to_owned()
}

#[test]
fn a_function_lies_in_the_file_that_ran() {
    let program = Program::compiled(&["-Wl,--build-id=sha1"]);
    let images = program.images(None);
    let all = functions(&program.text());
    assert_eq!(images.in_used_files("main"), [], "nothing ran yet");
    images.function_at(PID, BIAS + all[0].0.start, AT).expect("a function");
    for (range, name) in &all {
        let starts: Vec<u64> = images.in_used_files(name).iter().map(|one| one.svma).collect();
        assert!(starts.contains(&range.start), "{name}: {starts:x?}");
    }
    let main = images.in_used_files("main").remove(0);
    assert_eq!(*main.file, *program.text());
    assert_eq!(main.build_id.expect("its own").to_string(), build_id(&program.text()));
    assert_eq!(images.in_used_files("no_such_function"), []);
}

/// Some bits of an address are enough, in a program of less than their reach.
#[test]
fn a_text_is_found_by_the_end_of_its_address() {
    let program = Program::compiled(&[]);
    let images = program.images(None);
    let named = |name: &str, kinds| {
        let found = symbols(&program.text(), &[], kinds).into_iter().find(|(_, other)| other == name);
        BIAS + found.unwrap_or_else(|| panic!("{name}")).0.start
    };
    let (label, main) = (named("label", "R"), named("main", "T"));
    for width in [16, 20, 40] {
        let at = |address: u64, ip| {
            let low = LowBits { value: address & ((1 << width) - 1), width };
            images.text_at(PID, low, ip, AT).map(|text| text.to_string())
        };
        for ip in [None, Some(main)] {
            assert_eq!(at(label, ip).as_deref(), Some("an order"), "{width}");
            assert_eq!(at(label + 3, ip).as_deref(), Some("order"), "{width}");
            assert_eq!(at(label + 8, ip), None, "an empty one is none");
            assert_eq!(at(main, ip), None, "code is no text");
        }
    }
    let low = LowBits { value: label & 0xff, width: 8 };
    assert_eq!(images.text_at(PID, low, None, AT), None, "too few bits");
}

#[test]
fn every_address_of_a_function_has_its_name() {
    let program = Program::compiled(&[]);
    let images = program.images(None);
    let functions = functions(&program.text());
    assert!(functions.iter().any(|(_, name)| name == "local_function"));
    for (range, name) in functions {
        for svma in range.clone() {
            let function = images.function_at(PID, svma + BIAS, AT).expect("a function");
            assert_eq!((&**function.name, function.start), (name.as_str(), range.start + BIAS));
            assert!(function.range.contains(&(svma + BIAS)));
            assert_eq!(images.name_of(function.id), Some(function.name));
        }
        assert_eq!(images.addresses_of(PID, &name, AT), [range.start + BIAS], "{name}");
        assert_eq!(images.addresses_of_any(&name), [(PID, range.start + BIAS)], "{name}");
    }
    let location = images.resolve(PID, BIAS + 0x10_0000, AT);
    assert_eq!((location.symbol, &*location.dso), (None, "[unknown]"));
}

#[test]
fn lines_and_inlines_equal_addr2lines() {
    let program = Program::compiled(&[]);
    let images = program.images(None);
    let functions = functions(&program.text());
    let mut deepest = 0;
    for (range, _) in
        functions.iter().filter(|(_, name)| ["outermost", "local_function"].contains(&name.as_str()))
    {
        for svma in range.clone() {
            let theirs = run("addr2line", &["-afi", "-e", &program.text(), &format!("{svma:#x}")]);
            let ours = images.lines(PID, svma + BIAS, AT);
            let text: Vec<String> = ours
                .iter()
                .flat_map(|frame| {
                    let line = frame.line.map_or("?".to_owned(), |line| line.to_string());
                    [frame.function.clone(), format!("{}:{line}", frame.file.as_deref().unwrap_or("??"))]
                })
                .collect();
            let theirs: Vec<&str> = theirs
                .lines()
                .skip(1)
                .map(|line| line.split(" (discriminator").next().unwrap_or(line))
                .collect();
            assert_eq!(text, theirs, "{svma:#x}");
            let inlined: Vec<bool> = ours.iter().map(|frame| frame.inlined).collect();
            assert_eq!(
                inlined.iter().rev().position(|&inlined| !inlined),
                Some(0),
                "only the last frame is not inlined"
            );
            deepest = deepest.max(ours.len());
        }
    }
    assert_eq!(deepest, 3, "innermost in middle in outermost");
}

#[test]
fn disassembly_equals_objdumps() {
    let program = Program::compiled(&[]);
    let text = run("objdump", &["-d", "--no-show-raw-insn", "--section=.text", &program.text()]);
    let images = program.images(None);
    let lines = text.lines().filter_map(|line| line.trim().split_once(":\t"));
    let theirs: Vec<(u64, &str)> =
        lines.map(|(address, text)| (u64::from_str_radix(address, 16).expect("an address"), text)).collect();
    assert!(theirs.len() > 50, "{text}");
    for (index, &(svma, theirs_text)) in theirs.iter().enumerate() {
        let ours = images.disassemble(PID, svma + BIAS, AT, 1);
        let [ours] = &ours[..] else { panic!("nothing at {svma:#x}") };
        assert_eq!(ours.address, svma + BIAS);
        // objdump's spelling of one kind of padding.
        if theirs_text.starts_with("xchg   %ax,%ax") {
            continue;
        }
        assert_eq!(operation(&ours.text), operation(theirs_text), "{svma:#x}: {}", ours.text);
        if let Some((next, _)) = theirs.get(index + 1) {
            assert!(svma + ours.bytes.len() as u64 <= *next, "{svma:#x}: {} is too long", ours.text);
        }
    }
}

/// The mnemonic without prefixes and operand size, which the two tools spell differently.
fn operation(text: &str) -> &str {
    let word = text.split_whitespace().find(|word| !["bnd", "cs", "data16", "notrack"].contains(word));
    word.unwrap_or_default().trim_end_matches(['q', 'l', 'w', 'b'])
}

#[test]
fn stubs_have_objdumps_names() {
    let program = Program::compiled(&[]);
    let mut files = vec![program.path()];
    for item in
        ["arcus/ovf-01-ben/root/usr/lib/x86_64-linux-gnu", "arcus/ovf-01-poc/root/usr/lib/x86_64-linux-gnu"]
    {
        let corpus = std::env::var_os("TAILTRACE_CORPUS").map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
            PathBuf::from,
        );
        let names = ["libc-2.28.so", "ld-2.28.so"];
        files.extend(names.iter().map(|name| corpus.join(item).join(name)).filter(|path| path.is_file()));
        if !corpus.is_dir() {
            left_out(&format!("the libraries of {item} (set TAILTRACE_CORPUS)"));
        }
    }
    for file in files {
        let images = images_of(&file, None, SearchPath::default());
        let sections = ["-j.plt", "-j.plt.got", "-j.plt.sec"];
        let path = file.to_str().expect("UTF-8");
        let present = run("readelf", &["-SW", path]);
        let mut arguments = vec!["-d"];
        arguments.extend(sections.iter().filter(|section| present.contains(&format!(" {} ", &section[2..]))));
        arguments.push(path);
        let text = run("objdump", &arguments);
        let (mut compared, mut first) = (0, 0);
        for line in text.lines() {
            let Some((address, name)) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) else {
                continue;
            };
            // objdump has the entry before the first stub as `puts@plt-0x10`: it leads to the loader.
            let is_first = name.ends_with("@plt-0x10");
            let stub = name.strip_suffix("@plt").map(|name| name.split("@@").next().unwrap_or(name));
            let Some(name) = (if is_first { Some("_dl_runtime_resolve") } else { stub }) else { continue };
            first += usize::from(is_first);
            let svma = u64::from_str_radix(address, 16).expect("an address");
            let location = images.resolve(PID, svma + BIAS, AT);
            assert_eq!(location.symbol.as_deref(), Some(&*format!("{name}@plt")), "{path} {line}");
            compared += 1;
        }
        assert!(compared >= 2 && first == 1, "{path}: {compared}, {first}");
    }
}

/// In a static program stubs lead to the variants of functions that the processor has. objdump says through which slot each jumps,
/// readelf which function fills the slot, nm what that is called.
#[test]
fn stubs_of_a_static_program_have_their_functions_names() {
    let program = Program::compiled(&["-static", "-fno-pie", "-no-pie"]);
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let fills = run("readelf", &["-rW", &program.text()]);
    let fills = fills.lines().filter(|line| line.contains("R_X86_64_IRELATIV")).filter_map(|line| {
        let mut fields = line.split_whitespace();
        Some((number(fields.next()?)?, number(fields.next_back()?)?))
    });
    let fills: HashMap<u64, u64> = fills.collect();
    let choosers = symbols(&program.text(), &[], "i");
    let jumps = run("objdump", &["-d", "-j.plt", &program.text()]);
    let jumps = jumps.lines().filter_map(|line| {
        let (at, jump) = line.split_once(':')?;
        let (slot, _) = jump.split_once("# ")?.1.split_once(' ')?;
        Some((number(at.trim())?, number(slot)?))
    });
    let images = program.images(None);
    let mut compared = 0;
    for (at, slot) in jumps {
        let of_slot = choosers.iter().filter(|(range, _)| Some(&range.start) == fills.get(&slot));
        let expected: Vec<String> = of_slot.map(|(_, name)| format!("{name}@plt")).collect();
        let found = images.resolve(PID, at + BIAS, AT).symbol.expect("a name");
        assert!(expected.contains(&found.to_string()), "{at:#x}: {found}, not of {expected:?}");
        compared += 1;
    }
    assert!(compared >= 10, "{compared}");
}

/// The program stripped; its symbols and lines in `debug`, beside it or by build ID under a symfs.
#[test]
fn a_debug_file_gives_a_stripped_binary_names_and_lines() {
    for options in [&["-Wl,--build-id=none"][..], &["-Wl,--build-id=sha1"][..]] {
        let program = Program::compiled(options);
        let whole = program.images(None);
        let start = whole.addresses_of(PID, "local_function", AT)[0];
        let lines = whole.lines(PID, start, AT);
        let debug = program.dir.path().join("program.debug");
        let debug_text = debug.to_str().expect("UTF-8");
        run("objcopy", &["--only-keep-debug", &program.text(), debug_text]);
        let link = format!("--add-gnu-debuglink={debug_text}");
        run("objcopy", &["--strip-all", &link, &program.text()]);
        let stripped = program.images(None);
        let name =
            |images: &ProcessImages| images.function_at(PID, start, AT).map(|found| found.name.to_string());
        assert_eq!(name(&stripped).as_deref(), Some("local_function"), "{options:?}");
        assert_eq!(stripped.lines(PID, start, AT), lines, "{options:?}");
        // Another file in its place: the CRC of the link, or the build ID, does not match.
        std::fs::write(&debug, std::fs::read("/proc/self/exe").expect("this test")).expect("written");
        // The unwind tables still show that a function begins there.
        let place = format!("program+{:#x}", start - BIAS);
        assert_eq!(name(&program.images(None)), Some(place), "{options:?}");
    }
}

#[test]
fn a_binary_with_another_build_id_is_refused() {
    let program = Program::compiled(&["-Wl,--build-id=0x0102030405060708090a0b0c0d0e0f1011121314"]);
    let same = BuildId::new(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20])
        .expect("an id");
    let other = BuildId::new(&[9; 20]).expect("an id");
    let start = program.images(None).addresses_of(PID, "main", AT)[0];
    let accepted = program.images(Some(same));
    assert_eq!(
        accepted.function_at(PID, start, AT).map(|found| found.name.to_string()).as_deref(),
        Some("main")
    );
    assert_eq!(accepted.diagnostics(), []);
    let refused = program.images(Some(other));
    assert!(refused.function_at(PID, start, AT).is_none());
    assert_eq!(model::CodeBytes::read(&refused, PID, start, AT, &mut [0; 4]), 0);
    assert!(model::CodeBytes::epoch(&refused, PID, AT).sections.is_empty());
    let said: Vec<String> = refused.diagnostics().into_iter().map(|diagnostic| diagnostic.what).collect();
    let of_build = said.iter().find(|what| what.contains("another build")).expect("a diagnostic");
    for part in [program.text(), "0102030405060708090a0b0c0d0e0f1011121314".into(), "0909090909090909".into()]
    {
        assert!(of_build.contains(&part), "{of_build}");
    }
}

/// A program linked to the kernel's addresses.
fn link_as_kernel(path: &str) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernel.c");
    let mut arguments =
        vec![source, "-o", path, "-O2", "-g", "-ffreestanding", "-fno-pic", "-nostdlib", "-static"];
    arguments.extend(["-no-pie", "-mcmodel=kernel", "-Wl,-Ttext=0xffffffff81000000", "-Wl,--build-id=none"]);
    run("cc", &arguments);
}

/// A vmlinux and a recording of a boot that moved it by 0x1c00000: KASLR.
#[test]
fn vmlinux_is_moved_to_where_the_kernel_ran() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("vmlinux");
    let text = path.to_str().expect("UTF-8");
    link_as_kernel(text);
    let (range, _) = functions(text).into_iter().find(|(_, name)| name == "do_work").expect("do_work");
    let slide = 0x1c0_0000;
    let start = 0xffff_ffff_8100_0000 + slide;
    let recorded = Mapping {
        pid: Pid::KERNEL,
        range: start..start + 0x1000,
        file_offset: start,
        path: "[kernel.kallsyms]_text".into(),
        build_id: None,
        inode: None,
    };
    let search =
        SearchPath { vmlinux: Some(path.clone()), symfs: Some(dir.path().into()), ..SearchPath::default() };
    let images = ProcessImages::new(search, vec![(Tsc(0), MapEvent::Map(recorded))], Vec::new());
    let address = range.start + slide;
    let function = images.function_at(PID, address + 1, AT).expect("do_work");
    assert_eq!((&**function.name, function.start), ("do_work", address));
    let names: Vec<String> = images.lines(PID, address, AT).into_iter().map(|frame| frame.function).collect();
    assert_eq!(names.last().map(String::as_str), Some("do_work"));
    let epoch = model::CodeBytes::epoch(&images, PID, AT);
    let section = epoch.sections.iter().find(|section| section.range.contains(&address)).expect("a section");
    let file = std::fs::read(&path).expect("vmlinux");
    let at = usize::try_from(section.file_offset + (address - section.range.start)).expect("small");
    let mut bytes = [0; 4];
    assert_eq!(model::CodeBytes::read(&images, PID, address, AT, &mut bytes), 4);
    assert_eq!(bytes, file[at..at + 4]);
    assert!(
        images.diagnostics().iter().any(|said| said.what.contains("--kcore")),
        "it says what such code lacks"
    );
}

/// Names, lines and code of binaries with wrong bytes anywhere: other answers, or none, but an end.
#[test]
fn damaged_binaries_give_answers_or_none() {
    let program = Program::compiled(&[]);
    let whole = std::fs::read(program.path()).expect("the program");
    let addresses: Vec<u64> =
        functions(&program.text()).iter().map(|(range, _)| range.start + BIAS).collect();
    let (svma, file_offset, _) = code_segment(&program.path());
    // A fixed sequence (Lehmer, 1951): a failure repeats.
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state * 48_271 % 0x7fff_ffff;
        usize::try_from(state).expect("31 bits") % below
    };
    let rounds =
        std::env::var("TAILTRACE_DAMAGE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(150);
    for round in 0..rounds {
        let mut bytes = whole.clone();
        for _ in 0..=random(60) {
            let at = if random(4) == 0 { random(0x400) } else { random(bytes.len()) };
            bytes[at] = u8::try_from(random(256)).expect("a byte");
        }
        if round % 3 == 0 {
            bytes.truncate(random(bytes.len()));
        }
        let damaged = program.dir.path().join(format!("damaged-{round}"));
        std::fs::write(&damaged, bytes).expect("written");
        let mapping = Mapping {
            pid: PID,
            range: BIAS + svma..BIAS + svma + 0x1000,
            file_offset,
            path: damaged.to_str().expect("UTF-8").to_owned(),
            build_id: None,
            inode: None,
        };
        let images =
            ProcessImages::new(SearchPath::default(), vec![(Tsc(0), MapEvent::Map(mapping))], Vec::new());
        for &address in &addresses {
            images.resolve(PID, address, AT);
            assert!(images.lines(PID, address, AT).len() <= 256);
            images.disassemble(PID, address, AT, 20);
        }
        images.addresses_of_any("main");
        images.diagnostics();
        std::fs::remove_file(&damaged).expect("removed");
    }
}
