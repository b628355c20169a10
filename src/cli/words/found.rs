//! What a person asks `explain` about without knowing where it is: a reference in any batch, a phone number, a rejected row.

use serde_json::{Value, json};

use crate::cli::Error;
use crate::cli::arguments::ExplainArguments;
use crate::cli::commands::lookup;
use crate::cli::exit::ExitStatus;
use crate::cli::named;
use crate::cli::session::{Session, batch_name, needed_payment, payment_name, sandbox_flag};
use crate::cli::terminal::output;
use crate::cli::words::history::Explained;
use crate::cli::words::rows;
use crate::domain::{Actor, BatchName, Msisdn, PayerTransactionId, PaymentId, WireZone};
use crate::journal::{FOUND_MAX, FoundRow, Reader, RejectedFound, Snapshot, Wanted};
use crate::ledger::Purpose;
use crate::ledger::correction::RejectedName;
use crate::ledger::names::{By, PaymentName};
use crate::ledger::set_aside::Withdrawal;
use crate::ledger::was_repeat::was_repeat;
use crate::report::{StateName, meaning_behind};

/// What is asked about.
pub(in crate::cli) enum Asked {
    /// One row of one batch.
    Row(BatchName, PaymentName),
    /// Nothing is left to say.
    Told(ExitStatus),
}

/// Finds out which row of which batch is meant.
pub(in crate::cli) fn asked(
    session: &Session,
    reader: &Reader,
    arguments: ExplainArguments,
) -> Result<Asked, Error> {
    let ExplainArguments {
        batch,
        name,
        phone,
        customer,
        ..
    } = arguments;
    if let Some(names) = customer {
        let batch = batch.as_deref().map(batch_name).transpose()?;
        return by_names(session, reader, &names, batch.as_ref());
    }
    if let Some(number) = phone {
        let batch = batch.as_deref().map(batch_name).transpose()?;
        return by_number(session, reader, &number, batch.as_ref());
    }
    match (batch, payment_name(name.clone())?) {
        (Some(batch), Some(name)) => Ok(Asked::Row(batch_name(&batch)?, name)),
        (None, Some(name)) => anywhere(session, reader, name),
        (Some(text), None) => {
            let is_batch = reader.batches()?.iter().any(|batch| batch.as_str() == text);
            match is_batch {
                true => Ok(Asked::Row(batch_name(&text)?, needed_payment(name)?)),
                false => anywhere(session, reader, PaymentName::from(text)),
            }
        }
        (None, None) => Err(Error::refused("no payment is named").hint(
            "name it by the reference of its row, by its payerTransactionID, by the recipient's number (--phone \
            NUMBER) or by the recipient's name (--customer NAME)",
        )),
    }
}

/// Finds the one batch in which a text names a row.
fn anywhere(session: &Session, reader: &Reader, name: PaymentName) -> Result<Asked, Error> {
    let mut batches = reader.batches_with(&name)?;
    let text = output::name(&name.text);
    match batches.len() {
        0 => Err(Error::refused(format!(
            "this journal has no batch and no row named {text:?}"
        ))
        .hint(
            "name a row by its reference, its payerTransactionID, --phone NUMBER or --customer NAME; payments.csv of the report lists \
             references and payerTransactionIDs, and `disburse status` lists the batches",
        )),
        1 => Ok(Asked::Row(batches.remove(0), name)),
        count => {
            let found = reader.rows_with(Wanted::Reference(&name.text), None)?;
            let named = named(&found);
            if named.len() > 1 {
                let rows = output::counted(named.len().min(FOUND_MAX) as u64, "row");
                list(session, reader, &format!("{rows} with reference {text}"), &named)?;
                return Ok(Asked::Told(ExitStatus::Done));
            }
            let commands = batches
                .iter()
                .take(FOUND_MAX)
                .map(|batch| format!("disburse explain {batch} {}", quoted(&name.text)));
            let error = Error::refused(format!("{text:?} is a row of {count} batches"));
            Err(commands.fold(error, Error::hint))
        }
    }
}

