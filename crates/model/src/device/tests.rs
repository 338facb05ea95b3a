//! Numbers and names as `Documentation/admin-guide/devices.txt` lists them.

use super::*;

#[test]
fn registered_numbers_have_the_names_of_the_list() {
    let cases = [
        (1, 0, "ram0"),
        (7, 1, "loop1"),
        (8, 0, "sda"),
        (8, 3, "sda3"),
        (8, 16, "sdb"),
        (8, 240, "sdp"),
        (65, 0, "sdq"),
        (65, 160, "sdaa"),
        (65, 240, "sdaf"),
        (66, 0, "sdag"),
        (71, 240, "sddx"),
        (128, 0, "sddy"),
        (135, 255, "sdiv15"),
        (9, 127, "md127"),
        (11, 0, "sr0"),
    ];
    for (major, minor, name) in cases {
        assert_eq!(Device::new(major, minor).name().as_deref(), Some(name), "{major}:{minor}");
    }
}

/// `sd.c`: disk 256 has major 8 again and minor 256; bits 8 and up of a disk's index are those of its minor. Its name
/// counts on: 26 + 26 * 26 = 702 names have at most two letters.
#[test]
fn disks_beyond_the_list_go_on_in_higher_minors() {
    assert_eq!(Device::new(8, 256).name().as_deref(), Some("sdiw"));
    // 701 = 2 * 256 + 11 * 16 + 13: the twelfth major, 131.
    assert_eq!(Device::new(131, 512 + 13 * 16).name().as_deref(), Some("sdzz"));
    assert_eq!(Device::new(131, 512 + 14 * 16 + 1).name().as_deref(), Some("sdaaa1"));
}

#[test]
fn a_number_that_is_given_out_at_run_time_is_all_there_is() {
    for (major, minor) in [(259, 0), (254, 16), (253, 3), (252, 0), (43, 0), (179, 0), (9, 512)] {
        let device = Device::new(major, minor);
        assert_eq!((device.name(), device.called(None)), (None, format!("{major}:{minor}")));
    }
    let device = Device::from_kernel((8 << 20) | 0x11);
    assert_eq!(device.called(device.name().as_deref()), "8:17 (sdb1)");
}
