//! A layout at work on one file.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::bad::RowError;
use super::columns::{ColumnMap, Field};
use super::csv::{Parser, delimiter_of};
use super::json::{Frames, NamedCells};
use super::layout::{Binding, FileKind, Head, HeaderAt, Layout, Mapped, Place, Sum};
use super::message_cells::{NAMES, OURS as OF_MESSAGES};
use super::names::{plain, same};
use super::options::Options;
use super::pain::PainRows;
use super::record::{Fault, Record};
use super::rules::Rules;
use super::sheet::{self, SheetRows};
use super::source::Source;
use super::{Error, FIELD_BYTES_MAX, ROW_BYTES_MAX};

/// What the first line of a file holds that this program has written to be mended.
pub(super) const OURS: &[u8] = b"rejected_row";

/// What stands for an amount that could not be read.
const UNREAD: &str = "?";

/// Where the rows come from.
pub(super) enum Opened {
    Csv(Parser),
    Named(Frames, Box<NamedCells>),
}

/// A layout at work.
pub(super) struct Mapping {
    pub(super) binding: Binding,
    pub(super) mapped: Record,
    /// Why the row is no payment, where it is none.
    pub(super) skipped: Option<String>,
    sum: Option<Sum>,
    /// Rows above the header.
    above: u64,
}

impl Mapping {
    /// Brings a row into our columns; returns whether it is one, and not the sum of the others.
    pub(super) fn take(&mut self, row: &Record, columns: &ColumnMap) -> Result<bool, Error> {
        let outcome = self.binding.map(row, &mut self.mapped);
        if let Mapped::Total(text) = &outcome {
            if let Some(sum) = &mut self.sum {
                sum.compare(text, row.line)?;
            }
            return Ok(false);
        }
        self.binding.look_at_dates(row);
        if let Some(sum) = self.sum.as_ref().filter(|sum| sum.line().is_some()) {
            let was_skipped = match outcome {
                Mapped::Skipped(reason) => Some(reason),
                Mapped::Row | Mapped::Total(_) => None,
            };
            self.skipped = Some(self.behind_sum(sum, row, was_skipped)?);
            return Ok(true);
        }
        if let Some(sum) = &mut self.sum {
            let is_of_amount = |error: &RowError| error.column.as_deref() == Some("amount");
            let is_unread =
                self.mapped.misfit.is_some() || self.mapped.findings.iter().any(is_of_amount);
            let amount = match is_unread {
                true => UNREAD,
                false => columns.cell(&self.mapped, Field::Amount),
            };
            let is_skipped = row.is_hidden || matches!(outcome, Mapped::Skipped(_));
            sum.add(amount, row.line, is_skipped)?;
        }
        self.skipped = match outcome {
            Mapped::Skipped(reason) => Some(reason),
            Mapped::Row | Mapped::Total(_) => None,
        };
        Ok(true)
    }

    /// Returns why a row behind the one with the sum is no payment: one that pays nobody nothing may stand there, where the layout
    /// skips it or takes nothing from it.
    fn behind_sum(
        &self,
        sum: &Sum,
        row: &Record,
        was_skipped: Option<String>,
    ) -> Result<String, Error> {
        let is_payment = self.mapped.misfit.is_some() || self.binding.says_payment(row);
        let stray = self.binding.first_text(row);
        match (is_payment, was_skipped, stray) {
            (true, ..) => Err(sum.behind(row.line, None)),
            (false, Some(reason), _) => Ok(reason),
            (false, None, None) => Ok(format!(
                "skipped by layout {}: below the sum, and empty in all columns that are read",
                self.binding.name()
            )),
            (false, None, stray) => Err(sum.behind(row.line, stray)),
        }
    }

    /// Returns what is worth telling about how the file was read.
    pub(super) fn notes(&self) -> Vec<String> {
        let above = match self.above {
            0 => None,
            1 => Some("1 row above the header left out".to_owned()),
            rows => Some(format!("{rows} rows above the header left out")),
        };
        let sum = self.sum.as_ref().and_then(Sum::note);
        let period = self.binding.period().map(|period| {
            format!("the period {period} is added to each reference, and is a part of it")
        });
        let dates = self.binding.unread_dates();
        above
            .into_iter()
            .chain(sum)
            .chain(period)
            .chain(dates)
            .collect()
    }

