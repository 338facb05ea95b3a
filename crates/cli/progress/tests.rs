use super::*;

#[test]
fn words_tell_what_is_known() {
    let nothing = Progress::default();
    assert_eq!((words(&nothing), nothing.percent()), (String::new(), None));
    let decoding = Progress { done: 3, expected: 12, bytes: 1_200_000, items: 350_900, ..nothing };
    assert_eq!(words(&decoding), "3 of 12 windows, 1.20 MB, 350 k blocks");
    assert_eq!(bar(&decoding, 8).as_deref(), Some("██······"));
    let scanning = Progress { bytes: 500, expected_bytes: 2000, ..nothing };
    assert_eq!(words(&scanning), "500 B of 2.00 kB");
    assert_eq!(scanning.percent(), Some(25));
}

#[test]
fn more_than_all_is_all() {
    let late = Progress { bytes: u64::MAX, expected_bytes: 1, ..Progress::default() };
    assert_eq!((late.percent(), bar(&late, 2).as_deref()), (Some(100), Some("██")));
}
