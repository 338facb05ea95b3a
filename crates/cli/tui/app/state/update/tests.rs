use super::*;
use crate::tui::pages::keys::Place;
use crate::tui::pages::page::OutlierPart;
use crate::tui::testing::sample::{SERVED, SLOW, after, answer, opened, opening, press};

const SIZE: (u16, u16) = (80, 24);

fn ask_of(effects: &[Effect]) -> Option<Ask> {
    effects.iter().find_map(|effect| match effect {
        Effect::Ask(request) => Some(request.ask),
        _ => None,
    })
}

#[test]
fn the_way_down_and_up() {
    let mut state = after(SIZE, "\n\n4↑↑\n");
    let mut way = vec![state.view.place()];
    for _ in 0..3 {
        press(&mut state, '\u{1b}');
        way.push(state.view.place());
    }
    assert_eq!(way, [Place::Block, Place::Flow, Place::Intervals, Place::Population]);
    press(&mut state, '\u{1b}');
    assert_eq!(state.view.place(), Place::Population, "there is always a page");
}

#[test]
fn only_what_is_opened_is_decoded() {
    let mut state = opened(SIZE);
    assert_eq!(ask_of(&press(&mut state, '\n')), None, "the list is there at once");
    assert_eq!(ask_of(&press(&mut state, '↓')), None);
    assert_eq!(ask_of(&press(&mut state, '\n')), Some(Ask::Explain { index: 7 }));
    state.update(Message::Answer(answer(Ask::Explain { index: 7 })));
    press(&mut state, '\u{1b}');
    assert_eq!(ask_of(&press(&mut state, '\n')), None, "once is enough");
}

#[test]
fn esc_cancels_the_decode_and_closes_its_page() {
    let mut state = opened(SIZE);
    press(&mut state, '\n');
    let effects = press(&mut state, '\n');
    let Some(Effect::Ask(request)) = effects.into_iter().next() else { panic!("asks") };
    assert_eq!((state.view.place(), request.watch.is_stopped()), (Place::Verdict, false));
    press(&mut state, '\u{1b}');
    assert_eq!((state.view.place(), request.watch.is_stopped()), (Place::Intervals, true));
    assert!(state.view.task.is_none());
    state.update(Message::Answer(Answer::Stopped));
    assert_eq!(state.view.place(), Place::Intervals);
}

#[test]
fn esc_while_the_flow_is_decoded_leaves_the_page() {
    let mut state = after(SIZE, "\n\n");
    let effects = press(&mut state, '4');
    assert_eq!(ask_of(&effects), Some(Ask::Flow { index: SLOW, range: (0, 1_168_701) }));
    press(&mut state, '\u{1b}');
    assert_eq!(state.view.place(), Place::Flow, "the interval is explained: its page stays");
    press(&mut state, '\u{1b}');
    assert_eq!(state.view.place(), Place::Intervals);
}

#[test]
fn esc_stops_the_timing_of_code() {
    let mut state = after(SIZE, "\n\n");
    let effects = press(&mut state, '6');
    let [Effect::Ask(request)] = &effects[..] else { panic!("asks: {effects:?}") };
    assert_eq!(request.ask, Ask::Code { index: SLOW });
    press(&mut state, '\u{1b}');
    assert_eq!((state.view.place(), request.watch.is_stopped()), (Place::Code, true));
    state.update(Message::Answer(Answer::Stopped));
    assert_eq!(ask_of(&press(&mut state, '6')), Some(Ask::Code { index: SLOW }), "asked for anew");
}

#[test]
fn a_segment_opens_its_own_flow() {
    let mut state = after(SIZE, "\n\n2↑");
    let asked = ask_of(&press(&mut state, '\n'));
    assert_eq!(asked, Some(Ask::Flow { index: SLOW, range: (34_500, 53_500) }));
    assert_eq!(state.view.place(), Place::Flow);
}

