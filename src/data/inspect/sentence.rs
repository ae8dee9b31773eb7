//! Sentences of a report, with what the window can do about them by a click.

use crate::error::Cure;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    text: String,
    pub cures: Vec<Cure>,
}

impl Sentence {
    /// With a further click.
    pub fn curing(mut self, cure: Cure) -> Sentence {
        self.cures.push(cure);
        self
    }
}

impl From<String> for Sentence {
    fn from(text: String) -> Sentence {
        Sentence { text, cures: vec![] }
    }
}

impl From<Sentence> for String {
    fn from(sentence: Sentence) -> String {
        sentence.text
    }
}

impl Deref for Sentence {
    type Target = str;
    fn deref(&self) -> &str {
        &self.text
    }
}

impl Borrow<str> for Sentence {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Sentence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.serialize_str(&self.text),
            // Between a page and the program beside it.
            false => (&self.text, &self.cures).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Sentence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Sentence, D::Error> {
        if deserializer.is_human_readable() {
            return Ok(String::deserialize(deserializer)?.into());
        }
        let (text, cures) = Deserialize::deserialize(deserializer)?;
        Ok(Sentence { text, cures })
    }
}
