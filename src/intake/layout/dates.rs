//! Columns of dates that a layout leaves out: whoever wrote them may think that payments wait for them.

use super::super::names::plain;

/// What is done, or happened, on other days than that of a payment.
const OTHER_DAYS: [&str; 15] = [
    "birth",
    "dob",
    "hire",
    "join",
    "start",
    "begin",
    "employ",
    "regist",
    "creat",
    "updat",
    "verif",
    "enrol",
    "expir",
    "candidate",
    "mandate",
];

/// Returns whether a header seems to be that of the day on which a payment is to be made.
pub(super) fn is_of_payment(header: &str) -> bool {
    let name = plain(header);
    let is_date =
        name.contains("date") || ["due", "dueon", "payon", "sendon"].contains(&name.as_str());
    is_date && !OTHER_DAYS.iter().any(|other| name.contains(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_payments_are_told_from_others() {
        for (header, expected) in [
            ("Payment Date", true),
            ("PAYMENT_DATE", true),
            ("Value date", true),
            ("Date", true),
            ("Due Date", true),
            ("Send date", true),
            ("Pay on", true),
            ("Execution Date (dd/mm)", true),
            ("Date of Birth", false),
            ("DOB", false),
            ("Hire Date", false),
            ("Start date", false),
            ("Last updated", false),
            ("Candidate", false),
            ("Department", false),
            ("", false),
        ] {
            assert_eq!(is_of_payment(header), expected, "{header}");
        }
    }
}
