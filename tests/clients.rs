//! With a client CA, the webhook answers only clients with a certificate of this CA. The CA can change at any time. A
//! CA file that cannot be used changes nothing.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mooring::tls::{CertificateNotice, Error, Serving};
use mooring_cluster::{Authority, Leaf};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_rustls::{TlsAcceptor, TlsConnector};

const NAME: &str = "mooring-webhook.mooring-system.svc";
const INTERVAL: Duration = Duration::from_millis(10);
const LIMIT: Duration = Duration::from_secs(20);

fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("clients-{test}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

struct Webhook {
    folder: PathBuf,
    authority: Authority,
    config: Arc<ServerConfig>,
    notices: UnboundedReceiver<CertificateNotice>,
}

impl Webhook {
    /// Serves a certificate to clients of this CA.
    async fn of(test: &str, clients: &Authority) -> Self {
        Self::of_named(test, clients, &[]).await
    }

    /// Serves only those clients of this CA whose certificate has one of the names. Without names: all of them.
    async fn of_named(test: &str, clients: &Authority, names: &[&str]) -> Self {
        let (folder, authority) = (folder(test), Authority::new("webhook"));
        let leaf = authority.leaf(&[NAME]);
        std::fs::write(folder.join("tls.crt"), leaf.certificate).unwrap();
        std::fs::write(folder.join("tls.key"), leaf.key).unwrap();
        let file = folder.join("clients.crt");
        std::fs::write(&file, clients.certificate()).unwrap();
        let names = names.iter().copied().map(str::to_owned).collect();
        let serving = Serving::to_clients_of(file, names).unwrap();
        let (sender, mut notices) = unbounded_channel();
        let files = sender.clone();
        let notify = move |notice| files.send(notice).unwrap();
        tokio::spawn(serving.files(folder.clone(), INTERVAL, notify));
        let notice = notices.recv().await.unwrap();
        assert!(
            matches!(notice, CertificateNotice::Loaded { .. }),
            "{notice:?}"
        );
        let notify = move |notice| sender.send(notice).unwrap();
        tokio::spawn(serving.clients(INTERVAL, notify));
        Self {
            folder,
            authority,
            config: serving.config,
            notices,
        }
    }

    fn set_ca(&self, pem: &str) {
        // An atomic replacement, as the kubelet does it: a reader gets either the whole old file or the whole new one.
        let new = self.folder.join("new");
        std::fs::write(&new, pem).unwrap();
        std::fs::rename(new, self.folder.join("clients.crt")).unwrap();
    }

    /// Is a client with this certificate answered?
    async fn answers(&self, client: Option<&Leaf>) -> Result<(), std::io::Error> {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_slice(self.authority.certificate().as_bytes()).unwrap();
        roots.add(ca).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = match client {
            None => config.with_no_client_auth(),
            Some(leaf) => {
                let chain = CertificateDer::from_pem_slice(leaf.certificate.as_bytes()).unwrap();
                let key = PrivateKeyDer::from_pem_slice(leaf.key.as_bytes()).unwrap();
                config.with_client_auth_cert(vec![chain], key).unwrap()
            }
        };
        let (near, far) = tokio::io::duplex(64 * 1024);
        let acceptor = TlsAcceptor::from(Arc::clone(&self.config));
        let answer = async move { acceptor.accept(far).await?.write_all(b"answer").await };
        let ask = async move {
            let name = ServerName::try_from(NAME).unwrap();
            let connector = TlsConnector::from(Arc::new(config));
            let mut stream = connector.connect(name, near).await?;
            // In TLS 1.3 the client sees only at its first read whether the server accepted its certificate.
            let mut answer = [0; 6];
            stream.read_exact(&mut answer).await.map(drop)
        };
        let (answered, asked) = tokio::join!(answer, ask);
        answered.and(asked)
    }

    async fn eventually_answers(&self, client: &Leaf) {
        let answered = async {
            while self.answers(Some(client)).await.is_err() {
                tokio::time::sleep(INTERVAL).await;
            }
        };
        tokio::time::timeout(LIMIT, answered).await.unwrap();
    }

    async fn refused(&mut self) -> Error {
        match tokio::time::timeout(LIMIT, self.notices.recv()).await {
            Ok(Some(CertificateNotice::Refused(error))) => error,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn only_clients_with_a_certificate_of_the_ca_are_answered() {
    let (ours, theirs) = (Authority::new("clients"), Authority::new("clients"));
    let webhook = Webhook::of("only", &ours).await;
    webhook
        .answers(Some(&ours.client("api-server")))
        .await
        .unwrap();
    webhook
        .answers(Some(&theirs.client("api-server")))
        .await
        .unwrap_err();
    webhook.answers(None).await.unwrap_err();
    // A server certificate is not valid as a client certificate.
    webhook
        .answers(Some(&ours.leaf(&[NAME])))
        .await
        .unwrap_err();
}

#[tokio::test]
async fn with_allowed_names_a_client_needs_one_of_them() {
    let ours = Authority::new("clients");
    let webhook = Webhook::of_named("names", &ours, &["api-server", "another"]).await;
    let answered = webhook.answers(Some(&ours.client("api-server"))).await;
    answered.unwrap();
    for other in ["kubelet", "API-server", "api-server.example"] {
        let answered = webhook.answers(Some(&ours.client(other))).await;
        answered.expect_err(other);
    }
    let theirs = Authority::new("clients");
    let answered = webhook.answers(Some(&theirs.client("api-server"))).await;
    answered.unwrap_err();
}

#[tokio::test]
async fn the_ca_can_change_and_a_broken_one_is_ignored() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let mut webhook = Webhook::of("change", &old).await;
    let (before, after) = (old.client("api-server"), new.client("api-server"));
    webhook.set_ca("nothing that is PEM");
    let error = webhook.refused().await;
    assert!(error.to_string().contains("clients.crt"), "{error}");
    webhook.answers(Some(&before)).await.unwrap();
    webhook.set_ca(&format!("{}{}", old.certificate(), new.certificate()));
    webhook.eventually_answers(&after).await;
    webhook.answers(Some(&before)).await.unwrap();
    webhook.set_ca(&new.certificate());
    let refused = async {
        while webhook.answers(Some(&before)).await.is_ok() {
            tokio::time::sleep(INTERVAL).await;
        }
    };
    tokio::time::timeout(LIMIT, refused).await.unwrap();
    webhook.answers(Some(&after)).await.unwrap();
}

#[test]
fn without_a_usable_ca_no_client_is_served() {
    let file = folder("none").join("clients.crt");
    let error = Serving::to_clients_of(file.clone(), BTreeSet::new()).unwrap_err();
    assert!(matches!(error, Error::ClientCa { .. }), "{error:?}");
    std::fs::write(&file, "").unwrap();
    let error = Serving::to_clients_of(file, BTreeSet::new()).unwrap_err();
    assert!(matches!(error, Error::ClientCa { .. }), "{error:?}");
}
