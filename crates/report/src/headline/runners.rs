//! Who had a thread's CPU: `clerk, which ran post(), and baler`.

use model::Story;

/// The threads that had the CPU, and what follows them: of one whose code is known what it ran, and who had the CPU besides, after `and`, such
/// as "and by".
pub(super) fn runners(story: Option<&Story>, and: &str) -> (String, String) {
    let Some(story) = story.filter(|story| !story.by.is_empty()) else { return Default::default() };
    if story.by_place.is_empty() {
        let all: Vec<&str> = std::iter::once(&story.by).chain(&story.besides).map(String::as_str).collect();
        return (listed(&all), String::new());
    }
    let besides: Vec<&str> = story.besides.iter().map(String::as_str).collect();
    let others = if besides.is_empty() { String::new() } else { format!(", {and} {}", listed(&besides)) };
    (story.by.clone(), format!(", which ran {}{others}", story.by_place))
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever had a good part of the CPU's time is named, the longest first.
    #[test]
    fn names_all_that_had_the_cpu() {
        let said = |besides: &[&str], ran: &str| {
            let mut story = Story::default();
            (story.by, story.by_place) = ("clerk".to_owned(), ran.to_owned());
            story.besides = besides.iter().map(|&name| name.to_owned()).collect();
            let (by, ran) = runners(Some(&story), "and behind");
            format!("runnable behind {by} for 9 us{ran}")
        };
        assert_eq!(said(&[], ""), "runnable behind clerk for 9 us");
        assert_eq!(said(&["baler"], ""), "runnable behind clerk and baler for 9 us");
        assert_eq!(said(&["baler", "carter"], ""), "runnable behind clerk, baler and carter for 9 us");
        assert_eq!(said(&[], "post()"), "runnable behind clerk for 9 us, which ran post()");
        let two = "runnable behind clerk for 9 us, which ran post(), and behind baler";
        assert_eq!(said(&["baler"], "post()"), two);
        assert_eq!(runners(Some(&Story::default()), "and by"), (String::new(), String::new()));
    }
}
