//! Address to function, line, bytes and disassembly, as they were at a given time.
//!
//! [`ProcessImages`] replays a recording's map events and finds the mapped files. It serves code to the decoder
//! ([`model::CodeBytes`]) and names to everybody else. It knows neither perf.data nor Intel PT.
#![doc = include_str!("../README.md")]

pub mod code_copies;
mod copies;
mod debug_file;
mod demangle;
mod dwarf;
mod elf;
mod epochs;
mod error;
mod file_bytes;
mod frame;
mod go_functions;
mod image;
mod jit_code;
pub mod jitdump;
mod kallsyms;
mod kcore_dir;
mod kernel;
mod lines;
mod marks_note;
mod perf_map;
mod plt;
mod pokes;
mod process_images;
mod python_methods;
mod range_map;
mod recorded_kernel;
mod search;
mod sources;
mod split_parts;
mod symbol_table;
mod sys;
mod timeline;
mod unpacking;
mod unwind_functions;

pub use error::Error;
pub use frame::{Frame, own_line};
pub use image::Identity;
pub use jit_code::Monotonic;
pub use marks_note::ptwrite_note;
pub use process_images::ProcessImages;
pub use process_images::addresses::InFile;
pub use process_images::data_names::Variable;
pub use process_images::disassembly::Instruction;
pub use process_images::kernel_copy::KernelCopy;
pub use process_images::kernel_names::KernelNames;
pub use process_images::mark_tables::MarkTable;
pub use process_images::names::{Function, FunctionId, Location};
pub use process_images::texts::LowBits;
pub use process_images::used_files::{DebugFile, UsedFile, UsedKind};
pub use search::SearchPath;
