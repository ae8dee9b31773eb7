//! The forms in which a GPU computes an op, and which of them an adapter gets. Every op has a plain form: one kernel of its
//! own name. Matrix products and convolutions have tiled forms too, through workgroup memory; where a sum is long, the forms for
//! hardware cut it into parts, in two kernels with scratch memory between. All forms of an op pass the same parity rows; nothing here runs.

mod resident;
mod tile;

use super::matrices::Matrix;
use crate::error::either;
use crate::ops::{Forms, Grid, Op, Product};
pub use tile::Tile;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Variant {
    /// A thread computes 4 x 4 numbers from what it loads itself.
    Plain,
    /// A workgroup computes a tile of these sizes from what it loads together: of the first a thread 8 x 8 numbers, else 4 x 4.
    Tile128x64,
    Tile64x64,
    Tile32x32,
    Tile64x16,
    /// Sums over rows cut into parts.
    Split,
    /// What is a thread's work in the plain form is shared by several.
    Shared,
}

/// What decides on the form before the sizes do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Hardware,
    /// Runs on the CPU, where workgroup memory is memory like any other and each barrier costs.
    Software,
}

impl Variant {
    pub const ALL: [Variant; 7] = [
        Variant::Plain,
        Variant::Tile128x64,
        Variant::Tile64x64,
        Variant::Tile32x32,
        Variant::Tile64x16,
        Variant::Split,
        Variant::Shared,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Variant::Plain => "plain",
            Variant::Tile128x64 => "128x64",
            Variant::Tile64x64 => "64x64",
            Variant::Tile32x32 => "32x32",
            Variant::Tile64x16 => "64x16",
            Variant::Split => "split",
            Variant::Shared => "shared",
        }
    }

    pub fn tile(self) -> Option<Tile> {
        match self {
            Variant::Plain | Variant::Split | Variant::Shared => None,
            Variant::Tile128x64 => Some(Tile { m: 128, n: 64, edge: 2, whole: false }),
            Variant::Tile64x64 => Some(Tile { m: 64, n: 64, edge: 1, whole: false }),
            Variant::Tile32x32 => Some(Tile { m: 32, n: 32, edge: 1, whole: false }),
            Variant::Tile64x16 => Some(Tile { m: 64, n: 16, edge: 1, whole: false }),
        }
    }
}

/// What stands at a binding behind the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    Input(usize),
    Output(usize),
    /// Scratch memory that this kernel writes, and that it reads.
    WriteScratch,
    ReadScratch,
    /// The step's arguments.
    Step,
    /// The arguments of many steps, and how many they are.
    Schedule,
    Count,
}

/// A slot, and the bytes of one element of its array.
pub type Bind = (Slot, u64);
const NUMBER: u64 = 4;
const QUAD: u64 = 16;

/// Constants of a pipeline by their names.
pub type Settings = Vec<(&'static str, u32)>;

/// One dispatch.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    /// Stem of the shader file.
    pub module: &'static str,
    pub entry: &'static str,
    /// What the pipeline's constants are made from.
    pub tile: Option<Tile>,
    /// Its other constants.
    pub settings: Settings,
    pub binds: Vec<Bind>,
    pub groups: u64,
    /// Threads of a workgroup.
    pub threads: u32,
    /// Bytes of workgroup memory besides the tile's.
    pub memory: u32,
    /// How its tiles are summed on matrix units, where they are.
    pub matrix: Option<Matrix>,
}

impl Kernel {
    /// "linear_forward_tiled 32x32".
    pub fn name(&self) -> String {
        let on = self.matrix.map_or(String::new(), |m| format!(" on matrices of {}", m.side));
        format!("{}{}{on}", self.entry, self.tile.map_or(String::new(), |t| format!(" {}", t.name())))
    }

    /// At most.
    pub fn workgroup_bytes(&self) -> u32 {
        let of_tile = |tile| if self.matrix.is_some() { Matrix::workgroup_bytes(tile) } else { tile.workgroup_bytes() };
        self.tile.map_or(PLAIN_MEMORY, of_tile) + self.memory
    }
}

/// An op as a GPU computes it: kernels in their order, and the scratch memory that they share.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    pub kernels: Vec<Kernel>,
    pub scratch_bytes: u64,
}

pub(super) fn cure() -> String {
    either(
        "use a smaller --batch, fewer members or --device cpu",
        "take fewer rows per step, fewer members, or the CPU",
    )
}

