//! Names of D: `_D7brewery9quoteHopsFNbNimZv` is `brewery.quoteHops`.
//!
//! Source: "Name Mangling" of D's specification. Only the qualified name is left, as C++'s without parameters; types and the arguments
//! of templates are read over, so that all instances of a template have its name: `std.array.Appender.put`.

use super::LONGEST;

/// How deep types and names may lie in each other.
const DEEPEST: usize = 64;

/// The qualified name of `mangled`; `None` where it is no name of D's.
pub(super) fn demangle(mangled: &str) -> Option<String> {
    let text =
        mangled.strip_prefix("_D").filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))?;
    let mut reader = Reader { text: text.as_bytes(), at: 0, depth: 0 };
    let mut names = Vec::new();
    reader.qualified(Some(&mut names))?;
    // What is left is the type of the whole, but for what compilers add to a part of a function.
    let rest = text.get(reader.at..)?;
    let (of_type, suffix) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
    if !may_be_type(of_type) {
        return None;
    }
    let (mut plain, mut template) = (String::new(), None);
    for name in names {
        (plain, template) = match name {
            Name::Repeated => (plain, template),
            // A template that holds one declaration of its own name is that one.
            Name::Template(name) if template == Some(name) => (plain, template),
            Name::Plain(name) => (joined(plain, name), None),
            Name::Template(name) => (joined(plain, name), Some(name)),
        };
        if plain.len() > LONGEST {
            return None;
        }
    }
    Some(plain + suffix)
}

/// Whether `text` may be a type, or `Z` in its place. A basic one is one small letter.
fn may_be_type(text: &str) -> bool {
    match text.as_bytes() {
        [] => true,
        [only] => only.is_ascii_alphabetic(),
        [first, ..] => first.is_ascii_uppercase() || matches!(first, b'x' | b'y' | b'z'),
    }
}

fn joined(plain: String, name: &str) -> String {
    let name = match name {
        "__ctor" => "this",
        "__dtor" => "~this",
        name => name,
    };
    if plain.is_empty() { name.to_owned() } else { plain + "." + name }
}

