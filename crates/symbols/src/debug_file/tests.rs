//! elfutils on damaged binaries.

use std::os::unix::fs::MetadataExt;

use proptest::prelude::*;

use super::*;

/// What descriptor 0 is; elfutils 0.188 closes it when it is asked the wrong way.
fn standard_input() -> Option<(u64, u64)> {
    std::fs::metadata("/proc/self/fd/0").ok().map(|file| (file.dev(), file.ino()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// A system program with a debug link and a build ID, neither of whose files is here.
    #[test]
    fn no_damage_makes_the_search_fail(
        cut in 0usize..40_000,
        flips in proptest::collection::vec((0usize..40_000, any::<u8>()), 0..40),
        head in proptest::collection::vec((16usize..0x400, any::<u8>()), 0..8),
    ) {
        let before = standard_input();
        let mut bytes = std::fs::read("/bin/true").expect("a system program");
        bytes.truncate(bytes.len().saturating_sub(cut / 2));
        for (at, value) in flips.into_iter().chain(head) {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("true");
        std::fs::write(&path, bytes).expect("written");
        if let Ok(mut file) = CodeFile::open(&path) {
            file.has_debug_link = true;
            find(&file, &SearchPath::default());
        }
        prop_assert_eq!(standard_input(), before);
    }
}

#[test]
fn an_unknown_build_id_finds_nothing_and_closes_nothing() {
    let before = standard_input();
    let unknown = BuildId::new(&[0xfe; 20]).expect("an id");
    assert_eq!(find_binary(&unknown, &SearchPath::default()), None);
    assert!(any_kernel(&unknown, &SearchPath::default()).is_none());
    assert_eq!(standard_input(), before);
}
