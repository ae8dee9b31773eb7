//! Means over rows that count for more or less than others.

/// Sum of w v / sum of w over rows `values` with `weights` [n], or the plain mean where there are no weights; NaN where
/// nothing counts.
pub fn mean(values: impl ExactSizeIterator<Item = f64>, weights: &[f32]) -> f64 {
    let n = values.len();
    if weights.is_empty() {
        return values.sum::<f64>() / n as f64;
    }
    if weights.len() != n {
        return f64::NAN;
    }
    let (mut sum, mut total) = (0.0, 0.0);
    for (v, w) in values.zip(weights) {
        // A row that does not count may have any value, infinity too.
        if *w != 0.0 {
            sum += f64::from(*w) * v;
            total += f64::from(*w);
        }
    }
    sum / total
}

/// How many rows of equal weight say as much as these: (sum w)^2 / sum w^2 (Kish); n where there are no weights.
pub fn effective_rows(n: usize, weights: &[f32]) -> usize {
    let (sum, squares) = weights.iter().fold((0.0, 0.0), |(s, q), &w| (s + f64::from(w), q + f64::from(w).powi(2)));
    if weights.is_empty() || squares == 0.0 { n } else { (sum * sum / squares).round() as usize }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_counts_as_so_many_rows() {
        let values = [1.0, 5.0, 2.0];
        assert_eq!(mean(values.into_iter(), &[2.0, 1.0, 0.0]), mean([1.0, 1.0, 5.0].into_iter(), &[]));
        assert_eq!(mean([1.0, f64::INFINITY].into_iter(), &[0.5, 0.0]), 1.0);
        assert!(mean(values.into_iter(), &[0.0; 3]).is_nan() && mean(values.into_iter(), &[1.0]).is_nan());
        assert!(mean(std::iter::empty(), &[]).is_nan());
        assert_eq!((effective_rows(3, &[]), effective_rows(4, &[1.0, 1.0, 0.0, 0.0])), (3, 2));
        assert_eq!(effective_rows(2, &[0.0, 0.0]), 2);
    }
}
