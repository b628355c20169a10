//! `load`, and the loading that `check` and `pay` share.

use super::load_told::{AsLoaded, tell_loaded, tell_new, tell_reading};
use std::path::Path;

use super::approve::Desk;
use super::bills::{self, Told};
use super::networks;
use super::recover;
use crate::cli::Error;
use crate::cli::actor::actor;
use crate::cli::arguments::FileArguments;
use crate::cli::arguments::{LoadArguments, LoadOptions, OnError};
use crate::cli::commands::schedule;
use crate::cli::config::Settings;
use crate::cli::exit::ExitStatus;
use crate::cli::files::aside::{self, Aside};
use crate::cli::files::declared::declared_total;
use crate::cli::files::input::{Input, Pending};
use crate::cli::files::reading::Reading;
use crate::cli::gateway;
use crate::cli::session::{Session, batch_name, sandbox_flag};
use crate::cli::terminal::output;
use crate::cli::words::limits;
use crate::cli::words::next::{next_step, next_text};
use crate::cli::words::refused::refused;
use crate::cli::words::repeats;
use crate::domain::{BatchName, Originator, Timestamp};
use crate::journal::{
    Journal, LoadPlan, LoadRefusal, LoadSummary, Loaded, Location, Reader, RunLock,
};
use crate::ledger::calendar::BatchDates;
use crate::ledger::pin::Destination;
use crate::ledger::recovery::Cause;
use crate::ledger::{Before, Purpose};

/// `disburse load`.
pub(in crate::cli) async fn load(
    session: &Session,
    arguments: LoadArguments,
) -> Result<ExitStatus, Error> {
    let mut settings = settings(session, &arguments)?;
    let purpose = Purpose::of_command(arguments.sandbox);
    let plan = LoadPlan {
        new_documents: arguments.new_documents,
        ..plan(
            session,
            &arguments.file,
            &arguments.options,
            &settings,
            purpose,
        )?
    };
    let input = Input::open(&arguments.file, &settings)?
        .presuming_posted(arguments.options.presume_posted)
        .setting_aside(plan.skip_bad_rows.then_some(&plan.batch));
    let (name, total_waits) = (plan.batch.clone(), plan.expect_total.is_some());
    let destination = plan.destination.clone();
    let is_missed = plan.amend && !is_there(session, &name);
    if arguments.options.lookup {
        networks::check_new(session, &input, &plan, arguments.sandbox).await?;
    }
    let (journal, mut summary, fresh) = open_and_load(session, &input, plan).await?;
    let told = match arguments.bills {
        true => {
            let place = bills::Place {
                session,
                settings: &mut settings,
                journal: &journal,
                batch: &name,
                file: &input.name,
            };
            bills::load(place, arguments.sandbox).await?
        }
        false => Told::default(),
    };
    told.complete(&mut summary);
    let standing = journal.standing(name.clone()).await?;
    let is_over = standing.is_finished();
    tell_rules(
        session,
        &settings,
        &journal,
        (&name, purpose),
        (&summary, standing.dates, is_over),
    )?;
    let loaded = AsLoaded {
        batch: &name,
        fresh,
        total_waits,
        bills: arguments.bills.then_some(&told),
        new_documents: arguments.new_documents,
    };
    tell_loaded(session, &loaded, &summary, &standing.evidence);
    tell_missed(session, &name, is_missed);
    let goes_on =
        is_over || tell_destination(session, &journal, &name, destination.as_ref()).await?;
    let desk = Desk::of(session, &settings, &journal, (&name, purpose))?;
    let options = arguments.options;
    desk.sign_load(options.sign_key, options.sign_as).await?;
    if goes_on {
        // What its signatures lack is known now.
        tell_next(session, &journal, &name, (fresh, is_over)).await?;
    }
    Ok(ExitStatus::Done)
}

/// Reads the settings of a load; what it will need of a gateway is looked for before anything is loaded.
fn settings(session: &Session, arguments: &LoadArguments) -> Result<Settings, Error> {
    let overrides = vec![("service_code", arguments.file.service.clone())];
    let settings = session.settings(arguments.sandbox, overrides)?;
    if arguments.bills && !arguments.sandbox {
        // Without a gateway nobody knows the bills.
        settings.gateway()?;
    } else {
        // Better told now than when the batch is to be paid.
        settings.look_for_password()?;
    }
    Ok(settings)
}

