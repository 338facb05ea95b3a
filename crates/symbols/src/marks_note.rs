//! What the marks of a program in its trace look like: a note of its ELF file.
//!
//! Written by `tailtrace.h` with `TAILTRACE_PTWRITE`. Format of notes: System V ABI, chapter 5, "Note Section".

use std::path::Path;

use object::{Object, ObjectSection};

use crate::elf::CodeFile;

/// The section, which is the note's alone, and the note's owner.
const SECTION: &str = ".note.tailtrace";
const OWNER: &[u8] = b"tailtrace\0";
/// Most bytes of what it says.
const LONGEST: usize = 1024;

/// What the PTWRITE payloads of the program at `path` mean, in the words of `--ptwrite`; `None` where the file does not say, or is no
/// ELF file that can be read.
pub fn ptwrite_note(path: &Path) -> Option<String> {
    let file = CodeFile::open(path).ok()?;
    let parsed = object::File::parse(&file.bytes[..]).ok()?;
    text_of(parsed.section_by_name(SECTION)?.data().ok()?)
}

/// The text of the first note: sizes of owner and text, a type, and the two, each filled up to four bytes.
fn text_of(note: &[u8]) -> Option<String> {
    let size = |at: usize| {
        let bytes = note.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    };
    let (owner, text) = (size(0)?, size(4)?);
    if owner != OWNER.len() || note.get(12..12 + owner)? != OWNER || text > LONGEST {
        return None;
    }
    let begin = 12 + owner.next_multiple_of(4);
    let text = note.get(begin..begin + text)?;
    let text = std::str::from_utf8(text).ok()?.trim_end_matches('\0');
    (!text.is_empty() && !text.contains(|each: char| each.is_control())).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(owner: &[u8], text: &[u8]) -> Vec<u8> {
        let mut note = Vec::new();
        for number in [owner.len(), text.len(), 1] {
            note.extend(u32::try_from(number).expect("small").to_le_bytes());
        }
        for part in [owner, text] {
            note.extend(part);
            note.resize(note.len().next_multiple_of(4), 0);
        }
        note
    }

    #[test]
    fn a_note_has_an_owner_and_a_text() {
        let whole = note(OWNER, b"id=0..39\0");
        assert_eq!(text_of(&whole).as_deref(), Some("id=0..39"));
        assert_eq!(text_of(&[whole.clone(), note(OWNER, b"other\0")].concat()).as_deref(), Some("id=0..39"));
        assert_eq!(text_of(&note(b"GNU\0", b"id=0..39\0")), None);
        assert_eq!(text_of(&note(OWNER, b"\xff\0")), None);
        assert_eq!(text_of(&note(OWNER, b"a\nb\0")), None);
        for length in 0..whole.len() - 3 {
            assert_eq!(text_of(&whole[..length]), None, "{length}");
        }
    }
}
