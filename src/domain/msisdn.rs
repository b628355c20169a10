//! Phone numbers, validated against the numbering plan of their country.

use std::fmt;
use std::sync::OnceLock;

use rlibphonenumber::{PHONE_NUMBER_UTIL, PhoneNumber, PhoneNumberFormat, PhoneNumberType};

use super::country::Country;

/// Countries that have their calling code to themselves, and where nothing but a zero is dialled in front of a national
/// number: digits after the calling code that begin with another digit are the national number as they stand.
// A test holds this against the metadata, digit by digit.
const PLAIN: &str = "AD AE AF AL AM AO AT AW AZ BA BD BE BF BG BH BI BJ BN BT BW BZ CD CF CG CH CI CK CL CM CU CV CY CZ \
    DE DJ DK DZ EC EE EG ER ES ET FJ FK FM FR GE GF GH GI GL GM GN GQ GR GT GW GY HK HN HR HT ID IE IL IN IO IQ IR IS JO KE KG KH \
    KI KM KP KW LA LB LK LR LS LV LY MC MD ME MK ML MM MN MO MQ MR MT MU MV MW MX MY MZ NA NC NE NG NI NL NP NR NU NZ OM PA PE PF \
    PG PH PK PL PM PS PT PW PY QA RO RS RW SA SB SC SD SE SG SI SK SL SN SO SR SS ST SV SY SZ TD TG TH TJ TK TL TN TO TR TV TW TZ \
    UA UG UY UZ VE VN VU WF WS YE ZA ZM ZW";

/// What tells a number of a [`PLAIN`] country without taking it apart.
struct Plain {
    code: i32,
    /// The calling code as it is written.
    prefix: String,
}

impl Plain {
    fn of(country: Country) -> Option<&'static Self> {
        static KNOWN: [OnceLock<Option<Plain>>; 26 * 26] = [const { OnceLock::new() }; 26 * 26];
        let [first, second] = country
            .letters()
            .map(|letter| usize::from(letter.wrapping_sub(b'A')));
        KNOWN
            .get(first * 26 + second)?
            .get_or_init(|| {
                if !PLAIN.split(' ').any(|code| code == country.code()) {
                    return None;
                }
                let code = PHONE_NUMBER_UTIL.get_country_code_for_region(country.region()?)?;
                Some(Self {
                    code,
                    prefix: code.to_string(),
                })
            })
            .as_ref()
    }

    /// Returns what kind of line these digits are when they are a valid number as they stand; `None` says nothing yet.
    fn line(&self, digits: &str) -> Option<Line> {
        let national = match digits.strip_prefix(&self.prefix) {
            Some(national) if !national.starts_with('0') => national,
            _ => return None,
        };
        let number = PhoneNumber {
            country_code: self.code,
            national_number: national.parse().ok()?,
            ..PhoneNumber::default()
        };
        // To tell whether it is valid, the kind is looked for anyway.
        Line::of(PHONE_NUMBER_UTIL.get_number_type(&number))
    }
}

/// What a number leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// A mobile phone, or what the numbering plan does not tell from one.
    Mobile,
    /// A landline, or a service number: it has no wallet and takes no airtime.
    Landline,
}

impl Line {
    fn of(kind: PhoneNumberType) -> Option<Self> {
        match kind {
            PhoneNumberType::Unknown => None,
            PhoneNumberType::FixedLine
            | PhoneNumberType::TollFree
            | PhoneNumberType::PremiumRate
            | PhoneNumberType::SharedCost
            | PhoneNumberType::UAN
            | PhoneNumberType::VoiceMail => Some(Self::Landline),
            PhoneNumberType::Mobile
            | PhoneNumberType::FixedLineOrMobile
            | PhoneNumberType::VoIP
            | PhoneNumberType::PersonalNumber
            | PhoneNumberType::Pager => Some(Self::Mobile),
        }
    }
}

/// Why a text is not a phone number of its country.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MsisdnError {
    /// The field is empty.
    #[error("is empty")]
    Empty,
    /// Characters that no phone number has.
    #[error("expected a phone number, digits only")]
    NotANumber,
    /// The wrong number of digits.
    #[error("expected {expected} digits for {country}, found {found}")]
    Length {
        /// Digits of a mobile number of the country, country code included.
        expected: usize,
        /// The country's letters.
        country: Country,
        /// Digits found.
        found: usize,
    },
    /// The digits of a national number whose leading zero is gone.
    #[error(
        "a national number that lost its leading zero, as spreadsheets do; write {international}"
    )]
    LostLeadingZero {
        /// The number as it was probably meant.
        international: Msisdn,
    },
    /// A valid number of another country.
    #[error("is a number of {found}, the row says {country}")]
    OtherCountry {
        /// The country the number belongs to.
        found: Country,
        /// The country of the row.
        country: Country,
    },
    /// The right length, but the numbering plan has no such number.
    #[error("no such number in the numbering plan of {country}")]
    Unassigned {
        /// The country of the row.
        country: Country,
    },
}

