//! A wait in parts, for the headline: what for, where, ended by whom.

use model::{Cpu, OffCpu, Role, Story, ThreadId, Tsc, TscRange};

use crate::claims::claim::Claim;
use crate::claims::off_cpu::absence::Absence;
use crate::claims::off_cpu::context::Context;
use crate::claims::off_cpu::futex::{Held, awaits_gil};
use crate::claims::off_cpu::goroutine::Goroutine;
use crate::claims::off_cpu::wait::Wait;
use crate::inputs::comms::of_other_group;
use crate::tables::libraries::{called, is_library, is_unnamed, own_code, spoken};
use crate::tables::wait_functions::protocol;
use crate::walk::call_path::CallPath;
use crate::walk::hot_paths::CALLERS;

/// A thread had a good part of the CPU's time from one in so many of it on.
const GOOD_PART: u64 = 4;
/// How many threads are named besides the one that ran longest.
const MOST_BESIDES: usize = 2;

/// What user code waits for in functions of libraries, by parts of their names (see `futex.rs` for the sources).
const OBJECTS: [(&str, &str); 22] = [
    ("Notification", "a notification"),
    ("BlockingCounter", "a counter that must reach zero"),
    ("Mutex::Await", "a condition of a mutex"),
    ("LockWhen", "a condition of a mutex"),
    ("CondVar", "a condition variable"),
    ("__cxa_guard_acquire", "a static object that another thread constructs"),
    ("pthread_once", "a call_once() that another thread is in"),
    ("__atomic_futex", "a future"),
    ("mpmc::", "a message of a channel"),
    ("mpsc::", "a message of a channel"),
    ("Thread>::park", "an unpark()"),
    ("rwlock", "a read-write lock"),
    ("shared_mutex", "a read-write lock"),
    ("RwLock", "a read-write lock"),
    ("cond_", "a condition variable"),
    ("Condvar", "a condition variable"),
    ("sem_", "a semaphore"),
    ("join", "a thread to end"),
    ("barrier", "a barrier"),
    ("mutex", "a mutex"),
    ("Mutex", "a mutex"),
    ("lll_lock", "a mutex"),
];

/// The story of a wait that was ended by `absence`'s wake-up, and for a lock that lies in `variable`.
pub(super) fn of_wait(
    wait: &Wait,
    absence: &Absence,
    (held, variable): (Held, Option<String>),
    context: &Context<'_>,
) -> Story {
    let (place, through) = absence.left.as_ref().map(place_of).unwrap_or_default();
    let mut story = Story::default();
    story.object = object_of(wait, absence, variable.as_deref());
    if let Some(writer) = &absence.queued_after {
        story.object = format!("{} (queued after {writer}, which waited to write)", story.object);
    }
    (story.place, story.through) = match &absence.goroutine {
        Some(Goroutine::None) => Default::default(),
        Some(Goroutine::Waits(_, Some(place))) => (place.clone(), String::new()),
        _ => (place, through),
    };
    let Some(wakeup) = &absence.wakeup else { return story };
    if let Some(holder) = absence.holder {
        story.by = context.scene.comms.comm(holder, wakeup.recorded_at);
        story.role = Role::Beside;
    } else if let Some(thread) = wakeup.thread() {
        story.by = context.scene.comms.comm(thread, wakeup.recorded_at);
        // One that may have held it did at least end the wait.
        story.role = if held == Held::Surely { Role::Holder } else { Role::Waker };
        story.by_place = absence.waker.as_ref().map(|path| place_of(path).0).unwrap_or_default();
    } else if let Some(interrupt) = wakeup.interrupt() {
        story.by = interrupt.to_string();
        story.role = Role::Waker;
    }
    story
}

