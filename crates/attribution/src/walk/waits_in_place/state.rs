//! What one iteration of a loop makes of the machine's state, as far as a spin-wait loop is concerned.
//!
//! Input: the instructions of the iteration, in the order in which they ran. Each register, and each word of memory with a
//! fixed address, is a cell with a [`Value`]. Source of what instructions read and write: `iced-x86`.

use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};

use super::instructions::{ZEROES, is_read, is_same, is_written, step};
use super::value::{
    ALL_VECTORS, CELLS, Cells, FLAGS, FRAME_POINTER, STACK_POINTER, VECTORS, Value, WORDS, Word, Works,
    cell_of, is_vector,
};
use super::waiting::{Waiting, Waits};

/// `sched_yield()` on x86-64.
const YIELD: u64 = 24;

/// The most words that an iteration which waits may write, but for its stack: state of its own is small.
const MOST_NOTED: u32 = 8;

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
    pub(super) values: Vec<Value>,
    pub(super) words: Vec<Word>,
    /// Cells whose first value was used for more than to keep it.
    pub(super) used: Cells,
    /// Cells that addresses of outside memory are made of.
    pub(super) addresses: Cells,
    /// Words of memory that such addresses are made of.
    pub(super) leading: Cells,
    /// Words of memory that it counts up or down.
    pub(super) counting: Cells,
    reads: Reads,
    pauses: Pauses,
    /// The words of the stack that were there before and led back, and to where.
    returned: Vec<(usize, u64)>,
    /// A word of memory becomes what is computed of itself: a delay that grows, if it is a loop that pauses.
    pub(super) grows: bool,
    /// Words of memory that become a number, or what is computed of themselves and of other such words.
    pub(super) noted: Cells,
    /// Words to which registers lead, and that it copied something to.
    pub(super) written: Cells,
    /// Registers by whose first values it read what it had not written, as bits.
    pub(super) looked: u16,
    /// Words to which registers lead, and that it set to numbers.
    pub(super) numbers: Cells,
    /// What the branches that depend on what it saw are made of besides.
    decisions: Vec<Cells>,
    /// Registers that an exchange put into memory as they were at first, and what it found there.
    put: Vec<(usize, Value)>,
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
            leading: 0,
            counting: 0,
            reads: Reads::Nothing,
            pauses: Pauses::Never,
            returned: Vec::new(),
            grows: false,
            noted: 0,
            written: 0,
            looked: 0,
            numbers: 0,
            decisions: Vec::new(),
            put: Vec::new(),
            computes: false,
            factory: InstructionInfoFactory::new(),
        }
    }
}

impl State {
    /// Whether an iteration that is over waited: it looked at something outside, or paused, and keeps nothing of what it saw
    /// but counters. `settled`: what it ends with as a number it began with.
    pub(super) fn waits(&self, settled: bool) -> Option<Waits> {
        let pauses = self.pauses != Pauses::Never;
        let into_stack = self.by_registers(self.written | if pauses { 0 } else { self.numbers })?;
        let waits = self.comes_back()
            && (self.noted == 0 || !self.goes_through_data())
            && if pauses { !self.writes_a_lot() } else { self.only_looks(settled) && self.decides() };
        let how = match self.pauses {
            Pauses::Never => Waiting::Looks,
            _ if self.noted != 0 => Waiting::Notes,
            Pauses::Briefly if self.reads == Reads::Memory => Waiting::Pauses,
            Pauses::Briefly => Waiting::Delays,
            Pauses::Dozes => Waiting::Dozes,
        };
        let keeps = (0..VECTORS)
            .filter(|&register| self.stays(register))
            .fold(0, |mask: u16, register| mask | 1 << register);
        waits.then_some(Waits { how, into_stack, keeps })
    }

    /// Whether it wrote words down, or copied them to where a register points.
    pub(super) fn writes(&self) -> bool {
        self.noted != 0 || self.written != 0
    }

    /// Whether a round of a loop only passes time.
    pub(super) fn idles(&self) -> bool {
        let counts = |cell: usize| {
            let value = &self.values[cell];
            value.number.is_some() || value.exact.is_some()
        };
        let is_delay = || {
            self.reads == Reads::Nothing
                && (self.writes(), self.grows, self.computes) == (false, false, false)
                && !self.goes_through_data()
                && (0..CELLS).all(|cell| cell == FLAGS || counts(cell))
        };
        let waits = || self.waits(false).is_some_and(|waits| waits.into_stack == 0);
        // How often it looks may be counted.
        let looks = || !self.writes() && self.comes_back() && self.only_looks(false);
        waits() || looks() || (self.comes_back() && is_delay())
    }

    /// Whether a cell ends as it began.
    pub(super) fn stays(&self, cell: usize) -> bool {
        self.values[cell].exact == Some((cell, 0))
    }

    /// Whether what words of memory lie at moves from one iteration to the next.
    fn goes_through_data(&self) -> bool {
        let moves = |&(_, base, _): &Word| base.is_some_and(|base| !self.stays(base));
        self.words.iter().any(moves)
    }

    fn writes_a_lot(&self) -> bool {
        self.noted.count_ones() > MOST_NOTED
    }

    /// Whether the next iteration uses the same stack and returns to where this one did. A frame pointer that moves is none: the loop goes
    /// through data by it.
    fn comes_back(&self) -> bool {
        let leads_elsewhere =
            |&(word, to): &(usize, u64)| self.values[word].number.is_some_and(|number| number != to);
        self.stays(STACK_POINTER)
            && (self.stays(FRAME_POINTER) || !self.words.iter().any(|word| word.1 == Some(FRAME_POINTER)))
            && !self.returned.iter().any(leads_elsewhere)
    }

