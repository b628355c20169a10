//! Batches that are loaded for an account of the gateway, by mistake for another one, and sent elsewhere by order.

use std::collections::{BTreeMap, BTreeSet};

use super::accounts::{OTHER, owner};
use crate::domain::BatchName;
use crate::journal::simulated::Disk;
use crate::journal::{Error, Journal, Kind, Redirection};
use crate::ledger::moves::Move;
use crate::ledger::pin::Destination;
use crate::simulation::disk::rows;
use crate::simulation::outside::packet::Packet;
use crate::simulation::outside::world::Shape;
use crate::simulation::scene::Scene;

impl Scene {
    /// Where a batch is to go that is loaded now: to the account of the profile that somebody loads it with.
    ///
    /// Where a lost journal is loaded anew, only the person knows which account it had: nobody makes a mistake then.
    pub(in crate::simulation) fn destination(&self, batch: &BatchName) -> Option<Destination> {
        let is_mistaken = self.destinations.load(!self.lost_journal)?;
        let user = match is_mistaken {
            true => OTHER,
            false => self.account_of(batch),
        };
        // A load that broke off may have been made for the other one.
        self.world.lock().may_go(batch, owner(user));
        Some(Self::home(user).destination())
    }

    /// Sends the batch to the account that is configured, where nothing of it can be at the one that it was loaded for; as
    /// `disburse run --account-moved` does. Whoever has the wrong account orders it, too.
    pub(in crate::simulation) async fn redirect(
        &self,
        journal: &Journal,
        user: &'static str,
    ) -> Result<(), Error> {
        // Who runs a copy beside its original orders nothing.
        if self.places.is_copy.get() {
            return Ok(());
        }
        let (batch, home) = (self.batch(), Self::home(user));
        let (_, needs) = journal.account_move(batch.clone(), home.clone()).await?;
        if needs != Move::Free || !self.destinations.orders() {
            return Ok(());
        }
        // What an earlier journal may have posted is asked about at the new place.
        self.confirm_payer(journal, &batch, user).await?;
        let before = self.world.lock().meant.get(batch.as_str()).cloned();
        if before.is_some() {
            // Whether it was carried out may stay unknown.
            self.world.lock().may_go(&batch, owner(user));
        }
        let now = self.world.lock().wall_now();
        let order = Redirection {
            home,
            gateway: false,
            account: true,
            reason: "loaded with the wrong profile".to_owned(),
        };
        let moved = journal.redirect(batch.clone(), order, now).await;
        let mut shape = self.world.lock();
        shape.note(|| format!("the batch is to be paid by {user}: {moved:?}"));
        let name = batch.as_str().to_owned();
        match (&moved, before) {
            (Ok(_), Some(_)) => {
                shape.meant.insert(name, BTreeSet::from([owner(user)]));
            }
            (Err(error), Some(before)) if error.kind() != Kind::Fault => {
                shape.meant.insert(name, before);
            }
            _ => {}
        }
        drop(shape);
        if moved.is_ok() {
            self.accounts.borrow_mut().insert(batch, user);
        }
        match moved {
            // Whoever hears that cancels them, or leaves the batch where it is.
            Err(Error::AwaitedElsewhere { .. } | Error::DocumentsElsewhere { .. }) => Ok(()),
            moved => moved.map(|_| ()),
        }
    }
}

impl Shape {
    /// Notes that a batch may go to this account.
    fn may_go(&mut self, batch: &BatchName, owner: u8) {
        let name = batch.as_str().to_owned();
        self.meant.entry(name.clone()).or_default().insert(owner);
        self.ever_meant.entry(name).or_default().insert(owner);
    }

    /// A copy of the journal was put back, which may know of another place.
    ///
    /// Returns what was known of it before.
    pub(in crate::simulation) fn may_go_as_before(&mut self) -> BTreeMap<String, BTreeSet<u8>> {
        std::mem::replace(&mut self.meant, self.ever_meant.clone())
    }

    /// Holds a post against what its batch was loaded for, and sent to since.
    pub(in crate::simulation) fn hold_against_destination(&mut self, packet: &Packet, disk: &Disk) {
        let batch: Option<String> = disk.look(|c| {
            let row = rows::instruction(c, rows::seq_of(c, packet.id)?);
            Some(rows::batch(c, row.batch_id).name)
        });
        let Some(batch) = batch.and_then(|batch| BatchName::parse(&batch).ok()) else {
            return;
        };
        let by = owner(packet.user);
        match self.meant.get(batch.as_str()) {
            // Loaded for nobody, it goes on where it goes first.
            None => self.may_go(&batch, by),
            Some(owners) if owners.contains(&by) => {}
            Some(_) => {
                let (id, user) = (packet.id, packet.user);
                self.violation(format!(
                    "24: {id} is posted as {user}, and its batch was loaded for another account, or run with it first"
                ));
            }
        }
    }
}
