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
        let m = message(&with_row(4, &format!("{bad},4")));
        assert!(m.contains(&format!("t.csv, line 6, column 'a': '{bad}' is infinite")), "{m}");
    }
}

/// Bounds of intervals without end: their columns must not keep the others from being read.
#[test]
fn a_column_of_nothing_but_infinity_is_text() {
    let rows: String = (0..12).map(|i| format!("{i},-inf\n")).collect();
    let t = read(&format!("a,lower\n{rows}"));
    assert_eq!(numbers(&t.columns[0]).len(), 12);
    assert!(matches!(&t.columns[1].cells, Cells::Text(c) if c.iter().all(|c| c == Some("-inf"))));
    assert!(message(&format!("a,lower\n{rows}12,3\n")).contains("'-inf' is infinite"));
}

#[test]
fn text_among_numbers_names_its_cell() {
    let m = message(&with_row(3, "oops,3"));
    assert!(m.contains("line 5, column 'a': 'oops' in a column of numbers"), "{m}");
    assert!(m.contains("--text-column 'a'"), "{m}");
    let options = ReadOptions { text_columns: vec!["a".into()], ..Default::default() };
    let t = read_with(&with_row(3, "oops,3"), &options).unwrap();
    assert_eq!((t.columns[0].text(3), t.columns[0].text(0)), (Some("oops"), Some("0")));
}

#[test]
fn decimal_commas_are_read_and_thousands_explained() {
    let t = read("a;b\n3,5;1\n-4;2\n4,5e-1;3\n");
    assert_eq!((numbers(&t.columns[0]), numbers(&t.columns[1])), (&[3.5, -4.0, 0.45][..], &[1.0, 2.0, 3.0][..]));
    // All could be thousands, or a point elsewhere says that commas are not decimal: no guess.
    for text in ["a;b\n1,234;1\n2,345;2\n", "a;b\n1,25;1.5\n2,3;2\n"] {
        let m = message(text);
        assert!(m.contains("has a comma inside a number"), "{m}");
    }
    let m = message("a,b\n\"1,234\",1\n\"2,345\",2\n");
    assert!(m.contains("thousands"), "{m}");
}

#[test]
fn shape_faults_have_one_clear_message_each() {
    assert!(message(&with_row(2, "1,2,3")).contains("line 4: 3 cells; allowed: 2 cells, as in line 1"));
    assert!(message("").contains("the file is empty"));
    assert!(message("\n  \n").contains("the file is empty"));
    assert!(message("a,b\n").contains("only a header"));
    assert!(message("a,b,a\n1,2,3\n").contains("columns 0 and 2 (from 0) are both named 'a'"));
    assert!(message("a,b\n1,\"2\n3,4\n").contains("line 2: a quote is opened and never closed"));
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
