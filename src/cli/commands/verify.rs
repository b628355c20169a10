//! `verify`: whether the journal of a batch is what was recorded.

use serde_json::json;

use super::verify_heads;
use crate::cli::Error;
use crate::cli::arguments::VerifyArguments;
use crate::cli::exit::ExitStatus;
use crate::cli::session::{Session, batch_name};
use crate::cli::terminal::output;
use crate::cli::words::behind::warn_moved;
use crate::domain::BatchName;
use crate::journal::{ChainHead, Proof, Reader};

/// `disburse verify`.
pub(in crate::cli) fn verify(
    session: &Session,
    arguments: &VerifyArguments,
) -> Result<ExitStatus, Error> {
    let batch = batch_name(&arguments.batch)?;
    let earlier = arguments.head.as_deref();
    let earlier = earlier.map(|head| digest(head, &batch)).transpose()?;
    let reader = Reader::open(session.location()?)?;
    warn_moved(&reader)?;
    let mut proof = reader.snapshot(&batch)?.prove(earlier)?;
    let handed_over = match &arguments.heads {
        Some(path) => Some(verify_heads::compare(session, &reader, &batch, path)?),
        None => None,
    };
    if let Some(Err(findings)) = &handed_over {
        proof.findings_count += findings.len() as u64;
        proof.findings.extend(findings.iter().cloned());
    }
    if session.common.json {
        output::json(&to_json(&batch, &proof));
    } else {
        if let Some(Ok(text)) = &handed_over {
            output::line(text);
        }
        print(&proof);
    }
    if proof.is_sound() {
        return Ok(ExitStatus::Done);
    }
    Err(Error::unexpected(format!(
        "the journal of batch {batch} differs from what was recorded: {}",
        output::counted(proof.findings_count, "finding")
    ))
    .hint("keep the journal as it is and send nothing more from it; compare it with a copy, and with heads and reports \
        that were kept elsewhere"))
}

/// Reads a head as reports print it.
pub(in crate::cli) fn digest(text: &str, batch: &BatchName) -> Result<[u8; 32], Error> {
    data_encoding::HEXLOWER_PERMISSIVE
        .decode(text.trim().as_bytes())
        .ok()
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| {
            Error::refused("--head: expected 64 hexadecimal digits").hint(format!(
                "the head is printed by `disburse load`, and stands in report.json, at the foot of report.html, and in `disburse status {batch} \
                 --json`"
            ))
        })
}

/// Returns the line that says how far the evidence of a batch reaches.
pub(in crate::cli) fn head_text(head: &ChainHead) -> String {
    let rows = output::counted(head.length, "row");
    format!("evidence: {rows}, head {}", head.hex())
}

/// Returns the head for programs.
pub(in crate::cli) fn head_json(head: &ChainHead) -> serde_json::Value {
    json!({"rows": head.length, "head": head.hex()})
}

pub(super) fn print(proof: &Proof) {
    let counted = |count: u64, what: &str| output::counted(count, what);
    let mut covered = format!(
        "{} compared with their evidence, {} and {} hashed again",
        counted(proof.payments, "payment"),
        counted(proof.evidence, "evidence row"),
        counted(proof.instructions, "instruction"),
    );
    if proof.unpriced > 0 {
        covered.push_str(&format!(
            "; {} without an amount",
            counted(proof.unpriced, "row")
        ));
    }
    output::line(&covered);
    if proof.sealed > 0 {
        output::line(&format!(
            "{} had been written by an earlier release, which had no chain: a change from before this journal was \
            upgraded cannot be found",
            counted(proof.sealed, "evidence row")
        ));
    }
    if proof.signatures > 0 {
        output::line(&format!(
            "{} verified again",
            counted(proof.signatures, "signature")
        ));
    }
    if let Some(head) = &proof.head {
        output::line(&head_text(head));
    }
    if let Some(at) = proof.earlier_head_at {
        output::line(&format!(
            "the earlier head is on this chain: it is the head of the first {}",
            counted(at, "row")
        ));
    }
    for finding in &proof.findings {
        output::line(&format!("finding: {finding}"));
    }
    let hidden = proof.findings_count - proof.findings.len() as u64;
    if hidden > 0 {
        output::line(&format!("finding: and {hidden} more"));
    }
    if proof.is_sound() {
        output::line("sound: everything fits");
    }
}

pub(super) fn to_json(batch: &BatchName, proof: &Proof) -> serde_json::Value {
    json!({
        "batch": batch.as_str(),
        "sound": proof.is_sound(),
        "payments": proof.payments,
        "unpriced": proof.unpriced,
        "instructions": proof.instructions,
        "evidence": proof.head.as_ref().map(head_json),
        "evidence_hashed": proof.evidence,
        "signatures": proof.signatures,
        "evidence_of_earlier_release": proof.sealed,
        "earlier_head_at": proof.earlier_head_at,
        "findings": proof.findings,
        "findings_count": proof.findings_count,
    })
}
