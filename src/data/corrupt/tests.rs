//! Corruptions: their algebra on plain images, their statistics, and that nothing but the seed and the place decides.

use super::Poisson;
use super::colour::{hsv_to_rgb, rgb_to_hsv};
use super::jpeg_loss::JpegLoss;
use super::*;
use crate::base::rng::SplitMix64;
use crate::data::images::*;

/// `n` smooth colour images with an edge.
fn scene(n: usize, h: usize, w: usize, c: usize) -> ImageSet {
    let value = |i: usize| {
        let (k, x, y, image) = (i % c, i / c % w, i / (c * w) % h, i / (c * w * h));
        (if x > w / 2 { 150 } else { 40 } + y * 60 / h + k * 20 + image) as u8
    };
    ImageSet {
        bytes: (0..n * h * w * c).map(value).collect(),
        n,
        h,
        w,
        c,
        ids: (0..n).map(|i| i.to_string()).collect(),
        source: "test".into(),
        ..Default::default()
    }
}

fn constant(value: u8, side: usize, c: usize) -> ImageSet {
    ImageSet { bytes: vec![value; side * side * c], ..scene(1, side, side, c) }
}

fn distance(a: &ImageSet, b: &ImageSet) -> f64 {
    let sum: f64 = a.bytes.iter().zip(&b.bytes).map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2)).sum();
    (sum / a.bytes.len() as f64).sqrt()
}

#[test]
fn names_are_the_published_ones_and_come_back() {
    for kind in Corruption::ALL {
        assert_eq!(kind.name().parse::<Corruption>().unwrap(), kind);
    }
    assert_eq!(Corruption::ALL[0].name(), "gaussian_noise");
    let text = "frost".parse::<Corruption>().unwrap_err().to_string();
    assert!(text.contains("'frost'") && text.contains("jpeg_compression"), "{text}");
}

#[test]
fn every_corruption_changes_the_image_at_every_size() {
    for (h, w, c) in [(32, 32, 3), (28, 28, 1), (17, 40, 3), (1, 1, 3), (2, 3, 1), (96, 96, 3)] {
        let set = scene(2, h, w, c);
        for kind in Corruption::ALL {
            for severity in 1..=5 {
                match corrupt(&set, kind, severity, 1) {
                    Ok(out) => {
                        assert_eq!((out.n, out.h, out.w, out.c), (2, h, w, c));
                        out.check().unwrap();
                        assert!(h < 20 || out.bytes != set.bytes, "{kind} {severity}");
                    }
                    Err(e) => assert!(kind == Corruption::Saturate && c == 1, "{e}"),
                }
            }
        }
    }
}

#[test]
fn severity_5_lies_further_away_than_severity_1() {
    let set = scene(3, 32, 32, 3);
    for kind in Corruption::ALL {
        let far = |severity| distance(&set, &corrupt(&set, kind, severity, 2).unwrap());
        // Saturate has constants on both sides of the original; its own test states its algebra.
        assert!(kind == Corruption::Saturate || far(5) > far(1), "{kind}: {} and {}", far(1), far(5));
    }
}

#[test]
fn severities_and_sets_out_of_range_are_refused() {
    let set = scene(1, 4, 4, 3);
    for severity in [0, 6, 255] {
        assert!(corrupt(&set, Corruption::Fog, severity, 0).unwrap_err().to_string().contains("1 to 5"));
    }
    assert!(corrupt(&ImageSet { n: 9, ..set }, Corruption::Fog, 1, 0).is_err());
}

