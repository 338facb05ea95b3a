//! Names for the functions of stripped `CPython` code, by its tables of methods: `gc.collect`, `re.Pattern.match`.
//!
//! Input: an ELF file that uses `CPython`'s C API, and the starts of its functions without names. Output: names by start. A module's functions
//! and a type's methods stand in arrays of `PyMethodDef`, to which a `PyModuleDef`, a `PyTypeObject` or the slots of a `PyType_Spec` point, with
//! the module's or type's name (Include/methodobject.h, moduleobject.h, cpython/object.h, object.h; the same from 3.5 on). An entry counts
//! only if it is whole: a name, the start of a function, known flags.

use std::collections::{HashMap, HashSet};

use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags, SectionFlags, elf};

/// `PyMethodDef`: name, function, flags, documentation.
const METHOD: u64 = 32;
/// The union of `METH_*`.
const FLAGS: u64 = 0x3ff;
/// From where the methods stand to where the name stands: `PyModuleDef.m_methods` and `m_name`, `PyTypeObject.tp_methods` and `tp_name`.
const TO_NAMES: [u64; 2] = [24, 208];
/// The number of a `PyType_Slot` for methods, its size, and from `PyType_Spec.slots` to its name.
const METHODS_SLOT: u64 = 64;
const SLOT: u64 = 16;
const MOST_SLOTS: u64 = 82;
const SLOTS_TO_NAME: u64 = 24;
/// More data, in all sections, than a module has; and more words of it that a loader moves.
const LARGEST: u64 = 64 << 20;
const MOST_MOVED: usize = 4 << 20;
/// Longer names are none.
const LONGEST: usize = 64;

/// The names of the functions that begin at one of `starts`.
pub(crate) fn names(parsed: &object::File<'_>, starts: &HashSet<u64>) -> HashMap<u64, String> {
    let uses_api = parsed.dynamic_symbols().any(|symbol| {
        symbol.name().is_ok_and(|name| name.starts_with("PyInit_") || name == "PyModuleDef_Init")
    });
    if !uses_api || parsed.architecture() != object::Architecture::X86_64 {
        return HashMap::new();
    }
    let memory = Memory::of(parsed);
    let methods: HashMap<u64, Method> =
        memory.words.keys().filter_map(|&at| Some((at, memory.method(at, starts)?))).collect();
    let mut named = HashMap::new();
    for &first in methods.keys().filter(|at| !methods.contains_key(&at.wrapping_sub(METHOD))) {
        let owner = memory.owner(first).map_or_else(String::new, |owner| format!("{owner}."));
        let all = (0..).map_while(|index: u64| methods.get(&first.checked_add(index.checked_mul(METHOD)?)?));
        for method in all {
            named.entry(method.function).or_insert_with(|| format!("{owner}{}", method.name));
        }
    }
    named
}

/// An entry of an array.
struct Method {
    name: String,
    function: u64,
}

/// The file's data as a process has it.
struct Memory<'a> {
    /// Sections with their addresses.
    sections: Vec<(u64, &'a [u8])>,
    /// Words of data that are not zero, by address.
    words: HashMap<u64, u64>,
    /// Where each of these words stands, in order.
    pointers: HashMap<u64, Vec<u64>>,
}

impl<'a> Memory<'a> {
    fn of(parsed: &object::File<'a>) -> Memory<'a> {
        let has = |section: &object::Section<'a, '_>, flag: elf::SectionFlags| {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else { return false };
            sh_flags.0 & flag.0 != 0
        };
        let loaded: Vec<_> = parsed.sections().filter(|section| has(section, elf::SHF_ALLOC)).collect();
        let mut words: HashMap<u64, u64> = HashMap::new();
        let mut left = LARGEST;
        for section in loaded.iter().filter(|section| has(section, elf::SHF_WRITE)) {
            let Some(less) = left.checked_sub(section.size()) else { continue };
            left = less;
            for (index, word) in section.data().unwrap_or_default().as_chunks::<8>().0.iter().enumerate() {
                let word = u64::from_le_bytes(*word);
                if word != 0 {
                    words.insert(section.address().wrapping_add(index as u64 * 8), word);
                }
            }
        }
        // What a loader moves has its value in the relocation (System V ABI for AMD64, 4.4).
        for (at, relocation) in parsed.dynamic_relocations().into_iter().flatten().take(MOST_MOVED) {
            if matches!(relocation.flags(), RelocationFlags::Elf { r_type } if r_type == elf::R_X86_64_RELATIVE)
            {
                words.insert(at, relocation.addend().cast_unsigned());
            }
        }
        let mut pointers: HashMap<u64, Vec<u64>> = HashMap::new();
        for (&at, &word) in &words {
            pointers.entry(word).or_default().push(at);
        }
        for places in pointers.values_mut() {
            places.sort_unstable();
        }
        let sections =
            loaded.iter().map(|section| (section.address(), section.data().unwrap_or_default())).collect();
        Memory { sections, words, pointers }
    }

    fn word(&self, at: u64) -> u64 {
        self.words.get(&at).copied().unwrap_or_default()
    }

    /// The name, of identifiers with dots between, at `at`.
    fn name(&self, at: u64) -> Option<&'a str> {
        let within = |&&(start, bytes): &&(u64, &[u8])| {
            at.checked_sub(start).is_some_and(|offset| offset < bytes.len() as u64)
        };
        let &(start, bytes) = self.sections.iter().find(within)?;
        let rest = bytes.get(usize::try_from(at - start).ok()?..)?;
        let length = rest.iter().take(LONGEST).position(|&byte| byte == 0)?;
        let name = std::str::from_utf8(&rest[..length]).ok()?;
        let is_identifier = |part: &str| {
            let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
            part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && part.chars().all(is_part)
        };
        name.split('.').all(is_identifier).then_some(name)
    }

    /// The whole entry at `at`.
    fn method(&self, at: u64, starts: &HashSet<u64>) -> Option<Method> {
        let function = Some(self.word(at.checked_add(8)?)).filter(|function| starts.contains(function))?;
        let name = self.name(self.word(at))?;
        let flags = self.word(at.checked_add(16)?);
        (!name.contains('.') && (1..=FLAGS).contains(&flags))
            .then(|| Method { name: name.to_owned(), function })
    }

    /// The module or type whose methods stand at `array`.
    fn owner(&self, array: u64) -> Option<&'a str> {
        let places = self.pointers.get(&array)?;
        places.iter().find_map(|&place| {
            let by_distance = |distance| self.name(self.word(place.checked_sub(distance)?));
            // The size of a module's state stands there, too, and may be the same number.
            let slot = place.checked_sub(8).filter(|&slot| self.word(slot) == METHODS_SLOT);
            slot.and_then(|slot| self.owner_of_slot(slot))
                .or_else(|| TO_NAMES.into_iter().find_map(by_distance))
        })
    }

    /// The type whose slots have one at `slot`.
    fn owner_of_slot(&self, slot: u64) -> Option<&'a str> {
        let firsts = (0..MOST_SLOTS).map_while(|before| slot.checked_sub(before * SLOT));
        let mut places = firsts.filter_map(|first| self.pointers.get(&first)).flatten();
        places.find_map(|place| self.name(self.word(place.checked_sub(SLOTS_TO_NAME)?)))
    }
}

#[cfg(test)]
mod tests;
