//! What an op declares beside its parameters, for the executors, the checks and the backward pass. `ops!` dispatches to it by
//! a match on `Op`: no op is named outside its own file.

use super::{Op, StepArgs};
use crate::base::Real;

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

/// Least numbers of elements of the inputs and of the outputs, in binding order.
pub type Lengths = (Vec<usize>, Vec<usize>);

/// The most inputs and outputs that an op may have.
pub const MAX_INPUTS: usize = 6;
pub const MAX_OUTPUTS: usize = 4;

/// A step's memory on the CPU, in binding order; what an op does not have is empty.
pub struct Operands<'a, T> {
    pub inputs: [&'a [T]; MAX_INPUTS],
    /// The inputs of an op that reads bytes.
    pub bytes: [&'a [u8]; MAX_INPUTS],
    pub outputs: [&'a mut [T]; MAX_OUTPUTS],
    /// At least `OpSpec::scratch` elements, with anything in them.
    pub scratch: &'a mut [T],
}

/// An op: parameters, laid out as the shader's uniform struct, and all that is known of it.
pub trait OpSpec: bytemuck::Pod {
    /// Entry point of the shader, CPU kernel, pipeline label and test row. This and the next four are written by `binds!`.
    const NAME: &'static str;
    const INPUTS: &'static [&'static str];
    /// Read and written: an op may add to what stands there.
    const OUTPUTS: &'static [&'static str];
    /// Whether the kernel reads the step's arguments (the last binding).
    const USES_STEP: bool;
    /// Whether the inputs hold bytes in place of scalars.
    const READS_BYTES: bool;
    /// Kernels for GPU hardware besides the plain one.
    const FORMS: Forms = Forms::Plain;
    /// Inputs and outputs that the plain kernel reads and writes as quadruples.
    const QUADS: &'static [&'static str] = &[];
    /// Inputs and outputs that may be stored in 16 bits (`Element::Half`); they are converted as they are read and written.
    const HALVES: &'static [&'static str] = &[];

    fn grid(&self) -> Grid;

    /// Elements of scratch memory that the CPU kernel needs.
    fn scratch(&self) -> usize {
        0
    }

    /// What the buffers must hold. The shaders run without bounds checks and rest on it.
    fn lengths(&self) -> Lengths;

    /// What the sizes must satisfy among themselves beyond `lengths`: the shaders rest on it too.
    fn sizes_agree(&self) -> bool;

    /// Calls the CPU kernel. It allocates nothing.
    fn run<T: Real>(&self, args: &StepArgs<T>, operands: Operands<'_, T>);

    /// Constants of its pipelines, by their names in the shader: what a kernel should not branch on.
    fn settings(&self) -> Vec<(&'static str, u32)> {
        vec![]
    }

    /// Threads of a workgroup of `Forms::Resident`, and bytes of workgroup memory; `alone` = on software, where one after another computes.
    fn workgroup(&self, alone: bool) -> (u32, u32) {
        let _ = alone;
        (0, 0)
    }

    /// Additions and multiplications, where neither a product nor the number of elements tells them.
    fn flops(&self) -> Option<f64> {
        None
    }

    /// The matrix product that this is, if it is one: the GPU's choice of a form goes by its sizes.
    fn product(&self) -> Option<Product> {
        None
    }

    /// The product of the weights' gradient, where one op makes both gradients of a layer (`Forms::Fused`).
    fn weight_product(&self) -> Option<Product> {
        None
    }

    /// Numbers that a tile of `Forms::Fused` leaves of each of its columns.
    fn sums(&self) -> u64 {
        0
    }

    /// How many numbers of the operands `weights` and `grad` it reads or writes, where these are not all.
    fn of_weights(&self) -> Option<usize> {
        None
    }

    /// How many numbers of the operand `x` it reads, where these are not all: windows may leave pixels out.
    fn of_input(&self) -> Option<usize> {
        None
    }

    /// The backward pass, for an op that makes a layer; `activation` = the one that produced its input.
    fn gradient(&self, activation: u32) -> Option<Gradient> {
        let _ = activation;
        None
    }
}

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

/// Binds names inside `impl OpSpec`: `binds!(kernel(step): [inputs] -> [outputs], scratch)`. `(step)` where the CPU kernel takes the
/// step's arguments, `bytes` before inputs that hold bytes, `scratch` where the CPU kernel takes scratch memory.
macro_rules! binds {
    (@second $first:ident $second:expr) => { $second };
    (@given) => { false };
    (@given $step:ident) => { true };
    (@names $entry:ident [$($step:ident)?] [$($input:ident)*] [$($output:ident)*] $bytes:literal) => {
        const NAME: &'static str = stringify!($entry);
        const INPUTS: &'static [&'static str] = &[$(stringify!($input)),*];
        const OUTPUTS: &'static [&'static str] = &[$(stringify!($output)),*];
        const USES_STEP: bool = $crate::ops::binds!(@given $($step)?);
        const READS_BYTES: bool = $bytes;
    };
    (@run $entry:ident [$($step:ident)?] $from:ident [$($input:ident)*] [$($output:ident)*] [$($scratch:ident)?]) => {
        #[inline(always)]
        fn run<T: $crate::base::Real>(&self, _args: &$crate::ops::StepArgs<T>, operands: $crate::ops::Operands<'_, T>) {
            let ([$($input,)* ..], [$($output,)* ..]) = (operands.$from, operands.outputs);
            $entry(
                self,
                $($crate::ops::binds!(@second $step _args),)?
                $($input,)*
                $($output,)*
                $($crate::ops::binds!(@second $scratch operands.scratch),)?
            )
        }
    };
    ($entry:ident $(($step:ident))?: [$($input:ident),*] -> [$($output:ident),*] $(, $scratch:ident)?) => {
        $crate::ops::binds!(@names $entry [$($step)?] [$($input)*] [$($output)*] false);
        $crate::ops::binds!(@run $entry [$($step)?] inputs [$($input)*] [$($output)*] [$($scratch)?]);
    };
    ($entry:ident $(($step:ident))?: bytes [$($input:ident),*] -> [$($output:ident),*]) => {
        $crate::ops::binds!(@names $entry [$($step)?] [$($input)*] [$($output)*] true);
        $crate::ops::binds!(@run $entry [$($step)?] bytes [$($input)*] [$($output)*] []);
    };
}
pub(crate) use binds;

