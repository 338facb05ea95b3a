//! The hottest code of an outlier: a table that needs no script; the script adds disassembly and source below it.

use crate::escape::for_html;
use crate::hot_code::{HotRange, Spent};
use crate::outlier::OutlierReport;
use crate::units;

/// Empty where code was not requested, or there is none.
pub(super) fn hottest(outlier: &OutlierReport, number: usize) -> String {
    if outlier.code.is_empty() {
        return String::new();
    }
    let rows: String = outlier.code.iter().map(|range| row(outlier, range)).collect();
    format!(
        "<h3 id=\"code-{number}\">The code that took longest</h3>\n<div class=\"wide\" tabindex=\"0\" role=\"group\" \
         aria-labelledby=\"code-{number}\"><table class=\"hot\">\n<thead><tr><th class=\"number\">time</th>\
         <th class=\"number\">typical</th><th class=\"number\">core cycles</th><th class=\"number\">typical</th>\
         <th class=\"number\">runs</th><th class=\"number\">typical</th><th>function</th><th>lines</th><th>file</th></tr>\
         </thead>\n<tbody>\n{rows}</tbody></table></div>\n<div class=\"listing\" data-outlier=\"{}\"></div>\n",
        number - 1,
    )
}

fn row(outlier: &OutlierReport, range: &HotRange) -> String {
    let Spent { duration_ns, typical_ns, cycles, typical_cycles, executions, typical_executions } =
        range.spent;
    let count = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    format!(
        "<tr><td class=\"number strong\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
         <td class=\"number\">{}</td><td class=\"number\">{executions}</td><td class=\"number\">{typical_executions}</td>\
         <th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>\n",
        units::length(duration_ns, outlier.time_unit),
        outlier.typical(typical_ns),
        count(cycles),
        count(typical_cycles.filter(|_| !outlier.baselines.is_empty())),
        for_html(&range.function),
        for_html(&lines(range)),
        for_html(&range.dso),
    )
}

/// `table.c:88-97`: the file of the first line that is known, and from where to where in it; not escaped.
fn lines(range: &HotRange) -> String {
    let all =
        || range.blocks.iter().flat_map(|block| &block.instructions).filter_map(|one| one.line.as_ref());
    let Some(first) = all().next() else { return "-".to_owned() };
    let within = || all().filter(|line| line.file == first.file).map(|line| line.number);
    let (from, to) = (within().min().unwrap_or(first.number), within().max().unwrap_or(first.number));
    let name = first.file.rsplit('/').next().unwrap_or(&first.file);
    if from == to { format!("{name}:{from}") } else { format!("{name}:{from}-{to}") }
}
