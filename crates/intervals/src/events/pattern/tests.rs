//! Conditions read and held against payloads that are written by hand.

use super::*;

/// A format as the kernel prints it: a number of eight bytes, a signed one of four, a text of eight, an array.
const FORMAT: &str = "\
name: sys_enter
ID: 17
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;

\tfield:unsigned long id;\toffset:8;\tsize:8;\tsigned:0;
\tfield:int ret;\toffset:16;\tsize:4;\tsigned:1;
\tfield:char comm[8];\toffset:20;\tsize:8;\tsigned:0;
\tfield:unsigned long args[2];\toffset:28;\tsize:16;\tsigned:0;

print fmt: \"NR %ld\", REC->id
";

fn payload(id: u64, ret: i32, comm: &[u8]) -> Vec<u8> {
    let mut raw = vec![0; 44];
    raw[8..16].copy_from_slice(&id.to_le_bytes());
    raw[16..20].copy_from_slice(&ret.to_le_bytes());
    raw[20..20 + comm.len()].copy_from_slice(comm);
    raw
}

fn holds(text: &str, raw: &[u8]) -> Result<bool, String> {
    let format = TracepointFormat::parse("raw_syscalls", FORMAT.as_bytes()).expect("a format");
    let pattern: EventPattern = text.parse().map_err(|error: Error| error.to_string())?;
    pattern.matches(Some((&format, raw))).map_err(|error| error.to_string())
}

#[test]
fn numbers_texts_and_bits() {
    let raw = payload(0x2d, -11, b"nginx");
    for (condition, expected) in [
        ("id == 45", true),
        ("id == 0x2d", true),
        ("id==46", false),
        ("id != 45", false),
        ("id < 46 && id > 44", true),
        ("id <= 45 && id >= 46", false),
        ("ret == -11", true),
        ("ret < 0 && ret > -0xc", true),
        ("id & 4", true),
        ("id & 2", false),
        ("id & 0xf == 0xd && comm == nginx", true),
        ("comm == \"nginx\"", true),
        ("comm != 'nginx'", false),
        ("common_type == 0", true),
        ("id < 18446744073709551615", true),
    ] {
        assert_eq!(
            holds(&format!("raw_syscalls:sys_enter if {condition}"), &raw),
            Ok(expected),
            "{condition}"
        );
    }
    assert_eq!(holds("raw_syscalls:sys_enter", &raw), Ok(true));
    // A payload that is cut off holds no text.
    assert_eq!(holds("x:y if comm == nginx", &raw[..20]), Ok(false));
}

#[test]
fn what_is_wrong_is_said() {
    let raw = payload(45, 0, b"nginx");
    for (text, says) in [
        ("", "the name of an event is missing"),
        ("a:b id == 45", "only `if FIELD == VALUE` may follow"),
        ("a:b if", "only `if FIELD == VALUE` may follow"),
        ("a:b if ", "only `if FIELD == VALUE` may follow"),
        ("a:b if id", "write id == VALUE"),
        ("a:b if id ==", "a number or \"TEXT\" is missing"),
        ("a:b if id = 45", "'=' has no meaning here"),
        ("a:b if id == 45 || id == 46", "'|' has no meaning here"),
        ("a:b if (id == 45)", "'(' has no meaning here"),
        ("a:b if id == 45 id == 46", "id where only && may follow"),
        ("a:b if id == 0x1ffffffffffffffff", "is no number of up to 64 bits"),
        ("a:b if id & x", "needs a number after it"),
        ("a:b if comm < nginx", "with == or != alone"),
        ("a:b if comm == 'nginx", "has no second one"),
        ("a:b if comm == 5", "comm is a text"),
        ("a:b if id == nginx", "id is a number"),
        ("a:b if args == 5", "args is an array"),
        ("a:b if colour == 5", "its field colour is not there, its fields are: id, ret, comm, args"),
    ] {
        let error = holds(text, &raw).expect_err(text);
        assert!(error.contains(says), "{text}: {error}");
    }
    let pattern: EventPattern = "a:b if id == 5".parse().expect("a pattern");
    assert!(pattern.matches(None).expect_err("no fields").to_string().contains("-R"));
}

#[test]
fn it_is_shown_as_it_is_read() {
    for text in
        ["a:b", "a:b if id == 45 && ret & 4 != 0", "a:b if comm == \"two words\"", "a:b if comm != '\"'"]
    {
        let pattern: EventPattern = text.parse().expect(text);
        assert_eq!(pattern.to_string(), text);
    }
}
