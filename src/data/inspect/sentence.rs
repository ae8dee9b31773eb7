//! Sentences of a report. Those that name a flag of the command line have another wording for the app.

use serde::{Serialize, Serializer};
use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;

/// As the command line says it; `on_page` as the app does, where controls stand for flags.
#[derive(Debug, Clone, Eq)]
pub struct Sentence {
    text: String,
    /// None where it names no flag.
    page: Option<String>,
}

impl Sentence {
    /// `flag` on the command line and `control` in the app, between what both say.
    pub fn with_flag(before: &str, flag: &str, control: &str, after: &str) -> Sentence {
        Sentence { text: format!("{before}{flag}{after}"), page: Some(format!("{before}{control}{after}")) }
    }

    pub fn on_page(&self) -> &str {
        self.page.as_deref().unwrap_or(&self.text)
    }
}

impl From<String> for Sentence {
    fn from(text: String) -> Sentence {
        Sentence { text, page: None }
    }
}

impl From<Sentence> for String {
    fn from(sentence: Sentence) -> String {
        sentence.text
    }
}

impl PartialEq for Sentence {
    fn eq(&self, other: &Sentence) -> bool {
        self.text == other.text
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_become_controls() {
        let s = Sentence::with_flag("known? If not: ", "--ignore 'a b'", "take its tick away", "");
        assert_eq!(
            (s.to_string().as_str(), s.on_page()),
            ("known? If not: --ignore 'a b'", "known? If not: take its tick away")
        );
        let plain = Sentence::from("Use 2 inputs.".to_string());
        assert_eq!((&*plain, plain.on_page()), ("Use 2 inputs.", "Use 2 inputs."));
    }
}
