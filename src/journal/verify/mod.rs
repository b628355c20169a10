//! What stands in the tables, held against the chain: of a whole journal when a person asks, of a block before it is claimed.

pub(super) mod checks;
pub(super) mod intact;
pub(super) mod prove;
