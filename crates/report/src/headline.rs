//! The one sentence that stands above everything else: what happened, for how long, to which object, because of whom, where.

pub(crate) mod clause;
mod foremost;
mod root;
mod runners;

use crate::outlier::OutlierReport;
use crate::report::{PopulationSummary, Report, SelectionSummary};
use crate::timebase::TimeUnit;
use crate::{escape, units};
use clause::Clause;

/// Characters of a headline: two lines of 100 columns.
const MOST_CHARACTERS: usize = 200;

/// `209.8 us, typical 8.62 us: waited 135.5 us for a mutex in worker() lock.c:107, held by auditor, which slept in keep() lock.c:38;
/// 35.9 us in 8 page faults of touch()`, safe for a terminal.
///
/// It has the cause with the largest excess, and the next one if that is more than a tenth of all excess.
pub fn headline(outlier: &OutlierReport) -> String {
    escape::for_terminal(&sentence(outlier))
}

/// The headline without its lengths: `waited 135.5 us for a mutex …`, safe for a terminal.
pub fn reasons(outlier: &OutlierReport) -> String {
    escape::for_terminal(&clauses(outlier).join("; "))
}

/// The foremost cause, with what differs between outliers first: for one of many lines. Not yet escaped for any format.
pub(crate) fn line(outlier: &OutlierReport) -> String {
    let foremost = outlier.causes.first().filter(|cause| cause.excess_ns > 0);
    let line = foremost.map(|cause| Clause::of(outlier, cause).who_first());
    line.unwrap_or_else(|| clauses(outlier).join("; "))
}

/// The headline, not yet escaped for any format.
pub(crate) fn sentence(outlier: &OutlierReport) -> String {
    format!("{}: {}", lengths(outlier), clauses(outlier).join("; "))
}

/// `209.8 us, typical 8.62 us`.
pub(crate) fn lengths(outlier: &OutlierReport) -> String {
    let unit = outlier.time_unit;
    let duration = units::length(outlier.duration_ns, unit);
    let typical = match outlier.baseline_mean_ns {
        Some(mean) => format!("typical {}", units::length(mean, unit)),
        None => "nothing to compare with".to_owned(),
    };
    format!("{duration}, {typical}")
}

/// What happened, the foremost first, not yet escaped for any format.
pub(crate) fn clauses(outlier: &OutlierReport) -> Vec<String> {
    let total: u64 =
        outlier.causes.iter().fold(0, |sum, cause| sum.saturating_add(positive(cause.excess_ns)));
    let exceeding = outlier.causes.iter().filter(|cause| cause.excess_ns > 0);
    let named =
        exceeding.enumerate().filter(|(at, cause)| *at == 0 || positive(cause.excess_ns) > total / 10);
    let said: Vec<Clause<'_>> = named.take(2).map(|(_, cause)| Clause::of(outlier, cause)).collect();
    let room = MOST_CHARACTERS.saturating_sub(lengths(outlier).chars().count() + 2);
    match said.split_first() {
        None => vec!["no cause took longer than typical".to_owned()],
        Some((first, second)) => fitting(first, second.first(), room),
    }
}

