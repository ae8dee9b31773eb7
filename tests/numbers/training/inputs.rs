//! What stands between a table's numbers and the first layer, and behind each layer, in whole trainings: robust scaling, trained
//! factors, parametric activations.

use super::{SMOOTH, largest_difference};
use crate::common::runs::{bits, prepare, train, train_in_two};
use crate::op_parity::gpu;
use std::path::Path;
use vifo::data::encode::{FeatureKind, Scale};
use vifo::data::load::Loaded;
use vifo::exec::Device;
use vifo::train::plan::TrainingPlan;
use vifo::train::{Flow, Predictor, Trainer};

/// y = sin(2 a) + 0.3 c + noise, where every 16th b and a few a are outliers by a factor of a thousand; c is yes or no, k a text.
fn table(dir: &Path) -> String {
    let mut text = "a,b,c,k,y\n".to_string();
    for i in 0..256 {
        let a = f64::from(i * 53 % 256) / 64.0 - 2.0;
        let far = if i % 64 == 9 { 1000.0 } else { 1.0 };
        let b = (f64::from(i) * 0.71).cos() * if i % 16 == 3 { 1000.0 } else { 1.0 };
        let noise = (f64::from(i) * 12.9898).sin() * 0.05;
        let (c, k) = (["no", "yes"][i as usize % 2], ["p", "q", "r"][i as usize % 3]);
        text += &format!("{},{b},{c},{k},{}\n", far * a, (2.0 * a).sin() + 0.3 * f64::from(i % 2) + noise);
    }
    let path = dir.join("t.csv");
    std::fs::write(&path, text).expect("written");
    format!(
        "[data]\nfile = {:?}\ntarget = \"y\"\nvalidation_fraction = 0\ntest_fraction = 0.25\n[net]\nhidden = [16, 16]\n",
        path.display().to_string()
    )
}

const ALL: &str = "data.scaling = robust\nnet.input_scale = true\nnet.parametric = true";

fn rmse(plan: &TrainingPlan, data: &Loaded) -> f64 {
    let mut trainer = Trainer::new(plan, data, &Device::Cpu).expect("a trainer");
    trainer.run(|_, _| Ok(Flow::Continue)).expect("a training");
    let n = data.test.n;
    let mut predictor = Predictor::new(&plan.setup, &Device::Cpu, plan.seed, n).expect("a predictor");
    predictor.set(&trainer.final_weights().expect("weights")).expect("weights");
    let z = predictor.outputs(data.test.inputs()).expect("outputs");
    let members = plan.setup.members as usize;
    let mean = |i: usize| (0..members).map(|e| f64::from(z[2 * (e * n + i)])).sum::<f64>() / members as f64;
    ((0..n).map(|i| (mean(i) - f64::from(data.test.y[i])).powi(2)).sum::<f64>() / n as f64).sqrt()
}

/// Outliers squeeze what is scaled by mean and sd; scaled by quartiles the same network in the same time finds the wave.
#[test]
fn outliers_do_not_squeeze_the_others() {
    let dir = tempfile::tempdir().expect("a folder");
    let base = table(dir.path());
    let more = "method.name = base\nmethod.members = 2\ntrain.epochs = 150\ntrain.lr = 0.01\ntrain.patience = 0";
    let of = |scaling: &str| {
        let (plan, data) = prepare(&base, &format!("{more}\ndata.scaling = {scaling}"));
        assert!(scaling != "robust" || data.train.x.iter().chain(data.test.x.iter()).all(|x| x.abs() <= 3.0));
        rmse(&plan, &data)
    };
    let (robust, standard) = (of("robust"), of("standard"));
    assert!(robust < 0.6 * standard, "robust {robust}, standard {standard}");
}

