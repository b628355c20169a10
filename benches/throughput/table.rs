//! The table as it is printed.

use super::rows::{Figure, Verdict};

/// Median, least and greatest of some figures.
#[derive(Clone, Copy)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Spread {
    pub fn of(mut figures: Vec<f64>) -> Option<Self> {
        figures.sort_by(f64::total_cmp);
        Some(Self {
            median: *figures.get(figures.len() / 2)?,
            least: *figures.first()?,
            most: *figures.last()?,
        })
    }

    pub fn text(self, figure: Figure) -> String {
        let (least, most) = (number(self.least), number(self.most));
        let unit = figure.unit();
        if least == most {
            return format!("{} {unit}", number(self.median));
        }
        format!("{} {unit} ({least} to {most})", number(self.median))
    }
}

/// Writes a number with three digits that mean something, and its thousands apart.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => grouped(&format!("{value:.0}")),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

pub fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub fn head() -> String {
    line("", "yardstick", "disburse", "ratio", "reach", "aim")
}

pub fn row(name: &str, yardstick: &str, ours: &str, verdict: &Verdict) -> String {
    let told = |goal: &Option<(String, bool)>| match goal {
        Some((words, true)) => format!("{words} yes"),
        Some((words, false)) => format!("{words} NO"),
        None => "-".to_owned(),
    };
    let ratio = verdict
        .ratio
        .map_or("-".to_owned(), |ratio| format!("{ratio:.2}x"));
    let (reach, aim) = (told(&verdict.reach), told(&verdict.aim));
    line(name, yardstick, ours, &ratio, &reach, &aim)
}

fn line(name: &str, yardstick: &str, ours: &str, ratio: &str, reach: &str, aim: &str) -> String {
    let text = format!("{name:<21} {yardstick:<57} {ours:<45} {ratio:>7}  {reach:<13} {aim}");
    text.trim_end().to_owned()
}

/// Says what the figures were taken on.
pub fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let after = |text: &str, key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        line.map_or(String::new(), |line| {
            line.trim_matches([' ', '\t', ':']).to_owned()
        })
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let processor = after(&read("/proc/cpuinfo"), "model name");
    let memory = after(&read("/proc/meminfo"), "MemTotal");
    let kernel = read("/proc/sys/kernel/osrelease");
    format!(
        "{} {}, {cores} cores, {processor}, {memory}, kernel {}",
        std::env::consts::OS,
        std::env::consts::ARCH,
        kernel.trim()
    )
}
