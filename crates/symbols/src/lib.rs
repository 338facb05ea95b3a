//! Address to function, line, bytes and disassembly, as they were at a given time.
//!
//! [`ProcessImages`] replays a recording's map events and finds the files behind them. It serves code to the decoder
//! ([`model::CodeBytes`]) and names to everybody else. It knows neither perf.data nor Intel PT.

mod addresses;
mod debug_file;
mod demangle;
mod disassembly;
mod elf;
mod epochs;
mod error;
mod file_bytes;
mod image;
mod jit_code;
pub mod jitdump;
mod kallsyms;
mod kcore_dir;
mod kernel;
mod kernel_copy;
mod lines;
mod names;
mod perf_map;
mod plt;
mod pokes;
mod process_images;
mod range_map;
mod search;
mod symbol_table;
mod sys;
mod timeline;
mod used_files;

pub use disassembly::Instruction;
pub use error::Error;
pub use kernel_copy::KernelCopy;
pub use lines::Frame;
pub use names::{Function, FunctionId, Location};
pub use process_images::ProcessImages;
pub use search::SearchPath;
pub use used_files::UsedFile;
