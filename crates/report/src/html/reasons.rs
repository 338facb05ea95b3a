//! Why all outliers are slow, as a table that needs no script: also of those that have no section on the page.

use super::family::classes;
use crate::advice;
use crate::escape::for_html;
use crate::reasons::{Blame, Reason, Reasons};
use crate::units::percent;
use crate::view::words;

/// Reasons with a row, and those that each is due to: the list of outliers shall begin on the first screen. The rest unfolds.
const MOST_REASONS: usize = 5;
const MOST_BLAMED: usize = 3;
/// Lines of what unfolds.
const MOST_UNFOLDED: usize = 40;

/// Empty where no more than one outlier was explained.
pub(super) fn table(reasons: &Reasons) -> String {
    if reasons.explained < 2 {
        return String::new();
    }
    let (shown, rest, others) = reasons.foremost(MOST_REASONS);
    let rows: String = shown.into_iter().map(rows).collect();
    let others = others.map_or_else(String::new, |sum| others_row(sum, &rest));
    format!(
        "<h2 id=\"reasons\">{}</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-labelledby=\"reasons\">\
         <table class=\"reasons\">\n<thead><tr><th class=\"number\">slow</th><th class=\"number\">of all excess</th><td></td>\
         <th>reason</th></tr></thead>\n<tbody>\n{rows}{others}</tbody></table></div>\n",
        for_html(&words::explained(reasons)),
    )
}

/// What has no row, in sum, and unfolded one by one.
fn others_row((first, part): (u64, f64), rest: &[&Reason]) -> String {
    let items = rest.iter().map(|reason| words::reason(reason));
    format!(
        "<tr><td class=\"number\">{first}</td><td class=\"number\">{}</td><td></td><td>{}</td></tr>\n",
        percent(part),
        unfolding("other causes", items),
    )
}

/// A line that unfolds to `items`; the line alone without any.
fn unfolding(line: &str, items: impl ExactSizeIterator<Item = String>) -> String {
    let count = items.len();
    if count == 0 {
        return for_html(line);
    }
    let listed: Vec<String> =
        items.take(MOST_UNFOLDED).map(|item| format!("<li>{}</li>", for_html(&item))).collect();
    let more = match count.saturating_sub(MOST_UNFOLDED) {
        0 => String::new(),
        rest => format!("<li>{rest} more</li>"),
    };
    format!(
        "<details class=\"bare\"><summary>{}</summary><ul>{}{more}</ul></details>",
        for_html(line),
        listed.concat()
    )
}

/// The reason, whom it is due to, and what people do about it.
fn rows(reason: &Reason) -> String {
    let (shown, others) = reason.blamed_up_to(MOST_BLAMED);
    let mut blamed: String =
        shown.iter().map(|blame| blamed_row(reason, blame, &for_html(&blame.who))).collect();
    if let Some(others) = others {
        let each = reason.blamed[shown.len()..].iter();
        let items = each.map(|blame| {
            format!("{}, in {} of the slow: {}", percent(reason.share_of(blame)), blame.first, blame.who)
        });
        blamed.push_str(&blamed_row(reason, &others, &unfolding(&others.who, items)));
    }
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

/// `who` is escaped.
fn blamed_row(reason: &Reason, blame: &Blame, who: &str) -> String {
    format!(
        "<tr class=\"of\"><td class=\"number\">{}</td><td class=\"number\">{}</td><td></td><td>{who}</td></tr>\n",
        blame.first,
        percent(reason.share_of(blame)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(what: &str, first: u64, share: f64, blamed: Vec<Blame>) -> Reason {
        let cause = "offcpu.lock".to_owned();
        Reason { cause, what: what.to_owned(), first, outliers: first, excess_ns: 1_000, share, blamed }
    }

    /// Seven reasons, the first of which is due to five: three and five have rows, the rest unfolds, and nothing is left out.
    #[test]
    fn what_has_no_row_unfolds() {
        let holders = [400, 300, 150, 100, 50].into_iter().zip(["ada", "bob", "cyd", "dan", "eve"]);
        let holders =
            holders.map(|(excess_ns, who)| Blame { who: format!("held by {who}"), first: 1, excess_ns });
        let mut all = vec![reason("waited", 5, 0.8, holders.collect())];
        all.extend((0..6).map(|number| reason(&format!("reason {number}"), 1, 0.03, Vec::new())));
        let page = table(&Reasons { explained: 11, outliers: 11, all, smaller_ns: 20, smaller_share: 0.02 });
        let rows: Vec<&str> = page.split("<tr").collect();
        let row = |what: &str| {
            let found: Vec<&&str> = rows.iter().filter(|row| row.contains(what)).collect();
            assert_eq!(found.len(), 1, "{what}: {page}");
            *found[0]
        };
        assert!(!row("held by cyd").contains("<details"));
        let more = row("2 more");
        assert!(more.contains("<td class=\"number\">2</td><td class=\"number\">12 %</td>"), "{more}");
        assert!(more.contains("<li>8 %, in 1 of the slow: held by dan</li>"), "{more}");
        assert!(more.contains("<li>4 %, in 1 of the slow: held by eve</li>"), "{more}");
        assert!(row("reason 3").contains("<th scope=\"row\""));
        let others = row("other causes");
        assert!(others.contains("<td class=\"number\">2</td><td class=\"number\">8 %</td>"), "{others}");
        assert!(others.contains("<li>3 % of all excess, first in 1: reason 4</li>"), "{others}");
        assert!(others.contains("reason 5"), "{others}");
    }
}
