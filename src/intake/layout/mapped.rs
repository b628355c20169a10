//! One row of a file, brought into our columns.

use super::super::bad::RowError;
use super::super::columns::resolve;
use super::super::damage;
use super::super::odd_cells::told_of;
use super::super::oddity::{Oddity, STRUCK_OUT};
use super::super::record::{Fault, Fields, Record};
use super::super::rules::Rules;
use super::super::text::quoted;
use super::super::{FIELD_BYTES_MAX, ROW_BYTES_MAX};
use super::binding::{Binding, Bound};
use super::decimal::{Decimal, Numbers};
use super::definition::{EmptyAmount, Factor, Source, Taken, marked};
use super::pattern::{ANY, is_said, is_value};

/// Values of a layout that one error repeats.
const VALUES_SHOWN: usize = 6;

/// What a row is.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum Mapped {
    /// A payment, or a row with a mistake.
    Row,
    /// No payment, with the reason.
    Skipped(String),
    /// The sum of the rows above.
    Total(String),
}

/// What was found of one cell of ours.
struct Cell {
    text: String,
    finding: Option<(String, Option<String>)>,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self {
            text,
            finding: None,
        }
    }
}

impl Binding {
    /// Brings a row into our columns.
    pub(in super::super) fn map(&self, row: &Record, out: &mut Record) -> Mapped {
        let fields = out.begin_as(row);
        if let Some(misfit) = self.misfit(row) {
            self.take_over(row, out, fields);
            out.misfit = Some(misfit);
            return Mapped::Row;
        }
        let total = self.total_of(row);
        let is_somebody = total.is_some() && self.names_somebody(row);
        if let Some(text) = total.filter(|_| !is_somebody) {
            out.finish(fields);
            return Mapped::Total(text);
        }
        self.fill(row, out, fields);
        if let Some(at) = self.total.filter(|_| is_somebody) {
            let message = "is marked as the row with the sum, but names somebody to pay: leave number and account out \
                           of the row with the sum; if it is a payment to somebody of that name, use a layout with \
                           another mark for the sum ([total])";
            let error = self.error(out, at, message.to_owned());
            out.findings.push(error);
            return Mapped::Row;
        }
        out.findings.extend(row.findings.iter().cloned());
        out.refused |= row.refused;
        self.take_faults(row, out);
        if let Some(reason) = self.skipped(row, out) {
            return Mapped::Skipped(reason);
        }
        self.refuse(row, out);
        self.look_at_unnamed(row, out);
        Mapped::Row
    }

    /// Returns how many cells a row should have and has, where its cells cannot be told apart.
    fn misfit(&self, row: &Record) -> Option<(usize, usize)> {
        let is_shapeless = |fault: &Fault| {
            matches!(
                fault,
                Fault::LongRow { .. } | Fault::TextAfterQuote { .. } | Fault::Malformed(_)
            )
        };
        let (expected, found) = (self.width(), row.len());
        let fits = match self.is_bare {
            true => found <= expected || self.layout.ignores_others,
            false => found == expected,
        };
        (!fits || row.faults.iter().any(is_shapeless)).then_some((expected, found))
    }

    /// Takes a row over as it stands, as nothing can be told of its cells.
    fn take_over(&self, row: &Record, out: &mut Record, mut fields: Fields) {
        for cell in row.cells() {
            fields.push(cell.as_bytes());
            fields.end();
        }
        out.finish(fields);
        self.take_faults(row, out);
        row.raw.clone_into(&mut out.raw);
    }

    fn take_faults(&self, row: &Record, out: &mut Record) {
        for fault in &row.faults {
            let fault = match fault {
                Fault::LongField { index, bytes } => {
                    let message = format!(
                        "expected at most {FIELD_BYTES_MAX} bytes in a cell, found {bytes}"
                    );
                    out.findings.push(self.error(out, *index, message));
                    row.raw.clone_into(&mut out.raw);
                    continue;
                }
                Fault::LongRow { bytes } => Fault::Malformed(format!(
                    "expected at most {ROW_BYTES_MAX} bytes in a row, found {bytes}"
                )),
                Fault::TextAfterQuote { index } => Fault::Malformed(format!(
                    "text follows the closing quote in {}; a quote inside a quoted cell is written twice",
                    self.shown(*index)
                )),
                Fault::Odd { index, oddity } => {
                    self.take_oddity(*index, *oddity, out);
                    continue;
                }
                other => other.clone(),
            };
            out.faults.push(fault);
            row.raw.clone_into(&mut out.raw);
        }
    }

