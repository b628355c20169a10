//! Two pairs of eyes: whoever loads signs, others approve, and some try what they may not.

use std::cell::RefCell;
use std::collections::BTreeSet;

use fastrand::Rng;
use tokio_util::sync::CancellationToken;

use crate::domain::PayerTransactionId;
use crate::journal::{Error, NotSigned, ToSign};
use crate::ledger::approval::rule::Rule;
use crate::ledger::approval::signers::Signers;
use crate::ledger::approval::ssh::NAMESPACE;
use crate::ledger::approval::ssh::made_up::{public, sign};
use crate::ledger::approval::text::Role;
use crate::simulation::scene::Scene;

/// One seed in so many plays it.
const EVERY: u64 = 8;
/// Who loads, with the first of two keys.
const LOADER: (&str, u8) = ("lea", 1);
/// Who may sign, with their keys.
const PEOPLE: [(&str, u8); 5] = [LOADER, ("lea", 5), ("ada", 2), ("ben", 3), ("ben", 4)];

/// What somebody has approved.
struct Approved {
    by: &'static str,
    ids: BTreeSet<PayerTransactionId>,
}

/// Who signed what, with a generator of its own.
pub(in crate::simulation) struct Eyes {
    rng: RefCell<Rng>,
    rule: Option<Rule>,
    approved: RefCell<Vec<Approved>>,
}

impl Eyes {
    pub(in crate::simulation) fn of(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0xE7E5);
        let rule = (seed % EVERY == 5).then(|| {
            let lines = PEOPLE.map(|(name, key)| format!("{name} {}\n", public(key)));
            Rule {
                required: rng.u8(1..=2),
                above: std::collections::BTreeMap::new(),
                signers: Signers::parse(&lines.concat()).expect("a file of signers"),
            }
        });
        Self {
            rng: RefCell::new(rng),
            rule,
            approved: RefCell::default(),
        }
    }

    /// The rule that a load is made under.
    pub(in crate::simulation) fn rule(&self) -> Option<Rule> {
        self.rule.clone()
    }

    /// The rule that a run comes with: somebody may have taken it out of the configuration.
    pub(in crate::simulation) fn rule_of_run(&self) -> Option<Rule> {
        self.rule.clone().filter(|_| self.rng.borrow_mut().bool())
    }

    /// What as many people have approved as there must be, the loader left aside; `None`: nothing is asked for.
    pub(in crate::simulation) fn may_leave(&self) -> Option<BTreeSet<PayerTransactionId>> {
        let required = usize::from(self.rule.as_ref()?.required);
        let approved = self.approved.borrow();
        let all = approved.iter().flat_map(|one| &one.ids);
        let people = |id: &PayerTransactionId| {
            let by = approved.iter().filter(|one| one.ids.contains(id));
            let by: BTreeSet<_> = by.map(|one| one.by).collect();
            by.len()
        };
        Some(all.filter(|id| people(id) >= required).copied().collect())
    }
}

impl Scene {
    /// Before a run: people sign, as they like; once all is well, everybody who should.
    pub(in crate::simulation) async fn sign(&self, healthy: bool, user: &str) {
        if self.eyes.rule.is_none() {
            return;
        }
        let likes = |of: u32| healthy || self.eyes.rng.borrow_mut().u32(0..of) > 0;
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
            let text = format!("32: {by} loaded the batch, and approves it");
            self.world.lock().violation(text);
        }
        let batch = self.batch();
        let mut of_batch = self.generations();
        of_batch.retain(|generation| generation.batch == batch.as_str());
        let ids = of_batch.iter().map(|generation| generation.id).collect();
        self.eyes.approved.borrow_mut().push(Approved { by, ids });
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
