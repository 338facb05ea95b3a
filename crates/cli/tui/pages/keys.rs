//! What each key does, where: the one table that the program obeys, the help shows and `docs/tui.md` prints.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Open,
    Unfold,
    MadeOf,
    Left,
    Right,
    NextPart,
    PreviousPart,
    Part(usize),
    Sort,
    Reverse,
    Filter,
    Everything,
    ExplainAll,
    Evidence,
    ZoomIn,
    ZoomOut,
    ZoomToSegment,
    ZoomToAll,
    Beside,
    NextBaseline,
    PreviousBaseline,
    Search,
    SearchNext,
    SearchPrevious,
    Yank,
    Write,
    Help,
    Redraw,
    Suspend,
    Back,
    Quit,
}

/// Where one may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Population,
    MadeOf,
    Intervals,
    Verdict,
    Timeline,
    Stretch,
    Calls,
    Flow,
    Baseline,
    Code,
    Block,
}

/// A key on the keyboard, with Ctrl or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) code: KeyCode,
    pub(crate) ctrl: bool,
}

/// One line of the table.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) keys: &'static [Key],
    pub(crate) places: &'static [Place],
    pub(crate) action: Action,
    pub(crate) help: &'static str,
}

const fn on(character: char) -> Key {
    Key { code: KeyCode::Char(character), ctrl: false }
}

const fn ctrl(character: char) -> Key {
    Key { code: KeyCode::Char(character), ctrl: true }
}

const fn key(code: KeyCode) -> Key {
    Key { code, ctrl: false }
}

const fn bind(keys: &'static [Key], places: &'static [Place], action: Action, help: &'static str) -> Binding {
    Binding { keys, places, action, help }
}

use Place::{Baseline, Block, Calls, Code, Flow, Intervals, MadeOf, Population, Stretch, Timeline, Verdict};

const EVERYWHERE: &[Place] =
    &[Population, MadeOf, Intervals, Verdict, Timeline, Stretch, Calls, Flow, Baseline, Code, Block];
const OUTLIER: &[Place] = &[Verdict, Timeline, Calls, Flow, Baseline, Code];
const PARTED: &[Place] = &[Verdict, Timeline, Calls, Flow, Baseline, Code, Block];

