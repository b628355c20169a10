//! From where on a lane has payments of which nothing is known: they are claimed in the order of loading, and none is passed over.

/// What a look at the fresh payments of a lane came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The number that it began at.
    pub from: i64,
    /// The number that it was not to go beyond: as far as is confirmed.
    pub up_to: i64,
    /// The last payment that it met; `None`: there was none.
    pub last: Option<i64>,
    /// It ended because it had met as many as were wanted: there may be more.
    pub is_cut: bool,
    /// The payment from which on nothing was looked at: too much is under way.
    pub full_from: Option<i64>,
}

/// Returns the number that the next look begins at; `None` where it begins at the same one. `newest` looks up the greatest number of all
/// payments, 0 where there is none.
///
/// # Errors
/// Of the look-up.
pub fn next_look<E>(look: Look, newest: impl FnOnce() -> Result<i64, E>) -> Result<Option<i64>, E> {
    let next = match (look.full_from, look.last) {
        (Some(full_from), _) => full_from,
        (None, Some(last)) if look.is_cut => last + 1,
        // All of them were met, as far as they are confirmed.
        _ => newest()?.min(look.up_to).min(i64::MAX - 1) + 1,
    };
    Ok((next > look.from).then_some(next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn no_fresh_payment_is_passed_over() {
        // From, up to, last, cut, full from; the newest payment; the next look.
        for (from, up_to, last, is_cut, full_from, newest, expected) in [
            (1, 100, Some(7), true, None, 50, Some(8)),
            // All that there were are met: the next one is still to be loaded.
            (1, 100, Some(7), false, None, 50, Some(51)),
            (8, 100, None, false, None, 50, Some(51)),
            // What is not confirmed was not looked at.
            (1, 20, Some(7), false, None, 50, Some(21)),
            (21, 20, None, false, None, 50, None),
            (1, 0, None, false, None, 50, None),
            // What waits until less is under way is met again.
            (1, 100, Some(7), true, Some(5), 50, Some(5)),
            (5, 100, Some(7), false, Some(5), 50, None),
            // Nothing is loaded, or everything that can be.
            (1, 100, None, false, None, 0, None),
            (1, i64::MAX, None, false, None, i64::MAX, Some(i64::MAX)),
        ] {
            let look = Look {
                from,
                up_to,
                last,
                is_cut,
                full_from,
            };
            let Ok(next) = next_look(look, || Ok::<_, Infallible>(newest));
            assert_eq!(next, expected, "{look:?} {newest}");
        }
    }
}
