//! The keyboard does what the mouse does: every place is reached, is seen to have the focus, and answers.

use serde_json::json;
use tailtrace_report::{Report, render_difference_html, render_html};

use crate::chromium::Chromium;
use crate::{DETAILS, FLAME, Folder, TIMELINE, browser, reports, unroll};

/// What answers to a click or scrolls, is shown, and takes part in the order of Tab: in the page's own order.
const STOPS: &str = "[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex]')].filter((it) => \
                     it.tabIndex >= 0 && it.getClientRects().length > 0)";
const FOCUS: &str = "document.activeElement";

/// Tab leads to all of `page`, in order; each one is in view, not below the bar that stays at the top, and has a ring.
fn walk(browser: &mut Chromium, name: &str) {
    unroll(browser);
    browser.value(&format!(
        "window.stops = {STOPS}; {FOCUS}?.blur(); getSelection().removeAllRanges(); scrollTo(0, 0); 0"
    ));
    let count = browser.value("stops.length").as_u64().expect("a number");
    assert!(count > 5, "{name}: {count} places");
    for place in 0..count {
        browser.key("Tab");
        let found = browser.value(&format!(
            "(() => {{ const it = {FOCUS}; if (it !== stops[{place}]) return `${{it.outerHTML.slice(0, 200)}}, not \
             ${{stops[{place}].outerHTML.slice(0, 200)}}`; const style = getComputedStyle(it); \
             if (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 1) return `no ring: ${{it.outerHTML.slice(0, 200)}}`; \
             const box = it.getBoundingClientRect(), bar = document.querySelector('.guide'); \
             const above = bar && !bar.contains(it) ? bar.getBoundingClientRect() : {{ top: 0, bottom: 0 }}; \
             const is_below = box.bottom > above.bottom || box.top < above.top; \
             return is_below && box.bottom > 0 && box.top < innerHeight ? '' : `out of view: ${{it.outerHTML.slice(0, 200)}}`; }})()"
        ));
        assert_eq!(found, json!(""), "{name}, place {place}");
    }
}

