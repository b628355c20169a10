//! Heads of the chains of evidence, signed and kept elsewhere: who can write the journal can compute a new chain, and cannot write
//! there.

use data_encoding::HEXLOWER;

use super::approval::ssh::{self, PublicKey, Signature};
use crate::domain::Timestamp;

/// The first line: the format, and its version.
const FIRST: &str = "disburse heads 1";
/// Where the signature begins.
const ARMOUR: &str = "-----BEGIN SSH SIGNATURE-----";
/// Where it ends.
const END: &str = "-----END SSH SIGNATURE-----";

/// A file of heads is never longer: it is held in memory.
pub const FILE_MAX: u64 = 64 * 1024 * 1024;

/// How far the evidence of one batch reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchHead {
    /// The batch.
    pub batch: String,
    /// Rows of evidence.
    pub rows: u64,
    /// The hash of the last of them.
    pub head: [u8; 32],
}

/// Writes the text that is signed.
#[must_use]
pub fn to_text(journal: &[u8], at: Timestamp, heads: &[BatchHead]) -> String {
    let mut text = format!("{FIRST}\njournal: {}\nat: {at}\n", HEXLOWER.encode(journal));
    for BatchHead { batch, rows, head } in heads {
        text.push_str(&format!("{batch} {rows} {}\n", HEXLOWER.encode(head)));
    }
    text
}

/// Returns whether a text, whenever it was written, says of one journal that the evidence of its one batch reaches so far, and nothing else.
/// `journal`: its name, in hexadecimal digits.
#[must_use]
pub fn is_of(text: &[u8], journal: &str, head: &BatchHead) -> bool {
    let Ok(text) = std::str::from_utf8(text) else {
        return false;
    };
    let at = text
        .lines()
        .nth(2)
        .and_then(|line| line.strip_prefix("at: "));
    let (Some(at), Ok(journal)) = (
        at.and_then(Timestamp::parse),
        HEXLOWER.decode(journal.as_bytes()),
    ) else {
        return false;
    };
    text == to_text(&journal, at, std::slice::from_ref(head))
}

/// One text with its signature, as it was handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedHeads {
    /// When it was signed, by itself.
    pub at: Timestamp,
    /// The key that signed it.
    pub key: PublicKey,
    /// The heads.
    pub heads: Vec<BatchHead>,
}

/// Reads a file in which such texts stand one behind the other, and verifies each.
///
/// # Errors
/// The line where one begins, from 1, and what is wrong with it.
pub fn read(file: &str) -> Result<Vec<SignedHeads>, (usize, String)> {
    let mut found = Vec::new();
    let (mut text, mut armour, mut began) = (String::new(), String::new(), 0);
    for (index, line) in file.lines().enumerate() {
        let line = line.trim_end_matches('\r');
        if text.is_empty() && line.trim().is_empty() {
            continue;
        }
        if text.is_empty() {
            began = index + 1;
        }
        let of_signature = !armour.is_empty() || line == ARMOUR;
        let part = if of_signature { &mut armour } else { &mut text };
        part.push_str(line);
        part.push('\n');
        if of_signature && line == END {
            let one = read_one(&text, &armour).map_err(|what| (began, what))?;
            found.push(one);
            text.clear();
            armour.clear();
        }
    }
    match text.is_empty() && armour.is_empty() {
        true => Ok(found),
        false => Err((
            began,
            "it is cut off: its signature is not there, or not whole".to_owned(),
        )),
    }
}

fn read_one(text: &str, armour: &str) -> Result<SignedHeads, String> {
    let signature = Signature::parse(armour).map_err(|error: ssh::Error| error.to_string())?;
    signature
        .verify(text.as_bytes())
        .map_err(|error| error.to_string())?;
    let wrong = |line: &str| format!("the line {line:?} is not one of heads");
    let mut lines = text.lines();
    let (first, _journal, at) = (lines.next(), lines.next(), lines.next());
    if first != Some(FIRST) {
        return Err(format!("it does not begin with {FIRST:?}"));
    }
    let at = at.unwrap_or_default();
    let at = at
        .strip_prefix("at: ")
        .and_then(Timestamp::parse)
        .ok_or_else(|| wrong(at))?;
    let heads = lines.map(|line| head(line).ok_or_else(|| wrong(line)));
    Ok(SignedHeads {
        at,
        key: signature.key().clone(),
        heads: heads.collect::<Result<_, _>>()?,
    })
}

