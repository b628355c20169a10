//! Documents as they were checked when their rows were loaded: what is uploaded later are these bytes and no others.

use super::sorter::Sorter;
use crate::domain::PaymentId;
use crate::journal::Error;
use crate::journal::codec::events::DOCUMENT_CHECKED;
use crate::store::tables::evidence;
use crate::store::{Read, Reads, Scan, Test};

/// SHA-256 of a document.
pub(in crate::journal) type DocumentDigest = [u8; 32];

/// The number of a payment, and the digest of its document.
type Packed = [u8; 8 + 32];

/// Digests of the documents of a load, by the numbers of their rows; each row has one.
#[derive(Default)]
pub(in crate::journal) struct Checked {
    digests: Sorter<{ size_of::<Packed>() }>,
    /// Rows that earlier loads brought: their numbers in this load, and those that they have.
    there: Sorter<16>,
}

impl Checked {
    /// Notes the document of a row.
    pub(in crate::journal) fn note(
        &mut self,
        seq: PaymentId,
        digest: &DocumentDigest,
    ) -> Result<(), Error> {
        let mut packed = [0; size_of::<Packed>()];
        packed[..8].copy_from_slice(&seq.get().to_be_bytes());
        packed[8..].copy_from_slice(digest);
        self.digests.push(packed)
    }

    /// Notes that an earlier load brought a row.
    pub(in crate::journal) fn was_there(
        &mut self,
        seq: PaymentId,
        earlier: PaymentId,
    ) -> Result<(), Error> {
        let mut packed = [0; 16];
        packed[..8].copy_from_slice(&seq.get().to_be_bytes());
        packed[8..].copy_from_slice(&earlier.get().to_be_bytes());
        self.there.push(packed)
    }

    /// Shows every document in the order of the rows, with the number that its row has from an earlier load.
    pub(in crate::journal) fn each(
        self,
        mut visit: impl FnMut(PaymentId, Option<PaymentId>, DocumentDigest) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (mut digests, mut there) = (self.digests.sorted()?, self.there.sorted()?);
        let mut next = there.next()?;
        while let Some(packed) = digests.next()? {
            let (seq, digest) = packed.split_at(8);
            while next.is_some_and(|next| next[..8] < *seq) {
                next = there.next()?;
            }
            let earlier = next.filter(|next| next[..8] == *seq);
            let mut own = [0; 32];
            own.copy_from_slice(digest);
            visit(
                payment(seq),
                earlier.map(|earlier| payment(&earlier[8..])),
                own,
            )?;
        }
        Ok(())
    }
}

fn payment(bytes: &[u8]) -> PaymentId {
    let number = bytes
        .iter()
        .fold(0, |so_far, byte| so_far << 8 | i64::from(*byte));
    PaymentId::new(number)
}

/// Returns SHA-256 of a payment's document as it was checked; `None` where an earlier release has loaded it.
pub(in crate::journal) fn checked_digest(
    c: &dyn Read,
    seq: PaymentId,
) -> Result<Option<Vec<u8>>, Error> {
    let newest = Scan::by(&evidence::evidence_by_payment)
        .at(&seq)
        .only(evidence::event, Test::is(&DOCUMENT_CHECKED))
        .descending();
    Ok(c.value(&newest, evidence::digest)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_come_in_the_order_of_their_rows_with_what_was_there() {
        let mut checked = Checked::default();
        let id = PaymentId::new;
        for number in [9, 3, 5] {
            checked
                .note(id(number), &[u8::try_from(number).unwrap(); 32])
                .unwrap();
        }
        for (seq, earlier) in [(5, 2), (4, 1), (10, 3)] {
            checked.was_there(id(seq), id(earlier)).unwrap();
        }
        let mut found = Vec::new();
        checked
            .each(|seq, earlier, digest| {
                found.push((seq, earlier, digest[0]));
                Ok(())
            })
            .unwrap();
        assert_eq!(
            found,
            [(id(3), None, 3), (id(5), Some(id(2)), 5), (id(9), None, 9)]
        );
    }
}
