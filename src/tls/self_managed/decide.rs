//! What has to be done next for the certificate, from what is known: pure, so that every order of events can
//! be tried.

use std::time::Duration;

/// How long things last. All follow from flags; a test has them short.
#[derive(Clone, Copy, Debug)]
pub struct Lifetimes {
    /// Of the webhook's certificate.
    pub leaf: Duration,
    /// Of the CA that signs it.
    pub authority: Duration,
    /// A new CA signs nothing before it has been published for this time: an API server reads it late.
    pub settling: Duration,
    /// The previous CA stays published for this time after its last signature: a replica reads late.
    pub overlap: Duration,
}

/// What is known of the certificate. Times are milliseconds since 1970.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// When the newest CA begins and when it ends.
    pub authority: (i64, i64),
    /// How many CAs are kept: more than one during a rotation.
    pub authorities: usize,
    /// When the leaf was made and when it ends.
    pub leaf: (i64, i64),
    /// The newest CA has signed it.
    pub by_newest: bool,
    /// It is good for every name that the API server dials.
    pub names_fit: bool,
    /// Every webhook's `caBundle` is what is kept, and since when this process has seen it so.
    pub published: Option<i64>,
    /// What is served meanwhile.
    pub served: Serving,
}

/// What is served, compared with the leaf in the Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Serving {
    /// The same, or none that is trusted.
    Stored,
    /// Another, by a CA that is kept.
    Other,
    /// Another that is trusted, by a CA that is not in the Secret: the Secret was replaced.
    Orphan,
}

/// One thing to do; each is durable before the next is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Add the published CAs to the Secret.
    AdoptCa,
    /// Write the kept CAs into every `caBundle`.
    Publish,
    /// Make another CA, which signs nothing yet.
    Rotate,
    /// Have the newest CA sign another leaf.
    Renew,
    /// Remove the CAs that have signed nothing that is served.
    PruneCa,
    /// Serve the leaf, and look again later.
    Serve,
    /// Go on serving what is served, and look again later.
    Wait,
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// What to do next. What was served before goes on being served until `Serve`.
pub(super) fn next(known: &Known, lifetimes: &Lifetimes, now: i64) -> Step {
    if known.served == Serving::Orphan {
        return Step::AdoptCa;
    }
    let Some(published) = known.published else {
        return Step::Publish;
    };
    let third = |life: Duration| millis(life) / 3;
    let (begins, authority_left) = (known.authority.0, known.authority.1 - now);
    let (made, ends) = known.leaf;
    let leaf_due = ends - now <= third(lifetimes.leaf) || !known.names_fit || !known.by_newest;
    // A leaf ends with its CA: of one that ends sooner than this, every leaf would be due again at once. One that
    // has yet to begin was made where a clock is wrong: here, or there.
    let signs = begins <= now && authority_left > third(lifetimes.leaf);
    let authority_due = begins > now || authority_left <= third(lifetimes.authority);
    // What is served while a new CA settles has to outlast that: a leaf is renewed first, and served.
    let outlasts = !leaf_due && known.served == Serving::Stored;
    if authority_due && (!signs || (known.authorities == 1 && outlasts)) {
        return Step::Rotate;
    }
    // An expired leaf is not accepted: waiting does not help.
    let settled =
        known.authorities == 1 || now >= ends || now - published >= millis(lifetimes.settling);
    if leaf_due && settled {
        return Step::Renew;
    }
    // By this clock as well: another may have made the leaf, by one that is behind.
    let overlapped = now - made.max(published) > millis(lifetimes.overlap);
    if known.authorities > 1 && known.by_newest && overlapped && known.served == Serving::Stored {
        return Step::PruneCa;
    }
    // The CA may have been made just now, in place of one that was lost.
    if known.served == Serving::Other && now - published < millis(lifetimes.settling) {
        return Step::Wait;
    }
    Step::Serve
}

#[cfg(test)]
mod tests;
