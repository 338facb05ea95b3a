//! Captures of strangers, from which a bundle is made: they name files of this machine as code that ran.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::captures::{decompressed, repository, tailtrace};

pub(super) const SECRET: &str = "BEGIN OPENSSH PRIVATE KEY of this machine";
/// Where the scenarios' programs begin in their files.
const CODE_AT: usize = 0x1000;

/// Makes the capture of a program that ran at `path`, in `folder`; `more` stands among the sections of its scenario.
pub(super) fn record(folder: &Path, path: &Path, more: &str) {
    let place = path.to_str().expect("UTF-8");
    let scenario = format!(
        "code {place} 0x401000
  main: mov ecx, 3
  work: dec ecx
        jnz short work
  idle: pause
        jmp main

{more}
thread worker 100/101

cpu 0
  at 10us
  runs worker
  trace on main
  begin frame
  run to idle branches T2N for 500ns
  end

truth
  0 user.expected 500ns
"
    );
    let file = folder.join("its.scenario");
    fs::write(&file, scenario).expect("written");
    tracegen::scenario::make(&file, folder).unwrap_or_else(|error| panic!("{error}"));
}

/// A capture of a program that ran at `path`, and that path with whatever lies there.
pub(super) struct Attack {
    pub(super) folder: TempDir,
    pub(super) path: PathBuf,
}

impl Attack {
    /// The program is at its place, with the recorded build ID.
    pub(super) fn new() -> Attack {
        Attack::with("")
    }

    /// `more` stands among the sections of the scenario, where `HERE` is the folder of the files.
    fn with(more: &str) -> Attack {
        let folder = tempfile::tempdir().expect("a folder");
        let here = folder.path().join("here");
        fs::create_dir(&here).expect("made");
        let path = here.join("program");
        record(folder.path(), &path, &more.replace("HERE", here.to_str().expect("UTF-8")));
        let attack = Attack { folder, path };
        fs::copy(attack.in_symfs("program"), &attack.path).expect("copied");
        attack
    }

    /// Where the scenario's own copy of a program lies.
    pub(super) fn in_symfs(&self, name: &str) -> PathBuf {
        let recorded = self.path.with_file_name(name);
        self.folder.path().join("symfs").join(recorded.strip_prefix("/").expect("absolute"))
    }

    /// The recording's `data`.
    fn data(&self) -> PathBuf {
        let directory = self.folder.path().join("perf.data");
        if directory.is_dir() { directory.join("data") } else { directory }
    }

    /// Takes the build ID out of the records that name the program; `identity` stands there instead.
    pub(super) fn without_build_id(self, identity: [u8; 24]) -> Attack {
        // MMAP2: header (type, misc, size), pid, tid, address, length, offset, identity, protection, flags, name.
        const MISC: usize = 68;
        const IDENTITY: usize = 32;
        let mut bytes = fs::read(self.data()).expect("the recording");
        let name = [self.path.to_str().expect("UTF-8").as_bytes(), b"\0"].concat();
        let places: Vec<usize> = memchr::memmem::find_iter(&bytes, &name).collect();
        assert!(!places.is_empty());
        for place in places {
            assert_eq!(bytes[place - MISC - 4..place - MISC], 10_u32.to_le_bytes(), "no MMAP2");
            assert_eq!(bytes[place - MISC + 1] & 0x40, 0x40, "no build ID");
            bytes[place - MISC + 1] &= !0x40;
            bytes[place - IDENTITY..place - IDENTITY + 24].copy_from_slice(&identity);
        }
        fs::write(self.data(), bytes).expect("written");
        self
    }

    /// What lies at the path is a text with the code in it, so that the trace decodes.
    fn with_a_text(self) -> Attack {
        let program = fs::read(self.in_symfs("program")).expect("the program");
        let mut text = SECRET.as_bytes().to_vec();
        text.resize(CODE_AT, b'\n');
        text.extend(&program[CODE_AT..]);
        fs::write(&self.path, text).expect("written");
        self
    }

    /// `tailtrace COMMAND` of the capture, as its victim would.
    pub(super) fn run(&self, command: &str, more: &[&str]) -> Output {
        let mut process = tailtrace();
        process.current_dir(self.folder.path()).env("HOME", self.folder.path()).env("SECRET", SECRET);
        process.arg(command).args(["-i", "perf.data", "--intervals", "intervals.csv", "--top", "1"]);
        process.args(more).output().expect("tailtrace runs")
    }

    /// Makes a bundle; what it said, and what is in it.
    fn bundle(&self, more: &[&str]) -> (String, PathBuf) {
        let out = self.folder.path().join(format!("ticket{}.tar.zst", more.len()));
        let _ = fs::remove_file(&out);
        let output = self.run("bundle", &[&["-o", out.to_str().expect("UTF-8")], more].concat());
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&output.stderr));
        (said, out)
    }
}

