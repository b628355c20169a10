//! Errors as a person meets them: what happened, and what to do.

use std::fmt::Display;

use crate::cli::terminal::output;
use crate::journal::FileOnly;
use crate::{intake, journal, store};

/// An error that ends a command.
#[derive(Debug)]
pub struct Error {
    /// Others that are told before it.
    before: Vec<String>,
    message: String,
    hints: Vec<String>,
    code: u8,
}

impl Error {
    /// Usage, configuration or input is refused; nothing was sent.
    #[must_use]
    pub fn refused(message: impl Display) -> Self {
        Self {
            before: Vec::new(),
            message: message.to_string(),
            hints: Vec::new(),
            code: 2,
        }
    }

    /// It was ended, or cannot go on yet: the same command may be said again.
    #[must_use]
    pub fn unfinished(message: impl Display) -> Self {
        Self {
            code: 4,
            ..Self::refused(message)
        }
    }

    /// The gateway's side stands against it, as a float that is too low does.
    #[must_use]
    pub fn stopped(message: impl Display) -> Self {
        Self {
            code: 5,
            ..Self::refused(message)
        }
    }

    /// The other side cannot answer at present; the same may be asked again.
    #[must_use]
    pub fn unavailable(message: impl Display) -> Self {
        Self {
            code: 4,
            ..Self::refused(message)
        }
    }

    /// The other side does not let us in.
    #[must_use]
    pub fn credentials(message: impl Display) -> Self {
        Self {
            code: 5,
            ..Self::refused(message)
        }
    }

    /// Something that should not happen.
    #[must_use]
    pub fn unexpected(message: impl Display) -> Self {
        Self {
            before: Vec::new(),
            message: message.to_string(),
            hints: Vec::new(),
            code: 1,
        }
    }

    /// A part of the work that ended by a mistake of the program. What the runtime says of it may hold values, as of a person.
    #[must_use]
    pub(super) fn broke_off(_: tokio::task::JoinError) -> Self {
        Self::unexpected("a part of the work broke off")
    }

    /// Adds what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    /// Adds what may be to do in the place of the rest.
    #[must_use]
    pub fn or_hint(mut self, hint: &str) -> Self {
        self.hints.insert(0, hint.to_owned());
        self
    }

    /// The same error about one line of a file, of which nothing is recorded then.
    #[must_use]
    pub fn at(mut self, place: &str) -> Self {
        self.message = format!(
            "{place}: {}; no decision of the file was recorded",
            self.message
        );
        self
    }

    /// The same error behind others, each of which is told, with what to do about them.
    #[must_use]
    pub fn after(mut self, others: Vec<Self>) -> Self {
        for other in others {
            self.before.extend(other.before);
            self.before.push(other.message);
            for hint in other.hints {
                if !self.hints.contains(&hint) {
                    self.hints.push(hint);
                }
            }
        }
        self
    }

    /// The same error of a check, which loads nothing anyway.
    #[must_use]
    pub fn of_check(mut self) -> Self {
        self.message = self.message.replace("; nothing was loaded", "");
        for hint in &mut self.hints {
            if hint.contains("--on-error") && !hint.contains("--allow-repeats") {
                "mend them in the file, and check it again".clone_into(hint);
            }
        }
        self
    }

    /// The same error of a report after a run: the payments are what they are, whatever becomes of the report.
    #[must_use]
    pub fn of_report(mut self, batch: &str) -> Self {
        self.code = 1;
        self.hints = vec![format!(
            "the run is recorded in the journal, and only its report is missing; once the cause is mended: disburse \
            report {batch} --out DIR"
        )];
        self
    }

    /// Prints `error:` and `hint:` lines.
    pub fn print(&self) {
        let messages = self.before.iter().chain([&self.message]);
        messages.for_each(|message| output::complain("error", message));
        for hint in &self.hints {
            output::complain("hint", hint);
        }
    }

    /// Returns what happened.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// Returns the first thing to do.
    pub(super) fn first_hint(&self) -> Option<&str> {
        self.hints.first().map(String::as_str)
    }

    /// Returns whether something that a person gave is refused.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.code == 2
    }

    /// Returns the exit code.
    #[must_use]
    pub fn code(&self) -> u8 {
        self.code
    }
}

