//! The tables of the journal, as `schema.sql` describes them, for every store.

use super::Table;
use super::table::table;

/// Those that a store with many runners has beside [`ALL`].
pub static SHARED: [&Table; 4] = [
    &session::TABLE,
    &claim::TABLE,
    &claimed::TABLE,
    &slot::TABLE,
];

/// All that every store has.
pub static ALL: [&Table; 36] = [
    &meta::TABLE,
    &batch::TABLE,
    &load::TABLE,
    &service::TABLE,
    &instruction::TABLE,
    &identifier::TABLE,
    &life::TABLE,
    &lane::TABLE,
    &evidence::TABLE,
    &chain::TABLE,
    &phrase::TABLE,
    &policy::TABLE,
    &named_otherwise::TABLE,
    &inquiry::TABLE,
    &rejected::TABLE,
    &tally::TABLE,
    &held_lane::TABLE,
    &counted::TABLE,
    &used::TABLE,
    &limited::TABLE,
    &opened_lane::TABLE,
    &pace::TABLE,
    &upload::TABLE,
    &upload_begun::TABLE,
    &lookup::TABLE,
    &bill::TABLE,
    &fingerprints::TABLE,
    &alike::TABLE,
    &watched::TABLE,
    &recovery::TABLE,
    &payer::TABLE,
    &given_order::TABLE,
    &lost_order::TABLE,
    &repeat_in_recovery::TABLE,
    &notice::TABLE,
    &seen_open::TABLE,
];

