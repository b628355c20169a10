//! `archive`: finished batches go to files of their own.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::archive_people;
use super::archive_read;
use super::archive_told::{self, Chosen, Made, Stay};
use super::{report, status};
use crate::cli::Error;
use crate::cli::archive::checked::{Checked, over};
use crate::cli::archive::encryption::Encryption;
use crate::cli::archive::manifest::Manifest;
use crate::cli::archive::names::{
    self, HEADS, HEADS_SIGNATURE, JOURNAL, MANIFEST, README, REPORT, is_plain,
};
use crate::cli::archive::pack::{Packer, digest_of};
use crate::cli::archive::receipt::Receipt;
use crate::cli::archive::{people_signed, readme};
use crate::cli::arguments::{ArchiveArguments, ArchiveCommand};
use crate::cli::config::Settings;
use crate::cli::exit::ExitStatus;
use crate::cli::files::scratch::{Scratch, Use};
use crate::cli::session::{Session, batch_name};
use crate::cli::signing::SigningKey;
use crate::cli::terminal::output;
use crate::cli::words::next::rule_of_now;
use crate::domain::{BatchName, Timestamp};
use crate::journal::{CopiedBatch, FileOnly, Forgotten, Reader, Standing, copy_batch};
use crate::ledger::Purpose;
use crate::ledger::archive::{Facts, Wanted, days, judge};
use crate::ledger::heads::{self, BatchHead};
use crate::lifecycle::State;

/// `disburse archive`.
pub(in crate::cli) async fn archive(
    session: &Session,
    arguments: ArchiveArguments,
) -> Result<ExitStatus, Error> {
    if let Some(ArchiveCommand::Read(read)) = arguments.command {
        return archive_read::read(session, read).await;
    }
    if arguments.rewrite {
        return archive_people::rewrite(session);
    }
    if let Some(recipient) = &arguments.forget {
        return archive_people::forget_one(session, recipient, &arguments).await;
    }
    session.location()?.file_for(FileOnly::Archive)?;
    let older_than = arguments.older_than.as_deref().map(days).transpose();
    let older_than = older_than
        .map_err(|what| Error::refused(format!("--older-than: {what}; nothing was written")))?;
    let settings = session.settings(false, Vec::new())?;
    let encryption = Encryption::of(&arguments.to, &settings.archive)?;
    let reader = Reader::open(session.location()?)?;
    let wanted = Wanted {
        is_named: !arguments.batches.is_empty(),
        older_than,
    };
    let keeps = arguments.keep_people;
    let (chosen, stays) = choose(session, &reader, (&arguments.batches, wanted), keeps)?;
    if wanted.is_named && !stays.is_empty() {
        return Err(archive_told::refusal(session, &stays));
    }
    if let Some(text) = archive_told::never_again(&chosen).filter(|_| !keeps) {
        output::complain("warning", &text);
    }
    let out = match (&arguments.out, arguments.dry_run) {
        (Some(out), false) => out,
        (out, _) => {
            let encrypted = encryption.is_some();
            archive_told::planned(
                session,
                &reader,
                (&chosen, &stays),
                (out.as_deref(), encrypted),
            )?;
            return Ok(ExitStatus::Done);
        }
    };
    if let Some(encryption) = encryption.as_ref().filter(|_| !chosen.is_empty()) {
        encryption.try_out()?;
    }
    if !keeps && !chosen.is_empty() {
        archive_people::confirm(&arguments, &question(&chosen, out)).await?;
    }
    // Nothing is written where the people could not be let go of afterwards.
    let _lock = match keeps || chosen.is_empty() {
        true => None,
        false => Some(archive_people::lock(session)?),
    };
    drop(reader);
    let place = Place {
        out,
        encryption: encryption.as_ref(),
        settings: &settings,
    };
    let made = make_all(session, &chosen, &place, &arguments).await?;
    let is_written = keeps || archive_people::write_anew(session)?;
    archive_told::end(session, &made, &stays);
    Ok(match is_written {
        true => ExitStatus::Done,
        false => ExitStatus::Unfinished,
    })
}

