//! What one scrape is told.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;

use super::journal::Told;
use super::names::{self, Name};
use super::registry::{Metrics, RunFigures};
use crate::callback::CallbackOutcome;
use crate::domain::{DurationMeter, Timestamp};
use crate::journal::Figures;

/// So many services are told apart. Those that are more, by name, are told together.
const SERVICES_MAX: usize = 100;
/// What these are called.
const OTHERS: &str = "other";

/// Everything that is counted, as it is at one moment.
#[derive(Debug)]
struct Scraped {
    metrics: Arc<Metrics>,
    told: Told,
    now: Timestamp,
}

/// Returns everything as it is now. It blocks while the journal is read.
pub(super) fn look(metrics: &Arc<Metrics>, now: Timestamp) -> Registry {
    let batch = metrics.batch.get().map(|(batch, _)| batch);
    let told = metrics.journal.read(batch);
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Scraped {
        metrics: Arc::clone(metrics),
        told,
        now,
    }));
    registry
}

type Written = Result<(), fmt::Error>;
type Labels<'a> = Vec<(&'static str, &'a str)>;

impl Collector for Scraped {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Written {
        let encoder = &mut encoder;
        let metrics = &*self.metrics;
        let version = env!("CARGO_PKG_VERSION");
        let build = vec![("version", version), ("command", metrics.command)];
        gauges(encoder, &names::BUILD, [(build, 1)])?;
        if let Some((batch, rehearsal)) = metrics.batch.get() {
            let run = vec![
                ("version", version),
                ("batch", batch.as_str()),
                ("rehearsal", if *rehearsal { "yes" } else { "no" }),
            ];
            gauges(encoder, &names::RUN, [(run, 1)])?;
        }
        let figures = self.told.figures.as_ref();
        gauge(encoder, &names::READABLE, figures.is_some().into())?;
        gauge(encoder, &names::RUNS, self.told.runs.into())?;
        if let Some(figures) = figures {
            self.of_journal(encoder, figures)?;
        }
        if let Some(commits) = metrics.commits.get() {
            let mut written = describe(encoder, &names::COMMITS)?;
            histogram(&mut written, &commits.durations)?;
            counter(encoder, &names::VERBS, commits.pieces())?;
        }
        if let Some(run) = metrics.run.get() {
            of_run(encoder, run)?;
        }
        if let Some(counts) = metrics.callbacks.get() {
            let each = CallbackOutcome::ALL
                .map(|outcome| (vec![("outcome", outcome.name())], counts.of(outcome)));
            counters(encoder, &names::CALLBACKS, each)?;
        }
        Ok(())
    }
}

impl Scraped {
    fn of_journal(&self, encoder: &mut DescriptorEncoder<'_>, figures: &Figures) -> Written {
        let services = Services::of(figures);
        let mut sums: BTreeMap<[&str; 3], (u64, i128)> = BTreeMap::new();
        for row in &figures.rows {
            let service = services.label(row.service.as_str());
            let sum = sums
                .entry([service, row.state.name(), row.currency.code()])
                .or_default();
            sum.0 += row.tally.count;
            sum.1 += row.tally.amounts.minor(row.currency);
        }
        let labels = |[service, state, currency]: &[&'_ str; 3]| {
            let pairs: [(&'static str, String); 3] = [
                ("service", (*service).to_owned()),
                ("state", (*state).to_owned()),
                ("currency", (*currency).to_owned()),
            ];
            pairs
        };
        let mut written = describe(encoder, &names::PAYMENTS)?;
        for (key, (count, _)) in &sums {
            written
                .encode_family(&labels(key))?
                .encode_gauge(&whole(*count))?;
        }
        let mut written = describe(encoder, &names::AMOUNT)?;
        for (key, (_, minor)) in &sums {
            let minor = i64::try_from(*minor).unwrap_or(i64::MAX);
            written.encode_family(&labels(key))?.encode_gauge(&minor)?;
        }
        gauge(encoder, &names::UNFINISHED, whole(figures.unfinished()))?;
        gauge(encoder, &names::UNPRICED, whole(figures.unpriced))?;
        let age = figures
            .oldest_doubt
            .map_or(Duration::ZERO, |at| self.now.since(at));
        describe(encoder, &names::DOUBT)?.encode_gauge(&age.as_secs_f64())?;
        let mut held: BTreeMap<&str, u64> = BTreeMap::new();
        for lane in &figures.held {
            *held
                .entry(services.label(lane.service.as_str()))
                .or_default() += lane.batches;
        }
        let held = held
            .into_iter()
            .map(|(service, batches)| (vec![("service", service)], whole(batches)));
        gauges(encoder, &names::HELD, held)?;
        gauge(encoder, &names::NOTICES, whole(figures.notices_waiting))?;
        counter(encoder, &names::EVIDENCE, figures.evidence_rows)
    }
}

/// Whose figures are told apart.
struct Services<'a>(Vec<&'a str>);