#[track_caller]
fn assert_holds_no(secret: &str, bundle: &Path) {
    let bytes = decompressed(bundle);
    assert!(memchr::memmem::find(&bytes, secret.as_bytes()).is_none(), "{}", bundle.display());
}

/// The paths in an archive.
fn names(bundle: &Path) -> Vec<String> {
    let bytes = decompressed(bundle);
    let mut archive = tar::Archive::new(&bytes[..]);
    let entries = archive.entries().expect("an archive");
    entries
        .map(|entry| entry.expect("an entry").path().expect("a path").to_string_lossy().into_owned())
        .collect()
}

#[test]
fn a_text_is_never_packed() {
    let attack = Attack::new().without_build_id([0; 24]).with_a_text();
    for more in [&[][..], &["--redact"], &["--pack-unverified", "--redact", "--baselines", "0"]] {
        let (said, bundle) = attack.bundle(more);
        assert_holds_no(SECRET, &bundle);
        assert!(said.contains("left out: ") && said.contains("no ELF file"), "{said}");
    }
}

#[test]
fn what_the_kernel_makes_up_is_never_packed() {
    let attack = Attack::new().without_build_id([0; 24]);
    let mut bytes = fs::read(attack.data()).expect("the recording");
    let name = attack.path.to_str().expect("UTF-8").as_bytes().to_vec();
    let environ = b"/proc/self/environ\0";
    for place in memchr::memmem::find_iter(&bytes.clone(), &name) {
        bytes[place..place + environ.len()].copy_from_slice(environ);
    }
    fs::write(attack.data(), bytes).expect("written");
    let (said, bundle) = attack.bundle(&["--pack-unverified"]);
    assert_holds_no(SECRET, &bundle);
    assert!(!said.contains("packed: /proc"), "{said}");
}

#[test]
fn a_program_without_build_id_is_packed_when_the_user_vouches_for_it() {
    let attack = Attack::new().without_build_id([0; 24]);
    let path = attack.path.to_str().expect("UTF-8");
    let in_bundle = format!("/symfs{path}");
    let is_in = |bundle: &Path| names(bundle).iter().any(|name| name.ends_with(&in_bundle));
    let (said, bundle) = attack.bundle(&[]);
    assert!(said.contains(&format!("left out: {path}")) && said.contains("--pack-unverified"), "{said}");
    assert!(!is_in(&bundle));
    let (said, bundle) = attack.bundle(&["--pack-unverified"]);
    assert!(said.contains(&format!("packed: {path} (unverified)")) && is_in(&bundle), "{said}");
    let symfs = attack.folder.path().join("symfs");
    let (said, bundle) = attack.bundle(&["--symfs", symfs.to_str().expect("UTF-8")]);
    assert!(said.contains("(--symfs)") && is_in(&bundle), "{said}");
}

