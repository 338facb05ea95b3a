//! The names of counters and events, as perf and users write them.

/// An event's name without its PMU and its modifiers, as Intel's kernel files spell it: `cpu_core/TOPDOWN-FE-BOUND/u` is
/// `topdown-fe-bound`.
pub(super) fn plain_name(name: &str) -> String {
    let event = name.split_once('/').map_or(name, |(_, event)| event);
    let event = event.split(['/', ':']).next().unwrap_or(event);
    event.to_ascii_lowercase().replace('_', "-")
}