/// Returns a word as a shell reads it.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    match text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// A number with its country code has as many digits as this.
const DIGITS_MIN: usize = 7;

/// Reads a number as a person writes it; without a configuration, with its country code.
fn digits(session: &Session, number: &str) -> Result<Msisdn, Error> {
    let settings = session.settings(false, Vec::new());
    if let Ok(settings) = &settings
        && let Some(country) = settings.profile.country_code
        && let Ok(found) = lookup::number("--phone", number, country, "")
    {
        return Ok(found);
    }
    let bare: String = number.chars().filter(char::is_ascii_digit).collect();
    // The number itself is in no message: errors are kept in logs of jobs.
    let whole = Msisdn::from_digits(&bare).filter(|_| bare.len() >= DIGITS_MIN);
    whole.ok_or_else(|| {
        Error::refused(format!(
            "--phone: this is no phone number of {} digits with its country code",
            bare.len()
        ))
        .hint("write it with its country code, digits only, as 254712345678")
    })
}

fn by_number(
    session: &Session,
    reader: &Reader,
    number: &str,
    batch: Option<&BatchName>,
) -> Result<Asked, Error> {
    let number = digits(session, number)?;
    let found = reader.rows_with(Wanted::Number(number.as_str()), batch)?;
    one_or_all(
        session,
        reader,
        &found,
        ("to", &number.masked().to_string()),
        batch,
    )
}

/// A name that is shorter finds nearly everybody.
const NAMES_MIN: usize = 3;

fn by_names(
    session: &Session,
    reader: &Reader,
    names: &str,
    batch: Option<&BatchName>,
) -> Result<Asked, Error> {
    let names = names.trim();
    if names.chars().count() < NAMES_MIN {
        return Err(Error::refused(format!(
            "--customer: expected at least {NAMES_MIN} letters of a name, found {names:?}"
        )));
    }
    let found = reader.rows_with(Wanted::Names(names), batch)?;
    one_or_all(
        session,
        reader,
        &found,
        ("for", &output::name(names)),
        batch,
    )
}

/// Returns rows with what they are known by.
fn named(found: &[FoundRow]) -> Vec<(&FoundRow, PaymentName)> {
    let name = |row: &FoundRow| match (&row.id, &row.rejected) {
        (Some(id), _) => Some(id.to_string()),
        (None, rejected) => rejected.as_ref().map(ToString::to_string),
    };
    let named = |row| {
        let text = name(row)?;
        let by = By::Identifier;
        Some((row, PaymentName { text, by }))
    };
    found.iter().filter_map(named).collect()
}

/// Names the one row that was found, or lists them.
fn one_or_all(
    session: &Session,
    reader: &Reader,
    found: &[FoundRow],
    (to, whom): (&str, &str),
    batch: Option<&BatchName>,
) -> Result<Asked, Error> {
    match named(found).as_slice() {
        [] => Err(Error::refused(match batch {
            Some(batch) => format!("no row of batch {batch} pays {whom}"),
            None => format!("no row of this journal pays {whom}"),
        })
        .hint("another journal may have it (--journal); `disburse status` lists the batches of this one")),
        [(row, name)] => Ok(Asked::Row(row.batch.clone(), name.clone())),
        many => {
            let rows = output::counted(many.len().min(FOUND_MAX) as u64, "row");
            list(session, reader, &format!("{rows} {to} {whom}"), many)?;
            Ok(Asked::Told(ExitStatus::Done))
        }
    }
}

/// A row in a list.
pub(in crate::cli) struct Listed {
    pub(in crate::cli) line: u64,
    pub(in crate::cli) file: String,
    /// Its reference, and the name, each behind a comma.
    pub(in crate::cli) whose: String,
    /// The number that it pays, not whole.
    pub(in crate::cli) to: String,
    /// It was set aside as it repeats another row.
    repeats: bool,
    pub(in crate::cli) state: StateName,
    pub(in crate::cli) amount: String,
}

