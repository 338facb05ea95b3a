//! What a machine's `/sys` and `/proc` hold about its devices: the contents of the machine file.
//!
//! Source: Documentation/ABI/stable/sysfs-devices-node, testing/sysfs-devices-memory, stable/sysfs-block, testing/sysfs-class-net,
//! testing/sysfs-kernel-irq (`/sys/kernel/irq/N/actions`), core-api/irq (`/proc/irq/N/node`); of the microcode arch/x86/kernel/cpu/proc.c.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use perfdata::{
    BlockDevice, Interrupt, Machine, MachineCpu, MachineIdleState, MachineNode, MemoryRange, NetworkDevice,
};

use crate::machine::tree::{Tree, names, number, numbered, text};
use crate::machine::{clock, cpu};

/// How many devices may lie below one another: a volume on an array on partitions on disks.
const DEEPEST: usize = 8;

/// The devices of the machine below `root`.
///
/// # Errors
/// Where `root` is no directory.
pub(super) fn machine(root: &Path) -> Result<Machine> {
    let tree = Tree::new(root).with_context(|| format!("{} cannot be read", root.display()))?;
    let memory_block_bytes = text(&tree.at("sys/devices/system/memory/block_size_bytes"))
        .and_then(|digits| u64::from_str_radix(digits.trim_start_matches("0x"), 16).ok())
        .filter(|&bytes| bytes > 0);
    Ok(Machine {
        host: text(&tree.at("proc/sys/kernel/hostname")),
        microcode: microcode(&tree),
        memory_block_bytes,
        nodes: nodes(&tree, memory_block_bytes),
        block_devices: block_devices(&tree),
        network_devices: network_devices(&tree),
        interrupts: interrupts(&tree),
        isolated: cpu_list(&tree, "isolated"),
        without_tick: cpu_list(&tree, "nohz_full"),
        clocksource: clock::current(&tree),
        cpus: cpus(&tree),
        ..Machine::written_by(concat!("tailtrace ", env!("CARGO_PKG_VERSION")))
    })
}

/// The revision that all CPUs have. From `/proc/cpuinfo`: guests have no `/sys/devices/system/cpu/cpu0/microcode`.
fn microcode(tree: &Tree) -> Option<String> {
    let cpus = tree.text("proc/cpuinfo")?;
    let values = cpus.lines().filter_map(|line| line.split_once(':'));
    let mut revisions = values.filter(|(name, _)| name.trim() == "microcode").map(|(_, value)| value.trim());
    let first = revisions.next()?;
    revisions.all(|other| other == first).then(|| first.to_owned())
}

/// A list of CPUs that is empty where the kernel writes none: `(null)` stands for none, too. `None` where the kernel has no such file.
fn cpu_list(tree: &Tree, name: &str) -> Option<String> {
    let path = format!("{}/{name}", cpu::CPUS);
    tree.has(&path).then(|| cpu::as_list(&cpu::listed(tree, &path)))
}

/// The CPUs that run, where the kernel describes them.
fn cpus(tree: &Tree) -> Vec<MachineCpu> {
    if !tree.has(cpu::CPUS) {
        return Vec::new();
    }
    let state = |state: cpu::IdleState| {
        let cpu::IdleState { name, exit_us, is_enabled } = state;
        MachineIdleState { name, exit_us, is_enabled }
    };
    let one = |number: u32| MachineCpu {
        cpu: number,
        siblings: cpu::as_list(&cpu::siblings(tree, number)),
        governor: cpu::governor(tree, number),
        idle_states: cpu::idle_states(tree, number).into_iter().map(state).collect(),
    };
    cpu::online(tree).into_iter().map(one).collect()
}

fn nodes(tree: &Tree, block: Option<u64>) -> Vec<MachineNode> {
    let folder = tree.at("sys/devices/system/node");
    let of_number = |number: u64| {
        let own = folder.join(format!("node{number}"));
        let blocks = block.map(|block| (block, numbered(&own, "memory")));
        Some(MachineNode {
            node: u32::try_from(number).ok()?,
            cpus: text(&own.join("cpulist")).unwrap_or_default(),
            memory: blocks.map_or_else(Vec::new, |(block, numbers)| ranges(&numbers, block)),
        })
    };
    numbered(&folder, "node").into_iter().filter_map(of_number).collect()
}

