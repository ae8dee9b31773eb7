//! Memory of the kernels.

use crate::base::Real;
use std::ops::{Deref, DerefMut};

/// Bytes of a line of the cache, and of the widest vector.
const LINE: usize = 64;

/// Numbers that begin with a line of the cache: a vector that lies across two takes as long as two (a product of few columns 7 %
/// longer).
#[derive(Default)]
pub struct Numbers<T> {
    all: Vec<T>,
    first: usize,
}

impl<T: Real> Numbers<T> {
    /// The system gives the memory only once it is touched.
    pub fn zeros(n: usize) -> Self {
        let spare = LINE / size_of::<T>();
        let mut all = vec![T::zero(); n + spare];
        let first = all.as_ptr().align_offset(LINE).min(spare);
        all.truncate(first + n);
        Numbers { all, first }
    }
}

impl<T: Real> FromIterator<T> for Numbers<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let values: Vec<T> = values.into_iter().collect();
        let mut numbers = Numbers::zeros(values.len());
        numbers.copy_from_slice(&values);
        numbers
    }
}

impl<T> Deref for Numbers<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.all[self.first..]
    }
}

impl<T> DerefMut for Numbers<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.all[self.first..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_begin_with_a_line() {
        fn check<T: Real>() {
            for n in [0, 1, 15, 16, 17, 1 << 20] {
                let mut numbers = Numbers::<T>::zeros(n);
                assert!(numbers.len() == n && numbers.iter().all(|v| *v == T::zero()));
                assert_eq!(numbers.as_ptr() as usize % LINE, 0);
                numbers.fill(T::one());
                let moved = std::mem::take(&mut numbers);
                assert!(numbers.is_empty() && moved.len() == n && moved.iter().all(|v| *v == T::one()));
            }
            let values = [T::one(), T::zero(), T::one()];
            assert_eq!(values.into_iter().collect::<Numbers<T>>()[..], values);
        }
        check::<f32>();
        check::<f64>();
    }
}