/// Reads the row that was found; `None` when it is gone meanwhile.
fn listed(snapshot: &Snapshot<'_>, name: &PaymentName) -> Result<Option<Listed>, Error> {
    if let Ok(unpriced) = snapshot.find_unpriced(name) {
        let Some(record) = unpriced else {
            let records = snapshot.find(name.clone())?;
            let row = &records[0].payment.instruction;
            return Ok(Some(Listed {
                line: row.line,
                file: snapshot.file_of(records[0].seq)?.name,
                whose: named::whose(row),
                to: row.msisdn.masked(),
                repeats: false,
                state: rows::state_name(records[0].life.state),
                amount: format!(
                    "{} {}",
                    row.money.currency,
                    output::grouped(&row.money.to_string())
                ),
            }));
        };
        return Ok(Some(Listed {
            line: record.row.line,
            file: snapshot.file_of(record.seq)?.name,
            whose: named::whose(&record.row),
            to: record.row.msisdn.masked(),
            repeats: false,
            state: match record.withdrawn_at {
                Some(_) => StateName::Cancelled,
                None => StateName::Unpriced,
            },
            amount: "as its bill says".to_owned(),
        }));
    }
    let found = snapshot.rejected_named(name)?.into_iter().next();
    Ok(found.map(|found| Listed {
        line: found.line,
        whose: whose_rejected(&found),
        to: without_numbers(&found.msisdn),
        repeats: is_repeat(&found),
        amount: amount_of(&found),
        state: rows::set_aside_name(found.withdrawn.as_ref()),
        file: found.file.name,
    }))
}

/// Finds rows by whatever a person types: a reference, an identifier, a phone number, or a part of a name; no more than
/// [`FOUND_MAX`] and one.
pub(in crate::cli) fn search(
    session: &Session,
    reader: &Reader,
    text: &str,
) -> Result<Vec<(BatchName, PaymentName, Listed)>, Error> {
    let mut found = reader.rows_with(Wanted::Reference(text), None)?;
    let by = By::Identifier;
    let text_as_id = text.to_owned();
    for batch in reader.batches_with(&PaymentName {
        text: text_as_id,
        by,
    })? {
        found.push(FoundRow {
            batch,
            id: PayerTransactionId::parse(text),
            rejected: RejectedName::parse(text),
        });
    }
    let of_number = |c: char| c.is_ascii_digit() || " +-()/.".contains(c);
    if text.chars().all(of_number)
        && let Ok(number) = digits(session, text)
    {
        found.extend(reader.rows_with(Wanted::Number(number.as_str()), None)?);
    }
    if found.is_empty() && text.chars().count() >= NAMES_MIN {
        found = reader.rows_with(Wanted::Names(text), None)?;
    }
    let mut rows = Vec::new();
    for (row, name) in named(&found) {
        let is_new = |(batch, known, _): &(BatchName, PaymentName, Listed)| {
            *batch != row.batch || known.text != name.text
        };
        if rows.len() > FOUND_MAX || !rows.iter().all(is_new) {
            continue;
        }
        let snapshot = reader.snapshot(&row.batch)?;
        if let Some(listed) = listed(&snapshot, &name)? {
            drop(snapshot);
            rows.push((row.batch.clone(), name, listed));
        }
    }
    Ok(rows)
}

fn called_rejected(row: &RejectedFound) -> String {
    match row.reference.as_str() {
        "" => String::new(),
        reference => format!(", reference {reference}"),
    }
}

fn whose_rejected(row: &RejectedFound) -> String {
    let mut text = called_rejected(row);
    if !row.customer_names.is_empty() {
        text.push_str(&format!(", {}", output::name(&row.customer_names)));
    }
    text
}

