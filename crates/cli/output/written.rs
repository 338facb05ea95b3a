//! What a command wrote, and how large it is: on stderr, for stdout may be data.

use std::fs;
use std::path::Path;

use indicatif::BinaryBytes;

use super::print_note;

/// `wrote slow.tar.zst, 1.30 MiB`.
pub(crate) fn print_written(path: &Path) {
    print_note(&format!("wrote {}, {}", path.display(), BinaryBytes(size(path))));
}

/// Of a file, or of all files in a folder that was just written, which holds no links.
fn size(path: &Path) -> u64 {
    let Ok(meta) = fs::symlink_metadata(path) else { return 0 };
    if !meta.is_dir() {
        return meta.len();
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| size(&entry.path())).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_as_large_as_its_files() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("inner")).expect("a folder");
        for (name, length) in [("data", 1000), ("inner/app", 24)] {
            fs::write(folder.path().join(name), vec![7; length]).expect("written");
        }
        assert_eq!(size(folder.path()), 1024);
        assert_eq!(size(&folder.path().join("data")), 1000);
        assert_eq!(size(&folder.path().join("none")), 0);
    }
}
