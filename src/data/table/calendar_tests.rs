//! Tests of dates; the numbers are Python's `datetime`.

use super::*;

#[test]
fn b4_day_numbers_are_those_of_python() {
    for ((y, m, d), number, weekday) in [
        ((1970, 1, 1), 0, 3),
        ((2000, 2, 29), 11016, 1),
        ((1900, 3, 1), -25508, 3),
        ((2024, 12, 31), 20088, 1),
        ((1949, 1, 1), -7670, 5),
        ((1600, 2, 29), -135_081, 1),
        ((2999, 12, 31), 376_199, 1),
        ((1000, 1, 1), -354_285, 2),
    ] {
        assert_eq!(days(y, m, d), number, "{y}-{m}-{d}");
        assert_eq!(civil(number), (y, m, d));
        let parts = Moment { seconds: number as f64 * DAY, ahead: 0.0, has_day: true }.parts();
        assert_eq!((parts.weekday, parts.month, parts.day), (weekday, m, d));
    }
    // Every day of 800 years is one after the other.
    for number in -146_097..146_097 {
        let (y, m, d) = civil(number);
        assert_eq!(days(y, m, d), number);
    }
}

#[test]
fn b4_dates_are_read_as_people_write_them() {
    let eve = Some(1_735_603_200.0);
    let seconds = |text: &str, order: Order| parse(text, order).map(|m| m.seconds);
    for text in [
        "2024-12-31",
        "2024/12/31",
        "31.12.2024",
        "31.12.24",
        "20241231",
        "Dec 31, 2024",
        "31 Dec 2024",
        "31-Dec-24",
        "31. Dezember 2024",
        "Tue, 31 Dec 2024",
        "December 31st, 2024",
        "2024-Dec-31",
    ] {
        assert_eq!(seconds(text, Order::MonthFirst), eve, "{text}");
        assert_eq!(seconds(text, Order::DayFirst), eve, "{text}");
    }
    assert_eq!((seconds("12/31/2024", Order::MonthFirst), seconds("12/31/2024", Order::DayFirst)), (eve, None));
    assert_eq!((seconds("31/12/2024", Order::DayFirst), seconds("31/12/2024", Order::MonthFirst)), (eve, None));
    let late = Some(1_735_682_709.0);
    for text in [
        "2024-12-31T22:05:09",
        "2024-12-31 22:05:09",
        "2024-12-31T22:05:09Z",
        "2024-12-31T22:05:09+01:00",
        "31.12.2024 22:05:09",
        "Dec 31, 2024 10:05:09 PM",
        "20241231T220509",
        "2024-12-31 22:05:09.000 UTC",
    ] {
        assert_eq!(seconds(text, Order::MonthFirst), late, "{text}");
    }
    for text in ["2024-12", "Dec 2024", "12/2024", "2024 December"] {
        let month = parse(text, Order::MonthFirst).expect(text);
        assert_eq!((month.seconds, month.has_day), (1_733_011_200.0, false), "{text}");
    }
    assert_eq!(parse("2024Q4", Order::MonthFirst), parse("2024-10", Order::MonthFirst));
    for text in [
        "",
        "2024",
        "12",
        "3.5",
        "-2024-01",
        "2024-13-01",
        "2023-02-29",
        "12:30",
        "abc",
        "mai",
        "Jan",
        "1-2",
        "555-1234",
        "2024-01-01 25:00",
        "99999999",
        "123456789-1-1",
        "2024-01-01-01",
        "\u{661}\u{662}/2024",
        "10:15:00:00",
    ] {
        assert_eq!(parse(text, Order::MonthFirst), None, "{text}");
    }
}

/// Of a column of clocks alone: hours of one day, whatever else may stand there.
#[test]
fn a_clock_without_a_date() {
    let hours = |text| parse(text, Order::Clock).map(|m| m.seconds / 3600.0);
    assert_eq!(
        ["00:00", "6:30", "12:45:00", "3:15 PM", "23:59:60"].map(hours),
        [0.0, 6.5, 12.75, 15.25, 24.0].map(Some)
    );
    for text in ["", "12", "2024-01-01 12:30", "24:00", "12:60", "1:2", ":30", "ratio 3:10", "123:10", "10:15:00:00"] {
        assert_eq!(hours(text), None, "{text}");
    }
    assert!(are_clocks(["8:00", "16:00", "23:30"].into_iter()) && !are_clocks(["8:00", "3:2"].into_iter()));
    assert!(!are_clocks([].into_iter()));
}

#[test]
fn b4_parts_of_a_moment() {
    // datetime(2024, 7, 4, 18): day 186 of 366, three quarters of the day over.
    let parts = parse("2024-07-04 18:00", Order::MonthFirst).unwrap().parts();
    assert!((parts.of_year - 0.507_513_661_202_185_8).abs() < 1e-12, "{}", parts.of_year);
    assert!((parts.years - 2_024.507_513_661_202).abs() < 1e-9);
    assert_eq!((parts.weekday, parts.of_day), (3, 0.75));
}

#[test]
fn b4_the_order_of_day_and_month_is_found() {
    let found = |texts: &[&'static str]| detect(texts.iter().copied());
    let of = |order, is_ambiguous| Some(Found { order, is_ambiguous });
    assert_eq!(found(&["1/2/2024", "13/2/2024"]), of(Order::DayFirst, false));
    assert_eq!(found(&["1/2/2024", "2/13/2024"]), of(Order::MonthFirst, false));
    assert_eq!(found(&["1/2/2024", "3/4/2024"]), of(Order::MonthFirst, true));
    assert_eq!(found(&["2024-01-05", "2024-01-06"]), of(Order::DayFirst, false));
    assert_eq!(found(&["red", "blue"]), None);
    assert_eq!(found(&["2024-01-05", "soon"]), None);
}

#[test]
fn years_and_back() {
    for text in ["1958-03-29", "2000-02-29", "2024-12-31 23:59", "1969-07-20"] {
        let moment = parse(text, Order::MonthFirst).expect("a date");
        let again = Moment::of_years(moment.parts().years);
        assert!((again.seconds - moment.seconds).abs() < 1e-2, "{text}: {again:?}");
    }
}