/// The second in the list waits for `store`, which waits for `disk`; nothing of it needs a decode.
#[test]
fn a_wait_opens_what_the_other_thread_did() {
    let mut state = after(SIZE, "\n↓\n2");
    let path = |state: &State| match state.view.page() {
        Page::Stretch(page) => page.path.clone(),
        _ => Vec::new(),
    };
    let mut seen = Vec::new();
    for key in "\n\n\n".chars() {
        assert_eq!(ask_of(&press(&mut state, key)), None);
        seen.push(path(&state));
    }
    assert_eq!(seen, [vec![1], vec![1, 2], vec![1, 2]], "user code has nothing below it");
    assert_eq!(state.view.notice.as_deref(), Some("nothing is known below this"));
    press(&mut state, '\u{1b}');
    assert_eq!((path(&state), state.view.place()), (vec![1], Place::Stretch));
    press(&mut state, '\u{1b}');
    assert_eq!(state.view.place(), Place::Timeline);
    press(&mut state, '↑');
    assert_eq!(ask_of(&press(&mut state, '\n')), Some(Ask::Flow { index: SERVED, range: (0, 5_000) }));
}

#[test]
fn search_finds_whom_a_server_served() {
    let state = after(SIZE, "\n↓\n2\n/list()\n");
    let Page::Stretch(page) = state.view.page() else { panic!("a wait") };
    assert_eq!(page.cursor.at(5), 0);
}

#[test]
fn a_typical_flow_beside_needs_no_decode() {
    let mut state = after(SIZE, "\n\n");
    let effects = press(&mut state, '4');
    let [Effect::Ask(request)] = &effects[..] else { panic!("asks: {effects:?}") };
    assert_eq!(ask_of(&press(&mut state, 'b')), None);
    assert!(request.watch.is_stopped() && state.view.task.is_none(), "the flow alone is not wanted now");
    assert_eq!(ask_of(&press(&mut state, '\n')), Some(Ask::Flow { index: SLOW, range: (53_500, 1_149_300) }));
}

#[test]
fn late_answers_to_other_questions_are_dropped() {
    let mut state = after(SIZE, "\n\n");
    press(&mut state, '4');
    let Answer::Flow(index, mut flow) = answer(Ask::Flow { index: SLOW, range: (0, 1_168_701) }) else {
        panic!()
    };
    flow.asked = (1, 2);
    state.update(Message::Answer(Answer::Flow(index, flow)));
    assert!(state.view.task.is_some(), "still waiting for its own");
    let Page::Outlier(page) = state.view.page() else { panic!("an outlier") };
    assert!(page.flow.flow.is_none());
}

#[test]
fn all_listed_ones_are_explained_one_after_the_other() {
    let mut state = opened(SIZE);
    press(&mut state, '\n');
    let mut asked = Vec::new();
    let mut next = ask_of(&press(&mut state, 'e'));
    while let Some(ask) = next {
        asked.push(ask);
        next = ask_of(&state.update(Message::Answer(answer(ask))));
    }
    assert_eq!(asked, [SLOW, 7, 8].map(|index| Ask::Explain { index }));
    assert_eq!(state.view.known.len(), 3);
    assert_eq!(ask_of(&press(&mut state, 'e')), None, "nothing is left");
}

#[test]
fn esc_ends_the_queue_too() {
    let mut state = opened(SIZE);
    press(&mut state, '\n');
    press(&mut state, 'e');
    press(&mut state, '\u{1b}');
    assert_eq!(ask_of(&state.update(Message::Answer(Answer::Stopped))), None);
    assert_eq!((state.view.place(), state.view.task.is_none()), (Place::Intervals, true));
}

#[test]
fn a_failure_is_told() {
    let mut state = opened(SIZE);
    press(&mut state, '\n');
    press(&mut state, '\n');
    state.update(Message::Answer(Answer::Failed("no partition".to_owned())));
    assert_eq!(state.view.notice.as_deref(), Some("no partition"));
    press(&mut state, '\u{1b}');
    assert_eq!(state.view.place(), Place::Intervals);
}

#[test]
fn search_goes_around() {
    let mut state = after(SIZE, "\n\n2/schedule\n");
    let line = |state: &State| {
        let Page::Outlier(page) = state.view.page() else { panic!("an outlier") };
        page.segments.cursor.at(5)
    };
    assert_eq!(line(&state), 1, "from the fourth on, around the end: `kernel.ipi.reschedule`");
    press(&mut state, 'n');
    assert_eq!(line(&state), 2);
    press(&mut state, 'N');
    assert_eq!(line(&state), 1);
    press(&mut state, '/');
    "nowhere\n".chars().for_each(|key| drop(press(&mut state, key)));
    assert_eq!(state.view.notice.as_deref(), Some("no nowhere here"));
}

