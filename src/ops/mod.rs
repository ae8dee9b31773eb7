//! Everything a training step is made of. One file per family, holding for each op its parameters (`repr(C)`, mirrored by
//! the shader of the same stem), what it declares of itself (`OpSpec`: lengths, size checks, gradient, forms on a GPU) and
//! its CPU kernel. The name of an op is the name of its WGSL entry point, its CPU kernel, its pipeline label and its test row. CPU kernels
//! write every output with `=` unless their doc says `+=`.
//!
//! An op is two files and its name in the list of `ops!` below: nothing else names it but its test rows.

#![allow(
    clippy::too_many_arguments,
    clippy::needless_range_loop,
    reason = "a kernel names every buffer and size that it takes, and its index loops mirror its shader line by line"
)]

pub mod gemm;
pub mod spec;
pub mod step;
pub mod wide;

pub use spec::{
    Field, Forms, Gradient, GradientStep, Grid, Lengths, MAX_INPUTS, MAX_OUTPUTS, OpSpec, Operands, Place, Product,
};
pub(crate) use spec::{binds, elements, elements_u64, fits, in_quadruples, params, shared};
pub use step::StepArgs;

use crate::base::Real;

/// The list of ops: a family, which is a Rust file and a shader of that stem, further shader files of its forms for
/// hardware, and its ops. Declares the families' modules, `Op`, and a dispatch to what each op says in its `OpSpec`.
macro_rules! ops {
    ($($family:ident $([$($more:ident),+])?: $($op:ident),+;)*) => {
        $(pub mod $family;)*

        /// One recorded operation.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub enum Op { $($($op($family::$op),)+)* }

        impl Op {
            /// Stem of the shader file and of the Rust file.
            pub fn family(&self) -> &'static str {
                match self { $($(Op::$op(_) => stringify!($family),)+)* }
            }
            pub fn params(&self) -> &[u8] {
                match self { $($(Op::$op(p) => bytemuck::bytes_of(p),)+)* }
            }
            pub fn fields(&self) -> &'static [Field] {
                match self { $($(Op::$op(_) => $family::$op::FIELDS,)+)* }
            }
            /// Entry point, CPU kernel, label and test row.
            pub fn name(&self) -> &'static str {
                match self { $($(Op::$op(_) => <$family::$op as OpSpec>::NAME,)+)* }
            }
            pub fn inputs(&self) -> &'static [&'static str] {
                match self { $($(Op::$op(_) => <$family::$op as OpSpec>::INPUTS,)+)* }
            }
            pub fn outputs(&self) -> &'static [&'static str] {
                match self { $($(Op::$op(_) => <$family::$op as OpSpec>::OUTPUTS,)+)* }
            }
            /// Whether the kernel reads the step's arguments (the last binding).
            pub fn uses_step(&self) -> bool {
                match self { $($(Op::$op(_) => <$family::$op as OpSpec>::USES_STEP,)+)* }
            }
            /// Whether the inputs hold bytes in place of scalars.
            pub fn reads_bytes(&self) -> bool {
                match self { $($(Op::$op(_) => <$family::$op as OpSpec>::READS_BYTES,)+)* }
            }
            /// Kernels for GPU hardware besides the plain one.
            pub fn forms(&self) -> Forms {
                match self { $($(Op::$op(_) => <$family::$op as OpSpec>::FORMS,)+)* }
            }
            /// Inputs and outputs that the plain kernel reads and writes as quadruples.
            pub fn quads(&self) -> &'static [&'static str] {
                match self { $($(Op::$op(_) => <$family::$op as OpSpec>::QUADS,)+)* }
            }
            /// Inputs and outputs that may be stored in 16 bits.
            pub fn halves(&self) -> &'static [&'static str] {
                match self { $($(Op::$op(_) => <$family::$op as OpSpec>::HALVES,)+)* }
            }
            /// Threads of a workgroup, and bytes that they share, of `Forms::Resident`.
            pub fn workgroup(&self, alone: bool) -> (u32, u32) {
                match self { $($(Op::$op(p) => p.workgroup(alone),)+)* }
            }
            /// Constants of its pipelines.
            pub fn settings(&self) -> Vec<(&'static str, u32)> {
                match self { $($(Op::$op(p) => p.settings(),)+)* }
            }
            /// Additions and multiplications, where it tells them itself.
            pub fn flops(&self) -> Option<f64> {
                match self { $($(Op::$op(p) => p.flops(),)+)* }
            }
            /// Whether a small tile is its plain form.
            pub fn is_tiled_only(&self) -> bool {
                match self.forms() {
                    Forms::Fused { .. } => true,
                    Forms::Tiled { entry, .. } => entry == self.name(),
                    _ => false,
                }
            }
            pub fn grid(&self) -> Grid {
                match self { $($(Op::$op(p) => p.grid(),)+)* }
            }
            /// Elements of scratch memory that the CPU kernel needs.
            pub fn scratch(&self) -> usize {
                match self { $($(Op::$op(p) => p.scratch(),)+)* }
            }
            /// Least lengths of the inputs and outputs.
            pub fn lengths(&self) -> Lengths {
                match self { $($(Op::$op(p) => p.lengths(),)+)* }
            }
            /// What the sizes must satisfy among themselves, beyond the lengths of the buffers.
            pub fn sizes_agree(&self) -> bool {
                match self { $($(Op::$op(p) => p.sizes_agree(),)+)* }
            }
            /// The matrix product that it is, if it is one.
            pub fn product(&self) -> Option<Product> {
                match self { $($(Op::$op(p) => p.product(),)+)* }
            }
            /// The product of the weights' gradient, if it makes that too.
            pub fn weight_product(&self) -> Option<Product> {
                match self { $($(Op::$op(p) => p.weight_product(),)+)* }
            }
            /// Numbers that a tile of it leaves of each of its columns.
            pub fn sums(&self) -> u64 {
                match self { $($(Op::$op(p) => p.sums(),)+)* }
            }
            /// How many numbers of `weights` and `grad` it touches, where these are not all.
            pub fn of_weights(&self) -> Option<usize> {
                match self { $($(Op::$op(p) => p.of_weights(),)+)* }
            }
            /// How many numbers of `x` it reads, where these are not all.
            pub fn of_input(&self) -> Option<usize> {
                match self { $($(Op::$op(p) => p.of_input(),)+)* }
            }
            /// Its backward pass, if it makes a layer; `activation` = the one that produced its input.
            pub fn gradient(&self, activation: u32) -> Option<Gradient> {
                match self { $($(Op::$op(p) => p.gradient(activation),)+)* }
            }
            /// Calls the CPU kernel, compiled for the vectors of the function that this is inlined into.
            #[inline(always)]
            pub fn run<T: Real>(&self, args: &StepArgs<T>, operands: Operands<'_, T>) {
                match self { $($(Op::$op(p) => p.run(args, operands),)+)* }
            }
        }

        /// One zeroed instance of each op, for tests that walk over all of them.
        pub fn all() -> Vec<Op> {
            vec![$($(Op::$op(bytemuck::Zeroable::zeroed()),)+)*]
        }

        /// Stem and text of every shader file with kernels: those of the ops, and `step`, which hands them their arguments.
        pub const SHADERS: &[(&str, &str)] = &[
            $((stringify!($family), shader!($family)), $($((stringify!($more), shader!($more)),)+)?)*
            ("step", shader!(step)),
        ];
    };
}

