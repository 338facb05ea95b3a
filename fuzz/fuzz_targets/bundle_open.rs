//! Any bytes as a bundle's archive: whatever it holds, nothing but plain files beneath its folder comes of it.
#![no_main]

use analysis::bundle::{Limits, unpack};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let root = tempfile::tempdir().expect("a temporary folder");
    let into = root.path().join("into");
    std::fs::create_dir(&into).expect("a folder");
    let limits = Limits { bytes: 1 << 20, ratio: 100, free_bytes: 1 << 16, entries: 100, window_log: 20 };
    let _ = unpack(bytes, &into, &limits);
    let beside = std::fs::read_dir(root.path()).expect("readable").count();
    assert_eq!(beside, 1, "something lies beside the folder");
    let mut folders = vec![into];
    let mut length = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("readable").flatten() {
            let meta = std::fs::symlink_metadata(entry.path()).expect("there");
            assert!(meta.is_file() || meta.is_dir(), "{}", entry.path().display());
            length += meta.len() * u64::from(meta.is_file());
            folders.extend(meta.is_dir().then(|| entry.path()));
        }
    }
    assert!(length <= limits.bytes, "{length} bytes");
});
