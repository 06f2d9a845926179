//! What the webhook answers in a time, over connections that are kept.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::cluster::Bench;
use super::figures::{Others, figure, number, percentiles};

const LENGTH: Duration = Duration::from_secs(5);

pub async fn webhook(bench: &mut Bench<'_>) {
    let scene = bench.scene;
    let filler = json!({"metadata": {"annotations": {"example.com/filler": "x".repeat(6000)}}});
    let asking = scene.pod_asking("web", &bench.ips[0].name, &filler);
    // As the mutating review has left it.
    let given = scene.would_create(&asking).await.accepted();
    for (path, pod) in [("/mutate/pod", asking), ("/validate/pod", given)] {
        let review =
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
                "uid": "1", "operation": "CREATE", "namespace": scene.name, "name": "web",
                "kind": {"group": "", "version": "v1", "kind": "Pod"},
                "resource": {"group": "", "version": "v1", "resource": "pods"},
                "userInfo": {"username": "somebody"}, "object": pod,
            }})
            .to_string();
        let request: Arc<str> = format!(
            "POST {path} HTTP/1.1\r\nHost: webhook\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{review}",
            review.len()
        )
        .into();
        for connections in [1, 64] {
            let asking = (0..connections).map(|_| ask(bench, Arc::clone(&request)));
            let begun = Instant::now();
            let times = futures::future::join_all(asking).await.concat();
            let rate = number(times.len()) / begun.elapsed().as_secs_f64();
            let (median, most) = percentiles(times);
            figure(
                &format!(
                    "webhook {path}, {} KB, {connections} connections: p50, p99, rate",
                    review.len() / 1000
                ),
                format!("{median:.2} ms, {most:.1} ms, {rate:.0}/s"),
                "6,000/s",
                Others::default(),
            );
        }
    }
}

/// One review after the other over one connection; how long each took, in milliseconds.
async fn ask(bench: &Bench<'_>, request: Arc<str>) -> Vec<f64> {
    let mut stream = connect(bench).await;
    let (begun, mut times) = (Instant::now(), Vec::new());
    let mut answer = vec![0; 1 << 16];
    while begun.elapsed() < LENGTH {
        let asked = Instant::now();
        stream
            .write_all(request.as_bytes())
            .await
            .expect("it listens");
        stream.flush().await.expect("it listens");
        let mut length = 0;
        while !is_whole(&answer[..length]) {
            let read = stream
                .read(&mut answer[length..])
                .await
                .expect("it answers");
            assert!(read > 0, "{}", String::from_utf8_lossy(&answer[..length]));
            length += read;
        }
        times.push(asked.elapsed().as_secs_f64() * 1e3);
    }
    times
}

/// Has all of the answer come? Its body is as long as its head says.
fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let mut lines = head.lines().map(str::to_ascii_lowercase);
    let length = lines.find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    assert!(text.starts_with("HTTP/1.1 200"), "{head}");
    length.is_some_and(|length: usize| body.len() >= length)
}

async fn connect(bench: &Bench<'_>) -> TlsStream<TcpStream> {
    let ca = bench.scene.cluster().webhook_authority().certificate();
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(ca.as_bytes()).expect("a certificate"))
        .expect("a CA");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the versions of the provider")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let url = bench.mooring.webhook_url();
    let (_, address) = url.rsplit_once('/').expect("a URL");
    let address: SocketAddr = address.parse().expect("an address");
    let stream = TcpStream::connect(address).await.expect("it listens");
    stream.set_nodelay(true).expect("a socket");
    let name = ServerName::try_from("mooring-webhook.mooring-system.svc").expect("a name");
    let connector = TlsConnector::from(Arc::new(config));
    connector.connect(name, stream).await.expect("a handshake")
}