/// The text of `shaders/STEM.wgsl`.
macro_rules! shader {
    ($stem:ident) => {
        include_str!(concat!(env!("OUT_DIR"), "/shaders/", stringify!($stem), ".wgsl"))
    };
}

ops! {
    gather: GatherRows, AuxInputs, Dropout;
    images: GatherImages;
    linear [linear_tiled, linear_split]: LinearForward, LinearBackwardData, LinearBackwardWeight;
    conv [conv_tiled, conv_data_tiled, conv_split]: Conv2dForward, Conv2dBackwardData, Conv2dBackwardWeight;
    normed [normed_back]: NormConvForward, NormConvBackward;
    pooled [pooled_back]: ConvPoolForward, ConvPoolBackward;
    pool: MaxPool2Forward, MaxPool2Backward, AvgPoolForward, AvgPoolBackward;
    norm [norm_split]: BatchNormStats, BatchNormRunning, BatchNormForward, BatchNormSums, BatchNormBackward, BatchNormPull, Add;
    mlp: MlpPass;
    mlp_weights: MlpPack, MlpGradient;
    mlp_steps: MlpSteps;
    head: SoftmaxHead, GaussianHead, StudentHead, VifoHead;
    regularizer: ColumnMoments, WeighedMoments;
    weigh: WeighRows;
    periodic: PeriodicForward, PeriodicBackward;
    embed: EmbedForward, EmbedBackward, EmbedBackwardData;
    factor: FactorForward, FactorBackwardData, FactorBackwardWeight;
    reduce: LossReduce, SumSquares;
    optimizer: L2Gradient, Adam, Sgd;
    vi: ViSample, ViRegularizer, ViGradient;
    scaling: ScaleUp, ScaleDown, ScaleUpdate;
    average: SwaCollect, FadingMean, SwagCollect, SwagSample, RepeatWeights;
    dirichlet: DirichletHead;
    repulsion: PairDistances, KernelWeights, Repulsion;
    vbll: VbllForward, VbllBackwardData, VbllBackwardWeight, VbllHead, VbllRegularizer;
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
