//! Addresses that cannot be guessed.

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::domain::PayerTransactionId;

/// No identifier: it is shorter than any.
const ALL: &[u8] = b"all payments";

/// Makes the address of every payment, and recognises it.
#[derive(Clone)]
pub struct Addresses {
    public_url: String,
    /// All payments share one.
    is_shared: bool,
    /// With the key taken in.
    keyed: Hmac<Sha256>,
}

// The key is what keeps callbacks from being forged.
impl std::fmt::Debug for Addresses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Addresses")
            .field("public_url", &self.public_url)
            .finish_non_exhaustive()
    }
}

impl Addresses {
    /// Makes addresses below a public URL with the journal's key.
    #[must_use]
    pub fn new(public_url: &str, key: &[u8]) -> Self {
        Self {
            public_url: public_url.trim_end_matches('/').to_owned(),
            is_shared: false,
            keyed: Hmac::new_from_slice(key).expect("HMAC takes keys of every length"),
        }
    }

    /// Gives all payments one address, which is registered at the gateway.
    #[must_use]
    pub fn shared(self) -> Self {
        Self {
            is_shared: true,
            ..self
        }
    }

    /// Returns the address that all payments share: it cannot be guessed either.
    #[must_use]
    pub fn of_all(&self) -> String {
        let mut mac = self.keyed.clone();
        mac.update(ALL);
        let token = HEXLOWER.encode(&mac.finalize().into_bytes());
        format!("{}/all/{token}", self.public_url)
    }

    /// Returns whether a request path is the address that all payments share.
    #[must_use]
    pub fn is_of_all(&self, path: &str) -> bool {
        let mut segments = path.rsplit('/');
        let token = HEXLOWER.decode(segments.next().unwrap_or_default().as_bytes());
        let mut mac = self.keyed.clone();
        mac.update(ALL);
        let genuine = mac.verify_slice(&token.unwrap_or_default()).is_ok();
        self.is_shared && genuine && segments.next() == Some("all")
    }

    fn mac(&self, id: PayerTransactionId) -> Hmac<Sha256> {
        let mut mac = self.keyed.clone();
        mac.update(id.as_str().as_bytes());
        mac
    }

    /// Returns the address of a payment, without the public URL: `identifier/token`.
    #[must_use]
    pub fn path_of(&self, id: PayerTransactionId) -> String {
        format!(
            "{id}/{}",
            HEXLOWER.encode(&self.mac(id).finalize().into_bytes())
        )
    }

    /// Returns the address of a payment.
    #[must_use]
    pub fn of(&self, id: PayerTransactionId) -> String {
        match self.is_shared {
            true => self.of_all(),
            false => format!("{}/{}", self.public_url, self.path_of(id)),
        }
    }

    /// Returns whose address a request path is; `None` for anything that this journal did not give out.
    ///
    /// The last two segments decide: a proxy in front may add to the path or take from it.
    #[must_use]
    pub fn recognise(&self, path: &str) -> Option<PayerTransactionId> {
        let mut segments = path.rsplit('/');
        let (token, id) = (segments.next()?, segments.next()?);
        let parsed = PayerTransactionId::parse(id);
        let token = HEXLOWER.decode(token.as_bytes()).unwrap_or_default();
        // The same work for an identifier that is none: the time of a 404 tells nothing.
        let nobody = PayerTransactionId::parse("00000000000000000000000000")?;
        let genuine = self
            .mac(parsed.unwrap_or(nobody))
            .verify_slice(&token)
            .is_ok();
        parsed.filter(|_| genuine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_were_given_out_are_recognised() {
        let id = PayerTransactionId::parse("D6XG76YFHSD4N4GSMC3R7K7EGS").unwrap();
        let other = PayerTransactionId::parse("D6XG76YFHSD4N4GSMC3R7K7EGT").unwrap();
        let addresses = Addresses::new("https://pay.example/callbacks/", &[7; 32]);
        let path = addresses.path_of(id);
        assert_eq!(
            addresses.of(id),
            format!("https://pay.example/callbacks/{path}")
        );
        assert_eq!(addresses.recognise(&format!("/callbacks/{path}")), Some(id));
        assert_eq!(
            addresses.recognise(&format!("/{path}")),
            Some(id),
            "a proxy may strip the prefix"
        );
        let token = path.split('/').next_back().unwrap();
        for forged in [
            format!("/{other}/{token}"),
            format!("/{id}/{}", &token[..62]),
            format!("/{id}/{}", "0".repeat(64)),
            format!("/{id}/{}", token.to_uppercase()),
            format!("/{id}/"),
            format!("/{token}"),
            String::new(),
            "/".into(),
        ] {
            assert_eq!(addresses.recognise(&forged), None, "{forged}");
        }
        assert_eq!(
            Addresses::new("x", &[8; 32]).recognise(&path),
            None,
            "another journal's key"
        );
    }
}
