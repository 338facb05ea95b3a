//! The memory of an iteration: which word an operand is, and what loads and stores make of it.
//!
//! A word with a fixed address is a cell. The stack is the thread's own: what is kept there is as in a register. So are words at a register that
//! points to the stack; whether it does shows only before the loop, so the state says which registers must ([`State::by_registers`]).

use iced_x86::{Instruction, MemorySize, Register, UsedMemory};

use super::state::State;
use super::value::{CELLS, Cells, FLAGS, FRAME_POINTER, STACK_POINTER, VECTORS, Value, WORDS, Word, Works};

/// A memory operand.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The cell of a word with a fixed address.
    pub(super) cell: Option<usize>,
    /// What the address is made of.
    pub(super) address: Cells,
    /// The words of memory that the address is made of.
    words: Cells,
    /// It is on the stack by its base.
    pub(super) stack: bool,
}

impl State {
    pub(super) fn push(&mut self, value: Value) -> Result<(), Works> {
        self.values[STACK_POINTER] = self.values[STACK_POINTER].plus(-8);
        let word = self.stack_word()?;
        self.values[word] = value;
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Result<Value, Works> {
        let word = self.stack_word()?;
        self.values[STACK_POINTER] = self.values[STACK_POINTER].plus(8);
        Ok(self.values[word])
    }

    pub(super) fn stack_word(&mut self) -> Result<usize, Works> {
        let (base, offset) = self.values[STACK_POINTER].exact.ok_or(Works)?;
        self.word((Register::None, Some(base), offset))
    }

    /// The registers that lead to `words`, which it wrote, as bits: each must point to the stack, unless it works. None if it does so anyway: it
    /// read there what it had not written, or goes through that memory.
    pub(super) fn by_registers(&self, words: Cells) -> Option<u16> {
        let written = (WORDS..CELLS).filter(|cell| words & (1 << cell) != 0);
        let bases = written.filter_map(|cell| self.base_of(cell));
        bases
            .map(|base| self.stays(base).then_some(1 << base))
            .try_fold(0, |registers, base| Some(registers | base?))
            .filter(|registers| registers & self.looked == 0)
    }

    /// A store that computes nothing.
    pub(super) fn store(&mut self, instruction: &Instruction, value: Value) -> Result<(), Works> {
        let place = self.place(instruction)?;
        self.use_address(&place);
        match place.cell {
            Some(cell) if place.stack => self.values[cell] = value,
            Some(cell) if value.counted == Some(cell) => self.counting |= 1 << cell,
            // Nothing else is in it that the loop computes: its address alone may be in a register.
            Some(cell) if value.loaded == 1 << cell && value.cells & !place.address == 0 => self.grows = true,
            Some(cell) if value.number.is_some() => {
                self.noted |= 1 << cell;
                if self.base_of(cell).is_some() {
                    self.numbers |= 1 << cell;
                }
            }
            Some(cell) if is_own(value, cell, place.address) => self.noted |= 1 << cell,
            _ => self.copy(&place, value)?,
        }
        Ok(())
    }

    /// `value` is kept where a register points to, which may be the stack.
    pub(super) fn copy(&mut self, place: &Place, value: Value) -> Result<(), Works> {
        let cell = place.cell.ok_or(Works)?;
        // What is on the stack may be what it writes there: then it goes on.
        if value.cells & self.words_of_stack() != 0 {
            return Err(Works);
        }
        self.base_of(cell).ok_or(Works)?;
        self.written |= 1 << cell;
        self.values[cell] = value;
        Ok(())
    }

    pub(super) fn load(&mut self, memory: &UsedMemory) -> Result<Value, Works> {
        let place = self.place_of(memory)?;
        Ok(self.loaded(&place))
    }

    /// What was read.
    pub(super) fn loaded(&mut self, place: &Place) -> Value {
        self.use_address(place);
        match place.cell {
            Some(cell) if place.stack || self.written & (1 << cell) != 0 => return self.values[cell],
            Some(cell) => self.looked |= self.base_of(cell).map_or(0, |base| 1 << base),
            None => self.looked |= general(place.address),
        }
        self.look();
        place.cell.map_or_else(|| Value::outside(place.address), |cell| Value::of_word(cell, place.address))
    }

    pub(super) fn use_address(&mut self, place: &Place) {
        if !place.stack {
            self.addresses |= place.address;
            self.leading |= place.words;
            self.used |= place.address;
        }
    }

    /// The words that are on the stack by their bases.
    fn words_of_stack(&self) -> Cells {
        let words = self.words.iter().zip(WORDS..).filter(|(word, _)| is_of_stack(word));
        words.fold(0, |mask, (_, cell)| mask | 1 << cell)
    }

    /// The general register with whose first value the address of the word `cell` begins.
    pub(super) fn base_of(&self, cell: usize) -> Option<usize> {
        let (segment, base, _) = self.words.get(cell.checked_sub(WORDS)?)?;
        base.filter(|&base| base < VECTORS && *segment == Register::None)
    }

    /// The memory operand of `instruction`.
    pub(super) fn place(&mut self, instruction: &Instruction) -> Result<Place, Works> {
        let ip_relative = instruction.is_ip_rel_memory_operand();
        let base = if ip_relative { Register::None } else { instruction.memory_base() };
        let index = (instruction.memory_index(), instruction.memory_index_scale());
        let offset = instruction.memory_displacement64().cast_signed();
        self.place_at(instruction.memory_segment(), base, index, offset)
    }

    pub(super) fn place_of(&mut self, memory: &UsedMemory) -> Result<Place, Works> {
        let sized = memory.memory_size() != MemorySize::Unknown || memory.index() == Register::None;
        if !sized {
            return Err(Works);
        }
        let index = (memory.index(), memory.scale());
        self.place_at(memory.segment(), memory.base(), index, memory.displacement().cast_signed())
    }

    fn place_at(
        &mut self,
        segment: Register,
        base: Register,
        (index, scale): (Register, u32),
        offset: i64,
    ) -> Result<Place, Works> {
        let has = |register: Register| register != Register::None;
        let mut value = if has(base) { self.read(base)? } else { Value::number(0) };
        if has(index) {
            let steps = self.read(index)?;
            value = if has(base) { value.indexed(steps, scale) } else { steps.with(Value::default()) };
        }
        let segment = if matches!(segment, Register::FS | Register::GS) { segment } else { Register::None };
        let fixed = match (value.exact, value.number) {
            (Some((cell, by)), _) => Some((segment, Some(cell), by.wrapping_add(offset))),
            (None, Some(number)) => Some((segment, None, offset.wrapping_add_unsigned(number))),
            (None, None) => None,
        };
        let stack = fixed.as_ref().is_some_and(is_of_stack);
        let cell = fixed.map(|word| self.word(word)).transpose()?;
        Ok(Place { cell, address: value.cells, words: value.loaded, stack })
    }

    /// The cell of a word of memory.
    fn word(&mut self, word: Word) -> Result<usize, Works> {
        let known = self.words.iter().position(|known| *known == word);
        let index = known.unwrap_or(self.words.len());
        if known.is_none() {
            if WORDS + index >= CELLS {
                return Err(Works);
            }
            self.words.push(word);
        }
        Ok(WORDS + index)
    }
}

/// Whether a word is on the stack by its base.
fn is_of_stack(word: &Word) -> bool {
    matches!(word.1, Some(STACK_POINTER | FRAME_POINTER)) && word.0 == Register::None
}

/// The general registers in `cells`, as bits.
fn general(cells: Cells) -> u16 {
    #[allow(clippy::cast_possible_truncation)] // The first cells are those.
    let registers = cells as u16;
    registers
}

/// Whether `value`, for the word `cell`, is computed of it, of other words with fixed addresses, and of nothing else.
fn is_own(value: Value, cell: usize, address: Cells) -> bool {
    value.loaded & (1 << cell) != 0 && value.loaded & (1 << FLAGS) == 0 && value.cells & !address == 0
}
