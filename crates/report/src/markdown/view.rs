//! The outliers as a whole, in at most four paragraphs of one line: stories, counters, waits, devices with NUMA nodes.

use crate::escape::for_markdown;
use crate::report::Report;
use crate::units;
use crate::view::{CounterView, Story, words};

/// Stories, counters, waits and devices that are named; of NUMA nodes all is listed, for each statement is of its own kind.
const MOST: usize = 3;

/// Empty where there is one outlier, no counter, no wait and no device.
pub(super) fn view(report: &Report) -> Vec<String> {
    let (view, unit) = (&report.view, report.capture.time_unit);
    let tell = |story: &Story| {
        let lengths = words::lengths_of(story, unit);
        format!("{} of {} {} ({lengths})", story.ids.len(), report.outliers.len(), story.words)
    };
    let reasons = &view.reasons;
    let has_reasons = reasons.explained > 1;
    let shown = view.stories.iter().filter(|_| report.outliers.len() > 1 && !has_reasons).take(MOST);
    let of_all = reasons.all.iter().filter(|_| has_reasons).take(MOST);
    let telling = report.population.counters.iter().filter(|counter: &&CounterView| counter.is_significant);
    let wait = |wait: &crate::view::WaitView| {
        let (slow, fast) = (units::percent(wait.slow_share), units::percent(wait.fast_share));
        let lengths = words::lengths(&wait.slow, unit);
        format!(
            "{} on {} takes {slow} of slow ones ({lengths}), {fast} of fast ones",
            wait.cause, wait.object
        )
    };
    let device = |device: &crate::view::DeviceView| {
        let (accesses, drawn) = (words::accesses(device, unit), words::sparkline(&device.histogram, unit));
        let drawn = if drawn.is_empty() { drawn } else { format!(": {drawn}") };
        format!("{} {} {accesses}{drawn}", device.device, device.direction)
    };
    let waits = view.waits.iter().filter(|wait| wait.slow.count > 0);
    let (devices, nodes) = (view.devices.iter().take(MOST).map(device), view.nodes());
    let name = if nodes.is_empty() { "Devices" } else { "Devices and nodes" };
    [
        paragraph(&words::explained(reasons), of_all.map(words::reason)),
        paragraph("All outliers", shown.map(tell)),
        paragraph("Counters", telling.take(MOST).map(words::counter)),
        paragraph("Waits", waits.take(MOST).map(wait)),
        paragraph(name, devices.chain(view.block_io.iter().map(words::block_io)).chain(nodes)),
    ]
    .concat()
}

fn paragraph(name: &str, items: impl Iterator<Item = String>) -> Vec<String> {
    let items: Vec<String> = items.map(|item| for_markdown(&item)).collect();
    if items.is_empty() { Vec::new() } else { vec![String::new(), format!("{name}: {}", items.join("; "))] }
}
