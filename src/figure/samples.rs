//! One figure of each kind for the tests: made-up data in the shape that a run gives.

use super::*;

/// Deterministic noise in -1..1.
pub fn noise(i: usize) -> f64 {
    let v = libm::sin(i as f64 * 12.9898) * 43758.5453;
    2.0 * (v - v.floor()) - 1.0
}

/// Roughly normal.
pub fn normal(i: usize) -> f64 {
    (0..6).map(|k| noise(i * 6 + k)).sum::<f64>() / 1.414
}

pub fn grid(n: usize, low: f64, high: f64) -> Vec<f64> {
    (0..n).map(|i| low + (high - low) * i as f64 / (n - 1) as f64).collect()
}

pub fn band_panel(title: &str, growth: f64, members: usize) -> BandPanel {
    let x = grid(200, -4.0, 4.0);
    let truth: Vec<f64> = x.iter().map(|x| libm::sin(2.0 * x) + 0.3 * x).collect();
    let away = |x: f64| (x.abs() - 2.0).max(0.0);
    let mean: Vec<f64> = x.iter().zip(&truth).map(|(x, t)| t * libm::exp(-away(*x))).collect();
    let train_x: Vec<f64> = (0..60).map(|i| 2.0 * noise(i)).collect();
    BandPanel {
        title: title.into(),
        aleatoric_sd: x.iter().map(|x| 0.15 + 0.04 * x.abs()).collect(),
        total_sd: x.iter().map(|x| 0.2 + growth * away(*x).powi(2)).collect(),
        members: (0..members)
            .map(|m| mean.iter().zip(&x).map(|(y, x)| y + 0.5 * away(*x) * normal(m)).collect())
            .collect(),
        train_y: train_x.iter().enumerate().map(|(i, x)| libm::sin(2.0 * x) + 0.3 * x + 0.15 * normal(i)).collect(),
        x,
        mean,
        truth: Some(truth),
        train_x,
        ..BandPanel::default()
    }
}

pub fn bands_figure(n: usize) -> BandsFigure {
    let names = ["VIFO", "VIFO, auxiliary", "weight-space VI", "ensemble of 5", "SWAG", "dropout", "Laplace", "base"];
    BandsFigure {
        title: "Predictive uncertainty on the toy curve".into(),
        x_label: "input x".into(),
        y_label: "output y (m)".into(),
        panels: (0..n)
            .map(|i| band_panel(names[i % 8], if i == 2 { 400.0 } else { 0.25 * i as f64 }, if i == 3 { 5 } else { 0 }))
            .collect(),
        limits: None,
    }
}

pub fn prior_figure() -> PriorFigure {
    let x = grid(80, -4.0, 4.0);
    let panel = |title: &str, spread: f64| {
        let train = band_panel("", 0.0, 0);
        let samples = (0..120)
            .map(|s| x.iter().enumerate().map(|(i, x)| normal(s * 80 + i) * spread * (0.3 + x.abs() / 4.0)).collect());
        PriorPanel {
            title: title.into(),
            x: x.clone(),
            samples: samples.collect(),
            train_x: train.train_x,
            train_y: train.train_y,
        }
    };
    PriorFigure {
        title: "Samples of the prior over outputs".into(),
        log: false,
        x_label: "input x".into(),
        y_label: "output y".into(),
        panels: vec![panel("learned prior without auxiliary data", 0.3), panel("with auxiliary training", 1.6)],
    }
}

pub fn curves_figure(log: bool) -> CurvesFigure {
    let series = |k: usize, start: f64, end: f64, sd: bool| {
        let x = grid(300, 1.0, 300.0);
        let y: Vec<f64> = x
            .iter()
            .enumerate()
            .map(|(i, t)| end + (start - end) * libm::exp(-t / 30.0) + 0.03 * normal(i + k * 999))
            .collect();
        let sd = sd.then(|| y.iter().map(|y| 0.1 + 0.1 * y.abs()).collect());
        Series { name: format!("method {k}, training loss"), x, y, sd }
    };
    let mut all = vec![series(0, 900.0, -1.2, true), series(1, 40.0, 0.3, true), series(2, 4.0, -0.6, false)];
    all[2].y[100..140].fill(f64::NAN);
    CurvesFigure {
        title: "Learning curves".into(),
        x_label: "epoch".into(),
        y_label: "loss (nats per row)".into(),
        log,
        series: all,
        ..Default::default()
    }
}

