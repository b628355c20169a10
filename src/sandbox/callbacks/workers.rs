//! Callbacks (section 6): sent by a few workers, again and again until they are acknowledged or given up.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::connection::{Caller, callable};
use crate::sandbox::agenda::Task;
use crate::sandbox::books::event::Event;
use crate::sandbox::books::verdict::Standing;
use crate::sandbox::dialect;
use crate::sandbox::entries::callback_body;
use crate::sandbox::faults::fault::Fault;
use crate::sandbox::faults::plan::Draw;
use crate::sandbox::gateway::Gateway;
use crate::sandbox::outbox::Call;

/// How many callbacks are under way at once. A gateway does not wait for one before it sends the next.
pub(in crate::sandbox) const WORKERS: usize = 256;
/// The longest pause between two sendings.
const BACKOFF_MAX: Duration = Duration::from_secs(5);

/// Sends callbacks for ever; one of [`WORKERS`].
pub(in crate::sandbox) async fn work(gateway: Arc<Gateway>) {
    let mut caller = Caller::default();
    loop {
        let mut call = caller.until(gateway.outbox.next()).await;
        let watched = call.watched.take();
        deliver(&gateway, &mut caller, call).await;
        drop(watched);
    }
}

/// Sends a callback once, and plans what follows from the listener's answer.
async fn deliver(gateway: &Gateway, caller: &mut Caller, call: Call) {
    let (status, owed) = {
        let book = gateway.book();
        (
            book.ledger.status(&call.id),
            book.ledger.owes_callback(&call.id),
        )
    };
    // An acknowledged callback is not sent again, unless that is the point.
    if !owed && !call.repeat {
        return;
    }
    let Some((standing, acceptance)) =
        status.and_then(|status| Some((status.standing, status.acceptance?)))
    else {
        return;
    };
    // A second acceptance is under way: its end is told when it comes.
    if matches!(standing, Standing::Pending | Standing::Delivered) {
        return;
    }
    let Some(target) = acceptance.post.callback.as_deref().and_then(callable) else {
        tracing::warn!("a callback to an address that is not plain loopback HTTP is withheld");
        over(gateway, call.id.clone());
        return;
    };
    let body = callback_body(gateway, standing, &acceptance);
    let options = &gateway.options;
    let (body, headers) = match options.dialect.is_the_document() {
        true => (body, Vec::new()),
        false => {
            let body = dialect::callback(&options.dialect, &body);
            let headers = options
                .seals
                .of_callback(&options.dialect, &body, gateway.now());
            (body, headers)
        }
    };
    let acknowledged = caller.call(&target, headers, body).await;
    if call.repeat {
        return;
    }
    if acknowledged {
        let doubled = gateway.plan.callback(&call.id, acceptance.attempt);
        if doubled == Some(Fault::CallbackDoubled) {
            gateway.faulted.count(Fault::CallbackDoubled);
            let range = 50..=800;
            let delay = gateway
                .plan
                .within(&range, Draw::Repeat, &call.id, acceptance.attempt);
            let due = Instant::now() + Duration::from_millis(delay);
            gateway.agenda.add(due, Task::Repeat(call.id.clone()));
        }
        over(gateway, call.id.clone());
    } else if call.sent + 1 < gateway.options.callback_attempts_max {
        let backoff = Duration::from_millis(gateway.options.callback_backoff_ms)
            .saturating_mul(1 << call.sent.min(16))
            .min(BACKOFF_MAX);
        let next = Task::Call {
            id: call.id.clone(),
            sent: call.sent + 1,
        };
        gateway.agenda.add(Instant::now() + backoff, next);
    } else {
        over(gateway, call.id.clone());
    }
}

fn over(gateway: &Gateway, id: Arc<str>) {
    if let Err(error) = gateway.book().record(Event::Called { id }) {
        tracing::error!(%error, "the sandbox cannot keep its ledger");
    }
}