/// How the gradient of an op's output becomes those of its inputs and weights.
#[derive(Debug, Clone, PartialEq)]
pub enum Gradient {
    /// It is that of every input, as of a sum.
    OfEachInput,
    /// These steps one after another.
    Steps(Vec<GradientStep>),
}

/// One op of a backward pass, and what it reads and writes.
#[derive(Debug, Clone, PartialEq)]
pub struct GradientStep {
    pub op: Op,
    pub reads: &'static [Place],
    pub writes: &'static [Place],
}

/// A buffer as a backward pass sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Input and output of the forward pass, and their gradients. A step that writes `Dx` is left out where nothing asks
    /// for it.
    X,
    Y,
    Dy,
    Dx,
    /// What the slope of the input's activation is read from.
    Saved,
    /// The flat weights, and their flat gradient: each element is written by one layer, with `=`.
    Weights,
    Grad,
    /// What the forward pass kept besides, as batch normalisation its statistics.
    Kept,
    /// Handed from one of the steps to a later one; its name in the program.
    Between(&'static str),
}

/// Sizes of the matrix product that an op is: [m, k] times [k, n], `count` times. Sums over the rows of m channels are one
/// with n = 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Product {
    pub count: u64,
    pub m: u64,
    pub n: u64,
    pub k: u64,
    /// What it reads stands in whole quadruples: each row begins at a multiple of four and is as long.
    pub whole: bool,
}

/// Whether rows of so many numbers, and offsets, keep all in whole quadruples; `stride` = from one replica's weights to the next's.
pub(crate) fn in_quadruples(all: &[u32], replicas: u32, stride: u32) -> bool {
    all.iter().all(|n| n.is_multiple_of(4)) && (replicas <= 1 || stride.is_multiple_of(4))
}

/// Kernels that GPU hardware has for an op besides the plain one of its own name; `module` = stem of the shader file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forms {
    /// None.
    Plain,
    /// A matrix product through tiles in workgroup memory; `quads` stores four numbers at a time, where n allows it. An op whose
    /// `entry` bears its own name has no plain kernel: a small tile is its plain form.
    Tiled { module: &'static str, entry: &'static str, quads: &'static str },
    /// A weight gradient through tiles, its sum cut into parts: `split` sums them, each a gradient of its own with the bias
    /// as its last row, `combine` adds them up.
    SplitGradient { module: &'static str, split: &'static str, combine: &'static str },
    /// A product through tiles that leave `OpSpec::sums` of their columns in scratch memory, and after its tiles those of
    /// `OpSpec::weight_product`, in parts. It writes the first `own` outputs, `combine` the others: one workgroup for each of
    /// `OpSpec::grid`, then those that add up the parts. There is no plain form besides a small tile.
    Fused { module: &'static str, entry: &'static str, combine: &'static str, own: usize },
    /// Sums over rows cut into parts of `sums` numbers per channel; `combine` adds up the parts of what is a workgroup of the
    /// plain kernel.
    SplitSums { module: &'static str, split: &'static str, combine: &'static str, sums: u64 },
    /// Work of a thread that on hardware several share: the plain kernel with other constants LANES and THREADS.
    Shared,
    /// Many steps in a dispatch, a workgroup of `OpSpec::workgroup` for each of `OpSpec::grid`: it reads the schedule itself. Such an
    /// op is a program alone.
    Resident,
}

/// Elements of an array of these sizes.
pub(crate) fn elements(sizes: &[u32]) -> usize {
    sizes.iter().map(|&n| n as usize).product()
}

/// The same for sizes whose product a `usize` of 32 bits might not hold.
pub(crate) fn elements_u64(sizes: &[u32]) -> u64 {
    sizes.iter().map(|&n| u64::from(n)).product()
}

/// Whether `len` elements from `first` on lie in a vector of `all`.
pub(crate) fn fits(first: u32, len: u64, all: u32) -> bool {
    u64::from(first) + len <= u64::from(all)
}

/// Whether replicas can share something, `share` of them each.
pub(crate) fn shared(replicas: u32, share: u32) -> bool {
    share > 0 && replicas.is_multiple_of(share)
}
