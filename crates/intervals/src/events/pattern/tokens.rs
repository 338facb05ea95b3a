//! The words, numbers, texts and signs of a condition.

use std::fmt;

/// The smallest part of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// Letters, digits, `_`, `.`, `:`, `/` and `-`, not beginning as a number does.
    Word(&'t str),
    /// A whole number of up to 64 bits.
    Number(i128),
    /// What stands between quotation marks.
    Quoted(&'t str),
    /// `==`, `!=`, `<=`, `>=`, `&&`, `<`, `>`, `&`
    Sign(&'t str),
}

/// Longer ones come first.
const SIGNS: [&str; 8] = ["==", "!=", "<=", ">=", "&&", "<", ">", "&"];

/// The tokens of a text, one after the other.
pub(super) struct Tokens<'t> {
    rest: &'t str,
}

impl<'t> Tokens<'t> {
    /// Those of `text`.
    pub(super) fn of(text: &'t str) -> Tokens<'t> {
        Tokens { rest: text }
    }

    /// The next one; `None` at the end.
    ///
    /// # Errors
    /// What is there instead of one.
    pub(super) fn next(&mut self) -> Result<Option<Token<'t>>, String> {
        let (token, rest) = self.split()?;
        self.rest = rest;
        Ok(token)
    }

    /// The next one, if it is such; else it stays the next one.
    ///
    /// # Errors
    /// As [`Tokens::next`].
    pub(super) fn next_if(
        &mut self,
        is_such: impl FnOnce(&Token<'t>) -> bool,
    ) -> Result<Option<Token<'t>>, String> {
        let (token, rest) = self.split()?;
        let token = token.filter(is_such);
        if token.is_some() {
            self.rest = rest;
        }
        Ok(token)
    }

    /// The next one, and what follows it.
    fn split(&self) -> Result<(Option<Token<'t>>, &'t str), String> {
        let text = self.rest.trim_start();
        let Some(first) = text.chars().next() else { return Ok((None, text)) };
        if let Some(sign) = SIGNS.into_iter().find(|sign| text.starts_with(sign)) {
            let (sign, rest) = text.split_at(sign.len());
            return Ok((Some(Token::Sign(sign)), rest));
        }
        if matches!(first, '"' | '\'') {
            let (quoted, rest) =
                text[1..].split_once(first).ok_or_else(|| format!("the {first} has no second one"))?;
            return Ok((Some(Token::Quoted(quoted)), rest));
        }
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '/' | '-');
        let (word, rest) = text.split_at(text.find(|c| !is_part(c)).unwrap_or(text.len()));
        if word.is_empty() {
            return Err(format!("{first:?} has no meaning here: there are ==, !=, <, >, <=, >=, & and &&"));
        }
        let is_number = first.is_ascii_digit() || first == '-';
        let token = if is_number {
            Token::Number(number(word).ok_or_else(|| format!("{word} is no number of up to 64 bits"))?)
        } else {
            Token::Word(word)
        };
        Ok((Some(token), rest))
    }
}

/// Decimal, or hexadecimal with `0x`, of up to 64 bits with or without a sign.
fn number(word: &str) -> Option<i128> {
    let (is_negative, digits) = word.strip_prefix('-').map_or((false, word), |digits| (true, digits));
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    // Without the sign that the standard library would take once more.
    let size: u64 = match hexadecimal {
        Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16).ok()?,
        None if !digits.starts_with('+') => digits.parse().ok()?,
        _ => return None,
    };
    let size = i128::from(size);
    if !is_negative {
        return Some(size);
    }
    (size <= -i128::from(i64::MIN)).then_some(-size)
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(text) | Token::Sign(text) => f.write_str(text),
            Token::Number(number) => number.fmt(f),
            Token::Quoted(text) => write!(f, "\"{text}\""),
        }
    }
}
