//! What one iteration of a loop makes of the machine's state, as far as a spin-wait loop is concerned.
//!
//! Input: the instructions of the iteration, in the order in which they ran. Each register, and each word of memory with a
//! fixed address, is a cell with a [`Value`]. Source of what instructions read and write: `iced-x86`.

use iced_x86::{Instruction, InstructionInfoFactory, MemorySize, Mnemonic, OpKind, Register, UsedMemory};

use super::Waiting;
use super::instructions::{ZEROES, is_read, is_same, is_written, step};
use super::value::{
    ALL_VECTORS, CELLS, Cells, FLAGS, FRAME_POINTER, STACK_POINTER, Value, WORDS, Works, cell_of, is_vector,
};

/// `sched_yield()` on x86-64.
const YIELD: u64 = 24;

/// The most words that an iteration which waits may write, but for its stack: state of its own is small.
const MOST_NOTED: u32 = 8;

/// A word of memory: segment, base as a cell's first value, offset.
type Word = (Register, Option<usize>, i64);

/// Whether an iteration gives the core, or the CPU, to others for a moment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Pauses {
    Never,
    Briefly,
    Dozes,
}

/// What an iteration looks at, but for its stack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reads {
    Nothing,
    Time,
    Memory,
}

/// One iteration.
pub(super) struct State {
    values: Vec<Value>,
    words: Vec<Word>,
    /// Cells whose first value was used for more than to keep it.
    used: Cells,
    /// Cells that addresses of outside memory are made of.
    addresses: Cells,
    reads: Reads,
    pauses: Pauses,
    /// The words of the stack that were there before and led back, and to where.
    returned: Vec<(usize, u64)>,
    /// A word of memory becomes what is computed of itself: a delay that grows, if it is a loop that pauses.
    grows: bool,
    /// Words of memory that become a number, or what is computed of themselves and of other such words.
    noted: Cells,
    /// It uses registers that are no cells, such as those of the x87 unit.
    computes: bool,
    factory: InstructionInfoFactory,
}

impl Default for State {
    fn default() -> State {
        State {
            values: (0..CELLS).map(Value::of_cell).collect(),
            words: Vec::new(),
            used: 0,
            addresses: 0,
            reads: Reads::Nothing,
            pauses: Pauses::Never,
            returned: Vec::new(),
            grows: false,
            noted: 0,
            computes: false,
            factory: InstructionInfoFactory::new(),
        }
    }
}

impl State {
    /// Whether an iteration that is over waited: it looked at something outside, or paused, and keeps nothing of what it saw
    /// but counters. `settled`: what it ends with as a number it began with.
    pub(super) fn waits(&self, settled: bool) -> Option<Waiting> {
        let waits = self.comes_back()
            && (self.noted == 0 || !self.goes_through_data())
            && if self.pauses == Pauses::Never { self.only_looks(settled) } else { !self.writes_a_lot() };
        waits.then_some(match self.pauses {
            _ if self.noted != 0 => Waiting::Notes,
            Pauses::Never => Waiting::Looks,
            Pauses::Briefly if self.reads == Reads::Memory => Waiting::Pauses,
            Pauses::Briefly => Waiting::Delays,
            Pauses::Dozes => Waiting::Dozes,
        })
    }

    /// Whether it wrote words down.
    pub(super) fn notes(&self) -> bool {
        self.noted != 0
    }

    /// Whether a round of a loop only passes time.
    pub(super) fn idles(&self) -> bool {
        let counts = |cell: usize| {
            let value = &self.values[cell];
            value.number.is_some() || value.exact.is_some()
        };
        let is_delay = || {
            self.reads == Reads::Nothing
                && (self.noted, self.grows, self.computes) == (0, false, false)
                && !self.goes_through_data()
                && (0..CELLS).all(|cell| cell == FLAGS || counts(cell))
        };
        self.waits(false).is_some() || (self.comes_back() && is_delay())
    }

    /// Whether what words of memory lie at moves from one iteration to the next.
    fn goes_through_data(&self) -> bool {
        let moves =
            |&(_, base, _): &Word| base.is_some_and(|base| self.values[base].exact != Some((base, 0)));
        self.words.iter().any(moves)
    }

    fn writes_a_lot(&self) -> bool {
        self.noted.count_ones() > MOST_NOTED
    }

