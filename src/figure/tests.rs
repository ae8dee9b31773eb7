//! Every kind of figure with good and with bad input. `samples` can leave them for a look.

use std::path::Path;

use super::png::bitmap;
use super::samples::*;
use super::save::Figure;
use super::*;

const WILD: [f64; 6] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e12, -1e300, 0.0];

/// An SVG without the code of its images, in which any word may turn up.
fn without_pixels(svg: &str) -> String {
    let mut parts = svg.split("base64,");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |out, part| out + part.split_once('"').map_or("", |(_, rest)| rest))
}

/// Checks what was saved: the PNG is the SVG, pixel by pixel, and twice the figure's size; no word or shape out of place; more
/// than one colour; the words in the SVG; a whole table.
fn check(saved: Saved, figure: &impl Figure, words: &[&str]) {
    let svg = std::fs::read_to_string(&saved.svg).unwrap();
    let png = image::open(&saved.png).unwrap();
    assert_eq!(png.color(), image::ColorType::Rgb8);
    let drawn = bitmap(&svg, 2.0).unwrap();
    assert_eq!((png.width(), png.height()), (drawn.width, drawn.height));
    assert!(png.as_bytes() == drawn.rgb, "{} is not its SVG", saved.png.display());
    let (width, height) = figure.size();
    assert_eq!((f64::from(png.width()), f64::from(png.height())), (2.0 * width, 2.0 * height));
    let colours: std::collections::HashSet<&[u8]> = drawn.rgb.chunks(3).collect();
    assert!(colours.len() > 10, "only {} colours", colours.len());
    assert_eq!(layout_tests::fault(&svg), None, "{}", saved.svg.display());
    let svg = without_pixels(&svg);
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(
        ["NaN", "\"inf", "\"-inf", ",inf", ",-inf", " inf,", "hinf"].iter().all(|n| !svg.contains(n)),
        "a number that is none in {}",
        saved.svg.display()
    );
    for word in words {
        assert!(svg.contains(&format!(">{word}</text>")), "{word:?} is missing in {}", saved.svg.display());
    }
    numbers_tests::read(&std::fs::read_to_string(&saved.csv).unwrap());
    let folder: Vec<_> =
        std::fs::read_dir(saved.png.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(folder.iter().all(|n| !n.to_string_lossy().starts_with(".tmp")), "{folder:?}");
}

fn write_all(dir: &Path) {
    for n in [1, 3, 4, 8] {
        let f = bands_figure(n);
        check(
            bands(dir, &format!("bands_{n}"), &f).unwrap(),
            &f,
            &[&f.title, "VIFO", "±2 sd total", "input x", "output y (m)"],
        );
    }
    let f = prior_figure();
    check(prior_samples(dir, "prior", &f).unwrap(), &f, &[&f.title, "with auxiliary training"]);
    for log in [false, true] {
        let f = curves_figure(log);
        check(
            curves(dir, if log { "curves_log" } else { "curves" }, &f).unwrap(),
            &f,
            &[&f.title, "epoch", "method 1, training loss"],
        );
    }
    for (panels, n, ticks, ordered) in [(3, 4, 4, true), (2, 10, 13, false), (1, 1, 1, false)] {
        let f = settings_figure(panels, n, ticks, ordered);
        let words = [&f.title, &f.x_label, "validation NLL, nats ↓", "bars: mean ± 1 sd"];
        check(settings(dir, &format!("settings_{panels}_{n}_{ticks}"), &f).unwrap(), &f, &words);
    }
    for (panels, rows, both) in [(4, 20, true), (1, 3, false), (3, 9, true), (0, 1, false)] {
        let f = dots_figure(panels, rows, both);
        let words: &[&str] =
            if panels == 0 { &[&f.title, "no data"] } else { &[&f.title, "data set 0", "best VIFO, the paper"] };
        check(dots(dir, &format!("dots_{panels}_{rows}"), &f).unwrap(), &f, words);
    }
    for (rows, tools) in [(8, 13), (1, 2), (3, 1)] {
        let f = comparison_figure(rows, tools);
        let words = [&f.title, "data set 0", "tool 0", "difference (nats)", "ratio of errors"];
        check(comparison(dir, &format!("comparison_{rows}_{tools}"), &f).unwrap(), &f, &words);
    }
    let f = bars_figure(12);
    check(bars(dir, "bars", &f).unwrap(), &f, &[&f.title, "share won", "method 11", "half"]);
    let f = reliability_figure();
    check(reliability(dir, "reliability", &f).unwrap(), &f, &[&f.title, "accuracy", "count"]);
    let f = coverage_figure();
    check(
        coverage(dir, "coverage", &f).unwrap(),
        &f,
        &[&f.title, "above the line: intervals too wide (under-confident) · below it: too narrow (over-confident)"],
    );
    let f = scatter_figure(2345);
    check(scatter(dir, "scatter", &f).unwrap(), &f, &[&f.title]);
    assert!(std::fs::read_to_string(dir.join("scatter.svg")).unwrap().contains("500 of 2,345 points drawn"));
    for (rows, series) in [(1, 1), (8, 15)] {
        let f = intervals_figure(rows, series);
        let words = [&f.title, &f.x_label, "data set 0", "method 0"];
        check(intervals(dir, &format!("intervals_{series}"), &f).unwrap(), &f, &words);
    }
    let f = histogram_figure();
    check(histograms(dir, "histograms", &f).unwrap(), &f, &[&f.title, "density"]);
    let f = roc_figure();
    check(roc(dir, "roc", &f).unwrap(), &f, &[&f.title, "chance"]);
    assert!(std::fs::read_to_string(dir.join("roc.svg")).unwrap().contains("VIFO (AUROC 0.90"));
    for (side, c) in [(8, 1), (32, 3), (300, 3)] {
        let f = sheet_figure(side, c);
        let words = [&f.title, "least certain", "wrong: marked with a cross, true class below", "true: automobile"];
        check(sheet(dir, &format!("sheet_{side}"), &f).unwrap(), &f, &words);
        let svg = std::fs::read_to_string(dir.join(format!("sheet_{side}.svg"))).unwrap();
        assert_eq!(svg.matches("<image ").count(), 30);
    }
    for n in [1, 3, 6] {
        let f = heat_figure(n);
        check(heat2d(dir, &format!("heat_{n}"), &f).unwrap(), &f, &[&f.title, "class 1", "probability of class 1"]);
    }
}

#[test]
fn every_figure_is_written_with_its_words() {
    let dir = tempfile::tempdir().unwrap();
    write_all(dir.path());
}

/// `FIGURE_SAMPLES=FOLDER cargo test samples` leaves them for a look.
#[test]
fn samples() {
    let temp = tempfile::tempdir().unwrap();
    let chosen = std::env::var_os("FIGURE_SAMPLES");
    let dir = chosen.as_deref().map_or(temp.path(), Path::new);
    write_all(dir);
    empty_and_wild(dir);
    let mut many = curves_figure(false);
    many.series = (0..60)
        .map(|i| Series { name: format!("method {i} with a long name"), ..many.series[i % 3].clone() })
        .collect();
    curves(dir, "many", &many).unwrap();
    write_report(&dir.join("report.html"), &sample_report(dir)).unwrap();
}

/// Every kind with nothing, one value, and values that are no numbers or huge.
fn empty_and_wild(dir: &Path) {
    let sets: [(&str, Vec<f64>); 5] = [
        ("empty", vec![]),
        ("wild", WILD.to_vec()),
        ("one", vec![3.0]),
        ("constant", vec![1e12; 5]),
        ("nan", vec![f64::NAN; 3]),
    ];
    for (name, v) in sets {
        let at = |kind: &str| format!("{name}_{kind}");
        let none = matches!(name, "empty" | "nan");
        let words: &[&str] = if none { &["no data"] } else { &[] };
        let panel = BandPanel {
            title: name.into(),
            x: v.clone(),
            mean: v.clone(),
            aleatoric_sd: v.clone(),
            total_sd: v.clone(),
            truth: Some(v.clone()),
            train_x: v.clone(),
            train_y: v.clone(),
            members: vec![v.clone(), vec![]],
            test_x: v.clone(),
            test_y: v.clone(),
            ..Default::default()
        };
        let f = BandsFigure { title: "wild <&\u{0}> values".into(), panels: vec![panel; 2], ..Default::default() };
        check(bands(dir, &at("bands"), &f).unwrap(), &f, words);
        let panel = PriorPanel {
            x: v.clone(),
            samples: vec![v.clone(); 3],
            train_x: v.clone(),
            train_y: v.clone(),
            ..Default::default()
        };
        let f = PriorFigure { panels: vec![panel], ..Default::default() };
        check(prior_samples(dir, &at("prior"), &f).unwrap(), &f, if name == "empty" { words } else { &[] });
        for log in [false, true] {
            let one = Series { name: name.into(), x: v.clone(), y: v.clone(), sd: Some(v.clone()) };
            let f = CurvesFigure { log, series: vec![one; 2], ..Default::default() };
            check(curves(dir, &at(if log { "curves_log" } else { "curves" }), &f).unwrap(), &f, words);
        }
        let one = SettingsSeries { name: name.into(), mean: v.clone(), sd: v.clone() };
        let f = SettingsFigure {
            ticks: vec![name.into(); v.len().max(1)],
            ordered: true,
            panels: vec![SettingsPanel { series: vec![one; 2], ..Default::default() }; 2],
            ..Default::default()
        };
        check(settings(dir, &at("settings"), &f).unwrap(), &f, words);
        wild_comparison(dir, name, &v, words);
        wild_scores(dir, name, &v, words);
        let panel = HeatPanel {
            nx: 2,
            ny: usize::MAX,
            values: v.clone(),
            x_range: (f64::NAN, 1.0),
            y_range: (2.0, 2.0),
            ..Default::default()
        };
        let points = v.iter().map(|v| (*v, *v, usize::MAX)).collect();
        let f = HeatFigure { panels: vec![panel], points, ..Default::default() };
        check(heat2d(dir, &at("heat"), &f).unwrap(), &f, words);
    }
    let f = BandsFigure::default();
    check(bands(dir, "none_bands", &f).unwrap(), &f, &["no data"]);
    let f = SettingsFigure::default();
    check(settings(dir, "none_settings", &f).unwrap(), &f, &["no data"]);
    let f = ComparisonFigure::default();
    check(comparison(dir, "none_comparison", &f).unwrap(), &f, &["no data"]);
    let f = PriorFigure::default();
    check(prior_samples(dir, "none_prior", &f).unwrap(), &f, &["no data"]);
    wild_sheets(dir);
    let f = HeatFigure::default();
    check(heat2d(dir, "none_heat", &f).unwrap(), &f, &["no data"]);
}

fn wild_comparison(dir: &Path, name: &str, v: &[f64], words: &[&str]) {
    for scale in [ComparisonScale::Linear, ComparisonScale::Log, ComparisonScale::SymLog] {
        let marks: Vec<(f64, f64, f64)> = v.iter().map(|v| (*v, *v, *v)).collect();
        let panel = ComparisonPanel { scale, marks: vec![marks; 2], line: v.first().copied(), ..Default::default() };
        let f = ComparisonFigure {
            rows: vec![name.into(); v.len()],
            series: vec![name.into(); 2],
            panels: vec![panel],
            ..Default::default()
        };
        check(comparison(dir, &format!("{name}_comparison_{scale:?}"), &f).unwrap(), &f, words);
    }
}

/// The kinds of figure that take plain lists of scores.
fn wild_scores(dir: &Path, name: &str, v: &[f64], words: &[&str]) {
    let at = |kind: &str| format!("{name}_{kind}");
    let f =
        ReliabilityFigure { title: name.into(), bins: v.iter().map(|v| (*v, *v, usize::MAX)).collect(), ece: f64::NAN };
    check(reliability(dir, &at("reliability"), &f).unwrap(), &f, words);
    let f = CoverageFigure { title: name.into(), levels: v.to_vec(), observed: vec![(name.into(), v.to_vec())] };
    check(coverage(dir, &at("coverage"), &f).unwrap(), &f, words);
    let f = ScatterFigure { x: v.to_vec(), y: v.to_vec(), sd: v.to_vec(), ..Default::default() };
    check(scatter(dir, &at("scatter"), &f).unwrap(), &f, words);
    let one = IntervalsSeries { name: name.into(), middle: v.to_vec(), half_width: v.to_vec(), hollow: false };
    let rows = vec![name.to_string(); v.len()];
    let f = IntervalsFigure { rows, series: vec![one; 2], ..Default::default() };
    check(intervals(dir, &at("intervals"), &f).unwrap(), &f, words);
    let f = HistogramFigure { groups: vec![(name.into(), v.to_vec())], ..Default::default() };
    check(histograms(dir, &at("histograms"), &f).unwrap(), &f, words);
    let f = RocFigure { title: name.into(), curves: vec![(name.into(), v.to_vec(), v.to_vec())] };
    check(roc(dir, &at("roc"), &f).unwrap(), &f, words);
}

/// No sections, empty ones, too many, images that are none, of one line of pixels, of other sizes side by side.
fn wild_sheets(dir: &Path) {
    let f = SheetFigure::default();
    check(sheet(dir, "none_sheet", &f).unwrap(), &f, &["no data"]);
    let f = SheetFigure { title: "none".into(), sections: vec![("empty".into(), vec![]); 3] };
    check(sheet(dir, "empty_sheet", &f).unwrap(), &f, &["no data"]);
    let of = |n: usize, h: usize, w: usize, c: usize| SheetImage {
        bytes: vec![90; n],
        h,
        w,
        c,
        caption: format!("<{h} & {w}>\u{0} {}", "word ".repeat(30)),
        right: Some(false),
    };
    let images = vec![
        of(0, 0, 0, 0),
        of(7, 2, 2, 1),
        of(16, 2, 2, 4),
        of(0, usize::MAX, usize::MAX, 3),
        of(3000, 1, 3000, 1),
        of(3000, 1000, 1, 3),
        of(1, 1, 1, 1),
        of(20 * 40 * 3, 20, 40, 3),
        of(40 * 20 * 3, 40, 20, 3),
    ];
    let sections = vec![("wild <&\u{0}> ".repeat(20), images), ("nothing".into(), vec![])];
    let f = SheetFigure { title: "wild".into(), sections };
    check(sheet(dir, "wild_sheet", &f).unwrap(), &f, &["no image", "nothing: no images"]);
    let mut sections = vec![("one".to_string(), vec![of(1, 1, 1, 1)]); 8];
    sections[0] = ("many".into(), vec![of(1, 1, 1, 1); 41]);
    let f = SheetFigure { title: "many".into(), sections };
    check(
        sheet(dir, "many_sheet", &f).unwrap(),
        &f,
        &["many (the first 40 of 41)", "2 further sections are not drawn"],
    );
}

#[test]
fn bad_input_never_panics_and_no_data_is_said() {
    let dir = tempfile::tempdir().unwrap();
    empty_and_wild(dir.path());
}

#[test]
fn many_series_and_long_names_keep_the_plot() {
    let dir = tempfile::tempdir().unwrap();
    let mut f = curves_figure(false);
    f.title = "A very long title ".repeat(20);
    f.series =
        (0..60).map(|i| Series { name: format!("{i} {}", "long name ".repeat(9)), ..f.series[0].clone() }).collect();
    check(curves(dir.path(), "many", &f).unwrap(), &f, &[]);
    let svg = std::fs::read_to_string(dir.path().join("many.svg")).unwrap();
    assert!(svg.contains(" more</text>"));
    f.series.iter_mut().enumerate().for_each(|(i, s)| s.name = format!("method {i} with a long name"));
    curves(dir.path(), "many", &f).unwrap();
    assert!(std::fs::read_to_string(dir.path().join("many.svg")).unwrap().contains(" more</text>"));
    let f = CurvesFigure {
        series: vec![Series {
            x: grid(1_000_000, 0.0, 1.0),
            y: (0..1_000_000).map(noise).collect(),
            ..Default::default()
        }],
        ..f
    };
    curves(dir.path(), "long", &f).unwrap();
    assert!(std::fs::metadata(dir.path().join("long.svg")).unwrap().len() < 200_000);
}

#[test]
fn wrong_names_and_places_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(roc(dir.path(), "a/b", &roc_figure()), Err(crate::error::Error::Usage(_))));
    assert!(matches!(roc(dir.path(), "", &roc_figure()), Err(crate::error::Error::Usage(_))));
    let file = dir.path().join("file");
    std::fs::write(&file, "x").unwrap();
    assert!(matches!(roc(&file, "roc", &roc_figure()), Err(crate::error::Error::Io(_))));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

