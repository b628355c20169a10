//! A service that fails too often is stopped.

/// How many payments of a service have ended in a batch, since a person opened it last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Paid.
    pub paid: u64,
    /// Failed.
    pub failed: u64,
}

impl Outcomes {
    /// Returns what came after `earlier`. What was paid and is in conflict since is no longer among either.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            paid: self.paid.saturating_sub(earlier.paid),
            failed: self.failed.saturating_sub(earlier.failed),
        }
    }
}

/// From which share of failures on a service is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopRule {
    /// Hundredths of a percent: a larger share stops.
    pub above: u32,
    /// So many must have ended before the share says anything.
    pub after: u64,
}

impl StopRule {
    /// Reads a share such as `5%` or `2.5%`: more than nothing, and less than everything.
    #[must_use]
    pub fn share(text: &str) -> Option<u32> {
        let number = text.strip_suffix('%')?.trim_end();
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let is_plain = |digits: &str, most: usize| {
            (1..=most).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !is_plain(whole, 3) || !is_plain(decimals, 2) {
            return None;
        }
        let hundredths: u32 = format!("{decimals:0<2}").parse().ok()?;
        let share = whole.parse::<u32>().ok()? * 100 + hundredths;
        (1..10_000).contains(&share).then_some(share)
    }

    /// Returns whether what has ended stops the service.
    #[must_use]
    pub fn stops(&self, ended: Outcomes) -> bool {
        let (failed, all) = (
            u128::from(ended.failed),
            u128::from(ended.failed) + u128::from(ended.paid),
        );
        all >= u128::from(self.after.max(1)) && failed * 10_000 > u128::from(self.above) * all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_part_of_a_hundred() {
        for (text, expected) in [
            ("5%", Some(500)),
            ("2.5%", Some(250)),
            ("0.05%", Some(5)),
            ("99.99%", Some(9_999)),
            ("5 %", Some(500)),
            ("0%", None),
            ("100%", None),
            ("0.001%", None),
            ("5", None),
            ("-5%", None),
            ("5.%", None),
            (".5%", None),
            ("", None),
            ("%", None),
        ] {
            assert_eq!(StopRule::share(text), expected, "{text}");
        }
    }

    #[test]
    fn a_larger_share_stops_once_enough_have_ended() {
        let rule = StopRule {
            above: 500,
            after: 50,
        };
        for (paid, failed, stops) in [
            (0, 0, false),
            (0, 49, false),
            (0, 50, true),
            (47, 3, true),
            // 5% of 100 is not above 5%.
            (95, 5, false),
            (94, 6, true),
            (u64::MAX, 1, false),
            (1, u64::MAX, true),
        ] {
            assert_eq!(
                rule.stops(Outcomes { paid, failed }),
                stops,
                "{paid} {failed}"
            );
        }
    }

    #[test]
    fn what_ended_before_a_person_opened_the_service_does_not_count() {
        let of = |paid, failed| Outcomes { paid, failed };
        for (now, earlier, since) in [
            (of(10, 5), of(0, 0), of(10, 5)),
            (of(10, 5), of(8, 5), of(2, 0)),
            // What had failed was retried, or taken back.
            (of(10, 3), of(8, 5), of(2, 0)),
        ] {
            assert_eq!(now.since(earlier), since);
        }
    }
}
