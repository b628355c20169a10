//! Orders that people sign for: some do, some do it twice, and then the order is given again.

use std::collections::BTreeSet;

use super::eyes::PEOPLE;
use crate::journal::{Error, Journal, OrderToSign, UnsignedOrders};
use crate::ledger::approval::ssh::NAMESPACE;
use crate::ledger::approval::ssh::made_up::sign;
use crate::simulation::scene::Scene;

impl Scene {
    /// Gives an order. `all`: everybody signs for it who is asked to; `did`: whether it was one.
    pub(in crate::simulation) async fn ordered<T>(
        &self,
        journal: &Journal,
        all: bool,
        did: impl Fn(&T) -> bool,
        order: impl AsyncFn(Journal) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if !self.eyes.sign_orders() {
            return order(journal.clone()).await;
        }
        let proposed = order(journal.clone().proposing()).await;
        let Err(Error::Unsigned(unsigned)) = proposed else {
            // Nothing is ordered by it.
            return proposed;
        };
        if unsigned.orders.lines.is_empty() {
            let text = "35: an order is under the rule, and nobody is asked to sign for it";
            self.world.lock().violation(text.into());
        }
        // By what it does, not by the digest that is under test.
        let order_of = format!("{:?}", unsigned.orders);
        for (by, key) in PEOPLE {
            if (all || self.eyes.like(2)) && self.sign_order(journal, &unsigned, (by, key)).await {
                self.eyes.signed_order(&order_of, by);
            }
        }
        let done = order(journal.clone()).await;
        self.world.lock().note(|| {
            let what = unsigned.orders.lines.first().map(|line| line.sentence());
            format!("an order that people sign for, {what:?}: {}", done.is_ok())
        });
        if done.as_ref().is_ok_and(did) {
            let people: BTreeSet<_> = self.eyes.carried_out(&order_of);
            if people.len() < self.eyes.sign_an_order() {
                let text = format!(
                    "35: an order was carried out that {} of {} people have signed for",
                    people.len(),
                    self.eyes.sign_an_order()
                );
                self.world.lock().violation(text);
            }
        }
        done
    }

    async fn sign_order(
        &self,
        journal: &Journal,
        unsigned: &UnsignedOrders,
        (by, key): (&'static str, u8),
    ) -> bool {
        let now = self.world.lock().wall_now();
        let orders = unsigned.orders.clone();
        let Ok(text) = journal.order_text(orders.clone(), by.to_owned(), now).await else {
            return false;
        };
        let order = OrderToSign {
            orders,
            signature: sign(key, NAMESPACE, &text),
            text,
            reason: None,
            now: self.world.lock().wall_now().max(now),
        };
        let signed = journal.sign_order(order).await;
        signed.is_ok_and(|signed| signed.is_ok())
    }
}
