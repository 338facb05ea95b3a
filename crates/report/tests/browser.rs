//! Test that the HTML page works in a real browser: no complaint, no request, keys and mouse, hostile names, both
//! themes, accessibility (axe-core). They fail where no Chromium or no axe-core is installed:
//! `tests/consumers/install`. `TAILTRACE_PICTURES=DIR` keeps a picture of each theme.

#[path = "browser/chromium.rs"]
mod chromium;
#[path = "browser/composed.rs"]
mod composed;
#[path = "browser/first.rs"]
mod first;
#[path = "browser/keyboard.rs"]
mod keyboard;
#[path = "browser/looking.rs"]
mod looking;
#[path = "consumers/place.rs"]
mod place;
mod reports;
#[path = "browser/waits.rs"]
mod waits;

use std::path::{Path, PathBuf};

use chromium::Chromium;
use serde_json::json;
use tailtrace_report::{FlameView, Report, export_flamegraph, render_difference_html, render_html};

/// A folder that lives as long as the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tailtrace-browser-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn page(&self, report: &Report) -> PathBuf {
        self.written(&render_html(report))
    }

    fn written(&self, page: &str) -> PathBuf {
        let path = self.0.join("report.html");
        std::fs::write(&path, page).expect("written");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn browser(folder: &Folder) -> Chromium {
    Chromium::start(&folder.0.join("profile"))
}

/// Every place that the script fills is built, as if the reader had scrolled through the page.
fn unroll(browser: &mut Chromium) {
    browser.value("dispatchEvent(new Event('beforeprint'))");
    browser.settle();
}

#[test]
fn opens_in_both_themes_without_a_complaint() {
    let folder = Folder::new("opens");
    let mut browser = browser(&folder);
    let pages = [
        ("twenty", reports::twenty()),
        ("two hundred", reports::two_hundred()),
        ("view", reports::with_view()),
        ("composed", reports::composed()),
        ("served", reports::served()),
        ("empty", reports::empty()),
        ("bare", reports::bare()),
    ];
    for (name, report) in pages {
        let page = folder.page(&report);
        for theme in ["light", "dark"] {
            browser.open(&page, theme);
            let opened = browser.value("performance.getEntriesByType('navigation')[0].domComplete");
            println!("{name}, {theme}: opened in {opened} ms");
            unroll(&mut browser);
            keep_picture(&mut browser, &format!("{name}-{theme}"));
            let background = browser.text("getComputedStyle(document.documentElement).backgroundColor");
            let expected = if theme == "light" { "rgb(251, 251, 250)" } else { "rgb(20, 23, 26)" };
            assert_eq!(background, expected);
        }
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
    assert!(browser.requested.iter().all(|url| url.starts_with("file:///")), "{:?}", browser.requested);
}

fn keep_picture(browser: &mut Chromium, name: &str) {
    if let Some(folder) = std::env::var_os("TAILTRACE_PICTURES") {
        let path = Path::new(&folder).join(format!("{name}.png.base64"));
        std::fs::write(path, browser.picture()).expect("written");
    }
}

const TIMELINE: &str = "document.querySelector('.timeline .canvas')";
const FLAME: &str = "document.querySelector('.flame .canvas')";
const RANGE: &str = "document.querySelector('.timeline .push').textContent";
const DETAILS: &str = "document.querySelector('.timeline .details').textContent";

/// The first two segments are user code and a page fault (see `reports::page_faults`).
#[test]
fn keys_move_the_time_line() {
    let folder = Folder::new("keys");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::with_calls()), "light");
    unroll(&mut browser);
    browser.click(TIMELINE);
    let whole = browser.text(RANGE);
    assert!(whole.starts_with("all of "), "{whole}");
    let span = "(() => { const [from, to] = document.querySelector('.timeline .push').textContent.split(' to '); \
                return [from, to]; })()";
    browser.key("+");
    let zoomed = browser.value(span);
    assert_ne!(browser.text(RANGE), whole);
    browser.key("ArrowRight");
    assert_ne!(browser.value(span), zoomed);
    browser.key("ArrowLeft");
    assert_eq!(browser.value(span), zoomed);
    browser.key("-");
    assert_eq!(browser.text(RANGE), whole);
    browser.key("+");
    browser.key("0");
    assert_eq!(browser.text(RANGE), whole);
    browser.key("Escape");
    assert_eq!(browser.text(DETAILS), "");
    browser.key("n");
    assert!(browser.text(DETAILS).contains("user.expected"));
    browser.key("n");
    assert!(browser.text(DETAILS).contains("page-fault"), "{}", browser.text(DETAILS));
    browser.key("p");
    assert!(browser.text(DETAILS).contains("user.expected"));
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn the_mouse_chooses_pans_and_zooms() {
    let folder = Folder::new("mouse");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::with_calls()), "dark");
    unroll(&mut browser);
    browser.click("document.querySelector('.timeline rect.bar.fault')");
    let details = browser.text(DETAILS);
    assert!(details.contains("kernel.page-fault.minor") && details.contains("0x1a2b0"), "{details}");
    assert!(browser.value("document.querySelector('.timeline rect.chosen') !== null") == json!(true));
    let whole = browser.text(RANGE);
    let (x, y) = browser.middle(TIMELINE);
    browser.wheel(x, y, -120);
    let zoomed = browser.text(RANGE);
    assert_ne!(zoomed, whole);
    browser.mouse("mousePressed", x, y);
    browser.mouse("mouseMoved", x - 20.0, y);
    browser.mouse("mouseMoved", x - 60.0, y);
    browser.mouse("mouseReleased", x - 60.0, y);
    browser.settle();
    assert_ne!(browser.text(RANGE), zoomed);
    assert_eq!(browser.text(DETAILS), details, "a drag chooses nothing");
    browser.click("document.querySelector('.timeline button[title=\"Show everything\"]')");
    assert_eq!(browser.text(RANGE), whole);
    let scrolled = browser.value("scrollY");
    browser.value("document.activeElement.blur()");
    let (x, y) = browser.middle(TIMELINE);
    browser.wheel(x, y, -120);
    assert_eq!(
        browser.text(RANGE),
        whole,
        "the page scrolls where the time line is not focused; was at {scrolled}"
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// `main` calls `consume`, which calls `touch` (see `reports::with_calls`).
#[test]
fn the_flame_graph_and_the_table_answer() {
    let folder = Folder::new("flame");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::with_calls()), "light");
    unroll(&mut browser);
    let frames = "[...document.querySelectorAll('.flame rect.code')].map((it) => it.node.name).sort().join()";
    assert_eq!(browser.text(frames), "consume,main,touch");
    browser.click("[...document.querySelectorAll('.flame .tools button')][1]");
    assert_eq!(browser.text(frames), "consume,idle,main");
    browser.click("[...document.querySelectorAll('.flame .tools button')][2]");
    assert_eq!(browser.text(frames), "consume,idle,main,touch");
    let classes = "Object.fromEntries([...document.querySelectorAll('.flame rect.code')].map((it) => \
                   [it.node.name, it.getAttribute('class')]))";
    let colors = browser.value(classes);
    assert_eq!((&colors["touch"], &colors["idle"]), (&json!("code more"), &json!("code less")));
    browser
        .click("[...document.querySelectorAll('.flame rect.code')].find((it) => it.node.name === 'touch')");
    assert_eq!(browser.text(frames), "consume,main,touch");
    browser.value(&format!("{FLAME}.focus()"));
    browser.key("Escape");
    browser.key("Escape");
    browser.key("Escape");
    assert_eq!(browser.text(frames), "consume,idle,main,touch");
    let rows = "[...document.querySelectorAll('.tree tbody tr')].length";
    let open = browser.value(rows);
    browser.click("document.querySelector('.tree button[aria-expanded=\"true\"]')");
    assert_eq!(browser.value(rows), json!(1), "all {open} rows but the outermost close");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// The differential flame graph of two captures stands open, its buttons named by the captures.
