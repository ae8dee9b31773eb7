//! Trainings that store activations in 16 bits.

use super::images::{IMAGE_NETS, IMAGES};
use super::*;
use crate::op_parity::gpu;
use vifo::method::LOSS_SCALE;
use vifo::ops::Op;
use vifo::program::{Element, Program};

const HALF: &str = "train.precision = f16";

fn program(base: &str, extra: &str) -> Program {
    prepare(base, extra).0.setup.record_training(u64::MAX).expect("a program").program
}

/// Killed after an epoch and resumed, on one thread and three: the same to the bit; and not the same as in f32.
#[test]
fn they_resume_to_the_bit() {
    let tables = METHODS.into_iter().chain(["method.name = repulsive", "method.name = base\ntrain.optimizer = sgd"]);
    let tables = tables.map(|method| (SMALL, method));
    for (base, extra) in tables.chain(IMAGE_NETS[..3].iter().map(|net| (IMAGES, *net))) {
        let run = |threads: usize| {
            let (plan, data) = prepare(base, &format!("{extra}\n{HALF}"));
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| {
                let whole = train(&plan, &data).0;
                assert_eq!(whole, train_in_two(&plan, &data, 1), "{extra}, {threads} threads");
                whole
            })
        };
        let one = run(1);
        assert!(weights(&one).iter().all(|w| w.is_finite()), "{extra}");
        assert!(
            one.optimizer.iter().any(|(name, state)| name == LOSS_SCALE && state.iter().any(|s| *s != 0)),
            "{extra}"
        );
        assert_eq!(one, run(3), "{extra}");
        let (plan, data) = prepare(base, extra);
        assert_ne!(one.weights, train(&plan, &data).0.weights, "{extra}");
    }
}

/// What lies between layers is in halves; without the key nothing is, and the program is the one that was there before.
#[test]
fn halves_are_recorded_where_they_are_asked_for() {
    for net in IMAGE_NETS {
        assert!(!program(IMAGES, net).has_halves());
        assert!(!program(IMAGES, net).to_string().contains("scale_"));
        let halves = program(IMAGES, &format!("{net}\n{HALF}"));
        let bytes = |program: &Program, kind| -> u64 {
            let of = program
                .buffers
                .iter()
                .filter(|b| b.kind == kind && b.name.contains('.') && !b.name.starts_with("data."));
            of.map(|b| b.len as u64 * b.kind.bytes()).sum()
        };
        let all = bytes(&program(IMAGES, net), Element::Scalar);
        let (half, whole) = (bytes(&halves, Element::Half), bytes(&halves, Element::Scalar));
        assert!(2 * half > all / 2, "{net}: {half} bytes in halves, {whole} in f32, of {all}\n{halves}");
        let is_product =
            |op: &Op| op.product().is_some() && op.name() != "batch_norm_stats" && op.name() != "batch_norm_sums";
        for step in halves.steps.iter().filter(|s| is_product(&s.op)) {
            for (buf, operand) in
                step.inputs.iter().zip(step.op.inputs()).filter(|(_, o)| ["x", "dy", "weights"].contains(o))
            {
                let info = halves.info(*buf);
                assert_eq!(info.kind, Element::Half, "{net}: {} reads {} as {operand}", step.op.name(), info.name);
            }
        }
    }
}

/// A loss of a gradient too large for 16 bits: the first steps change nothing but the scale, which falls until they fit.
#[test]
fn an_overflow_lowers_the_scale_and_skips_the_step() {
    // Targets of a thousand noise sds: gradients of 1e3 / 20 rows, 2^16 times as large.
    let extra = format!(
        "{HALF}\ndata.standardise = false\ndata.toy = cubic\ndata.rows = 60\nmethod.members = 1\ntrain.schedule = constant"
    );
    let (plan, data) = prepare(SMALL, &extra);
    let aux = data.encoder.aux_range();
    let mut session = Session::new(&plan.setup, &Device::Cpu, &data.train, &aux).expect("a session");
    let start = plan.initial_weights(&[&data.train]);
    session.start_from(&start).expect("weights");
    let state = |session: &mut Session, name: &str| {
        session.optimizer().expect("a state").into_iter().find(|(n, _)| n == name).expect("it is kept").1
    };
    let mut skipped = 0;
    for step in 0..40 {
        let (before, moment) = (session.weights().expect("weights"), state(&mut session, "adam.second"));
        let scale = state(&mut session, LOSS_SCALE);
        session.run(&[plan.args(step)]).expect("a step");
        let (after, now) = (session.weights().expect("weights"), state(&mut session, LOSS_SCALE));
        if now[0] < scale[0] {
            skipped += 1;
            assert_eq!((now[0], now[1]), (scale[0] - 1.0, 0.0));
            assert_eq!((before, moment), (after, state(&mut session, "adam.second")), "step {step} was not skipped");
        } else {
            assert_eq!((now[0], now[1]), (scale[0], scale[1] + 1.0));
            assert_ne!(before, after, "step {step}");
        }
    }
    assert!((1..=30).contains(&skipped), "{skipped} of 40 steps skipped");
    assert_eq!(session.take_sums().expect("sums").bad, None);
}

