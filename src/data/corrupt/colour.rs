//! Corruptions that treat each pixel or channel by itself. HSV as in scikit-image (after Smith 1978), because the
//! published program uses that. Must not draw random numbers.

use super::byte;

fn unit(v: u8) -> f64 {
    f64::from(v) / 255.0
}

/// Adds to V of HSV; of a grey image, to the value.
pub(crate) fn brightness(from: &[u8], c: usize, add: f64, to: &mut [u8]) {
    if c == 3 {
        in_hsv(from, to, |[h, s, v]| [h, s, (v + add).clamp(0.0, 1.0)]);
    } else {
        to.iter_mut().zip(from).for_each(|(to, &v)| *to = byte(unit(v) + add));
    }
}

/// S of HSV times a factor plus an addend; a grey pixel has hue 0, so that the addend makes it reddish.
pub(crate) fn saturate(from: &[u8], factor: f64, add: f64, to: &mut [u8]) {
    in_hsv(from, to, |[h, s, v]| [h, (s * factor + add).clamp(0.0, 1.0), v]);
}

/// (x - mean) * factor + mean, with the mean of the image's channel.
pub(crate) fn contrast(from: &[u8], c: usize, factor: f64, to: &mut [u8]) {
    let count = (from.len() / c) as f64;
    for k in 0..c {
        let mean = from.iter().skip(k).step_by(c).map(|&v| unit(v)).sum::<f64>() / count;
        for (to, &v) in to.iter_mut().zip(from).skip(k).step_by(c) {
            *to = byte((unit(v) - mean) * factor + mean);
        }
    }
}

fn in_hsv(from: &[u8], to: &mut [u8], change: impl Fn([f64; 3]) -> [f64; 3]) {
    for (to, from) in to.chunks_exact_mut(3).zip(from.chunks_exact(3)) {
        let rgb = hsv_to_rgb(change(rgb_to_hsv([unit(from[0]), unit(from[1]), unit(from[2])])));
        to.iter_mut().zip(rgb).for_each(|(to, x)| *to = byte(x));
    }
}

/// All in [0, 1]; hue and saturation of grey are 0.
pub(crate) fn rgb_to_hsv([r, g, b]: [f64; 3]) -> [f64; 3] {
    let v = r.max(g).max(b);
    let delta = v - r.min(g).min(b);
    if delta == 0.0 {
        return [0.0, 0.0, v];
    }
    // Of equal maxima the later channel decides.
    let sixth = if b == v {
        4.0 + (r - g) / delta
    } else if g == v {
        2.0 + (b - r) / delta
    } else {
        (g - b) / delta
    };
    [(sixth / 6.0).rem_euclid(1.0), delta / v, v]
}

pub(crate) fn hsv_to_rgb([h, s, v]: [f64; 3]) -> [f64; 3] {
    let sector = (h * 6.0).floor();
    let f = h * 6.0 - sector;
    let (p, q, t) = (v * (1.0 - s), v * (1.0 - f * s), v * (1.0 - (1.0 - f) * s));
    match sector as i64 % 6 {
        0 => [v, t, p],
        1 => [q, v, p],
        2 => [p, v, t],
        3 => [p, q, v],
        4 => [t, p, v],
        _ => [v, p, q],
    }
}