#[test]
fn a_command_is_copied_and_shown() {
    let mut state = after(SIZE, "\n\ny");
    let effects = press(&mut state, '2');
    let line = "perf script -i perf.data --time 0.558227805,0.559396507 -C 1 --itrace=be --ns";
    assert!(matches!(&effects[..], [Effect::Copy(copied)] if copied == line), "{effects:?}");
    assert_eq!(state.view.notice, Some(format!("copied: {line}")));
    assert!(state.view.overlay.is_none());
}

#[test]
fn files_are_written_by_the_programs_own_commands() {
    let mut state = after(SIZE, "\n\nw");
    let effects = press(&mut state, '2');
    let [Effect::Write(file)] = &effects[..] else { panic!("a file: {effects:?}") };
    let words = "bundle -i perf.data --symfs|sym fs|--intervals i.csv --id 23 -o";
    let words = words
        .split('|')
        .flat_map(|part| if part == "sym fs" { vec![part] } else { part.split(' ').collect() });
    assert_eq!(file.arguments, words.filter(|word| !word.is_empty()).collect::<Vec<_>>());
    assert_eq!(state.view.notice.as_deref(), Some("writing interval-23.tar.zst"));
    state.update(Message::Written("tailtrace: wrote interval-23.tar.zst, 1.2 MB".to_owned()));
    assert_eq!(state.view.notice.as_deref(), Some("tailtrace: wrote interval-23.tar.zst, 1.2 MB"));

    // Of the list: the chosen ones, as the command line chooses them.
    let mut state = after(SIZE, "\nw↓↓");
    let effects = press(&mut state, 'w');
    let [Effect::Write(file)] = &effects[..] else { panic!("a file: {effects:?}") };
    assert_eq!((&*file.name, file.extension, &*file.arguments[0]), ("outliers", ".perf.data", "slice"));
    assert!(!file.arguments.iter().any(|word| word == "--id"));
}

#[test]
fn keys_before_the_capture_is_open_do_no_harm() {
    let mut state = opening(SIZE);
    for key in "\n↓/x\n?\u{1b}ys".chars() {
        press(&mut state, key);
    }
    assert!(state.view.task.is_some(), "it is still being opened");
    assert!(matches!(press(&mut state, '\u{1b}')[..], [Effect::Quit]), "no page to go back to");
    assert!(matches!(press(&mut state, 'q')[..], [Effect::Quit]));
}

#[test]
fn parts_turn_around() {
    let mut state = after(SIZE, "\n\n\t\t\t");
    let part = |state: &State| match state.view.page() {
        Page::Outlier(page) => page.part,
        _ => panic!("an outlier"),
    };
    assert_eq!(part(&state), OutlierPart::Flow);
    press(&mut state, '\t');
    press(&mut state, '\t');
    assert_eq!(part(&state), OutlierPart::Code);
    press(&mut state, '\t');
    assert_eq!(part(&state), OutlierPart::Verdict);
}

#[test]
fn a_part_may_be_chosen_while_the_interval_is_decoded() {
    let mut state = opened(SIZE);
    press(&mut state, '\n');
    press(&mut state, '\n');
    assert_eq!(ask_of(&press(&mut state, '4')), None, "first the interval");
    let asked = ask_of(&state.update(Message::Answer(answer(Ask::Explain { index: SLOW }))));
    assert_eq!(asked, Some(Ask::Flow { index: SLOW, range: (0, 1_168_701) }));
    assert_eq!(state.view.place(), Place::Flow);
}

#[test]
fn the_hottest_code_is_timed_when_it_is_looked_at() {
    let mut state = after(SIZE, "\n\n");
    assert_eq!(ask_of(&press(&mut state, '6')), Some(Ask::Code { index: SLOW }));
    state.update(Message::Answer(answer(Ask::Code { index: SLOW })));
    assert!(state.view.task.is_none());
    press(&mut state, '1');
    assert_eq!(ask_of(&press(&mut state, '6')), None, "once is enough");
}
