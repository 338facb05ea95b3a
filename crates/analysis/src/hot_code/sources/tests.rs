//! Line tables are anybody's: which files they may name.

use super::*;

fn places(code: &Code) -> SourcePlaces {
    SourcePlaces::of(code)
}

fn symfs(folder: &Path) -> Code {
    Code { symfs: Some(folder.to_owned()), ..Code::default() }
}

fn line(places: &SourcePlaces, file: &Path, number: usize, verified: bool) -> Option<String> {
    places.lines(&file.to_string_lossy(), verified)?.into_iter().nth(number - 1)
}

#[test]
fn a_line_is_read_from_where_the_table_says_or_below_symfs() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("build/a.c");
    std::fs::create_dir_all(file.parent().expect("a parent")).expect("made");
    std::fs::write(&file, "int a;\n\tint b;  \n").expect("written");
    let here = places(&Code::default());
    assert_eq!(line(&here, &file, 2, true).as_deref(), Some("\tint b;"));
    assert_eq!(line(&here, &file, 3, true), None, "there is no third line");
    assert_eq!(line(&here, &file, 2, false), None, "anybody may have named it");
    let below = Path::new("/build/x/../a.c");
    assert_eq!(line(&places(&symfs(folder.path())), below, 1, true).as_deref(), Some("int a;"));
    assert_eq!(line(&places(&symfs(folder.path())), below, 1, false), None);
}

#[test]
fn a_directory_that_the_user_names_serves_for_every_table() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(folder.path().join("src")).expect("made");
    std::fs::write(folder.path().join("src/a.c"), "int a;\n").expect("written");
    let named = places(&Code { source: Some(folder.path().to_owned()), ..Code::default() });
    for file in ["/src/a.c", "/build/app-1.2/src/a.c", "src/a.c"] {
        assert_eq!(line(&named, Path::new(file), 1, false).as_deref(), Some("int a;"), "{file}");
    }
    assert_eq!(line(&named, Path::new("/src/b.c"), 1, false), None);
}

#[test]
fn a_bundles_table_names_nothing_of_this_machine() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.c");
    std::fs::write(&file, "int a;\n").expect("written");
    for debuginfod in [false, true] {
        let code = Code { contained: true, debuginfod, ..Code::default() };
        assert_eq!(line(&places(&code), &file, 1, true), None);
    }
}

#[test]
fn what_is_no_source_is_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret.key");
    std::fs::write(&secret, "secret\n").expect("written");
    let here = places(&Code::default());
    assert_eq!(line(&here, &secret, 1, true), None);
    let above = Path::new("../../secret.c");
    assert_eq!(line(&places(&symfs(folder.path())), above, 1, true), None);
    assert_eq!(line(&here, Path::new("/dev/zero.c"), 1, true), None);
}

#[test]
fn a_line_without_its_file_still_has_its_place() {
    let frame = Frame {
        function: "f".to_owned(),
        file: Some("/not/here.c".to_owned()),
        line: Some(9),
        column: None,
        inlined: false,
    };
    let line = Sources::new(SourcePlaces::default()).line(&[frame], true).expect("a line");
    assert_eq!((line.number, line.text), (9, None));
}
