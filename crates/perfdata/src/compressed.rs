//! Unpacks COMPRESSED records (`perf record -z`): one zstd stream, cut into pieces, that holds further records.
//!
//! The stream is flushed at each piece and never ended. Records run across the borders of pieces.

use std::ops::Range;

use model::{Diagnostic, FileOffset};
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use crate::record::{HEADER_SIZE, Header, kinds};

/// The most that is unpacked: sideband of hours. AUX data is never compressed.
const MOST_UNPACKED: usize = 1 << 30;
/// The most that one byte unpacks to before it is taken for an attack; perf reaches 5 to 50.
const MOST_RATIO: usize = 1000;
/// Bytes unpacked in one step.
const STEP: usize = 1 << 16;

/// What came out.
#[derive(Debug, Default)]
pub(crate) struct Unpacked {
    /// Records, one after the other.
    pub(crate) bytes: Vec<u8>,
    /// (first byte in `bytes`, offset of the COMPRESSED record it came from).
    pub(crate) origins: Vec<(usize, u64)>,
}

/// Unpacks the COMPRESSED records at `records` of a file, as far as they are sound.
pub(crate) fn unpack(file: &[u8], records: &[Range<usize>], diagnostics: &mut Vec<Diagnostic>) -> Unpacked {
    let mut unpacked = Unpacked::default();
    let packed: usize = records.iter().map(Range::len).sum();
    let most = packed.saturating_mul(MOST_RATIO).min(MOST_UNPACKED);
    let Ok(mut decoder) = Decoder::new() else {
        diagnostics
            .push(Diagnostic::error("no memory to decompress COMPRESSED records: their content is missing"));
        return unpacked;
    };
    let mut step = vec![0; STEP];
    for record in records {
        let payload = payload_of(&file[record.clone()]);
        unpacked.origins.push((unpacked.bytes.len(), record.start as u64));
        if let Err(reason) = unpack_piece(&mut decoder, payload, &mut step, most, &mut unpacked.bytes) {
            let what = format!(
                "a COMPRESSED record cannot be decompressed ({reason}): its content and that of the following ones is lost"
            );
            diagnostics.push(Diagnostic::error(what).at_offset(FileOffset(record.start as u64)));
            break;
        }
    }
    unpacked
}

/// The zstd bytes of a COMPRESSED or COMPRESSED2 record.
fn payload_of(record: &[u8]) -> &[u8] {
    let body = record.get(HEADER_SIZE..).unwrap_or(&[]);
    if Header::read(record).is_none_or(|header| header.kind != kinds::COMPRESSED2) {
        return body;
    }
    // COMPRESSED2 is padded to eight bytes and says its true length.
    let length = crate::bytes::u64_at(body, 0).and_then(|length| usize::try_from(length).ok());
    length.and_then(|length| body.get(8..)?.get(..length)).unwrap_or(&[])
}

fn unpack_piece(
    decoder: &mut Decoder<'_>,
    payload: &[u8],
    step: &mut [u8],
    most: usize,
    bytes: &mut Vec<u8>,
) -> Result<(), String> {
    let mut input = InBuffer::around(payload);
    loop {
        let mut output = OutBuffer::around(&mut *step);
        decoder.run(&mut input, &mut output).map_err(|error| error.to_string())?;
        let produced = output.as_slice();
        if bytes.len() + produced.len() > most {
            return Err(format!("more than {most} bytes come out of it"));
        }
        bytes.extend_from_slice(produced);
        // A full buffer may mean that more is waiting.
        if input.pos() == payload.len() && produced.len() < STEP {
            return Ok(());
        }
    }
}
