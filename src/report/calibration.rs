//! A calibration's section of the report.

use super::html;
use crate::figure::Section;
use crate::run::calibration::{Calibration, SLOT};

impl Calibration {
    /// Its part of the report.
    pub fn section(&self, target: &str) -> Section {
        let mut text = vec![format!("Fitted on {} by `vifo calibrate`; `vifo predict` uses it.", self.on())];
        text.extend(self.temperature_said().map(|t| format!("Class probabilities p^(1/T), normalised, with {t}.")));
        text.push(self.definition());
        text.push(
            "A new row like the calibration rows lies inside with at least the stated probability. The last column shows by how much the \
             coverage varies from one set of calibration rows to another."
                .into(),
        );
        text.extend(self.caveats().iter().map(|n| format!("Note: {n}.")));
        Section {
            heading: "Calibration".into(),
            text,
            table: Some(html(&self.levels_table(target))),
            slot: Some(SLOT.into()),
            ..Default::default()
        }
    }
}

/// The part of the report of a run that is not calibrated.
pub fn no_section() -> Section {
    Section { slot: Some(SLOT.into()), ..Default::default() }
}
