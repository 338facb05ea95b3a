use model::{Ticks, Tsc};

use super::*;
use crate::inputs::functions::Function;

/// One stretch whose way is these functions, outermost first: name, of a library, at least half of the time.
fn hot(way: &[(&str, bool, bool)]) -> HotPaths {
    let ticks = |hot| if hot { 60 } else { 40 };
    let timed: Vec<_> = way.iter().map(|&(name, library, hot)| (name, library, ticks(hot))).collect();
    timed_way(&[&timed])
}

/// Stretches of 100 ticks, each with its way: name, of a library, ticks with all it called.
fn timed_way(ways: &[&[(&str, bool, u64)]]) -> HotPaths {
    let function = |&(name, library, ticks): &(&str, bool, u64)| HotFunction {
        name: name.into(),
        library,
        hot: ticks > 50,
        ticks,
    };
    let path = |way: &&[_]| HotPath { way: way.iter().map(function).collect(), notable: Vec::new() };
    HotPaths { functions: HashSet::new(), paths: ways.iter().map(path).collect() }
}

/// Of 100 ticks each function has 12 less than its caller, with all it called.
fn parted(way: &[&str]) -> HotPaths {
    let timed: Vec<_> = (0..).zip(way).map(|(at, &name)| (name, is_library(name), 100 - 12 * at)).collect();
    timed_way(&[&timed])
}

#[test]
fn what_the_program_called_of_another_library_is_named() {
    let usual = |names: &[&str]| names.iter().map(|&name| name.into()).collect();
    let way = [
        ("serve", false, true),
        ("send_page", false, true),
        ("server+0x1a20", false, true),
        ("deflate", true, true),
        ("libz.so.1+0x40", true, true),
        ("memcpy", true, false),
    ];
    let compressed = hot(&way);
    let expected = "deflate() called by send_page() < serve()";
    assert_eq!(compressed.innermost(0).as_deref(), Some(expected));
    let unusual = |names| compressed.unusual(&usual(names)).remove(0);
    assert_eq!(unusual(&["serve"]).as_deref(), Some("deflate() called by send_page()"));
    assert_eq!(unusual(&["serve", "deflate"]).as_deref(), Some("send_page()"));
    assert_eq!(unusual(&["serve", "send_page", "server+0x1a20"]), None);
    // It had little of the time, or is the language's own.
    for library in [("deflate", true, false), ("std::sort", true, true), ("memcpy", true, true)] {
        let other = hot(&[way[0], way[1], library]);
        assert_eq!(other.innermost(0).as_deref(), Some("send_page() called by serve()"));
    }
}

#[test]
fn what_is_unusual_is_named_with_what_it_did() {
    let usual: HashSet<Arc<str>> = ["serve", "step"].map(Arc::from).into();
    let named = |way: &[&str]| parted(way).unusual(&usual).remove(0);
    let sorted = named(&["serve", "sort_all", "compare", "memcpy"]);
    assert_eq!(sorted.as_deref(), Some("compare() called by sort_all()"));
    // Nothing above it is known to be usual.
    let goroutine = ["runtime.goexit", "main.feed", "main.parse", "step", "runtime.memmove"];
    assert_eq!(named(&goroutine).as_deref(), Some("step() called by main.parse() < main.feed()"));
    let deep = ["feed", "next", "parse", "split", "step"];
    assert_eq!(named(&deep).as_deref(), Some("step() below feed()"));
    assert_eq!(named(&["feed", "memcpy"]).as_deref(), Some("feed()"));
    assert_eq!(named(&["serve", "step"]), None);
}

/// A handler that only calls another function, a stretch in which it does something itself, and one in which it waits.
#[test]
fn a_function_that_does_the_work_is_named_with_its_handler() {
    let usual: HashSet<Arc<str>> = ["serve", "copy"].map(Arc::from).into();
    let named = |ways: &[&[(&str, bool, u64)]]| timed_way(ways).unusual(&usual);
    let way = [("serve", false, 100), ("handle", false, 99), ("Builtins_Call", true, 99)];
    let parse =
        [&way[..], &[("parse_orders", false, 97), ("copy", false, 90), ("number", false, 80)]].concat();
    let expected = Some("number() below handle()".to_owned());
    assert_eq!(named(&[&parse]), [expected]);
    let expected = Some("parse_orders() called by handle()".to_owned());
    assert_eq!(named(&[&parse[..5]]).remove(0), expected);
    // What `number` had of all stretches is too little.
    let others = [&parse[..4], &[("text", false, 70)]].concat();
    assert_eq!(named(&[&parse, &others]), [expected.clone(), expected.clone()]);
    let own = [way[0], ("handle", false, 10)];
    let left = [("serve", false, 0), ("handle", false, 0), ("parse_orders", false, 0)];
    let mut stretches = timed_way(&[&parse, &others, &own, &left, &left[..2]]);
    stretches.paths[2..].iter_mut().flat_map(|path| &mut path.way).for_each(|one| one.hot = true);
    let handler = Some("handle()".to_owned());
    let all = [expected.clone(), expected.clone(), handler.clone(), expected, handler];
    assert_eq!(stretches.unusual(&usual), all);
}

