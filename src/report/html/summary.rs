//! The first screen: who was paid and what is to be done, whether it adds up, the headline figures, and whose work it was.

use std::io;

use askama::Template;

use super::order::ON_PAGE;
use super::statements;
use crate::domain::{BatchName, Tally};
use crate::ledger::Purpose;
use crate::report::advice;
use crate::report::fold::difference::Difference;
use crate::report::fold::reconciliation::Reconciliation;
use crate::report::rows::entry::{BatchHeader, StateName};
use crate::report::rows::people;
use crate::report::words::text;

pub(super) fn write(
    out: &mut impl io::Write,
    header: &BatchHeader,
    reconciliation: &Reconciliation,
) -> io::Result<()> {
    let shown = |raw: &str| text::for_page(raw).into_owned();
    Summary {
        batch: &header.name,
        behind: header.behind.as_deref().map(shown),
        run: advice::run_command(header),
        is_rehearsal: header.purpose == Purpose::Rehearsal,
        verdict: Verdict::of(header, reconciliation),
        count: text::count(reconciliation.total().count),
        paid_twice: header
            .paid_twice
            .iter()
            .map(|row| shown(&row.sentence()))
            .collect(),
        paid_twice_count: text::count(header.paid_twice_count),
        differences: reconciliation
            .differences()
            .iter()
            .map(Difference::to_string)
            .collect(),
        open: text::count(reconciliation.open().count),
        finished: reconciliation.finished(),
        waits: advice::waits_text(header).map(|text| shown(&text)),
        held: header.held_lanes.iter().map(ToString::to_string).collect(),
        cards: cards(reconciliation),
    }
    .write_into(out)
}

/// Writes where the batch comes from: gateway, files, and who loaded, signed, ran and decided.
pub(super) fn write_origin(
    out: &mut impl io::Write,
    header: &BatchHeader,
    reconciliation: &Reconciliation,
) -> io::Result<()> {
    let shown = |raw: &str| text::for_page(raw).into_owned();
    let zone = &header.zone;
    Origin {
        zone: zone.name(),
        originator: shown(header.originator.as_str()),
        gateway: shown(&header.gateway),
        account: shown(&header.account),
        loads: header
            .loads
            .iter()
            .map(|load| {
                let file = shown(load.file_name());
                (file, zone.format(load.loaded_at), shown(&load.digest))
            })
            .collect(),
        people: people::named(&header.people, zone)
            .into_iter()
            .map(|(title, who)| (title, shown(&who)))
            .collect(),
        reasons: people::reasons(&header.people, zone)
            .into_iter()
            .map(|(what, why)| (shown(&what), shown(&why)))
            .collect(),
        period: reconciliation
            .period()
            .map(|(from, to)| period(&zone.format(from), &zone.format(to))),
    }
    .write_into(out)
}

/// What has ended, and was not paid.
const UNPAID: [StateName; 4] = [
    StateName::Failed,
    StateName::Rejected,
    StateName::Cancelled,
    StateName::Withdrawn,
];

/// What a reader wants to know first: how many were paid, how many were not, and whether somebody has to act.
struct Verdict {
    class: &'static str,
    counts: String,
    action: &'static str,
}

impl Verdict {
    fn of(header: &BatchHeader, reconciliation: &Reconciliation) -> Self {
        let of = |state| reconciliation.state(state).count;
        let skipped = of(StateName::Skipped);
        let total = reconciliation.total().count - skipped;
        let paid = of(StateName::Paid);
        let to_mend = of(StateName::Failed) + of(StateName::Rejected);
        let conflict = of(StateName::Conflict);
        let unpaid: Vec<_> = UNPAID
            .into_iter()
            .map(|state| (state, of(state)))
            .filter(|(_, count)| *count > 0)
            .collect();
        let open = reconciliation.open().count;
        let mut counts = match total {
            0 => "The batch is empty".to_owned(),
            _ if paid == total => format!("All {} paid", text::count(total)),
            _ => format!("{} of {} paid", text::count(paid), text::count(total)),
        };
        let parts: Vec<String> = unpaid
            .iter()
            .map(|(state, count)| format!("{} {}", text::count(*count), state.in_words()))
            .collect();
        let not_paid = format!("not paid ({})", parts.join(", "));
        for (count, what) in [
            (header.paid_twice_count, "paid twice"),
            (unpaid.iter().map(|(_, count)| count).sum(), &*not_paid),
            (conflict, "with answers that disagree"),
            (open, "not finished"),
        ] {
            if count > 0 {
                counts.push_str(&format!(", {} {what}", text::count(count)));
            }
        }
        match skipped {
            0 => {}
            1 => counts.push_str("; 1 line is no payment, as the layout says"),
            _ => counts.push_str(&format!(
                "; {} lines are no payments, as the layout says",
                text::count(skipped)
            )),
        }
        let found = statements::to_look_at(header);
        match found {
            0 => {}
            1 => counts.push_str("; 1 finding of a statement to look at"),
            _ => counts.push_str(&format!(
                "; {} findings of statements to look at",
                text::count(found)
            )),
        }
        let (class, action) = match (conflict + to_mend + header.paid_twice_count, open) {
            _ if !reconciliation.adds_up() => {
                ("bad", "do not rely on this report: it does not add up")
            }
            (0, 0) if found > 0 => ("waiting", "see the statements below"),
            (0, 0) => ("good", "no action needed"),
            (0, open) if open == header.scheduled.count || open == header.waits.count => {
                ("waiting", "they wait for their time")
            }
            (0, _) if !header.waits.texts.is_empty() => ("waiting", "see what it waits for"),
            (0, _) => ("waiting", "run it again"),
            _ => ("waiting", "action needed"),
        };
        Self {
            class,
            counts,
            action,
        }
    }
}

