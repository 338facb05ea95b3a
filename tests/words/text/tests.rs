//! Sources and documents of a few lines.

use super::*;

fn texts(found: &[Text]) -> Vec<(usize, &str)> {
    found.iter().map(|text| (text.line, text.text.as_str())).collect()
}

#[test]
fn literals_are_found_with_their_lines() {
    let source = "fn f<'a>(c: char) {\n  let s = \"one \\\"two\\\" \\\n     three\";\n  g('\"', b\"four\", r#\"fi\"ve\"#, '\\'');\n}\n";
    let found = read_source(source, false, false);
    assert_eq!(texts(&found.strings), [(2, "\"one two \n     three\""), (4, "\"four\""), (4, "\"fi\"ve\"")]);
    assert!(found.comments.is_empty());
}

#[test]
fn comments_of_adjacent_lines_are_one_text() {
    let source = "//! who\n//! ended `it tells`\n\n/* a /* nested */ one */\nlet x = \"// none\"; // last\n";
    let found = read_source(source, false, false);
    assert_eq!(
        texts(&found.comments),
        [(1, " who\n ended  "), (4, "/* a /* nested */ one */"), (5, " last")]
    );
    assert_eq!(texts(&found.strings), [(5, "\"// none\"")]);
}

#[test]
fn literals_of_test_items_are_left_out() {
    let source = "#[cfg(test)]\nmod tests { fn f() { g(\"in\"); } }\nconst A: &str = \"out\";\n#[cfg(test)]\nmod more;\nf(\"on\")";
    assert_eq!(texts(&read_source(source, false, false).strings), [(3, "\"out\""), (6, "\"on\"")]);
}

#[test]
fn placeholders_are_not_shown() {
    let found = read_source("f(\"a {told} {:?} {{b}} {nobody:>8} {\")", false, false);
    assert_eq!(texts(&found.strings), [(1, "\"a   {:?} {{b}}   {\"")]);
}

#[test]
fn help_is_a_literal() {
    let found = read_source("/// Shown.\n//  not shown\n", true, false);
    assert_eq!(texts(&found.strings), [(1, " Shown.")]);
    assert_eq!(texts(&found.comments), [(2, "  not shown")]);
}

#[test]
fn scripts_have_three_kinds_of_quotes() {
    let found = read_source("f('a', `b`, \"c\") // d", false, true);
    assert_eq!(texts(&found.strings), [(1, "\"a\""), (1, "\"b\""), (1, "\"c\"")]);
}

#[test]
fn documents_have_no_code() {
    let document = "It `tells`\n```text\nbehind\n```\nafter\n";
    assert_eq!(read_document(document).text, "It  \n\n\n\nafter\n");
}