/// `n` curves over `ticks` values in each of `panels` panels.
pub fn settings_figure(panels: usize, n: usize, ticks: usize, ordered: bool) -> SettingsFigure {
    let series = |p: usize, i: usize| SettingsSeries {
        name: if n > 1 { format!("method {i}") } else { String::new() },
        mean: (0..ticks)
            .map(|t| (1.0 + t as f64 - i as f64).powi(2) / 9.0 + 0.1 * normal(99 * p + 7 * i + t))
            .collect(),
        sd: (0..ticks).map(|t| if i == 1 { f64::NAN } else { 0.1 + 0.2 * noise(t).abs() }).collect(),
    };
    let labels = ["validation NLL, nats ↓", "test accuracy ↑", "test NLL, nats ↓"];
    let panel =
        |p: usize| SettingsPanel { y_label: labels[p % 3].into(), series: (0..n).map(|i| series(p, i)).collect() };
    let value = |t: usize| if ordered { format!("{}", 10f64.powi(t as i32 - 2)) } else { format!("vifo-method_{t}") };
    SettingsFigure {
        title: "Sweep of two moons".into(),
        note: String::new(),
        x_label: if ordered { "method.eta".into() } else { "method.name".into() },
        ordered,
        ticks: (0..ticks).map(value).collect(),
        panels: (0..panels).map(panel).collect(),
    }
}

pub fn reliability_figure() -> ReliabilityFigure {
    let bins = (0..15)
        .map(|i| {
            let c = (i as f64 + 0.55) / 15.0;
            (c, c - 0.25 * c * c * (1.0 - c) * 2.0, if i < 2 { 0 } else { 30 + i * i * i })
        })
        .collect();
    ReliabilityFigure { title: "Reliability, test set".into(), bins, ece: 0.0423 }
}

pub fn coverage_figure() -> CoverageFigure {
    let levels = grid(19, 0.05, 0.95);
    let bend = |p: f64| levels.iter().map(|l: &f64| libm::pow(*l, p)).collect();
    let observed = vec![("VIFO".into(), bend(1.05)), ("base".into(), bend(1.8)), ("ensemble".into(), bend(0.75))];
    CoverageFigure { title: "Coverage of central intervals".into(), levels: levels.clone(), observed }
}

pub fn scatter_figure(n: usize) -> ScatterFigure {
    let x: Vec<f64> = (0..n).map(|i| 20.0 + 8.0 * normal(i)).collect();
    let sd: Vec<f64> = (0..n).map(|i| 1.0 + noise(i + 7).abs() * 2.0).collect();
    let y = x.iter().zip(&sd).enumerate().map(|(i, (x, sd))| x + sd * normal(i + 4000)).collect();
    ScatterFigure {
        title: "Predicted and observed".into(),
        x_label: "observed price (1000 $)".into(),
        y_label: "predicted price (1000 $)".into(),
        x,
        y,
        sd,
    }
}

pub fn intervals_figure(rows: usize, series: usize) -> IntervalsFigure {
    let one = |k: usize| IntervalsSeries {
        name: format!("method {k}"),
        middle: (0..rows).map(|i| if i == 1 && k == 2 { f64::NAN } else { normal(i * 31 + k) }).collect(),
        half_width: (0..rows).map(|i| 0.3 * noise(i + 7 * k).abs()).collect(),
        hollow: k > series / 2,
    };
    IntervalsFigure {
        title: "Test log-likelihood against another method".into(),
        x_label: "difference (nats)".into(),
        note: "bars: ±1 standard error".into(),
        rows: (0..rows).map(|i| format!("data set {i}")).collect(),
        zero: true,
        series: (0..series).map(one).collect(),
    }
}

