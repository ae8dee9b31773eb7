//! One cell as a number: separators of thousands, either decimal sign, units, and what stands for a missing value. Must
//! not decide about a column: a cell alone is often ambiguous, and `reading` weighs all of them.

use super::decimal::{Decimal, decimal};

/// The decimal sign of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Point,
    Comma,
}

/// A number with the unit that stands before or behind it; "" for none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Number {
    pub value: f64,
    pub unit: String,
    /// Whether thousands are set apart.
    pub is_grouped: bool,
}

/// Texts that stand for a missing number, compared without regard to case. The empty cell always does.
const MISSING: &[&str] = &[
    "na", "n/a", "n.a.", "nan", "-nan", "+nan", "null", "none", "nil", "?", ".", "..", "-", "--", "---", "\u{2013}",
    "\u{2014}", "#n/a", "#na", "<na>", "\\n", "#div/0!", "#value!", "missing", "1.#qnan", "-1.#ind", "1.#ind",
    "-1.#qnan", "#ref!", "#num!", "#null!", "#name?", "<null>", "(null)",
];

pub(crate) fn is_missing(cell: &str) -> bool {
    cell.is_empty() || MISSING.iter().any(|m| cell.eq_ignore_ascii_case(m))
}

/// `inf` in the ways in which programs write it.
pub(crate) fn is_infinite(cell: &str) -> bool {
    let bare = cell.trim_start_matches(['+', '-', '\u{2212}']);
    ["inf", "infinity", "\u{221e}", "1.#inf"].iter().any(|i| bare.eq_ignore_ascii_case(i))
        || cell.parse::<f64>().is_ok_and(f64::is_infinite)
}

const CURRENCY: &str =
    "$\u{20ac}\u{a3}\u{a5}\u{20b9}\u{20bd}\u{20a9}\u{20ba}\u{20aa}\u{e3f}\u{a2}\u{20b4}\u{20ab}\u{20b1}";
const CODES: &[&str] = &[
    "USD", "EUR", "GBP", "CHF", "JPY", "CNY", "RMB", "INR", "AUD", "CAD", "NZD", "SEK", "NOK", "DKK", "PLN", "CZK",
    "HUF", "BRL", "MXN", "ZAR", "RUB", "TRY", "KRW", "SGD", "HKD", "US$", "R$", "Rs",
];
/// Words behind a number that make it a date, a time or a rank.
const NO_UNITS: &[&str] = &[
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "am", "pm", "st", "nd", "rd",
    "th",
];

/// The number of a cell if its decimal sign is `sign`; `None` for anything else, an infinite number included.
pub(crate) fn number(cell: &str, sign: Sign) -> Option<Number> {
    let bracketed = cell.strip_prefix('(').and_then(|c| c.strip_suffix(')'));
    let mut rest = bracketed.unwrap_or(cell).trim();
    // Most texts are seen to be none without a look at currencies.
    if !rest.bytes().any(|b| b.is_ascii_digit()) || rest.starts_with(|c: char| c.is_ascii_lowercase()) {
        return None;
    }
    let mut signs = usize::from(bracketed.is_some());
    let mut is_negative = bracketed.is_some();
    let mut unit = "";
    // A sign may stand before or behind a currency.
    for has_currency in [false, true] {
        if has_currency {
            let symbol = rest.chars().next().filter(|c| CURRENCY.contains(*c)).map(char::len_utf8);
            let code = CODES.iter().find(|code| rest.starts_with(**code)).map(|code| code.len());
            let Some(length) = code.or(symbol) else { break };
            unit = &rest[..length];
            rest = rest[length..].trim_start();
        }
        let minus = rest.strip_prefix(['-', '\u{2212}', '\u{2013}']);
        if let Some(bare) = minus.or_else(|| rest.strip_prefix('+')) {
            is_negative |= minus.is_some();
            signs += 1;
            rest = bare.trim_start();
        }
    }
    // "(-5)" is no number.
    if signs > 1 {
        return None;
    }
    let is_inside = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '\'' | '\u{2019}') || is_space(c);
    let end = rest.find(|c| !is_inside(c)).unwrap_or(rest.len());
    let body = rest[..end].trim_end();
    rest = &rest[body.len()..];
    let (mut plain, is_grouped) = digits(body, sign)?;
    if let Some(length) = exponent(rest) {
        plain.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    let behind = rest.trim_start();
    if !behind.is_empty() {
        if !unit.is_empty() || !is_unit(behind) {
            return None;
        }
        unit = behind;
    }
    let value: f64 = plain.parse().ok()?;
    // "1 year" and "2 years" are of one unit.
    let unit = if unit.len() > 3 { unit.trim_end_matches('s') } else { unit };
    value.is_finite().then(|| Number { value: if is_negative { -value } else { value }, unit: unit.into(), is_grouped })
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}' | '\u{2007}')
}

