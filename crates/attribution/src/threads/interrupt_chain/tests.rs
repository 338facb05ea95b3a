//! Hand-made records of chains of interrupts. One tick is one nanosecond at 1 GHz: 50,000 are far apart.

use model::{Cause, Cpu, Tsc, TscRange};

use super::Chain;
use crate::records::event::{EventKind, Side, SidebandEvent, Within};
use crate::records::sideband::Sideband;
use crate::testing::script::{IDLE, WORKER, made_within, record};

const AT: u64 = 1_000_000;

fn on_cpu(time: u64, side: Side, kind: EventKind) -> SidebandEvent {
    record(time, 1, IDLE, side, kind)
}

fn timer(time: u64, side: Side) -> SidebandEvent {
    on_cpu(time, side, EventKind::Vector { name: "local_timer".into() })
}

fn device(time: u64, side: Side) -> SidebandEvent {
    on_cpu(time, side, EventKind::Irq { number: 30, name: Some("eth0".into()) })
}

fn softirq(time: u64, side: Side, vector: u64) -> SidebandEvent {
    on_cpu(time, side, EventKind::Softirq { vector })
}

fn raise(time: u64, vector: u64, within: Within) -> SidebandEvent {
    made_within(within, on_cpu(time, Side::Begin, EventKind::SoftirqRaise { vector }))
}

fn chain(records: Vec<SidebandEvent>) -> (Cause, u64, bool) {
    let whole = TscRange::new(Tsc(0), Tsc(AT));
    let chain = Chain::before(Cpu(1), Tsc(AT), whole, &Sideband::new(records)).expect("a chain");
    (chain.root, chain.range.start.0, chain.by_thread)
}

/// The delayed-ACK timer: the timer's interrupt raises softirq 1 (TIMER), which takes 90 us and sends a packet over the
/// loopback device: softirq 3 (`NET_RX`) then wakes the receiver. Each follows the one before at once.
#[test]
fn a_long_chain_is_judged_link_by_link() {
    let records = vec![
        timer(900_000, Side::Begin),
        timer(903_000, Side::End),
        softirq(904_000, Side::Begin, 1),
        softirq(994_000, Side::End, 1),
        softirq(995_000, Side::Begin, 3),
    ];
    assert_eq!(chain(records), (Cause::Timer, 900_000, false));
}

/// The same in `ksoftirqd`: it runs 80 us after the interrupt, and only the records of who raised what show the chain.
#[test]
fn in_ksoftirqd_the_raises_show_the_chain() {
    let records = vec![
        timer(800_000, Side::Begin),
        raise(801_000, 1, Within::Interrupt),
        timer(803_000, Side::End),
        softirq(883_000, Side::Begin, 1),
        raise(890_000, 3, Within::Softirq),
        softirq(894_000, Side::End, 1),
        softirq(990_000, Side::Begin, 3),
    ];
    assert_eq!(chain(records), (Cause::Timer, 800_000, false));
}

/// An interrupt 97 us before the softirq has nothing to do with it.
#[test]
fn what_ended_long_before_is_no_link() {
    let records =
        vec![device(890_000, Side::Begin), device(893_000, Side::End), softirq(990_000, Side::Begin, 3)];
    assert_eq!(chain(records), (Cause::Softirq("net_rx".into()), 990_000, false));
}

/// A timer's interrupt right before the softirq, which a thread had raised.
#[test]
fn who_raised_the_softirq_counts_and_not_who_came_before() {
    let mut raised = raise(980_000, 3, Within::Thread);
    raised.thread = Some(WORKER);
    let records = vec![
        raised,
        timer(985_000, Side::Begin),
        timer(988_000, Side::End),
        softirq(990_000, Side::Begin, 3),
    ];
    assert_eq!(chain(records), (Cause::Softirq("net_rx".into()), 990_000, true));
}

/// A device's interrupt, and the softirq that it raised.
#[test]
fn a_packet_begins_with_the_interrupt_of_its_card() {
    let records =
        vec![device(985_000, Side::Begin), device(988_000, Side::End), softirq(990_000, Side::Begin, 3)];
    assert_eq!(chain(records), (Cause::Irq("eth0".into()), 985_000, false));
}