/// The first form that has no more than `room` characters:
///
/// 1. Both clauses: in full; where most of the work was in a library, in brief and without lines of source, but with the library's function;
///    where the first is a loop that waits, the second in brief, and of the first in turn [`of_called_loop`]; both in brief, without lines of
///    source, without numbers of descriptors, without the units that functions before them have; the second without the end of its chain.
/// 2. The first alone: the loop as before; then likewise, then without the callers of callers, without how long the end of the chain took, without
///    the callers of those in between and any units, without the unit of a variable, and without its own place (of a task that awaits, that goes
///    before the callers of callers); then without callers that have no name. The end of the chain is the last to go.
/// 3. Where that is too long, too, the middle is cut.
fn fitting(first: &Clause<'_>, second: Option<&Clause<'_>>, room: usize) -> Vec<String> {
    let mut forms = Vec::new();
    if let Some(second) = second {
        if first.goes_through() {
            let brief = [first.brief_through(), second.brief()];
            forms.push(vec![first.to_string(), second.to_string()]);
            forms.push(brief.iter().map(|text| without_lines(text)).collect());
        }
        if first.is_called_loop() {
            forms.push(vec![first.to_string(), second.to_string()]);
            forms.extend(of_called_loop(&first.to_string()).map(|one| vec![one, second.brief()]));
        }
        forms.extend(shorter(
            vec![first.to_string(), second.to_string()],
            vec![first.brief(), second.brief()],
        ));
        forms.push(vec![first.to_string(), second.without_root().brief()]);
    }
    if first.is_called_loop() {
        forms.extend(of_called_loop(&first.to_string()).map(|one| vec![one]));
    }
    forms.extend(shorter(vec![first.to_string()], vec![first.brief()]));
    let plain = [first.brief(), first.terse()].map(|wording| without_descriptors(&without_lines(&wording)));
    let near = plain.each_ref().map(|wording| without_outer_callers(wording));
    let unmeasured = without_descriptors(&without_lines(&first.without_lengths_below().brief()));
    let near_unmeasured = without_outer_callers(&unmeasured);
    let bare = without_units(&without_inner_callers(&near_unmeasured));
    let barest = without_units_of_variables(&bare);
    let ([brief, terse], [near_brief, near_terse]) = (plain, near);
    let order = if first.is_await() {
        [brief, terse, near_brief, near_unmeasured, bare, barest, near_terse]
    } else {
        [brief, near_brief, near_unmeasured, bare, barest, terse, near_terse]
    };
    forms.extend(
        order
            .iter()
            .flat_map(|wording| [wording.clone(), without_repeated_units(wording, &mut None)])
            .map(|one| vec![one]),
    );
    forms.extend(forms.last().map(|form| form.iter().map(|text| without_addresses(text)).collect()));
    let fits = |form: &&Vec<String>| form.join("; ").chars().count() <= room;
    let shortest = forms.last().and_then(|form| form.first()).cloned().unwrap_or_default();
    let cut = || vec![without_middle(&shortest, room)];
    forms.iter().find(fits).cloned().unwrap_or_else(cut)
}

/// `spun 9 us in lock.acquire() called by shop.enter(), while …`: in full, with units once, without the callers of callers, the same with units
/// once, without units. Who called the loop's function outlasts all that.
fn of_called_loop(full: &str) -> [String; 5] {
    let near = without_outer_callers(full);
    let [once_placed, near_once_placed] = [full, &near].map(|text| without_repeated_units(text, &mut None));
    let bare = without_units(&near);
    [full.to_owned(), once_placed, near, near_once_placed, bare]
}

/// `full`, `brief`, and that without what a reader finds in the segments.
fn shorter(full: Vec<String>, brief: Vec<String>) -> [Vec<String>; 5] {
    let plain: Vec<String> = brief.iter().map(|text| without_lines(text)).collect();
    let anonymous: Vec<String> = plain.iter().map(|text| without_descriptors(text)).collect();
    let mut said = None;
    let once_placed = anonymous.iter().map(|text| without_repeated_units(text, &mut said)).collect();
    [full, brief, plain, anonymous, once_placed]
}

