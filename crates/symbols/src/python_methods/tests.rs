use std::process::Command;

use super::*;

/// A module as `CPython`'s headers lay it out: `audit.post`, of the module, and `audit.Book.close`, of a type made of slots. The names and
/// values are those of the headers; `tail` looks like an entry and has no function.
const MODULE: &str = "
typedef void *(*function)(void *, void *);
struct method { const char *name; function code; int flags; const char *doc; };
#define STATIC __attribute__((noinline)) static
STATIC void *post(void *self, void *all) { (void)self; return all; }
STATIC void *close_book(void *self, void *all) { (void)all; return self; }
STATIC void *sort_key(void *self, void *all) { return self == all ? self : 0; }
static struct method posts[] = { { \"post\", post, 4, \"posts\" }, { 0, 0, 0, 0 } };
static struct method of_book[] = { { \"close\", close_book, 4, 0 }, { 0, 0, 0, 0 } };
struct slot { int number; void *what; };
static struct slot slots[] = { { 56, \"a book\" }, { 64, of_book }, { 0, 0 } };
struct spec { const char *name; int size, item; unsigned flags; struct slot *slots; };
struct spec book = { \"audit.Book\", 16, 0, 0, slots };
struct module { long head[5]; const char *name, *doc; long size; struct method *methods; };
struct module audit = { { 1, 0, 0, 0, 0 }, \"audit\", \"audits\", 64, posts };
struct { const char *name; function code; long kind; } other[] = { { \"sort\", sort_key, 4096 }, { \"tail\", 0, 1 } };
void *PyInit_audit(void) { return &audit; }
";

#[test]
fn functions_of_a_module_are_named_by_its_tables() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, module) = (folder.path().join("audit.c"), folder.path().join("audit.so"));
    std::fs::write(&source, MODULE).expect("written");
    let output = Command::new("gcc")
        .args(["-O1", "-shared", "-fPIC", "-o"])
        .arg(&module)
        .arg(&source)
        .output()
        .expect("gcc runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes = std::fs::read(&module).expect("read");
    let parsed = object::File::parse(&bytes[..]).expect("ELF");
    // What the unwind tables of the stripped file give is known here by its symbols.
    let start = |name: &str| {
        let found = parsed.symbols().find(|symbol| symbol.name() == Ok(name));
        found.expect("the compiler kept it").address()
    };
    let starts = HashSet::from(["post", "close_book", "sort_key"].map(start));
    let names = names(&parsed, &starts);
    let expected = [(start("post"), "audit.post"), (start("close_book"), "audit.Book.close")];
    assert_eq!(names, expected.map(|(at, name)| (at, name.to_owned())).into());
}
