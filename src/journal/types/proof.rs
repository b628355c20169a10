//! What a verification takes and gives.

/// Findings that are kept in words; all of them are counted.
pub const FINDINGS_SHOWN: usize = 50;

/// How far the evidence of a batch reaches.
///
/// Whoever can write the journal can compute a new chain: a head that is kept elsewhere is what shows that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainHead {
    /// Rows of evidence on the chain.
    pub length: u64,
    /// SHA-256 of the last of them, which covers all of them.
    pub hash: [u8; 32],
}

impl ChainHead {
    /// Returns the hash as 64 hexadecimal digits.
    #[must_use]
    pub fn hex(&self) -> String {
        data_encoding::HEXLOWER.encode(&self.hash)
    }
}

/// What a verification found.
#[derive(Clone, Debug)]
pub struct Proof {
    /// Payments whose evidence was folded and compared, earlier generations included.
    pub payments: u64,
    /// Rows that have no amount, and therefore no life.
    pub unpriced: u64,
    /// Rows of evidence that were hashed again.
    pub evidence: u64,
    /// Rows of instructions that were hashed again.
    pub instructions: u64,
    /// Rows of evidence that an earlier release wrote without a chain: what was changed before it was sealed cannot be found.
    pub sealed: u64,
    /// Payments whose persons were forgotten: their evidence holds leaves over what was personal.
    pub forgotten: u64,
    /// Signatures of people that were verified again.
    pub signatures: u64,
    /// The head that the journal has on record.
    pub head: Option<ChainHead>,
    /// The row of evidence at which an earlier head stands, when one was asked for and it is on the chain.
    pub earlier_head_at: Option<u64>,
    /// What does not fit, the first [`FINDINGS_SHOWN`].
    pub findings: Vec<String>,
    /// How many findings there are.
    pub findings_count: u64,
}

impl Proof {
    /// Returns whether everything fits.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings_count == 0
    }
}
