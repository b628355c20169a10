//! What `init` has to know: the questions, what a good answer is, and what is suggested where nobody says it.

use std::collections::BTreeMap;

use crate::cli::config::{self, Approval, Written};
use crate::cli::terminal::output;
use crate::domain::{Amount, Country, Currency, PaymentKind, ServiceCode};
use crate::ledger::approval::signers::Signers;

/// What is so after every refusal.
pub(super) const NOTHING: &str = "nothing was written";
/// The file of those who may sign.
pub(super) const SIGNERS: &str = "allowed_signers";
/// The file of the password.
pub(super) const PASSWORD: &str = "password";
/// The most services, and the most people, that are written down here.
const LISTED_MAX: usize = 100;

/// One question with one answer, which a flag answers as well.
#[derive(Debug)]
pub(super) struct Question {
    /// The key of the profile that is set.
    pub(super) key: &'static str,
    /// The flag.
    pub(super) flag: &'static str,
    /// As it is asked at a terminal.
    pub(super) asked: &'static str,
}

/// All of them, in the order in which they are asked: what is suggested rests on those before.
pub(super) const QUESTIONS: [Question; 6] = [
    Question {
        key: "country_code",
        flag: "--country",
        asked: "Country of those who are paid, in two letters such as KE",
    },
    Question {
        key: "currency_code",
        flag: "--currency",
        asked: "Currency that is paid, in three letters such as KES",
    },
    Question {
        key: "base_url",
        flag: "--gateway",
        asked: "Address of the payment gateway, such as https://gateway.example",
    },
    Question {
        key: "username",
        flag: "--username",
        asked: "User name of your account at the gateway",
    },
    Question {
        key: "originator",
        flag: "--originator",
        asked: "Name of the paying organisation (part of every payment's identifier: it must never change)",
    },
    Question {
        key: "time_zone",
        flag: "--time-zone",
        asked: "Time zone of the gateway, such as Africa/Nairobi",
    },
];

/// Where the services are said.
pub(super) const PAYS: &str = "--pays";

/// Where the people are said.
const SIGNER: &str = "--signer";
/// How many approve.
pub(super) const APPROVALS: &str = "--approvals";
/// The longest password that is read from its file.
const PASSWORD_MAX: usize = 1_024;

/// Something that is missing, or that is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// Nobody says it.
    Missing { flag: &'static str },
    /// What is said does not do.
    Bad {
        flag: &'static str,
        found: String,
        expected: String,
    },
}

/// Says what is wrong with what an option says.
pub(super) fn told(wrong: &Wrong) -> String {
    match wrong {
        Wrong::Missing { flag } => format!("{flag} is missing"),
        Wrong::Bad {
            flag,
            found,
            expected,
        } => format!(
            "{flag}: expected {expected}, found {:?}",
            output::name(found)
        ),
    }
}

/// What has been said so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    /// Answers to [`QUESTIONS`], by key.
    pub(super) values: BTreeMap<&'static str, String>,
    /// `CODE=KIND`.
    pub(super) services: Vec<String>,
    /// `NAME KEY`.
    pub(super) signers: Vec<String>,
    pub(super) approvals: Option<String>,
    pub(super) approve_above: Option<String>,
}

/// All answers, every one of them good.
#[derive(Clone, Debug)]
pub(super) struct Answers {
    pub(super) written: Written,
    pub(super) country: Country,
    /// The text of the file of those who may sign.
    pub(super) signers: Option<String>,
}

/// What this machine knows of zones: the text of its table of zones by country, where it has one.
pub(super) type ZoneTable<'a> = Option<&'a str>;

/// Returns what is suggested for a question, where the answers before it leave no doubt.
pub(super) fn suggested(question: &Question, said: &Said, zones: ZoneTable<'_>) -> Option<String> {
    let country = said.values.get("country_code")?;
    match question.key {
        "currency_code" => match Currency::of_country(Country::from_code(country)?).as_slice() {
            [only] => Some(only.code().to_owned()),
            _ => None,
        },
        "time_zone" => {
            let zone = only_zone(country, zones?)?;
            config::check_value("time_zone", zone).ok()?;
            Some(zone.to_owned())
        }
        _ => None,
    }
}

/// Returns the zone of a country that has but one, by the system's table: code, place and name, with tabs between.
fn only_zone<'t>(country: &str, table: &'t str) -> Option<&'t str> {
    let mut zones = table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut cells = line.split('\t');
            let code = cells.next()?;
            (code == country).then(|| cells.nth(1)).flatten()
        });
    match (zones.next(), zones.next()) {
        (Some(zone), None) => Some(zone.trim()),
        _ => None,
    }
}

/// Says what is wrong with one answer.
pub(super) fn check(question: &Question, text: &str) -> Result<(), String> {
    config::check_value(question.key, text)
}

