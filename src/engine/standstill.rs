//! What stood still looks around before it posts anything more.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;

use crate::domain::Pulse;
use crate::ledger::standstill::{is_fresh_word, may_depart};

/// How often the program notes that it runs.
const BEAT_EVERY: Duration = Duration::from_millis(250);

/// Lets the pulse beat from a moment on at which the journal was asked, until it is dropped.
pub(super) fn beat(pulse: &Arc<Pulse>, asked: u64) -> AbortOnDropHandle<()> {
    let pulse = Arc::clone(pulse);
    pulse.resume(asked);
    AbortOnDropHandle::new(tokio::spawn(async move {
        while pulse.beats() {
            tokio::time::sleep(BEAT_EVERY).await;
            pulse.beat();
        }
    }))
}

/// Whether the journal is being asked.
#[derive(Debug, Default)]
pub(super) struct Standstill {
    asking: bool,
}

impl Standstill {
    pub(super) fn may_depart(&self, pulse: &Pulse) -> bool {
        may_depart(pulse.silence())
    }

    /// Returns the reading with which the journal is to be asked; `None` while it is being asked.
    pub(super) fn ask(&mut self, pulse: &Pulse) -> Option<u64> {
        let asks = !std::mem::replace(&mut self.asking, true);
        asks.then(|| pulse.look())
    }

    /// The journal says that no other run has taken over.
    pub(super) fn answered(&mut self, pulse: &Pulse, asked: u64) {
        self.asking = false;
        // Otherwise it stood still again meanwhile, and asks once more.
        if is_fresh_word(pulse.ago(asked)) {
            pulse.resume(asked);
        }
    }
}
