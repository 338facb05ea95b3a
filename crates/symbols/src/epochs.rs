//! The lists of code sections that were requested, each kept once.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock};

use model::{CodeEpoch, CodeSection, Pid, Tsc};

/// Numbers a version of an address space: of its mappings, and of the copies of code in it.
pub(crate) type VersionNumber = (usize, usize);

/// The epochs that were requested.
#[derive(Debug, Default)]
pub(crate) struct Epochs {
    cache: RwLock<Cache>,
}

/// A section list and its id.
type Interned = (u64, Arc<[CodeSection]>);

#[derive(Debug, Default)]
struct Cache {
    /// By process and the numbers of its version.
    by_version: HashMap<(Pid, VersionNumber), CodeEpoch>,
    /// Section lists by their hash: equal ones share an id.
    by_content: HashMap<u64, Vec<Interned>>,
    next_id: u64,
}

impl Epochs {
    /// The epoch of a version of `pid`'s address space, if it was requested before.
    pub(crate) fn known(&self, pid: Pid, version: VersionNumber) -> Option<CodeEpoch> {
        self.cache.read().unwrap_or_else(PoisonError::into_inner).by_version.get(&(pid, version)).cloned()
    }

    /// The epoch of a version, which has these `sections` and lasts `until` then; kept from now on.
    pub(crate) fn keep(
        &self,
        pid: Pid,
        version: VersionNumber,
        until: Tsc,
        sections: Vec<CodeSection>,
    ) -> CodeEpoch {
        let mut cache = self.cache.write().unwrap_or_else(PoisonError::into_inner);
        let (id, sections) = cache.intern(sections);
        let epoch = CodeEpoch { id, until, sections };
        cache.by_version.insert((pid, version), epoch.clone());
        epoch
    }
}

impl Cache {
    /// The id of an equal list, or a new one.
    fn intern(&mut self, sections: Vec<CodeSection>) -> Interned {
        let alike = self.by_content.entry(hash_of(&sections)).or_default();
        if let Some((id, known)) = alike.iter().find(|(_, known)| known[..] == sections[..]) {
            return (*id, Arc::clone(known));
        }
        let (id, sections) = (self.next_id, Arc::from(sections));
        self.next_id += 1;
        alike.push((id, Arc::clone(&sections)));
        (id, sections)
    }
}

fn hash_of(sections: &[CodeSection]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for section in sections {
        (section.range.start, section.range.end, section.file_offset).hash(&mut hasher);
    }
    hasher.finish()
}
