//! A file that is loaded again: the same, more of it, or another one under the same name.

use disburse::domain::{Amount, Originator, Reference};
use disburse::journal::{Difference, LoadPlan, LoadRefusal, Loaded};
use disburse::lifecycle::{Class, State};

use crate::support::*;

fn amend() -> LoadPlan {
    LoadPlan {
        amend: true,
        now: at(50),
        ..plan()
    }
}

#[tokio::test]
async fn the_same_file_again_changes_nothing_in_any_order_and_at_any_time() {
    let world = World::loaded(6).await;
    let token = world.acquire(1).await.token;
    world.claim(token, 2, 2).await;
    let before = world.contents();
    for (name, plan) in [
        ("again", plan()),
        (
            "later, under another file name",
            LoadPlan {
                now: at(999),
                source: "other.csv".into(),
                ..plan()
            },
        ),
        ("to amend", amend()),
        (
            "presumed posted",
            LoadPlan {
                presume_posted: true,
                ..plan()
            },
        ),
    ] {
        let mut again = rows(1..=6);
        again.reverse();
        let loaded = world.load(plan, again).await;
        let Loaded::AlreadyLoaded(summary) = loaded else {
            panic!("{name}: {loaded:?}");
        };
        assert_eq!(summary.total().count, 6, "{name}");
        assert_eq!(summary.total().amounts.minor(kes()), 2100, "{name}");
        assert_eq!(world.contents(), before, "{name}");
    }
}

#[tokio::test]
async fn the_same_file_with_skipped_rows_is_known_again() {
    let world = World::new();
    let skip = || LoadPlan {
        skip_bad_rows: true,
        ..plan()
    };
    let mut twice = rows(1..=3);
    twice[2].reference = Some(Reference::parse("EMP-1").unwrap());
    let first = world
        .load_mixed(skip(), twice.clone(), vec![bad(9, 50)])
        .await;
    let Loaded::New(first) = first else {
        panic!("{first:?}");
    };
    let before = world.contents();
    let again = world.load_mixed(skip(), twice, vec![bad(9, 50)]).await;
    let Loaded::AlreadyLoaded(again) = again else {
        panic!("{again:?}");
    };
    let whole = |summary: &disburse::journal::LoadSummary| {
        let mut whole = summary.total();
        whole.add_all(&summary.rejected);
        whole
    };
    assert_eq!(whole(&again), whole(&first));
    assert_eq!(world.contents(), before);
}

#[tokio::test]
async fn declared_totals_are_checked_against_a_file_that_is_there_already() {
    let world = World::loaded(3).await;
    let declared = LoadPlan {
        expect_count: Some(4),
        ..plan()
    };
    let loaded = world.load(declared, rows(1..=3)).await;
    let refusal = LoadRefusal::Count {
        expected: 4,
        found: 3,
    };
    assert_eq!(loaded, Loaded::Refused(refusal));
}

#[tokio::test]
async fn other_content_under_the_same_name_is_refused_with_the_difference() {
    let world = World::loaded(5).await;
    let before = world.contents();
    let mut other = rows(2..=7);
    other[0] = with_amount(other[0].clone(), 99_900);
    let loaded = world.load(plan(), other).await;
    let Loaded::Refused(LoadRefusal::OtherContent(difference)) = loaded else {
        panic!("{loaded:?}");
    };
    let Difference {
        new,
        gone,
        changed,
        rejected,
        examples,
        ..
    } = difference;
    assert_eq!((new, gone, changed, rejected), (2, 1, 1, 0));
    assert!(
        examples.contains(
            &"changed: line 3, reference EMP-2: amount was KES 2.00, is KES 999.00".into()
        ),
        "{examples:?}"
    );
    assert!(
        examples.contains(&"new: line 7, reference EMP-6".into()),
        "{examples:?}"
    );
    assert_eq!(world.contents(), before);
}

#[tokio::test]
async fn a_file_that_lacks_rows_of_the_batch_is_other_content() {
    let world = World::loaded(5).await;
    let loaded = world.load(plan(), rows(1..=3)).await;
    let Loaded::Refused(LoadRefusal::OtherContent(difference)) = loaded else {
        panic!("{loaded:?}");
    };
    assert_eq!(
        (difference.new, difference.gone, difference.changed),
        (0, 2, 0)
    );
}

#[tokio::test]
async fn an_amendment_adds_what_is_new_and_leaves_the_rest_alone() {
    let world = World::loaded(3).await;
    let before = world.identifiers();
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 1, 2).await;
    world
        .record(
            vec![finding(claims[0].seq, reply(Class::Acknowledged, 139))],
            3,
        )
        .await;
    let declared = LoadPlan {
        // Declared totals are about the file.
        expect_count: Some(5),
        expect_total: Some((kes(), Amount::from_minor(1500).unwrap())),
        ..amend()
    };
    let summary = world.load_new(declared, rows(1..=5)).await;
    assert_eq!((summary.total().count, summary.unchanged), (2, 3));
    assert_eq!(world.identifiers()[..3], before);
    assert_eq!(world.count(State::Ready), 4);
    assert_eq!(world.count(State::Acknowledged), 1);
    world.assert_adds_up();
    // The new rows alone are an amendment too.
    let summary = world.load_new(amend(), rows(6..=7)).await;
    assert_eq!((summary.total().count, summary.unchanged), (2, 0));
    world.assert_adds_up();
    let reader = world.reader();
    let record = reader.snapshot(&batch()).unwrap().record().unwrap();
    let accepted: Vec<u64> = record.loads.iter().map(|load| load.accepted).collect();
    assert_eq!(accepted, [3, 2, 2]);
}

