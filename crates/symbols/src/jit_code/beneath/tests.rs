//! What lies beneath code, and which code was written over.

use super::*;

fn load(address: u64, size: usize) -> Load {
    Load { time: 0, address, name: 0..1, code: 2..2 + size, lines: None }
}

#[test]
fn code_is_hidden_by_what_comes_to_lie_on_it_later() {
    assert_eq!(hidden(&[load(0x100, 16), load(0x110, 16), load(0x200, 16)]), 0);
    // The same place, a part of it, and two at once; what is hidden twice counts once.
    assert_eq!(hidden(&[load(0x100, 16), load(0x100, 16), load(0x10f, 16)]), 2);
    assert_eq!(hidden(&[load(0x100, 16), load(0x110, 16), load(0x108, 16)]), 2);
    assert_eq!(hidden(&[load(u64::MAX - 8, 16), load(u64::MAX - 8, 16)]), 1);
}

fn mapping(range: Range<u64>, path: &str) -> MapEvent {
    let (path, file_offset) = (path.to_owned(), range.start);
    MapEvent::Map(Mapping { pid: Pid(1), range, file_offset, path, build_id: None, inode: None })
}

fn laid(events: &[(u64, MapEvent)]) -> Vec<(u64, Range<u64>, u64)> {
    let mut events = events.iter().map(|(at, event)| (Tsc(*at), event.clone())).collect();
    lay(&mut events, &BTreeMap::from([(Pid(1), Tsc(10))]));
    let places = events.into_iter().filter_map(|(at, event)| match event {
        MapEvent::Map(mapping) => Some((at.0, mapping.range, mapping.file_offset)),
        _ => None,
    });
    places.collect()
}

#[test]
fn memory_without_a_file_lies_there_once_and_from_the_dump_on() {
    let anonymous = |range| mapping(range, "//anon");
    let twice = [(5, anonymous(0..4)), (20, anonymous(2..8)), (30, anonymous(0..8))];
    assert_eq!(laid(&twice), [(5, 0..4, 0), (10, 4..8, 4)]);
    // Where a file lay before, it is not earlier than it was; where one came in between, it is there again.
    let file = [
        (15, mapping(0..4, "/lib/a.so")),
        (20, anonymous(0..4)),
        (30, mapping(0..4, "/lib/a.so")),
        (40, anonymous(0..4)),
    ];
    assert_eq!(laid(&file).iter().map(|place| place.0).collect::<Vec<_>>(), [15, 20, 30, 40]);
    let executed = [(20, anonymous(0..4)), (30, MapEvent::Exec { pid: Pid(1) }), (40, anonymous(0..4))];
    assert_eq!(laid(&executed).len(), 2);
}
