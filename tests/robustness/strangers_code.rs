//! Programs of strangers: what their debug links and line tables may make the tool read, and how much may come out of their sections.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::read::ZlibDecoder;
use flate2::{Compress, Compression, FlushCompress};

use super::packing::{Attack, SECRET};
use crate::captures::tailtrace;

/// As much as the bomb becomes, in bytes; so much memory no run may take.
const UNPACKED: u64 = 1 << 30;

#[track_caller]
fn run(tool: &str, folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(tool).current_dir(folder).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{tool}, of scripts/setup test: {error}"));
    assert!(output.status.success(), "{tool} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Puts another program in the recorded one's place: the same code, names and build ID, with lines of `source`.
fn with_lines(attack: &Attack, source: &Path) {
    let notes = run("readelf", attack.folder.path(), &["-n", text(&attack.in_symfs("program"))]);
    let id = notes.split_once("Build ID: ").expect("a build ID").1.split_whitespace().next().expect("an ID");
    let code = format!(
        ".text
         .globl main, work, idle
         .type main, @function
         .type work, @function
         .type idle, @function
         .file 1 \"{}\"
         main: .loc 1 1
         movl $3, %ecx
         .size main, .-main
         work: .loc 1 2
         decl %ecx
         jnz work
         .size work, .-work
         idle: .loc 1 3
         pause
         jmp main
         .size idle, .-idle
",
        source.display()
    );
    let here = attack.folder.path();
    fs::write(here.join("program.s"), code).expect("written");
    run("as", here, &["program.s", "-o", "program.o"]);
    let id = format!("--build-id=0x{id}");
    let place = text(&attack.path);
    run("ld", here, &["-z", "separate-code", "-Ttext=0x401000", "-e", "main", &id, "program.o", "-o", place]);
}

fn explained(attack: &Attack, more: &[&str]) -> String {
    let output = attack.run("explain", more);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn a_source_that_an_unverified_program_names_is_not_read() {
    let page = |attack: &Attack| {
        let secret = attack.folder.path().join("secret.c");
        fs::write(&secret, format!("{SECRET}\n").repeat(4)).expect("written");
        with_lines(attack, &secret);
        explained(attack, &["--html", "page.html"]);
        fs::read_to_string(attack.folder.path().join("page.html")).expect("a page")
    };
    assert!(page(&Attack::new()).contains(SECRET), "the recorded build's own source is shown");
    let unverified = page(&Attack::new().without_build_id([0; 24]));
    assert!(unverified.contains("work()") && !unverified.contains(SECRET), "any file of this machine");
}

/// Found by its recorded place, or by its build ID in perf's cache: no option names it.
#[test]
fn a_program_that_served_is_no_output() {
    let attack = Attack::new();
    let here = attack.folder.path();
    let notes = run("readelf", here, &["-n", text(&attack.path)]);
    let id = notes.split_once("Build ID: ").expect("a build ID").1.split_whitespace().next().expect("an ID");
    let cached = here.join(".debug/.build-id").join(&id[..2]).join(&id[2..]);
    fs::create_dir_all(&cached).expect("made");
    let cached = cached.join("elf");
    let program = fs::read(&attack.path).expect("the program");
    for place in [&attack.path, &cached] {
        let moved = fs::rename(&attack.path, place);
        assert!(moved.is_ok() && fs::read(place).is_ok_and(|bytes| bytes == program));
        for (command, option) in
            [("explain", &["--html"][..]), ("export", &["--to", "csv", "-o"]), ("slice", &["-o"])]
        {
            let output = attack.run(command, &[option, &[text(place)]].concat());
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{command}: {said}");
            assert!(said.contains("is an input of this command"), "{command}: {said}");
            assert_eq!(fs::read(place).expect("the program"), program, "{command}");
        }
    }
}

/// A section of [`UNPACKED`] zeros: header and zlib stream of a mebibyte of zeros, again and again.
fn bomb() -> Vec<u8> {
    let mut part = Vec::with_capacity(1 << 16);
    let zeros = vec![0; 1 << 20];
    let mut packing = Compress::new(Compression::best(), false);
    packing.compress_vec(&zeros, &mut part, FlushCompress::Sync).expect("packed");
    assert_eq!(packing.total_in(), 1 << 20);
    // Elf64_Chdr: ELFCOMPRESS_ZLIB, nothing, size, alignment.
    let mut section = [1_u32.to_le_bytes(), [0; 4]].concat();
    section.extend([UNPACKED.to_le_bytes(), 1_u64.to_le_bytes()].concat());
    section.extend([0x78, 0xda]);
    for _ in 0..UNPACKED >> 20 {
        section.extend(&part);
    }
    // An empty last block, and Adler-32: of zeros, their number above one.
    section.extend([3, 0]);
    let sum = u32::try_from(UNPACKED % 65521).expect("small") << 16 | 1;
    section.extend(sum.to_be_bytes());
    section
}

/// Sets `SHF_COMPRESSED` of the section `name`.
fn mark_compressed(elf: &mut [u8], name: &str) {
    let word = |elf: &[u8], at: usize| -> usize {
        let bytes = elf[at..at + 8].try_into().expect("eight bytes");
        usize::try_from(u64::from_le_bytes(bytes)).expect("an offset")
    };
    let half = |elf: &[u8], at: usize| usize::from(u16::from_le_bytes([elf[at], elf[at + 1]]));
    let (headers, count, names) = (word(elf, 0x28), half(elf, 0x3c), half(elf, 0x3e));
    let header = |index: usize| headers + index * 64;
    let names = word(elf, header(names) + 0x18);
    let is_it = |&index: &usize| {
        let at = names + (word(elf, header(index)) & 0xffff_ffff);
        elf[at..].starts_with(format!("{name}\0").as_bytes())
    };
    let found = (0..count).find(is_it).expect("the section");
    elf[header(found) + 9] |= 0x08;
}

/// Runs a program with so many bytes of address space; on one thread, for each has some of its own.
fn within(limit: u64, mut command: Command) -> std::process::Output {
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -v $0; exec \"$@\"", &(limit / 1024).to_string()]);
    limited.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        limited.current_dir(folder);
    }
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command = limited;
    command.output().expect("sh runs")
}

