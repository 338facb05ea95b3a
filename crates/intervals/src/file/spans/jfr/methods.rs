//! Names of methods: their pools refer to those of classes and of symbols, and those of stack traces to them.

use std::collections::HashMap;
use std::rc::Rc;

use super::bytes::{Broken, Bytes, Text};
use super::metadata::{Class, Classes, Field};
use super::pools::{self, Value};

const SYMBOL: &str = "jdk.types.Symbol";
const CLASS: &str = "java.lang.Class";
const METHOD: &str = "jdk.types.Method";
const STACK_TRACE: &str = "jdk.types.StackTrace";

/// By the numbers of their entries.
#[derive(Debug, Default)]
pub(super) struct Methods {
    symbols: HashMap<u64, Rc<str>>,
    /// The symbols that name classes.
    classes: HashMap<u64, u64>,
    /// The classes of methods, and the symbols that name them.
    known: HashMap<u64, (u64, u64)>,
    /// The innermost method of each stack trace.
    stacks: HashMap<u64, u64>,
}

impl Methods {
    /// The innermost method of a stack trace.
    pub(super) fn innermost(&self, stack: u64) -> Option<u64> {
        self.stacks.get(&stack).copied()
    }

    /// `package.Class.method`.
    pub(super) fn name(&self, method: u64) -> Option<Rc<str>> {
        let (class, name) = self.known.get(&method)?;
        let name = self.symbols.get(name)?;
        let class = self.classes.get(class).and_then(|symbol| self.symbols.get(symbol));
        Some(match class.filter(|class| !class.is_empty()) {
            Some(class) => format!("{}.{name}", class.replace('/', ".")).into(),
            None => Rc::clone(name),
        })
    }

    /// Reads the entry `key` of the pool of `class`; false where it is none of these, and nothing was read.
    ///
    /// # Errors
    /// Where the entry is broken.
    pub(super) fn entry(
        &mut self,
        classes: &Classes,
        class: &Class,
        key: u64,
        bytes: &mut Bytes<'_>,
    ) -> Result<bool, Broken> {
        if ![SYMBOL, CLASS, METHOD, STACK_TRACE].contains(&&*class.name) {
            return Ok(false);
        }
        let (mut name, mut of, mut text) = (None, None, None);
        for field in &class.fields {
            if field.is_array && &*class.name == STACK_TRACE {
                self.stacks.extend(frames(classes, field, bytes)?.map(|method| (key, method)));
                continue;
            }
            match (&*field.name, pools::value(classes, field, bytes, 0)?) {
                ("name", Value::Pooled(symbol)) => name = Some(symbol),
                ("type", Value::Pooled(class)) => of = Some(class),
                (_, Value::Text(Text::Here(found))) => text = Some(found),
                _ => {}
            }
        }
        match &*class.name {
            SYMBOL => self.symbols.extend(text.map(|text| (key, text))),
            CLASS => self.classes.extend(name.map(|name| (key, name))),
            METHOD => self.known.extend(of.zip(name).map(|method| (key, method))),
            _ => {}
        }
        Ok(true)
    }
}

/// Reads the frames of a stack trace; the method of the first one.
fn frames(classes: &Classes, field: &Field, bytes: &mut Bytes<'_>) -> Result<Option<u64>, Broken> {
    let mut innermost = None;
    let frame = classes.get(&field.class);
    let frame =
        frame.ok_or_else(|| format!("a frame of class {}, which the metadata do not hold", field.class))?;
    for _ in 0..bytes.count()? {
        if frame.fields.is_empty() {
            bytes.nothing()?;
        }
        for field in &frame.fields {
            let value = pools::value(classes, field, bytes, 1)?;
            if let ("method", Value::Pooled(method), None) = (&*field.name, value, innermost) {
                innermost = Some(method);
            }
        }
    }
    Ok(innermost)
}
