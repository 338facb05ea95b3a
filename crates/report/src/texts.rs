//! Replaces texts all over a report: names that must not leave a house.
//!
//! Causes keep their dotted names, which are a contract; all else that came out of a capture or names a file passes.

use model::Story;

use crate::numa::NumaUse;
use crate::outlier::{OutlierReport, SegmentReport};
use crate::report::Report;
use crate::view::View;

/// What holds texts that came out of a capture or name a file.
pub trait ReplaceTexts {
    /// Replaces what may name a machine, a person or a file by what `new` makes of it.
    fn replace_texts(&mut self, new: &dyn Fn(&str) -> String);
}

impl ReplaceTexts for Report {
    fn replace_texts(&mut self, new: &dyn Fn(&str) -> String) {
        for text in [&mut self.capture.path, &mut self.capture.hostname, &mut self.capture.cmdline] {
            *text = text.as_deref().map(new);
        }
        for diagnostic in &mut self.diagnostics {
            diagnostic.what = new(&diagnostic.what);
            diagnostic.place.file = diagnostic.place.file.as_deref().map(new);
        }
        self.view.replace_texts(new);
        self.outliers.iter_mut().for_each(|outlier| outlier.replace_texts(new));
    }
}

impl ReplaceTexts for View {
    fn replace_texts(&mut self, new: &dyn Fn(&str) -> String) {
        let waits = self.waits.iter_mut().map(|wait| &mut wait.object);
        let devices = self.devices.iter_mut().map(|device| &mut device.device);
        replace(self.remarks.iter_mut().chain(waits).chain(devices), new);
        if let Some(numa) = &mut self.numa {
            numa.slow.replace_texts(new);
            numa.fast.replace_texts(new);
        }
        replace(self.stories.iter_mut().map(|story| &mut story.words), new);
        for reason in &mut self.reasons.all {
            reason.what = new(&reason.what);
            replace(reason.blamed.iter_mut().map(|blame| &mut blame.who), new);
        }
    }
}

impl ReplaceTexts for OutlierReport {
    fn replace_texts(&mut self, new: &dyn Fn(&str) -> String) {
        self.perf_script = new(&self.perf_script);
        self.server_requests = new(&self.server_requests);
        self.numa.iter_mut().for_each(|used| used.replace_texts(new));
        if let Some(used) = &mut self.pebs {
            let functions = used.functions.iter_mut().map(|function| &mut function.function);
            replace(used.events.iter_mut().chain(functions), new);
        }
        replace(self.checks.iter_mut().map(|check| &mut check.detail), new);
        replace(self.causes.iter_mut().map(|cause| &mut cause.detail), new);
        replace(self.calls.nodes.iter_mut().map(|node| &mut node.name), new);
        replace(self.calls.nodes.iter_mut().map(|node| &mut node.recording), new);
        self.segments.iter_mut().for_each(|segment| segment.replace_texts(new));
    }
}

impl ReplaceTexts for NumaUse {
    fn replace_texts(&mut self, new: &dyn Fn(&str) -> String) {
        replace(self.devices.iter_mut().map(|used| &mut used.device), new);
    }
}

impl ReplaceTexts for SegmentReport {
    fn replace_texts(&mut self, new: &dyn Fn(&str) -> String) {
        self.detail = new(&self.detail);
        let Story { object, place, callers, through, by, besides, by_place, worker, sampled, .. } =
            &mut self.story;
        replace(besides.iter_mut(), new);
        replace([object, place, callers, through, by, by_place, worker].into_iter(), new);
        replace(sampled.iter_mut().map(|sampled| &mut sampled.function), new);
        replace(self.serving.iter_mut().map(|row| &mut row.unusual), new);
        replace(self.evidence.iter_mut().map(|evidence| &mut evidence.text), new);
        self.during.iter_mut().for_each(|segment| segment.replace_texts(new));
    }
}

fn replace<'a>(texts: impl Iterator<Item = &'a mut String>, new: &dyn Fn(&str) -> String) {
    texts.for_each(|text| *text = new(text));
}

#[cfg(test)]
mod tests {
    use model::{Certainty, SampledFunction};

    use super::*;
    use crate::{SegmentReport, ServingRow};

    /// Headlines are made of the story and of the parts.
    #[test]
    fn no_text_of_a_segment_is_left() {
        let mut story = Story::default();
        let Story { object, place, callers, through, by, by_place, worker, .. } = &mut story;
        for text in [object, place, callers, through, by, by_place, worker] {
            "secret".clone_into(text);
        }
        story.besides.push("secret".to_owned());
        story.sampled.push(SampledFunction { function: "secret".to_owned(), samples: 1 });
        let row = ServingRow {
            part: None,
            kind: "user".to_owned(),
            unusual: "secret".to_owned(),
            duration_ns: 1,
            typical_ns: 0,
        };
        let segment = |during| SegmentReport {
            ticks: 0,
            offset_ns: 0,
            duration_ns: 1,
            cpu: None,
            tid: None,
            cause: "offcpu.lock".to_owned(),
            certainty: Certainty::Measured,
            detail: "secret".to_owned(),
            story: story.clone(),
            edge_uncertainty_ns: 0,
            during,
            serving: vec![row.clone()],
            evidence: Vec::new(),
        };
        let mut whole = segment(vec![segment(Vec::new())]);
        whole.replace_texts(&|_| String::new());
        assert!(!format!("{whole:?}").contains("secret"), "{whole:?}");
    }
}