/// Reads `CODE=KIND`.
pub(super) fn service(text: &str) -> Result<(ServiceCode, PaymentKind), String> {
    let kinds = || PaymentKind::ALL.map(|(_, name)| name).join(", ");
    let (code, kind) = text.split_once('=').ok_or_else(|| {
        format!(
            "CODE=KIND, such as B2C_MPESA=mobile_money; KIND is one of {}",
            kinds()
        )
    })?;
    let code = ServiceCode::parse(code.trim())
        .map_err(|error| format!("a service code before the = (it {error})"))?;
    let kind = kind.trim().to_ascii_lowercase().replace('-', "_");
    let kind = kind
        .parse()
        .map_err(|_| format!("one of {} behind the =", kinds()))?;
    Ok((code, kind))
}

/// Says what is wrong with services that are named together.
pub(super) fn services_differ(texts: &[String]) -> Result<(), String> {
    if texts.len() > LISTED_MAX {
        return Err(format!(
            "at most {LISTED_MAX} services; more go into the file"
        ));
    }
    let mut seen = Vec::new();
    for text in texts {
        let (code, _) = service(text)?;
        if seen.contains(&code) {
            return Err(format!("each service once, and {code} is named twice"));
        }
        seen.push(code);
    }
    Ok(())
}

/// Reads an amount.
pub(super) fn amount(text: &str, currency: Currency) -> Result<(), String> {
    Amount::parse(text, currency)
        .map(drop)
        .map_err(|error| format!("an amount in {currency} ({error})"))
}

/// Reads `NAME KEY`, a line of the file of those who may sign.
pub(super) fn signer(text: &str) -> Result<(), String> {
    if text.contains(['\n', '\r']) {
        return Err("one line: a name and a public key".to_owned());
    }
    Signers::parse(text).map(drop).map_err(|mistake| {
        format!(
            "a name and a public SSH key, as in alice@example.org ssh-ed25519 AAAA... ({})",
            mistake.what
        )
    })
}

/// Returns how many people lines name that may sign.
pub(super) fn people(lines: &[String]) -> Result<usize, String> {
    if lines.is_empty() {
        return Ok(0);
    }
    let signers = Signers::parse(&signers_text(lines));
    signers
        .map(|signers| signers.people())
        .map_err(|mistake| format!("lines that go together ({})", mistake.what))
}

fn signers_text(lines: &[String]) -> String {
    lines
        .iter()
        .map(|line| format!("{}\n", line.trim()))
        .collect()
}

/// Reads how many people approve.
pub(super) fn approvals(text: Option<&str>) -> Result<u8, String> {
    match text {
        None | Some("1") => Ok(1),
        Some("2") => Ok(2),
        Some(_) => Err("1 or 2".to_owned()),
    }
}

/// Returns how many people it takes: whoever loads, and those who approve.
pub(super) fn people_wanted(approvals_text: Option<&str>) -> usize {
    usize::from(approvals(approvals_text).unwrap_or(1)) + 1
}

/// Says what is wrong with a password: what the reader of its file would not take.
pub(super) fn password(text: &str) -> Result<(), String> {
    match text.len() > PASSWORD_MAX {
        true => Err(format!("at most {PASSWORD_MAX} bytes")),
        false => Ok(()),
    }
}

/// Takes out what options say that does not do, so that it is asked for, and returns what was wrong with it.
pub(super) fn take_out_wrong(said: &mut Said) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    let mut bad = |flag, found: &str, expected| {
        wrong.push(Wrong::Bad {
            flag,
            found: found.to_owned(),
            expected,
        });
    };
    for question in &QUESTIONS {
        let found = said.values.get(question.key).cloned();
        if let Some(found) = found
            && let Err(expected) = check(question, &found)
        {
            bad(question.flag, &found, expected);
            said.values.remove(question.key);
        }
    }
    if let Err(expected) = services_differ(&said.services) {
        bad(PAYS, &said.services.join(" "), expected);
        said.services.clear();
    }
    said.signers.retain(|line| match signer(line) {
        Ok(()) => true,
        Err(expected) => {
            bad(SIGNER, line, expected);
            false
        }
    });
    if let Err(expected) = people(&said.signers) {
        bad(SIGNER, "", expected);
        said.signers.clear();
    }
    if let Err(expected) = approvals(said.approvals.as_deref()) {
        let found = said.approvals.take().unwrap_or_default();
        bad(APPROVALS, &found, expected);
    }
    wrong
}

