//! The command line with which a reader checks an outlier against stock perf.

use std::collections::BTreeSet;

use model::PerfTime;

use crate::outlier::{OutlierReport, SegmentReport};

impl OutlierReport {
    /// Sets the paste-ready line for the capture at `path`; none without a TSC conversion.
    ///
    /// The range ends one nanosecond late, because perf times are rounded down and perf's ranges include their end.
    #[must_use]
    pub fn with_perf_script(mut self, path: &str) -> OutlierReport {
        if let Some(start) = self.start_ns {
            let stop = start.saturating_add(self.duration_ns).saturating_add(1);
            let cpus = self.segments.iter().filter_map(|segment: &SegmentReport| segment.cpu).collect();
            self.perf_script = perf_script_line(path, PerfTime(start), PerfTime(stop), &cpus);
        }
        self
    }

    /// Adds an option with its value to the commands, so that they find the files that this report was made with: `--symfs DIR`,
    /// `--kallsyms FILE`, which perf and tailtrace have alike. Where there is no command nothing is added.
    #[must_use]
    pub fn with_option(mut self, option: &'static str, value: &str) -> OutlierReport {
        for command in [&mut self.perf_script, &mut self.server_requests] {
            if !command.is_empty() {
                command.extend([" ", option, " ", &shell_quoted(value)]);
            }
        }
        self
    }
}

/// `perf script -i FILE --time A,B -C CPUS --itrace=be --ns`: branches and errors of that time on those CPUs (all
/// where none is given), quoted for a shell.
pub fn perf_script_line(path: &str, start: PerfTime, stop: PerfTime, cpus: &BTreeSet<u32>) -> String {
    let list = cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let cpus = if list.is_empty() { String::new() } else { format!(" -C {list}") };
    format!("perf script -i {} --time {start},{stop}{cpus} --itrace=be --ns", shell_quoted(path))
}

/// `path` as one word of a POSIX shell that no program takes for an option.
pub fn shell_quoted(path: &str) -> String {
    let quoted = shell_word(path);
    if path.starts_with('-') { format!("./{quoted}") } else { quoted }
}

/// `text` as one word of a POSIX shell.
pub fn shell_word(text: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-+=:,@%".contains(character);
    match text {
        "" => "''".to_owned(),
        _ if text.chars().all(plain) => text.to_owned(),
        _ => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests;