/// The most workgroup memory that a kernel without a tile takes: one pair for each of 256 threads.
const PLAIN_MEMORY: u32 = 2048;
/// Threads of a workgroup in the plain kernels.
const GROUP_SIZE: u32 = 64;
/// Lanes that share a thread's work, and threads of a workgroup: on software none, and as many as compute at a time; on hardware
/// as many as a layer of 128 units has work for.
const ALONE: (u32, u32) = (1, 8);
const TOGETHER: (u32, u32) = (16, 64);

impl Form {
    pub fn plain(op: &Op) -> Form {
        let product = op.product().filter(|_| op.is_tiled_only());
        if let Some(form) = product.and_then(|p| form_of_product(op, &p, Variant::Tile32x32, u64::MAX)) {
            return form;
        }
        match op.forms() {
            Forms::Shared => Form::with_lanes(op, ALONE),
            Forms::Resident => Form::resident(op, true),
            _ => Form::of_threads(op, GROUP_SIZE, 1, op.settings()),
        }
    }

    /// A kernel whose work of a thread is shared by `lanes` of the workgroup's `threads`.
    fn with_lanes(op: &Op, (lanes, threads): (u32, u32)) -> Form {
        let mut settings = op.settings();
        settings.extend([("LANES", lanes), ("THREADS", threads)]);
        Form::of_threads(op, threads, lanes.into(), settings)
    }

    fn of_threads(op: &Op, threads: u32, lanes: u64, settings: Settings) -> Form {
        let groups = match op.grid() {
            Grid::Threads(n) => (n * lanes).div_ceil(threads.into()),
            Grid::Groups(n) => n,
        };
        let element = |name: &&str| if op.quads().contains(name) { QUAD } else { NUMBER };
        let step = op.uses_step().then_some((Slot::Step, NUMBER));
        let inputs = op.inputs().iter().enumerate().map(|(i, name)| (Slot::Input(i), element(name)));
        let outputs = op.outputs().iter().enumerate().map(|(i, name)| (Slot::Output(i), element(name)));
        let binds = inputs.chain(outputs).chain(step).collect();
        let (module, entry) = (op.family(), op.name());
        let kernel = Kernel { module, entry, tile: None, settings, binds, groups, threads, memory: 0, matrix: None };
        Form { kernels: vec![kernel], scratch_bytes: 0 }
    }
}

/// Tiles of a product's results.
fn tiles_of(product: &Product, tile: Tile) -> u64 {
    product.count * product.m.div_ceil(tile.m.into()) * product.n.div_ceil(tile.n.into())
}

/// Threads that keep a large adapter busy: a thousand for each of a hundred or so multiprocessors.
const FULL_THREADS: u64 = 131_072;
/// The kernel that adds them up reads them one after another.
const MOST_PARTS: u64 = 256;
/// Rounds of a part that make its start and its share of the second kernel worth while.
const LEAST_ROUNDS: u64 = 4;

/// Into how many parts a sum of so many workgroups, of `threads` each, is cut: enough to fill the adapter, as far as there are
/// `rounds`, and `most` bytes for parts of `bytes`.
fn parts((groups, threads): (u64, u32), rounds: u64, bytes: u64, most: u64) -> u64 {
    let wanted = FULL_THREADS.div_ceil(groups.max(1) * u64::from(threads));
    wanted.min(MOST_PARTS).min(rounds / LEAST_ROUNDS).min(most / bytes.max(1)).max(1)
}

fn inputs(op: &Op, element: u64) -> impl Iterator<Item = Bind> {
    (0..op.inputs().len()).map(move |i| (Slot::Input(i), element))
}

fn outputs(op: &Op, element: u64) -> impl Iterator<Item = Bind> {
    (0..op.outputs().len()).map(move |i| (Slot::Output(i), element))
}

