//! The slider over the percentiles.

use serde_json::json;

use crate::{Folder, browser, reports};

const SLIDER: &str = "document.querySelector('.composition input[type=range]')";
const SAID: &str = "document.querySelector('.composition output').textContent";
const ROWS: &str = "[...document.querySelectorAll('.composition tbody tr')].map((row) => [...row.cells].map((cell) => \
                    cell.textContent).filter((it) => it).join(' '))";
const CHOSEN: &str =
    "[...document.querySelectorAll('.composition .column')].findIndex((it) => it.matches('.chosen'))";

/// By hand (`reports::composed`): the slowest take 511, 411, 311 us and so on; p99 is the last but one, and p98, before it, stands for
/// itself and one on either side.
#[test]
fn the_slider_shows_what_a_percentile_is_made_of() {
    let folder = Folder::new("composed");
    let mut browser = browser(&folder);
    browser.open(&folder.page(&reports::composed()), "light");
    assert_eq!(browser.text(SAID), "p99: 411.0 us, mean of 1 interval around it");
    let rows =
        |lock: &str| json!([lock, "10.0 us 2.4 % user.expected", "1.00 us 0.2 % kernel.page-fault.minor"]);
    assert_eq!(browser.value(ROWS), rows("400.0 us 97.3 % offcpu.lock"));
    browser.value(&format!("{SLIDER}.focus()"));
    browser.key("ArrowLeft");
    browser.settle();
    assert_eq!(browser.text(SAID), "p98: 311.0 us, mean of 3 intervals around it");
    let at = browser.value(CHOSEN);
    browser.key("Home");
    browser.settle();
    assert_eq!(browser.text(SAID), "shortest: 11.0 us, mean of 1 interval around it");
    assert_eq!(
        browser.value(ROWS),
        json!(["10.0 us 90.9 % user.expected", "1.00 us 9.1 % kernel.page-fault.minor"])
    );
    browser.value(&format!(
        "document.querySelectorAll('.composition .column')[{at}].dispatchEvent(new MouseEvent('click', {{ bubbles: true }}))"
    ));
    assert_eq!(browser.text(SAID), "p98: 311.0 us, mean of 3 intervals around it");
    assert_eq!(browser.text(&format!("{SLIDER}.getAttribute('aria-valuetext')")), "p98: 311.0 us");
    assert_eq!(browser.complaints, Vec::<String>::new());
}