    /// Whether the next iteration uses the same stack and returns to where this one did. A frame pointer that moves is none: the loop goes
    /// through data by it.
    fn comes_back(&self) -> bool {
        let stays = |cell: usize| self.values[cell].exact == Some((cell, 0));
        let leads_elsewhere =
            |&(word, to): &(usize, u64)| self.values[word].number.is_some_and(|number| number != to);
        stays(STACK_POINTER)
            && (stays(FRAME_POINTER) || !self.words.iter().any(|word| word.1 == Some(FRAME_POINTER)))
            && !self.returned.iter().any(leads_elsewhere)
    }

    /// Whether it looked, and kept nothing of it.
    fn only_looks(&self, settled: bool) -> bool {
        let is_changed = |cell: &usize| {
            let value = &self.values[*cell];
            value.exact != Some((*cell, 0)) && !(settled && value.number.is_some())
        };
        let carried: Vec<usize> = (0..CELLS)
            .filter(|cell| self.used & (1 << cell) != 0 && *cell != FLAGS)
            .filter(is_changed)
            .collect();
        let mask = carried.iter().fold(0, |mask: Cells, cell| mask | 1 << cell);
        // Of integers, and not of numbers in vector registers: those count nothing.
        let accumulates = |cell: &usize| {
            let value = &self.values[*cell];
            (value.outside && value.cells & mask != 0)
                || (is_vector(*cell) && value.cells & mask & ALL_VECTORS != 0)
        };
        let writes = self.grows || self.noted != 0;
        self.reads != Reads::Nothing
            && !writes
            && !self.computes
            && self.addresses & mask == 0
            && !carried.iter().any(accumulates)
    }

    /// The next instruction.
    pub(super) fn take(&mut self, instruction: &Instruction) -> Result<(), Works> {
        match instruction.mnemonic() {
            Mnemonic::Pause => self.pause(Pauses::Briefly),
            Mnemonic::Tpause | Mnemonic::Umwait => self.pause(Pauses::Dozes),
            Mnemonic::Rdtsc | Mnemonic::Rdtscp => {
                self.reads = self.reads.max(Reads::Time);
                for register in [Register::RAX, Register::RDX] {
                    self.write(register, Value::outside(0))?;
                }
            }
            Mnemonic::Syscall => self.call_kernel()?,
            Mnemonic::Push => {
                let value = self.operand(instruction, 0)?;
                self.push(value)?;
            }
            Mnemonic::Call => {
                if instruction.op0_kind() == OpKind::Memory || instruction.op0_kind() == OpKind::Register {
                    self.operand(instruction, 0)?;
                }
                self.push(Value::number(instruction.next_ip()))?;
            }
            Mnemonic::Pop => {
                let value = self.pop()?;
                self.write(instruction.op0_register(), value)?;
            }
            Mnemonic::Leave => {
                self.values[STACK_POINTER] = self.values[FRAME_POINTER];
                self.values[FRAME_POINTER] = self.pop()?;
            }
            Mnemonic::Mov => self.move_value(instruction)?,
            Mnemonic::Lea => {
                let value = self.address(instruction);
                self.write(instruction.op0_register(), value)?;
            }
            Mnemonic::Xchg | Mnemonic::Cmpxchg if instruction.op0_kind() == OpKind::Memory => {
                self.exchange(instruction)?;
            }
            mnemonic if ZEROES.contains(&mnemonic) && is_same(instruction) => {
                self.write(instruction.op0_register(), Value::number(0))?;
            }
            Mnemonic::Add | Mnemonic::Sub | Mnemonic::Inc | Mnemonic::Dec
                if step(instruction).is_some() && !instruction.has_lock_prefix() =>
            {
                self.count(instruction, step(instruction).unwrap_or_default())?;
            }
            _ => self.compute(instruction)?,
        }
        Ok(())
    }

    /// A return, which led to `to`.
    pub(super) fn return_to(&mut self, to: u64) -> Result<(), Works> {
        let word = self.stack_word()?;
        if self.values[word].exact == Some((word, 0)) {
            self.returned.push((word, to));
        }
        self.pop().map(|_| ())
    }

    fn pause(&mut self, pauses: Pauses) {
        self.pauses = self.pauses.max(pauses);
    }

    /// A system call: `sched_yield()` is all that a spin-wait loop makes.
    fn call_kernel(&mut self) -> Result<(), Works> {
        if self.values[0].number != Some(YIELD) {
            return Err(Works);
        }
        self.pause(Pauses::Briefly);
        [Register::RAX, Register::RCX, Register::R11]
            .into_iter()
            .try_for_each(|register| self.write(register, Value::outside(0)))
    }

