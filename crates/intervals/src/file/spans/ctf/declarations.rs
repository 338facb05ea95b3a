//! Declarations of types in the metadata, and the steps by which it is read.

use std::collections::HashMap;
use std::rc::Rc;

use super::tokens::Token;
use super::types::{Fields, Integer, Kind, MOST_OVERLAPPING, Names, Type};

/// How deep types may be within one another.
const DEEPEST: u32 = 32;

pub(super) struct Declarations {
    tokens: Vec<(Token, u32)>,
    at: usize,
    depth: u32,
    known: HashMap<String, Rc<Type>>,
}

impl Declarations {
    pub(super) fn new(tokens: Vec<(Token, u32)>) -> Declarations {
        Declarations { tokens, at: 0, depth: 0, known: HashMap::new() }
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    pub(super) fn peek_word(&self) -> Option<String> {
        if let Some(Token::Word(word)) = self.peek() { Some(word.clone()) } else { None }
    }

    pub(super) fn skip(&mut self) {
        self.at += 1;
    }

    fn wrong<T>(&self, expected: &str) -> Result<T, String> {
        let last = self.tokens.last().map_or(1, |(_, line)| *line);
        let (line, found) = match self.tokens.get(self.at) {
            Some((token, line)) => (*line, format!("{token:?}")),
            None => (last, "the end".to_owned()),
        };
        Err(format!("line {line}: {expected} is expected, there is {found}"))
    }

    /// Nothing may follow.
    pub(super) fn end(&self) -> Result<(), String> {
        if self.peek().is_some() { self.wrong("a declaration") } else { Ok(()) }
    }

    pub(super) fn optional(&mut self, sign: &'static str) -> bool {
        let is_there = self.peek() == Some(&Token::Sign(sign));
        self.at += usize::from(is_there);
        is_there
    }

    pub(super) fn expect(&mut self, sign: &'static str) -> Result<(), String> {
        if self.optional(sign) { Ok(()) } else { self.wrong(&format!("{sign:?}")) }
    }

    fn word(&mut self) -> Result<String, String> {
        let Some(word) = self.peek_word() else { return self.wrong("a name") };
        self.skip();
        Ok(word)
    }

    /// Words with dots between them.
    pub(super) fn path(&mut self) -> Result<String, String> {
        let mut path = self.word()?;
        while self.optional(".") || self.optional("->") {
            path.push('.');
            path.push_str(&self.word()?);
        }
        Ok(path)
    }

    pub(super) fn value(&mut self) -> Result<Token, String> {
        if self.optional("-") {
            return self.number().map(|number| Token::Number(-number));
        }
        match self.peek() {
            Some(Token::Word(_)) => self.path().map(Token::Word),
            Some(Token::Number(_) | Token::Text(_)) => {
                self.at += 1;
                Ok(self.tokens[self.at - 1].0.clone())
            }
            _ => self.wrong("a value"),
        }
    }

    fn number(&mut self) -> Result<i128, String> {
        let is_negative = self.optional("-");
        let Some(Token::Number(number)) = self.peek() else { return self.wrong("a number") };
        let number = *number;
        self.skip();
        Ok(if is_negative { -number } else { number })
    }

    /// `typealias TYPE := NAME;`, `typedef TYPE NAME;`, `struct NAME {…};`
    pub(super) fn declaration(&mut self) -> Result<(), String> {
        let Some(word) = self.peek_word() else { return self.wrong("a declaration") };
        match word.as_str() {
            "typealias" => {
                self.skip();
                let of = self.type_of()?;
                self.expect(":=")?;
                let name = self.words();
                self.known.insert(name, of);
            }
            "typedef" => {
                self.skip();
                let (name, of) = self.field()?;
                self.known.insert(name.to_string(), of);
            }
            "struct" | "enum" | "variant" => drop(self.type_of()?),
            _ => return self.wrong("a declaration"),
        }
        self.expect(";")
    }

    /// The name of a type: `unsigned long`.
    fn words(&mut self) -> String {
        let mut words = Vec::new();
        while let Some(word) = self.peek_word() {
            words.push(word);
            self.skip();
        }
        words.join(" ")
    }

    fn made(&self, kind: Kind, align: u64) -> Result<Rc<Type>, String> {
        let of = Type::new(kind, align);
        if of.depth > DEEPEST { self.wrong("a type that is less deep before this") } else { Ok(Rc::new(of)) }
    }

    fn known(&self, name: &str) -> Result<Rc<Type>, String> {
        let Some(of) = self.known.get(name) else {
            return self.wrong(&format!("the type {name:?} is not declared: another one"));
        };
        Ok(Rc::clone(of))
    }

    pub(super) fn type_of(&mut self) -> Result<Rc<Type>, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.wrong("a type that is less deep");
        }
        let found = match self.peek_word().as_deref() {
            Some("integer") => self.integer(),
            Some("floating_point") => self.float(),
            Some("string") => self.string(),
            Some("struct") => self.structure(),
            Some("enum") => self.enumeration(),
            Some("variant") => self.variant(),
            _ => {
                let name = self.words();
                self.known(&name)
            }
        };
        self.depth -= 1;
        found
    }

    /// `{ name = value; … }` after the word.
    fn properties(&mut self) -> Result<HashMap<String, Token>, String> {
        self.skip();
        let mut properties = HashMap::new();
        if !self.optional("{") {
            return Ok(properties);
        }
        while !self.optional("}") {
            let name = self.word()?;
            self.expect("=")?;
            properties.insert(name, self.value()?);
            self.expect(";")?;
        }
        Ok(properties)
    }

    fn of_properties(&self, properties: &HashMap<String, Token>, bits: i128) -> Result<Integer, String> {
        let number = |name: &str| match properties.get(name) {
            Some(Token::Number(number)) => Some(*number),
            _ => None,
        };
        let word = |name: &str| match properties.get(name) {
            Some(Token::Word(word)) => Some(word.as_str()),
            _ => None,
        };
        let Some(bits @ 1..=64) = u32::try_from(bits).ok() else {
            return self.wrong("a number of 1 to 64 bits before this");
        };
        let align = number("align").unwrap_or(if bits % 8 == 0 { 8 } else { 1 });
        let Some(align @ 1..=4096) = u64::try_from(align).ok() else {
            return self.wrong("an alignment of 1 to 4096 bits before this");
        };
        Ok(Integer {
            bits,
            align,
            is_signed: number("signed").map_or(word("signed") == Some("true"), |signed| signed != 0),
            is_big: match word("byte_order") {
                Some("be" | "network") => Some(true),
                Some("le") => Some(false),
                _ => None,
            },
            is_time: word("map").is_some_and(|map| map.starts_with("clock.")),
            is_text: word("encoding").is_some_and(|encoding| encoding != "none"),
        })
    }

    fn integer(&mut self) -> Result<Rc<Type>, String> {
        let properties = self.properties()?;
        let bits = if let Some(Token::Number(bits)) = properties.get("size") { *bits } else { 0 };
        self.made(Kind::Integer(self.of_properties(&properties, bits)?), 1)
    }

    fn float(&mut self) -> Result<Rc<Type>, String> {
        let properties = self.properties()?;
        let digits = ["exp_dig", "mant_dig"].map(|name| properties.get(name));
        let bits = match digits {
            [Some(Token::Number(8)), Some(Token::Number(24))] => 32,
            [Some(Token::Number(11)), Some(Token::Number(53))] => 64,
            _ => return self.wrong("a floating-point number of 32 or 64 bits before this"),
        };
        self.made(Kind::Float(self.of_properties(&properties, bits)?), 1)
    }

    fn string(&mut self) -> Result<Rc<Type>, String> {
        self.properties()?;
        self.made(Kind::Text, 8)
    }

    /// The name of a structure, enumeration or variant, if it has one; with its kind, as the types that are known have it.
    fn name_of(&mut self, kind: &str) -> Option<String> {
        self.skip();
        let name = self.peek_word()?;
        self.skip();
        Some(format!("{kind} {name}"))
    }

    fn declare(&mut self, name: Option<String>, kind: Kind, align: u64) -> Result<Rc<Type>, String> {
        let of = self.made(kind, align)?;
        if let Some(name) = name {
            self.known.insert(name, Rc::clone(&of));
        }
        Ok(of)
    }

    fn structure(&mut self) -> Result<Rc<Type>, String> {
        let name = self.name_of("struct");
        if self.peek() != Some(&Token::Sign("{")) {
            return self.known(&name.unwrap_or_default());
        }
        let fields = self.fields()?;
        let mut align = 1;
        if self.peek_word().as_deref() == Some("align") {
            self.skip();
            self.expect("(")?;
            align = u64::try_from(self.number()?).unwrap_or(1).clamp(1, 4096);
            self.expect(")")?;
        }
        self.declare(name, Kind::Struct(fields), align)
    }

    fn fields(&mut self) -> Result<Fields, String> {
        let mut fields = Vec::new();
        self.expect("{")?;
        while !self.optional("}") {
            if matches!(self.peek_word().as_deref(), Some("typealias" | "typedef")) {
                self.declaration()?;
                continue;
            }
            fields.push(self.field()?);
            self.expect(";")?;
        }
        Ok(fields)
    }

    /// A type and a name, perhaps with lengths in brackets.
    fn field(&mut self) -> Result<(Rc<str>, Rc<Type>), String> {
        const KINDS: [&str; 6] = ["integer", "floating_point", "string", "struct", "enum", "variant"];
        let is_named = !self.peek_word().is_some_and(|word| KINDS.contains(&word.as_str()));
        let (name, mut of) = if is_named {
            let words = self.words();
            let Some((of, name)) = words.rsplit_once(' ') else {
                return self.wrong("a type and a name before this");
            };
            (name.to_owned(), self.known(of)?)
        } else {
            let of = self.type_of()?;
            (self.word()?, of)
        };
        while self.optional("[") {
            let kind = if let Some(Token::Number(_)) = self.peek() {
                Kind::Array(of, u64::try_from(self.number()?).unwrap_or_default())
            } else {
                let path = self.path()?;
                Kind::Sequence(of, last_of(&path))
            };
            of = self.made(kind, 1)?;
            self.expect("]")?;
        }
        Ok((plain(&name), of))
    }

    fn enumeration(&mut self) -> Result<Rc<Type>, String> {
        let name = self.name_of("enum");
        let mut of = None;
        if self.optional(":") {
            of = Some(self.type_of()?);
        }
        if self.peek() != Some(&Token::Sign("{")) {
            return self.known(&name.unwrap_or_default());
        }
        self.skip();
        let (mut names, mut next) = (Vec::new(), 0);
        while !self.optional("}") {
            let (Token::Word(label) | Token::Text(label)) = self.value()? else {
                return self.wrong("a name");
            };
            let (mut from, mut to) = (next, next);
            if self.optional("=") {
                from = self.number()?;
                to = if self.optional("...") { self.number()? } else { from };
            }
            next = to + 1;
            names.push((from, to, plain(&label)));
            self.optional(",");
        }
        let of = match of.or_else(|| self.known.get("int").cloned()).as_deref().map(|of| &of.kind) {
            Some(Kind::Integer(integer)) => *integer,
            _ => return self.wrong("an enumeration of integers before this"),
        };
        let Some(names) = Names::new(names) else {
            return self
                .wrong(&format!("an enumeration of {MOST_OVERLAPPING} ranges at most where some overlap"));
        };
        self.declare(name, Kind::Enum(of, names), 1)
    }

    fn variant(&mut self) -> Result<Rc<Type>, String> {
        let name = self.name_of("variant");
        let mut tag = String::new();
        if self.optional("<") {
            tag = self.path()?;
            self.expect(">")?;
        }
        let fields = if self.peek() == Some(&Token::Sign("{")) {
            let mut fields = self.fields()?;
            // Of equal names the first one counts.
            fields.sort_by(|(one, _), (other, _)| one.cmp(other));
            fields.dedup_by(|next, kept| next.0 == kept.0);
            Rc::new(fields)
        } else {
            match &self.known(&name.clone().unwrap_or_default())?.kind {
                Kind::Variant(_, fields) => Rc::clone(fields),
                _ => return self.wrong("a variant before this"),
            }
        };
        self.declare(name, Kind::Variant(last_of(&tag), fields), 1)
    }
}

/// The last name of a path.
fn last_of(path: &str) -> Rc<str> {
    plain(path.rsplit('.').next().unwrap_or_default())
}

/// A name without the `_` that tracers put before each, so that none is a word of the language.
fn plain(name: &str) -> Rc<str> {
    name.strip_prefix('_').unwrap_or(name).into()
}