/// A phone number: digits only, country code first (section 2.3, `2547xxxxxxxx`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Msisdn {
    // E.164 allows 15 digits.
    digits: [u8; 15],
    length: u8,
}

impl Msisdn {
    /// Validates a number of `country` and brings it into the wire's form.
    ///
    /// `+254 712 345 678`, `254712345678` and `0712345678` are the same number.
    ///
    /// # Errors
    /// Names the cause, the loss of a leading zero in a spreadsheet among them.
    pub fn parse(text: &str, country: Country) -> Result<Self, MsisdnError> {
        Self::parse_line(text, country).map(|(msisdn, _)| msisdn)
    }

    /// The same, and what the number leads to.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_line(text: &str, country: Country) -> Result<(Self, Line), MsisdnError> {
        // Nearly every number of a file is written as the wire has it, and need not be taken apart to be valid.
        if let (Some(msisdn), Some(plain)) = (Self::from_digits(text), Plain::of(country))
            && let Some(line) = plain.line(text)
        {
            return Ok((msisdn, line));
        }
        Self::parse_any(text, country)
    }

    /// The same, of a number that has lost the zero in front of its national number, as spreadsheets do; `None` unless it is such
    /// a number for certain.
    ///
    /// It is valid with the zero in this country, and no number of any country as it stands.
    #[must_use]
    pub fn restore_line(text: &str, country: Country) -> Option<(Self, Line)> {
        let Err(MsisdnError::LostLeadingZero { international }) = Self::parse_any(text, country)
        else {
            return None;
        };
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        let abroad = PHONE_NUMBER_UTIL.parse(format!("+{digits}"), country.region());
        let is_abroad = abroad.is_ok_and(|number| PHONE_NUMBER_UTIL.is_valid_number(&number));
        if is_abroad {
            return None;
        }
        Self::parse_line(international.as_str(), country).ok()
    }

    /// The same, however the number is written.
    fn parse_any(text: &str, country: Country) -> Result<(Self, Line), MsisdnError> {
        if text.is_empty() {
            return Err(MsisdnError::Empty);
        }
        let allowed =
            |c: char| c.is_ascii_digit() || matches!(c, '+' | ' ' | '-' | '(' | ')' | '.');
        if text.len() > 32 || !text.chars().all(allowed) || text.rfind('+').is_some_and(|at| at > 0)
        {
            return Err(MsisdnError::NotANumber);
        }
        let (Some(region), Some(calling_code)) = (
            country.region(),
            country
                .region()
                .and_then(|r| PHONE_NUMBER_UTIL.get_country_code_for_region(r)),
        ) else {
            return Err(MsisdnError::Unassigned { country });
        };
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        let prefix = calling_code.to_string();
        let international = text.starts_with('+') || digits.starts_with(&prefix);
        let candidate = if international {
            format!("+{digits}")
        } else {
            digits.clone()
        };
        let wrong_length = || MsisdnError::Length {
            expected: country.example_length().unwrap_or(12),
            country,
            found: digits.len(),
        };

        let number = PHONE_NUMBER_UTIL
            .parse(&candidate, Some(region))
            .map_err(|_| wrong_length())?;
        // The metadata crate compares the pattern only, so that the country code is compared here.
        let valid = number.country_code == calling_code
            && PHONE_NUMBER_UTIL.is_valid_number_for_region(&number, region);
        if !valid {
            let other = PHONE_NUMBER_UTIL
                .get_region_for_number(&number)
                .and_then(|other| Country::from_code(other.as_region_str().as_str()));
            let full_length = country.example_length() == Some(digits.len());
            return Err(match other {
                Some(found) if found != country => MsisdnError::OtherCountry { found, country },
                _ if full_length
                    || text.starts_with('0') && PHONE_NUMBER_UTIL.is_possible_number(&number) =>
                {
                    MsisdnError::Unassigned { country }
                }
                _ => wrong_length(),
            });
        }
        let formatted = PHONE_NUMBER_UTIL.format(&number, PhoneNumberFormat::E164);
        let msisdn = Self::from_digits(&formatted[1..]).ok_or_else(wrong_length)?;
        // Only some countries dial a zero first; there, nine bare digits are a spreadsheet's doing.
        let dials_zero = || {
            PHONE_NUMBER_UTIL
                .format(&number, PhoneNumberFormat::National)
                .starts_with('0')
        };
        if !international && !digits.starts_with('0') && dials_zero() {
            return Err(MsisdnError::LostLeadingZero {
                international: msisdn,
            });
        }
        let line = Line::of(PHONE_NUMBER_UTIL.get_number_type(&number));
        Ok((msisdn, line.unwrap_or(Line::Mobile)))
    }

    /// Wraps digits that were validated before, as the journal keeps them; `None` unless 1 to 15 digits.
    #[must_use]
    pub fn from_digits(text: &str) -> Option<Self> {
        if !Self::is_digits(text) {
            return None;
        }
        let bytes = text.as_bytes();
        let mut digits = [0; 15];
        digits[..bytes.len()].copy_from_slice(bytes);
        Some(Self {
            digits,
            length: u8::try_from(bytes.len()).ok()?,
        })
    }

    /// Returns whether [`Self::from_digits`] takes the text.
    #[must_use]
    pub fn is_digits(text: &str) -> bool {
        (1..=15).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// Returns what stands in the place of a number that was forgotten: no number begins with a zero, or has this many.
    #[must_use]
    pub fn forgotten() -> Self {
        Self {
            digits: [b'0'; 15],
            length: 15,
        }
    }

    /// Returns whether the number was forgotten.
    #[must_use]
    pub fn is_forgotten(&self) -> bool {
        *self == Self::forgotten()
    }

    /// Returns the digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.digits[..usize::from(self.length)]).expect("digits are ASCII")
    }

    /// Returns the digits after the calling code of its country; `None` when it does not begin with that.
    #[must_use]
    pub fn national(&self, country: Country) -> Option<&str> {
        let digits = self.as_str();
        if let Some(plain) = Plain::of(country) {
            return digits.strip_prefix(plain.prefix.as_str());
        }
        let code = PHONE_NUMBER_UTIL.get_country_code_for_region(country.region()?)?;
        digits.strip_prefix(code.to_string().as_str())
    }

    /// Returns the number with all but its last four digits hidden, for logs.
    #[must_use]
    pub fn masked(&self) -> String {
        mask(self.as_str())
    }
}

