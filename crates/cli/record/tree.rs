//! A machine's `/sys` and `/proc`, below a root that a test may choose.
//!
//! What is not there is `None` or empty: kernels differ in what they show.

use std::fs;
use std::path::{Path, PathBuf};

/// The tree.
pub(super) struct Tree {
    root: PathBuf,
}

impl Tree {
    /// The tree below `root`.
    ///
    /// # Errors
    /// Where there is no such directory.
    pub(super) fn new(root: &Path) -> std::io::Result<Tree> {
        Ok(Tree { root: root.canonicalize()? })
    }

    /// The place `path` below the root.
    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The device that a link of `/sys/class` leads to; `None` where the link leads out of the tree.
    pub(super) fn device(&self, link: &Path) -> Option<PathBuf> {
        link.canonicalize().ok().filter(|path| path.starts_with(&self.root))
    }

    /// The NUMA node of the nearest device, from `device` up, that has one.
    pub(super) fn node_above(&self, device: &Path) -> Option<u32> {
        let inside = device.ancestors().take_while(|path| path.starts_with(&self.root));
        inside.into_iter().find_map(|path| number(&path.join("numa_node")))
    }
}

/// The names in a directory, sorted.
pub(super) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// The text of an attribute without blanks around it; `None` of an empty one.
pub(super) fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The number in an attribute; `None` of a negative one, the kernel's word for no node.
pub(super) fn number(path: &Path) -> Option<u32> {
    text(path)?.parse().ok()
}
