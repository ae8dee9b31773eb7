//! Sentences of a report, with what the window can do about them by a click.

use crate::error::Cure;
use serde::{Serialize, Serializer};
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
        serializer.serialize_str(&self.text)
    }
}
