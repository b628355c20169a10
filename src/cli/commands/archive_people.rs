//! The people of archived batches, and one person who asks to be forgotten: names and numbers give way to digests in the journal.

use std::time::Duration;

use serde_json::{Value, json};

use super::archive_told::{self, Made};
use crate::cli::Error;
use crate::cli::arguments::ArchiveArguments;
use crate::cli::exit::ExitStatus;
use crate::cli::session::Session;
use crate::cli::terminal::ask::{confirmed, is_attended};
use crate::cli::terminal::output;
use crate::cli::words::corrected::masked;
use crate::cli::words::repeats;
use crate::domain::{BatchName, Country, Msisdn, Timestamp};
use crate::journal::{
    ArchivedAs, ForgetOrder, Forgotten, Journal, PaidIn, Party, Reader, RunLock, compact,
};
use crate::ledger::forgetting::{Kept, Recipient};

/// For so long rows are compared with those of a batch.
pub(super) fn window(session: &Session) -> Duration {
    repeats::of_retry(session).terms.longest()
}

/// Asks before the people of batches are forgotten. Without a terminal the answer has to be there already.
pub(super) async fn confirm(arguments: &ArchiveArguments, what: &str) -> Result<(), Error> {
    if !arguments.yes && !is_attended() {
        return Err(Error::refused(format!("not confirmed: {what}; nothing was written")).hint(
            match arguments.forget.is_some() {
                true => "add --yes",
                false => "add --yes, or keep the names in the journal with --keep-people: then the archive is written, and nothing is removed",
            },
        ));
    }
    confirmed(arguments.yes, what).await
}

/// Lets the people of a batch give way to digests, now that its archive is in its place, synced and verified.
pub(super) async fn let_go(
    session: &Session,
    (batch, made): (&BatchName, &Made),
    reason: Option<&str>,
) -> Result<Forgotten, Error> {
    let name = made.path.file_name().unwrap_or_default();
    let archive = ArchivedAs {
        name: name.to_string_lossy().into_owned(),
        digest: made.receipt.sha256.clone(),
        head: made.receipt.evidence.head.clone(),
    };
    let order = ForgetOrder {
        batch: batch.clone(),
        recipient: None,
        reason: reason.unwrap_or("archived").to_owned(),
        archive: Some(archive),
        window: window(session),
    };
    Ok(session.journal()?.forget(order, Timestamp::now()).await?)
}

/// Keeps runs away: what is posted rests on the rows of others.
pub(super) fn lock(session: &Session) -> Result<RunLock, Error> {
    let purpose = "an archive, or the forgetting of a recipient";
    Ok(RunLock::take(
        session.location()?,
        purpose,
        Timestamp::now(),
    )?)
}

/// Writes the journal's file anew, where somebody was forgotten since it was last, so that nothing of them is left in it; returns whether
/// that is so.
pub(super) fn write_anew(session: &Session) -> Result<bool, Error> {
    if !Reader::open(session.location()?)?.is_to_be_rewritten()? {
        return Ok(true);
    }
    let written = compact(session.location()?);
    if let Err(error) = &written {
        output::complain(
            "warning",
            &format!(
                "the journal's file was not written anew ({error}): unused parts of it may still hold what was removed"
            ),
        );
        output::complain(
            "hint",
            "stop everything that uses the journal (a listener, a run, a page), make sure that the disk has room for a \
            second copy of it, then: disburse archive --rewrite",
        );
    }
    Ok(written.is_ok())
}

/// `disburse archive --rewrite`.
pub(super) fn rewrite(session: &Session) -> Result<ExitStatus, Error> {
    let _lock = lock(session)?;
    compact(session.location()?)?;
    session.note("the journal's file was written anew: nothing that was removed is left in it");
    Ok(ExitStatus::Done)
}

/// Batches of one person, as far as something of them is left: those that may be forgotten, and those that stay.
type Sorted = (Vec<PaidIn>, Vec<(PaidIn, Kept)>);

/// `disburse archive --forget RECIPIENT`.
pub(super) async fn forget_one(
    session: &Session,
    recipient: &str,
    arguments: &ArchiveArguments,
) -> Result<ExitStatus, Error> {
    let reason = arguments.reason.as_deref().unwrap_or_default().trim();
    if reason.is_empty() && !arguments.dry_run {
        return Err(Error::refused("--reason is missing; nothing was changed").hint(
            "it is kept for ever: write who asked for it and when, without naming the person, as --reason \"request 2026-118\"",
        ));
    }
    let recipient = &meant(session, recipient, arguments.only.as_deref())?;
    let (batches, stay) = sorted(session, recipient)?;
    if arguments.dry_run {
        return Ok(told(session, (&batches, &stay), true));
    }
    let rows: u64 = batches.iter().map(rows_of).sum();
    if !batches.is_empty() {
        let what = format!(
            "forget this recipient in {} ({}): this journal then keeps digests instead of reference, number, account, names and narration; this cannot be undone",
            archive_told::batches(batches.len(), "finished "),
            output::counted(rows, "row")
        );
        confirm(arguments, &what).await?;
        let journal = session.journal()?;
        let lock = lock(session)?;
        for one in &batches {
            forget_in(session, &journal, one, (recipient, reason)).await?;
        }
        drop(journal);
        let is_written = write_anew(session)?;
        drop(lock);
        let status = told(session, (&batches, &stay), false);
        return Ok(match is_written {
            true => status,
            false => ExitStatus::Unfinished,
        });
    }
    Ok(told(session, (&batches, &stay), false))
}

