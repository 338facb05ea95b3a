//! What a Rust file, a script of the HTML page or a document says to a reader.
//!
//! In: a file's text. Out: its string literals, its comments or its prose, each with its line. Every character of a
//! Rust file is either code, part of one literal or part of one comment. Source: the Rust Reference, "Lexical structure".

/// Something to read, and the line it begins at.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) line: usize,
    pub(super) text: String,
}

/// The string literals and the comments of a source file.
#[derive(Debug, Default)]
pub(super) struct Source {
    pub(super) strings: Vec<Text>,
    /// Comments of adjacent lines are one text, so that a phrase may span lines.
    pub(super) comments: Vec<Text>,
}

/// Reads a Rust file or a script of the HTML page (whose comments and literals are alike but for the quotes).
///
/// Literals of an item under `#[cfg(test)]` are left out. Where `help` is set, doc comments are literals: `clap` prints them.
pub(super) fn read_source(source: &str, help: bool, script: bool) -> Source {
    let mut lexer = Lexer { rest: source, line: 1, script, help, ..Lexer::default() };
    while lexer.step() {}
    lexer.found
}

/// The prose of a Markdown document: without inline code, which holds names, and without fenced blocks, which hold
/// code or what the tool prints; the literals that it prints are counted in their crate.
pub(super) fn read_document(document: &str) -> Text {
    let mut prose = String::with_capacity(document.len());
    let mut fenced = false;
    for line in document.split_inclusive('\n') {
        let fence = line.starts_with("```");
        fenced ^= fence;
        prose.push_str(if fenced || fence { "\n" } else { line });
    }
    Text { line: 1, text: without_inline_code(&prose) }
}

/// `text` with each span between single backticks replaced by blanks; lines stay lines.
pub(super) fn without_inline_code(text: &str) -> String {
    let mut prose = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            prose.push('\n');
        }
        if line.matches('`').count() % 2 == 1 {
            prose.push_str(line);
            continue;
        }
        for (place, part) in line.split('`').enumerate() {
            prose.push_str(if place % 2 == 0 { part } else { " " });
        }
    }
    prose
}

/// `text` with each `{name}` and `{name:format}` replaced by a blank: readers see the value.
fn without_placeholders(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        shown.push_str(before);
        if let Some(escaped) = after.strip_prefix('{') {
            shown.push_str("{{");
            rest = escaped;
            continue;
        }
        let name = after.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.').unwrap_or(after.len());
        let end = if after[name..].starts_with([':', '}']) { after.find('}') } else { None };
        let (placeholder, next) =
            end.filter(|_| name > 0).map_or(("{", after), |end| (" ", &after[end + 1..]));
        shown.push_str(placeholder);
        rest = next;
    }
    shown + rest
}

#[derive(Default)]
struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    script: bool,
    help: bool,
    /// Open braces of an item under `#[cfg(test)]`; `None` outside of one.
    test_item: Option<usize>,
    last_comment_line: usize,
    found: Source,
}

impl<'a> Lexer<'a> {
    /// Takes one comment, literal or character of code; `false` at the end of the file.
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else { return false };
        if self.rest.starts_with("//") {
            self.line_comment();
        } else if self.rest.starts_with("/*") {
            self.block_comment();
        } else if let Some((prefix, hashes)) = (!self.script).then(|| raw_prefix(self.rest)).flatten() {
            self.raw_literal(prefix, hashes);
        } else if first == '"' || (self.script && (first == '\'' || first == '`')) {
            self.literal(first);
        } else if first == '\'' {
            self.character_or_lifetime();
        } else if self.rest.starts_with("#[cfg(test)]") {
            self.test_item = Some(0);
            self.take("#[cfg(test)]".len());
        } else if first.is_alphanumeric() || first == '_' {
            // A whole word at once: the r of `for"` begins no raw literal.
            let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
            self.take(end);
        } else {
            self.brace(first);
            self.take(first.len_utf8());
        }
        true
    }

    /// An item under `#[cfg(test)]` ends with its last brace, or with a semicolon before the first.
    fn brace(&mut self, code: char) {
        self.test_item = match (self.test_item, code) {
            (Some(open), '{') => Some(open + 1),
            (Some(1), '}') | (Some(0), ';') => None,
            (Some(open), '}') => Some(open - 1),
            (open, _) => open,
        };
    }

    fn line_comment(&mut self) {
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        let line = self.line;
        let taken = self.take(end);
        let text = without_inline_code(taken.trim_start_matches(['/', '!']));
        if self.help && taken.starts_with("///") {
            self.found.strings.push(Text { line, text });
            return;
        }
        let follows = self.last_comment_line + 1 == line;
        self.last_comment_line = line;
        match self.found.comments.last_mut().filter(|_| follows) {
            Some(before) => {
                before.text.push('\n');
                before.text.push_str(&text);
            }
            None => self.found.comments.push(Text { line, text }),
        }
    }

    fn block_comment(&mut self) {
        let line = self.line;
        let (mut depth, mut at) = (0_usize, 0);
        while at < self.rest.len() {
            if self.rest[at..].starts_with("/*") {
                (depth, at) = (depth + 1, at + 2);
            } else if self.rest[at..].starts_with("*/") {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 || self.script {
                    break;
                }
            } else {
                at += self.rest[at..].chars().next().map_or(1, char::len_utf8);
            }
        }
        let text = without_inline_code(self.take(at));
        self.found.comments.push(Text { line, text });
    }

    fn literal(&mut self, quote: char) {
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1);
        let mut end = self.rest.len();
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => {
                    if let Some((_, '\n' | 'n' | 't')) = characters.next() {
                        text.push('\n');
                    }
                }
                _ if character == quote => {
                    end = at + quote.len_utf8();
                    break;
                }
                _ => text.push(character),
            }
        }
        self.keep(&text, end);
    }

    fn raw_literal(&mut self, prefix: usize, hashes: usize) {
        let close = format!("\"{}", "#".repeat(hashes));
        let length = self.rest[prefix..].find(&close).unwrap_or(self.rest.len() - prefix);
        let text = self.rest[prefix..prefix + length].to_owned();
        self.keep(&text, (prefix + length + close.len()).min(self.rest.len()));
    }

    fn keep(&mut self, text: &str, end: usize) {
        let line = self.line;
        self.take(end);
        if self.test_item.is_none() {
            // With its quotes, so that an exempt text may be a whole literal.
            let text = format!("\"{}\"", without_placeholders(text));
            self.found.strings.push(Text { line, text });
        }
    }

    /// `'x'` and `'\n'` are literals, `'a` is a lifetime and goes on without a closing quote.
    fn character_or_lifetime(&mut self) {
        let mut characters = self.rest.char_indices().skip(1);
        let end = match characters.next() {
            Some((_, '\\')) => {
                characters.next();
                self.rest[3..].find('\'').map(|close| close + 4)
            }
            _ => characters.next().filter(|&(_, close)| close == '\'').map(|(at, _)| at + 1),
        };
        self.take(end.unwrap_or(1).min(self.rest.len()));
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }
}

/// Length of `r"`, `br##"` or `cr"` with its opening quote, and its number of hashes.
fn raw_prefix(rest: &str) -> Option<(usize, usize)> {
    let letters = rest.find(|c: char| !matches!(c, 'b' | 'c' | 'r'))?;
    if letters == 0 || letters > 2 || !rest[..letters].ends_with('r') {
        return None;
    }
    let hashes = rest[letters..].find(|c: char| c != '#')?;
    rest[letters + hashes..].starts_with('"').then_some((letters + hashes + 1, hashes))
}

#[cfg(test)]
mod tests;
