use super::*;
use crate::tui::app::message::Message;
use crate::tui::app::worker::Answer;
use crate::tui::testing::sample::{SLOW, answer, opened, press};

const SIZE: (u16, u16) = (80, 24);

/// The request of these effects, if there is one.
fn request(effects: Vec<Effect>) -> Option<Request> {
    effects.into_iter().find_map(|effect| match effect {
        Effect::Ask(request) => Some(request),
        _ => None,
    })
}

fn tick(state: &mut State) -> Option<Request> {
    request(state.update(Message::Tick))
}

#[test]
fn the_chosen_ones_are_explained_the_longest_first() {
    let mut state = opened(SIZE);
    let mut asked = Vec::new();
    while let Some(request) = tick(&mut state) {
        assert_eq!(tick(&mut state).map(|request| request.ask), None, "one after the other");
        asked.push(request.ask);
        assert!(request_of(&mut state, answer(request.ask)).is_none(), "the next one comes with a tick");
    }
    assert_eq!(asked, [SLOW, 7, 8].map(|index| Ask::Explain { index }));
    assert_eq!((state.view.known.len(), state.is_looking_ahead()), (3, false));
    assert!(state.view.notice.is_none() && state.view.task.is_none());
}

fn request_of(state: &mut State, answer: Answer) -> Option<Request> {
    request(state.update(Message::Answer(answer)))
}

#[test]
fn what_the_user_wants_goes_first() {
    let mut state = opened(SIZE);
    let ahead = tick(&mut state).expect("the first one");
    press(&mut state, '\n');
    press(&mut state, '↓');
    let wanted = request(press(&mut state, '\n')).expect("the second one");
    assert_eq!(wanted.ask, Ask::Explain { index: 7 });
    assert!(ahead.watch.is_stopped());
    assert!(request_of(&mut state, Answer::Stopped).is_none());
    assert!(tick(&mut state).is_none(), "not beside it");
    assert!(request_of(&mut state, answer(wanted.ask)).is_none());
    let again = tick(&mut state).expect("the first one again");
    assert_eq!(again.ask, ahead.ask);
}

#[test]
fn what_is_decoded_already_is_waited_for() {
    let mut state = opened(SIZE);
    let ahead = tick(&mut state).expect("the first one");
    press(&mut state, '\n');
    assert!(request(press(&mut state, '\n')).is_none(), "it is asked once");
    assert!(!ahead.watch.is_stopped() && state.view.task.is_some());
    press(&mut state, '\u{1b}');
    assert!(ahead.watch.is_stopped(), "Esc cancels it like any other");
}

/// Esc cancels what the user waits for. What is decoded unasked is none of that: Esc goes back.
#[test]
fn esc_goes_back_beside_it() {
    let mut state = opened(SIZE);
    let ahead = tick(&mut state).expect("the first one");
    press(&mut state, '\n');
    press(&mut state, '\u{1b}');
    assert_eq!(state.view.pages.len(), 1);
    assert!(!ahead.watch.is_stopped() && state.view.notice.is_none());
}

#[test]
fn a_failure_ends_one_and_not_the_others() {
    let mut state = opened(SIZE);
    tick(&mut state).expect("the first one");
    assert!(request_of(&mut state, Answer::Failed("no partition".to_owned())).is_none());
    assert_eq!(tick(&mut state).map(|request| request.ask), Some(Ask::Explain { index: 7 }));
}

/// Five outliers of which one is chosen: the reasons of the others come in parts, and the first page counts them.
#[test]
fn the_reasons_of_the_others_come_after_the_chosen_ones() {
    let mut state = opened(SIZE);
    state.unasked = vec![7];
    let overview = state.view.overview.as_mut().expect("an overview");
    overview.with_reasons = vec![SLOW, 7, 8, 9, 10];
    overview.found = 5;
    let reasons = crate::tui::testing::sample::explained().reasons;
    let mut asked = Vec::new();
    while let Some(request) = tick(&mut state) {
        asked.push(request.ask);
        let found = match request.ask {
            Ask::Reasons { from } => {
                let few =
                    state.view.overview.as_ref().expect("an overview").with_reasons.iter().skip(from).take(2);
                Answer::Reasons(few.map(|&index| (index, reasons.clone())).collect())
            }
            ask => answer(ask),
        };
        assert!(request_of(&mut state, found).is_none());
    }
    let others = [0, 2, 4].map(|from| Ask::Reasons { from });
    assert_eq!(asked, [&[Ask::Explain { index: 7 }], &others[..]].concat());
    let page = crate::tui::pages::text::population_text(&state.view).join("\n");
    assert!(page.contains("Why they are slow (all 5 explained)"), "{page}");
}

#[test]
fn reasons_that_cannot_be_found_are_not_looked_for_again() {
    let mut state = opened(SIZE);
    state.unasked.clear();
    let request = tick(&mut state).expect("reasons");
    assert_eq!(request.ask, Ask::Reasons { from: 0 });
    assert!(request_of(&mut state, Answer::Failed("no partition".to_owned())).is_none());
    assert!(tick(&mut state).is_none() && !state.is_looking_ahead());
}
