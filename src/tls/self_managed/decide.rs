//! Decides the next step for the self-managed certificate. A pure function, so that tests can try all orders of events.

use std::time::Duration;

/// Lifetimes and waits. All follow from flags. Tests use short ones.
#[derive(Clone, Copy, Debug)]
pub struct Lifetimes {
    /// The lifetime of a certificate.
    pub certificate: Duration,
    /// A new certificate is served only after it has been published for this time, because an API server can read it
    /// late.
    pub settling: Duration,
    /// A replaced certificate stays published for this time, because a replica can read the Secret late.
    pub overlap: Duration,
}

/// The observed state of the certificate. Times are milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct CertificateState {
    /// When the certificate in the Secret expires.
    pub ends: i64,
    /// Whether a client that trusts the certificate accepts it for every name to which the API server connects, now and
    /// for the settling time of another one.
    pub fits: bool,
    /// The same for the next certificate. None: there is none.
    pub next_fits: Option<bool>,
    /// Since when this process has observed these pairs in the Secret and their certificates in every `caBundle`.
    pub published: Option<i64>,
    /// Whether the `caBundle`s contain other certificates too.
    pub others: bool,
    /// Whether this process serves another certificate, which stays trusted for the settling time of the one in the
    /// Secret.
    pub serves_other: bool,
}

/// One step. It is durable before the next one is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CertificateStep {
    /// Replace all pairs in the Secret with a new one.
    Replace,
    /// Make the next pair and add it to the Secret.
    Prepare,
    /// Replace the pair in the Secret with the next one.
    Switch,
    /// Add the certificates in the Secret to every `caBundle`.
    Publish,
    /// Remove all other certificates from every `caBundle`.
    Prune,
    /// Serve the pair in the Secret, and check again later.
    Serve,
    /// Continue to serve the present pair, and check again later.
    Wait,
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// The next step. The former pair is served until the step `Serve`.
pub(super) fn next(known: &CertificateState, lifetimes: &Lifetimes, now: i64) -> CertificateStep {
    // Clients do not accept the certificate, or soon will not. To wait does not help.
    if !known.fits {
        return match known.next_fits {
            Some(true) => CertificateStep::Switch,
            _ => CertificateStep::Replace,
        };
    }
    let Some(published) = known.published else {
        return CertificateStep::Publish;
    };
    let settled = now - published >= millis(lifetimes.settling);
    let due = known.ends - now <= millis(lifetimes.certificate) / 3;
    match known.next_fits {
        Some(true) if settled => return CertificateStep::Switch,
        Some(false) => return CertificateStep::Prepare,
        None if due => return CertificateStep::Prepare,
        _ => {}
    }
    if known.serves_other {
        return if settled {
            CertificateStep::Serve
        } else {
            CertificateStep::Wait
        };
    }
    // Before that a replica that reads late may still serve one of the others.
    let overlapped = now - published > millis(lifetimes.overlap);
    if known.others && known.next_fits.is_none() && overlapped {
        return CertificateStep::Prune;
    }
    CertificateStep::Serve
}

#[cfg(test)]
mod tests;
