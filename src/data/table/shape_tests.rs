//! Tests of what stands around a table: its header, lines that are no rows, and what Excel writes in front.

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

fn message(text: &str, options: &ReadOptions) -> String {
    let message = read_with(text, options).unwrap_err().to_string();
    assert_eq!(message.lines().count(), 1);
    message
}

fn rows(n: usize, row: impl Fn(usize) -> String) -> String {
    (0..n).map(|i| row(i) + "\n").collect()
}

#[test]
fn years_are_names_where_no_years_stand_below_them() {
    let body = rows(60, |i| format!("c{i},{}.5,{}.25,{}", i % 7, i % 11, i % 13));
    let t = read(&format!("city,2019,2020,2021\n{body}"));
    assert_eq!((t.names(), t.rows()), (vec!["city", "2019", "2020", "2021"], 60));
    let said = "the years 2019 to 2021 in the first line are read as names (--header no if the line is data)";
    assert_eq!(t.said(), [said]);
    // The World Bank's, with gaps and years that nobody has filled in.
    let row = |i: usize| format!("Land {i},L{i},\"Births, total\",SP.T,{}.5,,{}.25,", i % 5, i % 7);
    let t = read(&("Country Name,Country Code,Indicator,Code,1960,1961,1962,2013\n".to_string() + &rows(30, row)));
    assert_eq!((t.names()[4..].to_vec(), t.rows()), (vec!["1960", "1961", "1962", "2013"], 30));
    // Data: years below, numbers alone, a text that occurs again, years that do not rise.
    for text in [
        rows(30, |i| format!("c{i},{},{}", 1990 + i % 5, 2000 + i % 5)),
        format!("2019,2020,2021\n{}", rows(30, |i| format!("{}.5,{}.5,1", i % 7, i % 5))),
        format!("c1,2019,2020\n{}", rows(30, |i| format!("c{},{}.5,{}.5", i % 5, i % 7, i % 5))),
        format!("x,2020,1999,2001\n{}", rows(30, |i| format!("c{i},{}.5,{}.5,3", i % 7, i % 5))),
    ] {
        assert!(!read(&text).header, "{text}");
    }
}

#[test]
fn a_table_without_header_says_so_and_how_it_gets_one() {
    let text = format!("x,1.5,7\n{}", rows(30, |i| format!("x,{}.5,{}", i % 7, i % 3)));
    let t = read(&text);
    assert_eq!(t.said(), ["no header found: the columns are 0 to 2; --header yes if line 1 holds names"]);
    let m = t.column_index("1.5").unwrap_err().to_string();
    assert!(
        m.contains("no column '1.5', but line 1 holds it")
            && m.ends_with("use --header yes, if that line holds the names"),
        "{m}"
    );
    assert!(t.column_index("y").unwrap_err().to_string().contains("allowed: '0', '1', '2'"));
    let kinds = vec![("x".to_string(), ColumnKind::Text)];
    let m = message(&text, &ReadOptions { kinds, ..Default::default() });
    assert!(m.contains("but line 1 holds it"), "{m}");
    let t = read_with(&text, &ReadOptions { header: Some(true), ..Default::default() }).unwrap();
    assert_eq!(t.column_index("1.5").unwrap(), 1);
    assert!(read_with(&text, &ReadOptions { header: Some(false), ..Default::default() }).unwrap().said().is_empty());
}

#[test]
fn the_line_that_excel_reads_the_delimiter_from_is_no_row() {
    for (first, sign) in
        [("sep=;", ';'), ("SEP=;", ';'), ("\"sep=|\"", '|'), ("sep=\t", '\t'), ("sep=\\t", '\t'), ("sep=,", ',')]
    {
        let text = format!("{first}\r\na;b;y\r\n1.5;2;3\r\n4;5;6\r\n").replace(';', &sign.to_string());
        let text = text.replacen(&first.replace(';', &sign.to_string()), first, 1);
        let t = read(&text);
        assert_eq!((t.names(), t.rows(), char::from(t.delimiter)), (vec!["a", "b", "y"], 2, sign), "{first:?}");
        assert_eq!(t.lines.get(0), 3);
        // Who skips the line himself skips no other.
        assert_eq!(read_with(&text, &ReadOptions { skip_lines: 1, ..Default::default() }).unwrap().rows(), 2);
    }
    assert!(!read("sep=ab,x\n1,2\n3,4\n").names().is_empty());
}

