//! The machine file: what the recording machine knew of its devices, which perf.data does not hold.
//!
//! It lies beside the capture: `machine.json` in a perf.data directory, else the file's name with `.machine.json` after it.
//! `tailtrace record` writes it; `docs/machine-file.md` is the contract. It may come from anybody: its size is bounded before
//! it is read, an entry that makes no sense is a diagnostic, and the rest counts.

mod descriptor;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use model::{CpuList, Diagnostic};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::companion::companion;
use crate::features::Features;
use crate::file::open_regular;
pub use descriptor::OpenDescriptor;

/// The format and its version.
const SCHEMA: &str = "tailtrace-machine/1";
/// Bytes of the longest name: what a file name may have.
const LONGEST_NAME: usize = 255;
/// Entries that make no sense and are described one by one.
const DESCRIBED: usize = 8;

/// What the recording machine knew of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "machine")]
pub struct Machine {
    /// The format: `tailtrace-machine/1`.
    pub schema: String,
    /// Who wrote it.
    pub tool: String,
    /// The machine's name, as perf writes it into the capture's header; null where it is unknown.
    pub host: Option<String>,
    /// Revision of the CPUs' microcode, `0x2b000603`; absent where the kernel does not report it, or not one for all CPUs,
    /// and in files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microcode: Option<String>,
    /// Bytes of a block of memory, the unit in which memory belongs to nodes; null where the kernel does not report it.
    pub memory_block_bytes: Option<u64>,
    /// The NUMA nodes.
    pub nodes: Vec<MachineNode>,
    /// The block devices, partitions among them.
    pub block_devices: Vec<BlockDevice>,
    /// The network devices.
    pub network_devices: Vec<NetworkDevice>,
    /// The interrupts that devices have.
    pub interrupts: Vec<Interrupt>,
    /// The CPUs that the scheduler leaves alone, `2-3,8`; empty where it leaves none alone; absent where that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolated: Option<String>,
    /// The CPUs without a timer tick while one task runs (`nohz_full`), likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_tick: Option<String>,
    /// What the kernel keeps time by: `tsc`; absent where that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocksource: Option<String>,
    /// The CPUs that ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<MachineCpu>,
    /// What descriptors of the traced processes stood for; absent in files of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub descriptors: Vec<OpenDescriptor>,
}

/// A CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "machine_cpu")]
pub struct MachineCpu {
    /// Its number.
    pub cpu: u32,
    /// The CPUs of its core, itself among them: `3,11`; empty where that is unknown.
    #[serde(default)]
    pub siblings: String,
    /// What chooses its frequency: `performance`, `powersave`, `schedutil`; null where nothing does.
    #[serde(default)]
    pub governor: Option<String>,
    /// The states in which it may idle.
    #[serde(default)]
    pub idle_states: Vec<MachineIdleState>,
}

/// A state in which a CPU idles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "machine_idle_state")]
pub struct MachineIdleState {
    /// `C1`, `C6`.
    pub name: String,
    /// Microseconds from the wake-up to the first instruction, at most, as the driver has it.
    pub exit_us: u64,
    /// Whether it may be chosen.
    pub is_enabled: bool,
}

/// A NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "machine_node")]
pub struct MachineNode {
    /// Its number.
    pub node: u32,
    /// Its CPUs: `0-3,8`.
    #[serde(default)]
    pub cpus: String,
    /// Its memory, by physical addresses.
    #[serde(default)]
    pub memory: Vec<MemoryRange>,
}

/// Physical addresses from `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "memory_range")]
pub struct MemoryRange {
    /// The first.
    pub start: u64,
    /// The first after it.
    pub end: u64,
}

/// A block device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "block_device")]
pub struct BlockDevice {
    /// Its number's kind.
    pub major: u32,
    /// Which one of that kind.
    pub minor: u32,
    /// The kernel's name: `nvme0n1p2`, `dm-0`.
    pub name: String,
    /// Of a partition: the disk's name.
    pub disk: Option<String>,
    /// Of the device mapper: what its owner calls it.
    pub mapper: Option<String>,
    /// Of the device mapper and of arrays: the names of the devices below.
    #[serde(default)]
    pub slaves: Vec<String>,
    /// The NUMA node that it is attached to, or that all devices below it are.
    pub node: Option<u32>,
}

/// A network device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "network_device")]
pub struct NetworkDevice {
    /// The interface's name.
    pub name: String,
    /// Its number (`ifindex`).
    pub index: u32,
    /// The NUMA node that it is attached to.
    pub node: Option<u32>,
}

