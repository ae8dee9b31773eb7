//! Draws a figure on either surface, writes down its numbers and puts the files in place: a temporary name, synced,
//! then renamed.

use std::fs;
use std::path::Path;

use super::Saved;
use super::numbers::Numbers;
use super::plot::draw_ground;
use super::raster::{Raster, SCALE};
use super::surface::Surface;
use super::svg::Svg;
use crate::error::{Error, Fault, Result};
use crate::system::write_atomic;

/// What every figure tells about itself.
pub trait Figure {
    fn title(&self) -> &str;
    /// Width and height in figure pixels.
    fn size(&self) -> (f64, f64) {
        (900.0, 560.0)
    }
    fn draw(&self, s: &mut dyn Surface);
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
    save_svg(&saved.svg, figure)?;
    save_png(&saved.png, figure)?;
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

/// The figure as pixels, `scale` of them per figure pixel in each direction: 1 is the size of `Figure::size`, a PNG
/// file has 2. Scales beyond 0.25..=8 are taken as the nearest of these.
pub fn raster(figure: &dyn Figure, scale: f64) -> Raster {
    let scale = if scale.is_nan() { 1.0 } else { scale.clamp(0.25, 8.0) };
    let mut raster = Raster::new(figure.size(), scale);
    figure.draw(&mut raster);
    raster
}

/// The content of an SVG file.
pub fn svg_text(figure: &dyn Figure) -> String {
    let (width, height) = figure.size();
    let mut svg = Svg::new(width, height, figure.title());
    draw_ground(&mut svg, width, height);
    figure.draw(&mut svg);
    svg.finish()
}

/// The content of a PNG file: twice the figure's size in pixels, RGB of 8 bits.
pub fn png_bytes(figure: &dyn Figure) -> Result<Vec<u8>> {
    let image = raster(figure, SCALE);
    let encode = || {
        let mut file = vec![];
        let mut encoder = png::Encoder::new(&mut file, image.width, image.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        encoder.set_adaptive_filter(png::AdaptiveFilterType::Adaptive);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&image.rgb)?;
        writer.finish()?;
        Ok::<_, png::EncodingError>(file)
    };
    encode().map_err(|e| {
        let found = format!("cannot encode the image: {e}");
        let cure = "save it as SVG".to_owned();
        Error::Io(Fault { place: figure.title().to_owned(), found, allowed: String::new(), cure })
    })
}
