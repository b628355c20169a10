//! A layout under the header of one file: where each of its columns stands.

use std::sync::Arc;

use super::super::columns::{ColumnMap, RAW};
use super::super::names::{plain, same, suggestion};
use super::super::oddity::Oddity;
use super::super::record::{Fault, Record};
use super::super::rules::Rules;
use super::super::suggest::nearest;
use super::super::text::quoted;
use super::super::{COLUMNS, Error};
use super::dates;
use super::definition::{
    Condition, Factor, FileKind, HeaderAt, Layout, Period, Place, Source, Taken,
};
use super::total::is_marker;

/// Columns of a file that this program has written to be mended: they are taken as they stand.
const LINKS: [&str; 3] = ["rejected_row", "replaces", RAW];
/// Those of them that are for a person alone.
const NOTES: [&str; 3] = ["error", "reason", "what_to_do"];
/// The column that such a file has for the service that its rows were read with.
const SERVICE: &str = "service_code";
/// Columns of ours that say whom to pay, and how much.
const PAYMENT: [&str; 4] = ["amount", "msisdn", "account_number", "bank_account_number"];
/// Those of them that say whom.
const RECIPIENT: [&str; 3] = ["msisdn", "account_number", "bank_account_number"];
/// Names of a file that one error repeats.
const SHOWN_MAX: usize = 8;

/// What a file begins with.
pub(in super::super) struct Head {
    /// The names of its columns; of a file without a header, none.
    pub(in super::super) names: Vec<String>,
    /// This program has written it to be mended.
    pub(in super::super) is_ours: bool,
    /// Columns may be told by their place.
    pub(in super::super) has_positions: bool,
}

/// Where the text of a column of ours stands.
pub(super) struct Bound {
    /// Its place among the layout's columns.
    pub(super) source: usize,
    /// The places of its cells.
    pub(super) cells: Vec<usize>,
    pub(super) when: Option<(usize, Vec<String>)>,
}

/// A layout under a header.
pub(in super::super) struct Binding {
    pub(super) layout: Arc<Layout>,
    header: Vec<String>,
    pub(super) bound: Vec<Bound>,
    /// Links and notes that are taken as they stand, behind the columns of the layout.
    pub(super) kept: Vec<usize>,
    /// Columns without a name, which must stay empty.
    pub(super) unnamed: Vec<usize>,
    pub(super) skip: Vec<(usize, Condition)>,
    pub(super) refuse: Vec<(usize, usize)>,
    pub(super) factor: Option<usize>,
    pub(super) total: Option<usize>,
    /// Rows of a file without a header may be shorter, and longer where others are ignored.
    pub(super) is_bare: bool,
    is_ours: bool,
    /// Columns that are left out and seem to say when a payment is to be made, each with the rows that say so.
    unread_dates: Vec<(usize, u64)>,
}

impl Binding {
    /// Finds the columns of a layout in a header.
    ///
    /// # Errors
    /// Columns that are missing, doubled or neither taken nor ignored.
    pub(in super::super) fn bind(
        layout: &Arc<Layout>,
        head: Head,
        rules: &Rules,
    ) -> Result<(Self, ColumnMap), Error> {
        let is_bare = layout.header == HeaderAt::Nowhere && !head.is_ours;
        let finder = Finder {
            layout,
            header: match is_bare {
                true => (1..=width(layout))
                    .map(|at| format!("column {at}"))
                    .collect(),
                false => head.names,
            },
            is_ours: head.is_ours,
            has_positions: head.has_positions,
        };
        finder.unheard()?;
        let mut binding = Self {
            layout: Arc::clone(layout),
            bound: finder.bound()?,
            kept: finder.kept(),
            unnamed: Vec::new(),
            skip: Vec::new(),
            refuse: Vec::new(),
            factor: finder.option(layout.factor_column.as_ref(), "amount_factor_column")?,
            total: match head.is_ours {
                true => None,
                false => {
                    let column = layout.total.as_ref().map(|total| &total.column);
                    finder.option(column, "total")?
                }
            },
            is_bare,
            is_ours: head.is_ours,
            header: Vec::new(),
            unread_dates: Vec::new(),
        };
        for skip in &layout.skip {
            let at = finder.need(&skip.column, "skip")?;
            binding.skip.push((at, skip.clone()));
        }
        for (which, refuse) in layout.refuse.iter().enumerate() {
            // A file without the column has no such rows.
            if let Some(at) = finder.find(&refuse.column)? {
                binding.refuse.push((at, which));
            }
        }
        let used = binding.used();
        binding.unnamed = (0..finder.header.len())
            .filter(|at| finder.header[*at].is_empty() && !used.contains(at))
            .collect();
        finder.unknown(&used, &binding.kept)?;
        if layout.kind == FileKind::Table && layout.source("not_before").is_none() {
            let is_left_out = |at: &usize| !used.contains(at) && !binding.kept.contains(at);
            binding.unread_dates = (0..finder.header.len())
                .filter(is_left_out)
                .filter(|at| dates::is_of_payment(&finder.header[*at]))
                .map(|at| (at, 0))
                .collect();
        }
        binding.header = finder.header;
        let mut map = ColumnMap::of_names(binding.own_names())?;
        map.restores_zero = layout.restores_zero;
        let missing = map.missing(rules);
        match missing.is_empty() {
            true => Ok((binding, map)),
            false => Err(lacking(layout, &missing)),
        }
    }

