//! Callbacks that tell of a payment as paid which an earlier one has told of as paid. The rule is in [`crate::ledger::paid_again`].

use std::ops::ControlFlow;

use crate::journal::codec::events::event_numbers;
use crate::journal::session::subject::Subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, IncomingCallback};
use crate::ledger::paid_again::{self, PaidAs};
use crate::lifecycle::{Class, Event, State};
use crate::store::tables::evidence;
use crate::store::{Reads, Scan, Test, shape};

shape! {
    /// What a callback named.
    struct Told of evidence {
        class: Option<i64>, gateway_transaction_id: Option<String>, receipt_number: Option<String>,
    }
}

/// Returns what a callback names that tells of another payment under the same identifier.
pub(super) fn paid_again(
    c: &WriteSession,
    subject: &Subject,
    note: &IncomingCallback,
) -> Result<Option<String>, Error> {
    let Some(event @ Event::Callback(meaning)) = note.event else {
        return Ok(None);
    };
    if meaning.class != Class::Paid || subject.moved.life.state != State::Paid {
        return Ok(None);
    }
    let told = PaidAs {
        gateway_transaction_id: note
            .said
            .gateway_transaction_id
            .as_ref()
            .map(|id| id.as_str()),
        receipt_number: note.said.receipt_number.as_deref(),
    };
    let (callback, paid, _) = event_numbers(event);
    let callbacks = Scan::by(&evidence::evidence_by_payment)
        .at(&subject.moved.seq)
        .only(evidence::event, Test::is(&callback));
    c.flush()?;
    let mut found = None;
    c.each_until(&callbacks, |row: Told| {
        let earlier = PaidAs {
            gateway_transaction_id: row.gateway_transaction_id.as_deref(),
            receipt_number: row.receipt_number.as_deref(),
        };
        if row.class == paid {
            found = paid_again::paid_again(earlier, told);
        }
        Ok::<_, Error>(match found {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        })
    })?;
    Ok(found)
}
