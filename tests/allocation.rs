//! A training step on the CPU allocates nothing: its memory is planned when the program is loaded. Counted on this
//! thread by the global allocator; the toy's products are too small for a second thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use vifo::data::encode::{Encoder, Feature, FeatureKind, Target, Unseen};
use vifo::exec::cpu::CpuExecutor;
use vifo::method::{DataX, TrainProgram};
use vifo::recipe::Recipe;
use vifo::train::plan::TrainingPlan;

struct Counting;

thread_local! {
    // Without a destructor and with a constant start, so that touching it needs no memory itself.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    COUNT.with(|c| c.set(c.get() + 1));
}

// SAFETY: hands every request to the system allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise to us is the one to the system.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise to us is the one to the system.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise to us is the one to the system.
        unsafe { System.realloc(p, layout, size) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller's promise to us is the one to the system.
        unsafe { System.dealloc(p, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls of the allocator on this thread while `work` runs.
fn calls(work: impl FnOnce()) -> usize {
    let before = COUNT.with(Cell::get);
    work();
    COUNT.with(Cell::get) - before
}

const STEPS: u64 = 100;

/// Allocator calls of 100 steps after the first one, on 100 rows of one input.
fn calls_of_steps(recipe: &str, n_classes: Option<usize>, kind: FeatureKind) -> usize {
    let table = Recipe::parse(recipe, "test").expect("a recipe");
    let target = match n_classes {
        None => Target::Regression { name: "y".into(), mean: 0.0, sd: 1.0, min: -1.0, max: 1.0 },
        Some(k) => Target::Classes { name: "y".into(), labels: (0..k).map(|c| c.to_string()).collect() },
    };
    let features = vec![Feature { name: "x".into(), kind }];
    let encoder = Encoder { features, ..Encoder::of(target) };
    let plan =
        TrainingPlan::new(&Recipe::from_table(&table, "test").expect("a recipe"), 100, &encoder).expect("a plan");
    let TrainProgram { program, data_x, data_y, aux_range, weights, sums, .. } =
        plan.setup.record_training(u64::MAX).expect("a program");
    let mut exec = CpuExecutor::<f32>::new(program);
    let x: Vec<f32> = (0..100).map(|i| (i as f32 - 50.0) / 25.0).collect();
    let y: Vec<f32> = x.iter().map(|x| if n_classes.is_some() { f32::from(*x > 0.0) } else { x.sin() }).collect();
    let DataX::Rows(data_x) = data_x else { panic!("a table") };
    exec.set(data_x, &x);
    exec.set(data_y, &y);
    if let Some((low, high)) = aux_range {
        exec.set(low, &[-4.0]);
        exec.set(high, &[4.0]);
    }
    exec.set(weights, &plan.setup.initial_weights(1, false, -5.0));
    // The first step asks the processor for its features and the thread pool for its size: both are kept.
    exec.step(&plan.args(0).cast());
    let calls = calls(|| (1..=STEPS).for_each(|s| exec.step(&plan.args(s).cast())));
    // The steps were real ones: all counted, none with a loss that is not finite.
    // A batch counts by how full it is.
    let full = |s| plan.args(s).n_valid as f32 / plan.setup.batch as f32;
    assert_eq!(exec.get(sums)[3..5], [(0..=STEPS).map(full).sum::<f32>(), 0.0]);
    calls
}

#[test]
fn a_step_allocates_nothing() {
    let toy = "[data]\ntoy = \"sinusoid\"\n[train]\nbatch = 100\nlr = 0.001\n";
    let small_batches = "[data]\ntoy = \"sinusoid\"\n[train]\nbatch = 32\noptimizer = \"sgd\"\nclip = 1\n";
    let deep = "[net]\nhidden = [50, 50, 50, 50, 50]\n";
    let cases = [
        ("vifo-mean with aux", toy, deep, "eta_aux = 1\nsigma_link = \"exp\"\nmembers = 1", None),
        (
            "vifo-mv_all with aux",
            small_batches,
            "[net]\nactivation = \"silu\"\n",
            "eta_aux = 1\nexpectation = \"sampled\"\nmembers = 2",
            None,
        ),
        ("vi-mean", toy, "[net]\nactivation = \"mish\"\nembedding = \"periodic\"\n", "members = 2", None),
        (
            "base with factors",
            small_batches,
            "[net]\nactivation = \"selu\"\ninput_scale = true\nparametric = true\n",
            "members = 2",
            Some(3),
        ),
        ("vifo-mean on levels with aux", small_batches, "", "eta_aux = 1\nmembers = 2", None),
        ("vifo-l2", small_batches, "[net]\ndropout = 0.1\n", "members = 2", Some(3)),
        ("base", toy, deep, "members = 1", None),
        ("base of classes", small_batches, "[net]\ndropout = 0.1\n", "members = 2", Some(3)),
        ("vi-naive", toy, "[net]\nhidden = [50, 50]\n", "members = 1", None),
        (
            "base with rates and an average",
            "[data]\ntoy = \"sinusoid\"\n[train]\nbatch = 32\noptimizer = \"adamw\"\nweight_decay = 0.1\naverage = 0.99\n",
            "[net]\ndropout = 0.1\ndropout_schedule = \"flat_cosine\"\nparametrisation = \"ntk\"\n",
            "members = 2",
            None,
        ),
        ("vi-eb", small_batches, "[vi]\ngroups = \"layer\"\n", "members = 2", None),
    ];
    for (name, train, net, method, n_classes) in cases {
        let method_name = name.split(' ').next().expect("a name");
        let recipe = format!("{train}{net}[method]\nname = \"{method_name}\"\n{method}\n");
        let kind = match name.contains("levels") {
            false => FeatureKind::Numeric { mean: 0.0, sd: 1.0, min: -2.0, max: 2.0, robust: None },
            // A table of two rows, in which half of the numbers are.
            true => FeatureKind::Levels { levels: vec!["0".into(), "1".into()], unseen: Unseen::Zeros, embedded: true },
        };
        assert_eq!(calls_of_steps(&recipe, n_classes, kind), 0, "{name}");
    }
}

#[test]
fn the_counter_counts() {
    assert_eq!(calls(|| ()), 0);
    // One allocation and its release; black_box keeps the compiler from removing the pair.
    assert_eq!(calls(|| drop(std::hint::black_box(vec![1u8; 100]))), 2);
    assert_eq!(calls(|| drop(std::hint::black_box(vec![0u8; 100]))), 2);
    let mut v = Vec::with_capacity(1);
    assert!(calls(|| (0..100u64).for_each(|i| v.push(i))) > 0);
}
