//! The webhook serves the certificate and key in its directory. A new pair is used from the first handshake after it
//! was noticed. A broken pair never replaces a working one.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mooring::tls::{CertificateNotice, Error, Serving};
use rcgen::{CertifiedKey, KeyPair};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ProtocolVersion, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio_rustls::{TlsAcceptor, TlsConnector};

const NAME: &str = "mooring-webhook.mooring-system.svc";
const INTERVAL: Duration = Duration::from_millis(10);
const LIMIT: Duration = Duration::from_secs(20);

/// A mounted Secret: the files are symlinks into a directory, which is replaced as the kubelet does it.
struct Mount {
    path: PathBuf,
    versions: AtomicU32,
}

impl Mount {
    fn new(test: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("certificates-{test}"));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self {
            path,
            versions: AtomicU32::new(0),
        }
    }

    /// Replaces both files at once.
    fn put(&self, certificate: &str, key: &str) {
        let version = self.versions.fetch_add(1, Ordering::Relaxed);
        let data = self.path.join(format!("..{version}"));
        std::fs::create_dir(&data).unwrap();
        std::fs::write(data.join("tls.crt"), certificate).unwrap();
        std::fs::write(data.join("tls.key"), key).unwrap();
        symlink(&data, self.path.join("..new")).unwrap();
        std::fs::rename(self.path.join("..new"), self.path.join("..data")).unwrap();
        if version == 0 {
            symlink("..data/tls.key", self.path.join("tls.key")).unwrap();
            symlink("..data/tls.crt", self.path.join("tls.crt")).unwrap();
        }
    }
}

struct Webhook {
    config: Arc<ServerConfig>,
    notices: UnboundedReceiver<CertificateNotice>,
    watch: JoinHandle<()>,
}

impl Webhook {
    fn start(mount: &Mount) -> Self {
        let (sender, notices) = unbounded_channel();
        let notice = move |notice| sender.send(notice).unwrap();
        let serving = Serving::new().unwrap();
        let watch = serving.files(mount.path.clone(), INTERVAL, notice);
        let config = Arc::clone(&serving.config);
        Self {
            config,
            notices,
            watch: tokio::spawn(watch),
        }
    }

    async fn notice(&mut self) -> CertificateNotice {
        tokio::time::timeout(LIMIT, self.notices.recv())
            .await
            .unwrap_or_else(|_| panic!("no notice within {LIMIT:?}"))
            .unwrap()
    }

    async fn loaded(&mut self) -> i64 {
        match self.notice().await {
            CertificateNotice::Loaded { not_after } => not_after,
            other @ CertificateNotice::Refused(_) => panic!("the pair was not taken: {other:?}"),
        }
    }

    async fn refused(&mut self) -> Error {
        match self.notice().await {
            CertificateNotice::Refused(error) => error,
            other @ CertificateNotice::Loaded { .. } => panic!("the pair was taken: {other:?}"),
        }
    }

