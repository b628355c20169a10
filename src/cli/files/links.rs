//! What links the rows of a file to rows of the journal: which rejected row a mended one takes the place of, which failed payment
//! a corrected one replaces. A row that has lost it stands as a new one beside what it was to correct.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::Path;

use crate::intake::{self, is_workbook, same_name};

/// The columns that hold links.
const COLUMNS: [&str; 2] = ["rejected_row", "replaces"];
/// What a file of ours may be written with: that of the file that it comes from.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Bytes of a header that are looked at.
const HEADER_MAX: u64 = 64 * 1024;

/// Returns whether a file has every link that the one has which it would replace.
///
/// # Errors
/// As the system says.
pub(in crate::cli) fn all_kept(new: &Path, there: &Path) -> io::Result<bool> {
    let there = links(there)?;
    Ok(there.is_empty() || there.is_subset(&links(new)?))
}

/// Returns whether a file has links.
///
/// # Errors
/// As the system says.
pub(in crate::cli) fn has_some(path: &Path) -> io::Result<bool> {
    Ok(!links(path)?.is_empty())
}

fn links(path: &Path) -> io::Result<BTreeSet<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(error),
    };
    let mut file = file;
    if is_workbook(&mut file) {
        return Ok(of_workbook(file));
    }
    file.rewind()?;
    let mut header = Vec::new();
    BufReader::new((&file).take(HEADER_MAX)).read_until(b'\n', &mut header)?;
    let header = String::from_utf8_lossy(&header);
    let header = header.trim_start_matches('\u{feff}').trim_end();
    let found = DELIMITERS.into_iter().find_map(|delimiter| {
        let names = header.split(char::from(delimiter));
        let names = names.map(|name| name.trim().trim_matches('"'));
        let at: Vec<usize> = names
            .enumerate()
            .filter(|(_, name)| COLUMNS.iter().any(|column| same_name(column, name)))
            .map(|(at, _)| at)
            .collect();
        (!at.is_empty()).then_some((delimiter, at))
    });
    let Some((delimiter, columns)) = found else {
        return Ok(BTreeSet::new());
    };
    file.rewind()?;
    let mut reader = ::csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .from_reader(file);
    let mut links = BTreeSet::new();
    let mut record = ::csv::ByteRecord::new();
    // What is no CSV any more has no links that a load would find.
    while reader.read_byte_record(&mut record).unwrap_or(false) {
        for at in &columns {
            let cell = String::from_utf8_lossy(record.get(*at).unwrap_or_default());
            if !cell.trim().is_empty() {
                links.insert(cell.trim().to_owned());
            }
        }
    }
    Ok(links)
}

/// Returns the links of a workbook. One that cannot be read may have any: no other file has those.
fn of_workbook(mut file: File) -> BTreeSet<String> {
    let mut links = BTreeSet::new();
    let mut columns: Option<Vec<usize>> = None;
    let read = file.rewind().map_err(intake::Error::from).and_then(|()| {
        intake::workbook_rows(file, |row| match &columns {
            None => {
                let is_link = |name: &String| COLUMNS.iter().any(|column| same_name(column, name));
                let at = (0..row.len()).filter(|at| is_link(&row[*at]));
                let at: Vec<usize> = at.collect();
                columns = (!at.is_empty()).then_some(at);
            }
            Some(columns) => {
                let cells = columns.iter().filter_map(|at| row.get(*at));
                let cells = cells
                    .map(|cell| cell.trim())
                    .filter(|cell| !cell.is_empty());
                links.extend(cells.map(str::to_owned));
            }
        })
    });
    if read.is_err() {
        links.insert("?".to_owned());
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_link_is_lost_to_a_file_that_lacks_it() {
        let dir = tempfile::tempdir().unwrap();
        let (there, new) = (dir.path().join("there"), dir.path().join("new"));
        let table = [
            ("", "a,b\n1,2\n", true),
            ("a,error\n1,x\n", "a,error\n2,y\n", true),
            ("a,rejected_row\n1,row-1-of-b\n", "a\n1\n", false),
            (
                "a,rejected_row\n1,row-1-of-b\n",
                "a,rejected_row\n1,\n",
                false,
            ),
            (
                "a,rejected_row\n1,row-1-of-b\n",
                "rejected_row,a\nrow-2-of-b,3\n row-1-of-b,1\n",
                true,
            ),
            (
                "a,rejected_row\n1,row-1-of-b\n2,row-2-of-b\n",
                "a,rejected_row\n1,row-1-of-b\n",
                false,
            ),
            ("a,rejected_row\n1,\n", "a\n1\n", true),
            ("\u{feff}a;replaces\n\"1;\n2\";XYZ\n", "a;b\n1;2\n", false),
            ("a,Rejected Row\n1,row-1-of-b\n", "a\n1\n", false),
            ("\"a\"\t\"replaces\"\n1\tXYZ\n", "replaces\nXYZ\n", true),
        ];
        for (old, text, expected) in table {
            std::fs::write(&there, old).unwrap();
            std::fs::write(&new, text).unwrap();
            assert_eq!(
                all_kept(&new, &there).unwrap(),
                expected,
                "{old:?} {text:?}"
            );
        }
        std::fs::remove_file(&there).unwrap();
        assert!(all_kept(&new, &there).unwrap());
    }
}
