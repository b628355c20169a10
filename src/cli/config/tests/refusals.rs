//! Every mistake has one error, with its place and what would be right.

use super::*;

#[test]
fn mistakes_in_the_file_are_named_with_their_place() {
    let cases: &[(&str, &str, &[&str])] = &[
        (
            "unknown key",
            "[profiles.p.limits]\n  rat = \"5/s\"\n",
            &[
                "disburse.toml:2:3: unknown key \"rat\"",
                "did you mean \"rate\"?",
            ],
        ),
        (
            "a key of another table",
            "[profiles.p]\nrate = \"5/s\"\n",
            &[
                "disburse.toml:2:1: unknown key \"rate\"",
                "belongs in [profiles.p.limits]",
            ],
        ),
        (
            "a key far from everything lists what there is",
            "[profiles.p.callback]\nzzzzzzzz = 1\n",
            &[
                "disburse.toml:2:1:",
                "[profiles.p.callback] takes listen, public_url, settle_on",
            ],
        ),
        (
            "a format of accounts that is none",
            "[services.A]\nkind = \"bank\"\ncurrency_code = \"KES\"\naccount_format = \"\\\\d{13}\"\n",
            &[
                "disburse.toml:4:18: services.A.account_format: expected counts with a class",
                r#"found "\\d{13}""#,
            ],
        ),
        (
            "a format that takes what is no account",
            "[services.A]\nkind = \"bank\"\ncurrency_code = \"KES\"\naccount_format = \"2-13n\"\n",
            &[
                "disburse.toml:4:18: services.A.account_format: expected accounts of at least 5 characters, where this takes 2",
            ],
        ),
        (
            "a format of accounts where these are phone numbers",
            "[services.A]\nkind = \"airtime\"\ncurrency_code = \"KES\"\naccount_format = \"13n\"\n",
            &["disburse.toml:4:18: services.A: account_format goes with banks and bills"],
        ),
        (
            "unknown table",
            "[profile.p]\n",
            &[
                "disburse.toml:1:2: unknown key \"profile\"",
                "did you mean \"profiles\"?",
            ],
        ),
        (
            "the first mistake of the file comes first",
            "[profiles.p]\nzone = \"x\"\nbase = \"y\"\n",
            &["disburse.toml:2:1: unknown key \"zone\""],
        ),
        (
            "columns count characters",
            "[profiles.p]\noriginator = \"ä\"\n[profiles.p.limits]\n\"é\" = 1\n",
            &["disburse.toml:4:1: unknown key \"é\""],
        ),
        (
            "not TOML",
            "[profiles.p\nbase_url = 5\n",
            &["disburse.toml:1:12: "],
        ),
        (
            "a key set twice",
            "[profiles.p]\nusername = \"a\"\nusername = \"b\"\n",
            &["disburse.toml:3:1: duplicate key"],
        ),
        (
            "a bill's amount of what is no postpaid bill",
            "[services.A]\nkind = \"airtime\"\ncurrency_code = \"KES\"\nbill_amount = \"any\"\n",
            &[
                "disburse.toml:4:15: services.A: bill_amount = any goes with kind bill_postpaid alone, the kind is airtime",
            ],
        ),
        (
            "a bill's amount that is none",
            "[services.A]\nkind = \"bill_postpaid\"\nbill_amount = \"full\"\ncurrency_code = \"KES\"\n",
            &[
                "disburse.toml:3:15: services.A.bill_amount: expected one of exact, at_most, any, found \"full\"",
            ],
        ),
        (
            "a date that is none",
            "[services.A]\nkind = \"airtime\"\ndate_payment_received = \"now\"\n",
            &[
                "disburse.toml:3:25: services.A.date_payment_received: expected one of load_time, empty, found \"now\"",
            ],
        ),
        (
            "a threshold of no currency",
            "[document_thresholds]\nKSH = \"1000000\"\n",
            &[
                "disburse.toml:2:1: document_thresholds: expected a three-letter currency code such as \"KES\", found \"KSH\"",
            ],
        ),
        (
            "a threshold without quotes",
            "[document_thresholds]\nKES = 1000000\n",
            &[
                "disburse.toml:2:7: document_thresholds.KES: expected an amount in quotes, such as \"10.00\", found the number 1000000",
            ],
        ),
        (
            "a threshold with decimals that its currency has not",
            "[document_thresholds]\nUGX = \"10.5\"\n",
            &[
                "disburse.toml:2:7: document_thresholds.UGX: expected an amount of UGX (UGX has 0 decimals",
            ],
        ),
        (
            "a threshold that is no table",
            "document_thresholds = \"1000000\"\n",
            &["disburse.toml:1:23: document_thresholds: expected a table"],
        ),
        (
            "a number in quotes",
            "[profiles.p.limits]\nconcurrency = \"64\"\n",
            &[
                "disburse.toml:2:15: limits.concurrency: expected a whole number from 1 to 1024, \
                 without quotes, found the text \"64\"",
            ],
        ),
        (
            "a number out of its range",
            "[profiles.p.limits]\nconcurrency = 0\n",
            &[
                "disburse.toml:2:15: limits.concurrency: expected a whole number from 1 to 1024, found \"0\"",
            ],
        ),
        (
            "a negative number",
            "[profiles.p.limits]\nbreaker_losses = -1\n",
            &[
                "disburse.toml:2:18: limits.breaker_losses: expected a whole number",
                "found the number -1",
            ],
        ),
        (
            "a duration without unit",
            "[profiles.p.resolution]\ncallback_grace = 40\n",
            &[
                "disburse.toml:2:18: resolution.callback_grace: expected a duration in quotes, \
                 such as \"40s\", found the number 40",
            ],
        ),
        (
            "a duration too short to protect",
            "[profiles.p.resolution]\nnot_found_quarantine = \"10ms\"\n",
            &[
                "disburse.toml:2:24: resolution.not_found_quarantine: expected a duration of at least 100 ms",
            ],
        ),
        (
            "a duration too long to mean it",
            "[profiles.p.resolution]\ngive_up_after = \"400d\"\n",
            &["disburse.toml:2:17:", "at most 366d"],
        ),
        (
            "a flag in quotes",
            "[profiles.p.resolution]\nstatus_query = \"yes\"\n",
            &[
                "disburse.toml:2:16:",
                "expected true or false, without quotes, found the text \"yes\"",
            ],
        ),
        (
            "a rate in words",
            "[profiles.p.limits]\nrate = \"fast\"\n",
            &[
                "disburse.toml:2:8: limits.rate: expected a rate from 1/s to 1000000/s",
                "found \"fast\"",
            ],
        ),
        (
            "a word of a closed list",
            "[profiles.p.callback]\nsettle_on = \"never\"\n",
            &[
                "disburse.toml:2:13: callback.settle_on: expected one of callback, confirmed, found \"never\"",
            ],
        ),
        (
            "an unknown zone",
            "[profiles.p]\ntime_zone = \"Mars/Olympus\"\n",
            &[
                "disburse.toml:2:13: time_zone: expected an IANA time zone",
                "found \"Mars/Olympus\"",
            ],
        ),
        (
            "an unknown country",
            "[profiles.p]\ncountry_code = \"Kenya\"\n",
            &[
                "disburse.toml:2:16: country_code: expected a two-letter country code such as \"KE\"",
            ],
        ),
        (
            "an unknown currency",
            "[profiles.p]\ncurrency_code = \"KSH\"\n",
            &["disburse.toml:2:17: currency_code: expected a three-letter currency code"],
        ),
        (
            "a listener by name",
            "[profiles.p.callback]\nlisten = \"localhost:8490\"\n",
            &["disburse.toml:2:10: callback.listen: expected an IP address and a port"],
        ),
        (
            "a value where a table belongs",
            "[profiles.p]\nlimits = 5\n",
            &["disburse.toml:2:10: limits: expected a table, found the number 5"],
        ),
        (
            "a table where a value belongs",
            "[profiles.p.username]\n",
            &["username: expected a text in quotes, found a table"],
        ),
        (
            "a mistake in a profile that is not chosen",
            "default_profile = \"a\"\n[profiles.a]\n[profiles.b.limits]\nrate = true\n",
            &["disburse.toml:4:8: limits.rate:", "found true"],
        ),
        (
            "timeouts the wrong way round",
            "[profiles.p.limits]\nconnect_timeout = \"60s\"\n",
            &[
                "disburse.toml:2:19: limits.connect_timeout = 60s (disburse.toml:2) must be shorter than \
                 limits.request_timeout = 60s (default)",
            ],
        ),
        (
            "a post that is still waited for is asked about and not found",
            "[profiles.p.resolution]\nnot_found_quarantine = \"60s\"\n",
            &[
                "disburse.toml:2:24: resolution.not_found_quarantine = 60s (disburse.toml:2) must be longer than \
                 limits.request_timeout = 60s (default)",
            ],
        ),
        (
            "a timeout beyond the quarantine",
            "[profiles.p.limits]\nrequest_timeout = \"3m\"\n",
            &[
                "disburse.toml:2:19: resolution.not_found_quarantine = 2m (default) must be longer than \
                 limits.request_timeout = 3m (disburse.toml:2)",
            ],
        ),
        (
            "a confirmation that nothing can give",
            "[profiles.p]\ncallback.settle_on = \"confirmed\"\nresolution.status_query = false\n",
            &[
                "callback.settle_on = confirmed",
                "cannot go with resolution.status_query = false",
            ],
        ),
        (
            "a service without currency",
            "[services.A]\nkind = \"bank\"\n",
            &["disburse.toml:1:11: services.A: currency_code is missing"],
        ),
        (
            "a service of no kind",
            "[services.A]\nkind = \"cash\"\ncurrency_code = \"KES\"\n",
            &["disburse.toml:2:8: services.A.kind: expected one of mobile_money, bank, rtgs"],
        ),
        (
            "a service limit as a binary float",
            "[services.A]\nkind = \"bank\"\ncurrency_code = \"KES\"\nmin = 10.00\n",
            &[
                "disburse.toml:4:7: services.A.min: expected an amount in quotes, such as \"10.00\", found the number 10.00",
            ],
        ),
        (
            "a service limit with too many decimals",
            "[services.A]\nkind = \"bank\"\nmin = \"10.5\"\ncurrency_code = \"UGX\"\n",
            &[
                "disburse.toml:3:7: services.A.min: expected an amount of UGX (UGX has 0 decimals, found 1), found \"10.5\"",
            ],
        ),
        (
            "service limits the wrong way round",
            "[services.A]\nkind = \"bank\"\ncurrency_code = \"KES\"\nmin = \"10\"\nmax = \"9\"\n",
            &["disburse.toml:4:7: services.A: min 10.00 is more than max 9.00"],
        ),
        (
            "an unknown entry of a service",
            "[services.A]\nkinds = \"bank\"\n",
            &[
                "disburse.toml:2:1: unknown key \"kinds\"",
                "did you mean \"kind\"?",
            ],
        ),
        (
            "a service code that is none",
            "[services.\"A B\"]\n",
            &[
                "disburse.toml:1:11: services: expected a service code",
                "found \"A B\"",
            ],
        ),
        (
            "an unknown column",
            "[columns]\n\"Phone\" = \"msisd\"\n",
            &[
                "disburse.toml:2:11: unknown column \"msisd\"",
                "did you mean \"msisdn\"?",
            ],
        ),
        (
            "an extra column without a name",
            "[columns]\n\"Phone\" = \"extra.\"\n",
            &["unknown column \"extra.\""],
        ),
        (
            "a code that is no number",
            "[status_codes]\npaid = \"paid\"\n",
            &[
                "disburse.toml:2:1: status_codes: expected a status code",
                "found \"paid\"",
            ],
        ),
        (
            "a class of the other table",
            "[status_codes]\n231 = \"refused\"\n",
            &[
                "disburse.toml:2:7: status_codes.231: expected failed or in_doubt (since it says that this post was not executed), found \"refused\"",
            ],
        ),
        (
            "a pending code taken for proof",
            "[status_codes]\n139 = \"paid\"\n",
            &[
                "disburse.toml:2:7: status_codes.139:",
                "expected acknowledged, delivered or in_doubt (since it proves nothing final",
            ],
        ),
        (
            "a pending code taken for unknown, which would pay twice",
            "[status_codes]\n148 = \"not_found\"\n",
            &["status_codes.148:"],
        ),
        (
            "a duplicate taken for a refusal",
            "[post_codes]\n229 = \"refused\"\n",
            &[
                "post_codes.229:",
                "acknowledged, delivered, duplicate or in_doubt",
            ],
        ),
        (
            "success taken for failure",
            "[status_codes]\n140 = \"failed\"\n",
            &[
                "disburse.toml:2:7: status_codes.140: expected paid, acknowledged, delivered or in_doubt (since it says that the payment succeeded), found \"failed\"",
            ],
        ),
        (
            "an unknown transaction taken for failure",
            "[status_codes]\n143 = \"failed\"\n",
            &["status_codes.143: expected not_found or in_doubt"],
        ),
        (
            "an open outcome taken for success",
            "[status_codes]\n219 = \"paid\"\n",
            &["status_codes.219: expected acknowledged, delivered or in_doubt"],
        ),
        (
            "an end that is another one in the reply to a post",
            "[post_codes]\n184 = \"failed\"\n[status_codes]\n184 = \"paid\"\n",
            &["184: expected the same end as"],
        ),
        (
            "success taken for want of float, which pays again and again",
            "[post_codes]\n183 = \"no_float\"\n",
            &["post_codes.183: expected paid, acknowledged, delivered or in_doubt"],
        ),
        (
            "a refusal of one post taken for the failure of all",
            "[post_codes]\n231 = \"failed\"\n",
            &["post_codes.231: expected refused, no_float or in_doubt"],
        ),
        (
            "a code of its own that would post again",
            "[post_codes]\n990 = \"no_float\"\n",
            &[
                "post_codes.990: expected paid, failed, refused, acknowledged, delivered, duplicate or in_doubt (since the interface does not know this code, and no payment is posted again on it alone), found \"no_float\"",
            ],
        ),
        (
            "a code of its own that would post again after a question",
            "[status_codes]\n990 = \"not_found\"\n",
            &["status_codes.990: expected paid, failed, acknowledged, delivered or in_doubt"],
        ),
        (
            "a code written in two ways",
            "[status_codes]\n140 = \"paid\"\n\"0140\" = \"in_doubt\"\n",
            &[
                "disburse.toml:3:1: status_codes: expected a status code",
                "found \"0140\"",
            ],
        ),
        (
            "a generic failure taken for proof",
            "[post_codes]\n174 = \"failed\"\n",
            &["post_codes.174:"],
        ),
        (
            "a generic failure taken for the refusal of a duplicate",
            "[post_codes]\n104 = \"duplicate\"\n",
            &["post_codes.104: expected acknowledged, delivered or in_doubt"],
        ),
    ];
    for (name, text, parts) in cases {
        let refusal = Folder::with(text).refusal();
        for part in *parts {
            assert!(refusal.contains(part), "{name}: {refusal:?} lacks {part:?}");
        }
    }
}

