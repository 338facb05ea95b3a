//! Machine files as they are written, and what is left of damaged and hostile ones.

use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> (Option<Machine>, Vec<String>) {
    let mut diagnostics = Vec::new();
    let machine = Machine::parse(text.as_bytes(), "m.json", &mut diagnostics);
    (machine, diagnostics.into_iter().map(|diagnostic| diagnostic.what).collect())
}

/// A file with this list.
fn with(list: &str) -> String {
    format!("{{\"schema\": \"tailtrace-machine/1\", {list}}}")
}

#[test]
fn a_file_by_hand_is_read() {
    let (machine, findings) = parsed(&with(
        r#""tool": "by hand", "microcode": "0x2b000603", "memory_block_bytes": 134217728, "later": {"field": 1},
        "nodes": [{"node": 1, "cpus": "4-7", "memory": [{"start": 4294967296, "end": 8589934592}]}],
        "block_devices": [
            {"major": 259, "minor": 2, "name": "nvme0n1p1", "disk": "nvme0n1", "node": 1},
            {"major": 253, "minor": 0, "name": "dm-0", "mapper": "vg-data", "slaves": ["nvme0n1p1"], "node": null}],
        "network_devices": [{"name": "eth0", "index": 2, "node": 0}],
        "interrupts": [{"number": 24, "actions": ["nvme0q1"], "node": 1}]"#,
    ));
    assert_eq!(findings, Vec::<String>::new());
    let machine = machine.expect("a file that makes sense");
    assert_eq!((machine.tool.as_str(), machine.memory_block_bytes), ("by hand", Some(134_217_728)));
    assert_eq!(machine.microcode.as_deref(), Some("0x2b000603"));
    let range = MemoryRange { start: 1 << 32, end: 2 << 32 };
    assert_eq!(machine.nodes, [MachineNode { node: 1, cpus: "4-7".to_owned(), memory: vec![range] }]);
    let words: Vec<_> = machine.block_devices.iter().map(|device| (device.words(), device.node)).collect();
    let expected = [("nvme0n1p1", Some(1)), ("mapper/vg-data on nvme0n1p1", None)];
    assert_eq!(words, expected.map(|(words, node)| (words.to_owned(), node)));
    assert_eq!(machine.network_devices[0].index, 2);
    assert_eq!(machine.interrupts[0].actions, ["nvme0q1"]);
}

#[test]
fn what_is_written_is_read() {
    let mut machine = Machine::written_by("tailtrace 1");
    machine.block_devices =
        vec![BlockDevice { major: 8, minor: 17, name: "sdb1".to_owned(), ..BlockDevice::default() }];
    let (read, findings) = parsed(&machine.to_json().expect("JSON"));
    assert_eq!((read, findings), (Some(machine), Vec::new()));
}

