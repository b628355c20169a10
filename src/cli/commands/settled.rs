//! What a statement shows paid, recorded as paid.

use crate::cli::Error;
use crate::cli::session::Session;
use crate::cli::terminal::ask::{Typed, ask, is_attended};
use crate::cli::terminal::output;
use crate::domain::{BatchName, PayerTransactionId, Timestamp};
use crate::journal::{self, Decision, Journal, StatementFinding};
use crate::ledger::names::{By, PaymentName};
use crate::ledger::reconciliation::Settle;
use crate::lifecycle::{State, StepContext};

/// Why a payment is recorded as paid.
pub(super) const SHOWN_PAID: &str = "a statement shows it paid";

/// A payment that is open here and paid there.
pub(super) struct Proposed {
    pub(super) id: PayerTransactionId,
    pub(super) proven: bool,
    pub(super) evidence: String,
    what: String,
}

impl Proposed {
    /// Returns what may be recorded on a finding; `None`: nothing.
    pub(super) fn of(finding: &StatementFinding, source: &str, digest: &str) -> Option<Self> {
        let (payment, entry) = (finding.payment.as_ref()?, finding.entry.as_ref()?);
        if finding.settle == Settle::No {
            return None;
        }
        let money = output::grouped(&entry.money.to_string());
        let named = match entry.reference.as_str() {
            "" => String::new(),
            reference => format!(", reference {}", output::name(reference)),
        };
        let by = finding.by.map_or("", |by| by.in_words());
        let short = digest.get(..16).unwrap_or(digest);
        Some(Self {
            id: payment.id,
            proven: finding.settle == Settle::Proven,
            evidence: format!(
                "{source} (SHA-256 {short}…), {}: {}, {} {money}{named}; matched {by}",
                entry.place, entry.day, entry.money.currency
            ),
            what: format!(
                "{}, line {} of the batch file, {} {}, {} here",
                match payment.reference.as_str() {
                    "" => payment.id.to_string(),
                    reference => format!("{} ({})", output::name(reference), payment.id),
                },
                payment.line,
                payment.money.currency,
                output::grouped(&payment.money.to_string()),
                payment.state.in_words()
            ),
        })
    }
}

/// What became of the proposals.
#[derive(Default)]
pub(super) struct Settled {
    pub(super) recorded: u64,
    /// The places of those that stay open.
    pub(super) left: Vec<usize>,
}

/// Records as paid what is proven; of the rest a person is asked, one by one.
pub(super) async fn settle(
    session: &Session,
    journal: &Journal,
    batch: &BatchName,
    proposed: &[Proposed],
) -> Result<Settled, Error> {
    let mut settled = Settled::default();
    let mut unasked = 0;
    for (place, one) in proposed.iter().enumerate() {
        if !one.proven {
            if !is_attended() {
                unasked += 1;
                settled.left.push(place);
                continue;
            }
            output::note(&format!("{}\n  {}", one.what, one.evidence));
            let answer = ask("Record it as paid?", Typed::Yes, "it stays open");
            if answer.await.is_err() {
                settled.left.push(place);
                continue;
            }
        }
        match record(journal, batch, one).await? {
            true => settled.recorded += 1,
            false => settled.left.push(place),
        }
    }
    if unasked > 0 {
        session.note(&format!(
            "{} matched by amount and recipient only, and there is no terminal to ask at: not recorded",
            output::counted(unasked, "payment")
        ));
    }
    Ok(settled)
}

async fn record(journal: &Journal, batch: &BatchName, one: &Proposed) -> Result<bool, Error> {
    let name = PaymentName {
        text: one.id.to_string(),
        by: By::Identifier,
    };
    let looked = journal.look(batch.clone(), name).await?;
    // It may have ended, or begun to be posted, since the statement was held against it.
    let open = matches!(
        looked.life.state,
        State::InDoubt | State::Acknowledged | State::Delivered
    );
    if !open {
        return Ok(looked.life.state == State::Paid);
    }
    let decision = Decision {
        paid: true,
        reason: SHOWN_PAID.to_owned(),
        evidence: one.evidence.clone(),
    };
    let moment = StepContext {
        now: Timestamp::now(),
        jitter: 0,
    };
    let decided = journal.decide_paid(looked.seq, looked.seen, decision, moment);
    match decided.await {
        Err(journal::Error::Unsigned(_)) => Err(Error::refused(
            "people sign for what is recorded as paid (approval.orders); what the statement shows is kept, and nothing more was recorded",
        )
        .hint(format!(
            "give this command again with --decisions FILE in place of --settle, and let each of them say: disburse resolve {batch} --from FILE \
             --sign-key KEY"
        ))),
        decided => Ok(decided?.is_ok()),
    }
}
