//! lost_journal
