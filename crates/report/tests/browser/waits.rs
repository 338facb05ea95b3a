//! What is drawn of a wait: arrows between the lanes, the parts, the table of them, and the keys that lead there.

use serde_json::json;

use crate::chromium::Chromium;
use crate::{DETAILS, Folder, RANGE, TIMELINE, browser, reports, unroll};

/// The bar of the time line that begins at this time in a lane so many waits deep: its box in the picture.
fn bar(browser: &mut Chromium, at: u64, level: u64) -> [f64; 4] {
    boxed(
        browser,
        &format!(
            "[...document.querySelectorAll('.timeline rect.bar')].find((it) => \
             it.bar.at === {at} && it.bar.level === {level} && +it.getAttribute('y') === it.bar.lane.y)"
        ),
    )
}

/// Left, top, right and bottom of an element in the picture, without its outline.
fn boxed(browser: &mut Chromium, element: &str) -> [f64; 4] {
    let found = browser.value(&format!(
        "(() => {{ const it = ({element}).getBBox(); return [it.x, it.y, it.x + it.width, it.y + it.height]; }})()"
    ));
    let edges: Vec<f64> =
        found.as_array().expect("a box").iter().map(|edge| edge.as_f64().expect("a number")).collect();
    edges.try_into().expect("four edges")
}

/// The shaft of one of the arrows of a kind, in the order of the waits.
fn arrow(browser: &mut Chromium, kind: &str, number: usize) -> [f64; 4] {
    boxed(browser, &format!("document.querySelectorAll('.timeline .arrow.{kind} .shaft')[{number}]"))
}

/// The arrows of a wait that begins and ends at `wait`: the one from its begin to where the request is read, at `read`, and the one
/// from the end of the last piece of the other thread, which begins at `last`, up to the end of the wait. Both join the lanes.
fn assert_arrows(browser: &mut Chromium, number: usize, depth: u64, [wait, read, last]: [u64; 3]) {
    let [left, _, right, lower] = bar(browser, wait, depth);
    let [taken, below, ..] = bar(browser, read, depth + 1);
    let [_, _, end, _] = bar(browser, last, depth + 1);
    // What is drawn of the parts, if anything, belongs to the lane of the wait.
    let parts = "[...document.querySelectorAll('.timeline rect.part')].map((it) => it.getBBox().y + it.getBBox().height)";
    let parts = browser.value(parts);
    let parts = parts.as_array().expect("parts").iter().filter_map(serde_json::Value::as_f64);
    let lower = parts.filter(|&part| part < below).fold(lower, f64::max);
    let near = |found: f64, expected: f64, what: &str| {
        // Arrows are drawn in the middle of a pixel's width; a bar leaves 0.6 pixels free at its right end.
        assert!((found - expected).abs() < 1.0, "{what} of the wait at {wait}: {found}, expected {expected}");
    };
    let request = arrow(browser, "request", number);
    near(request[0], left, "the begin of the request");
    near(request[1], lower, "the upper end of the request");
    near(request[2], taken, "the end of the request");
    near(request[3], below, "the lower end of the request");
    let answer = arrow(browser, "answer", number);
    near(answer[0], right, "the answer");
    near(answer[2], end, "the answer");
    near(answer[1], lower, "the upper end of the answer");
    near(answer[3], below, "the lower end of the answer");
}

