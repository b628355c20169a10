//! Waiting for a future on the thread that asks: the store is called from plain threads and from within runtimes, and blocks both.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
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
    waiting: VecDeque<Answering<'f, T>>,
    is_sent: bool,
}

enum Answering<'f, T> {
    Waiting(Pin<Box<dyn Future<Output = T> + 'f>>),
    Done(T),
}

impl<'f, T> InOrder<'f, T> {
    pub(super) fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            is_sent: false,
        }
    }

    pub(super) fn push(&mut self, future: impl Future<Output = T> + 'f) {
        self.waiting.push_back(Answering::Waiting(Box::pin(future)));
    }

    /// Returns the next answer; `None` behind the last one. All are sent before the first is waited for, and those behind the next one
    /// are on their way while it is looked at.
    pub(super) async fn next(&mut self) -> Option<T> {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        if !self.is_sent {
            for answering in &mut self.waiting {
                if let Answering::Waiting(future) = answering
                    && let Poll::Ready(output) = future.as_mut().poll(context)
                {
                    *answering = Answering::Done(output);
                }
            }
            self.is_sent = true;
        }
        match self.waiting.pop_front() {
            None => Poll::Ready(None),
            Some(Answering::Done(output)) => Poll::Ready(Some(output)),
            Some(Answering::Waiting(mut future)) => match future.as_mut().poll(context) {
                Poll::Ready(output) => Poll::Ready(Some(output)),
                Poll::Pending => {
                    self.waiting.push_front(Answering::Waiting(future));
                    Poll::Pending
                }
            },
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
        let taken = async move {
            let mut taken = Vec::new();
            while let Some(one) = all.next().await {
                taken.push(one);
            }
            taken
        };
        assert_eq!(until(soon(), taken), Some(vec![1, 2]));
    }
}