async fn forget_in(
    session: &Session,
    journal: &Journal,
    one: &PaidIn,
    (recipient, reason): (&Recipient, &str),
) -> Result<(), Error> {
    let order = ForgetOrder {
        batch: one.batch.clone(),
        recipient: Some(recipient.clone()),
        archive: None,
        reason: reason.to_owned(),
        window: window(session),
    };
    journal.forget(order, Timestamp::now()).await?;
    Ok(())
}

/// Recipients that are listed where a text may mean several.
const LISTED: usize = 20;

/// Finds out who is meant by a number or an account as a person writes it: a number within its country is one of a country of the
/// rows, or of the configuration. What may mean two is refused, as nothing that was forgotten comes back.
fn meant(session: &Session, text: &str, only: Option<&str>) -> Result<Recipient, Error> {
    let reader = Reader::open(session.location()?)?;
    let settings = session.settings(false, Vec::new()).ok();
    let of_none = settings.and_then(|settings| settings.profile.country_code);
    let mut countries: Vec<Country> = reader.countries()?;
    countries.extend(of_none);
    countries.dedup();
    let mut any = Recipient {
        of_none,
        ..Recipient::written(text)
    };
    for country in countries {
        if let Ok(number) = Msisdn::parse(text, country) {
            any = any.or(Recipient::number(&number, country));
        }
    }
    let parties = reader.parties(&any)?;
    let word = one_of(&parties, only)?;
    Ok(Recipient {
        only: Some(word),
        ..any
    })
}

/// Returns the word of the one recipient that is meant.
fn one_of(parties: &[Party], only: Option<&str>) -> Result<String, Error> {
    let is_it =
        |party: &&Party| only.is_some_and(|word| party.word.eq_ignore_ascii_case(word.trim()));
    let refusal = match (parties, only) {
        // Whom it would name is in no message: errors are kept in logs of jobs.
        ([], _) => return Err(Error::refused("no row of this journal pays this recipient").hint("write the number with \
            its country code, as 254712345678, or the account as in its rows: payments.csv of `disburse report BATCH \
            --out FOLDER` has both. Somebody who was forgotten already is not found again")),
        ([one], None) => return Ok(one.word.clone()),
        (several, None) => format!(
            "the number or account may mean {} recipients; nobody was forgotten",
            several.len()
        ),
        (some, Some(_)) => match some.iter().find(is_it) {
            Some(one) => return Ok(one.word.clone()),
            None => "--only names none of the recipients that the number or account may mean; nobody was forgotten".to_owned(),
        },
    };
    let error = Error::refused(refusal)
        .hint("find the one you mean in this list, and give the same command with its --only; a command forgets one \
            recipient");
    let error = parties
        .iter()
        .take(LISTED)
        .fold(error, |error, party| error.hint(told_apart(party)));
    Err(match parties.len() > LISTED {
        true => error.hint(
            "and others: give the account or number exactly as the rows of the recipient have it",
        ),
        false => error,
    })
}

/// Says what tells one recipient from others whose number is written alike, and how it is named.
fn told_apart(party: &Party) -> String {
    let account = masked(&party.account);
    let country = match party.country.as_str() {
        "" => String::new(),
        country => format!(" of {}", output::name(country)),
    };
    let what = match (party.is_number, party.bank.as_str()) {
        (true, _) => format!("the number {account}{country}"),
        (false, "") => format!(
            "the account {account} of service {}{country}",
            output::name(&party.service)
        ),
        (false, bank) => format!(
            "the account {account} at bank {}{country}",
            output::name(bank)
        ),
    };
    let characters = output::counted(party.account.chars().count() as u64, "character");
    let zeros = party.account.chars().take_while(|c| *c == '0').count() as u64;
    let zeros = match zeros {
        0 => "no zero in front".to_owned(),
        zeros => format!("{} in front", output::counted(zeros, "zero")),
    };
    let batches: Vec<String> = party
        .paid_in
        .iter()
        .take(LISTED)
        .map(|one| {
            format!(
                "{} of batch {}",
                output::counted(rows_of(one), "row"),
                one.batch
            )
        })
        .collect();
    let more = match party.paid_in.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(", and of {more} other batches"),
    };
    format!(
        "--only {}: {what} ({characters}, {zeros}): {}{more}",
        party.word,
        batches.join(", ")
    )
}

