//! Programs and debug files from strangers: what they may make the reader open, and how much may come out of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use model::{BuildId, InodeId, MapEvent, Mapping, Pid, Tsc};
use tailtrace_symbols::{Identity, ProcessImages, SearchPath, UsedKind};

const PID: Pid = Pid(7);
const AT: Tsc = Tsc(10);
/// Where the program's first byte is mapped; it is linked at zero, its segments at their file offsets.
const BASE: u64 = 0x5555_0000_0000;

fn run(tool: &str, arguments: &[&str]) {
    let output =
        Command::new(tool).args(arguments).output().unwrap_or_else(|error| panic!("{tool}: {error}"));
    assert!(output.status.success(), "{tool} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// The test program as `program` in `folder`, compiled there.
fn compiled(folder: &Path, options: &[&str]) -> PathBuf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program.c");
    let program = folder.join("program");
    let output = Command::new("cc")
        .current_dir(folder)
        .args([source, "-o", text(&program), "-O2", "-g", "-fPIE", "-pie", "-Wl,-z,noseparate-code"])
        .args(options)
        .output()
        .expect("cc runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// The program at `path` mapped from its first byte, as the recording would name it.
fn mapped(path: &str, inode: Option<InodeId>) -> Vec<(Tsc, MapEvent)> {
    let mapping = Mapping {
        pid: PID,
        range: BASE..BASE + 0x10_0000,
        file_offset: 0,
        path: path.to_owned(),
        build_id: None,
        inode,
    };
    vec![(Tsc(0), MapEvent::Map(mapping))]
}

fn images(path: &Path, search: SearchPath) -> ProcessImages {
    ProcessImages::new(search, mapped(text(path), None), Vec::new())
}

/// The source line of `local_function`, as `name:line`.
fn line(images: &ProcessImages) -> Option<String> {
    let start = *images.addresses_of(PID, "local_function", AT).first()?;
    let frames = images.lines(PID, start, AT);
    let file = frames.first()?.file.clone()?;
    Some(format!("{}:{}", file.rsplit('/').next()?, frames.first()?.line?))
}

/// The most functions inlined into one another in `outermost`, itself counted: what split units alone know.
fn deepest(images: &ProcessImages) -> usize {
    let start = images.addresses_of(PID, "outermost", AT)[0];
    (start..start + 32).map(|address| images.lines(PID, address, AT).len()).max().unwrap_or(0)
}

#[test]
fn split_units_are_read_from_where_the_file_says() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(deepest(&images(&compiled(folder.path(), &[]), SearchPath::default())), 3);
    let program = compiled(folder.path(), &["-gsplit-dwarf", "-gdwarf-5"]);
    let units: Vec<PathBuf> = fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "dwo"))
        .collect();
    assert_eq!(units.len(), 1, "{units:?}");
    assert_eq!(deepest(&images(&program, SearchPath::default())), 3);
    // A pipe in its place would be waited for without an end.
    fs::remove_file(&units[0]).expect("removed");
    run("mkfifo", &[text(&units[0])]);
    assert_eq!(deepest(&images(&program, SearchPath::default())), 1);
}

#[test]
fn a_contained_search_reads_no_split_unit_of_this_machine() {
    let (folder, bundle) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let program = compiled(folder.path(), &["-gsplit-dwarf", "-gdwarf-5"]);
    fs::copy(&program, bundle.path().join("program")).expect("copied");
    let contained = |contained| {
        let search = SearchPath { symfs: Some(bundle.path().to_owned()), contained, ..SearchPath::default() };
        deepest(&images(Path::new("/program"), search))
    };
    assert_eq!((contained(false), contained(true)), (3, 1));
}

#[test]
fn a_contained_search_uses_no_program_of_this_machine() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compiled(folder.path(), &[]);
    for (contained, found) in [(false, 1), (true, 0)] {
        let search = SearchPath { contained, ..SearchPath::default() };
        let images = images(&program, search);
        assert_eq!(images.addresses_of(PID, "local_function", AT).len(), found, "contained: {contained}");
    }
}