/// Adjacent blocks of memory merged; each has `block` bytes.
fn ranges(blocks: &[u64], block: u64) -> Vec<MemoryRange> {
    let mut ranges: Vec<MemoryRange> = Vec::new();
    for number in blocks {
        let Some(start) = number.checked_mul(block) else { continue };
        let end = start.saturating_add(block);
        match ranges.last_mut().filter(|last| last.end == start) {
            Some(last) => last.end = end,
            None => ranges.push(MemoryRange { start, end }),
        }
    }
    ranges
}

fn block_devices(tree: &Tree) -> Vec<BlockDevice> {
    let folder = tree.at("sys/class/block");
    let found = names(&folder).into_iter().filter_map(|name| block_device(tree, &folder.join(name)));
    let mut devices: Vec<BlockDevice> = found.collect();
    let by_name: BTreeMap<String, BlockDevice> =
        devices.iter().map(|device| (device.name.clone(), device.clone())).collect();
    for device in &mut devices {
        device.node = node_of(&device.name, &by_name, DEEPEST);
    }
    devices
}

fn block_device(tree: &Tree, link: &Path) -> Option<BlockDevice> {
    let path = tree.device(link)?;
    // Paths of a multipath disk are hidden: they have no number.
    let numbers = text(&path.join("dev"))?;
    let (major, minor) = numbers.split_once(':')?;
    let is_partition = path.join("partition").exists();
    Some(BlockDevice {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
        name: name_of(&path)?,
        disk: path.parent().filter(|_| is_partition).and_then(name_of),
        mapper: text(&path.join("dm/name")),
        slaves: names(&path.join("slaves")).iter().map(|name| with_slashes(name)).collect(),
        node: tree.node_above(&path).or_else(|| node_of_paths(tree, &path)),
    })
}

/// The kernel's name of the device at `path`.
fn name_of(path: &Path) -> Option<String> {
    Some(with_slashes(path.file_name()?.to_str()?))
}

/// A file name holds no slash, so the kernel writes `!` for it.
fn with_slashes(name: &str) -> String {
    name.replace('!', "/")
}

/// The node of an `NVMe` disk with several paths: that of all controllers of its subsystem.
fn node_of_paths(tree: &Tree, disk: &Path) -> Option<u32> {
    let subsystem = disk.parent()?;
    let links =
        names(subsystem).into_iter().filter(|name| numbers_nvme(name)).map(|name| subsystem.join(name));
    agreed(links.map(|link| tree.node_above(&tree.device(&link)?)))
}

/// Whether `name` is a controller's, `nvme0`, and no disk's, `nvme0n1`.
fn numbers_nvme(name: &str) -> bool {
    name.strip_prefix("nvme")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The node that all of these have; `None` where one has none, or another one.
fn agreed(mut nodes: impl Iterator<Item = Option<u32>>) -> Option<u32> {
    let first = nodes.next()??;
    nodes.all(|node| node == Some(first)).then_some(first)
}

/// The device's own node, else that of the disk that it is a part of, else that of all devices below it.
fn node_of(name: &str, devices: &BTreeMap<String, BlockDevice>, deep: usize) -> Option<u32> {
    let device = devices.get(name)?;
    let deeper = deep.checked_sub(1)?;
    let of_disk = || node_of(device.disk.as_ref()?, devices, deeper);
    let of_slaves = || agreed(device.slaves.iter().map(|slave| node_of(slave, devices, deeper)));
    device.node.or_else(of_disk).or_else(of_slaves)
}

fn network_devices(tree: &Tree) -> Vec<NetworkDevice> {
    let folder = tree.at("sys/class/net");
    let device = |name: String| {
        let path = tree.device(&folder.join(&name))?;
        Some(NetworkDevice { index: number(&path.join("ifindex"))?, node: tree.node_above(&path), name })
    };
    names(&folder).into_iter().filter_map(device).collect()
}

fn interrupts(tree: &Tree) -> Vec<Interrupt> {
    let folder = tree.at("sys/kernel/irq");
    let interrupt = |irq: u64| {
        let actions = text(&folder.join(irq.to_string()).join("actions"))?;
        Some(Interrupt {
            number: u32::try_from(irq).ok()?,
            actions: actions.split(',').map(str::to_owned).collect(),
            node: number(&tree.at(&format!("proc/irq/{irq}/node"))),
        })
    };
    numbered(&folder, "").into_iter().filter_map(interrupt).collect()
}

#[cfg(test)]
mod tests;
