//! The left side bearing of a glyph, read from the embedded font: the glyph rasterizer drops it, and without it
//! letters such as `i` and `l` stick to their left neighbour.

use super::surface::FONT;

fn u16_at(at: usize) -> Option<usize> {
    Some(usize::from(u16::from_be_bytes(FONT.get(at..at + 2)?.try_into().ok()?)))
}

fn i16_at(at: usize) -> Option<f64> {
    Some(f64::from(i16::from_be_bytes(FONT.get(at..at + 2)?.try_into().ok()?)))
}

fn u32_at(at: usize) -> Option<usize> {
    Some(u32::from_be_bytes(FONT.get(at..at + 4)?.try_into().ok()?) as usize)
}

/// Where the table with this tag begins (OpenType, "Table Directory").
fn table(tag: &[u8; 4]) -> Option<usize> {
    (0..u16_at(4)?).map(|i| 12 + 16 * i).find(|&at| FONT.get(at..at + 4) == Some(tag)).and_then(|at| u32_at(at + 8))
}

/// Glyph of a character of the basic plane (OpenType `cmap`, format 4).
fn glyph(c: char) -> Option<usize> {
    let code = u16::try_from(u32::from(c)).ok().map(usize::from)?;
    let cmap = table(b"cmap")?;
    let at = (0..u16_at(cmap + 2)?)
        .filter_map(|i| Some(cmap + u32_at(cmap + 4 + 8 * i + 4)?))
        .find(|&at| u16_at(at) == Some(4))?;
    let double_count = u16_at(at + 6)?;
    let ends = at + 14;
    let segment = (0..double_count / 2).find(|&i| u16_at(ends + 2 * i).is_some_and(|end| code <= end))?;
    let starts = ends + double_count + 2;
    let start = u16_at(starts + 2 * segment)?;
    if code < start {
        return None;
    }
    let delta = u16_at(starts + double_count + 2 * segment)?;
    let range_at = starts + 2 * double_count + 2 * segment;
    match u16_at(range_at)? {
        0 => Some((code + delta) & 0xffff),
        offset => Some((u16_at(range_at + offset + 2 * (code - start))? + delta) & 0xffff),
    }
}

/// Left side bearing in em; 0 where the font has no such glyph.
pub fn left_bearing(c: char) -> f64 {
    let find = || {
        let (glyph, metrics) = (glyph(c)?, table(b"hmtx")?);
        let full = u16_at(table(b"hhea")? + 34)?;
        let per_em = i16_at(table(b"head")? + 18)?;
        let at = if glyph < full { metrics + 4 * glyph + 2 } else { metrics + 4 * full + 2 * (glyph - full) };
        Some(i16_at(at)? / per_em.max(1.0))
    };
    find().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::left_bearing;

    #[test]
    fn bearings_are_those_of_the_font() {
        // DejaVu Sans: l 193, o 113 of 2048 units.
        assert!((left_bearing('l') - 193.0 / 2048.0).abs() < 1e-9, "{}", left_bearing('l') * 2048.0);
        assert!((left_bearing('o') - 113.0 / 2048.0).abs() < 1e-9, "{}", left_bearing('o') * 2048.0);
        assert_eq!(left_bearing('\u{1f600}'), 0.0);
    }
}
