//! What a deployment's own codes may mean.

use std::str::FromStr;

macro_rules! class {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// The names in the configuration.
            pub const NAMES: &'static [&'static str] = &[$($text,)*];

            /// Returns the name in the configuration.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl FromStr for $name {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                match text { $($text => Ok(Self::$variant),)* _ => Err(()) }
            }
        }
    };
}

class! {
    /// What a code means in a status reply or a callback.
    StatusClass {
        /// Final.
        Paid = "paid",
        /// Final.
        Failed = "failed",
        /// Still waiting.
        Acknowledged = "acknowledged",
        /// At the bank, still waiting.
        Delivered = "delivered",
        /// The gateway does not know the payment.
        NotFound = "not_found",
        /// Proves nothing.
        InDoubt = "in_doubt",
    }
}

class! {
    /// What a code means in the reply to a post.
    PostClass {
        /// Final.
        Paid = "paid",
        /// Final.
        Failed = "failed",
        /// Not executed; final.
        Refused = "refused",
        /// Accepted, pending.
        Acknowledged = "acknowledged",
        /// At the bank, not settled.
        Delivered = "delivered",
        /// Not executed for want of float; waits.
        NoFloat = "no_float",
        /// The gateway has the identifier already; its status decides.
        Duplicate = "duplicate",
        /// Proves nothing.
        InDoubt = "in_doubt",
    }
}