/// The digits with a point as decimal sign, and whether thousands were set apart.
fn digits(body: &str, sign: Sign) -> Option<(String, bool)> {
    let (decimal, other) = if sign == Sign::Comma { (',', '.') } else { ('.', ',') };
    let (whole, fraction) = match body.split_once(decimal) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (body, None),
    };
    let are_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if fraction.is_some_and(|f| !are_digits(f)) || (whole.is_empty() && fraction.is_none_or(str::is_empty)) {
        return None;
    }
    let mut plain = String::with_capacity(body.len());
    let mut is_grouped = false;
    if are_digits(whole) {
        plain.push_str(whole);
    } else {
        let separator = whole.chars().find(|c| !c.is_ascii_digit())?;
        if separator == decimal || !(separator == other || is_space(separator) || "'\u{2019}".contains(separator)) {
            return None;
        }
        for (i, group) in whole.split(separator).enumerate() {
            let fits = if i == 0 { (1..=3).contains(&group.len()) } else { group.len() == 3 };
            if !fits || !are_digits(group) {
                return None;
            }
            plain.push_str(group);
        }
        is_grouped = true;
    }
    if let Some(fraction) = fraction {
        plain.push('.');
        plain.push_str(fraction);
    }
    Some((plain, is_grouped))
}

/// Length of "e-3" in front of a text.
fn exponent(text: &str) -> Option<usize> {
    let after = text.strip_prefix(['e', 'E'])?;
    let bare = after.strip_prefix(['+', '-']).unwrap_or(after);
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let end = text.len() - bare.len() + digits;
    // "3e5f" is no number with the unit f.
    (digits > 0 && !text[end..].starts_with(|c: char| c.is_alphanumeric())).then_some(end)
}

/// `kg`, `%`, `km/h`, `m\u{b2}`, `sq ft`, but no "Jan", "th" or "a 12".
fn is_unit(text: &str) -> bool {
    let starts = |c: char| c.is_alphabetic() || CURRENCY.contains(c) || "%\u{2030}\u{b0}\u{b5}\"'".contains(c);
    let goes_on = |c: char| {
        starts(c) || c.is_ascii_digit() || " /^*.\u{b7}\u{b2}\u{b3}\u{207b}\u{b9}-".contains(c) || is_space(c)
    };
    let is_short = text.chars().nth(12).is_none();
    let has = |what: fn(char) -> bool| text.contains(what);
    let first_word = text.split(|c: char| !c.is_alphabetic()).next().unwrap_or("");
    is_short
        && text.starts_with(starts)
        && text.chars().all(goes_on)
        && !(has(|c| c.is_ascii_digit()) && has(is_space))
        && !NO_UNITS.iter().any(|n| first_word.eq_ignore_ascii_case(n))
}

