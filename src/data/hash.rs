//! What identifies a data set: SHA-256 of files and of the values in a table.

use crate::base::fs;
use crate::data::source;
use crate::data::table::{Cells, Table};
use crate::error::{Error, Result};
use sha2::{Digest, Sha256};
use std::path::Path;

pub(crate) fn add_text(digest: &mut Sha256, text: &str) {
    digest.update((text.len() as u64).to_le_bytes());
    digest.update(text.as_bytes());
}

/// Names and cells: equal numbers are equal however they are written.
pub(crate) fn add_values(digest: &mut Sha256, table: &Table) {
    digest.update((table.rows() as u64).to_le_bytes());
    for column in &table.columns {
        add_text(digest, &column.name);
        match &column.cells {
            // All that is missing is one, and so are 0 and -0.
            Cells::Number(v) => {
                digest.update(b"numbers");
                let bits = |v: &f64| (if v.is_nan() { f64::NAN } else { v + 0.0 }).to_bits().to_le_bytes();
                // A digest takes many at once quicker than each by itself.
                v.chunks(1024).for_each(|v| digest.update(v.iter().flat_map(bits).collect::<Vec<u8>>()));
            }
            Cells::Text(v) => {
                digest.update(b"texts");
                for cell in v.iter() {
                    digest.update([u8::from(cell.is_some())]);
                    add_text(digest, cell.unwrap_or_default());
                }
            }
        }
    }
}

/// SHA-256 over the contents of all files, each preceded by its length.
pub fn hash(files: &[&Path]) -> Result<String> {
    let mut digest = Sha256::new();
    for file in files {
        if source::is_stream(file) {
            let bytes = source::read_bytes(file)?;
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(&bytes);
            continue;
        }
        // Piece by piece: a file may be large beside the rows made of it.
        let failed = |e: std::io::Error| Error::io(file, "read", &e);
        let mut opened = fs::File::open(file).map_err(failed)?;
        digest.update(opened.metadata().map_err(failed)?.len().to_le_bytes());
        std::io::copy(&mut opened, &mut digest).map_err(failed)?;
    }
    Ok(hex(digest))
}

/// SHA-256 of a text.
pub fn hash_text(text: &str) -> String {
    hex(Sha256::new_with_prefix(text.as_bytes()))
}

pub(crate) fn hex(digest: Sha256) -> String {
    digest.finalize().iter().map(|b| format!("{b:02x}")).collect()
}
