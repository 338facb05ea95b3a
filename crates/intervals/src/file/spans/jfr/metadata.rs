//! The metadata of a chunk: its classes with their fields, as a tree of elements with attributes.

use std::collections::HashMap;
use std::rc::Rc;

use super::bytes::{Broken, Bytes, Text};

/// The deepest nesting of elements: the JDK writes six levels.
const DEEPEST: u32 = 32;

/// A class of events, of structures or of values.
#[derive(Debug, Default)]
pub(super) struct Class {
    pub(super) name: Rc<str>,
    pub(super) parent: Option<Rc<str>>,
    pub(super) fields: Vec<Field>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: Rc<str>,
    pub(super) class: u64,
    /// The value is a number that refers to a pool.
    pub(super) is_pooled: bool,
    pub(super) is_array: bool,
}

/// By their numbers.
pub(super) type Classes = HashMap<u64, Class>;

#[derive(Default)]
struct Element {
    attributes: Vec<(Rc<str>, Rc<str>)>,
}

impl Element {
    fn get(&self, name: &str) -> Option<Rc<str>> {
        self.attributes.iter().find(|(known, _)| &**known == name).map(|(_, value)| Rc::clone(value))
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }
}

/// Reads what follows the type of the metadata event.
pub(super) fn read(mut bytes: Bytes<'_>) -> Result<Classes, Broken> {
    for _start_duration_id in 0..3 {
        bytes.whole(8)?;
    }
    let texts = (0..bytes.count()?).map(|_| match bytes.text()? {
        Text::Here(text) => Ok(text),
        Text::None | Text::Pooled(_) => Ok(Rc::from("")),
    });
    let texts = texts.collect::<Result<Vec<_>, Broken>>()?;
    let mut tree = Tree { bytes, texts, classes: Classes::new() };
    tree.element(None, 0)?;
    Ok(tree.classes)
}

struct Tree<'a> {
    bytes: Bytes<'a>,
    texts: Vec<Rc<str>>,
    classes: Classes,
}

impl Tree<'_> {
    /// An element and those within it; `class` is the class that it belongs to.
    fn element(&mut self, class: Option<u64>, depth: u32) -> Result<(), Broken> {
        if depth > DEEPEST {
            return Err("metadata nested more than 32 deep".to_owned());
        }
        let name = self.named()?;
        let mut element = Element::default();
        for _ in 0..self.bytes.count()? {
            element.attributes.push((self.named()?, self.named()?));
        }
        let class = match &*name {
            "class" => self.class(&element),
            "field" => self.field(&element, class),
            _ => class,
        };
        for _ in 0..self.bytes.count()? {
            self.element(class, depth + 1)?;
        }
        Ok(())
    }

    fn class(&mut self, element: &Element) -> Option<u64> {
        let number = element.number("id")?;
        let class =
            Class { name: element.get("name")?, parent: element.get("superType"), fields: Vec::new() };
        self.classes.insert(number, class);
        Some(number)
    }

    fn field(&mut self, element: &Element, class: Option<u64>) -> Option<u64> {
        let field = Field {
            name: element.get("name")?,
            class: element.number("class")?,
            is_pooled: element.get("constantPool").is_some_and(|value| &*value == "true"),
            is_array: element.number("dimension").is_some_and(|dimension| dimension > 0),
        };
        self.classes.get_mut(&class?)?.fields.push(field);
        class
    }

    /// The text with the number that stands here.
    fn named(&mut self) -> Result<Rc<str>, Broken> {
        let index = self.bytes.whole(4)?;
        let text = usize::try_from(index).ok().and_then(|index| self.texts.get(index));
        text.cloned().ok_or_else(|| format!("metadata refer to text {index}, which they do not hold"))
    }
}
