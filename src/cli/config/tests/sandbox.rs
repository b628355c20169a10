//! The built-in profile of `--sandbox`.

use super::*;

#[test]
fn the_sandbox_needs_no_file() {
    let mut settings = Settings::sandbox(&Folder::empty().sources).unwrap();
    assert_eq!(settings.profile_name, "sandbox");
    for (key, expected) in [
        ("originator", "sandbox"),
        ("username", "sandbox"),
        ("password", "***"),
        ("country_code", "KE"),
        ("currency_code", "KES"),
        ("time_zone", "Africa/Nairobi"),
        ("limits.rate", "50/s"),
        ("limits.query_rate", "50/s"),
        ("limits.connect_timeout", "2s"),
        ("limits.request_timeout", "10s"),
        ("resolution.first_query_after", "2s"),
        ("resolution.query_backoff_max", "5s"),
        ("resolution.callback_grace", "4s"),
        ("resolution.delivered_grace", "4s"),
        ("resolution.not_found_quarantine", "4s"),
        ("resolution.lane_retry_after", "3s"),
        ("callback.listen", "127.0.0.1:0"),
        ("services.B2C_MTN_UG.currency_code", "UGX"),
    ] {
        assert_eq!(shown(&settings, key), format!("{expected} (sandbox)"));
    }
    let services: Vec<_> = settings.services.keys().map(ToString::to_string).collect();
    assert_eq!(
        services,
        [
            "AIRTIME",
            "B2C_AIRTEL",
            "B2C_MPESA",
            "B2C_MTN_UG",
            "B2C_TKASH",
            "B2C_VODACOM_TZ",
            "BANK_TRANSFER",
            "ELECTRICITY",
            "LEGACY_B2C",
            "PAYTV",
            "REFUND_MPESA",
            "RTGS",
            "WATER"
        ]
    );
    assert!(
        settings.gateway().is_err(),
        "the sandbox does not listen yet"
    );
    settings.profile.base_url = Some("http://127.0.0.1:9".parse().unwrap());
    assert_eq!(settings.gateway().unwrap().username, "sandbox");
}

#[test]
fn a_rehearsal_takes_nothing_that_reaches_a_real_gateway() {
    let folder = Folder::with(
        "[profiles.production]
        base_url = \"https://gateway.example\"
        auth_url = \"https://auth.example\"
        api_url = \"https://api.example\"
        file_service_url = \"https://files.example\"
        password_file = \"/nonexistent\"
        proxy = \"https://proxy.example\"
        ca_file = \"/nonexistent\"
        originator = \"acme\"
        callback.public_url = \"https://pay.example\"
        limits.rate = \"20/s\"
        ",
    )
    .variable("DISBURSE_BASE_URL", "https://gateway.example")
    .variable("DISBURSE_PASSWORD", "hunter2");
    let settings = Settings::sandbox(&folder.sources).unwrap();
    for key in KEYS.iter().filter(|key| key.is_external() && !key.secret) {
        assert_eq!(shown(&settings, key.name), "- (not set)", "{}", key.name);
    }
    assert_eq!(shown(&settings, "password"), "*** (sandbox)");
    assert_eq!(settings.profile_name, "production");
    assert!(shown(&settings, "originator").starts_with("acme ("));
    assert!(shown(&settings, "limits.rate").starts_with("20/s ("));
    assert_eq!(shown(&settings, "username"), "sandbox (sandbox)");
    // A flag is the caller's own.
    let folder = folder.flag("base_url", "http://127.0.0.1:9");
    let settings = Settings::sandbox(&folder.sources).unwrap();
    assert_eq!(shown(&settings, "base_url"), "http://127.0.0.1:9 (flag)");
}

#[test]
fn the_files_own_services_stand_alone() {
    let folder = Folder::with("[services.A]\nkind = \"bank\"\ncurrency_code = \"KES\"\n");
    let settings = Settings::sandbox(&folder.sources).unwrap();
    let services: Vec<_> = settings.services.keys().map(ToString::to_string).collect();
    assert_eq!(services, ["A"]);
}

#[test]
fn the_sandbox_chooses_no_profile_among_several() {
    let folder = Folder::with("[profiles.a]\n[profiles.b]\n");
    let settings = Settings::sandbox(&folder.sources).unwrap();
    assert_eq!(settings.profile_name, "sandbox");
    let folder = folder.profile("sandbox");
    assert_eq!(
        Settings::sandbox(&folder.sources).unwrap().profile_name,
        "sandbox"
    );
    let folder = folder.profile("c");
    assert!(Settings::sandbox(&folder.sources).is_err());
}
