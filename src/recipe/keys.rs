//! Every recipe key: what it may hold, its default and what it does. This one table checks recipes and `--set`, finds the
//! nearest key for a typing error and prints `vifo fit --keys`.

use crate::data::points;
use crate::error::{Error, Result};
use toml::{Table, Value};

#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Text,
    Choice(&'static [&'static str]),
    Bool,
    /// Whole number in [low, high].
    Whole(i64, i64),
    /// Number in [low, high].
    Number(f64, f64),
    /// Number in (low, high].
    Above(f64, f64),
    TextList,
    /// List of whole numbers, each in [low, high].
    WholeList(i64, i64),
    /// List of lists of two numbers, or of three of which the last is a class (`data::points`).
    PointList,
}

pub struct Key {
    pub path: &'static str,
    pub kind: Kind,
    /// As written in a recipe; empty = none.
    pub default: &'static str,
    pub help: &'static str,
}

const MAX: f64 = 1e12;

macro_rules! keys {
    ($($path:literal, $kind:expr, $default:literal, $help:literal;)*) => {
        pub const KEYS: &[Key] = &[$(Key { path: $path, kind: $kind, default: $default, help: $help },)*];
    };
}

keys! {
    "name", Kind::Text, "", "Name of the run folder and of the figures; the data's name if absent.";
    "seed", Kind::Whole(0, u32::MAX as i64), "1", "Same seed, same run.";
    "device", Kind::Text, "\"auto\"", "auto, cpu, gpu, software, or part of an adapter's name.";
    "data.toy", Kind::Choice(&["sinusoid", "heteroscedastic", "cubic", "moons", "rings", "blobs"]), "", "A bundled curve or 2-D set instead of a file.";
    "data.gap", Kind::Choice(&["figure", "paper"]), "\"figure\"", "Training inputs of the sinusoid: +-[pi/4, 3pi/4] or +-[pi/2, 3pi/4].";
    "data.rows", Kind::Whole(10, 1_000_000), "100", "Training rows of a toy.";
    "data.noise", Kind::Number(0.0, MAX), "", "Noise sd of a toy; each has its own default.";
    "data.file", Kind::Text, "", "Table (CSV, TSV, spaces; compressed too). - is standard input.";
    "data.images", Kind::Text, "", "Image set instead of a table: a folder with one subfolder a class, CIFAR-10/100, SVHN, STL-10, MNIST-like IDX, or digits (bundled).";
    "data.points", Kind::PointList, "", "Points in the recipe itself: [[x, y], ...] for a curve, [[x1, x2, class], ...] for classes. From 20 of them on, some are held out.";
    "data.image_size", Kind::Whole(4, 1024), "", "Height and width to which images are resized at load; alexnet and preresnet take 32.";
    "data.coarse", Kind::Bool, "false", "CIFAR-100: the 20 coarse classes instead of the 100 fine ones.";
    "data.crop", Kind::Whole(0, 16), "", "Training images are shifted at random by up to this many pixels: 4 for colour, 2 for grey, 0 below 28 x 28 if absent.";
    "data.flip", Kind::Bool, "", "Training images are mirrored at random: true for colour but SVHN if absent.";
    "data.skip_broken", Kind::Bool, "false", "Leave out images that cannot be read, instead of refusing the set.";
    "data.limit", Kind::Whole(10, 100_000_000), "", "Train on this many images only, drawn at random.";
    "data.target", Kind::Text, "", "Column to predict, by name or index (-1 = last); several numbers with commas: \"a,b\".";
    "data.target_file", Kind::Text, "", "Second file whose columns are put beside those of data.file.";
    "data.test_file", Kind::Text, "", "Table or image set to test on; test_fraction is 0 then.";
    "data.task", Kind::Choice(&["regression", "classification"]), "", "Found from the target if absent.";
    "data.delimiter", Kind::Text, "", "One character, or \"tab\" or \"space\"; found if absent.";
    "data.header", Kind::Bool, "", "Whether the first line holds names; found if absent.";
    "data.standardise", Kind::Bool, "true", "Inputs and target in units of their training sd; false keeps the file's own units.";
    "data.skip_lines", Kind::Whole(0, 1_000_000), "0", "Lines to leave out at the top of the file.";
    "data.missing", Kind::Choice(&["flag", "mean", "drop", "error"]), "\"flag\"", "Missing inputs: the training mean with an input beside it that tells (flag), the mean alone, leave the row out, or stop. A row without target is left out.";
    "data.max_levels", Kind::Whole(2, 100_000), "300", "Most levels of a text column with an input each; rarer ones share one.";
    "data.strict", Kind::Bool, "false", "What is not clear is an error: a text in a column of numbers, a row with too many or too few cells, missing cells (unless data.missing is given), unseen levels; nothing is left out by a guess.";
    "data.ignore", Kind::TextList, "[]", "Columns to leave out.";
    "data.group", Kind::Text, "", "Column whose rows of one value (a patient, a site) stay in one part of the split; it is no input unless data.keep names it.";
    "data.time", Kind::Text, "", "Column of dates or numbers that sort the rows: the last are the test part, those before them validate; it is no input unless data.keep names it.";
    "data.weight", Kind::Text, "", "Column of non-negative numbers that weigh each row in the loss, in the choice of the epoch and in the metrics; it is no input unless data.keep names it.";
    "data.keep", Kind::TextList, "[]", "Columns of data.group, data.time or data.weight that are inputs, too.";
    "data.text_columns", Kind::TextList, "[]", "Columns that are text although they look like numbers.";
    "data.as", Kind::TextList, "[]", "What columns are where the reader would take them for something else: \"column=kind\", kind one of number, text, date, ignore.";
    "data.missing_markers", Kind::TextList, "", "Texts that stand for a missing cell, instead of the usual ones (NA, NaN, null, ?, -, #N/A, ...); an empty cell always does.";
    "data.split_file", Kind::Text, "", "File with one line a split: the 0-based test rows.";
    "data.split", Kind::Whole(0, 1_000_000), "0", "Which line of split_file.";
    "data.test_fraction", Kind::Number(0.0, 0.9), "0.1", "Share of the rows held out for the test.";
    "data.validation_fraction", Kind::Number(0.0, 0.9), "0.1", "Share of the other rows that chooses when to stop.";
    "net.name", Kind::Choice(&["mlp", "cnn", "alexnet", "preresnet"]), "", "mlp for tables; for images alexnet if they are 32 x 32 in colour, else cnn, if absent.";
    "net.hidden", Kind::WholeList(1, 65_536), "", "Hidden units, layer by layer: [50] for an mlp on a table, [256] on images; one number for cnn (128) and alexnet (256).";
    "net.widths", Kind::WholeList(1, 4096), "", "Channels: two for cnn ([32, 64]), five for alexnet ([64, 128, 256, 128, 64]), the first stage's for preresnet ([16]).";
    "net.depth", Kind::Whole(8, 1000), "20", "Layers of preresnet: 20, 32, 44, 56 or any other 6 n + 2.";
    "net.activation", Kind::Choice(&["relu", "silu"]), "\"relu\"", "Activation of mlp and cnn; alexnet has silu, preresnet relu.";
    "net.dropout", Kind::Number(0.0, 0.95), "", "Share of units dropped after each activation in training; the method dropout drops them in prediction too: 0.1 there if absent, else 0.";
    "net.weights", Kind::Text, "", "Start from the weights of this PyTorch safetensors file (names and shapes as `vifo export` writes them).";
    "method.name", Kind::Text, "\"vifo-mean\"", "base (an ensemble of plain networks), swa, swag (multiSWAG with several members), dropout, dirichlet, repulsive, laplace, vbll, VIFO or VI with a regularizer.";
    "method.members", Kind::Whole(1, 1000), "5", "Networks of the ensemble, trained together.";
    "method.eta", Kind::Number(0.0, MAX), "", "Weight of the regularizer (VIFO, VI, dirichlet); if absent 0.1, and 0.01 for VIFO on classes.";
    "method.eta_aux", Kind::Number(0.0, MAX), "0.0", "Weight of the regularizer on auxiliary inputs (VIFO); 0 = off.";
    "method.samples", Kind::Whole(1, 10_000), "5", "M, the Monte Carlo samples of a training step.";
    "method.expectation", Kind::Choice(&["auto", "sampled", "exact"]), "\"auto\"", "auto = exact where a closed form exists (VIFO regression, noise_link exp).";
    "method.sigma_link", Kind::Choice(&["softplus", "exp"]), "\"softplus\"", "sigma of VIFO's outputs from rho.";
    "method.noise_link", Kind::Choice(&["exp", "softplus"]), "\"exp\"", "Noise variance from the second output (regression).";
    "method.aux_source", Kind::Choice(&["uniform", "grid"]), "\"uniform\"", "Auxiliary inputs: uniform on the widened range, or an even grid (one input only).";
    "prior.variance", Kind::Above(0.0, MAX), "", "naive: 1 for VIFO, 0.05 for VI.";
    "prior.gamma", Kind::Above(0.0, MAX), "0.3", "mean, mean_all.";
    "prior.a", Kind::Above(0.0, 1.0), "0.05", "mean, mean_all: gamma / (gamma + alpha).";
    "prior.alpha", Kind::Above(0.0, MAX), "", "mv: 0.5; eb: 4.4798.";
    "prior.beta", Kind::Above(0.0, MAX), "", "mv: 0.01; eb: 10.";
    "prior.d", Kind::Above(0.0, 1.0), "0.1", "mv: t / (1 + t).";
    "vi.init", Kind::Choice(&["normal", "torch"]), "\"normal\"", "Start of mu: N(0, 0.1^2), or PyTorch's uniform.";
    "vi.init_rho", Kind::Number(-30.0, 30.0), "-5.0", "Mean of rho at the start; its sd is 0.1.";
    "vi.groups", Kind::Choice(&["all", "layer"]), "\"all\"", "eb: one prior for all weights, or one a layer.";
    "swag.columns", Kind::Whole(2, 1000), "20", "Deviations of the last so many epochs that span SWAG's covariance beside its diagonal.";
    "repulsive.space", Kind::Choice(&["function", "weights"]), "\"function\"", "What keeps the members apart: their outputs on the batch, or their weights.";
    "repulsive.strength", Kind::Number(0.0, MAX), "1.0", "Weight of prior and repulsion together; 1 = the posterior's, whose repulsion hardly shows. For one that does, raise repulsive.prior_variance by the same factor: 10 with 50.";
    "repulsive.prior_variance", Kind::Above(0.0, MAX), "5.0", "Variance of the normal prior on outputs or weights.";
    "laplace.structure", Kind::Choice(&["kronecker", "full", "diagonal"]), "\"kronecker\"", "Of the last layer's covariance; full grows with the square of features x outputs.";
    "laplace.prior_variance", Kind::Above(0.0, MAX), "0.05", "Of the normal prior on the last layer in training.";
    "laplace.prior_precision", Kind::Number(1e-6, 1e8), "", "Of the prior in the posterior; found by maximum marginal likelihood if absent.";
    "laplace.predict", Kind::Choice(&["probit", "samples"]), "\"probit\"", "Classes: softmax of the logits shrunk by their variance, or predict.samples draws of the last layer.";
    "vbll.regularizer", Kind::Number(0.0, MAX), "1.0", "Weight of the last layer's KL divergence and of its noise prior; 1 = the bound's.";
    "train.epochs", Kind::Whole(0, 100_000_000), "", "Passes over the training rows; if absent 200 for a table, or up to 1000 where 200 would be fewer than 3,000 steps, and 20 to 100 for images. 0 keeps the weights of net.weights.";
    "train.batch", Kind::Whole(1, 10_000_000), "", "Rows a step: 32 for a table, 128 for images if absent.";
    "train.optimizer", Kind::Choice(&["adam", "sgd"]), "", "sgd for swa and swag, else adam, if absent.";
    "train.lr", Kind::Above(0.0, 1e3), "", "Learning rate at the start: 0.01 for a table, 0.001 for images (0.05 with sgd) if absent.";
    "train.schedule", Kind::Choice(&["cosine", "constant", "step", "swa"]), "", "step: a tenth after half, a hundredth after three quarters of the epochs. swa: as it is until half of swa_start, then linear to swa_lr at 0.9 of it. swa for swa and swag, else cosine, if absent.";
    "train.swa_start", Kind::Whole(0, 100_000_000), "", "Epochs before the first weights are collected (swa, swag); with the schedule swa also its time scale. 161 of 500 epochs' share if absent.";
    "train.swa_lr", Kind::Above(0.0, 1e3), "", "Learning rate at the end of the schedule swa: a fifth of lr if absent.";
    "train.adam_epochs", Kind::Whole(0, 100_000_000), "0", "SGD: the first so many epochs take Adam at 0.001 instead, as the paper does for SVHN.";
    "train.momentum", Kind::Number(0.0, 0.9999), "0.9", "SGD.";
    "train.weight_decay", Kind::Number(0.0, 1e3), "0.0", "Added to the gradient, as in PyTorch.";
    "train.kl_warmup", Kind::Whole(0, 100_000_000), "0", "Epochs over which eta rises from 0.";
    "train.clip", Kind::Number(0.0, MAX), "1.0", "Largest gradient norm of a member; 0 = unclipped. Keeps rare rows from throwing training off.";
    "train.patience", Kind::Whole(0, 100_000_000), "", "Epochs without a better validation NLL before stopping: a quarter of the epochs if absent, 0 for swa and swag; 0 = never stop and keep the last weights.";
    "train.evaluate_every", Kind::Whole(1, 100_000_000), "1", "Epochs between two evaluations and rows of metrics.csv.";
    "train.watch_test", Kind::Bool, "false", "Also record test NLL and RMSE or accuracy at every evaluation: to look at, never to choose by.";
    "train.checkpoint_seconds", Kind::Number(0.0, 1e9), "2.0", "Least time between two checkpoints; 0 = at every evaluation.";
    "baselines.boosting", Kind::Choice(&["auto", "on", "off"]), "\"auto\"", "Gradient-boosted trees beside the network in the results of a table; auto: where they take under a second.";
    "predict.samples", Kind::Whole(1, 100_000), "10", "Monte Carlo samples of a member in prediction.";
}

