//! What an archive says to whoever opens it in ten years, with or without this program.

use super::manifest::Manifest;

/// Returns the text.
pub(in crate::cli) fn text(manifest: &Manifest) -> String {
    let Manifest {
        batch,
        originator,
        purpose,
        first_load,
        newest_evidence,
        made_at,
        made_by,
        evidence,
        count,
        ..
    } = manifest;
    let rehearsal = match purpose.as_str() {
        "rehearsal" => "It was a rehearsal against a sandbox: no money moved.\n",
        _ => "",
    };
    format!(
        "Archive of the payment batch {batch} of {originator}
{rehearsal}
Loaded first:     {first_load}
Newest evidence:  {newest_evidence}
Rows of the file: {count}
Evidence:         {rows} rows, head {head}
Made at:          {made_at}, by {made_by}

It holds names, numbers and accounts of people: keep it as you keep pay slips.

What is in it
  manifest.json   figures of the batch, and the SHA-256 and length of every other file here
  report/         the report: report.html for a browser, payments.csv and report.xlsx for a spreadsheet, report.json for programs
  journal.db      all evidence about every payment: a SQLite database
  heads.txt       how far the evidence reached; heads.txt.sig, if it is here, is a signature over it
  signatures/     what people signed: each text with its signature, and the public keys that might sign (allowed_signers)

With the program disburse
  disburse archive read FILE                     checks every digest, and computes the evidence again
  disburse archive read FILE --report FOLDER     writes the report anew, out of the evidence
  disburse archive read FILE --payment REFERENCE tells all that is known of one payment

Without it
  Unpack it with any program that reads ZIP files. Compare the digests:
    sha256sum journal.db report/payments.csv
  report/payments.csv has a row for each row of the batch file: who was paid, how much, when, and by which receipt.
  Look at the evidence with the sqlite3 shell, at a copy of the file:
    sqlite3 journal.db 'select * from evidence limit 10'
  Tables and columns are explained by comments: sqlite3 journal.db .schema
  Verify a signature, where NAME is the name in the line `by:` of the text:
    ssh-keygen -Y verify -f allowed_signers -I NAME -n disburse -s TEXT.txt.sig < TEXT.txt
",
        rows = evidence.rows,
        head = evidence.head,
    )
}
