//! Tests of the table reader; each writes its own file.

use super::*;

fn read_with(text: &str, options: &ReadOptions) -> Result<Table> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    std::fs::write(&path, text).unwrap();
    read_table(&path, options)
}

fn read(text: &str) -> Table {
    read_with(text, &ReadOptions::default()).unwrap()
}

fn strict(text: &str) -> Result<Table> {
    read_with(text, &ReadOptions { strict: true, ..Default::default() })
}

fn message(text: &str) -> String {
    let message = read_with(text, &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(message.lines().count(), 1);
    message
}

fn numbers(column: &Column) -> &[f64] {
    match &column.cells {
        Cells::Number(values) => values,
        Cells::Text(_) => panic!("{} is text", column.name),
    }
}

/// Ten rows "i,i" under a header, with row `at` (from 0) replaced.
fn with_row(at: usize, row: &str) -> String {
    let mut text = String::from("a,b\n");
    for i in 0..10 {
        text += &if i == at { format!("{row}\n") } else { format!("{i},{i}\n") };
    }
    text
}

#[test]
fn header_or_none() {
    let t = read("x,label\n1,a\n2,b\n");
    assert_eq!((t.names(), t.header, t.lines.iter().collect()), (vec!["x", "label"], true, vec![2, 3]));
    let t = read("1,a\n2,b\n");
    assert_eq!((t.names(), t.header, t.lines.iter().collect()), (vec!["0", "1"], false, vec![1, 2]));
    let t = read_with("1,2\n3,4\n", &ReadOptions { header: Some(true), ..Default::default() }).unwrap();
    assert_eq!((t.names(), t.rows()), (vec!["1", "2"], 1));
    // A table of text alone: "colour" never occurs again, "red" does.
    let body = "red,big\nblue,small\n".repeat(6);
    assert!(read(&format!("colour,size\n{body}")).header);
    assert!(!read(&body).header);
}

#[test]
fn numbers_missing_cells_and_spaces() {
    let t = read("a ; b\n 1e3; x\n-.5 ;\n+2. ;NA\nNaN; y\n?;n/a\n;NULL\nnone;z\n");
    assert_eq!((t.delimiter, t.names()), (b';', vec!["a", "b"]));
    assert_eq!(numbers(&t.columns[0])[..3], [1000.0, -0.5, 2.0]);
    assert_eq!((t.columns[0].missing(), t.columns[1].missing()), (4, 4));
    assert_eq!(numbers(&read("\u{feff}a,b\r\n1,2\r\n\r\n3,4").columns[1]), [2.0, 4.0]);
    assert_eq!(numbers(&read("a,b,\n1,2,\n3,4,\n").columns[1]), [2.0, 4.0]);
    assert_eq!(read("a,b,\n1,2,\n3,4,\n").columns.len(), 2);
}

#[test]
fn infinity_names_line_and_column() {
    for bad in ["inf", "-inf", "1e999"] {
        let text = with_row(4, &format!("{bad},4"));
        let m = strict(&text).unwrap_err().to_string();
        assert!(m.contains(&format!("t.csv, line 6, column 'a': '{bad}' is infinite")), "{m}");
        let t = read(&text);
        assert!(t.columns[0].is_missing(4) && t.columns[0].missing() == 1);
        assert!(t.said()[0].contains(&format!("counts as missing: '{bad}' in line 6")), "{:?}", t.said());
    }
}

/// Bounds of intervals without end: their columns must not keep the others from being read.
#[test]
fn a_column_of_nothing_but_infinity_is_text() {
    let rows: String = (0..12).map(|i| format!("{i},-inf\n")).collect();
    let t = read(&format!("a,lower\n{rows}"));
    assert_eq!(numbers(&t.columns[0]).len(), 12);
    assert!(matches!(&t.columns[1].cells, Cells::Text(c) if c.iter().all(|c| c == Some("-inf"))));
}

#[test]
fn text_among_numbers_names_its_cell() {
    let m = strict(&with_row(3, "oops,3")).unwrap_err().to_string();
    assert!(m.contains("line 5, column 'a': 'oops' in a column of numbers"), "{m}");
    assert!(m.contains("--as a=text"), "{m}");
    let t = read(&with_row(3, "oops,3"));
    assert_eq!((t.columns[0].number(3), t.columns[0].number(4)), (None, Some(4.0)));
    assert_eq!(t.said(), ["column 'a': 1 cell that is no number counts as missing: 'oops' in line 5"]);
    let options = ReadOptions { text_columns: vec!["a".into()], ..Default::default() };
    let t = read_with(&with_row(3, "oops,3"), &options).unwrap();
    assert_eq!((t.columns[0].text(3), t.columns[0].text(0)), (Some("oops"), Some("0")));
}

#[test]
fn decimal_commas_are_read_and_thousands_explained() {
    let t = read("a;b\n3,5;1\n-4;2\n4,5e-1;3\n");
    assert_eq!((numbers(&t.columns[0]), numbers(&t.columns[1])), (&[3.5, -4.0, 0.45][..], &[1.0, 2.0, 3.0][..]));
    // Each column by its own cells; what they leave open by those of others; else by the delimiter, and that is said.
    let t = read("a;b\n1,25;1.5\n2,3;2\n");
    assert_eq!((numbers(&t.columns[0]), numbers(&t.columns[1])), (&[1.25, 2.3][..], &[1.5, 2.0][..]));
    let t = read("a;b\n1,234;1\n2,345;2\n");
    assert_eq!(numbers(&t.columns[0]), [1.234, 2.345]);
    assert!(t.said()[0].contains("could be thousands"), "{:?}", t.said());
    let t = read("a;b\n1,234;1.5\n2,345;2\n");
    assert_eq!(numbers(&t.columns[0]), [1234.0, 2345.0]);
    let t = read("a,b\n\"1,234\",1\n\"2,345\",2\n");
    assert_eq!(numbers(&t.columns[0]), [1234.0, 2345.0]);
    assert!(t.said()[0].contains("could be decimal"), "{:?}", t.said());
}

#[test]
fn b1_thousands_points_beside_decimal_commas() {
    let t = read("preis;datum;menge\n1.299,99;01.01;1.037\n925,76;15.02;2.500\n12,5;31.12;925\n");
    assert_eq!(numbers(&t.columns[0]), [1299.99, 925.76, 12.5]);
    assert_eq!(t.columns[1].text(0), Some("01.01"), "days and months keep their zeros");
    assert_eq!(numbers(&t.columns[2]), [1037.0, 2500.0, 925.0]);
}

#[test]
fn b2_units_where_a_column_agrees() {
    let t = read(
        "w,p,share,d,who\n12.5 kg,$605.50,45%,(123),2WD\n13 kg,$1.5,7%,\u{2212}4,4WD\n7.25kg,$20,8.5 %,1 037,2WD\n",
    );
    assert_eq!(numbers(&t.columns[0]), [12.5, 13.0, 7.25]);
    assert_eq!(numbers(&t.columns[1]), [605.5, 1.5, 20.0]);
    assert_eq!(numbers(&t.columns[2]), [45.0, 7.0, 8.5]);
    assert_eq!(numbers(&t.columns[3]), [-123.0, -4.0, 1037.0]);
    assert_eq!(t.columns[4].text(0), Some("2WD"), "two numbers before letters are names");
    assert_eq!(t.columns[0].reading, ["unit 'kg' taken off"]);
    assert_eq!(t.columns[2].reading, ["in per cent"]);
    let rows: String = (0..10).map(|i| format!("{i} {},{i}\n", if i % 2 == 0 { "kg" } else { "lb" })).collect();
    let t = read(&format!("w,x\n{rows}"));
    assert_eq!(
        (t.columns[0].text(1), &t.columns[0].reading[0][..]),
        (Some("1 lb"), "text, for its numbers have different units")
    );
}

#[test]
fn b3_markers_of_missing_numbers() {
    for marker in [".", "-", "#N/A", "<NA>", "\\N", "-1.#IND", "#DIV/0!", "--", "n/a", "missing"] {
        let rows: String =
            (0..14).map(|i| if i % 7 == 3 { format!("{marker},1\n") } else { format!("{i}.5,1\n") }).collect();
        let t = read(&format!("a,b\n{rows}"));
        assert_eq!((t.columns[0].missing(), numbers(&t.columns[0])[4]), (2, 4.5), "{marker}");
        assert!(t.said()[0].contains(&format!("2 cells with '{marker}' missing")), "{:?}", t.said());
    }
    let markers = |list: &[&str]| ReadOptions {
        missing_markers: Some(list.iter().map(|m| m.to_string()).collect()),
        ..Default::default()
    };
    let rows: String =
        (0..12).map(|i| format!("{},{}\n", if i == 3 { -999 } else { i }, if i < 6 { "NA" } else { "x" })).collect();
    let t = read_with(&format!("a,b\n{rows}"), &markers(&["-999"])).unwrap();
    assert_eq!((t.columns[0].missing(), t.columns[1].text(0)), (1, Some("NA")));
}

#[test]
fn b5_a_models_names_make_a_header() {
    let options = ReadOptions { expected: vec!["a".into(), "b".into()], ..Default::default() };
    for text in ["a,b\nx,y\n", "b,c,a\nx,y,z\nu,v,w\n"] {
        let t = read_with(text, &options).unwrap();
        assert!(t.header && t.column_index("a").is_ok());
    }
    assert!(!read_with("x,y\nu,v\n", &options).unwrap().header);
}

#[test]
fn b6_headers_of_pandas() {
    let t = read(",0,1,2,3\n0,5.5,6,7,8\n1,9,10,11,12\n");
    assert_eq!((t.names(), t.rows()), (vec!["row", "0", "1", "2", "3"], 2));
    assert_eq!(t.column_index("3").unwrap(), 4, "a name before an index");
    // Texts alone beside the counter.
    let t = read(",class,sex\n1,1st,man\n2,1st,man\n3,2nd,man\n");
    assert_eq!((t.names(), t.rows(), t.header), (vec!["0", "class", "sex"], 3, true));
    assert!(!read(",a,b\n7,c,d\n5,a,b\n6,c,d\n").header, "what does not count up may be data with a missing cell");
    let t = read("0,1,2,3\n5.5,6,7,8\n9,10,11,12\n");
    assert_eq!((t.names(), t.rows(), t.header), (vec!["0", "1", "2", "3"], 2, true));
    assert!(t.said()[0].contains("--header no"), "{:?}", t.said());
    let data = "0,1,2\n0,1,2\n1,1,3\n";
    assert_eq!(read(data).rows(), 3);
    let yes = ReadOptions { header: Some(true), ..Default::default() };
    assert_eq!(read_with(",0,1\n0,5,6\n", &yes).unwrap().names(), ["row", "0", "1"]);
}

#[test]
fn b7_names_behind_a_hash() {
    let yes = ReadOptions { header: Some(true), ..Default::default() };
    for options in [ReadOptions::default(), yes] {
        let t = read_with("#a,b,y\n1,2,3\n4,5,6\n", &options).unwrap();
        assert_eq!((t.names(), t.rows(), t.header), (vec!["a", "b", "y"], 2, true));
    }
    assert_eq!(read("# x y\n1 2\n3 4\n").names(), ["x", "y"]);
    assert_eq!(read("# made by a program\n1,2\n3,4\n").names(), ["0", "1"]);
}

#[test]
fn b8_leading_zeros_and_long_digits_stay_as_they_are() {
    let t = read("zip,id,n\n01234,9007199254740992,1\n1234,9007199254740993,2\n90210,9007199254740994,3\n");
    assert_eq!((t.columns[0].text(0), t.columns[0].text(1)), (Some("01234"), Some("1234")));
    assert_eq!((t.columns[1].text(0), t.columns[1].text(1)), (Some("9007199254740992"), Some("9007199254740993")));
    assert_eq!(numbers(&t.columns[2]), [1.0, 2.0, 3.0]);
    assert!(t.said()[0].contains("--as zip=number"), "{:?}", t.said());
    let options = ReadOptions { kinds: vec![("zip".into(), ColumnKind::Number)], ..Default::default() };
    let t = read_with("zip,n\n01234,1\n1234,2\n", &options).unwrap();
    assert_eq!(numbers(&t.columns[0]), [1234.0, 1234.0]);
}

#[test]
fn b9_na_is_a_region_among_codes_and_none_a_class() {
    let t = read("region,class,n\nNA,None,1\nEU,mild,2\nAS,severe,3\nSA,None,4\n");
    assert_eq!((t.columns[0].text(0), t.columns[1].text(0)), (Some("NA"), Some("None")));
    assert!(t.said()[0].contains("'NA' is a value (--missing-marker NA"), "{:?}", t.said());
    let t = read("region,n\nNA,1\nnorth,2\nsouth,3\n");
    assert!(t.columns[0].is_missing(0));
    let options = ReadOptions { missing_markers: Some(vec!["EU".into()]), ..Default::default() };
    let t = read_with("region,n\nNA,1\nEU,2\nAS,3\n", &options).unwrap();
    assert_eq!((t.columns[0].text(0), t.columns[0].text(1)), (Some("NA"), None));
}

#[test]
fn columns_are_what_they_are_said_to_be() {
    let with =
        |column: &str, kind: ColumnKind| ReadOptions { kinds: vec![(column.into(), kind)], ..Default::default() };
    let text = "a,b\n1.50,x\n2,y\n";
    assert_eq!(read_with(text, &with("a", ColumnKind::Text)).unwrap().columns[0].text(0), Some("1.50"));
    let m = read_with(text, &with("b", ColumnKind::Number)).unwrap_err().to_string();
    assert!(m.contains("line 2, column 'b': 'x' is no number"), "{m}");
    let m = read_with(text, &with("c", ColumnKind::Text)).unwrap_err().to_string();
    assert!(m.contains("no column 'c'"), "{m}");
    let t = read_with("a,b,c\n1,x,1\nz,y,2\n", &with("a", ColumnKind::Number)).unwrap();
    assert_eq!(t.columns[0].number(1), None);
}

#[test]
fn a_few_ragged_rows_are_left_out() {
    let t = read(&with_row(2, "1,2,3"));
    assert_eq!((t.rows(), t.lines.get(2)), (9, 5));
    assert_eq!(t.said(), ["line 4 is left out: 3 cells instead of 2 (--strict stops there)"]);
    let long: String = (0..30).map(|i| if i == 4 || i == 9 { "1,2,3\n" } else { "1,2\n" }).collect();
    let said =
        "2 rows are left out for their number of cells, the first in line 6 (3 instead of 2); --strict stops there";
    assert_eq!(read(&format!("a,b\n{long}")).said(), [said]);
    assert_eq!(read(&with_row(2, "1,2,,")).rows(), 10, "empty cells at the end are nothing");
    let many: String = (0..10).map(|i| if i % 2 == 0 { "1,2\n" } else { "1\n" }).collect();
    assert!(message(&format!("a,b\n{many}")).contains("1 cell; allowed: 2 cells, as in line 1"));
    // R writes no name over the names of the rows.
    assert_eq!(read("a b\nr1 1 2\nr2 3 4\n").names(), ["row", "a", "b"]);
}

#[test]
fn shape_faults_have_one_clear_message_each() {
    let m = strict(&with_row(2, "1,2,3")).unwrap_err().to_string();
    assert!(m.contains("line 4: 3 cells; allowed: 2 cells, as in line 1"), "{m}");
    assert!(message("").contains("the file is empty"));
    assert!(message("\n  \n").contains("the file is empty"));
    assert!(message("a,b\n").contains("only a header"));
    let t = read("a,b,a\n1,2,3\n");
    assert_eq!((t.names(), t.said().len()), (vec!["a", "b", "a_2"], 1));
    assert!(message("a,b\n1,\"2\n3,4\n").contains("line 2: a quote is opened and never closed"));
    let m = message("a,b\n1,\"2\n3,\"4\n5,6\n");
    assert!(m.contains("line 2: the quote that begins here ends in line 3, and text follows it"), "{m}");
    assert!(message("a,b\n1,\"2\"x\n").contains("line 2: text follows a closing quote"));
    for width in [2, 3] {
        let row = |cells: [&str; 3]| cells[..width].join(",") + "\n";
        let table = row(["a", "b", "c"]) + &row(["1", "2", "3"]).repeat(20);
        let m = message(&format!("Measured in May\n{table}"));
        assert!(m.ends_with("line 2 looks like the column names: --skip-lines 1"), "{m}");
        assert!(m.contains(&format!("line 1: 1 cell where the rows have {width}")), "{m}");
    }
    let m = read_with("a,b\n1,2\n", &ReadOptions { skip_lines: 9, ..Default::default() }).unwrap_err().to_string();
    assert!(m.contains("no row after the skipped lines"), "{m}");
    for bad in [b'"', b'\n', 200] {
        let options = ReadOptions { delimiter: Some(bad), ..Default::default() };
        assert_eq!(read_with("a\n1\n", &options).unwrap_err().exit_code(), 2);
    }
}

#[test]
fn columns_by_name_index_and_nearest_name() {
    let t = read("age,height,1\n1,2,3\n");
    assert_eq!(t.column_index("height").unwrap(), 1);
    assert_eq!(t.column_index("-1").unwrap(), 2);
    assert_eq!(t.column_index("1").unwrap(), 2, "an exact name wins over an index");
    assert_eq!(t.column_index("0").unwrap(), 0);
    let m = t.column_index("heigth").unwrap_err().to_string();
    assert!(m.contains("did you mean 'height'?") && m.contains("'age', 'height', '1'"), "{m}");
    assert!(t.column_index("3").is_err() && t.column_index("-4").is_err());
    assert!(t.column_index("-9223372036854775808").is_err());
}

#[test]
fn a_second_file_adds_its_columns() {
    let mut t = read("1 2\n3 4\n");
    t.append(read("7\n8\n")).unwrap();
    assert_eq!(t.names(), ["0", "1", "0_target"]);
    assert_eq!(numbers(&t.columns[2]), [7.0, 8.0]);
    assert!(t.append(read("7\n8\n9\n")).unwrap_err().to_string().contains("3 rows; allowed: 2 rows"));
}

#[test]
fn ten_thousand_columns() {
    let row = vec!["0.5"; 10_000].join(",");
    let t = read(&format!("{row}\n{row}\n"));
    assert_eq!((t.columns.len(), t.rows()), (10_000, 2));
}

#[test]
fn no_text_makes_it_panic() {
    // Every string of up to four of the characters that matter to the reader.
    let alphabet = ['a', '1', ',', '"', '\n', '\r', ' ', '#'];
    for length in 1..=4u32 {
        for code in 0..alphabet.len().pow(length) {
            let text: String = (0..length).map(|i| alphabet[code / alphabet.len().pow(i) % alphabet.len()]).collect();
            for delimiter in [None, Some(b' '), Some(b'\t')] {
                let _ = parse_table(Path::new("t.csv"), &text, &ReadOptions { delimiter, ..Default::default() });
            }
        }
    }
}

/// Bytes drawn from those that mean something to the reader, and whole files of noise.
#[test]
fn no_bytes_make_it_panic() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    let alphabet = b"0019.,;'\"\t \n\r#-+eE%$()kgNA/\\|\xe2\x82\xac\x80\xff\xc2\xa0";
    let mut rng = crate::base::rng::SplitMix64::new(5);
    for round in 0..3000 {
        let length = rng.next_u64() as usize % 120;
        let bytes: Vec<u8> = (0..length)
            .map(|_| match round % 10 {
                0 => rng.next_u64() as u8,
                _ => alphabet[rng.next_u64() as usize % alphabet.len()],
            })
            .collect();
        std::fs::write(&path, &bytes).unwrap();
        let delimiter = [None, Some(b','), Some(b' '), Some(b';')][round % 4];
        let options = ReadOptions { delimiter, strict: round % 3 == 0, ..Default::default() };
        if let Ok(t) = read_table(&path, &options) {
            assert!(t.columns.iter().all(|c| c.rows() == t.rows()), "{bytes:?}");
            assert!(t.said().iter().all(|s| s.lines().count() == 1), "{:?}", t.said());
        }
    }
}
