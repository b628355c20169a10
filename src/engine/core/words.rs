//! Words that are not about us: too many in a row, and nothing more is posted.

use super::ending::Ending;
use crate::journal::{Heard, Moved};
use crate::ledger::Streak;
use crate::lifecycle::State;

/// What was heard in a row, over all payments.
#[derive(Debug, Default)]
pub(super) struct Words {
    other: Streak,
    taken: Streak,
}

impl Words {
    /// Returns how the run ends when one reply after another names what is not ours: most likely it is we who read them wrongly.
    /// So it does when the gateway has one identifier after another before we post it: most likely an earlier journal has.
    pub(super) fn note(&mut self, moved: &Moved) -> Option<Ending> {
        match moved.heard {
            Heard::Nothing => None,
            Heard::Taken => {
                self.other.ends();
                self.taken.goes_on(moved.seq).map(Ending::Taken)
            }
            Heard::Ours => {
                self.other.ends();
                // Of the replies to posts alone: what is taken is asked about meanwhile.
                if moved.from == State::Posting {
                    self.taken.ends();
                }
                None
            }
            Heard::Other => self.other.goes_on(moved.seq).map(Ending::Misread),
        }
    }
}
