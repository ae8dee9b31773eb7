//! Every recipe key in one line: its type, its default, what it may hold, what its change does to a training that runs, its
//! flag, its widget in the app, and its help. The structs of a recipe come from this declaration, and all that is known of a
//! key: what recipes and `--set` may say, the flags of `vifo fit` and their help, and `vifo fit --keys`.

use super::choices::*;
use super::declaration::{Access, Field, MAX, keys, live, restart, short};
pub use super::declaration::{Effect, Flag, Key, ValueKind, Widget};
use super::effects::{of_clip, of_data, of_eta_aux};
use super::points;
use crate::base::Act;
use crate::error::{Error, Result, either};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use toml::{Table, Value};

keys! {
    {
        name: Option<String>, live, cosmetic, "Name of the run folder and of the figures [default: the data's name].";
        seed: u32 = 1, flag("seed", "N"), label("seed"), "Same seed, same run.";
        device: String = "auto".into(), cosmetic, flag("device", "DEVICE"), "auto, cpu, gpu, gpu:1, gpu:0,gpu:1, software, or part of an adapter's name.";
    }

    data: Data, of_data {
        toy: Option<ToyKind>, "A bundled curve or 2-D set instead of a file.";
        gap: Gap = Gap::Figure, "Training inputs of the sinusoid: +-[pi/4, 3pi/4] or +-[pi/2, 3pi/4].";
        rows: usize = 100, whole(10, 1_000_000), label("points"), "Training rows of a toy.";
        noise: Option<f64>, range(0.0, MAX), "Noise sd of a toy; each has its own default.";
        file: Option<PathBuf>, "Table (CSV, TSV, spaces; compressed too). - is standard input.";
        images: Option<PathBuf>, "Image set instead of a table: a folder with one subfolder per class, CIFAR-10/100, SVHN, STL-10, MNIST-like IDX, or digits (bundled).";
        points: Option<Vec<Vec<f64>>>, "Points in the recipe itself: [[x, y], ...] for a curve, [[x1, x2, class], ...] for classes. With 20 or more, some are held out.";
        validation_points: Option<Vec<Vec<f64>>>, "Points of their own for validation, as in data.points, of which none is held out then.";
        image_size: Option<u32>, whole(4, 1024), flag("image-size", "N"), "Height and width to which images are resized at load; alexnet and preresnet take 32 [default: their own size, at most 32].";
        coarse: bool = false, "CIFAR-100: the 20 coarse classes instead of the 100 fine ones.";
        crop: Option<u32>, whole(0, 16), "Training images are shifted at random by up to this many pixels [default: 4 for colour, 2 for grey, 0 below 28 x 28].";
        flip: Option<bool>, "Training images are mirrored at random [default: true for colour but SVHN].";
        limit: Option<usize>, whole(10, 100_000_000), flag("limit", "N"), "Train on this many images only, drawn at random.";
        skip_broken: bool = false, flag("skip-broken", ""), "Leave out images that cannot be read, instead of refusing the set.";
        target: Option<String>, reading_flag("target", "COLUMN"), dash, "Column to predict, by name or index (-1 = last); several numeric columns with commas [default: the last column].";
        target_file: Option<PathBuf>, reading_flag("target-file", "FILE"), "Second file whose columns are joined to those of the table, row by row.";
        test_file: Option<PathBuf>, flag("test-file", "FILE"), "Table or image set to test on; no other rows are held out for testing then.";
        task: Option<Task>, reading_flag("task", "TASK"), "Regression or classification [default: inferred from the target].";
        delimiter: Option<String>, reading_flag("delimiter", "CHAR"), "One character, or tab or space [default: detected].";
        header: Option<bool>, reading_flag("header", "YES|NO"), "Whether the first line holds column names [default: detected].";
        standardise: bool = true, "Standardise inputs and target by their training mean and sd; false keeps the file's own units.";
        scaling: Scaling = Scaling::Standard, reading_flag("scaling", "HOW"), "How a table's numbers (and the trends of dates) become inputs: by mean and sd, or robust, by median and quartiles with a smooth clip at +-3, so that outliers neither squeeze the others nor are far themselves; a missing number then takes the median. Targets keep mean and sd; no effect with standardise = false.";
        skip_lines: usize = 0, whole(0, 1_000_000), reading_flag("skip-lines", "N"), "Lines to skip at the top of the file.";
        missing: Missing = Missing::Flag, reading_flag("missing", "HOW"), "Missing inputs: the training mean with an indicator input (flag), the mean alone, leave the row out, or stop. A row without target is left out.";
        max_levels: usize = 300, whole(2, 100_000), reading_flag("max-levels", "N"), "How many levels of a text column get an input of their own, at most; rarer ones share one.";
        embed_above: Option<usize>, whole(1, 1_000_000), reading_flag("embed-above", "N"), "A text column with more levels than this becomes one input, looked up in a trained table with a row for each level, in place of an input per level; its rare levels share a row [default: no column does].";
        strict: bool = false, reading_flag("strict", ""), "Treat anything ambiguous as an error: a text in a column of numbers, a row with too many or too few cells, missing cells (unless --missing is given), unseen levels; nothing is dropped by a guess.";
        ignore: Vec<String>, reading_flag("ignore", "COLUMN"), "Columns to leave out.";
        group: Option<String>, flag("group", "COLUMN"), "Column whose rows of one value (a patient, a site) stay in one part of the split; not an input unless --keep names it.";
        time: Option<String>, flag("time", "COLUMN"), "Column of dates or numbers that order the rows: the last are the test part, those before them the validation part; not an input unless --keep names it.";
        weight: Option<String>, flag("weight", "COLUMN"), "Column of non-negative numbers that weight each row in the loss, in early stopping and in the metrics; not an input unless --keep names it.";
        keep: Vec<String>, flag("keep", "COLUMN"), "Columns named by --group, --time or --weight that are inputs, too.";
        text_columns: Vec<String>, reading_flag("text-column", "COLUMN"), "Columns that are text although they look like numbers.";
        kinds as "as": Vec<String>, reading_flag("as", "COLUMN=KIND"), "Override the detected kind of a column; the kinds are number, text, date, ignore.";
        missing_markers: Option<Vec<String>>, reading_flag("missing-marker", "TEXT"), dash, "Texts that stand for a missing cell, instead of the usual ones (NA, NaN, null, ?, -, #N/A, ...); an empty cell always does.";
        split_file: Option<PathBuf>, flag("split-file", "FILE"), "File with one line per split: the test rows, counted from 0.";
        split: usize = 0, whole(0, 1_000_000), flag("split", "N"), "Which line of the split file, counted from 0.";
        test_fraction: f64 = 0.1, range(0.0, 0.9), "Share of the rows held out for testing.";
        validation_fraction: f64 = 0.1, range(0.0, 0.9), "Share of all rows held out for validation (early stopping); of those that are not test rows where a file names the test rows.";
        holdout: Option<Holdout>, flag("holdout", "WHOSE"), "Whose the validation rows are: shared by all members, or own: each member holds out a fold of the rows that the others train on, so that all rows are trained on. Only for tables and members that are trained apart.";
    }

    net: Net, restart {
        name: Option<NetName>, flag("net", "NAME"), "Network: mlp for a table, any for images [default: mlp; for images alexnet if they are 32 x 32 in colour, else cnn].";
        hidden: Option<Vec<u32>>, whole(1, 65_536), flag("hidden", "N,N"), "Hidden units, layer by layer; one number for cnn and alexnet [default: 50 for an mlp on a table, 256 on images; 128 for cnn, 256 for alexnet].";
        widths: Option<Vec<u32>>, whole(1, 4096), "Channels: two numbers for cnn, five for alexnet, the first stage's for preresnet [default: 32,64 for cnn; 64,128,256,128,64 for alexnet; 16 for preresnet].";
        depth: u32 = 20, whole(8, 1000), "Layers of preresnet: 20, 32, 44, 56 or any other 6 n + 2.";
        activation: Act = Act::Relu, "Activation of mlp and cnn; alexnet has silu, preresnet relu. selu keeps mean 0 and variance 1 from layer to layer.";
        embedding: Embedding = Embedding::None, "Embedding of a table's numbers before the first layer of mlp: none, or periodic, 16 trained cosines of each, which become three inputs beside it. Text columns (0 or 1 for each level) stay as they are.";
        input_scale: bool = false, label("trained input scales"), "A trained factor, at first 1, for each input of the first layer of mlp, behind the embedding.";
        parametric: bool = false, label("parametric activation"), "A trained factor a, at first 1, for each hidden unit of mlp, whose output is x + a (act(x) - x): how far the activation acts.";
        dropout: Option<f64>, range(0.0, 0.95), rebuild, slider("dropout", 0.001, 0.9), usual(0.1), "Share of units dropped after each activation in training; the method dropout drops them in prediction too [default: 0.1 there, else 0].";
        dropout_schedule: Strength = Strength::Constant, rebuild, "flat_cosine: dropout as it is in the first half of the steps, then by a cosine to 0. Not for the method dropout, which drops in prediction too.";
        parametrisation: Parametrisation = Parametrisation::Standard, "How an mlp on a table starts and learns: standard, PyTorch's start and one learning rate; ntk, weights from N(0, 1/inputs) and biases at training rows, with the learning rate divided by the root of a layer's inputs, and a tenth of it for biases and embedding. It wants a larger train.lr.";
        weights: Option<PathBuf>, "Start from the weights of this PyTorch safetensors file (names and shapes as `vifo export` writes them).";
    }

    method: Method, restart {
        name: String = "vifo-mean".into(), flag("method", "NAME"), "base (an ensemble of plain networks), swa, swag (with several members multiSWAG), dropout, dirichlet, repulsive, laplace, vbll; VIFO: vifo-mean, vifo-naive, vifo-mv, vifo-eb, vifo-mean_all, vifo-mv_all, vifo-eb_all, vifo-l2; VI over all weights: vi-naive, vi-mean, vi-mv, vi-eb.";
        members: u32 = 5, whole(1, 1000), flag("members", "N"), label("members of the ensemble"), "Networks in the ensemble, trained together.";
        eta: Option<f64>, range(0.0, MAX), live, flag("eta", "X"), slider("eta", 0.0, 10.0), "Weight of the regularizer (VIFO, VI, dirichlet) [default: 0.1, and 0.01 for VIFO on classes].";
        eta_aux: f64 = 0.0, range(0.0, MAX), effect_by(of_eta_aux), flag("eta-aux", "X"), slider("eta_aux", 0.0, 10.0), "Weight of the regularizer on auxiliary inputs, which are drawn outside the data, too (VIFO); 0 = off.";
        samples: u32 = 5, whole(1, 10_000), live, slider("samples M", 1.0, 100.0), "M, the Monte Carlo samples of a training step.";
        expectation: Expectation = Expectation::Auto, rebuild, "auto = exact where a closed form exists (VIFO regression, likelihood gaussian, noise_link exp), and quadrature under likelihood student-t.";
        sigma_link: Link = Link::Softplus, rebuild, "Link from rho to the sigma of VIFO's outputs.";
        noise_link: Link = Link::Exp, rebuild, "Link from the second output to the noise variance (regression); under likelihood student-t to its squared scale.";
        likelihood: Likelihood = Likelihood::Gaussian, rebuild, flag("likelihood", "NAME"), "Noise of a regression: gaussian, or student-t for targets with outliers, which then count less. Not with laplace and vbll.";
        nu: f64 = 4.0, above(2.0, 100.0), rebuild, slider("degrees of freedom", 2.1, 100.0), "Degrees of freedom of likelihood student-t: the fewer, the more outliers it expects.";
        aux_source: AuxSource = AuxSource::Uniform, rebuild, "Auxiliary inputs: uniform on the widened range, or an even grid (one input only).";
    }

    prior: PriorKeys, live {
        variance: Option<f64>, above(0.0, MAX), slider("prior variance", 1e-3, 100.0), "naive: 1 for VIFO, 0.05 for VI.";
        gamma: f64 = 0.3, above(0.0, MAX), slider("prior gamma", 1e-3, 10.0), "mean, mean_all.";
        a: f64 = 0.05, above(0.0, 1.0), slider("prior a", 0.001, 1.0), "mean, mean_all: gamma / (gamma + alpha).";
        alpha: Option<f64>, above(0.0, MAX), slider("prior alpha", 1e-3, 100.0), "mv: 0.5; eb: 4.4798.";
        beta: Option<f64>, above(0.0, MAX), slider("prior beta", 1e-3, 100.0), "mv: 0.01; eb: 10.";
        d: f64 = 0.1, above(0.0, 1.0), "mv: t / (1 + t).";
    }

    vi: Vi, restart {
        init: ViInit = ViInit::Normal, "Initial mu: N(0, 0.1^2), or PyTorch's uniform.";
        init_rho: f64 = -5.0, range(-30.0, 30.0), "Mean of the initial rho; its sd is 0.1.";
        groups: ViGroups = ViGroups::All, "vi-eb: one prior for all weights, or one per layer.";
    }

    swag: Swag, restart {
        columns: u32 = 20, whole(2, 1000), "Rank of SWAG's low-rank covariance: deviations of the last so many epochs, beside the diagonal.";
    }

    repulsive: Repulsive, restart {
        space: Space = Space::Function, rebuild, "Repulsion in function space (outputs on the batch) or in weight space.";
        strength: f64 = 1.0, range(0.0, MAX), live, slider("strength", 0.0, 100.0), "Weight of prior and repulsion together; 1 = the posterior's, with hardly visible repulsion. For more, raise it and prior_variance by the same factor: 10 with 50.";
        prior_variance: f64 = 5.0, above(0.0, MAX), rebuild, "Variance of the normal prior on outputs or weights.";
    }

    laplace: Laplace, restart {
        structure: Structure = Structure::Kronecker, rebuild, "Structure of the last layer's covariance; full grows with the square of features x outputs.";
        prior_variance: f64 = 0.05, above(0.0, MAX), live, slider("prior variance", 1e-3, 100.0), "Variance of the normal prior on the last layer in training.";
        prior_precision: Option<f64>, range(1e-6, 1e8), rebuild, "Prior precision in the posterior [default: from maximum marginal likelihood].";
        predict: LaplacePredict = LaplacePredict::Probit, rebuild, "Classes: softmax of the logits shrunk by their variance, or predict.samples draws of the last layer.";
    }

    vbll: Vbll, restart {
        regularizer: f64 = 1.0, range(0.0, MAX), live, slider("regularizer", 0.0, 100.0), "Weight of the last layer's KL divergence and of its noise prior; 1 = the bound's.";
    }

    train: Train, restart {
        epochs: Option<u32>, whole(0, 100_000_000), live, flag("epochs", "N"), "Passes over the training rows; 0 keeps the weights that it starts from [default: 200 for a table, or up to 1000 where 200 would be fewer than 3,000 steps, and 20 to 100 for images].";
        batch: Option<u32>, whole(1, 10_000_000), rebuild, flag("batch", "N"), "Rows per step [default: 32 for a table, 128 for images].";
        optimizer: Option<Optimizer>, rebuild, "How weights are stepped; adamw is adam whose weight decay is no part of the gradient [default: sgd for swa and swag, else adam].";
        lr: Option<f64>, above(0.0, 1e3), live, flag("lr", "X"), slider("learning rate", 1e-5, 1.0), usual(0.01), "Learning rate at the start [default: 0.01 for a table, 0.001 for images (0.05 with sgd)].";
        schedule: Option<Schedule>, live, "step: a tenth after half, a hundredth after three quarters of the epochs. swa: as it is until half of swa_start, then linear to swa_lr at 0.9 of it. coslog4: four waves from 0 to lr and back, each twice as long as the one before [default: swa for swa and swag, else cosine].";
        swa_start: Option<u32>, whole(0, 100_000_000), live, "Epochs before the first weights are collected (swa, swag); with the schedule swa also its time scale [default: the share of 161 of 500 epochs].";
        swa_lr: Option<f64>, above(0.0, 1e3), live, "Learning rate at the end of the schedule swa [default: a fifth of lr].";
        adam_epochs: u32 = 0, whole(0, 100_000_000), "SGD: use Adam at 0.001 for the first so many epochs, as the paper does for SVHN.";
        momentum: f64 = 0.9, range(0.0, 0.9999), rebuild, "Momentum of SGD.";
        weight_decay: f64 = 0.0, range(0.0, 1e3), live, "L2 penalty added to the gradient, as in PyTorch; with adamw the share of a weight that it loses in a step, per learning rate.";
        kl_warmup: u32 = 0, whole(0, 100_000_000), live, "Epochs over which eta rises from 0.";
        clip: f64 = 1.0, range(0.0, MAX), effect_by(of_clip), "Largest gradient norm of a member; 0 = unclipped. Keeps outlier rows from derailing training.";
        patience: Option<u32>, whole(0, 100_000_000), live, "Epochs without a better validation NLL before stopping; 0 = never stop and keep the last weights [default: a quarter of the epochs, 0 for swa and swag].";
        evaluate_every: u32 = 1, whole(1, 100_000_000), live, "Epochs between two evaluations and rows of metrics.csv.";
        variants: Option<Vec<String>>, flag("variant", "KEY=VALUE,..."), "Variants to train beside each other, such as net.dropout=0 and net.dropout=0.15: the first whose out-of-fold NLL is within a standard error of the best is kept, without a look at test rows. Needs --holdout own; a variant changes neither rows, members, epochs nor the layout of the weights.";
        watch_test: bool = false, rebuild, "Also record test NLL and RMSE or accuracy at every evaluation: to watch, never for model selection.";
        weight_decay_schedule: Strength = Strength::Constant, live, "flat_cosine: weight_decay as it is in the first half of the steps, then by a cosine to 0.";
        beta2: f64 = 0.999, range(0.0, 0.9999), rebuild, "Adam's rate of forgetting squared gradients.";
        average: Option<f64>, above(0.0, 0.99999), rebuild, "Predict, and judge epochs, with an average of the weights that forgets all but this share at each step, such as 0.999; early steps count for less [default: off]. Not for swa and swag, which average by themselves.";
        precision: Precision = Precision::F32, rebuild, flag("precision", "HOW"), "f16 stores activations, their gradients and what matrix products read in 16 bits while training, sums and weights in 32, and scales the loss so that small gradients are not lost; for GPUs that are bound by memory. f16-matrix also multiplies on the matrix units of cards that have them. Predictions are made in f32. Neither was yet timed on a card.";
        checkpoint_seconds: f64 = 2.0, range(0.0, 1e9), live, cosmetic, "Minimum seconds between two checkpoints; 0 = at every evaluation.";
        budget: Option<String>, flag("budget", "TIME"), dash, "How long a training on a table may take at most: 10s, 1m, 10m or the like sets epochs and rows per step, where they are not given, how many of the members are trained, and where time is left variants to try, by a trial on this machine; members that stop early take less; auto sets epochs and rows per step by the number of rows alone: 10 s for 1,000 rows, a minute for 50,000 on two cores [default: auto for a table without a recipe file, else none].";
    }

    baselines: Baselines, restart {
        boosting: Boosting = Boosting::Auto, flag("baseline", "WHEN"), "Gradient-boosted trees beside the network in the results of a table; auto: if they take under a second.";
    }

    predict: Predict, restart {
        samples: u32 = 10, whole(1, 100_000), rebuild, "Monte Carlo samples per member in prediction.";
    }
}

