//! What the program's PTWRITEs mean, beside the capture: so that no `--ptwrite` needs to be typed.
//!
//! Input: the program that perf runs or attaches to, whose ELF file says it (`tailtrace.h` with `TAILTRACE_PTWRITE`). Output:
//! `FILE.ptwrite`, a line in the words of `--ptwrite`. One that an older recording left goes.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use analysis::output::write_file;
use analysis::request::ptwrite_beside;
use anyhow::{Context as _, Result};

use super::command::{attached, split};
use crate::output;

/// Writes the file beside `capture`, or removes it, for a recording with perf's options, `--`, and the program in `given`.
///
/// # Errors
/// What the operating system says.
pub(crate) fn write(capture: &Path, given: &[OsString]) -> Result<()> {
    let path = ptwrite_beside(capture);
    let Some(spec) = spec(given) else {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("{} is another recording's and stays", path.display()))
            }
            _ => Ok(()),
        };
    };
    write_file(&path, spec.as_bytes())?;
    output::print_note(&format!("{}: the program marks its intervals by PTWRITE", path.display()));
    Ok(())
}

/// The text of the file; `None` where no program's file says what its PTWRITEs mean.
pub(super) fn spec(given: &[OsString]) -> Option<String> {
    let spec = programs(given).iter().find_map(|program| symbols::ptwrite_note(program));
    spec.map(|spec| format!("{spec}\n"))
}

/// The files of the programs that are recorded, as far as the command names them.
fn programs(given: &[OsString]) -> Vec<PathBuf> {
    let (_, program) = split(given);
    let attached = attached(given).into_iter().map(|pid| PathBuf::from(format!("/proc/{pid}/exe")));
    let started = program.first().and_then(|word| found(Path::new(word)));
    started.into_iter().chain(attached).collect()
}

/// Where a shell would find the program.
fn found(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return Some(program.to_owned());
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_as_a_shell_does() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(programs(&words("-e x -- ./program a b")), [PathBuf::from("./program")]);
        assert_eq!(programs(&words("/bin/true -p 7")), [PathBuf::from("/bin/true")]);
        assert_eq!(programs(&words("-a -p 7,8")), ["/proc/7/exe", "/proc/8/exe"].map(PathBuf::from));
        assert!(programs(&words("sh -c true"))[0].ends_with("sh"));
        assert_eq!(programs(&words("no-such-program-anywhere")), Vec::<PathBuf>::new());
    }
}
