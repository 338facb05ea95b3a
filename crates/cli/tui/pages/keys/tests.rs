use std::fs;
use std::path::Path;

use super::*;

/// The table of `docs/tui.md`.
fn table() -> String {
    let line = |binding: &Binding| {
        let places: Vec<&str> = binding.places.iter().map(|place| place.name()).collect();
        let place = if binding.is_everywhere() { "everywhere".to_owned() } else { places.join(", ") };
        let keys: Vec<String> = binding.keys.iter().map(|key| format!("`{}`", key.name())).collect();
        format!("| {} | {place} | {} |\n", keys.join(" "), binding.help)
    };
    let head = "| key | where | what |\n| --- | --- | --- |\n".to_owned();
    BINDINGS.iter().map(line).fold(head, |table, line| table + &line)
}

#[test]
fn the_document_has_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/tui.md");
    let text = fs::read_to_string(&path).expect("docs/tui.md is there");
    let (before, rest) = text.split_once("<!-- keys -->\n").expect("the table's begin is marked");
    let (shown, after) = rest.split_once("<!-- end of keys -->").expect("so is its end");
    if std::env::var_os("TAILTRACE_BLESS").is_some() {
        let text = format!("{before}<!-- keys -->\n{}<!-- end of keys -->{after}", table());
        fs::write(&path, text).expect("written");
        return;
    }
    assert_eq!(shown, table(), "set TAILTRACE_BLESS=1 to write it anew");
}

#[test]
fn no_key_means_two_things_at_one_place() {
    for &place in EVERYWHERE {
        let mut seen = Vec::new();
        for key in BINDINGS.iter().filter(|binding| binding.applies(place)).flat_map(|binding| binding.keys) {
            assert!(!seen.contains(key), "{} at {}", key.name(), place.name());
            seen.push(*key);
        }
    }
}

#[test]
fn keys_are_found_by_place() {
    let left = KeyEvent::new(KeyCode::Left, KeyModifiers::NONE);
    assert_eq!(action(left, Timeline), Some(Action::Left));
    assert_eq!(action(left, Baseline), Some(Action::PreviousBaseline));
    assert_eq!(action(left, Intervals), None);
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(action(interrupt, Flow), Some(Action::Quit));
    // Shift is part of the character.
    let last = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
    assert_eq!(action(last, Calls), Some(Action::Last));
}