    /// Whether it looked, and kept nothing of it.
    fn only_looks(&self, settled: bool) -> bool {
        let begins_so =
            |value: &Value| value.number.is_some() || value.exact.is_some_and(|(other, _)| self.stays(other));
        let is_kept = |cell: usize| self.stays(cell) || (settled && begins_so(&self.values[cell]));
        let carried: Vec<usize> = (0..CELLS)
            .filter(|cell| self.used & (1 << cell) != 0 && *cell != FLAGS)
            .filter(|&cell| !is_kept(cell))
            .collect();
        let mask = carried.iter().fold(0, |mask: Cells, cell| mask | 1 << cell);
        // Of integers, and not of numbers in vector registers: those count nothing.
        let accumulates = |cell: &usize| {
            let value = &self.values[*cell];
            (value.outside && value.cells & mask != 0)
                || (is_vector(*cell) && value.cells & mask & ALL_VECTORS != 0)
        };
        let changes =
            |&(cell, found): &(usize, Value)| self.values[cell].outside && self.values[cell] != found;
        self.reads != Reads::Nothing
            && !self.grows
            && self.noted & !self.numbers == 0
            && !self.computes
            && self.addresses & mask == 0
            && self.leading & self.counting == 0
            && !self.counts_through_data()
            && !carried.iter().any(accumulates)
            && !self.put.iter().any(changes)
    }

    /// Whether a branch depends on what it saw, and not on how often.
    fn decides(&self) -> bool {
        let counts = |cell: usize| self.values[cell].exact.is_some_and(|(of, by)| of == cell && by != 0);
        let counters = (0..CELLS).filter(|&cell| counts(cell)).fold(0, |mask: Cells, cell| mask | 1 << cell);
        self.decisions.iter().any(|cells| cells & counters == 0)
    }

    /// Whether it counts up what an array holds, or a lot.
    fn counts_through_data(&self) -> bool {
        let moves = |cell: usize| self.base_of(cell).is_some_and(|base| !self.stays(base));
        self.counting.count_ones() > MOST_NOTED
            || (WORDS..CELLS).any(|cell| self.counting & (1 << cell) != 0 && moves(cell))
    }

    /// Notes what a branch depends on.
    fn decide(&mut self, instruction: &Instruction) -> Result<(), Works> {
        let value = match instruction.flow_control() {
            // `loop` and `jrcxz`
            FlowControl::ConditionalBranch if instruction.rflags_read() == 0 => self.read(Register::RCX)?,
            FlowControl::ConditionalBranch => self.values[FLAGS],
            FlowControl::IndirectBranch if instruction.op0_kind() == OpKind::Register => {
                self.read(instruction.op0_register())?
            }
            FlowControl::IndirectBranch => self.read(instruction.memory_index())?,
            _ => return Ok(()),
        };
        if value.outside {
            self.decisions.push(value.cells);
        }
        Ok(())
    }

    /// The next instruction.
    pub(super) fn take(&mut self, instruction: &Instruction) -> Result<(), Works> {
        self.decide(instruction)?;
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

    /// It looks at memory of others.
    pub(super) fn look(&mut self) {
        self.reads = Reads::Memory;
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
        let place = self.place(instruction)?;
        self.use_address(&place);
        self.look();
        let compares = instruction.mnemonic() == Mnemonic::Cmpxchg;
        let put = self.read(instruction.op1_register())?;
        let found_there = Value::outside(place.address);
        // Who puts down what it made of what it saw has got on.
        if !compares && put.outside && put != found_there {
            return Err(Works);
        }
        if let Some((cell, 0)) = put.exact.filter(|_| !compares) {
            self.put.push((cell, found_there));
        }
        let found = if compares { Register::RAX } else { instruction.op1_register() };
        if compares {
            self.values[FLAGS] = found_there;
        }
        self.write(found, found_there)
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
        let place = self.place(instruction)?;
        self.use_address(&place);
        let cell = place.cell.ok_or(Works)?;
        self.values[FLAGS] = if place.stack { self.values[cell] } else { Value::outside(place.address) };
        self.used |= if place.stack { self.values[cell].cells } else { 0 };
        self.values[cell] = self.values[cell].plus(by);
        self.counting |= if place.stack { 0 } else { 1 << cell };
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
            let place = self.place_of(memory)?;
            self.use_address(&place);
            match place.cell {
                Some(cell) if place.stack => self.values[cell] = value,
                Some(cell) if atomic => self.counting |= 1 << cell,
                None if atomic => {}
                _ => self.copy(&place, value)?,
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
                let place = self.place(instruction)?;
                Ok(self.loaded(&place))
            }
            _ => Ok(instruction.try_immediate(operand).map_or_else(|_| Value::default(), Value::number)),
        }
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
            (Some(base), Some(index)) => {
                base.indexed(index, instruction.memory_index_scale()).plus(offset.cast_signed())
            }
            (None, index) => index.unwrap_or_default().with(Value::default()),
        }
    }

    pub(super) fn read(&self, register: Register) -> Result<Value, Works> {
        Ok(cell_of(register)?.map_or_else(Value::default, |cell| self.values[cell]))
    }

    fn write(&mut self, register: Register, value: Value) -> Result<(), Works> {
        if let Some(cell) = cell_of(register)? {
            self.values[cell] = value;
        }
        Ok(())
    }
}