    /// Returns the names of our columns: those of the layout, then what is taken as it stands.
    fn own_names(&self) -> Vec<String> {
        let own = self
            .bound
            .iter()
            .map(|bound| self.source(bound).column.clone());
        let kept = self.kept.iter().map(|at| {
            let name = &self.header[*at];
            let link = LINKS.iter().find(|link| same(link, name));
            link.map_or_else(|| SERVICE.to_owned(), |link| (*link).to_owned())
        });
        own.chain(kept).collect()
    }

    /// Returns the columns of the file that say something about a payment.
    pub(in super::super) fn used(&self) -> Vec<usize> {
        let of_bound = self.bound.iter().flat_map(|bound| {
            let when = bound.when.as_ref().map(|(at, _)| *at);
            bound.cells.iter().copied().chain(when)
        });
        let skip = self.skip.iter().map(|(at, _)| *at);
        let refuse = self.refuse.iter().map(|(at, _)| *at);
        of_bound
            .chain(skip)
            .chain(refuse)
            .chain(self.factor)
            .chain(self.total)
            .collect()
    }

    pub(super) fn source(&self, bound: &Bound) -> &Source {
        &self.layout.columns[bound.source]
    }

    /// Returns the layout's name.
    pub(in super::super) fn name(&self) -> &str {
        &self.layout.name
    }

    /// Returns what stands behind each reference, and is no part of the file.
    pub(in super::super) fn period(&self) -> Option<&str> {
        match &self.layout.period {
            Period::Given(period) => Some(period),
            Period::None | Period::Open => None,
        }
    }

    /// Returns how many cells a row has.
    pub(in super::super) fn width(&self) -> usize {
        self.header.len()
    }

    /// Returns the header as the file has it; of a file without one, its places.
    pub(in super::super) fn header(&self) -> &[String] {
        &self.header
    }

    /// Returns whether the file has its sum in a row of its own.
    pub(in super::super) fn has_total(&self) -> bool {
        self.total.is_some()
    }

    /// Returns whether this program has written the file.
    pub(in super::super) fn is_ours(&self) -> bool {
        self.is_ours
    }

    /// Returns what the columns of the file are in the contract: empty where a column is no part of the row.
    pub(in super::super) fn form_names(&self) -> Vec<String> {
        let name_of = |at: usize| {
            let mut uses = self.bound.iter().filter(|bound| bound.cells.contains(&at));
            match (uses.next(), uses.next()) {
                (Some(one), None) if one.cells.len() == 1 && self.source(one).values.is_empty() => {
                    self.source(one).column.clone()
                }
                _ if self.kept.contains(&at) && same(&self.header[at], SERVICE) => {
                    SERVICE.to_owned()
                }
                _ if self.is_ours && is_own(&self.header[at]) || self.header[at].is_empty() => {
                    String::new()
                }
                _ => format!("column {}", at + 1),
            }
        };
        (0..self.header.len()).map(name_of).collect()
    }

