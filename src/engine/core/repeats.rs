//! Posts of payments whose earlier post may have arrived.

use super::Core;

impl Core {
    /// Returns those of the next `count` payments whose earlier post may have arrived.
    #[must_use]
    pub fn repeats(&self, count: usize) -> Vec<i64> {
        let next = self.claimed.iter().take(count);
        next.filter(|claim| claim.repeat)
            .map(|claim| claim.seq)
            .collect()
    }

    /// Takes back the claims among `asked` that are settled: they must not leave.
    pub fn keep_unsettled(&mut self, asked: &[i64], still: &[i64]) {
        for seq in asked.iter().filter(|seq| !still.contains(seq)) {
            self.claimed.forget(*seq);
        }
    }
}
