//! A batch goes where it was loaded for: who loads under one profile and runs under another has mistaken one of them.

use std::sync::Mutex;

use crate::accounts::{Books, PAY, RUN, assert_executed_once, gateway};
use crate::files::rows;
use crate::gateways::Server;
use crate::world::{Setup, World};

const LOAD: [&str; 4] = ["load", "batch.csv", "--batch", "b"];

/// Two profiles, and a file of three payments.
fn world(server: &Server, seed: u64) -> World {
    let setup = Setup {
        more: r#"
[profiles.daughter]
username = "stranger"
originator = "acme"
country_code = "KE"
currency_code = "KES"
time_zone = "Africa/Nairobi"
resolution.first_query_after = "200ms"
"#,
        ..Setup::default()
    };
    let world = World::new(&setup).towards(&server.url());
    world.write_rows("batch.csv", &rows(3, seed));
    world
}

/// All three are paid, each once and by this account alone, and the evidence holds.
#[track_caller]
fn is_paid_by(world: &World, books: &Mutex<Books>, account: &str) {
    assert_executed_once(books, 3);
    let posted_by = books.lock().unwrap().posted_by();
    assert_eq!(posted_by, [account.to_owned()].into());
    world.expect(0, &["verify", "b"]);
}

fn posts(books: &Mutex<Books>) -> usize {
    books.lock().unwrap().posted_by().len()
}

#[test]
fn a_batch_does_not_go_to_another_gateway_than_it_was_loaded_for() {
    let (right, paid) = gateway(|_| Some(139));
    let (wrong, strange) = gateway(|_| Some(139));
    let world = world(&right, 130);
    world
        .expect(0, &LOAD)
        .says("batch b is to be paid by account acme at http://127.0.0.1:")
        .says("(profile test)");
    let world = world.towards(&wrong.url());
    for command in [&RUN[..], &PAY] {
        world
            .expect(2, command)
            .says("batch b is to be paid by account acme at http://127.0.0.1:")
            .says("Nothing was sent")
            .says("this profile, or a variable beside it, says something else than when the batch was loaded")
            .says("disburse run b --gateway-moved --reason TEXT");
    }
    world
        .expect(0, &["status", "b"])
        .says("to be paid by account acme at http://127.0.0.1:")
        .says("with which it is not run");
    // Whoever adds to it hears of it before.
    world.write_rows("more.csv", &rows(5, 130));
    world
        .expect(0, &["load", "more.csv", "--batch", "b", "--amend"])
        .says("batch b is to be paid by account acme")
        .says("with which it is not run");
    let told = world.status("b")["destination"].clone();
    assert_eq!(
        (&told["account"], &told["profile"]),
        (&"acme".into(), &"test".into())
    );
    assert_eq!(posts(&strange), 0);
    let world = world.towards(&right.url());
    world.expect(0, &RUN);
    assert_executed_once(&paid, 5);
    assert_eq!(posts(&strange), 0);
    world.expect(0, &["verify", "b"]);
}

#[test]
fn a_batch_is_not_paid_by_the_account_of_another_profile() {
    let (server, books) = gateway(|_| Some(139));
    let world = world(&server, 132);
    world.expect(0, &LOAD);
    let daughter = ["--profile", "daughter"];
    for command in [&RUN[..], &PAY] {
        world
            .expect(2, &[command, &daughter].concat())
            .says("is to be paid by account acme")
            .says("configured for account stranger")
            .says("(profile daughter)")
            .says("choose the profile that it was loaded with: --profile test")
            .says("disburse --profile daughter run b --account-moved --reason TEXT");
    }
    assert_eq!(posts(&books), 0);
    let wrong_flag = ["--gateway-moved", "--reason", "x"];
    world
        .expect(2, &[&RUN[..], &daughter, &wrong_flag].concat())
        .says("is to be paid by account acme");
    assert_eq!(posts(&books), 0);
    let moved = ["--account-moved", "--reason", "the daughter pays"];
    world
        .expect(0, &[&RUN[..], &daughter, &moved].concat())
        .says("batch b is moved: it is to be paid by account stranger at http://127.0.0.1:")
        .says("nothing that this journal has posted of it is open there");
    is_paid_by(&world, &books, "stranger");
    world
        .expect(0, &["explain", "b", "R00001"])
        .says("account-moved \"stranger\": by")
        .says("reason \"the daughter pays\"");
    // The mother's profile may not go on with it now.
    world
        .expect(2, &RUN)
        .says("belongs to account stranger of its gateway");
    world.expect(0, &["verify", "b"]);
}

