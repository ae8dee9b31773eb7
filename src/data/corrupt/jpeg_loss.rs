//! What JPEG loses, without the file: colour transform, 4:2:0 chroma, 8 x 8 cosine transform, quantisation and the way
//! back. Entropy coding loses nothing and is left out. Source: ITU-T T.81, annexes A and K; the quality scale, the
//! rounding and the triangle filter of the chroma are those of the IJG library, which the published program used. That
//! library transforms in integers, so that a coefficient half way between two steps may fall the other way there.

pub(crate) struct JpegLoss {
    luma: [f64; 64],
    chroma: [f64; 64],
    /// `cosines[u][x]`: orthonormal cosine transform of length 8.
    cosines: [[f64; 8]; 8],
}

/// Table K.1.
#[rustfmt::skip]
const LUMA: [u32; 64] = [
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55,
    14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62,
    18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
];

/// Table K.2.
#[rustfmt::skip]
const CHROMA: [u32; 64] = [
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99,
    24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
];

/// One channel of bytes.
struct Plane {
    h: usize,
    w: usize,
    v: Vec<u8>,
}

impl Plane {
    /// Value at a place; beyond the edge the edge's.
    fn at(&self, i: usize, j: usize) -> i32 {
        i32::from(self.v[i.min(self.h - 1) * self.w + j.min(self.w - 1)])
    }
}

impl JpegLoss {
    pub(crate) fn new(quality: u32) -> Self {
        let quality = quality.clamp(1, 100);
        let scale = if quality < 50 { 5000 / quality } else { 200 - 2 * quality };
        let steps = |table: &[u32; 64]| table.map(|t| f64::from(((t * scale + 50) / 100).clamp(1, 255)));
        let mut cosines = [[0.0; 8]; 8];
        for (u, row) in cosines.iter_mut().enumerate() {
            for (x, value) in row.iter_mut().enumerate() {
                let norm = if u == 0 { 0.125f64.sqrt() } else { 0.5 };
                *value = norm * libm::cos(std::f64::consts::PI * ((2 * x + 1) * u) as f64 / 16.0);
            }
        }
        JpegLoss { luma: steps(&LUMA), chroma: steps(&CHROMA), cosines }
    }

    /// `from` and `to` are `[h, w, c]`, c = 1 or 3.
    pub(crate) fn run(&self, from: &[u8], (h, w, c): (usize, usize, usize), to: &mut [u8]) {
        if c == 1 {
            to.copy_from_slice(&self.quantise(&Plane { h, w, v: from.to_vec() }, &self.luma).v);
            return;
        }
        let [y, cb, cr] = to_ycbcr(from, h, w);
        let y = self.quantise(&y, &self.luma);
        let cb = enlarge(&self.quantise(&halve(&cb), &self.chroma), h, w);
        let cr = enlarge(&self.quantise(&halve(&cr), &self.chroma), h, w);
        for (i, pixel) in to.chunks_exact_mut(3).enumerate() {
            let (y, cb, cr) = (f64::from(y.v[i]), f64::from(cb.v[i]) - 128.0, f64::from(cr.v[i]) - 128.0);
            let rgb = [y + 1.402 * cr, y - 0.344_136_286 * cb - 0.714_136_286 * cr, y + 1.772 * cb];
            pixel.iter_mut().zip(rgb).for_each(|(to, x)| *to = (x + 0.5).floor().clamp(0.0, 255.0) as u8);
        }
    }

    /// Blocks of 8 x 8 through transform, rounding to multiples of the steps, and back.
    fn quantise(&self, plane: &Plane, steps: &[f64; 64]) -> Plane {
        let mut v = vec![0u8; plane.v.len()];
        let c = &self.cosines;
        for top in (0..plane.h).step_by(8) {
            for left in (0..plane.w).step_by(8) {
                let mut block = [[0.0; 8]; 8];
                for (i, row) in block.iter_mut().enumerate() {
                    for (j, x) in row.iter_mut().enumerate() {
                        *x = f64::from(plane.at(top + i, left + j) - 128);
                    }
                }
                let mut wave = product(c, &product(&block, &transposed(c)));
                for (i, row) in wave.iter_mut().enumerate() {
                    for (x, step) in row.iter_mut().zip(&steps[i * 8..]) {
                        *x = (*x / step).round() * step;
                    }
                }
                let block = product(&transposed(c), &product(&wave, c));
                for (i, row) in block.iter().enumerate().take(plane.h - top) {
                    for (j, x) in row.iter().enumerate().take(plane.w - left) {
                        v[(top + i) * plane.w + left + j] = (x + 128.5).floor().clamp(0.0, 255.0) as u8;
                    }
                }
            }
        }
        Plane { v, ..*plane }
    }
}

type Square = [[f64; 8]; 8];

fn product(a: &Square, b: &Square) -> Square {
    let mut out = [[0.0; 8]; 8];
    for (row, a) in out.iter_mut().zip(a) {
        for (a, b) in a.iter().zip(b) {
            row.iter_mut().zip(b).for_each(|(x, b)| *x += a * b);
        }
    }
    out
}

fn transposed(a: &Square) -> Square {
    std::array::from_fn(|i| std::array::from_fn(|j| a[j][i]))
}

/// JFIF's YCbCr in 16-bit fixed point.
fn to_ycbcr(from: &[u8], h: usize, w: usize) -> [Plane; 3] {
    let half = 128 << 16;
    let rows: [[i32; 4]; 3] =
        [[19595, 38470, 7471, 32768], [-11059, -21709, 32768, half + 32767], [32768, -27439, -5329, half + 32767]];
    rows.map(|[r, g, b, add]| {
        let one = |p: &[u8]| ((r * i32::from(p[0]) + g * i32::from(p[1]) + b * i32::from(p[2]) + add) >> 16) as u8;
        Plane { h, w, v: from.chunks_exact(3).map(one).collect() }
    })
}

/// Means of 2 x 2, rounded down and up in turn.
fn halve(plane: &Plane) -> Plane {
    let (h, w) = (plane.h.div_ceil(2), plane.w.div_ceil(2));
    let mut v = Vec::with_capacity(h * w);
    for i in 0..h {
        for j in 0..w {
            let at = |di, dj| plane.at(2 * i + di, 2 * j + dj);
            v.push(((at(0, 0) + at(0, 1) + at(1, 0) + at(1, 1) + 1 + (j as i32 & 1)) >> 2) as u8);
        }
    }
    Plane { h, w, v }
}

/// Doubled with weights 3/4 and 1/4 in each direction, cut to `h` x `w`.
fn enlarge(plane: &Plane, h: usize, w: usize) -> Plane {
    // The other neighbour of an even place lies before it, of an odd place after it.
    let other = |i: usize| if i.is_multiple_of(2) { (i / 2).saturating_sub(1) } else { i / 2 + 1 };
    let mut v = Vec::with_capacity(h * w);
    for i in 0..h {
        for j in 0..w {
            let column = |j: usize| 3 * plane.at(i / 2, j) + plane.at(other(i), j);
            let round = if j % 2 == 0 { 8 } else { 7 };
            v.push(((3 * column(j / 2) + column(other(j)) + round) >> 4) as u8);
        }
    }
    Plane { h, w, v }
}
