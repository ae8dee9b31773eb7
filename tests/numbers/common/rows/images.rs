//! Rows of the image gather: images smaller than the crop, larger than a workgroup's part and than the reference kernel's piece; every
//! combination of channels, augmentation, order and shards; filler rows and rows behind the batch.

use super::{Row, poison};
use std::sync::Arc;
use vifo::ops::Op;
use vifo::ops::images::{GatherImages, SHARDS};

const SIZES: [(u32, u32); 7] = [(1, 1), (5, 7), (8, 8), (28, 28), (32, 32), (40, 40), (2, 1100)];
/// Eleven images in one, two and four shards, of which the last is shorter.
const N_ROWS: u32 = 11;
const SHARD_ROWS: [u32; 3] = [11, 6, 3];
/// batch, batch_start, replicas, out_rows; both batches of seven from 7 and 10 wrap round.
const BATCHES: [(u32, u32, u32, u32); 5] = [(7, 0, 3, 9), (7, 7, 1, 7), (1, 5, 3, 3), (7, 10, 3, 7), (1, 3, 1, 1)];

/// The shards of a data set, cut out of one vector.
fn cut(p: &GatherImages, bytes: Vec<u8>) -> Vec<(Arc<Vec<u8>>, std::ops::Range<usize>)> {
    let (bytes, shard) = (Arc::new(bytes), p.shard_rows as usize * p.image_len());
    let part = |s: usize| match (p.images_of(s), s * shard) {
        (0, _) => (Arc::new(vec![0xAA; 4]), 0..4),
        (n, first) => (bytes.clone(), first..first + n as usize * p.image_len()),
    };
    (0..SHARDS).map(part).collect()
}

fn row(p: GatherImages, batch_start: u32) -> Row {
    let n = p.n_rows as usize * p.image_len();
    // Neighbours differ, and so do rows and images: a multiple of the golden ratio.
    let bytes = (0..n as u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect();
    let out = poison(p.replicas as usize * p.out_rows as usize * p.image_len());
    let row = Row::new(Op::GatherImages(p), format!("{p:?} from {batch_start}"), vec![], vec![out]);
    Row { bytes: cut(&p, bytes), ..row }.with(|a| a.batch_start = batch_start)
}

pub fn gather_images() -> Vec<Row> {
    let mut all = vec![];
    for (h, w) in SIZES {
        for c in [1, 3] {
            for shard_rows in SHARD_ROWS {
                for bits in 0..8 {
                    // Five batches do not divide the 24 combinations of a size: each of these meets every batch.
                    let (batch, batch_start, replicas, out_rows) = BATCHES[all.len() % BATCHES.len()];
                    let p = GatherImages {
                        replicas,
                        n_rows: N_ROWS,
                        shard_rows,
                        h,
                        w,
                        c,
                        batch,
                        out_rows,
                        shuffle: bits & 1,
                        first_member: 2,
                        crop: 4 * (bits >> 1 & 1),
                        flip: bits >> 2,
                        mean0: 0.4914,
                        mean1: 0.4822,
                        mean2: 0.4465,
                        inv_sd0: 4.05,
                        inv_sd1: 4.11,
                        inv_sd2: 3.83,
                    };
                    all.push(row(p, batch_start));
                }
            }
        }
    }
    all.push(row(several_uploads(), (16 << 20) - 2));
    all
}

/// More bytes than one upload takes, and no whole number of words.
fn several_uploads() -> GatherImages {
    let n_rows = (16 << 20) + 5;
    GatherImages {
        replicas: 1,
        n_rows,
        shard_rows: n_rows,
        h: 1,
        w: 1,
        c: 1,
        batch: 7,
        out_rows: 7,
        inv_sd0: 1.0,
        ..bytemuck::Zeroable::zeroed()
    }
}
