//! Corrections of failed payments, and what is held against them.

use tokio_util::sync::CancellationToken;

use crate::domain::Instruction;
use crate::journal::{Error, LoadPlan, LoadRow, Loaded};
use crate::ledger::correction::Corrects;
use crate::lifecycle::State;
use crate::simulation::judge::oracle::Generation;
use crate::simulation::scene::{Scene, batch, plan};

impl Scene {
    /// Corrects a payment of the batch, now and then.
    pub(in crate::simulation) async fn correct(&self) {
        let may_correct = self.mended.is_on && self.world.lock().tampered.is_none();
        if !may_correct || !self.mended.by_chance(2) {
            return;
        }
        let in_a_hurry = self.mended.by_chance(3);
        let may_be_chosen = |g: &Generation| {
            g.batch == batch().as_str() && !g.replaced && (g.state == State::Failed || in_a_hurry)
        };
        let all = self.generations();
        let known: Vec<_> = all
            .iter()
            .filter(|g| may_be_chosen(g) && !self.is_forgotten(&all, g.line))
            .collect();
        if known.is_empty() {
            return;
        }
        let chosen = known[self.mended.rng.borrow_mut().usize(0..known.len())];
        let of_line = |row: &Instruction| row.line == chosen.line;
        let Some(row) = self.lines().into_iter().find(of_line) else {
            return;
        };
        let row = self.mended.mend(row);
        let told = match self.load_correction(chosen, &row).await {
            Ok(Loaded::New(_)) => {
                // Whoever puts back a copy from before would give the same order again, and nobody here does.
                self.places.forget_copy();
                self.mended.taken.set(self.mended.taken.get() + 1);
                self.world.lock().know(std::slice::from_ref(&row));
                self.judge_correction(chosen);
                "taken".to_owned()
            }
            Ok(other) => format!("{other:?}"),
            Err(error) => format!("refused: {error}"),
        };
        let said = format!("line {} is corrected, {}: {told}", row.line, chosen.id);
        self.world.lock().note(|| said);
    }

    async fn load_correction(
        &self,
        chosen: &Generation,
        row: &Instruction,
    ) -> Result<Loaded, Error> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let corrects = Corrects::Failed(chosen.id.as_str().to_owned());
        let rows = vec![
            LoadRow::Corrects(corrects),
            LoadRow::Valid(row.clone()),
            LoadRow::EndOfFile,
        ];
        let _ = sender.send(rows);
        drop(sender);
        let now = self.world.lock().wall_now();
        let plan = LoadPlan {
            amend: true,
            source: "failed.csv".into(),
            repeats: Some(self.again.terms()),
            approval: self.eyes.rule(),
            ..plan(self.form(), now, false)
        };
        let journal = self.open(None, &CancellationToken::new());
        journal.load(plan, receiver).await
    }

    /// Holds what was corrected against what is known of it, before and after.
    fn judge_correction(&self, chosen: &Generation) {
        let after = self.generations();
        let has_failed = |g: &Generation| g.id == chosen.id && g.state == State::Failed;
        if chosen.state != State::Failed && !after.iter().any(has_failed) {
            let (id, state) = (chosen.id, chosen.state.name());
            let text = format!("26: {id} is {state}, and a corrected row takes its place");
            self.world.lock().violation(text);
        }
    }
}
