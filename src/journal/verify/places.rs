//! Where the claims of a lane begin and end, in blocks of instructions: while several runs claim from it in turn, that tells where the
//! next claim of one of them will begin.

/// Places of the claims of one run from a lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Places {
    /// The block in which the last claim ended.
    ended_in: Option<usize>,
    /// By how many blocks behind the end of the one before the last two claims began.
    skipped: [Option<usize>; 2],
}

impl Places {
    /// A claim begins in a block.
    pub(super) fn begin(&mut self, at: usize) {
        let [_, last] = self.skipped;
        let skipped = self.ended_in.and_then(|ended_in| at.checked_sub(ended_in));
        self.skipped = [last, skipped];
    }

    /// It ends in a block: the next payment that nobody has claimed is in there.
    pub(super) fn end(&mut self, at: usize) {
        self.ended_in = Some(at);
    }

    /// Returns the block in which the next claim is likely to begin: others claimed as much before each of the last two.
    pub(super) fn next(&self) -> Option<usize> {
        match (self.ended_in, self.skipped) {
            (Some(ended_in), [Some(before), Some(last)]) if before == last => Some(ended_in + last),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks in which claims begin and end.
    type Claims = &'static [(usize, usize)];

    #[test]
    fn the_next_claim_begins_where_as_much_is_claimed_by_others_as_the_last_two_times() {
        // Claims, and where the next one is expected.
        let cases: [(Claims, Option<usize>); 8] = [
            (&[], None),
            (&[(0, 1)], None),
            (&[(0, 1), (2, 3)], None),
            // Two runs, each of which takes a whole block.
            (&[(0, 1), (2, 3), (4, 5)], Some(6)),
            // Four of them.
            (&[(0, 1), (4, 5), (8, 9)], Some(12)),
            // One run alone.
            (&[(0, 1), (1, 2), (2, 3)], Some(3)),
            // Parts of a block.
            (&[(7, 7), (7, 7), (7, 8)], Some(8)),
            // Another run has come.
            (&[(0, 1), (1, 2), (2, 3), (4, 5)], None),
        ];
        for (claims, next) in cases {
            let mut places = Places::default();
            for (begin, end) in claims {
                places.begin(*begin);
                places.end(*end);
            }
            assert_eq!(places.next(), next, "{claims:?}");
        }
    }

    #[test]
    fn a_lane_that_begins_anew_tells_nothing() {
        let mut places = Places::default();
        for (begin, end) in [(5, 6), (7, 8), (0, 1), (2, 3)] {
            places.begin(begin);
            places.end(end);
        }
        assert_eq!(places.next(), None);
    }
}
