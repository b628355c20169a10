//! Words that are not about us: too many in a row, and nothing more is posted.

use super::{Core, Ending};
use crate::journal::{Heard, Moved};
use crate::ledger::Streak;
use crate::lifecycle::State;

/// What was heard in a row, over all payments.
#[derive(Debug, Default)]
pub(super) struct Words {
    other: Streak,
    taken: Streak,
}

impl Core {
    /// Ends the run when one reply after another names what is not ours: most likely it is we who read them wrongly. So it does
    /// when the gateway has one identifier after another before we post it: most likely an earlier journal has.
    pub(super) fn note_words(&mut self, moved: &Moved) {
        match moved.heard {
            Heard::Nothing => {}
            Heard::Taken => {
                self.words.other.ends();
                if let Some(first) = self.words.taken.goes_on(moved.seq) {
                    self.end(Ending::Taken(first));
                }
            }
            Heard::Ours => {
                self.words.other.ends();
                // Of the replies to posts alone: what is taken is asked about meanwhile.
                if moved.from == State::Posting {
                    self.words.taken.ends();
                }
            }
            Heard::Other => {
                if let Some(first) = self.words.other.goes_on(moved.seq) {
                    self.end(Ending::Misread(first));
                }
            }
        }
    }
}
