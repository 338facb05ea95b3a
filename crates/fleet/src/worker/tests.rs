use super::*;
use crate::row::{DiagnosticRow, TableRow as _};

fn delivery() -> Delivery {
    Delivery { uri: "s3://bucket/one".to_owned(), ..Delivery::default() }
}

/// What becomes of a process that runs this script; `$ROWS` is whole rows.
fn of(script: &str) -> Option<Rows> {
    let limits = Limits { time: Duration::from_millis(700), memory: 5 << 20 };
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("ROWS", whole().to_json_lines().trim_end());
    supervised(&delivery(), command, &limits, |capture| capture != "known")
}

fn whole() -> Rows {
    let mut rows = without_rows(&delivery(), "ok", "");
    let capture = rows.capture().to_owned();
    rows.push(DiagnosticRow { capture, severity: "note".to_owned(), what: "x".to_owned(), place: None });
    rows
}

#[test]
fn rows_come_as_they_are() {
    assert_eq!(of(r#"echo '{"capture":"new"}'; echo "$ROWS""#), Some(whole()));
    assert_eq!(of(r#"echo '{"capture":"known"}'; sleep 60"#), None);
    assert_eq!(DiagnosticRow::TABLE, "diagnostics");
}

#[test]
fn whatever_happens_is_a_row() {
    let cases = [
        ("sleep 60", "timeout", "not explained within 0 s"),
        ("exec yes ''", "unreadable", "a line of rows is no JSON"),
        ("exec >&-; sleep 60", "timeout", "not explained within 0 s"),
        (
            "echo 'memory allocation of 9 bytes failed' >&2; kill -ABRT $$",
            "too-large",
            "it takes more than 5 MiB of memory",
        ),
        ("kill -KILL $$", "too-large", "it takes more than 5 MiB of memory"),
        ("echo why >&2; kill -SEGV $$", "unreadable", "explaining it ended by signal 11: why"),
        ("echo why >&2; exit 2", "unreadable", "explaining it failed: why"),
        (r#"echo "$ROWS"; exit 2"#, "unreadable", "explaining it failed: "),
        (r#"echo "$ROWS"; echo "$ROWS""#, "unreadable", "explaining it failed: "),
        ("true", "unreadable", "explaining it failed: "),
        (r#"echo '{"table":"none","row":{}}'"#, "unreadable", "there is no table \"none\""),
    ];
    for (script, status, error) in cases {
        let rows = of(script).unwrap_or_else(|| panic!("{script}"));
        assert_eq!((rows.status(), rows.error()), (status, error), "{script}");
    }
}
