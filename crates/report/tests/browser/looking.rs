//! The time line's closer look: the machine's CPUs, wake-ups, tooltip, measuring, search, functions in the flame graph, the axis.

use serde_json::json;

use crate::{DETAILS, Folder, TIMELINE, browser, reports, unroll};

/// `reports::with_machine`: `comp` has CPU 0 from 10 us on and wakes `engine`, which runs again on CPU 1 from 75 us.
#[test]
fn cpus_show_who_was_on_them() {
    let folder = Folder::new("machine");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::with_machine()), "light");
    unroll(&mut browser);
    let runs = "[...document.querySelector('.timeline .canvas').querySelectorAll('rect.run')].map((it) => \
                `${it.bar.cpu} ${it.bar.cause} ${it.bar.run} ${it.bar.at}`)";
    assert_eq!(
        browser.value(runs),
        json!(["0 idle idle 0", "0 comp 122 other 10000", "1 engine 412 own 0", "1 engine 412 own 75000"])
    );
    let wakes = "[...document.querySelector('.timeline .canvas').querySelectorAll('.arrow.wake .shaft')].map((it) => it.hint)";
    assert_eq!(browser.value(wakes), json!(["comp 122 woke engine 412, which ran 5.00 us later"]));
    browser.hover("document.querySelector('.timeline .canvas rect.run.other')");
    let tip = "document.querySelector('.timeline .tip')";
    assert_eq!(browser.text(&format!("{tip}.textContent")), "comp 122, 70.0 us, from 10.000 us; on CPU 0");
    assert_eq!(browser.value(&format!("{tip}.hidden")), json!(false));
    // By keyboard: down through the lanes.
    browser.value(&format!("{TIMELINE}.focus()"));
    browser.key("n");
    browser.key("l");
    assert!(browser.text(DETAILS).contains("on CPU 0"), "{}", browser.text(DETAILS));
    browser.key("l");
    assert!(browser.text(DETAILS).contains("engine 412"), "{}", browser.text(DETAILS));
    browser.key("n");
    assert!(browser.text(DETAILS).contains("from 75.000 us"), "{}", browser.text(DETAILS));
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// The whole of 80 us by mouse with Shift; from the first segment to the second by keyboard.
#[test]
fn a_range_is_measured() {
    let folder = Folder::new("measure");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::with_calls()), "light");
    unroll(&mut browser);
    let (_, y) = browser.middle(TIMELINE);
    let edges = browser.value(&format!(
        "(() => {{ const box = {TIMELINE}.getBoundingClientRect(); return [box.left + 128, box.right]; }})()"
    ));
    let (left, right) = (edges[0].as_f64().expect("left"), edges[1].as_f64().expect("right"));
    let middle = f64::midpoint(left, right);
    browser.mouse_while("mousePressed", left + 0.5, y, 8);
    browser.mouse_while("mouseMoved", left + 30.0, y, 8);
    browser.mouse_while("mouseMoved", middle, y, 8);
    browser.mouse_while("mouseReleased", middle, y, 8);
    browser.settle();
    let told = browser.text(DETAILS);
    // Half of 80 us, to the width of two pixels.
    assert!(told.starts_with("measured 39.9") || told.starts_with("measured 40.0"), "{told}");
    assert!(
        browser.text("document.querySelector('.timeline .push').textContent").starts_with("all of"),
        "no pan"
    );
    assert_eq!(browser.value("document.querySelectorAll('.timeline rect.measure').length"), json!(1));
    browser.value(&format!("{TIMELINE}.focus()"));
    browser.key("Escape");
    assert_eq!(browser.value("document.querySelectorAll('.timeline rect.measure').length"), json!(0));
    browser.key("n");
    browser.key("m");
    browser.key("n");
    browser.key("m");
    let told = browser.text(DETAILS);
    assert!(
        told.starts_with("measured ") && told.contains("user.expected") && told.contains("page-fault"),
        "{told}"
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// What is found stands out, the rest fades; Enter chooses it.
#[test]
fn a_search_finds_segments_and_functions() {
    let folder = Folder::new("search");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::with_calls()), "light");
    unroll(&mut browser);
    browser.value("document.querySelector('.timeline input').focus()");
    for key in "touch".chars() {
        browser.key(&key.to_string());
    }
    let found = "[...document.querySelectorAll('.timeline rect.found')].every((it) => it.bar.cause === 'touch' || \
                 it.bar.detail.includes('touch'))";
    assert_eq!(browser.value(found), json!(true));
    assert_eq!(browser.value("document.querySelectorAll('.timeline rect.found').length > 0"), json!(true));
    browser.key("Enter");
    assert!(browser.text(DETAILS).contains("touch"), "{}", browser.text(DETAILS));
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn a_function_of_the_time_line_is_shown_in_the_flame_graph() {
    let folder = Folder::new("linked");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::with_calls()), "light");
    unroll(&mut browser);
    browser.click(
        "[...document.querySelectorAll('.timeline rect.code')].find((it) => it.bar.cause === 'touch')",
    );
    let chosen = "document.querySelector('.flame rect.chosen').node.name";
    assert_eq!(browser.text(chosen), "touch");
    browser.value("document.activeElement.blur()");
    browser.value(&format!("{TIMELINE}.focus()"));
    browser.key("f");
    assert_eq!(
        browser.value("document.activeElement === document.querySelector('.flame .canvas')"),
        json!(true)
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// Zoomed in far, no two labels of the axis are the same, and they count from the first.
#[test]
fn a_zoomed_axis_shows_offsets() {
    let folder = Folder::new("axis");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::with_calls()), "light");
    unroll(&mut browser);
    browser.value(&format!("{TIMELINE}.focus()"));
    for _ in 0..9 {
        browser.key("+");
    }
    let labels = browser.value(
        "[...document.querySelectorAll('.timeline text.dim')].filter((it) => it.getAttribute('y') === '11').map((it) => \
         it.textContent)",
    );
    let labels: Vec<&str> =
        labels.as_array().expect("labels").iter().filter_map(|one| one.as_str()).collect();
    assert!(labels.len() > 2, "{labels:?}");
    assert!(labels[1..].iter().all(|label| label.starts_with('+') && label.ends_with(" ns")), "{labels:?}");
    let mut different = labels.clone();
    different.dedup();
    assert_eq!(different, labels);
}
