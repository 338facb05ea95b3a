//! Source lines of code made at run time, from its jitdump. The scenario says at which address each line begins; that perf reads the same
//! from the dump is a test of `tracegen`.

use super::Made;

/// What is called is named with its line, and each instruction in the list of hot code has its file.
#[test]
fn code_of_a_jitdump_has_its_lines() {
    let made = Made::named("jit_dump-lines");
    let (intervals, page) = (made.folder.path().join("intervals.csv"), made.folder.path().join("page.html"));
    let paths = [&intervals, &page].map(|path| path.to_str().expect("UTF-8"));
    let text = made.tailtrace("explain", &["--intervals", paths[0], "--id", "8", "--html", paths[1]]);
    assert!(text.contains("Orders.match() at orders.js:7 called"), "{text}");
    let html = std::fs::read_to_string(&page).expect("a page");
    for listed in [
        r#""/srv/shop/orders.js","7fff00000000""#,
        r#""/srv/shop/prices.js","7fff00000005""#,
        r#""7fff00000009","nop""#,
    ] {
        assert!(html.contains(listed), "{listed}");
    }
}
