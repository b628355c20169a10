//! The files that `reconcile` writes: every finding as a row of a CSV (`--findings`), and what may be decided by them (`--decisions`).

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::settled::{Proposed, SHOWN_PAID};
use crate::cli::Error;
use crate::journal::StatementFinding;
use crate::ledger::shield::shielded_in;

/// What was asked for of them.
#[derive(Default)]
pub(super) struct Lists {
    pub(super) findings: Option<List>,
    pub(super) decisions: Option<List>,
}

impl Lists {
    pub(super) fn create(findings: Option<&Path>, decisions: Option<&Path>) -> Result<Self, Error> {
        if findings.is_some() && findings == decisions {
            return Err(Error::refused(
                "--findings and --decisions name the same file; nothing was recorded",
            ));
        }
        let of_findings = |path| List::create(path, &FINDINGS);
        let of_decisions = |path| List::create(path, &DECISIONS);
        Ok(Self {
            findings: findings.map(of_findings).transpose()?,
            decisions: decisions.map(of_decisions).transpose()?,
        })
    }

    /// Adds what is proven of the proposals.
    pub(super) fn decide_paid(&mut self, proposed: &[Proposed]) -> Result<(), Error> {
        let Some(list) = &mut self.decisions else {
            return Ok(());
        };
        let mut proven = proposed.iter().filter(|one| one.proven);
        proven.try_for_each(|one| list.decide_paid(one))
    }

    /// Gives the lists their names.
    pub(super) fn finish(self) -> Result<(), Error> {
        let lists = [self.findings, self.decisions];
        lists.into_iter().flatten().try_for_each(List::finish)
    }
}

const FINDINGS: [&str; 14] = [
    "finding",
    "payer_transaction_id",
    "reference",
    "line",
    "state",
    "amount",
    "currency_code",
    "statement_line",
    "statement_date",
    "statement_amount",
    "statement_currency_code",
    "statement_reference",
    "matched",
    "other_statement_lines",
];

/// As `resolve --from` takes them.
const DECISIONS: [&str; 4] = ["identifier", "decision", "reason", "evidence"];

/// A list: it gets its name once the comparison is on record.
pub(super) struct List {
    writer: csv::Writer<BufWriter<NamedTempFile>>,
    path: PathBuf,
}

impl List {
    fn create(path: &Path, headers: &[&str]) -> Result<Self, Error> {
        let failed = |why: &dyn std::fmt::Display| {
            Error::refused(format!(
                "{}: cannot be made: {why}; nothing was recorded",
                path.display()
            ))
            .hint("name a file that is not there yet, in a folder that is")
        };
        // Whether it may have that name is told before anything is recorded.
        let probe = OpenOptions::new().write(true).create_new(true).open(path);
        probe
            .and_then(|_| std::fs::remove_file(path))
            .map_err(|error| failed(&error))?;
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let folder = folder.unwrap_or(Path::new("."));
        let file = NamedTempFile::new_in(folder).map_err(|error| failed(&error))?;
        let mut writer = csv::Writer::from_writer(BufWriter::new(file));
        writer
            .write_record(headers)
            .map_err(|error| Error::unexpected(format!("{}: {error}", path.display())))?;
        let path = path.to_owned();
        Ok(Self { writer, path })
    }

    pub(super) fn add(&mut self, finding: &StatementFinding) -> Result<(), csv::Error> {
        let mut cells = vec![finding.kind.name().to_owned()];
        match &finding.payment {
            Some(payment) => cells.extend([
                payment.id.to_string(),
                text(&payment.reference),
                payment.line.to_string(),
                payment.state.name().to_owned(),
                payment.money.to_string(),
                payment.money.currency.code().to_owned(),
            ]),
            None => cells.extend(std::iter::repeat_n(String::new(), 6)),
        }
        match &finding.entry {
            Some(entry) => cells.extend([
                text(&entry.place),
                entry.day.to_string(),
                entry.money.to_string(),
                entry.money.currency.code().to_owned(),
                text(&entry.reference),
            ]),
            None => cells.extend(std::iter::repeat_n(String::new(), 5)),
        }
        cells.push(finding.matched());
        cells.push(text(&finding.all_other_lines().join("; ")));
        self.writer.write_record(cells)
    }

    /// Adds that a payment is paid, as a statement proves.
    fn decide_paid(&mut self, one: &Proposed) -> Result<(), Error> {
        let evidence = one.evidence.replace(['\n', '\r'], " ");
        let cells = [one.id.as_str(), "paid", SHOWN_PAID, &text(&evidence)];
        let written = self.writer.write_record(cells);
        written.map_err(|error| {
            Error::unexpected(format!(
                "{}: cannot be written: {error}; nothing was recorded",
                self.path.display()
            ))
        })
    }

    /// Gives the list its name.
    fn finish(self) -> Result<(), Error> {
        let Self { mut writer, path } = self;
        let finish = || -> std::io::Result<()> {
            writer.flush()?;
            let inner = writer.into_inner();
            let mut inner = inner.map_err(|error| std::io::Error::other(error.to_string()))?;
            inner.flush()?;
            let file = inner.into_inner().map_err(std::io::Error::other)?;
            file.as_file().sync_all()?;
            file.persist_noclobber(&path)?;
            Ok(())
        };
        finish().map_err(|error| unwritten(&path, &error))
    }
}

/// Says that the list is missing.
fn unwritten(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::unexpected(format!(
        "{}: cannot be written: {error}; what the statement shows is on record, and nothing was settled",
        path.display()
    ))
    .hint("give the same command again, with another name for the list if it cannot have this one")
}

/// Returns a text as a spreadsheet keeps it, and as it is read again from a file of decisions.
fn text(cell: &str) -> String {
    shielded_in("reference", cell).into_owned()
}
