use model::{Pid, Tsc};
use pt::{Block, BlockEnd, TimeBounds};

use super::*;

/// Yields these blocks: (from, to, kernel, tid, position).
struct Script(Vec<(u64, u64, bool, i32, u64)>);

impl Decode for Script {
    fn decode(&mut self, _: Option<Cpu>, _: ThreadId, _: TscRange, sink: &mut dyn FlowSink) -> bool {
        for &(from, to, kernel, tid, aux_offset) in &self.0 {
            let block = Block {
                ip: 0,
                end_ip: 0,
                instructions: 1,
                end: BlockEnd::Other,
                bits: 64,
                kernel,
                thread: Some(ThreadId { pid: Pid(7), tid: Tid(tid) }),
                time: TimeBounds::between(Tsc(from), Tsc(to)),
                aux_offset,
            };
            assert_eq!(sink.item(&FlowItem::Block(block)), ControlFlow::Continue(()));
        }
        true
    }
}

struct Dropped;

impl FlowSink for Dropped {
    fn item(&mut self, _: &FlowItem) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// What is seen of thread 8 from 100 to 200.
fn seen(blocks: &[(u64, u64, bool, i32, u64)]) -> SeenWindow {
    let mut script = Script(blocks.to_vec());
    let mut observing = Observing::new(&mut script);
    let (thread, range) = (ThreadId { pid: Pid(7), tid: Tid(8) }, TscRange::new(Tsc(100), Tsc(200)));
    assert!(observing.decode(Some(Cpu(1)), thread, range, &mut Dropped));
    observing.windows.pop().expect("a window")
}

#[test]
fn only_the_threads_own_time_counts() {
    let before_and_behind = seen(&[(10, 90, false, 8, 16), (200, 210, true, 8, 48)]);
    assert!(!before_and_behind.any && !before_and_behind.user && !before_and_behind.kernel);
    assert!(!seen(&[(120, 130, true, 9, 16)]).any, "another thread's");
    let own = seen(&[(10, 90, true, 8, 16), (100, 110, false, 8, 32), (110, 120, false, 8, 48)]);
    assert_eq!((own.any, own.user, own.kernel), (true, true, false));
    assert_eq!(own.positions, Some(16..48));
}
