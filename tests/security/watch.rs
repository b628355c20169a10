//! The page under attack: by whoever does not have its address, and by whoever asks for too much.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::files::rows;
use crate::viewer::Page;
use crate::world::{PATIENCE, Running, Setup, World};

struct Served {
    world: World,
    serve: Running,
    page: Page,
}

fn served() -> Served {
    let world = World::new(&Setup::default());
    world.write_rows("batch.csv", &rows(3, 21));
    world.expect(0, &["load", "batch.csv", "--batch", "b", "--sandbox"]);
    let mut serve = world.start(&["serve"]);
    let page = Page::of(&mut serve);
    Served { world, serve, page }
}

impl Served {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.page.host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends bytes as they are; returns all that is answered until the connection ends.
    fn raw(&self, request: &str) -> String {
        let mut stream = self.connect();
        // It may be cut off before all of it is sent.
        let _ = stream.write_all(request.as_bytes());
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        String::from_utf8_lossy(&reply).into_owned()
    }

    fn ask(&self, method: &str, target: &str, host: &str) -> String {
        self.raw(&format!(
            "{method} {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
        ))
    }

    #[track_caller]
    fn still_serves(&self) {
        assert!(self.page.text("batch/b").contains("0 of 3 payments"));
    }
}

#[test]
fn without_the_address_nothing_is_told_and_all_refusals_are_alike() {
    let served = served();
    let (host, root) = (&served.page.host, &served.page.root);
    let without_date = |reply: String| -> String {
        let lines = reply.lines().filter(|line| !line.starts_with("date:"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let nothing = without_date(served.ask("GET", "/", host));
    assert!(nothing.starts_with("HTTP/1.1 404 "), "{nothing}");
    let (token, rest) = root[1..].split_at(root.len() - 3);
    assert_eq!(rest.len(), 2, "the last sign of the token, and the slash");
    for target in [
        "/batch/b",
        "/events",
        "/batch/b/report/payments.csv",
        "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/",
        &format!("/{token}!/"),
        &root.to_lowercase(),
        &format!("/x{root}"),
        &format!("/{root}"),
        &format!("{root}batch/b/report/../../../../etc/passwd"),
        &format!("{root}batch/b/report/..%2f..%2f..%2fetc%2fpasswd"),
        &format!("{root}disburse.db"),
    ] {
        let told = without_date(served.ask("GET", target, host));
        assert_eq!(told, nothing, "{target}");
    }
    // A method tells nobody whether a token is right, and changes nothing for whoever has it.
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"] {
        assert_eq!(without_date(served.ask(method, "/x/", host)), nothing);
        let told = served.ask(method, root, host);
        assert!(
            told.starts_with("HTTP/1.1 405 ") && told.contains("allow: GET, HEAD"),
            "{told}"
        );
    }
    served.still_serves();
}

#[test]
fn a_page_of_another_site_reaches_nothing_by_a_name_that_leads_here() {
    let served = served();
    let root = &served.page.root;
    for host in [
        "attacker.example",
        "attacker.example:80",
        "127.0.0.1.attacker.example",
        "192.168.1.7",
    ] {
        let told = served.ask("GET", root, host);
        assert!(
            told.starts_with("HTTP/1.1 421 ") && !told.contains("batch"),
            "{host}: {told}"
        );
    }
    let two = served.raw(&format!(
        "GET {root} HTTP/1.1\r\nhost: localhost\r\nhost: attacker.example\r\nconnection: close\r\n\r\n"
    ));
    assert!(!two.starts_with("HTTP/1.1 200 "), "{two}");
    // Behind ssh -L the port is another one.
    let told = served.ask("GET", root, "localhost:8470");
    assert!(told.starts_with("HTTP/1.1 200 "), "{told}");
    for header in [
        "frame-ancestors 'none'",
        "cache-control: no-store",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cross-origin-resource-policy: same-origin",
    ] {
        assert!(told.contains(header), "{header}");
    }
    // Nobody is let in by another site's script, and no cookie is left for the other servers of this machine.
    assert!(
        !told.contains("access-control-allow") && !told.contains("set-cookie"),
        "{told}"
    );
}

#[test]
fn huge_heads_and_slow_or_silent_callers_keep_nobody_out() {
    let served = served();
    let (host, root) = (&served.page.host, &served.page.root);
    let long = "a".repeat(200_000);
    for request in [
        format!("GET {root} HTTP/1.1\r\nhost: {host}\r\nx: {long}\r\n\r\n"),
        format!("GET {root}{long} HTTP/1.1\r\nhost: {host}\r\n\r\n"),
        long.clone(),
    ] {
        let told = served.raw(&request);
        assert!(
            !told.starts_with("HTTP/1.1 200 "),
            "{}",
            &told[..told.len().min(200)]
        );
    }
    // More than there is room for, who say nothing, or begin and do not end.
    let mut silent: Vec<TcpStream> = (0..100).map(|_| served.connect()).collect();
    for stream in silent.iter_mut().step_by(2) {
        let _ = stream.write_all(b"GET / HT");
    }
    let began = Instant::now();
    served.still_serves();
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    // Callers who have the address, look, and take nothing of what they are sent.
    let lazy: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = served.connect();
            let get = format!("GET {root}batch/b/events HTTP/1.1\r\nhost: {host}\r\n\r\n");
            let _ = stream.write_all(get.as_bytes());
            stream
        })
        .collect();
    served.still_serves();
    // Whoever is silent is cut off.
    let mut rest = Vec::new();
    let last = silent.last_mut().unwrap();
    let _ = last.read_to_end(&mut rest);
    assert!(rest.is_empty() || !rest.starts_with(b"HTTP/1.1 200 "));
    drop(lazy);
    served.serve.signal(Signal::TERM);
    let done = served.serve.wait();
    assert_eq!(done.code, Some(0), "{done:?}");
    // The address is told once, and stands in no log.
    let token = root.trim_matches('/');
    assert_eq!(
        format!("{}{}", done.out, done.err).matches(token).count(),
        1
    );
    drop(served.world);
}

#[test]
fn no_text_of_a_row_becomes_markup() {
    let world = World::new(&Setup::default());
    let hostile = "<img src=x onerror=alert(1)>\"'&</script>";
    world.write(
        "batch.csv",
        "reference,service_code,msisdn,amount,currency_code,customer_names\n\
         \"<b>\"\"R1\",B2C_MPESA,254712345678,10.00,KES,\"<img src=x onerror=alert(1)>\"\"'&</script>\"\n",
    );
    world.expect(0, &["load", "batch.csv", "--batch", "b", "--sandbox"]);
    let mut serve = world.start(&["serve"]);
    let page = Page::of(&mut serve);
    let rows = page.text("batch/b/rows?state=ready");
    let link = rows
        .split("/payment/")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .to_owned();
    for (what, text) in [
        ("rows", rows.clone()),
        ("search", page.text("search?q=onerror")),
        (
            "echo",
            page.text(
                "search?q=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E%22%27%26%3C%2Fscript%3Enowhere",
            ),
        ),
        ("history", page.text(&format!("batch/b/payment/{link}"))),
    ] {
        assert!(
            !text.contains(hostile) && !text.contains("<img"),
            "{what}: {text}"
        );
        assert!(!text.contains("<b>\"R1"), "{what}: {text}");
        assert!(text.contains("&#60;"), "{what} shows it as text: {text}");
    }
}
