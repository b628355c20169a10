//! Rows that are let in, and shown: what was withdrawn elsewhere, and amounts that may have been changed.

use disburse::domain::Instruction;
use disburse::journal::{Alike, AlikeKind, LoadPlan, Loaded};
use disburse::lifecycle::{Class, Event};

use crate::support::*;

/// Loads a file, its repeats set aside; returns what of it is shown, at once and before the batch is paid.
async fn shown(world: &World, plan: LoadPlan, rows: Vec<Instruction>) -> Vec<Alike> {
    let batch = plan.batch.clone();
    let plan = LoadPlan {
        skip_bad_rows: true,
        ..plan
    };
    let loaded = world.load(plan, rows).await;
    let Loaded::New(summary) = loaded else {
        panic!("{loaded:?}");
    };
    let later = world.journal.alike(batch).await.unwrap();
    assert_eq!(summary.alike, later);
    later
}

async fn withdraw(world: &World, line: Option<&str>) {
    let of = line.map(Into::into);
    world.journal.cancel(batch(), of, moment(9)).await.unwrap();
}

#[tokio::test]
async fn what_a_person_withdrew_from_one_batch_is_shown_in_another() {
    let references: fn(u64) -> Instruction = row;
    let references_none: fn(u64) -> Instruction = |n| nameless(n, n + 1);
    for rows in [references, references_none] {
        // Which row is withdrawn, the day of the other load, and how many of it are shown.
        for (withdrawn, day, expected) in [(Some(2), 1, 1), (Some(2), 30, 0), (None, 1, 0)] {
            let world = World::new();
            world.load_new(plan(), (1..=3).map(rows).collect()).await;
            let id = withdrawn.map(|n: usize| world.payments()[n - 1].payment.id.to_string());
            withdraw(&world, id.as_deref()).await;
            let few = vec![rows(2), row(90)];
            let found = shown(&world, other_batch("few", day), few).await;
            let case = format!("{:?} {withdrawn:?} {day}", rows(1).reference);
            assert_eq!(found.len(), expected, "{case}: {found:?}");
            for found in found {
                assert_eq!(found.kind, AlikeKind::Withdrawn, "{case}");
                assert_eq!(found.other.batch, "payroll", "{case}");
                assert_eq!(found.lines, [rows(2).line], "{case}");
            }
        }
    }
}

/// Handed out for sending, and withheld, it never left; or its post came to nothing by the gateway's word. It is shown as every other row that a
/// person withdrew.
#[tokio::test]
async fn what_was_withheld_before_it_was_withdrawn_is_shown_as_well() {
    for said in [Event::Unsent, reply(Class::NoFloat, 230)] {
        let world = World::loaded(3).await;
        let token = world.acquire(1).await.token;
        let claimed = world.claim(token, 2, 2).await;
        world.record(vec![finding(claimed[0].seq, said)], 3).await;
        world
            .record(vec![finding(claimed[1].seq, Event::Unsent)], 3)
            .await;
        for n in [0, 1] {
            let id = world.payments()[n].payment.id.to_string();
            withdraw(&world, Some(&id)).await;
        }
        let few = (1..=2).map(row).collect();
        let found = shown(&world, other_batch("few", 1), few).await;
        let rows: Vec<_> = found
            .iter()
            .map(|found| (found.kind, found.other.rows))
            .collect();
        assert_eq!(rows, [(AlikeKind::Withdrawn, 2)], "{said:?}");
    }
}

#[tokio::test]
async fn a_row_with_another_amount_is_shown_where_other_rows_of_its_file_are_repeats() {
    type Case = (&'static str, fn(&World) -> Vec<Instruction>, usize);
    let changed = |_: &World| {
        let mut rows: Vec<_> = (1..=3).map(|n| nameless(n, n + 1)).collect();
        rows[1] = with_amount(rows[1].clone(), 7);
        rows
    };
    let cases: [Case; 4] = [
        ("one amount was changed", changed, 1),
        (
            "nothing is repeated",
            |_| vec![with_amount(nameless(2, 3), 7)],
            0,
        ),
        (
            "a reference for each",
            |_| {
                let mut rows: Vec<_> = (1..=3).map(|n| nameless(n, n + 1)).collect();
                rows[1] = Instruction {
                    reference: row(70).reference,
                    ..with_amount(rows[1].clone(), 7)
                };
                rows
            },
            1,
        ),
        (
            "somebody else",
            |_| vec![nameless(1, 2), nameless(40, 3)],
            0,
        ),
    ];
    for (case, file, expected) in cases {
        let world = World::new();
        let first = (1..=3).map(|n| nameless(n, n + 1)).collect();
        world.load_new(plan(), first).await;
        let found = shown(&world, other_batch("again", 1), file(&world)).await;
        assert_eq!(found.len(), expected, "{case}: {found:?}");
        for found in found {
            assert_eq!(found.kind, AlikeKind::OtherAmount, "{case}");
            assert_eq!(found.lines, [3], "{case}");
            assert_eq!(found.other.batch, "payroll", "{case}");
        }
    }
    // What has failed may be corrected.
    let world = World::new();
    let first = (1..=3).map(|n| nameless(n, n + 1)).collect();
    world.load_new(plan(), first).await;
    let token = world.acquire(1).await.token;
    for claim in world.claim(token, 100, 2).await {
        let ended = match claim.payment.instruction.line {
            3 => reply(Class::Failed, 110),
            _ => reply(Class::Paid, 140),
        };
        world.record(vec![finding(claim.seq, ended)], 3).await;
    }
    let found = shown(&world, other_batch("again", 1), changed(&world)).await;
    assert_eq!(found, []);
}