/// An interrupt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "interrupt")]
pub struct Interrupt {
    /// Its number, as `irq:irq_handler_entry` records it.
    pub number: u32,
    /// What its handlers are called, as `/proc/interrupts` shows them.
    #[serde(default)]
    pub actions: Vec<String>,
    /// The NUMA node of its device.
    pub node: Option<u32>,
}

impl Machine {
    /// Bytes of the largest file that is read: a machine of 10,000 interrupts and 1,000 disks has a quarter of it.
    pub const LARGEST: u64 = 4 << 20;
    /// The file's name, as [`companion`] takes it.
    pub const NAME: &str = "machine.json";

    /// A machine of which nothing is known, written by `tool`.
    pub fn written_by(tool: &str) -> Machine {
        Machine { schema: SCHEMA.to_owned(), tool: tool.to_owned(), ..Machine::default() }
    }

    /// Where the machine file of the capture at `capture` lies.
    pub fn place(capture: &Path) -> PathBuf {
        companion(capture, Machine::NAME)
    }

    /// The file's text, without white space: a file that could be read is not to pass the limit by being written again.
    ///
    /// # Errors
    /// None that these types can have.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string(self)? + "\n")
    }

    /// Replaces the names of devices, users' own among them, by what `new` makes of them.
    pub fn replace_names(&mut self, new: &dyn Fn(&str) -> String) {
        let block = self.block_devices.iter_mut().flat_map(|device| {
            let BlockDevice { name, disk, mapper, slaves, .. } = device;
            [name].into_iter().chain(disk).chain(mapper).chain(slaves)
        });
        let network = self.network_devices.iter_mut().map(|device| &mut device.name);
        let actions = self.interrupts.iter_mut().flat_map(|interrupt| &mut interrupt.actions);
        block.chain(network).chain(actions).for_each(|name| *name = new(name));
    }

    /// The file beside the capture at `capture`; `None` where there is none, or none that can be used.
    pub(crate) fn beside(capture: &Path, diagnostics: &mut Vec<Diagnostic>) -> Option<Machine> {
        let path = Machine::place(capture);
        let name = path.to_string_lossy().into_owned();
        let unusable = |what: String| Diagnostic::warning(what).in_file(&*name);
        // A pipe or a device would wait for a writer; a file of /proc that waits for more, as `kmsg` does, says that it is empty.
        let found = path.metadata().ok()?;
        if !found.is_file() || found.len() == 0 {
            diagnostics.push(unusable(
                "empty, or not a regular file: it is not read, devices keep their numbers".to_owned(),
            ));
            return None;
        }
        let mut bytes = Vec::new();
        let read =
            open_regular(&path).and_then(|file| file.take(Machine::LARGEST + 1).read_to_end(&mut bytes));
        if let Err(error) = read {
            diagnostics.push(unusable(format!("cannot be read, devices keep their numbers: {error}")));
            return None;
        }
        Machine::parse(&bytes, &name, diagnostics)
    }

    /// The file beside `capture`, if it does not name another host than the capture's header.
    pub(crate) fn told_of(
        self,
        capture: &Path,
        header: &Features,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Machine> {
        let other = self.host.as_ref().zip(header.hostname.as_ref()).filter(|(own, host)| own != host);
        let Some((own, host)) = other else { return Some(self) };
        let what = format!(
            "of the machine {own}, the capture of {host}: it is not used, devices keep their numbers"
        );
        diagnostics.push(Diagnostic::warning(what).in_file(&*Machine::place(capture).to_string_lossy()));
        None
    }

    /// Reads a machine file; `name` stands in diagnostics. `None` where all of it is unusable.
    pub fn parse(bytes: &[u8], name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<Machine> {
        let mut reader = Reader { name, diagnostics, wrong: 0 };
        if bytes.len() as u64 > Machine::LARGEST {
            reader.refuse("longer than 4 MiB: no file of `tailtrace record`, it is not read");
            return None;
        }
        let Ok(mut file) = serde_json::from_slice::<Value>(bytes) else {
            reader.refuse("not JSON: was the copy complete? Devices keep their numbers");
            return None;
        };
        let schema = file.get("schema").and_then(Value::as_str).unwrap_or_default();
        if schema != SCHEMA {
            reader.refuse(&format!("not of the format {SCHEMA}: it is not read, devices keep their numbers"));
            return None;
        }
        let tool = file.get("tool").and_then(Value::as_str).unwrap_or_default();
        let mut machine = Machine::written_by(&tool.chars().take(LONGEST_NAME).collect::<String>());
        machine.host =
            file.get("host").and_then(Value::as_str).filter(|name| is_name(name)).map(str::to_owned);
        machine.microcode =
            file.get("microcode").and_then(Value::as_str).filter(|text| is_hex(text)).map(str::to_owned);
        machine.memory_block_bytes = file.get("memory_block_bytes").and_then(Value::as_u64);
        machine.nodes = reader.list(&mut file, "nodes", MachineNode::is_sound);
        machine.block_devices = reader.list(&mut file, "block_devices", BlockDevice::is_sound);
        machine.network_devices =
            reader.list(&mut file, "network_devices", |one: &NetworkDevice| is_name(&one.name));
        machine.interrupts = reader
            .list(&mut file, "interrupts", |one: &Interrupt| one.actions.iter().all(|name| is_name(name)));
        let cpus =
            |key: &str| file.get(key).and_then(Value::as_str).filter(|text| is_list(text)).map(str::to_owned);
        (machine.isolated, machine.without_tick) = (cpus("isolated"), cpus("without_tick"));
        machine.clocksource =
            file.get("clocksource").and_then(Value::as_str).filter(|name| is_name(name)).map(str::to_owned);
        machine.cpus = reader.list(&mut file, "cpus", MachineCpu::is_sound);
        machine.descriptors = reader.list(&mut file, "descriptors", OpenDescriptor::is_sound);
        reader.sum_up();
        Some(machine)
    }
}

/// Reads a file's lists and says what is wrong with them.
struct Reader<'a> {
    name: &'a str,
    diagnostics: &'a mut Vec<Diagnostic>,
    wrong: usize,
}

