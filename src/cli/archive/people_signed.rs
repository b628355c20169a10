//! What people signed, as plain files that `ssh-keygen` verifies without this program.

use super::names::{self, SIGNATURES};
use super::pack::Packer;
use crate::cli::Error;
use crate::journal::{SignedFor, Snapshot};

/// Puts every text and signature of a batch into an archive, and the files of those who might sign.
pub(in crate::cli) fn add(packer: &mut Packer, snapshot: &Snapshot<'_>) -> Result<(), Error> {
    let failed = |error: std::io::Error| {
        Error::unexpected(format!("the archive cannot be written: {error}"))
    };
    let mut number = 0_u64;
    snapshot.signed_texts(|signed| {
        number += 1;
        let what = match signed.what {
            SignedFor::Load => "load",
            SignedFor::Approval => "approval",
            SignedFor::Order => "order",
        };
        let by = names::plain(&signed.by);
        let name = format!("{SIGNATURES}/{number:04}-{what}-by_{by}.txt");
        packer
            .add(&name, signed.text.as_bytes())
            .and_then(|()| packer.add(&format!("{name}.sig"), signed.armour.as_bytes()))
            .map_err(failed)
    })?;
    let signers = snapshot.allowed_signers()?;
    for (at, text) in signers.iter().enumerate() {
        let name = match signers.len() {
            1 => format!("{SIGNATURES}/allowed_signers"),
            _ => format!("{SIGNATURES}/allowed_signers-{}", at + 1),
        };
        packer.add(&name, text.as_bytes()).map_err(failed)?;
    }
    Ok(())
}
