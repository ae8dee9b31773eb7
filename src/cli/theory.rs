//! `vifo theory`: the theorems of the paper, computed: what each says, what came out, a figure.

use super::{say, say_line};
use crate::error::Error;
use crate::figure::{self, CurvesFigure};
use crate::tables::{Format, TextTable, number};
use crate::theory::{Estimate, limit, linear, rademacher};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    theorem: Theorem,
}

#[derive(clap::Subcommand)]
enum Theorem {
    /// Theorem 3.1: in the linear case VIFO's objective is the ELBO of VI plus a constant
    Linear(Common),
    /// Theorem 3.2: the mean of a ReLU unit with random weights is no ReLU unit
    Limit(Common),
    /// Theorem 4.5: VIFO's Rademacher complexity is at most 2 L0 max(1, L1) K times that of the network
    Rademacher(Common),
}

#[derive(clap::Args)]
struct Common {
    /// Folder for the figure (PNG, SVG, CSV)
    #[arg(long, default_value = "theory", value_name = "FOLDER")]
    out: PathBuf,
    #[arg(long, default_value_t = 1)]
    seed: u32,
}

/// What a theorem's experiment gives.
struct Shown {
    stem: &'static str,
    claim: String,
    table: TextTable,
    finding: String,
    holds: bool,
    figure: CurvesFigure,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let (common, shown) = match &args.theorem {
        Theorem::Linear(c) => (c, show_linear(c.seed)?),
        Theorem::Limit(c) => (c, show_limit(c.seed)),
        Theorem::Rademacher(c) => (c, show_rademacher(c.seed)),
    };
    let saved = figure::curves(&common.out, shown.stem, &shown.figure)?;
    say(&format!("{}\n", shown.claim));
    say(&shown.table.render(Format::Text));
    say(&shown.finding);
    say_line(&format!("Figure: {}", saved.png.display()));
    if !shown.holds {
        let found = format!("the numbers of seed {} do not show what the theorem says", common.seed);
        return Err(Error::run(format!("theory {}", shown.stem), found, "try another --seed and report it").into());
    }
    Ok(())
}

fn table(header: &[&str], rows: Vec<Vec<String>>) -> TextTable {
    let mut table = TextTable::new(header);
    table.rows = rows;
    table
}

fn show_linear(seed: u32) -> crate::error::Result<Shown> {
    let linear = linear::linear(seed)?;
    let row = |run: &linear::Run, said: String| {
        let (mean, low, high) = run.difference();
        let setting = format!("N = {}, d = {}", run.rows, run.inputs);
        vec![setting, said, format!("{mean:.9}"), format!("{:.1e}", high - low)]
    };
    let constant = linear.holds.constant();
    let rows = vec![
        row(&linear.holds, format!("{constant} for every (w, V)")),
        row(&linear.short, "nothing: it assumes N > d".into()),
    ];
    let finding = format!(
        "Over {} random (w, V) with N > d the difference is (N - d)/2 = {constant} to {:.1e} nats; rounding may leave {:.1e}.",
        linear::DRAWS,
        linear.holds.deviation(),
        linear.holds.tolerance()
    );
    Ok(Shown {
        stem: "linear",
        claim: "Theorem 3.1: for z = theta' x VIFO's objective, with prior and posterior over all N outputs at once, equals \
                the ELBO of VI up to a constant."
            .into(),
        table: table(&["rows, inputs", "theorem: difference", "computed: mean, nats", "largest - smallest"], rows),
        finding,
        holds: linear.verdict(),
        figure: linear.figure(),
    })
}

fn show_limit(seed: u32) -> Shown {
    let unit = limit::UNIT;
    let limit = limit::limit(seed, &unit, limit::SAMPLES);
    let at = |i: usize| {
        let Estimate { mean, se } = limit.sampled[i];
        let sampled = format!("{} ± {}", number(mean), number(se));
        vec![number(limit.x[i]), number(limit.mean[i]), sampled, number(limit.single[i])]
    };
    let last = limit.x.len() - 1;
    let finding = format!(
        "E[z] is nonzero on both sides of 0. The best single unit, w = {} and u = {}, leaves a root mean squared error of {} \
         ({:.0} % of E[z]); a u of either sign is flat on one side.\nMonte Carlo with {} samples per input: largest distance \
         from the closed form {:.1} standard errors over {} inputs.",
        number(limit.best.0),
        number(limit.best.1),
        number(limit.remaining()),
        100.0 * limit.remaining() / limit.size(),
        limit::SAMPLES,
        limit.largest_error(),
        limit.x.len()
    );
    Shown {
        stem: "limit",
        claim: format!(
            "Theorem 3.2: for z = w relu(u x) with w ~ N({}, {}²), u ~ N({}, {}²) no single (w, u) gives E[z](x).",
            unit.w_mean, unit.w_sd, unit.u_mean, unit.u_sd
        ),
        table: table(
            &["x", "E[z], closed form", "E[z], Monte Carlo", "best single (w, u)"],
            [0, last / 4, last / 2, 3 * last / 4, last].map(at).to_vec(),
        ),
        finding,
        holds: limit.verdict(),
        figure: limit.figure(),
    }
}

fn show_rademacher(seed: u32) -> Shown {
    let result = rademacher::rademacher(seed, &rademacher::ROWS, rademacher::SIGNS);
    let cell = |e: Estimate| format!("{:.4} ± {:.4}", e.mean, e.se);
    let row =
        |s: &rademacher::Side| vec![s.rows.to_string(), cell(s.loss), cell(s.bound(rademacher::FACTOR)), cell(s.ratio)];
    let largest = result.sides.iter().map(|s| s.ratio.mean).fold(0.0, f64::max);
    Shown {
        stem: "rademacher",
        claim: format!(
            "Theorem 4.5: R(loss o (H x H) o S) <= 2 L0 max(1, L1) K R(H o S), here with K = {}, L0 = L1 = 1 (softmax, softplus) and H the \
             linear functions of {} inputs with norm at most {}.",
            rademacher::CLASSES,
            rademacher::INPUTS,
            rademacher::NORM
        ),
        table: table(&["N", "loss of VIFO", "bound", "ratio, theorem: <= 1"], result.sides.iter().map(row).collect()),
        finding: format!(
            "{} pairs of opposite sign vectors per size, ± one standard error; the largest ratio is {largest:.2}. The bound's supremum is exact, \
             the loss's is searched from below by gradient ascent.",
            rademacher::SIGNS
        ),
        holds: result.verdict(),
        figure: result.figure(),
    }
}
