//! A checked recipe and the shape of its data become a plan: the method's setup, its prior and what changes with the step.

use super::{stepping, variants};
use crate::data::Task;
use crate::data::encode::Encoder;
use crate::error::{Cure, Error, Result, either};
use crate::method::{self, BETA1, ImageInput, ModelSpec, Stepping};
use crate::net::{AlexNet, Cnn, Last, Mlp, Net, PreResNet};
use crate::ops::StepArgs;
use crate::ops::gather::fold_rows;
use crate::ops::step::Prior;
use crate::program::builder::Embedded;
use crate::recipe::{
    Boosting, Embedding, Expectation, Link, NetName, Optimizer, Recipe, Schedule, Strength, ViGroups, key, keys,
};

#[derive(Debug, Clone, PartialEq)]
pub struct TrainingPlan {
    pub setup: ModelSpec,
    pub train: crate::recipe::Train,
    /// Learning rate at the start.
    pub first_lr: f64,
    pub schedule: Schedule,
    pub dropout_schedule: Strength,
    /// Epochs before the first weights are collected, and the rate at which they are.
    pub swa_start: u32,
    pub swa_lr: f64,
    /// Epochs and patience as resolved from the recipe and the number of steps.
    pub epochs: u32,
    pub patience: u32,
    pub prior: Prior<f64>,
    pub eta: f64,
    pub eta_aux: f64,
    /// M of the VIFO head.
    pub samples: u32,
    pub seed: u32,
    pub vi_uniform: bool,
    pub init_rho: f32,
    /// The keys of the variant that this plan is of, as the recipe has them; empty where it is of none.
    pub variant: String,
    /// The plans of the recipe's variants, which are trained beside each other; the fields above are those of the first. Empty
    /// where the recipe has none.
    pub variants: Vec<TrainingPlan>,
    /// When trees are fitted beside the network, for the memory that they take.
    pub boosting: Boosting,
}

impl TrainingPlan {
    /// Of a recipe and `n_rows` training rows as `encoder` makes them.
    ///
    /// # Errors
    /// In one line: keys that the method, the network or the data do not take, or variants that cannot be trained together.
    pub fn new(recipe: &Recipe, n_rows: usize, encoder: &Encoder) -> Result<TrainingPlan> {
        variants::plan(recipe, |recipe| Self::of_one(recipe, n_rows, encoder))
    }

