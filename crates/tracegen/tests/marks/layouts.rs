//! Differently built copies of `tailtrace.h` in one process do not mix.

use std::fs;

use super::*;

/// The header's text.
fn header() -> String {
    fs::read_to_string(root().join("crates/marks/include/tailtrace.h")).unwrap()
}

/// What an older header may have been: another number, and a state that begins with another field.
fn older_header() -> String {
    let older = header().replace("#define TAILTRACE_LAYOUT 5\n", "#define TAILTRACE_LAYOUT 4\n");
    let state = "struct tailtrace_program {\n";
    let older = older.replace(state, &format!("{state}    char older_[4096];\n"));
    assert_eq!(older.len(), header().len() + "    char older_[4096];\n".len());
    older
}

/// The program exports all that it shares, and its plugin was built with a header of an older layout, or with other buffers.
#[test]
fn a_plugin_of_another_layout_has_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let host = at("host");
    compile(("gcc", &["-std=gnu11", "-rdynamic"]), &[own("host.c")], &host);
    let older = at("older");
    fs::create_dir(&older).unwrap();
    fs::write(older.join("tailtrace.h"), older_header()).unwrap();
    let include = format!("-I{}", older.display());
    for (what, option) in [("an older layout", &*include), ("other buffers", "-DTAILTRACE_SLOTS=64u")] {
        let plugin = at("plugin.so");
        compile(("gcc", &["-fPIC", "-shared", option]), &[own("plugin.c")], &plugin);
        let plugin = plugin.to_str().unwrap();
        let (file, plugins) = (at("host.marks"), at("plugin.marks"));
        let labels =
            |file: &Path| -> Vec<String> { read(file).marks.into_iter().map(|mark| mark.label).collect() };
        run(&host, &file, &[plugin]);
        assert_eq!(labels(&file), ["host"; 5], "{what}");
        run(&host, &file, &[plugin, plugins.to_str().unwrap()]);
        assert_eq!(labels(&file), ["host"; 5], "{what}");
        assert_eq!(labels(&plugins), ["plugin"; 8], "{what}");
    }
}

/// A name without a version would be shared by all layouts.
#[test]
fn all_that_is_shared_has_a_version() {
    let folder = tempfile::tempdir().unwrap();
    let host = folder.path().join("host");
    compile(("gcc", &["-std=gnu11", "-rdynamic"]), &[own("host.c")], &host);
    let listed =
        Command::new("nm").args(["-D", "--defined-only"]).arg(&host).output().expect("nm, of binutils");
    let listed = String::from_utf8(listed.stdout).unwrap();
    let names: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .filter(|name| name.starts_with("tailtrace_"))
        .collect();
    assert!(names.len() > 20, "{listed}");
    let unversioned: Vec<&&str> = names.iter().filter(|name| !name.ends_with("5_32768u")).collect();
    assert!(unversioned.is_empty(), "{unversioned:?}");
}

/// What inline functions compiled into one file do with the state of another: its types, and those functions. Where this test fails,
/// say whether a copy of before can still share with one of now; if not, raise `TAILTRACE_LAYOUT`.
#[test]
fn the_layout_is_raised_with_what_is_shared() {
    let header = header();
    let types = header.split_once("enum tailtrace_kind {").unwrap().1;
    let types = types.split_once("/* ---- Off the hot path from here on. ---- */").unwrap().0;
    let mut code = String::new();
    let mut rest = types;
    while let Some((before, comment)) = rest.split_once("/*") {
        code.push_str(before);
        rest = comment.split_once("*/").unwrap().1;
    }
    code.push_str(rest);
    // FNV-1a, of 64 bits.
    let digest =
        code.split_whitespace().flat_map(str::bytes).fold(0xcbf2_9ce4_8422_2325, |digest: u64, byte| {
            (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
    let layout = header.lines().find_map(|line| line.strip_prefix("#define TAILTRACE_LAYOUT ")).unwrap();
    assert_eq!((layout, digest), ("5", 0x4690_f35e_fb42_5b1e), "{digest:#x}");
}
