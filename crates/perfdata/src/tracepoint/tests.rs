//! Formats as kernels write them, payloads by hand, and the section around the formats.

use super::{FieldValue, TracepointFormat, parse_tracing_data};

/// From Linux 6.1 and 6.18 (`sched_switch`, `sched_process_exec`), shortened; one field of each other kind added.
const FORMAT: &str = "name: kinds
ID: 314
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:__data_loc char[] filename;\toffset:28;\tsize:4;\tsigned:0;
\tfield:__rel_loc char[] relative;\toffset:32;\tsize:4;\tsigned:0;
\tfield:unsigned long args[2];\toffset:40;\tsize:16;\tsigned:0;
\tfield:const char * msg;\toffset:56;\tsize:8;\tsigned:0;
\tfield:__data_loc unsigned long[] cpus;\toffset:64;\tsize:4;\tsigned:0;
\tfield:long prev_state;\toffset:72;\tsize:8;\tsigned:1;
\tfield:u8 short_number;\toffset:80;\tsize:1;\tsigned:0;
\tfield:unsigned char address[4];\toffset:81;\tsize:4;\tsigned:0;
\tfield:bool odd;\toffset:85;\tsize:3;\tsigned:0;

print fmt: \"%s\", REC->prev_comm
";

/// Text after the fixed part: `/bin/true` at 88 and `rel` at 98, a word of 8 bytes at 102.
fn payload() -> Vec<u8> {
    let mut payload = vec![0u8; 110];
    payload[0..2].copy_from_slice(&314u16.to_le_bytes());
    payload[4..8].copy_from_slice(&(-1i32).to_le_bytes());
    payload[8..15].copy_from_slice(b"swapper");
    payload[24..28].copy_from_slice(&(-2i32).to_le_bytes());
    payload[28..32].copy_from_slice(&(0xa_0000u32 + 88).to_le_bytes());
    payload[32..36].copy_from_slice(&(0x4_0000u32 + 98 - 36).to_le_bytes());
    payload[40..48].fill(0xaa);
    payload[56..64].copy_from_slice(&0xffff_ffff_8100_0000u64.to_le_bytes());
    payload[64..68].copy_from_slice(&(0x8_0000u32 + 102).to_le_bytes());
    payload[72..80].copy_from_slice(&256i64.to_le_bytes());
    payload[80] = 200;
    payload[81..85].copy_from_slice(&[127, 0, 0, 1]);
    payload[88..97].copy_from_slice(b"/bin/true");
    payload[98..101].copy_from_slice(b"rel");
    payload[102] = 3;
    payload
}

#[test]
fn fields_of_every_kind() {
    let format = TracepointFormat::parse("test", FORMAT.as_bytes()).expect("a format");
    assert_eq!((format.name(), format.id(), format.fields().len()), ("test:kinds", 314, 14));
    assert_eq!(format.print_format(), "\"%s\", REC->prev_comm");
    let payload = payload();
    let value = |name: &str| format.field(name).and_then(|field| field.value(&payload));
    assert_eq!(value("common_type"), Some(FieldValue::Unsigned(314)));
    assert_eq!(value("common_pid"), Some(FieldValue::Signed(-1)));
    assert_eq!(value("prev_comm"), Some(FieldValue::Text(b"swapper")));
    assert_eq!(value("prev_pid"), Some(FieldValue::Signed(-2)));
    assert_eq!(value("filename"), Some(FieldValue::Text(b"/bin/true")));
    assert_eq!(value("relative"), Some(FieldValue::Text(b"rel")));
    assert_eq!(value("args"), Some(FieldValue::Bytes(&payload[40..56])));
    assert_eq!(value("msg"), Some(FieldValue::Unsigned(0xffff_ffff_8100_0000)));
    assert_eq!(value("cpus"), Some(FieldValue::Bytes(&[3, 0, 0, 0, 0, 0, 0, 0])));
    assert_eq!(value("prev_state"), Some(FieldValue::Signed(256)));
    assert_eq!(value("short_number"), Some(FieldValue::Unsigned(200)));
    assert_eq!(value("address"), Some(FieldValue::Bytes(&[127, 0, 0, 1])));
    assert_eq!(value("odd"), Some(FieldValue::Bytes(&[0, 0, 0])));
    assert_eq!(value("absent"), None);
}