    // Long: each value of a plan with what it is where the recipe leaves it open.
    fn of_one(recipe: &Recipe, n_rows: usize, encoder: &Encoder) -> Result<TrainingPlan> {
        let m = &recipe.method;
        let (n_inputs, n_classes) = (encoder.n_inputs(), encoder.n_classes());
        let method = method::of(recipe)?;
        let usual = method.usual();
        let task = if n_classes.is_some() { Task::Classification } else { Task::Regression };
        let targets = encoder.n_targets() as u32;
        method.suits(recipe, task, targets)?;
        let k = n_classes.unwrap_or(2) as u32;
        let nu = method::degrees_of_freedom(recipe, task)?;
        let exact_exists =
            task == Task::Regression && nu.is_none() && m.noise_link == Link::Exp && method.has_closed_form();
        let exact = match m.expectation {
            // Student's t by quadrature, whatever the link.
            Expectation::Auto if nu.is_some() => method.has_closed_form(),
            Expectation::Auto => exact_exists,
            Expectation::Sampled => false,
            Expectation::Exact if exact_exists => true,
            Expectation::Exact => {
                return Err(Error::usage(
                    key!(method.expectation).said(),
                    "\"exact\" has a closed form only for VIFO regression with noise_link = \"exp\" and a gaussian likelihood",
                    "",
                    "set it to \"auto\"",
                ));
            }
        };
        if m.eta_aux > 0.0 && m.aux_source == crate::recipe::AuxSource::Grid && n_inputs != 1 {
            return Err(Error::usage(
                key!(method.aux_source).path,
                format!("\"grid\" with {n_inputs} inputs"),
                "\"grid\" for one input only",
                "set it to \"uniform\"",
            ));
        }
        let dropout = recipe.net.dropout.unwrap_or(usual.dropout) as f32;
        let net = network(&recipe.net, dropout, encoder, method.last_layer(task, k * targets))?;
        let optimizer = recipe.train.optimizer.unwrap_or(usual.optimizer);
        let image = encoder.pixels.as_ref().map(|p| {
            let three = |v: &[f32]| std::array::from_fn(|i| v.get(i).copied().unwrap_or(1.0));
            let inv_sd: Vec<f32> = p.sd.iter().map(|s| 1.0 / s).collect();
            let size = (p.h as u32, p.w as u32, p.c as u32);
            ImageInput { size, crop: p.crop, flip: p.flip, mean: three(&p.mean), inv_sd: three(&inv_sd) }
        });
        let is_image = image.is_some();
        let setup = ModelSpec {
            method,
            task,
            k,
            targets,
            noise_link: m.noise_link,
            nu,
            sigma_link: m.sigma_link,
            exact,
            samples: m.samples,
            predict_samples: recipe.predict.samples,
            members: m.members,
            first_member: 0,
            per_set: 0,
            weighted: recipe.data.weight.is_some() && recipe.data.file.is_some(),
            groups_by_layer: recipe.vi.groups == ViGroups::Layer,
            net,
            image,
            optimizer,
            warm: optimizer == Optimizer::Sgd && recipe.train.adam_epochs > 0,
            momentum: recipe.train.momentum as f32,
            clip: recipe.train.clip > 0.0,
            n_rows: n_rows as u32,
            folds: 0,
            held_out: 0,
            batch: recipe.train.batch.unwrap_or(if is_image { 128 } else { 32 }),
            aux: (m.eta_aux > 0.0).then_some(m.aux_source),
            stepping: Stepping::default(),
            options: method.options(recipe),
        };
        let setup = stepping::with_stepping(setup, recipe)?;
        let setup = with_folds(setup, recipe)?;
        fits_counters(&setup)?;
        let steps_an_epoch = setup.n_rows.div_ceil(setup.batch_rows().max(1)).max(1);
        let epochs = recipe.train.epochs.unwrap_or_else(|| {
            let (low, high) = usual_epochs(is_image);
            LEAST_STEPS.div_ceil(steps_an_epoch).clamp(low, high)
        });
        let first_lr = recipe.train.lr.unwrap_or(usual_lr(is_image, optimizer));
        // The paper's 161 of 500 epochs.
        let swa_start = recipe.train.swa_start.unwrap_or((u64::from(epochs) * 161 / 500) as u32);
        if method.collects() && epochs > 0 && swa_start >= epochs {
            return Err(Error::usage(
                key!(train.swa_start).said(),
                format!("{swa_start} of {epochs} epochs leaves none to average"),
                format!("fewer than {epochs}"),
                format!("lower it or raise {}", key!(train.epochs).said()),
            ));
        }
        Ok(TrainingPlan {
            setup,
            train: recipe.train.clone(),
            first_lr,
            schedule: recipe.train.schedule.unwrap_or(usual.schedule),
            dropout_schedule: recipe.net.dropout_schedule,
            swa_start,
            swa_lr: recipe.train.swa_lr.unwrap_or(first_lr / 5.0),
            epochs,
            patience: recipe.train.patience.unwrap_or(if usual.stops_early { (epochs / 4).max(1) } else { 0 }),
            prior: method.prior(&recipe.prior),
            eta: method.eta(recipe, task),
            eta_aux: m.eta_aux,
            samples: m.samples,
            seed: recipe.seed,
            vi_uniform: recipe.vi.init == crate::recipe::ViInit::Torch,
            init_rho: recipe.vi.init_rho as f32,
            variant: String::new(),
            variants: vec![],
            boosting: recipe.baselines.boosting,
        })
    }

    /// Of a training that diverged; checkpoints written before stay intact.
    pub fn diverged(&self, place: String, found: impl Into<String>) -> Error {
        // Without the digits that a tenth leaves behind.
        let lower = format!("{:.2e}", self.first_lr / 10.0);
        let lower = lower.parse::<f64>().map_or(lower, |lr| lr.to_string());
        let error = Error::run(place, found, self.help()).curing(Cure::set(key!(train.lr).path, lower));
        if self.train.clip > 0.0 { error } else { error.curing(Cure::set(key!(train.clip).path, "1")) }
    }