#[test]
fn a_file_that_is_no_text_is_refused() {
    for (content, part) in [
        (
            &b"# a\n\xff"[..],
            "disburse.toml: line 2, byte 4: is not UTF-8",
        ),
        (
            &vec![b'#'; 300_000][..],
            "disburse.toml: is larger than 262144 bytes",
        ),
    ] {
        let refusal = Folder::with(content).refusal();
        assert!(refusal.contains(part), "{refusal}");
    }
    let folder = Folder::empty();
    std::fs::create_dir(folder.path("disburse.toml")).unwrap();
    assert!(folder.refusal().contains("is not a regular file"));
    let mut folder = Folder::empty();
    folder.sources.config_path = Some(folder.path("absent.toml"));
    let refusal = folder.refusal();
    assert!(
        refusal.starts_with("configuration file \"")
            && refusal.contains("absent.toml\" does not exist"),
        "{refusal}"
    );
}

#[test]
fn a_file_that_everybody_may_write_is_refused_with_what_mends_it() {
    let folder = Folder::with("[profiles.p]\n");
    let set = |mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(folder.path("disburse.toml"), mode).unwrap();
    };
    for mode in [0o666, 0o602, 0o777] {
        set(mode);
        let refusal = folder.refusal();
        for part in [
            &format!("disburse.toml: everybody may write to it (mode {mode:04o})"),
            "chmod go-w disburse.toml",
        ] {
            assert!(refusal.contains(part), "{refusal}");
        }
        Settings::sandbox(&folder.sources).unwrap();
    }
    for mode in [0o600, 0o644, 0o444, 0o664] {
        set(mode);
        folder.load();
    }
}

