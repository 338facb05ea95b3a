//! Words and columns: everything that depends on how wide a character stands on a terminal.
//!
//! Input: text escaped by [`crate::for_terminal`], without colours. Output: text of a known width. Painting comes after.

use unicode_width::UnicodeWidthChar;

/// Columns that `text` takes, character by character as most terminals do.
pub fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// `text` with a `?` in each column that a character beyond ASCII takes.
pub(super) fn ascii_only(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii() {
            shown.push(character);
        } else {
            shown.extend(std::iter::repeat_n('?', columns_of(character)));
        }
    }
    shown
}

fn columns_of(character: char) -> usize {
    character.width().unwrap_or(0)
}

/// `text` and spaces up to `columns`.
pub fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Spaces and `text`, `columns` together.
pub fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// `text` in at most `columns`, its end replaced by `more` where it is longer.
pub fn cut(text: &str, columns: usize, more: &str) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = split_at(text, columns.saturating_sub(width(more))).0.to_owned();
    kept.push_str(more);
    kept
}

/// `text` in lines of at most `columns`, broken at spaces where there are any.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    wrap_hanging(text, columns, 0)
}

/// The same, each line but the first beginning with `indent` spaces; there must be more columns than these.
pub(super) fn wrap_hanging(text: &str, columns: usize, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words(text) {
        let room = |lines: &[String]| if lines.is_empty() { columns } else { columns - indent };
        let gap = usize::from(!line.is_empty());
        if width(&line) + gap + width(word) <= room(&lines) {
            line.push_str(&" ".repeat(gap));
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        let mut rest = word;
        while width(rest) > room(&lines) {
            let (head, tail) = split_at(rest, room(&lines));
            lines.push(head.to_owned());
            rest = tail;
        }
        line.push_str(rest);
    }
    lines.push(line);
    lines.iter_mut().skip(1).for_each(|line| line.insert_str(0, &" ".repeat(indent)));
    lines
}

/// The parts of `text` that may stand on lines of their own: words, a figure and its unit being one.
fn words(text: &str) -> Vec<&str> {
    const UNITS: [&str; 6] = ["ns", "us", "ms", "s", "%", "ticks"];
    let mut words: Vec<&str> = Vec::new();
    let mut begin = 0;
    for word in text.split(' ') {
        let end = begin + word.len();
        let is_unit = UNITS.contains(&word.trim_end_matches([',', ';', ')']));
        match words.last_mut() {
            Some(last) if is_unit && last.ends_with(|digit: char| digit.is_ascii_digit()) => {
                *last = &text[begin - 1 - last.len()..end];
            }
            _ => words.push(word),
        }
        begin = end + 1;
    }
    words
}

/// `items` side by side, `gap` between them, in lines of at most `columns`; an item is `(width, painted text)`.
pub(super) fn flow(items: &[(usize, String)], gap: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut used) = (String::new(), 0);
    for (item_width, item) in items {
        if used > 0 && used + width(gap) + item_width > columns {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push_str(gap);
            used += width(gap);
        }
        line.push_str(item);
        used += item_width;
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// `text` cut in two, the first part as wide as `columns` allow and at least one character.
fn split_at(text: &str, columns: usize) -> (&str, &str) {
    let mut used = 0;
    for (at, character) in text.char_indices() {
        used += columns_of(character);
        if used > columns && at > 0 {
            return text.split_at(at);
        }
    }
    (text, "")
}

#[cfg(test)]
mod tests;