    /// What to do when training diverged.
    pub fn help(&self) -> String {
        let clip = either(", set train.clip=1", ", clip the gradient");
        let clip = if self.train.clip > 0.0 { "" } else { &clip };
        let lr = either("--lr", key!(train.lr).said());
        let look = either("look for extreme values with `vifo inspect`", "look for extreme values in the data");
        format!("lower {lr} (now {}){clip}, or {look}", self.first_lr)
    }

    pub fn steps_per_epoch(&self) -> u32 {
        self.setup.n_rows.div_ceil(self.setup.batch_rows())
    }

    /// What the method cannot show with these settings, a sentence each.
    pub fn caveats(&self) -> Vec<String> {
        let mut all = self.setup.method.caveats(&self.setup, self.epochs, self.swa_start);
        if let Some(what) = self.setup.method.ends_with() {
            all.push(format!(
                "metrics.csv and the learning curves are of the weights at each step; the {what} that predicts is made at the end"
            ));
        }
        all
    }

    pub fn total_steps(&self) -> u64 {
        u64::from(self.steps_per_epoch()) * u64::from(self.epochs)
    }

    /// Whether `step` belongs to the first epochs, where an SGD run still takes Adam steps.
    fn is_warm(&self, step: u64) -> bool {
        self.setup.warm && step < u64::from(self.train.adam_epochs) * u64::from(self.steps_per_epoch())
    }

    /// Whether the weights are collected after `step` (SWA, SWAG): at the end of each epoch after `swa_start`.
    fn collects(&self, step: u64) -> bool {
        let (done, per_epoch) = (step + 1, u64::from(self.steps_per_epoch()));
        self.setup.averages() && done.is_multiple_of(per_epoch) && done / per_epoch > u64::from(self.swa_start)
    }

    /// `args` of `step` with what it collects; `snapshots` counts what was collected.
    pub fn counted_args(&self, step: u64, snapshots: &mut u32) -> StepArgs<f64> {
        let collects = self.collects(step);
        *snapshots += u32::from(collects);
        StepArgs { collect: if collects { *snapshots } else { 0 }, ..self.args(step) }
    }

    /// The share of all steps that lies before `step`.
    fn share_done(&self, step: u64) -> f64 {
        step as f64 / self.total_steps() as f64
    }

    /// The rate at `step`, without momentum's or Adam's part.
    pub fn lr(&self, step: u64) -> f64 {
        if self.is_warm(step) {
            return WARM_LR;
        }
        let t = self.share_done(step);
        let factor = match self.schedule {
            Schedule::Constant => 1.0,
            Schedule::Cosine => 0.5 * (1.0 + libm::cos(std::f64::consts::PI * t)),
            Schedule::Coslog4 => 0.5 * (1.0 - libm::cos(std::f64::consts::TAU * libm::log2(1.0 + 15.0 * t))),
            Schedule::Step => {
                if t < 0.5 {
                    1.0
                } else if t < 0.75 {
                    0.1
                } else {
                    0.01
                }
            }
            Schedule::Swa => {
                let epoch = step / u64::from(self.steps_per_epoch());
                let t = epoch as f64 / f64::from(self.swa_start.max(1));
                let last = self.swa_lr / self.first_lr;
                1.0 - (1.0 - last) * ((t - 0.5) / 0.4).clamp(0.0, 1.0)
            }
        };
        self.first_lr * factor
    }

    /// Everything that changes from step to step, as a function of the step alone: a resumed run continues as if uninterrupted.
    pub fn args(&self, step: u64) -> StepArgs<f64> {
        let (n, batch, per_epoch) = (self.setup.n_rows, self.setup.batch_rows(), u64::from(self.steps_per_epoch()));
        let start = (step % per_epoch) as u32 * batch;
        let epoch = (step / per_epoch) as u32;
        let warmth = if self.train.kl_warmup > 0 {
            (step as f64 / per_epoch as f64 / self.train.kl_warmup as f64).min(1.0)
        } else {
            1.0
        };
        let bias = |beta: f32| 1.0 - libm::pow((beta as f64 * 1e6).round() / 1e6, step as f64 + 1.0);
        StepArgs {
            step: step as u32,
            epoch,
            batch_start: start,
            n_valid: batch.min(n - start) * self.setup.targets,
            seed: self.seed,
            n_samples: self.samples,
            lr: self.lr(step),
            bias1: bias(BETA1),
            bias2: bias(self.setup.stepping.beta2),
            clip_norm: self.train.clip,
            eta: self.eta * warmth,
            eta_aux: self.eta_aux * warmth,
            weight_decay: self.train.weight_decay * self.train.weight_decay_schedule.share(self.share_done(step)),
            prior: self.prior,
            // Numbered by the trainer, which knows how many there are.
            collect: 0,
            warm: u32::from(self.is_warm(step)),
            dropout: self.dropout_schedule.share(self.share_done(step)),
        }
    }
}

