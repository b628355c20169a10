//! Until when a certificate is good: the one date of it that a person has to act upon.

use crate::domain::Timestamp;

const SEQUENCE: u8 = 0x30;
/// The version, which old certificates leave out.
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// One element: what it is, what it holds, and what stands behind it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let length = bytes
                .iter()
                .fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
            (length, rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// Returns the last instant at which a certificate is good; `None` where this is none.
pub(super) fn not_after(der: &[u8]) -> Option<Timestamp> {
    let (_, certificate, _) = element(der).filter(|(tag, ..)| *tag == SEQUENCE)?;
    let (_, mut rest, _) = element(certificate).filter(|(tag, ..)| *tag == SEQUENCE)?;
    if let Some((VERSION, _, behind)) = element(rest) {
        rest = behind;
    }
    // Serial number, algorithm, issuer.
    for _ in 0..3 {
        (_, _, rest) = element(rest)?;
    }
    let (_, validity, _) = element(rest).filter(|(tag, ..)| *tag == SEQUENCE)?;
    let (_, _, behind) = element(validity)?;
    let (tag, text, _) = element(behind)?;
    instant(tag, std::str::from_utf8(text).ok()?)
}

fn instant(tag: u8, text: &str) -> Option<Timestamp> {
    let digits = text.strip_suffix('Z')?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let text = match (tag, digits.len(), plain) {
        // Two digits of the year: from 50 on they are those of the last century.
        (UTC_TIME, 12, true) if digits < "50" => format!("20{digits}"),
        (UTC_TIME, 12, true) => format!("19{digits}"),
        (GENERALIZED_TIME, 14, true) => digits.to_owned(),
        _ => return None,
    };
    let part = |at: usize, length: usize| &text[at..at + length];
    Timestamp::parse(&format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0, 4),
        part(4, 2),
        part(6, 2),
        part(8, 2),
        part(10, 2),
        part(12, 2)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_day_is_that_of_the_certificate() {
        for (year, expected) in [(2031, "2031-02-03T00:00:00"), (2075, "2075-02-03T00:00:00")] {
            let mut parameters =
                rcgen::CertificateParams::new(vec!["gateway.example".to_owned()]).unwrap();
            parameters.not_after = rcgen::date_time_ymd(year, 2, 3);
            let key = rcgen::KeyPair::generate().unwrap();
            let der = parameters.self_signed(&key).unwrap();
            let found = not_after(der.der()).unwrap().to_string();
            assert!(found.starts_with(expected), "{found}");
            for length in 0..der.der().len().min(200) {
                assert_eq!(not_after(&der.der()[..length]), None, "cut off at {length}");
            }
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_date() {
        for der in [
            &b""[..],
            b"\x30",
            b"\x30\x80",
            b"\x30\x84\xff\xff\xff\xff",
            b"\x30\x00",
            b"text",
        ] {
            assert_eq!(not_after(der), None);
        }
        for (tag, text) in [
            (UTC_TIME, "310203000000"),
            (UTC_TIME, "3x0203000000Z"),
            (0x0c, "310203000000Z"),
        ] {
            assert_eq!(instant(tag, text), None);
        }
    }
}