/// Puts everything together, or names all that is missing or wrong.
pub(super) fn complete(
    mut said: Said,
    profile: &str,
    zones: ZoneTable<'_>,
) -> Result<Answers, Vec<Wrong>> {
    let mut wrong = Vec::new();
    for question in &QUESTIONS {
        if !said.values.contains_key(question.key)
            && let Some(text) = suggested(question, &said, zones)
        {
            said.values.insert(question.key, text);
        }
        let flag = question.flag;
        match said.values.get(question.key) {
            None => wrong.push(Wrong::Missing { flag }),
            Some(text) => {
                if let Err(expected) = check(question, text) {
                    let found = text.clone();
                    wrong.push(Wrong::Bad {
                        flag,
                        found,
                        expected,
                    });
                }
            }
        }
    }
    let currency = said.values.get("currency_code");
    let currency = currency.and_then(|code| Currency::from_code(code));
    let services = services(&said.services, currency, &mut wrong);
    let (approval, signers) = approval(&said, currency, &mut wrong);
    let country = said.values.get("country_code");
    let country = country.and_then(|code| Country::from_code(code));
    match country.filter(|_| wrong.is_empty()) {
        None => Err(wrong),
        Some(country) => {
            said.values.insert("password_file", PASSWORD.to_owned());
            Ok(Answers {
                written: Written {
                    profile: profile.to_owned(),
                    values: said.values,
                    services,
                    approval,
                },
                country,
                signers,
            })
        }
    }
}

fn services(
    texts: &[String],
    currency: Option<Currency>,
    wrong: &mut Vec<Wrong>,
) -> Vec<(ServiceCode, PaymentKind, Currency)> {
    let (mut found, mut seen) = (Vec::new(), Vec::new());
    let bad = |text: &str, expected: String| Wrong::Bad {
        flag: PAYS,
        found: text.to_owned(),
        expected,
    };
    if texts.is_empty() {
        wrong.push(Wrong::Missing { flag: PAYS });
    }
    if texts.len() > LISTED_MAX {
        wrong.push(bad(
            "",
            format!("at most {LISTED_MAX} services; more go into the file"),
        ));
        return found;
    }
    for text in texts {
        match service(text) {
            Err(expected) => wrong.push(bad(text, expected)),
            Ok((code, _)) if seen.contains(&code) => {
                wrong.push(bad(text, "each service once".to_owned()));
            }
            Ok((code, kind)) => {
                seen.push(code.clone());
                found.extend(currency.map(|currency| (code, kind, currency)));
            }
        }
    }
    found
}