#[test]
fn good_files_are_accepted() {
    for text in [
        "",
        "\u{feff}[profiles.p]\r\nusername = \"a\"\r\n",
        "[profiles.p.limits]\nrate = 5\nconcurrency = 1_000\n",
        "profiles.p.limits.rate = \"5/s\"\n",
        "[profiles]\np = { limits = { rate = \"5/s\" } }\n",
        "[status_codes]\n184 = \"paid\"\n139 = \"in_doubt\"\n-1 = \"in_doubt\"\n",
        "[post_codes]\n\"231\" = \"no_float\"\n229 = \"duplicate\"\n",
        "[columns]\n\"A\" = \"msisdn\"\n\"B\" = \"msisdn\"\n\"C\" = \"extra.shop\"\n",
        "[services.A]\nkind = \"rtgs\"\ncurrency_code = \"KES\"\nmax = \"5\"\ncarriers = [\"X\"]\n",
    ] {
        Folder::with(text).load();
    }
}

#[test]
fn mistakes_in_the_environment_name_the_variable() {
    for (name, value, parts) in [
        (
            "DISBURSE_RATE",
            "fast",
            [
                "environment DISBURSE_RATE: limits.rate: expected a rate",
                "found \"fast\"",
            ],
        ),
        (
            "DISBURSE_RATE",
            "",
            ["found nothing", "correct or unset DISBURSE_RATE"],
        ),
        (
            "DISBURSE_CONCURRENCY",
            "9999",
            ["a whole number from 1 to 1024", "found \"9999\""],
        ),
        (
            "DISBURSE_STATUS_QUERY",
            "1",
            ["expected true or false", "found \"1\""],
        ),
        (
            "DISBURSE_PASSWORD",
            "",
            ["password: expected one line", "found nothing"],
        ),
    ] {
        let refusal = Folder::empty().variable(name, value).refusal();
        for part in parts {
            assert!(refusal.contains(part), "{name}: {refusal:?} lacks {part:?}");
        }
    }
    for name in OTHER_VARIABLES.iter().filter(|name| name.contains("LOG")) {
        Folder::empty().variable(name, "debug").load();
    }
}