#[test]
fn debug_information_that_unpacks_to_too_much_takes_no_memory() {
    let attack = Attack::new();
    let here = attack.folder.path();
    with_lines(&attack, &here.join("its.c"));
    let section = bomb();
    let unpacked = io::copy(&mut ZlibDecoder::new(&section[24..]), &mut io::sink());
    assert_eq!(unpacked.expect("a sound stream"), UNPACKED);
    fs::write(here.join("zeros"), section).expect("written");
    run("objcopy", here, &["--update-section", ".debug_str=zeros", text(&attack.path)]);
    let mut program = fs::read(&attack.path).expect("the program");
    assert!(program.len() < 2 << 20, "no bomb: {} bytes", program.len());
    mark_compressed(&mut program, ".debug_str");
    fs::write(&attack.path, program).expect("written");
    let explain = |arguments: &[&str]| {
        let mut explain = tailtrace();
        explain.current_dir(here).env("HOME", here).arg("explain").args(arguments).args(["-j", "1"]);
        let output = within(UNPACKED, explain);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
        assert!(
            said.contains("debug information would unpack to more than is read"),
            "{arguments:?}: {said}"
        );
        let report = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(report.contains("work()"), "{arguments:?}: {report}");
    };
    let chosen = ["-i", "perf.data", "--intervals", "intervals.csv", "--top", "1"];
    explain(&[&chosen[..], &["--html", "page.html"]].concat());
    let bundled = attack.run("bundle", &["-o", "ticket"]);
    assert_eq!(bundled.status.code(), Some(0), "{}", String::from_utf8_lossy(&bundled.stderr));
    assert!(String::from_utf8_lossy(&bundled.stdout).contains("(build ID)"), "it is packed");
    explain(&["ticket", "--html", "page.html"]);
}

/// The program in a bundle.
fn in_bundle(folder: &Path) -> PathBuf {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("elf") || path.ends_with("program") {
                return path;
            }
        }
    }
    panic!("no program in {}", folder.display());
}

#[test]
fn a_debug_link_does_not_lead_out_of_a_bundle() {
    let attack = Attack::new();
    let here = attack.folder.path();
    let packed = |name: &str| {
        let output = attack.run("bundle", &["-o", name]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        in_bundle(&here.join(name))
    };
    let ups = packed("first").strip_prefix(here).expect("below").components().count() - 1;
    let link = "../".repeat(ups) + "x.dbg";
    // A file whose name is as long serves: names come from it.
    with_lines(&attack, Path::new("its.c"));
    let beside = attack.path.with_file_name("y".repeat(link.len()));
    run("objcopy", here, &["--only-keep-debug", text(&attack.path), text(&beside)]);
    let debug_link = format!("--add-gnu-debuglink={}", text(&beside));
    run("objcopy", here, &["--strip-all", &debug_link, text(&attack.path)]);
    assert!(explained(&attack, &[]).contains("work()"));
    // The same with a link that leads from the bundle to a file that lies outside.
    let mut program = fs::read(&attack.path).expect("the program");
    let name = "y".repeat(link.len());
    let at = memchr::memmem::find(&program, name.as_bytes()).expect("the link");
    program[at..at + link.len()].copy_from_slice(link.as_bytes());
    fs::write(&attack.path, program).expect("written");
    fs::rename(beside, here.join("x.dbg")).expect("renamed");
    let elf = packed("ticket");
    assert!(elf.parent().expect("a folder").join(&link).is_file(), "the link leads nowhere");
    let mut explain = tailtrace();
    let output = explain.current_dir(here).args(["explain", "ticket"]).output().expect("tailtrace runs");
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!told.contains("work()"), "{told}");
}