    /// Returns how a message names the columns of the file that one of ours is taken from.
    pub(in super::super) fn label(&self, column: &str) -> Option<String> {
        let bound = self
            .bound
            .iter()
            .find(|bound| self.source(bound).column == column)?;
        if let Taken::Constant(_) = self.source(bound).taken {
            return Some(format!("layout {}, constants", self.layout.name));
        }
        let names: Vec<String> = bound.cells.iter().map(|at| self.shown(*at)).collect();
        let mut label = match names.is_empty() {
            true => return None,
            false => names.join(" + "),
        };
        if !label.starts_with("column ") {
            label = format!("column {label}");
        }
        if column == "amount" {
            match &self.layout.factor {
                Factor::Given(factor) => label = format!("{label} × {factor}"),
                Factor::None | Factor::Open => {}
            }
            if let Some(at) = self.factor {
                label = format!("{label} × {}", self.shown(at));
            }
        }
        Some(label)
    }

    /// Returns where an error about one of our columns, or about one of the file's, stands.
    pub(in super::super) fn place_of(
        &self,
        column: Option<&str>,
        header: Option<&str>,
    ) -> Option<usize> {
        let is_ours = |bound: &&Bound| Some(self.source(bound).column.as_str()) == column;
        let of_ours = self.bound.iter().find(is_ours);
        let is_theirs = |at: &usize| {
            let shown = self.shown(*at);
            header.is_some_and(|header| {
                header.strip_prefix("column ") == Some(&shown) || header == shown
            })
        };
        of_ours
            .and_then(|bound| bound.cells.first().copied())
            .or_else(|| (0..self.header.len()).find(is_theirs))
    }

    /// Returns the columns of ours that a column of the file goes into.
    pub(super) fn ours_at(&self, at: usize) -> impl Iterator<Item = &str> {
        let is_of = move |bound: &&Bound| {
            bound.cells.contains(&at)
                || self.factor == Some(at) && self.source(bound).column == "amount"
        };
        self.bound
            .iter()
            .filter(is_of)
            .map(|bound| self.source(bound).column.as_str())
    }

    /// Counts the rows that seem to say when they are to be paid, in columns that are left out.
    pub(in super::super) fn look_at_dates(&mut self, row: &Record) {
        for (at, rows) in &mut self.unread_dates {
            let cell = row.cell(*at);
            *rows += u64::from(cell.chars().any(|c| c.is_ascii_digit()));
        }
    }

    /// Says of each column that seems to say when to pay that nothing waits for it.
    pub(in super::super) fn unread_dates(&self) -> impl Iterator<Item = String> {
        let said = self.unread_dates.iter().filter(|(_, rows)| *rows > 0);
        said.map(|(at, rows)| {
            format!(
                "column {} is not read by layout {}: {} in it, but no payment waits for its date. In a layout of your \
                own, map the column to not_before",
                self.place_text(*at),
                self.layout.name,
                match rows {
                    1 => "1 row has a date".to_owned(),
                    rows => format!("{rows} rows have dates"),
                }
            )
        })
    }

    /// Returns whether a row says whom to pay, or how much.
    pub(in super::super) fn says_payment(&self, row: &Record) -> bool {
        let is_said = |bound: &Bound| {
            PAYMENT.contains(&self.source(bound).column.as_str())
                && bound.cells.iter().any(|at| has_something(row, *at))
        };
        self.bound.iter().any(is_said)
    }

    /// Says of a row with errors that it looks like the sum of those above, where the layout does not say how that is told.
    pub(in super::super) fn unsaid_sum(&self, row: &Record) -> Option<String> {
        if self.layout.total.is_some() || self.layout.kind != FileKind::Table || self.is_ours {
            return None;
        }
        let says = |column: &str| {
            let mut of = self.bound.iter();
            let bound = of.find(|bound| self.source(bound).column == column);
            bound.is_some_and(|bound| bound.cells.iter().any(|at| has_something(row, *at)))
        };
        let at = (0..row.len()).find(|at| is_marker(row.cell(*at)))?;
        let pays = RECIPIENT.iter().any(|column| says(column));
        (says("amount") && !pays).then(|| {
            format!(
                "looks like the sum of the rows above. If it is, say so in a layout under another name: [layouts.NAME.total] with column = {} and \
                 marker = {}; the sum is compared then, and not paid",
                self.place_text(at),
                quoted(row.cell(at).trim())
            )
        })
    }