/// Adam's rate in the first epochs of an SGD run (MATH.md section 5, SVHN).
const WARM_LR: f64 = 0.001;

/// Hidden layers of a network on a table.
pub const USUAL_HIDDEN: [u32; 1] = [50];

/// Fewest and most epochs of a training whose recipe names none.
pub fn usual_epochs(is_image: bool) -> (u32, u32) {
    if is_image { (20, 100) } else { (200, 1000) }
}

/// The learning rate of a recipe that names none.
pub fn usual_lr(is_image: bool, optimizer: Optimizer) -> f64 {
    match (is_image, optimizer) {
        (false, _) => 0.01,
        (true, Optimizer::Adam | Optimizer::AdamW) => 0.001,
        (true, Optimizer::Sgd) => 0.05,
    }
}

/// Numbers that each of `levels` levels becomes: 1.6 K^0.56 as in fastai, 16 at most.
fn width_of(levels: usize) -> u32 {
    (1.6 * libm::pow(levels as f64, 0.56)).round().clamp(1.0, 16.0) as u32
}

/// The network that the recipe names, or the one that suits the data.
// Long: each network takes its own keys and refuses the others'.
fn network(net: &crate::recipe::Net, dropout: f32, encoder: &Encoder, last: Last) -> Result<Net> {
    fn refuse<T>(key: &str, found: String, allowed: &str, help: &str) -> Result<T> {
        Err(Error::usage(keys::said(key), found, allowed, help))
    }
    let mlp = |n_in: u32, hidden: Vec<u32>, embedded: Vec<u32>, tables: Vec<Embedded>| {
        let (scaled, parametric) = (net.input_scale, net.parametric);
        Net::Mlp(Mlp { n_in, hidden, last, activation: net.activation, embedded, tables, scaled, parametric, dropout })
    };
    let Some(pixels) = &encoder.pixels else {
        let hidden = net.hidden.clone().unwrap_or_else(|| USUAL_HIDDEN.to_vec());
        let n_in = encoder.n_inputs() as u32;
        let embedded = match net.embedding {
            Embedding::None => vec![],
            Embedding::Periodic => encoder.number_inputs(),
        };
        let table = |(input, n)| Embedded { input: input as u32, levels: n as u32, width: width_of(n) };
        return Ok(mlp(n_in, hidden, embedded, encoder.tables().into_iter().map(table).collect()));
    };
    if net.embedding != Embedding::None {
        let help = "leave it out: it is for the numbers of a table";
        return refuse("net.embedding", format!("{} with images", net.embedding), "none for images", help);
    }
    let (side, channels) = (pixels.h as u32, pixels.c as u32);
    let name = net.name.unwrap_or(if side == 32 && channels == 3 { NetName::AlexNet } else { NetName::Cnn });
    if let Some(want) = name.fixed_side()
        && side != want
    {
        let found = format!("images of {side} x {side}");
        return refuse(
            "net.name",
            found,
            "32 x 32 for alexnet and preresnet",
            &either("leave data.image_size out, or use cnn", "leave the image size out, or use cnn"),
        );
    }
    for (set, key) in [(net.input_scale, key!(net.input_scale).path), (net.parametric, key!(net.parametric).path)] {
        if set && name != NetName::Mlp {
            return refuse(key, format!("true with {name}"), "false for image networks", "leave it out, or take mlp");
        }
    }
    let widths = |default: &[u32]| -> Result<Vec<u32>> {
        match &net.widths {
            Some(w) if w.len() != default.len() => refuse(
                "net.widths",
                format!("{} numbers", w.len()),
                &format!("{}", default.len()),
                &either("see `vifo fit --keys`", "give as many"),
            ),
            Some(w) => Ok(w.clone()),
            None => Ok(default.to_vec()),
        }
    };
    let one_hidden = |default: u32| match net.hidden.as_deref() {
        None => Ok(default),
        Some([hidden]) => Ok(*hidden),
        Some(h) => refuse("net.hidden", format!("{} layers", h.len()), "one number for this network", "leave it out"),
    };
    Ok(match name {
        NetName::Mlp => {
            let hidden = net.hidden.clone().unwrap_or_else(|| vec![256]);
            let n_in = encoder.n_inputs() as u32;
            mlp(n_in, hidden, vec![], vec![])
        }
        NetName::Cnn => {
            let (w, hidden) = (widths(&[32, 64])?, one_hidden(128)?);
            let activation = net.activation;
            Net::Cnn(Cnn { size: side, channels, last, widths: [w[0], w[1]], hidden, activation, dropout })
        }
        NetName::AlexNet => {
            let (w, hidden) = (widths(&[64, 128, 256, 128, 64])?, one_hidden(256)?);
            Net::AlexNet(AlexNet { channels, last, widths: [w[0], w[1], w[2], w[3], w[4]], hidden, dropout })
        }
        NetName::PreResNet => {
            if net.depth < 8 || net.depth % 6 != 2 {
                return refuse("net.depth", net.depth.to_string(), "6 n + 2: 8, 14, 20, ...", "the paper's is 20");
            }
            if net.hidden.is_some() {
                return refuse("net.hidden", "preresnet has no hidden layer".into(), "", "leave it out");
            }
            Net::PreResNet(PreResNet { channels, last, depth: net.depth, width: widths(&[16])?[0], dropout })
        }
    })
}