pub(super) fn write_signatures(out: &mut impl io::Write, header: &BatchHeader) -> io::Result<()> {
    let digests = header
        .loads
        .iter()
        .map(|load| text::for_page(&load.digest).into_owned())
        .collect::<Vec<_>>();
    Signatures {
        batch: &header.name,
        digests: digests.join(", "),
        evidence_rows: text::count(header.evidence_rows),
        evidence_head: &header.evidence_head,
    }
    .write_into(out)
}

/// Returns `2026-11-28 06:00:00 to 06:09:12`: the date is said once when there is only one.
fn period(from: &str, to: &str) -> String {
    match (from.split_once(' '), to.split_once(' ')) {
        (Some((first, _)), Some((last, time))) if first == last => format!("{from} to {time}"),
        _ => format!("{from} to {to}"),
    }
}

struct Card {
    class: &'static str,
    title: &'static str,
    count: String,
    amounts: Vec<String>,
    note: String,
}

impl Card {
    fn new(class: &'static str, title: &'static str, tally: &Tally, note: String) -> Self {
        Self {
            class,
            title,
            count: text::count(tally.count),
            amounts: text::amounts(&tally.amounts),
            note,
        }
    }
}

fn cards(reconciliation: &Reconciliation) -> Vec<Card> {
    let over = |states: &[StateName]| {
        let mut tally = Tally::default();
        for state in states {
            tally.add_all(&reconciliation.state(*state));
        }
        tally
    };
    let parts = |states: &[StateName]| {
        let counted: Vec<_> = states
            .iter()
            .map(|state| (*state, reconciliation.state(*state).count))
            .filter(|(_, count)| *count > 0)
            .collect();
        let parts = counted
            .iter()
            .map(|(state, count)| format!("{} {}", text::count(*count), state.in_words()));
        parts.collect::<Vec<_>>().join(" · ")
    };
    let open: Vec<_> = ON_PAGE
        .into_iter()
        .filter(|state| state.is_open())
        .collect();
    let skipped = reconciliation.state(StateName::Skipped).count;
    let beside = [
        (
            reconciliation.rejected_control().saturating_sub(skipped),
            "rejected",
        ),
        (skipped, "skipped"),
    ];
    let beside: Vec<String> = beside
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| match count {
            1 => format!("1 {what} line"),
            lines => format!("{} {what} lines", text::count(lines)),
        })
        .collect();
    let beside = match beside.is_empty() {
        true => String::new(),
        false => format!("and {}", beside.join(", ")),
    };
    let mut cards = vec![
        Card::new(
            "control",
            "Control total",
            &reconciliation.control(),
            beside,
        ),
        Card::new("paid", "Paid", &over(&[StateName::Paid]), String::new()),
        Card::new("failed", "Not paid", &over(&UNPAID), parts(&UNPAID)),
        Card::new("open", "Still open", &over(&open), parts(&open)),
    ];
    let conflict = over(&[StateName::Conflict]);
    if conflict.count > 0 {
        let note = "the money may have moved".to_owned();
        cards.push(Card::new("conflict", "Answers disagree", &conflict, note));
    }
    cards
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<header>
<p class="eyebrow">Reconciliation report</p>
<h1>{{ batch }}</h1>
</header>
{%- if is_rehearsal %}
<p class="verdict waiting"><b>Rehearsal.</b> The sandbox stood in for the gateway: no money moved, whatever is called paid below.</p>
{%- endif %}
<p class="verdict {{ verdict.class }} headline"><b>{{ verdict.counts }}: {{ verdict.action }}.</b></p>
{%- if let Some(behind) = behind %}
<p class="verdict bad" role="alert"><b>This may not be all:</b> {{ behind }}. First follow the steps of “disburse recover”.</p>
{%- endif %}
{%- if !paid_twice.is_empty() %}
<div class="verdict bad" role="alert"><b>Paid twice: {{ paid_twice_count }}.</b> A payment that the gateway had called failed was paid as well.
<ul>
{%- for row in paid_twice %}
<li>{{ row }}</li>
{%- endfor %}
</ul>
<p>Ask the gateway to take back what was paid too much, and pay none of them again.</p></div>
{%- endif %}
{%- if differences.is_empty() %}
<p class="verdict good"><b>Adds up.</b> Every one of the {{ count }} loaded lines is in exactly one state; counts and amounts equal the control totals. Difference: 0.</p>
{%- else %}
<div class="verdict bad" role="alert"><b>Does not add up. Do not sign this report.</b>
<ul>
{%- for difference in differences %}
<li>{{ difference }}</li>
{%- endfor %}
</ul>
<p>Keep the journal as it is, send nothing further for this batch, and have the difference examined.</p></div>
{%- endif %}
{%- if !held.is_empty() %}
<p class="verdict waiting"><b>Paused, because the float is too small:</b> {% for lane in held %}{% if !loop.first %}, {% endif %}{{ lane }}{% endfor %}. First top up the float, next {% for lane in held %}{% if !loop.first %}, {% endif %}<code>disburse resume-lane {{ batch }} {{ lane }}</code>{% endfor %}, then <code>{{ run }}</code>.</p>
{%- endif %}
{%- if !finished %}
<p class="verdict waiting"><b>Not finished.</b> Open payments: {{ open }}. {% if let Some(waits) = waits %}{{ waits }} Run <code>{{ run }}</code> then{% else if held.is_empty() %}Run <code>{{ run }}</code> again{% else %}Paused services go on by the steps above{% endif %}; this report holds what is known so far.</p>
{%- endif %}
<div class="cards">
{%- for card in cards %}
<div class="card c-{{ card.class }}"><h2>{{ card.title }}</h2><p class="figure">{{ card.count }}</p>
{%- for amount in card.amounts %}<p class="amount">{{ amount }}</p>{% endfor %}
{%- if !card.note.is_empty() %}<p class="quiet">{{ card.note }}</p>{% endif %}</div>
{%- endfor %}
</div>
"#
)]
struct Summary<'a> {
    batch: &'a BatchName,
    behind: Option<String>,
    run: String,
    is_rehearsal: bool,
    verdict: Verdict,
    count: String,
    paid_twice: Vec<String>,
    paid_twice_count: String,
    differences: Vec<String>,
    open: String,
    finished: bool,
    waits: Option<String>,
    held: Vec<String>,
    cards: Vec<Card>,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<section class="signatures" aria-label="Signatures">
{%- for who in ["Prepared by", "Approved by"] %}
<div><p>{{ who }}</p><span>Name</span><span>Signature</span><span>Date</span></div>
{%- endfor %}
<p class="quiet">Batch {{ batch }} · content {{ digests }}</p>
<p class="quiet">Evidence {{ evidence_rows }} rows · head <code>{{ evidence_head }}</code> · to be compared later: <code>disburse verify {{ batch }} --head HEAD</code></p>
</section>
"#
)]
struct Signatures<'a> {
    batch: &'a BatchName,
    digests: String,
    evidence_rows: String,
    evidence_head: &'a str,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<section id="origin">
