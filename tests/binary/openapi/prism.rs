//! Prism between program and sandbox: every request and every reply is what the document says.

use std::time::{Duration, Instant};

use super::DOCUMENT;
use super::tool::{Tool, find};
use crate::sandbox::Sandbox;
use crate::world::{PATIENCE, Setup, World, free_port};

pub const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/");

/// A validating proxy before a sandbox.
pub struct Proxy {
    tool: Tool,
    pub base_url: String,
}

impl Proxy {
    fn start(world: &World, document: &str, upstream: &str) -> Option<Self> {
        Self::start_as(world, "prism", document, upstream)
    }

    /// The same beside others, its output in a file of that name.
    pub fn start_as(world: &World, name: &str, document: &str, upstream: &str) -> Option<Self> {
        let program = find("prism", "INTERFACE_TOOLS")?;
        let port = free_port().to_string();
        let arguments = [
            "proxy",
            document,
            upstream,
            "--errors",
            "-h",
            "127.0.0.1",
            "-p",
            &port,
        ];
        let mut tool = Tool::start(
            &program,
            &world.path(""),
            &format!("{name}.txt"),
            &arguments,
        );
        let deadline = Instant::now() + PATIENCE;
        while !tool.output().contains("Prism is listening") {
            assert!(!tool.is_over(), "ended: {}", tool.output());
            assert!(
                Instant::now() < deadline,
                "never listening: {}",
                tool.output()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(Self {
            tool,
            base_url: format!("http://127.0.0.1:{port}"),
        })
    }

    /// The lines that tell of a violation.
    pub fn violations(&self) -> Vec<String> {
        let is_complaint =
            |line: &&str| line.contains("✖") || line.to_ascii_lowercase().contains("violation");
        let output = self.tool.output();
        output
            .lines()
            .filter(is_complaint)
            .map(str::to_owned)
            .collect()
    }

    /// How many calls to what begins so were answered with success.
    pub fn passed(&self, path: &str) -> usize {
        let forwarded = format!("The upstream call to {path}");
        let output = self.tool.output();
        let passed = output.lines().filter(|line| line.contains(&forwarded));
        passed
            .filter(|line| line.contains(" has returned 20"))
            .count()
    }
}

/// The services of the samples.
pub fn services() -> String {
    let sample = std::fs::read_to_string(format!("{SAMPLES}disburse.toml")).unwrap();
    let services = sample.find("[services.").unwrap();
    let columns = sample.find("[columns]").unwrap();
    sample[services..columns].to_owned()
}

/// A world whose every address is the proxy, with the services of the samples.
fn world(base_url: &str, more: &str) -> World {
    let more = format!(
        "auth_url = \"{base_url}\"\napi_url = \"{base_url}\"\nfile_service_url = \"{base_url}\"\n{more}\n{}",
        services()
    );
    let setup = Setup {
        more: more.leak(),
        ..Setup::with_callbacks()
    };
    World::new(&setup).towards(base_url)
}

#[test]
fn a_validating_proxy_sees_no_violation_in_either_direction() {
    let upstream = World::new(&Setup::default());
    let sandbox = Sandbox::start(&upstream, "ledger", &[]);
    let Some(proxy) = Proxy::start(&upstream, DOCUMENT, &sandbox.base_url) else {
        return;
    };
    let forms = [
        "float.query = true",
        "payment_bearer = true\nlimits.packets_per_request = 5\nextra_data = \"string\"",
    ];
    for (form, more) in forms.into_iter().enumerate() {
        let world = world(&proxy.base_url, more);
        for name in ["refunds", "bank", "rtgs", "airtime", "bills", "electricity"] {
            let (file, batch) = (format!("{SAMPLES}{name}.csv"), format!("{name}-{form}"));
            let done = world.disburse(&["pay", &file, "--batch", &batch, "--yes", "--pay-due"]);
            assert!(matches!(done.code, Some(0 | 3)), "{done:?}");
        }
        world.expect(0, &["token"]);
        world.expect(0, &["lookup", "254722000001"]);
        world.expect(0, &["bill", "10012345", "--service", "WATER"]);
        world.expect(0, &["float", "B2C_MPESA"]);
        world.expect(0, &["account", "01234567890", "--service", "ELECTRICITY"]);
    }
    assert_eq!(proxy.violations(), Vec::<String>::new());
    for path in [
        "/v1/global-api/payments",
        "/api/v1/oauth/token",
        "/api/v1/transaction-documents",
        "/v4/remittance/payments/network-lookup",
    ] {
        assert!(proxy.passed(path) > 0, "nothing passed to {path}");
    }
}

#[test]
fn a_validating_proxy_would_see_a_violation_in_either_direction() {
    let upstream = World::new(&Setup::default());
    let sandbox = Sandbox::start(&upstream, "ledger", &[]);
    let document = std::fs::read_to_string(DOCUMENT).unwrap();
    for (from, to) in [
        (
            "required: [payerTransactionID]\n",
            "required: [payerTransactionID, date]\n",
        ),
        ("required: [carrier, timeZone]", "required: [carrier, zone]"),
    ] {
        let altered = document.replace(from, to);
        assert_ne!(document, altered, "{from}");
        upstream.write("openapi.yaml", &altered);
        let path = upstream.path("openapi.yaml");
        let Some(proxy) = Proxy::start(&upstream, path.to_str().unwrap(), &sandbox.base_url) else {
            return;
        };
        let world = world(&proxy.base_url, "callback.settle_on = \"confirmed\"");
        world.disburse(&["lookup", "254722000001"]);
        let file = format!("{SAMPLES}airtime.csv");
        world.disburse(&[
            "pay",
            &file,
            "--batch",
            "b",
            "--yes",
            "--poll-only",
            "--max-wait",
            "2s",
        ]);
        assert_ne!(proxy.violations(), Vec::<String>::new(), "{to}");
    }
}