impl From<journal::Error> for Error {
    fn from(error: journal::Error) -> Self {
        use journal::Error as E;
        // A journal that has stopped ends as what stopped it does, and what to do is the same.
        let root = error.root();
        let hint =
            crate::cli::words::hints::named(root).or_else(|| hint_of(root).map(str::to_owned));
        let base = match root.kind() {
            // Nothing is wrong with it: the same command goes on.
            journal::Kind::Fault if matches!(root, E::SessionClosed { .. }) => {
                Self::unfinished(&error)
            }
            journal::Kind::Fault => Self::unexpected(&error),
            journal::Kind::Refused => match root {
                E::Open { .. }
                | E::Altered { .. }
                | E::AlteredRow { .. }
                | E::AlteredLoad { .. } => Self::unexpected(&error),
                // Nothing is wrong with the command: a job that says it again later comes to its end.
                E::Held { .. }
                | E::Busy { .. }
                | E::OtherQuarantine { .. }
                | E::OtherSharing { .. }
                | E::PaidElsewhere { .. }
                | E::ServerAway { .. } => Self::unfinished(&error),
                _ => Self::refused(&error),
            },
        };
        match hint {
            Some(hint) => base.hint(hint),
            None => base,
        }
    }
}

/// Returns what to do about an error of the journal.
fn hint_of(error: &journal::Error) -> Option<&'static str> {
    hint_about_server(error)
        .or_else(|| hint_about_file(error))
        .or_else(|| hint_about_batch(error))
}

/// Returns what to do where the file of the journal cannot be used.
fn hint_about_file(error: &journal::Error) -> Option<&'static str> {
    use journal::Error as E;
    match error {
        E::Gone { .. } => Some(GONE),
        E::ReservedName { .. } => Some("give the journal another name, such as disburse.db"),
        E::Busy { .. } => Some(
            "wait until that process ends, or end it, and repeat this command: nothing is lost. `fuser FILE` or `lsof FILE` lists the programs that \
             have the journal open",
        ),
        E::NoFolder { .. } => Some("make the folder, or name another one; nothing was written"),
        E::Missing { .. } => Some(
            "name the journal that has the batch, with --journal; only where there never was one, the first load makes it",
        ),
        E::Symlink { .. } | E::ForeignOwner { .. } | E::NotAFile { .. } => {
            Some("a journal holds names and phone numbers; keep it in a file of your own")
        }
        E::Foreign { found, .. } if found.is_empty() => Some(
            "name another file with --journal; if this was your journal, its first bytes are damaged: see \"A lost, restored or copied journal\" in \
             docs/operations.md",
        ),
        E::Linked { .. } => Some(
            "each name would have a lock, a log and a mark of its own, and two runs could post the same payments: keep one name, and remove the \
             others (`find FOLDER -samefile FILE` lists them); `disburse backup FILE` makes a copy",
        ),
        E::Displaced => Some(
            "nothing more was posted; `disburse status` shows the journal that is there now, and `disburse recover` shows what it may have missed",
        ),
        E::Archive { .. } => Some(
            "nothing is loaded into it, run or ordered. disburse archive read FILE shows what an archive holds; --journal names the journal that pays",
        ),
        E::Exists { path } if path.extension().is_some_and(|end| end == "moved") => Some(
            "a journal was moved away from there, and this file keeps everybody from going on in its place: leave it, and give the journal another name",
        ),
        E::Exists { .. } => Some("name a file that is not there yet"),
        E::CopyUnderWay { .. } => Some("wait until that copy is made; nothing was written"),
        E::NotRemoved { .. } => {
            Some("remove the earlier copy, or let this user write in its folder")
        }
        E::Corrupt { .. } => Some(
            "this command posts nothing more. Stop all runs of this journal: `disburse status` lists its batches, and `disburse verify BATCH` says what \
             is wrong with each. Go on with a copy from before the damage: a run of it asks the gateway about every unfinished payment before it posts",
        ),
        E::OldSqlite { .. } => Some("build disburse with the SQLite that it brings along"),
        E::Foreign { .. } => Some("name another file with --journal"),
        E::Damaged { .. } => Some(DAMAGED),
        E::Storage {
            cause: store::Error::Damaged { .. },
        } => Some(DAMAGED),
        E::Newer { .. } => Some("use the newer disburse for it"),
        E::Held { .. } => {
            Some("wait until it ends, or stop it with Ctrl-C, and repeat this command")
        }
        E::Storage {
            cause: store::Error::Full { .. },
        } => Some(FULL),
        E::Open { .. } | E::Mark { .. } | E::Scratch { .. } | E::Storage { .. }
            if is_of_space(&error.to_string()) =>
        {
            Some(FULL)
        }
        E::Mark { .. } => Some(
            "the mark beside the journal records how far the journal has come, so that an older copy is noticed: make its folder writable, and run \
             the same command again",
        ),
        E::Storage { .. } => Some(
            "run the same command again: what was sent without an outcome is asked about, never posted blindly",
        ),
        _ => None,
    }
}

/// Returns whether a cause in words tells of a disk without room.
fn is_of_space(cause: &str) -> bool {
    ["No space left", "disk I/O error", "is full"]
        .iter()
        .any(|sign| cause.contains(sign))
}

