//! Names for the stubs of the procedure linkage table: `malloc@plt`. Its first entry leads to the loader, which looks for a function that is
//! called for the first time: `_dl_runtime_resolve@plt`, as glibc calls where that begins.
//!
//! Input: an x86-64 ELF file. Output: each stub's addresses and name. No symbol table lists the stubs; each is an
//! indirect jump through a slot of the GOT, and the slot's relocation names the function. System V ABI for AMD64, 5.2.

use std::cell::LazyCell;
use std::collections::HashMap;
use std::ops::Range;

use object::{
    Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationFlags, RelocationTarget, SymbolFlags,
    elf,
};

/// A stub: where it stands (SVMA), and its name.
pub(crate) type Stub = (Range<u64>, String);

/// Sections that hold stubs, with the distance from one to the next; in a static program they are half as far apart.
const STUB_SECTIONS: [(&str, usize); 3] = [(".plt", 16), (".plt.sec", 16), (".plt.got", 8)];
const IN_STATIC: usize = 8;

/// What the table begins with: it pushes the second slot of the GOT, and jumps through the third one.
const PUSHES: &[u8] = &[0xff, 0x35];
const FIRST_ENTRY: &str = "_dl_runtime_resolve@plt";

/// The stubs of `parsed`, in no order.
pub(crate) fn stubs(parsed: &object::File<'_>) -> Vec<Stub> {
    if parsed.architecture() != object::Architecture::X86_64 {
        return Vec::new();
    }
    let slots = slot_names(parsed);
    let mut found = Vec::new();
    for (name, stride) in STUB_SECTIONS {
        let Some(section) = parsed.section_by_name(name) else { continue };
        let Ok(code) = section.data() else { continue };
        let is_dense = code.get(IN_STATIC..).is_some_and(|next| jump_target(next, 0).is_some());
        let stride = if is_dense { IN_STATIC } else { stride };
        for (index, stub) in code.chunks(stride).enumerate() {
            let at = section.address().wrapping_add((index * stride) as u64);
            if let (0, true, Some(end)) = (index, stub.starts_with(PUSHES), at.checked_add(stride as u64)) {
                found.push((at..end, FIRST_ENTRY.to_owned()));
                continue;
            }
            let slot = jump_target(stub, at).and_then(|target| slots.get(&target));
            if let (Some(name), Some(end)) = (slot, at.checked_add(stride as u64)) {
                found.push((at..end, format!("{name}@plt")));
            }
        }
    }
    found
}

/// Functions by the address of the GOT slot that leads to them. A slot that is filled by asking a resolver (an indirect
/// function) has the name of that function, or objdump's where the symbol table has none.
fn slot_names(parsed: &object::File<'_>) -> HashMap<u64, String> {
    let symbols = parsed.dynamic_symbol_table();
    // Few programs have any, and all symbols are looked through for them.
    let indirect = LazyCell::new(|| indirect_functions(parsed));
    let name_of = |relocation: &object::Relocation| match (relocation.target(), relocation.flags()) {
        (RelocationTarget::Symbol(index), _) => {
            symbols.as_ref()?.symbol_by_index(index).ok()?.name().ok().map(str::to_owned)
        }
        (_, RelocationFlags::Elf { r_type }) if r_type == elf::R_X86_64_IRELATIVE => {
            let resolver = relocation.addend().cast_unsigned();
            let name = indirect.get(&resolver).map(|&name| name.to_owned());
            Some(name.unwrap_or_else(|| format!("*ABS*+{resolver:#x}")))
        }
        _ => None,
    };
    // A static program has no table for a loader: its own start-up code goes through these.
    let of_sections = || parsed.sections().flat_map(|section| section.relocations().collect::<Vec<_>>());
    let relocations: Vec<(u64, object::Relocation)> = match parsed.dynamic_relocations() {
        Some(relocations) if symbols.is_some() => relocations.collect(),
        _ => of_sections().collect(),
    };
    relocations
        .iter()
        .filter_map(|(slot, relocation)| Some((*slot, name_of(relocation)?)))
        .filter(|(_, name)| !name.is_empty())
        .collect()
}

/// The names of the symbol table for functions that a resolver chooses, by the resolver's address; the shortest of several.
fn indirect_functions<'a>(parsed: &'a object::File<'_>) -> HashMap<u64, &'a str> {
    let mut found: HashMap<u64, &str> = HashMap::new();
    for symbol in parsed.symbols() {
        let SymbolFlags::Elf { st_info, .. } = symbol.flags() else { continue };
        let Ok(name) = symbol.name() else { continue };
        if st_info.st_type() == elf::STT_GNU_IFUNC {
            let known = found.entry(symbol.address()).or_insert(name);
            if (name.len(), name) < (known.len(), *known) {
                *known = name;
            }
        }
    }
    found
}

/// Where `[endbr64] [bnd] jmp *offset(%rip)` at `at` reads its target from.
fn jump_target(stub: &[u8], at: u64) -> Option<u64> {
    let endbr = if stub.starts_with(&[0xf3, 0x0f, 0x1e, 0xfa]) { 4 } else { 0 };
    let bnd = usize::from(stub.get(endbr) == Some(&0xf2));
    let jump = stub.get(endbr + bnd..)?;
    let offset = jump.strip_prefix(&[0xff, 0x25])?.first_chunk::<4>()?;
    let next = at.wrapping_add((endbr + bnd + 6) as u64);
    Some(next.wrapping_add_signed(i64::from(i32::from_le_bytes(*offset))))
}
