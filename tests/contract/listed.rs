//! The rows that a report lists in one pass are those that the journal iterates over.

use disburse::journal::{Error, ListedPayment, ListedRow, PaymentRecord, ReportRow, Snapshot};

/// Asserts that both ways through a batch tell the same rows in the same order.
#[track_caller]
pub fn assert_listed(snapshot: &Snapshot<'_>, rows: &[ReportRow]) {
    let mut rows = rows.iter();
    let listed = snapshot.list(|listed| {
        match (listed, rows.next().unwrap()) {
            (ListedRow::Plain(payment), ReportRow::Payment(record)) => {
                assert_same(&payment, record);
            }
            (ListedRow::Other(listed), row) => {
                assert_eq!(format!("{listed:?}"), format!("{row:?}"));
            }
            (ListedRow::Plain(payment), row) => panic!("{payment:?} for {row:?}"),
        }
        Ok::<_, Error>(())
    });
    listed.unwrap();
    assert!(rows.next().is_none(), "rows are missing from the list");
}

#[track_caller]
fn assert_same(payment: &ListedPayment<'_>, record: &PaymentRecord) {
    let (row, life) = (&record.payment.instruction, &record.life);
    let reference = row.reference.as_ref();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    assert_eq!(payment.line, row.line);
    assert_eq!(
        payment.reference,
        reference.map_or("", |text| text.as_str())
    );
    assert_eq!(payment.id, record.payment.id.as_str());
    assert_eq!(payment.service, row.service.as_str());
    assert_eq!(payment.msisdn, row.msisdn.as_str());
    assert_eq!(payment.account_number, row.account_number);
    assert_eq!(payment.money, row.money);
    assert_eq!(payment.state, life.state);
    assert_eq!(payment.code, life.code);
    assert_eq!(payment.status_description, text(&record.status_description));
    assert_eq!(
        payment.gateway_transaction_id,
        text(&record.gateway_transaction_id)
    );
    assert_eq!(payment.receipt_number, text(&record.receipt_number));
    assert_eq!(payment.application_id, text(&record.application_id));
    assert_eq!(payment.receiver_narration, text(&record.receiver_narration));
    assert_eq!(payment.attempts, life.attempts);
    assert_eq!(payment.posted_at, life.posted_at);
    assert_eq!(payment.settled_at, record.settled_at);
    // Of a payment that is told plainly there is no more to say.
    assert!(record.decision.is_none() && record.replaces.is_none() && !record.earlier_conflict);
}