/// As `Key::said`, of a path.
pub fn said(path: &str) -> String {
    find(path).map_or_else(|| path.into(), Key::said)
}

/// A text that a run keeps from the command line, with the words of the window in place of its flags and keys.
pub fn for_window(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(is_part) {
        let (before, from) = rest.split_at(at);
        // A placeholder means nothing without its flag.
        if let Some((of, after)) =
            ["group", "time", "weight"].iter().find_map(|of| Some((of, from.strip_prefix(&format!("--{of} COLUMN"))?)))
        {
            out.push_str(&format!("{before}a column of {of}s"));
            rest = after;
            continue;
        }
        let (word, after) = from.split_at(from.find(|c| !is_part(c)).unwrap_or(from.len()));
        // The full stop of a sentence is no part of a key.
        let name = word.trim_end_matches('.');
        out.push_str(before);
        match name.strip_prefix("--").filter(|flag| !flag.is_empty()) {
            Some(flag) => match KEYS.iter().find(|k| k.flag.is_some_and(|f| f.name == flag)) {
                Some(key) => out.push_str(&key.words()),
                None => out.push_str(&flag.replace('-', " ")),
            },
            None => match find(name).filter(|_| name.contains('.')) {
                Some(key) => out.push_str(&key.words()),
                None => out.push_str(name),
            },
        }
        out.push_str(&word[name.len()..]);
        rest = after;
    }
    out + rest
}

