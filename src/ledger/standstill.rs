//! A program that stood still: suspended with its machine, or stopped by a signal. Another run may have taken over meanwhile.

use std::time::Duration;

/// A program that runs notes several times a second that it does; one that has not done so for this long stood still.
pub const SILENCE_MAX: Duration = Duration::from_secs(2);

/// Returns whether something may leave on the strength of what was known before: `silence` is how long the program has not
/// been seen to run, the sleep of its machine included.
#[must_use]
pub fn may_depart(silence: Duration) -> bool {
    #[cfg(test)]
    if crate::canary::Canary::StandstillIgnored.sings() {
        return true;
    }
    silence <= SILENCE_MAX
}

/// Returns whether the journal's word that no other run has taken over still counts: so long ago it was asked.
///
/// The program may have stood still again between the question and the answer.
#[must_use]
pub fn is_fresh_word(asked_ago: Duration) -> bool {
    #[cfg(test)]
    if crate::canary::Canary::StaleWordCounts.sings() {
        return true;
    }
    asked_ago <= SILENCE_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_after_a_silence() {
        for (millis, leaves) in [
            (0, true),
            (250, true),
            (2_000, true),
            (2_001, false),
            (60_000, false),
        ] {
            let silence = Duration::from_millis(millis);
            assert_eq!(may_depart(silence), leaves, "{millis} ms");
            assert_eq!(is_fresh_word(silence), leaves, "{millis} ms");
        }
        assert!(!may_depart(Duration::MAX));
        let _awake = crate::canary::Canary::StaleWordCounts.wake();
        let silence = Duration::from_millis(2_001);
        assert!(is_fresh_word(silence), "the table finds it");
    }
}
