//! Who may stay connected to a listener: there is room for so many callers, and a new one takes the place of whoever needs it
//! least.
//!
//! A caller who keeps a connection and says little must not keep a genuine one out. What tells the two apart is an address that
//! cannot be guessed: that of a payment, which only the gateway knows, or that of the page, which was shown to one person.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The body of a genuine caller comes at once; one that takes longer than this gives way before idle callers do.
const BODY_AT_ONCE: Duration = Duration::from_secs(2);

/// What a caller does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It has named no address so far that cannot be guessed.
    Nothing,
    /// It sends a body to such an address.
    Sending,
    /// What it sent is being stored, or acknowledged.
    Stored,
    /// It was answered, and may send more.
    Resting,
}

#[derive(Clone, Debug)]
struct Seat {
    share: Share,
    doing: Doing,
    since: Instant,
    leave: CancellationToken,
}

/// Where callers come from: those of one place share what there is.
type Share = (bool, u64);

// Whoever has one address of IPv6 has 2^64 of them.
fn share_of(peer: IpAddr) -> Share {
    match peer.to_canonical() {
        IpAddr::V4(address) => (false, u32::from(address).into()),
        IpAddr::V6(address) => (true, (u128::from(address) >> 64) as u64),
    }
}

/// Returns who gives way, `None` while everybody's callback is being stored.
///
/// First those who have named no address, of the place that has most of them, the longest first; then bodies that do not
/// come; then whoever rests for the longest; then the oldest body.
fn least_needed(seats: &BTreeMap<u64, Seat>, now: Instant) -> Option<u64> {
    let mut places: BTreeMap<Share, usize> = BTreeMap::new();
    for seat in seats.values().filter(|seat| seat.doing == Doing::Nothing) {
        *places.entry(seat.share).or_default() += 1;
    }
    let rank = |seat: &Seat| match seat.doing {
        Doing::Nothing => Some((0, usize::MAX - places[&seat.share])),
        Doing::Sending if now.saturating_duration_since(seat.since) > BODY_AT_ONCE => Some((1, 0)),
        Doing::Resting => Some((2, 0)),
        Doing::Sending => Some((3, 0)),
        Doing::Stored => None,
    };
    seats
        .iter()
        .filter_map(|(number, seat)| {
            Some((planted!(server::rank(rank(seat)))?, seat.since, *number))
        })
        .min()
        .map(|(_, _, number)| number)
}

/// The seats of a listener.
pub struct Seats {
    max: usize,
    taken: Mutex<Taken>,
    freed: Notify,
}

#[derive(Default)]
struct Taken {
    seats: BTreeMap<u64, Seat>,
    next: u64,
}

impl Seats {
    /// Makes so many seats.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self {
            max,
            taken: Mutex::default(),
            freed: Notify::new(),
        }
    }

    /// Gives a caller a seat, somebody else's where there is none left; waits while all of them are being served.
    pub async fn take(self: &Arc<Self>, peer: IpAddr) -> Guest {
        loop {
            let freed = self.freed.notified();
            if let Some(guest) = self.try_take(peer) {
                return guest;
            }
            freed.await;
        }
    }

    fn try_take(self: &Arc<Self>, peer: IpAddr) -> Option<Guest> {
        let now = Instant::now();
        let mut taken = self.lock();
        if taken.seats.len() >= self.max {
            let number = least_needed(&taken.seats, now)?;
            if let Some(seat) = taken.seats.remove(&number) {
                seat.leave.cancel();
            }
        }
        let number = taken.next;
        taken.next += 1;
        let leave = CancellationToken::new();
        let seat = Seat {
            share: share_of(peer),
            doing: Doing::Nothing,
            since: now,
            leave: leave.clone(),
        };
        taken.seats.insert(number, seat);
        Some(Guest {
            seats: Arc::clone(self),
            number,
            leave,
        })
    }

    // No panic leaves the table half changed.
    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A caller who has a seat, until it is dropped.
pub struct Guest {
    seats: Arc<Seats>,
    number: u64,
    leave: CancellationToken,
}

impl Guest {
    /// Resolves when somebody else needs the seat more, and when the caller is cut off.
    pub async fn asked_to_leave(&self) {
        self.leave.cancelled().await;
    }

    /// Cuts the caller off: it does not take what it asked for.
    pub fn cut_off(&self) {
        self.leave.cancel();
    }