/// A key as it stands in a recipe's text, whose errors the window shows beside it: "[train] lr".
pub fn written(path: &str) -> String {
    either(path, path.split_once('.').map_or_else(|| path.into(), |(section, key)| format!("[{section}] {key}")))
}

pub fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|k| k.path == path)
}

/// For `key!`: an error of the compiler where there is no such key.
pub(crate) const fn named(path: &str) -> &'static Key {
    let mut i = 0;
    while i < KEYS.len() {
        if is_same(KEYS[i].path.as_bytes(), path.as_bytes()) {
            return &KEYS[i];
        }
        i += 1;
    }
    panic!("no such key")
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// The keys in which two recipes differ, by name.
pub fn diff(a: &Recipe, b: &Recipe) -> Vec<&'static Key> {
    let mut keys: Vec<&Key> = KEYS.iter().filter(|k| k.differs(a, b)).collect();
    keys.sort_by_key(|k| k.path);
    keys
}

/// The first key that makes `wanted` another experiment than `there`, with both values as a recipe writes them. Keys that
/// change no result are passed over, and so are `places`: keys that the caller knows to be elsewhere.
pub fn difference(there: &Recipe, wanted: &Recipe, places: &[&Key]) -> Option<(&'static str, String, String)> {
    let counts = |k: &&Key| !k.cosmetic && !places.iter().any(|p| p.path == k.path);
    let key = KEYS.iter().filter(counts).find(|k| k.differs(there, wanted))?;
    let text = |r: &Recipe| key.value(r).map_or("nothing".into(), |v| v.to_string());
    Some((key.path, text(there), text(wanted)))
}

