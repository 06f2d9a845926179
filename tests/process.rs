//! Tests the process: its health endpoints and its shutdown.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use mooring_cluster::{Process, eventually, http_get};

const LIMIT: Duration = Duration::from_secs(20);

/// `mooring run` with an API server address where nothing listens.
struct Running {
    process: Process,
    folder: PathBuf,
    http: String,
}

impl Running {
    async fn start(test: &str, flags: &[&str]) -> Self {
        Self::start_in("eu-central-1", test, flags).await
    }

    async fn start_in(region: &str, test: &str, flags: &[&str]) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("process-{test}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("tls")).unwrap();
        let kubeconfig = "{apiVersion: v1, kind: Config, current-context: none, \
             clusters: [{name: none, cluster: {server: 'http://127.0.0.1:9'}}], users: [{name: none, user: {}}], \
             contexts: [{name: none, context: {cluster: none, user: none}}]}";
        std::fs::write(folder.join("kubeconfig"), kubeconfig).unwrap();
        let mut arguments: Vec<String> = [
            "run",
            "--webhook-addr=127.0.0.1:0",
            "--http-addr=127.0.0.1:0",
            "--drain=0s",
        ]
        .map(str::to_owned)
        .to_vec();
        arguments.push(format!("--cert-dir={}", folder.join("tls").display()));
        arguments.extend(flags.iter().map(|flag| (*flag).to_owned()));
        let environment = [
            (
                "KUBECONFIG",
                folder.join("kubeconfig").display().to_string(),
            ),
            ("AWS_ENDPOINT_URL_EC2", "http://127.0.0.1:9".to_owned()),
            ("AWS_REGION", region.to_owned()),
            ("AWS_EC2_METADATA_DISABLED", "true".to_owned()),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
        ]
        .map(|(key, value)| (key.to_owned(), value));
        let binary = Path::new(env!("CARGO_BIN_EXE_mooring"));
        let process = Process::start("mooring", binary, &arguments, &environment, &folder);
        let http = eventually("the log has the address of metrics", LIMIT, async || {
            let log = process.log();
            let line = log
                .lines()
                .find(|line| line.contains("listening for health and metrics"))?;
            let (_, rest) = line.split_once("127.0.0.1:")?;
            let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
            Some(format!("http://127.0.0.1:{port}"))
        })
        .await;
        Self {
            process,
            folder,
            http,
        }
    }

    async fn get(&self, path: &str) -> (u16, String) {
        let answer = http_get(&format!("{}{path}", self.http)).await.unwrap();
        (answer.code, answer.body)
    }
}

#[tokio::test]
async fn the_process_is_healthy_at_once_and_names_what_it_waits_for() {
    let running = Running::start("health", &[]).await;
    assert_eq!(running.get("/healthz").await.0, 200);
    let (code, body) = running.get("/readyz").await;
    assert_eq!(code, 503);
    assert!(
        body.contains("certificate") && body.contains("caches"),
        "{body}"
    );
    assert_eq!(running.get("/elsewhere").await.0, 404);
}

#[tokio::test]
async fn a_later_certificate_is_loaded_and_counted() {
    let running = Running::start("certificate", &[]).await;
    assert!(running.get("/readyz").await.1.contains("certificate"));
    let signing_key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(2040, 1, 1);
    let certificate = params.self_signed(&signing_key).unwrap();
    std::fs::write(
        running.folder.join("tls/tls.key"),
        signing_key.serialize_pem(),
    )
    .unwrap();
    std::fs::write(running.folder.join("tls/tls.crt"), certificate.pem()).unwrap();
    eventually("the certificate is taken", LIMIT, async || {
        let (_, body) = running.get("/readyz").await;
        (!body.contains("certificate")).then_some(())
    })
    .await;
    let log = running.process.log();
    assert!(log.contains("2040-01-01T00:00:00Z"), "a date: {log}");
    let (_, metrics) = running.get("/metrics").await;
    let expiry = "mooring_webhook_certificate_expiry_timestamp_seconds 2208988800";
    assert!(metrics.contains(expiry), "{metrics}");
    assert!(metrics.contains("mooring_build_info{version="), "{metrics}");
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
}

#[tokio::test]
async fn after_sigterm_it_exits_with_success_without_an_api_server() {
    for signal in ["TERM", "INT"] {
        let running = Running::start(&format!("end-{signal}"), &[]).await;
        running.process.signal(signal);
        let status = eventually("it ends", LIMIT, async || running.process.ended()).await;
        assert!(
            status.success(),
            "SIG{signal}: {status}\n{}",
            running.process.log()
        );
    }
}

#[tokio::test]
async fn without_a_region_only_the_controller_waits() {
    let running = Running::start_in("", "region", &[]).await;
    eventually("it names the cause", LIMIT, async || {
        let log = running.process.log();
        log.contains("no AWS region is known").then_some(())
    })
    .await;
    let (_, missing) = running.get("/readyz").await;
    assert!(!missing.contains("watches"), "{missing}");
    let log = running.process.log();
    assert!(!log.contains("starting the controller"), "{log}");
    running.process.signal("TERM");
    let status = eventually("it ends", LIMIT, async || running.process.ended()).await;
    assert!(status.success(), "{status}\n{}", running.process.log());
}

#[tokio::test]
async fn without_a_region_a_process_with_only_the_controller_is_not_ready() {
    let running = Running::start_in("", "region-alone", &["--webhook=false"]).await;
    let (code, missing) = running.get("/readyz").await;
    assert_eq!(code, 503);
    assert!(missing.contains("watches"), "{missing}");
}

#[tokio::test]
async fn the_log_can_be_json() {
    let running = Running::start("json", &["--log-format=json"]).await;
    let log = running.process.log();
    let line = log.lines().next().unwrap();
    let line: serde_json::Value =
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    assert_eq!(line["level"], "INFO");
}

#[test]
fn invalid_flags_are_refused_with_a_reason() {
    let given: &[(&[&str], &str)] = &[
        (&["--lease-duration=5s"], "--lease-renew-deadline"),
        (&["--drain=soon"], "--drain"),
        (&["--inventory-interval=0s"], "--inventory-interval"),
        (&["--webhook-addr=here"], "--webhook-addr"),
    ];
    for (flags, sentence) in given {
        let output = Command::new(env!("CARGO_BIN_EXE_mooring"))
            .arg("run")
            .args(*flags)
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && stderr.contains(sentence),
            "{flags:?}: {stderr}"
        );
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}

#[test]
fn a_port_in_use_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_mooring"))
        .args(["run", "--http-addr", &address])
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && stderr.contains(&address),
        "{stderr}"
    );
}

#[test]
fn the_environment_sets_values_without_a_flag() {
    let output = Command::new(env!("CARGO_BIN_EXE_mooring"))
        .args(["run"])
        .env("MOORING_LEASE_DURATION", "1s")
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && stderr.contains("--lease-duration 1s"),
        "{stderr}"
    );
}