    /// Notes what the caller does. Returns whether it may go on: its seat may have been given away just now.
    pub fn is(&self, doing: Doing) -> bool {
        let mut taken = self.seats.lock();
        let Some(seat) = taken.seats.get_mut(&self.number) else {
            return false;
        };
        let was_stored = seat.doing == Doing::Stored;
        seat.doing = doing;
        seat.since = Instant::now();
        drop(taken);
        if was_stored {
            self.seats.freed.notify_one();
        }
        true
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.seats.lock().seats.remove(&self.number);
        self.seats.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEATS_MAX: usize = 64;

    fn peer(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// Seats by who they are: place, what is done, and since how many milliseconds.
    fn table(seats: &[(&str, Doing, u64)], now: Instant) -> BTreeMap<u64, Seat> {
        let seat = |(place, doing, ago): &(&str, Doing, u64)| Seat {
            share: share_of(peer(place)),
            doing: *doing,
            since: now - Duration::from_millis(*ago),
            leave: CancellationToken::new(),
        };
        (0..).zip(seats.iter().map(seat)).collect()
    }

    #[test]
    fn whoever_needs_it_least_gives_way() {
        use Doing::{Nothing, Resting, Sending, Stored};
        let (a, b) = ("192.0.2.1", "192.0.2.2");
        for (seats, expected) in [
            (vec![], None),
            // A callback that is being stored is never cut off.
            (vec![(a, Stored, 9_000), (b, Stored, 1)], None),
            (vec![(a, Stored, 9_000), (b, Resting, 1)], Some(1)),
            // Of strangers the oldest, of the place that has most of them.
            (
                vec![(a, Nothing, 5), (a, Nothing, 9), (a, Nothing, 7)],
                Some(1),
            ),
            (
                vec![(b, Nothing, 9_000), (a, Nothing, 1), (a, Nothing, 2)],
                Some(2),
            ),
            (vec![(b, Resting, 9_000), (b, Nothing, 1)], Some(1)),
            (vec![(a, Sending, 9_000), (b, Nothing, 1)], Some(1)),
            // A body that does not come, before a gateway that rests; a body that comes, last.
            (vec![(a, Sending, 2_001), (b, Resting, 9_000)], Some(0)),
            (vec![(a, Sending, 1_999), (b, Resting, 9_000)], Some(1)),
            (vec![(a, Resting, 5), (b, Resting, 9)], Some(1)),
            (
                vec![(a, Sending, 5), (b, Sending, 9), (b, Stored, 99)],
                Some(1),
            ),
        ] {
            let now = Instant::now() + Duration::from_secs(60);
            assert_eq!(
                least_needed(&table(&seats, now), now),
                expected,
                "{seats:?}"
            );
        }
        let _awake = crate::seeded_bugs::SeededBug::FirstComeGivesWay.wake();
        let now = Instant::now() + Duration::from_secs(60);
        let seats = table(&[(a, Stored, 9_000), (b, Resting, 1)], now);
        assert_eq!(least_needed(&seats, now), Some(0), "the table finds it");
    }

    #[test]
    fn all_addresses_of_one_network_are_one_place() {
        assert_eq!(
            share_of(peer("2001:db8::1")),
            share_of(peer("2001:db8::ffff:2"))
        );
        assert_ne!(
            share_of(peer("2001:db8::1")),
            share_of(peer("2001:db8:0:1::1"))
        );
        assert_eq!(
            share_of(peer("::ffff:192.0.2.1")),
            share_of(peer("192.0.2.1"))
        );
        assert_ne!(share_of(peer("192.0.2.1")), share_of(peer("192.0.2.2")));
    }

    #[tokio::test]
    async fn a_new_caller_takes_the_seat_of_a_silent_one_and_waits_for_none() {
        let seats = Arc::new(Seats::new(SEATS_MAX));
        let mut guests = Vec::new();
        for _ in 0..SEATS_MAX {
            guests.push(seats.take(peer("192.0.2.1")).await);
        }
        assert!(guests[0].is(Doing::Sending) && guests[0].is(Doing::Stored));
        let late = seats.take(peer("192.0.2.9")).await;
        // The oldest that says nothing has to leave, and cannot begin anything more.
        guests[1].asked_to_leave().await;
        assert!(!guests[1].is(Doing::Sending));
        assert!(late.is(Doing::Sending) && !guests[0].leave.is_cancelled());
        assert_eq!(seats.lock().seats.len(), SEATS_MAX);
    }

    #[tokio::test]
    async fn while_every_callback_is_being_stored_a_new_caller_waits_for_the_first_that_is() {
        let seats = Arc::new(Seats::new(SEATS_MAX));
        let mut guests = Vec::new();
        for _ in 0..SEATS_MAX {
            let guest = seats.take(peer("192.0.2.1")).await;
            assert!(guest.is(Doing::Stored));
            guests.push(guest);
        }
        let mut late = Box::pin(seats.take(peer("192.0.2.9")));
        assert!(futures_now(&mut late).await.is_none());
        assert!(guests[7].is(Doing::Resting));
        let late = late.await;
        guests[7].asked_to_leave().await;
        assert!(late.is(Doing::Sending));
        // A seat that is free is nobody's.
        drop(late);
        assert_eq!(seats.lock().seats.len(), SEATS_MAX - 1);
    }

    /// Polls a future once.
    async fn futures_now<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(match std::pin::Pin::new(&mut *future).poll(context) {
                std::task::Poll::Ready(output) => Some(output),
                std::task::Poll::Pending => None,
            })
        })
        .await
    }
}
