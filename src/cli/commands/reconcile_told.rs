//! What `reconcile` says of what it found.

use std::path::Path;

use super::settled::{Proposed, SHOWN_PAID, Settled};
use crate::cli::session::{Session, sandbox_flag};
use crate::cli::terminal::output;
use crate::domain::BatchName;
use crate::journal::{Reconciled, ShownPayment, StatementFacts, StatementFinding};
use crate::ledger::Purpose;
use crate::ledger::reconciliation::FindingKind;
use crate::statement::Summary;

/// Findings of one kind that are shown one by one.
const SHOWN_MAX: usize = 20;

/// What came of it.
pub(super) struct Found {
    pub(super) facts: StatementFacts,
    pub(super) summary: Summary,
    pub(super) reconciled: Reconciled,
    pub(super) kept: Vec<StatementFinding>,
    /// The lines that say something of payments, for later statements.
    pub(super) lines: Vec<String>,
    pub(super) shown: Vec<ShownPayment>,
    pub(super) proposed: Vec<Proposed>,
    /// Payments that are open here, whose line another payment could have as well.
    pub(super) unsure: u64,
    /// What is beyond those that one command settles.
    pub(super) unproposed: u64,
    pub(super) purpose: Purpose,
    /// Payments that it shows paid, and that were in conflict already.
    pub(super) conflicts: u64,
    /// What was found when this very statement was held against the batch before.
    pub(super) again: Option<Vec<(FindingKind, u64)>>,
    /// What is worth telling about how the file was opened.
    pub(super) notes: Vec<String>,
}

/// What is told.
pub(super) struct Told<'a> {
    pub(super) session: &'a Session,
    pub(super) batch: &'a BatchName,
    pub(super) found: &'a Found,
    pub(super) in_conflict: u64,
    /// It is to be settled.
    pub(super) settling: bool,
    /// People sign for what is recorded as paid.
    pub(super) signed: bool,
    /// Where the decisions were written that it proves.
    pub(super) decisions: Option<&'a Path>,
}

