//! Names of Nim: `stampLabels__orchard95steps_430` is `orchard_steps.stampLabels`, `dollar___systemZdollars_3` is `system/dollars.$`.
//!
//! ```text
//! ROUTINE__MODULE_NUMBER          the number distinguishes routines of one name
//! dollar_, eqdestroy_, X5BX5D_    `$`, `=destroy`, `[]`: characters that C does not have, and `_` after all
//! orchard95steps, pureZjson       `orchard_steps`, `pure/json`
//! ```
//!
//! Source: `mangle` in `compiler/ccgutils.nim` and `mangleModuleName` in `compiler/modulepaths.nim` of Nim 1.6. What compilers add (`.part.0`) stays.

/// Characters of operators, as the compiler spells them.
const CHARACTERS: [(&str, char); 18] = [
    ("dollar", '$'),
    ("percent", '%'),
    ("amp", '&'),
    ("roof", '^'),
    ("emark", '!'),
    ("qmark", '?'),
    ("star", '*'),
    ("plus", '+'),
    ("minus", '-'),
    ("slash", '/'),
    ("eq", '='),
    ("lt", '<'),
    ("gt", '>'),
    ("tilde", '~'),
    ("colon", ':'),
    ("dot", '.'),
    ("at", '@'),
    ("bar", '|'),
];

/// Symbols that all programs of Nim have, and no others: functions and data.
const OF_NIM: [&[u8]; 2] = [b"NimMain", b"nim_program_result"];

/// Whether a file with a symbol of this name is a program of Nim. Others have names that look like Nim's: OCaml's `camlStdlib__List__map_456`.
pub(crate) fn is_of_nim(symbol: &[u8]) -> bool {
    OF_NIM.contains(&symbol)
}

/// The qualified name of `mangled` in a program of Nim; `None` where it is none of Nim's routines and variables.
pub(crate) fn demangle(mangled: &str) -> Option<String> {
    let (whole, suffix) = mangled.split_at(mangled.find('.').unwrap_or(mangled.len()));
    let (routine, place) = whole.rsplit_once("__")?;
    let (module, number) = place.split_once('_')?;
    let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    let is_written = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let begins = |name: &str| name.starts_with(|first: char| first.is_ascii_alphabetic());
    if !is_number || !begins(module) || !begins(routine) || !is_written(routine) || !is_written(module) {
        return None;
    }
    let routine = routine.strip_suffix('_').map_or_else(|| routine.to_owned(), operator);
    Some(format!("{}.{routine}{suffix}", module.replace("95", "_").replace('Z', "/")))
}

/// What the compiler spells `written`: an identifier and the `=` of what assigns to it; or the characters of an operator or of what the
/// compiler makes itself, then an identifier.
fn operator(written: &str) -> String {
    let (characters, rest) = characters(written);
    match written.strip_suffix("eq").filter(|identifier| !characters_alone(identifier)) {
        Some(identifier) => format!("{identifier}="),
        None => characters + rest,
    }
}

fn characters_alone(written: &str) -> bool {
    characters(written).1.is_empty()
}

/// The characters at the start of `written`, and what follows.
fn characters(written: &str) -> (String, &str) {
    let (mut name, mut rest) = (String::new(), written);
    while let Some((character, after)) = character(rest) {
        name.push(character);
        rest = after;
    }
    (name, rest)
}

/// The character at the start of `written`, and what follows.
fn character(written: &str) -> Option<(char, &str)> {
    let spelled =
        CHARACTERS.iter().find_map(|(word, character)| Some((*character, written.strip_prefix(word)?)));
    spelled.or_else(|| {
        let rest = written.strip_prefix('X')?;
        let digits =
            rest.get(..2).filter(|digits| !digits.contains(|digit: char| digit.is_ascii_lowercase()))?;
        let code = char::from(u8::from_str_radix(digits, 16).ok()?);
        code.is_ascii_graphic().then_some((code, &rest[2..]))
    })
}
