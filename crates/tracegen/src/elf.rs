//! Writes the ELF files of a capture: programs with symbols, and the kernel's memory as kcore has it.
//!
//! Input: code at an address, symbols. Output: the file's bytes, the same each time.
//! Source: System V ABI, chapters 4 and 5, with ELF-64 Object File Format; `linux/elf.h`.

const PAGE: u64 = 4096;

/// One loadable piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadSegment<'a> {
    pub(crate) address: u64,
    pub(crate) bytes: &'a [u8],
}

/// Names and addresses of functions, ascending.
pub(crate) type Symbols = [(String, u64)];

/// A program header.
struct Part {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    size: u64,
}

/// A section header.
#[derive(Clone, Copy, Default)]
struct Section {
    name: u32,
    kind: u32,
    flags: u64,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
    entries_from: u32,
    alignment: u64,
    entry_size: u64,
}

/// ELF-32 or ELF-64: how wide a word is, and so how large the tables are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Elf32,
    Elf64,
}

/// A statically linked program of one code segment, with a symbol table and a build ID. Its code begins one page into the file;
/// its address is a multiple of a page.
pub(crate) fn program(segment: LoadSegment<'_>, symbols: &Symbols, bits: u32) -> Vec<u8> {
    let class = if bits == 32 { Class::Elf32 } else { Class::Elf64 };
    let note = build_id_note(segment.bytes);
    let note_at = class.header() + 2 * class.part();
    let note_address = segment.address - PAGE + note_at;
    let text_size = segment.bytes.len() as u64;
    let mut out = vec![0; note_at as usize];
    out.extend(&note);
    out.resize(PAGE as usize, 0);
    out.extend_from_slice(segment.bytes);
    out.resize(out.len().next_multiple_of(8), 0);
    let (table, names) = class.symbol_table(symbols, segment.address + text_size);
    let table_at = out.len() as u64;
    out.extend(&table);
    let names_at = out.len() as u64;
    out.extend(&names);
    let section_names = b"\0.text\0.symtab\0.strtab\0.shstrtab\0.note.gnu.build-id\0";
    let section_names_at = out.len() as u64;
    out.extend(section_names);
    out.resize(out.len().next_multiple_of(8), 0);
    let sections_at = out.len() as u64;
    let place = |name, kind, offset, size: usize| Section {
        name,
        kind,
        offset,
        size: size as u64,
        alignment: 8,
        ..Section::default()
    };
    let sections = [
        Section::default(),
        Section { flags: 6, address: segment.address, ..place(1, 1, PAGE, segment.bytes.len()) },
        Section {
            link: 3,
            entries_from: 1,
            entry_size: class.symbol(),
            ..place(7, 2, table_at, table.len())
        },
        place(15, 3, names_at, names.len()),
        place(23, 3, section_names_at, section_names.len()),
        Section { flags: 2, address: note_address, alignment: 4, ..place(33, 7, note_at, note.len()) },
    ];
    for section in &sections {
        class.put_section(&mut out, section);
    }
    let mut head = class.file_header(2, segment.address, 2, sections_at, sections.len() as u16);
    let text = Part { kind: 1, flags: 5, offset: PAGE, address: segment.address, size: text_size };
    let size = note.len() as u64;
    class.put_part(&mut head, &text);
    class.put_part(&mut head, &Part { kind: 4, flags: 4, offset: note_at, address: note_address, size });
    out[..head.len()].copy_from_slice(&head);
    out
}

