//! Fields of protocol buffers, as their guide writes them.

use super::*;

/// The examples of the encoding guide: field 1 = 150, field 2 = "testing", field 3 = { field 1 = 150 }.
#[test]
fn examples_of_the_guide() {
    assert_eq!(Message::default().uint(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
    let text = [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67];
    assert_eq!(Message::default().text(2, "testing").into_bytes(), text);
    let inner = Message::default().uint(1, 150);
    assert_eq!(Message::default().message(3, &inner).into_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
    // Wire type 1: eight bytes, the lowest first.
    assert_eq!(Message::default().fixed(1, 150).into_bytes(), [0x09, 0x96, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(Message::default().uint(1, u64::MAX).into_bytes().len(), 11);
}