/// Says of rows that were to be added to a batch that there was none.
fn tell_missed(session: &Session, batch: &BatchName, is_missed: bool) {
    if is_missed {
        session.note(&format!(
            "batch {batch} is new: there was none of this name that the rows could be added to"
        ));
    }
}

/// Says where the batch goes: a run to another gateway or account is refused. Who adds to it may have chosen another profile: returns
/// whether the batch goes on with this one.
async fn tell_destination(
    session: &Session,
    journal: &Journal,
    batch: &BatchName,
    configured: Option<&Destination>,
) -> Result<bool, Error> {
    let Some(meant) = journal.place(batch.clone()).await? else {
        return Ok(true);
    };
    match configured {
        Some(to) if !meant.may_be(to) => {
            output::complain(
                "warning",
                &format!(
                    "batch {batch} is to be paid by {meant}: this command is configured for {to}, with which it is not run"
                ),
            );
            Ok(false)
        }
        Some(_) => {
            session.note(&format!("batch {batch} is to be paid by {meant}"));
            Ok(true)
        }
        None => Ok(true),
    }
}

/// Notes the one step that is next with a batch. A program reads what was loaded, and its log says what keeps it.
async fn tell_next(
    session: &Session,
    journal: &Journal,
    batch: &BatchName,
    (fresh, is_over): (bool, bool),
) -> Result<(), Error> {
    if session.common.json {
        if let (Some(why), next) = next_step(session, batch)?
            && !is_over
        {
            session.note(&format!("{why}\nnext: {next}"));
        }
        return Ok(());
    }
    if !fresh && note_if_cancelled(session, journal, batch).await? {
        return Ok(());
    }
    session.note(&match is_over {
        true => format!(
            "nothing of it is left to be sent; disburse status {batch} shows what became of it"
        ),
        false => next_text(session, batch)?,
    });
    Ok(())
}

/// Notes what of a file waits for a limit, for the dates of its batch or for its service to open.
fn tell_rules(
    session: &Session,
    settings: &Settings,
    journal: &Journal,
    (batch, purpose): (&BatchName, Purpose),
    (summary, dates, is_over): (&LoadSummary, BatchDates, bool),
) -> Result<(), Error> {
    if !is_over {
        let at = journal.location();
        limits::tell_ahead(session, settings, (at, batch), Some(at))?;
    }
    schedule::tell_time(session, settings, (summary, dates), (batch, purpose))
}

/// Returns whether the journal has a batch of this name.
pub(in crate::cli) fn is_there(session: &Session, batch: &BatchName) -> bool {
    let has_it =
        |at: &Location| Reader::open(at).is_ok_and(|reader| reader.snapshot(batch).is_ok());
    session
        .location()
        .is_ok_and(|at| at.is_there() && has_it(at))
}

fn now() -> Timestamp {
    #[cfg(debug_assertions)]
    let past = crate::failpoints::days_ago() * 24 * 60 * 60 * 1000;
    #[cfg(not(debug_assertions))]
    let past = 0;
    Timestamp::from_millis(Timestamp::now().as_millis() - past)
}

/// Makes the plan of a load from its options.
pub(in crate::cli) fn plan(
    session: &Session,
    file: &FileArguments,
    options: &LoadOptions,
    settings: &Settings,
    purpose: Purpose,
) -> Result<LoadPlan, Error> {
    if options.allow_same_content && purpose != Purpose::Rehearsal {
        output::complain(
            "warning",
            "--allow-same-content allows nothing any more: what was loaded within repeats.window is refused unless --allow-repeats names it",
        );
    }
    let batch = batch_name(&options.batch)?;
    let dates = schedule::dates(&options.dates, settings, is_there(session, &batch))?;
    Ok(LoadPlan {
        purpose,
        batch,
        originator: settings.originator()?.clone(),
        form: settings.dialect.dialect.identifiers.clone(),
        source: String::new(),
        layout: None,
        is_ours: false,
        now: now(),
        amend: options.amend,
        allow_equal_rows: file.allow_equal_rows,
        repeats: repeats::plan(
            settings,
            purpose == Purpose::Rehearsal,
            options.allow_repeats.clone(),
            file.period.is_some(),
        ),
        skip_bad_rows: options.on_error == OnError::Skip,
        presume_posted: options.presume_posted,
        expect_count: file.expect_count,
        expect_total: match &file.expect_total {
            Some(text) => Some(declared_total(text, settings)?),
            None => None,
        },
        batch_ceilings: settings.limits.limits.batch.clone(),
        new_documents: false,
        dates,
        destination: match purpose {
            Purpose::Rehearsal => None,
            Purpose::Gateway | Purpose::Unknown => gateway::destination(settings),
        },
        approval: settings.approval_of_load()?,
        dry_run: false,
    })
}