/// 39,000 interrupts as short as they can be written, of 107 bytes each: 4.17 of the 4.19 million bytes that a file may have.
#[test]
fn a_file_near_the_limit_is_read_again() {
    let entry = |number| format!(r#"{{"number":{number},"actions":["{}"],"node":null}}"#, "a".repeat(63));
    let interrupts: Vec<String> = (10_000..49_000).map(entry).collect();
    let text = with(&format!("\"interrupts\":[{}]", interrupts.join(",")));
    assert!((4_100_000..Machine::LARGEST).contains(&(text.len() as u64)), "{}", text.len());
    let (machine, findings) = parsed(&text);
    assert_eq!(findings, Vec::<String>::new());
    let (again, findings) =
        parsed(&machine.as_ref().expect("a file that makes sense").to_json().expect("JSON"));
    assert_eq!(findings, Vec::<String>::new());
    assert!(again == machine);
}

/// An entry must name its subject: nothing stands for 0.
#[test]
fn entries_without_their_numbers_are_left_out() {
    let whole = [
        ("nodes", r#"{"node": 0}"#),
        ("block_devices", r#"{"major": 0, "minor": 0, "name": "x"}"#),
        ("network_devices", r#"{"index": 0, "name": "x"}"#),
        ("interrupts", r#"{"number": 0}"#),
    ];
    let read = |list: &str, entry: &str| {
        let (machine, findings) = parsed(&with(&format!("\"{list}\": [{{}}, {entry}]")));
        let machine = machine.expect("the rest counts");
        let Machine { nodes, block_devices, network_devices, interrupts, .. } = machine;
        (nodes.len() + block_devices.len() + network_devices.len() + interrupts.len(), findings)
    };
    let finding = |list: &str, index: usize| format!("entry {index} of `{list}` is invalid: it is left out");
    for (list, entry) in whole {
        assert_eq!(read(list, entry), (1, vec![finding(list, 0)]), "{list}");
        let fields: serde_json::Map<String, Value> = serde_json::from_str(entry).expect("JSON");
        for field in fields.keys() {
            let mut less = fields.clone();
            less.remove(field);
            let less = Value::Object(less).to_string();
            assert_eq!(read(list, &less), (0, vec![finding(list, 0), finding(list, 1)]), "{list}: {less}");
        }
    }
}

#[test]
fn entries_without_sense_are_left_out_and_counted() {
    let numberless = "{\"name\": \"a\", \"major\": -1}, ".repeat(9);
    let (machine, findings) = parsed(&with(&format!(
        r#""block_devices": [{numberless}{{"major": 4096, "minor": 0, "name": "x"}}, {{"major": 8, "minor": 0, "name": ""}},
            {{"major": 8, "minor": 0, "name": "sda"}}], "nodes": 7,
        "interrupts": [{{"number": 1, "actions": ["{}"]}}]"#,
        "a".repeat(256)
    )));
    let machine = machine.expect("the rest counts");
    assert_eq!(machine.block_devices.iter().map(|device| &device.name).collect::<Vec<_>>(), ["sda"]);
    assert!(machine.interrupts.is_empty() && machine.nodes.is_empty());
    // Nine without a number, two more without sense, the interrupt's name: twelve, of which eight are described.
    assert_eq!(findings.len(), 1 + 8 + 1, "{findings:?}");
    assert_eq!(findings[9], "4 more entries are invalid: they are left out");
    let wrong = [
        r#""nodes": [{"node": 0, "cpus": "0-99999999"}]"#,
        r#""nodes": [{"node": 0, "memory": [{"start": 2, "end": 2}]}]"#,
    ];
    for list in wrong {
        let (machine, findings) = parsed(&with(list));
        assert_eq!((machine.map(|machine| machine.nodes.len()), findings.len()), (Some(0), 1), "{list}");
    }
}

#[test]
fn files_of_another_kind_are_refused_in_a_line() {
    let deep = "[".repeat(100_000);
    let long = " ".repeat(5 << 20);
    for text in ["", "{}", "[]", "null", "{\"schema\": \"tailtrace-machine/2\"}", &deep, &long] {
        let (machine, findings) = parsed(text);
        assert_eq!((machine, findings.len()), (None, 1), "{}", &text[..text.len().min(40)]);
    }
}

#[test]
fn the_file_lies_in_a_directory_or_beside_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(Machine::place(folder.path()), folder.path().join("machine.json"));
    let file = folder.path().join("perf.data");
    assert_eq!(Machine::place(&file), folder.path().join("perf.data.machine.json"));
    let mut diagnostics = Vec::new();
    assert_eq!(Machine::beside(&file, &mut diagnostics), None);
    assert_eq!(diagnostics, []);
    std::fs::create_dir(Machine::place(&file)).expect("a folder in its place");
    assert_eq!(Machine::beside(&file, &mut diagnostics), None);
    assert_eq!(diagnostics.len(), 1);
}

proptest! {
    /// Whatever stands in the file: no panic, and each entry that is kept can be written again.
    #[test]
    fn any_lists_are_read_or_told(
        entries in prop::collection::vec(("[a-z]{0,3}", any::<i64>(), "[0-9,-]{0,8}", prop::option::of(any::<u64>())), 0..20),
        list in prop::sample::select(vec!["nodes", "block_devices", "network_devices", "interrupts"]),
    ) {
        let entry = |(name, number, cpus, node): &(String, i64, String, Option<u64>)| serde_json::json!({
            "name": name, "major": number, "minor": number >> 50, "node": node, "cpus": cpus, "number": number, "index": number,
            "memory": [{"start": node, "end": number}], "actions": [name], "slaves": [name],
        });
        let written: Vec<Value> = entries.iter().map(entry).collect();
        let text = serde_json::json!({"schema": SCHEMA, list: written}).to_string();
        let (machine, findings) = parsed(&text);
        let machine = machine.expect("the format is right");
        let lists = [machine.nodes.len(), machine.block_devices.len(), machine.network_devices.len(), machine.interrupts.len()];
        let kept: usize = lists.iter().sum();
        prop_assert!(kept <= entries.len());
        prop_assert_eq!(kept == entries.len(), findings.is_empty());
        let (again, findings) = parsed(&machine.to_json().expect("JSON"));
        prop_assert_eq!((again, findings.len()), (Some(machine), 0));
    }
}
