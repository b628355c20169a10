//! What is played only once the program has the rule for it.

use std::sync::LazyLock;

/// Something that the simulation can play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Play {
    /// The gateway executes what it had called failed.
    BrokenNo,
    /// No generation leaves unless every earlier one is proven failed or cancelled.
    Ancestors,
    /// A run stands still, and wakes after another one has taken over.
    Standstill,
    /// The clock of a listener beside the run is years ahead.
    ListenerAhead,
    /// Somebody else's payment has the identifier.
    Stranger,
    /// Somebody edits the journal's file between load and run, and takes it back after the run.
    Tampered,
    /// A run, or an order, comes with another user name.
    OtherAccount,
    /// A copy of the journal runs beside the original.
    Beside,
    /// An operator calls failed what may still be paid.
    FalseWord,
}

/// What the program has no rule for yet: nothing, at present.
const LEFT_OUT: &[Play] = &[];

/// `SIMULATION_PLAYS=Stranger,Standstill` plays these all the same, `SIMULATION_PLAYS=all` everything.
static ORDERED: LazyLock<String> =
    LazyLock::new(|| std::env::var("SIMULATION_PLAYS").unwrap_or_default());

impl Play {
    /// Whether it is played.
    pub(super) fn is_on(self) -> bool {
        let ordered = || {
            let name = format!("{self:?}");
            ORDERED.split(',').any(|word| word == "all" || word == name)
        };
        !LEFT_OUT.contains(&self) || !ORDERED.is_empty() && ordered()
    }

    /// The chance of it, where it is played.
    pub(super) fn chance(self, of: u32) -> u32 {
        if self.is_on() { of } else { 0 }
    }
}
