//! Names that V8 gives to code that it makes at run time, in jitdumps and perf maps: `LazyCompile:*totalOrders /srv/shop.js:23`.
//!
//! Source: `src/logging/log.cc` of V8 (`CodeEventLogger`, `ComputeMarker`): a kind and a colon, how the function was compiled, its name, a space
//! and where its source is. Up to V8 10 the kind of functions is `Function`, `LazyCompile`, `Eval` or `Script`, then `JS`.

/// Kinds of code that is a function of the program's.
const KINDS: [&str; 8] = [
    "JS",
    "LazyCompile",
    "Function",
    "Eval",
    "Script",
    "NativeFunction",
    "NativeLazyCompile",
    "NativeScript",
];

/// Where the source of a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place<'a> {
    pub(crate) file: &'a str,
    pub(crate) line: u32,
    pub(crate) column: Option<u32>,
    /// Whether the name has the file as a URL.
    pub(crate) is_url: bool,
}

/// What stands before a path where modules are named by URL.
pub(crate) const SCHEME: &str = "file://";

/// The path in a script's name.
pub(crate) fn path(script: &str) -> &str {
    script.strip_prefix(SCHEME).unwrap_or(script)
}

/// The function's own name, which may be empty, and where its source is; `None` where V8 gave no such name.
pub(crate) fn parts(name: &str) -> Option<(&str, Place<'_>)> {
    let (kind, rest) = name.split_once(':')?;
    if !KINDS.contains(&kind) {
        return None;
    }
    // Interpreted, or compiled by Sparkplug, Maglev or TurboFan.
    let rest = rest.strip_prefix(['~', '^', '+', '*']).unwrap_or(rest);
    let (function, place) = rest.rsplit_once(' ')?;
    Some((function, place_of(place)?))
}

/// `name` as a person says it. A function without a name has its place, one of Node.js itself its module.
pub(crate) fn demangle(name: &str) -> Option<String> {
    let (function, Place { file, line, .. }) = parts(name)?;
    let base = file.rsplit('/').next().unwrap_or(file);
    Some(match (file.starts_with("node:"), function) {
        (true, "") => format!("{file}:{line}"),
        (true, function) => format!("{file}.{function}"),
        (false, "") => format!("anonymous@{base}:{line}"),
        (false, function) => function.to_owned(),
    })
}

/// `FILE:LINE` or `FILE:LINE:COLUMN`.
fn place_of(place: &str) -> Option<Place<'_>> {
    let number = |text: &str| text.parse::<u32>().ok();
    let (rest, last) = place.rsplit_once(':')?;
    let last = number(last)?;
    let with_column = rest.rsplit_once(':').and_then(|(file, line)| Some((file, number(line)?)));
    let (file, line, column) = match with_column {
        Some((file, line)) => (file, line, Some(last)),
        None => (rest, last, None),
    };
    let is_url = file.starts_with(SCHEME);
    (!file.is_empty()).then_some(Place { file: path(file), line, column, is_url })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As node 18 (V8 10.2) and node 20 (V8 11.3) wrote them with `--perf-prof`.
    #[test]
    fn names_of_both_forms_are_read() {
        for (name, said) in [
            ("LazyCompile:*totalOrders /srv/shop.js:23", "totalOrders"),
            ("Function:^totalOrders /srv/shop.js:23", "totalOrders"),
            ("JS:*work /tmp/a.js:2:14", "work"),
            ("JS:~handle file:///srv/app.mjs:4:20", "handle"),
            ("Function:^get size /srv/my shop.js:23", "get size /srv/my"),
            ("LazyCompile:* /srv/shop.js:54", "anonymous@shop.js:54"),
            ("Function:^listOnTimeout node:internal/timers:517", "node:internal/timers.listOnTimeout"),
            ("JS:^ node:internal/validators:161:40", "node:internal/validators:161"),
        ] {
            assert_eq!(demangle(name).as_deref(), Some(said), "{name}");
        }
        for other in [
            "Builtin:ArrayMap",
            "RegExp:^(a+)+$",
            "BytecodeHandler:LdaZero",
            "JS:*",
            "JS:*f a.js",
            "std::f a:1",
            "JS:f :1",
        ] {
            assert_eq!(demangle(other), None, "{other}");
        }
    }

    #[test]
    fn the_place_is_in_the_name() {
        let place = |name| parts(name).map(|(_, place)| (place.file, place.line, place.column));
        assert_eq!(place("JS:*work file:///tmp/a.js:2:14"), Some(("/tmp/a.js", 2, Some(14))));
        assert_eq!(place("LazyCompile:*f /srv/shop.js:23"), Some(("/srv/shop.js", 23, None)));
        assert_eq!(
            place("Function:^peek node:internal/linkedlist:10"),
            Some(("node:internal/linkedlist", 10, None))
        );
    }
}
