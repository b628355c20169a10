//! `reconcile`: a statement of what the money did, held against what is on record.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::reconcile_findings::Lists;
use super::reconcile_told::{Found, Told};
use super::settled::{Proposed, Settled, settle};
use crate::cli::Error;
use crate::cli::arguments::{ReconcileArguments, SigningArguments};
use crate::cli::exit::ExitStatus;
use crate::cli::files::statement::{StatementFile, terms};
use crate::cli::order_signing::OrderSigning;
use crate::cli::session::{Session, batch_name};
use crate::cli::terminal::output;
use crate::domain::{BatchName, Day, Timestamp, Totals, WireZone};
use crate::journal::{
    self, FINDINGS_KEPT, Journal, Location, Reader, Reconciled, SHOWN_AT_ONCE, StatementDesk,
    StatementFacts,
};
use crate::ledger::Purpose;
use crate::ledger::approval::orders::OrderKind;
use crate::ledger::reconciliation::{FindingKind, StatementEntry};
use crate::lifecycle::StepContext;
use crate::statement::{Summary, Terms};

/// Payments that one command records as paid, at most: what is proposed is held in memory.
const PROPOSED_MAX: usize = 100_000;

/// `disburse reconcile`.
pub(in crate::cli) async fn reconcile(
    session: &Session,
    arguments: ReconcileArguments,
) -> Result<ExitStatus, Error> {
    let batch = batch_name(&arguments.batch)?;
    // How statements are read stands outside the profiles, and needs none to be chosen.
    let settings = session
        .settings(false, Vec::new())
        .or_else(|_| session.settings(true, Vec::new()))?;
    let work = Work {
        terms: terms(&arguments.terms, &settings)?,
        statement: StatementFile::open(&arguments.statement, &settings.files)?,
        findings: arguments.findings.clone(),
        decisions: arguments.decisions.clone(),
        journal: session.location()?.clone(),
        batch: batch.clone(),
        zones: [false, true].map(|rehearsal| session.zone(rehearsal)),
        today: Day::of(Timestamp::now(), &session.zone(false)),
    };
    let journal = session.journal()?;
    let (found, in_conflict) = compare(&journal, &batch, Arc::new(work)).await?;
    let rule = settings.approval().ok().flatten();
    let rules = journal.rules(batch.clone(), rule).await?;
    let told = Told {
        session,
        batch: &batch,
        found: &found,
        in_conflict,
        settling: arguments.settle,
        signed: rules.is_about(OrderKind::Resolve),
        decisions: arguments.decisions.as_deref(),
    };
    // Whoever is asked about a payment has seen what was found.
    told.tell_found();
    let settled = match arguments.settle {
        true => {
            let purpose = journal.standing(batch.clone()).await?.purpose;
            // Nobody signs here: what is under the rule is refused.
            let nobody = SigningArguments::default();
            let signing = OrderSigning::of(session, &journal, purpose, &nobody)?;
            settle(session, signing.journal(), &batch, &found.proposed).await?
        }
        false => Settled {
            recorded: 0,
            left: (0..found.proposed.len()).collect(),
        },
    };
    told.tell_settled(&settled);
    let open = found.reconciled.of(FindingKind::OpenPaidThere).count;
    let others = FindingKind::ALL.iter().any(|kind| {
        kind.needs_a_person()
            && *kind != FindingKind::OpenPaidThere
            && found.reconciled.of(*kind).count > 0
    });
    match others || open > settled.recorded || found.reconciled.apart.count > 0 {
        true => Ok(ExitStatus::Incomplete),
        false => Ok(ExitStatus::Done),
    }
}

/// Comparisons of one statement that are begun again because others came between.
const AGAIN_MAX: usize = 8;

