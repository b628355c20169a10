//! The second post of the one payment of a batch, on purpose (`probe --pay`).

use std::sync::Arc;

use super::job::{Job, Probed};
use crate::callback::Addresses;
use crate::cli::Error;
use crate::domain::Timestamp;
use crate::gateway::{Gateway as _, HttpGateway, Outgoing};
use crate::journal::{Home, SecondPost};
use crate::ledger::duplicate_check::DuplicateCheck;
use crate::lifecycle::Event;

impl Job<'_> {
    /// Posts the one payment of the batch a second time, with the very same bytes.
    pub(super) async fn post_a_second_time(
        &self,
        client: &HttpGateway,
        home: &Home,
        addresses: Option<&Addresses>,
    ) -> Result<Probed, Error> {
        let begun = self
            .journal
            .begin_probe(self.batch.clone(), home.clone(), Timestamp::now())
            .await?;
        let (payment, support_document) = match begun {
            SecondPost::Leaves {
                payment,
                support_document,
            } => (payment, support_document),
            SecondPost::Stays(why) => return Ok(Probed::Stays(why)),
        };
        let outgoing = Outgoing {
            callback_url: addresses.map(|addresses| addresses.of(payment.id)),
            payment: Arc::clone(&payment),
            support_document,
        };
        let reply = client.post(&[outgoing]).await;
        #[cfg(debug_assertions)]
        crate::failpoints::pass("after-second-post");
        let outcome = reply.outcomes.into_iter().next();
        let event = outcome
            .as_ref()
            .map_or(Event::Lost, |outcome| outcome.event);
        let check = DuplicateCheck::of(event);
        let code = match event {
            Event::Reply(meaning) => Some(meaning.code),
            _ => None,
        };
        self.journal
            .end_probe(
                self.batch.clone(),
                home.clone(),
                (check, code),
                Timestamp::now(),
            )
            .await?;
        let words = outcome.map_or_else(String::new, |outcome| {
            match outcome.said.description.as_str() {
                "" => outcome.said.cause.to_string(),
                words => words.to_owned(),
            }
        });
        Ok(Probed::Answered { check, code, words })
    }
}
