//! Line tables are anybody's: which files they may name.

use super::*;

fn frame(file: &Path, line: u32) -> Frame {
    let file = Some(file.to_string_lossy().into_owned());
    Frame { function: "f".to_owned(), file, line: Some(line), column: None, inlined: false }
}

fn text(sources: &mut Sources, file: &Path, line: u32) -> Option<String> {
    sources.line(&[frame(file, line)]).and_then(|line| line.text)
}

#[test]
fn a_line_is_read_from_where_the_table_says_or_below_symfs() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("build/a.c");
    std::fs::create_dir_all(file.parent().expect("a parent")).expect("made");
    std::fs::write(&file, "int a;\n\tint b;  \n").expect("written");
    assert_eq!(text(&mut Sources::new(None), &file, 2).as_deref(), Some("\tint b;"));
    let below = Path::new("/build/x/../a.c");
    assert_eq!(text(&mut Sources::new(Some(folder.path())), below, 1).as_deref(), Some("int a;"));
    assert_eq!(text(&mut Sources::new(None), &file, 3), None, "there is no third line");
    let line = Sources::new(None).line(&[frame(Path::new("/not/here.c"), 9)]).expect("a line");
    assert_eq!((line.number, line.text), (9, None));
}

#[test]
fn what_is_no_source_is_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret.key");
    std::fs::write(&secret, "secret\n").expect("written");
    assert_eq!(text(&mut Sources::new(None), &secret, 1), None);
    let above = Path::new("../../secret.c");
    assert_eq!(text(&mut Sources::new(Some(folder.path())), above, 1), None);
    assert_eq!(text(&mut Sources::new(None), Path::new("/dev/zero.c"), 1), None);
}
