//! `--redact`: other names for the machine, its users, command lines and paths, the same everywhere in a bundle.
//!
//! Input: what the recording and the command line name. Output: the names to write into the slice, and a way to replace
//! them in texts. What has a name of its own beneath a replaced path (thread names, functions) stays, and is listed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use model::Diagnostic;
use perfdata::{PerfData, Renames};
use report::{ReplaceTexts, Report};

use crate::request::{Request, Source};

/// Folders whose names are people's.
const HOMES: [&str; 3] = ["/home/", "/Users/", "/var/home/"];
/// What stands for a machine and a command line.
const HOST: &str = "host-1";
const COMMAND_LINE: [&str; 2] = ["perf", "redacted"];

/// The names and what stands for them.
#[derive(Clone, Debug)]
pub struct Redaction {
    renames: Renames,
    /// (name, what stands for it), longest names first.
    texts: Vec<(String, String)>,
    /// Names that files were opened by, and what stands for them. They may be any word, so they count after a descriptor
    /// only.
    opened: HashMap<String, String>,
}

impl Redaction {
    /// Of all that `perf`, `request` and `diagnostics` name.
    pub(crate) fn new(perf: &PerfData, request: &Request, diagnostics: &[Diagnostic]) -> Redaction {
        let mut paths = BTreeMap::new();
        let mut texts = BTreeMap::new();
        let mut users = BTreeSet::new();
        for path in perf.recorded_paths() {
            let text = String::from_utf8_lossy(&path).into_owned();
            // Code is found by the names of memory that no file backs.
            if text.is_empty() || text == "/" || perfdata::is_memory(&text) {
                continue;
            }
            // What the beginning says stays: shared memory is no file.
            let folder = if text.starts_with("/memfd:") { "/memfd:" } else { "/redacted/file-" };
            let name = format!("{folder}{}", paths.len() + 1);
            users.extend(user_of(&text));
            paths.insert(path, name.clone().into_bytes());
            texts.insert(text, name);
        }
        let mut opened = HashMap::new();
        for name in perf.opened_names().into_iter().filter(|name| !name.is_empty()) {
            let number = paths.len() + 1;
            let new =
                paths.entry(name.clone()).or_insert_with(|| format!("/redacted/file-{number}").into_bytes());
            let text = String::from_utf8_lossy(&name).into_owned();
            users.extend(user_of(&text));
            opened.insert(text, String::from_utf8_lossy(new).into_owned());
        }
        // Whole paths and addresses: they mean nothing else wherever they stand.
        for descriptor in perf.machine_as_used().into_iter().flat_map(|machine| machine.descriptors) {
            users.extend(user_of(&descriptor.name));
            let number = texts.len() + 1;
            texts.entry(descriptor.name).or_insert_with(|| format!("/redacted/descriptor-{number}"));
        }
        for (number, local) in local_paths(perf, request, diagnostics).into_iter().enumerate() {
            users.extend(user_of(&local));
            texts.entry(local).or_insert_with(|| format!("/local/path-{}", number + 1));
        }
        users.extend(["USER", "LOGNAME"].iter().filter_map(|name| std::env::var(name).ok()));
        for (number, user) in users.into_iter().filter(|user| user.len() > 2).enumerate() {
            texts.entry(user).or_insert_with(|| format!("user-{}", number + 1));
        }
        let of_machine = perf.machine().and_then(|machine| machine.host.clone());
        let hosts = [perf.features().hostname.clone(), of_machine].into_iter().flatten();
        texts.extend(hosts.filter(|host| !host.is_empty()).map(|host| (host, HOST.to_owned())));
        let command_line = COMMAND_LINE.map(str::to_owned).to_vec();
        let mut texts: Vec<(String, String)> = texts.into_iter().collect();
        texts.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Redaction { renames: Renames { hostname: HOST.to_owned(), command_line, paths }, texts, opened }
    }

    /// For the slice.
    pub(crate) fn renames(&self) -> &Renames {
        &self.renames
    }

    /// What stands for the recorded path `name`.
    pub(crate) fn path(&self, name: &str) -> Option<String> {
        self.texts.iter().find(|(known, _)| known == name).map(|(_, new)| new.clone())
    }

    /// `text` with every name replaced; a name within a longer word is another word.
    pub(crate) fn text(&self, text: &str) -> String {
        let text = replace_opened(text, &self.opened);
        self.texts.iter().fold(text, |text, (name, new)| replace_words(&text, name, new))
    }