/// Methods in rows, with the second series or without.
pub fn dots_figure(panels: usize, rows: usize, both: bool) -> DotsFigure {
    let one = |p: usize, k: usize| DotsSeries {
        middle: (0..rows).map(|i| 0.4 + 0.05 * normal(i * 31 + k + 7 * p)).collect(),
        half: (0..rows).map(|i| if i == 1 { f64::NAN } else { 0.03 * noise(i + 7 * k).abs() }).collect(),
        line: (k == 0 || both).then_some(0.33 + 0.02 * k as f64),
    };
    let empty = DotsSeries { middle: vec![f64::NAN; rows], ..Default::default() };
    let panel = |p: usize| DotsPanel {
        title: format!("data set {p}"),
        series: vec![one(p, 0), if both { one(p, 1) } else { empty.clone() }],
    };
    DotsFigure {
        title: "Test log loss on a network".into(),
        note: "bars: ±3 sd".into(),
        x_label: "log loss, nats ↓".into(),
        rows: (0..rows).map(|i| format!("method {i}")).collect(),
        marked: rows / 2,
        series: vec!["the paper".into(), "ours".into()],
        panels: (0..panels).map(panel).collect(),
    }
}

/// Tools beside each other on each kind of axis; the last lacks a row, and one has no bars.
pub fn comparison_figure(rows: usize, tools: usize) -> ComparisonFigure {
    let value = |p: usize, k: usize, i: usize| normal(100 * p + 10 * k + i);
    let scales = [ComparisonScale::Log, ComparisonScale::SymLog, ComparisonScale::Linear];
    let mark = |p: usize, k: usize, i: usize| match (p, value(p, k, i)) {
        _ if k + 1 == tools && i == 1 => (f64::NAN, f64::NAN, f64::NAN),
        (0, v) => (libm::exp(v), libm::exp(v) - 0.4, libm::exp(v) + 0.4),
        (1, v) => (9.0 * v.powi(3), 9.0 * v.powi(3) - 1.0, 9.0 * v.powi(3) + 1.0),
        (_, v) => (0.9 + 0.05 * v, f64::NAN, f64::NAN),
    };
    let panel = |p: usize| ComparisonPanel {
        x_label: ["ratio of errors", "difference (nats)", "coverage"][p].into(),
        scale: scales[p],
        line: [Some(1.0), Some(0.0), None][p],
        marks: (0..tools).map(|k| (0..rows).map(|i| mark(p, k, i)).collect()).collect(),
    };
    ComparisonFigure {
        title: "Tools on tables".into(),
        note: "bars: ±1 standard error".into(),
        rows: (0..rows).map(|i| format!("data set {i}")).collect(),
        series: (0..tools).map(|k| format!("tool {k}")).collect(),
        panels: (0..3).map(panel).collect(),
    }
}

pub fn bars_figure(groups: usize) -> BarsFigure {
    let one = |k: usize| BarsSeries {
        name: format!("winner {k}"),
        values: (0..groups)
            .map(|i| if (i, k) == (2, 1) { f64::NAN } else { ((i * (k + 3)) % 9) as f64 / 8.0 })
            .collect(),
        colour: k / 2,
        hollow: k.is_multiple_of(2),
    };
    BarsFigure {
        title: "Share of experiments won".into(),
        note: "two networks".into(),
        x_label: "better than".into(),
        y_label: "share won".into(),
        ticks: (0..groups).map(|i| format!("method {i}")).collect(),
        series: (0..4).map(one).collect(),
        line: Some((0.5, "half".into())),
    }
}

pub fn histogram_figure() -> HistogramFigure {
    let group =
        |n: usize, middle: f64, sd: f64| (0..n).map(|i| (middle + sd * normal(i + n)).max(0.0)).collect::<Vec<_>>();
    HistogramFigure {
        title: "Predictive entropy on known and unknown images".into(),
        x_label: "entropy (nats)".into(),
        groups: vec![
            ("CIFAR-10 test (in)".into(), group(10_000, 0.3, 0.3)),
            ("SVHN (out)".into(), group(2600, 1.4, 0.4)),
        ],
        bins: 50,
    }
}

