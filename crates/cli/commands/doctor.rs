//! `tailtrace doctor`: checks the machine, and prints what it finds.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::args::{DoctorArgs, DoctorFormat};
use crate::doctor::{self, Examination, Storage, trial};
use crate::machine::build::Build;
use crate::machine::tree::Tree;
use crate::output::{self, Outcome};
use crate::record::buffers::Buffers;
use crate::record::command::{self, Asked};
use crate::record::offered::Offered;

/// Runs the command.
pub(super) fn run(args: &DoctorArgs) -> Result<Outcome> {
    let tree = Tree::new(&args.root).with_context(|| format!("{} cannot be read", args.root.display()))?;
    let is_here = args.root == Path::new("/");
    let offered = Offered::by(&tree);
    let asked = Asked { preset: args.preset, keeps: args.snapshots, ..Asked::default() };
    let sizes = args.buffers.iter().flat_map(|sizes| ["-m", sizes, "--"]).map(OsString::from);
    let sizes: Vec<OsString> = sizes.collect();
    let compose = |output: &Path, program: &[OsString], keeps: bool| {
        let given = [&sizes, program].concat();
        Ok(command::compose(output, Asked { keeps, ..asked }, &offered, &given)?.words)
            as Result<Vec<OsString>>
    };
    let words = compose(&args.output, &["./program".into()], asked.keeps)?;
    let command = command::shown(&words);
    let buffers = Buffers::of(&words).context("-m has sizes as perf takes them: 32M, or 8M,256M")?;
    let storage =
        if is_here { Storage::of(folder(&args.output), !args.read_only) } else { Storage::default() };
    let mut machine = Examination::new(tree, Build::on_path(), storage, buffers);
    if args.trial && machine.has_pt() {
        machine = machine.with_trial(trial::run(|output| compose(output, &trial::program(), false)));
    }
    let findings = doctor::findings(&machine);
    output::print_result(&match args.format {
        DoctorFormat::Text => doctor::text::render(&findings, &command, output::style()),
        DoctorFormat::Json => doctor::json::render(&findings, &command)?,
    })?;
    Ok(if doctor::stops(&findings) { Outcome::NotMet } else { Outcome::Reported })
}

/// The folder of a file that is not there yet.
fn folder(output: &Path) -> &Path {
    output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
