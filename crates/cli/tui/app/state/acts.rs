//! What each action does, page by page.

use report::OutlierReport;

use super::State;
use crate::tui::app::message::Effect;
use crate::tui::pages::ask::Ask;
use crate::tui::pages::beside::Beside;
use crate::tui::pages::commands;
use crate::tui::pages::cursor::Cursor;
use crate::tui::pages::explained::Explained;
use crate::tui::pages::extent::extent;
use crate::tui::pages::flow_list::FlowPart;
use crate::tui::pages::intervals::IntervalsPage;
use crate::tui::pages::keys::Action;
use crate::tui::pages::layout::body_height;
use crate::tui::pages::made_of::MadeOfPage;
use crate::tui::pages::overlay::{Offer, Overlay, Prompt};
use crate::tui::pages::page::{BlockPage, BlockPart, OutlierPage, OutlierPart, Page};
use crate::tui::pages::segments::SegmentsPart;
use crate::tui::pages::stretch::StretchPage;

impl State {
    pub(super) fn act(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Quit => return vec![Effect::Quit],
            // Without a capture there is no page to go back to.
            Action::Back if self.view.overview.is_none() => return vec![Effect::Quit],
            Action::Suspend => return vec![Effect::Suspend],
            Action::Redraw => return vec![Effect::Redraw],
            Action::Back => self.back(),
            Action::Help => self.view.overlay = Some(Overlay::Help(Cursor::default())),
            Action::Search => self.view.overlay = Some(Overlay::Prompt(Prompt::Search, String::new())),
            Action::Yank => self.offer_commands(),
            Action::Write => self.offer_files(),
            Action::SearchNext => self.search(true),
            Action::SearchPrevious => self.search(false),
            Action::Up => self.step(-1),
            Action::Down => self.step(1),
            Action::PageUp => self.step(-self.page_length()),
            Action::PageDown => self.step(self.page_length()),
            Action::First => self.step(isize::MIN),
            Action::Last => self.step(isize::MAX),
            _ => return self.act_on_page(action),
        }
        Vec::new()
    }

    fn act_on_page(&mut self, action: Action) -> Vec<Effect> {
        if self.view.overview.is_none() {
            return Vec::new();
        }
        match self.view.pages.last() {
            Some(Page::Population(_)) if action == Action::MadeOf => return self.open_made_of(),
            Some(Page::Population(_)) => self.open_intervals(),
            Some(Page::MadeOf(_)) => self.act_on_made_of(action),
            Some(Page::Intervals(_)) => return self.act_on_intervals(action),
            Some(Page::Outlier(_)) => return self.act_on_outlier(action),
            Some(Page::Stretch(_)) => self.act_on_stretch(action),
            Some(Page::Block(_)) => self.act_on_block(action),
            None => {}
        }
        Vec::new()
    }

    /// Cancels what is decoded; else goes up one page. What was opened for the cancelled task closes with it.
    fn back(&mut self) {
        let was_waiting = self.cancel();
        let is_empty = match self.view.page() {
            Page::Outlier(page) => !self.view.known.contains_key(&page.index),
            Page::Block(page) => page.listing.is_none(),
            Page::MadeOf(_) => self.view.composition().is_none(),
            Page::Population(_) | Page::Intervals(_) | Page::Stretch(_) => false,
        };
        if was_waiting {
            self.queue.clear();
            self.view.notice = Some("cancelled".to_owned());
        }
        if (!was_waiting || is_empty) && self.view.pages.len() > 1 {
            self.view.pages.pop();
        }
    }

    fn open_intervals(&mut self) {
        let Some(overview) = &self.view.overview else { return };
        let is_everything = overview.report.selection.selected == 0;
        let mut page = IntervalsPage { is_everything, ..IntervalsPage::default() };
        page.list(overview, &self.view.known);
        self.view.pages.push(Page::Intervals(page));
    }

    fn open_made_of(&mut self) -> Vec<Effect> {
        let page = self.view.composition().map(MadeOfPage::of);
        self.view.pages.push(Page::MadeOf(page.unwrap_or_default()));
        match page {
            Some(_) => Vec::new(),
            None => self.ask("decoding all intervals".to_owned(), Ask::MadeOf),
        }
    }

    fn act_on_made_of(&mut self, action: Action) {
        let composition =
            self.view.overview.as_ref().and_then(|overview| overview.report.composition.as_ref());
        let (Some(Page::MadeOf(page)), Some(composition)) = (self.view.pages.last_mut(), composition) else {
            return;
        };
        match action {
            Action::Left => page.turn(composition, false),
            Action::Right => page.turn(composition, true),
            Action::Open => self.open_intervals(),
            _ => {}
        }
    }

    fn act_on_intervals(&mut self, action: Action) -> Vec<Effect> {
        let (Some(Page::Intervals(page)), Some(overview)) = (self.view.pages.last_mut(), &self.view.overview)
        else {
            return Vec::new();
        };
        match action {
            Action::Sort => page.sort(overview, &self.view.known),
            Action::Reverse => {
                page.is_reversed = !page.is_reversed;
                page.list(overview, &self.view.known);
            }
            Action::Everything => {
                page.is_everything = !page.is_everything;
                page.list(overview, &self.view.known);
            }
            Action::ExplainAll => {
                let listed = page.listed.iter().rev();
                self.queue = listed.filter_map(|&row| Some(overview.rows.get(row)?.index)).collect();
                return self.ask_next();
            }
            Action::Filter => {
                let filter = page.filter.clone();
                self.view.overlay = Some(Overlay::Prompt(Prompt::Filter, filter));
            }
            Action::Open => {
                let row = page.current().and_then(|row| overview.rows.get(row));
                if let Some((index, id)) = row.map(|row| (row.index, row.id)) {
                    return self.open_outlier(index, id);
                }
            }
            _ => {}
        }
        Vec::new()
    }

    fn open_outlier(&mut self, index: usize, id: u64) -> Vec<Effect> {
        self.view.pages.push(Page::Outlier(Box::new(OutlierPage::new(index))));
        if self.view.known.contains_key(&index) {
            self.show_explained(index);
            return Vec::new();
        }
        self.ask(format!("decoding interval {id} and its typical intervals"), Ask::Explain { index })
    }

    fn act_on_outlier(&mut self, action: Action) -> Vec<Effect> {
        let Some(Page::Outlier(page)) = self.view.pages.last_mut() else { return Vec::new() };
        let parts = OutlierPart::ALL;
        let turn = |by: usize| parts[(page.part as usize + by) % parts.len()];
        page.part = match action {
            Action::NextPart => turn(1),
            Action::PreviousPart => turn(parts.len() - 1),
            Action::Part(part) => parts[part.min(parts.len() - 1)],
            Action::Open if page.part == OutlierPart::Verdict => OutlierPart::Timeline,
            _ => {
                let explained = self.view.known.get(&page.index).cloned();
                return explained.map_or_else(Vec::new, |explained| self.act_in_part(action, &explained));
            }
        };
        self.ask_part_in_view()
    }

    /// What the part in view needs and is not decoded yet: the flow of the whole interval, its hottest code.
    pub(super) fn ask_part_in_view(&mut self) -> Vec<Effect> {
        let Some(Page::Outlier(page)) = self.view.pages.last() else { return Vec::new() };
        let index = page.index;
        let Some(duration) = self.view.explained(index).map(|explained| explained.outlier.duration_ns) else {
            return Vec::new();
        };
        match page.part {
            OutlierPart::Flow if page.beside.is_none() && page.flow.flow.is_none() => {
                self.open_flow((0, duration))
            }
            OutlierPart::Code if page.ranges.is_none() => {
                self.ask("timing the code, block by block".to_owned(), Ask::Code { index })
            }
            _ => Vec::new(),
        }
    }

    fn act_in_part(&mut self, action: Action, explained: &Explained) -> Vec<Effect> {
        let Some(Page::Outlier(page)) = self.view.pages.last_mut() else { return Vec::new() };
        let calls = &explained.outlier.calls;
        match (page.part, action) {
            (OutlierPart::Timeline, Action::Open) => {
                let line = page.segments.current(&explained.outlier);
                let stretch = line
                    .as_ref()
                    .and_then(|line| StretchPage::new(page.index, line.path.clone(), &explained.outlier));
                if let Some(stretch) = stretch {
                    self.view.pages.push(Page::Stretch(stretch));
                    return Vec::new();
                }
                let range = line
                    .map(|line| (line.segment.offset_ns, line.segment.offset_ns + line.segment.duration_ns));
                page.part = OutlierPart::Flow;
                return range.map_or_else(Vec::new, |range| self.open_flow(range));
            }
            (OutlierPart::Timeline, Action::Evidence) => {
                self.view.overlay = Some(Overlay::Evidence(Cursor::default()));
            }
            (OutlierPart::Timeline, action) => {
                self.view.notice = act_on_timeline(&mut page.segments, action, &explained.outlier);
            }
            (OutlierPart::Calls, Action::Open | Action::Unfold) => page.calls.toggle(calls),
            (OutlierPart::Calls, Action::Left) => page.calls.close(calls),
            (OutlierPart::Calls, Action::Right) => page.calls.open(calls),
            (OutlierPart::Flow, Action::Beside) => return self.toggle_beside(explained),
            (OutlierPart::Flow, Action::NextBaseline | Action::PreviousBaseline) if page.beside.is_none() => {
                self.view.notice = Some("b shows a typical interval's flow beside this one".to_owned());
            }
            (OutlierPart::Flow, Action::Open) if page.beside.is_some() => return self.open_step(),
            (OutlierPart::Flow, Action::Unfold) => page.flow.toggle(),
            (OutlierPart::Flow, Action::Left) => page.flow.set_unfolded(false),
            (OutlierPart::Flow, Action::Right) => page.flow.set_unfolded(true),
            (OutlierPart::Flow, Action::Open) => return self.open_block(),
            (_, Action::NextBaseline) => page.turn_to(page.baseline + 1, explained),
            (_, Action::PreviousBaseline) => page.turn_to(page.baseline.saturating_sub(1), explained),
            _ => {}
        }
        Vec::new()
    }

    /// The flow beside a typical one, or alone.
    fn toggle_beside(&mut self, explained: &Explained) -> Vec<Effect> {
        let Some(Page::Outlier(page)) = self.view.pages.last_mut() else { return Vec::new() };
        match (page.beside.take(), explained.baselines.get(page.baseline)) {
            (Some(_), _) => return self.ask_part_in_view(),
            (None, Some(typical)) => {
                page.beside = Some(Beside::new(&explained.outlier.calls, &typical.calls));
                // The comparison needs no decode: a decode in progress for the flow alone is no longer wanted.
                self.cancel();
            }
            (None, None) => {
                let none = "nothing to compare with: no typical interval has this label and these threads";
                self.view.notice = Some(none.to_owned());
            }
        }
        Vec::new()
    }

    /// The decoded flow of the step under the cursor.
    fn open_step(&mut self) -> Vec<Effect> {
        let Some(Page::Outlier(page)) = self.view.pages.last_mut() else { return Vec::new() };
        let step = page.beside.as_ref().and_then(Beside::current).and_then(|row| row.own.clone());
        let Some(step) = step else {
            self.view.notice = Some("only the typical interval ran this".to_owned());
            return Vec::new();
        };
        page.beside = None;
        self.open_flow((step.offset, step.offset.saturating_add(step.duration)))
    }

    fn open_flow(&mut self, range: (u64, u64)) -> Vec<Effect> {
        let Some(Page::Outlier(page)) = self.view.pages.last_mut() else { return Vec::new() };
        let index = page.index;
        if page.flow.flow.as_ref().is_some_and(|flow| flow.asked == range) {
            return Vec::new();
        }
        page.flow = FlowPart::default();
        self.ask("decoding the flow".to_owned(), Ask::Flow { index, range })
    }

    fn open_block(&mut self) -> Vec<Effect> {
        let Some(Page::Outlier(page)) = self.view.pages.last() else { return Vec::new() };
        let (index, used) = (page.index, page.flow.block());
        let Some(used) = used else {
            self.view.notice = Some("there is no block on this line".to_owned());
            return Vec::new();
        };
        self.view.pages.push(Page::Block(Box::new(BlockPage::new(index, used))));
        self.ask("looking up code and packets".to_owned(), Ask::Block { index, used })
    }

    fn act_on_stretch(&mut self, action: Action) {
        let Some(Page::Stretch(page)) = self.view.pages.last() else { return };
        match action {
            Action::Evidence => self.view.overlay = Some(Overlay::Evidence(Cursor::default())),
            Action::Open => {
                let explained = self.view.explained(page.index);
                match explained.and_then(|explained| page.deeper(&explained.outlier)) {
                    Some(deeper) => self.view.pages.push(Page::Stretch(deeper)),
                    None => self.view.notice = Some("nothing is known below this".to_owned()),
                }
            }
            _ => {}
        }
    }

    fn act_on_block(&mut self, action: Action) {
        let Some(Page::Block(page)) = self.view.pages.last_mut() else { return };
        let parts = BlockPart::ALL;
        let turn = |by: usize| parts[(page.part as usize + by) % parts.len()];
        page.part = match action {
            Action::NextPart => turn(1),
            Action::PreviousPart => turn(parts.len() - 1),
            Action::Part(part) => parts[part.min(parts.len() - 1)],
            _ => page.part,
        };
    }

    fn offer_commands(&mut self) {
        let commands = commands::of(&self.view);
        if commands.is_empty() {
            self.view.notice = Some("there is no command for this page".to_owned());
        } else {
            self.view.overlay = Some(Overlay::Offer(Offer::Commands(commands), Cursor::default()));
        }
    }

    fn offer_files(&mut self) {
        let files = commands::files(&self.view);
        if self.view.overview.is_some() && !files.is_empty() {
            self.view.overlay = Some(Overlay::Offer(Offer::Files(files), Cursor::default()));
        }
    }

    /// Lines that a page key goes.
    fn page_length(&self) -> isize {
        isize::try_from(body_height(&self.view).saturating_sub(1).max(1)).unwrap_or(1)
    }

    /// Moves the cursor of the page in view.
    pub(super) fn step(&mut self, lines: isize) {
        let count = extent(&self.view);
        let Some(page) = self.view.pages.last_mut() else { return };
        match page {
            Page::Population(cursor) => cursor.step(lines, count),
            Page::MadeOf(page) => page.cursor.step(lines, count),
            Page::Intervals(page) => page.cursor.step(lines, count),
            Page::Stretch(page) => page.cursor.step(lines, count),
            Page::Block(page) => page.cursors[page.part as usize].step(lines, count),
            Page::Outlier(page) => match page.part {
                OutlierPart::Verdict => page.verdict.step(lines, count),
                OutlierPart::Baseline => page.comparison.step(lines, count),
                OutlierPart::Code => page.code.step(lines, count),
                OutlierPart::Calls => page.calls.cursor.step(lines, count),
                OutlierPart::Flow => page.flow_cursor().step(lines, count),
                OutlierPart::Timeline => {
                    page.segments.cursor.step(lines, count);
                    if let Some(explained) = self.view.known.get(&page.index) {
                        page.segments.follow(&explained.outlier);
                    }
                }
            },
        }
    }
}

/// Zooms, moves and unfolds; says why not, where it cannot.
fn act_on_timeline(part: &mut SegmentsPart, action: Action, outlier: &OutlierReport) -> Option<String> {
    match action {
        Action::Unfold => {
            let is_known = part.unfold(outlier);
            return (!is_known).then(|| "nothing is known about this time".to_owned());
        }
        Action::ZoomIn => part.zoom(outlier, true),
        Action::ZoomOut => part.zoom(outlier, false),
        Action::ZoomToSegment => part.zoom_to_segment(outlier),
        Action::ZoomToAll => part.zoom_to_all(),
        Action::Left => part.pan(outlier, false),
        Action::Right => part.pan(outlier, true),
        _ => {}
    }
    None
}
