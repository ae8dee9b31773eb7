//! What people write beside a run: tags and a note, in `notes.toml` of its folder. Nothing is decided by it.

use super::RunFolder;
use crate::base::fs;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Its file in the run folder.
pub const ABOUT: &str = "notes.toml";

const MOST_TAGS: usize = 20;
/// Characters of a tag, and of the note.
const MOST_LETTERS: [usize; 2] = [40, 10_000];

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct About {
    pub tags: Vec<String>,
    pub note: String,
}

impl About {
    /// Tags as they are typed, with commas between them; each once.
    pub fn new(tags: &str, note: &str) -> About {
        let mut all: Vec<String> = vec![];
        for tag in tags.split([',', '\n']).map(|t| t.trim().trim_start_matches('#').trim()).filter(|t| !t.is_empty()) {
            if !all.iter().any(|known| known == tag) {
                all.push(tag.into());
            }
        }
        About { tags: all, note: note.trim().into() }
    }

    pub fn is_empty(&self) -> bool {
        self.tags.is_empty() && self.note.is_empty()
    }

    /// "[baseline, paper] wider network"; a note of several lines on one.
    pub fn line(&self) -> String {
        let note = self.note.split_whitespace().collect::<Vec<_>>().join(" ");
        match (self.tags.is_empty(), note.is_empty()) {
            (true, _) => note,
            (false, true) => format!("[{}]", self.tags.join(", ")),
            (false, false) => format!("[{}] {note}", self.tags.join(", ")),
        }
    }

    /// An error that names what is too long.
    fn check(&self) -> Result<()> {
        let refuse = |found: String, allowed: String| Err(Error::usage("tags and note", found, allowed, "shorten it"));
        if self.tags.len() > MOST_TAGS {
            return refuse(format!("{} tags", self.tags.len()), format!("up to {MOST_TAGS}"));
        }
        if let Some(tag) = self.tags.iter().find(|t| t.chars().count() > MOST_LETTERS[0]) {
            return refuse(format!("tag {tag}"), format!("up to {} characters", MOST_LETTERS[0]));
        }
        match self.note.chars().count() {
            n if n > MOST_LETTERS[1] => {
                refuse(format!("{n} characters in the note"), format!("up to {}", MOST_LETTERS[1]))
            }
            _ => Ok(()),
        }
    }
}

impl RunFolder {
    /// Tags and note; empty where there are none.
    ///
    /// # Errors
    /// The file cannot be read, or was edited to something else.
    pub fn about(&self) -> Result<About> {
        let path = self.file(ABOUT);
        if !fs::is_file(&path) {
            return Ok(About::default());
        }
        let text = fs::read_to_string(&path).map_err(|e| Error::io(&path, "read", &e))?;
        toml::from_str(&text).map_err(|e| {
            let allowed = "tags = [\"one\"] and note = \"text\"";
            Error::data(path.display().to_string(), e.message(), allowed, "correct or remove it")
        })
    }

    /// Writes them; empty ones leave no file.
    ///
    /// # Errors
    /// Too long, or the disk refuses.
    pub fn write_about(&self, about: &About) -> Result<()> {
        about.check()?;
        let path = self.file(ABOUT);
        if about.is_empty() {
            return match fs::is_file(&path) {
                true => fs::remove_file(&path).map_err(|e| Error::io(&path, "remove", &e)),
                false => Ok(()),
            };
        }
        let text = toml::to_string_pretty(about)
            .map_err(|e| Error::run(ABOUT, e.to_string(), "this is a bug of vifo: please report it"))?;
        super::write_atomic(&path, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_note_come_back_and_nothing_leaves_no_file() {
        let dir = tempfile::tempdir().expect("a folder");
        let run = RunFolder::create(&dir.path().join("run")).expect("a new folder");
        assert_eq!(run.about(), Ok(About::default()));
        let about = About::new(" paper, #wide ,, paper\nx", "Two\nlines, \"quoted\" ");
        assert_eq!(about.tags, ["paper", "wide", "x"]);
        assert_eq!(about.line(), "[paper, wide, x] Two lines, \"quoted\"");
        run.write_about(&about).expect("written");
        assert_eq!(run.about(), Ok(about));
        // A run with a note is replaced like any other.
        assert_eq!(run.stranger(), None);
        run.write_about(&About::default()).expect("written");
        assert!(!run.file(ABOUT).exists());
        let long = run.write_about(&About::new(&"t".repeat(41), "")).expect_err("too long").to_string();
        assert!(long.contains("allowed: up to 40 characters") && !run.file(ABOUT).exists(), "{long}");
        std::fs::write(run.file(ABOUT), "tags = 3").expect("written");
        let said = run.about().expect_err("no list").to_string();
        assert!(said.contains("notes.toml") && said.contains("correct or remove it"), "{said}");
    }
}
