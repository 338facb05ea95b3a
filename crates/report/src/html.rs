//! One HTML file for a ticket: opens anywhere, fetches nothing, and its verdict needs no script.
//!
//! Input: a [`Report`]. Output: a page whose Content-Security-Policy allows just the style sheet and the script that
//! stand in it, by their hashes; whatever a name of the capture holds can therefore neither run nor load anything,
//! even if escaping failed. What the script draws comes as JSON in a block of its own. `docs/html-report.md`.

use sha2::{Digest, Sha256};

use crate::escape::for_html;
use crate::headline::sentence;
use crate::report::Report;

mod code;
mod composition;
mod condense;
mod facts;
pub(crate) mod family;
mod figures;
mod first;
mod histogram;
pub(crate) mod overlay;
pub(crate) mod payload;
mod reasons;
mod serving;
mod verdict;
mod view;

pub(crate) use payload::Sides;

const STYLE: &str = concat!(include_str!("../assets/colours.css"), include_str!("../assets/report.css"));

/// The pieces share one scope and run in this order.
const SCRIPT: &str = concat!(
    "(() => {\n\"use strict\";\n",
    include_str!("../assets/elements.js"),
    include_str!("../assets/keys.js"),
    include_str!("../assets/first.js"),
    include_str!("../assets/guide.js"),
    include_str!("../assets/stretches.js"),
    include_str!("../assets/machine.js"),
    include_str!("../assets/looking.js"),
    include_str!("../assets/timeline.js"),
    include_str!("../assets/segments.js"),
    include_str!("../assets/flame.js"),
    include_str!("../assets/call_table.js"),
    include_str!("../assets/listing.js"),
    include_str!("../assets/composition.js"),
    include_str!("../assets/page.js"),
    "})();\n"
);

/// The whole report as one page.
pub fn render_html(report: &Report) -> String {
    let title = match report.outliers.first() {
        Some(first) => sentence(first),
        None => "no interval was selected".to_owned(),
    };
    let parts = [
        verdict::header(report),
        "<main id=\"main\">\n".to_owned(),
        first::screen(report),
        composition::section(report),
        verdict::outliers(report),
        view::together(report),
        facts::population(report),
        facts::capture(&report.capture),
        facts::diagnostics(report),
    ];
    page(&for_html(&title), &parts.concat(), &payload::of(report, &Sides::OUTLIER))
}

/// A page of an escaped `title`, a body up to the end of its `<main>`, and what the script draws.
pub(crate) fn page(title: &str, body: &str, payload: &str) -> String {
    [
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
        &format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", policy()),
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
        "<meta name=\"color-scheme\" content=\"light dark\">\n",
        "<meta name=\"referrer\" content=\"no-referrer\">\n",
        &format!("<title>{title} - tailtrace</title>\n"),
        &format!("<style>{STYLE}</style>\n</head>\n<body>\n"),
        body,
        "</main>\n",
        &format!("<script type=\"application/json\" id=\"payload\">{payload}</script>\n"),
        &format!("<script>{SCRIPT}</script>\n</body>\n</html>\n"),
    ]
    .concat()
}

/// Nothing may load or run but what stands in the page; nothing may turn text into markup.
fn policy() -> String {
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        base64(&Sha256::digest(STYLE)),
        base64(&Sha256::digest(SCRIPT)),
    )
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().chain(&[0, 0]).take(3).fold(0u32, |word, &byte| word << 8 | u32::from(byte));
        for digit in 0..4 {
            let sextet = (word >> (18 - 6 * digit)) & 63;
            text.push(if digit <= chunk.len() { char::from(ALPHABET[sextet as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests;