#[test]
fn a_batch_goes_elsewhere_altogether_only_by_an_order_that_names_both() {
    let (right, paid) = gateway(|_| Some(139));
    let (other, elsewhere) = gateway(|_| Some(139));
    let world = world(&right, 133);
    world.expect(0, &LOAD);
    let world = world.towards(&other.url());
    let daughter = ["run", "b", "--yes", "--profile", "daughter"];
    world
        .expect(2, &daughter)
        .says("--gateway-moved --account-moved --reason TEXT");
    // One of them alone is told what it lacks, and not what it names.
    for one in ["--gateway-moved", "--account-moved"] {
        world
            .expect(2, &[&daughter[..], &[one, "--reason", "x"]].concat())
            .says("is to be paid by account acme")
            .says("configured for account stranger")
            .says("--gateway-moved --account-moved --reason TEXT");
    }
    let both = ["--gateway-moved", "--account-moved", "--reason", "sold"];
    world
        .expect(0, &[&daughter[..], &both].concat())
        .says("nothing that this journal has posted of it is open there");
    assert_executed_once(&elsewhere, 3);
    assert_eq!(posts(&paid), 0);
    world.expect(0, &["verify", "b"]);
}

#[test]
fn a_batch_that_was_loaded_before_a_gateway_was_configured_goes_where_it_is_run_first() {
    let (server, books) = gateway(|_| Some(139));
    let world = world(&server, 134);
    let mut nowhere = World::new(&Setup::default());
    nowhere.set(
        "DISBURSE_JOURNAL",
        world.path("disburse.db").to_str().unwrap(),
    );
    nowhere.write("batch.csv", &world.read("batch.csv"));
    let loaded = nowhere.expect(0, &LOAD);
    assert!(!loaded.err.contains("is to be paid by"), "{loaded:?}");
    world.expect(0, &[&RUN[..], &["--profile", "daughter"]].concat());
    assert_executed_once(&books, 3);
}

/// Its first run was refused, so that its user name was mistyped; another profile mends nothing.
#[test]
fn who_mends_the_user_name_of_a_profile_need_not_say_so_and_is_held_to_it() {
    let (server, books) = gateway(|_| Some(139));
    let mut world = world(&server, 135);
    world.set("DISBURSE_USERNAME", "amce");
    world.expect(5, &PAY);
    world.unset("DISBURSE_USERNAME");
    world
        .expect(2, &[&RUN[..], &["--profile", "daughter"]].concat())
        .says("is to be paid by account amce");
    world.expect(0, &RUN);
    is_paid_by(&world, &books, "acme");
}

/// What stands on record after an order is what was ordered, whatever came behind it.
#[test]
fn an_order_stands_though_nothing_was_posted_by_it_and_an_old_refusal_mends_nothing_more() {
    let (server, books) = gateway(|_| Some(139));
    let mut world = world(&server, 145);
    world.set("DISBURSE_USERNAME", "amce");
    world.expect(5, &PAY);
    world.unset("DISBURSE_USERNAME");
    let daughter = ["--profile", "daughter"];
    let head = ["--head", &"0".repeat(64)];
    let moved = ["--account-moved", "--reason", "the daughter pays"];
    world
        .disburse(&[&RUN[..], &daughter, &moved, &head].concat())
        .says("it is to be paid by account stranger")
        .says("error: ");
    assert_eq!(posts(&books), 0);
    assert_eq!(world.status("b")["destination"]["account"], "stranger");
    assert_eq!(world.status("b")["account"], "stranger");
    // The gateway refused a name that is not the one of now.
    world
        .expect(2, &RUN)
        .says("is to be paid by account stranger");
    world
        .expect(0, &[&RUN[..], &moved].concat())
        .says("it is to be paid by account acme")
        .says("and no longer by account stranger");
    is_paid_by(&world, &books, "acme");
}

/// A variable that was forgotten names another account at the same address, under the same profile.
#[test]
fn another_user_name_than_the_loads_is_a_mistake_until_somebody_says_otherwise() {
    let (server, books) = gateway(|_| Some(139));
    let mut world = world(&server, 136);
    world.expect(0, &LOAD);
    world.set("DISBURSE_USERNAME", "stranger");
    world
        .expect(2, &RUN)
        .says("is to be paid by account acme")
        .says("configured for account stranger");
    // At a terminal, who does not mean it says no, and all is as it was.
    let order = ["run", "b", "--account-moved", "--reason", "x"];
    let (code, shown) = world.at_terminal(&order, "n");
    assert_eq!(code, Some(2), "{shown}");
    assert!(
        shown.contains("Shall it be paid by account stranger")
            && shown.contains("nothing was moved"),
        "{shown}"
    );
    assert_eq!(posts(&books), 0);
    world.unset("DISBURSE_USERNAME");
    world.expect(0, &RUN);
    assert_executed_once(&books, 3);
}

