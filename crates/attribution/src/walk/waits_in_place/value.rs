//! The cells of an iteration's state, and what their values are made of.
//!
//! A value is the set of the cells that it was made of, as they were when the iteration began, and whether memory that others may
//! write is a part of it.

use iced_x86::Register;

/// Cells: general registers, vector registers, the flags, then words of memory.
pub(super) const VECTORS: usize = 16;
pub(super) const FLAGS: usize = 48;
pub(super) const WORDS: usize = 49;
pub(super) const CELLS: usize = 128;
pub(super) const STACK_POINTER: usize = 4;
pub(super) const FRAME_POINTER: usize = 5;

/// A set of cells.
pub(super) type Cells = u128;

/// A word of memory: segment, base as a cell's first value, offset.
pub(super) type Word = (Register, Option<usize>, i64);

/// The vector registers.
pub(super) const ALL_VECTORS: Cells = ((1 << FLAGS) - 1) & !((1 << VECTORS) - 1);

/// Whether `cell` is a vector register.
pub(super) fn is_vector(cell: usize) -> bool {
    ALL_VECTORS & (1 << cell) != 0
}

/// What a value was made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) cells: Cells,
    /// Memory that others may write, or the time.
    pub(super) outside: bool,
    /// The words of that memory with fixed addresses; [`FLAGS`] stands for any other, and for the time.
    pub(super) loaded: Cells,
    /// It is this cell's first value plus an offset.
    pub(super) exact: Option<(usize, i64)>,
    /// It is what this word of memory held when it was read, plus an offset.
    pub(super) counted: Option<usize>,
    /// It is this number.
    pub(super) number: Option<u64>,
}

impl Value {
    pub(super) fn of_cell(cell: usize) -> Value {
        Value { cells: 1 << cell, exact: Some((cell, 0)), ..Value::default() }
    }

    pub(super) fn outside(cells: Cells) -> Value {
        Value { cells, outside: true, loaded: 1 << FLAGS, ..Value::default() }
    }

    /// What a word of memory with a fixed address held.
    pub(super) fn of_word(word: usize, address: Cells) -> Value {
        Value { loaded: 1 << word, counted: Some(word), ..Value::outside(address) }
    }

    pub(super) fn number(number: u64) -> Value {
        Value { number: Some(number), ..Value::default() }
    }

    pub(super) fn with(self, other: Value) -> Value {
        Value {
            cells: self.cells | other.cells,
            outside: self.outside || other.outside,
            loaded: self.loaded | other.loaded,
            ..Value::default()
        }
    }

    /// This address of an array, and `index` steps of `scale` bytes; exact where the index begins anew as a number with each iteration.
    pub(super) fn indexed(self, index: Value, scale: u32) -> Value {
        match (self.exact, index.number) {
            (Some(_), Some(number)) => {
                let by = number.cast_signed().wrapping_mul(i64::from(scale));
                Value { cells: self.cells | index.cells, ..self.plus(by) }
            }
            _ => self.with(index),
        }
    }

    pub(super) fn plus(self, offset: i64) -> Value {
        Value {
            exact: self.exact.map(|(cell, by)| (cell, by.wrapping_add(offset))),
            number: self.number.map(|number| number.wrapping_add_signed(offset)),
            ..self
        }
    }
}

/// An iteration did what no spin-wait loop does.
pub(super) struct Works;

/// The cell of a register; none for those that no program of today changes. Others, as of the x87 unit, are no cells.
pub(super) fn cell_of(register: Register) -> Result<Option<usize>, Works> {
    let whole = register.full_register();
    if whole.is_gpr() {
        Ok(Some(whole.number() % VECTORS))
    } else if whole.is_vector_register() {
        Ok(Some(VECTORS + whole.number() % (FLAGS - VECTORS)))
    } else if whole.is_segment_register() || whole.is_ip() || whole == Register::None {
        Ok(None)
    } else {
        Err(Works)
    }
}
