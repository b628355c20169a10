//! The chart of outcomes: one labelled bar for each state, so that no colour has to be told from another.

use std::io;

use askama::Template;

use super::order::ON_PAGE;
use crate::report::fold::reconciliation::Reconciliation;
use crate::report::rows::entry::StateName;
use crate::report::words::text;

const ROW_PX: u64 = 30;
const BAR_PX: u64 = 200;

pub(super) fn write(out: &mut impl io::Write, reconciliation: &Reconciliation) -> io::Result<()> {
    let total = reconciliation.total().count;
    let bars: Vec<_> = ON_PAGE
        .into_iter()
        .map(|state| (state, reconciliation.state(state).count))
        .filter(|(_, count)| *count > 0)
        .enumerate()
        .map(|(index, (state, count))| Bar {
            state,
            y: index as u64 * ROW_PX,
            width: share(count, total, BAR_PX).max(2),
            label: format!("{} · {}", text::count(count), percent(count, total)),
        })
        .collect();
    Outcomes {
        height: bars.len() as u64 * ROW_PX,
        bars,
    }
    .write_into(out)
}

/// Returns `count / total` of `whole`, rounded down.
fn share(count: u64, total: u64, whole: u64) -> u64 {
    let share = u128::from(count) * u128::from(whole) / u128::from(total.max(1));
    u64::try_from(share).unwrap_or(whole)
}

/// Returns a percentage that says 100 or 0 only when it is.
fn percent(count: u64, total: u64) -> String {
    match share(count, total, 1_000) {
        0 if count > 0 => "< 0.1 %".to_owned(),
        1_000 => "100 %".to_owned(),
        tenths => format!("{}.{} %", tenths / 10, tenths % 10),
    }
}

struct Bar {
    state: StateName,
    y: u64,
    width: u64,
    label: String,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<figure>
<figcaption>Outcomes, by number of lines</figcaption>
{%- if bars.is_empty() %}
<p class="quiet">The batch is empty.</p>
{%- else %}
<svg viewBox="0 0 480 {{ height }}" role="img" aria-labelledby="outcomes-title">
<title id="outcomes-title">Outcomes: {% for bar in bars %}{{ bar.state.in_words() }} {{ bar.label }}; {% endfor %}</title>
{%- for bar in bars %}
<g transform="translate(0 {{ bar.y }})"><text x="152" y="19" class="end">{{ bar.state.in_words() }}</text><rect x="160" y="6" width="{{ bar.width }}" height="18" rx="2" class="fill s-{{ bar.state }}"/><text x="{{ bar.width + 167 }}" y="19" class="value">{{ bar.label }}</text></g>
{%- endfor %}
</svg>
{%- endif %}
</figure>
"#
)]
struct Outcomes {
    height: u64,
    bars: Vec<Bar>,
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn a_percentage_never_hides_what_is_missing() {
        for (count, total, expected) in [
            (1, 1, "100 %"),
            (999_999, 1_000_000, "99.9 %"),
            (1, 1_000_000, "< 0.1 %"),
            (1, 3, "33.3 %"),
            (0, 3, "0.0 %"),
            (u64::MAX, u64::MAX, "100 %"),
        ] {
            assert_eq!(percent(count, total), expected, "{count} of {total}");
        }
    }
}
