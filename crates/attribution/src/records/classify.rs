//! Samples of tracepoints as typed events. Field names: the kernel's `include/trace/events/*.h`, 5.4 to 6.x.

use model::{Cpu, Device, Tid};
use perfdata::{FieldValue, Sample, SystemCall, SystemCallStep};

use crate::records::event::{BlockStep, EventKind, Noise, Request, Side, Within};

/// The sample's meaning; `None` where it explains no time.
pub(super) fn classify(sample: &Sample<'_>) -> Option<(Side, EventKind)> {
    let (group, event) = sample.event_name()?.split_once(':')?;
    let begin = |kind| Some((Side::Begin, kind));
    let end = |kind| Some((Side::End, kind));
    match (group, event) {
        ("sched", "sched_waking" | "sched_wakeup" | "sched_wakeup_new") => begin(EventKind::Waking {
            target: Tid(i32::try_from(number(sample, "pid")?).ok()?),
            by_waker: event == "sched_waking",
        }),
        ("sched", "sched_migrate_task") => {
            let cpu = |field| Some(Cpu(u32::try_from(number(sample, field)?).ok()?));
            begin(EventKind::Migration {
                target: Tid(i32::try_from(number(sample, "pid")?).ok()?),
                from: cpu("orig_cpu")?,
                to: cpu("dest_cpu")?,
            })
        }
        ("sched", "sched_switch") if sample.callchain().is_some() => begin(EventKind::SwitchOut),
        ("irq", "irq_handler_entry") => {
            begin(EventKind::Irq { number: number(sample, "irq")?, name: text(sample, "name") })
        }
        ("irq", "irq_handler_exit") => end(EventKind::Irq { number: number(sample, "irq")?, name: None }),
        ("irq", "softirq_entry") => begin(EventKind::Softirq { vector: number(sample, "vec")? }),
        ("irq", "softirq_raise") => begin(EventKind::SoftirqRaise { vector: number(sample, "vec")? }),
        ("irq", "softirq_exit") => end(EventKind::Softirq { vector: number(sample, "vec")? }),
        ("raw_syscalls" | "syscalls", _) => system_call(sample),
        ("exceptions", "page_fault_user" | "page_fault_kernel") => {
            let error_code = number(sample, "error_code");
            begin(EventKind::PageFault { address: number(sample, "address")?, error_code })
        }
        ("ipi", "ipi_send_cpu") => {
            let to = vec![Cpu(u32::try_from(number(sample, "cpu")?).ok()?)];
            begin(EventKind::IpiSend { to, calls: number(sample, "callback")? != 0 })
        }
        ("ipi", "ipi_send_cpumask") => {
            let FieldValue::Bytes(mask) = sample.field("cpumask")? else { return None };
            begin(EventKind::IpiSend { to: cpus_of(mask), calls: number(sample, "callback")? != 0 })
        }
        ("tlb", "tlb_flush") => {
            begin(EventKind::TlbFlush { reason: number(sample, "reason")?, pages: number(sample, "pages")? })
        }
        ("power", "cpu_idle") => {
            let state = u32::try_from(number(sample, "state")?).ok().filter(|&state| state != u32::MAX);
            Some((if state.is_some() { Side::Begin } else { Side::End }, EventKind::Idle { state }))
        }
        ("block", "block_rq_insert") => begin(block(BlockStep::Insert, sample)?),
        ("block", "block_rq_issue") => begin(block(BlockStep::Issue, sample)?),
        ("block", "block_rq_complete") => begin(block(BlockStep::Complete, sample)?),
        ("tcp", _) => begin(EventKind::Socket { connection: connection(sample, "TCP")? }),
        ("sock", "inet_sock_set_state") => begin(EventKind::Socket {
            connection: connection(sample, protocol(number(sample, "protocol")?))?,
        }),
        ("osnoise", _) => {
            begin(EventKind::Noise { of: noise(event, sample)?, ns: number(sample, "duration")? })
        }
        ("irq_vectors", _) => {
            let vector = |name: &str| EventKind::Vector { name: name.into() };
            match event.strip_suffix("_entry") {
                Some(name) => begin(vector(name)),
                None => end(vector(event.strip_suffix("_exit")?)),
            }
        }
        _ => None,
    }
}

/// In what context the record was made.
pub(super) fn within(sample: &Sample<'_>) -> Option<Within> {
    number(sample, "common_flags").map(Within::of_flags)
}

/// A numeric field.
pub(super) fn number(sample: &Sample<'_>, field: &str) -> Option<u64> {
    sample.field(field)?.as_u64()
}

fn text(sample: &Sample<'_>, field: &str) -> Option<String> {
    sample.field(field)?.as_text()
}

/// The CPUs of a mask: little-endian words, bit 0 of the first byte is CPU 0.
fn cpus_of(mask: &[u8]) -> Vec<Cpu> {
    let bytes = (0u32..).step_by(8).zip(mask);
    bytes
        .flat_map(|(first, byte)| {
            (0..8).filter(move |bit| byte >> bit & 1 != 0).map(move |bit| Cpu(first + bit))
        })
        .collect()
}

