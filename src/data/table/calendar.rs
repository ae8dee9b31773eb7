//! Dates and times as people write them: ISO 8601, day or month first, names of months in English and German, quarters. A
//! clock is read as it stands and its zone kept beside it, so that an hour of day stays what the row's author saw.
//! Must not know of columns or inputs.

/// A reading of calendar and clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Moment {
    /// Since 1970-01-01T00:00 on the same clock.
    pub seconds: f64,
    /// Seconds by which that clock is ahead of UTC; 0 where nothing is said, or the zone is a name.
    pub ahead: f64,
    /// Whether a day was given, and not a month or a quarter alone.
    pub has_day: bool,
}

/// Which of two numbers before a year is the day, where both could be: `3/4/2024`. Points always put the day first. A clock has no
/// date beside it: its moments are of 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    #[default]
    MonthFirst,
    DayFirst,
    Clock,
}

pub(crate) const DAY: f64 = 86_400.0;

/// The calendar's side of a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Parts {
    /// Gregorian, with the fraction of the year that is over.
    pub years: f64,
    pub month: u32,
    pub day: u32,
    /// In [0, 1): share of the year that is over.
    pub of_year: f64,
    /// Monday = 0.
    pub weekday: u32,
    /// In [0, 1): share of the day that is over.
    pub of_day: f64,
}

impl Moment {
    /// Of a year and its fraction, the inverse of `Parts::years`.
    pub fn of_years(years: f64) -> Moment {
        let year = years.floor() as i64;
        let start = days(year, 1, 1);
        let length = (days(year + 1, 1, 1) - start) as f64;
        let seconds = (start as f64 + (years - years.floor()) * length) * DAY;
        Moment { seconds, ahead: 0.0, has_day: true }
    }

    /// Seconds since 1970 in UTC: what sorts clocks of several zones.
    pub fn instant(&self) -> f64 {
        self.seconds - self.ahead
    }

