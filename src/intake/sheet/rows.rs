//! The rows of one sheet, read on a thread of their own: calamine lends its cells, and lends them only.

use std::io::{Read, Seek, SeekFrom};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use calamine::{Reader as _, Xlsx};

use super::super::oddity::Oddity;
use super::super::{Error, ROW_BYTES_MAX};
use super::admission::{self, Go, damaged, refused};
use super::cell::{self, Cell, letters};
use super::choice::{Hiding, SheetOptions, choose};
use super::formats::{Added, Formats};
use super::hidden::Hidden;

/// Rows that travel together, and how many such blocks wait.
const BLOCK: usize = 128;
const BLOCKS: usize = 4;

/// Columns of a merged area that are looked at.
const MERGED_COLUMNS_MAX: usize = 256;

/// A row that holds something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::intake) struct SheetRow {
    /// Its number in the sheet, from 1.
    pub number: u64,
    pub cells: Vec<Cell>,
    /// Hidden rows are to be skipped, and it is one.
    pub is_skipped: bool,
    /// The bytes of all its texts; those beyond [`ROW_BYTES_MAX`] are not kept.
    pub bytes: usize,
}

enum Message {
    Rows(Vec<SheetRow>),
    Failed(Error),
    End,
}

/// The rows of one sheet.
pub(in crate::intake) struct SheetRows {
    /// The name of the sheet.
    pub sheet: String,
    /// What is worth telling about how it was read.
    pub notes: Vec<String>,
    messages: Receiver<Message>,
    block: std::vec::IntoIter<SheetRow>,
    /// One that was looked at, and not taken.
    peeked: Option<SheetRow>,
    has_ended: bool,
}

impl SheetRow {
    /// Returns whether one of its cells is this name.
    pub fn names(&self, name: &[u8]) -> bool {
        let is_it = |cell: &Cell| cell.text.trim().as_bytes().eq_ignore_ascii_case(name);
        self.cells.iter().any(is_it)
    }
}

impl SheetRows {
    /// Opens a workbook, and begins to read one of its sheets.
    ///
    /// # Errors
    /// No workbook, one beyond its bounds, or no sheet that is surely meant.
    pub fn open<R>(input: R, options: &SheetOptions) -> Result<Self, Error>
    where
        R: Read + Seek + Send + 'static,
    {
        let mut archive = admission::archive(input)?;
        admission::admit(&mut archive)?;
        let (sheet, unseen) = choose(&mut archive, options)?;
        let mut hidden = Hidden::of(Formats::read(&mut archive)?);
        admission::walk(&mut archive, &sheet.part, |event| {
            hidden.take(event).map(|()| Go::On)
        })?;
        hidden.finish();
        let mut input = archive.into_inner();
        input.seek(SeekFrom::Start(0)).map_err(Error::Read)?;
        let (sender, messages) = sync_channel(BLOCKS);
        let (name, options) = (sheet.name.clone(), options.clone());
        std::thread::Builder::new()
            .name("sheet".to_owned())
            .spawn(move || {
                let told = match send(input, &name, &options, &hidden, &sender) {
                    Ok(()) => Message::End,
                    Err(error) => Message::Failed(error),
                };
                // Nobody listens any more where the reading was broken off.
                let _ = sender.send(told);
            })
            .map_err(Error::Read)?;
        let mut notes = vec![format!("sheet {:?}", sheet.name)];
        notes.extend(
            unseen
                .iter()
                .map(|name| format!("the hidden sheet {name:?} was not read")),
        );
        Ok(Self {
            sheet: sheet.name,
            notes,
            messages,
            block: Vec::new().into_iter(),
            peeked: None,
            has_ended: false,
        })
    }

    /// Looks at the next row that holds something.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub fn peek(&mut self) -> Result<Option<&SheetRow>, Error> {
        if self.peeked.is_none() {
            self.peeked = self.next()?;
        }
        Ok(self.peeked.as_ref())
    }

    /// Returns the next row that holds something.
    ///
    /// # Errors
    /// What refuses the sheet as a whole; there are no rows behind it.
    pub fn next(&mut self) -> Result<Option<SheetRow>, Error> {
        if let Some(row) = self.peeked.take() {
            return Ok(Some(row));
        }
        loop {
            if let Some(row) = self.block.next() {
                return Ok(Some(row));
            }
            if self.has_ended {
                return Ok(None);
            }
            match self.messages.recv() {
                Ok(Message::Rows(rows)) => self.block = rows.into_iter(),
                Ok(Message::End) => self.has_ended = true,
                Ok(Message::Failed(error)) => {
                    self.has_ended = true;
                    return Err(error);
                }
                // The reader of the cells has panicked.
                Err(_) => {
                    self.has_ended = true;
                    return Err(damaged("its cells are not as a workbook has them"));
                }
            }
        }
    }
}

