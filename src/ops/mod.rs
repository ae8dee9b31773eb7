//! Everything a training step is made of. One file a family, holding for each op its parameters (`repr(C)`, mirrored by
//! the shader of the same stem) and its CPU twin. The name of an op is the name of its WGSL entry point, its twin, its
//! pipeline label and its test row. Twins write every output with `=` unless their doc says `+=`.

pub mod average;
pub mod conv;
pub mod dirichlet;
pub mod gather;
pub mod gemm;
pub mod head;
pub mod images;
pub mod linear;
pub mod norm;
pub mod optimizer;
pub mod pool;
pub mod reduce;
pub mod regularizer;
pub mod repulsion;
pub mod step;
pub mod vbll;
pub mod vi;
pub mod weigh;
pub mod wide;

pub use step::StepArgs;

/// How many invocations an op needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grid {
    /// Independent threads, rounded up to whole workgroups of 64.
    Threads(u64),
    /// Workgroups of 64 that reduce together.
    Groups(u64),
}

/// Name, WGSL type and byte offset of a parameter, for the comparison with what naga reflects.
pub type Field = (&'static str, &'static str, usize);

/// Declares the parameters of an op: plain old data, laid out as the shader's uniform struct.
macro_rules! params {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $ty:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(C)]
        pub struct $name { $($(#[$field_doc])* pub $field: $ty,)* }
        impl $name {
            pub const FIELDS: &'static [$crate::ops::Field] =
                &[$((stringify!($field), stringify!($ty), std::mem::offset_of!($name, $field)),)*];
        }
    };
}
pub(crate) use params;

/// Binds names: variant, module (= shader family), entry point, inputs -> outputs (`rw` = read and written), step or not.
macro_rules! ops {
    ($($variant:ident, $family:ident, $entry:ident, [$($input:ident),*] -> [$($output:ident),*], $step:expr;)*) => {
        /// One recorded operation. An exhaustive match on it is what keeps shader and twin together.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub enum Op { $($variant($family::$variant),)* }

        impl Op {
            /// Entry point, twin, label and test row.
            pub fn name(&self) -> &'static str {
                match self { $(Op::$variant(_) => stringify!($entry),)* }
            }
            /// Stem of the shader file and of the Rust file.
            pub fn family(&self) -> &'static str {
                match self { $(Op::$variant(_) => stringify!($family),)* }
            }
            pub fn params(&self) -> &[u8] {
                match self { $(Op::$variant(p) => bytemuck::bytes_of(p),)* }
            }
            pub fn fields(&self) -> &'static [Field] {
                match self { $(Op::$variant(_) => $family::$variant::FIELDS,)* }
            }
            pub fn inputs(&self) -> &'static [&'static str] {
                match self { $(Op::$variant(_) => &[$(stringify!($input)),*],)* }
            }
            pub fn outputs(&self) -> &'static [&'static str] {
                match self { $(Op::$variant(_) => &[$(stringify!($output)),*],)* }
            }
            /// Whether the kernel reads the step's arguments (the last binding).
            pub fn uses_step(&self) -> bool {
                match self { $(Op::$variant(_) => $step,)* }
            }
            pub fn grid(&self) -> Grid {
                match self { $(Op::$variant(p) => p.grid(),)* }
            }
            /// Elements of scratch memory that the twin needs.
            pub fn scratch(&self) -> usize {
                match self { $(Op::$variant(p) => p.scratch(),)* }
            }
        }

        /// One zeroed instance of each op, for tests that walk over all of them.
        pub fn all() -> Vec<Op> {
            vec![$(Op::$variant(bytemuck::Zeroable::zeroed()),)*]
        }
    };
}