/// Numbers are scaled by their quartiles, yes/no and levels stay 0 and 1, the target has mean and sd; the file's own units win.
#[test]
fn what_is_scaled_and_what_not() {
    let dir = tempfile::tempdir().expect("a folder");
    let base = table(dir.path());
    let (_, standard) = prepare(&base, "");
    let (_, robust) = prepare(&base, "data.scaling = robust");
    let (_, own) = prepare(&base, "data.scaling = robust\ndata.standardise = false");
    let (_, plain) = prepare(&base, "data.standardise = false");
    assert_eq!(own.encoder, plain.encoder);
    assert_eq!(bits(&own.train.x), bits(&plain.train.x));
    assert_eq!(
        (robust.encoder.target.clone(), bits(&robust.train.y)),
        (standard.encoder.target.clone(), bits(&standard.train.y))
    );
    assert_eq!((robust.train.d, robust.encoder.number_inputs()), (6, vec![0, 1]));
    for (i, (r, s)) in robust.train.x.iter().zip(standard.train.x.iter()).enumerate() {
        if i % 6 >= 2 {
            assert!(r == s && (*r == 0.0 || *r == 1.0), "{r} {s}");
        }
    }
    // Auxiliary inputs lie where inputs do.
    let (low, high) = robust.encoder.aux_range();
    assert!(low[..2].iter().all(|v| *v < -1.0 && *v >= -3.0) && high[..2].iter().all(|v| *v > 1.0 && *v <= 3.0));
    assert_eq!((&low[2..], &high[2..]), (&[0.0; 4][..], &[1.0; 4][..]));
    // What is stored is read back, and without the new part it is the old scaling.
    let text = serde_json::to_string(&robust.encoder).expect("JSON");
    assert_eq!(serde_json::from_str::<vifo::data::encode::Encoder>(&text).expect("an encoder"), robust.encoder);
    assert!(!serde_json::to_string(&standard.encoder).expect("JSON").contains("robust"));
    let FeatureKind::Numeric { mean, sd, min, max, robust: Some(_) } = robust.encoder.features[0].kind else {
        panic!("a")
    };
    let old = standard.encoder.features[0].kind.scale();
    assert_eq!(old, Some(Scale { mean, sd, min, max, robust: None }));
}

/// With all of them a run is the same twice and cut in two, and every factor is trained.
#[test]
fn factors_are_trained_and_resumed() {
    let dir = tempfile::tempdir().expect("a folder");
    let base = table(dir.path());
    for (method, activation) in [("vifo-mean", "selu"), ("base", "mish")] {
        let more = format!(
            "method.name = {method}\nmethod.members = 2\ntrain.epochs = 4\nnet.activation = {activation}\n{ALL}"
        );
        let (plan, data) = prepare(&base, &more);
        let said = "MLP with hidden layers [16, 16] and parametric activations with trained scales";
        assert_eq!(plan.setup.net.describe(), said);
        let whole = train(&plan, &data).0;
        assert_eq!(whole, train_in_two(&plan, &data, 2));
        assert_eq!(whole, train(&plan, &data).0);
        let layout = plan.setup.layout();
        for name in ["scale.weight", "1.weight", "3.weight"] {
            let view = layout.views.iter().find(|v| v.name == name).expect("a view");
            for e in 0..2 {
                let part = &whole.weights[e * layout.total + view.offset..][..view.len()];
                assert!(part.iter().all(|a| *a != 1f32.to_bits()), "{method}: not all of {name} was trained");
            }
        }
    }
}

/// 30 smooth steps, as in `embedding`: 20 * 30 * 0.02 * 1e-6 = 1.2e-5. A parametric SiLU is as smooth as SiLU.
#[test]
fn both_executors_train_factors_alike() {
    let dir = tempfile::tempdir().expect("a folder");
    let base = table(dir.path());
    for method in ["base", "vifo-mean", "vi-mean"] {
        let smooth = SMOOTH.replace("train.batch = 60", "train.batch = 192");
        let (plan, data) = prepare(&base, &format!("{smooth}\n{ALL}\nmethod.name = {method}\nmethod.members = 2"));
        assert_eq!(data.train.n, 192);
        let run = |device: &Device| {
            let mut trainer = Trainer::new(&plan, &data, device).expect("a trainer");
            trainer.run(|_, _| Ok(Flow::Continue)).expect("a training");
            trainer.checkpoint().expect("a checkpoint").trained.weights
        };
        let (cpu, gpu) = (run(&Device::Cpu), run(&Device::Gpu(gpu())));
        let start = plan.setup.initial_weights(plan.seed, false, -5.0);
        assert!(largest_difference(&cpu, &start) > 1e-2, "{method}: nothing was learnt");
        let difference = largest_difference(&cpu, &gpu);
        println!("{method}: {difference:e}");
        assert!(difference <= 1.2e-5, "{method}: weights differ by {difference:e}");
    }
}

#[test]
fn image_networks_have_no_factors() {
    for key in ["input_scale", "parametric"] {
        let text = format!("[data]\nimages = \"digits\"\n[net]\n{key} = true\n");
        let recipe = vifo::recipe::Recipe::from_table(&vifo::recipe::Recipe::parse(&text, "t").expect("TOML"), "t");
        let mut recipe = recipe.expect("a recipe");
        let data = vifo::data::load::load(&recipe).expect("digits");
        let error = TrainingPlan::new(&recipe, data.train.n, &data.encoder).expect_err("refused").to_string();
        assert!(error.contains(&format!("net.{key}: true with cnn")) && error.contains("or take mlp"), "{error}");
        recipe.net.name = Some(vifo::recipe::NetName::Mlp);
        assert!(TrainingPlan::new(&recipe, data.train.n, &data.encoder).is_ok(), "{key} with mlp");
    }
}
