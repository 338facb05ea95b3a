use model::{Certainty, Story};

use super::*;
use crate::serving::ServingRow;

fn wait(by: &str, duration_ns: u64, is_answer: bool) -> SegmentReport {
    let mut story = Story::default();
    by.clone_into(&mut story.by);
    let row =
        ServingRow { part: None, kind: String::new(), unusual: String::new(), duration_ns, typical_ns: 0 };
    SegmentReport {
        ticks: 0,
        offset_ns: 0,
        duration_ns,
        cpu: None,
        tid: None,
        cause: "offcpu.socket".to_owned(),
        certainty: Certainty::Decoded,
        detail: String::new(),
        story,
        edge_uncertainty_ns: 0,
        during: Vec::new(),
        serving: if is_answer { vec![row] } else { Vec::new() },
        evidence: Vec::new(),
    }
}

fn line(segments: Vec<SegmentReport>) -> String {
    let outlier = OutlierReport { segments, ..OutlierReport::default() };
    outlier.with_server_requests("perf.data").with_option("--symfs", "my files").server_requests
}

#[test]
fn names_the_server_of_the_longest_wait_for_an_answer() {
    let segments =
        vec![wait("auditor", 900, false), wait("nginx", 100, true), wait("redis-server", 300, true)];
    assert_eq!(line(segments), "tailtrace explain -i perf.data --requests redis-server --symfs 'my files'");
    assert_eq!(
        line(vec![wait("IPC Server handler 3", 1, true)]),
        "tailtrace explain -i perf.data --requests 'IPC Server handler 3' --symfs 'my files'"
    );
    let of_own_name = line(vec![wait("another nginx", 1, true)]);
    assert_eq!(of_own_name, "tailtrace explain -i perf.data --requests nginx --symfs 'my files'");
}

#[test]
fn without_a_server_that_the_option_can_name_there_is_no_line() {
    for by in ["", "tid 128", "128", "a,b", "-x"] {
        assert_eq!(line(vec![wait(by, 1, true)]), "", "{by}");
    }
    assert_eq!(line(vec![wait("auditor", 1, false)]), "");
}
