//! Serving what the files hold, whatever happens to them.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::Notify;

use super::notice::{Notice, complain};
use super::pair::Pair;

/// While there is nothing to serve, the files are looked for this often: a pod starts before
/// cert-manager has issued.
const IMPATIENT: Duration = Duration::from_secs(1);

/// The pair that handshakes are answered with.
#[derive(Debug, Default)]
pub(super) struct Served {
    key: RwLock<Option<Arc<CertifiedKey>>>,
    replaced: Notify,
    doubted: Notify,
}

impl Served {
    pub fn replace(&self, key: Arc<CertifiedKey>) {
        *self.key.write().unwrap_or_else(PoisonError::into_inner) = Some(key);
        self.replaced.notify_one();
    }

    /// Ends once another is served than before, also if that was before it was asked. For one who waits.
    pub async fn replaced(&self) {
        self.replaced.notified().await;
    }

    /// The API server does not believe it: whoever can mend that looks now.
    pub fn doubt(&self) {
        self.doubted.notify_one();
    }

    /// Ends once it is doubted. For one who waits.
    pub async fn doubted(&self) {
        self.doubted.notified().await;
    }

    /// If there is one.
    pub fn served(&self) -> Option<Arc<CertifiedKey>> {
        self.key
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl ResolvesServerCert for Served {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.served()
    }
}

pub(super) async fn watch<N>(
    directory: PathBuf,
    interval: Duration,
    provider: Arc<CryptoProvider>,
    served: Arc<Served>,
    mut notice: N,
) where
    N: FnMut(Notice) + Send,
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
                        served.replace(usable.key);
                        serving = true;
                        complaint = None;
                        notice(Notice::Loaded {
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
            interval.min(IMPATIENT)
        })
        .await;
    }
}
