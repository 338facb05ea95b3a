//! Replaces texts all over a report: names that must not leave a house.
//!
//! Causes keep their dotted names, which are a contract; all else that came out of a capture or names a file passes.

use crate::{OutlierReport, Report, SegmentReport};

impl Report {
    /// Replaces what may name a machine, a person or a file by what `new` makes of it.
    pub fn replace_texts(&mut self, new: &dyn Fn(&str) -> String) {
        for text in [&mut self.capture.path, &mut self.capture.hostname, &mut self.capture.cmdline] {
            *text = text.as_deref().map(new);
        }
        for diagnostic in &mut self.diagnostics {
            diagnostic.what = new(&diagnostic.what);
            diagnostic.place.file = diagnostic.place.file.as_deref().map(new);
        }
        let view = &mut self.view;
        let waits = view.waits.iter_mut().map(|wait| &mut wait.object);
        replace(view.remarks.iter_mut().chain(&mut view.nodes).chain(waits), new);
        replace(self.view.stories.iter_mut().map(|story| &mut story.words), new);
        self.outliers.iter_mut().for_each(|outlier| outlier.replace_texts(new));
    }
}

impl OutlierReport {
    fn replace_texts(&mut self, new: &dyn Fn(&str) -> String) {
        self.perf_script = new(&self.perf_script);
        replace(self.checks.iter_mut().map(|check| &mut check.detail), new);
        replace(self.causes.iter_mut().map(|cause| &mut cause.detail), new);
        replace(self.calls.nodes.iter_mut().map(|node| &mut node.name), new);
        self.segments.iter_mut().for_each(|segment| segment.replace_texts(new));
    }
}

impl SegmentReport {
    fn replace_texts(&mut self, new: &dyn Fn(&str) -> String) {
        self.detail = new(&self.detail);
        replace(self.evidence.iter_mut().map(|evidence| &mut evidence.text), new);
        self.during.iter_mut().for_each(|segment| segment.replace_texts(new));
    }
}

fn replace<'a>(texts: impl Iterator<Item = &'a mut String>, new: &dyn Fn(&str) -> String) {
    texts.for_each(|text| *text = new(text));
}
