//! `archive read`: what an archive holds, checked and computed again.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::json;

use super::{explain, report, status, verify};
use crate::cli::Error;
use crate::cli::archive::checked::Checked;
use crate::cli::archive::pack::digest_of;
use crate::cli::arguments::{ArchiveReadArguments, ExplainArguments, NameArguments};
use crate::cli::exit::ExitStatus;
use crate::cli::files::decrypt;
use crate::cli::session::Session;
use crate::cli::terminal::output;

/// So many times larger than the encrypted file the plain one may be: encryption adds some bytes.
const RATIO_MAX: u64 = 200;
const FREE_BYTES: u64 = 64 << 20;

/// `disburse archive read`.
pub(super) async fn read(
    session: &Session,
    arguments: ArchiveReadArguments,
) -> Result<ExitStatus, Error> {
    let shown = output::name(&arguments.file.display().to_string());
    let mut file = opened(&shown, &arguments.file)?;
    let (sha256, bytes) = digest_of(&mut file)
        .map_err(|error| Error::refused(format!("{shown}: cannot be read: {error}")))?;
    let mut plain = match is_encrypted(&mut file, &arguments.file) {
        true => decrypted(session, &shown, (&arguments.file, file))?,
        false => file,
    };
    let checked = Checked::open(&shown, &mut plain, None)?;
    let mut own = checked.session(session);
    // What is to be done about a batch is told of one in a journal.
    own.common.quiet = true;
    if let Some(name) = &arguments.payment {
        assert_sound(&shown, &checked)?;
        let asked = ExplainArguments {
            batch: Some(checked.batch.to_string()),
            name: NameArguments {
                payment: Some(name.clone()),
                ..NameArguments::default()
            },
            phone: None,
            customer: None,
            reveal: false,
        };
        return explain::explain(&own, asked);
    }
    let written = match &arguments.report {
        Some(folder) => {
            assert_sound(&shown, &checked)?;
            Some(report::write(&own, &checked.batch, folder, false).await?)
        }
        None => None,
    };
    if session.common.json {
        let mut told = serde_json::to_value(&checked.manifest).unwrap_or_default();
        told["file"] = json!(arguments.file);
        told["sha256"] = json!(sha256);
        told["bytes"] = json!(bytes);
        told["verified"] = verify::to_json(&checked.batch, &checked.proof);
        if let Some(written) = &written {
            told["report"] = json!(written.paths.html);
        }
        output::json(&told);
    } else {
        tell(&shown, &checked, (&sha256, bytes));
        if arguments.verify || !checked.proof.is_sound() {
            verify::print(&checked.proof);
        }
        if let Some(written) = &written {
            let path = output::name(&written.paths.html.display().to_string());
            output::line(&format!("report: {path}"));
        }
    }
    assert_sound(&shown, &checked)?;
    Ok(ExitStatus::Done)
}

fn tell(shown: &str, checked: &Checked, (sha256, bytes): (&str, u64)) {
    let manifest = &checked.manifest;
    output::line(&format!(
        "{shown}: batch {} of {}, made at {} by {}",
        checked.batch,
        output::name(&manifest.originator),
        output::name(&manifest.made_at),
        output::name(&manifest.made_by)
    ));
    if manifest.purpose == "rehearsal" {
        output::line(status::REHEARSAL);
    }
    output::line(&format!(
        "loaded first at {}, newest evidence of {}",
        output::name(&manifest.first_load),
        output::name(&manifest.newest_evidence)
    ));
    output::print(&status::table(&checked.standing));
    output::line(&verify::head_text(&checked.standing.evidence));
    output::line(&format!(
        "sha256: {sha256}, {} bytes",
        output::grouped(&bytes.to_string())
    ));
    if checked.proof.is_sound() {
        output::line(&format!(
            "every digest fits ({} files), and the evidence verifies",
            output::grouped(&(manifest.members.len() + 1).to_string())
        ));
        output::line(
            "report/ and README.txt in it were not compared with the evidence: somebody who can write new digests can \
            edit them. --report FOLDER writes the report again from the evidence",
        );
    }
}

fn assert_sound(shown: &str, checked: &Checked) -> Result<(), Error> {
    match checked.proof.is_sound() {
        true => Ok(()),
        false => Err(Error::unexpected(format!(
            "{shown}: its evidence differs from what was recorded: {}",
            output::counted(checked.proof.findings_count, "finding")
        ))
        .hint("somebody changed it, and wrote new digests as well: use another copy of the archive, and compare its \
            head with one that was kept elsewhere")),
    }
}

fn opened(shown: &str, path: &Path) -> Result<File, Error> {
    let refused = |error: &dyn std::fmt::Display| Error::refused(format!("{shown}: {error}"));
    // A pipe would be waited for, and cannot be read twice.
    let found = std::fs::metadata(path).map_err(|error| refused(&error))?;
    if !found.is_file() {
        return Err(refused(&"this is not a regular file"));
    }
    File::open(path).map_err(|error| refused(&error))
}

/// Returns whether a file is encrypted, by its content or by its name.
fn is_encrypted(file: &mut File, path: &Path) -> bool {
    let mut head = Vec::new();
    let read = file.by_ref().take(4).read_to_end(&mut head);
    let back = file.seek(SeekFrom::Start(0));
    let is_zip = read.is_ok() && back.is_ok() && head.starts_with(b"PK");
    !is_zip && (head.starts_with(b"age-") || decrypt::is_encrypted(path))
}

/// Decrypts an archive into a file without a name.
fn decrypted(session: &Session, shown: &str, (path, file): (&Path, File)) -> Result<File, Error> {
    let settings = session.settings(false, Vec::new())?.files;
    let Some(words) = &settings.decrypt else {
        return Err(Error::refused(format!(
            "{shown}: is encrypted, and no command decrypts it"
        ))
        .hint(format!(
            "in disburse.toml, [files] decrypt = {} names one: it gets the file as its standard input, and writes the plain one to its standard output",
            decrypt::usual_command(path)
        )));
    };
    let refused = |what: String| {
        Error::refused(format!("{shown}: not decrypted: {what}")).hint(
            "[files] decrypt in disburse.toml names the command; run it by itself, and see what it says",
        )
    };
    let length = file
        .metadata()
        .map_err(|error| refused(error.to_string()))?
        .len();
    let plain = tempfile::tempfile().map_err(|error| refused(error.to_string()))?;
    let output = plain
        .try_clone()
        .map_err(|error| refused(error.to_string()))?;
    decrypt::through(words, (file, output), settings.decrypt_within).map_err(refused)?;
    let found = plain
        .metadata()
        .map_err(|error| refused(error.to_string()))?
        .len();
    if found > FREE_BYTES.max(length.saturating_mul(RATIO_MAX)) {
        return Err(refused(format!("it became {found} bytes")));
    }
    Ok(plain)
}