table! {
    /// Facts about the journal as a whole.
    meta { key ; value }
}
table! {
    /// Batches.
    batch (numbered) {
        batch_id ;
        name, originator, created_at, gateway, wire, last_claim_at, account, rehearsal, reading, identifier_form,
    }
    /// By their names.
    (unique) index by_name [name];
}
table! {
    /// Files that were loaded.
    load (numbered) {
        load_id ;
        batch_id, source, digest, loaded_at, accepted, rejected, total, total_currency, payments, identifiers, layout,
        layout_digest, file_digest,
    }
    index load_by_batch [batch_id];
    index load_by_digest [digest];
}
table! {
    /// Service codes.
    service (numbered) { service_id ; code }
    /// By their codes.
    (unique) index by_code [code];
}
table! {
    /// What is to be paid.
    instruction (numbered) {
        seq ;
        batch_id, load_id, line, identifier, reference, generation, received_at, service_id, msisdn, account_number, amount,
        currency, country, narration, customer_names, invoice_number, payment_mode, hub_id, extra, document, document_folder,
        as_due, not_before, salt,
    }
    default [as_due = 0]
    index instruction_with_document [batch_id, seq] where Present(document);
    index scheduled [batch_id, not_before] where Present(not_before);
    index unpriced [batch_id, seq] where Absent(amount);
    index taken_from_bill [service_id, account_number.or(msisdn), seq] where Is(as_due, 1);
}
table! {
    /// Every identifier once, over all batches.
    identifier { identifier ; seq }
}
table! {
    /// Where each payment stands.
    life (numbered) {
        seq ;
        batch_id, service_id, state, code, attempts, posted_at, exposures, known, not_found, quarantine_from, queries, due_at,
        settled_at, replaced_by, gateway_transaction_id, receipt_number, receiver_narration, application_id, phrase_id, queued,
    }
    default [attempts = 0, exposures = 0, known = 0, not_found = 0, queries = 0, queued = 1]
    index post_queue [batch_id, service_id, due_at, seq] where Is(state, 0);
    index replaced [batch_id] where Present(replaced_by);
    index ask_queue [batch_id, state, due_at] where AtLeast(state, 2), AtMost(state, 4), Is(queued, 1);
    index predecessor [replaced_by] where Present(replaced_by);
}
table! {
    /// From where on a lane has payments of which nothing is known yet.
    lane { batch_id, service_id ; fresh_from }
}
table! {
    /// Everything that was ever learned, in the order it was learned.
    evidence (numbered) {
        evidence_id ;
        seq, at, event, class, code, anomaly, digest, detail, batch_id, policy_id, hash, phrase_id, gateway_transaction_id,
        receipt_number, receiver_narration, salt,
    }
    index evidence_by_payment [seq];
    index about_batch [event, batch_id, evidence_id] where Is(seq, 0);
    index presumed [batch_id, evidence_id] where Is(event, 21);
    index watches [seq] where Is(event, 87);
}
table! {
    /// The chain of evidence of each batch.
    chain (numbered) { batch_id ; length, head }
}
table! {
    /// What gateways say in the same words again and again.
    phrase (numbered) { phrase_id ; text }
}
table! {
    /// The policies that evidence was judged by.
    policy (numbered) { policy_id ; not_found_quarantine, exposures_max, settle_on, status_query }
}
table! {
    /// Payments about which the gateway named something that is not ours.
    named_otherwise { batch_id, seq ; words }
}
table! {
    /// Ended payments that are asked about all the same.
    inquiry (numbered) { seq ; batch_id, due_at, queries, since, alone }
    default [queries = 0, since = 0, alone = 0]
    index inquiry_queue [batch_id, due_at, seq];
}
table! {
    /// Rows that did not pass validation and were set aside.
    rejected {
        load_id, line, nth ;
        batch_id, reference, service_code, msisdn, account_number, amount_text, amount, currency, errors, digest, cells,
        replaced_by, withdrawn, salt,
    }
    index rejected_by_batch [batch_id, digest];
}
table! {
    /// Counts and amounts per lane, currency and state.
    tally { batch_id, service_id, currency, state ; count, amount }
}
table! {
    /// Lanes that are held.
    held_lane { batch_id, service_id ; held_at, reason }
}
table! {
    /// What counts towards ceilings.
    counted (numbered) { seq ; realm, service_id, recipient, currency, amount, day, counts }
    index paid_recipient [realm, recipient] where Is(counts, 2);
}
table! {
    /// What these come to on a day.
    used { realm, name, currency, day ; amount }
}
table! {
    /// Payments that a limit kept from leaving.
    limited { batch_id, seq ; service_id, reason, until }
}
table! {
    /// What had ended in a lane when a person opened it last.
    opened_lane { batch_id, service_id ; paid, failed }
}
table! {
    /// Since when nothing has left to an account of a gateway.
    pace { gateway, account, what ; boot, since }
}
table! {
    /// Supporting documents, as the file service took them.
    upload (numbered) { seq ; at, digest, bytes, reference, reply }
}
table! {
    /// Documents that were begun to be sent.
    upload_begun { seq, digest ; }
}
table! {
    /// Networks of numbers, as the lookup told them.
    lookup { country, msisdn ; at, carrier, time_zone }
}
table! {
    /// What bills said, in the order they were asked for.
    bill (numbered) { bill_id ; seq, at, outcome, code, due, currency, due_date, customer_name, description, salt }
    index bill_by_payment [seq];
    (unique) index bill_that_decided [seq] where AtMost(outcome, 1);
}
table! {
    /// Fingerprints of the rows of each load.
    fingerprints (numbered) { fingerprints_id ; load_id, least, first_seq, entries }
    index fingerprints_by_load [load_id, least];
}
table! {
    /// Rows of a load that a person is shown before they are paid.
    alike (numbered) { alike_id ; load_id, kind, batch, source, loaded_at, count, lines }
    index alike_by_load [load_id];
}
table! {
    /// Rows of the same debt that had failed, looked at again before a row leaves.
    watched { seq, other ; by_word }
    default [by_word = 0]
    index watched_other [other];
}
table! {
    /// When it was noticed that the journal may have missed something.
    recovery (numbered) {
        recovery_id ;
        begun_at, cause, newest_seq, newest_evidence, done_at, reason, orders_lost, orders_unknown, orders_reason,
        batches_missing, ran_since,
    }
    default [orders_lost = 0, orders_unknown = 0, batches_missing = 0]
}
table! {
    /// From which account of which gateway batches were posted that an earlier journal may have posted.
    payer { batch ; gateway, account, by_person, payments, identifiers, originator }
}
table! {
    /// Orders of people that a copy must not forget.
    given_order (numbered) { order_id ; number, at, act, batch, payments, digest, by }
}
table! {
    /// Orders that were in the mark when it was noticed that the journal had missed them.
    lost_order (numbered) { lost_order_id ; recovery_id, after_order, line }
}
table! {
    /// Rows that were loaded while a recovery was open.
    repeat_in_recovery (numbered) { seq ; }
}
table! {
    /// What somebody elsewhere is told of a batch.
    notice (numbered) {
        notice_id ;
        id, batch_id, kind, subject, nth, figure, made_at, stands, body, attempts, due_at, trouble,
    }
    default [attempts = 0, due_at = 0]
    /// By what the receiver knows it.
    (unique) index by_id [id];
    index notice_of_batch [batch_id, kind, subject, notice_id];
    index notice_waiting [notice_id] where Present(body);
    index notice_standing [batch_id] where Is(stands, 1);
}
table! {
    /// Batches that were seen unfinished, and whose end was not told since.
    seen_open (numbered) { batch_id ; }
}
table! {
    /// Runs of any host: until when each may post, unless it asks again before.
    session (numbered) {
        session_id ;
        batch_id, host, runner, release, gateway, account, rate, query_rate, quarantine, began_at, lease_until, closed_at,
    }
    index session_open [batch_id, session_id] where Absent(closed_at);
    index session_of_account [gateway, account, session_id] where Absent(closed_at);
}
table! {
    /// Payments of a lane that a session has claimed together, for the first time.
    claim (numbered) { claim_id ; session_id, batch_id, service_id, first, last }
    index claim_by_session [session_id, claim_id];
}
table! {
    /// Payments that a session has claimed one by one, each with the session that did so last.
    claimed (numbered) { seq ; session_id }
    index claimed_by_session [session_id, seq];
}
table! {
    /// When the next post or question may leave to an account of a gateway, over all sessions, in microseconds; for how many payments
    /// each request of the last grant is; and how late after their slots those may arrive that were granted before, each with the time
    /// before which slots allow for that.
    slot { gateway, account, what ; next_at, packets, lateness }
}
