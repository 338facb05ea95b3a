use super::*;

/// RFC 4648, section 10.
#[test]
fn base64_of_the_rfc() {
    let cases = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
    for (plain, encoded) in cases {
        assert_eq!(base64(plain.as_bytes()), encoded);
    }
}

/// What ends a `<script>` or `<style>` element must not stand in one, and a hash covers exactly what stands between.
#[test]
fn style_and_script_stay_within_their_elements() {
    assert!(!STYLE.contains("</") && !SCRIPT.contains("</") && !SCRIPT.contains("<!--"));
    let page = render_html(&Report::default());
    assert!(page.contains(&format!("<style>{STYLE}</style>")));
    assert!(page.contains(&format!("<script>{SCRIPT}</script>")));
}

/// No request can leave the page: it names no address at all.
#[test]
fn nothing_is_fetched() {
    let page = render_html(&Report::default());
    let addresses: Vec<&str> = page.split("://").skip(1).map(|rest| &rest[..10]).collect();
    // The name of a namespace, which is never fetched.
    assert_eq!(addresses, ["www.w3.org"]);
    assert!(!page.contains("src=") && !page.contains("<link") && !page.contains("@import"));
}
