//! Why all outliers are slow, as a table that needs no script: also of those that have no section on the page.

use super::family::classes;
use crate::advice;
use crate::escape::for_html;
use crate::reasons::{Blame, Reason, Reasons};
use crate::units::{percent, share};
use crate::view::words;

const MOST_REASONS: usize = 12;
const MOST_BLAMED: usize = 8;

/// Empty where no more than one outlier was explained.
pub(super) fn table(reasons: &Reasons) -> String {
    if reasons.explained < 2 {
        return String::new();
    }
    let (large, small): (Vec<&Reason>, Vec<&Reason>) =
        reasons.all.iter().partition(|reason| reason.is_shown());
    let rows: String = large.iter().take(MOST_REASONS).map(|reason| rows(reason)).collect();
    let others = others(reasons, large.iter().skip(MOST_REASONS).chain(&small).copied());
    format!(
        "<h2 id=\"reasons\">{}</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-labelledby=\"reasons\">\
         <table class=\"reasons\">\n<thead><tr><th class=\"number\">slow</th><th class=\"number\">of all excess</th><td></td>\
         <th>reason</th></tr></thead>\n<tbody>\n{rows}{others}</tbody></table></div>\n",
        for_html(&words::explained(reasons)),
    )
}

/// What has no row, in sum.
fn others<'a>(reasons: &Reasons, rest: impl Iterator<Item = &'a Reason>) -> String {
    let (first, part) =
        rest.fold((0, reasons.smaller_share), |(first, part), one| (first + one.first, part + one.share));
    if first == 0 && part <= 0.0 {
        return String::new();
    }
    format!(
        "<tr><td class=\"number\">{first}</td><td class=\"number\">{}</td><td></td><td>other causes</td></tr>\n",
        percent(part)
    )
}

/// The reason, whom it is due to, and what people do about it.
fn rows(reason: &Reason) -> String {
    let blamed: String = reason.blamed.iter().take(MOST_BLAMED).map(|blame| blamed(blame, reason)).collect();
    let advice = advice::on(reason).filter(|_| reason.share >= advice::SMALLEST_SHARE);
    let advice = advice.map_or_else(String::new, |advice| {
        let said = for_html(&format!("Try: {} ({})", advice.text, advice.source));
        format!("<tr><td></td><td></td><td></td><td class=\"note\">{said}</td></tr>\n")
    });
    format!(
        "<tr><td class=\"number\">{}</td><td class=\"number strong\">{}</td><td><svg class=\"share\" viewBox=\"0 0 100 8\" \
         preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"bar {}\" width=\"{:.1}\" height=\"8\"/></svg></td>\
         <th scope=\"row\" class=\"long\">{}</th></tr>\n{blamed}{advice}",
        reason.first,
        percent(reason.share),
        classes(&reason.cause),
        (reason.share * 100.0).clamp(0.0, 100.0),
        for_html(&reason.what),
    )
}

fn blamed(blame: &Blame, reason: &Reason) -> String {
    let part = share(u128::from(blame.excess_ns), u128::from(reason.excess_ns)) * reason.share;
    format!(
        "<tr class=\"of\"><td class=\"number\">{}</td><td class=\"number\">{}</td><td></td><td>{}</td></tr>\n",
        blame.first,
        percent(part),
        for_html(&blame.who),
    )
}
