//! Raw bytes and format files against what a kernel wrote.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use super::*;

fn raw(name: &str, values: &[(&str, &str)]) -> Result<Vec<u8>, String> {
    let values = values.iter().map(|(field, value)| ((*field).to_owned(), (*value).to_owned())).collect();
    Tracepoint::find(name).unwrap().raw(102, 0, &values)
}

#[test]
fn a_format_file_is_the_kernels() {
    // /sys/kernel/tracing/events/irq/irq_handler_entry/format of Debian's 6.1.
    let expected = "name: irq_handler_entry
ID: 147
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;
\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:1;

print fmt: \"irq=%d name=%s\", REC->irq, __get_str(name)
";
    assert_eq!(Tracepoint::find("irq:irq_handler_entry").unwrap().format(), expected);
}

#[test]
fn raw_bytes_lie_as_the_format_says() {
    let expected = [&[147, 0, 0, 0, 102, 0, 0, 0, 24, 0, 0, 0, 16, 0, 8, 0][..], b"nvme0q1\0"].concat();
    assert_eq!(raw("irq:irq_handler_entry", &[("irq", "24"), ("name", "nvme0q1")]).unwrap(), expected);
    let switch = raw("sched:sched_switch", &[("prev_state", "D"), ("next_pid", "7")]).unwrap();
    assert_eq!((switch.len(), switch[32], switch[56], switch[60]), (64, 2, 7, 120));
    let issue = raw("block:block_rq_issue", &[("dev", "259:3"), ("sector", "0x10")]).unwrap();
    assert_eq!(issue[8..12], 0x1030_0003u32.to_le_bytes());
    assert_eq!((issue[16], issue.len()), (16, 61));
}

#[test]
fn a_wrong_field_or_value_is_refused() {
    assert!(raw("power:cpu_idle", &[("cpu", "1")]).unwrap_err().contains("no field `cpu`"));
    assert!(raw("power:cpu_idle", &[("cpu_id", "one")]).unwrap_err().contains("no number"));
}

#[test]
fn names_and_numbers_are_unique() {
    for point in POINTS {
        assert_eq!(Tracepoint::find(point.name), Some(point));
        assert_eq!(POINTS.iter().filter(|other| other.id == point.id).count(), 1, "{}", point.name);
    }
}
