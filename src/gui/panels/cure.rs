//! The buttons of messages: what a cure is called.

use crate::error::Cure;
use crate::recipe::{self, key};

pub fn button(cure: &Cure) -> String {
    match cure {
        Cure::Set { key, value } if *key == key!(data.ignore).path => format!("Leave {value} out"),
        Cure::Set { key, value } if *key == key!(data.missing_markers).path => format!("{value} means missing"),
        Cure::Set { key, value } if *key == key!(data.header).path && value == "false" => {
            "The first line is data".into()
        }
        Cure::Set { key, value } if *key == key!(data.skip_lines).path => format!("Skip lines: {value}"),
        Cure::Set { key, .. } if *key == key!(data.skip_broken).path => "Leave broken images out".into(),
        Cure::Set { key, value } => match recipe::keys::find(key) {
            Some(key) => format!("{}: {}", key.words(), value.trim_matches('"')),
            None => value.clone(),
        },
        Cure::RunsFolder => "Choose another folder…".into(),
    }
}

pub fn tip(cure: &Cure) -> &'static str {
    match cure {
        Cure::Set { .. } => "Sets it, and tries again",
        Cure::RunsFolder => "Where new runs are put",
    }
}