    /// Says what is odd about a cell, where it matters to what is taken from it.
    fn take_oddity(&self, at: usize, oddity: Oddity, out: &mut Record) {
        let told = self.ours_at(at).find_map(|column| {
            let known = resolve(column, &Rules::default()).ok()?;
            Some((column.to_owned(), told_of(&known, oddity)?))
        });
        if told.is_none() && oddity == Oddity::StruckOut {
            out.findings
                .push(self.error(out, at, STRUCK_OUT.to_owned()));
        }
        if let Some((column, message)) = told {
            out.findings.push(RowError {
                line: out.line,
                row: out.row,
                cell: None,
                column: Some(column),
                header: None,
                message: message.to_owned(),
                code: "invalid",
                found: None,
            });
        }
    }

    /// Returns an error about a column of the file.
    fn error(&self, out: &Record, at: usize, message: String) -> RowError {
        let name = self.shown(at);
        let header = match name.starts_with("column ") {
            true => name,
            false => format!("column {name}"),
        };
        RowError {
            line: out.line,
            row: out.row,
            cell: None,
            column: None,
            header: Some(header),
            message,
            code: "invalid",
            found: None,
        }
    }

    fn fill(&self, row: &Record, out: &mut Record, mut fields: Fields) {
        for (index, bound) in self.bound.iter().enumerate() {
            let source = self.source(bound);
            let Cell { text, finding } = self.cell(row, bound);
            if let Some((message, found)) = finding {
                out.findings.push(RowError {
                    line: out.line,
                    row: out.row,
                    cell: None,
                    column: Some(source.column.clone()),
                    header: None,
                    message,
                    code: "invalid",
                    found,
                });
            }
            end(&mut fields, &text, index, &mut out.faults);
        }
        for (nth, at) in self.kept.iter().enumerate() {
            end(
                &mut fields,
                row.cell(*at),
                self.bound.len() + nth,
                &mut out.faults,
            );
        }
        out.finish(fields);
    }

    fn cell(&self, row: &Record, bound: &Bound) -> Cell {
        let source = self.source(bound);
        if let Some((at, values)) = &bound.when {
            let found = row.cell(*at).trim();
            if !values.iter().any(|value| is_value(found, value)) {
                return String::new().into();
            }
        }
        let text = match &source.taken {
            Taken::Constant(constant) => constant.clone(),
            Taken::From { with, .. } => {
                let cells = bound.cells.iter().map(|at| row.cell(*at).trim());
                let cells: Vec<&str> = cells.filter(|cell| !cell.is_empty()).collect();
                cells.join(with)
            }
        };
        match source.values.is_empty() {
            true if source.column == "amount" => self.amount(row, &bound.cells, &text),
            true if source.column == "reference" => self.reference(text).into(),
            true => text.into(),
            false => self.value(source, text),
        }
    }

    /// Puts the period behind a reference.
    // One that a spreadsheet has damaged stays as it is, so that it is told.
    fn reference(&self, mut text: String) -> String {
        if let Some(period) = self.period()
            && !text.is_empty()
            && damage::of_digits(&text).is_none()
        {
            text.push('-');
            text.push_str(period);
        }
        text
    }