impl ValueKind {
    /// "a number from 0 to 1": what the key may hold, in words.
    pub fn allowed(&self) -> String {
        let end = |high: f64| if high >= MAX { String::new() } else { format!(" and at most {high}") };
        match self {
            ValueKind::Text => "a text in quotes".into(),
            ValueKind::Choice(c) => c.iter().map(|c| format!("\"{c}\"")).collect::<Vec<_>>().join(", "),
            ValueKind::Bool => "true, false".into(),
            ValueKind::Whole(low, high) => format!("a whole number from {low} to {high}"),
            ValueKind::Number(low, high) => format!("a number of at least {low}{}", end(*high)),
            ValueKind::Above(low, high) => format!("a number above {low}{}", end(*high)),
            ValueKind::TextList => "a list of texts".into(),
            ValueKind::WholeList(low, high) => format!("a list of whole numbers from {low} to {high}"),
            ValueKind::PointList => format!(
                "a list of at most {} points, all [x, y] or all [x1, x2, class] with a whole number from 0 to {} as class",
                points::MAX_POINTS,
                points::MAX_CLASS
            ),
        }
    }

    /// The value in the form in which the recipe stores it (whole numbers become floats where a number is meant).
    fn admit(&self, value: &Value) -> Option<Value> {
        let number = |v: &Value| v.as_float().or_else(|| v.as_integer().map(|i| i as f64));
        let whole = |v: &Value, low: i64, high: i64| v.as_integer().is_some_and(|i| (low..=high).contains(&i));
        let ok = match self {
            ValueKind::Text => value.is_str(),
            ValueKind::Choice(c) => value.as_str().is_some_and(|s| c.contains(&s)),
            ValueKind::Bool => value.is_bool(),
            // 1e3 is as whole as 1000.
            ValueKind::Whole(low, high) if value.as_float().is_some_and(|x| x.fract() == 0.0 && x.abs() < 1e15) => {
                let whole = Value::Integer(value.as_float().unwrap_or(0.0) as i64);
                return whole.as_integer().filter(|i| (low..=high).contains(&i)).map(Value::Integer);
            }
            ValueKind::Whole(low, high) => whole(value, *low, *high),
            ValueKind::Number(low, high) => return number(value).filter(|x| x >= low && x <= high).map(Value::Float),
            ValueKind::Above(low, high) => return number(value).filter(|x| x > low && x <= high).map(Value::Float),
            ValueKind::TextList => value.as_array().is_some_and(|a| a.iter().all(Value::is_str)),
            ValueKind::WholeList(low, high) => {
                value.as_array().is_some_and(|a| a.iter().all(|v| whole(v, *low, *high)))
            }
            ValueKind::PointList => return admit_points(value, "").ok(),
        };
        ok.then(|| value.clone())
    }
}