#[test]
fn an_unknown_variable_sets_nothing_and_names_the_nearest() {
    for (name, hint) in [
        ("DISBURSE_RAT", "did you mean DISBURSE_RATE?"),
        ("DISBURSE_PASWORD", "did you mean DISBURSE_PASSWORD?"),
        ("DISBURSE_QQQQQQQQQQ", "unset it"),
    ] {
        let settings = Folder::empty().variable(name, "hunter2").load();
        assert!(!format!("{settings:?}").contains("hunter2"), "{name}");
        let suggested = crate::cli::config::value::suggest::variable(name);
        assert!(suggested.contains(hint), "{name}: {suggested}");
    }
}

#[test]
fn flags_are_checked_like_everything_else() {
    let refusal = Folder::empty().flag("limits.rate", "fast").refusal();
    assert!(
        refusal.starts_with("command line: limits.rate: expected a rate"),
        "{refusal}"
    );
    let refusal = Folder::empty().flag("limits.rat", "5/s").refusal();
    assert!(refusal.contains("unknown key \"limits.rat\""), "{refusal}");
}

#[test]
fn what_a_gateway_needs_is_asked_for_only_when_it_is_needed() {
    let folder = Folder::with("[profiles.p]\nusername = \"acme\"\npayment_bearer = true\n");
    let settings = folder.load();
    let refusal = folder.printed(&settings.gateway().unwrap_err());
    assert_eq!(
        refusal,
        "profile \"p\": not set: base_url, password, originator, country_code, time_zone, auth_url\n\
         add base_url, password_file, originator, country_code, time_zone, auth_url to [profiles.p] in disburse.toml, \
         or set DISBURSE_BASE_URL, DISBURSE_PASSWORD, DISBURSE_ORIGINATOR, DISBURSE_COUNTRY_CODE, \
         DISBURSE_TIME_ZONE, DISBURSE_AUTH_URL"
    );
    let refusal = folder.printed(&settings.originator().unwrap_err());
    assert!(refusal.contains("not set: originator\n"), "{refusal}");
    let auth_url = settings.profile.auth_url.as_ref();
    let refusal = folder.printed(&settings.need("auth_url", auth_url).unwrap_err());
    assert!(refusal.contains("set DISBURSE_AUTH_URL"), "{refusal}");
}

#[test]
fn without_any_file_the_hint_says_where_it_was_looked_for() {
    let folder = Folder::empty().variable("HOME", "/nonexistent/acme");
    let refusal = folder.printed(&folder.load().gateway().unwrap_err());
    for part in [
        "no configuration: not set: base_url",
        "looked for disburse.toml and /nonexistent/acme/.config/disburse/disburse.toml",
        "--sandbox needs none",
    ] {
        assert!(refusal.contains(part), "{refusal:?} lacks {part:?}");
    }
}