fn sample_report(dir: &Path) -> HtmlReport {
    let figure = bands(dir, "report_bands", &bands_figure(3)).unwrap();
    let other = curves(dir, "report_curves", &curves_figure(true)).unwrap();
    let row = |cells: &[&str]| cells.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>();
    let facts = [
        ("method", "VIFO"),
        ("test log loss", "−1.234 nats"),
        ("data", "toy <sine> & co"),
        ("seed", "42"),
        ("device", "cpu, 16 threads"),
    ];
    HtmlReport {
        title: "Run toy-vifo <1>".into(),
        lead: vec![],
        summary: facts.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect(),
        sections: vec![
            Section {
                heading: "Test metrics".into(),
                text: vec!["Mean over 5 seeds & their sd.".into()],
                table: Some(HtmlTable {
                    header: row(&["method", "log loss (nats)", "RMSE (m)"]),
                    rows: vec![
                        row(&["VIFO", "−1.23 ± 0.02", "0.213"]),
                        row(&["ensemble", "-1.10 ± 0.10", "0.220"]),
                        row(&["short"]),
                    ],
                }),
                figures: vec![(figure.svg, "Predictions <with> uncertainty.".into()), (other.svg, "Losses.".into())],
                ..Default::default()
            },
            Section {
                heading: "Recipe".into(),
                code: Some("[method]\nname = \"vifo\"\neta = 0.1 # a < b".into()),
                ..Default::default()
            },
        ],
    }
}

