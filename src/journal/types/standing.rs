//! What the counts of a batch say together.

use crate::domain::Tally;
use crate::journal::{Standing, StandingRow};
use crate::ledger::{Became, HeldFor};
use crate::lifecycle::State;

impl Standing {
    /// Returns count and amounts of one state.
    #[must_use]
    pub fn of(&self, state: State) -> Tally {
        let mut sum = Tally::default();
        for row in self.rows.iter().filter(|row| row.state == state) {
            sum.add_all(&row.tally);
        }
        sum
    }

    /// Returns count and amounts of all rows, those set aside included.
    #[must_use]
    pub fn total(&self) -> Tally {
        let mut sum = self.rejected.clone();
        sum.add_all(&self.withdrawn);
        sum.count += self.unpriced;
        for row in &self.rows {
            sum.add_all(&row.tally);
        }
        sum
    }

    /// Returns what is not sent, and waits for the float of its service.
    #[must_use]
    pub fn waiting_for_float(&self) -> Tally {
        let is_held = |row: &&StandingRow| {
            let mut lanes = self.held.iter();
            row.state == State::Ready
                && lanes.any(|lane| lane.held_for == HeldFor::Float && lane.service == row.service)
        };
        let mut sum = Tally::default();
        self.rows
            .iter()
            .filter(is_held)
            .for_each(|row| sum.add_all(&row.tally));
        sum
    }

    /// Returns whether every row has reached its end.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        let ended = |row: &StandingRow| row.state.is_finished() || row.tally.count == 0;
        self.unpriced == 0 && self.rows.iter().all(ended)
    }

    /// Returns what became of its payments.
    #[must_use]
    pub fn became(&self) -> Became {
        let mut became = Became {
            waiting: self.unpriced,
            ..Became::default()
        };
        for row in &self.rows {
            let sum = match row.state {
                State::Paid => &mut became.paid,
                State::Ready => &mut became.waiting,
                State::Failed => &mut became.failed,
                State::Cancelled => &mut became.cancelled,
                State::Posting
                | State::InDoubt
                | State::Acknowledged
                | State::Delivered
                | State::Conflict => &mut became.left,
            };
            *sum += row.tally.count;
        }
        became
    }
}
