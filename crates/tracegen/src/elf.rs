//! Writes the ELF files of a capture: programs with symbols, and the kernel's memory as kcore has it.
//!
//! Input: code at an address, symbols. Output: the file's bytes, the same each time.
//! Source: System V ABI, ELF-64; linux/elf.h.

const HEADER: u64 = 64;
const PROGRAM_HEADER: u64 = 56;
const PAGE: u64 = 4096;

/// One loadable piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment<'a> {
    pub(crate) address: u64,
    pub(crate) bytes: &'a [u8],
}

/// A statically linked program of one code segment, with a symbol table and a build ID. Its code begins one page into the file;
/// its address is a multiple of a page.
pub(crate) fn program(segment: Segment<'_>, symbols: &[(String, u64)], bits: u32) -> Vec<u8> {
    let note = build_id_note(segment.bytes);
    let note_at = HEADER + 2 * PROGRAM_HEADER;
    let text_at = PAGE;
    let mut out = vec![0; (note_at + note.len() as u64) as usize];
    out[note_at as usize..].copy_from_slice(&note);
    out.resize(text_at as usize, 0);
    out.extend_from_slice(segment.bytes);
    let text_size = segment.bytes.len() as u64;
    out.resize(out.len().next_multiple_of(8), 0);
    let (table, names) = symbol_table(symbols, segment.address + text_size);
    let table_at = out.len() as u64;
    out.extend(&table);
    let names_at = out.len() as u64;
    out.extend(&names);
    let section_names = b"\0.text\0.symtab\0.strtab\0.shstrtab\0.note.gnu.build-id\0";
    let section_names_at = out.len() as u64;
    out.extend(section_names);
    out.resize(out.len().next_multiple_of(8), 0);
    let sections_at = out.len() as u64;
    // name, type, flags, address, offset, size, link, info, alignment, entry size
    let names_size = names.len() as u64;
    let sections = [
        [0; 10],
        [1, 1, 6, segment.address, text_at, text_size, 0, 0, 16, 0],
        [7, 2, 0, 0, table_at, table.len() as u64, 3, 1, 8, 24],
        [15, 3, 0, 0, names_at, names_size, 0, 0, 1, 0],
        [23, 3, 0, 0, section_names_at, section_names.len() as u64, 0, 0, 1, 0],
        [33, 7, 2, segment.address - text_at + note_at, note_at, note.len() as u64, 0, 0, 4, 0],
    ];
    for section in &sections {
        put_section(&mut out, section);
    }
    let machine = if bits == 32 { 3 } else { 62 };
    let head = header(2, machine, segment.address, 2, sections_at, sections.len() as u16, 4);
    out[..HEADER as usize].copy_from_slice(&head);
    let headers = [
        program_header(1, 5, text_at, segment.address, text_size),
        program_header(4, 4, note_at, segment.address - text_at + note_at, note.len() as u64),
    ];
    out[HEADER as usize..note_at as usize].copy_from_slice(&headers.concat());
    out
}

/// The kernel's memory as /proc/kcore shows it: a core file of the segments given.
pub(crate) fn kcore(segments: &[Segment<'_>]) -> Vec<u8> {
    let mut out = header(4, 62, 0, segments.len() as u16, 0, 0, 0);
    let mut at = (HEADER + PROGRAM_HEADER * segments.len() as u64).next_multiple_of(PAGE);
    for segment in segments {
        let size = (segment.bytes.len() as u64).next_multiple_of(PAGE);
        out.extend(program_header(1, 7, at, segment.address, size));
        at += size;
    }
    for segment in segments {
        out.resize(out.len().next_multiple_of(PAGE as usize), 0);
        out.extend_from_slice(segment.bytes);
    }
    out.resize(out.len().next_multiple_of(PAGE as usize), 0);
    out
}

fn header(
    kind: u16,
    machine: u16,
    entry: u64,
    segments: u16,
    sections_at: u64,
    sections: u16,
    names: u16,
) -> Vec<u8> {
    let mut out = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    out.extend([kind.to_le_bytes(), machine.to_le_bytes()].concat());
    out.extend(1u32.to_le_bytes());
    for place in [entry, HEADER, sections_at] {
        out.extend(place.to_le_bytes());
    }
    out.extend(0u32.to_le_bytes());
    let section_size = if sections == 0 { 0 } else { 64 };
    for size in [HEADER as u16, PROGRAM_HEADER as u16, segments, section_size, sections, names] {
        out.extend(size.to_le_bytes());
    }
    out
}

fn program_header(kind: u32, flags: u32, offset: u64, address: u64, size: u64) -> Vec<u8> {
    let mut out = [kind.to_le_bytes(), flags.to_le_bytes()].concat();
    let alignment = if kind == 1 { PAGE } else { 4 };
    for field in [offset, address, 0, size, size, alignment] {
        out.extend(field.to_le_bytes());
    }
    out
}

fn put_section(out: &mut Vec<u8>, fields: &[u64; 10]) {
    for (number, &field) in fields.iter().enumerate() {
        match number {
            0 | 1 | 6 | 7 => out.extend((field as u32).to_le_bytes()),
            _ => out.extend(field.to_le_bytes()),
        }
    }
}

/// Symbol and string table: functions, each reaching to the next.
fn symbol_table(symbols: &[(String, u64)], end: u64) -> (Vec<u8>, Vec<u8>) {
    let (mut table, mut names) = (vec![0; 24], vec![0]);
    for (number, (name, address)) in symbols.iter().enumerate() {
        let next = symbols.get(number + 1).map_or(end, |&(_, next)| next);
        table.extend((names.len() as u32).to_le_bytes());
        // Global function in section 1.
        table.extend([0x12, 0, 1, 0]);
        table.extend(address.to_le_bytes());
        table.extend((next - address).to_le_bytes());
        names.extend(name.as_bytes());
        names.push(0);
    }
    (table, names)
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
