//! The life of several runs at once.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::scene::Scene;
use crate::store::memory::shared::Server;

/// A life ends within this time: no run goes on for ever.
const LIFE_MAX: Duration = Duration::from_secs(12 * 3_600);
/// Who listens beside the runs.
const LISTENER: usize = usize::MAX;
/// By how much the clock of another server differs at most.
const SHIFT_MS: i64 = 400;

impl Scene {
    /// Several runs, and what goes on beside them.
    pub(super) fn live_together(&self, healthy: bool, user: &'static str) {
        let life = self.together.life(healthy);
        {
            let mut shape = self.world.lock();
            let ahead = if life.is_ahead { 3 * 365 * 86_400 } else { 0 };
            shape.ahead = Duration::from_secs(ahead);
        }
        let hasty = life.hasty && !self.world.lock().deaf;
        let server = self.disk.server().expect("they share one");
        self.on_a_runtime(async {
            if life.listens {
                let journal = self.open(None, &CancellationToken::new());
                let _ = self.listen(LISTENER, journal, None).await;
            }
            let run = async |number: usize| {
                if let Some((begins, ordeal)) = life.runs.get(number) {
                    sleep(*begins).await;
                    self.process(healthy, user, false, *ordeal).await;
                }
            };
            // Each is large: on the heap.
            let [one, two, three, four] = [0, 1, 2, 3].map(|number| Box::pin(run(number)));
            let runs = async { tokio::join!(biased; one, two, three, four) };
            let desk = Box::pin(async {
                if hasty {
                    self.desk(true).await;
                }
                std::future::pending::<()>().await;
            });
            tokio::select! {
                biased;
                _ = runs => {}
                () = desk => {}
                () = self.outages(&server, &life.outages) => {}
                () = sleep(LIFE_MAX) => {
                    let text = "35: a run does not end".to_owned();
                    self.world.lock().violation(text);
                }
            }
            if life.listens {
                // Callbacks find somebody also after the runs.
                sleep(Duration::from_secs(5)).await;
            }
        });
    }

    /// Stops the server at its times, and lets it come back, or another one in its place.
    async fn outages(&self, server: &Arc<Server>, outages: &[(Duration, Duration, bool)]) {
        for (after, long, elsewhere) in outages {
            sleep(*after).await;
            server.stop();
            self.world.lock().note(|| "the server stops".into());
            sleep(*long).await;
            server.start(*elsewhere);
            let shift = self.together.rng.borrow_mut().i64(-SHIFT_MS..=SHIFT_MS);
            let mut shape = self.world.lock();
            if *elsewhere {
                shape.shift = shift;
            }
            shape.note(|| format!("it comes back, elsewhere: {elsewhere}"));
        }
        std::future::pending().await
    }
}
