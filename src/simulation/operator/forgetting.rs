//! Somebody asks to be forgotten, or a batch is archived, while rows of it are still loaded again.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::journal::{Error, ForgetOrder};
use crate::ledger::forgetting::Recipient;
use crate::simulation::scene::Scene;

impl Scene {
    /// Forgets persons of some batch that is finished, now and then, where rows are loaded again. Nobody waits until they are looked for no
    /// more: so that those who were forgotten are among them.
    pub(in crate::simulation) async fn forget_some(&self) {
        let Some(rng) = self
            .again
            .forgets
            .as_ref()
            .filter(|_| self.again.is_on.get())
        else {
            return;
        };
        if self.world.lock().tampered.is_some() {
            return;
        }
        // The first batch is added to and corrected all the time, which nobody may do any more once people of it were forgotten.
        let (lines, batches) = (self.lines(), self.batches().split_off(1));
        if batches.is_empty() {
            return;
        }
        let (recipient, batch) = {
            let mut rng = rng.borrow_mut();
            let one = lines.get(rng.usize(0..2 * lines.len().max(1)));
            (
                one.map(|row| Recipient::written(&row.account_number)),
                batches[rng.usize(0..batches.len())].clone(),
            )
        };
        let order = ForgetOrder {
            batch,
            recipient,
            archive: None,
            reason: "somebody asked for it".into(),
            window: Duration::ZERO,
        };
        let journal = self.open(None, &CancellationToken::new());
        let done = journal.forget(order, self.moment().now).await;
        let mut shape = self.world.lock();
        shape.note(|| format!("forgotten: {done:?}"));
        if !matches!(
            done,
            Ok(_) | Err(Error::Kept { .. } | Error::UnknownBatch { .. })
        ) {
            shape.violation(format!("36: somebody is forgotten: {done:?}"));
        }
    }
}