impl Reader<'_> {
    fn refuse(&mut self, what: &str) {
        self.diagnostics.push(Diagnostic::warning(what).in_file(self.name));
    }

    /// The entries of the list `key` that make sense; none where there is no such list.
    fn list<T: DeserializeOwned>(
        &mut self,
        file: &mut Value,
        key: &str,
        is_sound: impl Fn(&T) -> bool,
    ) -> Vec<T> {
        let entries = match file.get_mut(key).map(Value::take) {
            Some(Value::Array(entries)) => entries,
            None | Some(Value::Null) => return Vec::new(),
            Some(_) => {
                self.refuse(&format!("`{key}` is not a list: it is left out"));
                return Vec::new();
            }
        };
        let mut kept = Vec::new();
        for (index, entry) in entries.into_iter().enumerate() {
            match serde_json::from_value(entry) {
                Ok(entry) if is_sound(&entry) => kept.push(entry),
                _ => {
                    self.wrong += 1;
                    if self.wrong <= DESCRIBED {
                        self.refuse(&format!("entry {index} of `{key}` is invalid: it is left out"));
                    }
                }
            }
        }
        kept
    }

    fn sum_up(&mut self) {
        if let Some(more @ 1..) = self.wrong.checked_sub(DESCRIBED) {
            self.refuse(&format!("{more} more entries are invalid: they are left out"));
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST_NAME
}

/// Whether `text` is a number as the kernel prints a revision, `0x2b000603`: of 64 bits at most.
fn is_hex(text: &str) -> bool {
    text.strip_prefix("0x").is_some_and(|digits| {
        (1..=16).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// Whether `text` lists CPUs, or none.
fn is_list(text: &str) -> bool {
    text.is_empty() || CpuList::parse(text).is_some()
}

impl MachineCpu {
    fn is_sound(&self) -> bool {
        let names = self.governor.iter().chain(self.idle_states.iter().map(|state| &state.name));
        is_list(&self.siblings) && names.into_iter().all(|name| is_name(name))
    }
}

impl MachineNode {
    fn is_sound(&self) -> bool {
        CpuList::parse(&self.cpus).is_some() && self.memory.iter().all(|range| range.start < range.end)
    }
}

impl BlockDevice {
    fn is_sound(&self) -> bool {
        let others = self.disk.iter().chain(&self.mapper).chain(&self.slaves);
        // The kernel's numbers: 12 and 20 bits.
        self.major < 1 << 12
            && self.minor < 1 << 20
            && is_name(&self.name)
            && others.into_iter().all(|name| is_name(name))
    }

    /// What it is called below `/dev`, and what lies below it: `nvme0n1`, `mapper/vg-data on sda2, sdb2`.
    pub fn words(&self) -> String {
        const NAMED: usize = 3;
        let own = self.mapper.as_ref().map_or_else(|| self.name.clone(), |mapper| format!("mapper/{mapper}"));
        if self.slaves.is_empty() {
            return own;
        }
        let below = self.slaves.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        match self.slaves.len().saturating_sub(NAMED) {
            0 => format!("{own} on {below}"),
            more => format!("{own} on {below} and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests;
