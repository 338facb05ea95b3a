//! The first screen and what stays at the top: filters, previous and next, collapse, copying, links to segments, phones, paper.

use serde_json::json;
use tailtrace_report::render_html;

use crate::chromium::Chromium;
use crate::{DETAILS, Folder, browser, reports, unroll};

/// The headings of the sections that are shown.
const SHOWN: &str =
    "[...document.querySelectorAll('section.outlier')].filter((it) => !it.hidden).map((it) => it.id)";
const ROWS: &str = "[...document.querySelectorAll('.list tbody tr')].filter((it) => !it.hidden).length";

fn count(browser: &mut Chromium, expression: &str) -> usize {
    browser.value(expression).as_array().map_or(0, Vec::len)
}

/// Each story leaves as many sections as its row says; the same button, and the one at the top, take it back.
#[test]
fn a_story_filters_the_page() {
    let folder = Folder::new("stories");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::several()), "light");
    let all = count(&mut browser, SHOWN);
    let said = browser.text("document.querySelector('.stories tr[data-of=\"0\"] td').firstChild.textContent");
    let of_story: usize = said.trim().parse().expect("a number");
    assert!(of_story < all, "{of_story} of {all}: the report has several stories");
    browser.click("document.querySelector('.stories tr[data-of=\"0\"] button')");
    assert_eq!(count(&mut browser, SHOWN), of_story);
    assert_eq!(browser.value(ROWS), json!(of_story));
    assert_eq!(
        browser.text("document.querySelector('.guide .count').textContent"),
        format!("{of_story} of {all} shown")
    );
    browser.click("document.querySelector('.guide .reset')");
    assert_eq!(count(&mut browser, SHOWN), all);
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// A bar of the histogram that holds an outlier is a button, by mouse and by keyboard.
#[test]
fn a_bar_of_the_histogram_filters_the_page() {
    let folder = Folder::new("bins");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::several()), "light");
    let all = count(&mut browser, SHOWN);
    let bins = "[...document.querySelectorAll('.bin.holds')]";
    let held = count(&mut browser, &format!("{bins}.map((it) => it.id)"));
    assert!(held > 0, "outliers lie in bins");
    let expected = browser.value(&format!(
        "(() => {{ const [from, to] = [+{bins}[0].dataset.from, +{bins}[0].dataset.to]; return \
         [...document.querySelectorAll('section.outlier')].filter((it) => +it.dataset.took >= from && +it.dataset.took < \
         to).map((it) => it.id); }})()"
    ));
    browser.click(&format!("{bins}[0]"));
    assert_eq!(browser.value(SHOWN), expected);
    browser.value(&format!("{bins}[0].focus()"));
    browser.key("Enter");
    assert_eq!(count(&mut browser, SHOWN), all, "the second time it takes the filter back");
    browser.key("Enter");
    assert_eq!(browser.value(SHOWN), expected);
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn the_guide_leads_from_one_to_the_next() {
    let folder = Folder::new("guide");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::several()), "light");
    let next =
        "[...document.querySelectorAll('.guide button')].find((it) => it.textContent.includes('Next'))";
    let previous =
        "[...document.querySelectorAll('.guide button')].find((it) => it.textContent.includes('Previous'))";
    for (button, expected) in [(next, "#outlier-1"), (next, "#outlier-2"), (previous, "#outlier-1")] {
        browser.value(&format!("{button}.click()"));
        browser.settle();
        assert_eq!(browser.text("location.hash"), expected);
    }
    let bodies =
        "[...document.querySelectorAll('section.outlier > .body')].filter((it) => !it.hidden).length";
    let press = |name: &str| {
        format!(
            "[...document.querySelectorAll('.guide button')].find((it) => it.textContent === '{name}').click()"
        )
    };
    browser.value(&press("Collapse all"));
    assert_eq!(browser.value(bodies), json!(0));
    browser.click("document.querySelector('section.outlier .opener')");
    assert_eq!(browser.value(bodies), json!(1));
    browser.value(&press("Expand all"));
    assert_ne!(browser.value(bodies), json!(1));
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn commands_are_copied() {
    let folder = Folder::new("copy");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::with_calls()), "light");
    browser.value("navigator.clipboard.writeText = async (words) => { window.copied = words; }; 0");
    browser.click("document.querySelector('.copy button')");
    let (copied, command) =
        (browser.text("copied"), browser.text("document.querySelector('pre.command').textContent"));
    assert!(copied.starts_with("perf script") && copied == command, "{copied}");
    assert_eq!(browser.text("document.querySelector('.copy button').textContent"), "Copied");
}

