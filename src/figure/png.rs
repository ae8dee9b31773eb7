//! The bitmap of a figure: its SVG drawn by resvg with the font that the program carries and no other, so that both files show
//! the same on every machine.

use std::sync::{Arc, OnceLock};

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{self, Options, Tree, fontdb};

use super::text::FONT_NAME;
use crate::base::font;

/// Device pixels per figure pixel of a PNG: sharp on dense screens and in print.
pub const SCALE: f64 = 2.0;

/// Row-major RGB, three bytes per pixel.
pub struct Bitmap {
    pub width: u32,
    pub height: u32,
    pub rgb: Vec<u8>,
}

/// The SVG as shapes and glyphs; Err says what is wrong with it.
pub fn parse(svg: &str) -> Result<Tree, usvg::Error> {
    static FONTS: OnceLock<Arc<fontdb::Database>> = OnceLock::new();
    let fonts = FONTS.get_or_init(|| {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_source(fontdb::Source::Binary(Arc::new(font::SANS)));
        Arc::new(fonts)
    });
    Tree::from_str(svg, &Options { font_family: FONT_NAME.into(), fontdb: fonts.clone(), ..Default::default() })
}

/// The SVG on white, `scale` device pixels per figure pixel; Err says why there is no picture of it.
pub fn bitmap(svg: &str, scale: f64) -> Result<Bitmap, String> {
    let tree = parse(svg).map_err(|e| e.to_string())?;
    let side = |length: f32| (f64::from(length) * scale).round() as u32;
    let (width, height) = (side(tree.size().width()), side(tree.size().height()));
    let mut pixmap = Pixmap::new(width, height).ok_or_else(|| format!("{width} x {height} pixels"))?;
    pixmap.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale as f32, scale as f32), &mut pixmap.as_mut());
    // All is opaque on white: nothing is lost with the alpha channel.
    let rgb = pixmap.data().as_chunks::<4>().0.iter().flat_map(|p| [p[0], p[1], p[2]]).collect();
    Ok(Bitmap { width, height, rgb })
}

/// The content of a PNG file, 8 bits per channel; Err says why the encoder failed.
pub fn encode(
    data: &[u8],
    (width, height): (u32, u32),
    colour: ExtendedColorType,
    small: bool,
) -> Result<Vec<u8>, String> {
    let compression = if small { CompressionType::Best } else { CompressionType::Fast };
    let mut file = vec![];
    let encoder = PngEncoder::new_with_quality(&mut file, compression, FilterType::Adaptive);
    encoder.write_image(data, width, height, colour).map_err(|e| e.to_string())?;
    Ok(file)
}
