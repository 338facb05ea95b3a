//! Records of PEBS that the trace itself holds: how many an interval has, in which functions, and what they show of memory.
//!
//! Plain figures, and their words.

use serde::{Deserialize, Serialize};

use crate::units::counted;

/// Functions in words.
const MOST_NAMED: usize = 4;

/// The records of PEBS in an interval's time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PebsUse {
    /// The events whose records go into the trace.
    pub events: Vec<String>,
    /// How many records.
    pub records: u64,
    /// How many the typical intervals have in all.
    pub typical_records: u64,
    /// How many typical intervals those are.
    pub typical_intervals: u64,
    /// By the function of the sampled instruction, the most records first; of many functions the first.
    pub functions: Vec<PebsFunction>,
    /// Of how many more functions there are records.
    pub more_functions: u64,
}

/// The records of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PebsFunction {
    /// Its name; empty where the code has none.
    pub function: String,
    /// How many.
    pub records: u64,
    /// How many the typical intervals have in all.
    pub typical_records: u64,
    /// What those with memory latencies have in common; `None` where none does.
    pub memory: Option<PebsMemory>,
}

/// Accesses to memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PebsMemory {
    /// How many records have a latency.
    pub accesses: u64,
    /// Their latencies in core cycles: the mean, rounded down.
    pub mean_cycles: u64,
    /// The longest.
    pub most_cycles: u64,
    /// The data's address of that one, where its record has it.
    pub address: Option<u64>,
}

impl PebsUse {
    /// `12 records of mem_load_retired.l3_miss:pp in the trace, typical 0.5: work() 10, typical 0, memory latency 212 cycles at most …`.
    pub fn words(&self) -> String {
        let of =
            if self.events.is_empty() { String::new() } else { format!(" of {}", self.events.join(", ")) };
        let head = format!(
            "{}{of} in the trace{}",
            counted(self.records, "record"),
            self.typical(self.typical_records)
        );
        let named = self.functions.iter().take(MOST_NAMED).map(|function| self.of_function(function));
        let mut named: Vec<String> = named.collect();
        let more =
            (self.functions.len().saturating_sub(MOST_NAMED) as u64).saturating_add(self.more_functions);
        if more > 0 {
            named.push(counted(more, "more function"));
        }
        if named.is_empty() { head } else { format!("{head}: {}", named.join("; ")) }
    }

    fn of_function(&self, function: &PebsFunction) -> String {
        let typical = self.typical(function.typical_records);
        let memory = function.memory.map_or_else(String::new, |memory| format!(", {}", memory.words()));
        let name = match function.function.as_str() {
            "" => "unknown code".to_owned(),
            name => format!("{name}()"),
        };
        format!("{name} {}{typical}{memory}", function.records)
    }

    /// `, typical 0.5`; nothing where nothing is compared.
    fn typical(&self, records: u64) -> String {
        let intervals = self.typical_intervals;
        if intervals == 0 {
            return String::new();
        }
        let tenths = records.saturating_mul(10).saturating_add(intervals / 2) / intervals;
        match tenths % 10 {
            0 => format!(", typical {}", tenths / 10),
            part => format!(", typical {}.{part}", tenths / 10),
        }
    }
}

impl PebsMemory {
    /// `memory latency 212 cycles at most, at 0x7f0000001000, 180 in the mean of 9`.
    fn words(&self) -> String {
        let at = self.address.map_or_else(String::new, |address| format!(", at {address:#x}"));
        let mean = match self.accesses {
            1 => String::new(),
            accesses => format!(", {} in the mean of {accesses}", self.mean_cycles),
        };
        let most = if self.accesses == 1 { "" } else { " at most" };
        format!("memory latency {} cycles{most}{at}{mean}", self.most_cycles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, records: u64, memory: Option<PebsMemory>) -> PebsFunction {
        PebsFunction { function: name.to_owned(), records, typical_records: 2, memory }
    }

    #[test]
    fn records_are_told_by_function_beside_the_typical_ones() {
        let memory = PebsMemory { accesses: 9, mean_cycles: 180, most_cycles: 212, address: Some(0x7f00) };
        let one = PebsMemory { accesses: 1, mean_cycles: 90, most_cycles: 90, address: None };
        let used = PebsUse {
            events: vec!["mem_load_retired.l3_miss:pp".to_owned()],
            records: 12,
            typical_records: 5,
            typical_intervals: 10,
            functions: vec![function("work", 10, Some(memory)), function("main", 2, Some(one))],
            more_functions: 0,
        };
        assert_eq!(
            used.words(),
            "12 records of mem_load_retired.l3_miss:pp in the trace, typical 0.5: work() 10, typical 0.2, memory \
             latency 212 cycles at most, at 0x7f00, 180 in the mean of 9; main() 2, typical 0.2, memory latency 90 \
             cycles"
        );
        let alone = PebsUse { records: 1, more_functions: 3, ..PebsUse::default() };
        assert_eq!(alone.words(), "1 record in the trace: 3 more functions");
    }
}
