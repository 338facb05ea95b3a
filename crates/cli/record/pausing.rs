//! The events that pause and resume the trace: perf's `aux-action=`.
//!
//! Input: events as perf takes them. Output: words of perf's command, after the trace's own event: perf makes a group of it and of
//! those that follow.
//! Source: perf-intel-pt(1), "Pause or Resume Tracing".

use anyhow::{Result, ensure};

use super::preset::option_after;

/// What is requested.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pausing<'a> {
    pub(crate) pause: &'a [String],
    pub(crate) resume: &'a [String],
    /// Why this machine cannot do it.
    pub(crate) missing: Option<&'a str>,
}

impl<'a> Pausing<'a> {
    /// What of it is recorded; what is not goes to `left_out`, with the reason.
    ///
    /// # Errors
    /// Where perf's options have an event of the trace of their own.
    pub(super) fn offered(
        self,
        has_trace: bool,
        names_trace: bool,
        left_out: &mut Vec<String>,
    ) -> Result<Pausing<'a>> {
        if self.pause.is_empty() && self.resume.is_empty() {
            return Ok(self);
        }
        let why = self.missing.or((!has_trace).then_some("there is no trace"));
        if let Some(why) = why {
            left_out.push(format!("--pause and --resume ({why})"));
            return Ok(Pausing::default());
        }
        ensure!(
            !names_trace,
            "--pause and --resume, and intel_pt/ among perf's options: write aux-action= there, or leave one out"
        );
        Ok(self)
    }

    /// The trace's own event: one that is to be resumed begins paused.
    pub(super) fn trace_event(self, event: &str) -> String {
        if self.resume.is_empty() { event.to_owned() } else { with_action(event, "start-paused") }
    }

    /// perf's options for the events.
    pub(super) fn words(self) -> Vec<String> {
        let resume = self.resume.iter().map(|event| (event, "resume"));
        let all = resume.chain(self.pause.iter().map(|event| (event, "pause")));
        let mut words = Vec::new();
        for (event, action) in all {
            words.extend(["-e".to_owned(), with_action(event, action)]);
            words.extend(option_after(event).map(str::to_owned));
        }
        words
    }

    /// Whether it records the event: once is enough.
    pub(super) fn records(self, event: &str) -> bool {
        self.pause.iter().chain(self.resume).any(|own| own == event)
    }
}

/// The event with another term: between its slashes, where it has some, else between two of its own. An address of `mem:` has a slash
/// of another kind.
fn with_action(event: &str, action: &str) -> String {
    let has_terms = !event.starts_with("mem:");
    match event.rsplit_once('/').filter(|_| has_terms) {
        Some((before, modifiers)) => {
            let comma = if before.ends_with('/') { "" } else { "," };
            format!("{before}{comma}aux-action={action}/{modifiers}")
        }
        None => format!("{event}/aux-action={action}/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As perf-intel-pt(1) writes them.
    #[test]
    fn the_term_stands_with_the_others() {
        for (event, expected) in [
            ("sched:sched_switch", "sched:sched_switch/aux-action=pause/"),
            ("cycles/period=1000000/Pk", "cycles/period=1000000,aux-action=pause/Pk"),
            ("cycles//k", "cycles/aux-action=pause/k"),
            ("mem:0xffffffffb605bf60:x", "mem:0xffffffffb605bf60:x/aux-action=pause/"),
            ("mem:0x1000/8:w", "mem:0x1000/8:w/aux-action=pause/"),
            ("probe_app:main", "probe_app:main/aux-action=pause/"),
        ] {
            assert_eq!(with_action(event, "pause"), expected);
        }
    }
}