    /// Says what the layout says for a value.
    fn value(&self, source: &Source, text: String) -> Cell {
        let exact = source.values.iter().find(|(theirs, _)| *theirs == text);
        let any = || {
            source
                .values
                .iter()
                .find(|(theirs, _)| is_value(&text, theirs))
        };
        if let Some((_, ours)) = exact.or_else(any) {
            return ours.clone().into();
        }
        if text.is_empty() {
            return text.into();
        }
        let mut names: Vec<String> = source
            .values
            .iter()
            .take(VALUES_SHOWN)
            .map(|(theirs, _)| quoted(theirs))
            .collect();
        if source.values.len() > VALUES_SHOWN {
            names.push("…".to_owned());
        }
        let message = format!(
            "expected a value that layout {} maps, {} ({})",
            self.layout.name,
            names.join(", "),
            quoted(&text)
        );
        Cell {
            text: String::new(),
            finding: Some((message, Some(text))),
        }
    }

    /// Writes an amount as ours are written, multiplied by what the layout says.
    fn amount(&self, row: &Record, cells: &[usize], text: &str) -> Cell {
        // What is a number in its sheet is written by ourselves: the layout's signs are those of texts.
        let signs = |at: &usize| match row.numbers.contains(at) {
            true => Numbers::default(),
            false => self.layout.numbers,
        };
        let numbers = match cells {
            [at] => signs(at),
            _ => self.layout.numbers,
        };
        let multiplies = self.layout.factor != Factor::None || self.factor.is_some();
        let is_plain = numbers.is_ours() && self.layout.amount_signs.is_empty();
        if text.is_empty() || is_plain && !multiplies {
            return match Numbers::group_of(text) {
                Some((group, amount)) => not_read(
                    format!(
                        "has {} between its digits; write {amount}, or let layout {} say group = \"{group}\"",
                        Numbers::name_of(group),
                        self.layout.name
                    ),
                    text,
                ),
                None => text.to_owned().into(),
            };
        }
        let Some(amount) = Decimal::read(self.without_sign(text), numbers) else {
            let cause = match damage::of_cell(text) {
                Some(cause) => cause.to_owned(),
                None => format!(
                    "expected a number such as {}, as layout {} has it",
                    numbers.example(),
                    self.layout.name
                ),
            };
            return not_read(cause, text);
        };
        if !multiplies {
            return amount.to_string().into();
        }
        let mut product = Some(amount);
        if let Factor::Given(factor) = self.layout.factor {
            product = product.and_then(|product| product.times(factor));
        }
        if let Some(at) = self.factor {
            let cell = row.cell(at).trim();
            let Some(factor) = Decimal::read(cell, signs(&at)) else {
                let cause = format!(
                    "expected a number in {}, by which it is multiplied, such as {}",
                    self.shown(at),
                    self.layout.numbers.example()
                );
                return not_read(cause, cell);
            };
            product = product.and_then(|product| product.times(factor));
        }
        match product {
            Some(product) => product.to_string().into(),
            None => not_read("comes to more than can be counted".to_owned(), text),
        }
    }