#[test]
fn only_the_seed_and_the_place_decide() {
    let set = scene(40, 8, 8, 3);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| Corruption::ALL.map(|kind| corrupt(&set, kind, 3, 5).unwrap().bytes))
    };
    assert_eq!(run(1), run(7));
    let noise = |set: &ImageSet, seed| corrupt(set, Corruption::GaussianNoise, 3, seed).unwrap().bytes;
    assert_ne!(noise(&set, 5), noise(&set, 6));
    // The first ten images of a set are corrupted as they are in the set of forty.
    let ten = ImageSet { bytes: set.bytes[..10 * 192].to_vec(), n: 10, ids: set.ids[..10].to_vec(), ..set.clone() };
    assert_eq!(noise(&ten, 5), noise(&set, 5)[..10 * 192]);
    let same = ImageSet { bytes: set.bytes[..192].repeat(2), n: 2, ids: set.ids[..2].to_vec(), ..set.clone() };
    let out = noise(&same, 5);
    assert_ne!(out[..192], out[192..]);
}

#[test]
fn noise_has_the_stated_deviation() {
    // Grey 128 is far from both ends. Tolerance: 5 standard errors of a deviation, sd / sqrt(2 n), and truncation's
    // 0.5.
    let set = constant(128, 200, 1);
    let n = set.bytes.len() as f64;
    let x = 128.0 / 255.0;
    let expected = [
        (Corruption::GaussianNoise, 0.08),
        (Corruption::SpeckleNoise, 0.12 * x),
        (Corruption::ShotNoise, (x / 100.0f64).sqrt()),
    ];
    for (kind, sd) in expected {
        let out = corrupt(&set, kind, 3, 9).unwrap();
        let mean = out.bytes.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
        let found = (out.bytes.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n).sqrt();
        let sd = 255.0 * sd;
        assert!((found - sd).abs() < 5.0 * sd / (2.0 * n).sqrt() + 0.05, "{kind}: {found}, expected {sd}");
        assert!((mean + 0.5 - 128.0).abs() < 5.0 * sd / n.sqrt() + 0.1, "{kind}: mean {mean}");
    }
    let out = corrupt(&set, Corruption::ImpulseNoise, 5, 9).unwrap();
    let (black, white) =
        (out.bytes.iter().filter(|&&v| v == 0).count(), out.bytes.iter().filter(|&&v| v == 255).count());
    // Binomial with p = 0.035 each: 5 standard deviations.
    for count in [black, white] {
        assert!((count as f64 - 0.035 * n).abs() < 5.0 * (0.035 * n).sqrt(), "{count}");
    }
}

#[test]
fn poisson_quantiles_follow_the_distribution() {
    // P(0) = exp(-2) = 0.1353, P(<= 1) = 3 exp(-2) = 0.4060.
    let two = Poisson::new(2.0);
    assert_eq!([0.135, 0.136, 0.405, 0.407].map(|u| two.quantile(u)), [0.0, 1.0, 1.0, 2.0]);
    assert_eq!(Poisson::new(0.0).quantile(0.999_999_999_9), 0.0);
    let large = Poisson::new(500.0);
    let mut rng = SplitMix64::keyed(&[1, 2, 3]);
    let n = 20_000;
    let draws: Vec<f64> = (0..n).map(|_| large.quantile(rng.uniform())).collect();
    let mean = draws.iter().sum::<f64>() / f64::from(n);
    let variance = draws.iter().map(|k| (k - mean).powi(2)).sum::<f64>() / f64::from(n);
    // Standard errors: sqrt(500 / n) = 0.16 and 500 sqrt(2 / n) = 5.
    assert!((mean - 500.0).abs() < 0.8 && (variance - 500.0).abs() < 25.0, "{mean}, {variance}");
}

#[test]
fn blurs_keep_a_constant_image() {
    for kind in [
        Corruption::GaussianBlur,
        Corruption::GlassBlur,
        Corruption::ZoomBlur,
        Corruption::Pixelate,
        Corruption::Contrast,
    ] {
        for severity in 1..=5 {
            let out = corrupt(&constant(77, 32, 3), kind, severity, 1).unwrap();
            // Truncation may lose one step each time values are made bytes (glass blur: twice).
            assert!(out.bytes.iter().all(|&v| (75..=77).contains(&v)), "{kind} {severity}: {:?}", &out.bytes[..3]);
        }
    }
}

