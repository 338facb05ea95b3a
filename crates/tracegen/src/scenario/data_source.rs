//! Where a sampled load found its data, as Intel's PEBS reports it.
//!
//! Input: a scenario's word. Output: `union perf_mem_data_src` as a number.
//! Source: `include/uapi/linux/perf_event.h` (`PERF_MEM_*`), arch/x86/events/intel/ds.c (which bits the kernel sets together).

use super::statement::number;

/// Bits of the fields: what was done, where it was found (two spellings), what other caches had, whether that was remote.
const LOAD: u64 = 0x02;
const HIT: u64 = 0x02 << 5;
const L1: u64 = 0x08 << 5 | 0x1 << 33;
const L3: u64 = 0x40 << 5 | 0x3 << 33;
const LOCAL_RAM: u64 = 0x80 << 5 | 0xd << 33;
const REMOTE_RAM: u64 = 0x100 << 5 | 0xd << 33 | REMOTE;
const REMOTE_CACHE: u64 = 0x400 << 5 | 0x3 << 33 | REMOTE;
const REMOTE: u64 = 1 << 37;
const SNOOP_NONE: u64 = 0x02 << 19;
const SNOOP_HIT: u64 = 0x04 << 19;
const SNOOP_MODIFIED: u64 = 0x10 << 19;

/// The number after a scenario's word; a number stands for itself.
pub(super) fn data_source(word: &str) -> Result<u64, String> {
    let found = match word {
        "l1" => L1 | SNOOP_NONE,
        "l3" => L3 | SNOOP_NONE,
        "ram" => LOCAL_RAM | SNOOP_HIT,
        "remote-ram" => REMOTE_RAM | SNOOP_HIT,
        "remote-cache" => REMOTE_CACHE | SNOOP_MODIFIED,
        _ => return number(word).map_err(|_| format!("`{word}`: l1, l3, ram, remote-ram, remote-cache")),
    };
    Ok(LOAD | HIT | found)
}
