//! The numbers that come with the figures: every kind gives a whole table with the values that went in.

use std::path::Path;

use super::samples::*;
use super::*;

/// A table read back: the header and the rows.
pub struct Table {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// Reads with the strict reader of the csv crate: a row with more or fewer fields than the header is refused.
pub fn read(text: &str) -> Table {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let mut keys: Vec<&str> = header.iter().map(|name| key(name)).collect();
    keys.sort_unstable();
    assert!(keys.windows(2).all(|p| p[0] != p[1]) && !keys.contains(&""), "{header:?}");
    let rows = reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect();
    Table { header, rows }
}

/// What scripts go by: the part of a column's name before the colon.
fn key(name: &str) -> &str {
    name.split(':').next().unwrap_or_default()
}

impl Table {
    fn column(&self, key_: &str) -> Vec<&str> {
        let at = self.header.iter().position(|name| key(name) == key_);
        let at = at.unwrap_or_else(|| panic!("no {key_} in {:?}", self.header));
        self.rows.iter().map(|row| row[at].as_str()).collect()
    }

    /// The numbers of a column; an empty cell is NaN.
    fn values(&self, key: &str) -> Vec<f64> {
        let value = |cell: &str| if cell.is_empty() { f64::NAN } else { cell.parse().unwrap() };
        self.column(key).into_iter().map(value).collect()
    }

    /// The values of `key` in the rows where every (column, text) of `filter` holds.
    fn values_where(&self, key: &str, filter: &[(&str, &str)]) -> Vec<f64> {
        let filter: Vec<(Vec<&str>, &str)> = filter.iter().map(|(k, v)| (self.column(k), *v)).collect();
        let all = self.values(key).into_iter().enumerate();
        all.filter(|(i, _)| filter.iter().all(|(cells, v)| cells[*i] == *v)).map(|p| p.1).collect()
    }
}

fn table(figure: &dyn Figure) -> Table {
    read(&figure.numbers().csv())
}

/// Equal to the bit, NaN to NaN.
fn same(a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len());
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!(a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(), "{i}: {a} is not {b}");
    }
}

/// What is wrong with a figure's numbers; None if nothing is.
fn fault(figure: &dyn Figure) -> Option<String> {
    let table = table(figure);
    if table.rows.is_empty() {
        return Some(format!("{}: no rows", figure.title()));
    }
    let empty = table.header.iter().filter(|name| table.column(key(name)).iter().all(|cell| cell.is_empty()));
    let empty: Vec<&String> = empty.collect();
    (!empty.is_empty()).then(|| format!("{}: nothing under {empty:?}", figure.title()))
}

#[test]
fn every_figure_has_rows_and_no_column_without_values() {
    let figures: [&dyn Figure; 13] = [
        &bands_figure(4),
        &prior_figure(),
        &curves_figure(true),
        &reliability_figure(),
        &coverage_figure(),
        &scatter_figure(2345),
        &histogram_figure(),
        &roc_figure(),
        &sheet_figure(8, 1),
        &heat_figure(3),
        &dots_figure(4, 20, true),
        &bars_figure(12),
        &comparison_figure(3, 4),
    ];
    let faults: Vec<String> = figures.into_iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "{faults:?}");
}

/// A figure that forgets its numbers, or a column of them.
struct Forgetful(Numbers);

impl Figure for Forgetful {
    fn title(&self) -> &str {
        "forgetful"
    }
    fn draw(&self, _: &mut super::svg::Svg) {}
    fn numbers(&self) -> Numbers {
        self.0.clone()
    }
}

#[test]
fn a_figure_without_its_numbers_is_found() {
    let mut numbers = Numbers::new(["x", "y"]);
    assert_eq!(fault(&Forgetful(numbers.clone())).as_deref(), Some("forgetful: no rows"));
    numbers.push(vec![1.0.into(), f64::NAN.into()]);
    assert_eq!(fault(&Forgetful(numbers.clone())).as_deref(), Some("forgetful: nothing under [\"y\"]"));
    numbers.push(vec![2.0.into(), 3.0.into()]);
    assert_eq!(fault(&Forgetful(numbers)), None);
}

