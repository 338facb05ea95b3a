//! Waits that a chain of interrupts ended.

use perfdata::LeaveReason;

use super::{call, segment, segments, table, waking, world};
use crate::records::event::{EventKind, Side, Within};
use crate::testing::script::{WORKER, WRITER, made_within, record};

/// The delayed-ACK timer of a socket over the loopback device: the timer's interrupt raises the timer softirq, which runs
/// in `ksoftirqd`, sends the packet and raises `net_rx`. No packet came from outside.
#[test]
fn a_packet_that_a_timer_sent_is_the_timers() {
    let table = table();
    let on_cpu = |time, side, kind| record(time, 1, WRITER, side, kind);
    let timer = |time, side| on_cpu(time, side, EventKind::Vector { name: "local_timer".into() });
    let softirq = |time, side, vector| on_cpu(time, side, EventKind::Softirq { vector });
    let raise = |time, vector, within| {
        made_within(within, on_cpu(time, Side::Begin, EventKind::SoftirqRaise { vector }))
    };
    let mut wake = made_within(Within::Softirq, waking(300, WRITER));
    wake.cpu = Some(model::Cpu(1));
    let records = vec![
        call(90, WORKER, 45, 7, Side::Begin),
        timer(200, Side::Begin),
        raise(205, 1, Within::Interrupt),
        timer(210, Side::End),
        softirq(240, Side::Begin, 1),
        raise(250, 3, Within::Softirq),
        softirq(260, Side::End, 1),
        softirq(280, Side::Begin, 3),
        wake,
        softirq(310, Side::End, 3),
    ];
    let world = world(&table, LeaveReason::Slept(Some('S')), records);
    let attribution = segments(&world, 50..600);
    let socket = segment(&attribution, "offcpu.socket");
    assert!(
        socket.detail.ends_with(
            "woken by kernel.softirq.net_rx on CPU 1 in the context of writer (tid 102), in a chain that kernel.timer began"
        ),
        "{}",
        socket.detail
    );
    let below: Vec<_> = socket.during.iter().map(|part| part.cause.to_string()).collect();
    assert!(
        below.contains(&"kernel.timer".into()) && below.contains(&"kernel.softirq.timer".into()),
        "{below:?}"
    );
    assert_eq!(socket.during[0].detail, "no timer had expired");
}
