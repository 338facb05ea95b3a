use super::*;

fn stream(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = PSB.to_vec();
    bytes.extend_from_slice(&PSB_END);
    bytes.extend(parts.concat());
    bytes
}

const TSC: [u8; 8] = [0x19, 1, 2, 3, 4, 5, 6, 7];
const TNT: [u8; 1] = [0x06];

#[test]
fn goes_on_at_tip_pge_with_its_full_address_and_the_time_before() {
    // A FUP with 48 bits, then a TIP.PGE that replaces the low 16.
    let fup = [0x7d, 0x00, 0x10, 0x40, 0x00, 0xff, 0x7f];
    let bytes = stream(&[&fup, &TSC, &[0x59, 0x10], &TNT, &[0x01], &[0x99, 0x02], &[0x31, 0x34, 0x12], &TNT]);
    let at = bytes.len() - 4;
    let Resume::Enable { at: found, after, prefix } = resume(&bytes, 0, 30, 1) else { panic!("no TIP.PGE") };
    assert_eq!((found, after), (at, at + 3));
    let mut expected = PSB.to_vec();
    expected.extend_from_slice(&TSC);
    expected.extend_from_slice(&[0x59, 0x10, 0x99, 0x02, 0x02, 0x23]);
    expected.extend_from_slice(&[0xd1, 0x34, 0x12, 0x40, 0x00, 0xff, 0x7f, 0, 0]);
    assert_eq!(prefix, expected);
}

#[test]
fn goes_on_at_a_psb_that_comes_first() {
    let bytes = stream(&[&TNT, &PSB, &[0x31, 0x34, 0x12]]);
    assert_eq!(resume(&bytes, 0, 18, 1), Resume::Sync(19));
}

#[test]
fn bad_bytes_leave_only_the_psb() {
    let bytes = stream(&[&TNT, &[0x05], &[0x31, 0x34, 0x12], &PSB]);
    assert_eq!(resume(&bytes, 0, 18, 1), Resume::Sync(23));
    let bytes = stream(&[&TNT, &[0x05], &[0x31, 0x34, 0x12]]);
    assert_eq!(resume(&bytes, 0, 18, 1), Resume::Nowhere);
}

#[test]
fn never_goes_back() {
    let bytes = stream(&[&[0x31, 0x34, 0x12], &TNT, &[0x31, 0x34, 0x12]]);
    let Resume::Enable { at, .. } = resume(&bytes, 0, 22, 1) else { panic!("no TIP.PGE") };
    assert_eq!(at, 22);
}

#[test]
fn expands_addresses_as_the_manual_says() {
    let last = 0xffff_8123_4567_89ab;
    let expanded = |compression, payload| expand(last, PacketIp { compression, payload });
    assert_eq!(expanded(0, 0), last);
    assert_eq!(expanded(1, 0x1111), 0xffff_8123_4567_1111);
    assert_eq!(expanded(2, 0x2222_1111), 0xffff_8123_2222_1111);
    assert_eq!(expanded(3, 0x8333_2222_1111), 0xffff_8333_2222_1111);
    assert_eq!(expanded(3, 0x7333_2222_1111), 0x7333_2222_1111);
    assert_eq!(expanded(4, 0x3333_2222_1111), 0xffff_3333_2222_1111);
    assert_eq!(expanded(6, 0x4444_3333_2222_1111), 0x4444_3333_2222_1111);
}
