//! Tests of what columns become, by the numbers of the faults that they fix.

use super::*;
use crate::data::encode::rows_without_missing;
use crate::data::table::{ReadOptions, read_table};

fn table_of(text: &str) -> Table {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    std::fs::write(&path, text).unwrap();
    read_table(&path, &ReadOptions::default()).unwrap()
}

fn learn(table: &Table, rules: &Rules) -> Result<(Encoder, Vec<String>)> {
    let target = table.columns.last().unwrap().name.clone();
    let kept = rows_without_missing(table, &target, rules.ignore, rules.missing)?;
    Encoder::learn(table, &target, None, rules, &kept.rows)
}

/// What the columns of a table of 40 rows become; `row` gives all cells but the target.
fn became(header: &str, row: impl Fn(usize) -> String) -> Vec<(String, String)> {
    let rows: String = (0..40).map(|i| format!("{},{}.5\n", row(i), i * i % 17)).collect();
    let table = table_of(&format!("{header},y\n{rows}"));
    let (encoder, _) = learn(&table, &Rules::default()).unwrap();
    let say = |c: &Column| Some((c.name.clone(), super::became(&encoder, &c.name)?));
    table.columns.iter().filter_map(say).collect()
}

fn texts(found: &[(String, String)]) -> Vec<&str> {
    found.iter().map(|(_, text)| text.as_str()).collect()
}

#[test]
fn b0_identifiers_and_row_counters_are_left_out() {
    let found = became("Unnamed: 0,customer_id,name,seat,x", |i| {
        format!("{i},{},person {i},{},{}", 5000 + 7 * (i * i % 1009), ["a", "b"][i % 2], i * 3 % 11)
    });
    assert_eq!(texts(&found)[0], "left out: counts the rows");
    assert!(texts(&found)[1].starts_with("left out: an identifier"), "{found:?}");
    assert!(texts(&found)[2].starts_with("left out: an identifier or free text"), "{found:?}");
    assert_eq!(texts(&found)[3..], ["text, an input for each of 2 levels", "number"]);
    // A count that is an axis, or the only input, stays.
    assert_eq!(texts(&became("year,x", |i| format!("{},{}", 1960 + i, i % 7))), ["number", "number"]);
    assert_eq!(texts(&became("t,x", |i| format!("{i},{}", i % 7))), ["number", "number"]);
    assert_eq!(texts(&became("id", |i| i.to_string())), ["number"]);
}