pub const SECTIONS: [&str; 12] =
    ["data", "net", "method", "prior", "vi", "swag", "repulsive", "laplace", "vbll", "train", "baselines", "predict"];

pub fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|k| k.path == path)
}

impl Kind {
    /// "a number from 0 to 1": what the key may hold, in words.
    pub fn allowed(&self) -> String {
        let end = |high: f64| if high >= MAX { String::new() } else { format!(" and at most {high}") };
        match self {
            Kind::Text => "a text in quotes".into(),
            Kind::Choice(c) => c.iter().map(|c| format!("\"{c}\"")).collect::<Vec<_>>().join(", "),
            Kind::Bool => "true, false".into(),
            Kind::Whole(low, high) => format!("a whole number from {low} to {high}"),
            Kind::Number(low, high) => format!("a number of at least {low}{}", end(*high)),
            Kind::Above(low, high) => format!("a number above {low}{}", end(*high)),
            Kind::TextList => "a list of texts".into(),
            Kind::WholeList(low, high) => format!("a list of whole numbers from {low} to {high}"),
            Kind::PointList => format!(
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
            Kind::Text => value.is_str(),
            Kind::Choice(c) => value.as_str().is_some_and(|s| c.contains(&s)),
            Kind::Bool => value.is_bool(),
            // 1e3 is as whole as 1000.
            Kind::Whole(low, high) if value.as_float().is_some_and(|x| x.fract() == 0.0 && x.abs() < 1e15) => {
                let whole = Value::Integer(value.as_float().unwrap_or(0.0) as i64);
                return whole.as_integer().filter(|i| (low..=high).contains(&i)).map(Value::Integer);
            }
            Kind::Whole(low, high) => whole(value, *low, *high),
            Kind::Number(low, high) => return number(value).filter(|x| x >= low && x <= high).map(Value::Float),
            Kind::Above(low, high) => return number(value).filter(|x| x > low && x <= high).map(Value::Float),
            Kind::TextList => value.as_array().is_some_and(|a| a.iter().all(Value::is_str)),
            Kind::WholeList(low, high) => value.as_array().is_some_and(|a| a.iter().all(|v| whole(v, *low, *high))),
            Kind::PointList => return admit_points(value, "").ok(),
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
    if matches!(key.kind, Kind::PointList) {
        return admit_points(value, &format!("{place}: {path}"));
    }
    key.kind.admit(value).ok_or_else(|| {
        Error::usage(
            format!("{place}: {path}"),
            format!("{value} is not allowed"),
            key.kind.allowed(),
            default_cure(key),
        )
    })
}

/// `Kind::PointList`, with the row in the error: nobody finds one wrong number among thousands.
fn admit_points(value: &Value, place: &str) -> Result<Value> {
    let shown = |v: &Value| {
        let text = v.to_string();
        if text.chars().count() > 40 { text.chars().take(40).collect::<String>() + "..." } else { text }
    };
    let Some(list) = value.as_array() else {
        return Err(Error::usage(place, format!("{} is no list", shown(value)), Kind::PointList.allowed(), ""));
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
    if key.default.is_empty() {
        "leave the key out to let vifo choose".into()
    } else {
        format!("the default is {}", key.default)
    }
}

/// The error for a key that does not exist, with the nearest one that does.
pub fn unknown(path: &str, place: &str) -> Error {
    if !path.contains('.')
        && let Some(section) = SECTIONS.iter().find(|s| strsim::jaro_winkler(s, path) > 0.85)
    {
        let cure = format!("did you mean the section [{section}]? `vifo fit --keys` lists all keys");
        return Error::usage(format!("{place}: {path}"), "no such key or section", "", cure);
    }
    let last = |p: &str| p.rsplit('.').next().unwrap_or(p).to_string();
    let nearest = KEYS
        .iter()
        .max_by(|a, b| {
            let score = |k: &Key| {
                strsim::jaro_winkler(k.path, path).max(strsim::jaro_winkler(&last(k.path), &last(path)) * 0.99)
            };
            score(a).total_cmp(&score(b))
        })
        .map_or("", |k| k.path);
    Error::usage(
        format!("{place}: {path}"),
        "no such key",
        "",
        format!("did you mean {nearest}? `vifo fit --keys` lists all"),
    )
}

/// Sets `path` to the text of a TOML value; bare words are taken as text.
pub fn set(table: &mut Table, path: &str, text: &str, place: &str) -> Result<()> {
    let Some(key) = find(path) else { return Err(unknown(path, place)) };
    let parsed = format!("v = {text}").parse::<Table>().ok().and_then(|mut t| t.remove("v"));
    let textual = matches!(key.kind, Kind::Text | Kind::Choice(_));
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
            if !key.default.is_empty() {
                let v = format!("v = {}", key.default).parse::<Table>().expect("a TOML value")["v"].clone();
                assert!(key.kind.admit(&v).is_some(), "{}", key.path);
            }
        }
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
        assert!(error("[method]\netta = 1.0").contains("did you mean method.eta?"));
        assert!(error("[train]\nepoch = 1").contains("train.epochs"));
        assert!(error("[trian]\nepochs = 1").contains("no such key"));
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