/// A gradient that is not finite at scale 1 either ends the training in one line.
#[test]
fn a_gradient_that_fits_no_scale_is_an_error() {
    let (plan, data) =
        prepare(SMALL, &format!("{HALF}\nmethod.members = 1\nnet.dropout = 0\ntrain.epochs = 40\ntrain.patience = 0"));
    let mut trainer = Trainer::new(&plan, &data, &Device::Cpu).expect("a trainer");
    // Small hidden units times large weights: the loss is a finite number, the gradient of the units is beyond 65,504.
    let layout = plan.setup.layout();
    let mut weights = vec![0.0; layout.total];
    let (last, others) = layout.views.split_last().expect("layers");
    others.iter().filter(|v| v.name.ends_with("bias")).for_each(|v| weights[v.offset..][..v.len()].fill(1e-3));
    let before = others.last().expect("the last layer's weights");
    assert!(last.name.ends_with("bias") && before.name.ends_with("weight"));
    weights[before.offset..][..before.len()].iter_mut().step_by(2).for_each(|w| *w = 6e4);
    trainer.start_from(&weights, &[]).expect("weights");
    let error = trainer.run(|_, _| Ok(Flow::Continue)).expect_err("it cannot be trained").to_string();
    assert!(!error.contains('\n') && error.contains("gradient") && error.contains("step 16"), "{error}");
}

/// The steps of an epoch on the software adapter, where it has halves, against the same on the CPU. Not derived but estimated: each
/// of some ten layers' activations may round to the other neighbour, 1e-3 of it, and three steps carry that on.
#[test]
fn images_train_alike_in_16_bits() {
    if !gpu().report().halves {
        let (plan, data) = prepare(IMAGES, &format!("{}\n{HALF}", IMAGE_NETS[0]));
        let refused = Trainer::new(&plan, &data, &Device::Gpu(gpu())).err().expect("no f16 here").to_string();
        assert!(refused.contains("f16") && !refused.contains('\n'), "{refused}");
        return;
    }
    let hardware = Arc::new(as_hardware(gpu::open(gpu::Choice::Software).expect("a software adapter")));
    for net in IMAGE_NETS {
        let sgd = "train.optimizer = sgd\ntrain.lr = 0.01\ntrain.epochs = 1\ndata.validation_fraction = 0";
        let (plan, data) = prepare(IMAGES, &format!("{net}\n{sgd}\n{HALF}"));
        let run = |device: &Device| {
            let mut trainer = Trainer::new(&plan, &data, device).expect("a trainer");
            let mut loss = f64::NAN;
            let ending = trainer.run(|_, event| {
                if let Event::Epoch(row) = event {
                    loss = row.loss;
                }
                Ok(Flow::Continue)
            });
            ending.unwrap_or_else(|e| panic!("{e}"));
            (loss, trainer.checkpoint().expect("a checkpoint").trained.weights)
        };
        let (want, want_weights) = run(&Device::Cpu);
        for device in [Device::Gpu(gpu()), Device::Gpu(hardware.clone())] {
            let (loss, weights) = run(&device);
            let largest = want_weights.iter().fold(0f32, |m, w| m.max(w.abs()));
            let far = weights.iter().zip(&want_weights).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
            println!("{net}: loss {loss} {want}, weights {far} of {largest}");
            assert!((loss - want).abs() <= 1e-2 * want.abs().max(1.0), "{net}: {loss} {want}");
            assert!(far <= 1e-2 * largest, "{net}: {far} of {largest}");
        }
    }
}
