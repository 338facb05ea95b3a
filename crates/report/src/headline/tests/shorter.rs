//! What is left out where room is short.

use super::*;

/// `at book.rs:17` goes with its preposition, a comma stays; an address with a port is no line of source.
#[test]
fn lines_of_source_are_left_out_where_room_is_short() {
    assert_eq!(
        without_lines("waited in take() book.rs:17, held by a; f() at x.c:9 ran, peer 10.0.0.1:80"),
        "waited in take(), held by a; f() ran, peer 10.0.0.1:80"
    );
    assert_eq!(
        without_descriptors(
            "data from a TCP socket (fd 5) in next(), (queued after w, which waited to write)"
        ),
        "data from a TCP socket in next(), (queued after w)"
    );
}

/// The unit of a function goes before a caller does, where another function has shown it.
#[test]
fn a_unit_is_named_once_where_room_is_short() {
    let ran = |callers: &str| {
        let place = format!("work() called by {callers}");
        let mut wait = wait(
            "data from a TCP socket",
            "server",
            Role::Waker,
            vec![placed(segment("user.expected", None), &place)],
        );
        wait.story.place = "quarry_steps.await_blast() quarry.pas:184".to_owned();
        words(wait)
    };
    let waited = "waited 136.0 us for data from a TCP socket in quarry_steps.await_blast()";
    let woken = "woken by server, which ran work() called by";
    let short = "quarry_steps.compute() < quarry_steps.drill()";
    assert_eq!(ran(short), format!("{waited}, {woken} {short}"));
    let long = "quarry_steps.compute() < quarry_steps.drill_hole_in_the_rock()";
    assert_eq!(ran(long), format!("{waited}, {woken} compute() < drill_hole_in_the_rock()"));
    for (text, plain) in [
        ("a.b() < a.c(), held by x; shop::a.d()", "a.b() < c(), held by x; shop::a.d()"),
        ("shop::Till::pay() called by shop::Till::serve()", "shop::Till::pay() called by serve()"),
        // After another unit, it would read as one of that.
        (
            "shop.pay() called by bank.check() < shop.run() < shop.main()",
            "shop.pay() called by bank.check() < shop.run() < main()",
        ),
        // A version, a part, and arguments of templates are no units.
        ("lock@@GLIBC_2.2.5() < lock@@GLIBC_2.2.5()", "lock@@GLIBC_2.2.5() < lock@@GLIBC_2.2.5()"),
        ("pay.part.0() < pay.part.0()", "pay.part.0() < pay.part.0()"),
        ("till<a::b>() < till<a::c>()", "till<a::b>() < till<a::c>()"),
        ("at a.c:9 of a.c:10", "at a.c:9 of a.c:10"),
    ] {
        assert_eq!(without_repeated_units(text, &mut None), plain);
    }
}

/// Each clause stays one of its own; the second has the unit of the first.
#[test]
fn clauses_without_repeated_units_are_still_two() {
    let clauses =
        |first: &str, second: &str| vec![format!("1.00 us in {first}"), format!("2.00 us in {second}")];
    let shortest = |first, second| {
        let [.., once_placed] = shorter(clauses(first, second), clauses(first, second));
        once_placed
    };
    assert_eq!(
        shortest("shop.pay() called by shop.run()", "shop.serve()"),
        clauses("shop.pay() called by run()", "serve()")
    );
    assert_eq!(
        shortest("shop.pay() called by bank.run()", "shop.serve()"),
        clauses("shop.pay() called by bank.run()", "shop.serve()")
    );
}

/// Where a thread waited is more than in which units that and what it waited for lie.
#[test]
fn units_go_before_the_place_of_a_wait() {
    let ran = "work() called by orchard_crew.quotePrice() < orchard_crew.serveBroker()";
    let mut wait = wait(
        "condition variable orchard_crew.orders_of_the_day+0x80",
        "broker",
        Role::Waker,
        vec![placed(segment("user.expected", None), ran)],
    );
    wait.story.place = "orchard_steps.takeOrder() orchard_steps.nim:45".to_owned();
    assert_eq!(
        words(wait),
        "waited 136.0 us for condition variable orchard_crew.orders_of_the_day+0x80 in takeOrder(), woken by broker, which ran \
         work() called by quotePrice()"
    );
}

