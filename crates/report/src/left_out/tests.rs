use model::{Certainty, Story};

use super::*;

fn segment(cause: &str, place: &str, duration_ns: u64) -> SegmentReport {
    let mut story = Story::default();
    place.clone_into(&mut story.place);
    SegmentReport {
        ticks: 0,
        offset_ns: 0,
        duration_ns,
        cpu: None,
        tid: None,
        cause: cause.to_owned(),
        certainty: Certainty::Decoded,
        detail: String::new(),
        story,
        edge_uncertainty_ns: 0,
        during: Vec::new(),
        serving: Vec::new(),
        evidence: Vec::new(),
    }
}

fn words(segments: &[SegmentReport], whole: u64) -> Vec<(u64, String)> {
    sums(segments.iter(), whole).iter().map(|sum| (sum.duration_ns, sum.words())).collect()
}

#[test]
fn what_is_left_out_is_summed_by_cause_and_place() {
    let segments = [
        segment("user.expected", "parse()", 30),
        segment("kernel.syscall.read", "next_line()", 50),
        segment("user.expected", "parse()", 40),
        segment("user.expected", "send()", 5),
        segment("kernel.timer", "", 2),
    ];
    let expected = [
        (70, "user.expected, 2 times in parse()"),
        (50, "kernel.syscall.read, once called by next_line()"),
        (5, "user.expected, once in send()"),
    ]
    .map(|(duration, words)| (duration, words.to_owned()));
    assert_eq!(words(&segments, 100), expected);
    // What is little beside the whole is not listed, but for the first.
    assert_eq!(words(&segments, 1000), expected[..2]);
    assert_eq!(words(&segments, 1270)[..], expected[..1]);
    // Less than a tenth is not worth a line, and one alone says nothing more by a sum.
    assert_eq!(words(&segments, 1280), []);
    assert_eq!(words(&segments[..1], 30), []);
}
