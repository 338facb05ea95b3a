//! The loop: draws, waits for what happens, lets the state take it in, and does what follows from it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use analysis::Request as Analysis;
use analysis::capture::Watch;
use analysis::output::remove_unfinished;
use anyhow::{Context as _, Result, anyhow};
use crossterm::event::{self, Event};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::message::{Effect, Message};
use super::state::State;
use super::terminal::{self, Screen};
use super::worker::{self, Request};
use super::writing;
use crate::args::AnalysisArgs;
use crate::output::Outcome;
use crate::tui::pages::overlay::Writing;

/// How often progress is shown.
const TICK: Duration = Duration::from_millis(120);

/// What reaches the loop.
enum Incoming {
    Message(Message),
    /// The worker is gone, and why.
    Ended(Result<()>),
    /// The process was asked to end.
    Signal(i32),
}

/// Takes the terminal over until the user quits. `args` are for commands to paste, `analysis` is what they ask.
///
/// # Errors
/// What makes the capture or the terminal unusable.
pub(crate) fn run(args: AnalysisArgs, analysis: Analysis) -> Result<Outcome> {
    let opening = Arc::new(Watch::default());
    let (sender, incoming) = channel();
    // Before the screen is taken over: a signal must never meet it without us.
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT])?;
    let to_loop = sender.clone();
    start("signals", move || {
        for signal in signals.forever() {
            let _ = to_loop.send(Incoming::Signal(signal));
        }
    })?;
    let requests = start_worker(analysis, Arc::clone(&opening), sender.clone())?;
    let size = crossterm::terminal::size().context("the size of the terminal is unknown")?;
    let mut state = State::new(args, size, opening);
    let ended = {
        let mut screen = Screen::enter().context("the terminal cannot be taken over")?;
        start_reader(sender.clone())?;
        show(&mut screen, &mut state, &incoming, &Outgoing { requests, sender })
    };
    match ended? {
        Ended::ByUser => Ok(Outcome::Reported),
        Ended::BySignal(signal) => {
            remove_unfinished();
            signal_hook::low_level::emulate_default_handler(signal)?;
            Ok(Outcome::Failed)
        }
    }
}

/// How the loop came to its end.
enum Ended {
    ByUser,
    BySignal(i32),
}

/// Draws, waits, and takes in, until the user quits or the process is asked to end.
fn show(
    screen: &mut Screen,
    state: &mut State,
    incoming: &Receiver<Incoming>,
    outgoing: &Outgoing,
) -> Result<Ended> {
    loop {
        screen.draw(&state.view)?;
        let message = match wait(incoming, state.view.task.is_some() || state.is_looking_ahead())? {
            Incoming::Message(message) => message,
            Incoming::Signal(signal) => return Ok(Ended::BySignal(signal)),
            Incoming::Ended(Ok(())) => return Ok(Ended::ByUser),
            Incoming::Ended(Err(why)) => return Err(why),
        };
        for effect in state.update(message) {
            match effect {
                // Where the worker is gone, its reason is on the way.
                Effect::Ask(request) => drop(outgoing.requests.send(request)),
                Effect::Write(file) => outgoing.write(file)?,
                Effect::Copy(text) => screen.copy(&text)?,
                Effect::Redraw => screen.clear()?,
                Effect::Suspend => screen.suspend()?,
                Effect::Quit => return Ok(Ended::ByUser),
            }
        }
    }
}

/// Where effects go.
struct Outgoing {
    requests: Sender<Request>,
    /// To the loop itself.
    sender: Sender<Incoming>,
}

impl Outgoing {
    /// Writes a file beside what is shown; what came of it is a message.
    fn write(&self, file: Writing) -> Result<()> {
        let sender = self.sender.clone();
        start("file", move || {
            let _ = sender.send(Incoming::Message(Message::Written(writing::write(&file))));
        })
    }
}

/// The next thing that happens; a tick after a while where something is awaited, or may be decoded unasked.
fn wait(incoming: &Receiver<Incoming>, is_awaiting: bool) -> Result<Incoming> {
    let gone = || anyhow!("the terminal cannot be read any more");
    if !is_awaiting {
        return incoming.recv().map_err(|_| gone());
    }
    match incoming.recv_timeout(TICK) {
        Ok(next) => Ok(next),
        Err(RecvTimeoutError::Timeout) => Ok(Incoming::Message(Message::Tick)),
        Err(RecvTimeoutError::Disconnected) => Err(gone()),
    }
}

/// Starts the thread that holds the capture. It ends with the process: no one waits for a decode that is no longer wanted.
fn start_worker(
    analysis: Analysis,
    opening: Arc<Watch>,
    sender: Sender<Incoming>,
) -> Result<Sender<Request>> {
    let (to_worker, requests) = channel();
    start("worker", move || {
        let answer = |answer| drop(sender.send(Incoming::Message(Message::Answer(answer))));
        let work = || worker::run(&analysis, &opening, &requests, &answer);
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|_| {
            let words = terminal::last_words().unwrap_or_else(|| "it panicked".to_owned());
            Err(anyhow!("decoding failed, which is a bug: {words}"))
        });
        let _ = sender.send(Incoming::Ended(ended));
    })?;
    Ok(to_worker)
}

/// Starts the thread that reads keys, the mouse and new sizes.
fn start_reader(sender: Sender<Incoming>) -> Result<()> {
    start("keys", move || {
        loop {
            let message = match event::read() {
                Ok(Event::Key(key)) => Message::Key(key),
                Ok(Event::Mouse(mouse)) => Message::Mouse(mouse),
                Ok(Event::Resize(columns, rows)) => Message::Resize(columns, rows),
                Ok(_) => continue,
                Err(error) => {
                    let ended = Err(anyhow!(error).context("the terminal cannot be read any more"));
                    let _ = sender.send(Incoming::Ended(ended));
                    return;
                }
            };
            if sender.send(Incoming::Message(message)).is_err() {
                return;
            }
        }
    })
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(work).with_context(|| format!("no thread for {name}"))?;
    Ok(())
}
