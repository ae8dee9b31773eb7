//! The inputs of a method when training ends, and the work that it may leave to the host in prediction.

use super::laplace::VarianceForm;
use super::{Chunk, ModelSpec, Trained};
use crate::data::Dataset;
use crate::error::Result;

/// The end of a training.
pub struct Finish<'a> {
    pub setup: &'a ModelSpec,
    /// The weights as training left them.
    pub last: Trained,
    /// What `Method::record_collect` collected, by name; empty unless `Method::collects`.
    pub collected: &'a [(String, Vec<f32>)],
    /// Epochs that were collected.
    pub snapshots: u32,
    pub rows: &'a dyn Rows,
}

impl Finish<'_> {
    /// The numbers collected under a name; none if there are none.
    pub fn collected(&self, name: &str) -> Vec<f32> {
        self.collected.iter().find(|s| s.0 == name).map(|s| s.1.clone()).unwrap_or_default()
    }
}

/// The training rows, and passes of networks over them.
pub trait Rows {
    fn data(&self) -> &Dataset;

    /// Statistics of batch normalisation for weights that were not trained step by step; empty where the network normalises
    /// nothing.
    fn statistics(&self, trained: &Trained) -> Result<Vec<f32>>;

    /// One pass of all members over all rows, a chunk at a time.
    fn each_chunk(&self, trained: &Trained, see: &mut dyn FnMut(Chunk) -> Result<()>) -> Result<()>;
}

/// A member's last layer on the host.
pub trait HostLayer: Send {
    /// Rows of outputs that it gives for a row of inputs.
    fn replicas(&self) -> usize;

    /// From features [n, width] and outputs [n, n_out] of the network: calls `write` with replica, row and that row of outputs,
    /// `ModelSpec::output_width` numbers.
    fn outputs(&self, features: &[f32], z: &[f32], write: &mut dyn FnMut(usize, usize, &[f32]));

    /// The same as constants, for programs that run a graph (`export`); None where it has no such form.
    fn form(&self) -> Option<LayerForm> {
        None
    }
}

/// A last layer as constants.
pub enum LayerForm {
    /// Variances of the outputs, which stand behind the network's own.
    Variances(VarianceForm),
    /// Layers [S][k, d] that replace the network's own, the bias last.
    Layers(Vec<Vec<f64>>),
}