#[test]
fn a_section_is_put_in_its_place_and_replaced_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.html");
    let named = |heading: &str| Section { heading: heading.into(), slot: Some("extra".into()), ..Default::default() };
    let mut report = sample_report(dir.path());
    // With a place kept free, and in a report that knows of none.
    for (slot, before) in [(true, "<h2>Recipe</h2>"), (false, "</main>")] {
        if slot {
            report.sections.insert(1, named(""));
        } else {
            report.sections.remove(1);
        }
        write_report(&path, &report).unwrap();
        let read = || std::fs::read_to_string(&path).unwrap();
        assert!(!read().contains("<h2></h2>"));
        let sections = read().matches("<section>").count();
        for heading in ["First <!-- /extra -->", "Second"] {
            assert!(replace_sections(&path, "extra", &[named(heading)]).unwrap());
            assert_eq!(read().matches("<section>").count(), sections + 1);
        }
        let html = read();
        assert!(html.contains("<h2>Second</h2>") && !html.contains("First"));
        assert!(html.find("Second").unwrap() < html.find(before).unwrap());
    }
    std::fs::write(&path, "something else").unwrap();
    assert!(!replace_sections(&path, "extra", &[named("Second")]).unwrap());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "something else");
}

#[test]
fn a_report_is_one_file_with_escaped_text() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sub").join("report.html");
    write_report(&path, &sample_report(dir.path())).unwrap();
    let html = std::fs::read_to_string(&path).unwrap();
    assert!(html.contains("<h1>Run toy-vifo &lt;1&gt;</h1>") && html.contains("toy &lt;sine&gt; &amp; co"));
    assert!(html.contains("Figure 2.</b> Losses.") && html.contains("Predictions &lt;with&gt; uncertainty."));
    assert_eq!(html.matches("<svg ").count(), 2);
    assert!(!html.contains("<script") && !html.contains("href") && !html.contains("src="));
    let links = html.matches("http").count();
    assert_eq!(links, html.matches("http://www.w3.org/2000/svg").count(), "only the SVG name space names an address");
    assert!(html.contains("<td class=\"n\">0.213</td>") && html.contains("<td>VIFO</td>"));
}