/// Opens the journal and loads the file. A file that is refused leaves no new journal behind.
pub(in crate::cli) async fn open_and_load(
    session: &Session,
    input: &Input,
    plan: LoadPlan,
) -> Result<(Journal, LoadSummary, bool), Error> {
    let at = session.location()?;
    if let Some(path) = at.file() {
        crate::journal::refuse_reserved(path)?;
        aside::remove_leftovers(path);
    }
    match at {
        Location::File(path) if !at.is_there() => load_anew(session, path, input, plan).await,
        Location::File(path) if is_blank(path) => Err(blank(path)),
        _ => load_beside(session, at, input, plan).await,
    }
}

/// Returns whether a file is empty. No load leaves one: it is what is left of a journal, or was never one.
fn is_blank(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|found| found.is_file() && found.len() == 0)
}

fn blank(path: &Path) -> Error {
    Error::refused(format!(
        "journal {}: is an empty file, and no journal; nothing was loaded",
        output::name(&path.display().to_string())
    ))
    .hint(
        "if a journal was here before, put its newest copy back; if one was being moved here, repeat that move. If there never was one, \
         remove the file: the next load makes a journal",
    )
}

/// Loads the file into a journal that is there.
async fn load_beside(
    session: &Session,
    at: &Location,
    input: &Input,
    plan: LoadPlan,
) -> Result<(Journal, LoadSummary, bool), Error> {
    let (batch, presumes) = (plan.batch.clone(), plan.presume_posted);
    session.assert_may_run()?;
    let journal = Journal::open(at)?.acting_as(actor(at));
    recover::warn(&journal, &session.zone(false)).await?;
    let plan = LoadPlan {
        originator: originator(at, &plan)?,
        ..plan
    };
    // A recovery is not begun in the middle of a run.
    let _lock = match presumes {
        true => {
            let purpose = format!("load of batch {batch}");
            Some(RunLock::take(at, &purpose, Timestamp::now())?)
        }
        false => None,
    };
    let before = journal.recovery().await?;
    let is_first = plan.purpose == Purpose::Gateway && !journal.has_payments().await?;
    let loaded = into_journal(session, &journal, input, plan).await;
    recover::warn_missing(&journal).await?;
    let (summary, fresh) = loaded?;
    if is_first {
        say_new(session, &at.to_string(), "has no other batch");
    }
    if presumes && fresh && before.is_none() {
        say_begun(&journal, &batch).await?;
    }
    Ok((journal, summary, fresh))
}

/// Loads the file into a journal that it is the first of.
async fn load_anew(
    session: &Session,
    path: &Path,
    input: &Input,
    plan: LoadPlan,
) -> Result<(Journal, LoadSummary, bool), Error> {
    let (batch, presumes) = (plan.batch.clone(), plan.presume_posted);
    let is_payment = plan.purpose == Purpose::Gateway;
    if crate::journal::is_gone(path) {
        output::complain(
            "warning",
            &format!(
                "journal {}: is missing, and its mark beside it says that it was in use here; a new one is made, and \
                 the gateway is asked about everything that is loaded before it is posted",
                path.display()
            ),
        );
        output::complain("hint", crate::cli::error::GONE);
    }
    // Made aside and put in place when it holds something: to remove a journal that another process may have opened
    // meanwhile would lose what that process writes.
    let (journal, aside) = Aside::begin(path)?;
    let journal = journal.acting_as(actor(session.location()?));
    let loaded = into_journal(session, &journal, input, plan).await;
    // The last handle closes the file, and takes everything into it.
    drop(journal);
    let placed = loaded.and_then(|loaded| {
        aside.put_in_place()?;
        Ok(loaded)
    });
    let (summary, fresh) = placed?;
    let journal = session.journal()?;
    // Whoever types the command of every month in another folder pays everybody once more.
    if is_payment {
        say_new(session, &absolute(path), "is new");
    }
    // Another one may have been in this place before.
    recover::warn(&journal, &session.zone(false)).await?;
    recover::warn_missing(&journal).await?;
    if presumes {
        say_begun(&journal, &batch).await?;
    }
    Ok((journal, summary, fresh))
}