/// Of three threads in one wait: where the first waited outlasts the unit of the variable that it waited for.
#[test]
fn the_unit_of_a_variable_goes_before_the_place_of_a_wait() {
    let mut inner = placed(segment("offcpu.preempted", None), "orchard_crew.servePicker()");
    inner.story.callers = "orchard_crew.run()".to_owned();
    inner.story.by = "carter".to_owned();
    inner.story.by_place = "planted_abi_work() called by orchard_crew.haulTimber()".to_owned();
    let mut wait = wait("mutex orchard_crew.ledger", "picker", Role::Holder, vec![inner]);
    wait.story.place = "orchard_steps.signLedger() orchard_steps.nim:48".to_owned();
    assert_eq!(
        words(wait),
        "waited 136.0 us for mutex ledger in signLedger(), held by picker, which was kept off its CPU in \
         servePicker(), by carter, which ran planted_abi_work() called by haulTimber()"
    );
    for (text, plain) in [
        ("for read-write lock shop::Till::door, held", "for read-write lock door, held"),
        ("for condition variable shop.orders+0x80 in", "for condition variable orders+0x80 in"),
        // A unit's own variable, an address, and what is no variable.
        ("for mutex door.lto_priv, held", "for mutex door.lto_priv, held"),
        ("for semaphore 10.0.0.1 in", "for semaphore 10.0.0.1 in"),
        ("for mutex in shop.pay() of price.txt", "for mutex in shop.pay() of price.txt"),
    ] {
        assert_eq!(without_units_of_variables(text), plain);
    }
}

#[test]
fn who_called_a_loop_outlasts_units_and_callers_of_callers() {
    let full = "spun 9.00 us in crew.acquire() called by steps.enter(), while picker ran work() called by crew.mend() < crew.serve()";
    assert_eq!(
        of_called_loop(full),
        [
            full,
            "spun 9.00 us in crew.acquire() called by steps.enter(), while picker ran work() called by crew.mend() < serve()",
            "spun 9.00 us in crew.acquire() called by steps.enter(), while picker ran work() called by crew.mend()",
            "spun 9.00 us in crew.acquire() called by steps.enter(), while picker ran work() called by crew.mend()",
            "spun 9.00 us in acquire() called by enter(), while picker ran work() called by mend()",
        ]
    );
}

#[test]
fn callers_of_those_in_between_go_before_the_place_of_a_wait() {
    for (text, plain) in [
        (
            "waited for a in take(), held by b, which was kept off its CPU in serve() called by run(), by c, which ran work() called by haul()",
            "waited for a in take(), held by b, which was kept off its CPU in serve(), by c, which ran work() called by haul()",
        ),
        (
            "waited for a in take() called by run(), held by b",
            "waited for a in take() called by run(), held by b",
        ),
        ("9.00 us in work() called by run()", "9.00 us in work() called by run()"),
        // Arguments of a template are no clauses.
        (
            "waited for a in take(), held by b, which ran work() called by haul<int, long>()",
            "waited for a in take(), held by b, which ran work() called by haul<int, long>()",
        ),
        (
            "waited for a in take(), held by b, kept off in serve() called by run<int, long>(), by c, which ran work() called by haul<int, long>()",
            "waited for a in take(), held by b, kept off in serve(), by c, which ran work() called by haul<int, long>()",
        ),
        (
            "waited for a in take() called by operator<<(), held by b, which ran work()",
            "waited for a in take(), held by b, which ran work()",
        ),
    ] {
        assert_eq!(without_inner_callers(text), plain);
    }
}
