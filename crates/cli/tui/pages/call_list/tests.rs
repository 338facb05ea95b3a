use report::CallReport;

use super::*;

/// `main` calls `parse` (90) and `log` (5), which calls `write` (5).
fn tree() -> CallTree {
    let node = |parent, name: &str, self_ns| CallReport {
        parent,
        name: name.to_owned(),
        self_ns,
        ..CallReport::default()
    };
    let nodes = vec![
        node(None, "main", 0),
        node(Some(0), "log", 0),
        node(Some(0), "parse", 90),
        node(Some(1), "write", 5),
    ];
    CallTree { nodes, stretches: Vec::new() }
}

fn names(part: &CallsPart) -> Vec<(usize, String, u64)> {
    let tree = tree();
    let line = |line: CallLine| (line.depth, tree.nodes[line.node].name.clone(), line.total);
    part.lines(&tree).into_iter().map(line).collect()
}

#[test]
fn costly_branches_are_open_and_come_first() {
    let shown = names(&CallsPart::new(&tree()));
    let expected = [(0, "main", 95), (1, "parse", 90), (1, "log", 5)];
    assert_eq!(shown, expected.map(|(depth, name, total)| (depth, name.to_owned(), total)));
}

#[test]
fn branches_open_and_close() {
    let mut part = CallsPart::new(&tree());
    part.cursor = Cursor::new(2);
    part.open(&tree());
    assert_eq!(names(&part)[3], (2, "write".to_owned(), 5));
    part.cursor = Cursor::new(3);
    part.close(&tree());
    assert_eq!(part.cursor.at(4), 2, "to its caller");
    part.close(&tree());
    assert_eq!(names(&part).len(), 3);
    part.toggle(&tree());
    assert_eq!(names(&part).len(), 4);
}