#[test]
fn bands_give_each_panel_its_grid_and_its_points() {
    let f = bands_figure(9);
    let t = table(&f);
    let named = ["part", "panel", "x: input x", "mean: output y (m)", "total_sd: output y (m)"];
    assert_eq!(t.header[..5], named);
    assert_eq!(t.header.len(), 9 + 5);
    // The ninth panel, which has no place in the picture, too; it shares its name with the first.
    assert_eq!(t.rows.len(), 9 * (200 + 60));
    let (band, points) = (("part", "band"), ("part", "training point"));
    let ensemble = ("panel", "ensemble of 5");
    let panel = &f.panels[3];
    same(&t.values_where("x", &[band, ensemble]), &panel.x);
    same(&t.values_where("mean", &[band, ensemble]), &panel.mean);
    same(&t.values_where("aleatoric_sd", &[band, ensemble]), &panel.aleatoric_sd);
    same(&t.values_where("truth", &[band, ensemble]), panel.truth.as_ref().unwrap());
    same(&t.values_where("member_5", &[band, ensemble]), &panel.members[4]);
    same(&t.values_where("x", &[points, ensemble]), &panel.train_x);
    same(&t.values_where("observed", &[points, ensemble]), &panel.train_y);
    // Only the ensemble has members, only points are observed.
    assert!(t.values_where("member_1", &[("panel", "SWAG")]).iter().all(|v| v.is_nan()));
    assert!(t.values_where("observed", &[band]).iter().all(|v| v.is_nan()));
    assert!(t.values_where("mean", &[points]).iter().all(|v| v.is_nan()));
    // At x = 4 with a total sd of 0.2 + 400 * 2^2 and an aleatoric one of 0.15 + 0.04 * 4.
    let epistemic = t.values_where("epistemic_sd", &[band, ("panel", "weight-space VI"), ("x", "4")]);
    let want = (1600.2f64.powi(2) - 0.31f64.powi(2)).sqrt();
    assert!(epistemic.len() == 1 && (epistemic[0] - want).abs() < 1e-12 * want, "{epistemic:?} {want}");
}

#[test]
fn an_epistemic_sd_is_three_where_total_is_five_and_aleatoric_four() {
    let sds = [(5.0, 4.0, "3"), (1.0, 1.0 + 1e-15, "0"), (4.0, 5.0, ""), (5.0, f64::NAN, "")];
    let panel = BandPanel {
        x: vec![0.0; 5],
        mean: vec![0.0],
        total_sd: sds.iter().map(|s| s.0).collect(),
        aleatoric_sd: sds.iter().map(|s| s.1).collect(),
        ..Default::default()
    };
    let t = table(&BandsFigure { panels: vec![panel], ..Default::default() });
    let want: Vec<&str> = sds.iter().map(|s| s.2).chain([""]).collect();
    assert_eq!(t.column("epistemic_sd"), want);
    // A mean shorter than the grid ends in empty cells.
    assert_eq!(t.column("mean"), ["0", "", "", "", ""]);
}

#[test]
fn curves_keep_gaps_and_awkward_names() {
    let mut f = curves_figure(false);
    let name = "a \"quoted\", cut\nname; ±";
    f.series[2].name = name.into();
    let t = table(&f);
    assert_eq!(t.header, ["series", "x: epoch", "y: loss (nats per row)", "sd"]);
    assert_eq!(t.rows.len(), 900);
    let y = t.values_where("y", &[("series", name)]);
    same(&y, &f.series[2].y);
    assert!(y[100..140].iter().all(|v| v.is_nan()) && y[99].is_finite() && y[140].is_finite());
    assert!(t.rows[700][2].is_empty() && !f.numbers().csv().contains("NaN"));
    same(&t.values_where("sd", &[("series", "method 1, training loss")]), f.series[1].sd.as_ref().unwrap());
    assert!(t.values_where("sd", &[("series", name)]).iter().all(|v| v.is_nan()));
}

#[test]
fn priors_give_every_sample_whole() {
    let f = prior_figure();
    let t = table(&f);
    assert_eq!(t.rows.len(), 2 * (120 * 80 + 60));
    let of = [("panel", "with auxiliary training"), ("curve", "120")];
    same(&t.values_where("x", &of), &f.panels[1].x);
    same(&t.values_where("y", &of), &f.panels[1].samples[119]);
    let points = [("panel", "with auxiliary training"), ("part", "training point")];
    same(&t.values_where("y", &points), &f.panels[1].train_y);
}