/// Lists rows, each with the command that tells more.
fn list(
    session: &Session,
    reader: &Reader,
    heading: &str,
    rows: &[(&FoundRow, PaymentName)],
) -> Result<(), Error> {
    let (mut values, mut lines) = (Vec::new(), Vec::new());
    for (row, name) in rows.iter().take(FOUND_MAX) {
        let snapshot = reader.snapshot(&row.batch)?;
        let Some(Listed {
            line,
            file,
            whose,
            repeats,
            state,
            amount,
            ..
        }) = listed(&snapshot, name)?
        else {
            continue;
        };
        values.push(json!({
            "batch": row.batch.as_str(), "payer_transaction_id": row.id.map(|id| id.to_string()),
            "rejected_row": row.rejected.as_ref().map(ToString::to_string),
            "line": line, "file": file, "state": state.as_str(),
        }));
        let repeat = if repeats {
            ", as it repeats another row"
        } else {
            ""
        };
        lines.push(format!(
            "batch {}, line {line} of {}{whose}, {amount}: {}{repeat}: disburse explain {} --id {}",
            row.batch,
            output::name(&file),
            state.in_words(),
            row.batch,
            name.text
        ));
    }
    if session.common.json {
        output::json(&Value::Array(values));
        return Ok(());
    }
    let more = match rows.len() > FOUND_MAX {
        true => ", and more",
        false => "",
    };
    output::line(&format!("{heading}{more}"));
    lines
        .iter()
        .for_each(|line| output::line(&format!("  {line}")));
    Ok(())
}

fn amount_of(found: &RejectedFound) -> String {
    format!("{} {}", found.currency_code, found.amount)
        .trim()
        .to_owned()
}

/// Hides all but the last four of every longer run of digits: errors quote the number that was refused.
pub(in crate::cli) fn without_numbers(text: &str) -> String {
    const SHOWN: usize = 4;
    let mut shown = String::with_capacity(text.len());
    let mut run = String::new();
    for c in text.chars().chain([' ']) {
        if c.is_ascii_digit() {
            run.push(c);
            continue;
        }
        let hidden = if run.len() > 6 { run.len() - SHOWN } else { 0 };
        shown.extend(std::iter::repeat_n('*', hidden));
        shown.push_str(&run[hidden..]);
        run.clear();
        shown.push(c);
    }
    shown.pop();
    shown
}

/// Tells a program of rejected rows.
pub(in crate::cli) fn rejected_json(rows: &[RejectedFound]) -> Value {
    let values = rows.iter().map(|row| {
        json!({
            "payer_transaction_id": null,
            "rejected_row": row.name.as_ref().map(ToString::to_string),
            "line": row.line,
            "file": row.file.name,
            "reference": row.reference,
            "service_code": row.service_code,
            "amount": row.amount,
            "currency_code": row.currency_code,
            "state": rows::set_aside_name(row.withdrawn.as_ref()).as_str(),
            "errors": without_numbers(&row.errors),
            "replaced_by": row.replaced_by.map(|id| id.to_string()),
            "withdrawn": row.withdrawn.as_ref().map(withdrawal_json),
        })
    });
    values.collect()
}

/// Explains rejected rows. `is_behind`: the journal may have missed that one was mended.
pub(in crate::cli) fn rejected(
    (batch, purpose): (&BatchName, Purpose),
    rows: &[RejectedFound],
    zone: &WireZone,
    is_behind: bool,
) -> Vec<Explained> {
    let standing = |row: &RejectedFound| {
        let state = rows::set_aside_name(row.withdrawn.as_ref());
        // What took its place is told under its own name.
        let missed = meaning_behind(state).filter(|_| is_behind && row.replaced_by.is_none());
        let missed = missed.map(|text| format!("  {text}"));
        let sentence = rejected_sentence(batch, purpose, row, missed.is_some());
        [sentence].into_iter().chain(missed).collect()
    };
    let explained = |row: &RejectedFound| {
        let name = row.name.as_ref().map(|name| format!("{name}: "));
        let set_aside = format!(
            "  {}  loaded, and set aside: {}",
            zone.format_named(row.file.loaded_at),
            without_numbers(&row.errors)
        );
        let withdrawn = row.withdrawn.as_ref().map(|withdrawal| {
            let at = zone.format_named(withdrawal.at);
            format!("  {}", withdrawal.text(&at))
        });
        Explained {
            heading: format!(
                "{}line {} of {}{}, {} {} to {}",
                name.unwrap_or_default(),
                row.line,
                output::name(&row.file.name),
                called_rejected(row),
                row.service_code,
                amount_of(row),
                without_numbers(&row.msisdn)
            ),
            standing: standing(row),
            history: [set_aside].into_iter().chain(withdrawn).collect(),
        }
    };
    rows.iter().map(explained).collect()
}