/// The figures of a page are their files, letter by letter; what a dark page changes stands in its style.
#[test]
fn a_report_has_its_figures_in_light_and_dark() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.html");
    write_report(&path, &sample_report(dir.path())).unwrap();
    let html = std::fs::read_to_string(&path).unwrap();
    let svg = std::fs::read_to_string(dir.path().join("report_bands.svg")).unwrap();
    assert!(html.contains(&svg));
    let (style, dark) = html.split_once("@media screen and (prefers-color-scheme: dark)").unwrap();
    assert!(
        style.contains(&format!("--ground: {};", palette::DARK_GROUND.hex())) && style.contains("--ground: #ffffff;")
    );
    for (light, changed) in palette::DARK {
        for part in ["fill", "stroke"] {
            let rule = format!(".card [{part}=\"{}\"] {{ {part}: {}; }}", light.hex(), changed.hex());
            assert!(dark.contains(&rule), "{rule}");
        }
    }
}

#[test]
fn a_report_takes_a_sheet_with_its_pixels() {
    let dir = tempfile::tempdir().unwrap();
    let figure = sheet(dir.path(), "sheet", &sheet_figure(32, 3)).unwrap();
    let section = Section { figures: vec![(figure.svg, "Images.".into())], ..Default::default() };
    let path = dir.path().join("report.html");
    write_report(&path, &HtmlReport { sections: vec![section], ..Default::default() }).unwrap();
    let html = without_pixels(&std::fs::read_to_string(&path).unwrap());
    assert_eq!(html.matches("<image ").count(), 30);
    assert_eq!(html.matches("href=").count(), html.matches("href=\"data:image/png;").count());
}

