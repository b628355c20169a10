//! report.html: the page that is read, printed and signed. One file, nothing loaded from anywhere.
//!
//! It lists every payment of a batch of up to 20,000, and of larger ones the first 5,000 exceptions; payments.csv has all.

mod exceptions;
mod listed;
mod order;
mod outcomes;
mod payments;
mod progress;
mod statements;
mod summary;
mod totals;

use std::io::{self, BufWriter, Write};
use std::path::Path;

use askama::Template;
use data_encoding::BASE64;
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use self::exceptions::Kept;
use self::listed::Listed;
use super::files::error::Error;
use super::files::output;
use super::fold::reconciliation::Reconciliation;
use super::rows::entry::{BatchHeader, StateName};
use super::rows::row::Row;
use crate::domain::WireZone;

/// A larger batch lists its exceptions only.
const LISTED_MAX: u64 = 20_000;

/// At most this many payments are in the page's own markup, where they are seen without scripts.
const MARKUP_MAX: u64 = 500;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Gathers what the page lists, in bounded memory.
pub(super) struct Page {
    staged: NamedTempFile,
    zone: WireZone,
    rows: u64,
    data: Vec<u8>,
    markup: Vec<Listed>,
    kept: Kept,
}

impl Page {
    pub(super) const NAME: &'static str = "report.html";

    pub(super) fn create(dir: &Path, zone: WireZone) -> Result<Self, Error> {
        Ok(Self {
            staged: output::stage(dir, Self::NAME)?,
            zone,
            rows: 0,
            data: Vec::new(),
            markup: Vec::new(),
            kept: Kept::default(),
        })
    }

    pub(super) fn add(&mut self, row: &Row<'_>) -> io::Result<()> {
        self.rows += 1;
        let exception = row.entry.state != StateName::Paid && self.kept.has_room(row.entry.state);
        let listed = self.rows <= LISTED_MAX;
        if !listed {
            // Frees the memory: the list is not going to be shown.
            self.data = Vec::new();
            self.markup = Vec::new();
        }
        if !listed && !exception {
            return Ok(());
        }
        let cells = Listed::new(row, &self.zone);
        if listed {
            append(&mut self.data, &cells)?;
        }
        if self.rows <= MARKUP_MAX {
            self.markup.push(cells.clone());
        }
        if exception {
            self.kept.add(cells);
        }
        Ok(())
    }

    pub(super) fn finish(
        mut self,
        header: &BatchHeader,
        reconciliation: &Reconciliation,
    ) -> io::Result<NamedTempFile> {
        let complete = self.rows <= LISTED_MAX;
        let listed = match complete {
            true => self.rows,
            false => self.kept.iter().count() as u64,
        };
        if !complete {
            for cells in self.kept.iter() {
                append(&mut self.data, cells)?;
            }
        }
        if self.rows > MARKUP_MAX {
            self.markup.clear();
        }
        let mut out = BufWriter::with_capacity(1 << 16, self.staged.as_file_mut());
        let head = Head {
            title: header.name.as_str(),
            style_hash: &sha256(STYLE),
            script_hash: &sha256(SCRIPT),
        };
        head.write_into(&mut out)?;
        write!(out, "<style>{STYLE}</style>\n</head>\n<body>\n<main>\n")?;
        summary::write(&mut out, header, reconciliation)?;
        out.write_all(b"<div class=\"overview\">\n")?;
        totals::write(&mut out, reconciliation)?;
        out.write_all(b"<div class=\"charts\">\n")?;
        outcomes::write(&mut out, reconciliation)?;
        progress::write(&mut out, reconciliation, &header.zone)?;
        out.write_all(b"</div>\n</div>\n")?;
        summary::write_origin(&mut out, header, reconciliation)?;
        summary::write_signatures(&mut out, header)?;
        statements::write(&mut out, header)?;
        exceptions::write(&mut out, header, reconciliation, &self.kept)?;
        payments::write(&mut out, reconciliation, complete, listed, &self.markup)?;
        out.write_all(b"</main>\n<script type=\"application/json\" id=\"rows\">[")?;
        out.write_all(&self.data)?;
        write!(
            out,
            "]</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
        )?;
        out.flush()?;
        drop(out);
        Ok(self.staged)
    }
}

fn append(data: &mut Vec<u8>, cells: &Listed) -> io::Result<()> {
    if !data.is_empty() {
        data.push(b',');
    }
    data.push(b'\n');
    cells.write_json(data)
}

/// Returns the source expression that allows exactly this text in the page's own security policy.
fn sha256(text: &str) -> String {
    format!("'sha256-{}'", BASE64.encode(&Sha256::digest(text)))
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src {{ style_hash|safe }}; script-src {{ script_hash|safe }}; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{{ title }} · reconciliation</title>
"#
)]
struct Head<'a> {
    title: &'a str,
    style_hash: &'a str,
    script_hash: &'a str,
}