/// Compares the statement, and puts on record what it shows; again, as long as another statement is compared at the same moment, of which
/// this comparison would know nothing. Returns how many payments are in conflict from now on.
async fn compare(
    journal: &Journal,
    batch: &BatchName,
    work: Arc<Work>,
) -> Result<(Found, u64), Error> {
    let mut in_conflict = 0;
    for again in 0.. {
        let this = Arc::clone(&work);
        let (mut found, lists) = tokio::task::spawn_blocking(move || this.carry_out())
            .await
            .map_err(|_| Error::unexpected("the reader of the statement failed"))??;
        // What an attempt before this one has brought into conflict is told as that.
        found.conflicts = found.conflicts.saturating_sub(in_conflict);
        let (more, recorded) = record(journal, batch, &found).await?;
        in_conflict += more;
        match recorded {
            Ok(()) => {
                lists.finish()?;
                return Ok((found, in_conflict));
            }
            Err(journal::Error::ComparedMeanwhile { .. }) if again < AGAIN_MAX => {}
            Err(error) => return Err(error.into()),
        }
    }
    unreachable!("it ends with an answer or an error")
}

/// Puts on record what the statement shows of payments, by where each stands now: a run may have heard of it since the journal was read.
/// Returns how many are in conflict from now on, and whether the comparison is recorded.
async fn record(
    journal: &Journal,
    batch: &BatchName,
    found: &Found,
) -> Result<(u64, Result<(), journal::Error>), Error> {
    let moment = StepContext {
        now: Timestamp::now(),
        jitter: 0,
    };
    let mut in_conflict = 0;
    for shown in found.shown.chunks(SHOWN_AT_ONCE) {
        let (batch, facts) = (batch.clone(), found.facts.clone());
        let shown = journal.note_shown(batch, facts, shown.to_vec(), moment);
        in_conflict += shown.await?;
    }
    let recorded = journal.record_reconciliation(
        batch.clone(),
        found.facts.clone(),
        found.reconciled.clone(),
        (found.kept.clone(), found.lines.clone()),
        (!found.shown.is_empty(), in_conflict),
        moment,
    );
    Ok((in_conflict, recorded.await))
}

/// What is done away from the runtime: the statement is read, and met with the payments.
struct Work {
    terms: Terms,
    statement: StatementFile,
    findings: Option<PathBuf>,
    decisions: Option<PathBuf>,
    journal: Location,
    batch: BatchName,
    zones: [WireZone; 2],
    today: Day,
}

impl Work {
    /// Returns what was found, and the lists of it, which have no names yet.
    fn carry_out(&self) -> Result<(Found, Lists), Error> {
        let reader = Reader::open(&self.journal)?;
        let snapshot = reader.snapshot(&self.batch)?;
        let purpose = snapshot.record()?.purpose;
        let mut desk = StatementDesk::new()?;
        let (summary, digest) = self.read(&mut desk)?;
        let source = self.statement.source.clone();
        let [gateways, rehearsals] = &self.zones;
        let zone = match purpose {
            Purpose::Rehearsal => rehearsals,
            Purpose::Gateway | Purpose::Unknown => gateways,
        };
        let mut lists = Lists::create(self.findings.as_deref(), self.decisions.as_deref())?;
        let (mut kept, mut shown, mut proposed) = (Vec::new(), Vec::new(), Vec::new());
        let (mut kind, mut of_kind) = (FindingKind::Agreed, 0);
        let (mut unwritten, mut unproposed, mut unsure, mut conflicts) = (None, 0, 0, 0);
        let facts = facts(source.clone(), digest.clone(), &summary);
        let reconciled = snapshot.reconcile(&mut desk, &facts, zone, &mut |finding| {
            if finding.kind != kind {
                (kind, of_kind) = (finding.kind, 0);
            }
            of_kind += 1;
            if let Some(list) = &mut lists.findings
                && unwritten.is_none()
            {
                unwritten = list.add(&finding).map_err(std::io::Error::other).err();
            }
            shown.extend(finding.shown());
            conflicts += u64::from(finding.is_out && finding.is_in_conflict());
            unsure += u64::from(finding.is_unsure && finding.kind == FindingKind::OpenPaidThere);
            if let Some(one) = Proposed::of(&finding, &source, &digest) {
                match proposed.len() < PROPOSED_MAX {
                    true => proposed.push(one),
                    false => unproposed += 1,
                }
            }
            if finding.kind.needs_a_person() && of_kind <= FINDINGS_KEPT {
                kept.push(finding);
            }
            Ok(())
        })?;
        if let Some(error) = unwritten {
            let name = self.findings.as_deref().unwrap_or(Path::new(""));
            return Err(Error::unexpected(format!(
                "{}: cannot be written: {error}; nothing was recorded",
                name.display()
            )));
        }
        self.refuse_foreign(&summary, &reconciled)?;
        lists.decide_paid(&proposed)?;
        let again = snapshot.was_reconciled_with(&digest)?;
        let found = Found {
            facts,
            summary,
            reconciled,
            kept,
            lines: desk.lines()?,
            shown,
            proposed,
            unsure,
            unproposed,
            purpose,
            conflicts,
            again,
            notes: self.statement.notes.clone(),
        };
        Ok((found, lists))
    }