#[test]
fn a_debug_link_does_not_lead_out_of_a_contained_search() {
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = folder.path().join("bundle/usr");
    fs::create_dir_all(bundle.join(".debug")).expect("made");
    let program = compiled(folder.path(), &["-Wl,--build-id=none"]);
    // Two levels above the program's place in the bundle: outside of it.
    let outside = folder.path().join("above.debug");
    run("objcopy", &["--only-keep-debug", text(&program), text(&outside)]);
    let stripped = bundle.join("program");
    let link = format!("--add-gnu-debuglink={}", text(&outside));
    run("objcopy", &["--strip-all", &link, text(&program), text(&stripped)]);
    let bytes = fs::read(&stripped).expect("the program");
    let at = memchr::memmem::find(&bytes, b"above.debug\0").expect("the link");
    let search =
        || SearchPath { symfs: Some(folder.path().join("bundle")), contained: true, ..SearchPath::default() };
    let names = |images: &ProcessImages| images.addresses_of(PID, "local_function", AT).len();
    assert_eq!(names(&images(Path::new("/usr/program"), search())), 0, "it lies nowhere in the bundle");
    // A name of the same length that climbs: `../../x.dbg`.
    let climbing = b"../../x.dbg\0";
    fs::write(&stripped, [&bytes[..at], climbing, &bytes[at + climbing.len()..]].concat()).expect("written");
    fs::copy(&outside, folder.path().join("x.dbg")).expect("copied");
    assert_eq!(names(&images(Path::new("/usr/program"), search())), 0, "it climbs out of the bundle");
    fs::write(&stripped, &bytes).expect("written");
    fs::copy(&outside, bundle.join(".debug/above.debug")).expect("copied");
    assert_eq!(names(&images(Path::new("/usr/program"), search())), 1, "it lies in the bundle");
    fs::write(bundle.join(".debug/above.debug"), fs::read(&program).expect("it")).expect("written");
    assert_eq!(names(&images(Path::new("/usr/program"), search())), 0, "another file: the CRC differs");
}

#[test]
fn sections_that_unpack_to_too_much_are_no_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compiled(folder.path(), &[]);
    let before = line(&images(&program, SearchPath::default()));
    assert!(before.is_some());
    for kind in ["zlib", "zstd"] {
        let packed = folder.path().join(kind);
        let option = format!("--compress-debug-sections={kind}");
        run("objcopy", &[&option, text(&program), text(&packed)]);
        assert_eq!(line(&images(&packed, SearchPath::default())), before, "{kind}");
    }
    let zeros = folder.path().join("zeros");
    fs::File::create(&zeros).and_then(|file| file.set_len(160 << 20)).expect("zeros");
    let bomb = folder.path().join("bomb");
    let update = format!(".debug_str={}", text(&zeros));
    run("objcopy", &["--update-section", &update, text(&program), text(&bomb)]);
    run("objcopy", &["--compress-debug-sections=zlib", text(&bomb)]);
    assert!(fs::metadata(&bomb).expect("the bomb").len() < 1 << 20, "no bomb");
    let images = images(&bomb, SearchPath::default());
    assert_eq!(images.addresses_of(PID, "local_function", AT).len(), 1);
    assert_eq!(line(&images), None, "160 MiB out of less than one");
    let said: Vec<String> = images.diagnostics().iter().map(|found| found.what.clone()).collect();
    assert!(said.iter().any(|what| what.contains("would unpack to more than is read")), "{said:?}");
}