/// Hides all but the last four characters of a number.
fn mask(text: &str) -> String {
    let hidden = text.chars().count().saturating_sub(4);
    text.chars()
        .enumerate()
        .map(|(i, c)| if i < hidden { '*' } else { c })
        .collect()
}

impl fmt::Display for Msisdn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

// Debug output ends up in logs, where numbers are masked.
impl fmt::Debug for Msisdn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.masked())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, country: &str) -> Result<String, String> {
        Msisdn::parse(text, Country::from_code(country).unwrap())
            .map(|m| m.to_string())
            .map_err(|e| e.to_string())
    }

    #[test]
    fn every_way_to_write_a_number_becomes_the_wires_form() {
        for text in [
            "254712345678",
            "+254712345678",
            "0712345678",
            "+254 712-345 678",
            "254 712 345 678",
        ] {
            assert_eq!(parse(text, "KE").as_deref(), Ok("254712345678"), "{text}");
        }
        for (text, country, expected) in [
            ("0772123456", "UG", "256772123456"),
            ("255754123456", "TZ", "255754123456"),
            ("08031234567", "NG", "2348031234567"),
            ("0241234567", "GH", "233241234567"),
            ("250788123456", "RW", "250788123456"),
        ] {
            assert_eq!(parse(text, country).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, country, part) in [
            ("", "KE", "is empty"),
            ("25471234567", "KE", "expected 12 digits for KE, found 11"),
            ("2547123456789", "KE", "expected 12 digits for KE, found 13"),
            (
                "712345678",
                "KE",
                "lost its leading zero, as spreadsheets do; write 254712345678",
            ),
            ("2.54712E+11", "KE", "expected a phone number"),
            ("25471234567x", "KE", "expected a phone number"),
            ("+256772123456", "KE", "is a number of UG, the row says KE"),
            (
                "254912345678",
                "KE",
                "no such number in the numbering plan of KE",
            ),
            ("12", "KE", "expected 12 digits for KE, found 2"),
        ] {
            let error = parse(text, country).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    /// Numbers of a country: its example with other digits at its beginning, and digits of any length.
    fn near_numbers(country: Country, random: &mut fastrand::Rng, each: &mut impl FnMut(&str)) {
        let region = country.region().unwrap();
        let code = PHONE_NUMBER_UTIL
            .get_country_code_for_region(region)
            .unwrap()
            .to_string();
        for prefix in (0..10_000).step_by(3) {
            let length = random.usize(4..=15 - code.len());
            let mut digits = format!("{code}{prefix:04}");
            while digits.len() < code.len() + length {
                digits.push(char::from(random.u8(b'0'..=b'9')));
            }
            each(&digits);
        }
        use PhoneNumberType::*;
        for kind in [
            FixedLine,
            Mobile,
            TollFree,
            PremiumRate,
            SharedCost,
            VoIP,
            PersonalNumber,
            Pager,
            UAN,
            VoiceMail,
        ] {
            let Ok(example) =
                PHONE_NUMBER_UTIL.get_example_number_for_type_and_region(region, kind)
            else {
                continue;
            };
            let example = PHONE_NUMBER_UTIL.format(&example, PhoneNumberFormat::E164);
            for _ in 0..300 {
                let mut digits = example[1..].to_owned().into_bytes();
                let at = random.usize(code.len()..digits.len());
                digits[at] = random.u8(b'0'..=b'9');
                each(std::str::from_utf8(&digits).unwrap());
            }
        }
    }

    #[test]
    fn a_number_is_judged_the_same_whether_it_is_taken_apart_or_not() {
        let mut random = fastrand::Rng::with_seed(20_261_121);
        let (mut judged, mut held) = (0, 0);
        for code in PLAIN.split(' ') {
            let country = Country::from_code(code).unwrap();
            let plain = Plain::of(country).unwrap_or_else(|| panic!("{code}"));
            let before = held;
            near_numbers(country, &mut random, &mut |digits| {
                judged += 1;
                if let Some(line) = plain.line(digits) {
                    held += 1;
                    let whole = Msisdn::parse_any(digits, country);
                    let number = Msisdn::from_digits(digits).unwrap();
                    assert_eq!(whole, Ok((number, line)), "{code}");
                }
            });
            assert!(held > before, "{code}: no number was valid");
        }
        assert!(judged > 500_000 && held > 100_000, "{held} of {judged}");
    }

    #[test]
    fn a_landline_is_told_from_a_mobile_phone_however_it_is_written() {
        for (text, country, expected) in [
            ("254712345678", "KE", Line::Mobile),
            ("0712345678", "KE", Line::Mobile),
            ("254110123456", "KE", Line::Mobile),
            ("254202012345", "KE", Line::Landline),
            ("020 2012345", "KE", Line::Landline),
            ("254800223456", "KE", Line::Landline),
            ("256772123456", "UG", Line::Mobile),
            ("256312345678", "UG", Line::Landline),
            ("255222345678", "TZ", Line::Landline),
            ("2348031234567", "NG", Line::Mobile),
            ("233302345678", "GH", Line::Landline),
            ("250788123456", "RW", Line::Mobile),
            // The plan of North America does not tell them apart.
            ("12015550123", "US", Line::Mobile),
        ] {
            let found = Msisdn::parse_line(text, Country::from_code(country).unwrap());
            assert_eq!(found.map(|(_, line)| line), Ok(expected), "{text}");
        }
    }

    #[test]
    fn debug_output_hides_the_number() {
        let number = Msisdn::from_digits("254712345678").unwrap();
        assert_eq!(format!("{number:?}"), "********5678");
    }

    #[test]
    fn a_lost_zero_is_put_back_where_nothing_else_can_be_meant() {
        for (text, country, expected) in [
            ("712345678", "KE", Some("254712345678")),
            ("712 345 678", "KE", Some("254712345678")),
            ("772123456", "UG", Some("256772123456")),
            ("8031234567", "NG", Some("2348031234567")),
            // Whole already, or of another length, or of no network.
            ("0712345678", "KE", None),
            ("254712345678", "KE", None),
            ("71234567", "KE", None),
            ("7123456789", "KE", None),
            ("912345678", "KE", None),
            ("712345678.0", "KE", None),
            ("7.12346E+08", "KE", None),
            ("", "KE", None),
            // A national number has no zero in front there.
            ("612345678", "ES", None),
        ] {
            let country = Country::from_code(country).unwrap();
            let found = Msisdn::restore_line(text, country);
            let found = found.map(|(number, _)| number.as_str().to_owned());
            assert_eq!(found.as_deref(), expected, "{text} {country}");
        }
        let kenya = Country::from_code("KE").unwrap();
        let line = Msisdn::restore_line("202345678", kenya).map(|(_, line)| line);
        assert_eq!(
            line,
            Some(Line::Landline),
            "the kind of line is told as ever"
        );
    }
}
