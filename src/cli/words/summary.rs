//! What a file adds up to: for a screen, and for programs.

use serde_json::json;

use crate::cli::terminal::output;
use crate::domain::Tally;
use crate::journal::LoadSummary;

/// Prints what a file adds up to.
pub(in crate::cli) fn print_summary(summary: &LoadSummary) {
    let mut rows: Vec<Vec<String>> = summary
        .accepted
        .iter()
        .map(|(service, currency, tally)| {
            row(
                service.as_str(),
                currency.code(),
                tally,
                &tally.amounts.decimals()[currency.code()],
            )
        })
        .collect();
    if summary.rejected.count > 0 {
        rows.push(row(
            "(rejected)",
            "",
            &summary.rejected,
            &output::amounts(&summary.rejected.amounts),
        ));
    }
    let mut total = summary.total();
    total.add_all(&summary.rejected);
    rows.push(row("total", "", &total, &output::amounts(&total.amounts)));
    if summary.skipped.count > 0 {
        // No payments: they are in no sum.
        let count = output::grouped(&summary.skipped.count.to_string());
        rows.push(vec![
            "(skipped)".to_owned(),
            String::new(),
            count,
            String::new(),
        ]);
    }
    output::print(&output::table(
        &["service", "currency", "count", "amount"],
        rows,
        &[2, 3],
    ));
}

fn row(service: &str, currency: &str, tally: &Tally, amount: &str) -> Vec<String> {
    let amount = if amount.contains(' ') {
        amount.to_owned()
    } else {
        output::grouped(amount)
    };
    vec![
        service.to_owned(),
        currency.to_owned(),
        output::grouped(&tally.count.to_string()),
        amount,
    ]
}

/// Returns a summary for programs.
pub(in crate::cli) fn to_json(
    summary: &LoadSummary,
    batch: Option<(&str, bool)>,
) -> serde_json::Value {
    let services: Vec<serde_json::Value> = summary
        .accepted
        .iter()
        .map(|(service, currency, tally)| {
            json!({
                "service_code": service.as_str(),
                "currency_code": currency.code(),
                "count": tally.count,
                "amount": tally.amounts.decimals()[currency.code()],
            })
        })
        .collect();
    let total = summary.total();
    let mut value = json!({
        "count": total.count,
        "amounts": total.amounts.decimals(),
        "unpriced": summary.unpriced,
        "mended": summary.mended,
        "replaced": summary.replaced,
        "rejected": {"count": summary.rejected.count, "amounts": summary.rejected.amounts.decimals()},
        "services": services,
    });
    if summary.skipped.count > 0 {
        value["skipped"] =
            json!({"count": summary.skipped.count, "amounts": summary.skipped.amounts.decimals()});
    }
    if let Some((name, fresh)) = batch {
        value["batch"] = json!(name);
        value["loaded"] = json!(fresh);
    }
    value
}