/// Adds the thread other than `own` that ran longest on `cpu` during `range`, and others that had a good part of the time.
pub(super) fn ran_instead(
    claim: &mut Claim,
    cpu: Option<Cpu>,
    range: TscRange,
    own: Option<ThreadId>,
    context: &Context<'_>,
) {
    let ran = cpu.map(|cpu| context.others_within(cpu, range, own)).unwrap_or_default();
    claim.behind = ran.first().map(|&(thread, _)| thread);
    claim.story.by =
        claim.behind.map_or_else(String::new, |thread| context.scene.comms.comm(thread, range.start));
    claim.story.role = Role::Runner;
    tell_apart(&mut claim.story, (own, claim.behind), range.start, context);
    let whole = context.conversion.duration_ns(range);
    let mut named = vec![claim.story.by.clone()];
    for &(thread, _) in ran.iter().skip(1).filter(|(_, ns)| ns.saturating_mul(GOOD_PART) >= whole) {
        let mut story = Story::default();
        story.by = context.scene.comms.comm(thread, range.start);
        tell_apart(&mut story, (own, Some(thread)), range.start, context);
        if !named.contains(&story.by) {
            named.push(story.by);
        }
    }
    claim.story.besides = named.into_iter().skip(1).take(MOST_BESIDES).collect();
}

/// A thread that is called like `own` is another one: servers have several processes or workers of one name. `by` is of another group, maybe.
pub(super) fn tell_apart(
    story: &mut Story,
    (own, by): (Option<ThreadId>, Option<ThreadId>),
    at: Tsc,
    context: &Context<'_>,
) {
    if own.is_some_and(|own| context.scene.comms.comm(own, at) == story.by) {
        story.by = format!("another {}", story.by);
    }
    if let Some(by) = by {
        story.by += &of_other_group(context.scene.comms, by, own, at);
    }
}

fn object_of(wait: &Wait, absence: &Absence, variable: Option<&str>) -> String {
    if let Some(goroutine) = &absence.goroutine {
        return goroutine.object().to_owned();
    }
    if let Some(job) = absence.job.as_ref().filter(|_| wait.kind == OffCpu::Poll) {
        return job.object().to_owned();
    }
    let (call, left) = (wait.call.as_ref(), absence.left.as_ref());
    let what = wait.what.strip_prefix("for ").unwrap_or(wait.what);
    let descriptor = call.and_then(|call| {
        let number = call.object.map(|object| object.to_string())?;
        Some(call.file.as_ref().map_or(number, ToString::to_string))
    });
    match wait.kind {
        OffCpu::Lock if !what.is_empty() => what.to_owned(),
        OffCpu::Lock if left.is_some_and(awaits_gil) => "the GIL".to_owned(),
        OffCpu::Lock => {
            let known = OBJECTS.iter().find(|(part, _)| left.is_some_and(|path| passes_library(path, part)));
            if let Some(inner) = left.and_then(lock_of_libc) {
                return inner.to_owned();
            }
            match (known, variable) {
                (Some((_, kind)), Some(name)) => named(kind, name),
                (Some((_, kind)), None) => (*kind).to_owned(),
                (None, Some(name)) => format!("futex {name}"),
                (None, None) => descriptor.unwrap_or_else(|| "a lock".to_owned()),
            }
        }
        OffCpu::BlockIo => match &wait.request {
            Some(served) => format!("disk {}", served.request.device),
            None if what.is_empty() => "block I/O".to_owned(),
            None => what.to_owned(),
        },
        OffCpu::Socket => {
            let protocol = left.and_then(|path| path.kernel_functions().find_map(protocol));
            let socket =
                protocol.map_or_else(|| "a socket".to_owned(), |protocol| format!("a {protocol} socket"));
            let what = if what.is_empty() { String::new() } else { format!("{what} from ") };
            descriptor
                .map_or_else(|| format!("{what}{socket}"), |number| format!("{what}{socket} ({number})"))
        }
        OffCpu::Poll if left.is_some_and(|path| lock_of_program(path).is_some()) => {
            let function = left.and_then(lock_of_program).unwrap_or_default();
            format!("a lock of {function}")
        }
        OffCpu::Poll => {
            let name = call.map_or("poll", |call| &call.name);
            descriptor.map_or_else(
                || format!("events in {name}()"),
                |number| format!("events in {name}() on {number}"),
            )
        }
        _ if !what.is_empty() => what.to_owned(),
        _ => call.map_or_else(String::new, |call| format!("{}()", call.name)),
    }
}