#[test]
fn a_report_refuses_what_could_run_and_names_a_missing_figure() {
    let dir = tempfile::tempdir().unwrap();
    let with = |svg: &Path| HtmlReport {
        sections: vec![Section { figures: vec![(svg.into(), String::new())], ..Default::default() }],
        ..Default::default()
    };
    let bad = dir.path().join("bad.svg");
    for text in [
        "<svg><script>x</script></svg>",
        "<svg><rect onload=\"x\"/></svg>",
        "<svg><image href=\"http://x\"/></svg>",
        "<svg><image onload=\"x\" href=\"data:image/png;base64,AAAA\"/></svg>",
        "<svg><image href=\"data:image/png;base64,AAAA\" onload=\"x\"/></svg>",
        "<svg><image href=\"x\" href=\"data:image/png;base64,AAAA\"/></svg>",
        "<svg><image href=\"data:image/svg+xml;base64,AAAA\"/></svg>",
        "<svg><image href=\"data:image/png;base64,&#x41;\"/></svg>",
        "<svg><imagex href=\"data:image/png;base64,AAAA\"/></svg>",
        "no drawing",
    ] {
        std::fs::write(&bad, text).unwrap();
        assert!(write_report(&dir.path().join("r.html"), &with(&bad)).is_err(), "{text}");
    }
    let error = write_report(&dir.path().join("r.html"), &with(&dir.path().join("none.svg"))).unwrap_err();
    assert!(error.to_string().contains("none.svg"), "{error}");
    assert!(!dir.path().join("r.html").exists());
}
