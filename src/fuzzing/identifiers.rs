//! Phone numbers, names and identifiers, and tokens in narrations.

use crate::domain::{
    BatchName, Country, Electricity, GatewayTransactionId, Msisdn, Originator, PayerTransactionId,
    Reference, ServiceCode,
};

const COUNTRIES: [(&str, &str); 4] = [("KE", "254"), ("UG", "256"), ("TZ", "255"), ("US", "1")];

/// What is accepted is in the one form that the wire takes, and reads back the same.
pub fn identifiers(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for (code, prefix) in COUNTRIES {
        let country = Country::from_code(code).unwrap();
        match Msisdn::parse(&text, country) {
            Ok(number) => msisdn(&text, number, country, prefix),
            Err(error) => super::assert_shown(&error.to_string(), 200),
        }
    }
    if let Some(id) = PayerTransactionId::parse(&text) {
        assert_eq!(id.as_str(), text);
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        assert!((16..=48).contains(&text.len()) && text.bytes().all(allowed));
    }
    let names = [
        (BatchName::parse(&text).map(|name| name.to_string()), 64),
        (Originator::parse(&text).map(|name| name.to_string()), 64),
        (Reference::parse(&text).map(|name| name.to_string()), 128),
        (ServiceCode::parse(&text).map(|name| name.to_string()), 64),
        (
            GatewayTransactionId::parse(&text).map(|name| name.to_string()),
            128,
        ),
    ];
    for (name, most) in names {
        match name {
            Ok(name) => {
                assert_eq!(name, text);
                assert!(!name.is_empty() && name.chars().count() <= most);
                assert!(!name.contains(char::is_control), "{name:?}");
            }
            Err(error) => super::assert_shown(&error.to_string(), 200),
        }
    }
}

fn msisdn(text: &str, number: Msisdn, country: Country, prefix: &str) {
    let digits = number.as_str();
    assert!(digits.len() <= 15 && digits.bytes().all(|byte| byte.is_ascii_digit()));
    assert!(digits.starts_with(prefix), "{text:?} became {digits}");
    // Whatever it was written with, these are its digits.
    let written: String = text.chars().filter(char::is_ascii_digit).collect();
    let national = &digits[prefix.len()..];
    assert!(written.ends_with(national), "{text:?} became {digits}");
    assert_eq!(Msisdn::parse(digits, country), Ok(number), "{text:?}");
    assert_eq!(
        Msisdn::parse(&format!("+{digits}"), country),
        Ok(number),
        "{text:?}"
    );
    assert_eq!(Msisdn::from_digits(digits), Some(number));
    assert!(!format!("{number:?}").contains(&digits[..digits.len() - 4]));
}

/// A token is twenty digits that stand in the text in this order; masked it shows four of them.
pub fn narration(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Some(read) = Electricity::read(&text) else {
        return;
    };
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    assert!(!read.tokens().is_empty());
    for token in read.tokens() {
        assert!(
            token.len() == 20 && token.bytes().all(|byte| byte.is_ascii_digit()),
            "{token}"
        );
        assert!(digits.contains(token.as_str()), "{token} of {text:?}");
        assert!(!read.masked().contains(&token[..8]) || token[..8] == token[12..]);
        assert!(!format!("{read:?}").contains(token.as_str()));
    }
    assert_eq!(read.grouped().replace('-', ""), read.token_text());
    for units in read
        .units_text()
        .split(", ")
        .filter(|units| !units.is_empty())
    {
        assert!(
            units
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.'),
            "{units:?}"
        );
    }
}
