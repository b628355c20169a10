//! What a server, its database, or what stands before it must be like; and what is said where it is not.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use super::super::connect::again;
use super::super::fixture::{Kind, PASSWORD, Server, free_port, shared};
use super::super::{Address, ConnectError, Deadlines, Environment, Postgres};
use super::{address, fresh, made, short};
use crate::store::{Error, Reads as _, Scan, Transact as _, tables};

fn refusal(text: &str) -> ConnectError {
    Postgres::open(address(text), short()).unwrap_err()
}

#[test]
fn what_is_not_there_is_named() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let port = free_port();
    let away = refusal(&format!("postgres://disburse@127.0.0.1:{port}/d"));
    assert!(matches!(away, ConnectError::Away { .. }), "{away}");
    let unknown = refusal(&server.address("nowhere"));
    assert!(
        matches!(unknown, ConnectError::NoDatabase { .. }),
        "{unknown}"
    );
    let database = server.database();
    let empty = refusal(&server.address(&database));
    assert!(matches!(empty, ConnectError::NoSchema { .. }), "{empty}");
    server.psql(&database, "create schema disburse");
    let foreign = refusal(&server.address(&database));
    assert!(
        matches!(foreign, ConnectError::ForeignSchema { .. }),
        "{foreign}"
    );
    let there = Postgres::make(address(&server.address(&database)), short()).unwrap_err();
    assert!(matches!(there, ConnectError::SchemaThere { .. }), "{there}");
    let nobody = refusal(&server.address(&database).replace("disburse@", "nobody@"));
    assert!(matches!(nobody, ConnectError::NotLetIn { .. }), "{nobody}");
}

#[test]
fn the_schema_is_of_this_release() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let store = fresh(server);
    let text = server.address(store.address().database());
    let set = |version: i64, oldest: i64| {
        let set = format!(
            "update disburse.schema_version set version = {version}; update disburse.turn set oldest = {oldest}"
        );
        server.psql(store.address().database(), &set);
        Postgres::open(address(&text), short())
    };
    let older = set(0, 0).unwrap_err();
    assert!(
        matches!(older, ConnectError::OlderSchema { found: 0, .. }),
        "{older}"
    );
    let newer = set(2, 2).unwrap_err();
    assert!(
        matches!(newer, ConnectError::NewerSchema { found: 2, .. }),
        "{newer}"
    );
    // One that was open before learns of it with the next transaction, whether that writes or reads.
    for told in [store.begin(), store.begin_reading()] {
        assert!(matches!(told, Err(Error::Outdated { .. })), "{told:?}");
    }
    // A later one that was only added to is one for this release, too.
    for versions in [(2, 1), (1, 1)] {
        let opened = set(versions.0, versions.1).unwrap();
        for store in [&opened, &store] {
            store.begin().unwrap();
            store.commit().unwrap();
        }
    }
}

#[test]
fn a_user_may_read_and_write_all_of_it() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let store = fresh(server);
    let database = store.address().database();
    let user = format!("user_of_{database}");
    let text = server
        .address(database)
        .replace("disburse@", &format!("{user}@"));
    server.psql(database, &format!("create role {user} login"));
    let closed = refusal(&text);
    assert!(
        matches!(closed, ConnectError::NoPrivileges { .. }),
        "{closed}"
    );
    server.psql(
        database,
        &format!("grant usage on schema disburse to {user}; grant select on all tables in schema disburse to {user}"),
    );
    let closed = refusal(&text);
    assert!(matches!(closed, ConnectError::OnlyReads { .. }), "{closed}");
    let store = Postgres::open_to_read(address(&text), short()).unwrap();
    store.begin_reading().unwrap();
    assert!(!store.any(&Scan::of(&tables::batch::TABLE)).unwrap());
    store.rollback().unwrap();
    server.psql(
        database,
        &format!("grant insert, update, delete on all tables in schema disburse to {user}"),
    );
    let store = Postgres::open(address(&text), short()).unwrap();
    store.begin().unwrap();
    store.commit().unwrap();
    let other = server.database();
    let text = server
        .address(&other)
        .replace("disburse@", &format!("{user}@"));
    let unmade = Postgres::make(address(&text), short()).unwrap_err();
    let said = format!("grant create on database \"{other}\" to \"{user}\"");
    assert!(unmade.to_string().contains(&said), "{unmade}");
    server.psql(&other, &said);
    Postgres::make(address(&text), short()).unwrap();
}

