//! Waiting for a future on the thread that asks: the store is called from plain threads and from within runtimes, and blocks both.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

/// Wakes the thread that waits.
struct Unpark {
    thread: Thread,
    is_woken: AtomicBool,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Waits for a future that needs no runtime of its own; `None` when it is not done in time.
pub(super) fn until<F: Future>(deadline: Instant, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let unpark = Arc::new(Unpark {
        thread: thread::current(),
        is_woken: AtomicBool::new(false),
    });
    let waker = Waker::from(Arc::clone(&unpark));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        while !unpark.is_woken.swap(false, Ordering::Acquire) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            thread::park_timeout(left);
        }
    }
}

/// Futures that send something when they are first polled, and whose answers come in that order.
pub(super) struct InOrder<'f, T> {
    waiting: Vec<Pin<Box<dyn Future<Output = T> + 'f>>>,
    done: Vec<Option<T>>,
    is_sent: bool,
}

impl<'f, T> InOrder<'f, T> {
    pub(super) fn new() -> Self {
        Self {
            waiting: Vec::new(),
            done: Vec::new(),
            is_sent: false,
        }
    }

    pub(super) fn push(&mut self, future: impl Future<Output = T> + 'f) {
        self.waiting.push(Box::pin(future));
        self.done.push(None);
    }
}

impl<T: Unpin> Future for InOrder<'_, T> {
    type Output = Vec<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Vec<T>> {
        let this = self.get_mut();
        for (future, done) in this.waiting.iter_mut().zip(&mut this.done) {
            if done.is_some() {
                continue;
            }
            match future.as_mut().poll(context) {
                Poll::Ready(output) => *done = Some(output),
                // All are sent at first; afterwards, the answers come one after the other.
                Poll::Pending if this.is_sent => return Poll::Pending,
                Poll::Pending => {}
            }
        }
        this.is_sent = true;
        match this.done.iter().all(Option::is_some) {
            true => Poll::Ready(this.done.drain(..).flatten().collect()),
            false => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::oneshot;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    #[test]
    fn a_future_is_waited_for_and_no_longer_than_until_its_deadline() {
        let (sender, receiver) = oneshot::channel();
        let other = thread::spawn(move || sender.send(7));
        assert_eq!(until(soon(), receiver), Some(Ok(7)));
        other.join().unwrap().unwrap();
        let never = std::future::pending::<()>();
        let deadline = Instant::now() + Duration::from_millis(20);
        assert_eq!(until(deadline, never), None);
        assert!(Instant::now() >= deadline);
    }

    #[tokio::test]
    async fn a_thread_of_a_runtime_may_wait() {
        let (sender, receiver) = oneshot::channel();
        thread::spawn(move || sender.send(7))
            .join()
            .unwrap()
            .unwrap();
        assert_eq!(until(soon(), receiver), Some(Ok(7)));
    }

    #[test]
    fn all_are_sent_before_the_first_is_waited_for() {
        let (sender, receiver) = oneshot::channel();
        let mut all = InOrder::new();
        all.push(async { receiver.await.unwrap() });
        all.push(async move {
            sender.send(1).unwrap();
            2
        });
        assert_eq!(until(soon(), all), Some(vec![1, 2]));
    }
}
