//! Looking for a text in the page in view.

use super::State;
use crate::tui::pages::beside::Row;
use crate::tui::pages::extent::extent;
use crate::tui::pages::flow_list::FlowLine;
use crate::tui::pages::intervals;
use crate::tui::pages::listing::CodeLine;
use crate::tui::pages::made_of;
use crate::tui::pages::page::{BlockPart, OutlierPart, Page};
use crate::tui::pages::text;

impl State {
    /// Goes to the next line (or the one before) that holds what is sought, around the end; whatever its case.
    pub(super) fn search(&mut self, is_forward: bool) {
        if self.sought.is_empty() {
            self.view.notice = Some("nothing to look for: press / and type".to_owned());
            return;
        }
        let lines = self.texts();
        let sought = self.sought.to_lowercase();
        let at = self.position();
        let count = lines.len();
        let distance =
            |step: usize| if is_forward { (at + step) % count } else { (at + count - step) % count };
        let found = (1..=count).map(distance).find(|&line| lines[line].to_lowercase().contains(&sought));
        match found {
            Some(line) => self.go_to(line),
            None => self.view.notice = Some(format!("no {} here", self.sought)),
        }
    }

    /// The lines of the page in view, as far as one may look for their text.
    fn texts(&self) -> Vec<String> {
        match self.view.page() {
            Page::Population(_) => text::population_text(&self.view),
            Page::MadeOf(page) => made_of::texts(&self.view, page),
            Page::Intervals(page) => {
                let rows = self.view.overview.as_ref().map_or(&[][..], |overview| &overview.rows);
                let listed = page.listed.iter().filter_map(|&row| rows.get(row));
                listed.map(|row| intervals::words_of(row, &self.view.known)).collect()
            }
            Page::Outlier(page) => self.view.explained(page.index).map_or_else(Vec::new, |explained| {
                let outlier = &explained.outlier;
                match page.part {
                    OutlierPart::Verdict | OutlierPart::Baseline | OutlierPart::Code => {
                        text::outlier_text(&self.view)
                    }
                    OutlierPart::Timeline => {
                        let lines = page.segments.lines(outlier);
                        lines
                            .iter()
                            .map(|line| format!("{} {}", line.segment.cause, line.segment.detail))
                            .collect()
                    }
                    OutlierPart::Calls => {
                        let lines = page.calls.lines(&outlier.calls);
                        lines.iter().map(|line| outlier.calls.nodes[line.node].name.clone()).collect()
                    }
                    OutlierPart::Flow => match &page.beside {
                        Some(beside) => {
                            let names = beside.rows.iter().filter_map(Row::step);
                            names.map(|step| step.name.clone()).collect()
                        }
                        None => page.flow.all().map(flow_text).collect(),
                    },
                }
            }),
            Page::Stretch(page) => self
                .view
                .explained(page.index)
                .map_or_else(Vec::new, |explained| page.texts(&explained.outlier)),
            Page::Block(page) => page.listing.as_ref().map_or_else(Vec::new, |listing| match page.part {
                BlockPart::Code => {
                    let text = |line: &CodeLine| format!("{:x} {}", line.address, line.text);
                    listing.code.iter().map(text).collect()
                }
                BlockPart::Source => {
                    let lines = listing.source.as_deref().unwrap_or_default();
                    lines.iter().map(|line| line.text.clone()).collect()
                }
                BlockPart::Packets => {
                    listing.packets.iter().map(|line| format!("{:x} {}", line.offset, line.text)).collect()
                }
            }),
        }
    }

    /// The line one stands on.
    fn position(&self) -> usize {
        let count = extent(&self.view);
        match self.view.page() {
            Page::Population(cursor) => cursor.at(count),
            Page::MadeOf(page) => page.cursor.at(count),
            Page::Intervals(page) => page.cursor.at(count),
            Page::Stretch(page) => page.cursor.at(count),
            Page::Block(page) => page.cursor().at(count),
            Page::Outlier(page) => match page.part {
                OutlierPart::Verdict => page.verdict.at(count),
                OutlierPart::Baseline => page.comparison.at(count),
                OutlierPart::Code => page.code.at(count),
                OutlierPart::Timeline => page.segments.cursor.at(count),
                OutlierPart::Calls => page.calls.cursor.at(count),
                OutlierPart::Flow => {
                    page.beside.as_ref().map_or(page.flow.cursor, |beside| beside.cursor).at(count)
                }
            },
        }
    }

    fn go_to(&mut self, line: usize) {
        let difference = |to: usize, from: usize| {
            let size = isize::try_from(to.abs_diff(from)).unwrap_or(isize::MAX);
            if to < from { -size } else { size }
        };
        self.step(difference(line, self.position()));
    }
}

fn flow_text(line: FlowLine<'_>) -> String {
    match line {
        FlowLine::Run(run, ..) => run.function.to_string(),
        FlowLine::Block(_, used) => format!("{:x}", used.block.ip),
        FlowLine::Mark(mark) => mark.text.clone(),
    }
}