/// Returns what to do where a journal on a server cannot be used, or cannot do what one in a file can.
fn hint_about_server(error: &journal::Error) -> Option<&'static str> {
    use journal::Error as E;
    Some(match error {
        E::NoServerStore { .. } => {
            "name a file with --journal FILE, or use a disburse that was built with its PostgreSQL store"
        }
        E::ArrivingOther => {
            "move this journal to another place (disburse journal copy FROM OTHER), unless it was moved before. Whoever was moving the other \
             one repeats the command of then, which completes that move; change and remove nothing here until they have. Where what there \
             was of a journal is lost, put its newest copy under a name that no journal has had, and go on there: disburse recover"
        }
        E::Arriving => {
            "whoever moves a journal here repeats that command: disburse journal copy FROM TO. If it is refused with this same error, and \
             disburse status of FROM gives no warning that it was moved, FROM is whole and has changed since: remove the file TO, or have the owner of that database run `drop schema disburse \
             cascade` in it, make the journal and its grants again (disburse journal init), then repeat the move"
        }
        E::Storage {
            cause:
                store::Error::OutcomeUnknown { .. }
                | store::Error::ConnectionLost { .. }
                | store::Error::Busy { .. },
        }
        | E::NoTime => {
            "run the same command again: what was sent without an outcome is asked about, never posted blindly. If the \
             error comes back, disburse journal check says what is wrong with the server, for example that commits \
             wait for a standby that is away"
        }
        E::SessionClosed { .. } => {
            "start the run again: nothing is lost. The payments that it had under way are in doubt, and the gateway is \
             asked about them before any is posted again; disburse status BATCH shows who runs the batch now"
        }
        E::Outdated { .. } => {
            "update this program, and give the same command again: what it had under way is asked about, never posted blindly"
        }
        E::NotOwner => {
            "name the journal with the user that made it (disburse journal init): a move takes it away from everybody else. Nothing was moved"
        }
        E::NotEmpty => {
            "make a journal in another database (disburse journal init postgres://OWNER@HOST/DATABASE), and move it there"
        }
        E::Unlike { .. } => {
            "repeat the command; if it says so again, send these words to the people who maintain disburse"
        }
        E::NotInAFile { work, .. } => match work {
            FileOnly::Rehearsal => "name a file for the rehearsal: --journal FILE",
            FileOnly::Archive => {
                "the batch stays where it is: disburse report writes what the books need, and disburse verify prints the head of its evidence; \
                 the server's own tools keep copies of the database"
            }
            FileOnly::Backup => {
                "copy the database with the server's own tools: pg_dump, or a base backup with the log that follows it"
            }
            FileOnly::Rewrite => {
                "the server overwrites by itself what was removed (VACUUM); the people who run the server keep its \
                log, its copies and its backups, which may still have it"
            }
        },
        _ => return None,
    })
}

/// Returns what to do where a command does not fit what the journal holds.
fn hint_about_batch(error: &journal::Error) -> Option<&'static str> {
    use journal::Error as E;
    match error {
        E::Unasked { .. } => Some(
            "`disburse recover` names their batches: run each of them, and the run asks the gateway. Where the gateway \
             cannot be asked, decide the payments one by one with `disburse resolve`; or use --nothing-ran-since, if \
             it is certain that nothing was posted",
        ),
        E::OrdersLost { .. } => Some(crate::cli::words::hints::ORDERS_LOST_HINT),
        E::Fenced => Some(
            "this run posts nothing more, and nothing is lost; `disburse status BATCH` shows who runs the batch now",
        ),
        E::SomethingRan { .. } => Some(
            "run each batch that `disburse recover` lists: the run asks the gateway first, and posts only what the \
             gateway does not know. Where the gateway cannot be asked, decide the payments one by one with disburse \
             resolve",
        ),
        E::OrdersMissing { .. } => Some(
            "give each order again as it was (the same payments, the same kind of order), then repeat this command. \
            Give a listed retry again as a retry, and do not mend or load its row instead: only then is the gateway \
            asked about what the retry paid. Add --without N, where N is the number of listed orders, only if each of \
            them was given in another way or is not needed: whoever they kept from being paid is paid then, and what \
            they have paid may be paid a second time",
        ),
        E::NoRecovery => {
            Some("there is nothing to do: what you load is paid without asking the gateway first")
        }
        E::UnknownPayment { .. } => Some(
            "name it by the reference of its row or by its payerTransactionID; payments.csv of the report lists both",
        ),
        E::NoRejectedRow { .. } => Some(
            "name a rejected row by its line, its reference, or its name (row-...): the corrections file and failed.csv of `disburse report` \
             have the name in the column rejected_row. A payment is cancelled with `disburse cancel BATCH REFERENCE`",
        ),
        E::MoreThanShown { .. } => Some("run the same command again, and look at what it shows"),
        E::TwoPayments { .. } => Some(
            "say which of the two you mean: --reference takes the text for the reference of a row, --id for a payerTransactionID; \
             disburse explain with the same flag shows that row",
        ),
        E::NotARehearsal { .. } => Some(
            "to rehearse the file, load it with --sandbox under another batch name; to pay the batch, leave --sandbox out",
        ),
        E::OnlyARehearsal { .. } => Some(
            "to go on rehearsing, add --sandbox; to pay the file, load it without --sandbox under another batch name: what was \
             rehearsed does not count as paid",
        ),
        E::OtherGateway { pinned, .. } if pinned.starts_with("sandbox ") => Some(
            "a rehearsal stays a rehearsal: go on with --sandbox, or load the file under another batch name for the gateway",
        ),
        E::UnknownBatch { .. } => Some("`disburse status` lists the batches of the journal"),
        E::IdentifiersCollide { .. } => Some(
            "give one of the two rows another reference; identifiers.form of the dialect can make them longer for new batches",
        ),
        E::OtherWire { .. } => Some(
            "set the profile back to what it was, so that a repeated post has the same bytes as the first. If the \
                 gateway refuses those posts: keep the old profile, record each posted payment as failed once that is \
                 certain (disburse resolve), then retry it with the new profile; a retry has an identifier of its own",
        ),
        _ => None,
    }
}