/// The inode's generation as e2fsprogs read it.
fn generation(path: &Path) -> u64 {
    let output = Command::new("lsattr").args(["-v", text(path)]).output().expect("lsattr runs");
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    words.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[test]
fn a_file_is_identified_by_symfs_or_inode() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().expect("a folder");
    let program = compiled(folder.path(), &["-Wl,--build-id=none"]);
    let meta = fs::metadata(&program).expect("the program");
    let (device, inode) = (meta.dev(), meta.ino());
    let device = (rustix::fs::major(device), rustix::fs::minor(device));
    let recorded = InodeId { device, inode, generation: generation(&program) };
    let another = InodeId { generation: recorded.generation + 1, ..recorded };
    let identity = |events, search| {
        let images = ProcessImages::new(search, events, Vec::new());
        assert!(images.used_files().is_empty(), "nothing ran yet");
        let start = images.addresses_of(PID, "local_function", AT)[0];
        assert!(images.used_files().is_empty(), "a name was looked for, nothing ran");
        images.function_at(PID, start, AT);
        let used = images.used_files();
        assert_eq!((used.len(), used[0].kind), (1, UsedKind::Program));
        used[0].identity
    };
    let path = text(&program);
    assert_eq!(identity(mapped(path, Some(recorded)), SearchPath::default()), Identity::Inode);
    assert_eq!(identity(mapped(path, Some(another)), SearchPath::default()), Identity::Unknown);
    assert_eq!(identity(mapped(path, None), SearchPath::default()), Identity::Unknown);
    // One of two mappings of that name was of another file.
    let both = [mapped(path, Some(recorded)), mapped(path, Some(another))].concat();
    assert_eq!(identity(both, SearchPath::default()), Identity::Unknown);

    // As perf records what /proc/PID/maps says; of this machine's own recordings the file must be older than the mapping.
    let by_perf = mapped(path, Some(InodeId { generation: 0, ..recorded }));
    let ns = u32::try_from(meta.ctime_nsec()).expect("below a thousand million");
    let changed = UNIX_EPOCH + Duration::new(meta.ctime().unsigned_abs(), ns);
    let own = |since| SearchPath { mapped_since: Some(since), ..SearchPath::default() };
    let other_number = mapped(path, Some(InodeId { inode: inode + 1, generation: 0, ..recorded }));
    // Where the file system has no generations, the number is all that there is.
    let unproved = if recorded.generation == 0 { Identity::Inode } else { Identity::Unknown };
    assert_eq!(identity(by_perf.clone(), SearchPath::default()), unproved);
    assert_eq!(identity(by_perf.clone(), own(changed)), Identity::Inode);
    assert_eq!(identity(by_perf.clone(), own(changed - Duration::from_nanos(1))), unproved);
    assert_eq!(identity(other_number, own(changed)), Identity::Unknown);
    assert_eq!(identity(mapped(path, Some(another)), own(changed)), Identity::Unknown);
    // The kernel recorded it, too.
    let both = [by_perf, mapped(path, Some(recorded))].concat();
    assert_eq!(identity(both, SearchPath::default()), Identity::Inode);
    let symfs = SearchPath { symfs: Some(folder.path().to_owned()), ..SearchPath::default() };
    assert_eq!(identity(mapped("/program", None), symfs.clone()), Identity::Given);
    // A link in there that leads out of it.
    let linked = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(&program, linked.path().join("program")).expect("linked");
    let symfs = SearchPath { symfs: Some(linked.path().to_owned()), ..symfs };
    assert_eq!(identity(mapped("/program", None), symfs), Identity::Unknown);
}

#[test]
fn what_is_no_program_or_no_stored_file_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("key");
    fs::write(&key, vec![b'k'; 0x2000]).expect("written");
    let images = images(&key, SearchPath::default());
    images.function_at(PID, BASE + 0x1000, AT);
    assert_eq!(images.used_files()[0].kind, UsedKind::Other);
    for path in ["/proc/self/environ", "/proc/self/maps", "/sys/kernel/notes", "/proc/kallsyms"] {
        let images = ProcessImages::new(SearchPath::default(), mapped(path, None), Vec::new());
        images.function_at(PID, BASE + 0x1000, AT);
        assert!(images.used_files().is_empty(), "{path}");
    }
}

#[test]
fn lines_of_a_file_that_nothing_identifies_are_not_verified() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compiled(folder.path(), &["-Wl,--build-id=0x0102030405060708090a0b0c0d0e0f1011121314"]);
    let id = BuildId::new(&(1..=20).collect::<Vec<u8>>());
    let symfs = SearchPath { symfs: Some(folder.path().to_owned()), ..SearchPath::default() };
    let here = SearchPath::default();
    for (path, id, search, verified) in [
        (text(&program), None, here.clone(), false),
        (text(&program), id, here, true),
        ("/program", None, symfs, true),
    ] {
        let ids = id.map(|id| (path.to_owned(), id));
        let images = ProcessImages::new(search, mapped(path, None), ids.into_iter().collect());
        let start = images.addresses_of(PID, "local_function", AT)[0];
        assert!(images.lines(PID, start, AT)[0].line.is_some());
        assert_eq!(images.has_verified_lines(PID, start, AT), verified, "{path}");
    }
}