    /// An attempt to take a lock. One after which the loop goes on has failed: the register holds what was found.
    fn exchange(&mut self, instruction: &Instruction) -> Result<(), Works> {
        let (_, address, stack) = self.place(instruction)?;
        self.use_address(address, stack);
        self.reads = Reads::Memory;
        let compares = instruction.mnemonic() == Mnemonic::Cmpxchg;
        let found = if compares { Register::RAX } else { instruction.op1_register() };
        if compares {
            self.values[FLAGS] = Value::outside(address);
        }
        self.write(found, Value::outside(address))
    }

    fn push(&mut self, value: Value) -> Result<(), Works> {
        self.values[STACK_POINTER] = self.values[STACK_POINTER].plus(-8);
        let word = self.stack_word()?;
        self.values[word] = value;
        Ok(())
    }

    fn pop(&mut self) -> Result<Value, Works> {
        let word = self.stack_word()?;
        self.values[STACK_POINTER] = self.values[STACK_POINTER].plus(8);
        Ok(self.values[word])
    }

    fn stack_word(&mut self) -> Result<usize, Works> {
        let (base, offset) = self.values[STACK_POINTER].exact.ok_or(Works)?;
        self.word((Register::None, Some(base), offset))
    }

    /// Loads and stores; a move between registers keeps the value.
    fn move_value(&mut self, instruction: &Instruction) -> Result<(), Works> {
        let value = self.operand(instruction, 1)?;
        if instruction.op0_kind() == OpKind::Register {
            let whole = instruction.op0_register().size() >= 4;
            let kept = self.read(instruction.op0_register())?;
            return self.write(instruction.op0_register(), if whole { value } else { value.with(kept) });
        }
        self.store(instruction, value)
    }

    /// Adds `by` to a register or a word of memory.
    fn count(&mut self, instruction: &Instruction, by: i64) -> Result<(), Works> {
        if instruction.op0_kind() == OpKind::Register {
            let value = self.read(instruction.op0_register())?;
            self.used |= value.cells;
            self.values[FLAGS] = value.with(Value::default());
            return self.write(instruction.op0_register(), value.plus(by));
        }
        let (cell, address, stack) = self.place(instruction)?;
        self.use_address(address, stack);
        let Some(cell) = cell else { return Err(Works) };
        self.values[FLAGS] = if stack { self.values[cell] } else { Value::outside(address) };
        self.used |= if stack { self.values[cell].cells } else { 0 };
        self.values[cell] = self.values[cell].plus(by);
        Ok(())
    }

    /// Any other instruction: what it writes is made of all that it reads.
    fn compute(&mut self, instruction: &Instruction) -> Result<(), Works> {
        let info = self.factory.info(instruction).clone();
        let atomic = instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg;
        let registers: Vec<_> =
            info.used_registers().iter().filter(|used| cell_of(used.register()).is_ok()).collect();
        self.computes |= registers.len() < info.used_registers().len();
        let mut value = if instruction.rflags_read() == 0 { Value::default() } else { self.values[FLAGS] };
        for register in registers.iter().filter(|register| is_read(register.access())) {
            value = value.with(self.read(register.register())?);
        }
        for memory in info.used_memory().iter().filter(|memory| is_read(memory.access())) {
            value = value.with(self.load(memory)?);
        }
        self.used |= value.cells;
        value = value.with(Value::default());
        for memory in info.used_memory().iter().filter(|memory| is_written(memory.access())) {
            let (cell, address, stack) = self.place_of(memory)?;
            self.use_address(address, stack);
            match cell {
                Some(cell) if stack => self.values[cell] = value,
                _ if atomic => {}
                _ => return Err(Works),
            }
        }
        for register in registers.iter().filter(|register| is_written(register.access())) {
            self.write(register.register(), value)?;
        }
        if instruction.rflags_modified() != 0 {
            self.values[FLAGS] = value;
        }
        Ok(())
    }

    /// The value of a source operand.
    fn operand(&mut self, instruction: &Instruction, operand: u32) -> Result<Value, Works> {
        match instruction.op_kind(operand) {
            OpKind::Register => self.read(instruction.op_register(operand)),
            OpKind::Memory => {
                let (cell, address, stack) = self.place(instruction)?;
                Ok(self.loaded(cell, address, stack))
            }
            _ => Ok(instruction.try_immediate(operand).map_or_else(|_| Value::default(), Value::number)),
        }
    }

