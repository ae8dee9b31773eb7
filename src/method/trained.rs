//! What training leaves for prediction: weights, statistics, and what a method found beside the weights.

use std::ops::Range;

/// Numbers under a name; the first axis of the shape runs over the members.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Named {
    pub name: String,
    pub shape: Vec<usize>,
    pub values: Vec<f32>,
}

/// Name of the factor [E, targets], alike for all members, by which an ensemble's predictions are drawn out about their mean.
pub const SPREAD: &str = "pool.spread";
/// Name of the two exponents [E, 2], alike for all members, by which an ensemble's class probabilities are sharpened: that of the
/// members' agreement, and that of their folds.
pub const SHARPNESS: &str = "pool.sharpness";

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trained {
    /// All members' numbers in flat order, [E, `ModelSpec::member_len`].
    pub weights: Vec<f32>,
    /// Running statistics of batch normalisation, one or several sets per member; empty where the network has none.
    pub running: Vec<f32>,
    /// SWAG's moments, Laplace's curvature: whatever the method needs to predict with more than one network.
    pub posterior: Vec<Named>,
}

impl Trained {
    pub fn plain(weights: Vec<f32>, running: Vec<f32>) -> Trained {
        Trained { weights, running, posterior: vec![] }
    }

    pub fn posterior(&self, name: &str) -> Option<&Named> {
        self.posterior.iter().find(|p| p.name == name)
    }

    /// Of each target; none where the ensemble has no `SPREAD`, or where this is a single member, which needs none.
    pub fn spread(&self) -> &[f32] {
        match self.posterior(SPREAD) {
            Some(Named { shape, values, .. }) if shape.first().is_some_and(|members| *members > 1) => {
                &values[..shape.get(1).copied().unwrap_or_default().min(values.len())]
            }
            _ => &[],
        }
    }

    /// Exponents by agreement and by folds; None where the ensemble has no `SHARPNESS`, or where this is a single member.
    pub fn sharpness(&self) -> Option<[f64; 2]> {
        let Named { shape, values, .. } = self.posterior(SHARPNESS)?;
        match values[..] {
            [agreement, folds, ..] if shape.first().is_some_and(|members| *members > 1) => {
                Some([f64::from(agreement), f64::from(folds)])
            }
            _ => None,
        }
    }

    /// Member `i` of `members` alone.
    pub fn member(&self, i: usize, members: usize) -> Trained {
        self.part(i..i + 1, members)
    }

    /// Parts `range` of `of` equal ones, each of a member or of several.
    pub fn part(&self, range: Range<usize>, of: usize) -> Trained {
        let part = |all: &[f32]| {
            let each = all.len() / of.max(1);
            all[range.start * each..range.end * each].to_vec()
        };
        let posterior = self.posterior.iter().map(|p| {
            let members = p.shape.first().map_or(0, |n| n / of.max(1) * range.len());
            let shape = [&[members], p.shape.get(1..).unwrap_or_default()].concat();
            Named { name: p.name.clone(), shape, values: part(&p.values) }
        });
        Trained { weights: part(&self.weights), running: part(&self.running), posterior: posterior.collect() }
    }

    /// Part `at` of `of` equal ones becomes that of `other`.
    pub fn take(&mut self, other: &Trained, at: usize, of: usize) {
        let copy = |to: &mut [f32], from: &[f32]| {
            let each = to.len() / of.max(1);
            to[at * each..(at + 1) * each].copy_from_slice(&from[at * each..(at + 1) * each]);
        };
        copy(&mut self.weights, &other.weights);
        copy(&mut self.running, &other.running);
        for (to, from) in self.posterior.iter_mut().zip(&other.posterior) {
            copy(&mut to.values, &from.values);
        }
    }

    /// The members of all, one after another; each must hold what the first holds.
    pub fn join(all: Vec<Trained>) -> Trained {
        let mut parts = all.into_iter();
        let mut joined = parts.next().unwrap_or_default();
        for part in parts {
            joined.weights.extend(part.weights);
            joined.running.extend(part.running);
            for (to, from) in joined.posterior.iter_mut().zip(part.posterior) {
                to.shape[0] += from.shape[0];
                to.values.extend(from.values);
            }
        }
        joined
    }
}