/// What a mark beside the journal knows is not overwritten by an order that is refused.
#[test]
fn an_order_that_is_refused_moves_nothing_and_writes_no_payer() {
    let (right, paid) = gateway(|_| Some(139));
    let (other, elsewhere) = gateway(|_| Some(139));
    let world = world(&right, 137);
    world.expect(0, &LOAD);
    world.expect(4, &[&RUN[..], &["--no-wait"]].concat());
    world.delete_journal();
    world.expect(0, &LOAD);
    let (to_daughter, to_other) = (["--profile", "daughter"], other.url());
    let account = ["--account-moved", "--reason", "oops"];
    let refused = [&RUN[..], &to_daughter, &account].concat();
    world
        .expect(2, &refused)
        .says("a file beside the journal says that it was posted as acme");
    let world = world.towards(&to_other);
    let gateway_alone = ["--gateway-moved", "--reason", "oops"];
    world
        .expect(2, &[&RUN[..], &gateway_alone].concat())
        .says("a file beside the journal says that it was posted as acme");
    let both = ["--gateway-moved", "--account-moved", "--reason", "oops"];
    world
        .expect(2, &[&RUN[..], &to_daughter, &both].concat())
        .says("a file beside the journal says that it was posted as acme");
    let world = world.towards(&right.url());
    world.expect(0, &RUN);
    assert_executed_once(&paid, 3);
    assert_eq!(posts(&elsewhere), 0);
    world.expect(0, &["verify", "b"]);
}

/// The journal was lost, and the file loaded again with another profile: the way back is the one that is told.
#[test]
fn what_was_loaded_again_for_another_account_is_led_back_to_the_one_that_posted_it() {
    let (server, books) = gateway(|_| Some(139));
    let world = world(&server, 138);
    world.expect(0, &LOAD);
    world.expect(4, &[&RUN[..], &["--no-wait"]].concat());
    world.delete_journal();
    let daughter = ["--profile", "daughter"];
    world.expect(0, &[&LOAD[..], &daughter].concat());
    world
        .expect(2, &[&RUN[..], &daughter].concat())
        .says("posted as acme");
    world
        .expect(2, &RUN)
        .says("disburse run b --account-moved --reason TEXT");
    let back = [
        "--account-moved",
        "--reason",
        "loaded with the wrong profile",
    ];
    world
        .expect(0, &[&RUN[..], &back].concat())
        .says("it is to be paid by account acme");
    is_paid_by(&world, &books, "acme");
}

/// The gateway that has a payment is asked before it is called failed: another profile cannot skip the question.
#[test]
fn nobody_decides_with_another_profile_that_a_payment_failed() {
    let (server, books) = gateway(|_| None);
    let mut world = world(&server, 139);
    world.set("DISBURSE_GIVE_UP_AFTER", "1s");
    world.expect(0, &LOAD);
    world.expect(4, &[&RUN[..], &["--no-wait"]].concat());
    let failed = [
        "resolve",
        "b",
        "R00001",
        "--failed",
        "--although-accepted",
        "--reason",
        "x",
        "--evidence",
        "y",
        "--yes",
    ];
    world
        .expect(2, &[&failed[..], &["--profile", "daughter"]].concat())
        .says("belongs to account acme")
        .says("give the same command with --profile test");
    world.expect(0, &RUN);
    assert_executed_once(&books, 3);
}

const DAUGHTER: [&str; 2] = ["--profile", "daughter"];
const MOVED: [&str; 3] = ["--account-moved", "--reason", "the daughter pays"];

/// A person says of a payment that it failed and will never be paid.
fn call_failed(world: &World, reference: &str, profile: &[&str]) {
    let order = [
        "resolve",
        "b",
        reference,
        "--failed",
        "--although-accepted",
        "--reason",
        "the bank's list",
        "--evidence",
        "line 3",
        "--yes",
    ];
    world.expect(0, &[&order[..], profile].concat());
}

/// All three are executed by `acme`, which nobody hears; people call them failed, and order that they be paid again.
fn decided(world: &mut World, books: &Mutex<Books>) {
    world.set("DISBURSE_GIVE_UP_AFTER", "1s");
    books.lock().unwrap().is_dark = true;
    world.expect(4, &[&RUN[..], &["--max-wait", "2s"]].concat());
    for reference in ["R00001", "R00002", "R00003"] {
        call_failed(world, reference, &[]);
    }
    world.expect(0, &["retry", "b", "--yes"]);
    books.lock().unwrap().is_dark = false;
    assert_eq!(executed(books), [3, 0]);
}

/// A command with the profile of the other account.
fn by_daughter<'s>(command: &[&'s str]) -> Vec<&'s str> {
    [command, &DAUGHTER].concat()
}

/// How many payments each account has executed.
fn executed(books: &Mutex<Books>) -> [usize; 2] {
    let books = books.lock().unwrap();
    ["acme", "stranger"].map(|account| books.executed_by(account))
}

