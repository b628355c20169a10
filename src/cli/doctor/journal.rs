//! The journal, and what lies beside it.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::finding::{Finding, Level};
use super::machine::{bytes, existing_folder};
use crate::cli::crash;
use crate::cli::terminal::output;
use crate::journal::{self, Inspected, Pages, Reader};

/// How long the pages of a journal are looked at.
const PATIENCE: Duration = Duration::from_secs(5);
/// A log that is larger was not taken into the journal for long.
const LOG_MAX: u64 = 512 << 20;
/// Names in a folder that are looked at.
const NAMES_MAX: usize = 10_000;
/// Names that are shown.
const SHOWN_MAX: usize = 5;

/// What was seen of the file.
#[derive(Clone, Debug)]
pub(super) struct JournalFacts {
    /// As a person names it.
    pub(super) name: String,
    pub(super) file: Option<FileFacts>,
    /// It is not there, and its mark is.
    pub(super) is_gone: bool,
    /// The mode of its folder, and whether it is ours or root's.
    pub(super) folder: Option<(u32, bool)>,
    /// Size of its log.
    pub(super) log: u64,
    /// Who runs on it.
    pub(super) holder: Option<String>,
    /// What it holds, or why that cannot be told.
    pub(super) inside: Option<Result<Inspected, String>>,
    /// Files beside it that a load that was killed has left.
    pub(super) leftovers: Vec<String>,
    /// Where it was moved to.
    pub(super) moved: Option<String>,
    /// Reports of mistakes of the program itself.
    pub(super) crashes: Vec<String>,
}

/// What the system says of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileFacts {
    pub(super) mode: u32,
    pub(super) is_file: bool,
    pub(super) is_ours: bool,
    pub(super) links: u64,
}

/// Looks at a journal without touching it.
pub(super) fn look(path: &Path) -> JournalFacts {
    let own = rustix::process::geteuid().as_raw();
    let file = path.symlink_metadata().ok().map(|found| FileFacts {
        mode: found.permissions().mode() & 0o7777,
        is_file: found.is_file(),
        is_ours: found.uid() == own,
        links: found.nlink(),
    });
    let folder = existing_folder(path);
    let own_name = path.file_name().unwrap_or_default().to_string_lossy();
    let log = beside(path, "-wal")
        .metadata()
        .map_or(0, |found| found.len());
    // What is no file of ours is not opened.
    let inside = file
        .filter(|file| file.is_file)
        .map(|_| journal::inspect(path, PATIENCE).map_err(|error| error.to_string()));
    let is_journal = inside.as_ref().is_some_and(Result::is_ok);
    JournalFacts {
        name: output::name(&path.display().to_string()),
        file,
        is_gone: journal::is_gone(path),
        folder: folder.metadata().ok().map(|found| {
            let mode = found.permissions().mode() & 0o7777;
            (mode, found.uid() == own || found.uid() == 0)
        }),
        log,
        holder: journal::holder(&path.into()),
        inside,
        moved: is_journal
            .then(|| Reader::open(&path.into()).ok()?.moved_to().ok()?)
            .flatten(),
        leftovers: names(&folder, |name| {
            name.contains(&format!("{own_name}.loading-")) || name.starts_with(".disburse-init-")
        }),
        crashes: names(&folder, |name| {
            name.starts_with(&format!("{own_name}{}", crash::MARK))
        }),
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Returns the names in a folder that are meant.
fn names(folder: &Path, is_meant: impl Fn(&str) -> bool) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .take(NAMES_MAX)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| is_meant(name))
        .collect();
    names.sort();
    names
}

/// Shows some of many names.
fn shown(names: &[String]) -> String {
    let some = names.iter().take(SHOWN_MAX).map(|name| output::name(name));
    some.collect::<Vec<_>>().join(", ")
}

/// Says that a journal is used elsewhere.
pub(super) fn moved(name: &str, to: &str) -> Finding {
    let to = output::name(to);
    Finding::warning(
        name,
        format!("it was moved to {to}, and pays nobody any more"),
    )
    .advised("name the new place in every job, unit and configuration that names this one")
}

