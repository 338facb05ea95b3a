//! Tags: what the user says of a capture, by name.

use std::collections::BTreeMap;

use clap::Args;

/// Bytes of a tag's name or value: a longer one is a mistake.
const LONGEST: usize = 1000;

/// What the user adds to what captures hold.
#[derive(Clone, Debug, Args)]
pub(crate) struct TagArgs {
    /// A tag: `service=checkout`, `host=web-7`, `release=2026.11.3`, or any other name. May be given several times.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse)]
    tag: Vec<(String, String)>,
}

impl TagArgs {
    /// By name; of two with one name the last counts.
    pub(crate) fn by_name(&self) -> BTreeMap<String, String> {
        self.tag.iter().cloned().collect()
    }
}

fn parse(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some(("", _)) => Err("its name is empty".to_owned()),
        Some((name, value)) if name.len().max(value.len()) <= LONGEST => {
            Ok((name.to_owned(), value.to_owned()))
        }
        Some(_) => Err(format!("a name or a value has up to {LONGEST} bytes")),
        None => Err("a tag is NAME=VALUE".to_owned()),
    }
}
