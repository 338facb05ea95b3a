//! Values by their classes, and the constant pools of a chunk: only texts, threads and names of methods are kept.

use std::collections::HashMap;
use std::rc::Rc;

use super::bytes::{Broken, Bytes, Text};
use super::metadata::{Class, Classes, Field};
use super::methods::Methods;

/// How deep structures nest: those of the JDK do so three deep, and a damaged class may be a field of itself.
const DEEPEST: u32 = 16;
const TEXT: &str = "java.lang.String";

/// A value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Signed(i64),
    Double(f64),
    Flag(bool),
    Text(Text),
    /// The number of an entry in the pool of the field's class.
    Pooled(u64),
    /// A structure or an array.
    Other,
}

#[derive(Debug, Default)]
pub(super) struct Pools {
    texts: HashMap<u64, Rc<str>>,
    /// Threads' numbers of the operating system.
    tids: HashMap<u64, i32>,
    methods: Methods,
}

impl Pools {
    /// The name of a method with its class, else of the innermost one of a stack trace.
    pub(super) fn method(&self, method: Option<u64>, stack: Option<u64>) -> Option<Rc<str>> {
        let known = method.and_then(|method| self.methods.name(method));
        known.or_else(|| self.methods.name(self.methods.innermost(stack?)?))
    }

    pub(super) fn tid(&self, number: u64) -> Option<i32> {
        self.tids.get(&number).copied()
    }

    pub(super) fn text(&self, text: &Text) -> Option<Rc<str>> {
        match text {
            Text::None => None,
            Text::Here(text) => Some(Rc::clone(text)),
            Text::Pooled(number) => self.texts.get(number).cloned(),
        }
    }

    /// Reads what follows the type of a checkpoint event.
    pub(super) fn read(&mut self, classes: &Classes, mut bytes: Bytes<'_>) -> Result<(), Broken> {
        for _start_duration_distance in 0..3 {
            bytes.whole(8)?;
        }
        let _kind = bytes.byte()?;
        for _ in 0..bytes.whole(4)? {
            let number = bytes.whole(8)?;
            let class = classes.get(&number);
            let class =
                class.ok_or_else(|| format!("a pool of class {number}, which the metadata do not hold"))?;
            for _ in 0..bytes.count()? {
                let key = bytes.whole(8)?;
                self.entry(classes, class, key, &mut bytes)?;
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        classes: &Classes,
        class: &Class,
        key: u64,
        bytes: &mut Bytes<'_>,
    ) -> Result<(), Broken> {
        if &*class.name == TEXT {
            if let Text::Here(text) = bytes.text()? {
                self.texts.insert(key, text);
            }
            return Ok(());
        }
        if self.methods.entry(classes, class, key, bytes)? {
            return Ok(());
        }
        let is_thread = &*class.name == "java.lang.Thread";
        if class.fields.is_empty() {
            return plain(class, bytes).map(drop);
        }
        for field in &class.fields {
            let value = value(classes, field, bytes, 0)?;
            if let (true, "osThreadId", Value::Signed(tid)) = (is_thread, &*field.name, value) {
                self.tids.extend(i32::try_from(tid).ok().filter(|tid| *tid > 0).map(|tid| (key, tid)));
            }
        }
        Ok(())
    }
}

/// Reads the value of a field.
pub(super) fn value(
    classes: &Classes,
    field: &Field,
    bytes: &mut Bytes<'_>,
    depth: u32,
) -> Result<Value, Broken> {
    if field.is_array {
        for _ in 0..bytes.count()? {
            single(classes, field, bytes, depth)?;
        }
        return Ok(Value::Other);
    }
    single(classes, field, bytes, depth)
}

fn single(classes: &Classes, field: &Field, bytes: &mut Bytes<'_>, depth: u32) -> Result<Value, Broken> {
    let class = classes.get(&field.class);
    if field.is_pooled {
        let number = bytes.whole(8)?;
        let is_text = class.is_some_and(|class| &*class.name == TEXT);
        return Ok(if is_text { Value::Text(Text::Pooled(number)) } else { Value::Pooled(number) });
    }
    let class =
        class.ok_or_else(|| format!("a field of class {}, which the metadata do not hold", field.class))?;
    if class.fields.is_empty() {
        return plain(class, bytes);
    }
    if depth >= DEEPEST {
        return Err("structures nested more than 16 deep".to_owned());
    }
    for field in &class.fields {
        value(classes, field, bytes, depth + 1)?;
    }
    Ok(Value::Other)
}

/// A value of a class without fields.
fn plain(class: &Class, bytes: &mut Bytes<'_>) -> Result<Value, Broken> {
    Ok(match &*class.name {
        "boolean" => Value::Flag(bytes.byte()? != 0),
        "byte" => Value::Signed(i64::from(bytes.byte()?.cast_signed())),
        "char" => Value::Signed(bytes.whole(2)?.cast_signed()),
        // As long as it is: a short and an int are written as their 16 or 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        "short" => Value::Signed(i64::from(bytes.whole(2)? as i16)),
        #[allow(clippy::cast_possible_truncation)]
        "int" => Value::Signed(i64::from(bytes.whole(4)? as i32)),
        "long" => Value::Signed(bytes.whole(8)?.cast_signed()),
        "float" => {
            let float = bytes.take(4)?.try_into().map(f32::from_be_bytes).unwrap_or_default();
            Value::Double(float.into())
        }
        "double" => Value::Double(bytes.take(8)?.try_into().map(f64::from_be_bytes).unwrap_or_default()),
        TEXT => Value::Text(bytes.text()?),
        // A structure without fields.
        _ => bytes.nothing().map(|()| Value::Other)?,
    })
}
