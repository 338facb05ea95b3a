//! A smaller list of the kernel's functions, where none of its code is kept: those that occur.
//!
//! Input: addresses. Output: lines as of `/proc/kallsyms` (proc(5)). They have no sizes: of each function the one that follows it is among
//! them, too, so that each ends where it did.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use model::BuildId;

use super::ProcessImages;
use crate::timeline::KERNEL_HALF;

/// The list, and the kernel that it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelNames {
    /// The kernel's build ID.
    pub build_id: BuildId,
    /// The lines.
    pub text: String,
}

impl ProcessImages {
    /// The kernel's functions at `addresses`; `None` where none is known, or the recording has no build ID by which the list is found.
    pub fn kernel_names(&self, addresses: &BTreeSet<u64>) -> Option<KernelNames> {
        let build_id = self.kernel_build_id.clone()?;
        let has_name = |name: &str| !name.is_empty() && !name.contains(char::is_whitespace);
        let functions = self.kernel().functions().filter(|(_, name)| has_name(name));
        let mut functions: Vec<(u64, &str)> = functions.collect();
        // Names of one address stay in their order: the first one is shown.
        functions.sort_by_key(|&(address, _)| address);
        let mut starts = BTreeSet::new();
        for address in addresses.range(KERNEL_HALF..) {
            let next = functions.partition_point(|(start, _)| start <= address);
            let own = next.checked_sub(1).map(|own| functions[own].0);
            starts.extend(own.into_iter().chain(functions.get(next).map(|(start, _)| *start)));
        }
        let kept = functions.iter().filter(|(start, _)| starts.contains(start));
        let text = kept.fold(String::new(), |mut text, (start, name)| {
            let _ = writeln!(text, "{start:016x} T {name}");
            text
        });
        (!text.is_empty()).then_some(KernelNames { build_id, text })
    }
}

#[cfg(test)]
mod tests {
    use model::{MapEvent, Mapping, Pid, Tsc};

    use super::*;
    use crate::search::SearchPath;

    const TEXT: u64 = 0xffff_ffff_8100_0000;
    const KERNEL: &str = "[kernel.kallsyms]_text";

    /// A kernel with these symbols in perf's cache, where the list of its build ID is looked for.
    fn images(list: &str) -> (tempfile::TempDir, ProcessImages) {
        let folder = tempfile::tempdir().expect("a folder");
        let id = BuildId::new(&[0xab; 20]).expect("a build ID");
        let cached = folder.path().join(format!(".build-id/ab/{}", "ab".repeat(19)));
        std::fs::create_dir_all(&cached).expect("made");
        std::fs::write(cached.join("kallsyms"), list).expect("written");
        let search = SearchPath { build_id_dir: Some(folder.path().to_owned()), ..SearchPath::default() };
        let mapping = Mapping {
            pid: Pid::KERNEL,
            range: TEXT..TEXT + 0x10_0000,
            file_offset: TEXT,
            path: KERNEL.to_owned(),
            build_id: None,
            inode: None,
        };
        let images = ProcessImages::new(
            search,
            vec![(Tsc(0), MapEvent::Map(mapping))],
            vec![("[kernel.kallsyms]".to_owned(), id)],
        );
        (folder, images)
    }

    #[test]
    fn each_function_ends_where_it_did() {
        let names = ["_text", "one", "two", "three", "four"].into_iter().zip(0..);
        let mut list = String::new();
        for (name, number) in names {
            let _ = writeln!(list, "{:x} t {name}", TEXT + 0x100 * number);
        }
        let (_folder, all) = images(&list);
        let names = all.kernel_names(&BTreeSet::from([0x1000, TEXT + 0x210])).expect("names");
        let [two, three] = [0x200, 0x300].map(|offset| TEXT + offset);
        assert_eq!(names.text, format!("{two:016x} T two\n{three:016x} T three\n"));
        let (_folder, some) = images(&names.text);
        for address in [TEXT + 0x210, TEXT + 0x2ff] {
            let [before, after] = [&all, &some].map(|images| images.resolve(Pid(1), address, Tsc(1)).symbol);
            assert!(before.is_some() && before == after, "{before:?} {after:?}");
        }
        assert_eq!(all.kernel_names(&BTreeSet::from([0x1000])), None);
    }
}