    /// Returns how a layout writes a column of the file.
    fn place_text(&self, at: usize) -> String {
        match self.header.get(at) {
            Some(name) if !name.is_empty() && !self.is_bare => quoted(name),
            _ => (at + 1).to_string(),
        }
    }

    /// Returns the first text of a row in a column that the layout takes something from, and how the layout writes both.
    pub(in super::super) fn first_text(&self, row: &Record) -> Option<(String, String)> {
        let mut cells = self.bound.iter().flat_map(|bound| &bound.cells);
        let at = *cells.find(|at| has_something(row, **at))?;
        Some((self.place_text(at), quoted(row.cell(at).trim())))
    }

    /// Returns how a message names a column of the file.
    pub(super) fn shown(&self, at: usize) -> String {
        match self.header.get(at) {
            Some(name) if !name.is_empty() && !self.is_bare => quoted(name),
            _ => format!("column {}", at + 1),
        }
    }
}

/// Returns whether a cell holds something, as a formula without a result does, too.
fn has_something(row: &Record, at: usize) -> bool {
    let is_odd = |fault: &Fault| match fault {
        Fault::Odd { index, oddity } => *index == at && *oddity == Oddity::NotCalculated,
        Fault::LongField { index, .. } => *index == at,
        _ => false,
    };
    !row.cell(at).trim().is_empty() || row.faults.iter().any(is_odd)
}

/// Returns how many columns a layout without a header names.
fn width(layout: &Layout) -> usize {
    let places = layout.places().into_iter().chain(&layout.ignore);
    let last = places.map(|place| match place {
        Place::At(at) => *at,
        Place::Name(_) => 0,
    });
    last.max().unwrap_or(0)
}

fn is_own(name: &str) -> bool {
    LINKS.iter().any(|link| same(link, name)) || NOTES.contains(&name)
}

fn refused(what: String, remedy: impl Into<String>) -> Error {
    Error::Layout {
        what,
        remedy: remedy.into(),
        line: None,
    }
}

/// Says which columns that every row needs are taken from nowhere.
fn lacking(layout: &Layout, missing: &[&'static str]) -> Error {
    let has_default: Vec<&str> = missing
        .iter()
        .copied()
        .filter(|name| name.ends_with("_code"))
        .collect();
    let default = match has_default.is_empty() {
        true => String::new(),
        false => format!(
            ", or give {} a default in the profile",
            has_default.join(" and ")
        ),
    };
    let pays_bank = layout.source("bank_account_number").is_some();
    let bank = match pays_bank && missing.contains(&"msisdn") {
        true => "; a payment to a bank account needs no msisdn if the profile sets bank_msisdn",
        false => "",
    };
    refused(
        format!(
            "cannot be read by layout {}, which has no source for {}",
            layout.name,
            missing.join(" or ")
        ),
        format!(
            "in a layout of your own that is like it, name the column in columns or the value in constants{default}{bank}"
        ),
    )
}

/// Finds the columns of a layout in one header.
struct Finder<'a> {
    layout: &'a Layout,
    header: Vec<String>,
    is_ours: bool,
    has_positions: bool,
}