#[test]
fn a_text_stands_for_another_one() {
    let format = TracepointFormat::parse("test", FORMAT.as_bytes()).expect("a format");
    for (name, old) in [("prev_comm", &b"swapper"[..]), ("filename", b"/bin/true"), ("relative", b"rel")] {
        let field = format.field(name).expect("a field");
        for text in [&b"x"[..], b"/a/longer/one/", b""] {
            let new = field.with_text(&payload(), text).expect("it has a place");
            assert_eq!(field.value(&new), Some(FieldValue::Text(text)), "{name}");
            assert!(!new.windows(old.len()).any(|window| window == old), "{name}");
            // All other fields stay.
            for other in format.fields().iter().filter(|other| other.name() != name) {
                assert_eq!(other.value(&new), other.value(&payload()), "{name}, {}", other.name());
            }
        }
        // No word of a payload points that far: nothing is written rather than the old text.
        let too_long = field.with_text(&payload(), &vec![b'y'; 70_000]).expect("it has a place");
        assert!(!too_long.windows(old.len()).any(|window| window == old), "{name}");
    }
}

#[test]
fn values_outside_of_the_payload_are_none() {
    let format = TracepointFormat::parse("test", FORMAT.as_bytes()).expect("a format");
    for end in 0..payload().len() {
        for field in format.fields() {
            let fits = field.offset() + field.size() <= end;
            let found = field.value(&payload()[..end]).is_some();
            assert!(fits || !found, "{} of {end} bytes", field.name());
        }
    }
}

#[test]
fn a_format_without_name_or_id_is_none() {
    assert_eq!(TracepointFormat::parse("test", b"ID: 4\n"), None);
    assert_eq!(TracepointFormat::parse("test", b"name: a\nID: x\n"), None);
}

/// The section as `trace-event-info.c` writes it.
fn section(version: &str) -> Vec<u8> {
    let sized = |bytes: &[u8]| [&(bytes.len() as u64).to_le_bytes()[..], bytes].concat();
    let mut section = b"\x17\x08\x44tracing".to_vec();
    section.extend(version.as_bytes());
    section.extend([0, 0, 8]);
    section.extend(4096u32.to_le_bytes());
    section.extend(b"header_page\0");
    section.extend(sized(b"page"));
    section.extend(b"header_event\0");
    section.extend(sized(b"event"));
    section.extend(1u32.to_le_bytes());
    section.extend(sized(b"name: function\nID: 1\n"));
    section.extend(1u32.to_le_bytes());
    section.extend(b"test\0");
    section.extend(1u32.to_le_bytes());
    section.extend(sized(FORMAT.as_bytes()));
    section.extend(0u32.to_le_bytes()); // kallsyms
    section.extend(0u32.to_le_bytes()); // printk formats
    if version == "0.6" {
        section.extend(sized(b"1 init"));
    }
    section
}

#[test]
fn both_versions_of_the_section() {
    for version in ["0.5", "0.6"] {
        let mut diagnostics = Vec::new();
        let formats = parse_tracing_data(&section(version), 0, &mut diagnostics);
        let names: Vec<_> = [1, 314]
            .map(|id| formats.by_id(id).map(|it| it.name().to_owned()))
            .into_iter()
            .flatten()
            .collect();
        assert_eq!(names, ["ftrace:function", "test:kinds"], "version {version}");
        assert!(diagnostics.is_empty());
    }
}

#[test]
fn a_section_cut_off_keeps_the_formats_before_the_cut() {
    let whole = section("0.6");
    let format_end = whole.len() - 8 - 8 - 6;
    for cut in 0..whole.len() {
        let mut diagnostics = Vec::new();
        let formats = parse_tracing_data(&whole[..cut], 1000, &mut diagnostics);
        assert_eq!(formats.by_id(314).is_some(), cut >= format_end, "cut at {cut}");
        // What follows the formats is not needed, so not missed.
        assert_eq!(diagnostics.len(), usize::from(cut < format_end), "cut at {cut}");
        let place = diagnostics.first().and_then(|it| it.place.file_offset);
        assert!(place.is_none_or(|place| (1000..=1000 + cut as u64).contains(&place.0)));
    }
}
