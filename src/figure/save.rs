//! Draws a figure on both surfaces and puts the files in place: a temporary name, synced, then renamed.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use plotters::backend::{BitMapBackend, DrawingBackend as _};

use super::Saved;
use super::plot::draw_ground;
use super::raster::Raster;
use super::surface::Surface;
use super::svg::Svg;
use crate::error::{Error, Fault, Result};

/// What every figure tells about itself.
pub trait Figure {
    fn title(&self) -> &str;
    /// Width and height in figure pixels.
    fn size(&self) -> (f64, f64) {
        (900.0, 560.0)
    }
    fn draw(&self, s: &mut dyn Surface);
}

pub fn save(dir: &Path, stem: &str, figure: &impl Figure) -> Result<Saved> {
    if stem.is_empty() || stem.contains(['/', '\\', '\0']) {
        let allowed = "a file name without folder and ending";
        return Err(Error::usage(
            dir.display().to_string(),
            format!("figure name {stem:?}"),
            allowed,
            "choose another name",
        ));
    }
    fs::create_dir_all(dir).map_err(|e| Error::io(dir, "create", &e))?;
    let (width, height) = figure.size();
    let saved = Saved { png: dir.join(format!("{stem}.png")), svg: dir.join(format!("{stem}.svg")) };

    let mut svg = Svg::new(width, height, figure.title());
    draw_ground(&mut svg, width, height);
    figure.draw(&mut svg);
    write_whole(&saved.svg, svg.finish().as_bytes())?;

    let mut raster = Raster::new(width, height);
    figure.draw(&mut raster);
    write_png(&saved.png, &raster)?;
    Ok(saved)
}

/// A name next to `path` that no other process uses; the ending stays, because the encoder goes by it.
fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".tmp-{}-{name}", std::process::id()))
}

/// Runs `write` on the temporary name and renames; nothing is left behind when it fails.
fn in_place(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let temporary = temporary(path);
    let written =
        write(&temporary).and_then(|()| fs::rename(&temporary, path).map_err(|e| Error::io(path, "write", &e)));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written
}

pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    in_place(path, |temporary| {
        let write = || -> std::io::Result<()> {
            let mut file = File::create(temporary)?;
            file.write_all(bytes)?;
            file.sync_all()
        };
        write().map_err(|e| Error::io(path, "write", &e))
    })
}

fn write_png(path: &Path, image: &Raster) -> Result<()> {
    in_place(path, |temporary| {
        // The encoder's own error hides the cause; an unwritable place is found here.
        File::create(temporary).map_err(|e| Error::io(path, "write", &e))?;
        let encode = || {
            let size = (image.width, image.height);
            let mut encoder = BitMapBackend::new(temporary, size);
            encoder.blit_bitmap((0, 0), size, &image.rgb)?;
            encoder.present()
        };
        encode().map_err(|e| {
            let found = format!("cannot write the image: {e}");
            let cure = "check the path and the disk".to_owned();
            Error::Io(Fault { place: path.display().to_string(), found, allowed: String::new(), cure })
        })?;
        let file = File::options().write(true).open(temporary);
        file.and_then(|f| f.sync_all()).map_err(|e| Error::io(path, "write", &e))
    })
}
