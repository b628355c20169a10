//! Whoever can write the journal's file edits it between two runs, and takes it back after the next one.

use rusqlite::{Connection, OptionalExtension};
use tokio_util::sync::CancellationToken;

use crate::domain::PayerTransactionId;
use crate::simulation::scene::Scene;

/// What was edited, and what takes it back.
pub(in crate::simulation) struct Edited {
    /// Of instructions only whoever drops their guard can change one.
    guarded: bool,
    undo: String,
}

/// Payments that may still be posted.
const OPEN: &str =
    "select i.seq, i.identifier, i.amount, i.msisdn from instruction i left join life l using (seq)
     where i.amount is not null and coalesce(l.state, 0) = 0 order by i.seq desc limit 1";
/// Payments that have left, or ended, and stand for their rows.
const CLOSED: &str =
    "select seq, identifier, l.state, l.due_at, l.queued, l.exposures from life l join instruction i using (seq)
     where l.state not in (0, 1) and l.replaced_by is null order by seq limit 1";

/// Payments whose rows would be paid anew if they had failed: first those that a retry has replaced already.
const UNPAID: &str =
    "select seq, identifier, l.state, l.code, l.due_at, l.queued, l.replaced_by from life l join instruction i using (seq)
     where l.state in (2, 3, 4) or l.state = 8 and l.replaced_by is not null order by l.replaced_by is null, seq limit 1";

impl Scene {
    /// Edits an amount, a number or a state, now and then.
    pub(in crate::simulation) fn tamper(&self) -> Option<Edited> {
        let which = {
            let mut shape = self.world.lock();
            shape.chance(|f| f.tampered).then(|| shape.rng.u32(0..4))?
        };
        let found = self.disk.look(|c| match which {
            0 => instruction(c, |minor, _| format!("amount = {}", minor + 1)),
            1 => instruction(c, |_, to| {
                let last = if to.ends_with('9') { 0 } else { 9 };
                format!("msisdn = '{}{last}'", &to[..to.len() - 1])
            }),
            2 => state(c),
            _ => failure(c),
        });
        let (id, what, edited) = found?;
        self.edit(edited.guarded, &what);
        if which == 3 {
            // Whoever sees a failure orders a retry.
            let now = self.world.lock().wall_now();
            let done = self.on_a_runtime(async {
                let journal = self.open(None, &CancellationToken::new());
                self.retry_of(&journal, self.batch_of(id), None, now).await
            });
            self.world.lock().note(|| format!("retry: {done:?}"));
        }
        let mut shape = self.world.lock();
        shape.tampered = Some(id);
        shape.deaf = true;
        shape.note(|| format!("{id} is edited: {what}"));
        Some(edited)
    }

    /// Takes the edit back.
    pub(in crate::simulation) fn take_back(&self, edited: Option<Edited>) {
        if let Some(edited) = edited {
            self.edit(edited.guarded, &edited.undo);
            let mut shape = self.world.lock();
            (shape.tampered, shape.deaf) = (None, false);
        }
    }

    fn edit(&self, guarded: bool, what: &str) {
        self.disk.write_past(|c| {
            let guard: Option<String> = c
                .query_row(
                    "select sql from sqlite_schema where ?1 and name = 'instruction_is_never_changed'",
                    [guarded],
                    |row| row.get(0),
                )
                .optional()
                .expect("the schema can be read");
            let drop = guard.as_ref().map_or("", |_| "drop trigger instruction_is_never_changed;");
            c.execute_batch(&format!("{drop} {what}; {}", guard.unwrap_or_default()))
                .expect("whoever owns the file may write it");
        });
    }
}

type Found = Option<(PayerTransactionId, String, Edited)>;

fn instruction(c: &Connection, change: impl FnOnce(i64, &str) -> String) -> Found {
    let (seq, id, minor, to) = c
        .query_row(OPEN, [], |row| {
            let id: String = row.get(1)?;
            Ok((
                row.get::<_, i64>(0)?,
                id,
                row.get(2)?,
                row.get::<_, String>(3)?,
            ))
        })
        .optional()
        .expect("they can be read")?;
    let set = |change: &str| format!("update instruction set {change} where seq = {seq}");
    let edited = Edited {
        guarded: true,
        undo: set(&format!("amount = {minor}, msisdn = '{to}'")),
    };
    let id = PayerTransactionId::parse(&id).expect("we made it");
    Some((id, set(&change(minor, &to)), edited))
}

/// What has left, or ended, stands as ready.
fn state(c: &Connection) -> Found {
    let (seq, id, state, due_at, queued, exposures) = c
        .query_row(CLOSED, [], |row| {
            let id: String = row.get(1)?;
            Ok((
                row.get::<_, i64>(0)?,
                id,
                row.get::<_, i64>(2)?,
                row.get::<_, i64>(3)?,
                row.get::<_, i64>(4)?,
                row.get::<_, i64>(5)?,
            ))
        })
        .optional()
        .expect("they can be read")?;
    let edited = Edited {
        guarded: false,
        // Unless it has moved meanwhile, by what was heard of it. The run may have held it.
        undo: format!(
            "update life set state = {state}, due_at = {due_at}, queued = {queued}, exposures = {exposures} where seq = {seq} and state = 0 and exposures = 0"
        ),
    };
    let id = PayerTransactionId::parse(&id).expect("we made it");
    // Not as one that has been on the wire: of that one the gateway would be asked first.
    let what = format!(
        "update life set state = 0, due_at = 0, queued = 1, exposures = 0 where seq = {seq}"
    );
    Some((id, what, edited))
}

/// What is under way stands as failed.
fn failure(c: &Connection) -> Found {
    let (seq, id, state, code, due_at, queued) = c
        .query_row(UNPAID, [], |row| {
            let id: String = row.get(1)?;
            Ok((
                row.get::<_, i64>(0)?,
                id,
                row.get::<_, i64>(2)?,
                row.get::<_, Option<i64>>(3)?,
                row.get::<_, i64>(4)?,
                row.get::<_, i64>(5)?,
            ))
        })
        .optional()
        .expect("they can be read")?;
    let code = code.map_or("null".to_owned(), |code| code.to_string());
    let edited = Edited {
        guarded: false,
        undo: format!(
            "update life set state = {state}, code = {code}, due_at = {due_at}, queued = {queued} where seq = {seq} and state = 6
                 and (replaced_by is null or {state} = 8)"
        ),
    };
    let id = PayerTransactionId::parse(&id).expect("we made it");
    let what = format!(
        "update life set state = 6, code = 141, due_at = 9223372036854775807, queued = 1 where seq = {seq}"
    );
    Some((id, what, edited))
}
