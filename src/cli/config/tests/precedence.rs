//! Which source wins.

use super::*;

#[test]
fn one_key_through_all_five_sources() {
    let file = "\n[profiles.p.resolution]\nfirst_query_after = \"3s\"\n";
    let key = "resolution.first_query_after";
    let variable = "DISBURSE_FIRST_QUERY_AFTER";
    let load = |folder: Folder, sandbox: bool| {
        let settings = if sandbox {
            Settings::sandbox(&folder.sources)
        } else {
            Settings::load(&folder.sources)
        };
        let settings = settings.unwrap();
        let typed = settings.profile.policy.first_query_after.as_secs();
        let line =
            shown(&settings, key).replace(&format!("{}/", folder.directory.path().display()), "");
        assert!(
            line.starts_with(&format!("{typed}s (")),
            "{line} and {typed} agree"
        );
        line
    };
    let all = || Folder::with(file).variable(variable, "4s").flag(key, "5s");
    assert_eq!(load(all(), true), "5s (flag)");
    assert_eq!(
        load(Folder::with(file).variable(variable, "4s"), true),
        "4s (environment DISBURSE_FIRST_QUERY_AFTER)"
    );
    assert_eq!(load(Folder::with(file), true), "3s (disburse.toml:3)");
    assert_eq!(load(Folder::empty(), true), "2s (sandbox)");
    assert_eq!(load(Folder::empty(), false), "40s (default)");
    // The order holds without the sandbox's layer as well.
    assert_eq!(load(all(), false), "5s (flag)");
    assert_eq!(load(Folder::with(file), false), "3s (disburse.toml:3)");
}

#[test]
fn of_two_flags_the_last_wins() {
    let folder = Folder::empty()
        .flag("limits.rate", "5/s")
        .flag("limits.rate", "6/s");
    assert_eq!(shown(&folder.load(), "limits.rate"), "6/s (flag)");
}

#[test]
fn every_key_is_set_by_its_variable_and_by_its_flag() {
    for key in KEYS {
        let example = match key.kind {
            Kind::Dialect => "document",
            Kind::Text | Kind::Path | Kind::Journal | Kind::Originator | Kind::ServiceCode => "x",
            Kind::Url => "https://x.example/",
            Kind::UrlPath => "/x",
            Kind::Rate => "7/s",
            // Around the timeouts' defaults, so that their order holds.
            Kind::Duration { .. } => match key.name {
                "limits.connect_timeout" => "4s",
                "resolution.not_found_quarantine" => "70s",
                _ => "7s",
            },
            Kind::Count { .. } => "7",
            Kind::Flag => "true",
            Kind::Address => "127.0.0.1:7",
            Kind::Zone => "UTC",
            Kind::Country => "UG",
            Kind::Currency => "UGX",
            Kind::Word(words) => words[1],
        };
        let visible = if key.secret { "***" } else { example };
        // A key that goes with another one needs it.
        let folder = || match key.name {
            "float.reopen_lanes" => Folder::empty().flag("float.query", "true"),
            _ => Folder::empty(),
        };
        let settings = folder().variable(key.env, example).load();
        assert_eq!(
            shown(&settings, key.name),
            format!("{visible} (environment {})", key.env)
        );
        if !key.secret {
            let settings = folder().flag(key.name, example).load();
            assert_eq!(shown(&settings, key.name), format!("{example} (flag)"));
        }
    }
}

const TWO: &str = "[profiles.a]\nusername = \"a\"\n[profiles.b]\nusername = \"b\"\n";

#[test]
fn the_profile_is_chosen_by_flag_then_variable_then_default_then_if_alone() {
    let with_default = format!("default_profile = \"b\"\n{TWO}");
    let name = |folder: Folder| {
        let settings = folder.load();
        assert_eq!(
            settings.profile.username.as_ref(),
            Some(&settings.profile_name)
        );
        settings.profile_name
    };
    let variable = |text: &str| Folder::with(text).variable("DISBURSE_PROFILE", "a");
    assert_eq!(name(variable(&with_default).profile("b")), "b");
    assert_eq!(name(variable(&with_default)), "a");
    assert_eq!(name(Folder::with(&with_default)), "b");
    assert_eq!(name(Folder::with("[profiles.a]\nusername = \"a\"")), "a");
    assert_eq!(Folder::with("").load().profile_name, "default");
    assert_eq!(Folder::empty().load().profile_name, "default");
}

#[test]
fn a_profile_that_is_not_there_names_those_that_are() {
    for (folder, expected) in [
        (
            Folder::with(TWO).profile("c"),
            "command line: unknown profile \"c\"\ndid you mean \"a\"? disburse.toml has a, b",
        ),
        (
            Folder::with(TWO).variable("DISBURSE_PROFILE", "production"),
            "environment DISBURSE_PROFILE: unknown profile \"production\"\ndisburse.toml has a, b",
        ),
        (
            Folder::with(format!("default_profile = \"other\"\n{TWO}")),
            "disburse.toml:1:19: unknown profile \"other\"\ndisburse.toml has a, b",
        ),
        (
            Folder::with(TWO),
            "disburse.toml: no profile chosen\n\
             use --profile NAME, DISBURSE_PROFILE or default_profile; disburse.toml has a, b",
        ),
        (
            Folder::with("").profile("a"),
            "command line: unknown profile \"a\"\ndisburse.toml has no profiles",
        ),
        (
            Folder::empty().profile("a"),
            "command line: unknown profile \"a\"\nthere is no configuration file; name one with --config",
        ),
    ] {
        assert_eq!(folder.refusal(), expected);
    }
}

#[test]
fn the_file_is_found_by_flag_then_variable_then_here_then_at_home() {
    let mut folder = Folder::empty();
    for name in ["flag.toml", "variable.toml", "disburse.toml"] {
        std::fs::write(folder.path(name), "").unwrap();
    }
    for directory in ["home/.config/disburse", "xdg/disburse"] {
        std::fs::create_dir_all(folder.path(directory)).unwrap();
        std::fs::write(folder.path(directory).join("disburse.toml"), "").unwrap();
    }
    let variable = |name: &str, folder: &Folder, path: &str| {
        (name.to_owned(), folder.path(path).display().to_string())
    };
    let environment = [
        variable("DISBURSE_CONFIG", &folder, "variable.toml"),
        variable("XDG_CONFIG_HOME", &folder, "xdg"),
        variable("HOME", &folder, "home"),
    ];
    folder.sources.environment.extend(environment);
    folder.sources.config_path = Some(folder.path("flag.toml"));
    let found = |folder: &Folder| {
        folder.load().file.map(|path| {
            path.strip_prefix(folder.directory.path())
                .unwrap()
                .to_owned()
        })
    };
    assert_eq!(found(&folder), Ok("flag.toml".into()));
    folder.sources.config_path = None;
    assert_eq!(found(&folder), Ok("variable.toml".into()));
    folder.sources.environment.remove("DISBURSE_CONFIG");
    assert_eq!(found(&folder), Ok("disburse.toml".into()));
    std::fs::remove_file(folder.path("disburse.toml")).unwrap();
    assert_eq!(found(&folder), Ok("xdg/disburse/disburse.toml".into()));
    folder.sources.environment.remove("XDG_CONFIG_HOME");
    assert_eq!(
        found(&folder),
        Ok("home/.config/disburse/disburse.toml".into())
    );
    folder.sources.environment.remove("HOME");
    assert!(found(&folder).is_err());
}