#[test]
fn a_comma_behind_the_last_name_makes_no_column() {
    let body = rows(12, |i| format!("LNS,{},Q{},{}.5", 1990 + i, i % 4, i % 7));
    let t = read(&format!("Series id,Year,Period,Value,\n{body}"));
    assert_eq!((t.names(), t.rows(), t.said().len()), (vec!["Series id", "Year", "Period", "Value"], 12, 0));
    assert_eq!(read(&format!("a,b,c,d,,\n{body}")).names(), ["a", "b", "c", "d"]);
}

/// As the Bureau of Labor Statistics writes them.
#[test]
fn titles_of_several_lines_have_a_cure_that_works() {
    let body = rows(12, |i| format!("LNS,{},{}.5", 1990 + i, i % 7));
    let text = format!("Series Id: LNS\n\nSeasonally adjusted\nAge: 16 years\n\n\nSeries,Year,Value,\n{body}");
    let m = message(&text, &ReadOptions::default());
    assert!(m.ends_with("line 7 looks like the column names: --skip-lines 6"), "{m}");
    let t = read_with(&text, &ReadOptions { skip_lines: 6, ..Default::default() }).unwrap();
    assert_eq!((t.names(), t.rows()), (vec!["Series", "Year", "Value"], 12));
}

#[test]
fn footnotes_are_left_out_by_name() {
    let table = format!("a,b,c\n{}", rows(12, |i| format!("{i},{}.5,x", i % 5)));
    let t = read(&format!("{table}\nSource: somebody\n"));
    let said = "line 15, the last one, is left out: 1 cell instead of 3 (--strict stops there)";
    assert_eq!((t.rows(), t.said()), (12, vec![said.to_string()]));
    let t = read(&format!("{table}\n\nData from a bank\nLast updated, in May\nAll rights reserved\nSee there\n"));
    let said = "the last 4 lines, 16 to 19, are left out: the first has 1 cell instead of 3 (--strict stops there)";
    assert_eq!((t.rows(), t.said()), (12, vec![said.to_string()]));
    // A quarter of a table that is cut off in the middle of a line is none of it.
    let strict = ReadOptions { strict: true, ..Default::default() };
    let m = message(&format!("{table}Source\n"), &strict);
    assert!(m.contains("line 14: 1 cell; allowed: 3 cells, as in line 1; fix the row, or delete it"), "{m}");
    let m = message(&format!("{table}{}", rows(9, |_| "1,2".into())), &ReadOptions::default());
    assert!(m.ends_with("delete the last 9 lines, if they are no rows"), "{m}");
    // In the middle it is the row that is wrong.
    let m = message(&format!("a,b\n1,2\n{}1,2\n", rows(9, |_| "1".into())), &ReadOptions::default());
    assert!(m.contains("1 cell"), "{m}");
}

#[test]
fn quotes_around_every_name_are_none_of_it() {
    let body = rows(5, |i| format!("{i}\t{}", i * i));
    assert_eq!(read(&format!("'popul'\t'TVnews'\n{body}")).names(), ["popul", "TVnews"]);
    assert_eq!(read(&format!("'popul'\tTVnews\n{body}")).names(), ["'popul'", "TVnews"]);
    // A model that was trained on such names still finds them.
    let expected = vec!["'popul'".to_string(), "'TVnews'".into()];
    let t = read_with(&format!("'popul'\t'TVnews'\n{body}"), &ReadOptions { expected, ..Default::default() }).unwrap();
    assert_eq!(t.names(), ["'popul'", "'TVnews'"]);
}

#[test]
fn a_proposed_name_is_as_the_shell_wants_it() {
    let m = read("Mike's height,b\n1,2\n3,4\n").column_index("mikes height").unwrap_err().to_string();
    assert!(m.contains(&format!("did you mean {}?", shell("Mike's height"))), "{m}");
}

#[test]
fn a_delimiter_that_the_file_does_not_have_is_named() {
    let text = format!("a,b,c\n{}", rows(9, |i| format!("{i},2,x")));
    let by = |delimiter| ReadOptions { delimiter: Some(delimiter), ..Default::default() };
    let m = message(&text, &by(b';'));
    assert!(
        m.contains("one column under the delimiter ';'; allowed: a delimiter that the file has; it seems to use ','"),
        "{m}"
    );
    // A column of decimal commas is one.
    assert_eq!(read_with("y\n1,5\n2,5\n3,5\n", &by(b';')).unwrap().columns.len(), 1);
    assert_eq!(read_with("1,5\n2,5\n3,5\n", &by(b';')).unwrap().columns.len(), 1);
}