    /// The leaf certificate that the webhook serves to a client that trusts `known`.
    async fn shows(
        &self,
        known: &[&CertifiedKey<KeyPair>],
    ) -> std::io::Result<CertificateDer<'static>> {
        let mut roots = RootCertStore::empty();
        for pair in known {
            roots.add(pair.cert.der().clone()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let (near, far) = tokio::io::duplex(64 * 1024);
        let accept = TlsAcceptor::from(Arc::clone(&self.config)).accept(far);
        let server = tokio::spawn(async move { accept.await.map(drop) });
        let name = ServerName::try_from(NAME).unwrap();
        let stream = TlsConnector::from(Arc::new(client))
            .connect(name, near)
            .await?;
        server.await.unwrap()?;
        let (_, session) = stream.get_ref();
        assert_eq!(session.protocol_version(), Some(ProtocolVersion::TLSv1_3));
        assert_eq!(session.alpn_protocol(), Some(&b"http/1.1"[..]));
        Ok(session
            .peer_certificates()
            .unwrap()
            .first()
            .unwrap()
            .clone())
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

/// A certificate that expires in that year.
fn until(year: i32) -> CertifiedKey<KeyPair> {
    let signing_key = KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec![NAME.to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(year, 1, 1);
    CertifiedKey {
        cert: params.self_signed(&signing_key).unwrap(),
        signing_key,
    }
}

fn put(mount: &Mount, pair: &CertifiedKey<KeyPair>) {
    mount.put(&pair.cert.pem(), &pair.signing_key.serialize_pem());
}

#[tokio::test]
async fn a_process_without_its_certificate_waits_and_names_the_file() {
    let mount = Mount::new("late");
    let mut webhook = Webhook::start(&mount);
    let error = webhook.refused().await;
    assert!(
        matches!(&error, Error::Read { path, .. } if *path == mount.path.join("tls.crt")),
        "{error:?}"
    );
    assert!(error.to_string().contains("cert-manager"), "{error}");
    let pair = until(2040);
    webhook.shows(&[&pair]).await.unwrap_err();
    put(&mount, &pair);
    assert_eq!(webhook.loaded().await, 2_208_988_800, "1 January 2040");
    assert_eq!(webhook.shows(&[&pair]).await.unwrap(), *pair.cert.der());
}

#[tokio::test]
async fn a_renewed_pair_is_served_from_the_next_handshake() {
    let (mount, old, new) = (Mount::new("renewed"), until(2040), until(2041));
    put(&mount, &old);
    let mut webhook = Webhook::start(&mount);
    webhook.loaded().await;
    assert_eq!(webhook.shows(&[&old]).await.unwrap(), *old.cert.der());
    put(&mount, &new);
    webhook.loaded().await;
    assert_eq!(webhook.shows(&[&old, &new]).await.unwrap(), *new.cert.der());
}

#[tokio::test]
async fn a_key_of_another_certificate_is_refused_and_the_old_pair_stays() {
    let (mount, old, new) = (Mount::new("mismatched"), until(2040), until(2041));
    put(&mount, &old);
    let mut webhook = Webhook::start(&mount);
    webhook.loaded().await;
    mount.put(&new.cert.pem(), &old.signing_key.serialize_pem());
    let error = webhook.refused().await;
    assert!(matches!(error, Error::Pair { .. }), "{error:?}");
    assert_eq!(webhook.shows(&[&old]).await.unwrap(), *old.cert.der());
    put(&mount, &new);
    webhook.loaded().await;
}

#[tokio::test]
async fn with_broken_or_missing_files_the_old_pair_stays() {
    let (mount, old) = (Mount::new("broken"), until(2040));
    put(&mount, &old);
    let mut webhook = Webhook::start(&mount);
    webhook.loaded().await;
    let key = old.signing_key.serialize_pem();
    mount.put("nothing that is PEM", &key);
    let error = webhook.refused().await;
    assert!(
        matches!(
            error,
            Error::Pem {
                what: "certificate",
                ..
            }
        ),
        "{error:?}"
    );
    mount.put(
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        &key,
    );
    let error = webhook.refused().await;
    assert!(matches!(error, Error::Certificate { .. }), "{error:?}");
    mount.put(&old.cert.pem(), "");
    let error = webhook.refused().await;
    assert!(matches!(error, Error::Read { .. }), "{error:?}");
    std::fs::remove_file(mount.path.join("tls.crt")).unwrap();
    let error = webhook.refused().await;
    assert!(matches!(error, Error::Read { .. }), "{error:?}");
    assert_eq!(webhook.shows(&[&old]).await.unwrap(), *old.cert.der());
}

#[tokio::test]
async fn a_client_without_tls_1_3_is_rejected() {
    let (mount, pair) = (Mount::new("old-client"), until(2040));
    put(&mount, &pair);
    let mut webhook = Webhook::start(&mount);
    webhook.loaded().await;
    // A ClientHello of TLS 1.2 (RFC 5246, 7.4.1.2) with one suite, one curve and one signature scheme.
    let extensions = [0, 10, 0, 4, 0, 2, 0, 0x17, 0, 13, 0, 4, 0, 2, 4, 3];
    let mut hello = vec![3, 3];
    hello.extend([7; 32]);
    hello.extend([
        0,
        0,
        2,
        0xc0,
        0x2b,
        1,
        0,
        0,
        extensions.len().try_into().unwrap(),
    ]);
    hello.extend(extensions);
    let length: u8 = hello.len().try_into().unwrap();
    let mut record = vec![22, 3, 1, 0, length + 4, 1, 0, 0, length];
    record.extend(hello);
    let (mut near, far) = tokio::io::duplex(64 * 1024);
    let accept = TlsAcceptor::from(Arc::clone(&webhook.config)).accept(far);
    let server = tokio::spawn(async move { accept.await.map(drop) });
    near.write_all(&record).await.unwrap();
    let mut alert = [0; 7];
    tokio::time::timeout(LIMIT, near.read_exact(&mut alert))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        alert,
        [21, 3, 3, 0, 2, 2, 70],
        "a fatal alert: protocol_version (RFC 8446, 6)"
    );
    server.await.unwrap().unwrap_err();
}
