//! Weights and reads by hand-made bytes, in the layout of `include/uapi/linux/perf_event.h`.

use proptest::prelude::*;

use super::*;
use crate::bytes;

fn counter(value: u64, id: Option<u64>, lost: Option<u64>) -> Counter {
    Counter { value, id, lost }
}

/// The read in `bytes`, and how many bytes it leaves.
fn read(read_format: u64, bytes: &[u8]) -> Option<(CounterRead<'_>, usize)> {
    let mut fields = Fields::new(bytes);
    let read = CounterRead::parse(read_format, &mut fields)?;
    Some((read, fields.rest().len()))
}

#[test]
fn the_parts_of_a_weight_stand_where_the_union_has_them() {
    // var1_dw, var2_w, var3_w, from the lowest byte up.
    let word = u64::from_le_bytes([0x44, 0x33, 0x22, 0x11, 0x66, 0x55, 0x88, 0x77]);
    let parts = Weight::new(word, true);
    assert_eq!(parts, Weight::Parts { memory: 0x1122_3344, instruction: 0x5566, retire: 0x7788 });
    assert_eq!(parts.retire_latency(), Some(0x7788));
    assert_eq!(Weight::new(word, false), Weight::Whole(word));
    assert_eq!(Weight::Whole(word).retire_latency(), None);
    assert_eq!(Weight::new(0x5566_1122_3344, true).retire_latency(), None, "no latency is told");
}

#[test]
fn a_group_is_read_as_its_format_says() {
    // nr {value, id}, as `perf record -e '{slots,cycles,…}:S'` asks for.
    let bytes = bytes![2u64, 600u64, 11u64, 100u64, 12u64, 0xeeu64];
    let (found, left) = read(0b1100, &bytes).expect("a read");
    assert_eq!((found.time_enabled, found.time_running, left), (None, None, 8));
    let all: Vec<Counter> = found.counters().collect();
    assert_eq!(all, [counter(600, Some(11), None), counter(100, Some(12), None)]);
    // nr, time_enabled, time_running, {value, id, lost}.
    let bytes = bytes![1u64, 5000u64, 4000u64, 600u64, 11u64, 3u64];
    let (found, left) = read(0b1_1111, &bytes).expect("a read");
    assert_eq!((found.time_enabled, found.time_running, left), (Some(5000), Some(4000), 0));
    assert_eq!(found.counters().collect::<Vec<_>>(), [counter(600, Some(11), Some(3))]);
    // A group without ids: values alone.
    let bytes = bytes![2u64, 600u64, 100u64];
    let (found, _) = read(0b1000, &bytes).expect("a read");
    assert_eq!(found.counters().collect::<Vec<_>>(), [counter(600, None, None), counter(100, None, None)]);
}

#[test]
fn one_counter_is_read_as_its_format_says() {
    // value, time_enabled, time_running, id, lost.
    let bytes = bytes![600u64, 5000u64, 4000u64, 11u64, 3u64, 0xeeu64];
    let (found, left) = read(0b1_0111, &bytes).expect("a read");
    assert_eq!((found.time_enabled, found.time_running, left), (Some(5000), Some(4000), 8));
    assert_eq!(found.counters().collect::<Vec<_>>(), [counter(600, Some(11), Some(3))]);
    let (found, left) = read(0, &bytes).expect("a read");
    assert_eq!((found.counters().collect::<Vec<_>>(), left), (vec![counter(600, None, None)], 40));
}

#[test]
fn a_read_that_claims_more_counters_than_there_are_is_none() {
    for count in [3u64, 1 << 60, u64::MAX] {
        assert_eq!(read(0b1100, &bytes![count, 600u64, 11u64, 100u64, 12u64]), None, "{count}");
    }
    assert_eq!(read(0b100, &bytes![600u64]), None);
}

proptest! {
    /// Whatever the format and the bytes are: as many counters as the count says, each by its own bytes.
    #[test]
    fn any_read_is_read_or_refused(read_format in 0u64..64, words in prop::collection::vec(0u64..6, 0..24)) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let Some((found, left)) = read(read_format, &bytes) else { return Ok(()) };
        let counters: Vec<Counter> = found.counters().collect();
        let is_group = read_format & 8 != 0;
        prop_assert_eq!(counters.len() as u64, if is_group { words[0] } else { 1 });
        let times = (read_format & 3).count_ones() as usize;
        let each = 1 + (read_format & 0b1_0100).count_ones() as usize;
        prop_assert_eq!(bytes.len() - left, 8 * (usize::from(is_group) + times + each * counters.len()));
        prop_assert!(counters.iter().all(|counter| counter.id.is_some() == (read_format & 4 != 0)));
    }
}