#[test]
fn a_password_comes_from_a_file_or_the_environment() {
    let Some(server) = Server::start(Kind::Installed, &[]) else {
        return;
    };
    let store = fresh(&server);
    let database = store.address().database();
    server.psql(
        database,
        &format!("create role asked login superuser password '{PASSWORD}'"),
    );
    server.write(
        "pg_hba.conf",
        "local all all trust\nhost all disburse 127.0.0.1/32 trust\nhost all asked 127.0.0.1/32 scram-sha-256\n",
    );
    server.reload();
    let text = server.address(database).replace("disburse@", "asked@");
    let open = |environment: &Environment| {
        Postgres::open(Address::parse(&text, environment).unwrap(), short()).map(|_| ())
    };
    let none = open(&Environment::default()).unwrap_err();
    assert!(matches!(none, ConnectError::NoPassword { .. }), "{none}");
    let given = |password: &str| Environment {
        pgpassword: Some(password.into()),
        ..Environment::default()
    };
    open(&given(PASSWORD)).unwrap();
    let wrong = open(&given("another one")).unwrap_err();
    assert!(
        matches!(wrong, ConnectError::WrongPassword { .. }),
        "{wrong}"
    );
    assert!(!wrong.to_string().contains("another one"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    let named = Environment {
        journal_password_file: Some(file.clone()),
        ..given("another one")
    };
    let missing = open(&named).unwrap_err();
    assert!(matches!(missing, ConnectError::Password(_)), "{missing}");
    fs::write(&file, format!("{PASSWORD}\n")).unwrap();
    let mode = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o640);
    let seen = open(&named).unwrap_err();
    assert!(seen.to_string().contains("chmod 600"), "{seen}");
    mode(0o600);
    open(&named).unwrap();
    let of_libpq = Environment {
        pgpassfile: Some(file.clone()),
        ..Environment::default()
    };
    let escaped = PASSWORD.replace(':', "\\:");
    let line = format!(
        "# ours\nelsewhere:*:*:*:no\n127.0.0.1:{}:*:asked:{escaped}\n",
        server.port()
    );
    fs::write(&file, line).unwrap();
    open(&of_libpq).unwrap();
}

#[test]
fn a_standby_and_a_server_that_forgets_are_refused() {
    let Some(server) = Server::start(Kind::Installed, &[]) else {
        return;
    };
    let store = fresh(&server);
    let text = server.address(store.address().database());
    server.stop("fast");
    server.write("standby.signal", "");
    server.run();
    let standby = refusal(&text);
    assert!(matches!(standby, ConnectError::Standby { .. }), "{standby}");
    let told = store.begin();
    assert!(
        matches!(told, Err(Error::ConnectionLost { .. })),
        "{told:?}"
    );
    // The one that takes writes is found, wherever it stands in the list.
    let Some(primary) = shared(Kind::Installed) else {
        return;
    };
    let other = fresh(primary);
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", server.port(), primary.port());
    let both = format!("postgres://disburse@{hosts}/{}", other.address().database());
    let found = Postgres::open(address(&both), short()).unwrap();
    found.begin().unwrap();
    found.commit().unwrap();
    let Some(server) = Server::start(Kind::Installed, &["fsync=off"]) else {
        return;
    };
    let text = server.address(&server.database());
    let unsafe_one = Postgres::make(address(&text), short()).unwrap_err();
    assert!(
        matches!(unsafe_one, ConnectError::NotDurable { .. }),
        "{unsafe_one}"
    );
}

#[test]
fn a_session_is_as_it_must_be_whatever_the_database_says() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let database = server.database();
    server.psql(
        "postgres",
        &format!(
            "alter database {database} set synchronous_commit = off; alter database {database} set default_transaction_read_only = on;
            alter database {database} set timezone = 'Asia/Kolkata'; alter database {database} set standard_conforming_strings = off;
            alter database {database} set default_transaction_isolation = 'serializable'"
        ),
    );
    // A default that only reads is one for whoever does not say otherwise.
    let store = made(&address(&server.address(&database)));
    store.begin().unwrap();
    let told = server.psql(
        &database,
        "select application_name from pg_stat_activity where datname = current_database() and state = 'idle in transaction'",
    );
    assert_eq!(told, [["disburse"]]);
    store.commit().unwrap();
}

#[test]
fn a_socket_is_found_by_its_folder() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let store = fresh(server);
    let (folder, port) = (server.folder().display(), server.port());
    let database = store.address().database();
    let text = format!("postgres://disburse@/{database}?host={folder}&port={port}");
    let store = Postgres::open(address(&text), short()).unwrap();
    store.begin().unwrap();
    store.commit().unwrap();
}

