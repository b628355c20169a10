//! Room for the callbacks of one payment: whoever may call is genuine, and may still call without end.

/// Bodies that cannot be read, or are not about this payment, that are kept.
const JUNK_MAX: u32 = 8;
/// Words about it that are kept, whether they change anything or not; an honest gateway sends a handful.
const WORDS_MAX: u32 = 56;

/// What is kept of a payment's callbacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Words about it.
    pub words: u32,
    /// Everything else that came to its address.
    pub junk: u32,
    /// Words of the same class and code as the new ones are among them.
    pub same: bool,
}

/// What a callback brings that was not kept yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brings {
    /// Nothing that counts.
    Junk,
    /// The first doubt whether an ended payment was not paid, since the gateway said so last. Whatever was kept before that
    /// takes no room of it, and is not the original of which it is a repeat.
    Doubt,
    /// Words about this payment.
    Words {
        /// They name an end.
        is_final: bool,
        /// The payment stands elsewhere after them.
        moves: bool,
    },
}

/// Returns whether a callback is kept. One that is not changes nothing, and is acknowledged all the same.
///
/// A body of one kind takes no room of another. Words that move a payment always have room: a payment moves a few times in
/// its life. So have the first ones of each final code, of which there are as many as the interface has, and a doubt, of which
/// there is one for each "failed" that the gateway was asked for.
#[must_use]
pub fn has_room(kept: Kept, brings: Brings) -> bool {
    let has_room = match brings {
        Brings::Junk => kept.junk < JUNK_MAX,
        Brings::Doubt => true,
        Brings::Words { is_final, moves } => {
            kept.words < WORDS_MAX || moves || is_final && !kept.same
        }
    };
    planted!(ledger::has_room(has_room, kept, JUNK_MAX + WORDS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn junk_has_little_room_and_words_that_count_always_have_some() {
        let words = |is_final, moves| Brings::Words { is_final, moves };
        for (words_kept, junk, same, brings, expected) in [
            (0, 0, false, Brings::Junk, true),
            (0, 7, false, Brings::Junk, true),
            (0, 8, false, Brings::Junk, false),
            (99, 7, true, Brings::Junk, true),
            (99, 8, true, Brings::Doubt, true),
            // However much junk there is.
            (0, 8, false, words(true, true), true),
            (0, 8, false, words(false, false), true),
            (55, 8, true, words(false, false), true),
            (56, 0, true, words(false, false), false),
            (56, 0, false, words(false, false), false),
            // However many words there are.
            (56, 8, true, words(false, true), true),
            (56, 8, true, words(true, true), true),
            (999, 8, false, words(true, false), true),
            (999, 8, true, words(true, false), false),
        ] {
            let kept = Kept {
                words: words_kept,
                junk,
                same,
            };
            assert_eq!(has_room(kept, brings), expected, "{kept:?} {brings:?}");
        }
    }
}