#[tokio::test]
async fn an_amendment_that_changes_a_row_is_refused() {
    let world = World::loaded(3).await;
    let before = world.contents();
    let mut changed = rows(1..=4);
    changed[1] = with_amount(changed[1].clone(), 1);
    let loaded = world.load(amend(), changed).await;
    assert!(
        matches!(&loaded, Loaded::Refused(LoadRefusal::OtherContent(difference)) if difference.changed == 1),
        "{loaded:?}"
    );
    assert_eq!(world.contents(), before);
}

#[tokio::test]
async fn equal_rows_of_an_amendment_are_numbered_like_those_of_the_first_load() {
    let allow = |plan: LoadPlan| LoadPlan {
        allow_equal_rows: true,
        ..plan
    };
    let world = World::new();
    let equal = |n: u64| (0..n).map(|line| nameless(1, line + 2)).collect::<Vec<_>>();
    world.load_new(allow(plan()), equal(2)).await;
    let summary = world.load_new(allow(amend()), equal(4)).await;
    assert_eq!((summary.total().count, summary.unchanged), (2, 2));
    let whole = World::new();
    whole.load_new(allow(plan()), equal(4)).await;
    assert_eq!(world.identifiers(), whole.identifiers());
    world.assert_adds_up();
}

#[tokio::test]
async fn another_originator_may_not_add_to_a_batch() {
    let world = World::loaded(3).await;
    let before = world.contents();
    let other = LoadPlan {
        originator: Originator::parse("other").unwrap(),
        ..amend()
    };
    let loaded = world.load(other, rows(4..=5)).await;
    assert_eq!(
        loaded,
        Loaded::Refused(LoadRefusal::OtherOriginator("acme".into()))
    );
    assert_eq!(world.contents(), before);
}

#[tokio::test]
async fn another_row_with_errors_is_another_file() {
    let skip = || LoadPlan {
        skip_bad_rows: true,
        ..plan()
    };
    let world = World::new();
    let first = vec![bad(10, 700), bad(10, 800)];
    let Loaded::New(summary) = world.load_mixed(skip(), rows(1..=3), first.clone()).await else {
        panic!("the first load");
    };
    assert_eq!(summary.rejected.count, 2, "both stand on line 10");
    let again = world.load_mixed(skip(), rows(1..=3), first).await;
    assert!(matches!(again, Loaded::AlreadyLoaded(_)), "{again:?}");
    let before = world.contents();
    // As many, and the totals would agree with a declaration of the first file's rows.
    let other = vec![bad(10, 700), bad(10, 9_000_000)];
    let loaded = world.load_mixed(skip(), rows(1..=3), other.clone()).await;
    let Loaded::Refused(LoadRefusal::OtherContent(difference)) = loaded else {
        panic!("{loaded:?}");
    };
    assert_eq!(
        (difference.new, difference.gone, difference.rejected),
        (0, 0, 1)
    );
    assert_eq!(world.contents(), before);

    // Added, what was set aside before is counted once, and the whole file is what was declared.
    let amend = LoadPlan {
        amend: true,
        expect_count: Some(5),
        ..skip()
    };
    let Loaded::New(summary) = world.load_mixed(amend, rows(1..=3), other).await else {
        panic!("the amendment");
    };
    assert_eq!(summary.rejected.count, 1);
    let standing = world.standing();
    assert_eq!(standing.rejected.count, 3);
    assert_eq!(
        standing.rejected.amounts.minor(kes()),
        700 + 800 + 9_000_000
    );
}

#[tokio::test]
async fn a_file_that_an_earlier_version_loaded_is_known_again_by_what_it_set_aside() {
    let skip = || LoadPlan {
        skip_bad_rows: true,
        ..plan()
    };
    let world = World::new();
    let set_aside = vec![bad(10, 700), bad(11, 800)];
    world
        .load_mixed(skip(), rows(1..=3), set_aside.clone())
        .await;
    // As versions before 5 have it: the number of the rows with errors alone.
    let sql = world.sql();
    let digest: String = sql
        .query_row("select digest from load", [], |row| row.get(0))
        .unwrap();
    let plain = digest.rsplit_once('+').unwrap().0;
    sql.execute("update load set digest = ?1", [plain]).unwrap();
    sql.execute("update rejected set digest = null", [])
        .unwrap();
    drop(sql);
    let again = world.load_mixed(skip(), rows(1..=3), set_aside).await;
    assert!(matches!(again, Loaded::AlreadyLoaded(_)), "{again:?}");
    let other = vec![bad(10, 700), bad(11, 900)];
    let loaded = world.load_mixed(skip(), rows(1..=3), other).await;
    assert!(
        matches!(loaded, Loaded::Refused(LoadRefusal::OtherContent(_))),
        "{loaded:?}"
    );
}
