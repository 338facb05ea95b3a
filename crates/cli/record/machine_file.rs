//! Writes the machine file beside a capture: what perf does not write down.

use std::ffi::OsStr;
use std::path::Path;

use analysis::output::write_file;
use anyhow::{Result, ensure};
use perfdata::{Machine, OpenDescriptor};

use super::gather;
use crate::args::RecordArgs;
use crate::output;

/// Writes the machine file of the capture that the arguments name, with what descriptors of its processes stood for.
pub(crate) fn write(args: &RecordArgs, descriptors: Vec<OpenDescriptor>) -> Result<()> {
    ensure!(
        args.output.as_path() != OsStr::new("-"),
        "a machine file lies beside a capture: name it with -o"
    );
    let machine = Machine { descriptors, ..gather::machine(&args.root)? };
    let path = Machine::place(&args.output);
    write_file(&path, machine.to_json()?.as_bytes())?;
    output::print_note(&summary(&machine, &path));
    Ok(())
}

fn summary(machine: &Machine, path: &Path) -> String {
    let Machine { nodes, block_devices, network_devices, interrupts, .. } = machine;
    format!(
        "{}: {}, {}, {}, {}",
        path.display(),
        report::counted(nodes.len() as u64, "NUMA node"),
        report::counted(block_devices.len() as u64, "block device"),
        report::counted(network_devices.len() as u64, "network device"),
        report::counted(interrupts.len() as u64, "interrupt"),
    )
}
