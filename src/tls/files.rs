//! Serves the certificate from files, which may change or be invalid at any time.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::CryptoProvider;

use super::cert_resolver::CertResolver;
use super::notice::{CertificateNotice, report_once};
use super::pair::Pair;

/// Read interval while there is no certificate: a pod can start before cert-manager has issued one.
const RETRY: Duration = Duration::from_secs(1);

pub(super) async fn watch<N>(
    directory: PathBuf,
    interval: Duration,
    provider: Arc<CryptoProvider>,
    resolver: Arc<CertResolver>,
    mut notice: N,
) where
    N: FnMut(CertificateNotice) + Send,
{
    let mut last: Option<Pair> = None;
    let mut reported: Option<String> = None;
    let mut serving = false;
    loop {
        match Pair::read(&directory).await {
            // Compare the bytes: modification times are not reliable, because the kubelet swaps a symlink.
            Ok(pair) if last.as_ref() == Some(&pair) => {}
            Ok(pair) => {
                match pair.check(&directory, &provider) {
                    Ok(usable) => {
                        resolver.replace(usable.key);
                        serving = true;
                        reported = None;
                        notice(CertificateNotice::Loaded {
                            not_after: usable.not_after,
                        });
                    }
                    Err(error) => report_once(&mut reported, error, &mut notice),
                }
                last = Some(pair);
            }
            Err(error) => {
                // Forget the last pair, so that the same pair counts as a change when it comes back.
                last = None;
                report_once(&mut reported, error, &mut notice);
            }
        }
        tokio::time::sleep(if serving {
            interval
        } else {
            interval.min(RETRY)
        })
        .await;
    }
}