/// Checks a whole recipe; `place` is its file or "the command line". Returns the table with every value admitted.
pub fn check(table: &Table, place: &str) -> Result<Table> {
    let mut out = Table::new();
    for (name, value) in table {
        if let (Some(inner), true) = (value.as_table(), SECTIONS.contains(&name.as_str())) {
            let mut section = Table::new();
            for (key, value) in inner {
                section.insert(key.clone(), admit(&format!("{name}.{key}"), value, place)?);
            }
            out.insert(name.clone(), Value::Table(section));
        } else {
            out.insert(name.clone(), admit(name, value, place)?);
        }
    }
    Ok(out)
}

fn admit(path: &str, value: &Value, place: &str) -> Result<Value> {
    let Some(key) = find(path) else { return Err(unknown(path, place)) };
    if matches!(key.kind, ValueKind::PointList) {
        return admit_points(value, &format!("{place}: {}", written(path)));
    }
    key.kind.admit(value).ok_or_else(|| {
        Error::usage(
            format!("{place}: {}", written(path)),
            format!("{} is not allowed", short(value)),
            key.kind.allowed(),
            default_cure(key),
        )
    })
}

/// `ValueKind::PointList`, with the row in the error: one wrong number among thousands is hard to find.
fn admit_points(value: &Value, place: &str) -> Result<Value> {
    let shown = |v: &Value| {
        let text = v.to_string();
        if text.chars().count() > 40 { text.chars().take(40).collect::<String>() + "..." } else { text }
    };
    let Some(list) = value.as_array() else {
        return Err(Error::usage(place, format!("{} is no list", shown(value)), ValueKind::PointList.allowed(), ""));
    };
    let row = |(i, row): (usize, &Value)| {
        let refuse = |found| Error::usage(points::row_place(place, i), found, "numbers in brackets: [1.5, 2]", "");
        let row = row.as_array().ok_or_else(|| refuse(format!("{} is no list", shown(row))))?;
        let number = |v: &Value| v.as_float().or_else(|| v.as_integer().map(|i| i as f64));
        let number = |v| number(v).ok_or_else(|| refuse(format!("{} is no number", shown(v))));
        row.iter().map(number).collect::<Result<Vec<f64>>>()
    };
    let rows = list.iter().enumerate().map(row).collect::<Result<Vec<_>>>()?;
    points::check(&rows, place)?;
    let row = |row: Vec<f64>| Value::Array(row.into_iter().map(Value::Float).collect());
    Ok(Value::Array(rows.into_iter().map(row).collect()))
}

