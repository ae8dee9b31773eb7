//! What a row of outputs means ([`Outputs`]), as nodes: one function per question, each the counterpart of one in
//! `method::predictive`.

use super::graph::{Graph, Val};
use super::network::{Networks, unfinished};
use super::proto::Element;
use super::special;

use crate::data::Task;
use crate::error::{Error, Result};
use crate::method::{LayerForm, ModelSpec, Outputs, Trained};
use crate::ops::head::NOISE_EXP;
use crate::recipe::Link;

/// What one network says of one target, [R, n] each in standardised units: y ~ N(m, v + g(L)), L ~ N(l, sd^2). A part that
/// is absent is 0.
pub struct Moments {
    pub m: Val,
    pub l: Val,
    pub v: Option<Val>,
    pub sd: Option<Val>,
}

/// Outputs and inputs of the last layer, its bias among the inputs.
fn last_layer(setup: &ModelSpec) -> (usize, usize) {
    let layout = setup.layout();
    let weight = &layout.views[layout.views.len() - 2];
    (weight.shape[0], weight.shape[1] + 1)
}

/// The error for outputs that only a function of the method's own can read.
fn no_form(setup: &ModelSpec) -> Error {
    let found = format!("{} reads its outputs by a function of its own", setup.method.name());
    Error::usage("export", found, "outputs in a form that `method::Outputs` names", "export the weights (.safetensors)")
}

/// Outputs [R, n, width] and R, from what the networks say and what their last layers on the host add: variances, or draws of the layer.
pub fn outputs(setup: &ModelSpec, g: &mut Graph, nets: Networks, trained: &Trained, seed: u32) -> Result<(Val, usize)> {
    let replicas = (setup.members * setup.copies()) as usize;
    let Some(features) = nets.features.as_ref().filter(|_| setup.method.needs_features()) else {
        return Ok((nets.outputs, replicas));
    };
    let layers = setup.method.host_layers(setup, trained, seed)?;
    if layers.is_empty() {
        return Err(unfinished(setup.method.ends_with().unwrap_or("last layer")));
    }
    let (mut variances, mut drawn) = (vec![], vec![]);
    for layer in &layers {
        match layer.form().ok_or_else(|| no_form(setup))? {
            LayerForm::Variances(form) => variances.push(form),
            LayerForm::Layers(layers) => drawn.push(layers),
        }
    }
    // Rows of inputs of the last layer, its bias counted.
    let (k, d) = last_layer(setup);
    if let Some(first) = drawn.first() {
        let (e, s) = (drawn.len(), first.len());
        let all = || drawn.iter().flat_map(|layers| layers.iter());
        // [k, d] with the bias last -> [d - 1, k] and [k].
        let w: Vec<f32> =
            all().flat_map(|w| (0..d - 1).flat_map(move |j| (0..k).map(move |o| w[o * d + j] as f32))).collect();
        let b: Vec<f32> = all().flat_map(|w| (0..k).map(move |o| w[o * d + d - 1] as f32)).collect();
        let (w, b) = (g.floats(&[e, s, d - 1, k], &w), g.floats(&[e, s, 1, k], &b));
        // Where the features are the inputs, all members share them.
        let shared = setup.net.layout().layers().len() == 1;
        let f = if shared { features.clone() } else { g.unsqueeze(features, 1) };
        let product = g.node("MatMul", &[&f, &w]);
        let z = g.add(&product, &b);
        return Ok((g.reshape(&z, &[(e * s) as i64, -1, k as i64]), e * s));
    }
    // f' S f as a weighted sum of squares of f' A, in double precision as on the host.
    let e = variances.len();
    let m = variances.first().map_or(0, |form| form.places);
    let rows = |from: usize, to: usize| {
        variances.iter().flat_map(move |form| form.directions[from * m..to * m].iter().copied()).collect::<Vec<f64>>()
    };
    let (directions, bias) = (g.doubles(&[e, d - 1, m], &rows(0, d - 1)), g.doubles(&[e, 1, m], &rows(d - 1, d)));
    let weights: Vec<f64> = variances.iter().flat_map(|form| form.weights.iter().copied()).collect();
    let weights = g.doubles(&[e, m, k], &weights);
    let f = g.cast(features, Element::Double);
    let along = g.node("MatMul", &[&f, &directions]);
    let along = g.add(&along, &bias);
    let squares = g.square(&along);
    let v = g.node("MatMul", &[&squares, &weights]);
    let v = g.cast(&v, Element::Float);
    Ok((g.concat(&[nets.outputs, v], -1), replicas))
}

