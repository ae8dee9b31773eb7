//! Networks on images, and their running statistics.

use super::*;

/// The bundled digits: crops, batch norm with running statistics, pooling, every method kind.
pub const IMAGES: &str = "
[data]
images = \"digits\"
limit = 70
crop = 1
[method]
name = \"base\"
members = 2
[train]
epochs = 2
batch = 32
patience = 0
";

pub const IMAGE_NETS: [&str; 5] = [
    "net.name = cnn\nnet.widths = [4, 6]\nnet.hidden = [8]",
    "net.name = preresnet\nnet.depth = 8\nnet.widths = [4]\nmethod.name = vifo-mean\nmethod.eta_aux = 0.5",
    "net.name = preresnet\nnet.depth = 8\nnet.widths = [4]\nmethod.name = vi-mean\nmethod.samples = 2",
    "net.name = alexnet\nnet.widths = [4, 5, 6, 5, 4]\nnet.hidden = [8]\nnet.dropout = 0.1",
    "net.name = mlp\nnet.hidden = [9]\nmethod.name = vifo-eb",
];

/// Running statistics of batch normalisation and chosen weights come back as well; threads change nothing.
#[test]
fn images_train_the_same_cut_resumed_and_on_any_threads() {
    for net in IMAGE_NETS {
        let run = |threads: usize| {
            let (plan, data) = prepare(IMAGES, net);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| {
                let whole = train(&plan, &data).0;
                assert_eq!(whole, train_in_two(&plan, &data, 1), "{net}, {threads} threads");
                whole
            })
        };
        let one = run(1);
        assert!(weights(&one).iter().all(|w| w.is_finite()), "{net}");
        assert_eq!(one.running.is_empty(), !net.contains("preresnet"), "{net}");
        assert_eq!(one, run(3), "{net}");
    }
}

/// A training step moves the statistics from (0, 1) a tenth of the way to the batch's own; recomputing gives those, and over
/// several batches their average by rows.
#[test]
fn running_statistics_are_recomputed_for_given_weights() {
    let net = "net.name = preresnet\nnet.depth = 8\nnet.widths = [3]\ndata.crop = 0\ndata.validation_fraction = 0";
    let (plan, data) = prepare(IMAGES, &format!("{net}\ntrain.batch = 70"));
    let setup = &plan.setup;
    assert_eq!(setup.n_rows, 70, "one batch");
    let weights = setup.initial_weights(plan.seed, false, 0.0);
    let mut session = Session::new(setup, &Device::Cpu, &data.train, &data.encoder.aux_range()).expect("a session");
    session.set_weights(&weights).expect("weights");
    session.run(&[StepArgs { lr: 0.0, ..plan.args(0) }]).expect("a step");
    let (after, before) = (session.running().expect("statistics"), setup.initial_running());
    let weights = Trained::plain(weights, vec![]);
    let all = recompute_running(setup, &Device::Cpu, &weights, plan.seed, data.train.inputs()).expect("statistics");
    assert_eq!(all.len(), after.len());
    for ((after, before), all) in after.iter().zip(&before).zip(&all) {
        let own = before + (after - before) / 0.1;
        assert!((own - all).abs() <= 1e-4 * (1.0 + all.abs()), "{own} {all}");
    }
    // 70 = 32 + 32 + 6 rows: means average to the mean of all rows.
    let short = vifo::method::ModelSpec { batch: 32, ..setup.clone() };
    let parts = recompute_running(&short, &Device::Cpu, &weights, plan.seed, data.train.inputs()).expect("statistics");
    let (_, c, at) = &setup.layout().norms[0];
    for i in *at..at + c {
        assert!((parts[i] - all[i]).abs() <= 1e-5 * (1.0 + all[i].abs()), "{} {}", parts[i], all[i]);
    }
    assert!(parts[at + c..at + 2 * c] != all[at + c..at + 2 * c], "variances of parts are not those of the whole");
}

/// The steps of an epoch on lavapipe against the same on the CPU. Both round each of some ten layers' sums in their own
/// order, and three steps of plain SGD carry that on; with batch norm the division by a small sd widens it: 1e-3 of the
/// loss and of the largest weight. Once with the kernels of a software adapter and once with those of hardware.
fn train_alike(nets: &[&str]) {
    let open = || gpu::open(gpu::Choice::Software).expect("a software adapter");
    let gpus = [Arc::new(open()), Arc::new(as_hardware(open()))];
    let devices = gpus.clone().map(Device::Gpu);
    for net in nets {
        let sgd = "train.optimizer = sgd\ntrain.lr = 0.01\ntrain.epochs = 1\ndata.validation_fraction = 0";
        let (plan, data) = prepare(IMAGES, &format!("{net}\n{sgd}"));
        let run = |device: &Device| {
            let mut trainer = Trainer::new(&plan, &data, device).expect("a trainer");
            let mut loss = f64::NAN;
            trainer
                .run(|_, event| {
                    if let Event::Epoch(row) = event {
                        loss = row.loss;
                    }
                    Ok(Flow::Continue)
                })
                .unwrap_or_else(|e| panic!("{net}: {e}"));
            let c = trainer.checkpoint().expect("a checkpoint");
            (loss, c.trained.weights, c.trained.running)
        };
        let cpu = run(&Device::Cpu);
        let found = devices.each_ref().map(run);
        // Of the kernels and not of the weights: an adapter may add in an order that gives the same bits in both.
        let program = plan.setup.record_training(devices[0].max_bytes_binding()).expect("a program").program;
        let differ = program.steps.iter().any(|s| gpus[0].variants(&s.op).1 != gpus[1].variants(&s.op).1);
        assert!(differ, "{net}: the same kernels");
        for gpu in &found {
            assert!((cpu.0 - gpu.0).abs() <= 1e-3 * cpu.0.abs(), "{net}: losses {} and {}", cpu.0, gpu.0);
            for (what, a, b) in [("weights", &cpu.1, &gpu.1), ("running statistics", &cpu.2, &gpu.2)] {
                let scale = a.iter().fold(1e-3f32, |m, v| m.max(v.abs()));
                let worst = a
                    .iter()
                    .zip(b)
                    .map(|(a, b)| (a - b).abs())
                    .fold(0.0, |m: f32, e| if e > m || e.is_nan() { e } else { m });
                assert!(worst <= 1e-3 * scale, "{net}: {what} differ by {worst} of {scale}");
            }
        }
    }
}

#[test]
fn images_train_alike_on_cpu_and_software_adapter() {
    train_alike(&IMAGE_NETS);
}

/// What `tests/witness/run` has other drivers train: they compile for long, and this network has few kernels.
#[test]
#[ignore = "for tests/witness/run: images_train_alike_on_cpu_and_software_adapter trains this network and others"]
fn a_convolutional_network_trains_alike() {
    train_alike(&IMAGE_NETS[..1]);
}

// ---- pinned losses ----
