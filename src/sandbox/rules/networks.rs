//! Mobile networks by number, from the public numbering plans of Kenya, Uganda and Tanzania.
//!
//! A number that moved to another network is still listed under the one its range was given to.

/// One country's plan.
pub(in crate::sandbox) struct Plan {
    pub country: &'static str,
    calling_code: &'static str,
    /// The zone of the whole country.
    pub time_zone: &'static str,
    /// First digits after the calling code, with the network that has them. Longer ones go before shorter ones.
    ranges: &'static [(&'static str, &'static [&'static str])],
}

/// Every number of these countries has as many digits after its calling code.
const NATIONAL_DIGITS: usize = 9;

const PLANS: [Plan; 3] = [
    Plan {
        country: "KE",
        calling_code: "254",
        time_zone: "Africa/Nairobi",
        ranges: &[
            ("Finserve Africa", &["763", "764", "765", "766"]),
            ("Jamii Telecommunications", &["747"]),
            ("Homeland Media", &["744"]),
            (
                "Safaricom",
                &[
                    "70", "71", "72", "740", "741", "742", "743", "745", "746", "748", "757",
                    "758", "759", "768", "769", "79", "11",
                ],
            ),
            (
                "Airtel Kenya",
                &[
                    "73", "750", "751", "752", "753", "754", "755", "756", "762", "78", "10",
                ],
            ),
            ("Telkom Kenya", &["77"]),
        ],
    },
    Plan {
        country: "UG",
        calling_code: "256",
        time_zone: "Africa/Kampala",
        ranges: &[
            ("MTN Uganda", &["76", "77", "78", "79", "39"]),
            ("Airtel Uganda", &["70", "74", "75", "20"]),
            ("Uganda Telecom", &["71"]),
            ("Lycamobile Uganda", &["72"]),
        ],
    },
    Plan {
        country: "TZ",
        calling_code: "255",
        time_zone: "Africa/Dar_es_Salaam",
        ranges: &[
            ("Vodacom Tanzania", &["74", "75", "76"]),
            ("Airtel Tanzania", &["68", "69", "78"]),
            ("Yas Tanzania", &["65", "67", "71", "77"]),
            ("Halotel", &["61", "62"]),
            ("TTCL", &["73"]),
        ],
    },
];

/// Finds the plan of a country.
pub(in crate::sandbox) fn plan_of(country: &str) -> Option<&'static Plan> {
    PLANS.iter().find(|plan| plan.country == country)
}

impl Plan {
    /// Returns the network of a number that begins with the calling code; `None` when the plan has no such number.
    pub fn carrier(&self, number: &str) -> Option<&'static str> {
        let national = number.strip_prefix(self.calling_code)?;
        if national.len() != NATIONAL_DIGITS || !national.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let has = |prefixes: &&[&str]| prefixes.iter().any(|prefix| national.starts_with(prefix));
        let mut ranges = self.ranges.iter();
        ranges
            .find(|(_, prefixes)| has(prefixes))
            .map(|(name, _)| *name)
    }
}