fn default_cure(key: &Key) -> String {
    match key.default() {
        None => "leave the key out to let vifo choose".into(),
        Some(default) => format!("the default is {default}"),
    }
}

impl Key {
    /// Whether what a recipe holds is allowed.
    pub fn is_allowed(&self, recipe: &Recipe) -> bool {
        if !matches!(self.kind, ValueKind::PointList) {
            return self.value(recipe).is_none_or(|v| self.kind.admit(&v).is_some());
        }
        // Thousands of points are checked as they are.
        let all = [&recipe.data.points, &recipe.data.validation_points];
        all.into_iter().flatten().all(|rows| points::check(rows, "").is_ok())
    }
}

/// The error for a key that does not exist, with the nearest one that does.
pub fn unknown(path: &str, place: &str) -> Error {
    if !path.contains('.')
        && let Some(section) = SECTIONS.iter().find(|s| strsim::jaro_winkler(s, path) > 0.85)
    {
        let help = format!("did you mean the section [{section}]?{}", either(" `vifo fit --keys` lists all keys", ""));
        return Error::usage(format!("{place}: {}", written(path)), "no such key or section", "", help);
    }
    /// Words less alike than this are no slip of the finger.
    const LIKE: f64 = 0.8;
    let last = |p: &str| p.rsplit('.').next().unwrap_or(p).to_string();
    let score =
        |k: &Key| strsim::jaro_winkler(k.path, path).max(strsim::jaro_winkler(&last(k.path), &last(path)) * 0.99);
    let nearest = KEYS
        .iter()
        .max_by(|a, b| score(a).total_cmp(&score(b)))
        .filter(|k| strsim::jaro_winkler(&last(k.path), &last(path)) > LIKE);
    let help = match nearest {
        Some(key) => format!("did you mean {}?{}", written(key.path), either(" `vifo fit --keys` lists all", "")),
        None => either("`vifo fit --keys` lists all", "take it out"),
    };
    Error::usage(format!("{place}: {}", written(path)), "no such key", "", help)
}

