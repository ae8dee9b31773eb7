//! Tags and note of a run in its report.

use crate::error::Result;
use crate::figure::{Section, replace_sections};
use crate::run::{About, RunFolder};

/// Its place.
const SLOT: &str = "tags and note";

/// What the report says of them; nothing where there are none.
pub fn section(about: &About) -> Section {
    if about.is_empty() {
        return super::evaluations::place(SLOT);
    }
    let tags = (!about.tags.is_empty()).then(|| format!("Tags: {}", about.tags.join(", ")));
    let text = tags.into_iter().chain(about.note.lines().map(String::from)).collect();
    Section { heading: "Tags and note".into(), text, slot: Some(SLOT.into()), ..Default::default() }
}

/// Writes tags and note beside a run and into its report, where it has one with a place for them.
///
/// # Errors
/// They are too long, or the disk refuses.
pub fn write(folder: &RunFolder, about: &About) -> Result<()> {
    folder.write_about(about)?;
    let report = folder.file("report.html");
    if crate::base::fs::is_file(&report) {
        replace_sections(&report, SLOT, &[section(about)])?;
    }
    Ok(())
}