/// Two containers have two programs at one path, the kernel's records their build IDs: each process has its own. perf's list of build IDs
/// alone does not say whose is whose: then neither is taken for known.
#[test]
fn one_path_in_two_containers_is_two_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = folder.path().join(".debug/.build-id");
    let build_ids = ["11", "22"].map(|byte| {
        let program = compiled(
            folder.path(),
            &[&format!("-Wl,--build-id=0x{}", byte.repeat(20)), &format!("-DONLY_{byte}")],
        );
        let place = cache.join(byte).join(byte.repeat(19));
        fs::create_dir_all(&place).expect("made");
        fs::rename(program, place.join("elf")).expect("moved");
        BuildId::new(&[u8::from_str_radix(byte, 16).expect("a byte"); 20]).expect("a build ID")
    });
    let app = Path::new("/app/server");
    let mapping = |pid: i32, build_id: Option<BuildId>| {
        let mut events = mapped(text(app), None);
        let Some((_, MapEvent::Map(mapping))) = events.first_mut() else { panic!("a mapping") };
        (mapping.pid, mapping.build_id) = (Pid(pid), build_id);
        events.remove(0)
    };
    let search = SearchPath { symfs: Some(folder.path().to_owned()), ..SearchPath::default() };
    let ran = |images: &ProcessImages| {
        let found =
            [100, 200].map(|pid| images.addresses_of(Pid(pid), "local_function", AT).first().copied());
        for (pid, address) in [100, 200].into_iter().zip(found) {
            address.and_then(|address| images.function_at(Pid(pid), address, AT).map(|found| found.start));
        }
        let mut ids: Vec<_> = images.used_files().into_iter().filter_map(|file| file.own_build_id).collect();
        ids.sort();
        (found.map(|address| address.is_some()), ids)
    };
    let events = build_ids.iter().zip([100, 200]).map(|(id, pid)| mapping(pid, Some(id.clone()))).collect();
    let both = ProcessImages::new(search.clone(), events, Vec::new());
    assert_eq!(ran(&both), ([true, true], build_ids.to_vec()));
    let list = build_ids.iter().map(|id| (text(app).to_owned(), id.clone())).collect();
    let doubtful = ProcessImages::new(search, vec![mapping(100, None), mapping(200, None)], list);
    assert_eq!(ran(&doubtful), ([false, false], Vec::new()));
}

/// A compiler's own `main` calls the program's: GDC's lies in its folder, `_Dmain` in the program's.
#[test]
fn a_compilers_main_is_not_where_the_program_begins() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("own.c"), folder.path().join("program"));
    let text_of = "#line 1 \"/home/me/shop/shop.c\"\n__attribute__((noinline)) int take(int a) { return a + 1; }\n\
                   int _Dmain(int a) { return take(a) * 2; }\n\
                   #line 29 \"/usr/lib/gcc/x86_64-linux-gnu/12/include/d/core/internal/entrypoint.d\"\n\
                   int _Dmain(int);\n\
                   __attribute__((noinline)) int inside(int a) { return a + 3; }\n\
                   int main(int argc, char **argv) { (void)argv; return _Dmain(argc) + inside(argc); }\n";
    fs::write(&source, text_of).expect("written");
    run("cc", &["-g", "-O1", "-pie", "-fPIE", "-Wl,-z,noseparate-code", "-o", text(&program), text(&source)]);
    let images = images(&program, SearchPath::default());
    let is_foreign = |name| {
        let start = *images.addresses_of(PID, name, AT).first().expect("its address");
        images.is_of_library(PID, &images.function_at(PID, start, AT).expect("a function"), AT)
    };
    assert_eq!([is_foreign("take"), is_foreign("inside")], [false, true]);
}

