//! Colours that are distinct for the colour-blind (Okabe and Ito 2008) and a perceptually uniform map (viridis).

use super::svg::Ink;

pub const BLACK: Ink = Ink::new(0x1a, 0x1a, 0x1a);
pub const WHITE: Ink = Ink::new(0xff, 0xff, 0xff);
pub const TEXT: Ink = Ink::new(0x22, 0x22, 0x22);
pub const MUTED: Ink = Ink::new(0x59, 0x59, 0x59);
pub const GRID: Ink = Ink::new(0xe4, 0xe4, 0xe4);
pub const FRAME: Ink = Ink::new(0x8a, 0x8a, 0x8a);

pub const BLUE: Ink = Ink::new(0x00, 0x72, 0xb2);
pub const VERMILLION: Ink = Ink::new(0xd5, 0x5e, 0x00);
pub const GREEN: Ink = Ink::new(0x00, 0x9e, 0x73);
pub const PURPLE: Ink = Ink::new(0xcc, 0x79, 0xa7);
pub const ORANGE: Ink = Ink::new(0xe6, 0x9f, 0x00);
pub const SKY: Ink = Ink::new(0x56, 0xb4, 0xe9);
/// Darker than Okabe and Ito's yellow, which vanishes on white.
pub const YELLOW: Ink = Ink::new(0xb8, 0xa8, 0x00);

/// What a page on a dark ground shows instead of colours that would blind or vanish there; all others stay.
pub const DARK: [(Ink, Ink); 8] = [
    (WHITE, DARK_GROUND),
    (TEXT, Ink::new(0xe6, 0xe8, 0xea)),
    (BLACK, Ink::new(0xf2, 0xf3, 0xf4)),
    (MUTED, Ink::new(0xa9, 0xb0, 0xb7)),
    (GRID, Ink::new(0x33, 0x38, 0x3e)),
    (FRAME, Ink::new(0x7d, 0x84, 0x8c)),
    (BLUE, Ink::new(0x4e, 0xa1, 0xde)),
    (SKY, Ink::new(0x8a, 0xd4, 0xff)),
];
/// The ground of a dark page: `--ground` in report.css.
pub const DARK_GROUND: Ink = Ink::new(0x16, 0x18, 0x1b);

const SERIES: [Ink; 8] = [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK, YELLOW];

/// The colour of the i-th series.
pub fn series(i: usize) -> Ink {
    SERIES[i % SERIES.len()]
}

/// The dash of the i-th series: a second round through the colours is told apart by it.
pub fn series_dash(i: usize) -> Option<(f64, f64)> {
    match i / SERIES.len() % 3 {
        0 => None,
        1 => Some((6.0, 3.0)),
        _ => Some((2.0, 2.5)),
    }
}

/// viridis (van der Walt and Smith 2015) at 0, 1/15, ..., 1.
const VIRIDIS: [(u8, u8, u8); 16] = [
    (68, 1, 84),
    (72, 26, 108),
    (71, 47, 125),
    (65, 68, 135),
    (57, 86, 140),
    (49, 104, 142),
    (42, 120, 142),
    (35, 136, 142),
    (31, 152, 139),
    (34, 168, 132),
    (53, 183, 121),
    (84, 197, 104),
    (122, 209, 81),
    (165, 219, 54),
    (210, 226, 27),
    (253, 231, 37),
];

/// The colour at `share` of the way from low (dark) to high (bright); what is not finite is light grey.
pub fn viridis(share: f64) -> Ink {
    if !share.is_finite() {
        return Ink::new(0xd9, 0xd9, 0xd9);
    }
    let place = share.clamp(0.0, 1.0) * (VIRIDIS.len() - 1) as f64;
    let below = (place as usize).min(VIRIDIS.len() - 2);
    let part = place - below as f64;
    let mix = |a: u8, b: u8| (f64::from(a) * (1.0 - part) + f64::from(b) * part).round() as u8;
    let (a, b) = (VIRIDIS[below], VIRIDIS[below + 1]);
    Ink::new(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}
