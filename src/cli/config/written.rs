//! A configuration as a file for people, written out of the table of keys: what is answered is set, the rest is shown as it is
//! without a word.

use std::collections::BTreeMap;

use super::keys::{KEYS, Key};
use super::value::kind::Kind;
use crate::domain::{Currency, PaymentKind, ServiceCode};

/// How wide a remark is.
const WIDTH: usize = 110;

/// What a new configuration says.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct Written {
    /// The name of its profile.
    pub(in crate::cli) profile: String,
    /// Keys of the profile that are set, as text.
    pub(in crate::cli) values: BTreeMap<&'static str, String>,
    /// The services, and what each pays.
    pub(in crate::cli) services: Vec<(ServiceCode, PaymentKind, Currency)>,
    /// How many people approve, and from which amount on.
    pub(in crate::cli) approval: Option<Approval>,
}

/// Who approves.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Approval {
    /// So many people.
    pub(in crate::cli) required: u8,
    /// Batches of no more than this need nobody.
    pub(in crate::cli) above: Option<(Currency, String)>,
    /// The file of those who may sign.
    pub(in crate::cli) signers: &'static str,
}

impl Written {
    /// Returns the text of the file.
    #[must_use]
    pub(in crate::cli) fn text(&self) -> String {
        let mut text = String::new();
        remark(
            &mut text,
            "Configuration of disburse, written by \"disburse init\". Lines that begin with # say what a key means, or what is so \
             without it. \"disburse config show\" prints every value and where it comes from, \"disburse doctor\" what is wrong with it.",
        );
        text.push_str(&format!("\ndefault_profile = {}\n", quoted(&self.profile)));
        let header = format!("profiles.{}", quoted_key(&self.profile));
        text.push_str(&format!("\n[{header}]\n"));
        let mut group = "";
        for key in KEYS.iter().filter(|key| !key.secret) {
            if key.group() != group {
                group = key.group();
                text.push_str(&format!("\n[{header}.{group}]\n"));
            }
            self.key(&mut text, key);
        }
        self.services(&mut text);
        self.approval(&mut text);
        text.push('\n');
        remark(
            &mut text,
            "More tables, each with its meaning, are in samples/disburse.toml and docs/configuration.md: [limits], [columns], \
             [layouts], [files], [statements], [accounting], [evidence], [document_thresholds], [status_codes], [post_codes].",
        );
        text
    }

    fn key(&self, text: &mut String, key: &Key) {
        let default = key
            .default
            .map_or_else(String::new, |default| format!(" Default: {default}."));
        text.push('\n');
        remark(
            text,
            &format!("{}{default} Variable: {}.", key.doc, key.env),
        );
        let name = key.name.rsplit('.').next().unwrap_or(key.name);
        match self.values.get(key.name) {
            Some(value) => text.push_str(&format!("{name} = {}\n", value_of(key.kind, value))),
            None => {
                let value = key.default.unwrap_or_else(|| example(key.kind));
                text.push_str(&format!("#{name} = {}\n", value_of(key.kind, value)));
            }
        }
    }

    fn services(&self, text: &mut String) {
        text.push('\n');
        remark(
            text,
            "The services of the gateway, by the codes that it gave you. A row that names another one is refused. kind says what it pays: \
             mobile_money, bank, rtgs, airtime, bill_prepaid or bill_postpaid. An amount below min or above max is refused.",
        );
        for (code, kind, currency) in &self.services {
            text.push_str(&format!(
                "[services.{}]\nkind = {}\ncurrency_code = {}\n#min = {}\n#max = {}\n",
                quoted_key(code.as_str()),
                quoted(&kind.to_string()),
                quoted(currency.code()),
                quoted(&sum(10, *currency)),
                quoted(&sum(250_000, *currency)),
            ));
            if *kind == PaymentKind::BillPostpaid {
                text.push_str("#bill_amount = \"exact\"\n");
            }
            text.push('\n');
        }
    }

