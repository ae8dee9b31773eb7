//! Text that is no UTF-8, in the two encodings that tables come in. Of its own: a library for all encodings of the web brings the
//! signs of Chinese, Japanese and Korean with it, a twentieth of what a page fetches.

/// Which byte of a unit comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Utf16 {
    Little,
    Big,
}

impl Utf16 {
    pub fn name(self) -> &'static str {
        match self {
            Utf16::Little => "UTF-16LE",
            Utf16::Big => "UTF-16BE",
        }
    }
}

/// Without its byte-order mark. Halves of a pair that stand alone, and half a unit at the end, become U+FFFD.
pub fn of_utf16(bytes: &[u8], order: Utf16) -> String {
    let pairs = bytes.chunks_exact(2);
    let unit = |pair: &[u8]| match order {
        Utf16::Little => u16::from_le_bytes([pair[0], pair[1]]),
        Utf16::Big => u16::from_be_bytes([pair[0], pair[1]]),
    };
    // The first half of a pair and half a unit are one thing that is cut off.
    let is_half = |pair: &[u8]| (0xd800..0xdc00).contains(&unit(pair));
    let is_cut = !pairs.remainder().is_empty() && !pairs.clone().next_back().is_some_and(is_half);
    let units = pairs.map(unit).enumerate().filter(|(i, unit)| (*i, *unit) != (0, 0xfeff)).map(|(_, unit)| unit);
    let mut text = String::with_capacity(bytes.len() / 2);
    text.extend(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
    if is_cut {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    text
}

/// Of the bytes 0x80 to 0x9F; those of no sign stand for themselves, and so do all others.
const SIGNS: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2c6}', '\u{2030}',
    '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}', '\u{90}', '\u{2018}', '\u{2019}', '\u{201c}',
    '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2dc}', '\u{2122}', '\u{161}', '\u{203a}', '\u{153}', '\u{9d}',
    '\u{17e}', '\u{178}',
];

pub fn of_windows_1252(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    text.extend(bytes.iter().map(|&b| match b {
        0x80..=0x9f => SIGNS[usize::from(b - 0x80)],
        _ => char::from(b),
    }));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte, as the library that browsers have reads it.
    #[test]
    fn windows_1252_is_that_of_the_web() {
        let all: Vec<u8> = (0..=255).collect();
        let (want, _) = encoding_rs::WINDOWS_1252.decode_without_bom_handling(&all);
        assert_eq!(of_windows_1252(&all), want);
    }

    /// Pairs, halves of pairs, a mark, one in the middle, half a unit at the end.
    #[test]
    fn utf_16_is_that_of_the_web() {
        let texts: [&[u16]; 6] = [
            &[0xfeff, 0x61, 0x20ac],
            &[0x61, 0xfeff, 0x62],
            &[0xd83d, 0xde00, 0x61],
            &[0xd83d, 0x61],
            &[0xde00, 0xd83d],
            &[],
        ];
        for units in texts {
            for end in [&[][..], &[0x41]] {
                let little = [units.iter().flat_map(|u| u.to_le_bytes()).collect::<Vec<_>>(), end.to_vec()].concat();
                let big = [units.iter().flat_map(|u| u.to_be_bytes()).collect::<Vec<_>>(), end.to_vec()].concat();
                let (want, _) = encoding_rs::UTF_16LE.decode_with_bom_removal(&little);
                assert_eq!(of_utf16(&little, Utf16::Little), want, "{little:x?}");
                let (want, _) = encoding_rs::UTF_16BE.decode_with_bom_removal(&big);
                assert_eq!(of_utf16(&big, Utf16::Big), want, "{big:x?}");
            }
        }
    }
}
