//! What is in one service and one currency.

use crate::report::rows::entry::StateName;

/// How many payments, and their minor units in one currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Number of payments.
    pub count: u64,
    /// Their amounts in minor units.
    pub minor: i128,
}

impl Sum {
    fn add_all(&mut self, other: Self) {
        self.count += other.count;
        self.minor += other.minor;
    }
}

/// One service in one currency: what was loaded, and where it is now. Rejected lines belong to no lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// What was recorded when the rows were loaded.
    pub control: Sum,
    states: [Sum; StateName::ALL.len()],
}

impl Lane {
    pub(in crate::report) fn add(&mut self, state: StateName, minor: i64) {
        let sum = &mut self.states[state.index()];
        sum.count += 1;
        sum.minor += i128::from(minor);
    }

    /// Returns what is in one state.
    #[must_use]
    pub fn state(&self, state: StateName) -> Sum {
        self.states[state.index()]
    }

    /// Returns the sum over all states.
    #[must_use]
    pub fn found(&self) -> Sum {
        let mut found = Sum::default();
        for sum in self.states {
            found.add_all(sum);
        }
        found
    }

    pub(in crate::report) fn add_all(&mut self, other: &Self) {
        self.control.add_all(other.control);
        for (sum, more) in self.states.iter_mut().zip(other.states) {
            sum.add_all(more);
        }
    }
}