/// The decimal sign that a cell proves: `1.299,99` the comma, `0,5` too, `1,234` neither.
pub(crate) fn evidence(cell: &str) -> Option<Sign> {
    let (point, comma) = (number(cell, Sign::Point), number(cell, Sign::Comma));
    match (point, comma) {
        (Some(_), None) if cell.contains(['.', ',']) => Some(Sign::Point),
        (None, Some(_)) => Some(Sign::Comma),
        // "0,125" and "0.125": no thousands begin with a zero.
        (Some(p), Some(c)) if p.value != c.value => {
            let zero = |sign: &str| cell.trim_start_matches(|c: char| !c.is_ascii_digit()).starts_with(sign);
            match (zero("0,"), zero("0.")) {
                (true, _) => Some(Sign::Comma),
                (_, true) => Some(Sign::Point),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether `cell` is another number under each decimal sign, and which is ambiguous: `1,234`.
pub(crate) fn is_ambiguous(cell: &str) -> bool {
    let (point, comma) = (number(cell, Sign::Point), number(cell, Sign::Comma));
    matches!((point, comma), (Some(p), Some(c)) if p.value != c.value) && evidence(cell).is_none()
}

/// What the plain numbers of a column look like: an optional sign, digits, a point, an exponent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Plain {
    pub cells: usize,
    /// Digits alone.
    pub whole: usize,
    /// Digits alone, with a zero in front: `01234`.
    pub zeros: usize,
    /// Digits alone, too many for a double to hold exactly.
    pub inexact: usize,
    pub pointed: usize,
    /// `1.037`: thousands where commas are decimal.
    pub grouped: usize,
    /// `01.12`: a day and a month, or a number.
    pub day_month: usize,
    /// Of those the ones with a zero in front, as no number has.
    pub padded_days: usize,
}

impl Plain {
    /// The value of a plain finite number, counted in; `None` for any other cell.
    pub fn read(&mut self, cell: &str) -> Option<f64> {
        let bytes = cell.as_bytes();
        if let Some(decimal) = decimal(bytes).filter(|d| d.length == bytes.len()) {
            self.count(bytes, decimal);
            return Some(decimal.value);
        }
        if !bytes.first().is_some_and(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.')) {
            return None;
        }
        let value = cell.parse::<f64>().ok().filter(|v| v.is_finite())?;
        self.cells += 1;
        if let Some(point) = bytes.iter().position(|&b| b == b'.') {
            self.pointed += 1;
            self.look_at_point(bytes, point);
        } else if bytes.iter().all(u8::is_ascii_digit) {
            self.whole += 1;
            self.zeros += usize::from(bytes.len() > 1 && bytes[0] == b'0');
            // 2^53 has sixteen digits.
            let is_exact = || cell.parse::<u128>().is_ok_and(|whole| whole == value as u128);
            self.inexact += usize::from(bytes.len() > 15 && !is_exact());
        }
        Some(value)
    }

    /// Counts in a cell that is `decimal` from end to end.
    #[inline]
    pub fn count(&mut self, bytes: &[u8], decimal: Decimal) {
        self.cells += 1;
        match decimal.point {
            Some(point) => {
                self.pointed += 1;
                // Thousands have three digits behind a point, months two.
                if matches!(bytes.len() - point, 3 | 4) {
                    self.look_at_point(bytes, point);
                }
            }
            None if !decimal.is_signed => {
                self.whole += 1;
                self.zeros += usize::from(bytes.len() > 1 && bytes[0] == b'0');
            }
            None => {}
        }
    }

    fn look_at_point(&mut self, bytes: &[u8], point: usize) {
        let (whole, fraction) = (&bytes[..point], &bytes[point + 1..]);
        let whole = whole.strip_prefix(b"-").or(whole.strip_prefix(b"+")).unwrap_or(whole);
        if !whole.iter().chain(fraction).all(u8::is_ascii_digit) {
            return;
        }
        self.grouped += usize::from((1..=3).contains(&whole.len()) && whole[0] != b'0' && fraction.len() == 3);
        if let ([a @ b'0'..=b'9', b], [c, d]) = (&bytes[..point], fraction) {
            let (day, month) = ((a - b'0') * 10 + (b - b'0'), (c - b'0') * 10 + (d - b'0'));
            let fits = (1..=31).contains(&day) && (1..=12).contains(&month);
            self.day_month += usize::from(fits);
            self.padded_days += usize::from(fits && *a == b'0');
        }
    }

    pub fn add(&mut self, other: &Plain) {
        self.cells += other.cells;
        self.whole += other.whole;
        self.zeros += other.zeros;
        self.inexact += other.inexact;
        self.pointed += other.pointed;
        self.grouped += other.grouped;
        self.day_month += other.day_month;
        self.padded_days += other.padded_days;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cell: &str, sign: Sign) -> Option<(f64, String)> {
        number(cell, sign).map(|n| (n.value, n.unit))
    }

    #[test]
    fn b2_units_signs_and_separators() {
        for (cell, value, unit) in [
            ("12.5 kg", 12.5, "kg"),
            ("$605.50", 605.5, "$"),
            ("-$605.50", -605.5, "$"),
            ("($1,605.50)", -1605.5, "$"),
            ("\u{20ac} 5", 5.0, "\u{20ac}"),
            ("5 EUR", 5.0, "EUR"),
            ("45%", 45.0, "%"),
            ("1 037", 1037.0, ""),
            ("1\u{a0}037\u{202f}000", f64::NAN, ""),
            ("1\u{202f}037.5", 1037.5, ""),
            ("1'037", 1037.0, ""),
            ("\u{2212}3.5", -3.5, ""),
            ("(123)", -123.0, ""),
            ("+7", 7.0, ""),
            ("1e5", 1e5, ""),
            ("2.5e-3 m", 0.0025, "m"),
            ("1,234,567.5", 1_234_567.5, ""),
            ("120 km/h", 120.0, "km/h"),
            ("3 years", 3.0, "year"),
            (".5", 0.5, ""),
        ] {
            let expected = (!value.is_nan()).then(|| (value, unit.to_string()));
            assert_eq!(read(cell, Sign::Point), expected, "{cell}");
        }
        for cell in
            ["", "-", ".", "12-05", "3rd", "5 Jan 2020", "10:30", "A12", "1,23,4", "--5", "(-5)", "5 AM", "1.2.3"]
        {
            assert_eq!(read(cell, Sign::Point), None, "{cell}");
        }
    }

    #[test]
    fn b1_signs_are_proved_or_left_open() {
        let comma = |cell: &str| number(cell, Sign::Comma).map(|n| n.value);
        assert_eq!(
            [comma("1.299,99"), comma("925,76"), comma("1.037"), comma("-0,5e-1")].map(Option::unwrap),
            [1299.99, 925.76, 1037.0, -0.05]
        );
        assert_eq!(comma("12.5"), None);
        for (cell, sign) in [
            ("1.299,99", Some(Sign::Comma)),
            ("925,76", Some(Sign::Comma)),
            ("0,125", Some(Sign::Comma)),
            ("1,299.99", Some(Sign::Point)),
            ("12.5 kg", Some(Sign::Point)),
            ("1,234", None),
            ("1.234 kg", None),
            ("17", None),
            ("text", None),
        ] {
            assert_eq!(evidence(cell), sign, "{cell}");
        }
        assert!(is_ambiguous("1,234") && !is_ambiguous("17") && !is_ambiguous("0,125"));
    }

    #[test]
    fn plain_numbers_are_looked_at() {
        let mut plain = Plain::default();
        let read: Vec<_> = ["01234", "12", "1.037", "01.12", "9007199254740993", "1e999", "inf", "x", ""]
            .map(|c| plain.read(c))
            .into_iter()
            .flatten()
            .collect();
        assert_eq!(read, [1234.0, 12.0, 1.037, 1.12, 9007199254740992.0]);
        assert_eq!((plain.whole, plain.zeros, plain.inexact, plain.pointed), (3, 1, 1, 2));
        assert_eq!((plain.grouped, plain.day_month, plain.padded_days), (1, 1, 1));
    }
}
