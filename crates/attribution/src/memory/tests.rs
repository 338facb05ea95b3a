//! Accesses made by hand: which belong to an interval, and what they say.

use model::{Cpu, TscRange};

use super::*;
use crate::script::{WORKER, WRITER};
use crate::timeline::Whereabouts;

fn access(time: u64, node: Option<u32>, is_remote: Option<bool>) -> MemoryAccess {
    let (thread, cpu, offset) = (WORKER, Some(Cpu(0)), FileOffset(time));
    MemoryAccess { time: Tsc(time), thread, cpu, offset, what: Accessed::Data(None), node, is_remote }
}

#[test]
fn accesses_belong_to_the_thread_whose_time_it_is() {
    let stay = |from, to, thread| {
        Stay::new(TscRange::new(Tsc(from), Tsc(to)), Some(thread), Whereabouts::OnCpu(Cpu(0)))
    };
    let stays = [stay(0, 100, WORKER), stay(100, 200, WRITER)];
    let all = vec![
        access(10, None, None),
        access(99, None, None),
        access(100, None, None),
        access(300, None, None),
    ];
    let times: Vec<u64> = of_stays(all, &stays).iter().map(|access| access.time.0).collect();
    assert_eq!(times, [10, 99], "the writer took none");
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
    let page = MemoryAccess { what: Accessed::Page, ..all[1] };
    assert_eq!(tell_remote(&[&page], Remote::default()), None, "a page is no access");
}
