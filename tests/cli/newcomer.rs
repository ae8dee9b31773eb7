//! Tables of other people's, as a newcomer meets them: what stands around a table, what is said of it, and cures that work when
//! they are followed to the letter.

use assert_cmd::Command;
use std::path::Path;

fn run(dir: &Path, args: &[&str]) -> (bool, String) {
    let mut c = Command::cargo_bin("vifo").unwrap();
    let out = c.current_dir(dir).env("NODEVICE_SELECT", "1").args(args).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned() + &String::from_utf8_lossy(&out.stdout);
    assert!(!said.contains("panicked"), "{said}");
    (out.status.success(), said)
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[track_caller]
fn ok(dir: &Path, line: &str) -> String {
    let (is_ok, said) = run(dir, &words(line));
    assert!(is_ok, "{line}: {said}");
    said
}

#[track_caller]
fn refused(dir: &Path, line: &str) -> String {
    let (is_ok, said) = run(dir, &words(line));
    assert!(!is_ok && said.trim_end().lines().count() == 1, "{line}: {said}");
    said
}

fn write(dir: &Path, name: &str, head: &str, n: usize, row: impl Fn(usize) -> String) {
    let rows: String = (0..n).map(|i| row(i) + "\n").collect();
    std::fs::write(dir.join(name), format!("{head}{rows}")).unwrap();
}

/// In [-1, 1], another for each row.
fn noise(i: usize) -> f64 {
    (i as f64 * 12.9898 + 4.1).sin()
}

const FEW: &str = "--epochs 2 --members 2 --device cpu";

#[test]
fn years_in_the_first_line_are_names_in_a_fit() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    write(d, "y.csv", "city,2019,2020,2021\n", 60, |i| {
        format!("c{i},{:.1},{:.1},{:.1}", noise(i), noise(i + 1), noise(i + 2))
    });
    let said = ok(d, &format!("fit y.csv --target 2021 --out run {FEW}"));
    assert!(said.contains("note: the years 2019 to 2021 in the first line are read as names"), "{said}");
    // The cures of a table whose header is not found.
    write(d, "n.csv", "x,1.5,7\n", 30, |i| format!("x,{:.1},{:.1}", noise(i), noise(i + 1)));
    let said = refused(d, "inspect n.csv --target 7");
    assert!(said.contains("no column '7', but line 1 holds it") && said.contains("--header yes"), "{said}");
    ok(d, "inspect n.csv --target 7 --header yes");
    let said = ok(d, &format!("fit n.csv --out none {FEW}"));
    assert!(said.contains("no header found: the columns are 0 to 2; --header yes if line 1 holds names"), "{said}");
}

#[test]
fn slips_of_the_command_line_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    write(d, "t.csv", "a,y\n", 30, |i| format!("{:.2},{:.2}", noise(i), noise(i + 7)));
    let said = refused(d, "fit t.csv --targt y");
    assert!(said.contains("did you mean --target?"), "{said}");
    let said = refused(d, "fit t.csv --budget -5s");
    assert!(said.contains("for example --budget 1m"), "{said}");
    let said = refused(d, "fit t.csv --lr 1e300");
    assert!(said.contains("1e300 is not allowed") && said.len() < 200, "{said}");
    let said = refused(d, "inspect t.csv --delimiter ;");
    assert!(said.contains("one column under the delimiter ';'") && said.contains("it seems to use ','"), "{said}");
}

#[test]
fn months_and_dates_have_cures_that_work() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    write(d, "m.csv", "month,y\n", 12, |i| format!("{},{:.2}", MONTHS[i], noise(i)));
    let said = ok(d, "inspect m.csv --as month=text");
    let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("add a column of numbers, or rows in which the texts of 'month' repeat"), "{flat}");
    assert!(!flat.contains("ignore fewer") && !flat.contains("vifo fit"), "{flat}");
    write(d, "more.csv", "month,y\n", 36, |i| format!("{},{:.2}", MONTHS[i % 12], noise(i)));
    assert!(ok(d, "inspect more.csv --as month=text").contains("vifo fit more.csv"));
    let said = refused(d, &format!("fit more.csv --as month=date --out run {FEW}"));
    assert!(said.contains("is no date; allowed: dates such as") && said.contains("use --as month=text"), "{said}");
    ok(d, &format!("fit more.csv --as month=text --out run {FEW}"));
    write(d, "d.csv", "km,kg,day\n", 60, |i| {
        format!("{:.2},{:.2},2024-{:02}-{:02}", noise(i), noise(i + 3), 1 + i % 12, 1 + i % 28)
    });
    for task in ["", "--task regression"] {
        let flat = ok(d, &format!("inspect d.csv {task}")).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("choose another --target, such as 'km', 'kg'; the date can be an input"), "{flat}");
        assert!(!flat.contains("--task classification") && !flat.contains("vifo fit"), "{flat}");
    }
    assert!(ok(d, "inspect d.csv --target kg").contains("vifo fit d.csv --target kg"));
}