/// What to do where a journal is missing that was in use.
pub(super) const GONE: &str = "if it was moved, put it back with its -wal, and do not use it anywhere else; if it is lost, put the newest \
                               copy in its place, or load the same files again under the same batch names, and leave the .mark where it \
                               is: the gateway is asked about every payment before any is posted";
const DAMAGED: &str = "nothing is posted from a damaged journal. If it is a file: move it away with its -wal and -shm, and leave its .mark where \
                       it is; then put the newest copy in its place, or load the same files again. If it is a database: promote a sound \
                       standby, or put its backup back (docs/operations.md). The gateway is asked about every payment before any is \
                       posted, and `disburse recover` shows how far that has come";
const FULL: &str = "is the disk full, or a limit on file sizes reached? Make room and run the same command again; nothing is lost";

impl From<crate::gateway::OperationError> for Error {
    fn from(error: crate::gateway::OperationError) -> Self {
        use crate::gateway::OperationError as E;
        match &error {
            E::Refused { .. } | E::NotANumber(_) | E::NotOffered(_) => Self::refused(&error),
            E::Credentials { .. } => Self::credentials(&error)
                .hint("repetition may lock the account: mend the configuration first"),
            E::Unavailable(_) => Self::unavailable(&error)
                .hint("check the address and the network; nothing was changed, ask again later"),
            E::Unreadable { .. } => Self::unexpected(&error)
                .hint("is the address that of the gateway? A proxy or a login page may answer in its place"),
        }
    }
}

impl From<super::config::Error> for Error {
    fn from(error: super::config::Error) -> Self {
        let base = Self::refused(&error);
        match error.hint() {
            Some(hint) => base.hint(hint),
            None => base,
        }
    }
}

impl From<crate::report::Error> for Error {
    fn from(error: crate::report::Error) -> Self {
        Self::refused(&error).hint(error.hint())
    }
}

impl Error {
    /// A file that cannot be read as a batch.
    #[must_use]
    pub fn of_file(name: &str, error: &intake::Error) -> Self {
        let place = match error.place() {
            Some(place) => format!("{name}:{place}"),
            None => name.to_owned(),
        };
        let base = Self::refused(format!("{place}: {error}"));
        let base = match error.hint() {
            Some(hint) => base.hint(hint),
            None => base,
        };
        match error.is_first_contact() {
            true => base.hint(format!(
                "is it a file of another program? disburse layout guess {} says what its columns seem to be, and proposes a layout to read it by",
                output::quoted(match name {
                    "standard input" => "FILE",
                    name => name,
                })
            )),
            false => base,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_that_has_stopped_ends_as_what_stopped_it_does() {
        let causes = [
            (
                journal::Error::SessionClosed {
                    why: journal::Closed::LeaseRanOut,
                },
                4,
                "start the run again",
            ),
            (journal::Error::NoTime, 1, "run the same command again"),
            (store::Error::Damaged { what: "".into() }.into(), 1, DAMAGED),
            (
                store::Error::Fault {
                    what: "disk I/O error".into(),
                }
                .into(),
                1,
                FULL,
            ),
        ];
        for (cause, code, hint) in causes {
            let first = Error::from(cause.clone());
            let later = Error::from(journal::Error::Poisoned {
                cause: Box::new(cause),
            });
            for error in [&first, &later] {
                assert_eq!(error.code(), code, "{error:?}");
                assert!(error.first_hint().unwrap().contains(hint), "{error:?}");
            }
            assert!(later.message().contains(first.message()), "{later:?}");
        }
    }
}
