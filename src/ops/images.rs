//! Images kept as bytes, as the files have them: a batch is gathered, shifted, mirrored and normalised in one pass, so that
//! the floats of a data set never exist. Bytes lie in up to four shards, because adapters limit what one binding may hold.

use super::{Grid, StepArgs, params};
use crate::base::Real;
use crate::base::rng::{Draw, Permutation, Stream};
use crate::error::{Error, Result};
use rayon::prelude::*;

params! {
    /// out [X, out_rows, h, w, c], rows 0..batch <- images `batch_start + b` of the epoch's order, as `GatherRows` has it.
    /// Shard s holds images `s * shard_rows ..` of [n_rows, h, w, c]; a shard without images is bound to any buffer.
    GatherImages {
        replicas: u32,
        n_rows: u32,
        shard_rows: u32,
        h: u32,
        w: u32,
        /// Channels: 1 or 3.
        c: u32,
        batch: u32,
        out_rows: u32,
        /// 1: each member has its own order in each epoch; 0: file order.
        shuffle: u32,
        /// Number of the first member, so that a part of an ensemble draws what the whole would.
        first_member: u32,
        /// Pixels of black around the image before a window of its size is cut out at random; 0: none.
        crop: u32,
        /// 1: mirrored left to right with probability one half, after the crop.
        flip: u32,
        /// (byte / 255 - mean) * inv_sd, by channel.
        mean0: f32,
        mean1: f32,
        mean2: f32,
        inv_sd0: f32,
        inv_sd1: f32,
        inv_sd2: f32,
    }
}

/// Shards of a data set.
pub const SHARDS: usize = 4;
/// Elements of an image that one workgroup writes.
const GROUP_ELEMENTS: u64 = 512;
/// Bytes that the twin moves before it turns them into numbers: whole images of 32 x 32 x 3.
const PIECE: usize = 3072;
/// Whole pixels of one and of three channels, and whole vectors.
const LANES: usize = 48;
/// Elements below which a second thread costs more than it brings.
const PARALLEL_ELEMENTS: usize = 1 << 17;

/// Images of a shard: as many as a binding of `max_binding` bytes holds (`Device::max_bytes_binding`).
///
/// # Errors
/// `Error::Device`: the images need more than four shards.
pub fn shards(n_rows: u32, image_bytes: u32, max_binding: u64) -> Result<u32> {
    // A buffer is bound in whole words.
    let fit = max_binding / 4 * 4 / u64::from(image_bytes.max(1));
    let most = fit.saturating_mul(SHARDS as u64);
    if u64::from(n_rows) > most {
        let mib = |images: u64| images as f64 * f64::from(image_bytes) / 1_048_576.0;
        return Err(Error::device(
            "the images on the device",
            format!("{n_rows} images of {image_bytes} bytes need {:.1} MiB", mib(n_rows.into())),
            format!("{most} images ({:.1} MiB) in {SHARDS} buffers of {max_binding} bytes", mib(most)),
            "use --device cpu or fewer images",
        ));
    }
    Ok(fit.min(u64::from(n_rows)).max(1) as u32)
}

impl GatherImages {
    pub fn grid(&self) -> Grid {
        let groups = (self.image_len() as u64).div_ceil(GROUP_ELEMENTS);
        Grid::Groups(u64::from(self.replicas) * u64::from(self.batch) * groups)
    }
    pub fn scratch(&self) -> usize {
        0
    }
    /// Bytes of an image, and elements of a row of the output.
    pub fn image_len(&self) -> usize {
        self.h as usize * self.w as usize * self.c as usize
    }
    /// Images of a shard.
    pub fn images_of(&self, shard: usize) -> u32 {
        let before = shard as u64 * u64::from(self.shard_rows);
        u64::from(self.n_rows).saturating_sub(before).min(self.shard_rows.into()) as u32
    }
    /// What row `b` of the batch is put through. The integers are the shader's.
    #[inline(always)]
    fn change(&self, draw: &Draw, b: u32) -> Change {
        let [dy, dx, flip, _] = draw.block(b);
        let below = |word: u32, n: u32| ((u64::from(word) * u64::from(n)) >> 32) as isize;
        let side = 2 * self.crop + 1;
        Change {
            down: below(dy, side) - self.crop as isize,
            right: below(dx, side) - self.crop as isize,
            mirrored: self.flip == 1 && flip >> 31 == 1,
        }
    }
}

/// Pixel (y, x) of the result is pixel (y + down, x + right) of the image, x counted from the right where mirrored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    down: isize,
    right: isize,
    mirrored: bool,
}

/// Means and inverse standard deviations, repeated over whole pixels.
struct Scale<T> {
    mean: [T; LANES],
    inv_sd: [T; LANES],
}

impl<T: Real> Scale<T> {
    #[inline(always)]
    fn new(p: &GatherImages) -> Self {
        let (mean, inv_sd) = ([p.mean0, p.mean1, p.mean2], [p.inv_sd0, p.inv_sd1, p.inv_sd2]);
        let of = |values: [f32; 3]| std::array::from_fn(|i| T::of(values[i % p.c as usize] as f64));
        Scale { mean: of(mean), inv_sd: of(inv_sd) }
    }

