//! Accesses made by hand: which belong to an interval, and what they show.

use model::{Cpu, TscRange};

use super::*;
use crate::testing::script::{WORKER, WRITER};
use crate::threads::stays::Whereabouts;

fn access(time: u64, node: Option<u32>, is_remote: Option<bool>) -> MemoryAccess {
    let (thread, cpu, offset) = (WORKER, Some(Cpu(0)), FileOffset(time));
    MemoryAccess { time: Tsc(time), thread, cpu, offset, what: Accessed::Data(None), node, is_remote }
}

fn times(found: &MemoryAccesses) -> Vec<u64> {
    found.kept.iter().map(|access| access.time.0).collect()
}

#[test]
fn accesses_belong_to_the_thread_whose_time_it_is() {
    let stay = |from, to, thread| {
        Stay::new(TscRange::new(Tsc(from), Tsc(to)), Some(thread), Whereabouts::OnCpu(Cpu(0)))
    };
    let stays = [stay(0, 100, WORKER), stay(100, 200, WRITER)];
    let all = [10, 99, 100, 300].map(|time| access(time, None, None));
    let found = OwnTime::of(stays.iter()).earliest(all.into_iter(), 9);
    assert_eq!(times(&found), [10, 99], "the writer took none");
    assert_eq!((found.left_out, found.remark()), (0, None));
}

/// Accesses at other times and of other threads do not displace its own.
#[test]
fn what_is_too_much_is_said() {
    let stay =
        |from, to| Stay::new(TscRange::new(Tsc(from), Tsc(to)), Some(WORKER), Whereabouts::OnCpu(Cpu(0)));
    // Two overlap, one lies within another, one is separate: 100 to 220 and 300 to 310.
    let own = OwnTime::of([stay(300, 310), stay(100, 200), stay(110, 120), stay(150, 220)].iter());
    assert_eq!(own.whole(), Some(TscRange::new(Tsc(100), Tsc(310))));
    let strange = |time| MemoryAccess { thread: WRITER, ..access(time, None, None) };
    let all = || {
        let own = [1, 2, 100, 130, 219, 220, 299, 305].map(|time| access(time, None, None));
        own.into_iter().flat_map(|one| [strange(one.time.0), one])
    };
    assert_eq!(times(&own.earliest(all(), 4)), [100, 130, 219, 305]);
    let found = own.earliest(all(), 3);
    assert_eq!((times(&found), found.left_out), (vec![100, 130, 219], 1));
    let told = "of 4 sampled uses of memory the 3 earliest are counted";
    assert_eq!(found.remark().as_deref(), Some(told));
}

/// An allocation of order 9 is a huge page: 2 MiB of 4 KiB each.
#[test]
fn an_allocation_has_pages_by_its_order() {
    assert_eq!([0, 1, 9, 20].map(pages_of), [Some(1), Some(2), Some(512), Some(1_048_576)]);
    assert_eq!([21, 64, u64::MAX].map(pages_of), [None; 3], "damage");
}

#[test]
fn remote_ones_are_counted_and_named() {
    let local = access(1, Some(0), Some(false));
    let all = [local, access(2, Some(1), Some(true)), access(3, None, None), access(4, Some(1), Some(true))];
    let own: Vec<&MemoryAccess> = all.iter().collect();
    let (told, evidence) = tell_remote(&own, Remote { known: 8, remote: 1 }).expect("two are remote");
    assert_eq!(told, "2 of 3 sampled accesses went to another NUMA node (node 1), typical 1 of 8");
    let records: Vec<_> = evidence.iter().map(|one| (one.file_offset, one.text.as_str())).collect();
    let text = "memory access, memory of node 1";
    assert_eq!(records, [(Some(FileOffset(2)), text), (Some(FileOffset(4)), text)]);
    let (told, _) = tell_remote(&[&access(5, None, Some(true))], Remote::default()).expect("remote");
    assert_eq!(told, "1 of 1 sampled accesses went to another NUMA node");
    assert_eq!(tell_remote(&[&local], Remote::default()), None);
    let page = MemoryAccess { what: Accessed::Pages(1), ..all[1] };
    assert_eq!(tell_remote(&[&page], Remote::default()), None, "a page is no access");
}
