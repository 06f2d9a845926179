//! Serving what the files hold, whatever happens to them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::CryptoProvider;

use super::cert_resolver::CertResolver;
use super::notice::{CertificateNotice, complain};
use super::pair::Pair;

/// While there is nothing to serve, the files are looked for this often: a pod starts before
/// cert-manager has issued.
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
    let mut complaint: Option<String> = None;
    let mut serving = false;
    loop {
        match Pair::read(&directory).await {
            // Compared by their bytes: times of files say nothing behind a swapped symlink.
            Ok(pair) if last.as_ref() == Some(&pair) => {}
            Ok(pair) => {
                match pair.check(&directory, &provider) {
                    Ok(usable) => {
                        resolver.replace(usable.key);
                        serving = true;
                        complaint = None;
                        notice(CertificateNotice::Loaded {
                            not_after: usable.not_after,
                        });
                    }
                    Err(error) => complain(&mut complaint, error, &mut notice),
                }
                last = Some(pair);
            }
            Err(error) => {
                // So that the very pair that was there before is seen to be back.
                last = None;
                complain(&mut complaint, error, &mut notice);
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
