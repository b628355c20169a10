use super::*;
use crate::journal::repeats::joins::{TOGETHER, join, join_open};
use crate::journal::schema::open;

const KEY: Key = Key([1, 2]);

#[test]
fn siphash_is_that_of_its_authors() {
    // Appendix A of "SipHash: a fast short-input PRF": key 00 01 .. 0f, message 00 01 .. 0e.
    let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
    let message: Vec<u8> = (0..15).collect();
    assert_eq!(siphash::<2, 4>(key, &message), 0xa129_ca61_49be_45e5);
}

/// Random entries of few hashes, so that many are the same.
fn entries(seed: u64, count: u64, hashes: u64) -> Vec<Entry> {
    let mut random = fastrand::Rng::with_seed(seed);
    let step = (1 << (64 - PLACE_BITS)) / hashes;
    (0..count)
        .map(|place| (random.u64(..hashes) * step) << PLACE_BITS | place)
        .collect()
}

fn collected(entries: &[Entry]) -> Collector {
    let mut collector = Collector::new(KEY);
    for entry in entries {
        collector.push(*entry).unwrap();
    }
    collector
}

#[test]
fn entries_come_in_order_and_no_slice_parts_two_of_the_same_hash() {
    // A few, as many as spill, and so many of one part that it is gone through several times.
    for (count, hashes) in [
        (0, 1),
        (10, 3),
        (200_000, 50),
        (200_000, 1 << 30),
        (300_000, 200),
    ] {
        let mut all = entries(7, count, hashes);
        if hashes == 200 {
            all.iter_mut().for_each(|entry| *entry >>= 8);
        }
        let (mut found, mut last) = (Vec::new(), None);
        collected(&all)
            .each_slice(|slice| {
                assert!(!slice.is_empty());
                assert_ne!(last, Some(hash_of(slice[0])), "{count} {hashes}");
                last = slice.last().map(|entry| hash_of(*entry));
                found.extend_from_slice(slice);
                Ok(())
            })
            .unwrap();
        all.sort_unstable();
        assert!(found == all, "{count} {hashes}");
    }
}

/// What a join must find: every pair of entries with the same hash.
fn pairs(new: &[Entry], old: &[Entry]) -> Vec<(Entry, i64)> {
    let mut by_hash: std::collections::BTreeMap<u64, Vec<i64>> = Default::default();
    for entry in old {
        by_hash
            .entry(hash_of(*entry))
            .or_default()
            .push(1000 + place_of(*entry));
    }
    let mut pairs: Vec<(Entry, i64)> = new
        .iter()
        .flat_map(|entry| {
            let seqs = by_hash.get(&hash_of(*entry)).into_iter().flatten();
            seqs.map(|seq| (*entry, *seq))
        })
        .collect();
    pairs.sort_unstable();
    pairs
}

#[test]
fn a_join_finds_every_pair_with_the_same_hash_and_no_other() {
    for (seed, new, old, hashes) in [
        (1, 0, 10, 5),
        (2, 10, 0, 5),
        (3, 1, 5_000, 2_000),
        (4, 5_000, 1, 2_000),
        (5, 3_000, 3_000, 1_000_000),
        (6, 3_000, 3_000, 2_000),
        // Groups that reach over chunks, and over what is handed over at once.
        (7, 3, 5_000, 2),
        (8, 500, 2_500, 3),
    ] {
        let c = open::in_memory().unwrap();
        let (new, old) = (entries(seed, new, hashes), entries(seed + 100, old, hashes));
        let mut store = Store::new(&c, LoadId::new(7), 1000);
        collected(&old)
            .each_slice(|slice| store.take(slice))
            .unwrap();
        store.flush().unwrap();
        // Another load is not looked at.
        let mut other = Store::new(&c, LoadId::new(8), 1);
        collected(&new)
            .each_slice(|slice| other.take(slice))
            .unwrap();
        other.flush().unwrap();
        let mut found = Vec::new();
        collected(&new)
            .each_slice(|slice| {
                join(&c, LoadId::new(7), slice, |entries, seqs| {
                    assert!(seqs.len() <= TOGETHER);
                    for entry in entries {
                        found.extend(seqs.iter().map(|(seq, _)| (*entry, seq.get())));
                    }
                    Ok(())
                })
            })
            .unwrap();
        found.sort_unstable();
        assert!(found == pairs(&new, &old), "case {seed}");
    }
}

#[test]
fn an_amount_that_waits_for_its_bill_meets_every_amount_of_its_account() {
    let payment = |account: u64, amount: u64, place: u64| {
        (OF_PAYMENT | account << AMOUNT_BITS | amount) << PLACE_BITS | place
    };
    // Accounts of which new, recorded, both or none of the rows wait; more on record than are handed over at once.
    let mut random = fastrand::Rng::with_seed(3);
    let mut of_load = |count: u64, open: &[u64]| -> Vec<Entry> {
        let mut entries: Vec<Entry> = (0..count)
            .map(|place| {
                let account = random.u64(0..4);
                let amount = match open.contains(&account) && random.bool() {
                    true => 0,
                    false => random.u64(1..AMOUNTS),
                };
                payment(account, amount, place)
            })
            .collect();
        // A reference between them.
        entries.push(5 << PLACE_BITS | count);
        entries
    };
    let (new, old) = (of_load(300, &[1, 2]), of_load(12_000, &[2, 3]));
    let c = open::in_memory().unwrap();
    let mut store = Store::new(&c, LoadId::new(7), 1000);
    collected(&old)
        .each_slice(|slice| store.take(slice))
        .unwrap();
    store.flush().unwrap();
    let mut found = Vec::new();
    collected(&new)
        .each_slice(|slice| {
            join_open(&c, LoadId::new(7), slice, true, |entries, seqs| {
                assert!(seqs.len() <= TOGETHER);
                for entry in entries {
                    found.extend(seqs.iter().map(|(seq, _)| (*entry, seq.get())));
                }
                Ok(())
            })
        })
        .unwrap();
    found.sort_unstable();
    let mut expected = Vec::new();
    for a in new.iter().filter(|entry| is_of_payment(**entry)) {
        for b in old.iter().filter(|entry| is_of_payment(**entry)) {
            if account_of(*a) == account_of(*b) && is_open(*a) != is_open(*b) {
                expected.push((*a, 1000 + place_of(*b)));
            }
        }
    }
    expected.sort_unstable();
    assert!(!expected.is_empty() && found == expected);
}
