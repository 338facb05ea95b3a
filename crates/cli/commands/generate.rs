//! `tailtrace generate`: shell completions and man pages, made from the very description that parses the arguments; the
//! JSON schemas, made from the types that write the documents; and the header that marks intervals.

use analysis::output::{Kind, check, write_file};
use anyhow::{Context as _, Result};
use clap::CommandFactory as _;

use crate::args::{Cli, GenerateArgs, Generated, SchemaOf};
use crate::output::{self, Outcome};
use crate::{doctor, man};

/// Runs the command.
pub(super) fn run(args: &GenerateArgs) -> Result<Outcome> {
    match &args.what {
        Generated::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "tailtrace", &mut script);
            output::print_result(&String::from_utf8_lossy(&script))?;
        }
        Generated::Man { output } => {
            std::fs::create_dir_all(output)
                .with_context(|| format!("man pages cannot be written to {}", output.display()))?;
            man::write_pages(output)?;
        }
        Generated::Schema { document } => output::print_result(&match document {
            SchemaOf::Report => report::report_schema(),
            SchemaOf::Diff => report::difference_schema(),
            SchemaOf::Machine => report::schema_of::<perfdata::Machine>(),
            SchemaOf::Doctor => report::schema_of::<doctor::json::Document<'_>>(),
        })?,
        Generated::Header { output: Some(path) } => {
            check(path, Kind::File, &[])?;
            write_file(path, marks::HEADER.as_bytes())?;
        }
        Generated::Header { output: None } => output::print_result(marks::HEADER)?,
    }
    Ok(Outcome::Reported)
}