    /// Says at the end of the file whether all of it was there.
    ///
    /// # Errors
    /// The row with the sum was not.
    pub(super) fn end(&self) -> Result<(), Error> {
        self.sum.as_ref().map_or(Ok(()), Sum::end)
    }

    /// Returns how the columns of the contract are named to a person.
    pub(super) fn labels(&self, columns: &ColumnMap) -> BTreeMap<String, String> {
        let own = columns.header.iter();
        own.filter_map(|name| Some((name.clone(), self.binding.label(name)?)))
            .collect()
    }
}

/// Opens a file whose columns a layout names.
pub(super) fn open(
    source: &mut Source,
    record: &mut Record,
    layout: &Arc<Layout>,
    rules: &Rules,
    json: bool,
) -> Result<(Opened, ColumnMap, Mapping), Error> {
    let is_ours = source.is_ours() && !json;
    let row = match layout.header {
        HeaderAt::Row(row) if !is_ours => u64::from(row),
        _ => 1,
    };
    let (frames, parser) = match json {
        true => (Some(Frames::open(source)?), None),
        false => {
            let places = layout.places();
            let is_named = |place: &Place, name: &str| matches!(place, Place::Name(known) if same(known, name));
            let known = |name: &str| 2 * u8::from(places.iter().any(|place| is_named(place, name)));
            let parser = Parser::open_at(source, row - 1, layout.delimiter, |head| {
                delimiter_of(head, known)
            })?;
            (None, Some(parser))
        }
    };
    let (parser, names) = match (parser, layout.header) {
        (None, _) => (None, json_names(layout)),
        (Some(parser), HeaderAt::Nowhere) if !is_ours => (Some(parser), Vec::new()),
        (Some(mut parser), _) => {
            let is_there = parser.read(source, record)?;
            check_header(record)?;
            if !is_there || row > 1 && record.line != row {
                return Err(Error::Layout {
                    what: format!(
                        "has an empty row {row}, where layout {} expects the names of the columns",
                        layout.name
                    ),
                    remedy: "see in which row they are, and give that row as header in a layout of your own".to_owned(),
                    line: None,
                });
            }
            let names = record.cells().map(|name| name.trim().to_owned()).collect();
            (Some(parser), names)
        }
    };
    let head = Head {
        names,
        is_ours,
        has_positions: !json,
    };
    let (binding, columns) = Binding::bind(layout, head, rules)?;
    let rows = match (frames, parser) {
        (Some(frames), _) => {
            let ignored = layout.ignore.iter().filter_map(|place| match place {
                Place::Name(name) => Some(plain(name)),
                Place::At(_) => None,
            });
            let cells = NamedCells::of(binding.header(), ignored.collect(), layout.ignores_others);
            Opened::Named(frames, Box::new(cells))
        }
        (None, Some(mut parser)) => {
            parser.set_columns(binding.width());
            Opened::Csv(parser)
        }
        (None, None) => return Err(Error::Empty),
    };
    let mapping = Mapping {
        sum: binding.has_total().then(|| Sum::new(&layout.name)),
        binding,
        mapped: Record::default(),
        skipped: None,
        above: row - 1,
    };
    Ok((rows, columns, mapping))
}

