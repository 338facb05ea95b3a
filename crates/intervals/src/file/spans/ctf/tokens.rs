//! The words and signs of metadata, each with its line.

/// A word or a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(String),
    Number(i128),
    Text(String),
    /// One sign, but `...`, `:=` and `->` are one each.
    Sign(&'static str),
}

const SIGNS: [&str; 17] =
    ["...", ":=", "->", "{", "}", "[", "]", "(", ")", "<", ">", ";", ":", "=", ",", ".", "-"];

/// The most characters of a word: names are compared again and again.
const LONGEST_WORD: usize = 4096;

/// All of them, with their lines; a text that is no metadata has its line and reason.
pub(super) fn of(text: &str) -> Result<Vec<(Token, u32)>, String> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (text, 1_u32);
    while let Some(first) = rest.chars().next() {
        let length = if first.is_whitespace() {
            first.len_utf8()
        } else if let Some(comment) = rest.strip_prefix("/*") {
            4 + comment.find("*/").ok_or_else(|| format!("line {line}: a comment has no end"))?
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else {
            let (token, length) =
                token(rest).ok_or_else(|| format!("line {line}: {first:?} is no part of metadata"))?;
            tokens.push((token, line));
            length
        };
        let (passed, left) = rest.split_at(length);
        line = line.saturating_add(u32::try_from(passed.matches('\n').count()).unwrap_or(u32::MAX));
        rest = left;
    }
    Ok(tokens)
}

/// The first one, and its length.
fn token(rest: &str) -> Option<(Token, usize)> {
    let first = rest.chars().next()?;
    if first == '"' {
        return quoted(rest);
    }
    let length = rest.find(|next: char| !(next.is_ascii_alphanumeric() || next == '_')).unwrap_or(rest.len());
    if first.is_ascii_digit() {
        return Some((Token::Number(number(&rest[..length])?), length));
    }
    if length > LONGEST_WORD {
        return None;
    }
    if length > 0 {
        return Some((Token::Word(rest[..length].to_owned()), length));
    }
    let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign))?;
    Some((Token::Sign(sign), sign.len()))
}

fn number(digits: &str) -> Option<i128> {
    let digits = digits.trim_end_matches(['u', 'U', 'l', 'L']);
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
        [b'0', _, ..] => (&digits[1..], 8),
        _ => (digits, 10),
    };
    // 64 bits at most, so that arithmetic does not overflow.
    u64::from_str_radix(digits, radix).ok().map(i128::from)
}

fn quoted(rest: &str) -> Option<(Token, usize)> {
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1);
    loop {
        match characters.next()? {
            (at, '"') => return Some((Token::Text(text), at + 1)),
            (_, '\\') => text.push(characters.next()?.1),
            (_, character) => text.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_and_texts_have_their_lines() {
        let found = of("/* a\nb */ id = 0x1F; // more\n\"x\\\"y\" 010 ... -3").expect("tokens");
        let word = |word: &str| Token::Word(word.to_owned());
        let expected = [
            (word("id"), 2),
            (Token::Sign("="), 2),
            (Token::Number(31), 2),
            (Token::Sign(";"), 2),
            (Token::Text("x\"y".to_owned()), 3),
            (Token::Number(8), 3),
            (Token::Sign("..."), 3),
            (Token::Sign("-"), 3),
            (Token::Number(3), 3),
        ];
        assert_eq!(found, expected);
        assert_eq!(of("a\n\u{e9}"), Err("line 2: 'é' is no part of metadata".to_owned()));
        assert_eq!(of("/* a"), Err("line 1: a comment has no end".to_owned()));
    }
}
