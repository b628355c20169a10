//! Copies of the journal that are put back, or run in a place of their own.

use tokio_util::sync::CancellationToken;

use crate::journal::Journal;
use crate::journal::simulated::{Disk, Shelf};
use crate::simulation::disk::rows;
use crate::simulation::scene::{Scene, batch};
use crate::store::tables::meta;
use crate::store::{Reads, Scan};

impl Scene {
    /// One time of so many.
    fn by_chance(&self, of: u32) -> bool {
        self.copies && self.places.rng.borrow_mut().u32(0..of) == 0
    }

    /// Copies the journal, perhaps in the middle of a run.
    pub(in crate::simulation) fn copy(&self) {
        // What is edited is taken back, and would stand in a copy for ever.
        if self.by_chance(3) && self.world.lock().tampered.is_none() {
            let copied = (self.disk.image(), self.again.count());
            self.places.image.replace(Some(copied));
            self.world.lock().note(|| "the journal is copied".into());
        }
    }

    /// Puts the copy back, beside the mark or without it, and loads the file again; or declares the recovery done.
    pub(in crate::simulation) fn restore(&mut self) {
        if self.by_chance(3) {
            self.on_a_runtime(self.declare_done());
        }
        if !self.by_chance(4) {
            return;
        }
        let Some((image, batches)) = self.places.image.take() else {
            return;
        };
        // What was paid under a name that it does not know, a person must know.
        if batches < self.again.count() {
            return;
        }
        if self.by_chance(4) {
            self.shelf = Shelf::default();
        }
        let ordered = self.orders();
        self.disk = Disk::restored(&image, &self.shelf);
        self.world.lock().orders_lost = ordered > self.orders();
        self.lost_journal = true;
        self.forget_what_was_heard();
        self.world.lock().may_go_as_before();
        self.world.lock().note(|| "a copy is put back".into());
        self.on_a_runtime(async {
            let journal = self.open(None, &CancellationToken::new());
            if let Err(text) = self.load(&journal, false, true).await {
                self.world.lock().violation(text);
            }
        });
        // Somebody runs it before anybody thinks of the orders that are lost.
        if self.world.lock().orders_lost {
            self.live(false);
        }
        self.on_a_runtime(async {
            let journal = self.open(None, &CancellationToken::new());
            self.give_orders_again(&journal).await;
            self.world.lock().orders_lost = false;
        });
    }

    /// Whoever gave the orders that are lost does not know of them any more: otherwise nothing would be posted again.
    pub(in crate::simulation) async fn give_orders_again(&self, journal: &Journal) {
        if journal
            .orders_lost()
            .await
            .is_ok_and(|lost| !lost.is_none())
        {
            let without = journal
                .orders_missing()
                .await
                .map(|missing| missing.len() as u64);
            let without = without.ok();
            let said = self.ordered(
                journal,
                true,
                |_| true,
                async |journal| {
                    let (reason, now) = ("given again".into(), self.moment().now);
                    journal.orders_given_again(reason, without, now).await
                },
            );
            let said = said.await;
            let said = format!("the lost orders are declared given again: {said:?}");
            self.world.lock().note(|| said);
        }
    }

    /// How many orders the journal has that must not be forgotten.
    fn orders(&self) -> i64 {
        self.disk.look(|c| {
            let orders = c.value(&Scan::of(&meta::TABLE).at(&"orders"), meta::value);
            orders.expect("it is a number").unwrap_or(0)
        })
    }

    /// Lets the copy run for a while in a place of its own, beside the original, and throws it away.
    ///
    /// Only the gateway's own check keeps two journals apart that post the same identifiers; and it must not call a repeat
    /// rejected. What is promised of the program: the copy notices what it is, and asks first.
    pub(in crate::simulation) fn run_beside(&mut self) {
        let plays = {
            let mut shape = self.world.lock();
            let faults = &shape.faults;
            let keeps_apart = faults.duplicate_check && !faults.rejects_repeats;
            keeps_apart && shape.chance(|f| f.beside)
        };
        // Beside a journal that has the same rows under other names, it would pay them under its own.
        let plays = plays && self.again.count() == 0;
        let image = self.places.image.borrow_mut().take_if(|_| plays);
        let Some((image, _)) = image else { return };
        let shelf = Shelf::default();
        let copy = Disk::restored(&image, &shelf);
        let original = std::mem::replace(&mut self.disk, copy);
        let shelf = std::mem::replace(&mut self.shelf, shelf);
        let books = self.world.lock().begin_books();
        let meant = self.world.lock().may_go_as_before();
        self.world.lock().note(|| "a copy runs beside".into());
        let was_used = self.disk.look(|c| {
            let batches = rows::batches(c);
            batches.iter().any(|batch| batch.account.is_some())
        });
        let noticed = self.on_a_runtime(async {
            let journal = self.open(None, &CancellationToken::new());
            self.give_orders_again(&journal).await;
            journal.recovery().await.is_ok_and(|open| open.is_some())
        });
        if was_used && !noticed {
            let text = "22: a copy in another place has noticed nothing".to_owned();
            self.world.lock().violation(text);
        }
        let (unasked, lost) = (self.unasked, self.lost_journal);
        (self.unasked, self.lost_journal) = (true, true);
        self.places.is_copy.set(true);
        self.live(false);
        self.places.is_copy.set(false);
        self.judge_copy();
        self.disk = original;
        self.shelf = shelf;
        self.lost_journal = lost;
        // What the copy may have posted nobody withdraws unasked.
        self.unasked = unasked || plays;
        let mut shape = self.world.lock();
        shape.end_books(books);
        shape.meant = meant;
        shape.note(|| "the copy is thrown away".into());
    }

    pub(in crate::simulation) async fn declare_done(&self) {
        let journal: Journal = self.open(None, &CancellationToken::new());
        if journal.recovery().await.is_ok_and(|open| open.is_some()) {
            let done = self.ordered(
                &journal,
                true,
                |()| true,
                async |journal| journal.recovered(self.moment().now).await,
            );
            let done = done.await;
            let said = format!("the recovery of {} is done: {done:?}", batch());
            self.world.lock().note(|| said);
        }
    }
}