/// Says what the journal of a first load cannot know.
fn say_new(session: &Session, name: &str, why: &str) {
    session.note(&format!(
        "the journal {} {why}: it does not know what other journals have paid. If this payroll was loaded before, \
        do not run it here: name that journal with --journal, or everybody may be paid twice",
        output::name(name)
    ));
}

/// Names a file from the root, so that it is seen in which folder it lies.
fn absolute(path: &Path) -> String {
    let whole = std::path::absolute(path);
    whole
        .unwrap_or_else(|_| path.to_owned())
        .display()
        .to_string()
}

/// Says what follows from an order that a batch is presumed posted, where it has begun a recovery.
async fn say_begun(journal: &Journal, batch: &BatchName) -> Result<(), Error> {
    let record = Reader::open(journal.location())?
        .snapshot(batch)?
        .record()?;
    output::complain(
        "warning",
        &format!(
            "the gateway is asked about these rows under the identifiers that originator {} and the dialect's \
             identifiers.form give them. If the lost journal had another originator or another form, the gateway knows \
             other identifiers, and every row would be paid again. Make sure that both are the same before you run the \
             batch",
            record.originator
        ),
    );
    let open = journal.recovery().await?;
    if open.is_some_and(|open| open.cause == Cause::Ordered) {
        recover::say_begun(batch, 0);
    }
    Ok(())
}

/// Returns who pays: of a rehearsal that is there already, whoever it was begun with.
// A person rehearses before anything is configured, and again when it is: nobody is paid by either, and the same command
// must go on.
fn originator(at: &Location, plan: &LoadPlan) -> Result<Originator, Error> {
    let configured = plan.originator.clone();
    if plan.purpose != Purpose::Rehearsal {
        return Ok(configured);
    }
    let record = match Reader::open(at)?.snapshot(&plan.batch) {
        Ok(snapshot) => snapshot.record()?,
        Err(crate::journal::Error::UnknownBatch { .. }) => return Ok(configured),
        Err(error) => return Err(error.into()),
    };
    Ok(match record.purpose {
        Purpose::Rehearsal => record.originator,
        Purpose::Gateway | Purpose::Unknown => configured,
    })
}

/// Reads the file into the journal; the flag tells whether its rows are new there.
pub(in crate::cli) async fn into_journal(
    session: &Session,
    journal: &Journal,
    input: &Input,
    plan: LoadPlan,
) -> Result<(LoadSummary, bool), Error> {
    let plan = LoadPlan {
        source: input.source(),
        layout: input.layout()?,
        is_ours: input.is_ours()?,
        ..plan
    };
    let by_layout = plan.layout.clone();
    let (name, skips, dates) = (plan.batch.clone(), plan.skip_bad_rows, plan.dates);
    let amends = plan.amend;
    let batch = name.to_string();
    // What is told is typed: a mended row of a rehearsal is rehearsed.
    let sandbox = sandbox_flag(plan.purpose);
    let presumed = plan.presume_posted.then(|| plan.batch.clone());
    let (loaded, reading) = load_or_recall(journal, input, plan).await?;
    tell_reading(session, input, &reading, by_layout.as_ref());
    if !matches!(loaded, Loaded::AlreadyLoaded(_)) {
        reading.tell_skipped();
    }
    for warning in &reading.warnings {
        output::complain("warning", &format!("{}: {warning}", input.name));
    }
    let late = match &loaded {
        Loaded::New(summary) | Loaded::AlreadyLoaded(summary) => &summary.late,
        Loaded::Refused(LoadRefusal::BadRows { late, .. }) => late,
        Loaded::Refused(_) => &Vec::new(),
    };
    // A file that is there already has had its errors told before.
    let bad = match &loaded {
        Loaded::AlreadyLoaded(_) => 0,
        Loaded::New(_) | Loaded::Refused(_) => input.explain(reading, late)?,
    };
    let was_there = amends || matches!(loaded, Loaded::AlreadyLoaded(_));
    if was_there && !matches!(loaded, Loaded::Refused(_)) {
        schedule::tell_in_force(session, journal, &name, dates).await?;
    }
    match loaded {
        Loaded::New(summary) => {
            tell_new(
                session,
                input,
                (&batch, sandbox),
                &summary,
                skips.then_some(bad),
            );
            Ok((summary, true))
        }
        Loaded::AlreadyLoaded(summary) => {
            if let Some(batch) = presumed {
                presume(session, journal, batch).await?;
            }
            Ok((summary, false))
        }
        Loaded::Refused(refusal) => {
            // Whoever mends the errors mends these in the same go.
            if let LoadRefusal::BadRows { alike, .. } = &refusal {
                repeats::warn_alike(alike);
            }
            let back = journal.comes_back(name).await?;
            Err(refused(input, &batch, bad, &refusal, back))
        }
    }
}