/// `mutex lock`. What is sent or awaited by means of a futex is not called by it.
fn named(kind: &str, variable: &str) -> String {
    match kind.strip_prefix("a ") {
        Some(object) if [" of ", " to ", " that "].iter().all(|word| !object.contains(word)) => {
            format!("{object} {variable}")
        }
        _ => kind.to_owned(),
    }
}

/// A lock that the C library has for itself, by the function that takes it (glibc `libio/`, `malloc/`).
fn lock_of_libc(path: &CallPath) -> Option<&'static str> {
    let mut outwards = path.user.iter().rev().filter(|site| site.is_library());
    outwards.find(|site| site.function.contains("lll_lock_wait_private"))?;
    let taker = outwards.map(|site| &*site.function).find(|name| !name.contains("lll_lock"))?;
    let name = taker.trim_start_matches('_');
    let name = name.strip_prefix("GI_").unwrap_or(name).trim_start_matches('_');
    let name = name.strip_prefix("libc_").unwrap_or(name);
    let name = name.strip_suffix("_unlocked").unwrap_or(name);
    let is_of = |names: &str| names.split(' ').any(|one| one == name);
    if is_of(OF_MALLOC) || name.starts_with("int_") || name.starts_with("arena_") {
        Some("a lock of malloc()")
    } else if is_of(OF_STREAMS) || name.starts_with("IO_") {
        Some("the lock of a stream (FILE)")
    } else {
        None
    }
}

/// Functions of glibc's `malloc/`, whose own begin with `_int_` and `arena_`.
const OF_MALLOC: &str = "aligned_alloc calloc free mallinfo mallinfo2 malloc malloc_trim memalign posix_memalign pvalloc \
    realloc valloc";

/// Functions of glibc's `libio/` and `stdio-common/` that lock a stream; others begin with `_IO_`.
const OF_STREAMS: &str = "dprintf fclose fflush fgetc fgetpos fgets fgetwc flockfile fprintf fputc fputs fputwc fread \
    fscanf fseek fseeko fsetpos ftell ftello fwrite getc getchar getdelim getline perror printf \
    putc putchar puts rewind setvbuf ungetc vfprintf vfscanf vprintf vscanf";

/// The program's own function that takes a lock: programs build locks of events, too (`LockAcquire` of a database sleeps in
/// `epoll_wait`). By its name: the word "lock", and one that says that it is taken.
fn lock_of_program(path: &CallPath) -> Option<String> {
    let takes = |name: &String| {
        let lower = name.to_lowercase();
        let is_word = name.contains("Lock") || lower.split('_').any(|word| word == "lock");
        is_word && ["acquire", "wait", "enter", "take"].iter().any(|verb| lower.contains(verb))
    };
    own_names(path).find(takes).map(|name| called(&name))
}

/// Whether a function of a library whose name has `part` is on the path.
fn passes_library(path: &CallPath, part: &str) -> bool {
    path.user.iter().filter(|site| site.is_library()).any(|site| site.function.contains(part))
}

/// Whose code the path is, with its line, and the library's function that it had called.
pub(super) fn place_of(path: &CallPath) -> (String, String) {
    let sites = || path.user.iter().rev();
    let own = own_code(sites().map(|site| (&*site.function, site.library)));
    let Some(own) = own else { return Default::default() };
    let line = sites().nth(own.at).and_then(|site| site.line.as_ref());
    let place = line.map_or_else(|| own.function.clone(), |line| format!("{} {line}", own.function));
    (place, own.through)
}

/// The program's own functions that had called the one that [`place_of`] names: `audit() < serve()`.
pub(super) fn callers_of(path: &CallPath) -> String {
    let callers: Vec<String> = own_functions(path).into_iter().skip(1).take(CALLERS).collect();
    callers.join(" < ")
}

/// The program's own functions on `path`, `serve()`, innermost first, without those that have no name.
pub(crate) fn own_functions(path: &CallPath) -> Vec<String> {
    own_names(path).filter(|name| !is_unnamed(name)).map(|name| called(&name)).collect()
}

