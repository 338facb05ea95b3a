//! Copies of code made at run time, as a recording takes them that looks at the memory now and then.
//!
//! Input: a scenario's `code copied` sections. Output: the pages of each process, as they were just before the next section came, the last
//! ones a second after theirs: what runs before it was looked at must be found in the later copy.

use std::collections::{BTreeMap, BTreeSet};

use super::super::image::{Backing, Image};
use super::super::program::Scenario;
use crate::code_copies::{Copy, PAGE, file};

/// The file; `None` where the scenario has no such code.
pub(super) fn copies(scenario: &Scenario) -> Option<Vec<u8>> {
    let images: Vec<&Image> =
        scenario.images.iter().filter(|image| image.backing == Backing::Copied).collect();
    let pids: BTreeSet<u32> =
        scenario.threads.iter().map(|thread| thread.pid).filter(|&pid| pid != 0).collect();
    let times: BTreeSet<u64> = images.iter().map(|image| image.from).collect();
    let last = times.last()?.max(&scenario.machine.base) + scenario.machine.tsc_hz;
    let looks = times.iter().skip(1).map(|next| next - 1).chain([last]);
    let mut seen: Vec<Copy> = Vec::new();
    for at in looks {
        for (address, bytes) in pages(&images, at) {
            seen.extend(pids.iter().map(|&pid| Copy {
                pid,
                address,
                from: at,
                to: at,
                bytes: bytes.clone(),
            }));
        }
    }
    Some(file(&seen))
}

/// What lies in the pages at `at`.
fn pages(images: &[&Image], at: u64) -> BTreeMap<u64, Vec<u8>> {
    let mut there: Vec<&&Image> = images.iter().filter(|image| image.from <= at).collect();
    there.sort_by_key(|image| image.from);
    let mut pages = BTreeMap::new();
    for image in there {
        for (address, &byte) in (image.address..).zip(&image.bytes) {
            let page: &mut Vec<u8> =
                pages.entry(address - address % PAGE).or_insert_with(|| vec![0; PAGE as usize]);
            page[(address % PAGE) as usize] = byte;
        }
    }
    pages
}
