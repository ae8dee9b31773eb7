//! Rows that count for more or less than others: what a head says of a row, times the row's weight. One op behind every
//! head, recorded only where there are weights.

use super::{Grid, Lengths, OpSpec, binds, elements, params, shared};
use crate::base::Real;

params! {
    /// terms [R, rows, 3] *= w, grad [R, rows, cols] *= w, with the weight of each row from weights [R / share, data_rows].
    /// Rows from `data_rows` on are auxiliary and stay. With weights of mean 1 the sum over the batch divided by the number
    /// of its rows is a weighted mean, for the loss and for the regularizer of the row alike: a row of weight k counts as k
    /// rows.
    WeighRows {
        replicas: u32,
        rows: u32,
        data_rows: u32,
        /// Numbers per row of the gradient.
        cols: u32,
        /// Replicas that share one row of weights: R / Y.
        share: u32,
    }
}

impl OpSpec for WeighRows {
    binds!(weigh_rows: [weights] -> [terms, grad]);
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.data_rows as u64)
    }
    fn lengths(&self) -> Lengths {
        (
            vec![elements(&[self.replicas / self.share.max(1), self.data_rows])],
            vec![elements(&[self.replicas, self.rows, 3]), elements(&[self.replicas, self.rows, self.cols])],
        )
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.share) && self.data_rows <= self.rows
    }
}

#[inline(always)]
pub fn weigh_rows<T: Real>(p: &WeighRows, weights: &[T], terms: &mut [T], grad: &mut [T]) {
    let (rows, data_rows, cols) = (p.rows as usize, p.data_rows as usize, p.cols as usize);
    for r in 0..p.replicas as usize {
        let weights = &weights[r / p.share as usize * data_rows..][..data_rows];
        for (b, w) in weights.iter().enumerate() {
            let at = r * rows + b;
            terms[at * 3..at * 3 + 3].iter_mut().for_each(|t| *t *= *w);
            grad[at * cols..(at + 1) * cols].iter_mut().for_each(|g| *g *= *w);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two replicas of two data rows and an auxiliary one share the weights 2 and 0.5.
    #[test]
    fn data_rows_take_their_weight() {
        let p = WeighRows { replicas: 2, rows: 3, data_rows: 2, cols: 1, share: 2 };
        let (mut terms, mut grad) = ([1.0; 18], [4.0; 6]);
        weigh_rows(&p, &[2.0, 0.5], &mut terms, &mut grad);
        assert_eq!(grad, [8.0, 2.0, 4.0, 8.0, 2.0, 4.0]);
        assert_eq!(terms[..9], [2.0, 2.0, 2.0, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0]);
        assert_eq!(terms[9..], terms[..9]);
    }
}
