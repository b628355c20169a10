//! What a run heard, on record.

use super::apply::apply;
use super::generations;
use super::inquiries;
use crate::domain::PaymentId;
use crate::journal::run::answers::as_it_counts;
use crate::journal::session::expected::{expect, in_turn};
use crate::journal::session::payments::subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, Finding, Transition};
use crate::ledger::settling::concerns_more;
use crate::lifecycle::{Event, Policy, StepContext};

/// Records findings, in order.
pub(in crate::journal) fn record(
    c: &WriteSession,
    findings: &[Finding],
    moment: StepContext,
    policy: &Policy,
) -> Result<Vec<Transition>, Error> {
    expect(c, findings.iter().map(|finding| finding.seq))?;
    // Of these much more is read: what they replace, or what replaces them.
    let seqs = findings.iter().map(|finding| finding.seq);
    let again: Vec<PaymentId> = seqs
        .filter(|seq| c.is_shared() && c.recent_order(*seq).is_none())
        .collect();
    let (mut again, mut turns) = (again.iter().peekable(), in_turn(&**c, &again));
    let mut moves = Vec::with_capacity(findings.len());
    for (index, finding) in findings.iter().enumerate() {
        if again.next_if_eq(&&finding.seq).is_some() {
            turns.next().transpose()?;
        }
        // Spread over the group: payments that were lost together are not asked about together.
        let finding = &*as_it_counts(c, finding, moment.now, policy)?;
        let jitter = moment
            .jitter
            .wrapping_add(u8::try_from(index * 37 % 251).unwrap_or(0));
        let mut subject = subject(c, finding.seq)?;
        let from = subject.moved.from;
        apply(
            c,
            &mut subject,
            finding.event,
            &finding.said,
            StepContext { jitter, ..moment },
            policy,
        )?;
        c.moved(&subject, from)?;
        if concerns_more(subject.has_generations, from, &subject.moved.life) {
            generations::settle(c, &mut subject, moment, Some(policy))?;
            if matches!(finding.event, Event::Answer(_) | Event::NoAnswer) {
                inquiries::put_off(c, finding.seq, moment, policy)?;
            }
        }
        moves.push(subject.moved);
    }
    Ok(moves)
}
