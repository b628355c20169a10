//! The chart of the run over time: payments posted, and payments brought to their end, added up.

use std::fmt::Write as _;
use std::io;

use askama::Template;

use crate::domain::{Timestamp, WireZone};
use crate::report::fold::reconciliation::Reconciliation;
use crate::report::fold::timeline::Bucket;
use crate::report::words::text;

// The plot's edges within the drawing, in its units.
const LEFT: i128 = 52;
const RIGHT: i128 = 380;
const TOP: i128 = 12;
const BOTTOM: i128 = 190;

/// Labels at the ends of two lines are kept this far apart.
const LABEL_GAP: i128 = 14;

const DAY_MS: i64 = 86_400_000;

pub(super) fn write(
    out: &mut impl io::Write,
    reconciliation: &Reconciliation,
    zone: &WireZone,
) -> io::Result<()> {
    Progress::new(reconciliation, zone).write_into(out)
}

struct Tick {
    at: String,
    label: String,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<figure>
<figcaption>Payments over time, added up</figcaption>
{%- if posted.is_empty() %}
<p class="quiet">Nothing has been posted yet.</p>
{%- else %}
<svg viewBox="0 0 480 226" role="img" aria-labelledby="run-title">
<title id="run-title">{{ title }}</title>
{%- for tick in rows %}
<path d="M52 {{ tick.at }}H380" class="grid"/><text x="46" y="{{ tick.at }}" dy="4" class="end">{{ tick.label }}</text>
{%- endfor %}
{%- for tick in columns %}
<path d="M{{ tick.at }} 190v4" class="axis"/><text x="{{ tick.at }}" y="207" class="middle">{{ tick.label }}</text>
{%- endfor %}
<path d="{{ settled }}L380 190L52 190Z" class="area"/>
<path d="{{ posted }}" class="line posted"/>
<path d="{{ settled }}" class="line settled"/>
<text x="387" y="{{ posted_y }}" dy="4" class="name posted">{{ posted_label }}</text>
<text x="387" y="{{ settled_y }}" dy="4" class="name settled">{{ settled_label }}</text>
<text x="52" y="223" class="value">{{ caption }}</text>
</svg>
{%- endif %}
</figure>
"#
)]
#[derive(Default)]
struct Progress {
    title: String,
    caption: String,
    rows: Vec<Tick>,
    columns: Vec<Tick>,
    posted: String,
    settled: String,
    posted_y: String,
    settled_y: String,
    posted_label: String,
    settled_label: String,
}

impl Progress {
    fn new(reconciliation: &Reconciliation, zone: &WireZone) -> Self {
        let timeline = reconciliation.timeline();
        let buckets: Vec<_> = timeline.iter().collect();
        let (Some((first, _)), Some((last, _)), Some((from, to))) =
            (buckets.first(), buckets.last(), reconciliation.period())
        else {
            return Self::default();
        };
        let width = i128::from(timeline.width_ms());
        let plot = Plot {
            from: i128::from(first.as_millis()),
            span: i128::from(last.as_millis()) - i128::from(first.as_millis()) + width,
            width,
            top: 1,
        };
        let posted = |bucket: &Bucket| bucket.posted;
        let settled = |bucket: &Bucket| bucket.settled;
        let total = |of: &dyn Fn(&Bucket) -> u64| buckets.iter().map(|(_, b)| of(b)).sum::<u64>();
        let (posted_total, settled_total) = (total(&posted), total(&settled));
        let step = step(posted_total.max(settled_total));
        let plot = Plot {
            top: i128::from(posted_total.max(settled_total).div_ceil(step) * step),
            ..plot
        };
        let (posted_y, settled_y) = apart(plot.y(posted_total), plot.y(settled_total));
        Self {
            title: format!(
                "From {} to {}: {} payments posted, {} brought to their end.",
                zone.format(from),
                zone.format(to),
                text::count(posted_total),
                text::count(settled_total)
            ),
            caption: caption(from, to, timeline.width_ms(), zone),
            rows: (0..)
                .map(|index| index * step)
                .take_while(|value| i128::from(*value) <= plot.top)
                .map(|value| Tick {
                    at: tenths(plot.y(value)),
                    label: text::count(value),
                })
                .collect(),
            columns: plot.columns(zone),
            posted: plot.line(&buckets, posted),
            settled: plot.line(&buckets, settled),
            posted_y: tenths(posted_y),
            settled_y: tenths(settled_y),
            posted_label: format!("{} posted", text::count(posted_total)),
            settled_label: format!("{} ended", text::count(settled_total)),
        }
    }
}

/// Maps instants and counts to the drawing. Coordinates are in tenths of its units.
struct Plot {
    from: i128,
    span: i128,
    width: i128,
    top: i128,
}

impl Plot {
    fn x(&self, millis: i128) -> i128 {
        LEFT * 10 + (millis - self.from) * (RIGHT - LEFT) * 10 / self.span
    }

    fn y(&self, count: u64) -> i128 {
        BOTTOM * 10 - i128::from(count) * (BOTTOM - TOP) * 10 / self.top
    }