impl Finder<'_> {
    /// Refuses positions where there are none.
    fn unheard(&self) -> Result<(), Error> {
        let at = |place: &&Place| matches!(place, Place::At(_));
        match self.layout.places().into_iter().find(at) {
            Some(place) if !self.has_positions => Err(refused(
                format!(
                    "is JSON, whose members have no positions, and layout {} takes {}",
                    self.layout.name,
                    place.text()
                ),
                "name the member in the layout",
            )),
            _ => Ok(()),
        }
    }

    fn find(&self, place: &Place) -> Result<Option<usize>, Error> {
        let name = match place {
            Place::At(at) => return Ok((*at <= self.header.len()).then(|| at - 1)),
            Place::Name(name) => plain(name),
        };
        let mut found = (0..self.header.len()).filter(|at| plain(&self.header[*at]) == name);
        match (found.next(), found.next()) {
            (Some(first), Some(second)) => Err(refused(
                format!(
                    "has two columns {} and {}, columns {} and {}, and layout {} takes one",
                    quoted(&self.header[first]),
                    quoted(&self.header[second]),
                    first + 1,
                    second + 1,
                    self.layout.name
                ),
                "remove or rename one of them, or name the column by its position in the layout",
            )),
            (found, _) => Ok(found),
        }
    }

    fn need(&self, place: &Place, what: &str) -> Result<usize, Error> {
        if let Some(at) = self.find(place)? {
            return Ok(at);
        }
        let name = &self.layout.name;
        let (said, near) = match place {
            Place::At(at) => (
                format!(
                    "has {} columns, and layout {name} takes {what} from column {at}",
                    self.header.len()
                ),
                String::new(),
            ),
            Place::Name(wanted) => {
                let names = self.header.iter().map(String::as_str);
                let near = nearest(wanted, names)
                    .or_else(|| self.same_meaning(what))
                    .map_or_else(String::new, |near| {
                        format!("; did it become {}?", quoted(near))
                    });
                (
                    format!(
                        "has no column {} ({what}), which layout {name} takes",
                        quoted(wanted)
                    ),
                    near,
                )
            }
        };
        Err(refused(
            format!("{said}{near}"),
            "export the file as it was before, choose another layout, or keep a changed one under another name",
        ))
    }

    /// Returns the header that other programs use for a column of ours.
    fn same_meaning(&self, column: &str) -> Option<&str> {
        let mut names = self.header.iter().map(String::as_str);
        names.find(|name| suggestion(name, COLUMNS) == Some(column))
    }

    fn option(&self, place: Option<&Place>, what: &str) -> Result<Option<usize>, Error> {
        place.map(|place| self.need(place, what)).transpose()
    }

    fn bound(&self) -> Result<Vec<Bound>, Error> {
        let mut all = Vec::new();
        for (index, source) in self.layout.columns.iter().enumerate() {
            let mut cells = Vec::new();
            if let Taken::From { columns, .. } = &source.taken {
                for place in columns {
                    match (self.find(place)?, source.optional) {
                        (None, true) => {}
                        (Some(at), _) => cells.push(at),
                        (None, false) => cells.push(self.need(place, &source.column)?),
                    }
                }
            }
            let when = match &source.when {
                None => None,
                Some(when) => {
                    let at = self.need(&when.column, &source.column)?;
                    Some((at, when.values.clone()))
                }
            };
            all.push(Bound {
                source: index,
                cells,
                when,
            });
        }
        Ok(all)
    }

    /// Returns the links and notes of a file of ours.
    fn kept(&self) -> Vec<usize> {
        if !self.is_ours {
            return Vec::new();
        }
        let is_service = |name: &str| self.layout.source(SERVICE).is_none() && same(name, SERVICE);
        let is_kept = |name: &str| LINKS.iter().any(|link| same(link, name)) || is_service(name);
        (0..self.header.len())
            .filter(|at| is_kept(&self.header[*at]))
            .collect()
    }

    /// Refuses columns that are neither taken nor ignored.
    fn unknown(&self, used: &[usize], kept: &[usize]) -> Result<(), Error> {
        if self.layout.ignores_others || self.layout.header == HeaderAt::Nowhere {
            return Ok(());
        }
        let is_ignored = |at: usize| {
            self.layout.ignore.iter().any(|place| match place {
                Place::At(position) => *position == at + 1,
                Place::Name(name) => same(name, &self.header[at]),
            })
        };
        let is_known = |at: usize| {
            self.header[at].is_empty()
                || used.contains(&at)
                || kept.contains(&at)
                || is_ignored(at)
                || self.is_ours && is_own(&self.header[at])
        };
        let unknown: Vec<&String> = (0..self.header.len())
            .filter(|at| !is_known(*at))
            .map(|at| &self.header[at])
            .collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let shown = unknown.iter().take(SHOWN_MAX).map(|name| {
            // What the layout has already is not what it may mean.
            let meant = suggestion(name, COLUMNS);
            let meant = meant.filter(|column| self.layout.source(column).is_none());
            let meant = meant.map(|column| format!(" (is it {column}?)"));
            format!("{}{}", quoted(name), meant.unwrap_or_default())
        });
        let shown = shown.collect::<Vec<_>>().join(", ");
        let more = match unknown.len().saturating_sub(SHOWN_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let column = if unknown.len() == 1 {
            "a column"
        } else {
            "columns"
        };
        Err(refused(
            format!(
                "has {column} that layout {} neither takes nor ignores: {shown}{more}",
                self.layout.name
            ),
            "in a layout of your own, take the column, or name it in ignore",
        ))
    }
}