impl Told<'_> {
    /// Tells what was found.
    pub(super) fn tell_found(&self) {
        let found = self.found;
        if self.session.common.json {
            return;
        }
        tell_statement(found);
        tell_notes(self.session, found);
        for (kind, tally) in &found.reconciled.found {
            output::line(&format!(
                "{:>9}  {}, {}",
                output::grouped(&tally.count.to_string()),
                kind.in_words(),
                output::amounts(&tally.amounts)
            ));
            if !kind.needs_a_person() {
                continue;
            }
            let mut of_kind = found.kept.iter().filter(|finding| finding.kind == *kind);
            for finding in of_kind.by_ref().take(SHOWN_MAX) {
                output::line(&format!("             {}", sentence(finding)));
            }
            if tally.count > SHOWN_MAX as u64 {
                output::line("             … --findings FILE writes all of them");
            }
            if let Some(advice) = kind.advice() {
                output::line(&format!("             to do: {advice}"));
            }
        }
        self.tell_apart();
        self.tell_elsewhere();
        self.tell_conflicts();
    }

    /// Tells what became of it, and what is next.
    pub(super) fn tell_settled(&self, settled: &Settled) {
        match self.session.common.json {
            true => self.tell_json(settled),
            false => self.tell_next(settled),
        }
    }

    fn tell_json(&self, settled: &Settled) {
        let Self { found, batch, .. } = *self;
        let facts = &found.facts;
        let counts: serde_json::Map<String, serde_json::Value> = found
            .reconciled
            .found
            .iter()
            .map(|(kind, tally)| {
                (
                    kind.name().to_owned(),
                    serde_json::json!({"count": tally.count, "amounts": tally.amounts.decimals()}),
                )
            })
            .collect();
        output::json(&serde_json::json!({
            "batch": batch.as_str(), "statement": facts.source, "digest": facts.digest, "format": facts.format,
            "account": facts.account, "from": facts.period.map(|period| period.from.to_string()),
            "to": facts.period.map(|period| period.to.to_string()), "opening": facts.opening, "closing": facts.closing,
            "balanced": facts.balanced, "entries": facts.entries, "fees": facts.fees.decimals(), "found": counts,
            "in_conflict": self.in_conflict, "apart": found.reconciled.apart.count, "not_compared": self.elsewhere(), "recorded_as_paid": settled.recorded, "proposed": self.left(settled),
        }));
    }

    /// Tells of payments that left here, and by another source on another day: that may be one movement or two.
    fn tell_apart(&self) {
        let apart = &self.found.reconciled.apart;
        if apart.count == 0 {
            return;
        }
        output::complain(
            "warning",
            &format!(
                "{} left in this statement, and on another day or under other references in one of another layout, which is not added up \
                 with it. It may be one movement that both show, or the money left twice: look at both lines",
                output::counted(apart.count, "payment")
            ),
        );
        for (id, lines) in &apart.first {
            output::line(&format!("             {id}: also {}", shown_lines(lines)));
        }
        if apart.count > apart.first.len() as u64 {
            output::line("             …");
        }
    }

    fn elsewhere(&self) -> Vec<&str> {
        let others = self.found.reconciled.elsewhere.iter();
        others.map(BatchName::as_str).collect()
    }

    /// Tells which other batches a line is about.
    fn tell_elsewhere(&self) {
        let others = &self.found.reconciled.elsewhere;
        if others.is_empty() {
            return;
        }
        let names = self.elsewhere();
        self.session.note(&format!(
            "lines are about batches that this statement was not compared with: {}. What it shows of their payments is not known before \
             it is: disburse reconcile {} {}, with the options of this command",
            names.join(", "),
            names[0],
            output::quoted(&self.found.facts.source)
        ));
    }

    /// Tells of payments that are in conflict, since now or before.
    fn tell_conflicts(&self) {
        let Self { batch, found, .. } = *self;
        let in_conflict = self.in_conflict;
        let flag = sandbox_flag(found.purpose);
        let decide = format!(
            "disburse resolve {batch} --id ID --paid{flag} --reason TEXT --evidence TEXT, or the same with --failed"
        );
        if in_conflict > 0 {
            output::complain(
                "warning",
                &format!(
                    "{} not paid here, but paid in the statement: in conflict from now on, so that no retry leaves \
                 any more. Decide each: {decide}",
                    output::counted(in_conflict, "payment")
                ),
            );
        }
        if found.conflicts > 0 {
            output::complain(
                "warning",
                &format!(
                    "{} paid in the statement {} in conflict here since before. Decide each: {decide}",
                    output::counted(found.conflicts, "payment"),
                    if found.conflicts == 1 { "is" } else { "are" }
                ),
            );
        }
        if in_conflict + found.conflicts > 0 {
            output::complain(
                "hint",
                &format!(
                    "if a retry of one has left before, it may be paid as well: disburse status {batch} names those"
                ),
            );
        }
    }

    /// Returns how many payments are open here, and paid in the statement.
    fn left(&self, settled: &Settled) -> u64 {
        settled.left.len() as u64 + self.found.unproposed
    }

    /// What an order needs that people sign for.
    fn signing(&self) -> &'static str {
        match self.signed {
            true => " --sign-key KEY",
            false => "",
        }
    }

    /// Says how what is open here and paid there is recorded as paid.
    fn how_to_settle(&self, settled: &Settled) -> String {
        let (batch, found) = (self.batch, self.found);
        let flag = sandbox_flag(found.purpose);
        let proven = found.proposed.iter().filter(|one| one.proven).count() as u64;
        let payments = output::counted(self.left(settled), "payment");
        let what = format!(
            "{payments} open here and paid in the statement, {proven} of them proven by identifier or receipt"
        );
        let from = |file: &str| {
            format!(
                "disburse resolve {batch} --from {file}{flag}{}",
                self.signing()
            )
        };
        match (self.decisions, self.signed) {
            (Some(path), signed) => {
                let file = path.display().to_string();
                let who = if signed {
                    "each who signs for it looks at it, and says"
                } else {
                    "look at it, then"
                };
                format!(
                    "{what}. A decision for each proven one stands in {}: {who}: {}. All of the file is one order{}",
                    output::name(&file),
                    from(&output::quoted(&file)),
                    match proven == self.left(settled) {
                        true => ".",
                        false => ". The others one at a time:",
                    }
                )
            }
            (None, true) => format!(
                "{what}. People sign for what is recorded as paid (approval.orders): this command with --decisions FILE writes the proven ones \
                down, and each who signs says: {}. Or one at a time:",
                from("FILE")
            ),
            (None, false) => format!(
                "{what}: --settle records the proven ones as paid, and asks you about each of the others. Or one at a time:"
            ),
        }
    }

    fn tell_next(&self, settled: &Settled) {
        let Self {
            session,
            batch,
            found,
            ..
        } = *self;
        let flag = sandbox_flag(found.purpose);
        if settled.recorded > 0 {
            output::line(&format!(
                "{} recorded as paid, as the statement shows",
                output::counted(settled.recorded, "payment")
            ));
        }
        if found.unproposed > 0 && self.settling {
            session.note(&format!(
                "{} more can be recorded: run the same command again",
                output::counted(found.unproposed, "payment")
            ));
        }
        if self.left(settled) > 0 && !self.settling {
            session.note(&self.how_to_settle(settled));
        } else if !settled.left.is_empty() {
            session.note(&format!(
                "{} still open here and paid in the statement: to record one as paid, on your word:",
                output::counted(settled.left.len() as u64, "payment")
            ));
        }
        if found.unsure > 0 {
            session.note(&format!(
                "{} open here, with a line that another payment of the same amount to the same recipient could have as well: --settle leaves them. \
                Ask the gateway's people which of the two was paid",
                output::counted(found.unsure, "payment")
            ));
        }
        let left = settled.left.iter();
        let left = left.filter_map(|place| found.proposed.get(*place));
        // What stands in the file of decisions is not given by hand as well: that would be another order.
        let left: Vec<&Proposed> = left
            .filter(|one| self.decisions.is_none() || !one.proven)
            .collect();
        for one in left.iter().take(SHOWN_MAX) {
            session.note(&format!(
                "  disburse resolve {batch} --id {} --paid --reason '{SHOWN_PAID}' --evidence {}{flag}{}",
                one.id,
                output::quoted(&one.evidence),
                self.signing()
            ));
        }
        if left.len() > SHOWN_MAX {
            session.note(
                "  … --findings FILE lists them all, and --decisions FILE writes those that are proven for disburse resolve --from FILE",
            );
        }
        if found.reconciled.of(FindingKind::MissingThere).count
            + found.reconciled.of(FindingKind::OpenMissing).count
            > 0
        {
            session.note("a payment that the statement does not show may still be paid: look at the next statement, \
                and ask the gateway's people");
        }
    }
}

