//! Folders as one file: runs and image sets on their way into the page and out of it.

use crate::base::fs;
use crate::error::{Error, Result};
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

fn failed(place: &Path, e: &dyn std::fmt::Display) -> Error {
    Error::data(place.display().to_string(), format!("is no zip that can be read: {e}"), "", "pack the folder anew")
}

/// Unpacks into `folder` what lies safely inside it; returns the one folder at the top of the zip, where there is one.
pub fn unpack(bytes: &[u8], folder: &Path) -> Result<PathBuf> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|e| failed(folder, &e))?;
    for i in 0..archive.len() {
        let mut entry = archive.by_index(i).map_err(|e| failed(folder, &e))?;
        // A name that leads out of the folder is none.
        let Some(inside) = entry.enclosed_name() else { continue };
        if !entry.is_file() || inside.components().any(|c| c.as_os_str() == "__MACOSX") {
            continue;
        }
        let mut content = vec![];
        entry.read_to_end(&mut content).map_err(|e| failed(folder, &e))?;
        let path = folder.join(inside);
        let dir = path.parent().unwrap_or(folder);
        fs::create_dir_all(dir).and_then(|()| fs::write(&path, content)).map_err(|e| Error::io(&path, "write", &e))?;
    }
    let inside: Vec<PathBuf> =
        fs::read_dir(folder).map_err(|e| Error::io(folder, "read", &e))?.flatten().map(|e| e.path()).collect();
    Ok(match inside.as_slice() {
        [one] if fs::is_dir(one) => one.clone(),
        _ => folder.to_path_buf(),
    })
}

/// The folder under its own name.
pub fn pack(folder: &Path) -> Result<Vec<u8>> {
    let mut writer = zip::ZipWriter::new(Cursor::new(vec![]));
    let above = folder.parent().unwrap_or(Path::new("/"));
    let mut left = vec![folder.to_path_buf()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir).map_err(|e| Error::io(&dir, "read", &e))?.flatten() {
            let path = entry.path();
            if fs::is_dir(&path) {
                left.push(path);
                continue;
            }
            let name = path.strip_prefix(above).unwrap_or(&path).to_string_lossy().into_owned();
            let content = fs::read(&path).map_err(|e| Error::io(&path, "read", &e))?;
            let started = writer.start_file(name, zip::write::SimpleFileOptions::default());
            started.map_err(|e| failed(&path, &e))?;
            writer.write_all(&content).map_err(|e| Error::io(&path, "pack", &e))?;
        }
    }
    writer.finish().map(Cursor::into_inner).map_err(|e| failed(folder, &e))
}