pub fn roc_figure() -> RocFigure {
    let fpr = grid(200, 0.0, 1.0);
    let bend = |p: f64| fpr.iter().map(|f: &f64| libm::pow(*f, p)).collect::<Vec<_>>();
    let curves =
        [("VIFO", 0.1), ("ensemble of 10", 0.2), ("base", 0.4)].map(|(n, p)| (n.to_owned(), fpr.clone(), bend(p)));
    RocFigure { title: "Out-of-distribution detection by entropy".into(), curves: curves.into() }
}

/// A made-up picture: a bright ring on a gradient.
pub fn sheet_image(i: usize, side: usize, c: usize) -> SheetImage {
    let middle = (side as f64 - 1.0) / 2.0;
    let value = |x: usize, y: usize, c: usize| {
        let r = libm::hypot(x as f64 - middle, y as f64 - middle) / middle;
        let ring = libm::exp(-((r - 0.5 - 0.2 * noise(i)) * 5.0).powi(2));
        let ground = 0.35 + 0.25 * noise(i + 99 * c) * (x + y) as f64 / (2 * side) as f64;
        (255.0 * (ground + 0.6 * ring * (1.0 + noise(7 * i + c)) / 2.0).clamp(0.0, 1.0)) as u8
    };
    let at = |j: usize| value(j / c % side, j / c / side, j % c);
    let right = [Some(true), Some(false), None][if i % 5 == 3 { 1 } else { 0 }];
    let wrong = if right == Some(false) { "\ntrue: automobile" } else { "" };
    SheetImage {
        bytes: (0..side * side * c).map(at).collect(),
        h: side,
        w: side,
        c,
        caption: format!("automobile ({:.2}){wrong}", 0.99 - 0.03 * i as f64),
        right,
    }
}

pub fn sheet_figure(side: usize, c: usize) -> SheetFigure {
    let images = |n: usize| (0..n).map(|i| sheet_image(i, side, c)).collect::<Vec<_>>();
    let unknown = |mut image: SheetImage| {
        image.right = None;
        image
    };
    SheetFigure {
        title: "The most and the least certain of 1,000 test images".into(),
        sections: vec![
            ("most certain (least entropy)".into(), images(16)),
            ("least certain".into(), images(11)),
            ("another set".into(), images(3).into_iter().map(unknown).collect()),
        ],
    }
}

pub fn heat_figure(n: usize) -> HeatFigure {
    let panel = |i: usize| {
        let (nx, ny) = (120, 100);
        let value = |x: f64, y: f64| {
            let p = 1.0 / (1.0 + libm::exp(-(3.0 * y - 3.0 * libm::sin(1.5 * x))));
            match i % 3 {
                0 => p,
                1 => -(p * libm::log(p.max(1e-12)) + (1.0 - p) * libm::log((1.0 - p).max(1e-12))),
                _ => 0.04 * (x * x + y * y).sqrt() * (1.0 - (2.0 * p - 1.0).abs()),
            }
        };
        let (xs, ys) = (grid(nx, -3.0, 3.0), grid(ny, -2.5, 2.5));
        let values = ys.iter().flat_map(|y| xs.iter().map(|x| value(*x, *y)).collect::<Vec<_>>()).collect();
        let labels = ["probability of class 1", "entropy (nats)", "mutual information (nats)"];
        let title = ["prediction", "total uncertainty", "epistemic uncertainty"][i % 3].into();
        HeatPanel {
            title,
            x_range: (-3.0, 3.0),
            y_range: (-2.5, 2.5),
            nx,
            ny,
            values,
            value_label: labels[i % 3].into(),
        }
    };
    let point = |i: usize| {
        let x = 2.2 * noise(i);
        let class = i % 2;
        (x, libm::sin(1.5 * x) + if class == 1 { 0.6 } else { -0.6 } + 0.25 * normal(i), class)
    };
    HeatFigure {
        title: "Two classes".into(),
        x_label: "x₁".into(),
        y_label: "x₂".into(),
        panels: (0..n).map(panel).collect(),
        points: (0..100).map(point).collect(),
        classes: vec![],
        colours: vec![],
    }
}
