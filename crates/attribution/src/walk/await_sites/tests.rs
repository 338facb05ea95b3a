//! Polls by hand: which functions ran, outermost first.

use model::{OffCpu, Ticks, Tsc, TscRange};

use super::*;
use crate::inputs::functions::Function;

/// The sites of runs that each pass through the functions of one path, outermost first, in order of time.
fn sites(paths: &[&[&str]]) -> Vec<(OffCpu, &'static str, String)> {
    let mut code = UserCode::default();
    let runs: Vec<Run> = (0..).zip(paths).map(|(at, path)| run(&mut code, at, path)).collect();
    let sites = await_sites(&code, &runs);
    sites.into_iter().map(|site| (site.awaited.kind, site.awaited.object, site.place)).collect()
}

fn run(code: &mut UserCode, at: u64, path: &[&str]) -> Run {
    let node = path.iter().fold(NodeKey::default(), |node, name| {
        let function = Function {
            start: 0x1000,
            range: 0x1000..0x2000,
            name: (*name).into(),
            library: false,
            collector: None,
        };
        code.node(node, Some(&function))
    });
    Run {
        range: TscRange::new(Tsc(at), Tsc(at + 1)),
        function: None,
        node,
        instructions: 1,
        calls: 0,
        cold: Ticks(0),
        ratio: 0,
        cpu: None,
        uncertainty: Ticks(0),
        aux_offset: 0,
    }
}

const TASK: &str = "<tailtrace_marks::task::Task<F> as core::future::future::Future>::poll";

#[test]
fn the_last_future_is_first_with_the_function_that_awaits_it() {
    let found = sites(&[
        &[
            "tokio::runtime::task::raw::poll",
            TASK,
            "shop::serve::{{closure}}",
            "tokio::sync::oneshot::Task::set_task",
        ],
        &[TASK, "shop::serve::{{closure}}", "shop::back_off::{{closure}}"],
        &[
            TASK,
            "shop::serve::{{closure}}",
            "shop::back_off::{{closure}}",
            "<tokio::time::sleep::Sleep as core::future::future::Future>::poll",
        ],
        &[TASK],
    ]);
    let expected = [
        (OffCpu::Sleep, "a timer", "shop::back_off()"),
        (OffCpu::Other, "a message of an async channel", "shop::serve()"),
    ];
    assert_eq!(found, expected.map(|(kind, object, place)| (kind, object, place.to_owned())));
}

/// What is dropped, and a function of the program's that is made for a future, is no future that is polled; the runtime's own work is none.
#[test]
fn types_in_names_are_no_polls() {
    let found = sites(&[
        &[TASK, "core::ptr::drop_in_place<tokio::sync::oneshot::Receiver<u64>>"],
        &[TASK, "shop::awaiting<tokio::sync::mutex::Mutex<u64>::lock::{{closure}}>::{{closure}}"],
        &["tokio::runtime::scheduler::multi_thread::worker::Context::run_task", TASK],
    ]);
    assert_eq!(found, []);
}

/// Where all of the program's functions are inlined into what polls the task.
#[test]
fn a_future_without_a_function_of_the_program_has_no_place() {
    let found = sites(&[&[
        TASK,
        "tokio::sync::mutex::Mutex<T>::lock::{{closure}}",
        "<tokio::sync::batch_semaphore::Acquire as core::future::future::Future>::poll",
    ]]);
    assert_eq!(found, [(OffCpu::Lock, "an async mutex", String::new())]);
}
