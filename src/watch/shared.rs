//! One reading for all who look at the same page: ten cost what one costs, and nobody who looks costs nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::route::Key;
use super::view::Trouble;

/// A page is read no more often than this.
const REST_MIN: Duration = Duration::from_secs(1);

/// However long a reading took, another one follows within this.
const REST_MAX: Duration = Duration::from_secs(30);

/// Reading takes no more than this part of the time of one core: a run beside it has the rest.
const SHARE: u32 = 20;

/// Pages that are remembered.
const PAGES_MAX: usize = 64;

/// Returns how long a page stands that took so long to read.
fn rest(took: Duration) -> Duration {
    (took * SHARE).clamp(REST_MIN, REST_MAX)
}

/// A page as it was at one moment.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    /// What stands in the page; equal text, equal page.
    pub(super) content: Arc<str>,
    /// The whole page.
    pub(super) page: Arc<str>,
    /// When that was so, as a person reads it.
    pub(super) at: Arc<str>,
}

struct Kept {
    reading: Reading,
    began: Instant,
    until: Instant,
}

type Slot = Arc<tokio::sync::Mutex<Option<Kept>>>;

/// The pages that are looked at.
#[derive(Default)]
pub(super) struct Shared {
    slots: Mutex<BTreeMap<Key, Slot>>,
}

impl Shared {
    /// Returns the page as it is known, and reads it anew where that is too old; who asks meanwhile waits for the same reading.
    ///
    /// `from`: what was read before this is too old, however short a time ago that was.
    pub(super) async fn get<F>(
        &self,
        key: &Key,
        from: Option<Instant>,
        read: impl FnOnce() -> F,
    ) -> Result<Reading, Trouble>
    where
        F: Future<Output = Result<Reading, Trouble>>,
    {
        let slot = self.slot(key);
        let mut kept = slot.lock().await;
        let is_known = |kept: &&Kept| match from {
            Some(from) => kept.began >= from,
            None => kept.until > Instant::now(),
        };
        if let Some(known) = kept.as_ref().filter(is_known) {
            return Ok(known.reading.clone());
        }
        let began = Instant::now();
        let reading = read().await?;
        let until = Instant::now() + rest(began.elapsed());
        *kept = Some(Kept {
            reading: reading.clone(),
            began,
            until,
        });
        Ok(reading)
    }

    fn slot(&self, key: &Key) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if !slots.contains_key(key) && slots.len() >= PAGES_MAX {
            // Whoever holds one goes on with it; the others are read again when they are asked for.
            slots.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        Arc::clone(slots.entry(key.clone()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn reading_takes_a_small_part_of_the_time() {
        for (took, expected) in [
            (0, 1_000),
            (10, 1_000),
            (50, 1_000),
            (100, 2_000),
            (60_000, 30_000),
        ] {
            assert_eq!(
                rest(Duration::from_millis(took)),
                Duration::from_millis(expected),
                "{took} ms"
            );
        }
    }

    fn reading() -> Reading {
        Reading {
            content: "c".into(),
            page: "p".into(),
            at: "t".into(),
        }
    }

    #[tokio::test]
    async fn ten_who_look_at_once_cost_one_reading() {
        let (shared, read) = (Arc::new(Shared::default()), Arc::new(AtomicUsize::new(0)));
        let viewers: Vec<_> = (0..10)
            .map(|_| {
                let (shared, read) = (Arc::clone(&shared), Arc::clone(&read));
                tokio::spawn(async move {
                    let one = || async {
                        read.fetch_add(1, Ordering::Relaxed);
                        tokio::task::yield_now().await;
                        Ok(reading())
                    };
                    shared.get(&Key::Batches, None, one).await.unwrap()
                })
            })
            .collect();
        for viewer in viewers {
            viewer.await.unwrap();
        }
        assert_eq!(read.load(Ordering::Relaxed), 1);
        // Another page is another reading, and one that failed is kept by nobody.
        let trouble = || async { Err(Trouble::Failed("x".into())) };
        let june = Key::Batch("june".into());
        assert!(shared.get(&june, None, trouble).await.is_err());
        assert!(
            shared
                .get(&june, None, || async { Ok(reading()) })
                .await
                .is_ok()
        );
    }

    #[tokio::test]
    async fn the_last_look_is_read_anew_and_once() {
        let (shared, read) = (Shared::default(), AtomicUsize::new(0));
        let one = || async {
            read.fetch_add(1, Ordering::Relaxed);
            Ok(reading())
        };
        shared.get(&Key::Batches, None, one).await.unwrap();
        let ended = Instant::now();
        for _ in 0..10 {
            shared.get(&Key::Batches, Some(ended), one).await.unwrap();
        }
        assert_eq!(read.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn pages_that_nobody_looks_at_are_forgotten() {
        let shared = Shared::default();
        for number in 0..10 * PAGES_MAX {
            let key = Key::Batch(number.to_string());
            shared
                .get(&key, None, || async { Ok(reading()) })
                .await
                .unwrap();
        }
        assert!(shared.slots.lock().unwrap().len() <= PAGES_MAX);
    }
}
