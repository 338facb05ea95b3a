use super::*;

#[test]
fn what_is_there_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut names = Vec::new();
    for _ in 0..3 {
        let path = free_name(folder.path(), "interval-23", ".tar.zst");
        std::fs::write(&path, "").expect("written");
        names.push(path.file_name().expect("a name").to_string_lossy().into_owned());
    }
    assert_eq!(names, ["interval-23.tar.zst", "interval-23-2.tar.zst", "interval-23-3.tar.zst"]);
}
