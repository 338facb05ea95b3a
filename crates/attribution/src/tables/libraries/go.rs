//! Go's standard library by its functions' names: `internal/sync.(*Mutex).lockSlow`.
//!
//! Input: names of the symbol table. Sources: `go list std` of Go 1.26; `cmd/compile/internal/noder/reader.go` (shapes), `cmd/link` (ABI names).

use std::borrow::Cow;

/// The standard library's packages by the first element of their paths (`net/http`). A program's are `main` or begin with the name of
/// a module, which for all that can be fetched has a dot in its first element.
const PACKAGES: [&str; 54] = [
    "archive",
    "arena",
    "bufio",
    "bytes",
    "cmp",
    "compress",
    "container",
    "context",
    "crypto",
    "database",
    "debug",
    "embed",
    "encoding",
    "errors",
    "expvar",
    "flag",
    "fmt",
    "go",
    "hash",
    "html",
    "image",
    "index",
    "internal",
    "io",
    "iter",
    "log",
    "maps",
    "math",
    "mime",
    "net",
    "os",
    "path",
    "plugin",
    "reflect",
    "regexp",
    "runtime",
    "simd",
    "slices",
    "sort",
    "strconv",
    "strings",
    "structs",
    "sync",
    "syscall",
    "testing",
    "text",
    "time",
    "unicode",
    "unique",
    "unsafe",
    "vendor",
    "weak",
    // What the compiler makes: `type:.eq.main.order`, `go:main.inittasks`.
    "type:",
    "go:",
];

/// The runtime's functions in assembly that have no package (`TEXT gogo<>(SB)`).
const ASSEMBLY: [&str; 14] = [
    "_rt0_amd64",
    "_rt0_amd64_linux",
    "aeshashbody",
    "callRet",
    "cmpbody",
    "countbody",
    "crosscall2",
    "gcWriteBarrier",
    "gogo",
    "gosave_systemstack_switch",
    "indexbody",
    "indexbytebody",
    "memeqbody",
    "setg_gcc",
];

/// What compilers of other languages put after a dot: `sort.part.0` is a part of C's `sort`.
const PARTS: [&str; 9] =
    ["clone", "cold", "constprop", "isra", "llvm", "localalias", "lto_priv", "part", "resolver"];

/// Whether `name` is a function of Go's runtime or standard library.
pub(crate) fn is_go(name: &str) -> bool {
    let name = without_abi(name);
    let last = name.rfind('/').map_or(0, |slash| slash + 1);
    let Some(dot) = name[last..].find('.') else { return ASSEMBLY.contains(&name) };
    let (package, function) = (&name[..last + dot], &name[last + dot + 1..]);
    let first = package.split('/').next().unwrap_or(package);
    PACKAGES.contains(&first) && !is_part(function)
}

/// Whether what stands after the dot of a name says that this is a part of the function before it: `part.0`.
pub(super) fn is_part(rest: &str) -> bool {
    rest.is_empty() || rest.split('.').next().is_some_and(|word| PARTS.contains(&word))
}

/// A function in assembly has two names: `runtime.gogo.abi0`.
pub(crate) fn without_abi(function: &str) -> &str {
    function.strip_suffix(".abi0").unwrap_or(function)
}

/// The name without the shapes of a generic function's types: `slices.SortFunc[go.shape.[]uint64,go.shape.uint64]`.
pub(super) fn without_shapes(function: &str) -> Cow<'_, str> {
    let Some(begin) = function.find("[go.shape.").or_else(|| function.find("[...]")) else {
        return Cow::Borrowed(function);
    };
    let mut depth = 0_usize;
    let end = function[begin..].find(|char| {
        depth = (depth + usize::from(char == '[')).saturating_sub(usize::from(char == ']'));
        depth == 0
    });
    let rest = end.map_or("", |end| &function[begin + end + 1..]);
    Cow::Owned(format!("{}{rest}", &function[..begin]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_library_is_no_program() {
        for name in [
            "runtime.gopark",
            "runtime.morestack_noctxt.abi0",
            "internal/sync.(*Mutex).lockSlow",
            "os.(*File).Read",
            "net/http.(*conn).serve",
            "time.Sleep",
            "sort.insertionSort_func",
            "type:.eq.main.order",
            "vendor/golang.org/x/net/dns/dnsmessage.(*Parser).Start",
            "gogo",
            "aeshashbody",
        ] {
            assert!(is_go(name), "{name}");
        }
        for name in [
            "main.readReply",
            "main.(*server).handle",
            "github.com/acme/log.(*Logger).Print",
            "golang.org/x/sync/errgroup.(*Group).Wait",
            "sort.part.0",
            "log.cold",
            "hash.constprop.0",
            "time",
            "mygogo",
            "std::sort",
        ] {
            assert!(!is_go(name), "{name}");
        }
    }

    #[test]
    fn shapes_are_left_out() {
        for (whole, short) in [
            ("slices.SortFunc[go.shape.[]uint64,go.shape.uint64]", "slices.SortFunc"),
            ("main.(*stack[go.shape.map[string]int]).push", "main.(*stack).push"),
            ("main.Map[...].func1", "main.Map.func1"),
            ("main.half[go.shape.", "main.half"),
            ("operator[]", "operator[]"),
        ] {
            assert_eq!(without_shapes(whole), short);
        }
    }
}
