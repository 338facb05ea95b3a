//! Which files served for code and names so far: what another machine needs to give the same answers.

use std::path::PathBuf;

use model::BuildId;

use super::ProcessImages;

/// A file that stood for a recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UsedFile {
    /// The recorded name.
    pub name: String,
    /// The recorded identity.
    pub build_id: Option<BuildId>,
    /// The identity in the file itself.
    pub own_build_id: Option<BuildId>,
    /// The file on this machine.
    pub path: PathBuf,
    /// The file with its symbols or lines, where it has none itself.
    pub debug_file: Option<PathBuf>,
}

impl ProcessImages {
    /// The files that were opened so far, in the order in which the recording names them; the kernel's are not among them.
    pub fn used_files(&self) -> Vec<UsedFile> {
        let used = |image: &crate::image::Image| {
            let (file, debug_file) = image.opened()?;
            Some(UsedFile {
                name: image.name.to_string(),
                build_id: image.build_id().cloned(),
                own_build_id: file.build_id.clone(),
                path: file.path.to_path_buf(),
                debug_file: debug_file.map(|file| file.path.to_path_buf()),
            })
        };
        self.images.iter().filter_map(used).collect()
    }
}
