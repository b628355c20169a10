//! The sheets of report.xlsx that are no lists of payments: what the batch adds up to, and what it can be proven by.

use std::fs::File;
use std::io;

use crate::domain::{Currency, Timestamp, decimal};
use crate::ledger::Purpose;
use crate::ledger::reconciliation::FindingKind;
use crate::report::fold::difference::Difference;
use crate::report::fold::lane::Sum;
use crate::report::fold::reconciliation::Reconciliation;
use crate::report::rows::entry::{BatchHeader, StateName};
use crate::workbook::{Book, Cell, Look};

/// Writes rows of texts.
struct Page<'a> {
    book: &'a mut Book<File>,
    is_empty: bool,
}

impl<'a> Page<'a> {
    fn of(book: &'a mut Book<File>, name: &str, widths: &[u16]) -> io::Result<Self> {
        let look = Look {
            widths: widths.to_vec(),
            ..Look::default()
        };
        book.begin_sheet(name, &look)?;
        Ok(Self {
            book,
            is_empty: true,
        })
    }

    fn texts(&mut self, cells: &[&str]) -> io::Result<()> {
        self.is_empty = false;
        self.book
            .write_row(cells.iter().map(|cell| Cell::Text(cell)))
    }

    /// The name of what comes below, with an empty row in front.
    fn title(&mut self, cells: &[&str]) -> io::Result<()> {
        if !self.is_empty {
            self.book.write_row([])?;
        }
        self.is_empty = false;
        self.book
            .write_row(cells.iter().map(|cell| Cell::Heading(cell)))
    }

    /// What a service comes to; beside it what was loaded, where that is said.
    fn sums(
        &mut self,
        names: [&str; 2],
        (found, loaded): (Sum, Option<Sum>),
        currency: Currency,
    ) -> io::Result<()> {
        let decimals = currency.exponent();
        let (count, amount) = told(found, currency);
        let loaded = loaded.map(|sum| told(sum, currency));
        let (of_loaded, amount_of_loaded) = match &loaded {
            Some((count, amount)) => (count.as_str(), amount.as_str()),
            None => ("", ""),
        };
        self.book.write_row([
            Cell::Text(names[0]),
            Cell::Text(names[1]),
            Cell::Amount(&count, 0),
            Cell::Amount(&amount, decimals),
            Cell::Amount(of_loaded, 0),
            Cell::Amount(amount_of_loaded, decimals),
            Cell::Text(currency.code()),
        ])
    }
}

fn told(sum: Sum, currency: Currency) -> (String, String) {
    (sum.count.to_string(), decimal(sum.minor, currency))
}

/// Writes what the batch adds up to, and how that compares with what was loaded.
pub(super) fn summary(
    book: &mut Book<File>,
    header: &BatchHeader,
    reconciliation: &Reconciliation,
) -> io::Result<()> {
    let mut page = Page::of(book, "summary", &[28, 22, 14, 20, 14, 20, 14, 20])?;
    let yes = |is: bool| if is { "yes" } else { "no" };
    page.title(&["Batch", header.name.as_str()])?;
    page.texts(&["Originator", header.originator.as_str()])?;
    page.texts(&["Gateway", &header.gateway])?;
    let purpose = match header.purpose {
        Purpose::Rehearsal => "rehearsal: no money has moved",
        Purpose::Gateway => "gateway",
        Purpose::Unknown => "not known",
    };
    page.texts(&["Loaded for", purpose])?;
    page.texts(&["First loaded", &header.created_at.to_string()])?;
    page.texts(&["Finished", yes(reconciliation.finished())])?;
    page.texts(&["Adds up", yes(reconciliation.adds_up())])?;
    for difference in reconciliation.differences() {
        page.texts(&["Difference", &Difference::to_string(&difference)])?;
    }
    if header.paid_twice_count > 0 {
        page.texts(&["Rows paid twice", &header.paid_twice_count.to_string()])?;
        for row in &header.paid_twice {
            page.texts(&["Paid twice", &row.sentence()])?;
        }
    }
    totals(&mut page, reconciliation)
}