fn run(node: NodeKey, range: TscRange) -> Run {
    let (cold, uncertainty) = (Ticks(0), Ticks(0));
    let (instructions, calls, ratio, aux_offset) = (10, 1, 0, 0);
    Run { range, function: None, node, instructions, calls, cold, ratio, cpu: None, uncertainty, aux_offset }
}

fn named(name: &str) -> Function {
    Function { start: 1, range: 1..2, name: Arc::from(name), library: false, collector: None }
}

/// Two goroutines that run `price`, each in a tree of its own with less than half of the time.
#[test]
fn a_function_is_hot_whoever_called_it() {
    let mut code = UserCode::default();
    let mut runs = Vec::new();
    for (at, root) in [(0, "first"), (50, "second")] {
        let root = code.node(NodeKey::default(), Some(&named(root)));
        let price = code.node(root, Some(&named("price")));
        let node = code.node(price, Some(&named("step")));
        runs.push(run(node, TscRange::new(Tsc(at), Tsc(at + 50))));
    }
    let paths = HotPaths::of(&code, &runs, [TscRange::new(Tsc(0), Tsc(100))].into_iter());
    assert_eq!(paths.innermost(0).as_deref(), Some("step() called by price()"));
}

/// `match` has a third of the time, nearly all of it in what it called; the answer, which is usual, has most of it.
#[test]
fn what_is_unusual_has_a_name_where_it_is_the_smaller_part() {
    let mut code = UserCode::default();
    let serve = code.node(NodeKey::default(), Some(&named("serve")));
    let handle = code.node(serve, Some(&named("handle")));
    let library = code.node(handle, Some(&named("memchr")));
    let inner = code.node(library, Some(&named("RegExp:^(a+)+$")));
    let answer = code.node(handle, Some(&named("answer")));
    let piece = |node, start, stop| run(node, TscRange::new(Tsc(start), Tsc(stop)));
    let runs = [piece(serve, 0, 10), piece(inner, 10, 40), piece(answer, 40, 100), piece(serve, 100, 200)];
    let stretches = [(0, 100), (100, 200)].map(|(start, stop)| TscRange::new(Tsc(start), Tsc(stop)));
    let paths = HotPaths::of(&code, &runs, stretches.into_iter());
    let usual: HashSet<Arc<str>> = ["serve", "answer"].map(Arc::from).into();
    let expected = "handle()".to_owned();
    assert_eq!(paths.most_unusual(&usual), [Some((expected, 90)), None]);
    let usual: HashSet<Arc<str>> = ["serve", "answer", "handle"].map(Arc::from).into();
    let expected = "RegExp:^(a+)+$".to_owned();
    assert_eq!(paths.most_unusual(&usual), [Some((expected, 30)), None]);
    assert_eq!(paths.unusual(&usual), [None, None]);
    let usual: HashSet<Arc<str>> = ["serve"].map(Arc::from).into();
    let expected = "answer() called by handle()".to_owned();
    assert_eq!(paths.most_unusual(&usual), [Some((expected, 90)), None]);
}

/// A function without a name gets that of what it called, also where typical requests run that, but not of what runs beside it.
#[test]
fn a_function_without_a_name_is_placed() {
    let usual: HashSet<Arc<str>> = ["serve", "scan"].map(Arc::from).into();
    let placed = |name_below: &str| {
        let mut code = UserCode::default();
        let serve = code.node(NodeKey::default(), Some(&named("serve")));
        let prepare = code.node(serve, Some(&named("prepare")));
        let unnamed = code.node(serve, Some(&named("server+0x1a20")));
        let other = code.node(unnamed, Some(&named("server+0x1b40")));
        let below = code.node(other, Some(&named(name_below)));
        let inner = code.node(below, Some(&named("server+0x2c80")));
        let piece = |node, start, stop| run(node, TscRange::new(Tsc(start), Tsc(stop)));
        let runs = [piece(prepare, 0, 30), piece(other, 30, 40), piece(inner, 40, 100)];
        let paths = HotPaths::of(&code, &runs, [TscRange::new(Tsc(0), Tsc(100))].into_iter());
        paths.unusual(&usual).remove(0)
    };
    assert_eq!(placed("scan").as_deref(), Some("scan() below server+0x1a20"));
    assert_eq!(placed("sort").as_deref(), Some("sort() below server+0x1a20"));
    assert_eq!(placed("server+0x1c60").as_deref(), Some("server+0x1a20 below serve()"));
}