fn block(step: BlockStep, sample: &Sample<'_>) -> Option<EventKind> {
    let request = Request {
        device: Device::from_kernel(number(sample, "dev")?),
        name: None,
        sector: number(sample, "sector")?,
        sectors: number(sample, "nr_sector")?,
        letters: text(sample, "rwbs").unwrap_or_default(),
    };
    Some(EventKind::Block { step, request })
}

/// Both ends of a connection: `sport`, `dport`, `saddr`, `daddr` and their `_v6` twins; `tcp_probe` has whole socket
/// addresses instead.
fn connection(sample: &Sample<'_>, protocol: &str) -> Option<String> {
    let end = |address: &str, address_v6: &str, port: &str| -> Option<String> {
        let FieldValue::Bytes(bytes) = sample.field(address)? else { return None };
        let port = number(sample, port)?;
        match bytes {
            [0, 0, 0, 0] => match sample.field(address_v6) {
                Some(FieldValue::Bytes(long)) => end_of_bytes(long, port),
                _ => end_of_bytes(bytes, port),
            },
            [_, _, _, _] => end_of_bytes(bytes, port),
            _ => end_of_socket_address(bytes),
        }
    };
    let (near, far) = (end("saddr", "saddr_v6", "sport")?, end("daddr", "daddr_v6", "dport")?);
    Some(format!("{protocol} {near} to {far}"))
}

fn end_of_bytes(bytes: &[u8], port: u64) -> Option<String> {
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        return Some(format!("{}:{port}", std::net::Ipv4Addr::from(v4)));
    }
    let v6 = std::net::Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?);
    Some(match v6.to_ipv4_mapped() {
        Some(v4) => format!("{v4}:{port}"),
        None => format!("[{v6}]:{port}"),
    })
}

/// `struct sockaddr_in` and `sockaddr_in6`: family, port in network order, address.
fn end_of_socket_address(bytes: &[u8]) -> Option<String> {
    let family = u16::from_le_bytes([*bytes.first()?, *bytes.get(1)?]);
    let port = u64::from(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]));
    match family {
        2 => end_of_bytes(bytes.get(4..8)?, port),
        10 => end_of_bytes(bytes.get(8..24)?, port),
        _ => None,
    }
}

/// What the osnoise tracer measured; `None` for a sum of several (`sample_threshold` with interferences), each of which has a record
/// of its own. Source: `include/trace/events/osnoise.h`.
fn noise(event: &str, sample: &Sample<'_>) -> Option<Noise> {
    Some(match event {
        "thread_noise" => Noise::Thread {
            tid: Tid(i32::try_from(number(sample, "pid")?).ok()?),
            comm: text(sample, "comm").unwrap_or_default(),
        },
        "softirq_noise" => Noise::Softirq { vector: number(sample, "vector")? },
        "irq_noise" => Noise::Irq { name: text(sample, "desc")? },
        "nmi_noise" => Noise::Nmi,
        "sample_threshold" if number(sample, "interference") == Some(0) => Noise::Hardware,
        _ => return None,
    })
}

/// `IPPROTO_*` of `include/uapi/linux/in.h`.
fn protocol(number: u64) -> &'static str {
    match number {
        6 => "TCP",
        17 => "UDP",
        33 => "DCCP",
        132 => "SCTP",
        262 => "MPTCP",
        _ => "IP",
    }
}

fn system_call(sample: &Sample<'_>) -> Option<(Side, EventKind)> {
    let SystemCall { number, step } = sample.system_call()?;
    Some(match step {
        SystemCallStep::Enter(arguments) => {
            (Side::Begin, EventKind::Syscall { number, arguments: arguments.into() })
        }
        SystemCallStep::Exit(result) => {
            let result = result.map(i64::cast_unsigned).into_iter().collect();
            (Side::End, EventKind::Syscall { number, arguments: result })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 127.0.0.1 port 8080 as `sockaddr_in`, `::1` port 80 as `sockaddr_in6` (network order).
    #[test]
    fn socket_addresses_of_both_families() {
        let v4 = [2, 0, 0x1f, 0x90, 127, 0, 0, 1, 0, 0, 0, 0];
        assert_eq!(end_of_socket_address(&v4).as_deref(), Some("127.0.0.1:8080"));
        let mut v6 = [0u8; 28];
        (v6[0], v6[3], v6[23]) = (10, 80, 1);
        assert_eq!(end_of_socket_address(&v6).as_deref(), Some("[::1]:80"));
        assert_eq!(end_of_socket_address(&v4[..6]), None);
    }

    /// CPUs 1 and 3, and CPU 64: bit 0 of the second word.
    #[test]
    fn a_mask_names_its_cpus() {
        let mask = [0b1010, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(cpus_of(&mask), [Cpu(1), Cpu(3), Cpu(64)]);
        assert_eq!(cpus_of(&[]), []);
    }

    #[test]
    fn a_mapped_address_is_the_short_one() {
        let mut mapped = [0u8; 16];
        mapped[10..].copy_from_slice(&[0xff, 0xff, 10, 0, 0, 7]);
        assert_eq!(end_of_bytes(&mapped, 5).as_deref(), Some("10.0.0.7:5"));
    }
}