    pub fn parts(&self) -> Parts {
        let day_number = (self.seconds / DAY).floor();
        let of_day = self.seconds / DAY - day_number;
        let (year, month, day) = civil(day_number as i64);
        let start = days(year, 1, 1);
        let length = (days(year + 1, 1, 1) - start) as f64;
        let of_year = (day_number - start as f64 + of_day) / length;
        // 1970-01-01 was a Thursday.
        let weekday = (day_number as i64 + 3).rem_euclid(7) as u32;
        Parts { years: year as f64 + of_year, month, day, of_year, weekday, of_day }
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar (Howard Hinnant, "chrono-compatible low-level date
/// algorithms": years start in March, so that the leap day is a year's last).
pub(crate) fn days(year: i64, month: u32, day: u32) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let of_era = y.rem_euclid(400);
    let of_year = (153 * ((i64::from(month) + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of a day number: the inverse of `days`.
fn civil(day_number: i64) -> (i64, u32, u32) {
    let z = day_number + 719_468;
    let era = z.div_euclid(146_097);
    let of_era = z.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let m = (5 * of_year + 2) / 153;
    let day = (of_year - (153 * m + 2) / 5 + 1) as u32;
    let month = (if m < 10 { m + 3 } else { m - 9 }) as u32;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn month_length(year: i64, month: u32) -> u32 {
    let next = if month == 12 { days(year + 1, 1, 1) } else { days(year, month + 1, 1) };
    (next - days(year, month, 1)) as u32
}

/// `None` for what is no date; a time without a date is none but to `Order::Clock`, to which nothing else is one.
pub(crate) fn parse(text: &str, order: Order) -> Option<Moment> {
    let text = text.trim();
    if order == Order::Clock {
        let hours = text.find(':').filter(|colon| (1..=2).contains(colon));
        let (seconds, ahead) = hours.and_then(|_| clock(text))?;
        return Some(Moment { seconds, ahead, has_day: false });
    }
    if text.len() > 48 || !text.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    let (date, clock) = match text.find(':') {
        Some(colon) => {
            let before = &text[..colon];
            let hour = before.trim_end_matches(|c: char| c.is_ascii_digit());
            if before.len() - hour.len() > 2 {
                return None;
            }
            let date = hour.trim_end_matches([' ', ',']);
            // The T of ISO 8601 follows a digit; that of "Oct" does not.
            let iso = date.strip_suffix(['T', 't']).filter(|d| d.ends_with(|c: char| c.is_ascii_digit()));
            (iso.unwrap_or(date), clock(&text[hour.len()..])?)
        }
        None => match text.split_once('T') {
            // 20240131T101500: without a colon.
            Some((date, time)) if date.len() == 8 && matches!(time.trim_end_matches('Z').len(), 4 | 6) => {
                (date, (short_clock(time.trim_end_matches('Z'))?, 0.0))
            }
            _ => (text, (0.0, 0.0)),
        },
    };
    let (day_number, has_day) = calendar(date, order)?;
    let (of_day, ahead) = clock;
    Some(Moment { seconds: day_number as f64 * DAY + of_day, ahead, has_day })
}

/// Seconds of `10:15`, `10:15:00.5`, `3:15 PM`, `10:15:00+01:00`, `10:15 UTC`, and by how many the clock is ahead of UTC.
fn clock(text: &str) -> Option<(f64, f64)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.' | ','))).unwrap_or(text.len());
    let mut numbers = text[..end].split(':');
    let mut hour: f64 = numbers.next()?.parse().ok()?;
    let minute: f64 = numbers.next().filter(|m| m.len() == 2)?.parse().ok()?;
    let second: f64 = numbers.next().map_or(Some(0.0), |s| s.replace(',', ".").parse().ok())?;
    let rest = text[end..].trim().to_ascii_lowercase();
    let half = rest.replace('.', "");
    let zone = if half.starts_with("am") || half.starts_with("pm") {
        if !(1.0..=12.0).contains(&hour) {
            return None;
        }
        hour = hour % 12.0 + if half.starts_with("pm") { 12.0 } else { 0.0 };
        half[2..].trim().to_string()
    } else {
        rest
    };
    let is_offset =
        zone.starts_with(['+', '-']) && zone.len() <= 6 && zone[1..].chars().all(|c| c.is_ascii_digit() || c == ':');
    let is_name = zone.len() <= 5 && zone.chars().all(|c| c.is_ascii_alphabetic());
    let fits = hour < 24.0 && minute < 60.0 && second < 61.0 && numbers.next().is_none();
    let ahead = if is_offset { offset(&zone)? } else { 0.0 };
    (fits && (is_offset || is_name)).then_some((hour * 3600.0 + minute * 60.0 + second, ahead))
}

/// Seconds of `+02`, `+0530`, `-03:30`.
fn offset(zone: &str) -> Option<f64> {
    let digits = zone[1..].replace(':', "");
    let (hours, minutes) = digits.split_at(digits.len().min(2));
    let minutes: f64 = if minutes.is_empty() { 0.0 } else { minutes.parse().ok()? };
    let seconds = hours.parse::<f64>().ok()? * 3600.0 + minutes * 60.0;
    Some(if zone.starts_with('-') { -seconds } else { seconds })
}

/// Seconds of `1015` and `101500`.
fn short_clock(digits: &str) -> Option<f64> {
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let pair = |i: usize| digits.get(i..i + 2).map_or(Some(0.0), |p| p.parse::<f64>().ok());
    let (hour, minute, second) = (pair(0)?, pair(2)?, pair(4)?);
    (hour < 24.0 && minute < 60.0 && second < 61.0).then_some(hour * 3600.0 + minute * 60.0 + second)
}

/// A run of digits or of letters.
enum Token<'t> {
    Number(u32, usize),
    Word(&'t str),
}

/// The tokens of a date and the first character between them; `None` for characters that no date has.
fn tokens(text: &str) -> Option<(Vec<Token<'_>>, char)> {
    let (mut tokens, mut between) = (Vec::new(), None);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let end = if c.is_ascii_digit() {
            rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())
        } else if c.is_alphabetic() {
            rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len())
        } else {
            if !matches!(c, '-' | '/' | '.' | ' ' | ',') {
                return None;
            }
            between = between.or(Some(c));
            rest = &rest[c.len_utf8()..];
            continue;
        };
        let token = &rest[..end];
        tokens.push(match c.is_ascii_digit() {
            true if end <= 8 => Token::Number(token.parse().ok()?, end),
            true => return None,
            false => Token::Word(token),
        });
        if tokens.len() > 5 {
            return None;
        }
        rest = &rest[end..];
    }
    Some((tokens, between.unwrap_or(' ')))
}

/// Day number, and whether a day was given.
fn calendar(text: &str, order: Order) -> Option<(i64, bool)> {
    // A sign in front makes a number, not a date.
    if text.starts_with(['-', '.', ',', '/']) {
        return None;
    }
    let (mut tokens, between) = tokens(text)?;
    if tokens.len() > 2
        && let Some(Token::Word(word)) = tokens.first()
        && is_weekday(word)
    {
        tokens.remove(0);
    }
    tokens
        .retain(|t| !matches!(t, Token::Word(w) if ["st", "nd", "rd", "th"].iter().any(|s| w.eq_ignore_ascii_case(s))));
    let at = |year: u32, month: u32, day: u32| {
        let year = i64::from(year);
        let fits =
            (1000..3000).contains(&year) && (1..=12).contains(&month) && day >= 1 && day <= month_length(year, month);
        fits.then(|| days(year, month, day))
    };
    let with_day = |day: Option<i64>| Some((day?, true));
    let month_alone = |day: Option<i64>| Some((day?, false));
    use Token::{Number, Word};
    match tokens[..] {
        [Number(v, 8)] => with_day(at(v / 10_000, v / 100 % 100, v % 100)),
        [Number(year, 4), Number(month, 1 | 2)] if matches!(between, '-' | '/') => month_alone(at(year, month, 1)),
        [Number(month, 1 | 2), Number(year, 4)] if matches!(between, '-' | '/') => month_alone(at(year, month, 1)),
        [Number(year, 4), Number(month, 1 | 2), Number(day, 1 | 2)] => with_day(at(year, month, day)),
        [Number(a, 1 | 2), Number(b, 1 | 2), Number(year, digits @ (2 | 4))] if between != ',' => {
            let day_first = between == '.' || order == Order::DayFirst;
            let (day, month) = if day_first { (a, b) } else { (b, a) };
            with_day(at(full_year(year, digits), month, day))
        }
        [Word(month), Number(year, 4)] | [Number(year, 4), Word(month)] if month_of(month).is_some() => {
            month_alone(at(year, month_of(month)?, 1))
        }
        [Word(month), Number(day, 1 | 2), Number(year, 4)] if month_of(month).is_some() => {
            with_day(at(year, month_of(month)?, day))
        }
        [Number(day, 1 | 2), Word(month), Number(year, digits @ (2 | 4))] => {
            with_day(at(full_year(year, digits), month_of(month)?, day))
        }
        [Number(year, 4), Word(month), Number(day, 1 | 2)] if month_of(month).is_some() => {
            with_day(at(year, month_of(month)?, day))
        }
        [Number(year, 4), Word(q), Number(quarter @ 1..=4, 1)]
        | [Word(q), Number(quarter @ 1..=4, 1), Number(year, 4)]
            if q.eq_ignore_ascii_case("q") =>
        {
            month_alone(at(year, 3 * quarter - 2, 1))
        }
        _ => None,
    }
}

/// Two digits as POSIX reads them: 69 to 99 are of the twentieth century.
fn full_year(year: u32, digits: usize) -> u32 {
    match digits {
        2 if year < 69 => 2000 + year,
        2 => 1900 + year,
        _ => year,
    }
}

fn month_of(word: &str) -> Option<u32> {
    const NAMES: [&[&str]; 12] = [
        &["january", "januar", "jänner"],
        &["february", "februar"],
        &["march", "märz", "maerz", "mrz"],
        &["april"],
        &["may", "mai"],
        &["june", "juni"],
        &["july", "juli"],
        &["august"],
        &["september", "sept"],
        &["october", "oktober"],
        &["november"],
        &["december", "dezember"],
    ];
    let word = word.to_lowercase();
    let is = |name: &&str| *name == word || (word.chars().count() == 3 && name.starts_with(&word));
    NAMES.iter().position(|names| names.iter().any(is)).map(|i| i as u32 + 1)
}

fn is_weekday(word: &str) -> bool {
    const NAMES: [&str; 14] = [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "montag",
        "dienstag",
        "mittwoch",
        "donnerstag",
        "freitag",
        "samstag",
        "sonntag",
    ];
    let word = word.to_lowercase();
    NAMES.iter().any(|name| *name == word || (matches!(word.len(), 2..=4) && name.starts_with(&word)))
}

/// What texts that are dates have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub order: Order,
    /// Both orders read all of them, and differently.
    pub is_ambiguous: bool,
}

/// How many texts are dates, and how many there are.
fn share<'t>(texts: impl Iterator<Item = &'t str>, order: Order) -> (usize, usize) {
    texts.fold((0, 0), |(read, all), text| (read + usize::from(parse(text, order).is_some()), all + 1))
}

/// Whether at least 19 of 20 texts are times of day without a date.
pub(crate) fn are_clocks<'t>(texts: impl Iterator<Item = &'t str>) -> bool {
    let (read, all) = share(texts, Order::Clock);
    all > 0 && read * 20 >= all * 19
}