    fn read(&self, desk: &mut StatementDesk) -> Result<(Summary, String), Error> {
        let mut fault = None;
        let outcome = self.statement.read(&self.terms, &mut |entry| {
            fault = match entry.is_ahead(self.today) {
                true => Some(self.ahead(&entry)),
                false => desk.add(&entry).err().map(Error::from),
            };
            fault.is_none()
        });
        match fault {
            Some(fault) => Err(fault),
            None => outcome,
        }
    }

    fn ahead(&self, entry: &StatementEntry) -> Error {
        Error::refused(format!(
            "{}: {}: the line is dated {}, and today is {}: no money has moved on a day to come; nothing was recorded",
            self.statement.shown, entry.place, entry.day, self.today
        ))
        .hint("say how its dates are written if days and months were mistaken for one another: --date-format %d/%m/%Y, for one; and look at the clock of this machine")
    }

    /// Refuses a statement that cannot be about the batch: what it does not show would be called missing.
    fn refuse_foreign(&self, summary: &Summary, reconciled: &Reconciled) -> Result<(), Error> {
        let (name, batch) = (&self.statement.shown, &self.batch);
        if !reconciled.shares_currency {
            return Err(Error::refused(format!(
                "{name}: no line of the statement is in a currency of batch {batch}; nothing was recorded"
            ))
            .hint("name the statement of the account that the batch was paid from"));
        }
        let elsewhere = [FindingKind::NotCovered, FindingKind::AgreedBefore];
        let is_elsewhere = elsewhere.iter().any(|kind| reconciled.of(*kind).count > 0);
        if !reconciled.shares_days && is_elsewhere {
            let days = summary.period.map_or_else(String::new, |period| {
                format!(" from {} to {}", period.from, period.to)
            });
            return Err(Error::refused(format!(
                "{name}: the statement{days} shows none of the days on which batch {batch} was paid; nothing was recorded"
            ))
            .hint("fetch the statement of those days"));
        }
        let returned = reconciled.only_back;
        let is_table = matches!(summary.format, "CSV" | "XLSX");
        if returned > reconciled.has_left && is_table && self.terms.paid_out.is_none() {
            return Err(Error::refused(format!(
                "{name}: the statement shows more payments of batch {batch} come back than leave: {} would have come back; nothing was recorded",
                output::counted(returned, "payment")
            ))
            .hint("if amounts above zero were paid out, add --paid-out. If these payments came back, say so: paid_out = false in [statements.NAME] of the configuration, with --layout NAME"));
        }
        Ok(())
    }
}

fn facts(source: String, digest: String, summary: &Summary) -> StatementFacts {
    let balance = |minor: Option<i128>| {
        let (minor, currency) = (minor?, summary.currency?);
        let mut totals = Totals::default();
        totals.add_minor(currency, minor.abs());
        let told = totals.decimals().into_values().next().unwrap_or_default();
        Some(format!(
            "{} {}{told}",
            currency.code(),
            if minor < 0 { "-" } else { "" }
        ))
    };
    StatementFacts {
        source,
        digest,
        format: summary.format.to_owned(),
        account: summary.account.clone(),
        kind: summary.source().kind,
        period: summary.period,
        opening: balance(summary.opening),
        closing: balance(summary.closing),
        balanced: summary.balanced,
        entries: summary.entries,
        fees: summary.fees.clone(),
    }
}
