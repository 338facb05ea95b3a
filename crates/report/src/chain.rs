//! What a cause is on any machine: the chain from what happened to whom it is due, in the words of the report's reasons, without what differs
//! from one recording to the next.
//!
//! Functions and objects stand by name. Numbers, addresses, descriptors, thread and process ids, source lines and device numbers are dropped,
//! and so are the suffixes that compilers give a function's copies: a rebuilt binary with the same functions has the same chain. Equal chains
//! are one story of a fleet.

use crate::function::{function_of, unnamed_function};
use crate::headline::clause::Clause;
use crate::headline::is_line;
use crate::outlier::OutlierReport;

/// What one cause of an outlier is, without its lengths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CauseChain {
    /// What happened, to which object and where: `waited for mutex lock in worker() lock.c:107`.
    pub what: String,
    /// Whom it is due to: `held by auditor, which slept in keep() lock.c:38`; empty where no thread is known.
    pub who: String,
    /// The object that was waited for or used; empty where none is known.
    pub object: String,
    /// The function in which it happened, by name; empty where none is known.
    pub function: String,
    /// The chain, equal on all machines: `offcpu.lock: waited for mutex lock in worker(), held by auditor, which slept in keep()`.
    pub chain: String,
}

/// What a function without a name is called in chains; `None`: by its file alone. Gets the report's name for it, `nginx+0x1a2b40`.
pub type Unnamed<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The chains of an outlier's causes, in their order.
pub fn cause_chains(outlier: &OutlierReport, unnamed: Unnamed<'_>) -> Vec<CauseChain> {
    let chain = |cause| {
        let clause = Clause::in_common(outlier, cause);
        let (what, who) = (clause.what(), clause.who());
        let name = if cause.cause.starts_with("kernel.irq.") {
            without_digits(&cause.cause)
        } else {
            cause.cause.clone()
        };
        let parts = [common(&what, unnamed), common(&who, unnamed)];
        let said: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        CauseChain {
            chain: format!("{name}: {}", said.join(", ")),
            object: clause.object().to_owned(),
            function: function_of(clause.place_words()).unwrap_or_default().to_owned(),
            what,
            who,
        }
    };
    outlier.causes.iter().map(chain).collect()
}

/// `text` without what differs between recordings.
fn common(text: &str, unnamed: Unnamed<'_>) -> String {
    let mut kept: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let bare = word.trim_matches(['(', ')', ',', ';', ':']);
        let end = &word[word.trim_end_matches([',', ';']).len()..];
        let plain = if is_line(bare) { String::new() } else { plain_word(word, unnamed) };
        if !plain.is_empty() {
            kept.push(plain);
            continue;
        }
        // What the number or the line belongs to goes along with it.
        while kept.last().is_some_and(|last| is_about_numbers(last)) {
            kept.pop();
        }
        if let Some(last) = kept.last_mut().filter(|last| !last.ends_with([',', ';'])) {
            last.push_str(end);
        }
    }
    kept.join(" ").trim_end_matches([',', ';', ' ']).to_owned()
}

/// Words that mean nothing without the number after them.
fn is_about_numbers(word: &str) -> bool {
    ["fd", "(fd", "tid", "(tid", "pid", "(pid", "CPU", "at", "line", "(futex", "of"].contains(&word)
}

/// A word without digits; a function's name keeps those that its author gave it.
fn plain_word(word: &str, unnamed: Unnamed<'_>) -> String {
    let name = word.trim_end_matches(['(', ')', ',', ';', ':']);
    if let Some((file, _)) = unnamed_function(name) {
        let end = &word[name.len()..];
        return format!("{}{end}", unnamed(name).unwrap_or_else(|| file.to_owned()));
    }
    if let Some(at) = word.find("()") {
        let (name, rest) = word.split_at(at);
        return format!("{}{rest}", written_name(name));
    }
    // A socket's address is the host's and the connection's.
    if name.trim_start_matches('(').parse::<std::net::SocketAddr>().is_ok() {
        return String::new();
    }
    let bare = word.trim_start_matches('(');
    if bare.starts_with("0x") {
        return String::new();
    }
    let plain = without_digits(word);
    if plain.chars().any(char::is_alphabetic) || !word.chars().any(|one| one.is_ascii_digit()) {
        return plain;
    }
    String::new()
}

/// `nvme0q2` as `nvmeq`, `worker-3` as `worker`.
fn without_digits(word: &str) -> String {
    let body = word.trim_end_matches([',', ';', ')']);
    let end = &word[body.len()..];
    let plain: String = body.chars().filter(|one| !one.is_ascii_digit()).collect();
    let plain = if plain.len() == body.len() {
        &plain
    } else {
        plain.trim_end_matches(['-', '_', '/', ':', '#', '.', '@'])
    };
    format!("{plain}{end}")
}

/// A function's name without what compilers add to its copies: `.part.0`, `.constprop.1`, `.cold`, `.llvm.123`, and the hash of Rust's names.
fn written_name(name: &str) -> &str {
    let added = [".part.", ".constprop.", ".isra.", ".llvm.", ".cold", ".lto_priv."];
    let end = added.iter().filter_map(|suffix| name.find(suffix)).min().unwrap_or(name.len());
    let name = &name[..end];
    match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|one| one.is_ascii_hexdigit()) => path,
        _ => name,
    }
}

#[cfg(test)]
mod tests;