    fn approval(&self, text: &mut String) {
        remark(
            text,
            "Two pairs of eyes: batches of more than above are posted as far as required people (1 or 2) have signed for them who have \
             not loaded them; without above every batch needs it. allowed_signers has everybody who signs, also those who load.",
        );
        let Some(approval) = &self.approval else {
            text.push_str("#[approval]\n#required = 1\n#allowed_signers = \"allowed_signers\"\n");
            return;
        };
        text.push_str(&format!(
            "[approval]\nrequired = {}\nallowed_signers = {}\n",
            approval.required,
            quoted(approval.signers)
        ));
        if let Some((currency, amount)) = &approval.above {
            text.push_str(&format!("above = {{ {currency} = {} }}\n", quoted(amount)));
        }
    }
}

/// A round amount, as the file has it.
fn sum(whole: u32, currency: Currency) -> String {
    match usize::from(currency.exponent()) {
        0 => whole.to_string(),
        decimals => format!("{whole}.{}", "0".repeat(decimals)),
    }
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// A name in a header, in quotes where it needs them.
fn quoted_key(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match !name.is_empty() && name.chars().all(plain) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

fn value_of(kind: Kind, text: &str) -> String {
    match kind {
        Kind::Flag | Kind::Count { .. } => text.to_owned(),
        _ => quoted(text),
    }
}

/// Something that a key could be, where there is no default.
fn example(kind: Kind) -> &'static str {
    match kind {
        Kind::Url => "https://host.example",
        Kind::UrlPath => "/path",
        Kind::Path | Kind::Dialect => "file",
        Kind::Journal => "disburse.db",
        Kind::Rate => "50/s",
        Kind::Duration { .. } => "30m",
        Kind::Count { .. } => "1",
        Kind::Flag => "true",
        Kind::Address => "127.0.0.1:8490",
        Kind::Zone => "Africa/Nairobi",
        Kind::Country => "KE",
        Kind::Currency => "KES",
        Kind::ServiceCode => "CODE",
        Kind::Text | Kind::Originator | Kind::Word(_) => "text",
    }
}

/// Adds a remark, in lines of a width.
fn remark(text: &mut String, words: &str) {
    let mut line = String::from("#");
    for word in words.split_whitespace() {
        if line.len() > 1 && line.len() + 1 + word.len() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::config::{Settings, Sources};

    fn read(text: &str) -> Settings {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disburse.toml");
        std::fs::write(&path, text).unwrap();
        let sources = Sources {
            config_path: Some(path),
            ..Sources::default()
        };
        Settings::load(&sources).unwrap()
    }

    fn written() -> Written {
        let values = [
            ("base_url", "https://gateway.example"),
            ("username", "ac\"me"),
            ("originator", "acme"),
        ];
        Written {
            profile: "my profile".to_owned(),
            values: values.map(|(name, text)| (name, text.to_owned())).into(),
            services: vec![(
                ServiceCode::parse("WALLET").unwrap(),
                PaymentKind::BillPostpaid,
                Currency::from_code("UGX").unwrap(),
            )],
            approval: None,
        }
    }

    #[test]
    fn every_key_is_in_the_file_and_what_is_answered_is_read_back() {
        let text = written().text();
        let settings = read(&text);
        assert_eq!(settings.profile_name, "my profile");
        assert_eq!(settings.profile.username.as_deref(), Some("ac\"me"));
        assert_eq!(settings.services.len(), 1);
        for key in KEYS.iter().filter(|key| !key.secret) {
            let name = key.name.rsplit('.').next().unwrap();
            assert!(text.contains(&format!("{name} = ")), "{}", key.name);
            assert!(text.contains(key.env), "{}", key.name);
        }
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
    }

    #[test]
    fn what_is_commented_out_is_right_as_well() {
        // Taking the mark away is what a person does with it.
        let text: String = written()
            .text()
            .lines()
            .map(|line| match line.strip_prefix('#') {
                Some(key) if key.starts_with(|c: char| c.is_ascii_lowercase()) => key,
                _ => line,
            })
            .filter(|line| {
                // These name files, which are not there; and a table that was not begun.
                !["allowed_signers", "required", "dialect"]
                    .iter()
                    .any(|name| line.starts_with(name))
            })
            .map(|line| format!("{line}\n"))
            .collect();
        let settings = read(&text);
        assert_eq!(settings.profile.limits.concurrency.get(), 64);
        assert!(settings.profile.proxy.is_some());
    }
}
