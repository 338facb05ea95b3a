//! The command `tracegen`: makes captures for tests and benches.
//!
//! One subcommand per way of making one; results go to the files named, one line of what was done to stdout.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use tailtrace_tracegen::damage::{Damage, damage, wrong_code};
use tailtrace_tracegen::recorded::{Request, Scope, encode};
use tailtrace_tracegen::repeat::{Amount, Plan, Sideband, repeat, repeat_intervals};
use tailtrace_tracegen::{Error, scenario};

/// Makes perf.data files with Intel PT whose truth is known.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Makes a capture of any size by repeating one with shifted times.
    Repeat(RepeatArguments),
    /// Makes a copy of a capture with one named damage.
    Damage {
        /// Lists the damages and ends.
        #[arg(long)]
        list: bool,
        /// What is damaged.
        #[arg(value_enum, required_unless_present = "list")]
        kind: Option<Damage>,
        /// The capture: a perf.data file or directory.
        #[arg(required_unless_present = "list")]
        input: Option<PathBuf>,
        /// The damaged copy.
        #[arg(short, long, required_unless_present = "list")]
        output: Option<PathBuf>,
        /// Decides where the damage falls; the same seed gives the same damage.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Makes a copy of a program with other code.
    WrongCode {
        /// The program.
        input: PathBuf,
        /// The wrong one.
        #[arg(short, long)]
        output: PathBuf,
        /// Decides how its code is changed.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Makes a capture from an emulator's log of executed instructions (fixtures/emulator).
    EncodeLog(EncodeLogArguments),
    /// Makes the capture that a scenario file describes.
    Scenario {
        /// The scenario (docs/scenario-language.md).
        file: PathBuf,
        /// The directory to write: perf.data, symfs, intervals.csv, truth.
        #[arg(short, long)]
        output: PathBuf,
    },
}

#[derive(clap::Args)]
struct EncodeLogArguments {
    /// The directory with the log of each CPU and blocks.bin.
    log: PathBuf,
    /// Where the guest's kernel is entered: lines of address, F or I, name.
    #[arg(long)]
    entries: PathBuf,
    /// The guest's perf.data directory.
    #[arg(long)]
    guest: PathBuf,
    /// The capture's directory.
    #[arg(short, long)]
    output: PathBuf,
    /// How many times slower than the host the guest's clock ran.
    #[arg(long, default_value_t = 1)]
    dilation: u64,
    /// A stall of the host lasts more than so many nanoseconds of the guest.
    #[arg(long, default_value_t = 10_000)]
    gap_ns: u64,
    /// With packets for power events.
    #[arg(long)]
    power: bool,
    /// A trace of user code only, too.
    #[arg(long)]
    user: bool,
    /// A trace of each thread of the program that wrote PTWRITEs, too.
    #[arg(long)]
    thread: bool,
}

#[derive(clap::Args)]
struct RepeatArguments {
    /// The capture: a perf.data file or directory with a full trace.
    input: PathBuf,
    /// How many repetitions.
    #[arg(short = 'n', conflicts_with = "size", required_unless_present = "size")]
    times: Option<u64>,
    /// How large the file becomes: 10G, 500M, 4096.
    #[arg(long, value_parser = bytes)]
    size: Option<u64>,
    /// The capture to write; of the same kind (file or directory) as the input.
    #[arg(short, long)]
    output: PathBuf,
    /// Extend the interval file IN (the CSV that `VTune` imports) to OUT as well.
    #[arg(long, num_args = 2, value_names = ["IN", "OUT"])]
    intervals: Vec<PathBuf>,
    /// Which records are repeated.
    #[arg(long, value_enum, default_value = "all")]
    sideband: Sideband,
    /// Largest AUXTRACE record. The larger, the more instructions does `perf script --time` (6.1) lose.
    #[arg(long, value_parser = bytes, default_value = "128K")]
    buffer: u64,
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Repeat(arguments) => run_repeat(&arguments),
        Command::EncodeLog(arguments) => run_encode_log(&arguments),
        Command::Scenario { file, output } => run_scenario(&file, &output),
        Command::WrongCode { input, output, seed } => wrong_code(&input, &output, seed),
        Command::Damage { kind: Some(kind), input: Some(input), output: Some(output), seed, list: false } => {
            damage(kind, &input, &output, seed)
        }
        Command::Damage { .. } => Ok(list_damages()),
    };
    match done {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("tracegen: {error}");
            ExitCode::from(2)
        }
    }
}

fn run_repeat(arguments: &RepeatArguments) -> Result<String, Error> {
    let amount = match (arguments.times, arguments.size) {
        (Some(times), _) => Amount::Times(times),
        (None, size) => Amount::Bytes(size.unwrap_or(0)),
    };
    let buffer_bytes = usize::try_from(arguments.buffer).unwrap_or(usize::MAX);
    let plan = Plan { amount, sideband: arguments.sideband, buffer_bytes };
    let repeated = repeat(&arguments.input, &arguments.output, plan)?;
    if let [from, to] = arguments.intervals.as_slice() {
        repeat_intervals(Path::new(from), Path::new(to), &repeated)?;
    }
    Ok(format!(
        "{} repetitions, {} bytes, period {} ticks = {} ns",
        repeated.times, repeated.bytes, repeated.period_ticks, repeated.period_ns
    ))
}

fn run_encode_log(arguments: &EncodeLogArguments) -> Result<String, Error> {
    let EncodeLogArguments { log, entries, guest, output, dilation, gap_ns, power, user, thread } = arguments;
    let (dilation, gap_ns, power) = (*dilation, *gap_ns, *power);
    let request = Request { log, entries, guest, output, dilation, power, gap_ns };
    let scopes = [(true, Scope::Everything), (*user, Scope::User), (*thread, Scope::Threads)];
    let scopes: Vec<Scope> =
        scopes.into_iter().filter(|(wanted, _)| *wanted).map(|(_, scope)| scope).collect();
    let recorded = encode(&request, &scopes)?;
    let stalls: u64 = recorded.gaps.iter().map(|gap| gap.to - gap.from).sum();
    let (executed, gaps) = (recorded.executed, recorded.gaps.len());
    Ok(format!(
        "instructions per CPU {executed:?}, trace {:?}, {gaps} gaps of {stalls} ticks",
        recorded.trace_bytes
    ))
}

/// Each damage and what it does, and where wrong programs come from.
fn list_damages() -> String {
    let kinds = Damage::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let mut lines: Vec<String> = kinds
        .map(|kind| format!("{:16}{}", kind.get_name(), kind.get_help().cloned().unwrap_or_default()))
        .collect();
    lines.push(
        "wrong-code      A program has other code: a command of its own, `tracegen wrong-code`".to_owned(),
    );
    lines.join("\n")
}

fn run_scenario(file: &Path, output: &Path) -> Result<String, Error> {
    let executed = scenario::make(file, output)?;
    let instructions: usize = (0..executed.buffers()).map(|buffer| executed.instructions(buffer).len()).sum();
    Ok(format!("{} CPUs, {instructions} instructions", executed.cpus()))
}

/// Reads `10G`, `500M`, `64K` or plain bytes.
fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 1 << 10),
        Some((at, 'M' | 'm')) => (&text[..at], 1 << 20),
        Some((at, 'G' | 'g')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let number: u64 =
        number.parse().map_err(|_| format!("{text} is no size: write 10G, 500M, 64K or bytes"))?;
    number.checked_mul(unit).ok_or_else(|| format!("{text} is too large"))
}