    fn store(&mut self, instruction: &Instruction, value: Value) -> Result<(), Works> {
        let (cell, address, stack) = self.place(instruction)?;
        self.use_address(address, stack);
        match cell {
            Some(cell) if stack => self.values[cell] = value,
            // Nothing else is in it that the loop computes: its address alone may be in a register.
            Some(cell) if value.loaded == 1 << cell && value.cells & !address == 0 => self.grows = true,
            Some(cell) if value.number.is_some() || is_own(value, cell, address) => {
                self.noted |= 1 << cell;
            }
            _ => return Err(Works),
        }
        Ok(())
    }

    fn load(&mut self, memory: &UsedMemory) -> Result<Value, Works> {
        let (cell, address, stack) = self.place_of(memory)?;
        Ok(self.loaded(cell, address, stack))
    }

    fn loaded(&mut self, cell: Option<usize>, address: Cells, stack: bool) -> Value {
        self.use_address(address, stack);
        self.reads = if stack { self.reads } else { Reads::Memory };
        match cell {
            Some(cell) if stack => self.values[cell],
            Some(cell) => Value::of_word(cell, address),
            None => Value::outside(address),
        }
    }

    fn use_address(&mut self, address: Cells, stack: bool) {
        if !stack {
            self.addresses |= address;
            self.used |= address;
        }
    }

    /// The memory operand of `instruction`: the cell of a fixed address, what the address is made of, and whether it is the
    /// stack's.
    fn place(&mut self, instruction: &Instruction) -> Result<(Option<usize>, Cells, bool), Works> {
        let ip_relative = instruction.is_ip_rel_memory_operand();
        let base = if ip_relative { Register::None } else { instruction.memory_base() };
        let offset = instruction.memory_displacement64().cast_signed();
        self.place_at(instruction.memory_segment(), base, instruction.memory_index(), offset)
    }

    fn place_of(&mut self, memory: &UsedMemory) -> Result<(Option<usize>, Cells, bool), Works> {
        let sized = memory.memory_size() != MemorySize::Unknown || memory.index() == Register::None;
        if !sized {
            return Err(Works);
        }
        self.place_at(memory.segment(), memory.base(), memory.index(), memory.displacement().cast_signed())
    }

    fn place_at(
        &mut self,
        segment: Register,
        base: Register,
        index: Register,
        offset: i64,
    ) -> Result<(Option<usize>, Cells, bool), Works> {
        let mut value = Value::number(0);
        for register in [base, index].into_iter().filter(|register| *register != Register::None) {
            let more = self.read(register)?;
            value = if value.number == Some(0) { more } else { value.with(more) };
        }
        let segment = if matches!(segment, Register::FS | Register::GS) { segment } else { Register::None };
        let fixed = match (value.exact, value.number) {
            _ if index != Register::None => None,
            (Some((cell, by)), _) => Some((segment, Some(cell), by.wrapping_add(offset))),
            (None, Some(number)) => Some((segment, None, offset.wrapping_add_unsigned(number))),
            (None, None) => None,
        };
        let is_stack =
            |word: &Word| matches!(word.1, Some(STACK_POINTER | FRAME_POINTER)) && word.0 == Register::None;
        let stack = fixed.as_ref().is_some_and(is_stack);
        let cell = fixed.map(|word| self.word(word)).transpose()?;
        Ok((cell, value.cells, stack))
    }

    /// What `lea` computes.
    fn address(&mut self, instruction: &Instruction) -> Value {
        let offset = instruction.memory_displacement64();
        if instruction.is_ip_rel_memory_operand() {
            return Value::number(offset);
        }
        let (base, index) = (instruction.memory_base(), instruction.memory_index());
        let of = |register: Register| {
            (register != Register::None).then(|| self.read(register).unwrap_or_default())
        };
        match (of(base), of(index)) {
            (Some(base), None) => base.plus(offset.cast_signed()),
            (base, index) => base.unwrap_or_default().with(index.unwrap_or_default()),
        }
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

    fn read(&self, register: Register) -> Result<Value, Works> {
        Ok(cell_of(register)?.map_or_else(Value::default, |cell| self.values[cell]))
    }

    fn write(&mut self, register: Register, value: Value) -> Result<(), Works> {
        if let Some(cell) = cell_of(register)? {
            self.values[cell] = value;
        }
        Ok(())
    }
}

/// Whether `value`, for the word `cell`, is computed of it, of other words with fixed addresses, and of nothing else.
fn is_own(value: Value, cell: usize, address: Cells) -> bool {
    value.loaded & (1 << cell) != 0 && value.loaded & (1 << FLAGS) == 0 && value.cells & !address == 0
}