/// The second bar is a page fault (see `reports::page_faults`). The link that a segment shows leads to it.
#[test]
fn each_segment_has_a_link() {
    let folder = Folder::new("links");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::with_calls()), "light");
    unroll(&mut browser);
    browser.click("document.querySelector('.timeline rect.bar.fault')");
    let link = browser.text("document.querySelector('.timeline .details a').hash");
    assert_eq!(link, "#segment-1-1");
    browser.value("document.querySelector('.timeline .canvas').focus()");
    browser.key("Escape");
    assert_eq!(browser.text(DETAILS), "");
    browser.value(&format!("location.hash = '{link}'"));
    browser.settle();
    assert!(browser.text(DETAILS).contains("page-fault"), "{}", browser.text(DETAILS));
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// On a phone nothing is wider than the screen.
#[test]
fn a_phone_shows_it_without_scrolling_sideways() {
    let folder = Folder::new("phone");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::several()), "light");
    browser.resize(400, 800);
    unroll(&mut browser);
    assert_eq!(browser.value("document.documentElement.scrollWidth <= 400"), json!(true));
    let cell = "getComputedStyle(document.querySelector('.list td:last-child')).display";
    assert_eq!(browser.text(cell), "block");
}

/// At most two sheets for each outlier, and one for what is true of all.
#[test]
fn it_prints_on_few_sheets() {
    let folder = Folder::new("paper");
    let mut browser = browser(&folder);
    let report = reports::several();
    browser.open(&folder.written(&render_html(&report)), "light");
    unroll(&mut browser);
    let sheets = browser.sheets();
    assert!(sheets >= 1 && sheets <= 2 * report.outliers.len() + 2, "{sheets} sheets");
}

/// A time line that was drawn for the window shrinks to the paper: its last bar stays on the sheet. Nothing is drawn anew in between.
#[test]
fn a_time_line_shrinks_to_the_paper() {
    let folder = Folder::new("shrinks");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::with_calls()), "light");
    unroll(&mut browser);
    browser.medium("print");
    let room = browser.value(
        "(() => { const canvas = document.querySelector('.timeline .canvas'); canvas.style.width = '600px'; \
         const rights = [...canvas.querySelectorAll('rect.bar')].map((it) => it.getBoundingClientRect().right); \
         return canvas.getBoundingClientRect().right - Math.max(...rights); })()",
    );
    assert!((-0.5..2.0).contains(&room.as_f64().expect("a number")), "{room}");
}

/// However many outliers a page has, opening it draws only what is near the screen, and its own markup is bounded for each.
#[test]
fn opening_two_hundred_draws_no_more_than_twenty() {
    let folder = Folder::new("work");
    let mut browser = browser(&folder);
    let mut opened = |report| {
        browser.open(&folder.page(&report), "light");
        let drawn = "[...document.querySelectorAll('.timeline, .calls, .listing')].filter((it) => it.children.length).length";
        (browser.value(drawn).as_u64(), browser.value("document.querySelectorAll('*').length").as_u64())
    };
    let (twenty, two_hundred) = (opened(reports::twenty()), opened(reports::two_hundred()));
    println!("places drawn and elements: {twenty:?} {two_hundred:?}");
    assert!(two_hundred.0 <= twenty.0.max(Some(3)));
    assert!(two_hundred.1 <= Some(300 * 200));
}

/// Nothing is drawn far away from the screen, and all of it once the reader comes near.
#[test]
fn what_comes_near_is_drawn() {
    let folder = Folder::new("near");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::several()), "dark");
    let last = "[...document.querySelectorAll('.timeline')].at(-1)";
    assert_eq!(browser.value(&format!("{last}.children.length")), json!(0));
    browser.value(&format!("{last}.scrollIntoView()"));
    browser.until(&format!("{last}.querySelector('.canvas svg') !== null"));
    assert_eq!(browser.complaints, Vec::<String>::new());
}
