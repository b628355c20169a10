//! A program that stood still: suspended with its machine, or stopped by a signal. Another run may have taken over meanwhile.

use std::time::Duration;

/// A program that runs notes several times a second that it does; one that has not done so for this long stood still.
pub const SILENCE_MAX: Duration = Duration::from_secs(2);

/// Returns whether something may leave on the strength of what was known before: `silence` is how long the program has not
/// been seen to run, the sleep of its machine included.
#[must_use]
pub fn may_depart(silence: Duration) -> bool {
    planted!(ledger::may_depart(silence <= SILENCE_MAX))
}

/// Returns whether the journal's word that no other run has taken over still counts: so long ago it was asked.
///
/// The program may have stood still again between the question and the answer.
#[must_use]
pub fn is_fresh_word(asked_ago: Duration) -> bool {
    planted!(ledger::is_fresh_word(asked_ago <= SILENCE_MAX))
}

/// An answer that was heard is taken in at once, unless the program stands still.
const LIES_MAX: Duration = Duration::from_secs(1);

/// Returns whether "not found" says what is so now: it `took` so long to be heard, `lay` so long until it was taken in, and
/// no request takes longer than `longest`.
///
/// What the gateway said before the quarantine was over must not count as if it had been said afterwards.
#[must_use]
pub fn is_timely(took: Duration, lay: Duration, longest: Duration) -> bool {
    planted!(ledger::is_timely(
        took <= longest + LIES_MAX && lay <= LIES_MAX
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_before_a_standstill_is_not_said_after_it() {
        for (took, lay, timely) in [
            (0, 0, true),
            (9_000, 1_000, true),
            (9_001, 0, false),
            (100, 1_001, false),
            (80_000, 80_000, false),
        ] {
            let ms = Duration::from_millis;
            let found = is_timely(ms(took), ms(lay), ms(8_000));
            assert_eq!(found, timely, "{took} {lay}");
        }
    }

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
        let _awake = crate::seeded_bugs::SeededBug::StaleWordCounts.wake();
        let silence = Duration::from_millis(2_001);
        assert!(is_fresh_word(silence), "the table finds it");
    }
}
