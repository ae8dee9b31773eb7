//! The image gather by hand: normalisation, order, shards, and every pixel of a shifted and mirrored image.

use super::*;

fn params(n_rows: u32, h: u32, w: u32, c: u32) -> GatherImages {
    GatherImages {
        replicas: 1,
        n_rows,
        shard_rows: n_rows,
        h,
        w,
        c,
        batch: n_rows,
        out_rows: n_rows,
        inv_sd0: 1.0,
        inv_sd1: 1.0,
        inv_sd2: 1.0,
        ..bytemuck::Zeroable::zeroed()
    }
}

fn run(p: &GatherImages, args: &StepArgs<f64>, bytes: &[u8]) -> Vec<f64> {
    let mut out = vec![f64::NAN; p.replicas as usize * p.out_rows as usize * p.image_len()];
    gather_images(p, args, bytes, &[], &[], &[], &mut out);
    out
}

/// The numbers back as bytes, where mean = 0 and sd = 1.
fn bytes_of(out: &[f64]) -> Vec<u8> {
    out.iter().map(|v| (v * 255.0).round() as u8).collect()
}

/// (51 / 255 - 0.1) * 2 = 0.2 and so on, by channel; twice 49 bytes go through whole pieces and a rest.
#[test]
fn bytes_are_normalised_by_channel() {
    let mut p = params(1, 1, 2, 3);
    (p.mean0, p.mean1, p.mean2) = (0.0, 0.25, 0.5);
    (p.inv_sd0, p.inv_sd1, p.inv_sd2) = (1.0, 2.0, 4.0);
    let out = run(&p, &StepArgs::default(), &[51, 51, 51, 255, 0, 204]);
    for (got, want) in out.iter().zip([0.2, -0.1, -1.2, 1.0, -0.5, 1.2]) {
        assert!((got - want).abs() < 1e-15, "{got} {want}");
    }
    for (w, c) in [(98, 1), (33, 3)] {
        let bytes: Vec<u8> = (0..w * c).map(|i| (i * 7) as u8).collect();
        let out = run(&params(1, 1, w, c), &StepArgs::default(), &bytes);
        let wanted = bytes.iter().map(|b| *b as f64 / 255.0);
        assert!(out.iter().zip(wanted).all(|(got, want)| (got - want).abs() < 1e-15));
    }
}

#[test]
fn rows_come_in_the_order_of_gather_rows() {
    use crate::ops::gather::{GatherRows, gather_rows};
    let (n_rows, cols, batch, out_rows, shuffle) = (7, 2, 5, 6, 1);
    let (replicas, first_member) = (2, 3);
    let rows = GatherRows {
        replicas,
        n_rows,
        cols,
        batch,
        out_rows,
        shuffle,
        first_member,
        per_set: 0,
        first_set: 0,
        held_out: 0,
        folds: 0,
    };
    let p = GatherImages { replicas, batch, out_rows, shuffle, first_member, ..params(n_rows, 2, 1, 1) };
    let args = StepArgs { batch_start: 4, seed: 3, epoch: 1, ..Default::default() };
    let bytes: Vec<u8> = (0..14).collect();
    let data: Vec<f64> = bytes.iter().map(|b| *b as f64 / 255.0).collect();
    let mut want = vec![f64::NAN; 24];
    gather_rows(&rows, &args, &data, &mut want);
    for shard_rows in [7, 4, 2] {
        let shard = |s: usize| {
            let end = |s: usize| (s * 2 * shard_rows as usize).min(14);
            &bytes[end(s)..end(s + 1)]
        };
        let mut out = vec![f64::NAN; 24];
        let p = GatherImages { shard_rows, ..p };
        gather_images(&p, &args, shard(0), shard(1), shard(2), shard(3), &mut out);
        for (got, want) in out.iter().zip(&want) {
            assert!((got - want).abs() < 1e-15 || got.is_nan() && want.is_nan(), "{shard_rows}: {out:?}");
        }
    }
}

/// 1 2 3 becomes 3 2 1, pixel by pixel, for about half of the rows and for no other reason.
#[test]
fn half_of_the_rows_are_mirrored() {
    let n = 4000;
    let p = GatherImages { flip: 1, ..params(n, 2, 3, 3) };
    let image = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19];
    let mirrored = [7, 8, 9, 4, 5, 6, 1, 2, 3, 17, 18, 19, 14, 15, 16, 11, 12, 13];
    let out = bytes_of(&run(&p, &StepArgs { seed: 4, ..Default::default() }, &image.repeat(n as usize)));
    let count = out.chunks(18).filter(|row| *row == mirrored).count();
    assert_eq!(out.chunks(18).filter(|row| *row == image).count(), n as usize - count);
    assert!((count as f64 - n as f64 / 2.0).abs() < 4.0 * (n as f64 / 4.0).sqrt(), "{count}");
}

