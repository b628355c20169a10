//! One cell as text, and what about it may differ from what a person saw.

use calamine::{DataRef, ExcelDateTime};

use super::super::oddity::Oddity;

/// A cell that is not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::intake) struct Cell {
    /// The column, 0-based.
    pub column: usize,
    pub text: String,
    pub oddity: Option<Oddity>,
}

/// From here on a spreadsheet keeps the first fifteen digits of a whole number.
const EXACT_BELOW: f64 = 1e15;

/// Reads a value; `None` where there is nothing.
pub(super) fn read(value: &DataRef<'_>) -> Option<(String, Option<Oddity>)> {
    Some(match value {
        DataRef::Empty => return None,
        DataRef::String(text) => (text.clone(), None),
        DataRef::SharedString(text) => ((*text).to_owned(), None),
        DataRef::Int(number) => (number.to_string(), None),
        DataRef::Float(number) => {
            let lost = (number.abs() >= EXACT_BELOW).then_some(Oddity::LostDigits);
            (decimal(*number), lost)
        }
        DataRef::Bool(true) => ("TRUE".to_owned(), None),
        DataRef::Bool(false) => ("FALSE".to_owned(), None),
        DataRef::DateTime(moment) => (date(moment), Some(Oddity::Date)),
        DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => {
            (text.clone(), Some(Oddity::Date))
        }
        DataRef::Error(error) => (error.to_string(), None),
    })
}

/// Writes a number with the fifteen digits that a spreadsheet shows at most: what is beyond them comes from counting in halves.
fn decimal(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{number:.14e}");
    let parts = scientific.split_once('e');
    let Some((mantissa, Ok(exponent))) = parts.map(|(m, e)| (m, e.parse::<i32>())) else {
        // Infinite, or not a number.
        return scientific;
    };
    if !(-30..=30).contains(&exponent) {
        return scientific;
    }
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let point = usize::try_from(exponent + 1).unwrap_or(0);
    let (whole, fraction) = match point {
        0 => {
            let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
            ("0".to_owned(), format!("{}{digits}", "0".repeat(zeros)))
        }
        _ if point >= digits.len() => {
            let zeros = "0".repeat(point - digits.len());
            (format!("{digits}{zeros}"), String::new())
        }
        _ => (digits[..point].to_owned(), digits[point..].to_owned()),
    };
    match fraction.trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    }
}

/// Writes a date, with its time where it has one; a time alone where it has no date.
fn date(moment: &ExcelDateTime) -> String {
    let (year, month, day, hour, minute, second, milli) = moment.to_ymd_hms_milli();
    // Serial numbers are rounded to milliseconds; nobody enters those.
    let time = format!("{hour:02}:{minute:02}:{second:02}");
    let is_midnight = (hour, minute, second, milli) == (0, 0, 0, 0);
    match moment.as_f64() {
        days if days.abs() < 1.0 || moment.is_duration() => time,
        _ if is_midnight => format!("{year:04}-{month:02}-{day:02}"),
        _ => format!("{year:04}-{month:02}-{day:02} {time}"),
    }
}

/// Names a column as spreadsheets do: A, B, … Z, AA.
pub(in crate::intake) fn letters(column: usize) -> String {
    let mut name = Vec::new();
    let mut rest = column + 1;
    while rest > 0 {
        rest -= 1;
        name.push(b'A' + u8::try_from(rest % 26).unwrap_or(0));
        rest /= 26;
    }
    name.reverse();
    String::from_utf8(name).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_what_a_spreadsheet_shows_and_never_rounded_below_fifteen_digits() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (254_712_345_678.0, "254712345678"),
            (1500.0, "1500"),
            (1500.5, "1500.5"),
            (0.1 + 0.2, "0.3"),
            (1_050.149_999_999_999_9, "1050.15"),
            (0.05, "0.05"),
            (0.000_12, "0.00012"),
            (-12.25, "-12.25"),
            (999_999_999_999_999.0, "999999999999999"),
            (1e15, "1000000000000000"),
            (12_345_678_901_234_567.0, "12345678901234600"),
            (123_456_789.012_345, "123456789.012345"),
            (1e31, "1.00000000000000e31"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(decimal(number), text, "{number}");
        }
        let odd = |number| read(&DataRef::Float(number)).unwrap().1;
        assert_eq!(odd(999_999_999_999_999.0), None);
        assert_eq!(odd(1e15), Some(Oddity::LostDigits));
    }

    #[test]
    fn columns_have_letters() {
        for (column, name) in [
            (0, "A"),
            (25, "Z"),
            (26, "AA"),
            (51, "AZ"),
            (52, "BA"),
            (701, "ZZ"),
            (702, "AAA"),
            (16_383, "XFD"),
        ] {
            assert_eq!(letters(column), name);
        }
    }

    #[test]
    fn what_is_no_number_is_text_as_it_stands() {
        for (value, text, oddity) in [
            (DataRef::String(" 0712 ".into()), " 0712 ", None),
            (DataRef::SharedString("00123"), "00123", None),
            (DataRef::Bool(true), "TRUE", None),
            (DataRef::Error(calamine::CellErrorType::NA), "#N/A", None),
            (
                DataRef::DateTimeIso("2026-03-01".into()),
                "2026-03-01",
                Some(Oddity::Date),
            ),
        ] {
            assert_eq!(read(&value), Some((text.to_owned(), oddity)));
        }
        assert_eq!(read(&DataRef::Empty), None);
        let moment = |days: f64| {
            let moment = ExcelDateTime::new(days, calamine::ExcelDateTimeType::DateTime, false);
            read(&DataRef::DateTime(moment)).unwrap().0
        };
        assert_eq!(moment(46_082.0), "2026-03-01");
        assert_eq!(moment(46_082.5), "2026-03-01 12:00:00");
        assert_eq!(moment(0.25), "06:00:00");
    }
}
