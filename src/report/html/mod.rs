//! report.html: the page that is read, printed and signed. Nothing is loaded from anywhere but from beside it.
//!
//! Up to 20,000 payments are listed in the page itself, which is one file then. More are in files beside it, which hand their rows
//! to the page's script one after another: a page that was opened as a file may load scripts, and nothing else. What the page
//! says in its own markup (the verdict, the totals, the exceptions, the first payments) is seen without them.

mod exceptions;
mod list;
mod listed;
mod order;
mod outcomes;
mod parts;
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
use self::list::List;
use self::listed::Listed;
use self::parts::Parts;
use super::files::error::Error;
use super::files::{output, pages};
use super::fold::reconciliation::Reconciliation;
use super::rows::entry::{BatchHeader, StateName};
use super::rows::row::Row;
use crate::domain::WireZone;

/// At most this many payments are in the page's own markup, where they are seen without scripts.
const MARKUP_MAX: usize = 500;

/// So many are where the list goes on beside the page: what it shows first.
const MARKUP_FIRST: usize = 50;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Gathers what the page lists, in bounded memory.
pub(super) struct Page {
    staged: NamedTempFile,
    zone: WireZone,
    rows: u64,
    parts: Parts,
    markup: Vec<Listed>,
    kept: Kept,
}

/// The page, and the files of its rows when they are beside it.
pub(super) type Finished = (NamedTempFile, Option<pages::Staged>);

impl Page {
    pub(super) const NAME: &'static str = "report.html";

    pub(super) fn create(dir: &Path, zone: WireZone) -> Result<Self, Error> {
        Ok(Self {
            staged: output::stage(dir, Self::NAME)?,
            zone,
            rows: 0,
            parts: Parts::new(dir),
            markup: Vec::new(),
            kept: Kept::default(),
        })
    }

    pub(super) fn add(&mut self, row: &Row<'_>) -> io::Result<()> {
        self.rows += 1;
        let cells = Listed::new(row, &self.zone);
        self.parts.add(&cells)?;
        if self.markup.len() < MARKUP_MAX {
            self.markup.push(cells.clone());
        }
        if cells.state != StateName::Paid && self.kept.has_room(cells.state) {
            self.kept.add(cells);
        }
        Ok(())
    }

    pub(super) fn finish(
        mut self,
        header: &BatchHeader,
        reconciliation: &Reconciliation,
    ) -> io::Result<Finished> {
        let list = List::new(self.parts.finish()?, reconciliation);
        if list.is_beside() {
            self.markup.truncate(MARKUP_FIRST);
        } else if self.rows > MARKUP_MAX as u64 {
            self.markup.clear();
        }
        let mut out = BufWriter::with_capacity(1 << 16, self.staged.as_file_mut());
        let head = Head {
            title: header.name.as_str(),
            style_hash: &sha256(STYLE),
            script_hash: &sha256(SCRIPT),
            is_beside: list.is_beside(),
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
        payments::write(&mut out, reconciliation, &list, &self.markup)?;
        out.write_all(b"</main>\n<script type=\"application/json\" id=\"rows\">")?;
        list.write_json(&mut out)?;
        write!(
            out,
            "</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
        )?;
        out.flush()?;
        drop(out);
        Ok((self.staged, list.into_staged()))
    }
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
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src {{ style_hash|safe }}; script-src {{ script_hash|safe }}{% if is_beside %} 'strict-dynamic'{% endif %}; base-uri 'none'; form-action 'none'">
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
    /// The one script that is let in may load others, which are the files of rows; no markup can, whatever it names.
    is_beside: bool,
}