/// The functions of the program itself on `path`, as a person says them, innermost first.
fn own_names(path: &CallPath) -> impl Iterator<Item = String> + '_ {
    let own = path.user.iter().rev().filter(|site| !site.library).map(|site| spoken(&site.function));
    own.filter(|name| !is_library(name))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::walk::call_path::Site;

    fn path(functions: &[(&str, bool)]) -> CallPath {
        let line: Option<Arc<str>> = Some("book.cpp:7".into());
        let site = |&(name, library): &(&str, bool)| Site {
            ip: 0,
            function: name.into(),
            line: line.clone(),
            library,
            collector: None,
        };
        CallPath { user: functions.iter().map(site).collect(), ..CallPath::default() }
    }

    /// The C library's own locks have no name that a program gave them.
    #[test]
    fn the_c_librarys_own_locks_are_named() {
        for (functions, lock) in [
            (
                &[("log", false), ("_IO_fwrite", true), ("__lll_lock_wait_private", true)][..],
                Some("the lock of a stream (FILE)"),
            ),
            (
                &[("grow", false), ("__libc_malloc", true), ("__lll_lock_wait_private", true)],
                Some("a lock of malloc()"),
            ),
            (&[("grow", false), ("__pthread_mutex_lock", true), ("__lll_lock_wait", true)], None),
            (&[("log", false), ("_IO_fwrite", true), ("flush", false), ("pthread_mutex_lock", true)], None),
        ] {
            assert_eq!(lock_of_libc(&path(functions)), lock, "{functions:?}");
        }
    }

    /// The program's own function, and what it called; of a library alone the innermost.
    #[test]
    fn the_place_is_the_programs_own_code() {
        for (functions, place, through) in [
            (
                &[
                    ("main", false),
                    ("book::take(int)", false),
                    ("std::mutex::lock()", false),
                    ("__lll_lock_wait", false),
                ][..],
                "book::take() book.cpp:7",
                "std::mutex::lock()",
            ),
            (
                &[("main", false), ("lock_quickly", true), ("futex", true)],
                "main() book.cpp:7",
                "lock_quickly()",
            ),
            (
                &[("ledger::take", false), ("<std::sys::sync::mutex::futex::Mutex>::lock_contended", false)],
                "ledger::take() book.cpp:7",
                "std::sys::sync::mutex::futex::Mutex::lock_contended()",
            ),
            (&[("start_thread", true), ("clone3", true)], "clone3() book.cpp:7", ""),
            (&[], "", ""),
        ] {
            assert_eq!(place_of(&path(functions)), (place.to_owned(), through.to_owned()), "{functions:?}");
        }
    }

    #[test]
    fn objects_are_called_by_their_variable() {
        for (kind, called) in [
            ("a mutex", "mutex book"),
            ("a read-write lock", "read-write lock book"),
            ("a condition variable", "condition variable book"),
            ("a message of a channel", "a message of a channel"),
            ("a thread to end", "a thread to end"),
            ("an unpark()", "an unpark()"),
        ] {
            assert_eq!(named(kind, "book"), called);
        }
    }

    #[test]
    fn locks_that_programs_build_are_named() {
        for (functions, lock) in [
            (
                &[
                    ("PostgresMain", false),
                    ("LockAcquireExtended", false),
                    ("WaitLatch", false),
                    ("epoll_wait", true),
                ][..],
                Some("LockAcquireExtended()"),
            ),
            (
                &[("run", false), ("lock_wait_suspend_thread", false), ("poll", true)],
                Some("lock_wait_suspend_thread()"),
            ),
            (&[("read_block_wait", false), ("WaitLatch", false), ("epoll_wait", true)], None),
            (&[("main", false), ("unlock_and_wait", false), ("epoll_wait", true)], None),
        ] {
            assert_eq!(lock_of_program(&path(functions)).as_deref(), lock, "{functions:?}");
        }
    }

    /// A function of the program may be called what it likes.
    #[test]
    fn only_libraries_show_what_is_waited_for() {
        assert!(passes_library(&path(&[("take", false), ("pthread_cond_wait", true)]), "cond_"));
        assert!(passes_library(
            &path(&[("take", false), ("<std::sys::sync::rwlock::futex::RwLock>::read_contended", false)]),
            "RwLock"
        ));
        assert!(!passes_library(&path(&[("second_attempt", false), ("syscall", true)]), "cond_"));
    }
}