/// A weight gradient in two kernels: each part is a gradient of its own, the bias its last row.
fn split_gradient((module, split, combine): Names, product: &Product, tile: Tile, most: u64) -> Form {
    let bytes = product.count * (product.m + 1) * product.n.div_ceil(4) * QUAD;
    let groups = tiles_of(product, tile);
    let parts = parts((groups, tile.threads()), product.k.div_ceil(tile.depth().into()), bytes, most);
    let split = Kernel {
        module,
        entry: split,
        tile: Some(tile),
        settings: vec![],
        binds: vec![(Slot::Input(0), QUAD), (Slot::Input(1), QUAD), (Slot::WriteScratch, QUAD)],
        groups: groups * parts,
        threads: tile.threads(),
        memory: 0,
        matrix: None,
    };
    let combine = Kernel {
        module,
        entry: combine,
        // Of the same module, which has the same constants.
        tile: Some(Tile { whole: false, ..tile }),
        settings: vec![],
        binds: vec![(Slot::ReadScratch, QUAD), (Slot::Output(0), NUMBER)],
        groups: (bytes / QUAD).div_ceil(GROUP_SIZE.into()),
        threads: GROUP_SIZE,
        memory: 0,
        matrix: None,
    };
    Form { kernels: vec![split, combine], scratch_bytes: bytes * parts }
}

/// Threads of a workgroup that combines what tiles left.
const COMBINING: u32 = 256;
/// Bytes of workgroup memory of the fused kernels besides their tiles.
const FUSED_MEMORY: u32 = 4096;
/// The parts of a weights' gradient take no more memory than this share of what is read for them: they are written and read.
const PARTS_SHARE: u64 = 4;
/// Fewer than of a gradient alone: beside the other product's tiles they need not fill the adapter, and the adding up is shorter.
const MOST_FUSED_PARTS: u64 = 128;

/// A product and the product of the weights' gradient behind it, in one kernel, and a second that combines what both leave.
fn fused(op: &Op, (module, entry, combine): Names, own: usize, product: &Product, tile: Tile, most: u64) -> Form {
    let of_product = tiles_of(product, tile);
    let sums = product.count * product.m.div_ceil(tile.m.into()) * op.sums() * product.n.div_ceil(4) * QUAD;
    let (mut groups, mut scratch_bytes, mut quads) = (of_product, sums, 0);
    if let Some(p) = op.weight_product() {
        let bytes = p.count * (p.m + 1) * p.n.div_ceil(4) * QUAD;
        let read = NUMBER * op.lengths().0.iter().take(2).sum::<usize>() as u64;
        let most = most.min((read / PARTS_SHARE).max(bytes));
        let (tiles, rounds) = (tiles_of(&p, tile), p.k.div_ceil(tile.depth().into()));
        let parts = parts((tiles, tile.threads()), rounds, bytes, most).min(MOST_FUSED_PARTS);
        groups += tiles * parts;
        scratch_bytes += bytes * parts;
        quads = bytes / QUAD;
    }
    let step = || op.uses_step().then_some((Slot::Step, NUMBER));
    let main = Kernel {
        module,
        entry,
        tile: Some(tile),
        settings: vec![],
        binds: inputs(op, QUAD)
            .chain(outputs(op, QUAD).take(own))
            .chain([(Slot::WriteScratch, QUAD)])
            .chain(step())
            .collect(),
        groups,
        threads: tile.threads(),
        memory: FUSED_MEMORY,
        matrix: None,
    };
    let mut kernels = vec![main];
    let (Grid::Groups(columns) | Grid::Threads(columns)) = op.grid();
    if op.sums() > 0 || op.weight_product().is_some() {
        kernels.push(Kernel {
            module,
            entry: combine,
            tile: Some(Tile { whole: false, ..tile }),
            settings: vec![],
            binds: std::iter::once((Slot::ReadScratch, QUAD))
                .chain(outputs(op, NUMBER).skip(own))
                .chain(step())
                .collect(),
            groups: columns + quads.div_ceil(COMBINING.into()),
            threads: COMBINING,
            memory: FUSED_MEMORY,
            matrix: None,
        });
    }
    Form { kernels, scratch_bytes }
}

