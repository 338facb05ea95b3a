//! Names as `rustfilt` and `c++filt -p` print them.

use super::*;

#[test]
fn takes_rust_and_cpp_names_apart() {
    for (mangled, plain) in [
        ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"),
        ("_RNvC6_123foo3bar", "123foo::bar"),
        ("_ZN3foo3barEi", "foo::bar"),
        // A variable has no parameters, so that it looks like an old name of Rust's without hash.
        ("_ZN12_GLOBAL__N_16quotedE", "(anonymous namespace)::quoted"),
        (
            "_ZN4core3ops8function6FnOnce40call_once$u7b$$u7b$vtable.shim$u7d$$u7d$17h0123456789abcdefE",
            "core::ops::function::FnOnce::call_once{{vtable.shim}}",
        ),
        ("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back"),
        ("_ZN3foo3barEi.isra.0", "foo::bar.isra.0"),
        // The bodies of coroutines, as GCC 12 names them.
        ("_Z4workPZ4workiPKcE17_Z4workiPKc.Frame.actor", "work.actor"),
        ("_ZN4flow5drainEPZNS_5drainEiE22_ZN4flow5drainEi.Frame.destroy", "flow::drain.destroy"),
        // Empty packs of arguments.
        ("_Z1fIiJEJEEvv", "f<int>"),
        ("_Z1fIJEiEvv", "f<, int>"),
        (
            "_Z4callIZN12_GLOBAL__N_14openEjE3$_4JEEvOT_DpOT0_",
            "call<(anonymous namespace)::open(unsigned int)::$_4>",
        ),
        // Stubs.
        ("_ZN3foo3barEi@plt", "foo::bar@plt"),
        ("_RNvC6_123foo3bar@plt", "123foo::bar@plt"),
        ("_D4core6atomic5fenceFNaNbNiZv@plt", "core.atomic.fence@plt"),
        ("_ZN3fooE_not_a_name", "_ZN3fooE_not_a_name"),
        ("asm_exc_page_fault", "asm_exc_page_fault"),
        ("", ""),
    ] {
        assert_eq!(demangle(mangled), plain);
    }
}

/// A template of pairs of pairs: each one doubles the text (`c++filt` of two steps shows it).
fn doubling(steps: u32) -> String {
    let doubled = (1..=steps).map(|step| {
        let digit = char::from_digit(step, 36).expect("one digit").to_ascii_uppercase();
        format!("S0_IS{digit}_S{digit}_E")
    });
    format!("_Z1fISt4pairIiiE{}Evv", doubled.collect::<String>())
}

#[test]
fn a_name_that_unfolds_without_end_stays_mangled() {
    assert_eq!(
        demangle(&doubling(1)),
        "f<std::pair<int, int>, std::pair<std::pair<int, int>, std::pair<int, int> > >"
    );
    let started = std::time::Instant::now();
    assert_eq!(demangle(&doubling(34)), doubling(34));
    assert!(demangle(&"_Z".repeat(LONGEST)).len() <= 2 * LONGEST);
    assert!(started.elapsed().as_secs() < 5);
}

/// What `c++filt` writes of these, without return types and parameters. GDB and perf show names so, too.
#[test]
fn literals_in_template_arguments_are_written_as_in_source() {
    for (mangled, plain) in [
        ("_Z9constructILj5EEvm", "construct<5u>"),
        ("_Z1fILm7EEvv", "f<7ul>"),
        ("_Z1fILl7EEvv", "f<7l>"),
        ("_Z1fILln3EEvv", "f<-3l>"),
        ("_Z1fILin3EEvv", "f<-3>"),
        ("_Z1fILy7EEvv", "f<7ull>"),
        ("_Z1fILx7EEvv", "f<7ll>"),
        ("_Z1fILb1EEvv", "f<true>"),
        ("_Z1fILc97EEvv", "f<(char)97>"),
        ("_Z1fILh9EEvv", "f<(unsigned char)9>"),
        ("_ZN12_GLOBAL__N_14workEv", "(anonymous namespace)::work"),
    ] {
        assert_eq!(demangle(mangled), plain);
    }
}

