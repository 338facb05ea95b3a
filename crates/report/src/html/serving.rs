//! The waits for an answer in parts, beside typical ones: what the thread that answered did during them.

use std::cmp::Reverse;

use crate::causes::signed_difference;
use crate::escape::for_html;
use crate::outlier::{OutlierReport, SegmentReport};
use crate::serving::{PartSum, part_name, part_sums, part_words};
use crate::units;

/// Waits with a table of their own.
const MOST_WAITS: usize = 3;
/// Kinds of causes that are named in one row.
const MOST_KINDS: usize = 3;

/// The longest waits with parts, in order of time, a table each.
pub(super) fn waits(outlier: &OutlierReport, number: usize) -> String {
    let divided = |at: &usize| !outlier.segments[*at].serving.is_empty();
    let mut order: Vec<usize> = (0..outlier.segments.len()).filter(divided).collect();
    order.sort_by_key(|&at| (Reverse(outlier.segments[at].duration_ns), at));
    let rest = order.len().saturating_sub(MOST_WAITS);
    order.truncate(MOST_WAITS);
    order.sort_unstable();
    let tables =
        order.iter().map(|&at| table(outlier, &outlier.segments[at], &format!("serving-{number}-{at}")));
    let note = |rest: usize| {
        let rest = units::counted(rest as u64, "shorter wait");
        format!("<p class=\"note\">{rest} for an answer: see the timeline</p>\n")
    };
    tables.chain((rest > 0).then(|| note(rest))).collect()
}

fn table(outlier: &OutlierReport, wait: &SegmentReport, id: &str) -> String {
    let unit = outlier.time_unit;
    let mut sums = part_sums(wait);
    sums.sort_by_key(|sum| Reverse(excess(sum)));
    let longest = sums.iter().map(|sum| sum.duration_ns.max(sum.typical_ns.unwrap_or(0))).max();
    let scale = longest.unwrap_or(0).max(1);
    let rows: String = sums.iter().map(|sum| row(outlier, wait, sum, scale)).collect();
    let typical = sums.iter().fold(0_u64, |all, sum| all.saturating_add(sum.typical_ns.unwrap_or(0)));
    format!(
        "<h3 id=\"{id}\">{}</h3>\n<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-labelledby=\"{id}\">\
         <table class=\"serving\">\n<thead><tr><th class=\"number\">excess</th><th class=\"number\">took</th>\
         <th class=\"number\">typical</th><th>compared</th><th>part</th><th>longest in it</th></tr></thead>\n<tbody>\n{rows}\
         </tbody>\n<tfoot><tr><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td></td>\
         <th scope=\"row\">together</th><td></td></tr></tfoot></table></div>\n",
        for_html(&title(outlier, wait)),
        units::signed_length(signed_difference(wait.duration_ns, typical), unit),
        units::length(wait.duration_ns, unit),
        outlier.typical(typical),
    )
}

/// `What redis-server did in the 350.1 us from 18.2 us on, while worker waited for it`
fn title(outlier: &OutlierReport, wait: &SegmentReport) -> String {
    let unit = outlier.time_unit;
    let named = |tid: Option<i32>, otherwise: &str| {
        tid.and_then(|tid| outlier.threads.get(&tid)).map_or_else(|| otherwise.to_owned(), String::clone)
    };
    let who = named(wait.during.iter().find_map(|piece| piece.tid), "the other thread");
    let client = named(wait.tid, "the interval");
    let (at, time) = (units::length(wait.offset_ns, unit), units::length(wait.duration_ns, unit));
    format!("What {who} did in the {time} from {at} on, while {client} waited for its answer")
}

fn row(outlier: &OutlierReport, wait: &SegmentReport, sum: &PartSum, scale: u64) -> String {
    let unit = outlier.time_unit;
    let name = sum.part.map_or_else(|| "not known".to_owned(), part_name);
    let words = sum.part.map_or("", |part| part_words(Some(part)));
    let typical = sum.typical_ns.unwrap_or(0);
    let percent = |time: u64| u128::from(time) * 100 / u128::from(scale);
    format!(
        "<tr><td class=\"number strong\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>\
         <svg class=\"share\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect class=\"bin\" y=\"5\" width=\"{}\" height=\"3\"/><rect class=\"took\" width=\"{}\" height=\"5\"/></svg></td>\
         <th scope=\"row\">{name} <span class=\"note\">{words}</span></th><td>{}</td></tr>\n",
        units::signed_length(excess(sum), unit),
        units::length(sum.duration_ns, unit),
        outlier.typical(typical),
        percent(typical),
        percent(sum.duration_ns),
        for_html(&kinds(outlier, wait, sum)),
    )
}

fn excess(sum: &PartSum) -> i64 {
    signed_difference(sum.duration_ns, sum.typical_ns.unwrap_or(0))
}

/// `offcpu.sleep in debugCommand() 241.2 us, kernel.schedule 5.93 us`: what took most of a part.
fn kinds(outlier: &OutlierReport, wait: &SegmentReport, sum: &PartSum) -> String {
    let mut rows: Vec<_> =
        wait.serving.iter().filter(|row| row.part == sum.part && row.duration_ns > 0).collect();
    rows.sort_by_key(|row| Reverse(row.duration_ns));
    let words = rows.iter().take(MOST_KINDS).map(|row| {
        let place = if row.unusual.is_empty() { String::new() } else { format!(" in {}", row.unusual) };
        format!("{}{place} {}", row.kind, units::length(row.duration_ns, outlier.time_unit))
    });
    words.collect::<Vec<_>>().join(", ")
}
