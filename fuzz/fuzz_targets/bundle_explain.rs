//! A bundle whose slice and program hold any bytes, explained and written as a page: the way of a stranger's ticket.
#![no_main]

use analysis::bundle::Opened;
use analysis::study::Listing;
use analysis::{NoMeter, Request};
use libfuzzer_sys::fuzz_target;

/// A list of no files: checksums would stop every change.
const MANIFEST: &str = r#"{"format": "tailtrace-bundle/1", "tool": "fuzz", "recorded_with": [], "slice": "slice",
    "symfs": "symfs", "redacted": false, "files": []}"#;

// The slice's length in four bytes, the slice, the program.
fuzz_target!(|bytes: &[u8]| {
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else { return };
    let (slice, program) = rest.split_at((u32::from_le_bytes(*length) as usize).min(rest.len()));
    let root = tempfile::tempdir().expect("a temporary folder");
    let put = |name: &str, bytes: &[u8]| std::fs::write(root.path().join(name), bytes).expect("written");
    std::fs::create_dir(root.path().join("symfs")).expect("a folder");
    put("manifest.json", MANIFEST.as_bytes());
    put("slice", slice);
    // Every recorded path that ends so is looked for there.
    put("symfs/app", program);
    let bundle = Opened::open(root.path()).expect("a bundle");
    let Ok((report, _)) = bundle.explain(&Request::default(), &NoMeter, Listing::Wanted) else { return };
    let page = report::render_html(&report);
    assert!(page.ends_with("</html>\n"), "a page that is cut short");
});