/// Declarations of Free Pascal's units, and the symbols that `nm` lists for them.
#[test]
fn names_of_free_pascal() {
    let names = [
        ("QUARRY_STEPS_$$_AWAIT_BLAST", "quarry_steps.await_blast"),
        ("QUARRY_STEPS_$$_ROUTE_LOAD$INT64$LONGINT$$INT64", "quarry_steps.route_load"),
        ("P$QUARRY_$$_SERVE$POINTER$$INT64", "quarry.serve"),
        ("SYSTEM_$$_GETTHREADID$$QWORD", "system.getthreadid"),
        (
            "SYSUTILS$_$TANSISTRINGBUILDER_$__$$_APPENDLINE$$TANSISTRINGBUILDER",
            "sysutils.tansistringbuilder.appendline",
        ),
        ("CLASSES$_$TPARSER_$__$$_HANDLESTRING", "classes.tparser.handlestring"),
        ("UNIX$_$READTIMEZONEFILE$SHORTSTRING_$$_READBUFBYTE$$BYTE", "unix.readtimezonefile.readbufbyte"),
        ("MATH_$$_$starstar$INT64$INT64$$INT64", "math.operator starstar"),
        ("P$QUARRY$_$TWORKER_$__$$_EXECUTE", "quarry.tworker.execute"),
        ("TYPES$_$TPOINT_$__$$_$assign$TSMALLPOINT$$TPOINT", "types.tpoint.operator assign"),
    ];
    for (mangled, plain) in names {
        assert_eq!(demangle(mangled), plain);
    }
    for other in [
        "DBG_$QUARRY_STEPS_$$_TKIND",
        "RTTI_$SYSTEM_$$_def000004DF",
        "a_$$_b",
        "_$$_",
        "$_$$_A",
        "A_$$_",
        "RTTI_$SYSTEM_$$_PINT64",
    ] {
        assert_eq!(demangle(other), other);
    }
}

/// Declarations of Nim 1.6, and the symbols that `nm` lists for them.
#[test]
fn names_of_nim() {
    let names = [
        ("stampLabels__orchard95steps_430", "orchard_steps.stampLabels"),
        ("bringIn__orchard_53", "orchard.bringIn"),
        ("parseJson__pureZjson_5698", "pure/json.parseJson"),
        ("collectCyclesBacon__system_3258", "system.collectCyclesBacon"),
        ("dollar___systemZdollars_3", "system/dollars.$"),
        ("eqdestroy___system_3539", "system.=destroy"),
        ("X5BX5D___pureZjson_3007", "pure/json.[]"),
        ("X5BX5Deq___orchard95steps_294", "orchard_steps.[]="),
        ("colonanonymous___orchard95steps_483", "orchard_steps.:anonymous"),
        ("addInt__stdZprivateZdigitsutils_171", "std/private/digitsutils.addInt"),
        ("checkErr__systemZio_182.part.0", "system/io.checkErr.part.0"),
        ("newOSError__pureZos_405.cold", "pure/os.newOSError.cold"),
        ("starteq___orchard_12", "orchard.start="),
        ("attributeseq___orchard_12", "orchard.attributes="),
        ("pluseq___system_5", "system.+="),
        ("XC3XA9t___orchard_12", "orchard.XC3XA9t"),
    ];
    for (mangled, plain) in names {
        assert_eq!(nim::demangle(mangled).as_deref(), Some(plain));
        assert_eq!(demangle(mangled), mangled, "other languages have such names, too");
    }
    // C's, C's with two underscores, Ada's, and what only looks like it.
    for other in [
        "nimDestroyAndDispose",
        "__do_sys_x_64",
        "pthread_cond_wait@@GLIBC_2.3.2",
        "ada__text_io__put__2",
        "depot_steps__award",
        "rb_insert__augmented",
        "a__b_",
        "a__1_2",
        "__b_2",
        "a___b_c_2",
    ] {
        assert_eq!(nim::demangle(other), None, "{other}");
    }
}