    // Between two buckets in which something happened the line stays level.
    fn line(&self, buckets: &[(Timestamp, Bucket)], of: impl Fn(&Bucket) -> u64) -> String {
        let mut path = format!("M{} {}", tenths(self.x(self.from)), tenths(self.y(0)));
        let mut sum = 0;
        let mut to = |x: i128, y: i128| {
            write!(path, "L{} {}", tenths(x), tenths(y)).expect("writing to a String cannot fail");
        };
        for (begins, bucket) in buckets {
            let begins = i128::from(begins.as_millis());
            to(self.x(begins), self.y(sum));
            sum += of(bucket);
            to(self.x(begins + self.width), self.y(sum));
        }
        path
    }

    fn columns(&self, zone: &WireZone) -> Vec<Tick> {
        let count = (self.span / self.width).clamp(1, 4);
        // Ticks stand at the edges of buckets, which are round times.
        let every = (self.span / self.width / count).max(1) * self.width;
        (0..=count)
            .map(|index| self.from + index * every)
            .filter(|at| *at <= self.from + self.span)
            .map(|at| Tick {
                at: tenths(self.x(at)),
                label: self.label(at, zone),
            })
            .collect()
    }

    fn label(&self, millis: i128, zone: &WireZone) -> String {
        let at = Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX));
        let iso = format!("{}.{:03}", zone.format(at), millis.rem_euclid(1_000));
        let part = match self.span {
            span if span < 5_000 => 14..21,
            span if span < 3_600_000 => 11..19,
            span if span < i128::from(DAY_MS) => 11..16,
            _ => 5..10,
        };
        iso.get(part).unwrap_or(&iso).to_owned()
    }
}

fn caption(from: Timestamp, to: Timestamp, width_ms: i64, zone: &WireZone) -> String {
    let (from_text, to_text) = (zone.format(from), zone.format(to));
    let date = |iso: &str| iso.get(..10).unwrap_or(iso).to_owned();
    let days = if date(&from_text) == date(&to_text) {
        date(&from_text)
    } else {
        format!("{} to {}", date(&from_text), date(&to_text))
    };
    let took = i64::try_from(to.since(from).as_millis()).unwrap_or(i64::MAX);
    let (took, width) = (duration(took), duration(width_ms));
    format!(
        "{days}, {}; {took} from first to last, in steps of {width}",
        zone.name()
    )
}

/// Moves two labels apart when they would cover each other.
fn apart(posted: i128, settled: i128) -> (i128, i128) {
    let gap = LABEL_GAP * 10 - (settled - posted).abs();
    if gap <= 0 {
        return (posted, settled);
    }
    if posted <= settled {
        (posted - gap / 2, settled + gap / 2)
    } else {
        (posted + gap / 2, settled - gap / 2)
    }
}

/// Returns 1, 2 or 5 times a power of ten, so that at most five steps reach `top`.
fn step(top: u64) -> u64 {
    let mut unit = 1_u64;
    loop {
        for factor in [1, 2, 5] {
            let step = unit.saturating_mul(factor);
            if top.div_ceil(step) <= 5 {
                return step;
            }
        }
        unit = unit.saturating_mul(10);
    }
}

fn tenths(tenths: i128) -> String {
    match (tenths / 10, tenths % 10) {
        (whole, 0) => whole.to_string(),
        (whole, part) => format!("{whole}.{}", part.abs()),
    }
}

/// Returns the two largest units: `1 h 5 min`, `42 s`, `0.1 s`.
fn duration(millis: i64) -> String {
    let units = [
        (DAY_MS, "d"),
        (3_600_000, "h"),
        (60_000, "min"),
        (1_000, "s"),
    ];
    if millis < 10_000 && millis % 1_000 != 0 {
        return format!("{}.{} s", millis / 1_000, millis % 1_000 / 100);
    }
    let mut parts = Vec::new();
    let mut rest = millis;
    for (unit, name) in units {
        if rest >= unit {
            parts.push(format!("{} {name}", rest / unit));
            rest %= unit;
        }
    }
    parts.truncate(2);
    if parts.is_empty() {
        return "0 s".to_owned();
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_at_a_glance() {
        for (millis, expected) in [
            (0, "0 s"),
            (100, "0.1 s"),
            (2_000, "2 s"),
            (42_123, "42 s"),
            (65_000, "1 min 5 s"),
            (3_900_000, "1 h 5 min"),
            (90_000_000, "1 d 1 h"),
            (i64::MAX, "106751991167 d 7 h"),
        ] {
            assert_eq!(duration(millis), expected);
        }
    }

    #[test]
    fn steps_are_round_and_at_most_five() {
        for (top, expected) in [
            (0, 1),
            (1, 1),
            (5, 1),
            (6, 2),
            (1_000, 200),
            (1_001, 500),
            (u64::MAX, 5_000_000_000_000_000_000),
        ] {
            assert_eq!(step(top), expected, "{top}");
        }
    }
}
