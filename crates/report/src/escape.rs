//! The one place where strings of the capture become safe to show.
//!
//! Thread names, symbols, paths and labels come from a file that anyone may have written. Each format gets its own
//! rule here, and every rule bounds the length first, so that a hostile name costs no more than a long one.

/// The most characters of one string that any human-readable format shows.
const MAX_CHARS: usize = 400;
/// The most characters of one string in JSON, which machines read: longer than any path or sane symbol.
pub(crate) const MAX_JSON_CHARS: usize = 16 * 1024;

/// For a terminal: control, bidirectional and invisible characters are spelled out (`\u{1b}`), so the result is one
/// line and changes neither colour nor order.
pub fn for_terminal(raw: &str) -> String {
    for_terminal_up_to(raw, MAX_CHARS)
}

/// The same as long as it is: for messages, which quote names and bound them themselves.
pub fn for_message(raw: &str) -> String {
    for_terminal_up_to(raw, usize::MAX)
}

/// The same with at most `most` characters of `raw`.
pub(crate) fn for_terminal_up_to(raw: &str, most: usize) -> String {
    let mut shown = String::with_capacity(raw.len().min(most));
    for (index, character) in raw.chars().enumerate() {
        if index == most {
            shown.push('…');
            break;
        }
        if is_unprintable(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// For Markdown, in a paragraph, list or table cell: like [`for_terminal`], and no character keeps a meaning in
/// Markdown or HTML, nor makes GitHub or Jira link or notify anyone.
pub(crate) fn for_markdown(raw: &str) -> String {
    let plain = for_terminal(raw);
    let mut shown = String::with_capacity(plain.len());
    let mut before = None;
    let mut only_digits = true;
    let mut rest = plain.chars().peekable();
    while let Some(character) = rest.next() {
        // `12. ` and `12) ` at the start of a line would make a list.
        let ends = matches!(rest.peek(), None | Some(' '));
        if matches!(character, '.' | ')') && only_digits && before.is_some() && ends {
            shown.push('\\');
            shown.push(character);
        } else {
            push_markdown(&mut shown, before, character, rest.peek().copied());
        }
        only_digits &= character.is_ascii_digit();
        before = Some(character);
    }
    shown
}

/// For HTML, in text and in quoted attributes: like [`for_terminal`], and no character keeps a meaning in HTML.
pub(crate) fn for_html(raw: &str) -> String {
    for_html_up_to(raw, MAX_CHARS)
}

/// The same with at most `most` characters of `raw`.
pub(crate) fn for_html_up_to(raw: &str, most: usize) -> String {
    let plain = for_terminal_up_to(raw, most);
    let mut shown = String::with_capacity(plain.len());
    for character in plain.chars() {
        match character {
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '&' => shown.push_str("&amp;"),
            '"' => shown.push_str("&quot;"),
            '\'' => shown.push_str("&#39;"),
            other => shown.push(other),
        }
    }
    shown
}

/// For a JSON document within a `<script>` block of HTML: no tag can begin or end in it, and any parser of JSON turns
/// the escapes back. Its strings are escaped by [`for_terminal`] before.
pub(crate) fn for_script_block(document: &str) -> String {
    document.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// For a JSON document made elsewhere: characters that only occur within its strings and could still disturb a
/// terminal become `\uXXXX`, which any parser turns back.
pub(crate) fn for_json_document(document: &str) -> String {
    let mut shown = String::with_capacity(document.len());
    let mut rest = document;
    let must_go = |character: char| character != '\n' && is_unprintable(character);
    while let Some((at, character)) = rest.char_indices().find(|&(_, character)| must_go(character)) {
        shown.push_str(&rest[..at]);
        let mut units = [0; 2];
        let escaped = character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"));
        shown.extend(escaped);
        rest = &rest[at + character.len_utf8()..];
    }
    shown.push_str(rest);
    shown
}

/// The first [`MAX_JSON_CHARS`] characters, and `…` where there were more.
pub(crate) fn bounded_for_json(raw: &str) -> String {
    match raw.char_indices().nth(MAX_JSON_CHARS) {
        Some((end, _)) => format!("{}…", &raw[..end]),
        None => raw.to_owned(),
    }
}

/// Writes `character` so that it stands for itself wherever it lies between `before` and `after`.
fn push_markdown(shown: &mut String, before: Option<char>, character: char, after: Option<char>) {
    let within_word = is_word(before) && is_word(after);
    match character {
        '<' => shown.push_str("&lt;"),
        '>' => shown.push_str("&gt;"),
        '&' => shown.push_str("&amp;"),
        // GitHub notifies `@name` unless a letter stands before it (`memcpy@plt`); an entity does not stop it.
        '@' if !is_word(before) => shown.push_str("@\u{2060}"),
        // `#12` and `GH-12` would refer to an issue, `https://` and `www.` would link.
        '#' if after.is_some_and(|next| next.is_ascii_digit()) => shown.push_str("#\u{2060}"),
        '/' if before == Some(':') => shown.push_str("\\/"),
        '.' if matches!(before, Some('w' | 'W')) => shown.push_str("\\."),
        '\\' | '`' | '*' | '~' | '[' | ']' | '|' | '$' | '{' | '}' => {
            shown.push('\\');
            shown.push(character);
        }
        '_' if !within_word => shown.push_str("\\_"),
        '(' if before == Some(']') => shown.push_str("\\("),
        // At the start of a line these would make a heading or a list.
        '#' if before.is_none() => shown.push_str("\\#"),
        '+' | '-' if before.is_none() && matches!(after, None | Some(' ')) => {
            shown.push('\\');
            shown.push(character);
        }
        other => shown.push(other),
    }
}

fn is_word(character: Option<char>) -> bool {
    character.is_some_and(char::is_alphanumeric)
}

/// Control characters, and those that are invisible or change the order of others (Unicode category Cf, and the
/// line separators).
fn is_unprintable(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{115f}'..='\u{1160}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests;
