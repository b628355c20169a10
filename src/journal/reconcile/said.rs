//! A reconciliation as the chain keeps it, and read back.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::domain::{BatchId, EvidenceId, PayerTransactionId, Timestamp};
use crate::journal::codec::catalog::find;
use crate::journal::codec::detail::parsed;
use crate::journal::codec::events::{RECONCILED, STATEMENT_FINDING};
use crate::journal::codec::values::state_of;
use crate::journal::read::reader::Snapshot;
use crate::journal::{
    Discrepancies, Error, Reconciled, ReconciliationRecord, StatedAbout, StatementFacts,
    StatementFinding,
};
use crate::ledger::reconciliation::{FindingKind, Flow};
use crate::lifecycle::State;
use crate::store::tables::{evidence, life};
use crate::store::{Read, Reads, Scan, shape};

pub(super) fn finding_said(finding: &StatementFinding) -> Value {
    let mut said = json!({"finding": finding.kind.name()});
    if let Some(payment) = &finding.payment {
        said["payer_transaction_id"] = payment.id.as_str().into();
        if !payment.reference.is_empty() {
            said["reference"] = payment.reference.as_str().into();
        }
        said["line"] = payment.line.into();
        said["state"] = payment.state.name().into();
        said["amount"] = payment.money.to_string().into();
        said["currency_code"] = payment.money.currency.code().into();
    }
    if let Some(entry) = &finding.entry {
        said["statement_line"] = entry.place.as_str().into();
        said["statement_date"] = entry.day.to_string().into();
        said["statement_amount"] = entry.money.to_string().into();
        said["statement_currency_code"] = entry.money.currency.code().into();
        said["statement_direction"] = match entry.flow {
            Flow::Out => "out".into(),
            Flow::In => "in".into(),
        };
        if !entry.reference.is_empty() {
            let shown: String = entry.reference.chars().take(128).collect();
            said["statement_reference"] = shown.into();
        }
    }
    let others = finding.all_other_lines();
    if !others.is_empty() {
        said["other_statement_lines"] = others.into();
    }
    if finding.is_twice {
        said["twice"] = true.into();
    }
    if finding.is_earlier {
        said["earlier_statements"] = true.into();
    }
    if finding.by.is_some() {
        said["matched"] = finding.matched().into();
    }
    said
}

pub(super) fn summary_said(
    facts: &StatementFacts,
    reconciled: &Reconciled,
    kept: usize,
    held: u64,
) -> Value {
    let found: Map<String, Value> = reconciled
        .found
        .iter()
        .map(|(kind, tally)| {
            let counted = json!({"count": tally.count, "amounts": tally.amounts.decimals()});
            (kind.name().to_owned(), counted)
        })
        .collect();
    json!({
        "statement": facts.source,
        "digest": facts.digest,
        "format": facts.format,
        "account": facts.account,
        "kind": facts.kind,
        "from": facts.period.map(|period| period.from.to_string()),
        "to": facts.period.map(|period| period.to.to_string()),
        "opening": facts.opening,
        "closing": facts.closing,
        "balanced": facts.balanced,
        "entries": facts.entries,
        "fees": facts.fees.decimals(),
        "payments": reconciled.payments,
        "found": found,
        "held": held,
        "also_twice": reconciled.also_twice,
        "kept": kept,
    })
}

shape! {
    pub(super) struct Said of evidence { evidence_id: EvidenceId, at: Timestamp, detail: String }
}

shape! {
    struct Compared of evidence { evidence_id: EvidenceId }
}