/// Makes one archive after the other, and lets go of the people of each.
async fn make_all(
    session: &Session,
    chosen: &[Chosen],
    place: &Place<'_>,
    arguments: &ArchiveArguments,
) -> Result<Vec<(Made, Option<Forgotten>)>, Error> {
    let keeps = arguments.keep_people;
    let mut made = Vec::new();
    for one in chosen {
        let archive = make(session, one, place).await?;
        if !keeps && !archive.is_new && archive.receipt.plain_sha256.is_some() {
            return Err(unseen(&archive.path));
        }
        if !session.common.json {
            archive_told::made(&archive);
        }
        let forgotten = match keeps {
            true => None,
            false => {
                let reason = arguments.reason.as_deref();
                Some(archive_people::let_go(session, (&one.batch, &archive), reason).await?)
            }
        };
        archive_told::people(session, &archive.receipt, forgotten);
        made.push((archive, forgotten));
    }
    Ok(made)
}

fn question(chosen: &[Chosen], out: &Path) -> String {
    let rows = chosen.iter().map(|one| one.standing.total().count).sum();
    format!(
        "archive {} ({}) into {}; this journal then keeps digests instead of the names, numbers, accounts, narrations and references; this cannot be undone",
        archive_told::batches(chosen.len(), ""),
        output::counted(rows, "row"),
        output::name(&out.display().to_string())
    )
}

/// Judges batches by what the journal has of each.
fn choose(
    session: &Session,
    reader: &Reader,
    (named, wanted): (&[String], Wanted),
    keeps_people: bool,
) -> Result<(Vec<Chosen>, Vec<Stay>), Error> {
    let mut batches: Vec<BatchName> = match named {
        [] => reader.batches()?,
        named => named
            .iter()
            .map(|name| batch_name(name))
            .collect::<Result<_, _>>()?,
    };
    batches.dedup();
    let now = Timestamp::now();
    let lost = reader.orders_lost()?;
    let is_recovering = reader.missed()?.is_some() || lost.count > 0 || lost.unknown;
    let newest = reader.newest_evidence()?;
    let (mut chosen, mut stays) = (Vec::new(), Vec::new());
    for batch in batches {
        let snapshot = reader.snapshot(&batch)?;
        let standing = snapshot.standing()?;
        let record = snapshot.record()?;
        let rule = rule_of_now(session, standing.purpose);
        let newest = newest.get(&batch).copied().unwrap_or(record.created_at);
        let facts = Facts {
            inquiries: snapshot.inquiries()?,
            orders: snapshot.orders_waiting(rule, now)?.len() as u64,
            is_recovering,
            is_forgotten: snapshot.is_forgotten()?,
            people: match keeps_people {
                true => None,
                false => snapshot.kept(archive_people::window(session), now)?,
            },
            newest,
            ..of_standing(&standing)
        };
        match judge(&facts, wanted, now) {
            Ok(()) => chosen.push(Chosen {
                batch,
                first_load: record.created_at,
                newest,
                standing,
            }),
            Err(why) => stays.push((batch, standing.purpose, why)),
        }
    }
    Ok((chosen, stays))
}

/// What a standing says of a batch.
fn of_standing(standing: &Standing) -> Facts {
    let open = standing.rows.iter().filter(|row| !row.state.is_finished());
    Facts {
        open: open.map(|row| row.tally.count).sum(),
        unpriced: standing.unpriced,
        conflicts: standing.of(State::Conflict).count,
        rejected: standing.rejected.count,
        waiting: standing.waiting_count.saturating_sub(standing.doubtful),
        is_rehearsal: standing.purpose == Purpose::Rehearsal,
        ..Facts::default()
    }
}

/// Where archives go, and how.
struct Place<'a> {
    out: &'a Path,
    encryption: Option<&'a Encryption>,
    settings: &'a Settings,
}

impl Place<'_> {
    fn failed(&self, error: &io::Error) -> Error {
        let folder = output::name(&self.out.display().to_string());
        Error::unexpected(format!(
            "the archive cannot be written into {folder}: {error}; nothing of it was left there"
        ))
        .hint("make room there, or name another folder with --out, and run the same command again")
    }
}