#[derive(Clone, Copy)]
enum Name<'a> {
    Plain(&'a str),
    Template(&'a str),
    /// What a template of this name declares under it.
    Repeated,
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn next(&mut self) -> u8 {
        let byte = self.peek();
        self.at += usize::from(byte != 0);
        byte
    }

    /// Goes over `wanted` if it is next.
    fn skip(&mut self, wanted: &[u8]) -> bool {
        let is_next = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(wanted));
        self.at += if is_next { wanted.len() } else { 0 };
        is_next
    }

    fn number(&mut self) -> Option<usize> {
        let digits = self.text.get(self.at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = std::str::from_utf8(&self.text[self.at..self.at + digits]).ok()?.parse().ok()?;
        self.at += digits;
        Some(number)
    }

    /// Where the back reference here points to, and where it ends.
    fn reference(&self) -> Option<(usize, usize)> {
        let (mut distance, mut at) = (0_usize, self.at + 1);
        loop {
            let byte = *self.text.get(at)?;
            let digit = usize::from(byte.to_ascii_lowercase().checked_sub(b'a').filter(|digit| *digit < 26)?);
            distance = distance.checked_mul(26)?.checked_add(digit)?;
            at += 1;
            if byte.is_ascii_lowercase() {
                return Some((self.at.checked_sub(distance)?, at)).filter(|_| distance > 0);
            }
        }
    }

    /// Whether a name begins here, not a type.
    fn is_name(&self) -> bool {
        match self.peek() {
            b'0'..=b'9' => true,
            b'_' => self.text.get(self.at + 1..self.at + 3).is_some_and(|id| id == b"_T" || id == b"_U"),
            b'Q' => self.reference().is_some_and(|(target, _)| self.text[target].is_ascii_digit()),
            _ => false,
        }
    }

    /// Runs `read` one level deeper.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth == DEEPEST {
            return None;
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Names, each with the types of the function's parameters that it may have; `names` gets them.
    fn qualified(&mut self, mut names: Option<&mut Vec<Name<'a>>>) -> Option<()> {
        self.deeper(|reader| {
            let mut before = None;
            while reader.is_name() {
                let mut name = reader.name()?;
                if let (Some(Name::Template(template)), Name::Plain(plain)) = (before, name)
                    && template == plain
                {
                    name = Name::Repeated;
                }
                before = Some(name);
                if let Some(names) = &mut names {
                    names.push(name);
                }
                let end = reader.at;
                if reader.skip(b"M") {
                    reader.modifiers();
                }
                // The last one's parameters belong to the type of the whole, whose result follows.
                if matches!(reader.peek(), b'F' | b'U' | b'W' | b'R') {
                    reader.function()?;
                } else {
                    reader.at = end;
                }
            }
            before.map(|_| ())
        })
    }

    fn name(&mut self) -> Option<Name<'a>> {
        if self.skip(b"__T") || self.skip(b"__U") {
            return self.template();
        }
        if self.peek() == b'Q' {
            let (target, end) = self.reference()?;
            let name = Reader { text: self.text, at: target, depth: self.depth }.identifier()?;
            self.at = end;
            return Some(Name::Plain(name));
        }
        // Older compilers state the length of a template's instance, too.
        let start = self.at;
        let length = self.number()?;
        if length > 3 && (self.skip(b"__T") || self.skip(b"__U")) {
            let end = (self.at - 3).checked_add(length)?;
            let template = self.template()?;
            return (self.at == end).then_some(template);
        }
        self.at = start;
        self.identifier().map(Name::Plain)
    }

    fn identifier(&mut self) -> Option<&'a str> {
        let length = self.number()?;
        let text = self.text;
        let name = std::str::from_utf8(text.get(self.at..self.at.checked_add(length)?)?).ok()?;
        self.at += length;
        Some(if length == 0 { "anonymous" } else { name })
    }

    /// After `__T`: its name, and its arguments.
    fn template(&mut self) -> Option<Name<'a>> {
        self.deeper(|reader| {
            let Name::Plain(name) = reader.name()? else { return None };
            while !reader.skip(b"Z") {
                reader.skip(b"H");
                match reader.next() {
                    b'T' => reader.of_type()?,
                    b'V' => {
                        reader.of_type()?;
                        reader.value()?;
                    }
                    b'S' if reader.skip(b"_D") => reader.whole()?,
                    b'S' => reader.qualified(None)?,
                    b'X' => drop(reader.identifier()?),
                    _ => return None,
                }
            }
            Some(Name::Template(name))
        })
    }

    /// A mangled name with its type.
    fn whole(&mut self) -> Option<()> {
        let start = self.at;
        self.qualified(None)?;
        if self.skip(b"Z") {
            return Some(());
        }
        // The parameters have been read over with the last name; then the result follows.
        let is_function = matches!(self.text[self.at - 1], b'X' | b'Y' | b'Z') && self.at > start;
        if is_function || !matches!(self.peek(), b'T' | b'V' | b'S' | b'X' | b'H') {
            self.of_type()
        } else {
            Some(())
        }
    }

    fn modifiers(&mut self) {
        while self.skip(b"x") || self.skip(b"y") || self.skip(b"O") || self.skip(b"Ng") {}
    }

    /// Convention, attributes and parameters, without the result.
    fn function(&mut self) -> Option<()> {
        self.next();
        while self.peek() == b'N'
            && !matches!(self.text.get(self.at + 1), Some(b'g' | b'h' | b'k' | b'n') | None)
        {
            self.at += 2;
        }
        loop {
            match self.peek() {
                b'X' | b'Y' | b'Z' => {
                    self.at += 1;
                    return Some(());
                }
                b'M' | b'I' | b'J' | b'K' | b'L' => self.at += 1,
                _ if self.skip(b"Nk") => {}
                _ => self.of_type()?,
            }
        }
    }

    fn of_type(&mut self) -> Option<()> {
        self.deeper(|reader| {
            reader.modifiers();
            match reader.peek() {
                b'Q' => {
                    reader.at = reader.reference()?.1;
                    Some(())
                }
                b'F' | b'U' | b'W' | b'V' | b'R' | b'Y' => {
                    reader.function()?;
                    reader.of_type()
                }
                kind => {
                    reader.at += 1;
                    reader.of_kind(kind)
                }
            }
        })
    }

    /// The rest of a type that begins with `kind`.
    fn of_kind(&mut self, kind: u8) -> Option<()> {
        match kind {
            b'A' | b'P' | b'D' => {
                self.modifiers();
                self.of_type()
            }
            b'G' => self.number().and_then(|_| self.of_type()),
            b'H' => self.of_type().and_then(|()| self.of_type()),
            b'C' | b'S' | b'E' | b'T' | b'I' => self.qualified(None),
            b'B' => (0..self.number()?).try_for_each(|_| self.of_type()),
            b'N' if self.skip(b"h") => self.of_type(),
            b'N' if self.skip(b"n") => Some(()),
            b'z' if self.skip(b"i") || self.skip(b"k") => Some(()),
            b'a'..=b'w' => Some(()),
            _ => None,
        }
    }

    fn value(&mut self) -> Option<()> {
        self.deeper(|reader| match reader.next() {
            b'n' => Some(()),
            b'i' | b'N' => reader.number().map(drop),
            b'0'..=b'9' => {
                reader.at -= 1;
                reader.number().map(drop)
            }
            b'a' | b'w' | b'd' => {
                let length = reader.number()?;
                let digits = if reader.skip(b"_") { length.checked_mul(2)? } else { return None };
                reader.at = reader.at.checked_add(digits).filter(|end| *end <= reader.text.len())?;
                Some(())
            }
            b'e' => {
                reader.real();
                Some(())
            }
            b'c' => {
                reader.real();
                let is_complex = reader.skip(b"c");
                reader.real();
                is_complex.then_some(())
            }
            b'A' | b'S' => (0..reader.number()?).try_for_each(|_| reader.value()),
            b'f' if reader.skip(b"_D") => reader.whole(),
            _ => None,
        })
    }

    fn real(&mut self) {
        if self.skip(b"NAN") || self.skip(b"INF") || self.skip(b"NINF") {
            return;
        }
        while matches!(self.peek(), b'0'..=b'9' | b'A'..=b'F' | b'N' | b'P') {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `c++filt -s dlang` of binutils 2.40 has them, without parameters and arguments of templates; from programs of GDC 12 and its
    /// libraries.
    #[test]
    fn names_of_d_are_taken_apart() {
        for (mangled, plain) in [
            ("_D7brewery9quoteHopsFNbNimZv", "brewery.quoteHops"),
            ("_D7brewery5serveFKSQr10AccomplicekZv", "brewery.serve"),
            ("_D13brewery_steps9enterYardFNbNiZ9__lambda2MFNaNbNiNfZv", "brewery_steps.enterYard.__lambda2"),
            (
                "_D3std5array__T8AppenderTAyaZQo6__ctorMFNaNbNcNeQxZSQByQBx__TQBuTQBoZQCc",
                "std.array.Appender.this",
            ),
            (
                "_D3std4json__T9parseJSONTAyaZQpFQhiEQBiQBh11JSONOptionsZ10parseValueMFNaNfKSQCwQCv9JSONValueZv",
                "std.json.parseJSON.parseValue",
            ),
            (
                "_D4core8internal2gc4impl12conservativeQw3Gcx12collectRootsMFNbNlPvQcZv",
                "core.internal.gc.impl.conservative.gc.Gcx.collectRoots",
            ),
            (
                "_D3std9algorithm7sorting__T13quickSortImplS13brewery_steps8rankBidsFmmZ9__lambda6TAmZQCgMFNaNbNiNfQqmZv.constprop.0",
                "std.algorithm.sorting.quickSortImpl.constprop.0",
            ),
            (
                "_D3std11concurrency10MessageBox__T3getTDFNaNbNiNfmZvTPFNaNiNfCQCiQCh14LinkTerminatedZvTPFNaNiNfCQDqQDp15OwnerTerminatedZvTPFNfSQEv7variant__T8VariantNVmi32ZQpZvZQExMFMQEyMQEoMQDkMQCfZb",
                "std.concurrency.MessageBox.get",
            ),
            (
                "_D4core6thread8osthread18callWithStackShellFNbMDFNbPvZvZv",
                "core.thread.osthread.callWithStackShell",
            ),
            (
                "_D3std5stdio__T10makeGlobalVEQBbQBa13StdFileHandlea21_636f72652e737464632e737464696f2e737464696eZQDeFNcNdZ8spinlockOk",
                "std.stdio.makeGlobal.spinlock",
            ),
            (
                "_D4core8internal2gc4impl12conservativeQw14ConservativeGC__T9runLockedS_DQCsQCqQCkQCkQCiQCtQBy18fullCollectNoStackMFNbZ2goFNbPSQEuQEsQEmQEmQEkQEv3GcxZmTQBbZQDsMFNbKQBnZm",
                "core.internal.gc.impl.conservative.gc.ConservativeGC.runLocked",
            ),
            // Of a compiler before back references.
            // A template of its module's name.
            ("_D3std5array__T5arrayTAmZQjFNaNbNfAmZQe", "std.array.array"),
            ("_D3std5array17__T8AppenderTAyaZ8Appender3putMFNaNbNfAyaZv", "std.array.Appender.put"),
        ] {
            assert_eq!(demangle(mangled).as_deref(), Some(plain), "{mangled}");
        }
    }

    #[test]
    fn other_names_and_damaged_ones_are_left() {
        let deep = format!("_D1a{}", "__T1bS".repeat(4000));
        for other in [
            "_Dmain",
            "_DYNAMIC",
            "_D",
            "_D9brewery",
            "_D99999999999999999999x",
            "_D1a__T1bTQZ",
            "_D3DES_init",
            "_D1foo",
            "_D18446744073709551615__T1aZ",
            "_D3ééa",
            &deep,
        ] {
            assert_eq!(demangle(other), None, "{other}");
        }
    }
}
