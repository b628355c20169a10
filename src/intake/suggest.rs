//! "Did you mean": the nearest of a set of names.

/// Returns the candidate nearest to `found`, when it is near enough to have been meant.
///
/// Letter case, blanks and dashes do not count as differences.
pub(super) fn nearest<'a>(
    found: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Longer texts are no misspelt names, and the comparison takes time in proportion to the product of lengths.
    if found.len() > 64 {
        return None;
    }
    let found = plain(found);
    candidates
        .into_iter()
        .map(|candidate| {
            (
                strsim::damerau_levenshtein(&found, &plain(candidate)),
                candidate,
            )
        })
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, candidate)| *distance <= (found.len().min(candidate.len()) / 3).max(1))
        .map(|(_, candidate)| candidate)
}

fn plain(name: &str) -> String {
    name.trim()
        .chars()
        .map(|c| match c {
            ' ' | '-' | '.' => '_',
            c => c.to_ascii_lowercase(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_names_are_suggested() {
        let names = ["B2C_MPESA", "B2C_AIRTEL", "REFUND_MPESA"];
        for (found, expected) in [
            ("B2C_MPSEA", Some("B2C_MPESA")),
            ("b2c-mpesa", Some("B2C_MPESA")),
            ("B2C AIRTELL", Some("B2C_AIRTEL")),
            ("WATER", None),
            ("", None),
        ] {
            assert_eq!(nearest(found, names), expected, "{found}");
        }
        assert_eq!(nearest("x", []), None);
    }
}
