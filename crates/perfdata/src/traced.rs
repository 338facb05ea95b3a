//! Builds small captures of system calls and of the probe that records names of files, for unit tests.
//!
//! Formats as Linux 6.1 writes them; the probe's as `perf probe` and the kernel's `trace_probe.c` have it.

use crate::bytes;
use crate::test_file::{SAMPLE_ID_ALL, TestFile, attr};

/// `IP | TID | TIME | CPU | IDENTIFIER | RAW`.
const SAMPLE_TYPE: u64 = 0x1_0487;
/// The tracepoints' numbers, which also distinguish their samples.
const EXIT: u16 = 345;
const ENTER: u16 = 346;
const GETNAME: u16 = 1172;

/// A file of system calls in the making; thread and process have the same number.
pub(crate) struct Traced(pub(crate) TestFile);

impl Traced {
    pub(crate) fn new() -> Traced {
        Traced::of(&[EXIT, ENTER, GETNAME])
    }

    /// The same, without the begins of calls.
    pub(crate) fn without_begins() -> Traced {
        Traced::of(&[EXIT, GETNAME])
    }

    fn of(points: &[u16]) -> Traced {
        let file = TestFile::default().attr(attr(1, 9, SAMPLE_TYPE, SAMPLE_ID_ALL), &[7]);
        let with = |file: TestFile, &point: &u16| {
            file.attr(attr(2, point.into(), SAMPLE_TYPE, SAMPLE_ID_ALL), &[point.into()])
        };
        Traced(points.iter().fold(file, with).feature(1, formats(points)))
    }

    pub(crate) fn enter(self, time: u64, pid: i32, number: u64, arguments: &[u64]) -> Traced {
        let mut words = bytes![number];
        for word in arguments {
            words.extend(bytes![*word]);
        }
        words.resize(8 + 48, 0);
        self.sample(time, pid, ENTER, &words)
    }

    pub(crate) fn exit(self, time: u64, pid: i32, number: u64, returned: i64) -> Traced {
        self.sample(time, pid, EXIT, &bytes![number, returned])
    }

    /// The probe's record of a name.
    pub(crate) fn name(self, time: u64, pid: i32, name: &[u8]) -> Traced {
        // After the common fields, the address and this word.
        let place = (u32::try_from(name.len() + 1).expect("short") << 16) + 20;
        let mut body = bytes![0xffff_ffff_8140_0000u64, place];
        body.extend(name);
        body.push(0);
        self.sample(time, pid, GETNAME, &body)
    }

    /// `openat(AT_FDCWD, name, …)` from `time` to `time + 2`, which returns `descriptor`.
    pub(crate) fn open(self, time: u64, pid: i32, name: &str, descriptor: i64) -> Traced {
        let begun = self.enter(time, pid, 257, &[0xffff_ff9c, 0x7ffe_0000, 0]);
        begun.name(time + 1, pid, name.as_bytes()).exit(time + 2, pid, 257, descriptor)
    }

    pub(crate) fn close(self, time: u64, pid: i32, descriptor: u64) -> Traced {
        self.enter(time, pid, 3, &[descriptor]).exit(time + 1, pid, 3, 0)
    }

    /// A sample in thread `pid`, with the fields after the common ones.
    fn sample(self, time: u64, pid: i32, point: u16, fields: &[u8]) -> Traced {
        let mut raw = [&bytes![point, 0u16, pid][..], fields].concat();
        raw.resize((raw.len() + 4).next_multiple_of(8) - 4, 0);
        let size = u32::try_from(raw.len()).expect("short");
        let origin = bytes![u64::from(point), 0u64, pid, pid, time, 3u32, 0u32, size];
        Traced(self.0.record(9, 0, &[origin, raw].concat()))
    }
}

/// The section of the tracepoints' formats.
fn formats(points: &[u16]) -> Vec<u8> {
    let sized = |bytes: &[u8]| [&(bytes.len() as u64).to_le_bytes()[..], bytes].concat();
    let mut section = b"\x17\x08\x44tracing0.6\0\0\x08".to_vec();
    section.extend(4096u32.to_le_bytes());
    section.extend([&b"header_page\0"[..], &sized(b"page"), b"header_event\0", &sized(b"event")].concat());
    section.extend(bytes![0u32, u32::try_from(points.len()).expect("few")]);
    for point in points {
        let (group, format) = format(*point);
        section.extend([group.as_bytes(), b"\0", &bytes![1u32], &sized(format.as_bytes())].concat());
    }
    section.extend([0; 16]);
    section
}

fn format(point: u16) -> (&'static str, String) {
    let field = |declaration: &str, at: usize, size: usize, signed: u8| {
        format!("\tfield:{declaration};\toffset:{at};\tsize:{size};\tsigned:{signed};\n")
    };
    let (group, name, fields) = match point {
        ENTER => (
            "raw_syscalls",
            "sys_enter",
            [field("long id", 8, 8, 1), field("unsigned long args[6]", 16, 48, 0)],
        ),
        EXIT => ("raw_syscalls", "sys_exit", [field("long id", 8, 8, 1), field("long ret", 16, 8, 1)]),
        _ => {
            let fields =
                [field("unsigned long __probe_ip", 8, 8, 0), field("__data_loc char[] pathname", 16, 4, 1)];
            ("probe", "vfs_getname", fields)
        }
    };
    (group, format!("name: {name}\nID: {point}\nformat:\n{}\nprint fmt: \"\"\n", fields.concat()))
}