fn head(line: &str) -> Option<BatchHead> {
    let mut words = line.split(' ');
    let (batch, rows, head) = (words.next()?, words.next()?, words.next()?);
    Some(BatchHead {
        batch: batch.to_owned(),
        rows: rows.parse().ok()?,
        head: HEXLOWER.decode(head.as_bytes()).ok()?.try_into().ok()?,
    })
    .filter(|_| words.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_one_head_is_that_of_it_alone_and_nothing_is_written_beside_it() {
        let head = BatchHead {
            batch: "june".to_owned(),
            rows: 7,
            head: [3; 32],
        };
        let journal = "07".repeat(16);
        let text = to_text(
            &[7; 16],
            Timestamp::from_millis(0),
            std::slice::from_ref(&head),
        );
        assert!(is_of(text.as_bytes(), &journal, &head), "{text}");
        for other in [
            text.replace("june 7", "june 8"),
            text.replace("june", "july"),
            text.replace("0303", "0304"),
            text.replace("0707", "0708"),
            text.replace("at: ", "at: x"),
            format!("{text}x"),
            String::new(),
        ] {
            assert_ne!(other, text);
            assert!(!is_of(other.as_bytes(), &journal, &head), "{other}");
        }
        assert!(!is_of(b"\xff", &journal, &head));
    }
    use crate::ledger::approval::ssh::made_up::{public, sign};

    fn document(key: u8, rows: u64) -> String {
        let heads = [("b", 1), ("c", 2)].map(|(batch, byte)| BatchHead {
            batch: batch.to_owned(),
            rows,
            head: [byte; 32],
        });
        let text = to_text(&[7; 16], Timestamp::from_millis(0), &heads);
        format!("{text}{}", sign(key, ssh::NAMESPACE, &text))
    }

    #[test]
    fn what_was_handed_over_is_read_back_one_behind_the_other() {
        let file = format!("{}\n{}", document(1, 3), document(2, 9)).replace('\n', "\r\n");
        for file in [file.replace('\r', ""), file] {
            let found = read(&file).unwrap();
            let told: Vec<_> = found
                .iter()
                .map(|one| {
                    (
                        one.key.clone(),
                        one.heads[1].batch.as_str(),
                        one.heads[1].rows,
                        one.heads[1].head[0],
                    )
                })
                .collect();
            let key = |number| PublicKey::of_line(&public(number)).unwrap();
            assert_eq!(told, [(key(1), "c", 3, 2), (key(2), "c", 9, 2)]);
        }
        assert_eq!(read("\n"), Ok(Vec::new()));
    }

    #[test]
    fn what_was_changed_or_cut_off_is_refused_with_its_line() {
        let (one, two) = (document(1, 3), document(1, 9));
        for (second, what) in [
            (two.replace("c 9 ", "c 8 "), "not over this text"),
            (two.replace("b 9 ", ""), "not over this text"),
            (
                two.replace("-----END SSH SIGNATURE-----\n", ""),
                "it is cut off",
            ),
            (two[..60].to_owned(), "it is cut off"),
            (
                two.replace(FIRST, "disburse approval 1"),
                "not over this text",
            ),
            (
                format!("hello\n{}", sign(1, ssh::NAMESPACE, "hello\n")),
                "does not begin with",
            ),
            (
                format!(
                    "{FIRST}\n\nat: now\n{}",
                    sign(1, ssh::NAMESPACE, &format!("{FIRST}\n\nat: now\n"))
                ),
                "\"at: now\" is not one of heads",
            ),
        ] {
            let (line, told) = read(&format!("{one}{second}")).unwrap_err();
            assert_eq!(line, one.lines().count() + 1, "{told}");
            assert!(told.contains(what), "{told}");
        }
    }
}
