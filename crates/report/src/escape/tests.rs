use proptest::prelude::*;

use super::*;

#[test]
fn a_terminal_gets_one_line_without_controls() {
    for (raw, shown) in [
        ("engine", "engine"),
        ("a\u{1b}[2Jb\n", r"a\u{1b}[2Jb\n"),
        ("\u{9b}31m\u{7f}\t", r"\u{9b}31m\u{7f}\t"),
        ("\u{202e}gnp.exe", r"\u{202e}gnp.exe"),
        ("zero\u{200b}width\u{feff}", r"zero\u{200b}width\u{feff}"),
        ("größe 表", "größe 表"),
    ] {
        assert_eq!(for_terminal(raw), shown);
    }
}

#[test]
fn length_is_bounded_before_anything_else() {
    let long = "x".repeat(10_000_000);
    assert_eq!(for_terminal(&long).chars().count(), MAX_CHARS + 1);
    assert!(for_terminal(&long).ends_with("x…"));
    assert_eq!(bounded_for_json(&long).chars().count(), MAX_JSON_CHARS + 1);
    assert_eq!(bounded_for_json("short"), "short");
    assert_eq!(for_terminal(&"é".repeat(MAX_CHARS)).chars().count(), MAX_CHARS);
}

#[test]
fn markdown_keeps_what_symbols_look_like() {
    for (raw, shown) in [
        ("kernel.page-fault.minor", "kernel.page-fault.minor"),
        ("asm_exc_page_fault", "asm_exc_page_fault"),
        ("__do_softirq", r"\_\_do_softirq"),
        ("memcpy@plt", "memcpy@plt"),
        ("std::vector<int>::push_back(int&&)", "std::vector&lt;int&gt;::push_back(int&amp;&amp;)"),
        ("a|b", r"a\|b"),
        (r"a\|b", r"a\\\|b"),
        ("`x`", r"\`x\`"),
        ("[a](javascript:b)", r"\[a\]\(javascript:b)"),
        ("https://x", r"https:\//x"),
        ("www.x", r"www\.x"),
        ("- x", r"\- x"),
        ("--mad 3.5", "--mad 3.5"),
        ("# x", r"\# x"),
        ("1. x", r"1\. x"),
        ("12) x", r"12\) x"),
        ("by comp (tid 122) on", "by comp (tid 122) on"),
        ("issue #12", "issue #\u{2060}12"),
        ("@all", "@\u{2060}all"),
        ("a\nb", r"a\\nb"),
    ] {
        assert_eq!(for_markdown(raw), shown);
    }
}

#[test]
fn json_escapes_what_a_terminal_would_obey() {
    let document = "{\n  \"a\": \"\u{9b}\u{202e}é\u{e0041}\"\n}";
    let shown = for_json_document(document);
    assert_eq!(shown, "{\n  \"a\": \"\\u009b\\u202eé\\udb40\\udc41\"\n}");
    let (one, other): (serde_json::Value, serde_json::Value) =
        (serde_json::from_str(document).expect("JSON"), serde_json::from_str(&shown).expect("JSON"));
    assert_eq!(one, other);
}

proptest! {
    #[test]
    fn terminal_text_never_controls(raw in any::<String>()) {
        let shown = for_terminal(&raw);
        prop_assert!(!shown.chars().any(is_unprintable));
    }

    #[test]
    fn markdown_text_is_inert(raw in "[ -~\n\u{202e}]{0,80}") {
        let shown = for_markdown(&raw);
        prop_assert!(!shown.contains(['<', '>', '\n']));
        prop_assert!(!shown.contains("](") && !shown.contains("://"));
        // An odd number of backslashes stands before each character that means something.
        for (at, character) in shown.char_indices().filter(|(_, c)| "|`*~[]${}".contains(*c)) {
            let slashes = shown[..at].bytes().rev().take_while(|&byte| byte == b'\\').count();
            prop_assert!(slashes % 2 == 1, "{character} in {shown}");
        }
    }
}