#[test]
fn colours_change_as_hsv_says() {
    // Hue 0, saturation 1/2, value 0.8 <-> (0.8, 0.4, 0.4); a third of the circle on lies green.
    let close = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
    assert!(close(rgb_to_hsv([0.8, 0.4, 0.4]), [0.0, 0.5, 0.8]));
    assert!(close(hsv_to_rgb([1.0 / 3.0, 1.0, 1.0]), [0.0, 1.0, 0.0]));
    for rgb in [[0.1, 0.9, 0.3], [0.2, 0.2, 0.7], [0.6, 0.1, 0.6], [0.0; 3], [1.0; 3]] {
        assert!(close(hsv_to_rgb(rgb_to_hsv(rgb)), rgb), "{rgb:?}");
    }
    let one = |rgb: [u8; 3]| ImageSet { bytes: rgb.to_vec(), ..constant(0, 1, 3) };
    // Brightness 3 adds 0.15 to the largest and keeps ratios: 102 + 38.25 = 140.25, halves of it.
    assert_eq!(corrupt(&one([102, 51, 51]), Corruption::Brightness, 3, 0).unwrap().bytes, [140, 70, 70]);
    // Saturate 2: saturation times 0.1: 1 - 0.05 of 200 = 190.
    let pale = corrupt(&one([200, 100, 100]), Corruption::Saturate, 2, 0).unwrap().bytes;
    assert!(pale[0].abs_diff(200) <= 1 && pale[1].abs_diff(190) <= 1, "{pale:?}");
    // Contrast 2 halves the distance to the mean of 100.
    let grey = ImageSet { bytes: vec![60, 140, 60, 140], ..constant(0, 2, 1) };
    let out = corrupt(&grey, Corruption::Contrast, 2, 0).unwrap().bytes;
    assert!(out.iter().zip([80u8, 120, 80, 120]).all(|(a, b)| a.abs_diff(b) <= 1), "{out:?}");
}

#[test]
fn the_jpeg_loss_is_that_of_pillow() {
    // Rows 3 and 12 of this picture saved and opened by Pillow 13.0.0 (libjpeg-turbo), quality 58. Its cosine
    // transform is of integers, so that a coefficient half way between two steps may fall the other way; in this
    // picture none lies nearer than 0.05 of a step. Three roundings of half a step each remain on the way back: 2.
    let golden: [(usize, [u8; 48]); 2] = [
        (
            3,
            [
                23, 0, 205, 25, 3, 202, 30, 6, 192, 34, 10, 182, 40, 15, 171, 47, 18, 162, 54, 21, 154, 60, 21, 146,
                67, 24, 142, 73, 25, 135, 79, 27, 127, 86, 30, 117, 94, 34, 106, 98, 39, 97, 102, 43, 87, 105, 45, 83,
            ],
        ),
        (
            12,
            [
                75, 3, 225, 80, 11, 224, 86, 23, 218, 93, 35, 208, 98, 48, 197, 105, 60, 187, 110, 73, 178, 113, 83,
                169, 121, 98, 166, 125, 109, 156, 130, 122, 146, 135, 135, 137, 139, 147, 124, 146, 159, 116, 153, 171,
                111, 158, 179, 110,
            ],
        ),
    ];
    let (mut picture, mut ours) = (Vec::new(), vec![0; 16 * 16 * 3]);
    for (i, j) in (0..256).map(|at| (at / 16, at % 16)) {
        picture.extend([(i * 6 + j * 6) as u8, (i * j) as u8, (200 - j * 9 + i * 3) as u8]);
    }
    JpegLoss::new(58).run(&picture, (16, 16, 3), &mut ours);
    for (row, theirs) in golden {
        let worst = ours[row * 48..].iter().zip(theirs).map(|(a, b)| a.abs_diff(b)).max().unwrap();
        assert!(worst <= 2, "row {row}: {worst}, {:?}", &ours[row * 48..][..48]);
    }
}