/// Module, entry of the kernel that sums parts, entry of the one that combines them.
type Names = (&'static str, &'static str, &'static str);

/// Channels and rows that a workgroup which sums over rows reads at a time.
const CHANNELS: u64 = 16;
const ROWS: u64 = 16;

/// What the plain kernel has a workgroup for, of a workgroup that combines parts.
const COMBINED: u64 = 4;

/// Sums over rows in two kernels: `sums` numbers of each channel and part, combined by several lanes each.
fn split_sums(op: &Op, (module, split, combine): Names, sums: u64, p: &Product, most: u64) -> Form {
    let bytes = p.count * p.m * sums * NUMBER;
    let groups = p.count * p.m.div_ceil(CHANNELS);
    let threads = (CHANNELS * ROWS) as u32;
    let parts = parts((groups, threads), p.k.div_ceil(ROWS), bytes, most);
    let split = Kernel {
        module,
        entry: split,
        tile: None,
        settings: vec![],
        binds: inputs(op, NUMBER).chain([(Slot::WriteScratch, NUMBER), (Slot::Step, NUMBER)]).collect(),
        groups: groups * parts,
        threads,
        memory: 0,
        matrix: None,
    };
    let read = std::iter::once((Slot::ReadScratch, NUMBER));
    let combine = Kernel {
        module,
        entry: combine,
        tile: None,
        settings: vec![],
        binds: read.chain(outputs(op, NUMBER)).chain([(Slot::Step, NUMBER)]).collect(),
        groups: match op.grid() {
            Grid::Groups(n) | Grid::Threads(n) => n.div_ceil(COMBINED),
        },
        threads: GROUP_SIZE,
        memory: 0,
        matrix: None,
    };
    Form { kernels: vec![split, combine], scratch_bytes: bytes * parts }
}

/// The form of an op in a variant; None where it has none. `most` = bytes that a binding may hold.
pub fn form(op: &Op, variant: Variant, most: u64) -> Option<Form> {
    match (variant, op.forms()) {
        (Variant::Plain, _) => return Some(Form::plain(op)),
        (Variant::Shared, Forms::Shared) => return Some(Form::with_lanes(op, TOGETHER)),
        (Variant::Shared, Forms::Resident) => return Some(Form::resident(op, false)),
        _ => {}
    }
    form_of_product(op, &op.product()?, variant, most)
}

/// The same of an op that is such a product.
pub(super) fn form_of_product(op: &Op, product: &Product, variant: Variant, most: u64) -> Option<Form> {
    if matches!(variant, Variant::Plain | Variant::Shared) {
        return None;
    }
    let tile = variant.tile().map(|tile| Tile { whole: product.whole, ..tile });
    match (op.forms(), tile) {
        (Forms::Tiled { module, entry, quads }, Some(tile)) => {
            let (entry, element) = if product.n.is_multiple_of(4) { (quads, QUAD) } else { (entry, NUMBER) };
            let kernel = Kernel {
                module,
                entry,
                tile: Some(tile),
                settings: vec![],
                binds: inputs(op, QUAD).chain(outputs(op, element)).collect(),
                groups: tiles_of(product, tile),
                threads: tile.threads(),
                memory: 0,
                matrix: None,
            };
            Some(Form { kernels: vec![kernel], scratch_bytes: 0 })
        }
        (Forms::Fused { module, entry, combine, own }, Some(tile)) => {
            Some(fused(op, (module, entry, combine), own, product, tile, most))
        }
        (Forms::SplitGradient { module, split, combine }, Some(tile)) => {
            Some(split_gradient((module, split, combine), product, tile, most))
        }
        (Forms::SplitSums { module, split, combine, sums }, None) => {
            Some(split_sums(op, (module, split, combine), sums, product, most))
        }
        _ => None,
    }
}

/// Bytes that a binding may hold.
pub(super) fn most_bytes(limits: &wgpu::Limits) -> u64 {
    limits.max_buffer_size.min(limits.max_storage_buffer_binding_size)
}

/// What an adapter cannot hold or start, as (found, allowed, cure).
pub(super) fn beyond(form: &Form, limits: &wgpu::Limits) -> Option<(String, String, String)> {
    let most = most_bytes(limits);
    if form.scratch_bytes > most {
        let found = format!("{} needs {} bytes of scratch memory", form.kernels[0].entry, form.scratch_bytes);
        return Some((found, format!("{most} bytes per buffer"), cure()));
    }
    for kernel in &form.kernels {
        let name = kernel.entry;
        let buffers = kernel.binds.len() as u32;
        let threads = limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x);
        for (need, most, what) in [
            (buffers, limits.max_storage_buffers_per_shader_stage, "storage buffers"),
            (kernel.workgroup_bytes(), limits.max_compute_workgroup_storage_size, "bytes of workgroup memory"),
            (kernel.threads, threads, "threads per workgroup"),
        ] {
            if need > most {
                return Some((
                    format!("{name} needs {need} {what}"),
                    format!("{most}"),
                    either("use --device cpu", "train on the CPU"),
                ));
            }
        }
        if dispatch(kernel, limits.max_compute_workgroups_per_dimension).is_none() {
            let found = format!("{name} needs {} workgroups of {} threads", kernel.groups, kernel.threads);
            let side = limits.max_compute_workgroups_per_dimension;
            return Some((found, format!("{side} x {side} workgroups and {} threads a dispatch", u32::MAX), cure()));
        }
    }
    None
}