ops! {
    GatherRows, gather, gather_rows, [data] -> [out], true;
    AuxInputs, gather, aux_inputs, [low, high] -> [out], true;
    LinearForward, linear, linear_forward, [x, weights] -> [y, pre], false;
    LinearBackwardData, linear, linear_backward_data, [dy, weights, saved] -> [dx], false;
    LinearBackwardWeight, linear, linear_backward_weight, [x, dy] -> [grad], false;
    Dropout, gather, dropout, [x] -> [y], true;
    SoftmaxHead, head, softmax_head, [z, labels] -> [terms, dz], true;
    GaussianHead, head, gaussian_head, [z, targets] -> [terms, dz], true;
    ColumnMoments, regularizer, column_moments, [outputs] -> [moments], true;
    WeighedMoments, regularizer, weighed_moments, [outputs, weights] -> [moments], true;
    VifoHead, head, vifo_head, [outputs, targets, moments] -> [terms, doutputs], true;
    WeighRows, weigh, weigh_rows, [weights] -> [terms, grad], false;
    LossReduce, reduce, loss_reduce, [terms, extra] -> [sums], true;
    SumSquares, reduce, sum_squares, [v] -> [sums], false;
    L2Gradient, optimizer, l2_gradient, [weights] -> [grad], true;
    ViSample, vi, vi_sample, [q] -> [weights], true;
    ViRegularizer, vi, vi_regularizer, [q] -> [value, energy], true;
    ViGradient, vi, vi_gradient, [q, dweights, energy] -> [dq], true;
    Adam, optimizer, adam, [grad, norm] -> [weights, first, second], true;
    Sgd, optimizer, sgd, [grad, norm] -> [weights, velocity], true;
    Conv2dForward, conv, conv2d_forward, [x, weights] -> [y, pre], false;
    Conv2dBackwardData, conv, conv2d_backward_data, [dy, weights, saved] -> [dx], false;
    Conv2dBackwardWeight, conv, conv2d_backward_weight, [x, dy] -> [grad], false;
    MaxPool2Forward, pool, max_pool2_forward, [x] -> [y], false;
    MaxPool2Backward, pool, max_pool2_backward, [x, dy, saved] -> [dx], false;
    AvgPoolForward, pool, avg_pool_forward, [x] -> [y], false;
    AvgPoolBackward, pool, avg_pool_backward, [dy, saved] -> [dx], false;
    BatchNormStats, norm, batch_norm_stats, [x] -> [stats, running], true;
    BatchNormRunning, norm, batch_norm_running, [running] -> [stats], false;
    BatchNormForward, norm, batch_norm_forward, [x, stats, weights] -> [y], false;
    BatchNormSums, norm, batch_norm_sums, [x, y, dy, stats] -> [sums, grad], true;
    BatchNormBackward, norm, batch_norm_backward, [x, y, dy, stats, sums, weights] -> [dx], true;
    Add, norm, add, [a, b] -> [y], false;
    SwaCollect, average, swa_collect, [weights] -> [mean], true;
    SwagCollect, average, swag_collect, [weights] -> [mean, variance, deviations], true;
    SwagSample, average, swag_sample, [mean, variance, deviations] -> [weights], true;
    RepeatWeights, average, repeat_weights, [v] -> [weights], false;
    DirichletHead, dirichlet, dirichlet_head, [z, labels] -> [terms, dz], true;
    PairDistances, repulsion, pair_distances, [v] -> [distances], true;
    KernelWeights, repulsion, kernel_weights, [distances] -> [kernel], false;
    Repulsion, repulsion, repulsion, [v, kernel] -> [grad, value], true;
    VbllForward, vbll, vbll_forward, [x, weights] -> [y], false;
    VbllBackwardData, vbll, vbll_backward_data, [x, dy, weights, saved] -> [dx], false;
    VbllBackwardWeight, vbll, vbll_backward_weight, [x, dy, weights] -> [grad], false;
    VbllHead, vbll, vbll_head, [y, labels] -> [terms, dy], true;
    VbllRegularizer, vbll, vbll_regularizer, [weights] -> [grad, value], true;
    GatherImages, images, gather_images, [images0, images1, images2, images3] -> [out], true;
}

impl Op {
    /// Whether the inputs hold bytes in place of scalars.
    pub fn reads_bytes(&self) -> bool {
        matches!(self, Op::GatherImages(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        let mut names: Vec<_> = all().iter().map(|o| o.name()).collect();
        names.sort_unstable();
        let before = names.len();
        names.dedup();
        assert_eq!(names.len(), before);
    }
}
