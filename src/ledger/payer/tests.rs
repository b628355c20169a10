//! Who posted, what is kept of it, and which batches are missing.

use super::lost::PAST;
use super::*;

fn of(ids: &[&str]) -> Identifiers {
    let mut all = Identifiers::default();
    ids.iter().for_each(|id| all.add(id));
    all
}

fn here(name: &str, loads: &[Option<Identifiers>]) -> (String, Here) {
    let here = Here {
        originator: "acme".into(),
        loads: loads.to_vec(),
        seems_whole: true,
    };
    (name.to_owned(), here)
}

#[test]
fn a_batch_is_here_again_only_with_the_identifiers_that_were_posted() {
    let posted = of(&["A", "B", "C"]);
    let then = |originator: Option<&str>| AsLoaded {
        identifiers: posted,
        originator: originator.map(str::to_owned),
    };
    enum Is {
        Here,
        Missing,
        InPart,
        Unlike(&'static str),
    }
    use Is::{InPart, Missing, Unlike};
    let [ab, c, d, lower] =
        [&["A", "B"][..], &["C"], &["D"], &["a", "b", "c"]].map(|ids| Some(of(ids)));
    let all = Some(posted);
    type Case<'a> = (&'a str, Option<&'a [Option<Identifiers>]>, bool, Is);
    let table: [Case<'_>; 11] = [
        ("not loaded", None, true, Missing),
        ("as it was", Some(&[all]), true, Is::Here),
        // Repeats were set aside then as they are now.
        (
            "as it was, without the same rows",
            Some(&[all]),
            false,
            Is::Here,
        ),
        ("by two files", Some(&[ab, c]), true, Is::Here),
        (
            "by two files in another order",
            Some(&[c, ab]),
            true,
            Is::Here,
        ),
        ("and rows that are new", Some(&[ab, c, d]), true, Is::Here),
        (
            "a part",
            Some(&[ab]),
            true,
            Unlike("with 3 rows, and has 2 of them, or others, here"),
        ),
        (
            "another row",
            Some(&[ab, d]),
            true,
            Unlike("with other identifiers"),
        ),
        (
            "other references",
            Some(&[lower]),
            true,
            Unlike("with other identifiers"),
        ),
        // Loaded by a version that did not note it.
        ("nobody knows", Some(&[None]), true, Is::Here),
        (
            "nobody knows, without repeats",
            Some(&[None]),
            false,
            InPart,
        ),
    ];
    for (case, loads, seems_whole, expected) in table {
        let known: BTreeMap<String, Here> = loads
            .map(|loads| {
                let (name, here) = here("b", loads);
                (
                    name,
                    Here {
                        seems_whole,
                        ..here
                    },
                )
            })
            .into_iter()
            .collect();
        for (then, names_it) in [
            (then(None), false),
            (then(Some("acme")), true),
            (then(Some("Acme Ltd")), true),
        ] {
            let loaded = BTreeMap::from([("b".to_owned(), then.clone())]);
            let found = lost(true, vec!["b".to_owned()], &loaded, &known);
            match &expected {
                Is::Here => assert!(found.is_none() && !found.holds(), "{case}: {found:?}"),
                Missing => assert_eq!(found.names, ["b"], "{case}"),
                InPart => assert_eq!(found.in_part, ["b"], "{case}"),
                Unlike(text) => {
                    assert!(found.holds() && found.count() == 1, "{case}");
                    let [said] = &found.sentences()[..] else {
                        panic!("{case}: {found:?}");
                    };
                    match then.originator.as_deref() {
                        Some("Acme Ltd") => assert!(
                            said.contains(
                                "its originator was \"Acme Ltd\" then, and is \"acme\" here"
                            ),
                            "{case}: {said}"
                        ),
                        _ => {
                            assert!(said.contains(text), "{case}: {said}");
                            assert_eq!(
                                said.contains("the originator, the ref"),
                                !names_it,
                                "{case}: {said}"
                            );
                        }
                    }
                }
            }
            assert!(
                lost(false, vec!["b".to_owned()], &loaded, &known).is_none(),
                "{case}"
            );
        }
        // Of one that ran long ago there are but a few letters.
        let entry = format!("{PAST}{}{}", digest_of("b"), posted.digest());
        let found = lost(true, vec![entry], &BTreeMap::new(), &known);
        match &expected {
            Is::Here => assert!(found.is_none(), "{case}: {found:?}"),
            Missing => assert_eq!((found.known_again, found.holds()), (1, true), "{case}"),
            InPart => assert_eq!(found.in_part, ["b"], "{case}"),
            Unlike(_) => assert_eq!(found.unlike[0].batch, "b", "{case}"),
        }
    }
    // What a mark does not tell is as it was before marks told it.
    let known = BTreeMap::from([here("b", &[ab])]);
    let bare = lost(true, vec!["b".to_owned()], &BTreeMap::new(), &known);
    assert!(bare.is_none());
    let beyond = lost(true, vec![" +3".to_owned()], &BTreeMap::new(), &known);
    assert!(
        !beyond.is_none() && !beyond.holds(),
        "nobody could bring those back"
    );
}

#[test]
fn how_batches_were_loaded_is_kept_as_far_as_there_is_room() {
    let ours = Payer::of("g", "acme");
    let mut payers = Payers::default();
    let as_loaded = |number: usize| AsLoaded {
        identifiers: of(&[&number.to_string()]),
        originator: Some("Acme Ltd".to_owned()),
    };
    for number in 0..PAYERS_MAX + 10 {
        payers.take_as(&format!("b{number}"), &ours, Some(as_loaded(number)));
    }
    // Who runs it again in a way that nobody can compare forgets nothing.
    payers.take("b20", &ours);
    let read = |text: &str| {
        let mut read = Payers::default();
        for line in text.lines() {
            let (name, value) = line.split_once(' ').unwrap();
            read.read(name, value).unwrap();
        }
        read
    };
    let all = payers.to_lines(usize::MAX);
    assert_eq!(read(&all), payers);
    assert_eq!(payers.loaded().get("b20"), Some(&as_loaded(20)));
    let past = format!(
        "{PAST}{}{}",
        digest_of("b3"),
        as_loaded(3).identifiers.digest()
    );
    assert!(payers.unnamed().any(|entry| entry == past));
    let least = payers.to_lines(0);
    for room in least.len()..=all.len() {
        let text = payers.to_lines(room);
        assert!(text.len() <= room, "{room}");
        let read = read(&text);
        assert_eq!(read.last, payers.last, "{room}");
        assert_eq!(read.past.len(), payers.past.len(), "{room}");
        // The newest are kept, and who paid goes first.
        for (batch, loaded) in read.loaded() {
            assert_eq!(loaded.identifiers, payers.loaded()[batch].identifiers);
        }
        let kept = payers
            .last
            .iter()
            .map(|(batch, _)| read.loaded().contains_key(batch));
        assert!(kept.is_sorted(), "{room}: {text}");
    }
    assert!(read(&least).loaded().is_empty());
    let both = Payers::default().and(&payers);
    assert_eq!(both.loaded(), payers.loaded());
}

#[test]
fn a_persons_word_counts_where_nobody_else_knows_who_posted() {
    let ours = Payer::of("https://a", "acme");
    let same = Posted::By(ours.clone());
    let user = Posted::By(Payer::of("https://a", "other"));
    let gateway = Posted::By(Payer::of("https://b", "acme"));
    let table = [
        (None, Word::Taken),
        (Some((&Posted::ByNobody, Teller::Place)), Word::Taken),
        (Some((&same, Teller::Place)), Word::Taken),
        (Some((&same, Teller::Person)), Word::Taken),
        (Some((&user, Teller::Person)), Word::Corrects),
        (Some((&gateway, Teller::Person)), Word::Corrects),
        (Some((&user, Teller::Place)), Word::Refused),
        (Some((&gateway, Teller::Place)), Word::Refused),
    ];
    for (told, expected) in table {
        assert_eq!(judge_word(told, &ours), expected, "{told:?}");
    }
}

#[test]
fn a_batch_is_lost_that_was_posted_here_and_that_nobody_has_loaded_again() {
    let texts = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<String>>()
    };
    let past = |name: &str| format!("{PAST}{}", digest_of(name));
    let (old, older) = (past("old"), past("older"));
    type Case<'a> = (bool, &'a [&'a str], &'a [&'a str], &'a [&'a str], u64);
    let table: [Case<'_>; 9] = [
        (true, &["", "b", "c"], &["b"], &["c"], 0),
        (true, &["", "b", "c"], &["b", "c", "d"], &[], 0),
        (true, &[], &["b"], &[], 0),
        // Its recovery is done: a person has said that every file was loaded again.
        (false, &["b", "c", &old, " +3"], &["b"], &[], 0),
        (true, &["", "b"], &["b"], &[], 0),
        // Those that ran before the last ones are counted, and known when they come back.
        (true, &[&old, &older, "b", "c"], &["b"], &["c"], 2),
        (true, &[&old, &older, "b"], &["b", "old"], &[], 1),
        (true, &[&old], &["old"], &[], 0),
        // Of what ran before those no more is known than how many there were.
        (true, &[" +3", &old], &["old", "x", "y"], &[], 3),
    ];
    for (recovering, told, known, expected, unnamed) in table {
        let known = known.iter().map(|name| here(name, &[None])).collect();
        let found = lost(recovering, texts(told), &BTreeMap::new(), &known);
        // One that is beyond all names is never known again.
        let beyond = told.iter().filter(|name| name.starts_with(" +")).count() as u64 * 3;
        let expected = Lost {
            names: texts(expected),
            unnamed,
            known_again: if recovering { unnamed - beyond } else { 0 },
            ..Lost::default()
        };
        assert_eq!(found, expected, "{told:?} {known:?}");
    }
    let text = |names: &[&str], unnamed| {
        Lost {
            names: texts(names),
            unnamed,
            ..Lost::default()
        }
        .text()
    };
    assert_eq!(text(&["c"], 0), "batch c");
    assert_eq!(
        text(&["c", "d"], 1),
        "the batches c, d, and 1 more that is not named"
    );
    assert_eq!(text(&["c"], 2), "batch c, and 2 more that are not named");
    assert_eq!(text(&[], 1), "1 batch that is not named");
    assert_eq!(text(&[], 3), "3 batches that are not named");
}

#[test]
fn batches_that_ran_long_ago_are_counted_and_no_longer_named() {
    let ours = Payer::of("g", "acme");
    let mut payers = Payers::default();
    let names = |range: std::ops::Range<usize>| range.map(|batch| format!("b{batch}"));
    let told = |payers: &Payers| {
        let named = payers.batches().map(|(batch, _)| batch.to_owned());
        named.chain(payers.unnamed()).collect::<Vec<String>>()
    };
    let most = PAYERS_MAX + PAST_MAX;
    for batch in names(0..most) {
        payers.take(&batch, &ours);
    }
    // One that runs again is named again, and counted once.
    payers.take("b0", &ours);
    let none = BTreeMap::new();
    let found = lost(true, told(&payers), &none, &BTreeMap::new());
    assert_eq!(
        (found.names.len(), found.unnamed),
        (PAYERS_MAX, PAST_MAX as u64)
    );
    assert!(found.names.contains(&"b0".to_owned()));
    let here = |range| names(range).map(|name| here(&name, &[None])).collect();
    let back = here(0..most);
    assert!(
        lost(true, told(&payers), &none, &back).is_none(),
        "all came back"
    );
    for batch in names(most..most + 5) {
        payers.take(&batch, &ours);
    }
    let mut read = Payers::default();
    for line in payers.to_lines(usize::MAX).lines() {
        let (name, value) = line.split_once(' ').unwrap();
        read.read(name, value).unwrap();
    }
    assert_eq!(read, payers);
    let all = here(0..most + 5);
    assert_eq!(
        lost(true, told(&read), &none, &all).unnamed,
        5,
        "never silently fewer"
    );
    // What a process learned since comes to what was there.
    let mut first = Payers::default();
    first.take("x", &ours);
    let both = first.and(&payers);
    assert_eq!(lost(true, told(&both), &none, &all).unnamed, 6);
}

#[test]
fn an_answer_proves_something_where_it_is_known_who_posted() {
    let ours = Payer::of("https://a", "acme");
    let same = Posted::By(ours.clone());
    let user = Posted::By(Payer::of("https://a", "other"));
    let gateway = Posted::By(Payer::of("https://b", "acme"));
    for (presumed, bound, told, expected) in [
        (false, false, None, Asking::Proves),
        // What was loaded here, and nobody else can have posted, may go anywhere.
        (false, false, Some(&user), Asking::Proves),
        (true, false, None, Asking::Unknown),
        (true, false, Some(&same), Asking::Proves),
        (true, false, Some(&Posted::ByNobody), Asking::Proves),
        (true, false, Some(&user), Asking::Elsewhere),
        (true, false, Some(&gateway), Asking::Elsewhere),
        // The account on record has shown to have a payment of the batch.
        (true, true, None, Asking::Proves),
        (true, true, Some(&user), Asking::Proves),
    ] {
        let found = judge(presumed, bound, told, &ours);
        assert_eq!(found, expected, "{presumed} {bound} {told:?}");
    }
    let _awake = crate::seeded_bugs::SeededBug::PayerUnasked.wake();
    assert_eq!(judge(true, false, None, &ours), Asking::Proves);
}

#[test]
fn the_payer_of_each_batch_is_kept_and_whether_there_was_ever_another() {
    let (ours, other) = (Payer::of("g", "acme"), Payer::of("g", "other"));
    let mut payers = Payers::default();
    assert_eq!(payers.only(), None);
    for batch in 0..40 {
        payers.take(&format!("b{batch}"), &ours);
    }
    assert_eq!(payers.only(), Some(&ours));
    let kept: Vec<_> = payers
        .batches()
        .map(|(batch, _)| batch.to_owned())
        .collect();
    assert_eq!(kept.len(), PAYERS_MAX);
    assert_eq!((kept[0].as_str(), kept[15].as_str()), ("b24", "b39"));
    payers.take("b30", &other);
    assert_eq!(payers.batches().last(), Some(("b30", &other)));
    assert_eq!(payers.only(), None);
    // The other one is forgotten, and that there was one is not.
    for batch in 0..40 {
        payers.take(&format!("c{batch}"), &ours);
    }
    assert_eq!(payers.only(), None);
    let mut later = Payers::default();
    later.take("c1", &other);
    let both = payers.clone().and(&later);
    assert_eq!(both.batches().last(), Some(("c1", &other)));
    let mut one = Payers::default();
    one.take("b", &ours);
    assert_eq!(one.and(&later).only(), None);
}

#[test]
fn whatever_it_is_called_it_is_read_back_from_a_line() {
    let long = "x".repeat(500);
    let odd = ["acme", "", "a b", "a\nb", "~a", "é", &long, "a~b"];
    let mut payers = Payers::default();
    for name in odd {
        payers.take(name, &Payer::of(name, name));
    }
    let mut read = Payers::default();
    for line in payers.to_lines(usize::MAX).lines() {
        assert!(line.len() < 270, "{line}");
        let (name, value) = line.split_once(' ').unwrap();
        read.read(name, value).unwrap();
    }
    assert_eq!(read, payers);
    assert_eq!(read.read("orders", "3"), None);
    assert_ne!(Payer::of("g", "a b"), Payer::of("g", "a?b"));
}

#[test]
fn a_place_tells_of_a_journal_under_the_names_that_it_had_last() {
    let mut payers = Payers::default();
    for name in 0..6 {
        payers.was_called([name; 16]);
    }
    assert!(payers.is_blank(), "nobody has posted");
    let mut read = Payers::default();
    for line in payers.to_lines(usize::MAX).lines() {
        let (name, value) = line.split_once(' ').unwrap();
        read.read(name, value).unwrap();
    }
    assert_eq!(read, payers);
    let known: Vec<u8> = (0..8).filter(|name| read.tell_of([*name; 16])).collect();
    assert_eq!(known, [2, 3, 4, 5]);
}
