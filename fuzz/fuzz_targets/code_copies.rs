//! Any bytes as a file of code copies: each copy lies in the file and in the user half, in the order of places and times; what was read can be
//! written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use symbols::code_copies::{CodeCopies, LONGEST, to_bytes};

fuzz_target!(|bytes: &[u8]| {
    let Ok(read) = CodeCopies::parse(bytes) else { return };
    let key = |copy: &symbols::code_copies::CodeCopy| (copy.pid, copy.address, copy.from, copy.to);
    assert!(read.copies.is_sorted_by_key(key));
    for copy in &read.copies {
        let code = bytes.get(copy.bytes.clone()).expect("within the file");
        assert!((1..=LONGEST).contains(&code.len()) && copy.from <= copy.to);
        assert!(copy.range().end <= 1 << 63 && copy.range().end - copy.range().start == code.len() as u64);
    }
    let with_bytes = read.copies.iter().map(|copy| (copy, &bytes[copy.bytes.clone()]));
    let written = to_bytes(with_bytes);
    let again = CodeCopies::parse(&written).expect("what was written");
    assert_eq!(again.left_out, 0);
    let contents = |file: &[u8], copies: &CodeCopies| -> Vec<_> {
        copies.copies.iter().map(|copy| (key(copy), file[copy.bytes.clone()].to_vec())).collect()
    };
    assert_eq!(contents(&written, &again), contents(bytes, &read));
});
