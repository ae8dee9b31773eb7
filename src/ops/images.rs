//! Images kept as bytes, as the files have them: a batch is gathered, shifted, mirrored and normalised in one pass, so that
//! the floats of a data set never exist. Bytes lie in up to four shards, because adapters limit what one binding may hold.

use super::wide::wide;
use super::{Grid, Lengths, OpSpec, StepArgs, binds, elements, params};
use crate::base::Real;
use crate::base::rng::{Draw, Permutation, Stream};
use crate::error::{Error, Result, either};
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
/// Bytes that the CPU kernel moves before it turns them into numbers: whole images of 32 x 32 x 3.
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
            either("use --device cpu or fewer images", "train on the CPU, or on fewer images"),
        ));
    }
    Ok(fit.min(u64::from(n_rows)).max(1) as u32)
}

impl GatherImages {
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
impl OpSpec for GatherImages {
    binds!(gather_images(step): bytes [images0, images1, images2, images3] -> [out]);
    const HALVES: &'static [&'static str] = &["out"];
    fn grid(&self) -> Grid {
        let groups = (self.image_len() as u64).div_ceil(GROUP_ELEMENTS);
        Grid::Groups(u64::from(self.replicas) * u64::from(self.batch) * groups)
    }
    fn lengths(&self) -> Lengths {
        let shards = (0..SHARDS).map(|s| self.images_of(s) as usize * self.image_len());
        (shards.collect(), vec![elements(&[self.replicas, self.out_rows, self.h, self.w, self.c])])
    }
    fn sizes_agree(&self) -> bool {
        self.batch <= self.out_rows
            && self.n_rows > 0
            && u64::from(self.n_rows) <= SHARDS as u64 * u64::from(self.shard_rows)
            && self.h > 0
            && self.w > 0
            && matches!(self.c, 1 | 3)
            && self.crop < 1 << 16
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

wide! {
    /// A function of its own, so that it is compiled for the machine's vectors inside a closure of rayon.
    fn image_row<T: Real>(p: &GatherImages, change: Change, scale: &Scale<T>, image: &[u8], out: &mut [T]) {
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
mod tests;