/// Judges a journal.
pub(super) fn judge(facts: &JournalFacts) -> Vec<Finding> {
    let name = facts.name.as_str();
    let word = output::quoted(name);
    let mut found = Vec::new();
    match (facts.file, facts.is_gone) {
        (None, true) => found.push(
            Finding::problem(name, "it is gone: its mark is here, but the journal is not").advised(
                "if it was moved, put it back with its -wal; if it is lost, docs/operations.md has the way (a lost, restored or copied journal); leave the .mark where it is",
            ),
        ),
        (None, false) => found.push(Finding::note(name, "there is no journal yet: the first load makes it")),
        (Some(file), _) => found.extend(judge_file(name, &word, file)),
    }
    found.extend(facts.moved.iter().map(|to| moved(name, to)));
    if let Some((mode, is_ours)) = facts.folder {
        let folder = "folder of the journal";
        if !is_ours {
            found.push(
                Finding::warning(
                    folder,
                    "it belongs to another user, who can put another journal in its place",
                )
                .advised("keep the journal in a folder of the user who runs disburse"),
            );
        }
        // Others may write into a folder with this bit, and take nothing away that is not theirs.
        if mode & 0o022 != 0 && mode & 0o1000 == 0 {
            found.push(
                Finding::warning(
                    folder,
                    format!(
                        "others may write there (mode {mode:04o}), and could remove the \
                    journal or its mark"
                    ),
                )
                .advised("chmod go-w on the folder"),
            );
        }
    }
    if facts.log > LOG_MAX {
        found.push(
            Finding::warning(format!("{name}-wal"), format!("the log has {}", bytes(facts.log)))
                .advised("end the program that has read the journal for hours (fuser lists it); the next command that \
                    writes shortens the log"),
        );
    }
    if let Some(holder) = &facts.holder {
        found.push(Finding::note(
            format!("{name}.lock"),
            format!("in use: {}", output::name(holder)),
        ));
    }
    match &facts.inside {
        None => {}
        Some(Err(why)) => found.push(
            Finding::problem(name, format!("what it holds cannot be read: {why}"))
                .advised("disburse status says more; until then, move and remove nothing (docs/operations.md)"),
        ),
        Some(Ok(inside)) => found.extend(judge_inside(name, inside)),
    }
    found.extend(judge_beside(facts));
    found
}

/// Judges what was left beside a journal.
fn judge_beside(facts: &JournalFacts) -> Vec<Finding> {
    let mut found = Vec::new();
    if !facts.leftovers.is_empty() {
        let count = output::counted(facts.leftovers.len() as u64, "file");
        found.push(
            Finding::note(
                "left beside the journal",
                format!(
                    "{count} of a command that was killed: {}",
                    shown(&facts.leftovers)
                ),
            )
            .advised("nothing in it was ever loaded; the next load removes what is old enough"),
        );
    }
    if !facts.crashes.is_empty() {
        found.push(
            Finding::warning(
                "reports of mistakes",
                format!("the program itself made a mistake: {}", shown(&facts.crashes)),
            )
            .advised("send them to the people who maintain disburse (they have no data of people), and remove them"),
        );
    }
    found
}

fn judge_file(name: &str, word: &str, file: FileFacts) -> Vec<Finding> {
    let mut found = Vec::new();
    if !file.is_file {
        found.push(
            Finding::problem(
                name,
                "it is not a plain file (but a link, a folder or a device)",
            )
            .advised("name the file itself with --journal"),
        );
    }
    if !file.is_ours {
        found.push(
            Finding::problem(name, "it belongs to another user")
                .advised("run disburse as the user who owns it; do not copy it"),
        );
    }
    if file.is_file && file.links > 1 {
        found.push(
            Finding::problem(name, format!("it has {} names (hard links)", file.links)).advised(
                "keep one name and remove the others: each would have a lock and a mark of its own",
            ),
        );
    }
    if file.is_file && file.mode & 0o077 != 0 {
        found.push(
            Finding::warning(
                name,
                format!(
                    "others may open it (mode {:04o}), and it holds names and numbers",
                    file.mode
                ),
            )
            .advised(format!("chmod 600 {word}")),
        );
    }
    found
}

