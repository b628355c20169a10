//! Which sheet of a workbook is read, and by which rules.

use std::collections::HashMap;
use std::io::{Read, Seek};

use quick_xml::events::Event;
use zip::ZipArchive;

use super::super::Error;
use super::admission::{self, Go, attribute, damaged, refused, walk};

/// How a workbook is read; what it leaves open is refused where it matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SheetOptions {
    /// The sheet; otherwise the one that has data.
    pub sheet: Option<String>,
    /// What becomes of hidden rows and columns that hold something.
    pub hidden: Hiding,
    /// Whether the results that were stored with formulas are taken for recipients and amounts.
    pub stored_formulas: bool,
}

/// What becomes of hidden rows and columns that hold something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hiding {
    /// They refuse the file.
    #[default]
    Refused,
    /// They are read as if they were shown.
    Included,
    /// They are left out, and counted.
    Skipped,
}

/// A sheet of a workbook.
#[derive(Debug)]
pub(super) struct Sheet {
    pub name: String,
    pub part: String,
    pub is_hidden: bool,
}

/// Sheets that an error names, at most.
const SHOWN_MAX: usize = 10;

/// Finds the sheet to be read; beside it hidden sheets that hold something.
///
/// # Errors
/// There is no such sheet, or several could be meant.
pub(super) fn choose<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    options: &SheetOptions,
) -> Result<(Sheet, Vec<String>), Error> {
    let mut sheets = sheets(archive)?;
    if let Some(wanted) = &options.sheet {
        let found = sheets.iter().position(|sheet| sheet.name == *wanted);
        let Some(found) = found else {
            return Err(refused(
                format!("has no sheet {wanted:?}; it has {}", named(&sheets)),
                "name one of them with --sheet",
            ));
        };
        let sheet = sheets.swap_remove(found);
        if sheet.is_hidden && options.hidden != Hiding::Included {
            return Err(refused(
                format!("has hidden the sheet {wanted:?}"),
                "look at it in the spreadsheet program first; --hidden include reads it as it is",
            ));
        }
        return Ok((sheet, Vec::new()));
    }
    let mut with_data = Vec::new();
    let mut unseen = Vec::new();
    for sheet in sheets {
        if !has_data(archive, &sheet.part)? {
            continue;
        }
        match sheet.is_hidden {
            true => unseen.push(sheet.name),
            false => with_data.push(sheet),
        }
    }
    match with_data.len() {
        1 => Ok((with_data.remove(0), unseen)),
        0 => Err(refused("has no sheet with data", "is it the right file?")),
        _ => Err(refused(
            format!("has several sheets with data: {}", named(&with_data)),
            "say with --sheet which one holds the payments",
        )),
    }
}

/// Returns whether a workbook has a sheet of this name.
///
/// # Errors
/// It cannot be read.
pub(in crate::intake) fn has_sheet<R: Read + Seek>(input: R, name: &str) -> Result<bool, Error> {
    let mut archive = admission::archive(input)?;
    admission::admit(&mut archive)?;
    let sheets = sheets(&mut archive)?;
    Ok(sheets.iter().any(|sheet| sheet.name == name))
}

fn named(sheets: &[Sheet]) -> String {
    let shown: Vec<String> = sheets
        .iter()
        .take(SHOWN_MAX)
        .map(|sheet| format!("{:?}", sheet.name))
        .collect();
    match sheets.len() > SHOWN_MAX {
        true => format!("{} and more", shown.join(", ")),
        false => shown.join(", "),
    }
}

/// Lists the sheets of a workbook, in their order.
fn sheets<R: Read + Seek>(archive: &mut ZipArchive<R>) -> Result<Vec<Sheet>, Error> {
    let book = "xl/workbook.xml";
    let parts = relations(archive)?;
    let mut sheets: Vec<Sheet> = Vec::new();
    let mut problem = None;
    walk(archive, book, |event| {
        let (Event::Start(start) | Event::Empty(start)) = event else {
            return Ok(Go::On);
        };
        if start.local_name().as_ref() != "sheet" {
            return Ok(Go::On);
        }
        let (Some(name), Some(id)) = (attribute(start, "name"), attribute(start, "id")) else {
            problem = Some("a sheet without a name".to_owned());
            return Ok(Go::NoFurther);
        };
        let Some(part) = parts.get(&id) else {
            problem = Some(format!("the sheet {name:?} is not there"));
            return Ok(Go::NoFurther);
        };
        if sheets.iter().any(|sheet| sheet.name == name) {
            problem = Some(format!("two sheets are called {name:?}"));
            return Ok(Go::NoFurther);
        }
        // Charts and macros have parts of other kinds.
        if part.contains("/worksheets/") {
            let state = attribute(start, "state").unwrap_or_default();
            sheets.push(Sheet {
                name,
                part: part.clone(),
                is_hidden: !matches!(state.as_str(), "" | "visible"),
            });
        }
        Ok(Go::On)
    })?;
    match problem {
        Some(problem) => Err(damaged(problem)),
        None => Ok(sheets),
    }
}

/// Reads where the parts of a workbook are.
fn relations<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
) -> Result<HashMap<String, String>, Error> {
    let mut parts = HashMap::new();
    walk(archive, "xl/_rels/workbook.xml.rels", |event| {
        if let Event::Start(start) | Event::Empty(start) = event
            && start.local_name().as_ref() == "Relationship"
            && let (Some(id), Some(target)) = (attribute(start, "Id"), attribute(start, "Target"))
        {
            let part = match target.strip_prefix('/') {
                Some(whole) => whole.to_owned(),
                None => format!("xl/{target}"),
            };
            parts.insert(id, part);
        }
        Ok(Go::On)
    })?;
    Ok(parts)
}

/// Returns whether any cell of a sheet holds something.
fn has_data<R: Read + Seek>(archive: &mut ZipArchive<R>, part: &str) -> Result<bool, Error> {
    let (mut within, mut found) = (false, false);
    walk(archive, part, |event| {
        match event {
            Event::Start(start) => {
                let name = start.local_name();
                within |= name.as_ref() == "v" || name.as_ref() == "is" || name.as_ref() == "f";
            }
            Event::Text(text) if within => {
                found |= !text.trim().is_empty();
            }
            Event::GeneralRef(_) if within => found = true,
            Event::End(end) if end.local_name().as_ref() == "c" => within = false,
            _ => {}
        }
        Ok(match found {
            true => Go::NoFurther,
            false => Go::On,
        })
    })?;
    Ok(found)
}