/// Makes the archive of one batch, or finds that it is there.
async fn make(session: &Session, one: &Chosen, place: &Place<'_>) -> Result<Made, Error> {
    let is_encrypted = place.encryption.is_some();
    let name = names::of_archive(&one.batch, (one.first_load, one.newest), is_encrypted);
    let path = place.out.join(&name);
    if path.symlink_metadata().is_ok() {
        return there_already(one, path, is_encrypted);
    }
    let failed = |error: io::Error| place.failed(&error);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(place.out)
        .map_err(failed)?;
    let scratch = Scratch::beside(place.out, Use::Archive)
        .map_err(failed)?
        .until_ended();
    let plain = packed(session, one, (place, &scratch)).await?;
    let mut file = plain.reopen().map_err(failed)?;
    let shown = output::name(&name);
    let manifest = {
        let checked = Checked::open(&shown, &mut file, Some(scratch.path()))?;
        if let Some(what) = unlike(one, &checked) {
            return Err(Error::unexpected(format!(
                "the archive of batch {} was read back, and differs from what was written: {what}; it was removed",
                one.batch
            )));
        }
        checked.manifest
    };
    let plain_digest = digest_of(&mut file).map_err(failed)?;
    let (kept, digest, plain_sha256) = match place.encryption {
        None => (plain, plain_digest, None),
        Some(encryption) => {
            let sealed = NamedTempFile::new_in(scratch.path()).map_err(failed)?;
            let mut out = sealed.reopen().map_err(failed)?;
            encryption.encrypt(&file, &mut out)?;
            let digest = digest_of(&mut out).map_err(failed)?;
            (sealed, digest, Some(plain_digest.0))
        }
    };
    let receipt = Receipt::of(&name, digest, plain_sha256, &manifest);
    #[cfg(debug_assertions)]
    crate::failpoints::pass("archive-before-name");
    receipt.put(&path, scratch.path()).map_err(failed)?;
    #[cfg(debug_assertions)]
    crate::failpoints::pass("archive-receipt");
    match kept.persist_noclobber(&path) {
        Ok(_) => {}
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(taken(&path));
        }
        Err(error) => return Err(failed(error.error)),
    }
    File::open(place.out)
        .and_then(|folder| folder.sync_all())
        .map_err(failed)?;
    Ok(Made {
        path,
        receipt,
        is_new: true,
    })
}

/// Returns what of an archive that was read back is not what was to be written.
fn unlike(one: &Chosen, checked: &Checked) -> Option<String> {
    let [is, was] =
        [&checked.standing, &one.standing].map(|standing| status::to_json(&one.batch, standing));
    let differs = ["batch", "count", "amounts", "states"]
        .into_iter()
        .find(|key| is[key] != was[key])
        .map(|key| format!("its {key} are not those of the journal"));
    let is_same_head = checked.standing.evidence == one.standing.evidence;
    differs
        .or_else(|| (!is_same_head).then(|| "its evidence has another head".to_owned()))
        .or_else(|| checked.proof.findings.first().cloned())
}