/// The same with a fold of the rows for each member to hold out, where the recipe says so.
fn with_folds(setup: ModelSpec, recipe: &Recipe) -> Result<ModelSpec> {
    if !recipe.has_folds() {
        return Ok(setup);
    }
    let holdout = key!(data.holdout).said();
    let refuse = |found: String, help: String| {
        let allowed = "\"shared\", or \"own\" for members that are trained apart";
        Err(Error::usage(holdout.as_str(), found, allowed, help))
    };
    let (folds, rows) = (setup.members, setup.n_rows);
    if setup.is_coupled() || setup.concludes() || setup.image.is_some() {
        let found = format!("\"own\" with {}", setup.method.name());
        return refuse(found, format!("leave {holdout} out, or take an ensemble of vifo, base, vi or dropout"));
    }
    if rows < 2 * folds {
        let found = format!("{rows} rows in {folds} folds");
        return refuse(found, format!("lower {}, or leave {holdout} out", key!(method.members).said()));
    }
    let held_out = fold_rows(folds, rows);
    Ok(ModelSpec { folds, held_out, n_rows: rows - held_out, ..setup })
}

/// Small tables get more than 200 epochs, so that training does not end before it has begun to fit.
const LEAST_STEPS: u32 = 3000;

/// Element counters and buffer sizes are 32-bit words on every device.
fn fits_counters(s: &ModelSpec) -> Result<()> {
    let p = s.layout().total as u64;
    let samples = u64::from(s.copies().max(s.train_copies()));
    let widest = s.net.widest();
    let rows = u64::from(s.batch_rows()) * 2 * u64::from(s.targets);
    let largest = [
        ("weights", p.saturating_mul(2).saturating_mul(u64::from(s.members)).saturating_mul(samples)),
        ("activations", rows.saturating_mul(widest).saturating_mul(u64::from(s.members)).saturating_mul(samples)),
        s.method.largest_buffer(s).unwrap_or_default(),
        ("training data", u64::from(s.n_rows).saturating_mul(u64::from(s.net.n_in()))),
        ("head samples", rows.saturating_mul(u64::from(s.k)).saturating_mul(u64::from(s.samples))),
    ];
    for (what, elements) in largest {
        if elements >= 1 << 31 {
            return Err(Error::usage(
                "recipe",
                format!("the {what} need {elements} numbers in one buffer ({:.1} GB)", elements as f64 * 4e-9),
                format!("fewer than {}", 1u64 << 31),
                "use fewer members, samples, columns (SWAG), hidden units or a smaller batch",
            ));
        }
    }
    Ok(())
}
