//! perf.data, as far as these tests need it (format: `tools/perf/Documentation/perf.data-file-format.txt`).

use std::collections::BTreeMap;
use std::path::Path;

use model::{Cpu, Diagnostic, FileOffset, ThreadId, Tid, TimeConversion, Tsc};
use tailtrace_pt::{CpuModel, Occupant, Piece, PtConfig, PtStream};

/// A mapping record, or a fork or exec.
#[derive(Clone, Debug)]
pub enum MapRecord {
    Map { pid: i32, start: u64, length: u64, file_offset: u64, path: String },
    Fork { parent: i32, child: i32 },
    Exec { pid: i32 },
    Poke { address: u64, new: Vec<u8> },
}

/// Somebody came onto a CPU.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    pub time: u64,
    pub cpu: u32,
    pub thread: ThreadId,
}

struct AuxPiece {
    start: usize,
    size: usize,
    aux_offset: u64,
    reference: u64,
    tid: i32,
    cpu: u32,
}

/// A perf.data file, read whole.
pub struct Capture {
    bytes: Vec<u8>,
    sample_types: BTreeMap<u64, u64>,
    first_type: u64,
    pub conversion: Option<TimeConversion>,
    pub config: PtConfig,
    pub snapshot: bool,
    pub maps: Vec<(u64, MapRecord)>,
    pub switches: Vec<Switch>,
    pieces: Vec<AuxPiece>,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn i32_at(bytes: &[u8], at: usize) -> i32 {
    u32_at(bytes, at).cast_signed()
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn size_at(bytes: &[u8], at: usize) -> usize {
    usize::try_from(u64_at(bytes, at)).expect("a size")
}

fn text_at(bytes: &[u8], at: usize) -> String {
    let end = bytes[at..].iter().position(|&byte| byte == 0).map_or(bytes.len(), |length| at + length);
    String::from_utf8_lossy(&bytes[at..end]).into_owned()
}

struct Trailer {
    tid: i32,
    pid: i32,
    time: u64,
    cpu: u32,
}

impl Capture {
    pub fn open(path: &Path) -> Capture {
        let path = if path.is_dir() { path.join("data") } else { path.to_owned() };
        let bytes = std::fs::read(&path).expect("a readable perf.data");
        assert_eq!(&bytes[..8], b"PERFILE2");
        let mut capture = Capture {
            bytes: Vec::new(),
            sample_types: BTreeMap::new(),
            first_type: 0,
            conversion: None,
            config: PtConfig::default(),
            snapshot: false,
            maps: Vec::new(),
            switches: Vec::new(),
            pieces: Vec::new(),
        };
        let configs = capture.attributes(&bytes);
        capture.cpu_model(&bytes);
        let (data, size) = (size_at(&bytes, 40), size_at(&bytes, 48));
        let mut at = data;
        while at + 8 <= data + size {
            let length = usize::from(u16::from_le_bytes([bytes[at + 6], bytes[at + 7]]));
            let record = &bytes[at..at + length];
            let skipped = capture.record(record, at, &configs);
            at += length + skipped;
        }
        capture.maps.sort_by_key(|(time, _)| *time);
        capture.switches.sort_by_key(|switch| switch.time);
        capture.bytes = bytes;
        capture
    }

    /// Reads the attributes; returns type and config of each.
    fn attributes(&mut self, bytes: &[u8]) -> Vec<(u32, u64)> {
        let (entry, from, size) = (size_at(bytes, 16), size_at(bytes, 24), size_at(bytes, 32));
        let mut configs = Vec::new();
        for at in (from..from + size).step_by(entry) {
            let sample_type = u64_at(bytes, at + 24);
            if configs.is_empty() {
                self.first_type = sample_type;
            }
            configs.push((u32_at(bytes, at), u64_at(bytes, at + 8)));
            let (ids, ids_size) = (size_at(bytes, at + entry - 16), size_at(bytes, at + entry - 8));
            for id in (ids..ids + ids_size).step_by(8) {
                self.sample_types.insert(u64_at(bytes, id), sample_type);
            }
        }
        configs
    }

    /// Feature 9 is CPUID: `GenuineIntel,6,94,3`.
    fn cpu_model(&mut self, bytes: &[u8]) {
        let features = u64_at(bytes, 72);
        if features & 1 << 9 == 0 {
            return;
        }
        let index = (features & ((1 << 9) - 1)).count_ones() as usize;
        let table = size_at(bytes, 40) + size_at(bytes, 48);
        let text = text_at(bytes, size_at(bytes, table + index * 16) + 4);
        let fields: Vec<&str> = text.split(',').collect();
        if let [_, family, model, stepping] = fields[..] {
            let parse = |field: &str| field.parse::<u16>().expect("a number");
            let byte = |field: &str| u8::try_from(parse(field)).expect("a byte");
            self.config.cpu =
                Some(CpuModel { family: parse(family), model: byte(model), stepping: byte(stepping) });
        }
    }

    fn trailer(&self, record: &[u8]) -> Trailer {
        let id = u64_at(record, record.len() - 8);
        let kinds = self.sample_types.get(&id).copied().unwrap_or(self.first_type);
        let mut trailer = Trailer { tid: 0, pid: 0, time: 0, cpu: 0 };
        let mut at = record.len();
        // From the end: IDENTIFIER, CPU, STREAM_ID, ID, TIME, TID.
        for (bit, kind) in [(16, 'i'), (7, 'c'), (9, 'i'), (6, 'i'), (2, 't'), (1, 'p')] {
            if kinds & 1 << bit == 0 {
                continue;
            }
            at -= 8;
            match kind {
                'c' => trailer.cpu = u32_at(record, at),
                't' => trailer.time = u64_at(record, at),
                'p' => (trailer.pid, trailer.tid) = (i32_at(record, at), i32_at(record, at + 4)),
                _ => {}
            }
        }
        trailer
    }

    /// Reads one record; returns how many bytes follow it that are no record.
    fn record(&mut self, record: &[u8], at: usize, configs: &[(u32, u64)]) -> usize {
        let out = record[5] & 0x20 != 0;
        match u32_at(record, 0) {
            1 => self.map(record, 8, 16, 40),
            10 => self.map(record, 8, 16, 72),
            3 if out => {
                let time = self.trailer(record).time;
                self.maps.push((time, MapRecord::Exec { pid: i32_at(record, 8) }));
            }
            7 if u32_at(record, 8) != u32_at(record, 12) => {
                let fork = MapRecord::Fork { child: i32_at(record, 8), parent: i32_at(record, 12) };
                self.maps.push((u64_at(record, 24), fork));
            }
            12 => {
                let trailer = self.trailer(record);
                let thread = ThreadId::new(i32_at(record, 8), i32_at(record, 12));
                self.switches.push(Switch { time: trailer.time, cpu: trailer.cpu, thread });
            }
            14 | 15 if !out => {
                let trailer = self.trailer(record);
                let thread = ThreadId::new(trailer.pid, trailer.tid);
                self.switches.push(Switch { time: trailer.time, cpu: trailer.cpu, thread });
            }
            20 => {
                let (old, new) = (record[16], record[18]);
                let from = 20 + usize::from(old);
                let new = record[from..from + usize::from(new)].to_vec();
                let time = self.trailer(record).time;
                self.maps.push((time, MapRecord::Poke { address: u64_at(record, 8), new }));
            }
            70 => self.auxtrace_info(record, configs),
            71 => {
                let size = size_at(record, 8);
                self.pieces.push(AuxPiece {
                    start: at + record.len(),
                    size,
                    aux_offset: u64_at(record, 16),
                    reference: u64_at(record, 24),
                    tid: i32_at(record, 36),
                    cpu: u32_at(record, 40),
                });
                return size;
            }
            _ => {}
        }
        0
    }

    fn map(&mut self, record: &[u8], pid: usize, start: usize, name: usize) {
        let map = MapRecord::Map {
            pid: i32_at(record, pid),
            start: u64_at(record, start),
            length: u64_at(record, start + 8),
            file_offset: u64_at(record, start + 16),
            path: text_at(record, name),
        };
        let time = self.trailer(record).time;
        self.maps.push((time, map));
    }

    fn auxtrace_info(&mut self, record: &[u8], configs: &[(u32, u64)]) {
        let private =
            |index: usize| if 16 + index * 8 < record.len() { u64_at(record, 16 + index * 8) } else { 0 };
        let narrow = |value: u64| u32::try_from(value).expect("a small number");
        let shift = u16::try_from(private(1)).expect("a shift");
        self.conversion = TimeConversion::new(shift, narrow(private(2)), private(3));
        self.snapshot = private(8) != 0;
        if private(12) != 0 && private(13) != 0 {
            self.config.tsc_ctc_ratio = Some((narrow(private(12)), narrow(private(13))));
        }
        self.config.nom_freq = u8::try_from(private(15)).expect("a ratio");
        let mask = private(11);
        if let Some((_, config)) = configs.iter().find(|(kind, _)| u64::from(*kind) == private(0))
            && mask != 0
        {
            self.config.mtc_freq = u8::try_from((config & mask) >> mask.trailing_zeros()).expect("four bits");
        }
    }

    /// All streams: by CPU, or by thread where the recording was per thread.
    pub fn streams(&self) -> Vec<(PtStream<'_>, Vec<Diagnostic>)> {
        let mut keys: Vec<(u32, i32)> = Vec::new();
        for piece in &self.pieces {
            if !keys.contains(&(piece.cpu, piece.tid)) {
                keys.push((piece.cpu, piece.tid));
            }
        }
        keys.into_iter().map(|key| self.stream(key)).collect()
    }

    fn stream(&self, (cpu, tid): (u32, i32)) -> (PtStream<'_>, Vec<Diagnostic>) {
        let pieces: Vec<&AuxPiece> =
            self.pieces.iter().filter(|piece| (piece.cpu, piece.tid) == (cpu, tid)).collect();
        let reference = pieces.first().map_or(0, |piece| piece.reference);
        let pieces = pieces.iter().map(|piece| Piece {
            bytes: &self.bytes[piece.start..piece.start + piece.size],
            aux_offset: piece.aux_offset,
            file_offset: FileOffset(piece.start as u64),
        });
        let cpu = (cpu != u32::MAX).then_some(Cpu(cpu));
        let thread = (tid != -1).then_some(Tid(tid));
        let (stream, diagnostics) = PtStream::new(cpu, thread, pieces, self.snapshot);
        (stream.with_reference(Tsc(reference)), diagnostics)
    }

    /// Who was on the stream's CPU, from the switch records; a thread's own stream has that thread.
    pub fn occupants(&self, stream: &PtStream<'_>) -> Vec<Occupant> {
        if let Some(tid) = stream.thread() {
            let pid = self.maps.iter().find_map(|(_, map)| match map {
                MapRecord::Map { pid, .. } if *pid > 0 => Some(*pid),
                _ => None,
            });
            return vec![Occupant { since: Tsc(0), thread: ThreadId::new(pid.unwrap_or(tid.0), tid.0) }];
        }
        let tsc =
            |time| self.conversion.map_or(Tsc(0), |conversion| conversion.to_tsc(model::PerfTime(time)));
        let on_cpu = self.switches.iter().filter(|switch| Some(Cpu(switch.cpu)) == stream.cpu());
        on_cpu.map(|switch| Occupant { since: tsc(switch.time), thread: switch.thread }).collect()
    }
}