    /// Replaces the names in all texts of `report`.
    pub(crate) fn apply(&self, report: &mut Report) {
        report.capture.hostname = report.capture.hostname.as_ref().map(|_| HOST.to_owned());
        report.capture.cmdline = report.capture.cmdline.as_ref().map(|_| COMMAND_LINE.join(" "));
        report.replace_texts(&|text| self.text(text));
    }

    /// What a redacted bundle still includes.
    pub fn remains(&self, has_binaries: bool) -> String {
        let binaries = if has_binaries {
            "* the binaries and debug files themselves, with source paths in them: --no-binaries leaves them out\n"
        } else {
            ""
        };
        format!(
            "Replaced: the host's name, perf's command line, {} recorded paths, paths and user names of this machine.\n\
             Still included:\n\
             {binaries}\
             * names of devices, threads (comm), functions, source files, tracepoints and kernel modules\n\
             * labels, keys and counters of the intervals, as the program wrote them\n\
             * payloads of tracepoint records: addresses, ports, file names where others than vfs_getname record them\n\
             * names of threads in the saved list of the tracepoint formats and in the list of recorded threads\n\
             * build IDs, the kernel's release and symbols, the processor, times, process and thread numbers\n",
            self.renames.paths.len()
        )
    }
}

/// `alice` of `/home/alice/bin/server`.
fn user_of(path: &str) -> Option<String> {
    let behind = HOMES.iter().find_map(|home| path.strip_prefix(home))?;
    let user = behind.split('/').next().filter(|user| !user.is_empty())?;
    Some(user.to_owned())
}

/// Paths of this machine that messages may name; a slice carries messages of the machine that it was cut on.
fn local_paths(perf: &PerfData, request: &Request, diagnostics: &[Diagnostic]) -> BTreeSet<String> {
    let input = &request.input;
    let named = [
        Some(&input.path),
        input.code.symfs.as_ref(),
        input.code.vmlinux.as_ref(),
        input.code.kallsyms.as_ref(),
    ];
    let intervals = match &request.source {
        Some(Source::File(path)) => Some(path),
        _ => None,
    };
    let named = named.into_iter().chain([intervals]).flatten();
    let mut paths: BTreeSet<String> = named
        .flat_map(|path| [Some(path.clone()), path.canonicalize().ok()])
        .flatten()
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    let places = diagnostics.iter().filter_map(|diagnostic| diagnostic.place.file.clone());
    paths.extend(places.filter(|file| file.contains('/')));
    paths.extend(std::env::var("HOME").ok());
    paths.extend(perf.kcore_dir().map(|path| path.to_string_lossy().into_owned()));
    // A path of a letter or two would be found everywhere.
    paths.retain(|path| path.len() > 2);
    paths
}

/// Replaces `name` where neither side continues with a letter, a digit or an underscore.
fn replace_words(text: &str, name: &str, new: &str) -> String {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, behind) = (&rest[..at], &rest[at + name.len()..]);
        let last = before.chars().next_back().or_else(|| replaced.chars().next_back());
        let is_part = is_word(last) && is_word(name.chars().next());
        let goes_on = is_word(name.chars().next_back()) && is_word(behind.chars().next());
        replaced.push_str(before);
        replaced.push_str(if is_part || goes_on { name } else { new });
        rest = behind;
    }
    replaced + rest
}

/// Replaces the names of files that stand after descriptors: `fd 7 (NAME)`, `fd 7 of pid 100 (NAME)`.
fn replace_opened(text: &str, names: &HashMap<String, String>) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("fd ") {
        let (before, behind) = rest.split_at(at + "fd ".len());
        replaced.push_str(before);
        rest = behind;
        let Some(name_at) = behind.find(" (").filter(|&end| is_descriptor(&behind[..end])) else { continue };
        let name_at = name_at + " (".len();
        // A name may hold brackets itself: the longest one that is known.
        let mut ends = behind[name_at..].match_indices(')').map(|(end, _)| name_at + end);
        let known = ends.rfind(|&end| names.contains_key(&behind[name_at..end]));
        if let Some(end) = known {
            replaced.push_str(&behind[..name_at]);
            replaced.push_str(&names[&behind[name_at..end]]);
            rest = &behind[end..];
        }
    }
    replaced + rest
}

/// `7`, `7 of pid 100`.
fn is_descriptor(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.split_once(" of pid ") {
        Some((number, pid)) => is_number(number) && is_number(pid),
        None => is_number(text),
    }
}

#[cfg(test)]
mod tests;
