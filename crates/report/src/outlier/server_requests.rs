//! The command line that goes on where an outlier waited for a server: the same capture with the server's requests as intervals.

use crate::outlier::perf_script::{shell_quoted, shell_word};
use crate::outlier::{OutlierReport, SegmentReport};

impl OutlierReport {
    /// Sets the paste-ready line for the capture at `path`; none where no wait was for an answer, or where the option could not name who
    /// gave it.
    #[must_use]
    pub fn with_server_requests(mut self, path: &str) -> OutlierReport {
        self.server_requests = self.awaited_server().map_or_else(String::new, |server| {
            format!("tailtrace explain -i {} --requests {}", shell_quoted(path), shell_word(server))
        });
        self
    }

    /// The thread whose answer was waited for longest, by its name.
    pub(crate) fn awaited_server(&self) -> Option<&str> {
        let answers = self.segments.iter().filter(|segment: &&SegmentReport| !segment.serving.is_empty());
        let by = &answers.max_by_key(|segment| segment.duration_ns)?.story.by;
        // One of the name of the thread that waited is called so.
        let server = by.strip_prefix("another ").unwrap_or(by);
        // Numbers are those of processes, commas separate names, and a thread without a name is called by its number.
        let is_number =
            server.strip_prefix("tid ").unwrap_or(server).bytes().all(|byte| byte.is_ascii_digit());
        (!is_number && !server.contains(',') && !server.starts_with('-')).then_some(server)
    }
}

#[cfg(test)]
mod tests;