    /// Returns an amount without the sign of its currency that may stand beside it.
    fn without_sign<'a>(&self, text: &'a str) -> &'a str {
        let signs = self.layout.amount_signs.iter();
        let mut bare = signs.filter_map(|sign| {
            let sign = sign.as_str();
            text.strip_suffix(sign).or_else(|| text.strip_prefix(sign))
        });
        bare.next().map_or(text, str::trim)
    }

    /// Returns what the row with the sum says, if this is it.
    fn total_of(&self, row: &Record) -> Option<String> {
        let total = self.layout.total.as_ref()?;
        let marker = marked(row.cell(self.total?));
        if marker.is_empty() || marker != marked(&total.marker) {
            return None;
        }
        let amount = |bound: &&Bound| self.source(bound).column == "amount";
        let bound = self.bound.iter().find(amount)?;
        let cell = self.cell(row, bound);
        // Ours are read by the same eyes.
        let ours = Decimal::read(&cell.text, Numbers::default());
        Some(ours.map_or(cell.text, |amount| amount.to_string()))
    }

    /// Returns whether a row says who is to be paid.
    fn names_somebody(&self, row: &Record) -> bool {
        const RECIPIENT: [&str; 3] = ["msisdn", "account_number", "bank_account_number"];
        let of_recipient = |bound: &&Bound| {
            let source = self.source(bound);
            let is_constant = matches!(source.taken, Taken::Constant(_));
            !is_constant && RECIPIENT.contains(&source.column.as_str())
        };
        let cells = self.bound.iter().filter(of_recipient);
        cells
            .flat_map(|bound| &bound.cells)
            .any(|at| !row.cell(*at).trim().is_empty())
    }

    /// Returns why a row is no payment, if it is none.
    fn skipped(&self, row: &Record, out: &Record) -> Option<String> {
        let name = &self.layout.name;
        for (at, skip) in &self.skip {
            let found = row.cell(*at).trim();
            let Some(value) = skip.values.iter().find(|value| is_said(found, value)) else {
                continue;
            };
            let column = self.shown(*at);
            return Some(match value.as_str() {
                "" => format!("skipped by layout {name}: no payment where {column} is empty"),
                ANY => {
                    format!("skipped by layout {name}: no payment where {column} says something")
                }
                value => format!(
                    "skipped by layout {name}: no payment where {column} is {}",
                    quoted(value)
                ),
            });
        }
        if self.layout.empty_amount != EmptyAmount::Skip || !out.findings.is_empty() {
            return None;
        }
        let amount = |bound: &Bound| self.source(bound).column == "amount";
        let at = self.bound.iter().position(amount)?;
        let text = out.cell(at).trim();
        let is_zero = Decimal::read(text, Numbers::default()).is_some_and(Decimal::is_zero);
        let what = match (text.is_empty(), is_zero) {
            (true, _) => "without an amount",
            (_, true) => "of an amount of zero",
            _ => return None,
        };
        Some(format!(
            "skipped by layout {name}: no payment {what}{}",
            self.whose(out)
        ))
    }

    /// Says whose row it is, as far as it says so itself: somebody may be missing an amount who should have one.
    fn whose(&self, out: &Record) -> String {
        let cell = |column: &str| {
            let at = self
                .bound
                .iter()
                .position(|bound| self.source(bound).column == column);
            at.map_or("", |at| out.cell(at).trim())
        };
        let reference = Some(cell("reference")).filter(|reference| !reference.is_empty());
        let name = [
            "customer_names",
            "bank_account_name",
            "msisdn",
            "bank_account_number",
        ]
        .into_iter()
        .map(cell)
        .find(|name| !name.is_empty());
        match (reference, name) {
            (Some(reference), Some(name)) => {
                format!(" (reference {}, {})", quoted(reference), quoted(name))
            }
            (Some(reference), None) => format!(" (reference {})", quoted(reference)),
            (None, Some(name)) => format!(" ({})", quoted(name)),
            (None, None) => String::new(),
        }
    }

    /// Says why a row cannot be paid, if the layout knows.
    fn refuse(&self, row: &Record, out: &mut Record) {
        for (at, which) in &self.refuse {
            let refuse = &self.layout.refuse[*which];
            let found = row.cell(*at).trim();
            if is_said(found, &refuse.value) {
                let mut error = self.error(out, *at, refuse.reason.clone());
                error.code = "unpayable";
                out.findings.push(error);
                out.refused = true;
                return;
            }
        }
    }

    fn look_at_unnamed(&self, row: &Record, out: &mut Record) {
        for at in &self.unnamed {
            let cell = row.cell(*at).trim();
            if !cell.is_empty() {
                let message = format!("has no name in the header, found {}", quoted(cell));
                let error = self.error(out, *at, message);
                out.findings.push(error);
            }
        }
    }
}

fn not_read(cause: String, text: &str) -> Cell {
    Cell {
        text: String::new(),
        finding: Some((format!("{cause} ({})", quoted(text)), Some(text.to_owned()))),
    }
}

/// Ends a cell of ours; joined ones may be too long.
fn end(fields: &mut Fields, text: &str, index: usize, faults: &mut Vec<Fault>) {
    fields.push(text.as_bytes());
    let bytes = fields.end();
    if bytes > FIELD_BYTES_MAX as u64 {
        faults.push(Fault::LongField { index, bytes });
    }
}