/// A batch that was loaded where no gateway was configured.
fn loaded_nowhere(world: &World) {
    let mut nowhere = World::new(&Setup::default());
    nowhere.set(
        "DISBURSE_JOURNAL",
        world.path("disburse.db").to_str().unwrap(),
    );
    nowhere.write("batch.csv", &world.read("batch.csv"));
    nowhere.expect(0, &LOAD);
}

/// Whoever loaded it named no account: the one that posts it first is its account from then on, whatever people decide.
#[test]
fn a_batch_stays_with_the_account_that_it_was_run_with_first() {
    let (server, books) = gateway(|_| Some(139));
    let mut world = world(&server, 146);
    loaded_nowhere(&world);
    decided(&mut world, &books);
    world
        .expect(2, &[&RUN[..], &DAUGHTER].concat())
        .says("is to be paid by account acme")
        .says("choose the profile that it was loaded with: --profile test");
    // The account that has them says so.
    world
        .disburse(&RUN)
        .says("waits until it is decided whether");
    assert_eq!(executed(&books), [3, 0]);
    world.expect(0, &["verify", "b"]);

    // Nothing is anywhere, and the account is the same all the same.
    let (server, books) = gateway(|_| Some(110));
    let world = self::world(&server, 147);
    loaded_nowhere(&world);
    world.expect(3, &RUN);
    world.expect(0, &["retry", "b", "--yes"]);
    world
        .expect(2, &[&RUN[..], &DAUGHTER].concat())
        .says("is to be paid by account acme");
    assert_eq!(
        books.lock().unwrap().posted_by(),
        ["acme".to_owned()].into()
    );
}

/// The other account knows nothing of what this one has paid: its "not found" lets no retry leave, only what a person says since.
#[test]
fn a_retry_of_what_was_posted_before_a_batch_was_moved_waits_for_a_person() {
    let (server, books) = gateway(|_| Some(139));
    let mut world = world(&server, 148);
    world.expect(0, &LOAD);
    decided(&mut world, &books);
    world
        .expect(4, &[&by_daughter(&RUN)[..], &MOVED].concat())
        .says("3 payments of batch b were posted before, and ended since")
        .says("it was posted before the batch was moved, and nobody who is asked now can tell")
        .says("--failed --although-accepted");
    assert_eq!(executed(&books), [3, 0]);
    world.expect(4, &by_daughter(&RUN));
    assert_eq!(executed(&books), [3, 0]);
    let status = world.expect(0, &by_daughter(&["status", "b"]));
    let about = status.out.split("word about ").nth(1).unwrap();
    let first = about.split(',').next().unwrap().to_owned();
    // That it was not found there is no word of anybody.
    let plain = [
        "resolve",
        "b",
        &first,
        "--failed",
        "--reason",
        "x",
        "--evidence",
        "y",
        "--yes",
    ];
    world.disburse(&by_daughter(&plain));
    world.expect(4, &by_daughter(&RUN));
    assert_eq!(executed(&books), [3, 0]);
    // Who has asked the people of the old account takes it upon himself.
    call_failed(&world, &first, &DAUGHTER);
    world.expect(4, &by_daughter(&RUN));
    assert_eq!(executed(&books), [3, 1]);
    world.expect(0, &["verify", "b"]);
}

/// A password that ran out is no user name that was mistyped.
#[test]
fn a_user_name_that_was_let_in_once_is_not_mended() {
    let (server, books) = gateway(|_| Some(139));
    let mut world = world(&server, 149);
    world.expect(0, &LOAD);
    decided(&mut world, &books);
    world.write_rows("more.csv", &rows(4, 149));
    world.expect(0, &["load", "more.csv", "--batch", "b", "--amend"]);
    books.lock().unwrap().is_shut = true;
    world.expect(5, &RUN);
    world.set("DISBURSE_USERNAME", "stranger");
    world
        .expect(2, &RUN)
        .says("is to be paid by account acme")
        .says("disburse run b --account-moved --reason TEXT");
    assert_eq!(executed(&books), [3, 0]);
}

/// What codes mean tells nothing of who was let in.
#[test]
fn a_mistyped_user_is_mended_together_with_the_meaning_of_a_code() {
    let (server, books) = gateway(|_| Some(139));
    let mut world = World::new(&Setup::default()).towards(&server.url());
    world.write_rows("batch.csv", &rows(3, 121));
    world.set("DISBURSE_USERNAME", "amce");
    world.expect(5, &PAY);
    world.set("DISBURSE_USERNAME", "acme");
    let text = world.read("disburse.toml");
    world.write(
        "disburse.toml",
        &format!("{text}\n[post_codes]\n555 = \"refused\"\n"),
    );
    world.expect(0, &RUN);
    assert_executed_once(&books, 3);
    world.expect(0, &["verify", "b"]);
}