/// Reads the sheet and sends its rows, until nobody takes them.
fn send<R: Read + Seek>(
    input: R,
    sheet: &str,
    options: &SheetOptions,
    hidden: &Hidden,
    sender: &SyncSender<Message>,
) -> Result<(), Error> {
    let mut book = Xlsx::new(input).map_err(damaged)?;
    let mut cells = book.worksheet_cells_reader(sheet).map_err(damaged)?;
    let mut rows = Rows::new(sheet, options, hidden);
    while let Some(found) = cells.next_cell_with_formula_metadata().map_err(damaged)? {
        let (row, column) = found.pos;
        if row != rows.row
            && let Some(full) = rows.begin(row)
            && sender.send(Message::Rows(full)).is_err()
        {
            return Ok(());
        }
        let oddity = match (&found.formula, &found.value) {
            (Some(_), calamine::DataRef::Empty) => Some(Oddity::NotCalculated),
            (Some(_), _) if !options.stored_formulas => Some(Oddity::Calculated),
            _ => None,
        };
        let is_number = matches!(
            found.value,
            calamine::DataRef::Int(_) | calamine::DataRef::Float(_)
        );
        let read = cell::read(&found.value);
        let (text, of_value) = match (read, oddity) {
            (Some(read), _) => read,
            (None, Some(_)) => (String::new(), None),
            (None, None) => continue,
        };
        let added = hidden.added(row, column);
        let is_struck = added.is_some_and(Added::is_struck) && !text.trim().is_empty();
        let of_number = added.filter(|_| is_number);
        let of_format = of_number.and_then(|added| match added.shows_another() {
            true => Some(Oddity::ShownAsAnother),
            false => added.shows_more_of(&text).then_some(Oddity::Dressed),
        });
        let of_line = is_struck.then_some(Oddity::StruckOut);
        let oddity = of_line.or(oddity).or(of_value).or(of_format);
        rows.push(column, (text, is_number), oddity)?;
    }
    let last = rows.finish();
    // Whether anybody takes the last ones makes no difference here.
    let _ = sender.send(Message::Rows(last));
    Ok(())
}

/// Rows that are being put together.
struct Rows<'a> {
    sheet: &'a str,
    hiding: Hiding,
    hidden: &'a Hidden,
    row: u32,
    current: SheetRow,
    merged: Vec<(u32, u32)>,
    block: Vec<SheetRow>,
}

impl<'a> Rows<'a> {
    fn new(sheet: &'a str, options: &SheetOptions, hidden: &'a Hidden) -> Self {
        Self {
            sheet,
            hiding: options.hidden,
            hidden,
            row: u32::MAX,
            current: SheetRow::default(),
            merged: Vec::new(),
            block: Vec::with_capacity(BLOCK),
        }
    }

    /// Ends the row before, and returns the block that has become full with it.
    fn begin(&mut self, row: u32) -> Option<Vec<SheetRow>> {
        self.end();
        self.row = row;
        self.current = SheetRow {
            number: u64::from(row) + 1,
            is_skipped: self.hiding == Hiding::Skipped && self.hidden.hides_row(row),
            ..SheetRow::default()
        };
        self.merged.clear();
        if self.hidden.has_merged() {
            self.merged.extend(self.hidden.merged_in(row));
        }
        (self.block.len() >= BLOCK)
            .then(|| std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK)))
    }

    fn end(&mut self) {
        let mut row = std::mem::take(&mut self.current);
        // Formulas that were drawn down further than the rows come to empty texts.
        let holds = |cell: &Cell| {
            !cell.text.trim().is_empty() || cell.oddity == Some(Oddity::NotCalculated)
        };
        if !row.cells.iter().any(holds) {
            return;
        }
        // The others of a merged area are empty in the file, and not for whoever looks at it.
        for (first, last) in &self.merged {
            for column in (*first..=*last).take(MERGED_COLUMNS_MAX) {
                let column = column as usize;
                if !row.cells.iter().any(|cell| cell.column == column) {
                    row.cells.push(Cell {
                        column,
                        text: String::new(),
                        is_number: false,
                        oddity: Some(Oddity::Merged),
                    });
                }
            }
        }
        if !self.merged.is_empty() {
            row.cells.sort_by_key(|cell| cell.column);
        }
        self.block.push(row);
    }

    fn push(
        &mut self,
        column: u32,
        (text, is_number): (String, bool),
        oddity: Option<Oddity>,
    ) -> Result<(), Error> {
        if !text.trim().is_empty() {
            let is_row = self.hidden.hides_row(self.row);
            let is_column = self.hidden.hides_column(column);
            match self.hiding {
                Hiding::Refused if is_row => return Err(self.is_hidden(column, "row")),
                Hiding::Refused if is_column => return Err(self.is_hidden(column, "column")),
                Hiding::Skipped if is_column => return Ok(()),
                _ => {}
            }
        }
        let is_merged = self
            .merged
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&column));
        self.current.bytes = self.current.bytes.saturating_add(text.len());
        if self.current.bytes > ROW_BYTES_MAX {
            return Ok(());
        }
        self.current.cells.push(Cell {
            column: column as usize,
            text,
            is_number,
            oddity: match is_merged {
                true => Some(Oddity::Merged),
                false => oddity,
            },
        });
        Ok(())
    }

    fn is_hidden(&self, column: u32, what: &str) -> Error {
        let mut error = refused(
            format!("has a hidden {what} that is not empty, and that nobody sees in the sheet"),
            "show it in the spreadsheet program and look at it; or add --hidden include to read what is hidden, --hidden skip to leave it out",
        );
        if let Error::Workbook { at, .. } = &mut error {
            *at = Some(format!(
                "{}!{}{}",
                self.sheet,
                letters(column as usize),
                u64::from(self.row) + 1
            ));
        }
        error
    }

    fn finish(mut self) -> Vec<SheetRow> {
        self.end();
        self.block
    }
}
