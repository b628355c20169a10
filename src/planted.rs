//! The one seam at which mistakes are planted: what a rule has found passes here, and what a mistake makes of it stands in
//! `seeded_bugs`, which is compiled into tests alone.
//!
//! Outside of tests nothing is left of it: `planted!` is what was found, and `planted_instead!` is nothing.

/// Returns what was found: `planted!(ledger::may_leave(found, more))`. In tests, what the function of that name in `seeded_bugs` makes of
/// it; what else that is told is evaluated in tests alone.
#[cfg(not(test))]
macro_rules! planted {
    ($($part:ident)::+($found:expr $(, $more:expr)* $(,)?)) => {{
        // What only a mistake looks at is no unused variable.
        $(if false { let _ = &$more; })*
        $found
    }};
}
#[cfg(test)]
macro_rules! planted {
    ($($part:ident)::+($found:expr $(, $more:expr)* $(,)?)) => {
        crate::seeded_bugs::$($part)::+($found $(, $more)*)
    };
}

/// Stands for nothing. In tests, a function in `seeded_bugs` may have the one around it return at once: where a mistake keeps
/// something from being done, so that what was found cannot be changed afterwards.
#[cfg(not(test))]
macro_rules! planted_instead {
    ($($part:ident)::+($($told:expr),* $(,)?)) => {
        $(if false { let _ = &$told; })*
    };
}
#[cfg(test)]
macro_rules! planted_instead {
    ($($part:ident)::+($($told:expr),* $(,)?)) => {
        if let Some(mistaken) = crate::seeded_bugs::$($part)::+($($told),*) {
            return mistaken;
        }
    };
}
