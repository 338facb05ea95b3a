//! Screens, drawn in memory and held against golden files: `fixtures/screens`, read before they are blessed.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use super::look::Colours;
use super::*;
use crate::tui::app::state::State;
use crate::tui::app::{Effect, Message};
use crate::tui::testing::sample::{after, opened, opening, press};

fn drawn(state: &State) -> Buffer {
    let (width, height) = state.view.size;
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal in memory");
    terminal.draw(|frame| draw(&state.view, frame)).expect("drawn");
    terminal.backend().buffer().clone()
}

/// The characters of the screen, line by line.
fn text(buffer: &Buffer) -> String {
    let row = |y| (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..buffer.area.height).fold(String::new(), |all, y| all + row(y).trim_end() + "\n")
}

fn check(name: &str, state: &State) {
    let shown = text(&drawn(state));
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/screens").join(format!("{name}.txt"));
    if std::env::var_os("TAILTRACE_BLESS").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, &shown).expect("written");
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(shown, expected, "{name}: set TAILTRACE_BLESS=1 to write it anew, and read it");
}

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (160, 40);

#[test]
fn screens_of_the_population() {
    check("opening", &opening(SMALL));
    check("population", &opened(SMALL));
    // Back from the list and its two explained intervals.
    check("population_reasons", &after(SMALL, "\n\n\u{1b}↓\n\u{1b}\u{1b}"));
    check("made_of", &after(SMALL, "c"));
    check("made_of_before", &after((120, 40), "c←←"));
    check("made_of_small", &after((40, 20), "c"));
    check("intervals", &after(SMALL, "\n"));
    check("intervals_explained", &after(SMALL, "\n\n\u{1b}"));
    check("intervals_wide", &after((120, 40), "\na"));
    check("filter", &after(SMALL, "\nf>80us"));
}

#[test]
fn screens_of_an_outlier() {
    check("verdict", &after(SMALL, "\n\n"));
    check("timeline", &after(SMALL, "\n\n2"));
    check("timeline_unfolded", &after(SMALL, "\n\n2 ↓"));
    check("timeline_small", &after((60, 15), "\n\n2"));
    check("timeline_evidence", &after((60, 15), "\n\n2v"));
    check("verdict_small", &after((60, 15), "\n\n"));
    check("timeline_wide", &after(LARGE, "\n\n2"));
    check("calls", &after(SMALL, "\n\n3"));
    check("flow", &after(SMALL, "\n\n4↑↑ "));
    check("beside", &after(SMALL, "\n\n4b"));
    check("baseline", &after(SMALL, "\n\n5"));
    check("code", &after(SMALL, "\n\n6"));
    check("code_wide", &after(LARGE, "\n\n6"));
}

/// A server's stretch, the one below it, and what the thread did that preempted; in the list the second is the one that was served.
#[test]
fn screens_of_a_wait() {
    check("stretch", &after(SMALL, "\n↓\n2\n"));
    check("stretch_deeper", &after(SMALL, "\n↓\n2\n\n"));
    check("stretch_small", &after((60, 15), "\n↓\n2\n"));
    check("stretch_wide", &after(LARGE, "\n↓\n2\n"));
    check("stretch_evidence", &after((60, 15), "\n↓\n2\nv"));
    check("stretch_of_a_preemption", &after(SMALL, "\n\n2\n"));
}

#[test]
fn screens_of_a_block() {
    check("block", &after(SMALL, "\n\n4↑↑\n"));
    check("block_source", &after(SMALL, "\n\n4↑↑\n2"));
    check("block_packets", &after(SMALL, "\n\n4↑↑\n3"));
    check("block_wide", &after(LARGE, "\n\n4↑↑\n"));
}

#[test]
fn screens_in_front_of_a_page() {
    check("help", &after(SMALL, "\n?"));
    check("yank", &after(SMALL, "\n\ny"));
}

#[test]
fn a_decode_shows_how_far_it_is() {
    let mut state = opened(SMALL);
    press(&mut state, '\n');
    let effects = press(&mut state, '\n');
    let [Effect::Ask(request)] = &effects[..] else { panic!("asks: {effects:?}") };
    request.watch.expect(17);
    (0..5).for_each(|_| request.watch.done());
    state.update(Message::Tick);
    check("decoding", &state);
}

#[test]
fn hostile_names_reach_no_screen() {
    for keys in [
        "",
        "\n",
        "\n\n",
        "\n\n2",
        "\n\n2v",
        "c",
        "\n\n3",
        "\n\n4",
        "\n\n4b",
        "\n\n5",
        "\n\n4↑↑\n",
        "\n\n4↑↑\n2",
        "\n\n4↑↑\n3",
        "\n\ny",
        "\n↓↓\n",
        "\n\n2\n",
        "\n↓\n2\n↑↑",
        "\n↓\n2\n↑↑v",
    ] {
        let shown = text(&drawn(&after((200, 60), keys)));
        let unsafe_ones =
            |character: &char| *character != '\n' && (character.is_control() || *character == '\u{202e}');
        assert_eq!(shown.chars().find(unsafe_ones), None, "{keys:?}");
    }
    assert!(
        text(&drawn(&after((200, 60), "\n\n3"))).contains("evil\\u{1b}[2J\\u{202e}name\\r\\n"),
        "told, not hidden"
    );
}

#[test]
fn no_colour_is_left_where_none_is_wanted() {
    let mut buffer = drawn(&after(LARGE, "\n\n2"));
    let coloured = |buffer: &Buffer| {
        let is_plain = |colour| colour == ratatui::style::Color::Reset;
        buffer.content.iter().filter(|cell| !is_plain(cell.fg) || !is_plain(cell.bg)).count()
    };
    assert!(coloured(&buffer) > 100, "the strip has colours");
    Look { colours: Colours::None, is_unicode: true }.apply(&mut buffer);
    assert_eq!(coloured(&buffer), 0);
    assert!(text(&buffer).contains("PPPPPP"), "and letters, which remain");
}

/// The list of calls has a row of heads, which a screen of one row has no room for.
#[test]
fn a_page_down_on_a_screen_of_one_row_stays() {
    let state = after((1, 1), "\n\n3⇟");
    let _ = drawn(&state);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any keys at any size: nothing panics, and the screen is always full.
    #[test]
    fn any_walk_can_be_drawn(
        width in 1u16..220,
        height in 1u16..70,
        keys in prop::collection::vec(prop::sample::select("\n\t\u{1b}↑↓←→⇟ 123456csrfaezn/N?yv+-0b[]Gghlqx".chars().collect::<Vec<_>>()), 0..40),
    ) {
        let keys: String = keys.into_iter().collect();
        let mut state = after((width, height), &keys);
        let _ = drawn(&state);
        state.update(Message::Resize(height, width));
        let _ = drawn(&state);
    }
}
