//! Countries, as far as they have a numbering plan.

use std::fmt;
use std::str::FromStr;

use rlibphonenumber::{PHONE_NUMBER_UTIL, PhoneNumberFormat, PhoneNumberType, Region};

/// An ISO 3166 country that has a telephone numbering plan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Country([u8; 2]);

/// Places that are in the standard, and have no numbers of their own.
// The phone metadata tells them too; to ask would unpack those of all countries, which only a load needs.
const WITHOUT_CALLING_CODE: [&str; 7] = ["AQ", "BV", "GS", "HM", "PN", "TF", "UM"];

impl Country {
    /// Looks up a two-letter code such as `KE`; `None` for anything else.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        let letters: [u8; 2] = code.as_bytes().try_into().ok()?;
        let country = Self(letters);
        rust_iso3166::from_alpha2(code)?;
        country.region()?;
        (!WITHOUT_CALLING_CODE.contains(&code)).then_some(country)
    }

    /// Returns the two letters.
    #[must_use]
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.0).expect("the letters were checked to be ASCII")
    }

    /// Returns the letters as bytes.
    pub(super) fn letters(self) -> [u8; 2] {
        self.0
    }

    pub(super) fn region(self) -> Option<Region> {
        Region::from_str(std::str::from_utf8(&self.0).ok()?).ok()
    }

    /// Returns how many digits a mobile number of this country has, country code included.
    pub(super) fn example_length(self) -> Option<usize> {
        let example = PHONE_NUMBER_UTIL
            .get_example_number_for_type_and_region(self.region()?, PhoneNumberType::Mobile)
            .ok()?;
        Some(
            PHONE_NUMBER_UTIL
                .format(&example, PhoneNumberFormat::E164)
                .len()
                - 1,
        )
    }
}

impl fmt::Display for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

impl fmt::Debug for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_country_that_is_taken_has_a_calling_code() {
        let letters = || 'A'..='Z';
        let codes = letters().flat_map(|a| letters().map(move |b| format!("{a}{b}")));
        let mut taken = 0;
        for code in codes {
            let has_calling_code = Region::from_str(&code)
                .ok()
                .and_then(|region| PHONE_NUMBER_UTIL.get_country_code_for_region(region))
                .is_some();
            let expected = rust_iso3166::from_alpha2(&code).is_some() && has_calling_code;
            assert_eq!(Country::from_code(&code).is_some(), expected, "{code}");
            taken += usize::from(expected);
        }
        assert!(taken > 200, "{taken}");
    }

    #[test]
    fn countries_are_looked_up() {
        assert!(Country::from_code("KE").is_some());
        for code in ["", "K", "ke", "XX", "KEN"] {
            assert!(Country::from_code(code).is_none(), "{code}");
        }
    }
}
