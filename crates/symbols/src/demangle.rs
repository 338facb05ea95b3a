//! Names for people: Rust, C++, D and Pascal symbols without their mangling.
//!
//! Rust names lose their hash, C++ names their parameters, as `perf report` shows them, those of D ([`dlang`]) the arguments of templates, too, and those of Free Pascal ([`pascal`]) theirs; those of V8 ([`v8`]) lose how the function was
//! compiled and where its source is, those of the JVM and .NET ([`managed`]) types and how they were compiled. Anything else stays as it is.

mod dlang;
mod managed;
pub(crate) mod nim;
mod pascal;
pub(crate) mod v8;

use std::fmt;

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};

/// Longer names are left mangled: a hostile one can unfold without end.
const LONGEST: usize = 16 * 1024;

/// A suffix may begin at any of the first so many dots: compilers write at most five.
const MOST_DOTS: usize = 8;

/// What a stub's name ends with that leads to a function.
const STUB: &str = "@plt";

/// `name` for people.
pub(crate) fn demangle(name: &str) -> String {
    if name.len() > LONGEST {
        return name.to_owned();
    }
    if let Some(function) = name.strip_suffix(STUB).filter(|function| !function.ends_with(STUB)) {
        return demangle(function) + STUB;
    }
    if let Ok(rust) = rustc_demangle::try_demangle(name)
        && is_rust(name)
    {
        return format!("{rust:#}");
    }
    if !name.starts_with("_Z") {
        let of_runtime =
            v8::demangle(name).or_else(|| managed::demangle(name)).or_else(|| dlang::demangle(name));
        let known = of_runtime.or_else(|| pascal::demangle(name));
        return known.unwrap_or_else(|| name.to_owned());
    }
    // `.isra.0`, `.cold` and the like stand after the mangled name. The body of a coroutine has a dot inside it, too: GCC
    // names it after the type of its frame, which is `NAME.Frame`.
    let dots = name.match_indices('.').map(|(dot, _)| dot).take(MOST_DOTS);
    let plain = dots.chain([name.len()]).find_map(|end| {
        let (mangled, suffix) = name.split_at(end);
        demangle_cpp(mangled).map(|plain| plain + suffix)
    });
    plain.unwrap_or_else(|| name.to_owned())
}

/// Whether a name that both languages may have is Rust's: its old mangling ends in a hash, C++'s variables in namespaces look like it
/// but for that.
fn is_rust(name: &str) -> bool {
    const HASH: usize = 16;
    let is_hash = |at: usize| {
        let hash = name.as_bytes().get(at + 3..at + 3 + HASH);
        hash.is_some_and(|hash| hash.iter().all(u8::is_ascii_hexdigit))
            && name.as_bytes().get(at + 3 + HASH) == Some(&b'E')
    };
    !name.starts_with("_ZN") || name.match_indices("17h").any(|(at, _)| is_hash(at))
}

fn demangle_cpp(mangled: &str) -> Option<String> {
    let parsing = ParseOptions::default().recursion_limit(128);
    let symbol = Symbol::new_with_options(mangled, &parsing).ok()?;
    let options = DemangleOptions::new().no_params().no_return_type().recursion_limit(128);
    let mut plain = Bounded(String::new());
    symbol.structured_demangle(&mut plain, &options).ok()?;
    Some(without_empty_packs(with_literals(&plain.0)))
}

/// Empty packs of template arguments at the end leave commas: `call<f, >` is `call<f>`, as `c++filt` writes it.
fn without_empty_packs(plain: String) -> String {
    if !plain.contains(", >") {
        return plain;
    }
    let mut written = String::with_capacity(plain.len());
    for part in plain.split_inclusive('>') {
        let (arguments, end) = part.split_at(part.trim_end_matches('>').len());
        written.push_str(arguments);
        if !end.is_empty() {
            written.truncate(written.trim_end_matches(", ").len());
        }
        written.push_str(end);
    }
    written
}

/// Types of literals, and the suffix by which `c++filt` and compilers write them.
const LITERALS: [(&str, &str); 5] = [
    ("(unsigned int)", "u"),
    ("(unsigned long)", "ul"),
    ("(long)", "l"),
    ("(unsigned long long)", "ull"),
    ("(long long)", "ll"),
];

/// `construct<5u>` of `construct<(unsigned int)5>`.
fn with_literals(plain: &str) -> String {
    let mut written = String::with_capacity(plain.len());
    let mut rest = plain;
    while let Some(at) = rest.find('(') {
        let (before, from) = rest.split_at(at);
        written.push_str(before);
        let literal = LITERALS.iter().find_map(|(kind, suffix)| {
            let number = from.strip_prefix(kind)?;
            let digits = number.strip_prefix('-').unwrap_or(number);
            let length = digits.find(|next: char| !next.is_ascii_digit()).unwrap_or(digits.len());
            let end = number.len() - digits.len() + length;
            (length > 0).then(|| (&number[..end], *suffix, &number[end..]))
        });
        if let Some((number, suffix, after)) = literal {
            written.push_str(number);
            written.push_str(suffix);
            rest = after;
        } else {
            written.push('(');
            rest = &from[1..];
        }
    }
    written + rest
}

/// Refuses to grow beyond [`LONGEST`]: substitutions let a short name unfold to gigabytes.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
