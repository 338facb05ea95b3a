//! Functions of libraries and runtimes, by name: what a person means by "in `F()`" is the program's own code that called them.
//!
//! Names are all that a statically linked or stripped program leaves. Sources: the C standard and POSIX (glibc's exported names and
//! their `__` forms, which C reserves for the implementation), the reserved namespaces of C++ (`std`, `__gnu_cxx`), Rust's `core`, `alloc`
//! and `std`; of Go the standard library ([`go`]); the units that Ada predefines. What none of these names is known by its file and
//! its source ([`crate::Function::library`]).

pub(crate) mod go;

use go::{is_go, is_part, without_abi, without_shapes};

use syscalls::x86_64::Sysno;

/// Namespaces and reserved prefixes.
const PREFIXES: [&str; 38] = [
    "__",
    "_dl_",
    "_IO_",
    "_int_",
    "_Unwind_",
    "_nl_",
    "_itoa",
    "pthread_",
    "nptl_",
    "sem_",
    "futex_",
    "std::",
    "__gnu_cxx::",
    "operator new",
    "operator delete",
    "core::",
    "alloc::",
    // Rust's methods of numbers, slices, references: what a crate adds to its own types has their path.
    "<",
    // What its standard library holds of other crates.
    "hashbrown::",
    "panic_unwind::",
    // Rust's asynchronous runtime, and what polls a task for its markers.
    "tokio::",
    "mio::",
    "tailtrace_marks::",
    // V8: its own code, and that which it makes at run time for no function of the program's. Node.js: its modules.
    "v8::",
    "Builtins_",
    "Builtin:",
    "BytecodeHandler:",
    "node:",
    // GNAT's units (`gnat_rm`, "Interfacing to other languages": a package's name and `__` before what it declares), and the binder's package.
    "ada__",
    "system__",
    "gnat__",
    "interfaces__",
    "_ada_ada__",
    "_ada_system__",
    "ada_main__",
    // D's run-time library, as compilers call it. Its modules: `is_of_d`.
    "_d_",
    // Free Pascal's, as its compiler calls it: each name twice.
    "fpc_",
    "FPC_",
];

/// Whole names: what programs call to wait, to copy, to format and to allocate.
const NAMES: [&str; 96] = [
    "[no symbol]",
    "_start",
    "accept",
    "accept4",
    "aligned_alloc",
    "bcmp",
    "calloc",
    "cfree",
    "clock_gettime",
    "clock_nanosleep",
    "clone",
    "clone3",
    "close",
    "connect",
    "epoll_pwait",
    "epoll_wait",
    "eventfd_read",
    "eventfd_write",
    "fclose",
    "fdatasync",
    "fflush",
    "fopen",
    "fprintf",
    "fputs",
    "fread",
    "free",
    "fsync",
    "fwrite",
    "getdents64",
    "gettimeofday",
    "ioctl",
    "kill",
    "lll_lock_wait",
    "lseek",
    "lstat",
    "madvise",
    "malloc",
    "mbrtowc",
    "memchr",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "mmap",
    "mmap64",
    "mprotect",
    "mremap",
    "msync",
    "munmap",
    "nanosleep",
    "open",
    "open64",
    "openat",
    "openat64",
    "poll",
    "posix_memalign",
    "ppoll",
    "pread",
    "pread64",
    "printf",
    "puts",
    "pwrite",
    "pwrite64",
    "qsort",
    "qsort_r",
    "raise",
    "read",
    "readv",
    "realloc",
    "recv",
    "recvfrom",
    "recvmsg",
    "sched_yield",
    "select",
    "send",
    "sendmsg",
    "sendto",
    "snprintf",
    "sprintf",
    "start_thread",
    "stat",
    "strchr",
    "strcmp",
    "strcpy",
    "strlen",
    "strncmp",
    "syscall",
    "sysmalloc",
    "time",
    "usleep",
    "vfprintf",
    "vsnprintf",
    "wait4",
    "waitpid",
    "write",
    "writev",
];

/// Whether the file at `path` is one of the system's libraries, by its place and name; the vDSO is one.
pub fn is_system_library(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_shared = name.contains(".so.") || name.strip_suffix(".so").is_some();
    let system =
        ["/lib", "/usr/lib", "/usr/local/lib", "/nix/store"].iter().any(|place| path.starts_with(place));
    path == "[vdso]" || (system && is_shared)
}

/// Whether the function with this [`spoken`] name belongs to a library or runtime.
pub(crate) fn is_library(name: &str) -> bool {
    let whole = name.split('@').next().unwrap_or(name);
    let stem = whole.split_once('.').filter(|(_, rest)| is_part(rest)).map_or(whole, |(stem, _)| stem);
    // A program that holds its C library itself has the wrappers of system calls among its own functions.
    let is_call = || whole.parse::<Sysno>().is_ok();
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || NAMES.binary_search(&stem).is_ok()
        || is_call()
        || is_go(name)
        || is_of_d(name)
}