/// Finds the batches that name a recipient. What does not verify is not touched: leaves would be made of what somebody has edited.
fn sorted(session: &Session, recipient: &Recipient) -> Result<Sorted, Error> {
    let reader = Reader::open(session.location()?)?;
    let (window, now) = (window(session), Timestamp::now());
    let (mut batches, mut stay) = (Vec::new(), Vec::new());
    for one in reader.paid_in(recipient)? {
        let snapshot = reader.snapshot(&one.batch)?;
        if let Some(why) = snapshot.kept(window, now)? {
            stay.push((one, why));
            continue;
        }
        let proof = snapshot.prove(None)?;
        if !proof.is_sound() {
            return Err(Error::refused(format!(
                "the journal of batch {} differs from what was recorded; nobody was forgotten",
                one.batch
            ))
            .hint(format!("see what `disburse verify {}` finds", one.batch)));
        }
        batches.push(one);
    }
    Ok((batches, stay))
}

fn rows_of(one: &PaidIn) -> u64 {
    one.rows.payments + one.rows.rejected
}

fn told(
    session: &Session,
    (batches, stay): (&[PaidIn], &[(PaidIn, Kept)]),
    dry_run: bool,
) -> ExitStatus {
    let status = match stay.is_empty() || dry_run {
        true => ExitStatus::Done,
        false => ExitStatus::Unfinished,
    };
    if session.common.json {
        output::json(&to_json(batches, stay, dry_run));
        return status;
    }
    let verb = if dry_run {
        "would be forgotten"
    } else {
        "forgotten"
    };
    for one in batches {
        let rows = output::counted(rows_of(one), "row");
        output::line(&format!("batch {}: {rows} {verb}", one.batch));
    }
    for (one, why) in stay {
        let rows = rows_of(one);
        let stay = if rows == 1 { "stays" } else { "stay" };
        let rows = output::counted(rows, "row");
        let told = why.in_words(&session.zone(false));
        output::line(&format!("batch {}: {rows} {stay}: {told}", one.batch));
        session.note(&format!("  {}", why.hint(one.batch.as_str())));
    }
    if !dry_run && !batches.is_empty() {
        session.note(
            "backups, archives, reports and the files that were loaded still have this recipient: remove them yourself",
        );
    }
    status
}

fn to_json(batches: &[PaidIn], stay: &[(PaidIn, Kept)], dry_run: bool) -> Value {
    let figures = |one: &PaidIn| json!({"batch": one.batch.as_str(), "payments": one.rows.payments, "rejected": one.rows.rejected});
    let stay = stay.iter().map(|(one, why)| {
        let mut value = figures(one);
        value["why"] = why.to_string().into();
        value["hint"] = why.hint(one.batch.as_str()).into();
        value
    });
    json!({
        "dry_run": dry_run,
        "forgotten": batches.iter().map(figures).collect::<Vec<_>>(),
        "stay": stay.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn party(word: &str, account: &str, bank: &str) -> Party {
        Party {
            word: word.to_owned(),
            account: account.to_owned(),
            is_number: bank.is_empty(),
            bank: bank.to_owned(),
            service: "BANK".to_owned(),
            country: "KE".to_owned(),
            paid_in: vec![PaidIn {
                batch: BatchName::parse("june").unwrap(),
                rows: Forgotten {
                    payments: 1,
                    rejected: 1,
                },
            }],
        }
    }

    #[test]
    fn one_recipient_is_meant_or_whoever_may_be_is_listed() {
        let all = [
            party("AAAA", "0011223344", "01"),
            party("BBBB", "11223344", "01"),
            party("CCCC", "254711223344", ""),
        ];
        let found = |parties: &[Party], only| one_of(parties, only).ok();
        for (parties, only, expected) in [
            (&all[..], None, None),
            (&all[..1], None, Some("AAAA")),
            (&all[..], Some(" bbbb"), Some("BBBB")),
            (&all[..], Some("DDDD"), None),
            // A word that is wrong is wrong, even where there is only one.
            (&all[..1], Some("BBBB"), None),
            (&all[..0], None, None),
            (&all[..0], Some("AAAA"), None),
        ] {
            assert_eq!(found(parties, only).as_deref(), expected, "{only:?}");
        }
        let told: Vec<String> = all.iter().map(told_apart).collect();
        assert_eq!(
            told,
            [
                "--only AAAA: the account ******3344 at bank 01 of KE (10 characters, 2 zeros in front): 2 rows of batch june",
                "--only BBBB: the account ****3344 at bank 01 of KE (8 characters, no zero in front): 2 rows of batch june",
                "--only CCCC: the number ********3344 of KE (12 characters, no zero in front): 2 rows of batch june",
            ]
        );
    }
}