/// A column of more levels than asked for becomes the number of its level; a rare level, one that is not in training and a
/// missing cell have the row of the rare ones, or zeros where there was none.
#[test]
fn many_levels_become_one_number() {
    let text = |level: &dyn Fn(usize) -> String| {
        let rows: String =
            (0..400).map(|i| format!("{},{},{}.5\n", level(i), ["u", "v", "w"][i % 3], i * i % 17)).collect();
        table_of(&format!("k,few,y\n{rows}"))
    };
    let rules = Rules { embed_above: Some(10), ..Rules::default() };
    let with_rare = text(&|i| if i % 5 == 0 { format!("rare{i}") } else { format!("k{}", i % 20) });
    let (encoder, _) = learn(&with_rare, &rules).unwrap();
    assert_eq!((encoder.n_inputs(), encoder.tables(), encoder.number_inputs()), (4, vec![(0, 17)], vec![]));
    assert_eq!(
        super::became(&encoder, "k").unwrap(),
        "text, a row of a trained table for each of 16 levels, one for all rarer ones"
    );
    assert_eq!(super::became(&encoder, "few").unwrap(), "text, an input for each of 3 levels");
    let x = encoder.encode(&with_rare, &[0, 1, 2, 6], true).unwrap().x;
    // In alphabetical order: k1, k11, k12, ...
    assert_eq!(x.iter().copied().step_by(4).collect::<Vec<_>>(), [16.0, 0.0, 9.0, 12.0]);
    assert_eq!(encoder.aux_range(), (vec![0.0; 4], vec![17.0, 1.0, 1.0, 1.0]));
    let new = table_of("k,few,y\nk1,u,1.5\nelsewhere,v,2.5\n,w,3.5\n");
    assert_eq!(
        encoder.encode(&new, &[0, 1, 2], true).unwrap().x.iter().copied().step_by(4).collect::<Vec<_>>(),
        [0.0, 16.0, 16.0]
    );

    let without = text(&|i| format!("k{}", i % 20));
    let (encoder, _) = learn(&without, &rules).unwrap();
    assert_eq!(encoder.tables(), [(0, 20)]);
    // One behind the table: zeros.
    assert_eq!(
        encoder.encode(&new, &[0, 1, 2], true).unwrap().x.iter().copied().step_by(4).collect::<Vec<_>>(),
        [1.0, 20.0, 20.0]
    );
    let (strict, _) =
        learn(&without, &Rules { strict: true, missing: Missing::Error, max_levels: 5, ..rules }).unwrap();
    assert_eq!(strict.tables(), [(0, 20)]);
    assert!(strict.encode(&new, &[1], true).is_err(), "a level that training did not have");

    let with_holes = text(&|i| if i % 7 == 0 { String::new() } else { format!("k{}", i % 20) });
    let (encoder, _) = learn(&with_holes, &rules).unwrap();
    assert_eq!(encoder.tables(), [(0, 21)]);
    assert_eq!(
        encoder.encode(&new, &[0, 1, 2], true).unwrap().x.iter().copied().step_by(4).collect::<Vec<_>>(),
        [2.0, 21.0, 0.0]
    );
    assert!(learn(&with_holes, &Rules { embed_above: Some(20), ..rules }).unwrap().0.tables().is_empty());

    // As it was written before there were tables, and as it is now.
    let old = r#"{"levels":{"levels":["a","b"],"unseen":"other"}}"#;
    let kind: FeatureKind = serde_json::from_str(old).unwrap();
    assert_eq!((kind.inputs(), kind.table(), serde_json::to_string(&kind).unwrap().as_str()), (3, None, old));
    let written = serde_json::to_string(&encoder.features[0].kind).unwrap();
    assert!(written.ends_with(r#""embedded":true}}"#), "{written}");
    assert_eq!(serde_json::from_str::<FeatureKind>(&written).unwrap(), encoder.features[0].kind);
}

/// A year is a number, and who says that it is a date is told so.
#[test]
fn numbers_that_are_no_dates_are_refused_as_dates() {
    let mut table =
        table_of(&format!("year,y\n{}", (0..40).map(|i| format!("{},{}.5\n", 1960 + i, i % 7)).collect::<String>()));
    table.options.kinds = vec![("year".into(), ColumnKind::Date)];
    let m = learn(&table, &Rules::default()).unwrap_err().to_string();
    assert!(m.ends_with("column 'year': numbers that are not dates; allowed: dates such as 2024-12-31 or 20241231; leave --as out (a year is a number)"), "{m}");
}

/// Commas part names, but for a column whose own name has one.
#[test]
fn columns_to_ignore_may_be_listed() {
    let table = table_of("a,b,\"c,d\",y\n1,2,3,4\n");
    let names = |named: &str| crate::data::encode::targets::names_of(&[named.to_string()], &table);
    assert_eq!(
        (names("a, b"), names("c,d"), names("-1")),
        (vec!["a".into(), "b".into()], vec!["c,d".to_string()], vec!["-1".into()])
    );
}

#[test]
fn b4_dates_become_what_varies_of_them() {
    let daily = became("date", |i| format!("2024-03-{:02}", i % 31 + 1));
    assert_eq!(texts(&daily), ["date: trend in years; day of the year and weekday as points on a circle"]);
    let monthly = became("month", |i| format!("{}-{:02}", 1949 + i / 12, i % 12 + 1));
    assert_eq!(texts(&monthly), ["date: trend in years; day of the year as a point on a circle"]);
    let yearly = became("when", |i| format!("{}-01-01", 1949 + i));
    assert_eq!(texts(&yearly), ["date: trend in years"]);
    let hourly = became("time", |i| format!("2024-01-01T{:02}:00:00Z", i % 24));
    assert!(texts(&hourly)[0].contains("; hour as a point on a circle") && !texts(&hourly)[0].contains("weekday"));
    let compact = became("day", |i| format!("202403{:02}", i % 31 + 1));
    assert!(texts(&compact)[0].starts_with("date: "), "{compact:?}");
    let german = became("Datum", |i| format!("{:02}.03.2024", i % 31 + 1));
    assert!(texts(&german)[0].starts_with("date: "), "{german:?}");
}

/// Few or many, and whatever the file calls them.
#[test]
fn times_of_day_are_numbers_and_not_texts() {
    let times = became("start", |i| format!("{:02}:{:02}", i % 24, 7 * i % 60));
    assert_eq!(texts(&times), ["time of day: hours; hour as a point on a circle"]);
    assert_eq!(texts(&became("shift", |i| format!("{}:00", 8 * (i % 3)))), texts(&times));
    let rows: String = (0..40).map(|i| format!("{:02}:30,{i}.5\n", i % 24)).collect();
    let (encoder, _) = learn(&table_of(&format!("t,y\n{rows}")), &Rules::default()).unwrap();
    let new = table_of("t,y\n06:00,1\n6:00 PM,2\n");
    let x = encoder.encode(&new, &[0, 1], false).unwrap().x;
    // A quarter of the circle, and three; the trend rises.
    for (i, want) in [(1, 1.0), (2, 0.0), (4, -1.0), (5, 0.0)] {
        assert!((f64::from(x[i]) - want).abs() < 1e-6, "input {i}: {} and not {want}", x[i]);
    }
    assert!(x[0] < x[3]);
}

#[test]
fn b4_a_date_lies_on_its_circles() {
    let rows: String = (0..60).map(|i| format!("2024-{:02}-{:02},{i}.5\n", i / 28 + 1, i % 28 + 1)).collect();
    let (encoder, _) = learn(&table_of(&format!("d,y\n{rows}")), &Rules::default()).unwrap();
    let new = table_of("d,y\n2023-07-03,1\n2023-07-04,2\n");
    let x = encoder.encode(&new, &[0], false).unwrap().x;
    // datetime.date(2023, 7, 3): a Monday, day 184, so that 183 of 365 days are over.
    let turn = std::f64::consts::TAU * 183.0 / 365.0;
    for (i, want) in [(1, turn.sin()), (2, turn.cos()), (3, 0.0), (4, 1.0)] {
        assert!((f64::from(x[i]) - want).abs() < 1e-6, "input {i}: {} and not {want}", x[i]);
    }
    let (low, high) = encoder.aux_range();
    assert_eq!((low.len(), high.len(), low[1], high[4]), (5, 5, -1.0, 1.0));
}

#[test]
fn b0_missing_cells_get_the_mean_and_a_flag() {
    let rows: String =
        (0..40).map(|i| format!("{},{i}.5\n", if i % 4 == 0 { String::new() } else { i.to_string() })).collect();
    let table = table_of(&format!("x,y\n{rows}"));
    let (encoder, _) = learn(&table, &Rules::default()).unwrap();
    let data = encoder.encode(&table, &[0, 1], true).unwrap();
    assert_eq!((data.d, data.x[0], data.x[1], data.x[3]), (2, 0.0, 1.0, 0.0));
    assert!(learn(&table, &Rules { missing: Missing::Error, ..Rules::default() }).is_err());
    // In the file's own units the fill is the mean too: of 0..40 without every fourth, 20.33.
    let mut own = encoder.clone();
    own.features[0].kind.unstandardise();
    let x = own.encode(&table, &[0], true).unwrap().x;
    assert!((f64::from(x[0]) - 20.0).abs() < 1.0, "{x:?}");
}

#[test]
fn b10_one_unseen_level_or_empty_cell_does_not_refuse_the_others() {
    let rows: String = (0..60).map(|i| format!("{},{},{i}.5\n", ["a", "b", "c"][i % 3], i % 7)).collect();
    let table = table_of(&format!("c,x,y\n{rows}"));
    let (encoder, _) = learn(&table, &Rules::default()).unwrap();
    let fresh = table_of("c,x\na,1\nnew,2\nb,\nc,3\n");
    let usable = encoder.usable(&fresh, false).unwrap();
    assert_eq!((usable.rows.len(), usable.notes.len()), (4, 3), "{:?}", usable.notes);
    assert!(usable.notes[2].starts_with("the error bars of these 2 rows are likely too narrow"), "{:?}", usable.notes);
    let x = encoder.encode(&fresh, &usable.rows, false).unwrap();
    assert_eq!(x.x[4..7], [0.0, 0.0, 0.0], "none of the levels");
    // An encoder that fills nothing leaves the row out, and a strict one stops.
    let literal = Encoder::fit(&table, "y", None, &[], Missing::Error, &(0..60).collect::<Vec<_>>()).unwrap();
    let usable = literal.usable(&fresh, false).unwrap();
    assert_eq!(usable.rows, [0, 3]);
    assert_eq!(usable.refused[0], (1, "column 'c': level 'new' was not seen in training".into()));
    assert_eq!(usable.refused[1], (2, "column 'x': the cell is missing".into()));
    let strict = Encoder { strict: true, ..literal };
    assert!(strict.usable(&fresh, false).unwrap_err().to_string().contains("line 3, column 'c'"));
}

#[test]
fn b14_many_levels_are_no_error() {
    let rows: String =
        (0..900).map(|i| format!("land {},{}.5\n", if i < 450 { i % 150 } else { i % 20 }, i % 13)).collect();
    let table = table_of(&format!("country,y\n{rows}"));
    let (encoder, _) = learn(&table, &Rules { max_levels: 100, ..Rules::default() }).unwrap();
    let FeatureKind::Levels { levels, unseen, .. } = &encoder.features[0].kind else { panic!("levels") };
    assert_eq!((levels.len(), *unseen, encoder.n_inputs()), (100, Unseen::Other, 101));
    let (encoder, _) = learn(&table, &Rules::default()).unwrap();
    assert_eq!(encoder.n_inputs(), 150);
    let error = learn(&table, &Rules { strict: true, max_levels: 100, ..Rules::default() }).unwrap_err().to_string();
    assert!(error.contains("150 levels"), "{error}");
}

#[test]
fn yes_and_no_are_one_input() {
    let found = became("smoker,x", |i| format!("{},{}", ["Yes", "No"][i * i % 3 % 2], i % 7));
    assert_eq!(texts(&found)[0], "no = 0, yes = 1: one input");
}

#[test]
fn b18_constants_become_one_line() {
    let head: Vec<String> = (0..30).map(|i| format!("p{i}")).collect();
    let rows: String = (0..40)
        .map(|i| {
            format!("{},{},{i}.5\n", i * 7 % 13, (1..30).map(|j| (j % 2).to_string()).collect::<Vec<_>>().join(","))
        })
        .collect();
    let table = table_of(&format!("{},y\n{rows}", head.join(",")));
    let (encoder, _) = learn(&table, &Rules::default()).unwrap();
    let lines = lines(&table, &encoder);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[1].ends_with("and 24 more: left out: constant in the training rows"), "{}", lines[1]);
}

#[test]
fn b19_a_sentinel_and_a_leak_are_warned_of() {
    let rows: String = (0..60)
        .map(|i| {
            format!(
                "{},{},{}.5\n",
                if i % 9 == 0 { -999 } else { i % 7 },
                2.0 * (f64::from(i as u32 * 37 % 61) + 0.5),
                i * 37 % 61
            )
        })
        .collect();
    let table = table_of(&format!("wind,twice,y\n{rows}"));
    let (encoder, _) = learn(&table, &Rules::default()).unwrap();
    let cautions = crate::data::inspect::cautions::of(&table, &encoder, &(0..60).collect::<Vec<_>>());
    assert!(cautions[0].contains("column 'twice' almost determines the target"), "{cautions:?}");
    assert!(cautions[1].contains("column 'wind' holds -999 7 times"), "{cautions:?}");
    assert_eq!(cautions.len(), 2);
}

#[test]
fn a_target_of_dates_or_names_is_one_clear_error() {
    let rows: String =
        (0..40).map(|i| format!("{},{},2024-03-{:02}\n", i % 7, ["a", "b"][i % 2], i % 31 + 1)).collect();
    let error = learn(&table_of(&format!("x,c,when\n{rows}")), &Rules::default()).unwrap_err().to_string();
    assert!(error.contains("target 'when': dates") && error.contains("such as 'x', 'c'"), "{error}");
    let rows: String = (0..40).map(|i| format!("{},{},person {i}\n", i % 7, ["a", "b"][i % 2])).collect();
    let error = learn(&table_of(&format!("x,c,name\n{rows}")), &Rules::default()).unwrap_err().to_string();
    assert!(error.contains("40 classes in 40") && error.contains("such as 'x', 'c'"), "{error}");
}

#[test]
fn an_encoder_of_the_first_version_is_still_read() {
    let old = r#"{"features":[{"name":"x","kind":{"numeric":{"mean":1.0,"sd":2.0,"min":0.0,"max":3.0}}},
        {"name":"c","kind":{"levels":{"levels":["a","b"]}}}],"dropped":[],
        "target":{"regression":{"name":"y","mean":0.0,"sd":1.0,"min":0.0,"max":1.0}},"missing":"error"}"#;
    let encoder: Encoder = serde_json::from_str(old).unwrap();
    assert_eq!((encoder.n_inputs(), encoder.strict, encoder.missing), (3, false, Missing::Error));
    let FeatureKind::Levels { unseen, .. } = &encoder.features[1].kind else { panic!("levels") };
    assert_eq!(*unseen, Unseen::Refuse);
}
