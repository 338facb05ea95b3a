//! Indexes Intel PT streams and decodes single windows of them, with libipt or with an engine of its own.
//!
//! [`PtStream`] holds the PT bytes of one CPU or thread as they lie in the file; its sync points are found by
//! interpolation. [`Libipt`] and [`Native`] decode a [`Window`] of it into blocks, events and gaps with time bounds.
//! The crate speaks [`model::Tsc`] and bytes only: no container, no symbol files; code comes through
//! [`model::CodeBytes`].
#![doc = include_str!("../README.md")]

mod blocks;
mod classes;
mod clock;
mod config;
mod decode;
mod decoder;
mod emit;
mod endless;
mod engine;
mod error;
mod flow;
mod instructions;
mod native;
mod packet_walk;
mod packets;
mod parallel;
mod presence;
mod recovery;
mod run;
mod sink;
mod span;
mod stream;
mod sync;
mod sys;

pub use config::{CpuModel, Limits, PtConfig};
pub use decoder::{Decoder, EngineKind};
pub use engine::{DecodeStats, Engine, Libipt, Occupant, Window, decode_window};
pub use error::Error;
pub use flow::{Block, BlockEnd, EventKind, Flow, FlowItem, Gap, GapReason, PtEvent, TimeBounds};
pub use instructions::instructions;
pub use native::Native;
pub use packet_walk::{
    PebsRecord, PebsRecords, PtwriteMark, Ptwrites, StreamPacket, StreamPackets, TargetMark, Targets,
    scan_pebs_between, scan_ptwrites, scan_ptwrites_between, scan_targets,
};
pub use packets::{Packet, PacketAt, PacketIp, Packets};
pub use parallel::{Chunk, chunks, decode_chunks, decode_each, decode_windows};
pub use sink::{FlowSink, Grain, WatchedCalls};
pub use span::StreamSpan;
pub use stream::{Piece, PtStream};
pub use sync::{PsbIndex, SyncPoint};