/// The modules and packages of D's run-time and standard library (druntime and Phobos 2.100), in order.
const OF_D: [(&str, &str); 4] = [
    (
        "core",
        "atomic attribute bitop checkedint cpuid demangle exception gc int128 internal lifetime math \
         memory runtime simd stdc stdcpp sync sys thread time vararg volatile",
    ),
    ("etc", "c linux valgrind"),
    (
        "rt",
        "aApply aApplyR aaA adi alloca arrayassign arraycat cast_ config cover critical_ deh dmain2 \
         dwarfeh ehalloc invariant_ lifetime memory memset minfo monitor_ profilegc qsort sections \
         sections_elf_shared tlsgc trace tracegc util",
    ),
    (
        "std",
        "algorithm array ascii base64 bigint bitmanip checkedint compiler complex concurrency container \
         conv csv datetime demangle digest encoding exception experimental file format functional getopt \
         internal json logger math mathspecial meta mmfile net numeric outbuffer parallelism path \
         process random range regex signals socket stdint stdio string sumtype system traits typecons \
         typetuple uni uri utf uuid variant windows xml zip zlib",
    ),
];

/// Whether it is a function of D's run-time or standard library: `std.array.Appender.put`, `core.memory.GC.collect`. Other languages have
/// packages of such names, too: `core.order.total` is not D's.
fn is_of_d(name: &str) -> bool {
    let mut parts = name.split('.');
    let (Some(package), Some(module), Some(function)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let of_package = OF_D.iter().find(|(name, _)| *name == package);
    of_package.is_some_and(|(_, modules)| modules.split(' ').any(|one| one == module))
        && !function.starts_with("func")
}

/// Whose code a path of calls is.
pub(crate) struct OwnCode {
    /// Its place in the path, from the innermost function outwards.
    pub(crate) at: usize,
    /// The innermost function of the program itself, or the innermost of all where there is no other, as [`spoken`] and `()`.
    pub(crate) function: String,
    /// The library's function that it had called, `()` added; empty where it had called none.
    pub(crate) through: String,
    /// Whether it is the program's at all.
    pub(crate) is_own: bool,
}

/// Whose code `path` is: the names of functions, innermost first, and whether their files are the system's libraries.
pub(crate) fn own_code<'a>(path: impl Iterator<Item = (&'a str, bool)>) -> Option<OwnCode> {
    let (mut innermost, mut unnamed, mut through) = (None, None, String::new());
    for (at, (function, of_system)) in path.enumerate() {
        let name = spoken(function);
        let function = called(&name);
        let own = |through: &str| OwnCode {
            at,
            function: function.clone(),
            through: through.to_owned(),
            is_own: true,
        };
        if !of_system && is_unnamed(&name) {
            unnamed.get_or_insert_with(|| own(&through));
        } else if !of_system && !is_library(&name) {
            return Some(own(&through));
        }
        innermost.get_or_insert_with(|| function.clone());
        through = function;
    }
    let of_library = || Some(OwnCode { at: 0, function: innermost?, through: String::new(), is_own: false });
    unnamed.or_else(of_library)
}