fn judge_inside(name: &str, inside: &Inspected) -> Vec<Finding> {
    let mut found = Vec::new();
    let (version, known) = inside.version;
    if version > known {
        found.push(
            Finding::problem(
                name,
                format!("a newer disburse made it (version {version}, this one knows {known})"),
            )
            .advised("use the newer disburse for it"),
        );
    } else if version < known {
        found.push(
            Finding::note(
                name,
                format!(
                    "an earlier disburse made it (version {version}): the next command upgrades it \
                to {known}"
                ),
            )
            .advised("copy it first, with the earlier disburse: disburse backup FILE"),
        );
    }
    let pages = format!("pages of {name}");
    found.push(match &inside.pages {
        Pages::Whole => Finding::ok(pages, "they fit together"),
        Pages::NotAllRead => Finding::note(
            pages,
            format!(
                "too many to be read in {} s; those that were read fit \
            together",
                PATIENCE.as_secs()
            ),
        )
        .advised("disburse backup FILE reads all of them, also while a run writes"),
        Pages::Damaged(what) => Finding::problem(
            pages,
            format!("they do not fit together: {}", output::name(what)),
        )
        .advised(
            "send nothing from it; disburse verify BATCH says what is wrong with each batch, and \
                docs/operations.md what to do next",
        ),
    });
    let mark = format!("{name}.mark");
    match inside.cause {
        None => {}
        Some(Some(cause)) => found.push(
            Finding::new(
                Level::Warning,
                mark,
                format!("the journal may have missed something: {}", cause.sentence()),
            )
            .advised("disburse recover says what is known and each next step; the gateway is asked before anything is posted"),
        ),
        Some(None) if inside.in_recovery => found.push(
            Finding::warning(mark, "a recovery is under way")
                .advised("disburse recover says what is left to do"),
        ),
        Some(None) if inside.has_mark => found.push(Finding::ok(mark, "journal, mark and lock agree")),
        Some(None) => {}
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level::{Note, Ok as Fine, Problem, Warning};
    use super::*;
    use crate::ledger::recovery::Cause;

    fn good() -> JournalFacts {
        JournalFacts {
            name: "j.db".to_owned(),
            file: Some(FileFacts {
                mode: 0o600,
                is_file: true,
                is_ours: true,
                links: 1,
            }),
            is_gone: false,
            folder: Some((0o755, true)),
            log: 4_096,
            holder: None,
            inside: Some(Ok(inside())),
            leftovers: Vec::new(),
            moved: None,
            crashes: Vec::new(),
        }
    }

    fn inside() -> Inspected {
        Inspected {
            version: (9, 9),
            newest: None,
            cause: Some(None),
            in_recovery: false,
            has_mark: true,
            pages: Pages::Whole,
        }
    }

    #[test]
    fn a_journal_is_judged_by_its_file_its_folder_and_what_it_holds() {
        for (change, expected, part) in [
            (
                (|_| ()) as fn(&mut JournalFacts),
                &[Fine, Fine][..],
                "agree",
            ),
            (
                |f| (f.file, f.inside) = (None, None),
                &[Note],
                "no journal yet",
            ),
            (
                |f| (f.file, f.inside, f.is_gone) = (None, None, true),
                &[Problem],
                "gone",
            ),
            (
                |f| f.file.as_mut().unwrap().mode = 0o640,
                &[Warning, Fine, Fine],
                "chmod 600 j.db",
            ),
            (
                |f| f.file.as_mut().unwrap().is_ours = false,
                &[Problem, Fine, Fine],
                "another user",
            ),
            (
                |f| f.file.as_mut().unwrap().links = 2,
                &[Problem, Fine, Fine],
                "2 names",
            ),
            (
                |f| f.file.as_mut().unwrap().is_file = false,
                &[Problem, Fine, Fine],
                "not a plain file",
            ),
            (
                |f| f.folder = Some((0o777, true)),
                &[Warning, Fine, Fine],
                "mode 0777",
            ),
            (|f| f.folder = Some((0o1777, true)), &[Fine, Fine], "agree"),
            (
                |f| f.folder = Some((0o755, false)),
                &[Warning, Fine, Fine],
                "another user",
            ),
            (|f| f.log = 1 << 30, &[Warning, Fine, Fine], "j.db-wal"),
            (
                |f| f.holder = Some("process 1, run".to_owned()),
                &[Note, Fine, Fine],
                "process 1",
            ),
            (
                |f| f.inside = Some(Err("is not a journal".to_owned())),
                &[Problem],
                "not a journal",
            ),
            (
                |f| f.leftovers = vec!["j.db.loading-1".to_owned()],
                &[Fine, Fine, Note],
                "j.db.loading-1",
            ),
        ] {
            let mut facts = good();
            change(&mut facts);
            let found = judge(&facts);
            let levels: Vec<Level> = found.iter().map(|finding| finding.level).collect();
            assert_eq!(levels, expected, "{found:?}");
            assert!(format!("{found:?}").contains(part), "{part}: {found:?}");
        }
    }

    #[test]
    fn what_it_holds_is_judged() {
        for (change, expected, part) in [
            (
                (|i| i.version = (10, 9)) as fn(&mut Inspected),
                &[Problem, Fine, Fine][..],
                "newer",
            ),
            (
                |i| (i.version, i.cause) = ((8, 9), None),
                &[Note, Fine],
                "earlier",
            ),
            (|i| i.pages = Pages::NotAllRead, &[Note, Fine], "too many"),
            (
                |i| i.pages = Pages::Damaged("page 7".to_owned()),
                &[Problem, Fine],
                "page 7",
            ),
            (
                |i| i.cause = Some(Some(Cause::LaterRun)),
                &[Fine, Warning],
                "a later run",
            ),
            (|i| i.in_recovery = true, &[Fine, Warning], "under way"),
            (|i| i.has_mark = false, &[Fine], "fit"),
        ] {
            let mut inside = inside();
            change(&mut inside);
            let found = judge_inside("j.db", &inside);
            let levels: Vec<Level> = found.iter().map(|finding| finding.level).collect();
            assert_eq!(levels, expected, "{found:?}");
            assert!(format!("{found:?}").contains(part), "{part}: {found:?}");
        }
    }
}