/// `engine` waits from 20 to 220 us for `store`, which reads the request at 35 us and waits from 60 to 160 us for `disk`, which reads its
/// question at 70 us (see `reports::served`).
#[test]
fn arrows_lead_to_the_server_and_back() {
    let folder = Folder::new("arrows");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::served()), "light");
    unroll(&mut browser);
    let lanes = "[...document.querySelectorAll('.timeline text.dim')].map((it) => it.textContent).filter((it) => \
                 /[a-z] [0-9]+$/.test(it))";
    assert_eq!(browser.value(lanes), json!(["engine 412", "↳ store 210", "↳↳ disk 310"]));
    assert_arrows(&mut browser, 0, 0, [20_000, 35_000, 210_000]);
    assert_arrows(&mut browser, 1, 1, [60_000, 70_000, 155_000]);
    let titles = "[...document.querySelectorAll('.timeline .arrow title')].map((it) => it.textContent)";
    assert_eq!(
        browser.value(titles),
        json!([
            "request, read by store 210 15.0 us after the wait began",
            "answer of store 210 after 200.0 us",
            "request, read by disk 310 10.0 us after the wait began",
            "answer of disk 310 after 100.0 us",
        ])
    );
    browser.value(&format!("{TIMELINE}.focus()"));
    browser.key("+");
    assert_eq!(browser.text(RANGE), "60.0 us to 180.0 us of 240.0 us");
    assert_eq!(
        browser.value("document.querySelectorAll('.canvas .arrow').length"),
        json!(2),
        "the inner ones"
    );
    assert_arrows(&mut browser, 0, 1, [60_000, 70_000, 155_000]);
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// The holder of a lock was asked nothing (see `reports::lock_wait`): one arrow, from its wake-up to the end of the wait.
#[test]
fn who_was_not_asked_gets_no_request() {
    let folder = Folder::new("holder");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::lock_wait()), "light");
    unroll(&mut browser);
    let titles = "[...document.querySelectorAll('.timeline .arrow title')].map((it) => it.textContent)";
    assert_eq!(browser.value(titles), json!(["woken by tid 121 after 1.00 ms"]));
    assert_eq!(
        browser.value("document.querySelectorAll('table.serving, .timeline rect.part').length"),
        json!(0)
    );
    let [_, _, right, lower] = bar(&mut browser, 60_000, 0);
    let [left, upper, ..] = arrow(&mut browser, "answer", 0);
    assert!(
        (left - right).abs() < 1.0 && (upper - lower).abs() < 1.0,
        "{left} {upper}, expected {right} {lower}"
    );
}

/// By part: `reports::served`. Keys lead from the wait into what the server did, along it, deeper, and back.
#[test]
fn parts_of_a_wait_are_named() {
    let folder = Folder::new("parts");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::served()), "dark");
    unroll(&mut browser);
    let parts = "[...document.querySelectorAll('.timeline rect.part')].map((it) => it.textContent)";
    assert_eq!(
        browser.value(parts),
        json!([
            "others first: working for others, 10.0 us",
            "between: until the request was read, and between requests, 5.00 us",
            "own work: working for this request, 25.0 us",
            "waits: waiting itself, 100.0 us",
            "not run: ready but not running, 10.0 us",
            "own work: working for this request, 50.0 us",
            "not run: ready but not running, 10.0 us",
            "own work: working for this request, 90.0 us",
        ])
    );
    let rows = "[...document.querySelectorAll('table.serving tbody tr')].map((it) => [...it.cells].map((cell) => \
                cell.textContent).join('|'))";
    assert_eq!(
        browser.value(rows),
        json!([
            "+100.0 us|100.0 us|-||waits waiting itself|offcpu.socket 100.0 us",
            "+45.0 us|75.0 us|30.0 us||own work working for this request|user in rehash() 40.0 us, user 20.0 us, \
             kernel.syscall.write 10.0 us",
            "+10.0 us|10.0 us|-||not run ready but not running|offcpu.runnable 10.0 us",
            "+10.0 us|10.0 us|-||others first working for others|user 10.0 us",
            "-5.00 us|5.00 us|10.0 us||between until the request was read, and between requests|\
             kernel.syscall.epoll_wait 5.00 us",
        ])
    );
    browser.value(&format!("{TIMELINE}.focus()"));
    let steps = [
        ("nnn", "what store 210 did during this time"),
        ("↓", "others first: working for others, rival (fd 9: 30 bytes in)"),
        ("nn", "own work: working for this request; the request is read here"),
        ("nn", "what disk 310 did during this time"),
        ("↓", "not run: ready but not running"),
        ("↑↑", "what store 210 did during this time"),
        ("p", "kernel.syscall.recvfrom"),
    ];
    for (keys, expected) in steps {
        for key in keys.chars() {
            let name = key.to_string();
            browser.key(match key {
                '↓' => "ArrowDown",
                '↑' => "ArrowUp",
                _ => &name,
            });
        }
        let told = browser.text(DETAILS);
        assert!(told.contains(expected), "{keys}: {told}");
    }
    // A system call has nothing below it: the key is left to the page, which scrolls.
    browser.value("addEventListener('keydown', (event) => { window.kept = event.defaultPrevented; }); 0");
    for (key, is_kept) in [("ArrowDown", false), ("n", true), ("ArrowDown", true)] {
        browser.key(key);
        assert_eq!(browser.value("kept"), json!(is_kept), "{key}");
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}
