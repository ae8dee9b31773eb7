//! Draws a figure, writes down its numbers and puts the files in place: a temporary name, synced, then renamed.

use crate::base::fs;
use std::path::Path;

use image::ExtendedColorType;

use super::Saved;
use super::numbers::Numbers;
use super::png::{SCALE, bitmap, encode};
use super::svg::Svg;
use crate::error::{Error, Fault, Result};
use crate::system::write_atomic;

/// Metadata of every figure.
pub trait Figure {
    fn title(&self) -> &str;
    /// Width and height in figure pixels.
    fn size(&self) -> (f64, f64) {
        (900.0, 560.0)
    }
    fn draw(&self, s: &mut Svg);
    /// All that is drawn and what the drawing leaves out of the same data, as a table.
    fn numbers(&self) -> Numbers;
}

/// Writes `stem`.png, `stem`.svg and `stem`.csv into `dir`, which is made where it is missing.
pub fn save(dir: &Path, stem: &str, figure: &dyn Figure) -> Result<Saved> {
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
    let file = |ending: &str| dir.join(format!("{stem}.{ending}"));
    let saved = Saved { png: file("png"), svg: file("svg"), csv: file("csv") };
    let svg = svg_text(figure);
    write_atomic(&saved.svg, svg.as_bytes())?;
    write_atomic(&saved.png, &png_of(figure.title(), &svg)?)?;
    save_csv(&saved.csv, figure)?;
    Ok(saved)
}

/// Writes the bitmap to `path`, whatever its ending; its folder must be there.
pub fn save_png(path: &Path, figure: &dyn Figure) -> Result<()> {
    write_atomic(path, &png_bytes(figure)?)
}

/// Writes the drawing as SVG to `path`, whatever its ending; its folder must be there.
pub fn save_svg(path: &Path, figure: &dyn Figure) -> Result<()> {
    write_atomic(path, svg_text(figure).as_bytes())
}

/// Writes the numbers to `path`, whatever its ending; its folder must be there.
pub fn save_csv(path: &Path, figure: &dyn Figure) -> Result<()> {
    write_atomic(path, figure.numbers().csv().as_bytes())
}

/// The content of an SVG file.
pub fn svg_text(figure: &dyn Figure) -> String {
    let mut svg = Svg::new(figure.size(), figure.title());
    figure.draw(&mut svg);
    svg.finish()
}

/// The content of a PNG file: the SVG at twice the figure's size in pixels, RGB of 8 bits.
pub fn png_bytes(figure: &dyn Figure) -> Result<Vec<u8>> {
    png_of(figure.title(), &svg_text(figure))
}

/// The figure as `png_bytes` has it: width, height and row-major RGB.
pub fn pixels(figure: &dyn Figure) -> Result<(usize, usize, Vec<u8>)> {
    let image = bitmap(&svg_text(figure), SCALE).map_err(|e| no_image(figure.title(), &e))?;
    Ok((image.width as usize, image.height as usize, image.rgb))
}

fn no_image(title: &str, e: &str) -> Error {
    let (place, found) = (title.to_owned(), format!("cannot make an image of the figure: {e}"));
    Error::Io(Fault { place, found, allowed: String::new(), help: "save it as SVG".to_owned(), cures: Box::default() })
}

fn png_of(title: &str, svg: &str) -> Result<Vec<u8>> {
    let image = bitmap(svg, SCALE);
    image
        .and_then(|i| encode(&i.rgb, (i.width, i.height), ExtendedColorType::Rgb8, false))
        .map_err(|e| no_image(title, &e))
}
