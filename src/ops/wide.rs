//! Loops over big tensors: compiled for the machine's vectors (`wide!`), and shared among the threads. Pieces have a size of
//! their own, whatever the thread count, and partial sums are added in the order of the pieces: a run is bit-equal on any.

pub(crate) use crate::base::simd::wide;
use rayon::iter::IndexedParallelIterator;
use rayon::iter::plumbing::{Producer, ProducerCallback};

/// Elements of a piece where a tensor has no images to be divided by.
pub const PIECE: usize = 1 << 14;
/// Elements below which a second thread costs more than it brings (about 10 us to wake one).
const PARALLEL: usize = 1 << 17;

/// Does `work` on every piece, with all threads where there are enough `elements` in all of them together. Otherwise on this
/// thread: a call into the pool, even for one piece, costs as much as a layer of a small network.
pub fn share<I: IndexedParallelIterator>(elements: usize, pieces: I, work: impl Fn(I::Item) + Sync + Send) {
    struct Here<F>(F);
    impl<T, F: Fn(T)> ProducerCallback<T> for Here<F> {
        type Output = ();
        fn callback<P: Producer<Item = T>>(self, pieces: P) {
            pieces.into_iter().for_each(self.0);
        }
    }
    if elements < PARALLEL { pieces.with_producer(Here(work)) } else { pieces.for_each(work) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    /// Every piece once, in its place, on this thread and on many.
    #[test]
    fn every_piece_is_worked_on_once() {
        for elements in [0, PARALLEL] {
            let mut v = vec![0usize; 1000];
            share(elements, v.par_chunks_mut(7).enumerate(), |(i, piece)| {
                for x in piece {
                    *x += i + 1;
                }
            });
            assert!(v.iter().enumerate().all(|(i, x)| *x == i / 7 + 1));
        }
    }
}
