//! Posts that are looked at once more before they leave: repeats, and retries.

use super::state::Core;
use crate::domain::PaymentId;
use crate::journal::Clearance;

impl Core {
    /// Returns those of the next `count` payments that are looked at once more before they leave.
    #[must_use]
    pub fn repeats(&self, count: usize) -> Vec<PaymentId> {
        let next = self.claimed.iter().take(count);
        next.filter(|claim| claim.looked_at_last)
            .map(|claim| claim.seq)
            .collect()
    }

    /// Takes back the claims that must not leave; those without an outcome are recorded as unsent.
    pub fn take_back(&mut self, looked_at: &[(PaymentId, Clearance)]) {
        let mut withheld = Vec::new();
        for (seq, clearance) in looked_at {
            match clearance {
                Clearance::Leaves => {}
                Clearance::Settled => self.claimed.forget(*seq),
                Clearance::Withheld => withheld.extend(self.claimed.take_one(*seq)),
            }
        }
        self.release(withheld);
    }
}
