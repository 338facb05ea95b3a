//! The difference as one HTML file, built as the report's page is: the same style sheet, script and policy.

use super::tables::{Table, tables};
use super::text::{METHOD, identity};
use super::{Contrast, Difference, verdict};
use crate::escape::for_html;
use crate::html::{Sides, overlay, page, payload};
use crate::outlier::OutlierReport;
use crate::report::Report;
use crate::units;

/// What the flame graphs and call tables call the two.
const SIDES: Sides = Sides { own: "B", other: "A", excess: "change" };
/// Diagnostics shown.
const MOST_DIAGNOSTICS: usize = 20;

/// Verdict, tables, and the differential flame graphs of typical and of explained intervals.
pub fn render_difference_html(difference: &Difference) -> String {
    let verdict = for_html(&verdict(difference));
    let mut parts = vec![format!(
        "<header>\n<p class=\"brand\"><b>tailtrace</b> <span>two captures</span></p>\n<h1>{verdict}</h1>\n<dl>\n\
         <dt>A</dt><dd>{}</dd>\n<dt>B</dt><dd>{}</dd>\n<dt>test</dt><dd>{METHOD}</dd>\n</dl>\n</header>\n<main id=\"main\">\n",
        for_html(&identity(&difference.a)),
        for_html(&identity(&difference.b)),
    )];
    parts.push(overlay::overlay(&difference.bins, difference.time_unit));
    for (number, one) in tables(difference).iter().enumerate() {
        parts.push(table(one, number));
    }
    let contrasts = [("typical", &difference.typical), ("explained", &difference.outliers)];
    let drawn: Vec<_> =
        contrasts.into_iter().filter(|(_, contrast)| !contrast.calls.nodes.is_empty()).collect();
    for (index, (name, contrast)) in drawn.iter().enumerate() {
        parts.push(format!(
            "<section aria-labelledby=\"calls-{name}\">\n<h2 id=\"calls-{name}\">Functions of {} {name} intervals of B \
             against {} of A</h2>\n<div class=\"calls\" data-outlier=\"{index}\" data-view=\"difference\"></div>\n\
             </section>\n",
            contrast.b_count, contrast.a_count,
        ));
    }
    parts.push(diagnostics(difference));
    let outliers = drawn.iter().map(|(_, contrast)| as_outlier(contrast, difference)).collect();
    let report = Report { outliers, ..Report::default() };
    page(&verdict, &parts.concat(), &payload::of(&report, &SIDES))
}

/// The contrast as the script draws it: B in the outlier's place, A in the typical one's.
fn as_outlier(contrast: &Contrast, difference: &Difference) -> OutlierReport {
    OutlierReport {
        calls: contrast.calls.clone(),
        time_unit: difference.time_unit,
        ..OutlierReport::default()
    }
}

fn table(table: &Table, number: usize) -> String {
    let last = table.heads.len() - 1;
    let head = |(at, head): (usize, &&str)| match (at, *head) {
        (_, "") => "<td></td>".to_owned(),
        (at, head) if at == last => format!("<th>{head}</th>"),
        (_, head) => format!("<th class=\"number\">{head}</th>"),
    };
    let heads: Vec<String> = table.heads.iter().enumerate().map(head).collect();
    let cell = |(at, text): (usize, &String)| match at {
        at if at == last => format!("<th scope=\"row\">{}</th>", for_html(text)),
        0 => format!("<td class=\"number strong\">{}</td>", for_html(text)),
        _ => format!("<td class=\"number\">{}</td>", for_html(text)),
    };
    let row = |row: &Vec<String>| {
        format!("<tr>{}</tr>\n", row.iter().enumerate().map(cell).collect::<Vec<_>>().concat())
    };
    let rows: Vec<String> = table.rows.iter().map(row).collect();
    format!(
        "<section aria-labelledby=\"table-{number}\">\n<h2 id=\"table-{number}\">{title}</h2>\n<div class=\"wide\" \
         tabindex=\"0\" role=\"group\" aria-label=\"{title}\"><table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\
         </table></div>\n</section>\n",
        heads.concat(),
        rows.concat(),
        title = table.title,
    )
}

fn diagnostics(difference: &Difference) -> String {
    let item = |found: &model::Diagnostic| {
        let what = units::noted(&found.what, &found.place.to_string());
        format!("<li><b>{}</b> {}</li>\n", found.severity, for_html(&what))
    };
    let items: Vec<String> = difference.diagnostics.iter().take(MOST_DIAGNOSTICS).map(item).collect();
    match items.as_slice() {
        [] => String::new(),
        items => format!(
            "<section aria-labelledby=\"diagnostics\">\n<h2 id=\"diagnostics\">What is wrong with the inputs</h2>\n\
             <ul class=\"diagnostics\">\n{}</ul>\n</section>\n",
            items.concat()
        ),
    }
}