#[test]
fn tab_leads_everywhere_and_is_seen() {
    let folder = Folder::new("tab");
    let mut browser = browser(&folder);
    let pages: [(&str, Report); 4] = [
        ("several", reports::several()),
        ("composed", reports::composed()),
        ("code", reports::with_code()),
        ("view", reports::with_view()),
    ];
    for (name, report) in pages {
        browser.open(&folder.written(&render_html(&report)), "light");
        walk(&mut browser, name);
    }
    browser.open(&folder.written(&render_difference_html(&reports::difference())), "dark");
    walk(&mut browser, "difference");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// Whatever a click presses, Enter presses.
#[test]
fn enter_presses_what_a_click_does() {
    let folder = Folder::new("enter");
    let mut browser = browser(&folder);
    browser.open(&folder.written(&render_html(&reports::several())), "light");
    unroll(&mut browser);
    let mut press = |what: &str, then: &str, expected: serde_json::Value| {
        browser.value(&format!("{what}.focus()"));
        browser.key("Enter");
        assert_eq!(browser.value(then), expected, "{what}");
    };
    let named = |name: &str| {
        format!("[...document.querySelectorAll('button')].find((it) => it.textContent === '{name}')")
    };
    let hidden = "[...document.querySelectorAll('section.outlier')].some((it) => it.hidden)";
    press(&named("only these"), hidden, json!(true));
    press(&named("Show all"), hidden, json!(false));
    let closed = "document.querySelector('section.outlier .body').hidden";
    press("document.querySelector('.opener')", closed, json!(true));
    press(&named("Expand all"), closed, json!(false));
    press(&named("Collapse all"), closed, json!(true));
    press(&named("↓ Next"), "location.hash", json!("#outlier-1"));
    press("document.querySelector('.list a')", "location.hash", json!("#outlier-1"));
    press(&named("Dark theme"), "document.documentElement.dataset.theme", json!("dark"));
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// Rows of the call tree, the listing, all segments, a segment's link, a command.
#[test]
fn enter_opens_what_an_outlier_holds() {
    let folder = Folder::new("opens-by-key");
    let mut browser = browser(&folder);
    browser.open(&folder.written(&render_html(&reports::with_code())), "light");
    unroll(&mut browser);
    let rows = "[...document.querySelectorAll('.tree tbody tr')].length";
    browser.value("document.querySelector('.tree button[aria-expanded=\"true\"]').focus()");
    browser.key("Enter");
    assert_eq!(browser.value(rows), json!(1));
    browser.value("document.querySelector('.listing summary').focus()");
    browser.key("Enter");
    browser.until("document.querySelectorAll('.asm').length === 1");
    browser.value("navigator.clipboard.writeText = async (words) => { window.copied = words; }; 0");
    browser.value("document.querySelector('.copy button').focus()");
    browser.key("Enter");
    assert!(browser.text("copied").starts_with("perf script"));
    browser.value(&format!("{TIMELINE}.focus()"));
    browser.key("n");
    browser.key("n");
    // The link follows the canvas in the order of Tab.
    browser.key("Tab");
    browser.key("Enter");
    assert_eq!(browser.text("location.hash"), "#segment-1-1");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// What the pointer shows at a bar of a histogram, arrows show below it.
#[test]
fn arrows_walk_along_a_histogram() {
    let folder = Folder::new("bins-by-key");
    let mut browser = browser(&folder);
    browser.open(&folder.written(&render_html(&reports::several())), "light");
    let bins = "[...document.querySelectorAll('.histogram.population .bin')]";
    assert_eq!(browser.value(&format!("{bins}.filter((it) => it.tabIndex === 0).length")), json!(1));
    let said = "document.querySelector('.histogram.population .said').textContent";
    browser.value(&format!("{bins}.find((it) => it.tabIndex === 0).focus()"));
    for (key, at) in [
        ("Home", "0"),
        ("ArrowRight", "1"),
        ("End", "-1"),
        ("ArrowLeft", "-2"),
        ("Home", "0"),
        ("ArrowLeft", "0"),
    ] {
        browser.key(key);
        let expected = browser.text(&format!("{bins}.at({at}).querySelector('title').textContent"));
        assert_eq!(browser.text(said), format!(" · {expected}"), "{key}");
        assert_eq!(browser.value(&format!("{FOCUS} === {bins}.at({at})")), json!(true), "{key}");
    }
    browser.value("document.activeElement.blur()");
    assert_eq!(browser.text(said), "");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// What the pointer shows at an arrow stands in the panel of what it leads to (see `reports::with_machine`, `reports::lock_wait`).
#[test]
fn arrows_are_told_by_keyboard() {
    let folder = Folder::new("arrows-by-key");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::with_machine()), "light");
    unroll(&mut browser);
    browser.value(&format!("{TIMELINE}.focus()"));
    for key in ["n", "l", "l", "n"] {
        browser.key(key);
    }
    let told = browser.text(DETAILS);
    assert!(told.contains("comp 122 woke engine 412, which ran 5.00 us later"), "{told}");
    browser.open(&folder.page(&reports::lock_wait()), "light");
    unroll(&mut browser);
    browser.value(&format!("{TIMELINE}.focus()"));
    let waits = "document.querySelector('.timeline .details b')?.textContent.startsWith('offcpu.')";
    for _ in 0..8 {
        if browser.value(waits) != json!(true) {
            browser.key("n");
        }
    }
    let told = browser.text(DETAILS);
    assert!(told.contains("woken by tid 121 after 1.00 ms"), "{told}");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// From one time line to the next outlier's, and back; `?` to the help, Esc back.
#[test]
fn keys_lead_between_time_lines_and_to_the_help() {
    let folder = Folder::new("help");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::several()), "light");
    unroll(&mut browser);
    browser.value(&format!("{TIMELINE}.focus()"));
    let section = "document.activeElement.closest('section').id";
    for (key, expected) in [("N", "outlier-2"), ("P", "outlier-1"), ("P", "outlier-1")] {
        browser.key(key);
        browser
            .until(&format!("{section} === '{expected}' && document.activeElement.className === 'canvas'"));
    }
    browser.key("?");
    assert_eq!(browser.text("document.activeElement.id"), "keys");
    browser.key("Escape");
    assert_eq!(browser.value(&format!("{FOCUS} === {TIMELINE}")), json!(true));
    // The link in the head leads there, too.
    browser.value("document.querySelector('.brand .help').focus()");
    browser.key("Enter");
    assert_eq!(browser.text("document.activeElement.id"), "keys");
    browser.key("Escape");
    assert_eq!(browser.value(&format!("{FOCUS} === document.querySelector('.brand .help')")), json!(true));
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// `main` calls `consume`, which calls `touch` (see `reports::with_calls`).
#[test]
fn keys_walk_and_zoom_a_flame_graph() {
    let folder = Folder::new("flame-by-key");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::with_calls()), "light");
    unroll(&mut browser);
    let chosen = "document.querySelector('.flame rect.chosen')?.node.name ?? ''";
    let whole = "[...document.querySelectorAll('.flame rect.code')].filter((it) => it.width.baseVal.value > \
                 document.querySelector('.flame .canvas').clientWidth - 2).map((it) => it.node.name).join()";
    browser.value(&format!("{FLAME}.focus()"));
    let steps = [
        ("ArrowDown", "main", "main"),
        ("ArrowDown", "consume", "main"),
        ("ArrowDown", "touch", "main"),
        ("ArrowUp", "consume", "main"),
        ("ArrowDown", "touch", "main"),
        ("Enter", "touch", "main,consume,touch"),
        ("Escape", "consume", "main,consume"),
    ];
    for (key, name, wide) in steps {
        browser.key(key);
        assert_eq!(browser.text(chosen), name, "{key}");
        assert_eq!(browser.text(whole), wide, "{key}");
    }
    browser.key("Escape");
    browser.key("Escape");
    browser.value("document.querySelector('.flame input').focus()");
    for key in ["t", "o", "u", "Enter"] {
        browser.key(key);
    }
    assert_eq!(browser.text(chosen), "touch");
    assert_eq!(browser.complaints, Vec::<String>::new());
}