/// Says what is next with a rejected row.
fn rejected_sentence(
    batch: &BatchName,
    purpose: Purpose,
    row: &RejectedFound,
    is_behind: bool,
) -> String {
    match row.replaced_by {
            None if row.withdrawn.as_ref().is_some_and(|withdrawal| withdrawal.by_layout) => {
                "  Skipped: the layout of its file says that it is not a payment. If it is one, mend the layout, and \
                 load the file under another batch name; that load reports the other rows of this batch as repeats".to_owned()
            }
            None if is_behind => format!(
                "  {}. First see `disburse recover`, which says what this journal may have missed, and lists each step",
                rows::set_aside_name(row.withdrawn.as_ref()).in_words()
            ),
            None if row.withdrawn.is_some() => {
                "  Rejected and withdrawn: this row never pays anybody".to_owned()
            }
            Some(id) => format!(
                "  Rejected, and its mended row has taken its place: disburse explain {batch} --id {id}"
            ),
            None if is_repeat(row) => format!(
                "  Left out, because it repeats the row in the next line. It paid nothing. Check that row with `disburse explain`, and do not mend this \
                 one. To withdraw it: disburse cancel {batch} --rejected {} --reason TEXT",
                row.name
                    .as_ref()
                    .map_or_else(|| row.line.to_string(), ToString::to_string)
            ),
            None => format!(
                "  Rejected, and never sent: it paid nobody. Mend it, and add it: `disburse report {batch} --out DIR` writes it to \
                 failed.csv; then: disburse load DIR/failed.csv --batch {batch} --amend{}. If it must not \
                 be paid: disburse cancel {batch} --rejected {} --reason TEXT",
                sandbox_flag(purpose),
                row.name
                    .as_ref()
                    .map_or_else(|| row.line.to_string(), ToString::to_string)
            ),
    }
}

fn is_repeat(row: &RejectedFound) -> bool {
    was_repeat(&row.errors).is_some()
}

/// Returns a person's decision for programs.
fn withdrawal_json(withdrawal: &Withdrawal) -> Value {
    let by = withdrawal.by.as_ref();
    json!({
        "at": withdrawal.at.to_string(), "reason": withdrawal.reason,
        "user": by.map(Actor::user), "host": by.map(Actor::host), "sudo_of": by.and_then(Actor::sudo_of),
    })
}

/// Says whose place a payment took.
pub(in crate::cli) fn place_taken(
    snapshot: &Snapshot<'_>,
    seq: PaymentId,
) -> Result<Vec<String>, Error> {
    let rows = snapshot.took_the_place_of(seq)?;
    let texts = rows.iter().map(|row| {
        format!(
            "  takes the place of line {} of {}, which was {}: {}",
            row.line,
            output::name(&row.file.name),
            StateName::Rejected.in_words(),
            without_numbers(&row.errors)
        )
    });
    Ok(texts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_hidden_in_whatever_quotes_them() {
        for (text, shown) in [
            ("found 11 (\"25471234567\")", "found 11 (\"*******4567\")"),
            ("0712345678", "******5678"),
            ("line 123456", "line 123456"),
            ("", ""),
        ] {
            assert_eq!(without_numbers(text), shown);
        }
    }

    #[test]
    fn a_command_can_be_copied_whatever_the_reference_holds() {
        for (text, word) in [
            ("EMP-00001", "EMP-00001"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$(rm x)", "'$(rm x)'"),
        ] {
            assert_eq!(quoted(text), word);
        }
    }
}
