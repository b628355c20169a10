//! Amounts as requests write them: the digits are exact, whatever the dialect says of their form.

use std::io::Write as _;

use crate::dialect::Dialect;
use crate::domain::{Money, ServiceCode};

const TAKEN: &str = "a Vec takes every byte";

/// Writes an amount: a number with the decimals of its currency, or as the dialect says.
pub(super) fn write_amount(
    out: &mut Vec<u8>,
    money: Money,
    service: &ServiceCode,
    dialect: &Dialect,
) {
    let quote: &[u8] = if dialect.amount_as_text { b"\"" } else { b"" };
    out.extend_from_slice(quote);
    match dialect.decimals.get(service.as_str()) {
        None => write!(out, "{money}").expect(TAKEN),
        Some(decimals) => out.extend_from_slice(with_decimals(money, *decimals).as_bytes()),
    }
    out.extend_from_slice(quote);
}

/// Writes an amount with so many decimals; with more where fewer would change it, as no digit of money is ever left out.
fn with_decimals(money: Money, decimals: u8) -> String {
    let text = money.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let wanted = usize::from(decimals);
    let kept = fraction.trim_end_matches('0').len().max(wanted);
    let mut fraction: String = fraction.chars().take(kept).collect();
    while fraction.len() < wanted {
        fraction.push('0');
    }
    match fraction.as_str() {
        "" => whole.to_owned(),
        fraction => format!("{whole}.{fraction}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Amount, Currency};

    #[test]
    fn an_amount_has_the_decimals_of_the_dialect_and_never_another_value() {
        for (code, amount, decimals, expected) in [
            ("KES", "1500", 0, "1500"),
            ("KES", "1500.00", 2, "1500.00"),
            ("KES", "1500.50", 2, "1500.50"),
            ("KES", "1500.50", 1, "1500.5"),
            ("KES", "1500", 4, "1500.0000"),
            ("UGX", "1500", 2, "1500.00"),
            ("UGX", "1500", 0, "1500"),
            ("BHD", "1.234", 3, "1.234"),
            // The load refuses them; should one come all the same, it keeps its value.
            ("KES", "1500.55", 0, "1500.55"),
            ("KES", "1500.50", 0, "1500.5"),
            ("BHD", "1.234", 1, "1.234"),
        ] {
            let currency = Currency::from_code(code).unwrap();
            let amount = Amount::parse(amount, currency).unwrap();
            let money = Money { amount, currency };
            assert_eq!(
                with_decimals(money, decimals),
                expected,
                "{money} {decimals}"
            );
        }
    }
}