/// Copies a batch, proves the copy, writes its report, and packs both.
async fn packed(
    session: &Session,
    one: &Chosen,
    (place, scratch): (&Place<'_>, &Scratch),
) -> Result<NamedTempFile, Error> {
    let failed = |error: io::Error| place.failed(&error);
    let journal = scratch.path().join(JOURNAL);
    let copied = copy_batch(session.location()?, &one.batch, &journal)?;
    if copied.head != one.standing.evidence {
        return Err(Error::unfinished(format!(
            "something was recorded of batch {} while it was archived; no archive of it was written",
            one.batch
        ))
        .hint("run the same command again"));
    }
    let (reader, batch) = Reader::of_archive(&journal)?;
    let proof = reader.snapshot(&batch)?.prove(None)?;
    if !proof.is_sound() {
        return Err(Error::unexpected(format!(
            "the journal of batch {batch} differs from what was recorded ({}); no archive of it was written",
            output::counted(proof.findings_count, "finding")
        ))
        .hint(format!("see what `disburse verify {batch}` finds")));
    }
    let folder = scratch.folder(REPORT).map_err(failed)?;
    let mut own = over(session, &journal);
    own.common.quiet = true;
    let written = report::write_for(&own, &batch, (&folder, Path::new(REPORT)), false).await?;
    if !written.reconciliation.adds_up() {
        return Err(Error::unexpected(format!(
            "the report of batch {batch} does not add up to the control totals; no archive of it was written"
        ))
        .hint(format!("see what `disburse report {batch} --out reports/{batch}` says")));
    }
    let plain = NamedTempFile::new_in(scratch.path()).map_err(failed)?;
    let mut packer = Packer::new(plain.reopen().map_err(failed)?);
    let mut manifest = Manifest::of(&reader, &batch, Timestamp::now())?;
    let mut add = |name: &str, input: &mut dyn io::Read| packer.add(name, input).map_err(failed);
    add(README, &mut readme::text(&manifest).as_bytes())?;
    for (name, path) in files_of(&folder).map_err(failed)? {
        add(
            &format!("{REPORT}/{name}"),
            &mut File::open(path).map_err(failed)?,
        )?;
    }
    add(JOURNAL, &mut File::open(&journal).map_err(failed)?)?;
    for (name, text) in heads_of(one, &copied, place.settings)? {
        add(name, &mut text.as_bytes())?;
    }
    people_signed::add(&mut packer, &reader.snapshot(&batch)?)?;
    manifest.members = std::mem::take(&mut packer.members);
    packer
        .add(MANIFEST, &*manifest.to_bytes())
        .map_err(failed)?;
    packer.finish().map_err(failed)?;
    drop(reader);
    // What is packed need not lie there twice while it is read back.
    let _ = fs::remove_file(&journal).and_then(|()| fs::remove_dir_all(&folder));
    Ok(plain)
}

/// Returns the files of a report by their names below its folder, in an order that is always the same. Its own list is none of them.
fn files_of(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    let mut folders = vec![(String::new(), folder.to_owned())];
    while let Some((below, folder)) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !is_plain(&name) {
                continue;
            }
            let name = format!("{below}{name}");
            match entry.file_type()?.is_dir() {
                true => folders.push((format!("{name}/"), entry.path())),
                false => found.push((name, entry.path())),
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns how far the evidence reaches, signed where a key for that is configured.
fn heads_of(
    one: &Chosen,
    copied: &CopiedBatch,
    settings: &Settings,
) -> Result<Vec<(&'static str, String)>, Error> {
    let head = BatchHead {
        batch: one.batch.to_string(),
        rows: copied.head.length,
        head: copied.head.hash,
    };
    let text = heads::to_text(&copied.journal, Timestamp::now(), &[head]);
    let mut found = Vec::new();
    let is_rehearsal = one.standing.purpose == Purpose::Rehearsal;
    if let Some(evidence) = settings.evidence.as_ref().filter(|_| !is_rehearsal) {
        let key = SigningKey::open(&evidence.key_file)?;
        let signature = key.sign(
            &text,
            "name the key that signs the heads in evidence.key_file; ssh-keygen must be able to use it without a person",
        )?;
        found.push((HEADS_SIGNATURE, signature));
    }
    found.push((HEADS, text));
    Ok(found)
}

/// Takes an archive that is there for the one that is asked for, when it is of the batch as it stands.
fn there_already(one: &Chosen, path: PathBuf, is_encrypted: bool) -> Result<Made, Error> {
    let receipt = Receipt::read(&path)?;
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    let file = File::open(&path);
    let (Some(receipt), true, Ok(mut file)) = (receipt, is_file, file) else {
        return Err(taken(&path));
    };
    let digest = digest_of(&mut file)
        .map_err(|error| Error::refused(format!("{}: {error}", path.display())))?;
    let content = match is_encrypted {
        // Its content is for others to read.
        true => None,
        false => {
            let shown = output::name(&path.display().to_string());
            Some(Checked::open(&shown, &mut file, None)?)
        }
    };
    let of_receipt = receipt.batch == one.batch.as_str()
        && receipt.evidence.head == one.standing.evidence.hex()
        && (&receipt.sha256, receipt.bytes) == (&digest.0, digest.1);
    let of_content = content.is_none_or(|content| unlike(one, &content).is_none());
    match of_receipt && of_content {
        true => Ok(Made {
            path,
            receipt,
            is_new: false,
        }),
        false => Err(taken(&path)),
    }
}

/// Nobody here can look into it, and what the journal forgets would be in it alone.
fn unseen(path: &Path) -> Error {
    let name = output::name(&path.display().to_string());
    Error::refused(format!(
        "{name}: exists already, and is encrypted: it cannot be checked here whether it holds what the journal would \
        forget; nobody was forgotten"
    ))
    .hint("move it away with its receipt, and run the same command again, which makes a new one; or read it yourself, \
        and keep the people in the journal with --keep-people")
}

fn taken(path: &Path) -> Error {
    let name = output::name(&path.display().to_string());
    Error::refused(format!(
        "{name}: exists already, and is not the archive of the batch as it stands, or its receipt ({name}.json) is missing or of another one; it is not written over"
    ))
    .hint("look at what it is, and move it away; or name another folder with --out")
}
