//! The command line: the only layer that prints, exits, or knows clap.

mod actor;
mod archive;
mod arguments;
mod commands;
pub mod config;
pub mod crash;
mod doctor;
mod error;
mod exit;
mod files;
mod gateway;
pub mod log;
mod metrics;
mod named;
mod notices;
mod order_signing;
mod run;
mod session;
mod signals;
mod signing;
mod terminal;
mod version;
mod watch;
mod words;

use std::process::ExitCode;

use crate::journal::FileOnly;
pub use arguments::Arguments;
use arguments::{Command, ConfigCommand};
use commands::{
    account, approve, archive as archiving, backup, bill, check, dialect, explain, float, init,
    journal as journal_command, layout, listen, load, lookup, notices as notices_command, orders,
    probe, reconcile, recover, report, resolve, resolve_many, retry, sandbox, schedule, serve,
    shell, show_config, status_all, template, token, upload, verify,
};
pub use error::Error;
pub use exit::ExitStatus;
use session::Session;
use terminal::output;

/// Carries out the command and returns the exit code.
#[must_use]
pub fn run(arguments: Arguments) -> ExitCode {
    output::carry(std::env::args_os().filter_map(|argument| argument.into_string().ok()));
    let mut runtime = if runs_alone(&arguments.command) {
        tokio::runtime::Builder::new_current_thread()
    } else {
        tokio::runtime::Builder::new_multi_thread()
    };
    let runtime = runtime.enable_all().build();
    let outcome = match runtime {
        Ok(runtime) => {
            let outcome = runtime.block_on(carry_out(arguments));
            // What is left is a reader of standard input or a wait for a journal; neither may hold up the exit.
            runtime.shutdown_background();
            signals::remove_folders();
            outcome
        }
        Err(error) => Err(Error::unexpected(format!(
            "the program cannot start its threads: {error}"
        ))),
    };
    if let Some(cause) = output::lost() {
        let lost = Error::unexpected(format!("standard output cannot be written: {cause}"));
        lost.print();
        if matches!(outcome, Ok(ExitStatus::Done)) {
            return ExitCode::from(lost.code());
        }
    }
    match outcome {
        Ok(verdict) => ExitCode::from(verdict.code()),
        Err(error) => {
            error.print();
            ExitCode::from(error.code())
        }
    }
}

/// Returns whether one thread does the command's work.
// A run has the journal's thread beside it: what a second one would take over costs less than the waking of threads.
fn runs_alone(command: &Command) -> bool {
    match command {
        Command::Run(arguments) => !arguments.options.sandbox,
        Command::Pay(arguments) => !arguments.run.sandbox,
        Command::Listen(_)
        | Command::Serve(_)
        | Command::Status(_)
        | Command::Verify(_)
        | Command::Explain(_) => true,
        _ => false,
    }
}

/// Returns whether a command is about a batch that is a rehearsal.
fn rehearses(command: &Command) -> bool {
    match command {
        Command::Load(arguments) => arguments.sandbox,
        Command::Approve(arguments) => arguments.sandbox,
        Command::Run(arguments) => arguments.options.sandbox,
        Command::Pay(arguments) => arguments.run.sandbox,
        Command::Retry(arguments) => arguments.sandbox,
        Command::Resolve(arguments) => arguments.sandbox,
        Command::Probe(arguments) => arguments.sandbox && arguments.pay.is_some(),
        _ => false,
    }
}

async fn carry_out(arguments: Arguments) -> Result<ExitStatus, Error> {
    signals::outlive_file_limits();
    signals::leave_no_core();
    let session = Session::new(arguments.common);
    // Whoever needs it says why it is not known.
    if let Ok(journal) = session.location() {
        crash::beside(journal);
    }
    if rehearses(&arguments.command) {
        session.location()?.file_for(FileOnly::Rehearsal)?;
    }
    match arguments.command {
        Command::Check(arguments) => check::check(&session, arguments).await,
        Command::Load(arguments) => load::load(&session, arguments).await,
        Command::Approve(arguments) => approve::approve(&session, arguments).await,
        Command::Run(arguments) => run::run(&session, arguments).await,
        Command::Pay(arguments) => run::pay(&session, *arguments).await,
        Command::Status(arguments) => status_all::status(&session, &arguments),
        Command::Report(arguments) => report::report(&session, arguments).await,
        Command::Verify(arguments) => verify::verify(&session, &arguments),
        Command::Explain(arguments) => explain::explain(&session, arguments),
        Command::Retry(arguments) => retry::retry(&session, arguments).await,
        Command::Reconcile(arguments) => reconcile::reconcile(&session, *arguments).await,
        Command::Resolve(arguments) if arguments.from.is_some() => {
            resolve_many::resolve(&session, arguments).await
        }
        Command::Resolve(arguments) => resolve::resolve(&session, arguments).await,
        Command::Cancel(arguments) => orders::cancel(&session, arguments).await,
        Command::ResumeLane(arguments) => orders::resume_lane(&session, arguments).await,
        Command::Schedule(arguments) => schedule::schedule(&session, arguments).await,
        Command::Recover(arguments) => recover::recover(&session, arguments).await,
        Command::Backup(arguments) => backup::backup(&session, &arguments),
        Command::Archive(arguments) => archiving::archive(&session, *arguments).await,
        Command::Journal { command } => journal_command::journal(&session, &command).await,
        Command::Notices(arguments) => notices_command::notices(&session, &arguments).await,
        Command::Listen(arguments) => listen::listen(&session, &arguments).await,
        Command::Serve(arguments) => serve::serve(&session, &arguments).await,
        Command::Token(arguments) => token::token(&session, arguments).await,
        Command::Lookup(arguments) => lookup::lookup(&session, arguments).await,
        Command::Bill(arguments) => bill::bill(&session, arguments).await,
        Command::Account(arguments) => account::account(&session, arguments).await,
        Command::Probe(arguments) => probe::probe(&session, arguments).await,
        Command::Float(arguments) => float::float(&session, arguments).await,
        Command::Upload(arguments) => upload::upload(&session, arguments).await,
        Command::Sandbox(arguments) => sandbox::serve(&session, arguments).await,
        Command::Dialect { command } => dialect::run(&session, &command),
        Command::Layout { command } => layout::run(&session, &command),
        Command::Template(arguments) => template::template(&session, &arguments),
        Command::Doctor(arguments) => doctor::doctor(&session, arguments).await,
        Command::Init(arguments) => init::init(&session, *arguments).await,
        Command::Config {
            command: ConfigCommand::Show(arguments),
        } => show_config::show(&session, &arguments),
        Command::Completions { shell } => shell::completions(shell),
        Command::Man(arguments) => shell::man(&arguments),
    }
}
