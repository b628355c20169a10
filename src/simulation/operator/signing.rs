//! People sign before a run.

use tokio_util::sync::CancellationToken;

use super::eyes::{LOADER, PEOPLE};
use crate::journal::{Error, NotSigned, ToSign};
use crate::ledger::approval::ssh::NAMESPACE;
use crate::ledger::approval::ssh::made_up::sign;
use crate::ledger::approval::text::Role;
use crate::simulation::scene::Scene;

impl Scene {
    /// Before a run: people sign, as they like; once all is well, everybody who should.
    pub(in crate::simulation) async fn sign(&self, healthy: bool, user: &str) {
        if !self.eyes.are_on() {
            return;
        }
        let likes = |of: u32| healthy || self.eyes.like(of);
        if likes(4) {
            self.sign_as(Role::Loads, LOADER, user).await;
        }
        // The loader tries it with each key, and Ben with both of his.
        for person in PEOPLE {
            if likes(3) {
                self.sign_as(Role::Approves, person, user).await;
            }
        }
    }

    async fn sign_as(&self, role: Role, (by, key): (&'static str, u8), user: &str) {
        let signed = self.try_to_sign(role, (by, key), user).await;
        let text = format!("{by} signs with key {key} that they {}: ", role.name());
        self.world.lock().note(|| match &signed {
            Ok(Ok(Some(_))) => format!("{text}recorded"),
            Ok(Ok(None)) => format!("{text}not needed"),
            Ok(Err(_)) => format!("{text}refused"),
            Err(error) => format!("{text}{error}"),
        });
        if !matches!(signed, Ok(Ok(Some(Role::Approves)))) {
            return;
        }
        if by == LOADER.0 {
            let text = format!("34: {by} loaded the batch, and approves it");
            self.world.lock().violation(text);
        }
        let batch = self.batch();
        let mut of_batch = self.generations();
        of_batch.retain(|generation| generation.batch == batch.as_str());
        let ids = of_batch.iter().map(|generation| generation.id).collect();
        self.eyes.approve(by, ids);
    }

    async fn try_to_sign(
        &self,
        role: Role,
        (by, key): (&'static str, u8),
        user: &str,
    ) -> Result<Result<Option<Role>, NotSigned>, Error> {
        let journal = self.open(None, &CancellationToken::new());
        let now = self.world.lock().wall_now();
        let target = Self::home(user).target();
        let found = journal
            .approvals(self.batch(), self.eyes.rule(), Some(target.clone()))
            .await?;
        if found.whole || role == Role::Loads && !found.unsigned {
            return Ok(Ok(None));
        }
        let statement = journal
            .statement(
                self.batch(),
                (role, by.to_owned()),
                Some(target.clone()),
                now,
            )
            .await?;
        let text = statement.to_text();
        let order = ToSign {
            signature: sign(key, NAMESPACE, &text),
            text,
            rule: self.eyes.rule(),
            target: Some(target),
            now,
        };
        let signed = journal.sign(self.batch(), order).await?;
        Ok(signed.map(|signed| Some(signed.role)))
    }
}
