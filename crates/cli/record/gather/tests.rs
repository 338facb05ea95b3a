//! A tree made by hand, as the kernel lays it out, of a machine with two nodes; and the machine that runs the test.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

struct Made(tempfile::TempDir);

impl Made {
    fn new() -> Made {
        Made(tempfile::tempdir().expect("a folder"))
    }

    fn file(&self, path: &str, text: &str) -> &Made {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
        self
    }

    fn folder(&self, path: &str) -> &Made {
        fs::create_dir_all(self.0.path().join(path)).expect("made");
        self
    }

    /// A link of `/sys/class` or of a device's folder, relative as the kernel's.
    fn link(&self, path: &str, target: &str) -> &Made {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        symlink(target, path).expect("linked");
        self
    }

    fn block(&self, device: &str, numbers: &str) -> &Made {
        let name = device.rsplit('/').next().expect("a name");
        self.file(&format!("sys/devices/{device}/dev"), numbers);
        self.link(&format!("sys/class/block/{name}"), &format!("../../devices/{device}"))
    }

    fn machine(&self) -> Machine {
        machine(self.0.path()).expect("a machine")
    }
}

/// Disk, partition, volume on it, a volume over both nodes, a disk with two paths, one on an old controller.
fn disks() -> Made {
    let made = Made::new();
    let (first, second) = ("pci0000:00/0000:01:00.0", "pci0000:80/0000:81:00.0");
    made.file(&format!("sys/devices/{first}/numa_node"), "0\n")
        .file(&format!("sys/devices/{second}/numa_node"), "1\n");
    made.block(&format!("{first}/nvme/nvme0/nvme0n1"), "259:0\n");
    made.block(&format!("{second}/nvme/nvme1/nvme1n1"), "259:1\n");
    made.block(&format!("{second}/nvme/nvme1/nvme1n1/nvme1n1p2"), "259:3\n");
    made.file(&format!("sys/devices/{second}/nvme/nvme1/nvme1n1/nvme1n1p2/partition"), "2\n");
    made.block("virtual/block/dm-0", "253:0\n").file("sys/devices/virtual/block/dm-0/dm/name", "vg-data\n");
    made.folder("sys/devices/virtual/block/dm-0/slaves/nvme1n1p2");
    made.block("virtual/block/dm-1", "253:1\n").file("sys/devices/virtual/block/dm-1/dm/name", "vg-wide\n");
    made.folder("sys/devices/virtual/block/dm-1/slaves/dm-0")
        .folder("sys/devices/virtual/block/dm-1/slaves/nvme0n1");
    let subsystem = "virtual/nvme-subsystem/nvme-subsys2";
    made.block(&format!("{subsystem}/nvme2n1"), "259:5\n");
    made.folder(&format!("sys/devices/{second}/nvme/nvme2"));
    made.link(&format!("sys/devices/{subsystem}/nvme2"), &format!("../../../{second}/nvme/nvme2"));
    made.link("sys/class/block/nvme2c2n1", "../../devices/nowhere");
    made.file("sys/devices/pci0000:00/numa_node", "-1\n");
    made.block("pci0000:00/0000:02:00.0/cciss!c0d0", "104:0\n");
    made
}

#[test]
fn block_devices_have_names_disks_and_nodes() {
    let machine = disks().machine();
    let found: Vec<_> = machine
        .block_devices
        .iter()
        .map(|device| (format!("{}:{}", device.major, device.minor), device.words(), device.node))
        .collect();
    let expected = [
        ("104:0", "cciss/c0d0", None),
        ("253:0", "mapper/vg-data on nvme1n1p2", Some(1)),
        ("253:1", "mapper/vg-wide on dm-0, nvme0n1", None),
        ("259:0", "nvme0n1", Some(0)),
        ("259:1", "nvme1n1", Some(1)),
        ("259:3", "nvme1n1p2", Some(1)),
        ("259:5", "nvme2n1", Some(1)),
    ];
    assert_eq!(found, expected.map(|(number, words, node)| (number.to_owned(), words.to_owned(), node)));
    assert_eq!(machine.block_devices[5].disk.as_deref(), Some("nvme1n1"));
}

#[test]
fn devices_that_lie_below_each_other_end() {
    let made = Made::new();
    for (name, number, below) in [("dm-0", "253:0", "dm-1"), ("dm-1", "253:1", "dm-0")] {
        made.block(&format!("virtual/block/{name}"), number);
        made.folder(&format!("sys/devices/virtual/block/{name}/slaves/{below}"));
    }
    let nodes: Vec<_> = made.machine().block_devices.iter().map(|device| device.node).collect();
    assert_eq!(nodes, [None, None]);
}

#[test]
fn the_microcode_is_that_of_all_cpus() {
    let cpu = |number: u32, revision: &str| {
        format!("processor\t: {number}\nmodel name\t: a CPU\nstepping\t: 8\nmicrocode\t: {revision}\n\n")
    };
    let of = |cpus: String| Made::new().file("proc/cpuinfo", &cpus).machine().microcode;
    assert_eq!(of(cpu(0, "0x2b000603") + &cpu(1, "0x2b000603")).as_deref(), Some("0x2b000603"));
    // While an update goes on, and on machines with two kinds of cores.
    assert_eq!(of(cpu(0, "0x2b000603") + &cpu(1, "0x2b000590")), None);
    assert_eq!(of("processor\t: 0\nBogoMIPS\t: 50.00\n".to_owned()), None);
}