/// Sets `path` to the text of a TOML value; bare words are taken as text.
pub fn set(table: &mut Table, path: &str, text: &str, place: &str) -> Result<()> {
    let Some(key) = find(path) else { return Err(unknown(path, place)) };
    let parsed = format!("v = {text}").parse::<Table>().ok().and_then(|mut t| t.remove("v"));
    let textual = matches!(key.kind, ValueKind::Text | ValueKind::Choice(_));
    let value = match parsed {
        Some(v) if !textual || v.is_str() => v,
        _ => Value::String(text.to_string()),
    };
    let value = admit(path, &value, place)?;
    match path.split_once('.') {
        None => {
            table.insert(path.into(), value);
        }
        Some((section, name)) => {
            let entry = table.entry(section.to_string()).or_insert_with(|| Value::Table(Table::new()));
            match entry.as_table_mut() {
                Some(t) => {
                    t.insert(name.into(), value);
                }
                None => {
                    return Err(Error::usage(
                        format!("{place}: {section}"),
                        "is not a section",
                        format!("[{section}]"),
                        "write it as a table",
                    ));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_allowed_and_every_key_reaches_the_recipe() {
        for key in KEYS {
            assert!(key.is_allowed(&Recipe::default()), "{}", key.path);
        }
    }

    #[test]
    fn what_the_command_line_said_has_the_windows_words() {
        let said = |text: &str| for_window(text);
        assert_eq!(said("--group COLUMN keeps them together"), "a column of groups keeps them together");
        assert_eq!(
            said("the inputs may tell little (compare with the baselines), or --lr is too high"),
            "the inputs may tell little (compare with the baselines), or learning rate is too high"
        );
        assert_eq!(said("lower `--lr` (now 0.1), set train.clip=1."), "lower `learning rate` (now 0.1), set clip=1.");
        assert_eq!(said("--no-such-flag 3 -- 90 % of data.csv, -0.5"), "no such flag 3 -- 90 % of data.csv, -0.5");
        assert_eq!(said(""), "");
    }

    #[test]
    fn says_what_is_wrong() {
        let error = |text: &str| {
            check(&text.parse::<Table>().expect("TOML"), "r.toml").expect_err("a wrong recipe").to_string()
        };
        assert_eq!(
            error("[method]\neta = -1.0"),
            "r.toml: method.eta: -1.0 is not allowed; allowed: a number of at least 0; leave the key out to let vifo choose"
        );
        assert!(
            error("[train]\nlr = 1e300")
                .starts_with("r.toml: train.lr: 1e300 is not allowed; allowed: a number above 0")
        );
        assert!(error("[method]\netta = 1.0").contains("did you mean method.eta?"));
        assert!(error("[train]\nepoch = 1").contains("train.epochs"));
        assert!(error("[trian]\nepochs = 1").contains("no such key"));
        assert_eq!(error("[train]\nfoo = 1"), "r.toml: train.foo: no such key; `vifo fit --keys` lists all");
        assert_eq!(error("foo = 1"), "r.toml: foo: no such key; `vifo fit --keys` lists all");
        assert!(error("[method]\neta = nan").contains("not allowed"));
    }

    #[test]
    fn points_become_floats_or_are_refused_by_row() {
        let mut t = Table::new();
        set(&mut t, "data.points", "[[0, 1], [2.5, -3], [1e3, 1_0]]", "t").expect("points");
        assert_eq!(t["data"]["points"].to_string(), "[[0.0, 1.0], [2.5, -3.0], [1000.0, 10.0]]");
        set(&mut t, "data.points", "[]", "t").expect("points are yet to come");
        for (text, wanted) in [
            ("[[0, 1], [1, 2], [1, 2, 3]]", "t: data.points, row 3: has 3 numbers where row 1 has 2; give all rows"),
            ("[[0, 1], 5]", "t: data.points, row 2: 5 is no list; allowed: numbers in brackets"),
            ("[[0, 1], [1, \"a\"]]", "t: data.points, row 2: \"a\" is no number"),
            ("[[0, 1], [1, true]]", "t: data.points, row 2: true is no number"),
            ("[[0, 1], [1, [2]]]", "t: data.points, row 2: [2] is no number"),
            ("[[0, 1], [nan, 1]]", "t: data.points, row 2: holds NaN; allowed: numbers from -1e12 to 1e12"),
            ("[[0, -inf]]", "t: data.points, row 1: holds -inf"),
            ("[[0, 1e300]]", "t: data.points, row 1: holds 1e300"),
            ("[[0, 1, 0.5]]", "t: data.points, row 1: is of class 0.5; allowed: a whole number from 0 to 99"),
            ("[[]]", "t: data.points, row 1: has 0 numbers; allowed: [x, y] for a curve"),
            ("7", "t: data.points: 7 is no list; allowed: a list of at most 10000 points, all [x, y]"),
            ("[[0, 1], [1,", "t: data.points: \"[[0, 1], [1,\" is no list"),
        ] {
            let error = set(&mut t, "data.points", text, "t").expect_err(text).to_string();
            assert!(error.starts_with(wanted) && !error.contains('\n'), "{text}: {error}");
        }
        let long = format!("[{}]", "[1, ".repeat(500));
        assert!(set(&mut t, "data.points", &long, "t").expect_err("broken").to_string().len() < 300);
    }
}