#[test]
fn heat_maps_give_the_middle_of_each_cell() {
    let panel = HeatPanel {
        title: "p".into(),
        x_range: (0.0, 4.0),
        y_range: (-1.0, 1.0),
        nx: 2,
        ny: 2,
        // The fifth has no cell.
        values: vec![1.0, 2.0, f64::NAN, 4.0, 5.0],
        value_label: "entropy (nats)".into(),
    };
    let none = HeatPanel { nx: 0, ..panel.clone() };
    let f = HeatFigure { panels: vec![panel, none], points: vec![(0.5, 0.25, 2)], ..Default::default() };
    let want = "part,panel,quantity,x,y,value,class\n\
                cell,p,entropy (nats),1,-0.5,1,\n\
                cell,p,entropy (nats),3,-0.5,2,\n\
                cell,p,entropy (nats),1,0.5,,\n\
                cell,p,entropy (nats),3,0.5,4,\n\
                training point,,,0.5,0.25,,2\n";
    assert_eq!(f.numbers().csv(), want);
    assert_eq!(table(&heat_figure(6)).rows.len(), 6 * 120 * 100 + 100);
}

#[test]
fn scores_come_raw_and_rates_with_their_names() {
    let f = histogram_figure();
    let t = table(&f);
    assert_eq!(t.header, ["group", "value: entropy (nats)"]);
    same(&t.values_where("value", &[("group", "SVHN (out)")]), &f.groups[1].1);
    let f = scatter_figure(700);
    let t = table(&f);
    assert_eq!(t.header, ["x: observed price (1000 $)", "y: predicted price (1000 $)", "sd"]);
    same(&t.values("x"), &f.x);
    same(&t.values("y"), &f.y);
    same(&t.values("sd"), &f.sd);
    let f = roc_figure();
    let t = table(&f);
    same(&t.values_where("fpr", &[("series", "base")]), &f.curves[2].1);
    same(&t.values_where("tpr", &[("series", "base")]), &f.curves[2].2);
    // The area under f^0.4 is 1 / 1.4; trapezoids of 200 points miss it by less than their first step.
    assert!(t.values_where("auroc", &[("series", "base")]).iter().all(|v| (v - 1.0 / 1.4).abs() < 1.0 / 199.0));
    let f = coverage_figure();
    let t = table(&f);
    same(&t.values_where("nominal", &[("series", "ensemble")]), &f.levels);
    same(&t.values_where("observed", &[("series", "ensemble")]), &f.observed[2].1);
}

#[test]
fn reliability_gives_every_bin_its_edges() {
    let bins = vec![(f64::NAN, f64::NAN, 0), (0.75, 0.5, 8)];
    let text = |bins| ReliabilityFigure { title: "r".into(), bins, ece: 0.25 }.numbers().csv();
    let equal = text(bins);
    let (header, rows) = equal.split_once('\n').unwrap();
    assert!(header.starts_with("bin,low: left edge of the bin,high: "), "{header}");
    assert_eq!(rows, "1,0,0.5,,,0,0.25\n2,0.5,1,0.75,0.5,8,0.25\n");
    // Bins of equal counts: edges half way between the confidences, none for a bin without predictions.
    let counts = text(vec![(0.75, 0.5, 8), (1.0, 1.0, 8), (0.2, 0.0, 0)]);
    assert_eq!(
        counts.split_once('\n').unwrap().1,
        "1,0,0.875,0.75,0.5,8,0.25\n2,0.875,1,1,1,8,0.25\n3,,,0.2,0,0,0.25\n"
    );
}

#[test]
fn sheets_give_captions_and_whether_they_are_right() {
    let t = table(&sheet_figure(8, 3));
    assert_eq!(t.header, ["section", "position", "caption", "right"]);
    assert_eq!(t.rows.len(), 16 + 11 + 3);
    assert_eq!(t.rows[3], ["most certain (least entropy)", "4", "automobile (0.90)\ntrue: automobile", "false"]);
    assert_eq!(t.rows[29][1..], ["3", "automobile (0.93)", ""]);
}

/// Each writer on its own, to any name; what it writes is what `save` writes.
#[test]
fn single_files_are_those_of_save() {
    let dir = tempfile::tempdir().unwrap();
    let f = roc_figure();
    let saved = save::save(dir.path(), "all", &f).unwrap();
    type Write = fn(&Path, &dyn Figure) -> crate::error::Result<()>;
    let writers: [(Write, &Path); 3] = [(save_png, &saved.png), (save_svg, &saved.svg), (save_csv, &saved.csv)];
    for (write, whole) in writers {
        let path = dir.path().join("no ending");
        write(&path, &f).unwrap();
        assert!(std::fs::read(&path).unwrap() == std::fs::read(whole).unwrap(), "{}", whole.display());
        let error = write(&dir.path().join("none/file"), &f).unwrap_err().to_string();
        assert!(error.contains("cannot write"), "{error}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 4);
    assert!(png_bytes(&f).unwrap() == std::fs::read(&saved.png).unwrap());
}
