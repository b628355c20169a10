//! A workbook in the making: one sheet after the other, each row by row.

use std::fmt::Write as _;
use std::io::{self, BufWriter, Read, Seek, Write};

use super::cell::{Cell, push_letters, render_row};
use super::parts::{self, Listed};
use super::zip::Zip;

/// Rows of a sheet, at most.
pub const ROWS_MAX: u32 = 1_048_576;
/// Rows are gathered up to so many bytes.
const BUFFER: usize = 1 << 16;

/// How a sheet looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The widths of its columns, in characters.
    pub widths: Vec<u16>,
    /// Whether its first row is the header of a list: it stays in sight, is printed on each page, and filters the others.
    pub is_list: bool,
    /// The column of amounts; the others are texts, what is typed into them as well.
    pub amount: Option<usize>,
}

/// A workbook in the making.
pub struct Book<W: Write + Seek> {
    zip: BufWriter<Zip<W>>,
    sheets: Vec<Listed>,
    open: Option<Open>,
    line: String,
}

/// The sheet that is written.
struct Open {
    columns: usize,
    is_list: bool,
    rows: u32,
}

impl<W: Write + Seek> Book<W> {
    /// Begins one.
    pub fn new(output: W) -> Self {
        Self {
            zip: BufWriter::with_capacity(BUFFER, Zip::new(output)),
            sheets: Vec::new(),
            open: None,
            line: String::new(),
        }
    }

    /// Ends the sheet before, and begins the next one.
    ///
    /// # Errors
    /// What the output reports, as of all that follow.
    pub fn begin_sheet(&mut self, name: &str, look: &Look) -> io::Result<()> {
        self.end_sheet()?;
        self.sheets.push(Listed {
            name: name.to_owned(),
            area: None,
        });
        self.begin_part(format!("xl/worksheets/sheet{}.xml", self.sheets.len()))?;
        let mut head = String::from(
            r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetPr><pageSetUpPr fitToPage="1"/></sheetPr><sheetViews><sheetView workbookViewId="0">"#,
        );
        if look.is_list {
            head.push_str(
                r#"<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>"#,
            );
        }
        head.push_str("</sheetView></sheetViews>");
        if !look.widths.is_empty() {
            head.push_str("<cols>");
            for (at, width) in look.widths.iter().enumerate() {
                let column = at + 1;
                let style = if look.amount == Some(at) { 5 } else { 2 };
                write!(
                    head,
                    r#"<col min="{column}" max="{column}" width="{width}" style="{style}" customWidth="1"/>"#
                )
                .expect("writing to a String cannot fail");
            }
            head.push_str("</cols>");
        }
        head.push_str("<sheetData>");
        self.open = Some(Open {
            columns: look.widths.len().max(1),
            is_list: look.is_list,
            rows: 0,
        });
        self.zip.write_all(head.as_bytes())
    }

    /// Writes the next row of the sheet.
    ///
    /// # Errors
    /// The sheet is full.
    pub fn write_row<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) -> io::Result<()> {
        let number = self.count(1)?;
        render_row(&mut self.line, number, cells);
        self.zip.write_all(self.line.as_bytes())
    }

    /// Takes over rows of this sheet that were rendered before, with their numbers.
    ///
    /// # Errors
    /// They cannot be read, or the sheet is full.
    pub fn copy_rows(&mut self, rows: u32, rendered: &mut impl Read) -> io::Result<()> {
        self.count(rows)?;
        io::copy(rendered, &mut self.zip).map(drop)
    }

    fn count(&mut self, rows: u32) -> io::Result<u32> {
        let open = self.open.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        open.rows += rows;
        match open.rows {
            all @ ..=ROWS_MAX => Ok(all),
            _ => Err(io::ErrorKind::FileTooLarge.into()),
        }
    }

    fn begin_part(&mut self, name: String) -> io::Result<()> {
        self.zip.flush()?;
        self.zip.get_mut().begin(name)
    }

    fn end_sheet(&mut self) -> io::Result<()> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let mut end = String::from("</sheetData>");
        if open.is_list && open.rows > 0 {
            let mut last = String::new();
            push_letters(&mut last, open.columns - 1);
            let rows = open.rows;
            write!(end, r#"<autoFilter ref="A1:{last}{rows}"/>"#)
                .expect("writing to a String cannot fail");
            if let Some(sheet) = self.sheets.last_mut() {
                sheet.area = Some(format!("$A$1:${last}${rows}"));
            }
        }
        end.push_str(
            r#"<pageMargins left="0.5" right="0.5" top="0.5" bottom="0.7" header="0.3" footer="0.3"/><pageSetup paperSize="9" orientation="landscape" fitToHeight="0"/><headerFooter><oddFooter>&amp;L&amp;F, &amp;A&amp;RPage &amp;P of &amp;N</oddFooter></headerFooter></worksheet>"#,
        );
        self.zip.write_all(end.as_bytes())
    }

    /// Ends it. `active`: the sheet that is shown first; `title` and `created`, an instant as RFC 3339 has it, tell what it is.
    ///
    /// # Errors
    /// What the output reports.
    pub fn finish(mut self, active: usize, title: &str, created: &str) -> io::Result<W> {
        self.end_sheet()?;
        for (name, text) in parts::all(&self.sheets, active, (title, created)) {
            self.begin_part(name.to_owned())?;
            self.zip.write_all(text.as_bytes())?;
        }
        let zip = self
            .zip
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        zip.finish()
    }
}