/// The table, in the order of the help.
#[rustfmt::skip]
pub(crate) const BINDINGS: &[Binding] = &[
    bind(&[key(KeyCode::Up), on('k')], EVERYWHERE, Action::Up, "up"),
    bind(&[key(KeyCode::Down), on('j')], EVERYWHERE, Action::Down, "down"),
    bind(&[key(KeyCode::PageUp), ctrl('b')], EVERYWHERE, Action::PageUp, "a page up"),
    bind(&[key(KeyCode::PageDown), ctrl('f')], EVERYWHERE, Action::PageDown, "a page down"),
    bind(&[key(KeyCode::Home), on('g')], EVERYWHERE, Action::First, "to the first line"),
    bind(&[key(KeyCode::End), on('G')], EVERYWHERE, Action::Last, "to the last line"),
    bind(&[key(KeyCode::Enter)], &[Population], Action::Open, "the list of outliers"),
    bind(&[on('c')], &[Population], Action::MadeOf, "all intervals by cause"),
    bind(&[key(KeyCode::Left), on('h')], &[MadeOf], Action::Left, "the percentile before"),
    bind(&[key(KeyCode::Right), on('l')], &[MadeOf], Action::Right, "the next percentile"),
    bind(&[key(KeyCode::Enter)], &[MadeOf], Action::Open, "the list of outliers"),
    bind(&[key(KeyCode::Enter)], &[Intervals], Action::Open, "explain this interval"),
    bind(&[key(KeyCode::Enter)], &[Verdict], Action::Open, "the timeline"),
    bind(&[key(KeyCode::Enter)], &[Timeline], Action::Open, "the other thread during this wait; else the flow"),
    bind(&[key(KeyCode::Enter)], &[Stretch], Action::Open, "the other thread during this wait"),
    bind(&[key(KeyCode::Enter)], &[Calls], Action::Open, "open or close this function"),
    bind(&[key(KeyCode::Enter)], &[Flow], Action::Open, "this block: disassembly, source, packets"),
    bind(&[on(' ')], &[Timeline], Action::Unfold, "what happened during this wait, in this list"),
    bind(&[on(' ')], &[Calls], Action::Unfold, "open or close this function"),
    bind(&[on(' ')], &[Flow], Action::Unfold, "the blocks of this run"),
    bind(&[on('b')], &[Flow], Action::Beside, "beside a typical interval's, or alone"),
    bind(&[key(KeyCode::Tab)], PARTED, Action::NextPart, "the next part of the page"),
    bind(&[key(KeyCode::BackTab)], PARTED, Action::PreviousPart, "the part before"),
    bind(&[on('1')], OUTLIER, Action::Part(0), "verdict: causes against typical"),
    bind(&[on('2')], OUTLIER, Action::Part(1), "timeline and segments, with evidence"),
    bind(&[on('3')], OUTLIER, Action::Part(2), "call tree against typical"),
    bind(&[on('4')], OUTLIER, Action::Part(3), "flow: what was executed, in order of time"),
    bind(&[on('5')], OUTLIER, Action::Part(4), "a typical interval side by side"),
    bind(&[on('6')], OUTLIER, Action::Part(5), "the hottest code against typical"),
    bind(&[on('1')], &[Block], Action::Part(0), "disassembly"),
    bind(&[on('2')], &[Block], Action::Part(1), "source"),
    bind(&[on('3')], &[Block], Action::Part(2), "packets"),
    bind(&[on('s')], &[Intervals], Action::Sort, "sort by the next column"),
    bind(&[on('r')], &[Intervals], Action::Reverse, "reverse the order"),
    bind(&[on('f')], &[Intervals], Action::Filter, "filter: words, >50us, <2ms"),
    bind(&[on('a')], &[Intervals], Action::Everything, "all intervals, or the chosen ones"),
    bind(&[on('e')], &[Intervals], Action::ExplainAll, "explain all that are listed, one after the other"),
    bind(&[on('v')], &[Timeline, Stretch], Action::Evidence, "all evidence of this segment"),
    bind(&[on('+'), on('=')], &[Timeline], Action::ZoomIn, "zoom in on this segment"),
    bind(&[on('-')], &[Timeline], Action::ZoomOut, "zoom out"),
    bind(&[on('z')], &[Timeline], Action::ZoomToSegment, "zoom so that this segment fills the screen"),
    bind(&[on('0')], &[Timeline], Action::ZoomToAll, "the whole interval"),
    bind(&[key(KeyCode::Left), on('h')], &[Timeline], Action::Left, "move to earlier time"),
    bind(&[key(KeyCode::Right), on('l')], &[Timeline], Action::Right, "move to later time"),
    bind(&[key(KeyCode::Left), on('h')], &[Calls, Flow], Action::Left, "close, or go to the caller"),
    bind(&[key(KeyCode::Right), on('l')], &[Calls, Flow], Action::Right, "open"),
    bind(&[on(']'), key(KeyCode::Right)], &[Baseline], Action::NextBaseline, "the next typical interval"),
    bind(&[on('['), key(KeyCode::Left)], &[Baseline], Action::PreviousBaseline, "the typical interval before"),
    bind(&[on(']')], &[Flow], Action::NextBaseline, "beside the next typical interval"),
    bind(&[on('[')], &[Flow], Action::PreviousBaseline, "beside the one before"),
    bind(&[on('/')], EVERYWHERE, Action::Search, "search"),
    bind(&[on('n')], EVERYWHERE, Action::SearchNext, "the next match"),
    bind(&[on('N')], EVERYWHERE, Action::SearchPrevious, "the match before"),
    bind(&[on('y')], EVERYWHERE, Action::Yank, "copy a command that shows this elsewhere"),
    bind(&[on('w')], EVERYWHERE, Action::Write, "write this to a file: a page, a bundle, a slice"),
    bind(&[on('?'), key(KeyCode::F(1))], EVERYWHERE, Action::Help, "these keys"),
    bind(&[key(KeyCode::Esc), key(KeyCode::Backspace)], EVERYWHERE, Action::Back, "back; while decoding: cancel"),
    bind(&[ctrl('l')], EVERYWHERE, Action::Redraw, "draw anew"),
    bind(&[ctrl('z')], EVERYWHERE, Action::Suspend, "suspend"),
    bind(&[on('q'), ctrl('c')], EVERYWHERE, Action::Quit, "quit"),
];

/// What `pressed` means at `place`.
pub(crate) fn action(pressed: KeyEvent, place: Place) -> Option<Action> {
    let ctrl = pressed.modifiers.contains(KeyModifiers::CONTROL);
    let meant = Key { code: pressed.code, ctrl };
    let found = BINDINGS.iter().find(|binding| binding.applies(place) && binding.keys.contains(&meant));
    found.map(|binding| binding.action)
}

impl Binding {
    /// Whether it holds at `place`.
    pub(crate) fn applies(&self, place: Place) -> bool {
        self.places.contains(&place)
    }

    /// Whether it holds wherever one is.
    pub(crate) fn is_everywhere(&self) -> bool {
        self.places == EVERYWHERE
    }

    /// The names of its keys: `Up, k`.
    pub(crate) fn names(&self) -> String {
        self.keys.iter().map(|key| key.name()).collect::<Vec<_>>().join(", ")
    }
}

impl Key {
    /// As keyboards and documents spell it.
    fn name(self) -> String {
        let name = match self.code {
            KeyCode::Char(' ') => "Space".to_owned(),
            KeyCode::Char(character) => character.to_string(),
            KeyCode::BackTab => "Shift-Tab".to_owned(),
            KeyCode::F(number) => format!("F{number}"),
            code => format!("{code:?}"),
        };
        if self.ctrl { format!("Ctrl-{}", name.to_uppercase()) } else { name }
    }
}

impl Place {
    /// As the documents call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Population => "population",
            MadeOf => "all intervals by cause",
            Intervals => "intervals",
            Verdict => "verdict",
            Timeline => "timeline",
            Stretch => "stretch",
            Calls => "calls",
            Flow => "flow",
            Baseline => "baseline",
            Code => "code",
            Block => "block",
        }
    }
}

#[cfg(test)]
mod tests;
