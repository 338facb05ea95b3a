//! Block devices by number, with the names of those whose numbers Linux has given away for good.
//!
//! Source: `Documentation/admin-guide/devices.txt`; for disks after the 256th `drivers/scsi/sd.c` (`sd_format_disk_name`
//! and where `first_minor` is set), for arrays with a name of their own `drivers/md/md.c`. Majors that are given out as
//! drivers load (`NVMe`, virtio, device mapper; 259 for partitions) give no name, nor do those whose minors per disk are
//! a parameter of the driver (nbd, MMC): these have a name only where the capture's machine file gives it.

use std::fmt;

/// A device's number as the kernel keeps it (`include/linux/kdev_t.h`): 12 bits major, 20 bits minor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Device(u32);

/// From this minor on an array is called as its owner wants it.
const FIRST_NAMED_ARRAY: u32 = 512;
/// A disk and its partitions have so many minors.
const MINORS_OF_DISK: u32 = 16;
/// So many disks share a major; further ones have the majors of the first 256 again.
const DISKS_OF_MAJOR: u32 = 16;

impl Device {
    const MINOR_BITS: u32 = 20;

    /// The device of these numbers; more bits than the kernel keeps are cut off.
    pub const fn new(major: u32, minor: u32) -> Device {
        Device((major << Device::MINOR_BITS) | (minor & ((1 << Device::MINOR_BITS) - 1)))
    }

    /// From a `dev_t` as tracepoints record it: major << 20 | minor.
    #[allow(clippy::cast_possible_truncation)] // A dev_t has 32 bits.
    pub const fn from_kernel(number: u64) -> Device {
        Device(number as u32)
    }

    /// The kind of device.
    pub const fn major(self) -> u32 {
        self.0 >> Device::MINOR_BITS
    }

    /// Which one of its kind.
    pub const fn minor(self) -> u32 {
        self.0 & ((1 << Device::MINOR_BITS) - 1)
    }

    /// The name below `/dev`, where the number is permanently assigned.
    pub fn name(self) -> Option<String> {
        let minor = self.minor();
        Some(match self.major() {
            1 => format!("ram{minor}"),
            7 => format!("loop{minor}"),
            9 if minor < FIRST_NAMED_ARRAY => format!("md{minor}"),
            11 => format!("sr{minor}"),
            8 => self.disk(0),
            major @ 65..=71 => self.disk(major - 64),
            major @ 128..=135 => self.disk(major - 120),
            _ => return None,
        })
    }

    /// `259:0 (nvme0n1)`: the number, and `name` where there is one.
    pub fn called(self, name: Option<&str>) -> String {
        name.map_or_else(|| self.to_string(), |name| format!("{self} ({name})"))
    }

    /// The SCSI disk or its partition, on the `nth` major for such.
    fn disk(self, nth: u32) -> String {
        let minor = self.minor();
        // Bits of the disk's index: 0 to 3 and 8 to 19 are in the minor, 4 to 7 are the major's.
        let low = minor / MINORS_OF_DISK % DISKS_OF_MAJOR;
        let index = low + nth * DISKS_OF_MAJOR + (minor & 0xf_ff00);
        match minor % MINORS_OF_DISK {
            0 => format!("sd{}", letters(index)),
            partition => format!("sd{}{partition}", letters(index)),
        }
    }
}

/// `a` to `z`, `aa`, `ab`, …
fn letters(index: u32) -> String {
    let mut letters = Vec::new();
    let mut left = Some(index);
    while let Some(index) = left {
        letters.push(char::from(b'a' + (index % 26) as u8));
        left = (index / 26).checked_sub(1);
    }
    letters.into_iter().rev().collect()
}

impl fmt::Display for Device {
    /// `259:0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major(), self.minor())
    }
}

#[cfg(test)]
mod tests;