/// One white pixel in the middle of 9 x 9, a crop of 4: it lands on each of the 81 pixels about equally often, and
/// every shift down meets every shift to the right.
#[test]
fn shifts_are_even() {
    let n = 4000;
    let p = GatherImages { crop: 4, ..params(n, 9, 9, 1) };
    let mut image = [0; 81];
    image[4 * 9 + 4] = 255;
    let out = bytes_of(&run(&p, &StepArgs { seed: 5, ..Default::default() }, &image.repeat(n as usize)));
    let mut counts = [0u32; 81];
    for row in out.chunks(81) {
        assert_eq!(row.iter().filter(|b| **b != 0).count(), 1);
        counts[row.iter().position(|b| *b == 255).expect("the pixel")] += 1;
    }
    let even = |count: u32, share: f64| {
        let (mean, sd) = (n as f64 * share, (n as f64 * share * (1.0 - share)).sqrt());
        assert!((count as f64 - mean).abs() < 4.0 * sd, "{count} of {n}, wanted {mean} +- {sd}");
    };
    for i in 0..9 {
        even(counts[9 * i..9 * i + 9].iter().sum(), 1.0 / 9.0);
        even(counts.iter().skip(i).step_by(9).sum(), 1.0 / 9.0);
    }
    counts.iter().for_each(|count| even(*count, 1.0 / 81.0));
}

/// Pixel by pixel, as torchvision's RandomCrop(size, padding) and then RandomHorizontalFlip define it.
#[test]
fn shifted_and_mirrored_pixels_are_where_they_belong() {
    let args = StepArgs { seed: 6, step: 2, ..Default::default() };
    for (h, w, c, crop) in [(1, 1, 1, 1), (5, 7, 3, 2), (5, 7, 1, 9), (3, 1500, 1, 4), (2, 1100, 3, 4), (40, 40, 3, 4)]
    {
        let p = GatherImages { crop, flip: 1, ..params(12, h, w, c) };
        let (len, side) = (p.image_len(), 2 * crop + 1);
        let bytes: Vec<u8> = (0..12 * len as u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect();
        let out = bytes_of(&run(&p, &args, &bytes));
        for (b, got) in out.chunks(len).enumerate() {
            let draw = Draw { seed: 6, stream: 8, step: 2, replica: 0 };
            let words = draw.block(b as u32);
            let [dy, dx] = [0, 1].map(|i| ((words[i] as u64 * side as u64) >> 32) as i64 - crop as i64);
            let (hi, wi) = (h as i64, w as i64);
            for (i, got) in got.iter().enumerate() {
                let (y, x, k) = (i as i64 / c as i64 / wi, i as i64 / c as i64 % wi, i % c as usize);
                let x = if words[2] >= 1 << 31 { wi - 1 - x } else { x };
                let (y, x) = (y + dy, x + dx);
                let inside = (0..hi).contains(&y) && (0..wi).contains(&x);
                let from = if inside { bytes[b * len + (y * wi + x) as usize * c as usize + k] } else { 0 };
                assert_eq!(*got, from, "{p:?} row {b} element {i}");
            }
        }
    }
}

#[test]
fn members_and_steps_draw_their_own_and_repeat_it() {
    let p = GatherImages { replicas: 2, first_member: 5, crop: 4, flip: 1, ..params(64, 9, 9, 3) };
    let bytes: Vec<u8> = (0..64 * 243u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect();
    let at = |step| run(&p, &StepArgs { seed: 7, step, ..Default::default() }, &bytes);
    let (first, second) = (at(1), at(2));
    assert_eq!(first, at(1), "the same step");
    let half = first.len() / 2;
    let same = |a: &[f64], b: &[f64]| a.chunks(243).zip(b.chunks(243)).filter(|(a, b)| a == b).count();
    // 162 changes are equally likely: of 64 rows 0.4 agree by chance.
    assert!(same(&first[..half], &first[half..]) < 5, "members");
    assert!(same(&first, &second) < 8, "steps");
    // Member 6 alone draws what it drew beside member 5.
    let alone = GatherImages { replicas: 1, first_member: 6, ..p };
    assert_eq!(run(&alone, &StepArgs { seed: 7, step: 1, ..Default::default() }, &bytes), first[half..]);
}

/// 64 rows of 32 x 32 x 3 are enough work for several threads.
#[test]
fn one_and_two_threads_agree_to_the_bit() {
    let p = GatherImages { crop: 4, flip: 1, shuffle: 1, ..params(64, 32, 32, 3) };
    assert!(64 * p.image_len() >= PARALLEL_ELEMENTS);
    let bytes: Vec<u8> = (0..64 * 3072u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| run(&p, &StepArgs { seed: 8, ..Default::default() }, &bytes))
    };
    assert_eq!(on(1), on(2));
}

#[test]
fn shards_fill_and_refuse() {
    let mib = 1 << 20;
    assert_eq!(shards(50_000, 3072, u64::MAX).expect("fits"), 50_000);
    // 128 MiB hold 43,690 images of CIFAR-10: two shards.
    assert_eq!(shards(50_000, 3072, 128 * mib).expect("fits"), 43_690);
    assert_eq!(shards(4 * 43_690, 3072, 128 * mib).expect("fits"), 43_690);
    let error = shards(4 * 43_690 + 1, 3072, 128 * mib).expect_err("too many").to_string();
    for part in ["174761 images of 3072 bytes need 512.0 MiB", "174760 images", "--device cpu or fewer images"] {
        assert!(error.contains(part), "'{part}' is missing: {error}");
    }
    // Seven bytes are one whole word: four images of one byte, none of five.
    assert_eq!(shards(16, 1, 7).expect("fits"), 4);
    assert!(shards(17, 1, 7).is_err() && shards(1, 5, 7).is_err());
    let p = GatherImages { shard_rows: 3, ..params(11, 1, 1, 1) };
    assert_eq!([0, 1, 2, 3].map(|s| p.images_of(s)), [3, 3, 3, 2]);
    assert_eq!([0, 1, 2, 3].map(|s| params(11, 1, 1, 1).images_of(s)), [11, 0, 0, 0]);
}