/// The order in which at least 19 of 20 texts are dates; `None` where there is none.
pub(crate) fn detect<'t>(texts: impl Iterator<Item = &'t str> + Clone) -> Option<Found> {
    let is_most = |(read, all): (usize, usize)| all > 0 && read * 20 >= all * 19;
    // Most columns of text are told by their first few.
    let some = |order| share(texts.clone().take(20), order);
    if ![Order::MonthFirst, Order::DayFirst].into_iter().any(|order| some(order).0 * 2 >= some(order).1.max(1)) {
        return None;
    }
    let (month, day) = (share(texts.clone(), Order::MonthFirst), share(texts.clone(), Order::DayFirst));
    let differs = || texts.clone().any(|t| parse(t, Order::MonthFirst) != parse(t, Order::DayFirst));
    let slash = || texts.clone().any(|t| t.contains('/'));
    let order = match month.0.cmp(&day.0) {
        std::cmp::Ordering::Less => Order::DayFirst,
        std::cmp::Ordering::Greater => Order::MonthFirst,
        std::cmp::Ordering::Equal if slash() => Order::MonthFirst,
        std::cmp::Ordering::Equal => Order::DayFirst,
    };
    let found = Found { order, is_ambiguous: month.0 == day.0 && differs() };
    is_most(if order == Order::DayFirst { day } else { month }).then_some(found)
}

#[cfg(test)]
#[path = "calendar_tests.rs"]
mod tests;