#[test]
fn two_captures_are_drawn_against_each_other() {
    let folder = Folder::new("difference");
    let mut browser = browser(&folder);
    browser.open(&folder.written(&render_difference_html(&reports::difference())), "light");
    unroll(&mut browser);
    let buttons = "[...document.querySelector('.flame').querySelectorAll('button')].map((it) => \
                   `${it.textContent} ${it.getAttribute('aria-pressed')}`)";
    assert_eq!(browser.value(buttons), json!(["B false", "A false", "Difference true"]));
    let frames = "[...document.querySelectorAll('.flame rect.code')].map((it) => it.node.name).sort().join()";
    // Typical: A spends 13 us in `idle`, B 9 us in `consume`. Explained: those of `reports::with_calls`.
    assert_eq!(browser.text(frames), "consume,consume,idle,main,main,touch");
    let heads = "[...document.querySelectorAll('.tree th')].slice(0, 4).map((it) => it.textContent).join()";
    assert_eq!(browser.text(heads), "function,B,A,change");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// Two blocks of three instructions; the first instructions of both are of line 88 (see `reports::with_code`).
#[test]
fn the_listing_opens_on_demand() {
    let folder = Folder::new("listing");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::with_code()), "light");
    unroll(&mut browser);
    assert_eq!(browser.value("document.querySelectorAll('.asm').length"), json!(0));
    browser.click("document.querySelector('.listing summary')");
    let rows = "[...document.querySelectorAll('.asm tbody tr')].map((it) => [...it.cells].map((cell) => \
                cell.textContent).join(' '))";
    let expected = json!([
        "queue.c:88    sum += *at++; // <b>",
        "2.00 us 1.90 us 6000 5700 1 1 401a30 movq (%rdi), %rax",
        " 401a33 addq $8, %rdi",
        "queue.c:89    while (at < end)",
        " 401a37 jne 0x401a30",
        "queue.c:88",
        "60.0 us 600 ns 180000 1800 96 2 401a40 movq (%rdi), %rax",
        " 401a43 addq $8, %rdi",
        "queue.c:89",
        " 401a47 jne 0x401a30",
    ]);
    assert_eq!(browser.value(rows), expected);
    assert_eq!(
        browser
            .text("document.querySelector('.listing details .note + *, .listing details > p').textContent"),
        "7 colder instructions are left out"
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// The names of `reports::HOSTILE` hold tags, entities, terminal escapes and ten megabytes.
#[test]
fn hostile_names_stay_text() {
    let folder = Folder::new("hostile");
    let mut browser = browser(&folder);
    let page = folder.page(&reports::hostile_with_calls());
    browser.open(&page, "light");
    unroll(&mut browser);
    browser.click(TIMELINE);
    for _ in 0..12 {
        browser.key("n");
    }
    browser.click("document.querySelector('.flame rect.code')");
    browser.value("document.querySelectorAll('button').forEach((it) => it.click())");
    browser.value("document.querySelectorAll('details').forEach((it) => { it.open = true; })");
    browser.settle();
    let counts = browser.value(
        "['script', 'style', 'img', 'iframe', 'object', 'embed', 'link', 'form', 'base', '[onerror]', '[onload]']\
         .map((it) => document.querySelectorAll(it).length)",
    );
    assert_eq!(counts, json!([2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
    assert_eq!(browser.value("document.body.textContent.includes('<script>')"), json!(true));
    let alien =
        browser.value("[...document.querySelectorAll('a')].filter((it) => !it.hash || it.host).length");
    assert_eq!(alien, json!(0));
    assert_eq!(browser.complaints, Vec::<String>::new());
    assert!(browser.requested.iter().all(|url| url.starts_with("file:///")), "{:?}", browser.requested);
}

/// An SVG that `inferno` drew opens by itself, names of strangers stay text in it, and its own script runs: a click zooms. `touch` is
/// 62 us of 80 (see `reports::with_calls`).
#[test]
fn a_flame_graph_opens_alone() {
    let folder = Folder::new("svg");
    let mut browser = browser(&folder);
    let path = folder.0.join("flames.svg");
    for (report, name) in [(reports::with_calls(), "touch"), (reports::hostile_with_calls(), "<script>")] {
        for view in [FlameView::Outlier, FlameView::Typical, FlameView::Difference] {
            let svg = export_flamegraph(&report, view).expect("time to draw");
            std::fs::write(&path, svg).expect("written");
            browser.open(&path, "light");
            assert_eq!(browser.value("document.querySelectorAll('script').length"), json!(1));
            let titles = browser.text(
                "[...document.querySelectorAll('g > title, g title')].map((it) => it.textContent).join('|')",
            );
            assert!(titles.contains(name) || view == FlameView::Typical, "{titles}");
        }
    }
    let svg = export_flamegraph(&reports::with_calls(), FlameView::Outlier).expect("time to draw");
    std::fs::write(&path, svg).expect("written");
    browser.open(&path, "light");
    let touch =
        "[...document.querySelectorAll('#frames g')].find((it) => it.textContent.startsWith('touch'))";
    assert_eq!(
        browser.text(&format!("{touch}.querySelector('title').textContent")),
        "touch (62,000 ns, 77.50%)"
    );
    browser.click(&format!("{touch}.querySelector('rect')"));
    let unzoom = "getComputedStyle(document.querySelector('#unzoom')).display";
    assert_ne!(browser.text(unzoom), "none", "it is zoomed in");
    assert_eq!(browser.complaints, Vec::<String>::new());
    assert!(browser.requested.iter().all(|url| url.starts_with("file:///")), "{:?}", browser.requested);
}

#[test]
fn axe_finds_nothing_serious() {
    let folder = Folder::new("axe");
    let axe = place::of("node_modules/axe-core/axe.min.js");
    let mut browser = browser(&folder);
    let axe = std::fs::read_to_string(axe).expect("axe-core");
    let pages = [
        ("code", reports::with_code()),
        ("several", reports::several()),
        ("view", reports::with_view()),
        ("composed", reports::composed()),
        ("served", reports::served()),
        ("machine", reports::with_machine()),
    ];
    let pages = pages.map(|(name, report)| (name, render_html(&report)));
    let difference = ("difference", render_difference_html(&reports::difference()));
    for (name, page) in pages.into_iter().chain([difference]) {
        let page = folder.written(&page);
        for theme in ["light", "dark"] {
            browser.open(&page, theme);
            unroll(&mut browser);
            browser.value("document.querySelectorAll('details').forEach((it) => { it.open = true; })");
            browser.settle();
            browser.value(&format!("{axe};0"));
            let found = browser.value(
                "axe.run().then((found) => found.violations.map((it) => \
                 `${it.impact} ${it.id}: ${it.nodes.slice(0, 3).map((node) => node.html).join(' | ')}`))",
            );
            assert_eq!(found, json!([]), "{name}, {theme}");
        }
    }
}