/// `work() called by shop.pay() < shop.serve()` as `work() called by shop.pay() < serve()`: in which unit, package or class a function lies
/// the first one of several says. `said`: the last unit named, here or in the texts before.
fn without_repeated_units<'a>(text: &'a str, said: &mut Option<&'a str>) -> String {
    let words = text.split(' ').map(|word| match unit_of(word) {
        Some((unit, function)) if *said == Some(unit) => function,
        Some((unit, _)) => {
            *said = Some(unit);
            word
        }
        None => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// `held by a, which was kept off its CPU in serve() called by run(), by b, which ran work() called by haul()` as
/// `… in serve(), by b, which ran work() called by haul()`: the caller of who comes last says most.
fn without_inner_callers(text: &str) -> String {
    let commas = ends_of_words(text).filter(|&end| text[end..].starts_with(", "));
    match commas.collect::<Vec<_>>()[..] {
        [.., _, last] => format!("{}{}", without_word_after(" called by ", &text[..last]), &text[last..]),
        _ => text.to_owned(),
    }
}

/// `work() called by shop.pay()` as `work() called by pay()`.
fn without_units(text: &str) -> String {
    let words = text.split(' ').map(|word| unit_of(word).map_or(word, |(_, function)| function));
    words.collect::<Vec<_>>().join(" ")
}

/// What is called by the variable that it is in.
const IN_VARIABLES: [&str; 6] = ["barrier", "future", "lock", "mutex", "semaphore", "variable"];

/// `for mutex shop.door in` as `for mutex door in`.
fn without_units_of_variables(text: &str) -> String {
    let mut before = "";
    let words = text.split(' ').map(|word| {
        let is_variable = IN_VARIABLES.contains(&before);
        before = word;
        let end = word.find([',', ';', '+', '<', '(']).unwrap_or(word.len());
        let at = end_of_unit(&word[..end]);
        // Which copy of a unit's own variable it is, where a linker has made more (`door.lto_priv`), is no unit.
        let is_name = |name: &str| name.starts_with(char::is_alphabetic) && !name.starts_with("lto_priv");
        at.map(|at| &word[at..]).filter(|name| is_variable && is_name(name)).unwrap_or(word)
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Where what follows the last `::` or `.` of a name begins.
fn end_of_unit(name: &str) -> Option<usize> {
    name.rfind("::").map(|at| at + 2).max(name.rfind('.').map(|at| at + 1))
}

/// `shop.` and `pay(),` of `shop.pay(),`; nothing where a name has arguments of templates, a version, or a number at its end.
fn unit_of(word: &str) -> Option<(&str, &str)> {
    let (name, _) = word.split_once("()")?;
    let at = end_of_unit(name)?;
    let is_plain = !name.contains(['<', '(', '{', '[', '@', '+']);
    let begins = name[at..].starts_with(|first: char| first.is_alphabetic() || first == '_');
    (is_plain && begins).then(|| word.split_at(at))
}

/// `data from a TCP socket (fd 5)` as `data from a TCP socket`; who is queued for a lock and which timer expired go without saying so.
fn without_descriptors(text: &str) -> String {
    let text = text.replace(", which waited to write)", ")").replace(" had expired", "");
    let mut parts = text.split(" (fd ");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    plain.extend(parts.map(|part| part.split_once(')').map_or(part, |(_, rest)| rest)));
    plain
}

/// `ran work() called by serve() < run()` as `ran work() called by serve()`.
fn without_outer_callers(text: &str) -> String {
    without_word_after(" < ", text)
}

/// `text` without each `link` and the function's name that follows: it ends where a clause does, or the next word begins.
fn without_word_after(link: &str, text: &str) -> String {
    let mut parts = text.split(link);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    plain.extend(parts.map(|part| ends_of_words(part).next().map_or("", |end| &part[end..])));
    plain
}

/// Where words and clauses of `text` end: `take<int, long>(bool)` is one word.
fn ends_of_words(text: &str) -> impl Iterator<Item = usize> {
    let (mut depth, mut before) = (0_usize, ' ');
    text.char_indices().filter_map(move |(at, char)| {
        match char {
            '<' if before != ' '
                && !["operator", "operator<"].iter().any(|name| text[..at].ends_with(name)) =>
            {
                depth += 1;
            }
            '(' | '[' | '{' => depth += 1,
            // `->` closes nothing.
            '>' if before != '-' => depth = depth.saturating_sub(1),
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        before = char;
        (depth == 0 && matches!(char, ',' | ';' | ' ')).then_some(at)
    })
}

/// `update() below server+0x475d50, woken by …` as `update(), woken by …`: an address says least.
fn without_addresses(text: &str) -> String {
    let mut plain = text.to_owned();
    for link in [" below ", " called by "] {
        let mut parts = plain.split(link);
        let mut named = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (caller, rest) = part.split_at(part.find([',', ';', ' ']).unwrap_or(part.len()));
            named.extend(if is_address(caller) { ["", "", rest] } else { [link, caller, rest] });
        }
        plain = named;
    }
    plain
}

fn is_address(word: &str) -> bool {
    word.rsplit_once("+0x")
        .is_some_and(|(_, at)| !at.is_empty() && at.bytes().all(|one| one.is_ascii_hexdigit()))
}

/// `waited 9 us for a lock, woken by server, which waited for…, woken by rival`: `text` in so many characters. Its last actor stays, where
/// that is not one more of those before.
fn without_middle(text: &str, room: usize) -> String {
    let length = |text: &str| text.chars().count();
    let ends = [", woken by ", ", held by "].into_iter().filter_map(|link| text.rfind(link));
    let tails = ends.map(|at| &text[at..]).filter(|tail| !tail.contains(" by another "));
    let tail =
        tails.filter(|tail| length(tail) <= room / 2).min_by_key(|tail| length(tail)).unwrap_or_default();
    let whole: String = text.chars().take(room.saturating_sub(length(tail) + 1)).collect();
    // A word that is cut says nothing, nor does one that leads to the next.
    let mut head = whole.rsplit_once(' ').filter(|_| !tail.is_empty()).map_or(&*whole, |(head, _)| head);
    while let Some((before, word)) = head.rsplit_once(' ')
        && LEADING.contains(&word)
    {
        head = before;
    }
    format!("{}…{tail}", head.trim_end_matches(','))
}

/// Words that lead to others.
const LEADING: [&str; 11] =
    ["a", "another", "below", "by", "called", "for", "from", "in", "of", "which", "woken"];

/// `worker() lock.c:107, held by …` as `worker(), held by …`.
fn without_lines(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let bare = word.trim_end_matches([',', ';', ':']);
        match words.last_mut() {
            Some(last) if is_line(bare) => {
                if last == "at" {
                    words.pop();
                }
                if let Some(last) = words.last_mut() {
                    last.push_str(&word[bare.len()..]);
                }
            }
            _ => words.push(word.to_owned()),
        }
    }
    words.join(" ")
}

/// Whether a word is a file and a line: `lock.c:107`.
pub(crate) fn is_line(word: &str) -> bool {
    word.rsplit_once(':').is_some_and(|(file, line)| {
        let is_number = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
        is_number && file.contains('.') && file.starts_with(char::is_alphabetic)
    })
}

fn positive(excess: i64) -> u64 {
    u64::try_from(excess).unwrap_or(0)
}

/// The report's population in one line, not escaped; `None` where it is empty.
pub fn population(report: &Report) -> Option<String> {
    figures(&report.population, report.capture.time_unit)
}

/// A population in one line, not escaped; `None` where it is empty.
pub(crate) fn figures(population: &PopulationSummary, unit: TimeUnit) -> Option<String> {
    let length = |ns| units::length(ns, unit);
    let losses = population.losses();
    let separator = if losses.is_empty() { "" } else { "; " };
    (population.count > 0).then(|| {
        format!(
            "{}, p50 {}, p99 {}, longest {}; {}{separator}{losses}",
            intervals(population),
            length(population.percentiles.p50),
            length(population.percentiles.p99),
            length(population.max_ns),
            units::noted(&units::counted(population.outliers, "outlier"), &population.rule),
        )
    })
}

/// `116 of 640, 18 %: longer than 50.0 us`, not escaped; `None` where there is no rule.
pub(crate) fn selected(report: &Report) -> Option<String> {
    let (chosen, count) = (&report.selection, report.population.count);
    let share = units::percentage(chosen.selected, count);
    (!chosen.rule.is_empty()).then(|| format!("{} of {count}, {share}: {}", chosen.selected, chosen.rule))
}

/// By which rule intervals were chosen, without that by which they count as slow, which stands beside it.
pub(crate) fn chosen_by<'a>(chosen: &'a SelectionSummary, population: &PopulationSummary) -> &'a str {
    let rest = chosen.rule.strip_prefix(&population.rule).filter(|_| !population.rule.is_empty());
    rest.map_or(chosen.rule.as_str(), |rest| rest.trim_start_matches([';', ' ']))
}

/// `640 intervals`; `640 intervals (612 of 640 lie in the recording)` where not all do.
pub(crate) fn intervals(population: &PopulationSummary) -> String {
    units::noted(&units::counted(population.count, "interval"), &share_in_recording(population))
}

/// `612 of 640 lie in the recording`; empty where all do, and where that is not known.
pub(crate) fn share_in_recording(population: &PopulationSummary) -> String {
    let part = population.in_recording.filter(|&part| part < population.count);
    part.map_or_else(String::new, |part| format!("{part} of {} lie in the recording", population.count))
}

#[cfg(test)]
mod tests;
