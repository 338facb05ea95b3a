//! Functions and lines at one address, inlined calls included.
//!
//! [`Frame`] is what every kind of line table gives, innermost function first.

/// One function at an address: the one that was compiled there, or one inlined into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its name, demangled; `[unknown]` where no file names it.
    pub function: String,
    /// The source file.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// Whether it was inlined into the next frame.
    pub inlined: bool,
}

/// The file and line that stand for the function which was compiled at the address of `frames`: where it has inlined code of other files,
/// the line that called it.
pub fn own_line(frames: &[Frame]) -> Option<(&str, u32)> {
    let placed = || frames.iter().filter_map(|frame| Some((frame.file.as_deref()?, frame.line?)));
    let own_file = frames.last().and_then(|frame| frame.file.as_deref());
    placed().find(|&(file, _)| Some(file) == own_file).or_else(|| placed().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(file: Option<&str>, line: Option<u32>) -> Frame {
        let file = file.map(str::to_owned);
        Frame { function: "f".into(), file, line, column: None, inlined: false }
    }

    #[test]
    fn what_a_library_had_inlined_has_the_line_of_its_caller() {
        // Go's `(*Mutex).Lock`, inlined into `postOrder`.
        let locked = [frame(Some("sync/mutex.go"), Some(46)), frame(Some("gopher.go"), Some(250))];
        assert_eq!(own_line(&locked), Some(("gopher.go", 250)));
        // A function of the same file is where the code is.
        let kept = [frame(Some("lock.c"), Some(38)), frame(Some("lock.c"), Some(107))];
        assert_eq!(own_line(&kept), Some(("lock.c", 38)));
        let unknown = [frame(Some("mutex.h"), Some(46)), frame(None, None)];
        assert_eq!(own_line(&unknown), Some(("mutex.h", 46)));
        assert_eq!(own_line(&[frame(Some("a.c"), None)]), None);
    }
}