/// Workgroups in x and y; None where the flat index would not fit 32 bits or the grid would not fit the limit.
pub(super) fn dispatch(kernel: &Kernel, most: u32) -> Option<(u32, u32)> {
    let (count, threads) = (kernel.groups, u64::from(kernel.threads));
    let y = count.div_ceil(most.into()).max(1);
    let x = count.div_ceil(y);
    // The rounded-up grid may be larger than asked for, and its last index must fit too.
    (x.saturating_mul(y).saturating_mul(threads) <= u32::MAX.into() && y <= most.into()).then_some((x as u32, y as u32))
}

/// Least sizes m, n, k of a product that a variant is good for on hardware, and the workgroups that it should make at least;
/// the first line that holds wins, the plain form where none does. The result's rows and columns decide first, because a tile
/// larger than the result computes nothing with the rest; then a few large tiles would leave most of a large adapter idle.
/// Not measured on hardware: the tiles are those that others settled on, the sizes follow from them.
const CHOICES: [(Variant, [u64; 3], u64); 8] = [
    (Variant::Tile128x64, [97, 49, 64], 192),
    (Variant::Tile64x64, [49, 49, 16], 96),
    (Variant::Tile32x32, [17, 17, 8], 96),
    (Variant::Tile64x16, [33, 5, 16], 96),
    // Small products: whatever has more workgroups.
    (Variant::Tile32x32, [17, 17, 8], 1),
    (Variant::Tile64x16, [33, 5, 16], 1),
    // Few results of long sums, as a first layer's weight gradient: many threads a result.
    (Variant::Tile32x32, [1, 1, 1024], 1),
    (Variant::Split, [1, 1, 128], 1),
];

/// The variant of an op on an adapter: the first of the table that its limits allow.
pub fn choose(op: &Op, class: Class, limits: &wgpu::Limits) -> Variant {
    if class == Class::Hardware && matches!(op.forms(), Forms::Shared | Forms::Resident) {
        let fits = form(op, Variant::Shared, most_bytes(limits)).is_some_and(|form| beyond(&form, limits).is_none());
        return if fits { Variant::Shared } else { Variant::Plain };
    }
    let (Class::Hardware, Some(p)) = (class, op.product()) else { return Variant::Plain };
    let fits = |variant: Variant, least: [u64; 3], groups: u64| {
        let form = form(op, variant, most_bytes(limits))?;
        let sizes = [p.m, p.n, p.k].iter().zip(least).all(|(have, least)| *have >= least);
        (sizes && form.kernels[0].groups >= groups && beyond(&form, limits).is_none()).then_some(variant)
    };
    CHOICES.iter().find_map(|(v, least, groups)| fits(*v, *least, *groups)).unwrap_or(Variant::Plain)
}

impl super::Gpu {
    /// The variants of an op that this adapter can run, the plain one first; and the one that it gets.
    pub fn variants(&self, op: &Op) -> (Vec<Variant>, Variant) {
        let fits = |v: &Variant| {
            form(op, *v, most_bytes(&self.limits)).is_some_and(|form| beyond(&form, &self.limits).is_none())
        };
        (Variant::ALL.into_iter().filter(fits).collect(), choose(op, self.class, &self.limits))
    }
}

/// The variants that an adapter of these limits may get, for `vifo doctor`.
pub(super) fn on_offer(class: Class, limits: &wgpu::Limits) -> Vec<&'static str> {
    let threads = limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x);
    let fits = |v: &Variant| match v.tile() {
        Some(t) => t.threads() <= threads && t.workgroup_bytes() <= limits.max_compute_workgroup_storage_size,
        None => *v == Variant::Plain || (CHANNELS * ROWS) as u32 <= threads,
    };
    let hardware = class == Class::Hardware;
    Variant::ALL.iter().filter(|v| **v == Variant::Plain || hardware && fits(v)).map(|v| v.name()).collect()
}

#[cfg(test)]
mod tests;
