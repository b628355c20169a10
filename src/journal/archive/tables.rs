//! What becomes of each table of the journal when a batch is copied.

/// What becomes of a table.
pub(super) enum Goes {
    /// These rows of it go along: the statement has the columns `t.*` of `source.TABLE t`.
    Rows(&'static str),
    /// None goes along, for a reason.
    #[allow(dead_code, reason = "it is for whoever reads this; a test asks for it")]
    Nowhere(&'static str),
}

use Goes::{Nowhere, Rows};

/// Every table of the schema, in the order in which they are filled. `temp.wanted` has the batch and the numbers that its instructions
/// lie between, `temp.beside` the rows of other batches that are of the same debts: what is told of a row names them.
pub(super) const TABLES: [(&str, Goes); 36] = [
    (
        "meta",
        // The others are of the place the journal lies in, or secrets: its run, its mark, its callback addresses, its fingerprints.
        Rows("from source.meta t where key in ('journal', 'approval')"),
    ),
    (
        "batch",
        Rows(
            "from source.batch t where batch_id in (select batch_id from temp.wanted
                 union select i.batch_id from temp.beside cross join source.instruction i using (seq))",
        ),
    ),
    ("load", Rows(OF_BATCH_LOAD)),
    (
        "instruction",
        Rows(
            "from (select seq from source.instruction where seq between (select first from temp.wanted) and (select last from temp.wanted)
                     and batch_id = (select batch_id from temp.wanted)
                 union all select seq from temp.beside) cross join source.instruction t using (seq)",
        ),
    ),
    (
        "identifier",
        Rows(
            "from main.instruction i cross join source.identifier t on t.identifier = i.identifier where t.seq = i.seq order by t.identifier",
        ),
    ),
    (
        "life",
        Rows("from main.instruction i cross join source.life t using (seq)"),
    ),
    (
        "lane",
        Rows("from source.lane t where batch_id = (select batch_id from temp.wanted)"),
    ),
    (
        "evidence",
        Rows(
            "from source.evidence t not indexed where batch_id = (select batch_id from temp.wanted)",
        ),
    ),
    (
        "chain",
        Rows("from source.chain t where batch_id = (select batch_id from temp.wanted)"),
    ),
    (
        "phrase",
        Rows(
            "from source.phrase t where phrase_id in (select phrase_id from main.evidence where phrase_id is not null
                 union select phrase_id from main.life where phrase_id is not null)",
        ),
    ),
    (
        "policy",
        Rows(
            "from source.policy t where policy_id in (select policy_id from main.evidence where policy_id is not null)",
        ),
    ),
    (
        "named_otherwise",
        Rows("from source.named_otherwise t where batch_id = (select batch_id from temp.wanted)"),
    ),
    (
        "inquiry",
        Rows("from source.inquiry t where batch_id = (select batch_id from temp.wanted)"),
    ),
    (
        "rejected",
        Rows("from source.rejected t where batch_id = (select batch_id from temp.wanted)"),
    ),
    (
        "tally",
        Rows("from source.tally t where batch_id = (select batch_id from temp.wanted)"),
    ),
    (
        "held_lane",
        Rows("from source.held_lane t where batch_id = (select batch_id from temp.wanted)"),
    ),
    (
        "opened_lane",
        Rows("from source.opened_lane t where batch_id = (select batch_id from temp.wanted)"),
    ),
    (
        "limited",
        Rows("from source.limited t where batch_id = (select batch_id from temp.wanted)"),
    ),
    (
        "service",
        Rows(
            "from source.service t where service_id in (select service_id from main.instruction union select service_id from main.lane
                 union select service_id from main.tally union select service_id from main.held_lane
                 union select service_id from main.opened_lane union select service_id from main.limited)",
        ),
    ),
    ("upload", Rows(OF_PAYMENTS_UPLOAD)),
    (
        "upload_begun",
        Rows("from source.upload_begun t cross join main.instruction i using (seq) where i.batch_id = (select batch_id from temp.wanted)"),
    ),
    (
        "bill",
        Rows("from source.bill t cross join main.instruction i using (seq) where i.batch_id = (select batch_id from temp.wanted)"),
    ),
    (
        "alike",
        Rows("from source.alike t where load_id in (select load_id from main.load)"),
    ),
    // Pairs of which neither side is in the batch are of the rows beside it.
    (
        "watched",
        Rows(
            "from source.watched t where exists (select 1 from main.instruction i where i.seq in (t.seq, t.other)
                 and i.batch_id = (select batch_id from temp.wanted))",
        ),
    ),
    ("recovery", Rows("from source.recovery t where (select told from temp.told)")),
    ("lost_order", Rows("from source.lost_order t where (select told from temp.told)")),
    ("payer", Rows("from source.payer t where (select told from temp.told)")),
    (
        "fingerprints",
        Nowhere("they find repeats in files that are still to be loaded, and nothing is loaded into an archive"),
    ),
    ("notice", Nowhere("what somebody elsewhere is told, until it is delivered; it proves nothing")),
    ("seen_open", Nowhere("whose end is still to be told to somebody elsewhere")),
    ("counted", Nowhere("ceilings are held over all batches of a journal that pays")),
    ("used", Nowhere("the sums of counted")),
    ("pace", Nowhere("when an account was posted to last, by the clock of the machine")),
    ("lookup", Nowhere("a cache of networks, over all batches")),
    (
        "given_order",
        Nowhere("for the mark beside a journal; what was ordered of the batch is in its evidence"),
    ),
    (
        "repeat_in_recovery",
        Nowhere("what waits for the end of a recovery; no batch is archived during one"),
    ),
];

const OF_BATCH_LOAD: &str =
    "from source.load t where batch_id = (select batch_id from temp.wanted)";
const OF_PAYMENTS_UPLOAD: &str = "from source.upload t cross join main.instruction i using (seq) where i.batch_id = (select batch_id from temp.wanted)";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::journal::schema::open;

    #[test]
    fn every_table_of_the_schema_is_copied_or_left_out_for_a_reason() {
        let schema: BTreeSet<String> = open::tables(&open::in_memory().unwrap())
            .unwrap()
            .into_iter()
            .filter(|name| !name.starts_with("sqlite_"))
            .collect();
        let named: BTreeSet<String> = TABLES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(
            named, schema,
            "a new table: say here what an archive has of it"
        );
        assert_eq!(named.len(), TABLES.len(), "each once");
        for (name, goes) in &TABLES {
            if let Nowhere(reason) = goes {
                assert!(reason.len() > 10, "{name}");
            }
        }
    }
}