/// Writes what each service comes to, in all and by state, beside what was loaded; then what is not paid, by status code.
fn totals(page: &mut Page<'_>, reconciliation: &Reconciliation) -> io::Result<()> {
    page.title(&[
        "Service",
        "State",
        "Payments",
        "Amount",
        "Loaded",
        "Loaded amount",
        "Currency",
    ])?;
    for (service, currency, lane) in reconciliation.lanes() {
        let all = (lane.found(), Some(lane.control));
        page.sums([service, "all"], all, currency)?;
        for state in StateName::ALL {
            let sum = lane.state(state);
            if sum.count > 0 {
                page.sums([service, state.as_str()], (sum, None), currency)?;
            }
        }
    }
    page.title(&[
        "Not paid",
        "Status code",
        "Payments",
        "Amounts",
        "Description",
    ])?;
    for (state, code, group) in reconciliation.exceptions() {
        let code = code.map_or_else(String::new, |code| code.to_string());
        let amounts: Vec<String> = group
            .amounts
            .decimals()
            .into_iter()
            .map(|(currency, amount)| format!("{currency} {amount}"))
            .collect();
        page.texts(&[
            state.as_str(),
            &code,
            &group.count.to_string(),
            &amounts.join(", "),
            &group.description,
        ])?;
    }
    Ok(())
}

/// Writes where the batch comes from, who did what, and by which hash all of it is proven.
pub(super) fn evidence(book: &mut Book<File>, header: &BatchHeader) -> io::Result<()> {
    let mut page = Page::of(book, "evidence", &[28, 30, 30, 40, 40])?;
    let at = |at: Timestamp| at.to_string();
    page.title(&["Evidence", "Rows", "Head"])?;
    page.texts(&[
        "chain of the batch",
        &header.evidence_rows.to_string(),
        &header.evidence_head,
    ])?;
    page.title(&["Loaded file", "At", "Digest"])?;
    for load in &header.loads {
        page.texts(&[load.file_name(), &at(load.loaded_at), &load.digest])?;
    }
    page.title(&["Act", "At", "By", "About", "Reason"])?;
    for deed in &header.people {
        page.texts(&[
            deed.act.as_str(),
            &at(deed.at),
            &deed.by.to_string(),
            deed.about.as_deref().unwrap_or_default(),
            deed.reason.as_deref().unwrap_or_default(),
        ])?;
    }
    if !header.statements.is_empty() {
        page.title(&["Statement", "At", "Digest"])?;
        for stated in &header.statements {
            let of = |name: &str| stated.summary[name].as_str().unwrap_or_default();
            page.texts(&[of("statement"), &at(stated.at), of("digest")])?;
        }
    }
    Ok(())
}

/// Writes what statements of gateway and bank showed, where there is one: of the last comparison with each what was kept one by one.
pub(super) fn statements(book: &mut Book<File>, header: &BatchHeader) -> io::Result<()> {
    if header.statements.is_empty() {
        return Ok(());
    }
    let mut page = Page::of(
        book,
        "statements",
        &[24, 30, 20, 30, 14, 12, 14, 14, 12, 24],
    )?;
    page.title(&[
        "Statement",
        "Found",
        "Reference",
        "Payment",
        "Amount",
        "Currency",
        "There: line",
        "There: amount",
        "There: date",
        "There: reference",
    ])?;
    for (stated, _) in header.last_comparisons() {
        let statement = stated.summary["statement"].as_str().unwrap_or_default();
        for finding in &stated.findings {
            let of = |name: &str| finding[name].as_str().unwrap_or_default();
            let kind = FindingKind::from_name(of("finding"));
            let decimals = |name: &str| Currency::from_code(of(name)).map_or(0, Currency::exponent);
            page.book.write_row([
                Cell::Text(statement),
                Cell::Text(kind.map_or("", FindingKind::in_words)),
                Cell::Text(of("reference")),
                Cell::Text(of("payer_transaction_id")),
                Cell::Amount(of("amount"), decimals("currency_code")),
                Cell::Text(of("currency_code")),
                Cell::Text(of("statement_line")),
                Cell::Amount(of("statement_amount"), decimals("statement_currency_code")),
                Cell::Text(of("statement_date")),
                Cell::Text(of("statement_reference")),
            ])?;
        }
    }
    Ok(())
}
