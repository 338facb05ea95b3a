//! One block: disassembly, source and packets, one at a time or, where there is room, side by side.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use report::for_terminal;

use crate::tui::pages::listing::{BlockListing, CodeLine, PacketLine, SourceLine};
use crate::tui::pages::page::{BlockPage, BlockPart};
use crate::tui::pages::pieces::{bold, cell, dim, figure, fitting, selected};

/// From so many columns on, all three parts are in view.
const WIDE: u16 = 130;
/// Columns of an instruction's bytes, where there is room for them.
const BYTES: usize = 30;

pub(super) fn draw(page: &BlockPage, listing: &BlockListing, frame: &mut Frame<'_>, area: Rect) {
    if area.width < WIDE {
        return part(page, listing, page.part, frame, area);
    }
    let left = area.width / 2;
    let upper = area.height * 3 / 5;
    let right = Rect { x: area.x + left + 1, width: area.width - left - 1, ..area };
    part(page, listing, BlockPart::Code, frame, Rect { width: left, ..area });
    part(page, listing, BlockPart::Source, frame, Rect { height: upper.saturating_sub(1), ..right });
    let lower = Rect { y: right.y + upper, height: area.height - upper, ..right };
    part(page, listing, BlockPart::Packets, frame, lower);
}

fn part(page: &BlockPage, listing: &BlockListing, part: BlockPart, frame: &mut Frame<'_>, area: Rect) {
    let height = usize::from(area.height);
    let count = page.count(part);
    let cursor = page.cursors[part as usize];
    let (top, at) = (cursor.top(count, height), cursor.at(count));
    let is_focused = part == page.part;
    let shown = top..(top + height).min(count);
    let line = |place: usize| {
        let line = match part {
            BlockPart::Code => listing.code.get(place).map(|line| code(line, area.width)),
            BlockPart::Source => listing
                .source
                .as_ref()
                .ok()
                .and_then(|lines| lines.get(place))
                .map(|line| source(line, area.width)),
            BlockPart::Packets => listing.packets.get(place).map(|line| packet(line, area.width)),
        };
        selected(line.unwrap_or_default(), is_focused && place == at, area.width)
    };
    let mut lines: Vec<Line<'static>> = shown.map(line).collect();
    if lines.is_empty() {
        lines.push(Line::styled(
            fitting(&format!("  {}", why_empty(listing, part)), usize::from(area.width)),
            dim(),
        ));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn why_empty(listing: &BlockListing, part: BlockPart) -> String {
    match (part, &listing.source) {
        (BlockPart::Source, Err(why)) => why.clone(),
        (BlockPart::Code, _) => {
            "the code bytes are not here: name the binaries with --symfs or --vmlinux".to_owned()
        }
        _ => "there is none".to_owned(),
    }
}

/// Executed lines have a bar at the left and are bright.
fn bar(is_executed: bool) -> (Span<'static>, Style) {
    if is_executed {
        (Span::styled("▌", Style::new().fg(Color::Cyan)), bold())
    } else {
        (Span::raw(" "), dim())
    }
}

fn code(line: &CodeLine, columns: u16) -> Line<'static> {
    let columns = usize::from(columns);
    let (bar, style) = bar(line.is_executed);
    let bytes: Vec<String> = line.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let bytes = if columns >= 90 { cell(&bytes.join(" "), BYTES) } else { String::new() };
    let place = line.line.as_deref().unwrap_or("");
    let place_columns = (columns / 4).min(24);
    let address = format!("{} {bytes}", figure(&format!("{:x}", line.address), 16));
    let room = columns.saturating_sub(address.len() + place_columns + 4);
    Line::from(vec![
        bar,
        Span::styled(address, dim()),
        Span::styled(format!(" {} ", cell(&line.text, room)), style),
        Span::styled(cell(place, place_columns), Style::new().fg(Color::Yellow)),
    ])
}

fn source(line: &SourceLine, columns: u16) -> Line<'static> {
    let (bar, style) = bar(line.is_executed);
    let number = format!("{} ", figure(&line.number.to_string(), 6));
    let room = usize::from(columns).saturating_sub(number.len() + 2);
    let text = fitting(&for_terminal(&line.text), room);
    Line::from(vec![bar, Span::styled(number, dim()), Span::styled(text, style)])
}

fn packet(line: &PacketLine, columns: u16) -> Line<'static> {
    let (bar, style) = bar(line.is_own);
    let offset = format!("{}  ", figure(&format!("{:#x}", line.offset), 12));
    let room = usize::from(columns).saturating_sub(offset.len() + 2);
    Line::from(vec![bar, Span::styled(offset, dim()), Span::styled(fitting(&line.text, room), style)])
}
