//! Where the writing thread runs: not where its creator does, and not on CPUs that are kept free of others.

use std::fs;
use std::string::String;

use crate::system::{self, Cpus};

const ISOLATED: [&str; 2] = ["/sys/devices/system/cpu/isolated", "/sys/devices/system/cpu/nohz_full"];

/// Reads a list of CPUs, `0,4-7`; `None` where it is none. CPUs beyond the kernel's largest number are left out.
pub(crate) fn list(text: &str) -> Option<Cpus> {
    let mut cpus = [0; 128];
    for part in text.trim_end().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        for cpu in first..=last.min(64 * cpus.len() - 1) {
            cpus[cpu / 64] |= 1 << (cpu % 64);
        }
    }
    Some(cpus)
}

fn without(cpus: &Cpus, others: &Cpus) -> Cpus {
    let mut left = *cpus;
    left.iter_mut().zip(others).for_each(|(left, others)| *left &= !others);
    left
}

fn both(cpus: &Cpus, others: &Cpus) -> Cpus {
    let mut both = *cpus;
    both.iter_mut().zip(others).for_each(|(both, others)| *both &= others);
    both
}

/// Moves the thread that calls to `wanted` CPUs; false where it may use none of them.
fn move_to(wanted: &Cpus) -> bool {
    wanted.iter().any(|&word| word != 0) && system::set_affinity(*wanted)
}

/// Leaves the CPUs and the scheduling class that this thread has from its creator, for `wanted` CPUs where they are named.
pub(crate) fn step_aside(wanted: Option<&Cpus>) {
    system::be_ordinary();
    let creators = system::affinity();
    // The kernel takes of all CPUs those that the process may use.
    if !system::set_affinity([u64::MAX; 128]) {
        return;
    }
    let allowed = system::affinity();
    let isolated =
        ISOLATED.iter().filter_map(|path| list(&fs::read_to_string(path).unwrap_or_else(|_| String::new())));
    let usual = isolated.fold(allowed, |usual, isolated| without(&usual, &isolated));
    let _ = wanted.is_some_and(|wanted| move_to(&both(wanted, &allowed)))
        || move_to(&without(&usual, &creators))
        || move_to(&usual)
        || move_to(&without(&allowed, &creators));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_the_kernels() {
        let cpus = list("0,4-7,64\n").expect("a list");
        assert_eq!((cpus[0], cpus[1], cpus[2]), (0b1111_0001, 1, 0));
        assert_eq!(list(""), Some([0; 128]));
        assert_eq!((list("two"), list("1-x")), (None, None));
        assert_eq!(list("8191-4294967295").expect("cut")[127], 1 << 63);
    }

    #[test]
    fn the_creators_cpus_are_left() {
        std::thread::spawn(|| {
            let all = system::affinity();
            let first = all.iter().position(|&word| word != 0).expect("one");
            let mut one = [0; 128];
            one[first] = 1 << all[first].trailing_zeros();
            assert!(system::set_affinity(one));
            step_aside(None);
            let now = system::affinity();
            assert_eq!(both(&now, &one) == [0; 128], all != one, "where there are others");
            step_aside(Some(&one));
            assert_eq!(system::affinity(), one);
        })
        .join()
        .expect("moved");
    }
}