/// Certificates of an authority, and of a server with this name.
fn certificates(name: &str) -> [(&'static str, String); 3] {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let root = params.self_signed(&key).unwrap();
    let issuer = Issuer::new(params, key);
    let own = KeyPair::generate().unwrap();
    let params = CertificateParams::new([name.to_owned()]).unwrap();
    let certificate = params.signed_by(&own, &issuer).unwrap();
    [
        ("root.crt", root.pem()),
        ("server.crt", certificate.pem()),
        ("server.key", own.serialize_pem()),
    ]
}

#[test]
fn a_connection_is_encrypted_as_the_address_wants_it() {
    let Some(server) = Server::start(Kind::Installed, &[]) else {
        return;
    };
    let store = fresh(&server);
    let database = store.address().database().to_owned();
    let plain = server.address(&database);
    let folder = tempfile::tempdir().unwrap();
    let mut roots = Vec::new();
    for name in ["localhost", "elsewhere.example"] {
        let path = folder.path().join(name);
        for (file, text) in certificates(name) {
            match file {
                "root.crt" => fs::write(&path, text).unwrap(),
                // The server has the certificate of the first name.
                file if name == "localhost" => server.write(file, &text),
                _ => {}
            }
        }
        roots.push(path.display().to_string());
    }
    let refused = refusal(&format!("{plain}?sslmode=require"));
    assert!(matches!(refused, ConnectError::Tls { .. }), "{refused}");
    Postgres::open(address(&format!("{plain}?sslmode=prefer")), short()).unwrap();
    server.write(
        "pg_hba.conf",
        "local all all trust\nhostssl all all 127.0.0.1/32 trust\nhostssl all all ::1/128 trust\n",
    );
    server.psql("postgres", "alter system set ssl = on");
    server.stop("fast");
    server.run();
    let (root, stranger) = (&roots[0], &roots[1]);
    let named = plain.replace("127.0.0.1", "localhost");
    let taken = [
        format!("{plain}?sslmode=prefer"),
        format!("{plain}?sslmode=require"),
        format!("{plain}?sslmode=require&sslrootcert={root}"),
        format!("{plain}?sslmode=verify-ca&sslrootcert={root}"),
        format!("{named}?sslmode=verify-full&sslrootcert={root}"),
    ];
    for text in taken {
        let store = Postgres::open(address(&text), short())
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        store.begin().unwrap();
        store.commit().unwrap();
    }
    let not_taken = [
        format!("{plain}?sslmode=disable"),
        format!("{plain}?sslmode=require&sslrootcert={stranger}"),
        format!("{plain}?sslmode=verify-ca&sslrootcert={stranger}"),
        format!("{plain}?sslmode=verify-full&sslrootcert={root}"),
        format!("{named}?sslmode=verify-full&sslrootcert={stranger}"),
        format!("{named}?sslmode=verify-full"),
        format!("{named}?sslmode=verify-full&sslrootcert={root}.missing"),
    ];
    for text in not_taken {
        let error = Postgres::open(address(&text), short())
            .map(|_| ())
            .unwrap_err();
        let is_so = matches!(
            error,
            ConnectError::Tls { .. } | ConnectError::NotLetIn { .. } | ConnectError::TlsSettings(_)
        );
        assert!(is_so, "{text}: {error:?}");
    }
}

/// A pooler before a server, which ends with the test.
struct Pooler(Child);

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_pooler_that_changes_sessions_is_refused() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let Some(program) = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"]
        .into_iter()
        .find(|path| fs::exists(path).is_ok_and(|there| there))
    else {
        super::super::fixture::not_checked(
            "pgbouncer is not installed (apt-get install pgbouncer)",
        );
        return;
    };
    let store = fresh(server);
    let database = store.address().database();
    for (mode, is_taken) in [
        ("transaction", false),
        ("statement", false),
        ("session", true),
    ] {
        let port = free_port();
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let (users, settings) = (folder.path().join("users"), folder.path().join("settings"));
        fs::write(&users, "\"disburse\" \"\"\n").unwrap();
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port={port}\nunix_socket_dir=\n\
            auth_type=trust\nauth_file={}\npool_mode={mode}\nlogfile=\npidfile=\n",
            server.port(),
            users.display()
        );
        fs::write(&settings, text).unwrap();
        let mut start = server.ordinary(program);
        start
            .arg("-q")
            .arg(&settings)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let _pooler = Pooler(Command::spawn(&mut start).unwrap());
        let there = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                std::time::Instant::now() < there,
                "the pooler does not start"
            );
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let text = format!("postgres://disburse@127.0.0.1:{port}/{database}?sslmode=disable");
        let told = Postgres::open(address(&text), Deadlines::default());
        match is_taken {
            true => {
                let store = told.unwrap();
                store.begin().unwrap();
                store.commit().unwrap();
            }
            false => {
                let error = told.map(|_| ()).unwrap_err();
                assert!(
                    matches!(error, ConnectError::Pooler { .. }),
                    "{mode}: {error:?}"
                );
            }
        }
    }
}

#[test]
fn a_connection_that_is_ended_while_it_is_made_is_made_again_some_times() {
    let terminated = || ConnectError::Terminated {
        host: "db1".into(),
        what: "terminating connection".into(),
    };
    let away = || ConnectError::Away {
        host: "db1".into(),
        what: "nobody is there".into(),
    };
    // How often it is ended before something else happens, and how often it is tried then.
    for (ended, tried) in [(0, 1), (1, 2), (3, 4), (9, 4)] {
        for other in [Ok(()), Err(away())] {
            let mut tries = 0;
            let made = again(|| {
                tries += 1;
                match tries <= ended {
                    true => Err(terminated()),
                    false => other.clone(),
                }
            });
            assert_eq!(tries, tried);
            let is_terminated = matches!(made, Err(ConnectError::Terminated { .. }));
            assert_eq!(is_terminated, ended >= tried);
            assert_eq!(made.is_ok(), other.is_ok() && !is_terminated);
        }
    }
}