#[test]
fn nodes_have_cpus_and_memory() {
    let made = Made::new();
    made.file("sys/devices/system/memory/block_size_bytes", "8000000\n");
    made.file("sys/devices/system/node/node0/cpulist", "0-3,8\n")
        .file("sys/devices/system/node/node1/cpulist", "\n");
    made.file("sys/devices/system/node/online", "0-1\n");
    for block in [0, 1, 2, 10] {
        made.folder(&format!("sys/devices/system/node/node0/memory{block}"));
    }
    made.folder("sys/devices/system/node/node1/memory3");
    let machine = made.machine();
    // Blocks of 0x8000000 bytes: 0 to 2, 10; 3.
    let range = |start, end| MemoryRange { start, end };
    let node0 = vec![range(0, 0x1800_0000), range(0x5000_0000, 0x5800_0000)];
    let node1 = vec![range(0x1800_0000, 0x2000_0000)];
    let node = |node, cpus: &str, memory| MachineNode { node, cpus: cpus.to_owned(), memory };
    assert_eq!(machine.nodes, [node(0, "0-3,8", node0), node(1, "", node1)]);
    assert_eq!(machine.memory_block_bytes, Some(0x800_0000));
}

#[test]
fn the_hosts_name_network_devices_and_interrupts() {
    let made = Made::new();
    let card = "sys/devices/pci0000:80/0000:82:00.0";
    made.file(&format!("{card}/numa_node"), "1\n").file(&format!("{card}/net/eth0/ifindex"), "2\n");
    made.link("sys/class/net/eth0", "../../devices/pci0000:80/0000:82:00.0/net/eth0");
    made.file("sys/devices/virtual/net/lo/ifindex", "1\n")
        .link("sys/class/net/lo", "../../devices/virtual/net/lo");
    made.file("sys/class/net/bonding_masters", "\n");
    made.file("proc/sys/kernel/hostname", "trade7\n");
    made.file("sys/kernel/irq/24/actions", "eth0-TxRx-0\n").file("proc/irq/24/node", "1\n");
    made.file("sys/kernel/irq/9/actions", "acpi,other\n").file("sys/kernel/irq/30/actions", "\n");
    let machine = made.machine();
    assert_eq!(machine.host.as_deref(), Some("trade7"));
    let net = |name: &str, index, node| NetworkDevice { name: name.to_owned(), index, node };
    assert_eq!(machine.network_devices, [net("eth0", 2, Some(1)), net("lo", 1, None)]);
    let irq = |number, actions: &[&str], node| Interrupt {
        number,
        actions: actions.iter().map(|&action| action.to_owned()).collect(),
        node,
    };
    assert_eq!(machine.interrupts, [irq(9, &["acpi", "other"], None), irq(24, &["eth0-TxRx-0"], Some(1))]);
}

/// The real `/sys`: this tool reads all of its values and refuses none.
#[test]
fn the_machine_that_runs_this_is_read() {
    let machine = machine(Path::new("/")).expect("a machine");
    let mut diagnostics = Vec::new();
    let text = machine.to_json().expect("JSON");
    let read = Machine::parse(text.as_bytes(), "machine.json", &mut diagnostics);
    assert_eq!((read.as_ref(), diagnostics), (Some(&machine), Vec::new()));
    let listed = fs::read_dir("/sys/class/block").map_or(0, Iterator::count);
    assert!(machine.block_devices.len() <= listed);
    let partitions = fs::read_to_string("/proc/partitions").unwrap_or_default();
    // Columns: major, minor, blocks, name.
    for line in partitions.lines().skip(2) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let known = machine.block_devices.iter().find(|device| device.name == words[3]);
        let numbers = known.map(|device| (device.major.to_string(), device.minor.to_string()));
        assert_eq!(numbers, Some((words[0].to_owned(), words[1].to_owned())), "{line}");
    }
}

/// Two cores of two threads each; CPUs 2 and 3 are isolated, and no CPU is without its tick.
#[test]
fn cpus_have_siblings_governors_and_idle_states() {
    let made = Made::new();
    made.file("sys/devices/system/cpu/online", "0-3\n").file("sys/devices/system/cpu/isolated", "2-3\n");
    made.file("sys/devices/system/cpu/nohz_full", "(null)\n");
    made.file("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    made.file("sys/devices/system/cpu/cpu3/topology/thread_siblings_list", "1,3\n");
    made.file("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n");
    for (name, text) in [("name", "C6"), ("latency", "85"), ("disable", "1")] {
        made.file(&format!("sys/devices/system/cpu/cpu3/cpuidle/state1/{name}"), text);
    }
    let machine = made.machine();
    assert_eq!(machine.isolated.as_deref(), Some("2-3"));
    assert_eq!(machine.without_tick.as_deref(), Some(""));
    assert_eq!(machine.clocksource.as_deref(), Some("tsc"));
    assert_eq!(machine.cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>(), [0, 1, 2, 3]);
    let state = MachineIdleState { name: "C6".to_owned(), exit_us: 85, is_enabled: false };
    let last = MachineCpu {
        cpu: 3,
        siblings: "1,3".to_owned(),
        governor: Some("powersave".to_owned()),
        idle_states: vec![state],
    };
    assert_eq!(machine.cpus[3], last);
    // A tree without CPUs says nothing of them.
    let bare = Made::new().machine();
    assert_eq!((bare.isolated, bare.cpus), (None, Vec::new()));
}