/// Opens a sheet whose columns a layout names.
pub(super) fn open_sheet(
    rows: &mut SheetRows,
    record: &mut Record,
    layout: &Arc<Layout>,
    rules: &Rules,
) -> Result<(ColumnMap, Mapping), Error> {
    let places = layout.places();
    let is_known = |name: &str| {
        let is_it = |place: &&Place| match place {
            Place::Name(known) => same(known, name.trim()),
            Place::At(_) => false,
        };
        places.iter().any(is_it)
    };
    // What this program has written to be mended begins with its header, wherever that stood in the file.
    let is_ours = rows.peek()?.is_some_and(|row| row.names(OURS));
    let header = match layout.header {
        _ if is_ours => rows.next()?,
        HeaderAt::Nowhere => None,
        // In the first row unless the layout says otherwise: below a title in a sheet.
        HeaderAt::Row(1) => Some(sheet::header(rows, is_known, places.len().clamp(1, 2))?),
        HeaderAt::Row(row) => Some(sheet::row_numbered(rows, u64::from(row))?),
    };
    let mut names = Vec::new();
    if let Some(header) = &header {
        let width = header.cells.last().map_or(0, |cell| cell.column + 1);
        sheet::fill(header, width, record);
        names.extend(record.cells().map(|name| name.trim().to_owned()));
    }
    let head = Head {
        names,
        is_ours,
        has_positions: true,
    };
    let (binding, columns) = Binding::bind(layout, head, rules)?;
    let mapping = Mapping {
        sum: binding.has_total().then(|| Sum::new(&layout.name)),
        binding,
        mapped: Record::default(),
        skipped: None,
        above: header.map_or(0, |header| header.number - 1),
    };
    Ok((columns, mapping))
}

/// Opens a pain.001 message, whose elements are known; a layout says what goes where, and through which service.
///
/// # Errors
/// The message cannot be read, or nothing names the service.
pub(super) fn open_message(
    source: Source,
    options: &Options,
    rules: &Rules,
) -> Result<(PainRows, ColumnMap, Option<Mapping>), Error> {
    let rows = PainRows::open(source)?;
    let Some(layout) = &options.layout else {
        let columns = ColumnMap::of_names(OF_MESSAGES.map(str::to_owned).to_vec())?;
        let mut missing = columns.missing(rules);
        if missing.contains(&"service_code") {
            return Err(Error::Message {
                what: "names no service: a pain.001 never does".to_owned(),
                remedy: "add --service CODE, or keep in disburse.toml a [layouts.NAME] with format = \"pain.001\" and [layouts.NAME.constants] with \
                         service_code = \"CODE\", and add --layout NAME"
                    .to_owned(),
                at: None,
            });
        }
        missing.retain(|name| *name != "service_code");
        return match missing.is_empty() {
            true => Ok((rows, columns, None)),
            false => Err(Error::MissingColumns(missing)),
        };
    };
    if layout.kind != FileKind::Pain001 {
        return Err(Error::Layout {
            what: format!(
                "is a pain.001 message, and layout {} is for files with columns",
                layout.name
            ),
            remedy: "leave --layout out, or name a layout with format = \"pain.001\"".to_owned(),
            line: None,
        });
    }
    let head = Head {
        names: NAMES.map(str::to_owned).to_vec(),
        is_ours: false,
        has_positions: false,
    };
    let (binding, columns) = Binding::bind(layout, head, rules)?;
    let rows = rows.taking(binding.used());
    let mapping = Mapping {
        sum: None,
        binding,
        mapped: Record::default(),
        skipped: None,
        above: 0,
    };
    Ok((rows, columns, Some(mapping)))
}

/// Refuses files with columns by a layout that is for messages; what this program has written to be mended has the names of those.
pub(super) fn assert_format(layout: Option<&Layout>, is_ours: bool) -> Result<(), Error> {
    match layout {
        Some(layout) if layout.kind == FileKind::Pain001 && !is_ours => Err(Error::Layout {
            what: format!("is no pain.001 message, which layout {} reads", layout.name),
            remedy: "name another layout, or none".to_owned(),
            line: None,
        }),
        _ => Ok(()),
    }
}

/// Returns the members of JSON that a layout names, and the links that ours have.
fn json_names(layout: &Layout) -> Vec<String> {
    let named = layout.places().into_iter().filter_map(|place| match place {
        Place::Name(name) => Some(name.clone()),
        Place::At(_) => None,
    });
    named.collect()
}

/// Refuses a header that is longer than a row may be.
pub(super) fn check_header(record: &Record) -> Result<(), Error> {
    match record.faults.first() {
        Some(Fault::LongRow { .. }) => Err(Error::HeaderTooLong { max: ROW_BYTES_MAX }),
        Some(Fault::LongField { .. }) => Err(Error::HeaderTooLong {
            max: FIELD_BYTES_MAX,
        }),
        _ => Ok(()),
    }
}