/// Gives what is ready of a batch that is there already back to asking, but for what was asked about before: the same command
/// is said again until the batch is finished.
async fn presume(
    session: &Session,
    journal: &Journal,
    batch: crate::domain::BatchName,
) -> Result<(), Error> {
    let found = journal
        .presume_posted(batch.clone(), true, Timestamp::now())
        .await?;
    session.note(&recover::presumed_text(found.payments));
    if found.begins {
        recover::say_begun(&batch, found.others);
    } else if journal.recovery().await?.is_none() {
        session.note(&format!(
            "no recovery begins: this batch is a rehearsal, or its recovery is done. If the journal may have missed \
             something since then: disburse recover {batch} --presume-posted"
        ));
    }
    Ok(())
}

/// Loads the file, unless its batch has it already.
async fn load_or_recall(
    journal: &Journal,
    input: &Input,
    plan: LoadPlan,
) -> Result<(Loaded, Reading), Error> {
    let read = async |reading: Pending| {
        reading
            .await
            .map_err(|_| Error::unexpected("the reader of the file failed"))?
    };
    if plan.new_documents {
        return exchange(journal, input, plan).await;
    }
    // A run is taken up with the command that began it: most files of a batch that exists are its own.
    if journal.has_batch(plan.batch.clone()).await? {
        let (rows, reading) = input.read()?;
        let recalled = journal.recall(plan.clone(), rows).await;
        let reading = read(reading).await?;
        if let Some(loaded) = recalled? {
            return Ok((loaded, reading));
        }
    }
    let (rows, reading) = input.read()?;
    let loaded = journal.load(plan, rows).await;
    let reading = read(reading).await?;
    Ok((loaded?, reading))
}

/// Loads the file of a batch that is there already for the sake of its documents.
async fn exchange(
    journal: &Journal,
    input: &Input,
    plan: LoadPlan,
) -> Result<(Loaded, Reading), Error> {
    let batch = plan.batch.clone();
    if !journal.has_batch(batch.clone()).await? {
        return Err(Error::refused(format!(
            "batch {batch} is not there; nothing was loaded"
        ))
        .hint("--new-documents is for a batch that was loaded before: leave it out to load this file"));
    }
    // A run may be about to send the document that was there before.
    let _lock = RunLock::take(
        journal.location(),
        &format!("documents of batch {batch}"),
        Timestamp::now(),
    )?;
    let (rows, reading) = input.read()?;
    let loaded = journal.load(plan, rows).await;
    let reading = reading
        .await
        .map_err(|_| Error::unexpected("the reader of the file failed"))??;
    Ok((loaded?, reading))
}

/// Says that a batch which is there already pays nobody, where it was cancelled as a whole; whether it did.
pub(in crate::cli) async fn note_if_cancelled(
    session: &Session,
    journal: &Journal,
    batch: &BatchName,
) -> Result<bool, Error> {
    let standing = journal.standing(batch.clone()).await?;
    let cancelled = standing.became().told() == Before::Cancelled;
    if cancelled {
        session.note(&format!(
            "batch {batch} was cancelled as a whole: nobody was paid, and a run of it pays nobody. To pay these rows, load them \
             under another name"
        ));
    }
    Ok(cancelled)
}
