//! What a decoder has decoded before does not show in what it decodes next.

use std::io::Write;

use model::CodeSection;
use tempfile::NamedTempFile;

use super::*;

/// The program in a file, which libipt reads and remembers by itself.
struct InFile(NamedTempFile);

impl InFile {
    fn new() -> InFile {
        let mut file = NamedTempFile::new().expect("a file");
        file.write_all(&CODE).expect("space");
        InFile(file)
    }
}

impl CodeBytes for InFile {
    fn epoch(&self, _: Pid, _: Tsc) -> CodeEpoch {
        let range = 0x1000..0x1000 + CODE.len() as u64;
        let section = CodeSection { range, file: Arc::new(self.0.path().to_owned()), file_offset: 0 };
        CodeEpoch { id: 1, until: Tsc(u64::MAX), sections: Arc::new([section]) }
    }

    fn read(&self, pid: Pid, address: u64, at: Tsc, into: &mut [u8]) -> usize {
        UNPATCHED.read(pid, address, at, into)
    }
}

/// The code from 1003 on is known when that from 1002 on runs for the first time, which leads into it without a branch; then all of it
/// is known.
#[test]
fn a_block_is_whole_where_a_part_of_it_ran_before() {
    for kind in KINDS {
        let code = InFile::new();
        let bytes = [psb(0x10000, Some(0x1003)), tip(0x1002), tip(0x1002), tip(0x1000)].concat();
        let stream = one_piece(&bytes);
        let window = Window { stream: &stream, range: ALL, occupants: &[] };
        let flow = decode_window(&mut engine(kind, 1000), &window, &code).expect("memory");
        let ran: Vec<_> = blocks(&flow).iter().map(|block| (block.0, block.1, block.2)).collect();
        let expected = [(0x1003, 2), (0x1002, 3), (0x1002, 3)];
        assert_eq!(ran[..3], expected.map(|(ip, count)| (ip, count, BlockEnd::Jump)), "{kind:?}");
    }
}
