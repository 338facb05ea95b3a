//! Functions under names that compilers and linkers make: `parse.constprop.0`, `parse.part.1`, `memcpy@@GLIBC_2.14`.
//!
//! Input: a name, mangled or not. Output: the function that it is a copy or a part of. Sources: GCC's `clone_function_name`
//! (`cgraphclones.cc`) and its callers, LLVM's promotion of local names (`.llvm.`), symbol versions of GNU ld (`@`, `@@`).

/// Copies do all that the function does, for the callers that reach them.
const COPIES: [&str; 5] = ["constprop", "isra", "llvm", "localalias", "lto_priv"];
/// Parts do some of it; the rest is in the function, or in its callers.
const PARTS: [&str; 2] = ["cold", "part"];

/// The function that `name` is a copy of; `name` itself where it is none.
pub(crate) fn original(name: &str) -> &str {
    stripped(unversioned(name), &|word| COPIES.contains(&word))
}

/// The function that `name` is a part of.
pub(crate) fn whole(name: &str) -> Option<&str> {
    let name = unversioned(name);
    let whole = stripped(name, &|word| COPIES.contains(&word) || PARTS.contains(&word));
    (whole.len() < original(name).len()).then_some(whole)
}

/// Without a version. A stub for calls into a library (`memcpy@plt`) is another function.
fn unversioned(name: &str) -> &str {
    match name.split_once('@') {
        Some((function, version)) if !function.is_empty() && version != "plt" => function,
        _ => name,
    }
}

/// Without the words after its last dots that are `meant`, and their numbers.
fn stripped<'a>(name: &'a str, meant: &dyn Fn(&str) -> bool) -> &'a str {
    let mut rest = name;
    while let Some((before, word)) = rest.rsplit_once('.') {
        let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        let (before, word) =
            if is_number { before.rsplit_once('.').unwrap_or((before, "")) } else { (before, word) };
        if before.is_empty() || !meant(word) {
            break;
        }
        rest = before;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_called_as_their_function() {
        for (name, function) in [
            ("parse", "parse"),
            ("parse.constprop.0", "parse"),
            ("parse.isra.0.constprop.12", "parse"),
            ("parse.lto_priv.3.isra.0", "parse"),
            ("server::parse.constprop.0", "server::parse"),
            ("memcpy@@GLIBC_2.14", "memcpy"),
            ("pthread_mutex_lock@GLIBC_2.2.5", "pthread_mutex_lock"),
            ("_ZL5parsev.llvm.1234", "_ZL5parsev"),
            // Others, and parts.
            ("memcpy@plt", "memcpy@plt"),
            ("parse.part.0", "parse.part.0"),
            ("main.parse", "main.parse"),
            ("parse.1", "parse.1"),
            (".constprop.0", ".constprop.0"),
            ("@", "@"),
            ("", ""),
        ] {
            assert_eq!(original(name), function, "{name}");
        }
    }

    #[test]
    fn parts_belong_to_their_function() {
        for (name, function) in [
            ("parse.part.0", Some("parse")),
            ("parse.part.0.isra.0", Some("parse")),
            ("parse.constprop.0.cold", Some("parse")),
            ("parse.cold", Some("parse")),
            ("parse.constprop.0", None),
            ("parse", None),
            ("memcpy@plt", None),
        ] {
            assert_eq!(whole(name), function, "{name}");
        }
    }
}