    /// Both begin with a pixel's first channel.
    #[inline(always)]
    fn apply(&self, bytes: &[u8], out: &mut [T]) {
        let unit = T::of(1.0 / 255.0);
        let value = |i: usize, byte: u8| (T::of(byte as f64) * unit - self.mean[i]) * self.inv_sd[i];
        let (whole, rest) = bytes.as_chunks::<LANES>();
        let (out_whole, out_rest) = out.as_chunks_mut::<LANES>();
        for (bytes, out) in whole.iter().zip(out_whole) {
            for i in 0..LANES {
                out[i] = value(i, bytes[i]);
            }
        }
        for (i, (byte, out)) in rest.iter().zip(out_rest).enumerate() {
            *out = value(i, *byte);
        }
    }
}

#[inline(always)]
pub fn gather_images<T: Real>(
    p: &GatherImages,
    args: &StepArgs<T>,
    images0: &[u8],
    images1: &[u8],
    images2: &[u8],
    images3: &[u8],
    out: &mut [T],
) {
    let (shards, len, scale) = ([images0, images1, images2, images3], p.image_len(), Scale::new(p));
    let row = |(i, out): (usize, &mut [T])| {
        let (r, b) = (i as u32 / p.out_rows, i as u32 % p.out_rows);
        if b >= p.batch {
            return;
        }
        let member = p.first_member + r;
        let position = (args.batch_start + b) % p.n_rows;
        let order = || Permutation::new(args.seed, args.epoch, member, p.n_rows);
        let row = if p.shuffle == 1 { order().at(position) } else { position };
        let image = &shards[(row / p.shard_rows) as usize][(row % p.shard_rows) as usize * len..][..len];
        let draw = Draw { seed: args.seed, stream: Stream::Augment as u32, step: args.step, replica: member };
        image_row(p, p.change(&draw, b), &scale, image, out);
    };
    let out = &mut out[..p.replicas as usize * p.out_rows as usize * len];
    if p.replicas as usize * p.batch as usize * len >= PARALLEL_ELEMENTS && rayon::current_num_threads() > 1 {
        out.par_chunks_exact_mut(len).enumerate().with_min_len(4).for_each(row);
    } else {
        out.chunks_exact_mut(len).enumerate().for_each(row);
    }
}

/// A function of its own, so that it can be compiled for the machine's vectors inside a closure of rayon.
fn image_row<T: Real>(p: &GatherImages, change: Change, scale: &Scale<T>, image: &[u8], out: &mut [T]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
        fn avx512<T: Real>(p: &GatherImages, change: Change, scale: &Scale<T>, image: &[u8], out: &mut [T]) {
            any(p, change, scale, image, out)
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2<T: Real>(p: &GatherImages, change: Change, scale: &Scale<T>, image: &[u8], out: &mut [T]) {
            any(p, change, scale, image, out)
        }
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw")
        {
            // SAFETY: the processor was just asked for these features.
            return unsafe { avx512(p, change, scale, image, out) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: as above.
            return unsafe { avx2(p, change, scale, image, out) };
        }
    }
    any(p, change, scale, image, out);

    #[inline(always)]
    fn any<T: Real>(p: &GatherImages, change: Change, scale: &Scale<T>, image: &[u8], out: &mut [T]) {
        if change == (Change { down: 0, right: 0, mirrored: false }) {
            return scale.apply(image, out);
        }
        let (c, mut piece) = (p.c as usize, [0; PIECE]);
        for (i, out) in out.chunks_mut(PIECE).enumerate() {
            let bytes = &mut piece[..out.len()];
            moved(p, change, image, i * PIECE / c, bytes);
            scale.apply(bytes, out);
        }
    }
}

/// Pixels `first ..` of the changed image, as many as `to` holds, row by row.
#[inline(always)]
fn moved(p: &GatherImages, change: Change, image: &[u8], first: usize, mut to: &mut [u8]) {
    let (h, w, c) = (p.h as usize, p.w as usize, p.c as usize);
    // Columns low..high of a row show the image, the others lie in the padding.
    let shift = if change.mirrored { -change.right } else { change.right };
    let low = (-shift).clamp(0, w as isize) as usize;
    let high = (w as isize - shift).clamp(low as isize, w as isize) as usize;
    let (mut y, mut x) = (first / w, first % w);
    while !to.is_empty() {
        let end = w.min(x + to.len() / c);
        let (part, later) = to.split_at_mut((end - x) * c);
        part.fill(0);
        let (from, until) = (low.max(x), high.min(end));
        if let Some(source) = y.checked_add_signed(change.down).filter(|y| *y < h)
            && from < until
        {
            let row = &image[source * w * c..][..w * c];
            let part = &mut part[(from - x) * c..(until - x) * c];
            if !change.mirrored {
                part.copy_from_slice(&row[from.wrapping_add_signed(shift) * c..][..part.len()]);
            } else {
                // Output column x shows column w - 1 - x + right: those of `part` lie side by side, in reverse.
                let row = &row[(w - until).wrapping_add_signed(change.right) * c..][..part.len()];
                if c == 1 {
                    part.iter_mut().zip(row.iter().rev()).for_each(|(to, from)| *to = *from);
                } else {
                    let (pixels, row) = (part.as_chunks_mut::<3>().0, row.as_chunks::<3>().0);
                    pixels.iter_mut().zip(row.iter().rev()).for_each(|(to, from)| *to = *from);
                }
            }
        }
        (to, y, x) = (later, y + 1, 0);
    }
}

#[cfg(test)]
mod tests {
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
        let rows = GatherRows { replicas, n_rows, cols, batch, out_rows, shuffle, first_member };
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
        for (h, w, c, crop) in
            [(1, 1, 1, 1), (5, 7, 3, 2), (5, 7, 1, 9), (3, 1500, 1, 4), (2, 1100, 3, 4), (40, 40, 3, 4)]
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
}
