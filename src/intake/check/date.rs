//! When the payment was received, where the row says so (`datePaymentReceived`, section 2.3).

use jiff::civil::{Date, DateTime};

use super::super::columns::{ColumnMap, Field};
use super::super::record::Record;
use super::findings::Findings;
use crate::domain::DATE_RECEIVED;

const EXPECTED: &str = "expected a day such as 2026-11-28, or a time such as 2026-11-28 08:00:00 in the profile's time zone";

/// Returns the member that carries it, beside those of `extraData`.
pub(super) fn check(
    layout: &ColumnMap,
    record: &Record,
    found: &mut Findings,
) -> Option<(String, String)> {
    let cell = layout.cell(record, Field::DatePaymentReceived);
    if cell.is_empty() {
        return None;
    }
    match on_the_wire(cell) {
        Some(text) => Some((DATE_RECEIVED.to_owned(), text)),
        None => {
            found.cell(Field::DatePaymentReceived, EXPECTED, cell);
            None
        }
    }
}

/// Writes a day, or a time of a day, as `yyyy-mm-dd hh:mm:ss`. The order of day and month is taken in one way only.
fn on_the_wire(cell: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b':' | b' ' | b'T');
    if !cell.bytes().all(is_plain) {
        return None;
    }
    let instant = match cell.len() {
        10 => Date::strptime("%Y-%m-%d", cell).ok()?.at(0, 0, 0, 0),
        19 => DateTime::strptime("%Y-%m-%d %H:%M:%S", cell.replace('T', " ")).ok()?,
        _ => return None,
    };
    // A payment of another century is a typing error, and the wire has no leap second.
    if !(2000..2100).contains(&instant.year()) || cell.ends_with(":60") {
        return None;
    }
    Some(instant.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

#[cfg(test)]
mod tests {
    use super::on_the_wire;

    #[test]
    fn a_date_is_read_in_one_way_only() {
        for (cell, expected) in [
            ("2026-11-28", Some("2026-11-28 00:00:00")),
            ("2026-11-28 08:05:09", Some("2026-11-28 08:05:09")),
            ("2026-11-28T08:05:09", Some("2026-11-28 08:05:09")),
            ("2028-02-29", Some("2028-02-29 00:00:00")),
            ("2026-02-29", None),
            ("0001-01-01", None),
            ("9999-12-31", None),
            ("2026-11-28 23:59:60", None),
            ("2026-11-28 24:00:00", None),
            ("28/11/2026", None),
            ("28-11-2026", None),
            ("2026-11-28 8:05:09", None),
            ("2026-11-28 08:05", None),
            ("2026-11-28T08:05:09Z", None),
            ("46354", None),
            ("2026-1-280", None),
            ("tomorrow", None),
        ] {
            assert_eq!(on_the_wire(cell).as_deref(), expected, "{cell}");
        }
    }
}