impl<'a> Services<'a> {
    fn of(figures: &'a Figures) -> Self {
        let mut names: Vec<&str> = figures
            .held
            .iter()
            .map(|lane| lane.service.as_str())
            .collect();
        names.sort_unstable();
        names.truncate(SERVICES_MAX);
        Self(names)
    }

    fn label(&self, service: &'a str) -> &'a str {
        match self.0.binary_search(&service) {
            Ok(_) => service,
            Err(_) => OTHERS,
        }
    }
}

fn of_run(encoder: &mut DescriptorEncoder<'_>, run: &RunFigures) -> Written {
    let gateway = &run.gateway;
    let operations = [("post", &gateway.posts), ("query", &gateway.queries)];
    let label = |operation| [("operation", operation)];
    let mut written = describe(encoder, &names::REQUESTS)?;
    for (operation, work) in operations {
        histogram(
            &mut written.encode_family(&label(operation))?,
            &work.durations,
        )?;
    }
    let pieces = operations.map(|(operation, work)| (label(operation).to_vec(), work.pieces()));
    counters(encoder, &names::REQUESTED, pieces)?;
    let rates = [("post", run.limits.rate), ("query", run.limits.query_rate)];
    let rates = rates.map(|(operation, rate)| (label(operation).to_vec(), rate.get().into()));
    gauges(encoder, &names::RATE, rates)?;
    let progress = run.progress.borrow();
    let (open, draining) = (progress.circuit_open, progress.draining);
    let awaited = progress
        .awaited
        .window
        .map_or(0, |at| at.as_millis() / 1000);
    drop(progress);
    gauge(encoder, &names::BREAKER, open.into())?;
    gauge(encoder, &names::DRAINING, draining.into())?;
    gauge(encoder, &names::AWAITED, awaited)
}

fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn describe<'e>(
    encoder: &'e mut DescriptorEncoder<'_>,
    name: &'e Name,
) -> Result<MetricEncoder<'e>, fmt::Error> {
    encoder.encode_descriptor(name.name, name.help, name.unit.as_ref(), name.kind)
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &Name, value: i64) -> Written {
    describe(encoder, name)?.encode_gauge(&value)
}

fn gauges<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &Name,
    each: impl IntoIterator<Item = (Labels<'a>, i64)>,
) -> Written {
    let mut written = describe(encoder, name)?;
    for (labels, value) in each {
        written.encode_family(&labels)?.encode_gauge(&value)?;
    }
    Ok(())
}

/// Nothing that is counted here is an example of anything.
const NO_EXAMPLE: Option<&Exemplar<NoLabelSet, f64>> = None;

fn counter(encoder: &mut DescriptorEncoder<'_>, name: &Name, value: u64) -> Written {
    describe(encoder, name)?.encode_counter(&value, NO_EXAMPLE)
}

fn counters<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &Name,
    each: impl IntoIterator<Item = (Labels<'a>, u64)>,
) -> Written {
    let mut written = describe(encoder, name)?;
    for (labels, value) in each {
        written
            .encode_family(&labels)?
            .encode_counter(&value, NO_EXAMPLE)?;
    }
    Ok(())
}

fn histogram(written: &mut MetricEncoder<'_>, meter: &DurationMeter) -> Written {
    let read = meter.read();
    let bound = |bound: Option<Duration>| bound.map_or(f64::INFINITY, |bound| bound.as_secs_f64());
    let buckets = read.buckets.iter();
    let buckets: Vec<(f64, u64)> = buckets
        .map(|(most, count)| (bound(*most), *count))
        .collect();
    let sum = read.sum.as_secs_f64();
    written.encode_histogram::<NoLabelSet>(sum, read.count, &buckets, None)
}
