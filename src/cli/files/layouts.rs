//! Layouts by their names: those of the configuration, and those that come along.

use crate::cli::Error;
use crate::cli::config::{BUILT_IN_LAYOUTS, Settings, built_in_layout};
use crate::intake::layout::{Factor, Layout};

/// Services that one sentence names.
const SERVICES_SHOWN: usize = 12;

/// Returns the names of all layouts, those of the configuration first.
pub(in crate::cli) fn names(settings: &Settings) -> Vec<String> {
    let own = settings.layouts.keys().cloned();
    let known = BUILT_IN_LAYOUTS.iter().map(|(name, _)| (*name).to_owned());
    own.chain(known).collect()
}

/// Returns a layout by its name.
pub(in crate::cli) fn named(name: &str, settings: &Settings) -> Result<Layout, Error> {
    if let Some(own) = settings.layouts.get(name) {
        return Ok(own.clone());
    }
    if let Some(known) = built_in_layout(name) {
        return Ok(known?);
    }
    let names = names(settings);
    let near = names
        .iter()
        .map(|known| (strsim::osa_distance(name, known), known))
        .filter(|(distance, known)| *distance <= 1.max(known.len().min(name.len()) / 3))
        .min();
    Err(Error::refused(format!("--layout {name}: there is no such layout")).hint(match near {
        Some((_, near)) => format!("did you mean {near}? disburse layout list shows all of them"),
        None => "disburse layout list shows all of them; disburse layout guess FILE proposes one for a file".to_owned(),
    }))
}

/// Returns a layout that files are to be read by.
pub(in crate::cli) fn find(name: &str, settings: &Settings) -> Result<Layout, Error> {
    let layout = named(name, settings)?;
    if layout.factor == Factor::Open {
        return Err(Error::refused(format!(
            "--layout {name}: what its amounts are multiplied by is not said, and no file has it"
        ))
        .hint(format!(
            "keep a layout of your own in disburse.toml, [layouts.NAME] with like = \"{name}\" and amount_factor = \"1500\", or whatever one unit is \
             worth, and say --layout NAME"
        )));
    }
    if let Some((column, text)) = layout.open_value() {
        return Err(Error::refused(format!(
            "--layout {name}: which {column} stands for {text:?} is not said yet: its line in [layouts.{name}.values.{column}] is empty"
        ))
        .hint(format!(
            "write the service there that pays such rows{}; nothing was read",
            services_text(settings)
        )));
    }
    Ok(layout)
}

/// Names the services that are configured, as far as they fit into a sentence.
fn services_text(settings: &Settings) -> String {
    let names: Vec<&str> = settings
        .services
        .keys()
        .map(|service| service.as_str())
        .collect();
    match names.len() {
        0 => String::new(),
        1..=SERVICES_SHOWN => format!(", one of {}", names.join(", ")),
        _ => format!(", one of {} and others", names[..SERVICES_SHOWN].join(", ")),
    }
}