#[test]
fn the_recorded_inode_is_packed() {
    use std::os::unix::fs::MetadataExt;
    let attack = Attack::new();
    let meta = fs::metadata(&attack.path).expect("the program");
    let listed =
        std::process::Command::new("lsattr").arg("-v").arg(&attack.path).output().expect("lsattr runs");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let generation: u64 = listed.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let (major, minor) = (rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
    let identity = |generation: u64| {
        let mut bytes = [0; 24];
        bytes[..4].copy_from_slice(&major.to_le_bytes());
        bytes[4..8].copy_from_slice(&minor.to_le_bytes());
        bytes[8..16].copy_from_slice(&meta.ino().to_le_bytes());
        bytes[16..].copy_from_slice(&generation.to_le_bytes());
        bytes
    };
    let attack = attack.without_build_id(identity(generation));
    let (said, _) = attack.bundle(&[]);
    assert!(said.contains("(device and inode)"), "{said}");
    let another = Attack::new();
    fs::remove_file(&another.path).expect("removed");
    fs::hard_link(&attack.path, &another.path).expect("linked");
    let (said, _) = another.without_build_id(identity(generation + 1)).bundle(&[]);
    assert!(said.contains("left out: "), "{said}");
}

#[test]
fn only_what_ran_is_packed_and_the_manifest_says_where_it_came_from() {
    let attack = Attack::with("code HERE/library 0x7f0000001000\n  unused: ret\n");
    fs::copy(attack.in_symfs("library"), attack.path.with_file_name("library")).expect("copied");
    let (said, bundle) = attack.bundle(&[]);
    let path = attack.path.to_str().expect("UTF-8");
    assert_eq!(said.lines().collect::<Vec<_>>(), [format!("packed: {path} (build ID)")]);
    let bytes = decompressed(&bundle);
    let mut archive = tar::Archive::new(&bytes[..]);
    let mut entries = archive.entries().expect("an archive").map(|entry| entry.expect("an entry"));
    let manifest = entries.find(|entry| entry.path().expect("a path").ends_with("manifest.json"));
    let manifest: Value = serde_json::from_reader(manifest.expect("a manifest")).expect("JSON");
    let files = manifest["files"].as_array().expect("files");
    let elf = files.iter().find(|file| file["path"].as_str().is_some_and(|path| path.ends_with("/elf")));
    let elf = elf.expect("the program");
    assert_eq!((elf["from"].as_str(), elf["identified_by"].as_str()), (Some(path), Some("build ID")));
    assert!(files.iter().filter(|file| !file["from"].is_null()).count() == 1, "{files:?}");
    // With other names for paths: not here either.
    let (said, bundle) = attack.bundle(&["--redact"]);
    assert!(!said.contains(path), "{said}");
    assert_holds_no(path, &bundle);
}

#[test]
fn no_link_in_the_copy_of_a_kernel_is_followed() {
    for name in ["kallsyms", "modules", "kcore"] {
        let folder = tempfile::tempdir().expect("a folder");
        let scenario = repository().join("fixtures/scenarios/page_fault.scenario");
        tracegen::scenario::make(&scenario, folder.path()).expect("a capture");
        let place = |name: &str| folder.path().join(name);
        let secret = place("secret");
        // It has the form of a symbol list, of modules and of nothing.
        let text = format!("ffffffff81000000 T {SECRET}\n{SECRET} 1 1 - Live 0xffffffffc0000000\n");
        fs::write(&secret, text).expect("written");
        let link = place("perf.data/kcore_dir").join(name);
        let _ = fs::remove_file(&link);
        symlink(&secret, &link).expect("linked");
        for command in ["slice", "bundle"] {
            let out = place(&format!("{command}.out"));
            let mut process = tailtrace();
            process.current_dir(folder.path()).arg(command).args(["-i", "perf.data", "--symfs", "symfs"]);
            process.args(["--intervals", "intervals.csv", "--top", "1", "-o"]).arg(&out);
            let output = process.output().expect("tailtrace runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains("is a link"), "{name}: {said}");
            let grep = std::process::Command::new("grep").args(["-r", "-q", SECRET]).arg(&out).status();
            assert_eq!(grep.expect("grep runs").code(), Some(1), "{command} with {name}");
        }
    }
}

#[test]
fn lists_beside_the_kernel_are_packed_by_their_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let scenario = repository().join("fixtures/scenarios/page_fault.scenario");
    tracegen::scenario::make(&scenario, folder.path()).expect("a capture");
    let list = folder.path().join("perf.data/kcore_dir/kallsyms");
    let sound = fs::read_to_string(&list).expect("the list");
    fs::write(&list, format!("{SECRET}\n{sound}{SECRET}\n")).expect("written");
    let mut process = tailtrace();
    process.current_dir(folder.path()).args(["slice", "-i", "perf.data", "--symfs", "symfs"]);
    process.args(["--intervals", "intervals.csv", "--top", "1", "-o", "small"]);
    assert_eq!(process.output().expect("tailtrace runs").status.code(), Some(0));
    let kept = fs::read_to_string(folder.path().join("small/kcore_dir/kallsyms")).expect("the list");
    assert_eq!(kept, sound);
}

#[test]
fn names_and_code_of_a_runtime_are_packed() {
    for name in ["jit_perf-map", "jit_dump-code_reused"] {
        let folder = tempfile::tempdir().expect("a folder");
        let scenario = repository().join(format!("fixtures/scenarios/{name}.scenario"));
        tracegen::scenario::make(&scenario, folder.path()).expect("a capture");
        let run = |arguments: &[&str]| {
            let mut process = tailtrace();
            process.current_dir(folder.path()).args(arguments);
            let output = process.output().expect("tailtrace runs");
            assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).expect("UTF-8")
        };
        let chosen = ["-i", "perf.data", "--symfs", "symfs", "--intervals", "intervals.csv", "--id", "8"];
        run(&[&["bundle", "-o", "ticket"][..], &chosen].concat());
        let report = |text: &str| -> Value {
            let report: Value = serde_json::from_str(text).expect("JSON");
            report["outliers"][0]["segments"].clone()
        };
        let whole = report(&run(&[&["explain", "--format", "json"][..], &chosen].concat()));
        assert!(whole.to_string().contains("Orders.match"), "{name}");
        assert_eq!(report(&run(&["explain", "ticket", "--format", "json"])), whole, "{name}");
    }
}