#[test]
fn a_slip_in_a_small_table_is_found_and_gradual_tails_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let of = |i: usize| format!("{:.2},{:.2}", 3.0 + noise(i), 5.0 + noise(i + 5));
    write(d, "x.csv", "a,y\n", 60, |i| if i == 20 { "4000,5".into() } else { of(i) });
    let said = ok(d, &format!("fit x.csv --target y --out run {FEW}"));
    assert!(said.contains("column 'a' holds 4000 in line 22, far from all else"), "{said}");
    let robust = ok(d, &format!("fit x.csv --target y --scaling robust --out robust {FEW}"));
    assert!(!robust.contains("far from all else"), "{robust}");
    write(d, "y.csv", "a,y\n", 60, |i| if i == 20 { "3,-700".into() } else { of(i) });
    let flat = ok(d, "inspect y.csv --target y").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("the target 'y' holds -700 in line 22, far from all else") && flat.contains("leave it empty"),
        "{flat}"
    );
    // Quantiles of a lognormal.
    write(d, "t.csv", "a,y\n", 200, |i| {
        let p = (i as f64 + 0.5) / 200.0;
        format!("{:.4},{:.2}", ((p / (1.0 - p)).ln() / 1.7).exp(), noise(i))
    });
    assert!(!ok(d, "inspect t.csv --target y").contains("far from all else"));
    write(d, "many.csv", "a,b,c,d,y\n", 60, |i| {
        let v = if i == 9 { "8e5".to_string() } else { format!("{:.2}", noise(i)) };
        format!("{v},{v},{v},{v},{:.2}", noise(i + 2))
    });
    let said = ok(d, &format!("fit many.csv --target y --out many {FEW}"));
    assert_eq!(said.lines().filter(|l| l.contains("far from all else")).count(), 1, "{said}");
    assert!(
        said.contains("4 columns hold values far from all else: 'a' (") && said.contains(" and 1 more: "),
        "{said}"
    );
}

#[test]
fn all_columns_that_a_prediction_lacks_are_named_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let row = |i: usize| format!("{:.2},{:.2},{:.2},{:.2}", noise(i), noise(i + 1), noise(i + 2), noise(i + 3));
    write(d, "t.csv", "a,b,c,y\n", 40, row);
    ok(d, &format!("fit t.csv --target y --out run {FEW}"));
    write(d, "new.csv", "a,B,z\n", 5, |i| format!("{:.2},1,2", noise(i)));
    let said = refused(d, "predict run new.csv");
    assert!(
        said.contains("no columns 'b', 'c'; the file has 'a', 'B', 'z'") && said.contains("'b' is 'B' there"),
        "{said}"
    );
}

#[test]
fn few_test_rows_judge_no_error_bars_and_no_run_is_told_to_calibrate_twice() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    write(d, "t.csv", "a,y\n", 60, |i| format!("{:.2},{:.2}", noise(i), 2.0 * noise(i) + noise(i + 40)));
    let said = ok(d, "fit t.csv --target y --out run --epochs 40 --members 2 --device cpu");
    assert!(!said.contains("the error bars hold"), "{said}");
    let page = std::fs::read_to_string(d.join("run/report.html")).unwrap();
    assert!(!page.contains("Yes, as far as"), "6 test rows");
    for name in ["fresh.csv", "new.csv"] {
        let salt = name.len();
        write(d, name, "a,y\n", 100, |i| {
            format!("{:.3},{:.3}", noise(i + 90 * salt), 2.0 * noise(i + 90 * salt) + noise(i + salt))
        });
    }
    ok(d, "calibrate run --data fresh.csv");
    let said = ok(d, "evaluate run --test new.csv");
    assert!(!said.contains("may help"), "{said}");
}

#[test]
fn a_forecast_shows_what_was_held_out_and_a_map_names_its_classes() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    write(d, "f.csv", "t,y\n", 100, |i| format!("{},{:.3}", 0.25 * i as f64, (i as f64 / 8.0).sin()));
    ok(d, &format!("fit f.csv --target y --time t --keep t --out forecast {FEW}"));
    let picture = std::fs::read_to_string(d.join("forecast/figures/bands.svg")).unwrap();
    assert!(picture.contains("held-out test rows"));
    let numbers = std::fs::read_to_string(d.join("forecast/figures/bands.csv")).unwrap();
    assert_eq!(numbers.lines().filter(|l| l.starts_with("test point,")).count(), 10, "a tenth of 100 rows");
    ok(d, &format!("fit f.csv --target y --out random {FEW}"));
    assert!(!std::fs::read_to_string(d.join("random/figures/bands.svg")).unwrap().contains("held-out"));
    write(d, "c.csv", "a,b,kind\n", 80, |i| {
        format!("{:.2},{:.2},{}", noise(i), noise(i + 1), ["low", "high"][usize::from(noise(i) > 0.0)])
    });
    ok(d, &format!("fit c.csv --target kind --out map {FEW}"));
    let picture = std::fs::read_to_string(d.join("map/figures/heat.svg")).unwrap();
    assert!(
        picture.contains(">low<") && picture.contains(">high<") && !picture.contains("class 0"),
        "the levels' own names"
    );
}
