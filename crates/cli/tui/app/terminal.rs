//! The terminal: taken over for the screen, and given back as it was however the program ends.
//!
//! A panic of any thread, an error, a signal and the user's wish to suspend all go through [`leave`].

use std::io::{self, Stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{ThreadId, sleep};
use std::time::Duration;

use crossterm::clipboard::CopyToClipboard;
use crossterm::cursor::Show;
use crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use crate::tui::draw::{self, Look};
use crate::tui::pages::view::View;

/// The terminal in our hands.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    look: Look,
}

/// Whether the terminal is in our hands.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Locked while a frame is drawn, and for ever once a fault has given the terminal back.
static DRAWING: Mutex<()> = Mutex::new(());
/// How often a fault looks whether the frame is drawn, and how long it waits each time: the thread that draws may be the one
/// that met it.
const LOOKS: usize = 50;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// The message of a background thread that panicked: printed when the screen is gone.
static LAST_WORDS: Mutex<Option<String>> = Mutex::new(None);

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// What the operating system says.
    pub(crate) fn enter() -> io::Result<Screen> {
        give_back_on_panic(std::thread::current().id());
        take()?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(Screen { terminal, look: Look::of_environment() })
    }

    /// Draws `view`.
    ///
    /// # Errors
    /// What the operating system says.
    pub(crate) fn draw(&mut self, view: &View) -> io::Result<()> {
        let _drawing = DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
        if !IS_TAKEN.load(Ordering::Relaxed) {
            // A fault ends the process: its message stays on the terminal.
            return Ok(());
        }
        let look = self.look;
        self.terminal.draw(|frame| {
            draw::draw(view, frame);
            look.apply(frame.buffer_mut());
        })?;
        Ok(())
    }

    /// Draws everything anew with the next frame.
    ///
    /// # Errors
    /// What the operating system says.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        // `Terminal::clear` would ask the terminal where its cursor is, and the thread that reads keys gets the answer.
        let size = self.terminal.size()?;
        self.terminal.resize(size.into())
    }

    /// Asks the terminal to put `text` on the clipboard (OSC 52); not all do.
    ///
    /// # Errors
    /// What the operating system says.
    pub(crate) fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(self.terminal.backend_mut(), CopyToClipboard::to_clipboard_from(text))
    }

    /// Gives the terminal back, stops this process until the user goes on, and takes it over again.
    ///
    /// # Errors
    /// What the operating system says.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        leave();
        signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
        take()?;
        self.clear()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    IS_TAKEN.store(true, Ordering::Relaxed);
    execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture)
}

/// Gives the terminal back; once more does no harm. Nothing can be done where that fails.
pub(crate) fn leave() {
    IS_TAKEN.store(false, Ordering::Relaxed);
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), DisableMouseCapture, LeaveAlternateScreen, Show);
}

/// [`leave`], where the terminal is in our hands: for a process that ends by a fault.
pub(crate) fn give_back() {
    if !IS_TAKEN.load(Ordering::Relaxed) {
        return;
    }
    for _ in 0..LOOKS {
        if let Ok(drawing) = DRAWING.try_lock() {
            // No frame may come after this.
            std::mem::forget(drawing);
            break;
        }
        sleep(BETWEEN_LOOKS);
    }
    leave();
}

/// A panic of the drawing thread is printed on the terminal as it was before; those of others are kept for
/// [`last_words`], because the screen is still in use.
fn give_back_on_panic(drawing: ThreadId) {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() == drawing {
            leave();
            before(panic);
        } else {
            *LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic.to_string());
        }
    }));
}

/// Why a background thread panicked, if one did.
pub(crate) fn last_words() -> Option<String> {
    LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner).take()
}

#[cfg(test)]
mod tests;
