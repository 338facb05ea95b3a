//! A machine's `/sys` and `/proc`, below a root that a test may choose.
//!
//! What is not there is `None` or empty: kernels differ in what they show.

use std::fs;
use std::path::{Path, PathBuf};

/// The tree.
pub(crate) struct Tree {
    root: PathBuf,
}

impl Tree {
    /// The tree below `root`.
    ///
    /// # Errors
    /// Where there is no such directory.
    pub(crate) fn new(root: &Path) -> std::io::Result<Tree> {
        Ok(Tree { root: root.canonicalize()? })
    }

    /// The place `path` below the root.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Whether there is anything at `path` below the root.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.at(path).exists()
    }

    /// The text of the attribute at `path` below the root, without blanks around it; `None` of an empty one.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        text(&self.at(path))
    }

    /// The decimal number that the attribute at `path` below the root holds; it may be negative.
    pub(crate) fn integer(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }

    /// The device that a link of `/sys/class` leads to; `None` where the link leads out of the tree.
    pub(crate) fn device(&self, link: &Path) -> Option<PathBuf> {
        link.canonicalize().ok().filter(|path| path.starts_with(&self.root))
    }

    /// The NUMA node of the nearest device, from `device` up, that has one.
    pub(crate) fn node_above(&self, device: &Path) -> Option<u32> {
        let inside = device.ancestors().take_while(|path| path.starts_with(&self.root));
        inside.into_iter().find_map(|path| number(&path.join("numa_node")))
    }
}

/// The names in a directory, sorted.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// The numbers after `prefix` in the names in a directory, in order.
pub(crate) fn numbered(directory: &Path, prefix: &str) -> Vec<u64> {
    let number = |name: String| name.strip_prefix(prefix)?.parse().ok();
    let mut numbers: Vec<u64> = names(directory).into_iter().filter_map(number).collect();
    numbers.sort_unstable();
    numbers
}

/// The text of an attribute without blanks around it; `None` of an empty one.
pub(crate) fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The number in an attribute; `None` of a negative one, the kernel's word for no node.
pub(crate) fn number(path: &Path) -> Option<u32> {
    text(path)?.parse().ok()
}
