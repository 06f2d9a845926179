//! What has to be done next for the certificate, from what is known: pure, so that every order of events can
//! be tried.

use std::time::Duration;

/// How long things last. All follow from flags; a test has them short.
#[derive(Clone, Copy, Debug)]
pub struct Lifetimes {
    /// Of a certificate.
    pub certificate: Duration,
    /// A new certificate is not served before it has been published for this time: an API server reads it late.
    pub settling: Duration,
    /// The previous one stays published for this time after it was replaced: a replica reads late.
    pub overlap: Duration,
}

/// What is known of the certificate. Times are milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct CertificateState {
    /// When the certificate in the Secret ends.
    pub ends: i64,
    /// Who trusts it takes it, for every name that the API server dials, as long as another has to settle.
    pub fits: bool,
    /// Whether the one after it fits likewise, if there is one.
    pub next_fits: Option<bool>,
    /// Since when this process has seen these pairs in the Secret, and their certificates in every `caBundle`.
    pub published: Option<i64>,
    /// Every `caBundle` has other certificates too.
    pub others: bool,
    /// What is served is another, and it stays trusted as long as that in the Secret has to settle.
    pub serves_other: bool,
}

/// One thing to do; each is durable before the next is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CertificateStep {
    /// Make another pair in place of those in the Secret.
    Replace,
    /// Make the pair that comes after that in the Secret.
    Prepare,
    /// Have the next pair take the place of the one before.
    Switch,
    /// Add the certificates in the Secret to every `caBundle`.
    Publish,
    /// Remove all others from every `caBundle`.
    Prune,
    /// Serve the pair, and look again later.
    Serve,
    /// Go on serving what is served, and look again later.
    Wait,
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// What to do next. What was served before goes on being served until `Serve`.
pub(super) fn next(known: &CertificateState, lifetimes: &Lifetimes, now: i64) -> CertificateStep {
    // It is not accepted, or soon will not be: waiting does not help.
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
    // A replica that is late still serves one of them.
    let overlapped = now - published > millis(lifetimes.overlap);
    if known.others && known.next_fits.is_none() && overlapped {
        return CertificateStep::Prune;
    }
    CertificateStep::Serve
}

#[cfg(test)]
mod tests;