/// Whether it is the place of a function without a name in a stripped file: `nginx+0x1a2b40`.
pub(crate) fn is_unnamed(name: &str) -> bool {
    name.rsplit_once("+0x")
        .is_some_and(|(_, at)| !at.is_empty() && at.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// How V8 calls the code of a regular expression.
const EXPRESSION: &str = "RegExp:";

/// A function in a sentence: `read_price()`, and without parentheses where that is no name.
pub(crate) fn called(name: &str) -> String {
    let is_expression = name.starts_with(EXPRESSION);
    if is_expression || is_unnamed(name) { name.to_owned() } else { format!("{name}()") }
}

/// The name as a person says it: without template arguments, parameters, return type and unnamed namespaces.
pub(crate) fn spoken(function: &str) -> String {
    // A regular expression that V8 has compiled is its own name.
    if function.starts_with('[') || function.starts_with(EXPRESSION) {
        return function.to_owned();
    }
    let function = &*without_shapes(without_abi(function));
    if let Some(method) = method_of_impl(function) {
        return method;
    }
    let function = function.replace("(anonymous namespace)::", "");
    let (mut depth, mut name) = (0_usize, String::new());
    for (at, char) in function.char_indices() {
        let is_operator = name.starts_with("operator") || name.ends_with("::operator");
        match char {
            '<' if !is_operator => depth += 1,
            // `->` closes nothing.
            '>' if depth > 0 && !function[..at].ends_with('-') => depth -= 1,
            // A method of Go's has its receiver there: `main.(*server).handle`.
            '(' if depth == 0 && !function[at..].starts_with("(*") => break,
            ' ' if depth == 0 && !is_operator => name.clear(),
            _ if depth == 0 => name.push(char),
            _ => {}
        }
    }
    let name = name.trim_start_matches("::").trim_end_matches("::");
    if name.is_empty() { function } else { name.to_owned() }
}

/// Rust's methods: `<std::sys::Mutex>::lock` and `<book::Book as book::Post>::post` are `std::sys::Mutex::lock` and `book::Book::post`.
fn method_of_impl(function: &str) -> Option<String> {
    let inside = function.strip_prefix('<')?;
    let mut depth = 1_usize;
    let end = inside.char_indices().find_map(|(at, char)| {
        // `->` closes nothing.
        let closes = char == '>' && !inside[..at].ends_with('-');
        depth = depth + usize::from(char == '<') - usize::from(closes);
        (depth == 0).then_some(at)
    })?;
    let method = inside[end + 1..].strip_prefix("::")?;
    let of = inside[..end].split(" as ").next()?;
    let is_path = of.starts_with(char::is_alphabetic) && of.contains("::");
    let of = if is_path { spoken(of) } else { format!("<{of}>") };
    Some(format!("{of}::{}", spoken(method)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_in_order() {
        assert!(NAMES.is_sorted(), "they are found by bisection");
    }

    /// The nearest function with a name, if there is one.
    #[test]
    fn functions_without_names_are_the_last_choice() {
        let own =
            |path: &[&'static str]| own_code(path.iter().map(|&name| (name, false))).map(|own| own.function);
        assert_eq!(own(&["malloc", "nginx+0x1a2b40", "handle", "main"]).as_deref(), Some("handle()"));
        assert_eq!(own(&["malloc", "nginx+0x1a2b40", "nginx+0xff"]).as_deref(), Some("nginx+0x1a2b40"));
        assert!(!is_unnamed("operator+0x") && !is_unnamed("a+0xg"));
    }

    #[test]
    fn libraries_are_told_from_programs() {
        for library in [
            "__lll_lock_wait",
            "std::mutex::lock()",
            "read",
            "malloc",
            "runtime.futex",
            "core::fmt::write",
            "memcpy@plt",
            "mlock",
            "timerfd_settime@plt",
            "<std::sys::sync::condvar::futex::Condvar>::wait",
            "<alloc::string::String as core::fmt::Write>::write_str",
            "<[u64]>::sort",
            "<i64 as core::fmt::Display>::fmt",
            "hashbrown::raw::RawTable<u64>::reserve_rehash",
            "read.part.0",
            "net/http.(*conn).serve",
            "Builtin:KeyedLoadIC_PolymorphicName",
            "v8::internal::Builtin_HandleApiCall(int, unsigned long*, v8::internal::Isolate*)",
            "node:internal/timers.listOnTimeout",
            "system__tasking__protected_objects__lock",
            "ada__exceptions__raise_with_msg",
            "__gnat_rcheck_CE_Range_Check",
            "std.array.Appender.put",
            "core.internal.gc.impl.conservative.gc.Gcx.smallAlloc",
            "_d_throw",
        ] {
            assert!(is_library(&spoken(library)), "{library}");
        }
        for own in [
            "read_price",
            "worker",
            "main",
            "exchange::route_order(int)",
            "main.handle",
            "access.Check",
            "reader",
            "syncer",
            "send.Order",
            "totalOrders",
            "anonymous@shop.js:54",
            "RegExp:^(a+)+$",
            "depot__post_parcel",
            "core.check",
            "core.check.func1",
            "core.Check.Run",
            "brewery.quoteHops",
            "_ada_main",
            "system_load",
        ] {
            assert!(!is_library(&spoken(own)), "{own}");
        }
    }

    #[test]
    fn spoken_names_are_short() {
        for (whole, short) in [
            ("worker", "worker"),
            ("[no symbol]", "[no symbol]"),
            ("(anonymous namespace)::take_snapshot(unsigned long)", "take_snapshot"),
            ("void std::__introsort_loop<int*, long>(int*, int*, long)", "std::__introsort_loop"),
            ("ledger::book::{closure#0}", "ledger::book::{closure#0}"),
            ("std::vector<int, std::allocator<int> >::push_back(int&&)", "std::vector::push_back"),
            ("main.(*server).handle", "main.(*server).handle"),
            ("main.(*stack[go.shape.int]).push.func1", "main.(*stack).push.func1"),
            ("runtime.morestack_noctxt.abi0", "runtime.morestack_noctxt"),
            ("<ledger::Book as ledger::Post>::post", "ledger::Book::post"),
            (
                "<std::sys::sync::mutex::futex::Mutex>::lock_contended",
                "std::sys::sync::mutex::futex::Mutex::lock_contended",
            ),
            ("<std::sync::mpmc::list::Channel<fn() -> u64>>::recv", "std::sync::mpmc::list::Channel::recv"),
            ("<[u64]>::sort", "<[u64]>::sort"),
            (
                "core::slice::sort::stable::driftsort_main::<u64, fn(&u64)>",
                "core::slice::sort::stable::driftsort_main",
            ),
            ("operator new(unsigned long)", "operator new"),
            ("RegExp:^(a+) +$", "RegExp:^(a+) +$"),
        ] {
            assert_eq!(spoken(whole), short, "{whole}");
        }
        assert_eq!(called("RegExp:^(a+) +$"), "RegExp:^(a+) +$");
    }
}