/// Nim writes the iterator of a loop into the function that has the loop, with the iterator's lines. What a method or a function that was also
/// inlined states, its declaration or its original states: both here begin with lines of the program.
#[test]
fn a_function_that_begins_with_a_librarys_lines_is_where_it_is_declared() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("own.cc"), folder.path().join("program"));
    let text_of = "#line 1 \"/home/me/shop/shop.nim\"\n\
                   volatile int word;\n\
                   extern \"C\" __attribute__((noinline)) void stamp(int count)\n\
                   {\n\
                   #line 119 \"/usr/lib/nim/lib/system/iterators_1.nim\"\n\
                   for (int at = 0; at < count; ++at)\n\
                   #line 5 \"/home/me/shop/shop.nim\"\n\
                   word += at; }\n\
                   #line 20 \"/usr/lib/nim/lib/pure/algorithm.nim\"\n\
                   struct order { int sort(int); };\n\
                   #line 364 \"/usr/lib/nim/lib/pure/algorithm.nim\"\n\
                   __attribute__((noinline)) int order::sort(int a) {\n\
                   #line 6 \"/home/me/shop/shop.nim\"\n\
                   return word + a; }\n\
                   #line 380 \"/usr/lib/nim/lib/pure/algorithm.nim\"\n\
                   __attribute__((always_inline, used)) static inline int merge(int a) {\n\
                   #line 6 \"/home/me/shop/shop.nim\"\n\
                   return word * a; }\n\
                   #line 7 \"/home/me/shop/shop.nim\"\n\
                   int main(int argc, char **) { stamp(argc); return order().sort(argc) + merge(argc); }\n";
    fs::write(&source, text_of).expect("written");
    for dwarf in ["-gdwarf-4", "-gdwarf-5"] {
        let linked = ["-O1", "-pie", "-fPIE", "-Wl,-z,noseparate-code", "-o", text(&program), text(&source)];
        run("c++", &[&[dwarf][..], &linked].concat());
        let images = images(&program, SearchPath::default());
        let is_foreign = |name| {
            let start = *images.addresses_of(PID, name, AT).first().expect("its address");
            let first = images.lines(PID, start, AT).pop().and_then(|frame| frame.file);
            let function = images.function_at(PID, start, AT).expect("a function");
            (first.expect("a file"), images.is_of_library(PID, &function, AT))
        };
        let [own, iterator] = ["/home/me/shop/shop.nim", "/usr/lib/nim/lib/system/iterators_1.nim"];
        let by_first_line = |file: &str, is_foreign| (file.to_owned(), is_foreign);
        assert_eq!(is_foreign("stamp"), by_first_line(iterator, false), "{dwarf}");
        for of_library in ["_ZN5order4sortEi", "_ZL5mergei"] {
            assert_eq!(is_foreign(of_library), by_first_line(own, true), "{dwarf} {of_library}");
        }
    }
}

/// A program of three units, of which `options` are those of each; whether `wait_inside`, of the second, belongs to a library, and `take`,
/// which calls it.
fn of_library(options: [&[&str]; 2]) -> (bool, bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let own = "int wait_inside(int);\n__attribute__((noinline)) int take(int a) { return wait_inside(a) + 1; }\n\
               int main(int argc, char **argv) { (void)argv; return take(argc); }\n";
    let inside =
        "volatile int word;\n__attribute__((noinline)) int wait_inside(int a) { return word + a; }\n";
    for (name, text) in [("own", own), ("inside", inside)].map(|(name, text)| (name.to_owned() + ".c", text))
    {
        fs::write(at(&name), text).expect("written");
    }
    for (name, options) in ["own", "inside"].into_iter().zip(options) {
        let (source, object) = (at(&format!("{name}.c")), at(&format!("{name}.o")));
        run("cc", &[&["-O2", "-fPIE", "-c", text(&source), "-o", text(&object)], options].concat());
    }
    let program = at("program");
    let units = [at("own.o"), at("inside.o")];
    let linked = ["-pie", "-Wl,-z,noseparate-code", "-o", text(&program), text(&units[0]), text(&units[1])];
    run("cc", &linked);
    let images = images(&program, SearchPath::default());
    let is_foreign = |name| {
        let start = *images.addresses_of(PID, name, AT).first().expect("its address");
        let function = images.function_at(PID, start, AT).expect("a function");
        // The second answer is kept from the first.
        let answers = [(); 2].map(|()| images.is_of_library(PID, &function, AT));
        assert_eq!(answers[0], answers[1]);
        answers[0]
    };
    (is_foreign("wait_inside"), is_foreign("take"))
}

/// A runtime that is linked into a program is known by its source, where the program's own is known.
#[test]
fn code_without_the_programs_source_is_a_librarys() {
    assert_eq!(of_library([&["-g"], &[]]), (true, false));
    assert_eq!(of_library([&["-g"], &["-g"]]), (false, false));
    // Where `main` has no lines, the program may have none.
    assert_eq!(of_library([&[], &["-g"]]), (false, false));
    assert_eq!(of_library([&[], &[]]), (false, false));
    let tools = ["-g", "-fdebug-prefix-map=/=/usr/lib/gcc/"];
    assert_eq!(of_library([&["-g"], &tools]), (true, false));
    // A program of the same package.
    assert_eq!(of_library([&tools, &tools]), (false, false));
}