fn tell_notes(session: &Session, found: &Found) {
    for note in found.notes.iter().chain(&found.summary.notes) {
        session.note(&output::name(note));
    }
}

fn tell_statement(found: &Found) {
    let facts = &found.facts;
    let account = facts.account.as_deref().map_or_else(
        || "account not named".to_owned(),
        |account| format!("account {}", output::name(account)),
    );
    let days = facts.period.map_or_else(String::new, |period| {
        format!(", {} to {}", period.from, period.to)
    });
    output::line(&format!(
        "{}: {}, {account}{days}, {}",
        output::name(&facts.source),
        facts.format,
        output::counted(facts.entries, "line")
    ));
    match (&facts.opening, &facts.closing, facts.balanced) {
        (Some(opening), Some(closing), true) => output::line(&format!(
            "  opening balance {}, closing balance {}: its lines add up",
            balance(opening),
            balance(closing)
        )),
        _ => output::line("  it has no balances: a missing line would not be noticed"),
    }
    if !found.summary.fees.decimals().is_empty() {
        output::line(&format!("  charges: {}", output::amounts(&facts.fees)));
    }
    if let Some(before) = &found.again {
        output::line("  this same statement was compared with the batch before");
        tell_gone(before, &found.reconciled);
    }
}

/// Tells of what was found before in the same statement, and is not any more: it may have been read otherwise.
fn tell_gone(before: &[(FindingKind, u64)], now: &Reconciled) {
    let gone = before.iter().filter_map(|(kind, before)| {
        // What else is found depends on where the payments stand by now.
        let also = match kind {
            FindingKind::TwiceThere => now.also_twice,
            FindingKind::Returned => 0,
            _ => return None,
        };
        let fewer = before.saturating_sub(now.of(*kind).count + also);
        (fewer > 0).then(|| {
            format!(
                "{}, {}",
                output::grouped(&fewer.to_string()),
                kind.in_words()
            )
        })
    });
    let gone: Vec<String> = gone.collect();
    if !gone.is_empty() {
        output::line(&format!(
            "  found then, and not now: {}. Only the last comparison of a statement counts: if it was read \
             otherwise then, and rightly, compare it that way again",
            gone.join("; ")
        ));
    }
}

/// Writes a balance, which has its currency before it.
fn balance(text: &str) -> String {
    text.split_once(' ').map_or_else(
        || text.to_owned(),
        |(currency, told)| match told.strip_prefix('-') {
            Some(told) => format!("{currency} -{}", output::grouped(told)),
            None => format!("{currency} {}", output::grouped(told)),
        },
    )
}

/// Writes where earlier statements have lines.
fn shown_lines(lines: &[String]) -> String {
    output::name(&lines.join(", ")).to_string()
}

fn sentence(finding: &StatementFinding) -> String {
    let mut parts = Vec::new();
    if let Some(payment) = &finding.payment {
        let called = match payment.reference.as_str() {
            "" => payment.id.to_string(),
            reference => format!("{} ({})", output::name(reference), payment.id),
        };
        parts.push(format!(
            "{called}, line {} of the batch file, {} {}, {} here",
            payment.line,
            payment.money.currency,
            output::grouped(&payment.money.to_string()),
            payment.state.in_words()
        ));
    }
    if let Some(entry) = &finding.entry {
        let named = match entry.reference.as_str() {
            "" => String::new(),
            reference => format!(", {}", output::name(reference)),
        };
        parts.push(format!(
            "statement {}: {}, {} {}{named}",
            entry.place,
            entry.day,
            entry.money.currency,
            output::grouped(&entry.money.to_string())
        ));
    }
    if finding.is_twice && finding.kind != FindingKind::TwiceThere {
        parts.push("paid twice in the statement".to_owned());
    }
    if !finding.other_lines.is_empty() {
        parts.push(format!("also {}", finding.other_lines.join(", ")));
    }
    if finding.by.is_some() {
        parts.push(finding.matched());
    }
    if finding.is_earlier {
        parts.push(format!(
            "statements that were compared before have lines about it, which count as well: {}",
            shown_lines(&finding.earlier_lines)
        ));
    }
    parts.join("; ")
}