/// Of target `at` of a regression, from outputs [R, n, width].
pub fn moments(setup: &ModelSpec, g: &mut Graph, z: &Val, at: usize) -> Result<Moments> {
    // Variances of the host stand behind the outputs of all targets.
    let n_out = setup.net.n_out() as usize;
    let width = n_out / setup.targets as usize;
    let mut of = |i: usize| g.pick(z, at * width + i);
    Ok(match setup.method.outputs(setup) {
        Outputs::Sigmas => {
            let [m, l, rho_m, rho_l] = [0, 1, 2, 3].map(&mut of);
            let sd_m = special::sigma(g, setup.sigma_link == Link::Exp, &rho_m);
            let sd = special::sigma(g, setup.sigma_link == Link::Exp, &rho_l);
            Moments { m, l, v: Some(g.square(&sd_m)), sd: Some(sd) }
        }
        Outputs::Variances => {
            let [m, l, v, v_l] = [0, 1, n_out, n_out + 1].map(&mut of);
            let v_l = g.at_least(&v_l, 0.0);
            Moments { m, l, v: Some(v), sd: Some(g.sqrt(&v_l)) }
        }
        Outputs::VariancesAndNoise => {
            let [m, v, log_noise] = [0, 1, 2].map(&mut of);
            Moments { m, l: g.affine(&log_noise, 2.0, 0.0), v: Some(v), sd: None }
        }
        Outputs::Plain | Outputs::Concentrations => {
            let [m, l] = [0, 1].map(&mut of);
            Moments { m, l, v: None, sd: None }
        }
        Outputs::Own(_) => return Err(no_form(setup)),
    })
}

/// The link of the noise variance; a logarithm of the noise has always the exponential.
pub fn noise_link(setup: &ModelSpec) -> u32 {
    match setup.method.outputs(setup) {
        Outputs::VariancesAndNoise => NOISE_EXP,
        _ => setup.noise_code(),
    }
}

/// Whether a row of outputs holds a distribution of the logits, of which the graph keeps draws.
pub fn has_open_logits(setup: &ModelSpec) -> bool {
    let open = matches!(setup.method.outputs(setup), Outputs::Sigmas | Outputs::Variances | Outputs::VariancesAndNoise);
    open && setup.task == Task::Classification
}

/// Standard deviations of the logits [R, n, k], where they are open.
pub fn logit_sd(setup: &ModelSpec, g: &mut Graph, z: &Val) -> Option<Val> {
    let k = setup.k as usize;
    if !has_open_logits(setup) {
        return None;
    }
    let second = g.part(z, k, 2 * k);
    Some(match setup.method.outputs(setup) {
        Outputs::Sigmas => special::sigma(g, setup.sigma_link == Link::Exp, &second),
        Outputs::VariancesAndNoise => {
            let log_noise = g.part(z, 2 * k, 3 * k);
            let twice = g.affine(&log_noise, 2.0, 0.0);
            let noise = g.exp(&twice);
            let variance = g.add(&second, &noise);
            g.sqrt(&variance)
        }
        _ => {
            let variance = g.at_least(&second, 0.0);
            g.sqrt(&variance)
        }
    })
}

/// Whether outputs are the concentrations of a Dirichlet distribution.
pub fn is_evidential(setup: &ModelSpec) -> bool {
    matches!(setup.method.outputs(setup), Outputs::Concentrations)
}

/// The average probabilities [n, k] where they are not those of the draws: the probit approximation.
pub fn own_average(setup: &ModelSpec, g: &mut Graph, z: &Val) -> Option<Val> {
    if !matches!(setup.method.outputs(setup), Outputs::Variances) {
        return None;
    }
    let k = setup.k as usize;
    let (logits, variances) = (g.part(z, 0, k), g.part(z, k, 2 * k));
    let wide = g.affine(&variances, std::f64::consts::PI / 8.0, 1.0);
    let root = g.sqrt(&wide);
    let shrunk = g.div(&logits, &root);
    let p = g.softmax(&shrunk);
    Some(g.mean(&p, &[0]))
}
