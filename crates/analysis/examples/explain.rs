//! Explains the slowest interval of a capture: `cargo run --example explain -- perf.data intervals.csv [SYMFS]`.

use std::env::args_os;
use std::error::Error;

use intervals::Selection;
use report::Style;
use tailtrace_analysis::request::{Code, Input, Source};
use tailtrace_analysis::study::{self, Listing};
use tailtrace_analysis::{Error as Failure, NoMeter, Request};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = args_os().skip(1);
    let (Some(capture), Some(marks)) = (arguments.next(), arguments.next()) else {
        return Err("usage: explain perf.data intervals.csv [SYMFS]".into());
    };
    let code = Code { symfs: arguments.next().map(Into::into), ..Code::default() };
    let request = Request {
        input: Input { path: capture.into(), code, ..Input::default() },
        source: Some(Source::File(marks.into())),
        selection: Selection { top: Some(1), ..Selection::default() },
        ..Request::default()
    };
    // Opens the capture and reads the intervals; nothing is decoded yet.
    let report = study::with(&request, &NoMeter, |study| {
        println!("{} intervals", study.intervals().len());
        Ok::<_, Failure>(study.report(Listing::None))
    })?;
    print!("{}", report::render_text(&report, &Style { width: 100, color: false, unicode: true }));
    Ok(())
}
