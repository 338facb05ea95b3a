use super::*;

#[test]
fn only_whole_words_are_replaced() {
    for (text, expected) in [
        ("/home/al/bin/x of al", "/home/N/bin/x of N"),
        ("malloc and al_x and xal", "malloc and al_x and xal"),
        ("al", "N"),
        ("", ""),
        ("alal al", "alal N"),
    ] {
        assert_eq!(replace_words(text, "al", "N"), expected);
    }
    assert_eq!(replace_words("in /a/b: /a/bc", "/a/b", "/x"), "in /x: /a/bc");
}

/// A name is any word, and may look like what surrounds it.
#[test]
fn names_of_opened_files_are_replaced_behind_their_descriptors() {
    let names: HashMap<String, String> = [("main", "N1"), ("/a) fd 8 (b", "N2"), ("x", "N3")]
        .map(|(name, new)| (name.into(), new.into()))
        .into();
    for (text, expected) in [
        ("in read() on fd 7 (main), called by main()", "in read() on fd 7 (N1), called by main()"),
        ("fd 7 of pid 100 (x)", "fd 7 of pid 100 (N3)"),
        ("fd 7 (/a) fd 8 (b) for at most 10 ms", "fd 7 (N2) for at most 10 ms"),
        (
            "lock holder w, in write() on fd 1 (x), fd 2 (main)",
            "lock holder w, in write() on fd 1 (N3), fd 2 (N1)",
        ),
        ("fd 7 (TCP 10.0.0.1:1 to 10.0.0.2:2)", "fd 7 (TCP 10.0.0.1:1 to 10.0.0.2:2)"),
        ("fd of pid (x), fd x (x), fd 7", "fd of pid (x), fd x (x), fd 7"),
    ] {
        assert_eq!(replace_opened(text, &names), expected);
    }
}

#[test]
fn users_are_known_by_their_homes() {
    assert_eq!(user_of("/home/alice/bin/server").as_deref(), Some("alice"));
    assert_eq!(user_of("/usr/bin/server"), None);
    assert_eq!(user_of("/home/"), None);
}
