//! The report, written when a browser asks for it.
//!
//! The writers of the report make their files in a folder of their own, in bounded memory. What is asked for is opened there, and
//! the folder is removed before its first byte is sent: nothing is left behind, however the sending ends. What a program that was
//! killed has left there is removed when the next one begins to serve.

use std::fs::{self, File as OpenFile};
use std::io::{self, Seek, SeekFrom};
use std::path::Path;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::batch::failed_rows;
use super::reading::{Pages, trouble};
use crate::cli::Error;
use crate::cli::commands::report;
use crate::cli::files::scratch::{Scratch, Use};
use crate::domain::BatchName;
use crate::watch::{File, Trouble};

pub(super) fn report(pages: &Pages, batch: &BatchName, file: File) -> Result<OpenFile, Trouble> {
    written(pages, batch, file)
        .map_err(|error| trouble(&error))?
        .ok_or_else(|| {
            Trouble::NotThere(
                "There is no such file: no failed row can be mended or paid again.".to_owned(),
            )
        })
}

fn written(pages: &Pages, batch: &BatchName, file: File) -> Result<Option<OpenFile>, Error> {
    let unwritten = |error: io::Error| {
        Error::unexpected(format!("the report cannot be written: {error}"))
            .hint("free some room where temporary files are (TMPDIR), and reload the page")
    };
    let folder = Scratch::temporary(Use::Page).map_err(unwritten)?;
    let named = Some(failed_rows(batch));
    let files = folder.folder("report").map_err(unwritten)?;
    #[cfg(debug_assertions)]
    crate::failpoints::pass("page-report");
    let (written, _) =
        report::write_now(&pages.session, (batch, &files, Path::new("")), false, named)?;
    if !written.reconciliation.adds_up() {
        let differences: Vec<String> = written
            .reconciliation
            .differences()
            .iter()
            .map(ToString::to_string)
            .collect();
        return Err(Error::unexpected(format!(
            "the report does not add up to the control totals: {}",
            differences.join("; ")
        )));
    }
    match file {
        File::All => zipped(&files).map(Some).map_err(unwritten),
        _ => match OpenFile::open(files.join(file.name())) {
            Ok(opened) => Ok(Some(opened)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unwritten(error)),
        },
    }
}

/// Packs a folder with its folders into a file without a name.
fn zipped(folder: &Path) -> io::Result<OpenFile> {
    let mut writer = ZipWriter::new(tempfile::tempfile()?);
    pack(&mut writer, folder, "")?;
    let mut file = writer.finish().map_err(io::Error::other)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

fn pack(writer: &mut ZipWriter<OpenFile>, folder: &Path, within: &str) -> io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = format!("{within}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            pack(writer, &entry.path(), &format!("{name}/"))?;
            continue;
        }
        let options = SimpleFileOptions::default().large_file(true);
        writer.start_file(name, options).map_err(io::Error::other)?;
        io::copy(&mut OpenFile::open(entry.path())?, writer)?;
    }
    Ok(())
}
