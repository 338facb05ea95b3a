//! Files of what is shown: the program's own commands write them, each in a process of its own, so that a key does what the
//! command line does and the capture on the screen stays as it is.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::tui::pages::overlay::Writing;

/// Writes the file under a name that is free, and says what came of it: the command's last line.
pub(super) fn write(file: &Writing) -> String {
    let path = free_name(Path::new(""), &file.name, file.extension);
    let run = || {
        let mut command = Command::new(env::current_exe()?);
        command.args(&file.arguments).arg(&path).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::piped()).output()
    };
    let output = match run() {
        Ok(output) => output,
        Err(error) => return format!("{}: {error}", path.display()),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(|| format!("{}: {}", path.display(), output.status), str::to_owned)
}

/// `interval-23.html`; where that is there already, `interval-23-2.html` and so on.
fn free_name(folder: &Path, name: &str, extension: &str) -> PathBuf {
    let numbered = (2_u32..).map(|number| format!("{name}-{number}{extension}"));
    let mut paths =
        std::iter::once(format!("{name}{extension}")).chain(numbered).map(|name| folder.join(name));
    // The names do not end before the numbers do.
    paths.find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| folder.join(name))
}

#[cfg(test)]
mod tests;
