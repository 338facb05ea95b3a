//! A sample of `raw_syscalls:sys_enter`, `sys_exit`, or of a tracepoint of one call (`syscalls:sys_enter_futex`).

use super::sample::Sample;
use crate::tracepoint::FieldValue;

/// As many arguments as there are registers for them.
const MOST_ARGUMENTS: usize = 6;

/// The begin or the end of a system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemCall {
    /// Its number in the kernel's table for the architecture.
    pub number: u64,
    /// Which of the two.
    pub step: SystemCallStep,
}

/// What a record of a system call holds besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SystemCallStep {
    /// Its arguments as far as they are recorded.
    Enter(Vec<u64>),
    /// What it returns: an error where negative.
    Exit(Option<i64>),
}

impl Sample<'_> {
    /// The system call that this is a record of.
    pub fn system_call(&self) -> Option<SystemCall> {
        match self.event_name()?.split_once(':')? {
            ("raw_syscalls", "sys_enter") => {
                let arguments = match self.field("args") {
                    Some(FieldValue::Bytes(bytes)) => {
                        bytes.as_chunks::<8>().0.iter().copied().map(u64::from_le_bytes).collect()
                    }
                    _ => Vec::new(),
                };
                Some(SystemCall {
                    number: self.field("id")?.as_u64()?,
                    step: SystemCallStep::Enter(arguments),
                })
            }
            ("raw_syscalls", "sys_exit") => {
                let number = self.field("id")?.as_u64()?;
                Some(SystemCall { number, step: SystemCallStep::Exit(self.returned()) })
            }
            ("syscalls", event) => self.one_call(event),
            _ => None,
        }
    }

    fn returned(&self) -> Option<i64> {
        self.field("ret")?.as_i64()
    }

    /// The number, then the arguments under their own names.
    fn one_call(&self, event: &str) -> Option<SystemCall> {
        let is_number = |name: &str| matches!(name, "__syscall_nr" | "nr");
        let fields = self.format()?.fields();
        let own = fields.iter().position(|field| is_number(field.name()))?;
        let number = fields[own].value(self.raw()?)?.as_u64()?;
        if event.starts_with("sys_exit_") {
            return Some(SystemCall { number, step: SystemCallStep::Exit(self.returned()) });
        }
        let arguments = fields[own + 1..].iter().map_while(|field| match field.value(self.raw()?)? {
            FieldValue::Signed(signed) => Some(signed.cast_unsigned()),
            other => other.as_u64(),
        });
        Some(SystemCall { number, step: SystemCallStep::Enter(arguments.take(MOST_ARGUMENTS).collect()) })
    }
}
