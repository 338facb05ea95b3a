//! What the metadata of a trace declares (TSDL of CTF 1.8): types, the clock, streams and events.

use std::collections::HashMap;
use std::rc::Rc;

use super::declarations::Declarations;
use super::tokens::{self, Token};
use super::types::Type;

/// What a trace consists of.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    pub(super) is_big: bool,
    pub(super) packet_header: Option<Rc<Type>>,
    pub(super) clock: TraceClock,
    pub(super) streams: HashMap<u64, Stream>,
    /// By the numbers of their streams and their own.
    pub(super) events: HashMap<(u64, u64), Event>,
}

/// The trace's clock.
#[derive(Debug)]
pub(super) struct TraceClock {
    pub(super) name: String,
    /// Ticks of a second.
    pub(super) frequency: u64,
    /// What its zero is since 1970: seconds, and ticks.
    pub(super) offset_s: i128,
    pub(super) offset: i128,
}

#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) packet_context: Option<Rc<Type>>,
    pub(super) event_header: Option<Rc<Type>>,
    pub(super) event_context: Option<Rc<Type>>,
}

#[derive(Debug, Default)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) context: Option<Rc<Type>>,
    pub(super) fields: Option<Rc<Type>>,
}

impl Default for TraceClock {
    fn default() -> TraceClock {
        TraceClock { name: String::new(), frequency: 1_000_000_000, offset_s: 0, offset: 0 }
    }
}

/// What stands in a block: numbers, texts and words, and types, by their names.
#[derive(Default)]
struct Block {
    values: HashMap<String, Token>,
    types: HashMap<String, Rc<Type>>,
}

impl Block {
    fn number(&self, name: &str) -> Option<i128> {
        if let Some(Token::Number(number)) = self.values.get(name) { Some(*number) } else { None }
    }

    fn id(&self, name: &str) -> u64 {
        self.number(name).and_then(|number| number.try_into().ok()).unwrap_or_default()
    }

    fn text(&self, name: &str) -> String {
        match self.values.get(name) {
            Some(Token::Text(text) | Token::Word(text)) => text.clone(),
            _ => String::new(),
        }
    }

    fn take(&mut self, name: &str) -> Option<Rc<Type>> {
        self.types.remove(name)
    }
}

impl Metadata {
    /// Reads the text; why it cannot be, with its line.
    pub(super) fn of(text: &str) -> Result<Metadata, String> {
        let mut reading = Declarations::new(tokens::of(text)?);
        let mut metadata = Metadata::default();
        while let Some(first) = reading.peek_word() {
            match first.as_str() {
                "trace" | "clock" | "stream" | "event" | "env" | "callsite" => {
                    reading.skip();
                    let block = block(&mut reading)?;
                    metadata.take(&first, block);
                    reading.optional(";");
                }
                _ => reading.declaration()?,
            }
        }
        reading.end()?;
        Ok(metadata)
    }

    fn take(&mut self, kind: &str, mut block: Block) {
        match kind {
            "trace" => {
                self.is_big = ["be", "network"].contains(&block.text("byte_order").as_str());
                self.packet_header = block.take("packet.header");
            }
            "clock" => {
                let frequency = block.id("freq");
                self.clock = TraceClock {
                    name: block.text("name"),
                    frequency: if frequency == 0 { 1_000_000_000 } else { frequency },
                    offset_s: block.number("offset_s").unwrap_or_default(),
                    offset: block.number("offset").unwrap_or_default(),
                };
            }
            "stream" => {
                let stream = Stream {
                    packet_context: block.take("packet.context"),
                    event_header: block.take("event.header"),
                    event_context: block.take("event.context"),
                };
                self.streams.insert(block.id("id"), stream);
            }
            "event" => {
                let (context, fields) = (block.take("context"), block.take("fields"));
                let event = Event { name: block.text("name"), context, fields };
                self.events.insert((block.id("stream_id"), block.id("id")), event);
            }
            _ => {}
        }
    }
}

/// `{ name = value; name := type; … }`
fn block(reading: &mut Declarations) -> Result<Block, String> {
    let mut block = Block::default();
    reading.expect("{")?;
    while !reading.optional("}") {
        let is_declaration = reading.peek_word().is_some_and(|word| {
            ["typealias", "typedef", "struct", "enum", "variant"].contains(&word.as_str())
        });
        if is_declaration {
            reading.declaration()?;
            continue;
        }
        let name = reading.path()?;
        if reading.optional(":=") {
            let of = reading.type_of()?;
            block.types.insert(name, of);
        } else {
            reading.expect("=")?;
            let value = reading.value()?;
            block.values.insert(name, value);
        }
        reading.expect(";")?;
    }
    Ok(block)
}
