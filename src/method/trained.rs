//! What training leaves for prediction: weights, statistics, and what a method found beside the weights.

/// Numbers under a name; the first axis of the shape runs over the members.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Named {
    pub name: String,
    pub shape: Vec<usize>,
    pub values: Vec<f32>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trained {
    /// All members' numbers in flat order, [E, `Setup::member_len`].
    pub weights: Vec<f32>,
    /// Running statistics of batch normalisation, one or several sets a member; empty where the network has none.
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

    /// Member `i` of `members` alone.
    pub fn member(&self, i: usize, members: usize) -> Trained {
        let part = |all: &[f32]| {
            let each = all.len() / members.max(1);
            all[i * each..(i + 1) * each].to_vec()
        };
        let posterior = self.posterior.iter().map(|p| {
            let shape = p.shape.iter().enumerate().map(|(axis, n)| if axis == 0 { 1 } else { *n }).collect();
            Named { name: p.name.clone(), shape, values: part(&p.values) }
        });
        Trained { weights: part(&self.weights), running: part(&self.running), posterior: posterior.collect() }
    }
}