fn approval(
    said: &Said,
    currency: Option<Currency>,
    wrong: &mut Vec<Wrong>,
) -> (Option<Approval>, Option<String>) {
    if said.signers.is_empty() {
        return (None, None);
    }
    let bad = |flag, found: &str, expected: String| Wrong::Bad {
        flag,
        found: found.to_owned(),
        expected,
    };
    for text in &said.signers {
        if let Err(expected) = signer(text) {
            wrong.push(bad(SIGNER, text, expected));
        }
    }
    let people = match people(&said.signers) {
        Ok(people) => people,
        Err(expected) if wrong.is_empty() => {
            wrong.push(bad(SIGNER, "", expected));
            0
        }
        Err(_) => 0,
    };
    let required = approvals(said.approvals.as_deref()).unwrap_or_else(|expected| {
        let found = said.approvals.as_deref().unwrap_or_default();
        wrong.push(bad(APPROVALS, found, expected));
        1
    });
    let wanted = people_wanted(said.approvals.as_deref());
    if people > 0 && people < wanted {
        let expected = format!("{wanted} people at least: whoever loads, and those who approve");
        wrong.push(bad(SIGNER, &said.signers.join("; "), expected));
    }
    let above = said.approve_above.as_deref().zip(currency);
    let above = above.and_then(|(text, currency)| match amount(text, currency) {
        Ok(()) => Some((currency, text.to_owned())),
        Err(expected) => {
            wrong.push(bad("--approve-above", text, expected));
            None
        }
    });
    let approval = Approval {
        required,
        above,
        signers: SIGNERS,
    };
    (Some(approval), Some(signers_text(&said.signers)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZONES: &str = "# a remark\nKE\t-0117+03649\tAfrica/Nairobi\nUS\t+404251-0740023\tAmerica/New_York\tEastern\nUS\t+34-118\tAmerica/Los_Angeles\n";
    const ALICE: &str = "alice@example.org ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJWhM67d+HhQx0xucnH37ihLwczNXRP8iwSlPnfGzNtl";

    const BOB: &str = "bob@example.org ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIP5QP4pOAxYjf2K3cgGKUVrHZBvi3eNX2C7nMdAx06a";

    fn said(values: &[(&'static str, &str)], services: &[&str]) -> Said {
        Said {
            values: values
                .iter()
                .map(|(key, text)| (*key, (*text).to_owned()))
                .collect(),
            services: services.iter().map(|text| (*text).to_owned()).collect(),
            ..Said::default()
        }
    }

    fn enough() -> Said {
        let values = [
            ("country_code", "KE"),
            ("base_url", "https://gateway.example"),
            ("username", "acme"),
            ("originator", "acme"),
        ];
        said(&values, &["B2C=mobile-money"])
    }

    fn flags(wrong: &[Wrong]) -> Vec<String> {
        let of = |wrong: &Wrong| match wrong {
            Wrong::Missing { flag } => format!("{flag} missing"),
            Wrong::Bad { flag, .. } => format!("{flag} bad"),
        };
        wrong.iter().map(of).collect()
    }

    #[test]
    fn currency_and_zone_follow_from_a_country_that_has_but_one() {
        let question = |key| {
            QUESTIONS
                .iter()
                .find(|question| question.key == key)
                .unwrap()
        };
        for (country, currency, zone) in [
            ("KE", Some("KES"), Some("Africa/Nairobi")),
            // No table of this test has it.
            ("UG", Some("UGX"), None),
            ("TZ", Some("TZS"), None),
            ("GH", Some("GHS"), None),
            // Two zones; and a currency of which there are other kinds, which nobody pays with.
            ("US", Some("USD"), None),
            ("XX", None, None),
        ] {
            let said = said(&[("country_code", country)], &[]);
            let of = |key| suggested(question(key), &said, Some(ZONES));
            assert_eq!(of("currency_code").as_deref(), currency, "{country}");
            assert_eq!(of("time_zone").as_deref(), zone, "{country}");
            assert_eq!(of("username"), None);
        }
        let nothing = Said::default();
        assert_eq!(
            suggested(question("currency_code"), &nothing, Some(ZONES)),
            None
        );
        let kenya = said(&[("country_code", "KE")], &[]);
        assert_eq!(suggested(question("time_zone"), &kenya, None), None);
        assert_eq!(only_zone("ZZ", "ZZ\t+0+0\n"), None, "a torn line");
    }

    #[test]
    fn what_is_missing_or_wrong_is_named_all_at_once() {
        for (values, services, expected) in [
            (
                &[][..],
                &[][..],
                &[
                    "--country missing",
                    "--currency missing",
                    "--gateway missing",
                    "--username missing",
                    "--originator missing",
                    "--time-zone missing",
                    "--pays missing",
                ][..],
            ),
            (
                &[
                    ("country_code", "Kenya"),
                    ("currency_code", "shilling"),
                    ("base_url", "http://gateway.example"),
                    ("username", ""),
                    ("originator", ""),
                    ("time_zone", "Nairobi"),
                ],
                &["B2C", "B2C=wallet", " =bank", "A=bank", "A=rtgs"],
                &[
                    "--country bad",
                    "--currency bad",
                    "--gateway bad",
                    "--username bad",
                    "--originator bad",
                    "--time-zone bad",
                    "--pays bad",
                    "--pays bad",
                    "--pays bad",
                    "--pays bad",
                ],
            ),
        ] {
            let wrong = complete(said(values, services), "production", Some(ZONES)).unwrap_err();
            assert_eq!(flags(&wrong), expected);
        }
    }

    #[test]
    fn each_service_is_named_once() {
        let named = |texts: &[&str]| {
            services_differ(
                &texts
                    .iter()
                    .map(|text| (*text).to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        named(&["A=bank", "B=bank"]).unwrap();
        for texts in [&["A=bank", "A=rtgs"][..], &["A=gold"], &["A"]] {
            named(texts).unwrap_err();
        }
    }

    #[test]
    fn who_approves_is_held_to_the_rules_of_the_file() {
        let with = |signers: &[&str], approvals: Option<&str>, above: Option<&str>| {
            let said = Said {
                signers: signers.iter().map(|one| (*one).to_owned()).collect(),
                approvals: approvals.map(str::to_owned),
                approve_above: above.map(str::to_owned),
                ..enough()
            };
            complete(said, "production", Some(ZONES))
        };
        let answers = with(&[ALICE, BOB], None, Some("1000.00")).unwrap();
        assert_eq!(answers.signers.unwrap(), format!("{ALICE}\n{BOB}\n"));
        let approval = answers.written.approval.unwrap();
        assert_eq!(approval.required, 1);
        assert_eq!(approval.above.unwrap().1, "1000.00");
        for (signers, approvals, above, expected) in [
            (&["alice"][..], None, None, "--signer bad"),
            (&["a b\nc"], None, None, "--signer bad"),
            (&[ALICE, BOB], Some("3"), None, "--approvals bad"),
            (&[ALICE], None, None, "--signer bad"),
            (&[ALICE, BOB], Some("2"), None, "--signer bad"),
            (&[ALICE, BOB], None, Some("10.005"), "--approve-above bad"),
        ] {
            let wrong = with(signers, approvals, above).unwrap_err();
            assert_eq!(flags(&wrong), [expected], "{signers:?}");
        }
        assert!(with(&[], None, None).unwrap().written.approval.is_none());
    }
}