<h2>Where it comes from</h2>
<dl>
<div><dt>Originator</dt><dd>{{ originator }}</dd></div>
<div><dt>Gateway</dt><dd>{{ gateway }}</dd></div>
{%- if !account.is_empty() %}
<div><dt>Account</dt><dd>{{ account }}</dd></div>
{%- endif %}
<div><dt>Period</dt><dd>{% if let Some(period) = period %}{{ period }}{% else %}nothing posted yet{% endif %}</dd></div>
<div><dt>Times</dt><dd>{{ zone }}</dd></div>
</dl>
{%- for (file, loaded_at, digest) in loads %}
<p class="load"><b>{{ file }}</b> loaded {{ loaded_at }} <code>{{ digest }}</code></p>
{%- endfor %}
{%- for (title, who) in people %}
<p class="load"><b>{{ title }}</b> {{ who }}</p>
{%- endfor %}
{%- for (what, why) in reasons %}
<p class="load"><b>{{ what }}</b> {{ why }}</p>
{%- endfor %}
</section>
"#
)]
struct Origin<'a> {
    zone: &'a str,
    originator: String,
    gateway: String,
    account: String,
    loads: Vec<(String, String, String)>,
    people: Vec<(&'static str, String)>,
    reasons: Vec<(String, String)>,
    period: Option<String>,
}
