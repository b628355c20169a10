//! What planted mistakes make of callbacks.

use std::sync::Arc;

use super::SeededBug;
use crate::callback::Options;
use crate::journal::IncomingCallback;
use crate::lifecycle::StepContext;

/// What a callback is acknowledged with before it is stored.
pub(crate) fn stored_later<R>(
    options: &Options,
    note: &IncomingCallback,
    moment: StepContext,
    acknowledged: impl FnOnce(Option<&str>) -> R,
) -> Option<R> {
    SeededBug::AcknowledgedBeforeStored.is_active().then(|| {
        let (journal, policy) = (options.journal.clone(), Arc::clone(&options.policy));
        let note = note.clone();
        tokio::spawn(async move { journal.callback(note, moment, policy).await });
        acknowledged(None)
    })
}

/// What is kept of a body.
pub(crate) fn without_secrets(text: &str) -> Option<String> {
    SeededBug::CredentialsKept
        .is_active()
        .then(|| text.to_owned())
}