/// The kernel's memory as /proc/kcore shows it: a core file of the segments given.
pub(crate) fn kcore(segments: &[LoadSegment<'_>]) -> Vec<u8> {
    let class = Class::Elf64;
    let mut out = class.file_header(4, 0, segments.len() as u16, 0, 0);
    let mut offset = (class.header() + class.part() * segments.len() as u64).next_multiple_of(PAGE);
    for segment in segments {
        let size = (segment.bytes.len() as u64).next_multiple_of(PAGE);
        class.put_part(&mut out, &Part { kind: 1, flags: 7, offset, address: segment.address, size });
        offset += size;
    }
    for segment in segments {
        out.resize(out.len().next_multiple_of(PAGE as usize), 0);
        out.extend_from_slice(segment.bytes);
    }
    out.resize(out.len().next_multiple_of(PAGE as usize), 0);
    out
}

impl Class {
    /// Sizes of the file header, a program header and a symbol.
    fn header(self) -> u64 {
        if self == Class::Elf32 { 52 } else { 64 }
    }

    fn part(self) -> u64 {
        if self == Class::Elf32 { 32 } else { 56 }
    }

    fn symbol(self) -> u64 {
        if self == Class::Elf32 { 16 } else { 24 }
    }

    fn put_word(self, out: &mut Vec<u8>, word: u64) {
        out.extend(&word.to_le_bytes()[..if self == Class::Elf32 { 4 } else { 8 }]);
    }

    fn file_header(self, kind: u16, entry: u64, parts: u16, sections_at: u64, sections: u16) -> Vec<u8> {
        let mut out = b"\x7fELF".to_vec();
        // Class, little endian, version.
        out.extend([if self == Class::Elf32 { 1 } else { 2 }, 1, 1]);
        out.resize(16, 0);
        let machine: u16 = if self == Class::Elf32 { 3 } else { 62 };
        out.extend([kind.to_le_bytes(), machine.to_le_bytes()].concat());
        out.extend(1u32.to_le_bytes());
        self.put_word(&mut out, entry);
        self.put_word(&mut out, self.header());
        self.put_word(&mut out, sections_at);
        out.extend(0u32.to_le_bytes());
        let section_size = if self == Class::Elf32 { 40 } else { 64 };
        // The section names are the last but one.
        let names = sections.saturating_sub(2);
        for size in [self.header() as u16, self.part() as u16, parts, section_size, sections, names] {
            out.extend(size.to_le_bytes());
        }
        out
    }

    fn put_part(self, out: &mut Vec<u8>, part: &Part) {
        let alignment = if part.kind == 1 { PAGE } else { 4 };
        out.extend(part.kind.to_le_bytes());
        if self == Class::Elf64 {
            out.extend(part.flags.to_le_bytes());
        }
        for word in [part.offset, part.address, 0, part.size, part.size] {
            self.put_word(out, word);
        }
        if self == Class::Elf32 {
            out.extend(part.flags.to_le_bytes());
        }
        self.put_word(out, alignment);
    }

    fn put_section(self, out: &mut Vec<u8>, section: &Section) {
        out.extend([section.name.to_le_bytes(), section.kind.to_le_bytes()].concat());
        for word in [section.flags, section.address, section.offset, section.size] {
            self.put_word(out, word);
        }
        out.extend([section.link.to_le_bytes(), section.entries_from.to_le_bytes()].concat());
        self.put_word(out, section.alignment);
        self.put_word(out, section.entry_size);
    }

    /// Symbol and string table: functions, each reaching to the next.
    fn symbol_table(self, symbols: &Symbols, end: u64) -> (Vec<u8>, Vec<u8>) {
        let (mut table, mut names) = (vec![0; self.symbol() as usize], vec![0]);
        for (number, (name, address)) in symbols.iter().enumerate() {
            let size = symbols.get(number + 1).map_or(end, |&(_, next)| next) - address;
            // Global function in section 1.
            let place = [0x12, 0, 1, 0];
            table.extend((names.len() as u32).to_le_bytes());
            if self == Class::Elf64 {
                table.extend(place);
            }
            self.put_word(&mut table, *address);
            self.put_word(&mut table, size);
            if self == Class::Elf32 {
                table.extend(place);
            }
            names.extend(name.as_bytes());
            names.push(0);
        }
        (table, names)
    }
}

/// The build ID of a program: 20 bytes that depend on its code (FNV-1a with five seeds, no digest is needed here).
pub(crate) fn build_id(bytes: &[u8]) -> [u8; 20] {
    let mut id = [0; 20];
    for (seed, part) in (1u64..).zip(id.chunks_exact_mut(4)) {
        let start = 0xcbf2_9ce4_8422_2325 ^ seed;
        let hash =
            bytes.iter().fold(start, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        part.copy_from_slice(&(hash >> 16).to_le_bytes()[..4]);
    }
    id
}

fn build_id_note(bytes: &[u8]) -> Vec<u8> {
    let mut note = [4u32.to_le_bytes(), 20u32.to_le_bytes(), 3u32.to_le_bytes()].concat();
    note.extend(b"GNU\0");
    note.extend(build_id(bytes));
    note
}
