//! `verify --heads`: the heads that were handed over at the end of runs, held against the chain of a batch.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::cli::Error;
use crate::cli::session::Session;
use crate::cli::signing::{SigningKey, read_short};
use crate::cli::terminal::output;
use crate::domain::BatchName;
use crate::journal::Reader;
use crate::ledger::heads::{self, FILE_MAX, SignedHeads};

/// Compares every head of a batch in a file with its chain; returns what to print, or what does not fit.
pub(super) fn compare(
    session: &Session,
    reader: &Reader,
    batch: &BatchName,
    path: &Path,
) -> Result<Result<String, Vec<String>>, Error> {
    let shown = output::name(&path.display().to_string());
    let file = read_short(path, FILE_MAX, "heads")?
        .ok_or_else(|| Error::refused(format!("heads {shown}: there is no such file")))?;
    let signed = heads::read(&file).map_err(|(line, what)| {
        Error::refused(format!("heads {shown}:{line}: {what}"))
            .hint("it was changed since it was handed over: take it from where it is kept")
    })?;
    let trusted = session.settings(false, Vec::new()).ok();
    let trusted = trusted
        .as_ref()
        .and_then(|settings| settings.evidence.as_ref());
    let trusted = trusted
        .map(|evidence| SigningKey::open(&evidence.key_file))
        .transpose()?;
    let mut findings = Vec::new();
    let mut known: BTreeMap<[u8; 32], u64> = BTreeMap::new();
    for SignedHeads { at, key, heads } in &signed {
        if trusted
            .as_ref()
            .is_some_and(|trusted| trusted.public != *key)
        {
            findings.push(format!(
                "the heads of {at} are signed by another key ({}) than evidence.key_file",
                key.fingerprint()
            ));
        }
        for head in heads.iter().filter(|head| head.batch == batch.as_str()) {
            known.insert(head.head, head.rows);
        }
    }
    if known.is_empty() {
        return Err(Error::refused(format!(
            "heads {shown}: batch {batch} is not in it"
        )));
    }
    for (head, rows) in &known {
        let proof = reader.snapshot(batch)?.walked(*head)?;
        if proof.earlier_head_at != Some(*rows) {
            findings.push(format!(
                "the head {} of {} that was handed over is not on the chain: the evidence was changed or cut off since",
                data_encoding::HEXLOWER.encode(head),
                output::counted(*rows, "row")
            ));
        }
    }
    let keys: BTreeSet<String> = signed
        .iter()
        .map(|signed| signed.key.fingerprint())
        .collect();
    let whose = match trusted {
        Some(_) => "by evidence.key_file".to_owned(),
        // Anybody can sign with some key: whoever reads this has to know it.
        None => format!(
            "by {}: this configuration has no evidence.key_file to tell whether that is the key of the runs; compare \
            it yourself",
            keys.into_iter().collect::<Vec<_>>().join(" and ")
        ),
    };
    Ok(match findings.is_empty() {
        true => Ok(format!(
            "{} handed over, and on the chain; signed {whose}",
            match known.len() {
                1 => "1 head was".to_owned(),
                many => format!("{} were", output::counted(many as u64, "head")),
            }
        )),
        false => Err(findings),
    })
}
