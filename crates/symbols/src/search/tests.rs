//! Where files are looked for.

use super::*;

fn texts(paths: Vec<PathBuf>) -> Vec<String> {
    paths.into_iter().map(|path| path.display().to_string()).collect()
}

fn build_id() -> BuildId {
    BuildId::new(&[0xab, 0xcd, 0xef]).expect("test input")
}

#[test]
fn symfs_is_the_whole_world() {
    let search = SearchPath { symfs: Some("/s".into()), ..SearchPath::default() };
    assert_eq!(texts(search.candidates("/lib/libc.so.6", None)), ["/s/lib/libc.so.6", "/s/libc.so.6"]);
    assert_eq!(texts(search.candidates("[vdso]", None)), ["/s/[vdso]"]);
    assert_eq!(
        texts(search.candidates("/bin/a", Some(&build_id()))),
        ["/s/bin/a", "/s/a", "/s/.debug/.build-id/ab/cdef/elf", "/s/.debug/.build-id/ab/cdef"]
    );
}

#[test]
fn no_recorded_path_leads_out_of_symfs() {
    let search = SearchPath { symfs: Some("/s".into()), ..SearchPath::default() };
    assert_eq!(texts(search.candidates("/../../etc/passwd", None)), ["/s/passwd"]);
    assert_eq!(texts(search.candidates("..", None)), Vec::<String>::new());
    assert_eq!(texts(search.candidates("/", None)), Vec::<String>::new());
}

#[test]
fn without_symfs_paths_are_taken_as_they_are() {
    let search = SearchPath { build_id_dir: Some("/cache".into()), ..SearchPath::default() };
    assert_eq!(texts(search.candidates("/bin/a", None)), ["/bin/a"]);
    assert_eq!(texts(search.candidates("[vdso]", None)), Vec::<String>::new());
    assert_eq!(
        texts(search.candidates("[vdso]", Some(&build_id()))),
        ["/cache/.build-id/ab/cdef/vdso", "/cache/.build-id/ab/cdef"]
    );
}

#[test]
fn a_deleted_file_is_looked_for_by_name_only_where_a_build_id_can_tell() {
    let search = SearchPath { build_id_dir: Some("/cache".into()), ..SearchPath::default() };
    assert_eq!(texts(search.candidates("/bin/a (deleted)", None)), ["/bin/a (deleted)"]);
    assert_eq!(
        texts(search.candidates("/bin/a (deleted)", Some(&build_id())))[..2],
        ["/bin/a (deleted)", "/bin/a"]
    );
}

/// Names are bytes: the one file that is shown so is taken, and none where two are.
#[test]
fn names_that_are_no_text_are_found_by_how_they_are_shown() {
    use std::os::unix::ffi::OsStrExt as _;
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path().join(OsStr::from_bytes(b"lib\xff"));
    std::fs::create_dir(&folder).expect("a folder");
    let file = folder.join(OsStr::from_bytes(b"a\xfe.so"));
    std::fs::write(&file, "").expect("a file");
    let search = SearchPath { symfs: Some(root.path().to_owned()), ..SearchPath::default() };
    assert_eq!(search.candidates("/lib\u{fffd}/a\u{fffd}.so", None)[0], file);
    std::fs::write(folder.join(OsStr::from_bytes(b"a\xfd.so")), "").expect("a file");
    assert!(!search.candidates("/lib\u{fffd}/a\u{fffd}.so", None)[0].exists());
}