/// Returns the row of the last comparison of a batch with a statement.
pub(super) fn last_comparison(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<Option<EvidenceId>, Error> {
    let comparisons = Scan::by(&evidence::about_batch)
        .at(&RECONCILED)
        .at(&batch_id);
    let last: Option<Compared> = c.first(&comparisons.descending())?;
    Ok(last.map(|row| row.evidence_id))
}

pub(super) fn detail_of(told: &Said) -> Result<Value, Error> {
    parsed(Some(&told.detail))
}

/// Returns how many payments of each kind of discrepancy a summary has.
fn counted(summary: &Value) -> Vec<(FindingKind, u64)> {
    let kinds = FindingKind::ALL.into_iter();
    let counts = kinds.filter(|kind| kind.is_discrepancy()).map(|kind| {
        let of_kind = summary["found"][kind.name()]["count"].as_u64();
        let also = match kind {
            FindingKind::TwiceThere => summary["also_twice"].as_u64(),
            _ => None,
        };
        (kind, of_kind.unwrap_or(0) + also.unwrap_or(0))
    });
    counts.filter(|(_, count)| *count > 0).collect()
}

impl Snapshot<'_> {
    /// Returns what was found when the batch was reconciled with a file of this SHA-256 the last time: how many payments of each kind
    /// of discrepancy; `None`: it was not.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn was_reconciled_with(
        &self,
        digest: &str,
    ) -> Result<Option<Vec<(FindingKind, u64)>>, Error> {
        let summaries = Scan::by(&evidence::about_batch)
            .at(&RECONCILED)
            .at(&self.batch_id);
        let mut found = None;
        self.c.each(&summaries, |told: Said| {
            let summary = detail_of(&told)?;
            if summary["digest"] == digest {
                found = Some(counted(&summary));
            }
            Ok::<_, Error>(())
        })?;
        Ok(found)
    }

    /// Returns what statements showed of payments otherwise than they stand here, the oldest first; of a statement that was compared
    /// again, what it showed the last time.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn discrepancies(&self) -> Result<Vec<Discrepancies>, Error> {
        let summaries = Scan::by(&evidence::about_batch)
            .at(&RECONCILED)
            .at(&self.batch_id);
        let mut all: Vec<(String, Discrepancies)> = Vec::new();
        self.c.each(&summaries, |told: Said| {
            let summary = detail_of(&told)?;
            let text = |name: &str| summary[name].as_str().unwrap_or_default().to_owned();
            let digest = text("digest");
            all.retain(|(of, _)| *of != digest);
            all.push((
                digest,
                Discrepancies {
                    at: told.at,
                    statement: text("statement"),
                    found: counted(&summary),
                },
            ));
            Ok::<_, Error>(())
        })?;
        let all = all.into_iter().map(|(_, one)| one);
        Ok(all.filter(|one| !one.found.is_empty()).collect())
    }

    /// Returns the payments of which statements have shown something else than that they were paid, or not paid, as here.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn stated_otherwise(&self) -> Result<BTreeSet<PayerTransactionId>, Error> {
        let mut found = BTreeSet::new();
        for record in self.reconciliations()? {
            let ids = record.findings.iter().filter_map(|finding| {
                let kind = FindingKind::from_name(finding["finding"].as_str()?)?;
                let shows = kind.is_discrepancy() || kind == FindingKind::PendingThere;
                let id = finding["payer_transaction_id"].as_str()?;
                shows.then(|| PayerTransactionId::parse(id))?
            });
            found.extend(ids);
        }
        Ok(found)
    }

    /// Returns what statements showed of one payment, the oldest first; of a statement that was compared again, what it showed the last
    /// time. Of many findings of a kind, the first are kept.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn stated_about(&self, id: &PayerTransactionId) -> Result<Vec<StatedAbout>, Error> {
        let mut all: Vec<(Value, StatedAbout)> = Vec::new();
        for record in self.reconciliations()? {
            let digest = &record.summary["digest"];
            all.retain(|(of, _)| of != digest);
            let about = |finding: &&Value| finding["payer_transaction_id"] == id.as_str();
            all.extend(record.findings.iter().filter(about).map(|finding| {
                let one = StatedAbout {
                    at: record.at,
                    statement: record.summary["statement"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned(),
                    finding: finding.clone(),
                };
                (digest.clone(), one)
            }));
        }
        Ok(all.into_iter().map(|(_, one)| one).collect())
    }

    /// Returns the reconciliations of the batch, oldest first; with a finding about a payment stands its state of today, if that is
    /// another one by now.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn reconciliations_today(&self) -> Result<Vec<ReconciliationRecord>, Error> {
        let mut records = self.reconciliations()?;
        let findings = records.iter_mut().flat_map(|record| &mut record.findings);
        for finding in findings {
            let id = finding["payer_transaction_id"].as_str();
            let Some(id) = id.and_then(PayerTransactionId::parse) else {
                continue;
            };
            let Some(seq) = find(self.c, id)? else {
                continue;
            };
            let lived = Scan::of(&life::TABLE).at(&seq);
            let state: Option<i64> = self.c.value(&lived, life::state)?;
            let now = state.map(state_of).transpose()?.map(State::name);
            if now.is_some() && now != finding["state"].as_str() {
                finding["state_now"] = now.into();
            }
        }
        Ok(records)
    }

    /// Returns the reconciliations of the batch, oldest first.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn reconciliations(&self) -> Result<Vec<ReconciliationRecord>, Error> {
        let read = |event: i64| -> Result<Vec<(EvidenceId, Timestamp, Value)>, Error> {
            let of_kind = Scan::by(&evidence::about_batch)
                .at(&event)
                .at(&self.batch_id);
            let mut read = Vec::new();
            self.c.each(&of_kind, |told: Said| {
                read.push((told.evidence_id, told.at, detail_of(&told)?));
                Ok::<_, Error>(())
            })?;
            Ok(read)
        };
        let mut findings = read(STATEMENT_FINDING)?.into_iter().peekable();
        let mut records = Vec::new();
        for (evidence_id, at, summary) in read(RECONCILED)? {
            let mut kept = Vec::new();
            while let Some((_, _, finding)) = findings.next_if(|(id, ..)| *id < evidence_id) {
                kept.push(finding);
            }
            records.push(ReconciliationRecord {
                at,
                summary,
                findings: kept,
            });
        }
        Ok(records)
    }
}
